//! Raw DEFLATE (RFC 1951), alone in ZIP entries and inside gzip and zlib.
//!
//! Two libraries share the work. libdeflate is twice as fast and wants whole buffers: it encodes, and it decodes where
//! the size is known. zlib-rs streams: it decodes everything else, and explains what is wrong with damaged data.

use flate2::{Decompress, FlushDecompress, Status};
use libdeflater::{CompressionLvl, Compressor, Decompressor};
use packstone_io::AlignedBuf;

use super::member::{Content, Member, Members, Step, pump};
use super::output::Output;
use super::{Codec, CodecError, Stream};

/// DEFLATE never does better than 258 bytes for two bits.
pub(super) const MAX_RATIO: u64 = 1032;

/// Contexts for decoding, made when first needed.
#[derive(Default)]
pub(super) struct Inflate {
    whole: Option<Decompressor>,
    stream: Option<Decompress>,
}

impl Inflate {
    /// The decoder for whole buffers.
    pub(super) fn whole(&mut self) -> &mut Decompressor {
        self.whole.get_or_insert_with(Decompressor::new)
    }

    /// Streams from byte `from` of `src` to the end of the DEFLATE or zlib data there; returns its length.
    pub(super) fn stream(
        &mut self,
        codec: Codec,
        src: &[u8],
        at: usize,
        from: usize,
        out: &mut Output<'_>,
    ) -> Result<usize, CodecError> {
        let zlib = codec == Codec::Zlib;
        let stream = self.stream.get_or_insert_with(|| Decompress::new(zlib));
        stream.reset(zlib);
        pump(src, at, from, codec, out, |input, spare| {
            let before = (stream.total_in(), stream.total_out());
            let status = stream.decompress(input, spare, FlushDecompress::None).map_err(|e| {
                let reason = e.message().unwrap_or("invalid data").to_owned();
                CodecError::Corrupt { codec, at, reason }
            })?;
            let [read, wrote] =
                [stream.total_in() - before.0, stream.total_out() - before.1].map(clamp);
            Ok(Step { read, wrote, end: status == Status::StreamEnd })
        })
    }

    /// Decodes raw DEFLATE data; whatever follows its end is trailing.
    pub(super) fn decode(
        &mut self,
        src: &[u8],
        out: &mut Output<'_>,
    ) -> Result<Stream, CodecError> {
        Raw(self).members(src, out)
    }

    /// Decodes raw DEFLATE data of known decoded length.
    pub(super) fn raw(
        &mut self,
        src: &[u8],
        expected: u64,
        out: &mut Output<'_>,
    ) -> Result<(), CodecError> {
        let codec = Codec::Deflate;
        if src.is_empty() {
            return Err(CodecError::Empty { codec });
        }
        let len = out.allows(expected)?;
        if expected <= (src.len() as u64).saturating_mul(MAX_RATIO) {
            out.reserve(len)?;
            let spare = out.split().1.get_mut(..len).unwrap_or_default();
            if self.whole().deflate_decompress(src, spare) == Ok(len) {
                return out.advance(len);
            }
        }
        // Something is wrong: find out what.
        self.stream(codec, src, 0, 0, out)?;
        match out.filled() {
            found if found == len => Ok(()),
            found => Err(CodecError::Mismatch {
                codec,
                at: 0,
                what: "decoded length",
                expected,
                found: found as u64,
            }),
        }
    }
}

struct Raw<'a>(&'a mut Inflate);

impl Members for Raw<'_> {
    const CODEC: Codec = Codec::Deflate;
    const PADDED: bool = false;

    fn follows(_rest: &[u8]) -> bool {
        false
    }

    fn member(
        &mut self,
        src: &[u8],
        at: usize,
        out: &mut Output<'_>,
    ) -> Result<Member, CodecError> {
        if src.is_empty() {
            return Err(CodecError::Empty { codec: Self::CODEC });
        }
        let len = self.0.stream(Self::CODEC, src, at, at, out)?;
        Ok(Member { len, content: Content::Data { declared: None } })
    }
}

/// A context for encoding, kept while the level stays the same.
#[derive(Default)]
pub(super) struct Deflate {
    context: Option<(i32, Compressor)>,
}

impl Deflate {
    /// Lowest and highest level. The libraries of the originals stop at 9; a level means about the same ratio here.
    pub(super) const LEVELS: (i32, i32) = (1, 12);

    fn context(&mut self, codec: Codec, level: i32) -> Result<&mut Compressor, CodecError> {
        if self.context.as_ref().is_some_and(|(kept, _)| *kept != level) {
            self.context = None;
        }
        match &mut self.context {
            Some((_, context)) => Ok(context),
            none => {
                let (min, max) = Self::LEVELS;
                let lvl = CompressionLvl::new(level).map_err(|_| CodecError::Level {
                    codec,
                    min,
                    max,
                    found: level,
                })?;
                Ok(&mut none.insert((level, Compressor::new(lvl))).1)
            }
        }
    }

    /// Appends `src` to `out` as raw DEFLATE data.
    pub(super) fn raw(
        &mut self,
        codec: Codec,
        level: i32,
        src: &[u8],
        out: &mut AlignedBuf,
    ) -> Result<(), CodecError> {
        let context = self.context(codec, level)?;
        let start = out.len();
        out.set_len(start.saturating_add(context.deflate_compress_bound(src.len())))?;
        let room = out.get_mut(start..).unwrap_or_default();
        let len = context
            .deflate_compress(src, room)
            .map_err(|e| CodecError::Library { codec, reason: e.to_string() })?;
        out.truncate(start.saturating_add(len));
        Ok(())
    }
}

/// A count of bytes of a slice, which a library keeps as 64 bits.
pub(super) fn clamp(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}
