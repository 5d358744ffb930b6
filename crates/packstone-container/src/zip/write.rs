//! Writing archives in the dialect of CPython's `zipfile`, as NumPy and tensordict drive it.
//!
//! ```text
//! local header    needed 45 (bzip2 46, LZMA 63), both sizes 0xffffffff,
//!                 extra = [padding block], zip64 block with the true sizes
//! central record  made by the same on Unix, plain sizes,
//!                 extra = [zip64 block of sizes and offset above 2³¹-1], [padding block]
//! end             a zip64 end record and locator from 65,536 entries or 2³¹ bytes on
//! ```

use std::collections::HashSet;
use std::io::{self, Write};

use super::{
    CENTRAL, END, END64, END64_LEN, FLAG_LZMA_END, FLAG_UTF8, LOCAL, LOCAL_LEN, LOCATOR64, Method,
    Payload, Placed, SATURATED, wide,
};

/// `zipfile.ZIP64_LIMIT`: values above go to zip64 fields, well before they must.
const ZIP64_ABOVE: u64 = (1 << 31) - 1;
const VERSION_ZIP64: u16 = 45;
const VERSION_BZIP2: u16 = 46;
const VERSION_LZMA: u16 = 63;
/// Id and length of a block of the extra field.
const BLOCK_LEN: usize = 4;
/// The zip64 block of a local header: id, length, both sizes.
const ZIP64_BLOCK: u16 = 20;
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
    /// The content was not what had been announced.
    #[error("expected the announced bytes of {name:?}, found others")]
    Changed {
        /// The name.
        name: String,
    },
    /// Only stored, deflate, bzip2 and LZMA are written.
    #[error("cannot write entries with {0}")]
    Unsupported(Method),
}

/// How one entry is written. The default is NumPy's: stored, 1980-01-01 00:00:00, mode 0600, not aligned.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct EntryOptions {
    /// [`Method::Stored`], [`Method::Deflate`], [`Method::Bzip2`] or [`Method::Lzma`].
    pub method: Method,
    /// DOS time in the low half, DOS date in the high half.
    pub modified: u32,
    /// Unix mode bits.
    pub mode: u16,
    /// Puts the payload at a round offset.
    pub padding: Option<Padding>,
}

/// A block of zeros in the extra field, as long as it takes for the payload to start at a round offset. It is there even
/// where it takes none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Padding {
    /// The id of the block.
    pub id: u16,
    /// What divides the offset; at most 32768, and 0 counts as 1.
    pub to: u16,
}

impl Padding {
    /// Zeros for a payload that would start at `offset` without them.
    fn len(self, offset: u64) -> u16 {
        let to = u64::from(self.to.clamp(1, 1 << 15));
        u16::try_from(offset.next_multiple_of(to) - offset).unwrap_or_default()
    }
}

impl Default for EntryOptions {
    fn default() -> Self {
        Self { method: Method::Stored, modified: 0x0021_0000, mode: 0o600, padding: None }
    }
}

impl EntryOptions {
    /// The same options with another method.
    #[must_use]
    pub fn with_method(mut self, method: Method) -> Self {
        self.method = method;
        self
    }

    /// The same options with another time: DOS time in the low half, DOS date in the high half.
    #[must_use]
    pub fn with_modified(mut self, modified: u32) -> Self {
        self.modified = modified;
        self
    }

    /// The same options with other Unix mode bits.
    #[must_use]
    pub fn with_mode(mut self, mode: u16) -> Self {
        self.mode = mode;
        self
    }

