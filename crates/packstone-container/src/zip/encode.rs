//! Payloads, compressed before they are written, so that many can be at once.

use std::io;

use bzip2::{
    Action as BzipAction, Compress as Bzip, Compression as BzipLevel, Status as BzipStatus,
};
use flate2::{Compress as Deflate, Compression, FlushCompress, Status as DeflateStatus};
use packstone_io::AlignedBuf;

use super::{Method, WriteError, lzma, wide};

/// What one entry holds, ready to be written: parts that are joined, and for methods other than stored what they
/// compress to.
#[derive(Debug)]
pub struct Payload<'a> {
    pub(super) method: Method,
    pub(super) crc32: u32,
    pub(super) len: u64,
    body: Body<'a>,
}

#[derive(Debug)]
enum Body<'a> {
    Parts(&'a [&'a [u8]]),
    Compressed(AlignedBuf),
}

impl<'a> Payload<'a> {
    /// Takes the CRC-32 of `parts`, joined, and compresses them as CPython's `zipfile` does: deflate at level 6, bzip2
    /// at 9, LZMA with preset 6. Equal content gives equal bytes, however it is cut.
    ///
    /// Stored parts are borrowed, not copied: a map of any size will do.
    ///
    /// # Errors
    /// [`WriteError::Unsupported`] for another method, [`WriteError::Io`] where memory cannot be had.
    pub fn new(parts: &'a [&'a [u8]], method: Method) -> Result<Self, WriteError> {
        if method != Method::Stored {
            let mut compressor = Compressor::new(method)?;
            parts.iter().try_for_each(|part| compressor.push(part))?;
            return compressor.finish();
        }
        let mut crc = crc32fast::Hasher::new();
        parts.iter().for_each(|part| crc.update(part));
        let len = parts.iter().map(|part| wide(part.len())).sum();
        Ok(Self { method, crc32: crc.finalize(), len, body: Body::Parts(parts) })
    }

    /// How the payload is stored.
    pub fn method(&self) -> Method {
        self.method
    }

    /// CRC-32 of the parts, joined.
    pub fn crc32(&self) -> u32 {
        self.crc32
    }

    /// Bytes of the parts.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether the parts hold no byte.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes that will stand in the file.
    pub fn compressed_len(&self) -> u64 {
        match &self.body {
            Body::Parts(_) => self.len,
            Body::Compressed(bytes) => wide(bytes.len()),
        }
    }

    pub(super) fn write_to(&self, out: &mut impl io::Write) -> io::Result<()> {
        match &self.body {
            Body::Parts(parts) => parts.iter().try_for_each(|part| out.write_all(part)),
            Body::Compressed(bytes) => out.write_all(bytes),
        }
    }
}

/// Compresses what comes in any pieces. Equal content gives equal bytes, however it is cut.
pub struct Compressor {
    method: Method,
    engine: Engine,
    crc: crc32fast::Hasher,
    len: u64,
    /// What does not fill a piece yet: the library gets its input in pieces of one size.
    kept: Vec<u8>,
    out: AlignedBuf,
    filled: usize,
}

enum Engine {
    Deflate(Deflate),
    Bzip2(Bzip),
    Lzma(lzma::Encoder),
}

/// Bytes that a library gets at once.
const PIECE: usize = 64 << 10;

impl Compressor {
    /// For one of the methods that compress: deflate at level 6, bzip2 at 9, LZMA with preset 6.
    ///
    /// # Errors
    /// [`WriteError::Unsupported`] for another method, [`WriteError::Io`] where memory cannot be had.
    pub fn new(method: Method) -> Result<Self, WriteError> {
        let mut out = AlignedBuf::default();
        let engine = match method {
            Method::Deflate => Engine::Deflate(Deflate::new(Compression::new(6), false)),
            Method::Bzip2 => Engine::Bzip2(Bzip::new(BzipLevel::new(9), 0)),
            Method::Lzma => {
                out.extend_from_slice(&lzma::HEADER).map_err(io::Error::other)?;
                Engine::Lzma(lzma::Encoder::new()?)
            }
            other => return Err(WriteError::Unsupported(other)),
        };
        let (crc, filled) = (crc32fast::Hasher::new(), out.len());
        Ok(Self { method, engine, crc, len: 0, kept: Vec::new(), out, filled })
    }

