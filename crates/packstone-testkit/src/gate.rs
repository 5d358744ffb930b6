//! A folder in which one file does not come until the test lets it: a disk that hangs, a server that does not answer.

use std::sync::{Arc, Condvar, Mutex};

use packstone_io::{Buf, Entry, IoError, ReadAt, RelPath, Root};

/// Waits where the file is opened.
#[derive(Clone)]
pub struct Gate {
    root: Arc<dyn Root>,
    path: RelPath,
    shut: Arc<(Mutex<bool>, Condvar)>,
}

impl Gate {
    /// A gate before `path`, open.
    pub fn before(path: RelPath, root: Arc<dyn Root>) -> Self {
        Self { root, path, shut: Arc::default() }
    }

    /// Lets nobody through.
    pub fn shut(&self) {
        *self.shut.0.lock().unwrap() = true;
    }

    /// Lets everybody through, also those who wait.
    pub fn open_up(&self) {
        *self.shut.0.lock().unwrap() = false;
        self.shut.1.notify_all();
    }

    fn pass(&self, path: &RelPath) {
        let mut shut = self.shut.0.lock().unwrap();
        while *path == self.path && *shut {
            shut = self.shut.1.wait(shut).unwrap();
        }
    }
}

impl Root for Gate {
    fn label(&self) -> String {
        self.root.label()
    }

    fn sole_file(&self) -> Option<&RelPath> {
        self.root.sole_file()
    }

    fn open(&self, path: &RelPath) -> Result<Arc<dyn ReadAt>, IoError> {
        self.pass(path);
        self.root.open(path)
    }

    fn open_unlinked(&self, path: &RelPath) -> Result<Arc<dyn ReadAt>, IoError> {
        self.pass(path);
        self.root.open_unlinked(path)
    }

    fn read(&self, path: &RelPath) -> Result<Buf, IoError> {
        self.pass(path);
        self.root.read(path)
    }

    fn list(&self, folder: &RelPath) -> Result<Vec<Entry>, IoError> {
        self.root.list(folder)
    }
}
