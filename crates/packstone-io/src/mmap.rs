//! Mapping a file for reading: the only unsafe file of this crate.

#![expect(unsafe_code, reason = "a file map cannot be made without")]

use std::fs::File;

use memmap2::{Mmap, MmapOptions};

use crate::backing::Backing;
use crate::buffer::Buf;

/// Maps `len` bytes of `file` from its start, read-only.
pub(crate) fn map(file: &File, len: usize) -> std::io::Result<Buf> {
    // SAFETY: the map is read-only and private, and lives as long as the `Buf`. Another process may still write to
    // the file: bytes then change under the reader, which every parser tolerates since it checks what it reads and
    // never trusts a checked byte to stay; or cut it, which ends this process by SIGBUS as for every program that maps
    // files. `LocalRoot::with_mapping(false)` reads instead, for data that others may cut meanwhile.
    let map: Mmap = unsafe { MmapOptions::new().len(len).map_copy_read_only(file)? };
    let file = Backing::keep(file, &map);
    Ok(Buf::from_owner(map).backed_by(file))
}
