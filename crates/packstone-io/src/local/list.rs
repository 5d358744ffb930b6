//! The entries of a folder.

use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, FileType, RawDir, statat};
use rustix::io::Errno;

use crate::root::{Entry, EntryKind};

/// What is read of a folder at once: more than the longest entry that a kernel gives.
const PORTION: usize = 32 << 10;

/// What is in `folder`, sorted by name. Names that are not UTF-8 are left out.
pub(super) fn entries(folder: &OwnedFd) -> Result<Vec<Entry>, Errno> {
    let mut portion = Vec::with_capacity(PORTION);
    let mut listed = RawDir::new(folder, portion.spare_capacity_mut());
    let mut entries = Vec::new();
    while let Some(found) = listed.next() {
        let found = found?;
        let Ok(name) = found.file_name().to_str() else { continue };
        if name == "." || name == ".." {
            continue;
        }
        let (kind, len) = match found.file_type() {
            // Only of files is there more to know than the folder itself says.
            FileType::RegularFile | FileType::Unknown => {
                let Ok(stat) = statat(folder, found.file_name(), AtFlags::SYMLINK_NOFOLLOW) else {
                    continue; // gone since it was listed
                };
                let kind = kind_of(FileType::from_raw_mode(stat.st_mode));
                (kind, if kind == EntryKind::File { stat.st_size.unsigned_abs() } else { 0 })
            }
            known => (kind_of(known), 0),
        };
        entries.push(Entry { name: name.to_owned(), kind, len });
    }
    entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    Ok(entries)
}

fn kind_of(found: FileType) -> EntryKind {
    match found {
        FileType::RegularFile => EntryKind::File,
        FileType::Directory => EntryKind::Folder,
        _ => EntryKind::Other,
    }
}
