//! One entry: where its payload is, and how to get at it.

use std::ops::{Deref, Range};

use packstone_io::{AlignedBuf, Buf};

use super::{Method, Record, ZipError, decode, window};
use crate::Limits;

/// An entry whose payload lies inside the file and apart from all others.
#[derive(Clone, Debug)]
pub struct Entry {
    pub(super) record: Record,
    pub(super) data_offset: u64,
}

impl Deref for Entry {
    type Target = Record;

    fn deref(&self) -> &Record {
        &self.record
    }
}

impl Entry {
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
        window(archive, start, end).ok_or_else(|| self.cut())
    }

    /// The payload as stored, as a view that keeps `archive` alive.
    ///
    /// # Errors
    /// [`ZipError::Truncated`] where `archive` is not the file that was parsed.
    pub fn view(&self, archive: &Buf) -> Result<Buf, ZipError> {
        let Range { start, end } = self.range();
        let (start, end) = (usize::try_from(start).ok(), usize::try_from(end).ok());
        let range = start.zip(end).map(|(start, end)| start..end);
        range.and_then(|range| archive.slice(range)).ok_or_else(|| self.cut())
    }

    fn cut(&self) -> ZipError {
        ZipError::Truncated { what: "entry payload", offset: self.data_offset }
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
    /// No more than one byte beyond the announced length is ever decoded.
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
            _ => self.decode(raw, out),
        };
        decoded.and_then(|()| self.compare_crc(out)).inspect_err(|_| out.clear())
    }

    fn decode(&self, raw: &[u8], out: &mut AlignedBuf) -> Result<(), ZipError> {
        let decoded = decode::payload(&self.record, raw, out)?;
        out.truncate(usize::try_from(decoded).unwrap_or_default());
        Ok(())
    }

    /// Hands the decoded payload to `sink`, piece by piece: memory is that of a window of 64 KiB, whatever the length. An
    /// error after the last piece says that the checksum or the length is another; what was handed over is no use then.
    ///
    /// # Errors
    /// [`ZipError`] where the payload is damaged or of an unknown method; those of `sink`.
    pub fn stream<E: From<ZipError>>(
        &self,
        archive: &[u8],
        sink: &mut dyn FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        const WINDOW: usize = 64 << 10;
        let raw = self.raw(archive)?;
        let mut crc = crc32fast::Hasher::new();
        let mut take = |piece: &[u8]| {
            crc.update(piece);
            sink(piece)
        };
        match self.method {
            Method::Stored => raw.chunks(WINDOW).try_for_each(&mut take)?,
            _ => {
                let mut window = vec![0; WINDOW];
                let mut out = decode::Passing { window: &mut window, sink: &mut take };
                decode::payload(&self.record, raw, &mut out)?;
            }
        }
        Ok(self.compare(crc.finalize())?)
    }

    fn compare_crc(&self, decoded: &[u8]) -> Result<(), ZipError> {
        self.compare(crc32fast::hash(decoded))
    }

    fn compare(&self, found: u32) -> Result<(), ZipError> {
        let expected = self.crc32;
        if expected == found {
            return Ok(());
        }
        Err(ZipError::Crc { name: self.name.clone(), expected, found })
    }
}