    /// The same options with the payload at a round offset, or wherever it comes.
    #[must_use]
    pub fn with_padding(mut self, padding: Option<Padding>) -> Self {
        self.padding = padding;
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

/// What the headers of an entry need.
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
    /// The version needed to extract, which is also that which made the entry.
    fn version(&self) -> u16 {
        match self.options.method {
            Method::Bzip2 => VERSION_BZIP2,
            Method::Lzma => VERSION_LZMA,
            _ => VERSION_ZIP64,
        }
    }

    /// From "flags" to "CRC-32", the fields that both headers share.
    fn shared(&self, out: &mut Vec<u8>) {
        let utf8 = if self.name.is_ascii() { 0 } else { FLAG_UTF8 };
        let end = if self.options.method == Method::Lzma { FLAG_LZMA_END } else { 0 };
        put16(out, &[utf8 | end, self.options.method.code()]);
        put32(out, &[self.options.modified, self.crc32]);
    }

    /// The padding block: id, length, zeros.
    fn padding(&self) -> Vec<u8> {
        let mut block = Vec::new();
        if let Some(padding) = self.options.padding {
            let fixed = wide(LOCAL_LEN + self.name.len() + BLOCK_LEN) + wide(ZIP64_BLOCK.into());
            let len = padding.len(self.offset.saturating_add(fixed));
            put16(&mut block, &[padding.id, len]);
            block.resize(BLOCK_LEN + usize::from(len), 0);
        }
        block
    }

    fn local(&self, out: &mut Vec<u8>, name_len: u16) {
        let padding = self.padding();
        put32(out, &[LOCAL]);
        put16(out, &[self.version()]);
        self.shared(out);
        put32(out, &[SATURATED, SATURATED]);
        put16(out, &[name_len, short(padding.len()) + ZIP64_BLOCK]);
        out.extend_from_slice(self.name.as_bytes());
        out.extend_from_slice(&padding);
        put16(out, &[1, 16]);
        put64(out, &[self.len, self.compressed_len]);
    }

    fn central(&self, out: &mut Vec<u8>, name_len: u16) {
        let mut zip64 = Vec::new();
        let mut sizes = [saturate(self.compressed_len), saturate(self.len)];
        if self.len > ZIP64_ABOVE || self.compressed_len > ZIP64_ABOVE {
            put64(&mut zip64, &[self.len, self.compressed_len]);
            sizes = [SATURATED; 2];
        }
        let mut offset = saturate(self.offset);
        if self.offset > ZIP64_ABOVE {
            put64(&mut zip64, &[self.offset]);
            offset = SATURATED;
        }
        let mut extra = Vec::new();
        if !zip64.is_empty() {
            put16(&mut extra, &[1, short(zip64.len())]);
            extra.extend_from_slice(&zip64);
        }
        extra.extend_from_slice(&self.padding());
        put32(out, &[CENTRAL]);
        put16(out, &[UNIX << 8 | self.version(), self.version()]);
        self.shared(out);
        put32(out, &sizes);
        put16(out, &[name_len, short(extra.len()), 0, 0, 0]);
        put32(out, &[u32::from(self.options.mode) << 16, offset]);
        out.extend_from_slice(self.name.as_bytes());
        out.extend_from_slice(&extra);
    }
}

impl<W: Write> Writer<W> {
    /// Starts an archive at the present position of `out`, which counts as offset 0.
    pub fn new(out: W) -> Self {
        Self { out, at: 0, records: Vec::new(), names: HashSet::new(), scratch: Vec::new() }
    }

    /// Appends an entry whose content is `parts` joined.
    ///
    /// Stored parts go to the target as they are, uncopied, so they may be slices of maps of any size.
    ///
    /// # Errors
    /// [`WriteError`] where the target fails, the name is taken or too long, or the method is one that cannot be
    /// written. Only a failing target leaves a half-written entry.
    pub fn add(
        &mut self,
        name: &str,
        parts: &[&[u8]],
        options: EntryOptions,
    ) -> Result<(), WriteError> {
        self.admit(name)?;
        self.write(name, &Payload::new(parts, options.method)?, options)
    }

