//! One entry: where its payload is, and how to get at it.
//!
//! ```text
//! local header: signature, needed u16, flags u16, method u16, time u16, date u16, crc u32, compressed u32, len u32,
//!               name u16, extra u16, name, extra, payload
//! ```

use std::fmt;
use std::ops::Range;

use flate2::{Decompress, FlushDecompress, Status};
use packstone_io::AlignedBuf;

use super::{
    FLAG_DESCRIPTOR, FLAG_ENCRYPTED, LOCAL, LOCAL_LEN, ZipError, extra::Zip64, u16_at, u32_at,
    wide, window,
};
use crate::Limits;

/// The most bytes that one byte of a deflate stream can stand for: a match of 258 bytes in two bits.
const DEFLATE_RATIO: u64 = 1032;

/// How a payload is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Method {
    /// As it is (0).
    Stored,
    /// Raw deflate (8).
    Deflate,
    /// Any other method, by its number: 12 is bzip2, 14 LZMA, 93 Zstandard.
    Other(u16),
}

impl From<u16> for Method {
    fn from(code: u16) -> Self {
        match code {
            0 => Method::Stored,
            8 => Method::Deflate,
            other => Method::Other(other),
        }
    }
}

impl Method {
    /// The number in the headers.
    pub fn code(self) -> u16 {
        match self {
            Method::Stored => 0,
            Method::Deflate => 8,
            Method::Other(code) => code,
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Method::Stored => f.write_str("stored"),
            Method::Deflate => f.write_str("deflate"),
            Method::Other(code) => write!(f, "compression method {code}"),
        }
    }
}

/// An entry whose local header agrees with the directory and whose payload lies inside the file.
#[derive(Clone, Debug)]
pub struct Entry {
    pub(super) name: String,
    /// The name's bytes, where `name` is a code page 437 reading of them.
    pub(super) raw_name: Option<Box<[u8]>>,
    pub(super) utf8_name: bool,
    pub(super) method: Method,
    pub(super) flags: u16,
    pub(super) crc32: u32,
    pub(super) compressed_len: u64,
    pub(super) len: u64,
    pub(super) header_offset: u64,
    pub(super) data_offset: u64,
}

impl Entry {
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
        self.utf8_name
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

    /// Where the local header starts in the file.
    pub fn header_offset(&self) -> u64 {
        self.header_offset
    }

    /// Where the payload lies in the file.
    pub fn range(&self) -> Range<u64> {
        self.data_offset..self.data_offset.saturating_add(self.compressed_len)
    }

