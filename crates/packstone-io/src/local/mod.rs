//! A folder of the local file system.
//!
//! Every path is opened relative to the descriptor of the root, and the kernel is asked to keep it beneath
//! (`openat2` with `RESOLVE_BENEATH`): `..` and links that lead out are refused there, not by comparing texts. Where
//! the kernel has no such call, a walk by components refuses every link.

mod edit;
mod folder;
mod journal;
mod list;
mod open;
mod publish;
mod scratch;

pub use publish::{LOCK_FILE, TEMPORARY};

use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::{AtFlags, OFlags, RenameFlags};
use rustix::io::Errno;

use crate::buffer::Buf;
use crate::error::{IoError, Kind};
use crate::mmap;
use crate::path::RelPath;
use crate::pool::BufferPool;
use crate::read::ReadAt;
use crate::root::{Draft, Edit, Entry, Journal, Name, Root, RootMut, Scratch};
use folder::Folder;

/// Files from this size on are mapped, smaller ones are read: making and dropping a map costs more than copying them.
const MAP_FROM: u64 = 256 << 10;
/// Buffers that a root keeps for them while nobody reads.
const READ_BUFFERS: usize = 8;

/// A local folder, see [the module](self).
#[derive(Debug)]
pub struct LocalRoot {
    folder: Folder,
    label: PathBuf,
    mapping: bool,
    /// What small files are read into.
    pool: BufferPool,
}

impl LocalRoot {
    /// Opens an existing folder.
    ///
    /// # Errors
    /// `NotFound`, also where `path` is not a folder; `Denied`; `Io`.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, IoError> {
        let path = path.as_ref();
        Ok(Self::of(Folder::held(path)?, path))
    }

    /// Opens an existing folder without keeping a descriptor of it: each operation opens it again, and refuses it where
    /// another folder stands in its place by then. For thousands of datasets that are open at once.
    ///
    /// # Errors
    /// As for [`LocalRoot::open`].
    pub fn open_lean(path: impl AsRef<Path>) -> Result<Self, IoError> {
        let path = path.as_ref();
        Ok(Self::of(Folder::named(path)?, path))
    }

    /// The folder in which the file at `path` really lies, the file's name there, and both as one absolute path. No
    /// descriptor is kept, as with [`LocalRoot::open_lean`].
    ///
    /// Links are followed, also out of any root: this is for the one operation that keeps a link and replaces what it
    /// leads to, on a path that its user named.
    ///
    /// # Errors
    /// `NotFound`, `Denied`, `Invalid` where the path is no Unicode text, `Io`.
    pub fn holding(path: impl AsRef<Path>) -> Result<(Self, RelPath, PathBuf), IoError> {
        let path = path.as_ref();
        let fault = |e| IoError::os("open", path.display().to_string(), e);
        let real = std::fs::canonicalize(path).map_err(fault)?;
        let name = real.file_name().and_then(|name| name.to_str());
        let name = name.and_then(|name| RelPath::new(name).ok()).zip(real.parent());
        let (name, folder) = name.ok_or_else(|| {
            let detail = "expected a file with a name of Unicode text";
            IoError::new(Kind::Invalid, "open", path.display().to_string(), detail)
        })?;
        Ok((Self::open_lean(folder)?, name, real.clone()))
    }

    fn of(folder: Folder, path: &Path) -> Self {
        let pool = BufferPool::new(READ_BUFFERS);
        Self { folder, label: path.to_owned(), mapping: true, pool }
    }

    /// Opens a folder, making it and its parents where they are missing.
    ///
    /// # Errors
    /// `Denied`, `Io`.
    pub fn create(path: impl AsRef<Path>) -> Result<Self, IoError> {
        let path = path.as_ref();
        std::fs::create_dir_all(path)
            .map_err(|e| IoError::os("create", path.display().to_string(), e))?;
        Self::open(path)
    }

    /// Whether large files are mapped (the default) or read.
    #[must_use]
    pub fn with_mapping(mut self, mapping: bool) -> Self {
        self.mapping = mapping;
        self
    }

    fn file(&self, path: &RelPath, links: Links) -> Result<LocalFile, IoError> {
        // Without NONBLOCK, a pipe with a dataset file's name would hang the reader.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK;
        let folder = self.folder.handle()?;
        let file = File::from(match links {
            Links::Below => open::beneath(&folder, path, flags)?,
            Links::None => open::unlinked(&folder, path, flags)?,
        });
        let meta = file.metadata().map_err(|e| IoError::os("read", path.as_str(), e))?;
        if !meta.is_file() {
            return Err(IoError::new(Kind::Invalid, "read", path.as_str(), "not a regular file"));
        }
        let (path, mapping, pool) = (path.clone(), self.mapping, self.pool.clone());
        Ok(LocalFile { file, len: meta.len(), path, mapping, pool })
    }

    fn listed<T>(
        &self,
        folder: &RelPath,
        list: impl FnOnce(&OwnedFd) -> Result<Vec<T>, Errno>,
    ) -> Result<Vec<T>, IoError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let opened = open::beneath(&*self.folder.handle()?, folder, flags)?;
        list(&opened).map_err(|e| IoError::os("list", folder.as_str(), e.into()))
    }
}

