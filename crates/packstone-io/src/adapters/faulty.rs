//! Fails at the nth operation, as a full disk or a pulled plug would.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::error::{IoError, Kind};
use crate::path::RelPath;
use crate::read::ReadAt;
use crate::root::{Draft, Edit, Entry, Journal, Root, RootMut, Scratch};

/// A root whose writing operations fail from the nth on (1 is the first); writing to an open file is one, too.
pub struct FaultyRoot<R> {
    inner: R,
    purse: Purse,
}

/// How many operations are left, shared with the files that are being written.
#[derive(Clone)]
struct Purse(Arc<AtomicU64>);

impl Purse {
    fn step(&self, action: &'static str, path: &RelPath) -> Result<(), IoError> {
        let spend = |left: u64| left.checked_sub(1);
        match self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, spend) {
            Ok(left) if left > 0 => Ok(()),
            _ => Err(IoError::new(Kind::Io, action, path.as_str(), "no space left on device")),
        }
    }
}

impl<R: RootMut> FaultyRoot<R> {
    /// Lets `good` writing operations through, then fails each.
    pub fn new(inner: R, good: u64) -> Self {
        Self { inner, purse: Purse(Arc::new(AtomicU64::new(good))) }
    }

    /// True once an operation has failed.
    pub fn failed(&self) -> bool {
        self.purse.0.load(Ordering::SeqCst) == 0
    }

    fn step(&self, action: &'static str, path: &RelPath) -> Result<(), IoError> {
        self.purse.step(action, path)
    }
}

impl<R: RootMut> Root for FaultyRoot<R> {
    fn label(&self) -> String {
        self.inner.label()
    }

    fn sole_file(&self) -> Option<&RelPath> {
        self.inner.sole_file()
    }

    fn open(&self, path: &RelPath) -> Result<Arc<dyn ReadAt>, IoError> {
        self.inner.open(path)
    }

    fn open_unlinked(&self, path: &RelPath) -> Result<Arc<dyn ReadAt>, IoError> {
        self.inner.open_unlinked(path)
    }

    fn list(&self, folder: &RelPath) -> Result<Vec<Entry>, IoError> {
        self.inner.list(folder)
    }
}

impl<R: RootMut> RootMut for FaultyRoot<R> {
    fn create(&self, path: &RelPath, content: &[u8]) -> Result<(), IoError> {
        self.step("create", path)?;
        self.inner.create(path, content)
    }

    fn replace(&self, files: &[(RelPath, Vec<u8>)]) -> Result<(), IoError> {
        for (path, _) in files {
            self.step("replace", path)?;
        }
        self.inner.replace(files)
    }

    fn draft(&self, path: &RelPath) -> Result<Box<dyn Draft>, IoError> {
        self.step("create", path)?;
        let (inner, purse) = (self.inner.draft(path)?, self.purse.clone());
        Ok(Box::new(FaultyFile { inner, purse, path: path.clone() }))
    }

    fn scratch(&self) -> Result<Box<dyn Scratch>, IoError> {
        let path = RelPath::root();
        self.step("create", &path)?;
        Ok(Box::new(FaultyFile { inner: self.inner.scratch()?, purse: self.purse.clone(), path }))
    }

    fn edit(&self, path: &RelPath) -> Result<Box<dyn Edit>, IoError> {
        self.step("write", path)?;
        let (inner, purse) = (self.inner.edit(path)?, self.purse.clone());
        Ok(Box::new(FaultyFile { inner, purse, path: path.clone() }))
    }

    fn rename(&self, from: &RelPath, to: &RelPath) -> Result<(), IoError> {
        self.step("rename", from)?;
        self.inner.rename(from, to)
    }

    fn exchange(&self, one: &RelPath, other: &RelPath) -> Result<(), IoError> {
        self.step("rename", one)?;
        self.inner.exchange(one, other)
    }

    fn journal(&self, path: &RelPath) -> Result<Box<dyn Journal>, IoError> {
        self.step("create", path)?;
        let (inner, purse) = (self.inner.journal(path)?, self.purse.clone());
        Ok(Box::new(FaultyFile { inner, purse, path: path.clone() }))
    }

    fn journal_is_held(&self, path: &RelPath) -> Result<bool, IoError> {
        self.inner.journal_is_held(path)
    }

    fn create_folder(&self, path: &RelPath) -> Result<(), IoError> {
        self.step("create", path)?;
        self.inner.create_folder(path)
    }

    fn persist(&self, path: &RelPath) -> Result<(), IoError> {
        self.step("sync", path)?;
        self.inner.persist(path)
    }

    fn persist_all(&self) -> Result<(), IoError> {
        self.step("sync", &RelPath::root())?;
        self.inner.persist_all()
    }

    fn remove(&self, path: &RelPath) -> Result<(), IoError> {
        self.step("remove", path)?;
        self.inner.remove(path)
    }

    fn remove_folder(&self, path: &RelPath) -> Result<(), IoError> {
        self.step("remove", path)?;
        self.inner.remove_folder(path)
    }

    fn lock(&self, patience: Duration) -> Result<Box<dyn Send>, IoError> {
        self.inner.lock(patience)
    }
}

/// A file that is being written and shares the fate of its root.
struct FaultyFile<T: ?Sized> {
    purse: Purse,
    path: RelPath,
    inner: Box<T>,
}

impl Draft for FaultyFile<dyn Draft> {
    fn write(&mut self, bytes: &[u8]) -> Result<(), IoError> {
        self.purse.step("write", &self.path)?;
        self.inner.write(bytes)
    }

    fn publish(self: Box<Self>) -> Result<(), IoError> {
        self.purse.step("replace", &self.path)?;
        self.inner.publish()?;
        // The name is there and may yet fail to reach the disk.
        self.purse.step("sync", &self.path)
    }

    fn publish_new(self: Box<Self>) -> Result<(), IoError> {
        self.purse.step("create", &self.path)?;
        self.inner.publish_new()?;
        self.purse.step("sync", &self.path)
    }
}

impl Journal for FaultyFile<dyn Journal> {
    fn append(&mut self, entry: &[u8]) -> Result<(), IoError> {
        self.purse.step("append to", &self.path)?;
        self.inner.append(entry)
    }
}

impl Scratch for FaultyFile<dyn Scratch> {
    fn write(&mut self, bytes: &[u8]) -> Result<(), IoError> {
        self.purse.step("write", &self.path)?;
        self.inner.write(bytes)
    }

    fn read_back(self: Box<Self>) -> Result<Arc<dyn ReadAt>, IoError> {
        self.inner.read_back()
    }
}

impl Edit for FaultyFile<dyn Edit> {
    fn len(&self) -> Result<u64, IoError> {
        self.inner.len()
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<(), IoError> {
        self.purse.step("write", &self.path)?;
        self.inner.write_at(offset, bytes)
    }

    fn set_len(&self, len: u64) -> Result<(), IoError> {
        self.purse.step("resize", &self.path)?;
        self.inner.set_len(len)
    }

    fn sync(&self) -> Result<(), IoError> {
        self.purse.step("sync", &self.path)?;
        self.inner.sync()
    }
}
