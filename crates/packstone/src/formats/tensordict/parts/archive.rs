//! A tree in a zip file.
//!
//! ```text
//! meta.json   obs.memmap   next/meta.json   next/obs.memmap      names of entries, `/` between the levels
//! ```
//!
//! The file is read or mapped once. Opening reads its directory; an entry is located and, where it is compressed,
//! decoded when its bytes are asked for. Stored leaves are views of the file, copied only where they do not start at a
//! multiple of their element. What is only to be copied or checked is decoded piece by piece, so that it may be larger
//! than memory. As in the library, checksums of stored leaves are left to [`Source::verify`]; all
//! others are compared whenever they are read.
//!
//! Names that lead out, or that are no paths at all, are told and never looked at. A name without the flag for UTF-8
//! that is UTF-8 is read as that, where the library reads code page 437 and loses the key.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use packstone_container::Limits;
use packstone_container::json::{self, ReadOptions};
use packstone_container::zip::{Directory, Entry, Method, Record, ZipError};
use packstone_io::{AlignedBuf, Buf, Kind};

use super::super::codes;
use super::super::layout::{LEAF, META};
use super::node::Source;
use super::store::{Item, ItemKind, Shelf, ShelfSize, Slot, Store, Weight, join};
use crate::error::{Error, Place, Result};
use crate::model::{Finding, Severity};

/// Compressed entries that become as long as this are not decoded into memory to be copied.
const STREAM_FROM: u64 = 1 << 20;

/// An archive with a tree in it.
pub struct ArchiveStore {
    shared: Arc<Shared>,
    folders: HashMap<String, Vec<Item>>,
    notes: Vec<Finding>,
}

struct Shared {
    bytes: Buf,
    directory: Directory,
    /// Entries whose name another one has, too.
    doubled: HashSet<usize>,
    shelf: Shelf,
    limits: Limits,
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
        let mut found = Found { depth: limits.depth, ..Found::default() };
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
        found.collisions();
        let Found { folders, notes, .. } = found;
        let store = |folders| {
            // Decoded leaves are kept as long as all that one reader may decode fits.
            let size = ShelfSize { maps: 1, bytes: limits.decoded_bytes };
            let shared =
                Shared { bytes, directory, doubled, shelf: Shelf::new(size), limits: *limits };
            Self { shared: Arc::new(shared), folders, notes }
        };
        let has_meta =
            |items: &Vec<Item>| items.iter().any(|i| i.name == META && i.kind == ItemKind::File);
        if folders.get("").is_some_and(has_meta) {
            return Ok(store(folders));
        }
        let inside =
            folders.iter().filter(|(_, items)| has_meta(items)).map(|(name, _)| name).min();
        let found = inside
            .map_or_else(|| "none".to_owned(), |name| format!("one in {name:?}: pack that folder"));
        let message = format!("expected {META} at the top of the archive, found {found}");
        Err(Error::new(Kind::Invalid, codes::NOT_AN_ARCHIVE, Place::file(label), message))
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

/// The files and folders of an archive by their names.
#[derive(Default)]
struct Found {
    folders: HashMap<String, Vec<Item>>,
    /// Folders that stand in the one above them.
    known: HashSet<String>,
    notes: Vec<Finding>,
    depth: usize,
}

impl Found {
    fn note(&mut self, severity: Severity, code: &'static str, name: &str, message: &str) {
        self.notes.push(Finding::new(severity, code, Place::file(name), message));
    }

    fn add(&mut self, number: usize, record: &Record) {
        let name = record.unflagged_name().unwrap_or(record.name());
        if record.unflagged_name().is_some() {
            let message = "expected the flag of a UTF-8 name, found none; the original library does not find this entry";
            self.note(Severity::Info, codes::UNFLAGGED_NAME, name, message);
        }
        let path = name.strip_suffix('/').unwrap_or(name);
        if escapes(path) {
            let message = "expected names that are paths below the archive, found one that leads elsewhere; not read";
            self.note(Severity::Error, codes::PATH_ESCAPE, name, message);
            return;
        }
        if path.split('/').count() > self.depth.saturating_add(1) {
            let message = format!(
                "expected at most {} folders inside one another, found more; not read",
                self.depth
            );
            let name: String = name.chars().take(200).collect();
            self.note(Severity::Error, codes::TOO_DEEP, &name, &message);
            return;
        }
        let (folder, last) = path.rsplit_once('/').unwrap_or(("", path));
        if record.is_dir() {
            self.folder(path);
            return;
        }
        self.folder(folder);
        let item = Item { name: last.to_owned(), kind: ItemKind::File, len: record.len(), number };
        self.folders.entry(folder.to_owned()).or_default().push(item);
    }

    /// Makes a folder and all that hold it.
    fn folder(&mut self, path: &str) {
        let mut path = path;
        while !path.is_empty() && self.known.insert(path.to_owned()) {
            let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
            let item = Item { name: name.to_owned(), kind: ItemKind::Folder, len: 0, number: 0 };
            self.folders.entry(above.to_owned()).or_default().push(item);
            path = above;
        }
    }

