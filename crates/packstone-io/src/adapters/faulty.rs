//! Fails at the nth operation, as a full disk or a pulled plug would.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::error::{IoError, Kind};
use crate::path::RelPath;
use crate::read::ReadAt;
use crate::root::{Draft, Edit, Entry, Journal, Root, RootMut};

/// A root whose writing operations fail from the nth on (1 is the first).
pub struct FaultyRoot<R> {
    inner: R,
    left: AtomicU64,
}

impl<R: RootMut> FaultyRoot<R> {
    /// Lets `good` writing operations through, then fails each.
    pub fn new(inner: R, good: u64) -> Self {
        Self { inner, left: AtomicU64::new(good) }
    }

    /// True once an operation has failed.
    pub fn failed(&self) -> bool {
        self.left.load(Ordering::SeqCst) == 0
    }

    fn step(&self, action: &'static str, path: &RelPath) -> Result<(), IoError> {
        let spend = |left: u64| left.checked_sub(1);
        match self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, spend) {
            Ok(left) if left > 0 => Ok(()),
            _ => Err(IoError::new(Kind::Io, action, path.as_str(), "no space left on device")),
        }
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
        self.inner.draft(path)
    }

    fn edit(&self, path: &RelPath) -> Result<Box<dyn Edit>, IoError> {
        self.step("write", path)?;
        self.inner.edit(path)
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
        self.inner.journal(path)
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
