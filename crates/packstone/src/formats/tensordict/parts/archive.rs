//! A tree in a zip file.
//!
//! ```text
//! meta.json   obs.memmap   next/meta.json   next/obs.memmap      names of entries, `/` between the levels
//! ```
//!
//! The file is read or mapped once. Opening reads its directory; an entry is located and, where it is compressed,
//! decoded when its bytes are asked for. Stored leaves are views of the file, copied only where they do not start at a
//! multiple of their element. What is decoded or copied stays in memory where it is little, and else in a
//! [temporary file](super::spill) that is mapped. What is only to be copied or checked is decoded piece by piece, so
//! that it may be larger than memory. As in the library, checksums of stored leaves are left to [`Source::verify`](super::node::Source::verify); all
//! others are compared whenever they are read.
//!
//! Names that lead out, or that are no paths at all, are told and never looked at. A name without the flag for UTF-8
//! that is UTF-8 is read as that, where the library reads code page 437 and loses the key.

mod found;
mod inside;
mod shared;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use packstone_container::Limits;
use packstone_container::json::{self, ReadOptions};
use packstone_container::zip::{Directory, Record, ZipError};
use packstone_io::{Buf, Kind};

use super::super::codes;
use super::super::layout::META;
use super::store::{Folder, Item, ItemKind, Shelf, ShelfSize, Store};
use crate::error::{Error, Place, Result};
use crate::model::{Finding, Severity};
use found::Found;
use inside::Inside;
use shared::Shared;

/// Short entries stay in memory up to so many bytes.
const SHORT_IN_MEMORY: u64 = 128 << 20;
/// Temporary files that are kept.
const SPILLED: usize = 4096;

/// An archive with a tree in it.
pub struct ArchiveStore {
    shared: Arc<Shared>,
    folders: HashMap<Box<str>, Arc<Inside>>,
    notes: Vec<Finding>,
}

impl ArchiveStore {
    /// The tree in `bytes`, a whole file that people call `label`.
    ///
    /// # Errors
    /// `not_an_archive`, `consolidated`, `corrupt_zip`.
    pub fn open(bytes: Buf, label: &str, limits: &Limits) -> Result<Self> {
        let directory = match Directory::parse(&bytes, limits) {
            Ok(directory) => directory,
            Err(_) if is_consolidated(&bytes) => {
                let message = "expected a folder or an archive, found a file that consolidate() wrote; load and save it \
                               with tensordict";
                return Err(Error::new(
                    Kind::Unsupported,
                    codes::CONSOLIDATED,
                    Place::file(label),
                    message,
                ));
            }
            Err(error) => return Err(zip_error(error, label)),
        };
        let mut found = Found::new(limits.depth);
        for (number, record) in directory.records().iter().enumerate() {
            found.add(number, record);
        }
        let doubled: HashSet<usize> = directory.duplicates().collect();
        let again: BTreeMap<&str, usize> = doubled
            .iter()
            .filter_map(|at| Some((directory.records().get(*at)?.name(), *at)))
            .collect();
        for name in again.keys() {
            let message =
                "expected each name once, found it again; the original library reads the last one";
            found.note(Severity::Error, codes::DUPLICATE_ENTRY, name, message);
        }
        found.settle();
        let Found { folders, notes, .. } = found;
        let has_meta =
            |items: &Vec<Item>| items.iter().any(|i| i.name == META && i.kind == ItemKind::File);
        let with_meta = folders.iter().filter(|(_, items)| has_meta(items)).map(|(path, _)| *path);
        match with_meta.min() {
            Some("") => {}
            inside => {
                let found = match inside {
                    Some(path) => format!("one in {path:?}: pack that folder"),
                    None => "none".to_owned(),
                };
                let message = format!("expected {META} at the top of the archive, found {found}");
                let place = Place::file(label);
                return Err(Error::new(Kind::Invalid, codes::NOT_AN_ARCHIVE, place, message));
            }
        }
        let folders: Vec<(Box<str>, Vec<Item>)> =
            folders.into_iter().map(|(path, items)| (path.into(), items)).collect();
        // Without temporary files, decoded leaves are kept as long as all that one reader may decode fits.
        let spilled = limits.spilled_bytes;
        let in_memory = if spilled > 0 { SHORT_IN_MEMORY } else { limits.decoded_bytes };
        let shelf = Shelf::new(ShelfSize { maps: SPILLED, bytes: in_memory, spilled });
        let shared = Arc::new(Shared { bytes, directory, doubled, shelf, limits: *limits });
        let inside = |(path, items): (Box<str>, _)| {
            let folder = Inside { shared: Arc::clone(&shared), path: path.clone(), items };
            (path, Arc::new(folder))
        };
        let folders = folders.into_iter().map(inside).collect();
        Ok(Self { shared, folders, notes })
    }

