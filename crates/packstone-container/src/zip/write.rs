//! Writing archives in the dialect of CPython's `zipfile` as NumPy drives it.
//!
//! ```text
//! local header    needed 45, both sizes 0xffffffff, extra = zip64 block with the true sizes
//! central record  made by 45 on Unix, plain sizes, no extra; sizes or offsets above 2³¹-1 go to a zip64 block
//! end             a zip64 end record and locator from 65,536 entries or 2³¹ bytes on
//! ```

use std::collections::HashSet;
use std::io::{self, Write};

use flate2::Compression;
use flate2::write::DeflateEncoder;

use super::{CENTRAL, END, END64, END64_LEN, FLAG_UTF8, LOCAL, LOCATOR64, Method, SATURATED, wide};

/// `zipfile.ZIP64_LIMIT`: values above go to zip64 fields, well before they must.
const ZIP64_ABOVE: u64 = (1 << 31) - 1;
const VERSION_ZIP64: u16 = 45;
const UNIX: u16 = 3;

/// Why an archive could not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The target failed.
    #[error("cannot write archive: {0}")]
    Io(#[from] io::Error),
    /// An entry of that name is there already.
    #[error("expected distinct names, found {name:?} twice")]
    Duplicate {
        /// The name.
        name: String,
    },
    /// The name does not fit its 16-bit length.
    #[error("expected a name of at most 65535 bytes, found {len}")]
    NameLength {
        /// Bytes of the name.
        len: u64,
    },
    /// Only stored and deflate are written.
    #[error("cannot write entries with {0}")]
    Unsupported(Method),
}

/// How one entry is written. The default is NumPy's: stored, 1980-01-01 00:00:00, mode 0600.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct EntryOptions {
    /// [`Method::Stored`], or [`Method::Deflate`] at zlib's default level 6.
    pub method: Method,
    /// DOS time in the low half, DOS date in the high half.
    pub modified: u32,
    /// Unix mode bits.
    pub mode: u16,
}

impl Default for EntryOptions {
    fn default() -> Self {
        Self { method: Method::Stored, modified: 0x0021_0000, mode: 0o600 }
    }
}

impl EntryOptions {
    /// The same options with another method.
    #[must_use]
    pub fn with_method(mut self, method: Method) -> Self {
        self.method = method;
        self
    }
}

/// Writes an archive front to back, without seeking.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    at: u64,
    records: Vec<Record>,
    names: HashSet<String>,
    scratch: Vec<u8>,
}

/// What the central record of a written entry needs.
#[derive(Debug)]
struct Record {
    name: String,
    options: EntryOptions,
    crc32: u32,
    compressed_len: u64,
    len: u64,
    offset: u64,
}

impl Record {
    /// From "flags" to "CRC-32", the fields that both headers share.
    fn shared(&self, out: &mut Vec<u8>) {
        let flags = if self.name.is_ascii() { 0 } else { FLAG_UTF8 };
        put16(out, &[flags, self.options.method.code()]);
        put32(out, &[self.options.modified, self.crc32]);
    }

    fn local(&self, out: &mut Vec<u8>, name_len: u16) {
        put32(out, &[LOCAL]);
        put16(out, &[VERSION_ZIP64]);
        self.shared(out);
        put32(out, &[SATURATED, SATURATED]);
        put16(out, &[name_len, 20]);
        out.extend_from_slice(self.name.as_bytes());
        put16(out, &[1, 16]);
        put64(out, &[self.len, self.compressed_len]);
    }

    fn central(&self, out: &mut Vec<u8>, name_len: u16) {
        let mut extra = Vec::new();
        let mut sizes = [saturate(self.compressed_len), saturate(self.len)];
        if self.len > ZIP64_ABOVE || self.compressed_len > ZIP64_ABOVE {
            put64(&mut extra, &[self.len, self.compressed_len]);
            sizes = [SATURATED; 2];
        }
        let mut offset = saturate(self.offset);
        if self.offset > ZIP64_ABOVE {
            put64(&mut extra, &[self.offset]);
            offset = SATURATED;
        }
        let block_len = u16::try_from(extra.len()).unwrap_or(u16::MAX);
        let extra_len = if extra.is_empty() { 0 } else { block_len.saturating_add(4) };
        put32(out, &[CENTRAL]);
        put16(out, &[UNIX << 8 | VERSION_ZIP64, VERSION_ZIP64]);
        self.shared(out);
        put32(out, &sizes);
        put16(out, &[name_len, extra_len, 0, 0, 0]);
        put32(out, &[u32::from(self.options.mode) << 16, offset]);
        out.extend_from_slice(self.name.as_bytes());
        if !extra.is_empty() {
            put16(out, &[1, block_len]);
            out.extend_from_slice(&extra);
        }
    }
}

