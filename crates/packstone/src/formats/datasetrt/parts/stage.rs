//! The folder in which a cache is made, and its way to the place where it is seen.
//!
//! ```text
//! tmp/NAME/   shards/…, metadata.arrow, index.bin, manifest.json last  ─ rename ─►  NAME/
//! ```
//! Everything is on the disk before the rename. The original makes caches in the same place and syncs nothing.

use std::sync::Arc;

use packstone_container::arrow_table::{ArrowError, Column, Table, write_file};
use packstone_container::digest::{Algorithm, Hasher};
use packstone_container::json::Object;
use packstone_io::{EntryKind, IoError, Kind, RelPath, Root, RootMut};

use super::super::codes;
use super::super::document::{Contents, Manifest, ManifestV2, ManifestV3};
use super::super::layout::{EXTENSION, INDEX, MANIFEST, METADATA, SHARDS, STAGING};
use super::super::schema::ColumnSpec;
use super::descriptor::Descriptor;
use super::filling::{self, Fault};
use super::identity::cache_id;
use super::index::Row;
use super::shards::Closed;
use crate::error::{Error, Place, Result};

/// A cache in the making.
pub struct Stage {
    /// The folder of the caches.
    pub root: Arc<dyn RootMut>,
    /// What the cache is called.
    pub name: String,
    /// What its manifest calls it, from which its id is made: the same, but for a copy of a cache whose folder has another
    /// name.
    pub source_name: String,
    /// Where it is made.
    pub folder: RelPath,
    target: RelPath,
    /// Whether the folder of stages goes when nothing is in it any more.
    made: bool,
}

/// Checks the name of a new cache.
///
/// # Errors
/// `name_invalid` where it is no plain name of a folder, or one that the format uses.
pub fn check_name(name: &str) -> Result<RelPath> {
    let why = match RelPath::new(name) {
        _ if name.contains('/') => "a slash".to_owned(),
        _ if name.len() > 255 => format!("{} bytes", name.len()),
        _ if name.eq_ignore_ascii_case(STAGING) => "the folder of caches in the making".to_owned(),
        Ok(path) if path.is_root() => "no name".to_owned(),
        Ok(path) => return Ok(path),
        Err(why) => why.to_string(),
    };
    let message = format!("expected a plain name of at most 255 bytes, found {why}: {name:?}");
    Err(Error::new(Kind::Invalid, codes::NAME_INVALID, Place::default(), message))
}

