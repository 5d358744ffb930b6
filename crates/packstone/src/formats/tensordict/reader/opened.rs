//! The store that a root is: a folder with a tree, or an archive of one.

use std::sync::Arc;

use packstone_container::Limits;
use packstone_io::{Buf, Kind, RelPath, Root};

use super::super::codes;
use super::super::layout::META;
use super::super::parts::archive::ArchiveStore;
use super::super::parts::folder::FolderStore;
use super::super::parts::store::Store;
use crate::error::Result;

/// The files of a tree in `root`: a folder, or an archive where the root is one file.
///
/// # Errors
/// `not_an_archive`, `consolidated`, `corrupt_zip`; I/O faults.
pub fn open_store(root: Arc<dyn Root>, limits: &Limits) -> Result<Opened> {
    let Some(file) = root.sole_file().cloned() else {
        return Ok(Opened::Folder(Arc::new(FolderStore::new(root))));
    };
    let bytes: Buf = root.read(&file)?;
    Ok(Opened::Archive(Arc::new(ArchiveStore::open(bytes, file.name(), limits)?)))
}

/// True where a file is an archive of a tree, or one that `consolidate()` wrote, whatever its name.
///
/// # Errors
/// I/O faults.
pub fn is_archive(root: &dyn Root, file: &RelPath) -> Result<bool> {
    let bytes = match root.read(file) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == Kind::NotFound => return Ok(false),
        Err(error) => return Err(error.into()),
    };
    match ArchiveStore::open(bytes, file.name(), &Limits::default()) {
        Ok(_) => Ok(true),
        Err(error) => Ok(error.code() == codes::CONSOLIDATED),
    }
}

/// The files of a tree.
pub enum Opened {
    /// A folder.
    Folder(Arc<FolderStore>),
    /// An archive.
    Archive(Arc<ArchiveStore>),
}

impl Opened {
    /// What both are.
    pub fn store(&self) -> Arc<dyn Store> {
        match self {
            Self::Folder(store) => Arc::clone(store) as Arc<dyn Store>,
            Self::Archive(store) => Arc::clone(store) as Arc<dyn Store>,
        }
    }
}

/// The file that shows a tree: the root document, or the archive.
pub fn shown_by(root: &dyn Root) -> RelPath {
    root.sole_file().cloned().unwrap_or_else(|| RelPath::new(META).unwrap_or_default())
}
