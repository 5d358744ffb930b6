//! An archive whose directory and local headers agree throughout.

use super::entry::Entry;
use super::{Directory, ZipError};
use crate::Limits;

/// The entries of an archive, in the order of its central directory, each held against its local header.
#[derive(Debug)]
pub struct Archive {
    entries: Vec<Entry>,
    directory: Directory,
}

impl Archive {
    /// Reads the directory of `bytes`, a whole archive file, and holds all local headers against it.
    ///
    /// # Errors
    /// [`ZipError`] where the structure is damaged, contradicts itself, or exceeds `limits.entries`.
    pub fn parse(bytes: &[u8], limits: &Limits) -> Result<Self, ZipError> {
        let directory = Directory::parse(bytes, limits)?;
        let located = (0..directory.records().len()).map(|index| {
            let (record, local) = directory.local(bytes, index)?;
            local.compare(record)?;
            Ok(Entry { record: record.clone(), data_offset: local.data_offset })
        });
        let entries = located.collect::<Result<Vec<_>, ZipError>>()?;
        if let Some(twice) = directory.duplicates().find_map(|at| entries.get(at)) {
            return Err(ZipError::Duplicate { name: twice.name().to_owned() });
        }
        Ok(Self { entries, directory })
    }

    /// The entries, in the order of the central directory.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The entry of that name; failing that, the unflagged entry whose raw name is `name` in UTF-8.
    pub fn find(&self, name: &str) -> Option<&Entry> {
        self.entries.get(self.directory.find(name).ok()??)
    }

    /// Bytes before the archive, which no entry uses.
    pub fn prefix_len(&self) -> u64 {
        self.directory.prefix_len()
    }

    /// Bytes after the archive comment.
    pub fn trailing_len(&self) -> u64 {
        self.directory.trailing_len()
    }
}

#[cfg(test)]
mod tests;
