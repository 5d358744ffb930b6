//! Changing a file in place.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;

use rustix::fs::OFlags;

use super::open::beneath;
use crate::error::{IoError, Kind};
use crate::memory::past_end;
use crate::path::RelPath;
use crate::root::Edit;

/// A local file that is changed in place.
pub(super) struct LocalEdit {
    file: File,
    path: RelPath,
}

pub(super) fn edit(root: &OwnedFd, path: &RelPath) -> Result<LocalEdit, IoError> {
    let file = File::from(beneath(root, path, OFlags::RDWR | OFlags::NONBLOCK)?);
    let meta = file.metadata().map_err(|e| IoError::os("open", path.as_str(), e))?;
    if !meta.is_file() {
        return Err(IoError::new(Kind::Invalid, "open", path.as_str(), "not a regular file"));
    }
    Ok(LocalEdit { file, path: path.clone() })
}

impl Edit for LocalEdit {
    fn len(&self) -> Result<u64, IoError> {
        let meta = self.file.metadata();
        Ok(meta.map_err(|e| IoError::os("read", self.path.as_str(), e))?.len())
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<(), IoError> {
        let end = offset.checked_add(bytes.len() as u64);
        if end.is_none_or(|end| self.len().map_or(true, |len| end > len)) {
            return Err(past_end(&self.path, offset, bytes.len()));
        }
        let written = self.file.write_all_at(bytes, offset);
        written.map_err(|e| IoError::os("write", self.path.as_str(), e))
    }

    fn set_len(&self, len: u64) -> Result<(), IoError> {
        self.file.set_len(len).map_err(|e| IoError::os("resize", self.path.as_str(), e))
    }

    fn sync(&self) -> Result<(), IoError> {
        self.file.sync_all().map_err(|e| IoError::os("sync", self.path.as_str(), e))
    }
}
