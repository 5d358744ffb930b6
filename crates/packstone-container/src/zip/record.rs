//! One record of the central directory.
//!
//! ```text
//! central record: signature, made u16, needed u16, flags u16, method u16, time u16, date u16, crc u32, compressed u32,
//!                 len u32, name u16, extra u16, comment u16, disk u16, internal u16, external u32, offset u32,
//!                 name, extra, comment
//! ```

use super::{
    CENTRAL, CENTRAL_LEN, FLAG_ENCRYPTED, FLAG_UTF8, Method, ZipError, extra::Zip64, name, u16_at,
    u32_at, wide,
};

/// What the central directory says of an entry. Nothing of it was held against the rest of the file.
#[derive(Clone, Debug)]
pub struct Record {
    pub(super) name: String,
    /// The name's bytes, where `name` is a code page 437 reading of them.
    raw_name: Option<Box<[u8]>>,
    /// Where the record itself stands.
    pub(super) at: u64,
    pub(super) flags: u16,
    pub(super) method: Method,
    modified: u32,
    pub(super) crc32: u32,
    pub(super) compressed_len: u64,
    pub(super) len: u64,
    external: u32,
    pub(super) header_offset: u64,
}

impl Record {
    /// The name: a key, never to be used as a file path.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The bytes of the name in the file.
    pub fn raw_name(&self) -> &[u8] {
        self.raw_name.as_deref().unwrap_or(self.name.as_bytes())
    }

    /// Whether the name is flagged as UTF-8; otherwise it was read as code page 437.
    pub fn utf8_name(&self) -> bool {
        self.flags & FLAG_UTF8 != 0
    }

    /// The name in UTF-8, where it is not flagged as that and reads differently in code page 437.
    ///
    /// Some programs (Info-ZIP among them) write UTF-8 without the flag.
    pub fn unflagged_name(&self) -> Option<&str> {
        std::str::from_utf8(self.raw_name.as_deref()?).ok()
    }

    /// Whether the entry stands for a folder: its name ends in a slash.
    pub fn is_dir(&self) -> bool {
        self.name.ends_with('/')
    }

    /// How the payload is stored.
    pub fn method(&self) -> Method {
        self.method
    }

    /// The general purpose flags of the central record.
    pub fn flags(&self) -> u16 {
        self.flags
    }

    /// Whether the payload needs a password.
    pub fn is_encrypted(&self) -> bool {
        self.flags & FLAG_ENCRYPTED != 0
    }

    /// DOS time in the low half, DOS date in the high half.
    pub fn modified(&self) -> u32 {
        self.modified
    }

    /// CRC-32 of the decoded bytes.
    pub fn crc32(&self) -> u32 {
        self.crc32
    }

    /// Bytes of the payload in the file.
    pub fn compressed_len(&self) -> u64 {
        self.compressed_len
    }

    /// Bytes of the payload once decoded.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether the payload decodes to nothing.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The external attributes; Unix programs keep mode bits in the high half.
    pub fn external_attributes(&self) -> u32 {
        self.external
    }

    /// Where the local header starts in the file.
    pub fn header_offset(&self) -> u64 {
        self.header_offset
    }

    /// Refuses an entry that decodes to another length than `expected`, before anything is decoded.
    ///
    /// # Errors
    /// [`ZipError::Length`] with both.
    pub fn expect_len(&self, expected: u64) -> Result<(), ZipError> {
        self.compare_len("data", expected, self.len)
    }

    pub(super) fn compare_len(
        &self,
        what: &'static str,
        expected: u64,
        found: u64,
    ) -> Result<(), ZipError> {
        if expected == found {
            return Ok(());
        }
        Err(ZipError::Length { name: self.name.clone(), what, expected, found })
    }

    /// Reads the record at `at` of `directory`, whose archive begins after `prefix` bytes; returns where the next one
    /// starts.
    pub(super) fn parse(
        directory: &[u8],
        at: usize,
        prefix: u64,
    ) -> Result<(Self, usize), ZipError> {
        let offset = wide(at);
        let what = "central record";
        let cut = || ZipError::Truncated { what, offset };
        match u32_at(directory, at) {
            Some(CENTRAL) => {}
            Some(found) => return Err(ZipError::Signature { what, offset, found }),
            None => return Err(cut()),
        }
        let fields = Fields::parse(directory.get(at..).unwrap_or_default()).ok_or_else(cut)?;
        Ok((fields.record(offset, prefix)?, at.saturating_add(fields.size)))
    }
}

/// The fields of a record as they stand.
struct Fields<'a> {
    flags: u16,
    method: u16,
    modified: u32,
    crc32: u32,
    compressed: u32,
    len: u32,
    disk: u16,
    external: u32,
    offset: u32,
    name: &'a [u8],
    extra: &'a [u8],
    /// Bytes of the whole record.
    size: usize,
}

impl<'a> Fields<'a> {
    fn parse(bytes: &'a [u8]) -> Option<Self> {
        let (fixed, rest) = bytes.split_at_checked(CENTRAL_LEN)?;
        let (name, rest) = rest.split_at_checked(u16_at(fixed, 28)?.into())?;
        let (extra, rest) = rest.split_at_checked(u16_at(fixed, 30)?.into())?;
        let rest = rest.get(usize::from(u16_at(fixed, 32)?)..)?;
        Some(Fields {
            flags: u16_at(fixed, 8)?,
            method: u16_at(fixed, 10)?,
            modified: u32_at(fixed, 12)?,
            crc32: u32_at(fixed, 16)?,
            compressed: u32_at(fixed, 20)?,
            len: u32_at(fixed, 24)?,
            disk: u16_at(fixed, 34)?,
            external: u32_at(fixed, 38)?,
            offset: u32_at(fixed, 42)?,
            name,
            extra,
            size: bytes.len() - rest.len(),
        })
    }

    fn record(&self, at: u64, prefix: u64) -> Result<Record, ZipError> {
        let mut zip64 = Zip64::new(self.extra);
        let mut widen =
            |field, value| zip64.widen(value).ok_or(ZipError::Zip64Extra { field, offset: at });
        let len = widen("size", self.len)?;
        let compressed_len = widen("compressed size", self.compressed)?;
        let offset = widen("offset", self.offset)?;
        let (name, raw_name) = if self.flags & FLAG_UTF8 != 0 || self.name.is_ascii() {
            let text = std::str::from_utf8(self.name).map_err(|_| ZipError::Name { offset: at })?;
            (text.to_owned(), None)
        } else {
            (name::from_cp437(self.name), Some(self.name.into()))
        };
        // 0xffff defers to the zip64 block, where the disk is the last value and never needed.
        if self.disk != 0 && self.disk != u16::MAX {
            return Err(ZipError::MultiDisk);
        }
        Ok(Record {
            name,
            raw_name,
            at,
            flags: self.flags,
            method: self.method.into(),
            modified: self.modified,
            crc32: self.crc32,
            compressed_len,
            len,
            external: self.external,
            header_offset: offset.saturating_add(prefix),
        })
    }
}
