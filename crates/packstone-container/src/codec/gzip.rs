//! gzip, RFC 1952.
//!
//! ```text
//! │1f 8b│08│flags│mtime u32│XFL│OS│ [extra] [name] [comment] [crc16] │ DEFLATE │CRC-32 u32│ISIZE u32│   little-endian
//! ```
//! ISIZE is the decoded length modulo 2³². Zeros may follow a member, and then further members, which are joined.

use packstone_io::AlignedBuf;

use super::deflate::{Deflate, Inflate, MAX_RATIO};
use super::member::{Content, Member, Members, expect, starts};
use super::output::Output;
use super::{Codec, CodecError, GzipHeader, Stream};

const MAGIC: [u8; 2] = [0x1f, 0x8b];
/// Magic, method and no flags: how all members start that packstone and the originals write, except for names.
const PLAIN: [u8; 4] = [0x1f, 0x8b, 8, 0];
const HEADER: usize = 10;
const TRAILER: usize = 8;

const HEADER_CRC: u8 = 1 << 1;
const EXTRA: u8 = 1 << 2;
const NAME: u8 = 1 << 3;
const COMMENT: u8 = 1 << 4;
const RESERVED: u8 = 0b1110_0000;

pub(super) fn decode(
    inflate: &mut Inflate,
    src: &[u8],
    out: &mut Output<'_>,
) -> Result<Stream, CodecError> {
    match whole(inflate, src, out)? {
        Some(stream) => Ok(stream),
        None => Gzip(inflate).members(src, out),
    }
}

/// Decodes `src` in one go where it is certain to be one member and nothing else.
///
/// libdeflate checks CRC-32 and ISIZE of the first member and ignores what follows without a word of where the member
/// ended. But it did find ISIZE, which is the length that it returns, at the very end of the member. So where the last
/// four bytes of `src` say that length and these four bytes occur nowhere else, the member ends with `src`. Whatever
/// does not pass takes the slow way, which also explains damage.
fn whole(
    inflate: &mut Inflate,
    src: &[u8],
    out: &mut Output<'_>,
) -> Result<Option<Stream>, CodecError> {
    let Some(&isize) = src.last_chunk::<4>() else { return Ok(None) };
    let expected = u32::from_le_bytes(isize);
    let plausible = u64::from(expected) <= (src.len() as u64).saturating_mul(MAX_RATIO);
    let Ok(len) = out.allows(expected.into()) else { return Ok(None) };
    // All starts but the last one, so that a number overlapping itself is found too.
    let Some(inner) = src.get(HEADER..src.len() - 1) else { return Ok(None) };
    if !src.starts_with(&PLAIN) || !plausible || contains(inner, isize) {
        return Ok(None);
    }
    out.reserve(len)?;
    let spare = out.split().1.get_mut(..len).unwrap_or_default();
    if inflate.whole().gzip_decompress(src, spare) != Ok(len) {
        return Ok(None);
    }
    out.advance(len)?;
    Ok(Some(Stream::single()))
}

/// Whether `needle` occurs in `haystack`; written so that the compiler compares many positions at once.
fn contains(haystack: &[u8], needle: [u8; 4]) -> bool {
    const BLOCK: usize = 4096;
    let [a, b, c, d] = needle;
    (0..haystack.len()).step_by(BLOCK).any(|start| {
        let end = start.saturating_add(BLOCK + 3).min(haystack.len());
        let block = haystack.get(start..end).unwrap_or_default();
        let from = |skip: usize| block.get(skip..).unwrap_or_default().iter();
        let hits = from(0).zip(from(1)).zip(from(2)).zip(from(3));
        hits.fold(0u8, |any, (((w, x), y), z)| {
            any | u8::from((*w == a) & (*x == b) & (*y == c) & (*z == d))
        }) != 0
    })
}

struct Gzip<'a>(&'a mut Inflate);

