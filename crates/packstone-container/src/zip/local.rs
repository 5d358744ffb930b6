//! Local headers.
//!
//! ```text
//! local header: signature, needed u16, flags u16, method u16, time u16, date u16, crc u32, compressed u32, len u32,
//!               name u16, extra u16, name, extra, payload
//! ```

use super::{
    FLAG_DESCRIPTOR, FLAG_ENCRYPTED, LOCAL, LOCAL_LEN, Method, Record, ZipError, extra::Zip64,
    u16_at, u32_at, wide, window,
};

/// A local header, fields as they stand.
pub(super) struct Local<'a> {
    flags: u16,
    method: u16,
    crc32: u32,
    compressed: u32,
    len: u32,
    extra: &'a [u8],
    /// Where its payload starts in the file.
    pub(super) data_offset: u64,
}

impl<'a> Local<'a> {
    /// Reads the local header of `record`, which must end by `limit`, carry the same name and be in the clear.
    pub(super) fn of(record: &Record, archive: &'a [u8], limit: u64) -> Result<Self, ZipError> {
        let offset = record.header_offset;
        let what = "local header";
        let cut = || ZipError::Truncated { what, offset };
        let bytes = window(archive, offset, limit).unwrap_or_default();
        let (fixed, rest) = bytes.split_at_checked(LOCAL_LEN).ok_or_else(cut)?;
        let half = |at| u16_at(fixed, at).ok_or_else(cut);
        let word = |at| u32_at(fixed, at).ok_or_else(cut);
        let signature = word(0)?;
        if signature != LOCAL {
            return Err(ZipError::Signature { what, offset, found: signature });
        }
        let (name, rest) = rest.split_at_checked(half(26)?.into()).ok_or_else(cut)?;
        let (extra, rest) = rest.split_at_checked(half(28)?.into()).ok_or_else(cut)?;
        if name != record.raw_name() {
            return Err(ZipError::LocalName { name: record.name.clone(), offset });
        }
        let flags = half(6)?;
        if flags & FLAG_ENCRYPTED != 0 {
            return Err(ZipError::Encrypted { name: record.name.clone() });
        }
        let data_offset = offset.saturating_add(wide(bytes.len() - rest.len()));
        let [crc32, compressed, len] = [word(14)?, word(18)?, word(22)?];
        Ok(Local { flags, method: half(8)?, crc32, compressed, len, extra, data_offset })
    }

    /// Whether CRC-32 and sizes stand behind the payload instead of here.
    pub(super) fn has_descriptor(&self) -> bool {
        self.flags & FLAG_DESCRIPTOR != 0
    }

    /// Holds method, CRC-32 and sizes against the central record.
    pub(super) fn compare(&self, record: &Record) -> Result<(), ZipError> {
        let name = || record.name.clone();
        let same = |field, expected: u64, found: u64| match expected == found {
            true => Ok(()),
            false => Err(ZipError::LocalField { name: name(), field, expected, found }),
        };
        let agreed = same("method", record.method.code().into(), self.method.into());
        match record.method {
            // Nothing could be decoded either way, and that says more than the difference.
            method @ Method::Other(_) if agreed.is_err() => {
                return Err(ZipError::Unsupported { name: name(), method });
            }
            _ => agreed?,
        }
        if self.has_descriptor() {
            return Ok(());
        }
        if record.crc32 != self.crc32 {
            let (expected, found) = (record.crc32, self.crc32);
            return Err(ZipError::LocalCrc { name: name(), expected, found });
        }
        let offset = record.header_offset;
        let mut zip64 = Zip64::new(self.extra);
        let mut widen =
            |field, value| zip64.widen(value).ok_or(ZipError::Zip64Extra { field, offset });
        same("size", record.len, widen("size", self.len)?)?;
        same("compressed size", record.compressed_len, widen("compressed size", self.compressed)?)
    }
}
