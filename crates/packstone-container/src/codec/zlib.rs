//! zlib, RFC 1950: `│CMF│FLG│ DEFLATE │Adler-32 u32 big-endian│`. One stream; whatever follows it is trailing.

use packstone_io::AlignedBuf;

use super::deflate::{Deflate, Inflate};
use super::member::{Content, Member, Members, foreign};
use super::output::Output;
use super::{Codec, CodecError, Stream};

/// Deflate, 32 KiB window, default level: how zlib starts a stream of level 6.
const HEADER: [u8; 2] = [0x78, 0x9c];

/// Whether `src` starts like a zlib stream without a dictionary. A gzip member never does.
///
/// One in some thousand random files passes too: decoding has the last word.
pub fn looks_like_zlib(src: &[u8]) -> bool {
    let Some(&[cmf, flg]) = src.first_chunk::<2>() else { return false };
    let deflate = cmf & 0x0f == 8 && cmf >> 4 <= 7;
    deflate && u16::from_be_bytes([cmf, flg]) % 31 == 0 && flg & 0x20 == 0
}

pub(super) fn decode(
    inflate: &mut Inflate,
    src: &[u8],
    out: &mut Output<'_>,
) -> Result<Stream, CodecError> {
    Zlib(inflate).members(src, out)
}

struct Zlib<'a>(&'a mut Inflate);

impl Members for Zlib<'_> {
    const CODEC: Codec = Codec::Zlib;
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
        let codec = Codec::Zlib;
        match src.len() {
            0 => return Err(CodecError::Empty { codec }),
            1 => return Err(CodecError::Truncated { codec, at, len: 1 }),
            _ if !looks_like_zlib(src) => return Err(foreign(codec, src, at)),
            _ => {}
        }
        let len = self.0.stream(codec, src, at, at, out)?;
        Ok(Member { len, content: Content::Data { declared: None } })
    }
}

/// Appends `src` to `out` as one stream.
pub(super) fn encode(
    deflate: &mut Deflate,
    level: i32,
    src: &[u8],
    out: &mut AlignedBuf,
) -> Result<(), CodecError> {
    out.extend_from_slice(&HEADER)?;
    deflate.raw(Codec::Zlib, level, src, out)?;
    out.extend_from_slice(&libdeflater::adler32(src).to_be_bytes())?;
    Ok(())
}
