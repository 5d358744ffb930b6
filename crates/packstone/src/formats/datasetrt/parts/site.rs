//! Where a cache lies: a folder of a root, and what to call its files in messages.

use std::sync::Arc;

use packstone_io::{Buf, IoError, Kind, ReadAt, RelPath, Root};

use super::super::codes;
use super::super::layout::SHARDS;
use crate::error::{Error, Place, Result};

/// The folder of a cache.
#[derive(Clone)]
pub struct Site {
    /// The root that it lies in.
    pub root: Arc<dyn Root>,
    /// Its folder in the root.
    pub folder: RelPath,
    /// What stands in front of its files in messages.
    prefix: String,
}

impl Site {
    /// A cache in `folder` of `root`; files are called by their path in the root.
    pub fn new(root: Arc<dyn Root>, folder: RelPath) -> Self {
        let prefix = if folder.is_root() { String::new() } else { format!("{folder}/") };
        Self { root, folder, prefix }
    }

    /// A cache that is one of several roots; files are called by the label of theirs.
    pub fn among_many(root: Arc<dyn Root>) -> Self {
        let prefix = format!("{}/", root.label().trim_end_matches('/'));
        Self { root, folder: RelPath::root(), prefix }
    }

    /// What people call the cache: its folder.
    pub fn label(&self) -> String {
        match self.prefix.trim_end_matches('/') {
            "" => self.root.label(),
            folder => folder.to_owned(),
        }
    }

    /// Where the cache is: the root's place, and the folder in it.
    pub fn address(&self) -> String {
        let root = self.root.label();
        if self.folder.is_root() { root } else { format!("{root}/{}", self.folder) }
    }

    /// The last part of its folder's name.
    pub fn folder_name(&self) -> String {
        let label = self.label();
        let name = label.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        if name.is_empty() { "cache".to_owned() } else { name.to_owned() }
    }

    /// The path of a file in the root.
    ///
    /// # Errors
    /// `path_escape`.
    pub fn path(&self, file: &str) -> Result<RelPath> {
        self.folder.join(file).map_err(|why| {
            Error::new(Kind::Denied, codes::PATH_ESCAPE, self.place(file), why.to_string())
        })
    }

    /// The path of a shard in the root.
    ///
    /// # Errors
    /// `path_escape`.
    pub fn shard(&self, name: &RelPath) -> Result<RelPath> {
        Ok(self.path(SHARDS)?.below(name))
    }

    /// A file of the cache in messages.
    pub fn place(&self, file: &str) -> Place {
        Place::file(format!("{}{file}", self.prefix))
    }

    /// A shard in messages.
    pub fn shard_place(&self, name: &RelPath) -> Place {
        self.place(&format!("{SHARDS}/{name}"))
    }

    /// The content of a file.
    ///
    /// # Errors
    /// `file_missing`; `path_escape` where a link leads out; I/O faults.
    pub fn read(&self, path: &RelPath, place: &Place) -> Result<Buf> {
        self.root.read(path).map_err(|error| file_error(error, place))
    }

    /// A file, for reading parts of it.
    ///
    /// # Errors
    /// As for [`Site::read`].
    pub fn open(&self, path: &RelPath, place: &Place) -> Result<Arc<dyn ReadAt>> {
        self.root.open(path).map_err(|error| file_error(error, place))
    }

    /// The length of a file.
    ///
    /// # Errors
    /// As for [`Site::read`].
    pub fn len(&self, path: &RelPath, place: &Place) -> Result<u64> {
        self.root.len(path).map_err(|error| file_error(error, place))
    }
}

/// The error for a file of a cache that cannot be read.
pub fn file_error(error: IoError, place: &Place) -> Error {
    let (code, message) = match error.kind() {
        Kind::NotFound => (codes::FILE_MISSING, "expected this file, found none".to_owned()),
        // Without a cause in the operating system it is the root that refuses.
        Kind::Denied if std::error::Error::source(&error).is_none() => {
            (codes::PATH_ESCAPE, error.reason())
        }
        _ => return Error::from(error).with_place(place.clone()),
    };
    Error::new(error.kind(), code, place.clone(), message).because(error)
}