impl<W: Write> Writer<W> {
    /// Starts an archive at the present position of `out`, which counts as offset 0.
    pub fn new(out: W) -> Self {
        Self { out, at: 0, records: Vec::new(), names: HashSet::new(), scratch: Vec::new() }
    }

    /// Appends an entry whose content is `parts` joined.
    ///
    /// # Errors
    /// [`WriteError`] where the target fails, the name is taken or too long, or the method is neither stored nor
    /// deflate. Only a failing target leaves a half-written entry.
    pub fn add(
        &mut self,
        name: &str,
        parts: &[&[u8]],
        options: EntryOptions,
    ) -> Result<(), WriteError> {
        let name_len = name_len(name)?;
        if self.names.contains(name) {
            return Err(WriteError::Duplicate { name: name.to_owned() });
        }
        let mut crc = crc32fast::Hasher::new();
        parts.iter().for_each(|part| crc.update(part));
        let len = parts.iter().map(|part| wide(part.len())).sum();
        let deflated = match options.method {
            Method::Stored => None,
            Method::Deflate => Some(deflate(parts)?),
            other => return Err(WriteError::Unsupported(other)),
        };
        let record = Record {
            name: name.to_owned(),
            options,
            crc32: crc.finalize(),
            compressed_len: deflated.as_ref().map_or(len, |bytes| wide(bytes.len())),
            len,
            offset: self.at,
        };
        self.scratch.clear();
        record.local(&mut self.scratch, name_len);
        self.out.write_all(&self.scratch)?;
        match &deflated {
            Some(bytes) => self.out.write_all(bytes)?,
            None => parts.iter().try_for_each(|part| self.out.write_all(part))?,
        }
        self.at += wide(self.scratch.len()) + record.compressed_len;
        self.names.insert(record.name.clone());
        self.records.push(record);
        Ok(())
    }

    /// Writes the central directory and the end, and gives the target back.
    ///
    /// # Errors
    /// [`WriteError::Io`] where the target fails.
    pub fn finish(mut self) -> Result<W, WriteError> {
        let mut size = 0;
        for record in &self.records {
            self.scratch.clear();
            record.central(&mut self.scratch, name_len(&record.name)?);
            self.out.write_all(&self.scratch)?;
            size += wide(self.scratch.len());
        }
        let (count, offset) = (wide(self.records.len()), self.at);
        self.scratch.clear();
        let out = &mut self.scratch;
        if count > u64::from(u16::MAX) || size > ZIP64_ABOVE || offset > ZIP64_ABOVE {
            put32(out, &[END64]);
            put64(out, &[wide(END64_LEN) - 12]);
            put16(out, &[VERSION_ZIP64, VERSION_ZIP64]);
            put32(out, &[0, 0]);
            put64(out, &[count, count, size, offset]);
            put32(out, &[LOCATOR64, 0]);
            put64(out, &[offset + size]);
            put32(out, &[1]);
        }
        let count = u16::try_from(count).unwrap_or(u16::MAX);
        put32(out, &[END]);
        put16(out, &[0, 0, count, count]);
        put32(out, &[saturate(size), saturate(offset)]);
        put16(out, &[0]);
        self.out.write_all(&self.scratch)?;
        Ok(self.out)
    }
}

fn name_len(name: &str) -> Result<u16, WriteError> {
    u16::try_from(name.len()).map_err(|_| WriteError::NameLength { len: wide(name.len()) })
}

fn deflate(parts: &[&[u8]]) -> io::Result<Vec<u8>> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::new(6));
    parts.iter().try_for_each(|part| encoder.write_all(part))?;
    encoder.finish()
}

fn saturate(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(SATURATED)
}

fn put16(out: &mut Vec<u8>, values: &[u16]) {
    values.iter().for_each(|v| out.extend_from_slice(&v.to_le_bytes()));
}

fn put32(out: &mut Vec<u8>, values: &[u32]) {
    values.iter().for_each(|v| out.extend_from_slice(&v.to_le_bytes()));
}

fn put64(out: &mut Vec<u8>, values: &[u64]) {
    values.iter().for_each(|v| out.extend_from_slice(&v.to_le_bytes()));
}

#[cfg(test)]
mod tests;