/// Which symbolic links may be on the way to a file.
#[derive(Clone, Copy)]
enum Links {
    /// Those that do not lead out of the root.
    Below,
    None,
}

impl Root for LocalRoot {
    fn label(&self) -> String {
        self.label.display().to_string()
    }

    fn open(&self, path: &RelPath) -> Result<Arc<dyn ReadAt>, IoError> {
        Ok(Arc::new(self.file(path, Links::Below)?))
    }

    fn open_unlinked(&self, path: &RelPath) -> Result<Arc<dyn ReadAt>, IoError> {
        Ok(Arc::new(self.file(path, Links::None)?))
    }

    fn list(&self, folder: &RelPath) -> Result<Vec<Entry>, IoError> {
        self.listed(folder, list::entries)
    }

    fn names(&self, folder: &RelPath) -> Result<Vec<Name>, IoError> {
        self.listed(folder, list::names)
    }
}

impl RootMut for LocalRoot {
    fn create(&self, path: &RelPath, content: &[u8]) -> Result<(), IoError> {
        publish::create(&*self.folder.handle()?, path, content)
    }

    fn replace(&self, files: &[(RelPath, Vec<u8>)]) -> Result<(), IoError> {
        publish::replace(&*self.folder.handle()?, files)
    }

    fn draft(&self, path: &RelPath) -> Result<Box<dyn Draft>, IoError> {
        let folder = publish::folder_of(&*self.folder.handle()?, path)?;
        Ok(Box::new(publish::LocalDraft::start(folder, path)?))
    }

    fn scratch(&self) -> Result<Box<dyn Scratch>, IoError> {
        let file = scratch::nameless(&*self.folder.handle()?, &self.label())?;
        Ok(Box::new(LocalScratch { file, mapping: self.mapping, pool: self.pool.clone() }))
    }

    fn edit(&self, path: &RelPath) -> Result<Box<dyn Edit>, IoError> {
        Ok(Box::new(edit::edit(&*self.folder.handle()?, path)?))
    }

    fn rename(&self, from: &RelPath, to: &RelPath) -> Result<(), IoError> {
        publish::rename(&*self.folder.handle()?, from, to, RenameFlags::NOREPLACE)
    }

    fn exchange(&self, one: &RelPath, other: &RelPath) -> Result<(), IoError> {
        publish::rename(&*self.folder.handle()?, one, other, RenameFlags::EXCHANGE)
    }

    fn journal(&self, path: &RelPath) -> Result<Box<dyn Journal>, IoError> {
        Ok(Box::new(journal::start(&*self.folder.handle()?, path)?))
    }