    /// Appends an entry whose payload is ready; its method counts, not that of `options`.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn write(
        &mut self,
        name: &str,
        payload: &Payload<'_>,
        options: EntryOptions,
    ) -> Result<(), WriteError> {
        let options = options.with_method(payload.method);
        self.place(name, payload.crc32, payload.len, payload.compressed_len(), options)?;
        payload.write_to(&mut self.out)?;
        Ok(())
    }

    /// Appends a stored entry of `len` bytes with this checksum, which `fill` hands over piece by piece.
    ///
    /// # Errors
    /// As [`add`](Self::add), and those of `fill`; [`WriteError::Changed`] where the bytes are others. The entry is
    /// half-written then.
    pub fn stream<E: From<WriteError>>(
        &mut self,
        name: &str,
        (crc32, len): (u32, u64),
        options: EntryOptions,
        fill: impl FnOnce(&mut dyn FnMut(&[u8]) -> Result<(), WriteError>) -> Result<(), E>,
    ) -> Result<(), E> {
        let options = options.with_method(Method::Stored);
        self.place(name, crc32, len, len, options)?;
        let (mut crc, mut found, out) = (crc32fast::Hasher::new(), 0u64, &mut self.out);
        fill(&mut |piece| {
            crc.update(piece);
            found = found.saturating_add(wide(piece.len()));
            Ok(out.write_all(piece)?)
        })?;
        if (crc.finalize(), found) != (crc32, len) {
            return Err(WriteError::Changed { name: name.to_owned() }.into());
        }
        Ok(())
    }

    /// Where the next local header will start, in bytes from the start of the archive.
    pub fn position(&self) -> u64 {
        self.at
    }

    /// Writes a local header; the payload must follow.
    pub(super) fn place(
        &mut self,
        name: &str,
        crc32: u32,
        len: u64,
        compressed_len: u64,
        options: EntryOptions,
    ) -> Result<Placed, WriteError> {
        let name_len = self.admit(name)?;
        if let other @ Method::Other(_) = options.method {
            return Err(WriteError::Unsupported(other));
        }
        let offset = self.at;
        let record = Record { name: name.to_owned(), options, crc32, compressed_len, len, offset };
        self.scratch.clear();
        record.local(&mut self.scratch, name_len);
        self.out.write_all(&self.scratch)?;
        let data_offset = offset.saturating_add(wide(self.scratch.len()));
        self.at = data_offset.saturating_add(compressed_len);
        self.names.insert(record.name.clone());
        self.records.push(record);
        Ok(Placed { header_offset: offset, data_offset })
    }

    /// Whether an entry of this name can follow; gives the length of the name.
    fn admit(&self, name: &str) -> Result<u16, WriteError> {
        if self.names.contains(name) {
            return Err(WriteError::Duplicate { name: name.to_owned() });
        }
        name_len(name)
    }

    /// Writes the central directory and the end, and gives the target back.
    ///
    /// # Errors
    /// [`WriteError::Io`] where the target fails.
    pub fn finish(mut self) -> Result<W, WriteError> {
        self.write_end()?;
        Ok(self.out)
    }

    /// Writes the central directory and the end; gives their length.
    pub(super) fn write_end(&mut self) -> Result<u64, WriteError> {
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
            put64(out, &[offset.saturating_add(size)]);
            put32(out, &[1]);
        }
        let count = u16::try_from(count).unwrap_or(u16::MAX);
        put32(out, &[END]);
        put16(out, &[0, 0, count, count]);
        put32(out, &[saturate(size), saturate(offset)]);
        put16(out, &[0]);
        self.out.write_all(&self.scratch)?;
        Ok(size.saturating_add(wide(self.scratch.len())))
    }
}

fn name_len(name: &str) -> Result<u16, WriteError> {
    u16::try_from(name.len()).map_err(|_| WriteError::NameLength { len: wide(name.len()) })
}

/// The length of a block or of all of them; names and blocks are far shorter than they may be.
fn short(len: usize) -> u16 {
    u16::try_from(len).unwrap_or(u16::MAX)
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
