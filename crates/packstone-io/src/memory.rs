//! A folder in memory, for tests and for data that never was on a disk.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::buffer::Buf;
use crate::error::{IoError, Kind};
use crate::path::RelPath;
use crate::read::ReadAt;
use crate::root::{Draft, Edit, Entry, EntryKind, Journal, Root, RootMut, Scratch};

/// Files by path; folders exist as far as files need them or as they were made.
#[derive(Clone, Debug, Default)]
pub struct MemoryRoot {
    files: Arc<Mutex<BTreeMap<RelPath, Buf>>>,
    locked: Arc<Mutex<bool>>,
}

impl MemoryRoot {
    /// An empty folder.
    pub fn new() -> Self {
        Self::default()
    }

    /// All files in path order.
    pub fn files(&self) -> Vec<(RelPath, Buf)> {
        self.map().iter().map(|(p, b)| (p.clone(), b.clone())).collect()
    }

    /// Takes files and whole folders away and puts them under their new names.
    fn relocate(&self, moves: &[(&RelPath, &RelPath)]) -> Result<(), IoError> {
        let mut map = self.map();
        let mut placed = Vec::new();
        for (from, to) in moves {
            let under = |file: &RelPath| file.starts_with(from);
            if !map.keys().any(under) {
                return Err(missing("rename", from));
            }
            for (file, bytes) in map.iter().filter(|(file, _)| under(file)) {
                let below = file.as_str().get(from.as_str().len()..).unwrap_or_default();
                // A name such as `x:y` is a name here and no drive.
                let path = RelPath::new(&format!("./{to}/{below}")).map_err(|e| {
                    IoError::new(Kind::Invalid, "rename", file.as_str(), e.to_string())
                })?;
                placed.push((path, bytes.clone()));
            }
        }
        map.retain(|file, _| !moves.iter().any(|(from, _)| file.starts_with(from)));
        map.extend(placed);
        Ok(())
    }

    fn map(&self) -> MutexGuard<'_, BTreeMap<RelPath, Buf>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn missing(action: &'static str, path: &RelPath) -> IoError {
    IoError::new(Kind::NotFound, action, path.as_str(), "no such file")
}

/// Writing in place must not grow a file.
pub(crate) fn past_end(path: &RelPath, offset: u64, len: usize) -> IoError {
    let detail =
        format!("expected room for {len} bytes at byte {offset}, found the end of the file");
    IoError::new(Kind::Invalid, "write", path.as_str(), detail)
}

impl ReadAt for Buf {
    fn len(&self) -> u64 {
        self.as_ref().len() as u64
    }

    fn read_ranges(&self, ranges: &[Range<u64>]) -> Result<Vec<Buf>, IoError> {
        let cut = |range: &Range<u64>| {
            let start = usize::try_from(range.start).ok()?;
            self.slice(start..usize::try_from(range.end).ok()?)
        };
        let outside = || IoError::new(Kind::Corrupt, "read", "memory", "range outside the file");
        ranges.iter().map(|r| cut(r).ok_or_else(outside)).collect()
    }

    fn at_hand(&self) -> Result<Option<Buf>, IoError> {
        Ok(Some(self.clone()))
    }
}

impl Root for MemoryRoot {
    fn label(&self) -> String {
        "memory".to_owned()
    }

    fn open(&self, path: &RelPath) -> Result<Arc<dyn ReadAt>, IoError> {
        let found = self.map().get(path).cloned();
        Ok(Arc::new(found.ok_or_else(|| missing("open", path))?))
    }

    fn list(&self, folder: &RelPath) -> Result<Vec<Entry>, IoError> {
        let mut found = BTreeMap::new();
        for (path, bytes) in self.map().iter().filter(|(p, _)| p.starts_with(folder)) {
            let mut rest = path.components().skip(folder.components().count());
            let Some(name) = rest.next() else { continue };
            let (kind, len) = match rest.next() {
                Some(_) => (EntryKind::Folder, 0),
                None => (EntryKind::File, ReadAt::len(bytes)),
            };
            found.insert(name.to_owned(), Entry { name: name.to_owned(), kind, len });
        }
        if found.is_empty() && !folder.is_root() {
            return Err(missing("list", folder));
        }
        Ok(found.into_values().collect())
    }
}

impl RootMut for MemoryRoot {
    fn create(&self, path: &RelPath, content: &[u8]) -> Result<(), IoError> {
        let mut map = self.map();
        if map.contains_key(path) {
            return Err(IoError::new(Kind::Exists, "create", path.as_str(), "it exists already"));
        }
        map.insert(path.clone(), Buf::copy_from(content));
        Ok(())
    }

    fn replace(&self, files: &[(RelPath, Vec<u8>)]) -> Result<(), IoError> {
        let mut map = self.map();
        for (path, content) in files {
            map.insert(path.clone(), Buf::copy_from(content));
        }
        Ok(())
    }

    fn draft(&self, path: &RelPath) -> Result<Box<dyn Draft>, IoError> {
        Ok(Box::new(MemoryDraft { root: self.clone(), path: path.clone(), bytes: Vec::new() }))
    }

    fn scratch(&self) -> Result<Box<dyn Scratch>, IoError> {
        Ok(Box::new(MemoryScratch(Vec::new())))
    }

    fn edit(&self, path: &RelPath) -> Result<Box<dyn Edit>, IoError> {
        self.map().get(path).ok_or_else(|| missing("open", path))?;
        Ok(Box::new(MemoryEdit { root: self.clone(), path: path.clone() }))
    }

