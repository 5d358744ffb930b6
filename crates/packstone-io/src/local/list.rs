//! What is in a folder: names, and how long files are.

use std::ffi::CStr;
use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, FileType, RawDir, Stat, statat};
use rustix::io::Errno;

use crate::root::{Entry, EntryKind, Name};

/// What is read of a folder at once: more than the longest entry that a kernel gives.
const PORTION: usize = 32 << 10;

/// The entries of `folder`, sorted by name. Names that are not UTF-8 are left out.
pub(super) fn entries(folder: &OwnedFd) -> Result<Vec<Entry>, Errno> {
    let mut entries = each(folder, |raw, name, kind| match kind {
        // Only of files is there more to know than the folder itself says.
        FileType::RegularFile | FileType::Unknown => {
            let stat = look(folder, raw)?;
            let kind = kind_of(FileType::from_raw_mode(stat.st_mode));
            let len = if kind == EntryKind::File { stat.st_size.unsigned_abs() } else { 0 };
            Some(Entry { name, kind, len })
        }
        known => Some(Entry { name, kind: kind_of(known), len: 0 }),
    })?;
    entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    Ok(entries)
}

/// The names in `folder`, sorted; those that are not UTF-8 are left out.
pub(super) fn names(folder: &OwnedFd) -> Result<Vec<Name>, Errno> {
    let mut names = each(folder, |raw, name, kind| {
        let kind = match kind {
            // Some file systems do not tell.
            FileType::Unknown => FileType::from_raw_mode(look(folder, raw)?.st_mode),
            known => known,
        };
        Some(Name { name, kind: kind_of(kind) })
    })?;
    names.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    Ok(names)
}

/// What `make` makes of each name in `folder` and what the folder says that it is of.
fn each<T>(
    folder: &OwnedFd,
    make: impl Fn(&CStr, String, FileType) -> Option<T>,
) -> Result<Vec<T>, Errno> {
    let mut portion = Vec::with_capacity(PORTION);
    let mut listed = RawDir::new(folder, portion.spare_capacity_mut());
    let mut made = Vec::new();
    while let Some(found) = listed.next() {
        let found = found?;
        let raw = found.file_name();
        match raw.to_str() {
            Err(_) | Ok("." | "..") => {}
            Ok(name) => made.extend(make(raw, name.to_owned(), found.file_type())),
        }
    }
    Ok(made)
}

/// `None` for what is gone since it was listed.
fn look(folder: &OwnedFd, name: &CStr) -> Option<Stat> {
    statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()
}

fn kind_of(found: FileType) -> EntryKind {
    match found {
        FileType::RegularFile => EntryKind::File,
        FileType::Directory => EntryKind::Folder,
        _ => EntryKind::Other,
    }
}