    fn journal_is_held(&self, path: &RelPath) -> Result<bool, IoError> {
        journal::is_held(&*self.folder.handle()?, path)
    }

    fn create_folder(&self, path: &RelPath) -> Result<(), IoError> {
        publish::create_folder(&*self.folder.handle()?, path)
    }

    fn persist(&self, path: &RelPath) -> Result<(), IoError> {
        publish::persist(&*self.folder.handle()?, path)
    }

    fn persist_all(&self) -> Result<(), IoError> {
        publish::persist_all(&*self.folder.handle()?, &self.label())
    }

    fn remove(&self, path: &RelPath) -> Result<(), IoError> {
        publish::remove(&*self.folder.handle()?, path, AtFlags::empty())
    }

    fn remove_folder(&self, path: &RelPath) -> Result<(), IoError> {
        publish::remove(&*self.folder.handle()?, path, AtFlags::REMOVEDIR)
    }

    fn lock(&self, patience: Duration) -> Result<Box<dyn Send>, IoError> {
        Ok(Box::new(publish::lock(&*self.folder.handle()?, &self.label(), patience)?))
    }
}

struct LocalFile {
    file: File,
    len: u64,
    path: RelPath,
    mapping: bool,
    pool: BufferPool,
}

impl LocalFile {
    fn fault(&self, source: std::io::Error) -> IoError {
        IoError::os("read", self.path.as_str(), source)
    }

    fn read_range(&self, range: &std::ops::Range<u64>) -> Result<Buf, IoError> {
        let outside = || {
            let detail =
                format!("expected bytes {}..{}, found {}", range.start, range.end, self.len);
            IoError::new(Kind::Corrupt, "read", self.path.as_str(), detail)
        };
        let len = range.end.checked_sub(range.start).filter(|_| range.end <= self.len);
        let len = len.and_then(|n| usize::try_from(n).ok()).ok_or_else(outside)?;
        // Buffers of one size serve each other's readers.
        let mut bytes = self.pool.take(len.max(usize::try_from(MAP_FROM).unwrap_or(0)))?;
        bytes.set_len(len)?;
        self.file.read_exact_at(&mut bytes, range.start).map_err(|e| self.fault(e))?;
        Ok(bytes.freeze())
    }
}

impl ReadAt for LocalFile {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_ranges(&self, ranges: &[std::ops::Range<u64>]) -> Result<Vec<Buf>, IoError> {
        ranges.iter().map(|range| self.read_range(range)).collect()
    }

    fn at_hand(&self) -> Result<Option<Buf>, IoError> {
        match usize::try_from(self.len) {
            Ok(len) if self.mapping && self.len >= MAP_FROM => {
                mmap::map(&self.file, len).map(Some).map_err(|e| self.fault(e))
            }
            Ok(_) if self.len < MAP_FROM => self.read_range(&(0..self.len)).map(Some),
            _ => Ok(None),
        }
    }

    fn read_all(&self) -> Result<Buf, IoError> {
        match self.at_hand()? {
            Some(mapped) => Ok(mapped),
            None => self.read_range(&(0..self.len)),
        }
    }
}

struct LocalScratch {
    file: File,
    mapping: bool,
    pool: BufferPool,
}

impl Scratch for LocalScratch {
    fn write(&mut self, bytes: &[u8]) -> Result<(), IoError> {
        self.file.write_all(bytes).map_err(|e| IoError::os("write", scratch::NAME, e))
    }

    fn read_back(self: Box<Self>) -> Result<Arc<dyn ReadAt>, IoError> {
        let path = RelPath::new(scratch::NAME).unwrap_or_default();
        let meta = self.file.metadata().map_err(|e| IoError::os("read", scratch::NAME, e))?;
        let Self { file, mapping, pool } = *self;
        Ok(Arc::new(LocalFile { file, len: meta.len(), path, mapping, pool }))
    }
}
