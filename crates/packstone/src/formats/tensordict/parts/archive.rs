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
//! that it may be larger than memory. As in the library, checksums of stored leaves are left to [`Source::verify`]; all
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
use super::spill;
use super::store::{
    Elements, Folder, Item, ItemKind, Shelf, ShelfSize, Slot, Store, Weight, fits, join,
};
use crate::error::{Error, Place, Result};
use crate::model::{Finding, Severity};

/// Compressed entries that become as long as this are not decoded into memory to be copied, nor to be read where more than
/// [`IN_MEMORY`] would be there.
const STREAM_FROM: u64 = 1 << 20;
/// Bytes of decoded entries that stay in memory before longer ones go to temporary files.
const IN_MEMORY: u64 = 32 << 20;
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

/// The files and folders of an archive by their names.
#[derive(Default)]
struct Found<'a> {
    /// Paths of folders, and what is in them.
    folders: Vec<(&'a str, Vec<Item>)>,
    /// Where each folder is among them.
    places: HashMap<&'a str, usize>,
    /// Where the last one is that was asked for: entries mostly come folder by folder.
    last: usize,
    notes: Vec<Finding>,
    depth: usize,
}

/// The path of the folder that holds what is at `path`, and the name there.
fn parted(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

impl<'a> Found<'a> {
    fn note(&mut self, severity: Severity, code: &'static str, name: &str, message: &str) {
        self.notes.push(Finding::new(severity, code, Place::file(name), message));
    }

    fn add(&mut self, number: usize, record: &'a Record) {
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
        if path.bytes().filter(|byte| *byte == b'/').count() > self.depth {
            let message = format!(
                "expected at most {} folders inside one another, found more; not read",
                self.depth
            );
            let name: String = name.chars().take(200).collect();
            self.note(Severity::Error, codes::TOO_DEEP, &name, &message);
            return;
        }
        if record.is_dir() {
            self.folder(path);
            return;
        }
        let (folder, name) = parted(path);
        let at = self.folder(folder);
        self.put(
            at,
            Item { name: name.to_owned(), kind: ItemKind::File, len: Some(record.len()), number },
        );
    }

    fn put(&mut self, at: usize, item: Item) {
        if let Some((_, items)) = self.folders.get_mut(at) {
            items.push(item);
        }
    }

    /// Where a folder is; one that is new is made with all that hold it.
    fn folder(&mut self, path: &'a str) -> usize {
        if self.folders.get(self.last).is_some_and(|(last, _)| *last == path) {
            return self.last;
        }
        if let Some(at) = self.places.get(path) {
            self.last = *at;
            return *at;
        }
        if !path.is_empty() {
            let (above, name) = parted(path);
            let at = self.folder(above);
            self.put(
                at,
                Item { name: name.to_owned(), kind: ItemKind::Folder, len: None, number: 0 },
            );
        }
        self.last = self.folders.len();
        self.folders.push((path, Vec::new()));
        self.places.insert(path, self.last);
        self.last
    }

    /// Sorts all folders, and notes names that are files and folders at once: only one of them can be seen.
    fn settle(&mut self) {
        let mut both = Vec::new();
        for (folder, items) in &mut self.folders {
            items.sort_by(|a, b| a.name.cmp(&b.name));
            let same = items.chunk_by(|a, b| a.name == b.name).filter(|same| same.len() > 1);
            let folders = same.filter_map(|same| same.iter().find(|i| i.kind == ItemKind::Folder));
            both.extend(folders.map(|item| join(folder, &item.name)));
        }
        both.sort_unstable();
        for path in both {
            let message = "expected a file or a folder of this name, found both";
            self.note(Severity::Error, codes::NAME_COLLISION, &path, message);
        }
    }
}

/// True for a name that a careless program would take somewhere else. A key `x:y` of older releases is none.
fn escapes(path: &str) -> bool {
    let drive = |part: &[u8]| matches!(part, [letter, b':'] if letter.is_ascii_alphabetic());
    let leads = |part: &[u8]| matches!(part, b"" | b"." | b"..") || drive(part);
    path.bytes().any(|byte| matches!(byte, b'\\' | 0))
        || path.as_bytes().split(|byte| *byte == b'/').any(leads)
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

    /// True for `len` bytes that are too many for memory beside what is there.
    fn spills(&self, len: u64) -> bool {
        let (_, kept) = self.shelf.kept();
        // What is too long for one reader is refused, see `decode`.
        (STREAM_FROM..=self.limits.decoded_bytes.min(self.limits.spilled_bytes)).contains(&len)
            && kept.saturating_add(len) > IN_MEMORY
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

/// A folder inside of an archive.
struct Inside {
    shared: Arc<Shared>,
    path: Box<str>,
    items: Vec<Item>,
}

impl Folder for Inside {
    fn path(&self) -> &str {
        &self.path
    }

    fn items(&self) -> &[Item] {
        &self.items
    }

    fn document(&self, item: &Item, most: u64) -> Result<Buf> {
        fits(item.len.unwrap_or(0), most, &self.path, item)?;
        self.shared.decode(&self.shared.entry(item.number)?, item.number)
    }

    fn file(self: Arc<Self>, at: usize, Elements { align, .. }: Elements) -> Arc<dyn Source> {
        let item = self.items.get(at).map(|item| (item.number, item.len.unwrap_or(0)));
        let (number, len) = item.unwrap_or((usize::MAX, 0));
        let align = if align.is_power_of_two() { align } else { 1 };
        Arc::new(ArchiveFile { folder: self, at, number, len, align, slot: Slot::default() })
    }
}

struct ArchiveFile {
    folder: Arc<Inside>,
    at: usize,
    number: usize,
    len: u64,
    align: usize,
    slot: Slot,
}

impl std::fmt::Debug for ArchiveFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({} bytes)", self.path(), self.len)
    }
}

impl ArchiveFile {
    fn name(&self) -> &str {
        self.folder.items.get(self.at).map(|item| item.name.as_str()).unwrap_or_default()
    }

    /// Leaves that are stored as they are have checksums that nobody looks at while reading.
    fn is_plain(&self, entry: &Entry) -> bool {
        entry.method() == Method::Stored && self.name().ends_with(LEAF)
    }
}

impl Source for ArchiveFile {
    fn path(&self) -> String {
        join(&self.folder.path, self.name())
    }

    fn len(&self) -> u64 {
        self.len
    }

    fn is_exact(&self) -> bool {
        true
    }

    fn locate(&self) -> Result<()> {
        self.folder.shared.entry(self.number).map(drop)
    }

    fn is_aligned(&self) -> bool {
        let Ok(entry) = self.folder.shared.entry(self.number) else { return true };
        !self.is_plain(&entry) || entry.range().start.is_multiple_of(self.align as u64)
    }

    fn open(&self) -> Result<Buf> {
        let (shared, number) = (&self.folder.shared, self.number);
        let entry = shared.entry(number)?;
        if self.is_plain(&entry) {
            let view = entry.view(&shared.bytes).map_err(|e| shared.fault(e, number))?;
            if view.as_ptr().align_offset(self.align) == 0 {
                return Ok(view);
            }
            return self.slot.get_or_load(&shared.shelf, || {
                if shared.spills(self.len) {
                    let copy = spill::spill(&self.path(), |out| out(&view))?;
                    return Ok((copy, Weight::Spilled(self.len)));
                }
                let mut copy = AlignedBuf::with_capacity(view.as_ref().len())?;
                copy.extend_from_slice(&view)?;
                Ok((Buf::from(copy), Weight::Bytes(self.len)))
            });
        }
        self.slot.get_or_load(&shared.shelf, || {
            if shared.spills(self.len) {
                let decoded = spill::spill(&self.path(), |out| shared.stream(&entry, number, out))?;
                return Ok((decoded, Weight::Spilled(self.len)));
            }
            Ok((shared.decode(&entry, number)?, Weight::Bytes(self.len)))
        })
    }

    fn packed(&self) -> Option<u32> {
        let many = self.len >= STREAM_FROM && self.slot.get().is_none();
        let entry = self.folder.shared.entry(self.number).ok().filter(|_| many)?;
        (entry.method() != Method::Stored).then(|| entry.crc32())
    }

    fn stream(&self, sink: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let entry = self.folder.shared.entry(self.number)?;
        match self.slot.get() {
            Some(bytes) => sink(&bytes),
            None if entry.method() != Method::Stored => {
                self.folder.shared.stream(&entry, self.number, sink)
            }
            None => sink(&self.open()?),
        }
    }

    fn verify(&self) -> Result<()> {
        let entry = self.folder.shared.entry(self.number)?;
        if !self.is_plain(&entry) {
            return Ok(());
        }
        entry
            .check_crc(&self.folder.shared.bytes)
            .map_err(|e| self.folder.shared.fault(e, self.number))
    }
}