    /// What is unusual or wrong about names.
    pub fn notes(&self) -> &[Finding] {
        &self.notes
    }

    /// The entries: everything that there is to check, also what no document names.
    pub fn records(&self) -> &[Record] {
        self.shared.directory.records()
    }

    /// Checks one entry as a whole: its headers, its place, its payload and its checksum.
    ///
    /// # Errors
    /// `corrupt_zip`, `crc_mismatch`, `encrypted_entry`, `unsupported_compression`.
    pub fn check(&self, number: usize) -> Result<()> {
        self.shared.check(number)
    }

    /// The same for a thread that outlives the store.
    pub fn checker(&self) -> impl Fn(usize) -> Result<()> + Send + Sync + 'static {
        let shared = Arc::clone(&self.shared);
        move |number| shared.check(number)
    }
}

/// A file of `consolidate()` ends with a JSON document and the length of that.
fn is_consolidated(bytes: &[u8]) -> bool {
    let Some((before, length)) = bytes.split_last_chunk::<8>() else { return false };
    let document = usize::try_from(u64::from_le_bytes(*length)).ok();
    let start = document.filter(|n| *n > 0).and_then(|n| before.len().checked_sub(n));
    let Some(document) = start.and_then(|start| before.get(start..)) else { return false };
    if document.first() != Some(&b'{') {
        return false;
    }
    let value = json::read(document, &ReadOptions::default().with_nan(true));
    value.is_ok_and(|document| {
        ["leaves", "cls"].iter().any(|name| document.value.get(name).is_some())
    })
}

/// An error of the archive or one of its entries.
pub fn zip_error(error: ZipError, file: &str) -> Error {
    let (kind, code) = match &error {
        ZipError::NoEnd { .. } => (Kind::Invalid, codes::NOT_AN_ARCHIVE),
        ZipError::Duplicate { .. } => (Kind::Corrupt, codes::DUPLICATE_ENTRY),
        ZipError::Encrypted { .. } => (Kind::Unsupported, codes::ENCRYPTED_ENTRY),
        ZipError::Unsupported { .. } => (Kind::Unsupported, codes::UNSUPPORTED_COMPRESSION),
        ZipError::Crc { .. } => (Kind::Corrupt, codes::CRC_MISMATCH),
        ZipError::Length { what: "data", .. } | ZipError::Implausible { .. } => {
            (Kind::Corrupt, codes::SIZE_MISMATCH)
        }
        ZipError::Limit { .. } | ZipError::Memory(_) => (Kind::Limit, codes::TOO_LARGE),
        _ => (Kind::Corrupt, codes::CORRUPT_ZIP),
    };
    Error::new(kind, code, Place::file(file), error.to_string()).because(error)
}

impl Store for ArchiveStore {
    fn folder(&self, path: &str) -> Result<Arc<dyn Folder>> {
        Ok(match self.folders.get(path) {
            Some(folder) => Arc::clone(folder) as Arc<dyn Folder>,
            None => {
                let (shared, items) = (Arc::clone(&self.shared), Vec::new());
                Arc::new(Inside { shared, path: path.into(), items })
            }
        })
    }

    fn is_cycle(&self, _folder: &str, _name: &str) -> bool {
        false
    }
}