    /// Appends bytes.
    ///
    /// # Errors
    /// [`WriteError::Io`] where memory cannot be had.
    pub fn push(&mut self, mut bytes: &[u8]) -> Result<(), WriteError> {
        self.crc.update(bytes);
        self.len = self.len.saturating_add(wide(bytes.len()));
        if !self.kept.is_empty() {
            let missing = PIECE.saturating_sub(self.kept.len());
            let (now, later) = bytes.split_at_checked(missing).unwrap_or((bytes, &[]));
            self.kept.extend_from_slice(now);
            bytes = later;
            if self.kept.len() == PIECE {
                let kept = std::mem::take(&mut self.kept);
                self.feed(&kept, false)?;
                self.kept = kept;
                self.kept.clear();
            }
        }
        while let Some((piece, rest)) = bytes.split_at_checked(PIECE) {
            self.feed(piece, false)?;
            bytes = rest;
        }
        self.kept.extend_from_slice(bytes);
        Ok(())
    }

    /// The whole, compressed.
    ///
    /// # Errors
    /// As for [`Compressor::push`].
    pub fn finish(mut self) -> Result<Payload<'static>, WriteError> {
        let kept = std::mem::take(&mut self.kept);
        self.feed(&kept, true)?;
        self.out.truncate(self.filled);
        let Self { method, crc, len, out, .. } = self;
        Ok(Payload { method, crc32: crc.finalize(), len, body: Body::Compressed(out) })
    }

    /// Gives all of `input` to the library; to the end of its stream, where it is the `last`.
    fn feed(&mut self, mut input: &[u8], last: bool) -> io::Result<()> {
        /// Room made at a time, less for what is small itself.
        const ROOM: usize = 64 << 10;
        while last || !input.is_empty() {
            if self.filled == self.out.len() {
                let small = usize::try_from(self.len).unwrap_or(ROOM).saturating_add(256);
                self.out.reserve(ROOM.min(small)).map_err(io::Error::other)?;
                self.out.set_len(self.out.capacity()).map_err(io::Error::other)?;
            }
            let spare = self.out.get_mut(self.filled..).unwrap_or_default();
            let (read, wrote, end) = self.engine.step(input, spare, last)?;
            let [read, wrote] = [read, wrote].map(|n| usize::try_from(n).unwrap_or(usize::MAX));
            input = input.get(read..).unwrap_or_default();
            self.filled = self.filled.saturating_add(wrote);
            if end {
                return Ok(());
            }
            if read == 0 && wrote == 0 {
                return Err(io::Error::other("the compressor stands still"));
            }
        }
        Ok(())
    }
}

impl Engine {
    /// One step: bytes read and written, and whether the stream has ended. `last` says that no input follows.
    fn step(
        &mut self,
        input: &[u8],
        output: &mut [u8],
        last: bool,
    ) -> io::Result<(u64, u64, bool)> {
        match self {
            Engine::Deflate(stream) => {
                let before = (stream.total_in(), stream.total_out());
                let flush = if last { FlushCompress::Finish } else { FlushCompress::None };
                let status = stream.compress(input, output, flush).map_err(io::Error::other)?;
                let (read, wrote) = (stream.total_in() - before.0, stream.total_out() - before.1);
                Ok((read, wrote, status == DeflateStatus::StreamEnd))
            }
            Engine::Bzip2(stream) => {
                let before = (stream.total_in(), stream.total_out());
                let action = if last { BzipAction::Finish } else { BzipAction::Run };
                let status = stream.compress(input, output, action).map_err(io::Error::other)?;
                let (read, wrote) = (stream.total_in() - before.0, stream.total_out() - before.1);
                Ok((read, wrote, status == BzipStatus::StreamEnd))
            }
            Engine::Lzma(stream) => stream.step(input, output, last),
        }
    }
}
