//! One file of a folder as a root of its own, for datasets that are a file.

use std::sync::Arc;
use std::time::Duration;

use crate::error::{IoError, Kind};
use crate::path::RelPath;
use crate::read::ReadAt;
use crate::root::{Draft, Edit, Entry, EntryKind, Journal, Root, RootMut, Scratch};

/// A root that shows one file, whether it exists already or not. All other names are refused.
pub struct SoleFile<R> {
    inner: R,
    file: RelPath,
    label: String,
}

impl<R: Root> SoleFile<R> {
    /// Shows `file` of `inner` only; people call it `label`.
    pub fn new(inner: R, file: RelPath, label: impl Into<String>) -> Self {
        Self { inner, file, label: label.into() }
    }

    fn only(&self, action: &'static str, path: &RelPath) -> Result<(), IoError> {
        if *path == self.file {
            return Ok(());
        }
        let detail = format!("expected {}, the one file of the dataset", self.file);
        Err(IoError::new(Kind::NotFound, action, path.as_str(), detail))
    }

    fn no_folder<T>(&self, action: &'static str, path: &RelPath) -> Result<T, IoError> {
        let detail = "the dataset is a file and has no folders";
        Err(IoError::new(Kind::Unsupported, action, path.as_str(), detail))
    }
}

impl<R: Root> Root for SoleFile<R> {
    fn label(&self) -> String {
        self.label.clone()
    }

    fn sole_file(&self) -> Option<&RelPath> {
        Some(&self.file)
    }

    fn open(&self, path: &RelPath) -> Result<Arc<dyn ReadAt>, IoError> {
        self.only("open", path)?;
        self.inner.open(path)
    }

    fn list(&self, folder: &RelPath) -> Result<Vec<Entry>, IoError> {
        if !folder.is_root() {
            return self.no_folder("list", folder);
        }
        let name = self.file.name().to_owned();
        match self.inner.len(&self.file) {
            Ok(len) => Ok(vec![Entry { name, kind: EntryKind::File, len }]),
            Err(e) if e.kind() == Kind::NotFound => Ok(Vec::new()),
            Err(e) => Err(e),
        }
    }
}

impl<R: RootMut> RootMut for SoleFile<R> {
    fn create(&self, path: &RelPath, content: &[u8]) -> Result<(), IoError> {
        self.only("create", path)?;
        self.inner.create(path, content)
    }

    fn replace(&self, files: &[(RelPath, Vec<u8>)]) -> Result<(), IoError> {
        files.iter().try_for_each(|(path, _)| self.only("replace", path))?;
        self.inner.replace(files)
    }

    fn draft(&self, path: &RelPath) -> Result<Box<dyn Draft>, IoError> {
        self.only("create", path)?;
        self.inner.draft(path)
    }

    fn scratch(&self) -> Result<Box<dyn Scratch>, IoError> {
        self.inner.scratch()
    }

    fn edit(&self, path: &RelPath) -> Result<Box<dyn Edit>, IoError> {
        self.only("write", path)?;
        self.inner.edit(path)
    }

    fn rename(&self, from: &RelPath, _to: &RelPath) -> Result<(), IoError> {
        self.no_folder("rename", from)
    }

    fn exchange(&self, one: &RelPath, _other: &RelPath) -> Result<(), IoError> {
        self.no_folder("rename", one)
    }

    fn journal(&self, path: &RelPath) -> Result<Box<dyn Journal>, IoError> {
        self.no_folder("create", path)
    }

    fn journal_is_held(&self, path: &RelPath) -> Result<bool, IoError> {
        self.no_folder("lock", path)
    }

    fn create_folder(&self, path: &RelPath) -> Result<(), IoError> {
        self.no_folder("create", path)
    }

    fn persist(&self, path: &RelPath) -> Result<(), IoError> {
        self.only("sync", path)?;
        self.inner.persist(path)
    }

    fn persist_all(&self) -> Result<(), IoError> {
        self.inner.persist_all()
    }

    fn remove(&self, path: &RelPath) -> Result<(), IoError> {
        self.only("remove", path)?;
        self.inner.remove(path)
    }

    fn remove_folder(&self, path: &RelPath) -> Result<(), IoError> {
        self.no_folder("remove", path)
    }

    fn lock(&self, patience: Duration) -> Result<Box<dyn Send>, IoError> {
        self.inner.lock(patience)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryRoot;

    #[test]
    fn one_file_is_all_there_is() {
        let path = |text: &str| RelPath::new(text).unwrap();
        let folder = MemoryRoot::new();
        folder.create(&path("other"), b"o").unwrap();
        let root = SoleFile::new(folder.clone(), path("a.tdz"), "here/a.tdz");
        assert_eq!(root.list(&RelPath::root()).unwrap(), []);
        let mut draft = root.draft(&path("a.tdz")).unwrap();
        draft.write(b"12").unwrap();
        draft.publish().unwrap();
        assert_eq!(root.list(&RelPath::root()).unwrap()[0].len, 2);
        assert_eq!(&root.read(&path("a.tdz")).unwrap()[..], b"12");
        root.edit(&path("a.tdz")).unwrap().write_at(1, b"3").unwrap();
        assert_eq!(&folder.read(&path("a.tdz")).unwrap()[..], b"13");
        assert_eq!(root.read(&path("other")).unwrap_err().kind(), Kind::NotFound);
        assert_eq!(root.create(&path("new"), b"").unwrap_err().kind(), Kind::NotFound);
        assert_eq!(root.create_folder(&path("new")).unwrap_err().kind(), Kind::Unsupported);
        assert_eq!((root.sole_file(), root.label().as_str()), (Some(&path("a.tdz")), "here/a.tdz"));
    }
}