impl Members for Gzip<'_> {
    const CODEC: Codec = Codec::Gzip;
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
        let codec = Codec::Gzip;
        let cut = || CodecError::Truncated { codec, at, len: src.len() };
        let body = at.saturating_add(header(src, at)?);
        let first = out.filled();
        let len = self.0.stream(codec, src, at, body, out)?;
        let end = body.saturating_add(len);
        let trailer =
            src.get(end..).and_then(|rest| rest.first_chunk::<TRAILER>()).ok_or_else(cut)?;
        let [crc, isize] = [0, 32].map(|shift| u64::from_le_bytes(*trailer) >> shift & 0xffff_ffff);
        let data = out.since(first);
        let checks = [
            ("CRC-32", crc, u64::from(crc32fast::hash(data))),
            ("length", isize, data.len() as u64 & 0xffff_ffff),
        ];
        for (what, expected, found) in checks {
            if expected != found {
                return Err(CodecError::Mismatch { codec, at, what, expected, found });
            }
        }
        let len = end.saturating_add(TRAILER) - at;
        Ok(Member { len, content: Content::Data { declared: None } })
    }
}

/// Length of the member header at byte `at`.
fn header(src: &[u8], at: usize) -> Result<usize, CodecError> {
    let codec = Codec::Gzip;
    let cut = || CodecError::Truncated { codec, at, len: src.len() };
    let bad = |reason: String| CodecError::Corrupt { codec, at, reason };
    expect(codec, src, at, &MAGIC)?;
    let member = src.get(at..).unwrap_or_default();
    let &[_, _, method, flags, .., _, _] = member.first_chunk::<HEADER>().ok_or_else(cut)?;
    if method != 8 {
        return Err(bad(format!("expected method 8, found {method}")));
    }
    if flags & RESERVED != 0 {
        return Err(bad(format!("reserved flags {flags:#04x} are set")));
    }
    let mut len = HEADER;
    let text = |from: usize| {
        let rest = member.get(from..).unwrap_or_default();
        rest.iter().position(|&b| b == 0).map(|end| from + end + 1).ok_or_else(cut)
    };
    if flags & EXTRA != 0 {
        let size = member.get(len..).and_then(|m| m.first_chunk()).ok_or_else(cut)?;
        len += 2 + usize::from(u16::from_le_bytes(*size));
    }
    for flag in [NAME, COMMENT] {
        if flags & flag != 0 {
            len = text(len)?;
        }
    }
    if flags & HEADER_CRC != 0 {
        let (head, rest) = member.split_at_checked(len).ok_or_else(cut)?;
        let stored = u16::from_le_bytes(*rest.first_chunk().ok_or_else(cut)?);
        let found = u64::from(crc32fast::hash(head) & 0xffff);
        if u64::from(stored) != found {
            let (what, expected) = ("header CRC-16", u64::from(stored));
            return Err(CodecError::Mismatch { codec, at, what, expected, found });
        }
        len += 2;
    }
    Ok(len)
}

/// Appends `src` to `out` as one member.
pub(super) fn encode(
    deflate: &mut Deflate,
    level: i32,
    header: GzipHeader,
    src: &[u8],
    out: &mut AlignedBuf,
) -> Result<(), CodecError> {
    let [xfl, os] = match header {
        GzipHeader::Python if level >= 9 => [2, 255],
        GzipHeader::Python if level == 1 => [4, 255],
        GzipHeader::Python => [0, 255],
        GzipHeader::TensorFlow => [0, 3],
    };
    out.extend_from_slice(&PLAIN)?;
    out.extend_from_slice(&[0, 0, 0, 0, xfl, os])?;
    deflate.raw(Codec::Gzip, level, src, out)?;
    out.extend_from_slice(&crc32fast::hash(src).to_le_bytes())?;
    let size = src.len() as u64 & 0xffff_ffff;
    out.extend_from_slice(size.to_le_bytes().first_chunk::<4>().unwrap_or(&[0; 4]))?;
    Ok(())
}
