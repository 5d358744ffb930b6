//! Counts what is opened, to prove that opening a dataset costs what is asked for and no more.

use std::sync::{Arc, Mutex, PoisonError};

use crate::error::IoError;
use crate::path::RelPath;
use crate::read::ReadAt;
use crate::root::{Entry, Root};

/// A root that remembers each file that was opened and each folder that was listed.
pub struct CountingRoot<R> {
    inner: R,
    seen: Mutex<Vec<RelPath>>,
}

impl<R: Root> CountingRoot<R> {
    /// Wraps `inner`.
    pub fn new(inner: R) -> Self {
        Self { inner, seen: Mutex::default() }
    }

    /// What was opened or listed since the last call, in order.
    pub fn take(&self) -> Vec<RelPath> {
        std::mem::take(&mut self.seen.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn note(&self, path: &RelPath) {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).push(path.clone());
    }
}

impl<R: Root> Root for CountingRoot<R> {
    fn label(&self) -> String {
        self.inner.label()
    }

    fn sole_file(&self) -> Option<&RelPath> {
        self.inner.sole_file()
    }

    fn open(&self, path: &RelPath) -> Result<Arc<dyn ReadAt>, IoError> {
        self.note(path);
        self.inner.open(path)
    }

    fn open_unlinked(&self, path: &RelPath) -> Result<Arc<dyn ReadAt>, IoError> {
        self.note(path);
        self.inner.open_unlinked(path)
    }

    fn list(&self, folder: &RelPath) -> Result<Vec<Entry>, IoError> {
        self.note(folder);
        self.inner.list(folder)
    }
}
