//! ZIP archives, as NumPy (`.npz`) and tensordict (`.tdz`) write them.
//!
//! ```text
//! [prefix]  any bytes; all offsets count from its end
//! local header 30 + name + extra, payload [, data descriptor]      once per entry
//! central record 46 + name + extra + comment                       once per entry
//! [zip64 end record 56.., locator 20]                              large archives
//! end record 22 + comment
//! [trailing]  any bytes
//! ```
//!
//! Two ways lead in. [`Directory::parse`] reads the central directory alone and locates entries when they are asked for,
//! as tolerant of what stands in local headers as CPython's `zipfile`. [`Archive::parse`] holds everything against
//! everything first: local sizes, method and CRC-32 must agree with the directory, and no name may repeat. Either way an
//! [`Entry`] names a range of bytes that is inside the file and shared with no other entry. Payloads are viewed
//! ([`Entry::raw`], [`Entry::view`]) or decoded and checked ([`Entry::read`]). A name is a key, never a file path.
//!
//! [`Writer`] gives the bytes that CPython's `zipfile` gives, [`Layout`] says beforehand where they will stand, and
//! [`Directory::refresh_crc`] brings checksums up to date after payloads were changed in place.

mod archive;
mod decode;
mod directory;
mod encode;
mod end;
mod entry;
mod error;
mod extra;
mod layout;
mod local;
mod lzma;
mod method;
mod name;
mod record;
mod refresh;
#[cfg(test)]
mod testdata;
#[cfg(test)]
mod tests;
mod write;

pub use archive::Archive;
pub use directory::Directory;
pub use encode::{Compressor, Payload};
pub use entry::Entry;
pub use error::ZipError;
pub use layout::{Layout, Placed, Planned};
pub use method::Method;
pub use record::Record;
pub use refresh::Patch;
pub use write::{EntryOptions, Padding, WriteError, Writer};

/// Set in flags where the payload or the directory is encrypted (bits 0, 6, 13).
const FLAG_ENCRYPTED: u16 = 0x2041;
/// Set in flags of LZMA entries where an end marker closes the stream.
const FLAG_LZMA_END: u16 = 0x0002;
/// Set in flags where CRC-32 and sizes follow the payload instead of standing in the local header.
const FLAG_DESCRIPTOR: u16 = 0x0008;
/// Set in flags where the name is UTF-8.
const FLAG_UTF8: u16 = 0x0800;
/// A 32-bit field that stands for a value in the zip64 block.
const SATURATED: u32 = u32::MAX;

const LOCAL: u32 = 0x0403_4b50;
const CENTRAL: u32 = 0x0201_4b50;
const END: u32 = 0x0605_4b50;
const END64: u32 = 0x0606_4b50;
const LOCATOR64: u32 = 0x0706_4b50;

const LOCAL_LEN: usize = 30;
const CENTRAL_LEN: usize = 46;
const END_LEN: usize = 22;
const END64_LEN: usize = 56;
const LOCATOR64_LEN: usize = 20;

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().copied().map(u16::from_le_bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().copied().map(u32::from_le_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().copied().map(u64::from_le_bytes)
}

/// A position or length in memory, as file formats count it.
fn wide(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}

/// `bytes[start..end]` for 64-bit bounds, or `None` where it does not fit.
fn window(bytes: &[u8], start: u64, end: u64) -> Option<&[u8]> {
    bytes.get(usize::try_from(start).ok()?..usize::try_from(end).ok()?)
}