/// Whether there is anything under this path.
///
/// # Errors
/// I/O faults.
pub fn exists(root: &dyn Root, path: &RelPath) -> Result<bool> {
    match root.list(&path.parent().unwrap_or_default()) {
        Ok(entries) => Ok(entries.iter().any(|entry| entry.name == path.name())),
        Err(error) if error.kind() == Kind::NotFound => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Removes a folder with everything in it; what is gone already is fine.
///
/// # Errors
/// I/O faults.
pub fn remove_tree(root: &dyn RootMut, folder: &RelPath) -> Result<(), IoError> {
    let gone = |result: Result<(), IoError>| match result {
        Err(error) if error.kind() == Kind::NotFound => Ok(()),
        other => other,
    };
    let entries = match root.list(folder) {
        Err(error) if error.kind() == Kind::NotFound => return Ok(()),
        other => other?,
    };
    for entry in entries {
        let path = folder.join(&entry.name).map_err(|why| {
            IoError::new(Kind::Denied, "remove", folder.as_str(), why.to_string())
        })?;
        match entry.kind {
            EntryKind::Folder => remove_tree(root, &path)?,
            _ => gone(root.remove(&path))?,
        }
    }
    gone(root.remove_folder(folder))
}

impl Stage {
    /// The stage of a cache of this name; nothing is made yet.
    ///
    /// # Errors
    /// `name_invalid`; `cache_exists` where there is one.
    pub fn of(root: Arc<dyn RootMut>, name: &str) -> Result<Self> {
        let target = check_name(name)?;
        if exists(root.as_ref(), &target)? {
            let message = format!("expected a new cache, found {name:?} there already");
            let place = Place::file(&target);
            return Err(Error::new(Kind::Exists, codes::CACHE_EXISTS, place, message));
        }
        let tmp = RelPath::new(STAGING).unwrap_or_default();
        let made = !exists(root.as_ref(), &tmp)?;
        let folder = tmp.below(&target);
        let (name, source_name) = (name.to_owned(), name.to_owned());
        Ok(Self { root, name, source_name, folder, target, made })
    }

    /// True where something was left here.
    ///
    /// # Errors
    /// I/O faults.
    pub fn is_taken(&self) -> Result<bool> {
        exists(self.root.as_ref(), &self.folder)
    }

    /// Takes over what was left here, and the folder of stages with it.
    pub fn take_over(&mut self) {
        self.made = true;
    }

    /// Makes the folders.
    ///
    /// # Errors
    /// `stage_exists` where something was left here; `Denied`, `Io`.
    pub fn begin(&self) -> Result<()> {
        if self.is_taken()? {
            let message = "expected no cache of this name in the making, found what another writer \
                           left: resume it, repair it, or remove it";
            let place = Place::file(&self.folder);
            return Err(Error::new(Kind::Exists, codes::STAGE_EXISTS, place, message));
        }
        self.make()
    }

    /// Makes the folders that are not there.
    ///
    /// # Errors
    /// `Denied`, `Io`.
    pub fn make(&self) -> Result<()> {
        Ok(self.root.create_folder(&self.path(SHARDS)?)?)
    }

    /// The path of something in the stage.
    ///
    /// # Errors
    /// `path_escape`.
    pub fn path(&self, file: &str) -> Result<RelPath> {
        self.folder.join(file).map_err(|why| {
            let place = Place::file(&self.folder);
            Error::new(Kind::Denied, codes::PATH_ESCAPE, place, why.to_string())
        })
    }

    /// Writes index, table and, last, the manifest, all on the disk.
    ///
    /// # Errors
    /// I/O faults.
    pub fn seal(&self, cache: Cache<'_>) -> Result<()> {
        let metadata_sha256 = self.file(METADATA, |out| {
            let names = cache.columns.iter().map(|column| column.name.clone());
            let table = Table::new(names.zip(cache.values)).map_err(ArrowError::from)?;
            write_file(&table, usize::MAX, out)
        })?;
        let index_sha256 = self.file(INDEX, |out| {
            for (shard, closed) in (0u64..).zip(cache.shards) {
                let mut offset = 0;
                for len in &closed.lengths {
                    out(&Row { shard, offset, len: *len }.to_bytes())?;
                    offset += len;
                }
            }
            Ok(())
        })?;
        let mut document = Object::new();
        if !cache.descriptor.is_plain() {
            document.insert(EXTENSION, cache.descriptor.to_value());
        }
        let contents = Contents {
            source_name: self.source_name.clone(),
            samples: cache.shards.iter().map(|closed| closed.lengths.len() as u64).sum(),
            columns: cache.columns.to_vec(),
            metadata_sha256,
            index_sha256,
            shards: cache.shards.iter().map(|closed| closed.entry.clone()).collect(),
            document,
            notes: Vec::new(),
        };
        let manifest = match cache.version {
            2 => Manifest::V2(ManifestV2 { contents }),
            _ => Manifest::V3(ManifestV3 { cache_id: cache_id(&self.source_name), contents }),
        };
        self.root.persist(&self.path(SHARDS)?)?;
        self.file(MANIFEST, |out| out(manifest.text().as_bytes()))?;
        self.root.persist(&self.folder)?;
        Ok(())
    }

    /// Writes a file of the stage, in pieces; returns its SHA-256.
    fn file(
        &self,
        name: &str,
        fill: impl FnOnce(&mut dyn FnMut(&[u8]) -> Result<(), Fault>) -> Result<(), Fault>,
    ) -> Result<String> {
        let mut hasher = Hasher::new(Algorithm::Sha256);
        let path = self.path(name)?;
        filling::file(self.root.as_ref(), &path, |bytes| hasher.update(bytes), fill)?;
        Ok(hasher.finish_hex())
    }

    /// Shows the cache.
    ///
    /// # Errors
    /// `cache_exists` where another one came meanwhile; I/O faults. Where the name was given and could not be put on the
    /// disk, the cache is there.
    pub fn publish(&self) -> Result<()> {
        self.root.rename(&self.folder, &self.target).map_err(|error| match error.kind() {
            Kind::Exists => {
                let message = format!("expected a new cache, found {:?} there already", self.name);
                let place = Place::file(&self.target);
                Error::new(Kind::Exists, codes::CACHE_EXISTS, place, message)
            }
            _ => error.into(),
        })?;
        self.leave();
        Ok(())
    }

    /// Takes a cache back that was shown a moment ago, because one that belongs to it cannot be.
    pub fn unpublish(&self) {
        // Best effort: what cannot be taken back is a whole cache.
        let _ = self.root.create_folder(&self.folder.parent().unwrap_or_default());
        let _ = self.root.rename(&self.target, &self.folder);
    }

    /// Removes everything that was made.
    pub fn discard(&self) {
        // Best effort: nobody reads what is left here.
        let _ = remove_tree(self.root.as_ref(), &self.folder);
        self.leave();
    }

    /// Removes the folder of stages if nobody else uses it.
    fn leave(&self) {
        if self.made
            && let Some(tmp) = self.folder.parent()
        {
            let _ = self.root.remove_folder(&tmp);
        }
    }
}

/// What a cache is made of.
pub struct Cache<'a> {
    /// The metadata columns.
    pub columns: &'a [ColumnSpec],
    /// Their values.
    pub values: Vec<Column>,
    /// The shards with the lengths of their records.
    pub shards: &'a [Closed],
    /// What the samples are.
    pub descriptor: &'a Descriptor,
    /// Manifest version.
    pub version: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain_and_none_of_the_formats_own() {
        for name in ["a", "漢字-cache", "cache with space", "e\u{301}", "tmp2", &"x".repeat(255)]
        {
            assert!(check_name(name).is_ok(), "{name}");
        }
        for name in
            ["", ".", "..", "/x", "x/y", "./a", "a/", "tmp", "TMP", "a\0", "a\\b", &"x".repeat(256)]
        {
            assert_eq!(check_name(name).unwrap_err().code(), codes::NAME_INVALID, "{name:?}");
        }
    }
}
