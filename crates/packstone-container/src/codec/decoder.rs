//! The one entrance to decoding.

use packstone_io::AlignedBuf;

use super::deflate::Inflate;
use super::output::Output;
use super::{Codec, CodecError, Stream, brotli, bzip2, gzip, lz4, snappy, xz, zlib, zstd};
use crate::Limits;

/// A reusable decoder: keeps the contexts of the libraries between streams. One per thread.
#[derive(Default)]
pub struct Decoder {
    inflate: Inflate,
    zstd: zstd::Decode,
}

impl Decoder {
    /// A decoder without contexts; they are made when first needed.
    pub fn new() -> Self {
        Self::default()
    }

    /// Decodes all members of `src`, so that `out` holds exactly the decoded bytes.
    ///
    /// What `out` held before is lost, its memory is used again; after an error it is empty.
    ///
    /// # Errors
    /// [`CodecError`]: the input is empty, starts with something else, is cut or damaged, or decodes to more than
    /// `limits.decoded_bytes`. Bytes after the last member are no error: see [`Stream::trailing`].
    pub fn decode(
        &mut self,
        codec: Codec,
        src: &[u8],
        out: &mut AlignedBuf,
        limits: &Limits,
    ) -> Result<Stream, CodecError> {
        settle(codec, out, limits, |out| match codec {
            Codec::None => stored(src, out),
            Codec::Gzip => gzip::decode(&mut self.inflate, src, out),
            Codec::Zlib => zlib::decode(&mut self.inflate, src, out),
            Codec::Deflate => self.inflate.decode(src, out),
            Codec::Bzip2 => bzip2::decode(src, out),
            Codec::Xz => xz::decode(src, limits, out),
            Codec::Lz4Frame => lz4::decode(src, out),
            Codec::Zstd => zstd::decode(&mut self.zstd, src, out),
            Codec::Brotli => brotli::decode(src, out),
            Codec::Snappy => snappy::decode(src, out),
        })
    }

    /// Decodes a block of Snappy, a brotli stream or one Zstandard frame, which must be all of `src`: no second member,
    /// no skippable frame, nothing after it.
    ///
    /// For containers that say where a stream ends. Where they say how long the data is, that should be the limit:
    /// Zstandard then decodes in one go, with any window, also where the frame does not state its content size.
    ///
    /// # Errors
    /// As [`decode`](Self::decode), [`CodecError::Surplus`] where bytes are left over, and
    /// [`CodecError::Unsupported`] for the other codecs.
    pub fn decode_one(
        &mut self,
        codec: Codec,
        src: &[u8],
        out: &mut AlignedBuf,
        limits: &Limits,
    ) -> Result<(), CodecError> {
        settle(codec, out, limits, |out| match codec {
            Codec::Zstd => zstd::decode_one(&mut self.zstd, src, out),
            Codec::Snappy => snappy::decode(src, out).map(|_| ()),
            Codec::Brotli => match brotli::decode(src, out)?.trailing.bytes {
                0 => Ok(()),
                bytes => Err(CodecError::Surplus { codec, bytes }),
            },
            _ => Err(CodecError::Unsupported { codec, at: 0, what: "a stream of its own" }),
        })
    }

    /// Decodes raw DEFLATE data that must give exactly `expected_len` bytes, as a ZIP entry states.
    ///
    /// Faster than [`Codec::Deflate`], which needs no length. Bytes after the end of the data are ignored.
    ///
    /// # Errors
    /// As [`decode`](Self::decode), and [`CodecError::Mismatch`] where the length is another one.
    pub fn inflate_raw(
        &mut self,
        src: &[u8],
        expected_len: u64,
        out: &mut AlignedBuf,
        limits: &Limits,
    ) -> Result<(), CodecError> {
        settle(Codec::Deflate, out, limits, |out| self.inflate.raw(src, expected_len, out))
    }
}

/// Runs `decode` and leaves in `buffer` all of its output, or nothing.
fn settle<T>(
    codec: Codec,
    buffer: &mut AlignedBuf,
    limits: &Limits,
    decode: impl FnOnce(&mut Output<'_>) -> Result<T, CodecError>,
) -> Result<T, CodecError> {
    let mut out = Output::new(codec, buffer, limits);
    let result = decode(&mut out);
    if result.is_err() {
        out.rewind(0);
    }
    out.finish();
    result
}

fn stored(src: &[u8], out: &mut Output<'_>) -> Result<Stream, CodecError> {
    if src.is_empty() {
        return Err(CodecError::Empty { codec: Codec::None });
    }
    let len = out.allows(src.len() as u64)?;
    out.reserve(len)?;
    if let Some(room) = out.split().1.get_mut(..len) {
        room.copy_from_slice(src);
    }
    out.advance(len)?;
    Ok(Stream::single())
}
