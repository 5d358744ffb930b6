//! Checksums brought up to date after stored payloads were changed in place.
//!
//! ```text
//! local header: CRC-32 at 14      descriptor: ["PK\7\8"] CRC-32, both sizes u32 or u64      central record: CRC-32 at 16
//! ```

use super::{Directory, Method, ZipError, u32_at, u64_at, window};

const DESCRIPTOR: u32 = 0x0807_4b50;
const LOCAL_CRC: u64 = 14;
const CENTRAL_CRC: u64 = 16;
/// A descriptor with everything it can have.
const DESCRIPTOR_LEN: u64 = 24;

/// Four bytes of an archive file to be replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patch {
    /// Where, in bytes from the start of the file.
    pub offset: u64,
    /// What must stand there.
    pub bytes: [u8; 4],
}

impl Directory {
    /// What must be written so that all places which store the CRC-32 of the entry at position `index` store that of
    /// its payload. Nothing for a compressed entry, or where all of them do.
    ///
    /// `bytes` is the file that was parsed, with payloads changed since or before.
    ///
    /// # Errors
    /// As [`locate`](Self::locate); [`ZipError::Descriptor`] where the CRC-32 should stand behind the payload and does
    /// not.
    pub fn refresh_crc(&self, bytes: &[u8], index: usize) -> Result<Vec<Patch>, ZipError> {
        let (record, local) = self.local(bytes, index)?;
        if record.method != Method::Stored {
            return Ok(Vec::new());
        }
        let (start, end) = (local.data_offset, local.data_offset.saturating_add(record.len));
        let cut = ZipError::Truncated { what: "entry payload", offset: start };
        let crc32 = crc32fast::hash(window(bytes, start, end).ok_or(cut)?);
        let first = if local.has_descriptor() {
            let lost = || ZipError::Descriptor { name: record.name.clone(), offset: end };
            let after = window(bytes, end, end.saturating_add(DESCRIPTOR_LEN).min(self.start));
            let at = after.and_then(|after| in_descriptor(after, record.len));
            end.saturating_add(at.ok_or_else(lost)?)
        } else {
            record.header_offset.saturating_add(LOCAL_CRC)
        };
        let places = [first, record.at.saturating_add(CENTRAL_CRC)];
        let stale = places.into_iter().filter(|at| {
            window(bytes, *at, at.saturating_add(4)) != Some(crc32.to_le_bytes().as_slice())
        });
        Ok(stale.map(|offset| Patch { offset, bytes: crc32.to_le_bytes() }).collect())
    }
}

/// Where in the descriptor of a stored payload of `len` bytes the CRC-32 stands: both sizes after it show.
fn in_descriptor(after: &[u8], len: u64) -> Option<u64> {
    let sizes_at = |at: usize| {
        let short = [at, at + 4].map(|at| u32_at(after, at).map(u64::from));
        let long = [at, at + 8].map(|at| u64_at(after, at));
        short == [Some(len); 2] || long == [Some(len); 2]
    };
    if u32_at(after, 0) == Some(DESCRIPTOR) && sizes_at(8) {
        return Some(4);
    }
    sizes_at(4).then_some(0)
}
