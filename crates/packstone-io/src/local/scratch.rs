//! Files without a name.

use std::fs::File;
use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use super::publish::{TEMPORARY, random_name};
use crate::error::IoError;

/// What messages call such a file.
pub(super) const NAME: &str = "(scratch)";

/// Makes a file in `folder` that has no name and goes with its descriptor.
pub(super) fn nameless(folder: &OwnedFd, label: &str) -> Result<File, IoError> {
    let fault = |e: Errno| IoError::os("write", label, e.into());
    let flags = OFlags::RDWR | OFlags::CLOEXEC;
    let private = Mode::from_raw_mode(0o600);
    match rustix::fs::openat(folder, ".", flags | OFlags::TMPFILE, private) {
        Ok(file) => Ok(File::from(file)),
        // File systems that cannot: the name is taken away as soon as the file is there.
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::NOENT | Errno::INVAL) => {
            let name = random_name(TEMPORARY, ".tmp").map_err(fault_of(label))?;
            let file =
                rustix::fs::openat(folder, &name, flags | OFlags::CREATE | OFlags::EXCL, private)
                    .map_err(fault)?;
            rustix::fs::unlinkat(folder, &name, AtFlags::empty()).map_err(fault)?;
            Ok(File::from(file))
        }
        Err(e) => Err(fault(e)),
    }
}

fn fault_of(label: &str) -> impl Fn(std::io::Error) -> IoError {
    move |e| IoError::os("write", label, e)
}
