//! The folder of a root: held open, or opened again for each operation.

use std::ops::Deref;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags, StatxFlags, fstat, statx};

use crate::error::{IoError, Kind};

/// How a root keeps its folder.
#[derive(Debug)]
pub(super) enum Folder {
    /// By a descriptor: what happens to its path afterwards does not matter.
    Held(OwnedFd),
    /// By its absolute path and what it was when it was opened: thousands of roots then need no descriptor.
    Named { path: PathBuf, identity: Identity },
}

/// What tells a folder from another one. Inode numbers are used again at once; times of birth are not.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Identity {
    device: u64,
    inode: u64,
    /// Where the file system knows it.
    born: Option<(i64, u32)>,
}

impl Identity {
    fn of(folder: &OwnedFd) -> rustix::io::Result<Self> {
        let stat = fstat(folder)?;
        let born = statx(folder, c"", AtFlags::EMPTY_PATH, StatxFlags::BTIME).ok();
        let born = born.filter(|found| found.stx_mask & StatxFlags::BTIME.bits() != 0);
        let born = born.map(|found| (found.stx_btime.tv_sec, found.stx_btime.tv_nsec));
        Ok(Self { device: stat.st_dev, inode: stat.st_ino, born })
    }
}

/// An open folder for one operation.
pub(super) enum Handle<'a> {
    Held(&'a OwnedFd),
    Own(OwnedFd),
}

impl Deref for Handle<'_> {
    type Target = OwnedFd;

    fn deref(&self) -> &OwnedFd {
        match self {
            Self::Held(folder) => folder,
            Self::Own(folder) => folder,
        }
    }
}

fn fault(path: &Path, e: impl Into<std::io::Error>) -> IoError {
    IoError::os("open", path.display().to_string(), e.into())
}

fn open(path: &Path) -> Result<OwnedFd, IoError> {
    let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty()).map_err(|e| fault(path, e))
}

impl Folder {
    pub(super) fn held(path: &Path) -> Result<Self, IoError> {
        Ok(Self::Held(open(path)?))
    }

    pub(super) fn named(path: &Path) -> Result<Self, IoError> {
        let path = std::path::absolute(path).map_err(|e| fault(path, e))?;
        let identity = Identity::of(&open(&path)?).map_err(|e| fault(&path, e))?;
        Ok(Self::Named { path, identity })
    }

    pub(super) fn handle(&self) -> Result<Handle<'_>, IoError> {
        match self {
            Self::Held(folder) => Ok(Handle::Held(folder)),
            Self::Named { path, identity } => {
                let folder = open(path)?;
                if Identity::of(&folder).map_err(|e| fault(path, e))? != *identity {
                    let detail = "the folder was replaced since it was opened";
                    let path = path.display().to_string();
                    return Err(IoError::new(Kind::Conflict, "open", path, detail));
                }
                Ok(Handle::Own(folder))
            }
        }
    }
}
