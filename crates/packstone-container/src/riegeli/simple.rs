//! Chunks of records as they are: `│compression u8│length of sizes varint│sizes│records, joined│`.

use super::decode::{ChunkDecoder, compression, counted, inflate, too_long};
use super::error::ChunkErrorKind;
use super::frame::Data;
use super::header::ChunkHeader;
use super::records::Records;
use crate::codec::Codec;
use crate::wire;

/// The longest varint.
const LONGEST_SIZE: u64 = 10;
/// A buffer for records is asked for with room for this many times the compressed bytes; it grows where that is too few.
const USUAL_RATIO: u64 = 16;

pub(super) fn decode(
    decoder: &mut ChunkDecoder,
    header: &ChunkHeader,
    data: Data<'_>,
) -> Result<Records, ChunkErrorKind> {
    let bytes = data.bytes();
    let (codec, rest) = compression(bytes)?;
    let (sizes, values) = counted(rest, "sizes of records within their chunk")?;
    let expected = header.decoded_size;
    if codec == Codec::None {
        let ends = ends(sizes, header)?;
        let found = values.len() as u64;
        if found != expected {
            return Err(ChunkErrorKind::Values { expected, found });
        }
        let from = bytes.len() - values.len();
        return Ok(Records::new(data.tail(from), ends));
    }
    let ChunkDecoder { codecs, pool, scratch, .. } = decoder;
    let most = header.records.saturating_mul(LONGEST_SIZE);
    inflate(codecs, codec, "sizes of records", sizes, most, scratch).map_err(|kind| {
        let what = "sizes of records in ten bytes each at most";
        too_long(&kind).map_or(kind, |found| ChunkErrorKind::Sizes { what, found })
    })?;
    let ends = ends(scratch, header)?;
    let room = expected.min((values.len() as u64).saturating_mul(USUAL_RATIO));
    let mut out = pool.take(usize::try_from(room).unwrap_or(0))?;
    inflate(codecs, codec, "records", values, expected, &mut out).map_err(|kind| {
        too_long(&kind).map_or(kind, |found| ChunkErrorKind::Values { expected, found })
    })?;
    let found = out.len() as u64;
    if found != expected {
        return Err(ChunkErrorKind::Values { expected, found });
    }
    Ok(Records::new(out.freeze(), ends))
}

/// Where each record ends, from the sizes: one for each record, and their sum as the header states it.
fn ends(mut sizes: &[u8], header: &ChunkHeader) -> Result<Vec<usize>, ChunkErrorKind> {
    let fail = |what, found| ChunkErrorKind::Sizes { what, found };
    let few = "a size for each record";
    let count = usize::try_from(header.records).ok().filter(|count| *count <= sizes.len());
    let mut ends = Vec::with_capacity(count.ok_or(fail(few, sizes.len() as u64))?);
    let mut sum = 0u64;
    for _ in 0..header.records {
        let (size, rest) = wire::split_varint(sizes).map_err(|_| fail(few, ends.len() as u64))?;
        sizes = rest;
        sum = sum
            .checked_add(size)
            .filter(|sum| *sum <= header.decoded_size)
            .ok_or(fail("sizes that add up to the decoded size", sum.saturating_add(size)))?;
        // It fits: no larger than the decoded size, which is bounded by the limits and by memory below.
        ends.push(usize::try_from(sum).unwrap_or(usize::MAX));
    }
    if !sizes.is_empty() {
        return Err(fail("the end of the sizes", sizes.len() as u64));
    }
    if sum != header.decoded_size {
        return Err(fail("sizes that add up to the decoded size", sum));
    }
    Ok(ends)
}
