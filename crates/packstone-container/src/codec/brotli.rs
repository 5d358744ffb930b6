//! Brotli, RFC 7932, and its extension for large windows: `│window│ meta-blocks, the last one marked │`, no checksum.
//!
//! The decoder takes a window of up to 2³⁰ bytes and gets memory for it as data comes, whatever the header says.

use brotli::enc::{BrotliCompress, BrotliEncoderParams, StandardAlloc};
use brotli::{
    Allocator, BrotliDecompressStream, BrotliResult, BrotliState, SliceWrapper, SliceWrapperMut,
};
use packstone_io::AlignedBuf;

use super::member::{Step, pump};
use super::output::{Append, Output};
use super::{Codec, CodecError, Stream, Trailing};

const CODEC: Codec = Codec::Brotli;
pub(super) const LEVELS: (i32, i32) = (0, 11);
pub(super) const WINDOWS: (u32, u32) = (10, 30);
/// The window that the library takes when none is named.
const USUAL_WINDOW: u32 = 22;
/// The largest window of RFC 7932; larger ones need the extension.
const PLAIN_WINDOW: u32 = 24;

/// Memory of the decoder, from where it can fail with an error: an empty piece says that there is none.
struct Maps;

#[derive(Default)]
struct Piece(AlignedBuf);

impl Allocator<u8> for Maps {
    type AllocatedMemory = Piece;

    fn alloc_cell(&mut self, len: usize) -> Piece {
        let mut piece = AlignedBuf::default();
        Piece(piece.set_len(len).map(|()| piece).unwrap_or_default())
    }

    fn free_cell(&mut self, _: Piece) {}
}

impl SliceWrapper<u8> for Piece {
    fn slice(&self) -> &[u8] {
        &self.0
    }
}

impl SliceWrapperMut<u8> for Piece {
    fn slice_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

pub(super) fn decode(src: &[u8], out: &mut Output<'_>) -> Result<Stream, CodecError> {
    if src.is_empty() {
        return Err(CodecError::Empty { codec: CODEC });
    }
    let mut state = BrotliState::new(Maps, StandardAlloc::default(), StandardAlloc::default());
    let len = pump(src, 0, 0, CODEC, out, |input, spare| {
        let (mut available, mut room) = (input.len(), spare.len());
        let (mut read, mut wrote, mut total) = (0, 0, 0);
        let result = BrotliDecompressStream(
            &mut available,
            &mut read,
            input,
            &mut room,
            &mut wrote,
            spare,
            &mut total,
            &mut state,
        );
        match result {
            BrotliResult::ResultFailure => {
                let reason = format!("{:?}", state.error_code).to_ascii_lowercase();
                let reason = reason.trim_start_matches("brotli_decoder_error_").replace('_', " ");
                Err(CodecError::Corrupt { codec: CODEC, at: 0, reason })
            }
            BrotliResult::ResultSuccess => Ok(Step { read, wrote, end: true }),
            BrotliResult::NeedsMoreInput | BrotliResult::NeedsMoreOutput => {
                Ok(Step { read, wrote, end: false })
            }
        }
    })?;
    let rest = src.get(len..).unwrap_or_default();
    let trailing = Trailing { bytes: rest.len() as u64, zeros: rest.iter().all(|&b| b == 0) };
    Ok(Stream { trailing, ..Stream::single() })
}

/// Appends `src` to `out` as one stream; `level` and `window` are within their ranges.
///
/// A window above [`PLAIN_WINDOW`] is only as large as the data can use: some levels take memory by the window.
pub(super) fn encode(
    level: i32,
    window: Option<u32>,
    src: &[u8],
    out: &mut AlignedBuf,
) -> Result<(), CodecError> {
    let used = usize::BITS - src.len().saturating_add(16).leading_zeros();
    let window = window.unwrap_or(USUAL_WINDOW).min(used.max(PLAIN_WINDOW));
    let params = BrotliEncoderParams {
        quality: level,
        lgwin: i32::try_from(window).unwrap_or(i32::MAX),
        large_window: window > PLAIN_WINDOW,
        size_hint: src.len(),
        ..BrotliEncoderParams::default()
    };
    BrotliCompress(&mut &*src, &mut Append(out), &params)
        .map(|_| ())
        .map_err(|e| CodecError::Library { codec: CODEC, reason: e.to_string() })
}
