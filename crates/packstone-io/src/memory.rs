//! A folder in memory, for tests and for data that never was on a disk.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::buffer::Buf;
use crate::error::{IoError, Kind};
use crate::path::RelPath;
use crate::read::ReadAt;
use crate::root::{Entry, EntryKind, Journal, Root, RootMut};

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

    fn map(&self) -> MutexGuard<'_, BTreeMap<RelPath, Buf>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn missing(action: &'static str, path: &RelPath) -> IoError {
    IoError::new(Kind::NotFound, action, path.as_str(), "no such file")
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
        let known = self.map().keys().any(|file| file.starts_with(path));
        known.then_some(()).ok_or_else(|| missing("sync", path))
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
