//! Snappy, one raw block: `│length varint│ literals and copies │`, no checksum, nothing that marks its end.

use packstone_io::AlignedBuf;
use snap::raw;

use super::output::Output;
use super::{Codec, CodecError, Stream};

const CODEC: Codec = Codec::Snappy;
/// No element gains more: three bytes copy 64.
const MAX_RATIO: u64 = 22;

/// The encoding context, made when first needed.
#[derive(Default)]
pub(super) struct Encode(Option<Box<raw::Encoder>>);

pub(super) fn decode(src: &[u8], out: &mut Output<'_>) -> Result<Stream, CodecError> {
    if src.is_empty() {
        return Err(CodecError::Empty { codec: CODEC });
    }
    let declared = raw::decompress_len(src).map_err(|e| failed(src, &e))?;
    let len = out.allows(declared as u64)?;
    if declared as u64 > (src.len() as u64).saturating_mul(MAX_RATIO) {
        return Err(CodecError::Truncated { codec: CODEC, at: 0, len: src.len() });
    }
    out.reserve(len)?;
    let room = out.split().1.get_mut(..len).unwrap_or_default();
    raw::Decoder::new().decompress(src, room).map_err(|e| failed(src, &e))?;
    out.advance(len)?;
    Ok(Stream { declared_size: Some(declared as u64), ..Stream::single() })
}

fn failed(src: &[u8], error: &snap::Error) -> CodecError {
    use snap::Error as E;
    let cut = match *error {
        E::Literal { len, src_len, .. } | E::CopyRead { len, src_len } => len > src_len,
        E::HeaderMismatch { .. } => true,
        E::Header => src.len() < 10 && src.iter().all(|byte| byte & 0x80 != 0),
        _ => false,
    };
    if cut {
        return CodecError::Truncated { codec: CODEC, at: 0, len: src.len() };
    }
    let reason = error.to_string().trim_start_matches("snappy: ").to_owned();
    CodecError::Corrupt { codec: CODEC, at: 0, reason }
}

/// Appends `src` to `out` as one block.
pub(super) fn encode(
    encode: &mut Encode,
    src: &[u8],
    out: &mut AlignedBuf,
) -> Result<(), CodecError> {
    let library = |e: snap::Error| CodecError::Library { codec: CODEC, reason: e.to_string() };
    let start = out.len();
    out.set_len(start.saturating_add(raw::max_compress_len(src.len())))?;
    let room = out.get_mut(start..).unwrap_or_default();
    let context = encode.0.get_or_insert_with(|| Box::new(raw::Encoder::new()));
    let len = context.compress(src, room).map_err(library)?;
    out.truncate(start.saturating_add(len));
    Ok(())
}
