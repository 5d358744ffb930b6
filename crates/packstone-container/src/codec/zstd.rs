//! Zstandard, RFC 8878: `│28 b5 2f fd│descriptor│[window] [dictionary] [content size]│ blocks │[xxh64, low 4 bytes]│`.
//!
//! Frames are joined and skippable frames (`│5x 2a 4d 18│size u32│…│`) skipped. Frames that store their content size,
//! as the originals' do, decode straight into the buffer; others are streamed through the library's window.

use packstone_io::AlignedBuf;
use zstd::zstd_safe::zstd_sys::ZSTD_EndDirective as End;
use zstd::zstd_safe::{
    CCtx, CParameter, DCtx, InBuffer, OutBuffer, ResetDirective, compress_bound,
    find_frame_compressed_size, get_error_name, get_frame_content_size,
};

use super::member::{Content, Member, Members, Step, expect, pump, starts};
use super::output::Output;
use super::{Codec, CodecError, Stream};

const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// The most that one block decodes to; the smallest that does so takes four bytes.
const BLOCK: u64 = 128 << 10;
const SMALLEST_BLOCK: u64 = 4;
/// Room beyond what the library asks for, with which a stream ends in one step.
const ROOM: usize = 4 << 10;
pub(super) const LEVELS: (i32, i32) = (-131_072, 22);
pub(super) const WINDOWS: (u32, u32) = (10, 31);

/// Errors of the library that mean something here; their numbers never change.
#[derive(Clone, Copy)]
enum Fault {
    WindowTooLarge = 16,
    WrongDictionary = 32,
    Memory = 64,
    NoRoom = 70,
    SourceSize = 72,
}

impl Fault {
    /// Whether a result of the library is this error: its number, negated.
    fn is(self, result: usize) -> bool {
        result == (self as usize).wrapping_neg()
    }
}

/// The decoding context, made when first needed.
#[derive(Default)]
pub(super) struct Decode(Option<DCtx<'static>>);

/// The encoding context, made when first needed.
#[derive(Default)]
pub(super) struct Encode(Option<CCtx<'static>>);

pub(super) fn decode(
    decode: &mut Decode,
    src: &[u8],
    out: &mut Output<'_>,
) -> Result<Stream, CodecError> {
    decode.members(src, out)
}

/// Whether `rest` starts a frame to be skipped; LZ4 shares these.
pub(super) fn skippable(rest: &[u8]) -> bool {
    matches!(rest, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..])
}

/// The skippable frame at byte `at`.
pub(super) fn skip(codec: Codec, src: &[u8], at: usize) -> Result<Member, CodecError> {
    let size = src.get(at.saturating_add(4)..).and_then(|rest| rest.first_chunk());
    let len = size.and_then(|size| usize::try_from(u32::from_le_bytes(*size)).ok()?.checked_add(8));
    match len {
        Some(len) if at.checked_add(len).is_some_and(|end| end <= src.len()) => {
            Ok(Member { len, content: Content::Skipped })
        }
        _ => Err(CodecError::Truncated { codec, at, len: src.len() }),
    }
}

impl Members for Decode {
    const CODEC: Codec = Codec::Zstd;
    const PADDED: bool = false;

    fn follows(rest: &[u8]) -> bool {
        starts(rest, &MAGIC) || skippable(rest)
    }

    fn member(
        &mut self,
        src: &[u8],
        at: usize,
        out: &mut Output<'_>,
    ) -> Result<Member, CodecError> {
        let codec = Codec::Zstd;
        let rest = src.get(at..).unwrap_or_default();
        if skippable(rest) {
            return skip(codec, src, at);
        }
        let (len, declared) = measure(src, at)?;
        let frame = rest.get(..len).unwrap_or_default();
        let context = self.context()?;
        match declared {
            Some(size) => once(context, frame, at, size, out)?,
            None => streamed(context, src, at, len, out)?,
        }
        Ok(Member { len, content: Content::Data { declared } })
    }
}

impl Decode {
    fn context(&mut self) -> Result<&mut DCtx<'static>, CodecError> {
        Ok(match &mut self.0 {
            Some(context) => context,
            none => none.insert(DCtx::try_create().ok_or_else(no_memory)?),
        })
    }
}