    /// Notes names that are files and folders at once: only one of them can be seen.
    fn collisions(&mut self) {
        let both = self.known.iter().filter(|path| {
            let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
            let items = self.folders.get(folder).map(Vec::as_slice).unwrap_or_default();
            items.iter().filter(|item| item.name == name).count() > 1
        });
        let mut both: Vec<String> = both.cloned().collect();
        both.sort_unstable();
        for path in both {
            let message = "expected a file or a folder of this name, found both";
            self.note(Severity::Error, codes::NAME_COLLISION, &path, message);
        }
    }
}

/// True for a name that a careless program would take somewhere else. A key `x:y` of older releases is none.
fn escapes(path: &str) -> bool {
    let drive =
        |part: &str| matches!(part.as_bytes(), [letter, b':'] if letter.is_ascii_alphabetic());
    path.contains(['\\', '\0'])
        || path.split('/').any(|part| matches!(part, "" | "." | "..") || drive(part))
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

impl Shared {
    fn name(&self, number: usize) -> String {
        let record = self.directory.records().get(number);
        record.map(|r| r.unflagged_name().unwrap_or(r.name()).to_owned()).unwrap_or_default()
    }

    fn fault(&self, error: ZipError, number: usize) -> Error {
        zip_error(error, &self.name(number))
    }

    fn entry(&self, number: usize) -> Result<Entry> {
        if self.doubled.contains(&number) {
            let error = ZipError::Duplicate { name: self.name(number) };
            return Err(self.fault(error, number));
        }
        self.directory.locate(&self.bytes, number).map_err(|e| self.fault(e, number))
    }

    /// Decodes an entry, its checksum compared.
    fn decode(&self, entry: &Entry, number: usize) -> Result<Buf> {
        let mut out = AlignedBuf::default();
        entry.read(&self.bytes, &mut out, &self.limits).map_err(|e| self.fault(e, number))?;
        Ok(Buf::from(out))
    }

    fn check(&self, number: usize) -> Result<()> {
        let entry =
            self.directory.locate(&self.bytes, number).map_err(|e| self.fault(e, number))?;
        self.stream(&entry, number, &mut |_| Ok(()))
    }

    /// Decodes an entry piece by piece, its checksum compared.
    fn stream(
        &self,
        entry: &Entry,
        number: usize,
        sink: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        enum Fault {
            Zip(ZipError),
            Sink(Error),
        }
        impl From<ZipError> for Fault {
            fn from(error: ZipError) -> Self {
                Self::Zip(error)
            }
        }
        let done = entry.stream(&self.bytes, &mut |piece| sink(piece).map_err(Fault::Sink));
        done.map_err(|fault| match fault {
            Fault::Zip(error) => self.fault(error, number),
            Fault::Sink(error) => error,
        })
    }
}

impl Store for ArchiveStore {
    fn list(&self, folder: &str) -> Result<Vec<Item>> {
        Ok(self.folders.get(folder).cloned().unwrap_or_default())
    }

    fn read(&self, _folder: &str, item: &Item) -> Result<Buf> {
        self.shared.decode(&self.shared.entry(item.number)?, item.number)
    }

    fn file(&self, folder: &Arc<str>, item: &Item, align: usize) -> Arc<dyn Source> {
        Arc::new(ArchiveFile {
            shared: Arc::clone(&self.shared),
            path: join(folder, &item.name).into(),
            number: item.number,
            len: item.len,
            align: if align.is_power_of_two() { align } else { 1 },
            slot: Arc::default(),
        })
    }

    fn is_cycle(&self, _folder: &str, _name: &str) -> bool {
        false
    }
}

struct ArchiveFile {
    shared: Arc<Shared>,
    path: Box<str>,
    number: usize,
    len: u64,
    align: usize,
    slot: Arc<Slot>,
}

impl std::fmt::Debug for ArchiveFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({} bytes)", self.path, self.len)
    }
}

impl ArchiveFile {
    /// Leaves that are stored as they are have checksums that nobody looks at while reading.
    fn is_plain(&self, entry: &Entry) -> bool {
        entry.method() == Method::Stored && self.path.ends_with(LEAF)
    }
}

impl Source for ArchiveFile {
    fn path(&self) -> String {
        self.path.to_string()
    }

    fn len(&self) -> u64 {
        self.len
    }

    fn is_exact(&self) -> bool {
        true
    }

    fn locate(&self) -> Result<()> {
        self.shared.entry(self.number).map(drop)
    }

    fn is_aligned(&self) -> bool {
        let Ok(entry) = self.shared.entry(self.number) else { return true };
        !self.is_plain(&entry) || entry.range().start.is_multiple_of(self.align as u64)
    }

    fn open(&self) -> Result<Buf> {
        let (shared, number) = (&self.shared, self.number);
        let entry = shared.entry(number)?;
        if self.is_plain(&entry) {
            let view = entry.view(&shared.bytes).map_err(|e| shared.fault(e, number))?;
            if view.as_ptr().align_offset(self.align) == 0 {
                return Ok(view);
            }
            return self.slot.get_or_load(&shared.shelf, || {
                let mut copy = AlignedBuf::with_capacity(view.as_ref().len())?;
                copy.extend_from_slice(&view)?;
                Ok((Buf::from(copy), Weight::Bytes(self.len)))
            });
        }
        self.slot.get_or_load(&shared.shelf, || {
            Ok((shared.decode(&entry, number)?, Weight::Bytes(self.len)))
        })
    }

    fn packed(&self) -> Option<u32> {
        let many = self.len >= STREAM_FROM && self.slot.get().is_none();
        let entry = self.shared.entry(self.number).ok().filter(|_| many)?;
        (entry.method() != Method::Stored).then(|| entry.crc32())
    }

    fn stream(&self, sink: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let entry = self.shared.entry(self.number)?;
        match self.slot.get() {
            Some(bytes) => sink(&bytes),
            None if entry.method() != Method::Stored => {
                self.shared.stream(&entry, self.number, sink)
            }
            None => sink(&self.open()?),
        }
    }

    fn verify(&self) -> Result<()> {
        let entry = self.shared.entry(self.number)?;
        if !self.is_plain(&entry) {
            return Ok(());
        }
        entry.check_crc(&self.shared.bytes).map_err(|e| self.shared.fault(e, self.number))
    }
}
