//! Journals: what a writer has finished, readable after it was killed.

use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;

use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use super::open::beneath;
use super::publish::folder_of;
use crate::error::IoError;
use crate::path::RelPath;
use crate::root::Journal;

/// An open journal; its lock goes with the descriptor, so with the process.
pub(super) struct LocalJournal {
    file: File,
    path: RelPath,
}

pub(super) fn start(root: &OwnedFd, path: &RelPath) -> Result<LocalJournal, IoError> {
    let fault = |e: Errno| IoError::os("create", path.as_str(), e.into());
    let folder = folder_of(root, path)?;
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::APPEND | OFlags::CLOEXEC;
    let fd = rustix::fs::openat(&folder, path.name(), flags, Mode::from_raw_mode(0o666))
        .map_err(fault)?;
    // Somebody may just be looking whether it is held; that takes no time.
    rustix::fs::flock(&fd, FlockOperation::LockExclusive).map_err(fault)?;
    Ok(LocalJournal { file: File::from(fd), path: path.clone() })
}

pub(super) fn is_held(root: &OwnedFd, path: &RelPath) -> Result<bool, IoError> {
    let file = beneath(root, path, OFlags::RDONLY)?;
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(false),
        Err(Errno::WOULDBLOCK) => Ok(true),
        Err(e) => Err(IoError::os("lock", path.as_str(), e.into())),
    }
}

impl Journal for LocalJournal {
    fn append(&mut self, entry: &[u8]) -> Result<(), IoError> {
        self.file.write_all(entry).map_err(|e| IoError::os("append to", self.path.as_str(), e))
    }
}
