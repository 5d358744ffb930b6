//! xz, and the older `.lzma` ("LZMA alone") where the first byte is not that of xz. Streams are joined.
//!
//! ```text
//! xz:    │fd "7zXZ" 00│flags│CRC-32│ blocks with a check each │index│footer "YZ"│ [zeros]
//! alone: │properties u8│dictionary u32│decoded length u64 or -1│ LZMA │                     no check at all
//! ```

use liblzma::stream::{Action, Check, Error, Status, Stream as Lzma};
use packstone_io::AlignedBuf;

use super::deflate::clamp;
use super::member::{Content, Member, Members, Step, expect, foreign, pump, starts};
use super::output::Output;
use super::{Codec, CodecError, Stream};
use crate::Limits;

const MAGIC: [u8; 6] = *b"\xfd7zXZ\0";
const ALONE_HEADER: usize = 13;
/// Dictionary memory that is always granted: twice what the highest preset takes.
const DICTIONARY: u64 = 128 << 20;
pub(super) const LEVELS: (i32, i32) = (0, 9);

pub(super) fn decode(
    src: &[u8],
    limits: &Limits,
    out: &mut Output<'_>,
) -> Result<Stream, CodecError> {
    // A dictionary serves nothing beyond the decoded length, so one limit bounds both.
    let mut xz = Xz { memory: limits.decoded_bytes.max(DICTIONARY), alone: false };
    let stream = xz.members(src, out)?;
    Ok(Stream { lzma_alone: xz.alone, ..stream })
}

struct Xz {
    memory: u64,
    alone: bool,
}

impl Members for Xz {
    const CODEC: Codec = Codec::Xz;
    const PADDED: bool = true;

    fn follows(rest: &[u8]) -> bool {
        starts(rest, &MAGIC)
    }

    fn member(
        &mut self,
        src: &[u8],
        at: usize,
        out: &mut Output<'_>,
    ) -> Result<Member, CodecError> {
        let codec = Codec::Xz;
        let first = src.get(at).copied();
        let opened = if at > 0 || first.is_none() || first == Some(MAGIC[0]) {
            expect(codec, src, at, &MAGIC)?;
            Lzma::new_stream_decoder(self.memory, 0)
        } else {
            // The automatic decoder also checks that the header is a likely one; LZMA alone has no magic.
            self.alone = true;
            Lzma::new_auto_decoder(self.memory, 0)
        };
        let mut stream = opened.map_err(|e| library(&e))?;
        let len = pump(src, at, at, codec, out, |input, spare| {
            let before = (stream.total_in(), stream.total_out());
            let status = stream.process(input, spare, Action::Run).map_err(|e| match e {
                Error::Format if before.0 < ALONE_HEADER as u64 => foreign(codec, src, at),
                Error::Options => CodecError::Unsupported { codec, at, what: "an unknown filter" },
                Error::MemLimit => CodecError::Limit { codec, limit: self.memory },
                Error::Mem | Error::Program => library(&e),
                _ => CodecError::Corrupt { codec, at, reason: e.to_string() },
            })?;
            let [read, wrote] =
                [stream.total_in() - before.0, stream.total_out() - before.1].map(clamp);
            Ok(Step { read, wrote, end: status == Status::StreamEnd })
        })?;
        Ok(Member { len, content: Content::Data { declared: None } })
    }
}

fn library(error: &Error) -> CodecError {
    CodecError::Library { codec: Codec::Xz, reason: error.to_string() }
}

/// Appends `src` to `out` as one xz stream with CRC-64; `level` is a preset within [`LEVELS`].
pub(super) fn encode(level: i32, src: &[u8], out: &mut AlignedBuf) -> Result<(), CodecError> {
    let mut stream =
        Lzma::new_easy_encoder(level.unsigned_abs(), Check::Crc64).map_err(|e| library(&e))?;
    super::encoder::drain(Codec::Xz, src, out, |input, spare| {
        let before = (stream.total_in(), stream.total_out());
        let status = stream.process(input, spare, Action::Finish).map_err(|e| library(&e))?;
        let [read, wrote] =
            [stream.total_in() - before.0, stream.total_out() - before.1].map(clamp);
        Ok(Step { read, wrote, end: status == Status::StreamEnd })
    })
}
