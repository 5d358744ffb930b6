//! Making files appear complete or not at all: temporary sibling, sync, rename, sync of the folder.

use std::borrow::Borrow;
use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use super::open::beneath;
use crate::error::{IoError, Kind};
use crate::path::RelPath;
use crate::root::Draft;

/// Start of the names of files in the making; readers ignore them, `repair` removes them.
pub const TEMPORARY: &str = ".packstone-";
/// The file that writers lock where folders cannot be locked; it stays.
pub const LOCK_FILE: &str = ".packstone-lock";

/// A name that nobody else has.
pub(super) fn random_name(start: &str, end: &str) -> std::io::Result<String> {
    let mut random = [0u8; 8];
    getrandom::fill(&mut random).map_err(|e| std::io::Error::other(e.to_string()))?;
    Ok(format!("{start}{:016x}{end}", u64::from_le_bytes(random)))
}

pub(super) fn folder_of(root: &OwnedFd, path: &RelPath) -> Result<OwnedFd, IoError> {
    let parent = path.parent().ok_or_else(|| {
        IoError::new(Kind::Invalid, "write", path.to_string(), "the root itself is no file")
    })?;
    beneath(root, &parent, OFlags::RDONLY | OFlags::DIRECTORY)
}

/// A file in the making; dropped before it got its name, it is removed.
pub(super) struct LocalDraft<F: Borrow<OwnedFd>> {
    folder: F,
    path: RelPath,
    name: String,
    file: File,
    named: bool,
}

impl<F: Borrow<OwnedFd>> LocalDraft<F> {
    /// Starts one that will be called `path`, in the folder of that name, which is open.
    pub(super) fn start(folder: F, path: &RelPath) -> Result<Self, IoError> {
        let fault = |e| IoError::os("write", path.as_str(), e);
        let name = random_name(TEMPORARY, ".tmp").map_err(fault)?;
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(folder.borrow(), &name, flags, Mode::from_raw_mode(0o666))
            .map_err(|e| fault(e.into()))?;
        Ok(Self { folder, path: path.clone(), name, file: File::from(fd), named: false })
    }

    fn fault(&self, action: &'static str, e: impl Into<std::io::Error>) -> IoError {
        IoError::os(action, self.path.as_str(), e.into())
    }

    fn append(&mut self, content: &[u8]) -> Result<(), IoError> {
        self.file.write_all(content).map_err(|e| self.fault("write", e))
    }

    /// Gives it its name, in place of an old file.
    fn rename(&mut self) -> Result<(), IoError> {
        let folder = self.folder.borrow();
        rustix::fs::renameat(folder, &self.name, folder, self.path.name())
            .map_err(|e| self.fault("replace", e))?;
        self.named = true;
        Ok(())
    }

    /// Gives it its name, which must be free.
    fn rename_new(&mut self) -> Result<(), IoError> {
        let (folder, to) = (self.folder.borrow(), self.path.name());
        let flags = RenameFlags::NOREPLACE;
        let named = match rustix::fs::renameat_with(folder, &self.name, folder, to, flags) {
            // File systems without the flag: a hard link refuses an existing name as well.
            Err(Errno::INVAL | Errno::NOSYS) => {
                rustix::fs::linkat(folder, &self.name, folder, to, AtFlags::empty())
            }
            other => other.inspect(|()| self.named = true),
        };
        named.map_err(|e| self.fault("create", e))
    }
}

impl Draft for LocalDraft<OwnedFd> {
    fn write(&mut self, bytes: &[u8]) -> Result<(), IoError> {
        self.append(bytes)
    }

    fn publish(mut self: Box<Self>) -> Result<(), IoError> {
        let old = rustix::fs::statat(&self.folder, self.path.name(), AtFlags::SYMLINK_NOFOLLOW);
        if let Ok(old) = old {
            let mode = Mode::from_raw_mode(old.st_mode & 0o7777);
            rustix::fs::fchmod(&self.file, mode).map_err(|e| self.fault("replace", e))?;
        }
        rustix::fs::fsync(&self.file).map_err(|e| self.fault("sync", e))?;
        self.rename()?;
        rustix::fs::fsync(&self.folder).map_err(|e| self.fault("sync", e))
    }

    fn publish_new(mut self: Box<Self>) -> Result<(), IoError> {
        rustix::fs::fsync(&self.file).map_err(|e| self.fault("sync", e))?;
        self.rename_new()?;
        rustix::fs::fsync(&self.folder).map_err(|e| self.fault("sync", e))
    }
}

impl<F: Borrow<OwnedFd>> Drop for LocalDraft<F> {
    fn drop(&mut self) {
        if !self.named {
            // Nothing more can be done about a leftover here; readers ignore it.
            let _ = rustix::fs::unlinkat(self.folder.borrow(), &self.name, AtFlags::empty());
        }
    }
}

