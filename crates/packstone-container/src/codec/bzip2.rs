//! bzip2: `│"BZh"│'1'…'9': block size in 100 kB│ blocks, each with a CRC │end mark, CRC of all│`. Streams are joined.

use ::bzip2::{Action, Compress, Compression, Decompress, Status};
use packstone_io::AlignedBuf;

use super::deflate::clamp;
use super::member::{Content, Member, Members, Step, expect, pump, starts};
use super::output::Output;
use super::{Codec, CodecError, Stream};

const MAGIC: [u8; 3] = *b"BZh";
pub(super) const LEVELS: (i32, i32) = (1, 9);

pub(super) fn decode(src: &[u8], out: &mut Output<'_>) -> Result<Stream, CodecError> {
    Bzip2.members(src, out)
}

struct Bzip2;

impl Members for Bzip2 {
    const CODEC: Codec = Codec::Bzip2;
    const PADDED: bool = false;

    fn follows(rest: &[u8]) -> bool {
        starts(rest, &MAGIC)
    }

    fn member(
        &mut self,
        src: &[u8],
        at: usize,
        out: &mut Output<'_>,
    ) -> Result<Member, CodecError> {
        let codec = Codec::Bzip2;
        expect(codec, src, at, &MAGIC)?;
        let mut stream = Decompress::new(false);
        let len = pump(src, at, at, codec, out, |input, spare| {
            let before = (stream.total_in(), stream.total_out());
            let status = stream.decompress(input, spare).map_err(|e| CodecError::Corrupt {
                codec,
                at,
                reason: e.to_string(),
            })?;
            if status == Status::MemNeeded {
                return Err(CodecError::Library { codec, reason: "out of memory".into() });
            }
            let [read, wrote] =
                [stream.total_in() - before.0, stream.total_out() - before.1].map(clamp);
            Ok(Step { read, wrote, end: status == Status::StreamEnd })
        })?;
        Ok(Member { len, content: Content::Data { declared: None } })
    }
}

/// Appends `src` to `out` as one stream; `level` is within [`LEVELS`].
pub(super) fn encode(level: i32, src: &[u8], out: &mut AlignedBuf) -> Result<(), CodecError> {
    let codec = Codec::Bzip2;
    let mut stream = Compress::new(Compression::new(level.unsigned_abs()), 0);
    super::encoder::drain(codec, src, out, |input, spare| {
        let before = (stream.total_in(), stream.total_out());
        let status = stream
            .compress(input, spare, Action::Finish)
            .map_err(|e| CodecError::Library { codec, reason: e.to_string() })?;
        let [read, wrote] =
            [stream.total_in() - before.0, stream.total_out() - before.1].map(clamp);
        Ok(Step { read, wrote, end: status == Status::StreamEnd })
    })
}