    fn rename(&self, from: &RelPath, to: &RelPath) -> Result<(), IoError> {
        if self.map().keys().any(|file| file.starts_with(to)) {
            return Err(IoError::new(Kind::Exists, "rename", to.as_str(), "it exists already"));
        }
        self.relocate(&[(from, to)])
    }

    fn exchange(&self, one: &RelPath, other: &RelPath) -> Result<(), IoError> {
        self.relocate(&[(one, other), (other, one)])
    }

    fn journal(&self, path: &RelPath) -> Result<Box<dyn Journal>, IoError> {
        self.create(path, b"")?;
        Ok(Box::new(MemoryJournal { root: self.clone(), path: path.clone() }))
    }

    fn journal_is_held(&self, path: &RelPath) -> Result<bool, IoError> {
        // Memory dies with its writer.
        self.map().contains_key(path).then_some(false).ok_or_else(|| missing("lock", path))
    }

    fn create_folder(&self, _path: &RelPath) -> Result<(), IoError> {
        Ok(())
    }

    fn persist(&self, path: &RelPath) -> Result<(), IoError> {
        // The root itself is there, also without a file.
        let known = path.is_root() || self.map().keys().any(|file| file.starts_with(path));
        known.then_some(()).ok_or_else(|| missing("sync", path))
    }

    fn persist_all(&self) -> Result<(), IoError> {
        Ok(())
    }

    fn remove(&self, path: &RelPath) -> Result<(), IoError> {
        self.map().remove(path).map(|_| ()).ok_or_else(|| missing("remove", path))
    }

    fn remove_folder(&self, path: &RelPath) -> Result<(), IoError> {
        if self.map().keys().any(|file| file.starts_with(path)) {
            return Err(IoError::new(Kind::Io, "remove", path.as_str(), "the folder is not empty"));
        }
        Ok(())
    }

    fn lock(&self, patience: Duration) -> Result<Box<dyn Send>, IoError> {
        let start = Instant::now();
        loop {
            let mut locked = self.locked.lock().unwrap_or_else(PoisonError::into_inner);
            if !*locked {
                *locked = true;
                return Ok(Box::new(Held(Arc::clone(&self.locked))));
            }
            drop(locked);
            if start.elapsed() >= patience {
                let detail = format!("another writer held it for {} s", patience.as_secs());
                return Err(IoError::new(Kind::Conflict, "lock", "memory", detail));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

struct MemoryDraft {
    root: MemoryRoot,
    path: RelPath,
    bytes: Vec<u8>,
}

impl Draft for MemoryDraft {
    fn write(&mut self, bytes: &[u8]) -> Result<(), IoError> {
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    fn publish(self: Box<Self>) -> Result<(), IoError> {
        self.root.map().insert(self.path, Buf::from(self.bytes));
        Ok(())
    }

    fn publish_new(self: Box<Self>) -> Result<(), IoError> {
        self.root.create(&self.path, &self.bytes)
    }
}

struct MemoryScratch(Vec<u8>);

impl Scratch for MemoryScratch {
    fn write(&mut self, bytes: &[u8]) -> Result<(), IoError> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    fn read_back(self: Box<Self>) -> Result<Arc<dyn ReadAt>, IoError> {
        Ok(Arc::new(Buf::from(self.0)))
    }
}

struct MemoryEdit {
    root: MemoryRoot,
    path: RelPath,
}

impl MemoryEdit {
    fn change(&self, how: impl FnOnce(&mut Vec<u8>) -> Result<(), IoError>) -> Result<(), IoError> {
        let mut map = self.root.map();
        let mut bytes = map.get(&self.path).ok_or_else(|| missing("write", &self.path))?.to_vec();
        how(&mut bytes)?;
        map.insert(self.path.clone(), Buf::from(bytes));
        Ok(())
    }
}

impl Edit for MemoryEdit {
    fn len(&self) -> Result<u64, IoError> {
        let map = self.root.map();
        map.get(&self.path).map(ReadAt::len).ok_or_else(|| missing("write", &self.path))
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<(), IoError> {
        self.change(|content| {
            let start = usize::try_from(offset).ok();
            let range = start.and_then(|s| Some(s..s.checked_add(bytes.len())?));
            let to = range.and_then(|range| content.get_mut(range));
            to.ok_or_else(|| past_end(&self.path, offset, bytes.len()))?.copy_from_slice(bytes);
            Ok(())
        })
    }

    fn set_len(&self, len: u64) -> Result<(), IoError> {
        self.change(|content| {
            let len = usize::try_from(len).map_err(|e| {
                IoError::new(Kind::Limit, "resize", self.path.as_str(), e.to_string())
            })?;
            content.resize(len, 0);
            Ok(())
        })
    }

    fn sync(&self) -> Result<(), IoError> {
        Ok(())
    }
}

struct MemoryJournal {
    root: MemoryRoot,
    path: RelPath,
}

impl Journal for MemoryJournal {
    fn append(&mut self, entry: &[u8]) -> Result<(), IoError> {
        let mut map = self.root.map();
        let mut bytes = map.get(&self.path).map(|b| b.to_vec()).unwrap_or_default();
        bytes.extend_from_slice(entry);
        map.insert(self.path.clone(), Buf::from(bytes));
        Ok(())
    }
}

struct Held(Arc<Mutex<bool>>);

impl Drop for Held {
    fn drop(&mut self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = false;
    }
}