/// Renames below the root and puts both folders on the disk.
pub(super) fn rename(
    root: &OwnedFd,
    from: &RelPath,
    to: &RelPath,
    flags: RenameFlags,
) -> Result<(), IoError> {
    let fault = |path: &RelPath, e: Errno| IoError::os("rename", path.as_str(), e.into());
    let (old, new) = (folder_of(root, from)?, folder_of(root, to)?);
    match rustix::fs::renameat_with(&old, from.name(), &new, to.name(), flags) {
        Err(Errno::INVAL | Errno::NOSYS) => {
            let detail = "the file system cannot rename in this way";
            return Err(IoError::new(Kind::Unsupported, "rename", from.as_str(), detail));
        }
        other => other.map_err(|e| fault(to, e))?,
    }
    rustix::fs::fsync(&old).map_err(|e| fault(from, e))?;
    rustix::fs::fsync(&new).map_err(|e| fault(to, e))
}

pub(super) fn create(root: &OwnedFd, path: &RelPath, content: &[u8]) -> Result<(), IoError> {
    let folder = folder_of(root, path)?;
    let mut draft = LocalDraft::start(&folder, path)?;
    draft.append(content)?;
    draft.rename_new()
}

pub(super) fn replace(root: &OwnedFd, files: &[(RelPath, Vec<u8>)]) -> Result<(), IoError> {
    let fault = |path: &RelPath, e: Errno| IoError::os("replace", path.as_str(), e.into());
    let folders: Vec<_> =
        files.iter().map(|(path, _)| folder_of(root, path)).collect::<Result<_, _>>()?;
    let mut drafts = Vec::with_capacity(files.len());
    for ((path, content), folder) in files.iter().zip(&folders) {
        let mut draft = LocalDraft::start(folder, path)?;
        draft.append(content)?;
        rustix::fs::fsync(&draft.file).map_err(|e| fault(path, e))?;
        drafts.push(draft);
    }
    // Old files that nobody else has open would be freed inside of the renames, which can take milliseconds; held, a
    // rename takes microseconds, and so does the time in which a killed process leaves some renamed and some not.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let hold = |(folder, (path, _)): (&OwnedFd, &(RelPath, Vec<u8>))| {
        rustix::fs::openat(folder, path.name(), flags, Mode::empty()).ok()
    };
    let _old: Vec<Option<OwnedFd>> = folders.iter().zip(files).map(hold).collect();
    drafts.iter_mut().try_for_each(LocalDraft::rename)?;
    for ((path, _), folder) in files.iter().zip(&folders) {
        rustix::fs::fsync(folder).map_err(|e| fault(path, e))?;
    }
    Ok(())
}

pub(super) fn create_folder(root: &OwnedFd, path: &RelPath) -> Result<(), IoError> {
    if path.is_root() || beneath(root, path, OFlags::RDONLY | OFlags::DIRECTORY).is_ok() {
        return Ok(());
    }
    if let Some(parent) = path.parent() {
        create_folder(root, &parent)?;
    }
    let folder = folder_of(root, path)?;
    match rustix::fs::mkdirat(&folder, path.name(), Mode::from_raw_mode(0o777)) {
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        Err(e) => Err(IoError::os("create", path.as_str(), e.into())),
    }
}

pub(super) fn persist(root: &OwnedFd, path: &RelPath) -> Result<(), IoError> {
    let fault = |e: Errno| IoError::os("sync", path.as_str(), e.into());
    let file = beneath(root, path, OFlags::RDONLY)?;
    rustix::fs::fsync(&file).map_err(fault)
}

pub(super) fn persist_all(root: &OwnedFd, label: &str) -> Result<(), IoError> {
    let fault = |e: Errno| IoError::os("sync", label, e.into());
    rustix::fs::syncfs(root).map_err(fault)
}

pub(super) fn remove(root: &OwnedFd, path: &RelPath, flags: AtFlags) -> Result<(), IoError> {
    let folder = folder_of(root, path)?;
    rustix::fs::unlinkat(&folder, path.name(), flags)
        .map_err(|e| IoError::os("remove", path.as_str(), e.into()))
}

/// Locks the folder itself, so that no lock file is left behind; the kernel frees it with the process.
pub(super) fn lock(root: &OwnedFd, label: &str, patience: Duration) -> Result<OwnedFd, IoError> {
    let fault = |e: Errno| IoError::os("lock", label, e.into());
    let mut held = beneath(root, &RelPath::root(), OFlags::RDONLY | OFlags::DIRECTORY)?;
    let mut own_file = false;
    let start = Instant::now();
    loop {
        match rustix::fs::flock(&held, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(held),
            Err(Errno::WOULDBLOCK | Errno::INTR) => {}
            // Network file systems that lock only files open for writing.
            Err(Errno::BADF | Errno::NOLCK | Errno::OPNOTSUPP | Errno::INVAL) if !own_file => {
                let flags = OFlags::CREATE | OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW;
                held = rustix::fs::openat(root, LOCK_FILE, flags, Mode::from_raw_mode(0o666))
                    .map_err(fault)?;
                own_file = true;
                continue;
            }
            Err(e) => return Err(fault(e)),
        }
        if start.elapsed() >= patience {
            let detail = format!("another writer held it for {} s", patience.as_secs());
            return Err(IoError::new(Kind::Conflict, "lock", label, detail));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}
