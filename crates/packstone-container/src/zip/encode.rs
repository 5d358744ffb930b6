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
    /// at 9, LZMA with preset 6. Equal parts give equal bytes; with deflate, the
    /// same content in other parts may give others.
    ///
    /// Stored parts are borrowed, not copied: a map of any size will do.
    ///
    /// # Errors
    /// [`WriteError::Unsupported`] for another method, [`WriteError::Io`] where memory cannot be had.
    pub fn new(parts: &'a [&'a [u8]], method: Method) -> Result<Self, WriteError> {
        let mut crc = crc32fast::Hasher::new();
        parts.iter().for_each(|part| crc.update(part));
        let len = parts.iter().map(|part| wide(part.len())).sum();
        let body = match method {
            Method::Stored => Body::Parts(parts),
            _ => Body::Compressed(compress(parts, method)?),
        };
        Ok(Self { method, crc32: crc.finalize(), len, body })
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

fn compress(parts: &[&[u8]], method: Method) -> Result<AlignedBuf, WriteError> {
    let mut out = AlignedBuf::default();
    match method {
        Method::Deflate => {
            let mut stream = Deflate::new(Compression::new(6), false);
            drain(parts, &mut out, |input, output, last| {
                let before = (stream.total_in(), stream.total_out());
                let flush = if last { FlushCompress::Finish } else { FlushCompress::None };
                let status = stream.compress(input, output, flush).map_err(io::Error::other)?;
                let (read, wrote) = (stream.total_in() - before.0, stream.total_out() - before.1);
                Ok((read, wrote, status == DeflateStatus::StreamEnd))
            })?;
        }
        Method::Bzip2 => {
            let mut stream = Bzip::new(BzipLevel::new(9), 0);
            drain(parts, &mut out, |input, output, last| {
                let before = (stream.total_in(), stream.total_out());
                let action = if last { BzipAction::Finish } else { BzipAction::Run };
                let status = stream.compress(input, output, action).map_err(io::Error::other)?;
                let (read, wrote) = (stream.total_in() - before.0, stream.total_out() - before.1);
                Ok((read, wrote, status == BzipStatus::StreamEnd))
            })?;
        }
        Method::Lzma => lzma::encode(parts, &mut out)?,
        other => return Err(WriteError::Unsupported(other)),
    }
    Ok(out)
}

/// Feeds `parts` to a library and appends what it gives to `out`, until its stream ends.
///
/// `step` is told whether its input is all that is left, and says what it read and wrote and whether it is done.
pub(super) fn drain(
    parts: &[&[u8]],
    out: &mut AlignedBuf,
    mut step: impl FnMut(&[u8], &mut [u8], bool) -> io::Result<(u64, u64, bool)>,
) -> io::Result<()> {
    /// Room made at a time, less for what is small itself.
    const ROOM: usize = 64 << 10;
    let small = parts.iter().map(|part| part.len()).fold(256, usize::saturating_add);
    let mut parts = parts.iter().copied().filter(|part| !part.is_empty());
    let mut input = parts.next().unwrap_or_default();
    let mut next = parts.next();
    let mut filled = out.len();
    loop {
        if filled == out.len() {
            out.reserve(ROOM.min(small)).map_err(io::Error::other)?;
            out.set_len(out.capacity()).map_err(io::Error::other)?;
        }
        let spare = out.get_mut(filled..).unwrap_or_default();
        let (read, wrote, end) = step(input, spare, next.is_none())?;
        let [read, wrote] = [read, wrote].map(|n| usize::try_from(n).unwrap_or(usize::MAX));
        input = input.get(read..).unwrap_or_default();
        filled = filled.saturating_add(wrote);
        if end {
            out.truncate(filled);
            return Ok(());
        }
        if input.is_empty() && next.is_some() {
            input = std::mem::replace(&mut next, parts.next()).unwrap_or_default();
        } else if read == 0 && wrote == 0 {
            return Err(io::Error::other("the compressor stands still"));
        }
    }
}