/// Length and stated content size of the frame at byte `at`.
fn measure(src: &[u8], at: usize) -> Result<(usize, Option<u64>), CodecError> {
    let codec = Codec::Zstd;
    expect(codec, src, at, &MAGIC)?;
    let rest = src.get(at..).unwrap_or_default();
    let len = find_frame_compressed_size(rest).map_err(|code| match code {
        _ if Fault::SourceSize.is(code) => CodecError::Truncated { codec, at, len: src.len() },
        _ => failed(at, code),
    })?;
    let frame = rest.get(..len).unwrap_or_default();
    let declared = get_frame_content_size(frame).map_err(|_| CodecError::Corrupt {
        codec,
        at,
        reason: "unreadable frame header".into(),
    })?;
    Ok((len, declared))
}

/// The most that `frame` can decode to.
fn most(frame: &[u8]) -> u64 {
    (frame.len() as u64 / SMALLEST_BLOCK).saturating_mul(BLOCK)
}

/// Decodes `src`, which is one frame and nothing else, in one go.
pub(super) fn decode_one(
    decode: &mut Decode,
    src: &[u8],
    out: &mut Output<'_>,
) -> Result<(), CodecError> {
    let (len, declared) = measure(src, 0)?;
    if len < src.len() {
        let bytes = (src.len() - len) as u64;
        return Err(CodecError::Surplus { codec: Codec::Zstd, bytes });
    }
    let context = decode.context()?;
    if let Some(size) = declared {
        return once(context, src, 0, size, out);
    }
    let (room, limited) = match out.allows(most(src)) {
        Ok(room) => (room, false),
        Err(_) => (out.left(), true),
    };
    out.reserve(room)?;
    let spare = out.split().1.get_mut(..room).unwrap_or_default();
    match context.decompress(spare, src) {
        Ok(len) => out.advance(len),
        Err(code) if limited && Fault::NoRoom.is(code) => Err(out.too_much()),
        Err(code) => Err(failed(0, code)),
    }
}

/// Decodes a frame of `size` bytes into the room for exactly that.
fn once(
    context: &mut DCtx<'_>,
    frame: &[u8],
    at: usize,
    size: u64,
    out: &mut Output<'_>,
) -> Result<(), CodecError> {
    let len = out.allows(size)?;
    if size > most(frame) {
        let reason = format!("{} bytes cannot hold the {size} that its header states", frame.len());
        return Err(CodecError::Corrupt { codec: Codec::Zstd, at, reason });
    }
    out.reserve(len)?;
    let spare = out.split().1.get_mut(..len).unwrap_or_default();
    let found = context.decompress(spare, frame).map_err(|code| failed(at, code))?;
    if found != len {
        let (what, found) = ("content size", found as u64);
        return Err(CodecError::Mismatch { codec: Codec::Zstd, at, what, expected: size, found });
    }
    out.advance(len)
}

/// Decodes a frame of unknown size, growing as it goes.
fn streamed(
    context: &mut DCtx<'_>,
    src: &[u8],
    at: usize,
    len: usize,
    out: &mut Output<'_>,
) -> Result<(), CodecError> {
    context.reset(ResetDirective::SessionOnly).map_err(|code| failed(at, code))?;
    let src = src.get(..at.saturating_add(len)).unwrap_or_default();
    pump(src, at, at, Codec::Zstd, out, |input, spare| {
        let mut input = InBuffer::around(input);
        let mut spare = OutBuffer::around(spare);
        let left =
            context.decompress_stream(&mut spare, &mut input).map_err(|code| failed(at, code))?;
        Ok(Step { read: input.pos(), wrote: spare.pos(), end: left == 0 })
    })?;
    Ok(())
}

