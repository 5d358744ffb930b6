//! LZ4 blocks without a frame: no header, no length, no checksum; whoever stores one knows how long its content is.
//!
//! ```text
//! block: sequences │ last sequence, of literals alone
//! ```
//! A block ends where its bytes end. Its content is appended to what a buffer holds, so that many blocks share one.

use lz4_flex::block::{
    CompressTable, DecompressError, compress_into_with_table, decompress_into,
    get_maximum_output_size,
};
use packstone_io::AlignedBuf;

use super::{Codec, CodecError};
use crate::Limits;

/// Errors speak of LZ4; that it is a block is said by whoever stores it.
const CODEC: Codec = Codec::Lz4Frame;
/// No block gains more than 255 bytes with one.
const MAX_RATIO: u64 = 255;
/// Inputs from this length on need a table of wider entries.
const WIDE_FROM: usize = u16::MAX as usize;

/// Appends the content of the block `src`, which must be `expected` bytes long, to `out`.
///
/// The length is believed only where a block of this size can hold it.
///
/// # Errors
/// [`CodecError::Corrupt`], [`CodecError::Mismatch`]; [`CodecError::Limit`] where the content is longer than
/// `limits.decoded_bytes`; [`CodecError::Memory`]. Then `out` is as before.
pub fn decode_lz4_block(
    src: &[u8],
    expected: u64,
    out: &mut AlignedBuf,
    limits: &Limits,
) -> Result<(), CodecError> {
    let corrupt = |reason| CodecError::Corrupt { codec: CODEC, at: 0, reason };
    let most = (src.len() as u64).saturating_mul(MAX_RATIO);
    if expected > most {
        return Err(corrupt(format!(
            "expected at most {most} bytes from a block of {}, found {expected} stated",
            src.len()
        )));
    }
    let limit = limits.decoded_bytes;
    let wanted = usize::try_from(expected).ok().filter(|_| expected <= limit);
    let wanted = wanted.ok_or(CodecError::Limit { codec: CODEC, limit })?;
    let start = out.len();
    out.set_len(start.saturating_add(wanted))?;
    let found = decompress_into(src, out.get_mut(start..).unwrap_or_default());
    let error = match found {
        Ok(found) if found == wanted => return Ok(()),
        Ok(found) => {
            let (what, found) = ("decoded length", found as u64);
            CodecError::Mismatch { codec: CODEC, at: 0, what, expected, found }
        }
        Err(DecompressError::OutputTooSmall { expected: found, .. }) => {
            let (what, found) = ("decoded length", found as u64);
            CodecError::Mismatch { codec: CODEC, at: 0, what, expected, found }
        }
        Err(error) => corrupt(error.to_string()),
    };
    out.truncate(start);
    Err(error)
}

/// Makes LZ4 blocks; keeps its tables between them.
///
/// Equal content gives equal blocks, those that lz4_flex makes of it with fresh tables.
#[derive(Default)]
pub struct Lz4BlockEncoder {
    /// One for short content, one for long: which one is used changes the bytes.
    narrow: Option<CompressTable>,
    wide: Option<CompressTable>,
}

impl Lz4BlockEncoder {
    /// Appends the block of `src` to `out`.
    ///
    /// # Errors
    /// [`CodecError::Memory`] where the result finds no room; then `out` is as before.
    pub fn encode(&mut self, src: &[u8], out: &mut AlignedBuf) -> Result<(), CodecError> {
        let start = out.len();
        out.set_len(start.saturating_add(get_maximum_output_size(src.len())))?;
        let table = if src.len() < WIDE_FROM {
            self.narrow.get_or_insert_with(CompressTable::small)
        } else {
            self.wide.get_or_insert_with(CompressTable::large)
        };
        let room = out.get_mut(start..).unwrap_or_default();
        match compress_into_with_table(src, room, table) {
            Ok(len) => {
                out.truncate(start.saturating_add(len));
                Ok(())
            }
            Err(error) => {
                out.truncate(start);
                Err(CodecError::Library { codec: CODEC, reason: error.to_string() })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn encode(encoder: &mut Lz4BlockEncoder, src: &[u8]) -> Vec<u8> {
        let mut out = AlignedBuf::default();
        out.extend_from_slice(b"..").unwrap();
        encoder.encode(src, &mut out).unwrap();
        assert_eq!(&out[..2], b"..");
        out[2..].to_vec()
    }

    fn decode(src: &[u8], len: u64) -> Result<Vec<u8>, CodecError> {
        let mut out = AlignedBuf::default();
        out.extend_from_slice(b"..").unwrap();
        let result = decode_lz4_block(src, len, &mut out, &Limits::default());
        assert_eq!(&out[..2], b"..");
        assert!(result.is_ok() || out.len() == 2);
        result.map(|()| out[2..].to_vec())
    }

    #[test]
    fn short_blocks_are_literal() {
        let mut encoder = Lz4BlockEncoder::default();
        assert_eq!(encode(&mut encoder, b""), [0]);
        assert_eq!(encode(&mut encoder, b"a"), [0x10, b'a']);
        assert_eq!(decode(&[0], 0).unwrap(), b"");
        assert_eq!(decode(&[0x10, b'a'], 1).unwrap(), b"a");
    }

    #[test]
    fn lengths_that_are_stated_wrongly_are_refused_before_memory_is_taken() {
        let zeros = encode(&mut Lz4BlockEncoder::default(), &[0; 10_000]);
        assert!(zeros.len() < 100);
        assert!(matches!(decode(&zeros, 9_999), Err(CodecError::Mismatch { .. })));
        assert!(matches!(decode(&zeros, 10_001), Err(CodecError::Mismatch { found: 10_000, .. })));
        assert!(matches!(decode(&zeros, u64::MAX), Err(CodecError::Corrupt { .. })));
        assert!(matches!(decode(b"", 0), Err(CodecError::Corrupt { .. })));
        let limits = Limits::default().with_decoded_bytes(9_999);
        let limited = decode_lz4_block(&zeros, 10_000, &mut AlignedBuf::default(), &limits);
        assert!(matches!(limited, Err(CodecError::Limit { limit: 9_999, .. })));
    }

    #[test]
    fn damage_is_named() {
        // A match that lies before the start, and a token whose literals are cut.
        for block in [&b"\x10a\x00\x00"[..], b"\xf0", b"\x20a", b"\x14abc"] {
            assert!(decode(block, 9).is_err(), "{block:?}");
        }
    }

    #[test]
    fn tables_leave_no_trace_between_blocks() {
        let long: Vec<u8> = (0..200_000u32).flat_map(|n| (n / 9).to_le_bytes()).collect();
        let mut used = Lz4BlockEncoder::default();
        for len in [0, 100, 65_534, 65_535, 200_000, 5, 65_534, 300] {
            let fresh = encode(&mut Lz4BlockEncoder::default(), &long[..len]);
            assert_eq!(encode(&mut used, &long[..len]), fresh, "{len}");
            assert_eq!(fresh, lz4_flex::block::compress(&long[..len]), "{len}");
        }
    }

    proptest! {
        #[test]
        fn blocks_come_back(words in proptest::collection::vec(0u8..7, 0..3000), times in 1usize..30) {
            let src = words.repeat(times);
            let block = encode(&mut Lz4BlockEncoder::default(), &src);
            prop_assert_eq!(decode(&block, src.len() as u64).unwrap(), src);
        }

        #[test]
        fn no_bytes_do_harm(block in proptest::collection::vec(any::<u8>(), 0..200), len in 0u64..4000) {
            let _ = decode(&block, len);
        }
    }
}
