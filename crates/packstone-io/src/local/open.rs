//! Opening below a folder without leaving it.

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Mode, OFlags, ResolveFlags, openat, openat2};
use rustix::io::Errno;

use crate::error::{IoError, Kind};
use crate::path::RelPath;

/// Opens `path` below `folder` with `flags`; nothing on the way may lead out of `folder`.
pub(super) fn beneath(folder: &OwnedFd, path: &RelPath, flags: OFlags) -> Result<OwnedFd, IoError> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    resolved(folder, path, flags, resolve, "a link leads out of the folder")
}

/// The same where no link is allowed at all.
pub(super) fn unlinked(
    folder: &OwnedFd,
    path: &RelPath,
    flags: OFlags,
) -> Result<OwnedFd, IoError> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    resolved(folder, path, flags, resolve, "a symbolic link, where none is allowed")
}

fn resolved(
    folder: &OwnedFd,
    path: &RelPath,
    flags: OFlags,
    resolve: ResolveFlags,
    denied: &'static str,
) -> Result<OwnedFd, IoError> {
    let text = if path.is_root() { "." } else { path.as_str() };
    let flags = flags | OFlags::CLOEXEC;
    let opened = match openat2(folder, text, flags, Mode::empty(), resolve) {
        Err(Errno::NOSYS | Errno::INVAL) => walk(folder, path, flags),
        other => other,
    };
    opened.map_err(|errno| match errno {
        Errno::XDEV | Errno::LOOP => IoError::new(Kind::Denied, "open", path.as_str(), denied),
        errno => IoError::os("open", path.as_str(), errno.into()),
    })
}

/// The same by components, for kernels without `openat2`: no link is followed at all.
fn walk(folder: &OwnedFd, path: &RelPath, flags: OFlags) -> Result<OwnedFd, Errno> {
    let step = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut here = openat(folder, ".", step, Mode::empty())?;
    let mut parts = path.components().peekable();
    while let Some(part) = parts.next() {
        let last = parts.peek().is_none();
        let flags = if last { flags | OFlags::NOFOLLOW } else { step };
        here = openat(here.as_fd(), part, flags, Mode::empty())?;
    }
    Ok(here)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_refuse_links_that_lead_out() {
        let temp = tempfile::tempdir().unwrap();
        std::fs::create_dir(temp.path().join("in")).unwrap();
        std::fs::write(temp.path().join("secret"), b"x").unwrap();
        std::fs::write(temp.path().join("in/plain"), b"y").unwrap();
        std::os::unix::fs::symlink("../secret", temp.path().join("in/link")).unwrap();
        std::os::unix::fs::symlink("plain", temp.path().join("in/near")).unwrap();
        let folder = rustix::fs::open(
            temp.path().join("in"),
            OFlags::DIRECTORY | OFlags::RDONLY,
            Mode::empty(),
        )
        .unwrap();
        let path = |text| RelPath::new(text).unwrap();
        let denied = beneath(&folder, &path("link"), OFlags::RDONLY).unwrap_err();
        assert_eq!(denied.kind(), Kind::Denied);
        assert!(beneath(&folder, &path("near"), OFlags::RDONLY).is_ok());
        let denied = unlinked(&folder, &path("near"), OFlags::RDONLY).unwrap_err();
        assert_eq!(denied.kind(), Kind::Denied);
        assert!(unlinked(&folder, &path("plain"), OFlags::RDONLY).is_ok());
        assert_eq!(walk(&folder, &path("link"), OFlags::RDONLY).unwrap_err(), Errno::LOOP);
        assert!(walk(&folder, &path("plain"), OFlags::RDONLY).is_ok());
    }
}