fn failed(at: usize, code: usize) -> CodecError {
    let codec = Codec::Zstd;
    if Fault::Memory.is(code) {
        no_memory()
    } else if Fault::WrongDictionary.is(code) {
        CodecError::Unsupported { codec, at, what: "a dictionary" }
    } else if Fault::WindowTooLarge.is(code) {
        CodecError::Unsupported { codec, at, what: "a window of more than 128 MiB" }
    } else {
        CodecError::Corrupt { codec, at, reason: get_error_name(code).to_ascii_lowercase() }
    }
}

fn no_memory() -> CodecError {
    CodecError::Library { codec: Codec::Zstd, reason: "out of memory".into() }
}

impl Encode {
    fn context(&mut self) -> Result<&mut CCtx<'static>, CodecError> {
        Ok(match &mut self.0 {
            Some(context) => context,
            none => none.insert(CCtx::try_create().ok_or_else(no_memory)?),
        })
    }
}

fn refused(code: usize) -> CodecError {
    CodecError::Library { codec: Codec::Zstd, reason: get_error_name(code).to_owned() }
}

/// Appends `src` to `out` as one frame with its content size and without checksum; `level` is within [`LEVELS`].
pub(super) fn encode(
    encode: &mut Encode,
    level: i32,
    src: &[u8],
    out: &mut AlignedBuf,
) -> Result<(), CodecError> {
    let context = encode.context()?;
    let start = out.len();
    out.set_len(start.saturating_add(compress_bound(src.len())))?;
    let room = out.get_mut(start..).unwrap_or_default();
    let len = context.compress(room, src, level).map_err(refused)?;
    out.truncate(start.saturating_add(len));
    Ok(())
}

/// What a frame looks like, where it is not as [`encode`] makes it.
pub(super) struct Frame {
    /// Within [`LEVELS`].
    pub(super) level: i32,
    /// Within [`WINDOWS`].
    pub(super) window_log: Option<u32>,
    /// Whether it states its content size.
    pub(super) sized: bool,
}

/// Appends `src` to `out` as one such frame, without checksum.
///
/// Without content size, the bytes are those of a writer that streams: all data, then an end without data.
pub(super) fn encode_as(
    encode: &mut Encode,
    frame: Frame,
    src: &[u8],
    out: &mut AlignedBuf,
) -> Result<(), CodecError> {
    let context = encode.context()?;
    context.reset(ResetDirective::SessionAndParameters).map_err(refused)?;
    let level = CParameter::CompressionLevel(frame.level);
    let window = frame.window_log.map(CParameter::WindowLog);
    for parameter in [Some(level), window].into_iter().flatten() {
        context.set_parameter(parameter).map_err(refused)?;
    }
    let start = out.len();
    out.set_len(start.saturating_add(compress_bound(src.len())).saturating_add(ROOM))?;
    let mut input = InBuffer::around(src);
    let mut filled = start;
    let mut step = |input: &mut InBuffer<'_>, end| {
        let room = out.get_mut(filled..).unwrap_or_default();
        let mut room = OutBuffer::around(room);
        let left = context.compress_stream2(&mut room, input, end).map_err(refused)?;
        let wrote = room.pos();
        filled = filled.saturating_add(wrote);
        if filled == out.len() {
            out.set_len(filled.saturating_add(ROOM))?;
        }
        Ok::<_, CodecError>((left, filled))
    };
    if !frame.sized {
        while input.pos() < src.len() {
            step(&mut input, End::ZSTD_e_continue)?;
        }
    }
    let mut end = step(&mut input, End::ZSTD_e_end)?;
    while end.0 > 0 {
        end = step(&mut input, End::ZSTD_e_end)?;
    }
    out.truncate(end.1);
    Ok(())
}