    /// The payload as stored.
    ///
    /// # Errors
    /// [`ZipError::Truncated`] where `archive` is not the file that was parsed.
    pub fn raw<'a>(&self, archive: &'a [u8]) -> Result<&'a [u8], ZipError> {
        let Range { start, end } = self.range();
        let what = "entry payload";
        window(archive, start, end).ok_or(ZipError::Truncated { what, offset: start })
    }

    /// Compares the CRC-32 of a stored payload with the stored one, without a copy.
    ///
    /// # Errors
    /// [`ZipError::Crc`] where they differ, [`ZipError::Unsupported`] where the payload is compressed.
    pub fn check_crc(&self, archive: &[u8]) -> Result<(), ZipError> {
        match self.method {
            Method::Stored => self.compare_crc(self.raw(archive)?),
            method => Err(ZipError::Unsupported { name: self.name.clone(), method }),
        }
    }

    /// Replaces the content of `out` by the decoded payload, its length and CRC-32 checked.
    ///
    /// # Errors
    /// [`ZipError`] where the payload is damaged, larger than `limits.decoded_bytes` or of an unknown method; `out`
    /// is empty then.
    pub fn read(
        &self,
        archive: &[u8],
        out: &mut AlignedBuf,
        limits: &Limits,
    ) -> Result<(), ZipError> {
        out.clear();
        let raw = self.raw(archive)?;
        let limit = limits.decoded_bytes;
        if self.len > limit {
            let what = "decoded bytes in an archive entry";
            return Err(ZipError::Limit { what, limit, found: self.len });
        }
        let decoded = match self.method {
            Method::Stored => out.extend_from_slice(raw).map_err(ZipError::from),
            Method::Deflate => self.inflate(raw, out),
            method => Err(ZipError::Unsupported { name: self.name.clone(), method }),
        };
        decoded.and_then(|()| self.compare_crc(out)).inspect_err(|_| out.clear())
    }

    fn inflate(&self, raw: &[u8], out: &mut AlignedBuf) -> Result<(), ZipError> {
        let most = self.compressed_len.saturating_mul(DEFLATE_RATIO);
        let too_long = ZipError::Implausible { name: self.name.clone(), most, announced: self.len };
        if self.len > most {
            return Err(too_long);
        }
        // One byte more than announced, so that a longer stream shows itself.
        let room = usize::try_from(self.len).ok().and_then(|n| n.checked_add(1)).ok_or(too_long)?;
        out.set_len(room)?;
        let mut stream = Decompress::new(false);
        loop {
            let (taken, decoded) = (stream.total_in(), stream.total_out());
            let damage = || ZipError::Deflate { name: self.name.clone(), decoded };
            let input = window(raw, taken, wide(raw.len())).unwrap_or_default();
            let output = usize::try_from(decoded).ok().and_then(|n| out.get_mut(n..));
            let output = output.unwrap_or_default();
            let status = stream.decompress(input, output, FlushDecompress::None);
            if status.map_err(|_| damage())? == Status::StreamEnd {
                break;
            }
            if stream.total_out() > self.len {
                break;
            }
            if (taken, decoded) == (stream.total_in(), stream.total_out()) {
                return Err(damage());
            }
        }
        self.compare_len("data", self.len, stream.total_out())?;
        self.compare_len("deflate stream", self.compressed_len, stream.total_in())?;
        out.truncate(room - 1);
        Ok(())
    }

    fn compare_len(&self, what: &'static str, expected: u64, found: u64) -> Result<(), ZipError> {
        if expected == found {
            return Ok(());
        }
        Err(ZipError::Length { name: self.name.clone(), what, expected, found })
    }

    fn compare_crc(&self, decoded: &[u8]) -> Result<(), ZipError> {
        let (expected, found) = (self.crc32, crc32fast::hash(decoded));
        if expected == found {
            return Ok(());
        }
        Err(ZipError::Crc { name: self.name.clone(), expected, found })
    }

    /// Finds the payload behind the local header in `archive` and holds that header against this entry; the payload
    /// must end by `limit`.
    pub(super) fn locate(mut self, archive: &[u8], limit: u64) -> Result<Self, ZipError> {
        if self.method == Method::Stored {
            self.compare_len("data", self.len, self.compressed_len)?;
        }
        let offset = self.header_offset;
        let what = "local header";
        let before = window(archive, offset, limit).unwrap_or_default();
        let local = Local::parse(before).ok_or(ZipError::Truncated { what, offset })?;
        if local.signature != LOCAL {
            return Err(ZipError::Signature { what, offset, found: local.signature });
        }
        if local.name != self.raw_name() {
            return Err(ZipError::LocalName { name: self.name, offset });
        }
        if local.flags & FLAG_ENCRYPTED != 0 {
            return Err(ZipError::Encrypted { name: self.name });
        }
        self.compare_fields(&local)?;
        self.data_offset = offset.saturating_add(wide(local.len));
        let end = self.range().end;
        if end > limit {
            return Err(ZipError::Outside { name: self.name, end, limit });
        }
        Ok(self)
    }

    fn compare_fields(&self, local: &Local<'_>) -> Result<(), ZipError> {
        let offset = self.header_offset;
        let same = |field, expected: u64, found: u64| {
            if expected == found {
                return Ok(());
            }
            Err(ZipError::LocalField { name: self.name.clone(), field, expected, found })
        };
        let agreed = same("method", self.method.code().into(), local.method.into());
        match self.method {
            // Nothing could be decoded either way, and that says more than the difference.
            Method::Other(_) if agreed.is_err() => {
                let (name, method) = (self.name.clone(), self.method);
                return Err(ZipError::Unsupported { name, method });
            }
            _ => agreed?,
        }
        if local.flags & FLAG_DESCRIPTOR != 0 {
            return Ok(());
        }
        let mut zip64 = Zip64::new(local.extra);
        let mut widen =
            |field, value| zip64.widen(value).ok_or(ZipError::Zip64Extra { field, offset });
        if self.crc32 != local.crc32 {
            let (name, expected, found) = (self.name.clone(), self.crc32, local.crc32);
            return Err(ZipError::LocalCrc { name, expected, found });
        }
        same("size", self.len, widen("size", local.size)?)?;
        same("compressed size", self.compressed_len, widen("compressed size", local.compressed)?)
    }
}

/// A local header, fields as they stand.
struct Local<'a> {
    signature: u32,
    flags: u16,
    method: u16,
    crc32: u32,
    compressed: u32,
    size: u32,
    name: &'a [u8],
    extra: &'a [u8],
    /// Bytes of the whole header.
    len: usize,
}

impl<'a> Local<'a> {
    fn parse(bytes: &'a [u8]) -> Option<Self> {
        let (_, rest) = bytes.split_at_checked(LOCAL_LEN)?;
        let (name, rest) = rest.split_at_checked(u16_at(bytes, 26)?.into())?;
        let (extra, rest) = rest.split_at_checked(u16_at(bytes, 28)?.into())?;
        Some(Local {
            signature: u32_at(bytes, 0)?,
            flags: u16_at(bytes, 6)?,
            method: u16_at(bytes, 8)?,
            crc32: u32_at(bytes, 14)?,
            compressed: u32_at(bytes, 18)?,
            size: u32_at(bytes, 22)?,
            name,
            extra,
            len: bytes.len() - rest.len(),
        })
    }
}
