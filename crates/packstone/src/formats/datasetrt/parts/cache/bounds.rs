//! Where runs of records begin and end, as the manifest tells the sizes of their shards.

use packstone_io::Kind;

use super::super::super::codes;
use super::super::super::document::{Algo, ShardEntry};
use super::super::index::Index;
use super::super::runs::Runs;
use crate::error::{Error, Place, Result};

/// Stored bytes of a run of records.
const RUN_BYTES: u64 = 16 << 20;
/// What a run of compressed payloads becomes, about, if the manifest tells their sizes truly.
const LZ4_RUN_BYTES: u64 = 8 << 20;
/// Stored bytes of such a run, whatever the manifest tells.
const LZ4_STORED: std::ops::RangeInclusive<u64> = 64 << 10..=4 << 20;

/// One pass over the index: shards that no row may name, and where runs begin.
pub(super) fn runs(index: &Index, shards: &[ShardEntry], place: &Place) -> Result<Runs> {
    let bytes = |shard: u64| {
        let entry = shards.get(usize::try_from(shard).ok()?)?;
        if entry.algo != Algo::Lz4 {
            return Some(RUN_BYTES);
        }
        let stored = share(LZ4_RUN_BYTES, entry.bytes, entry.raw_bytes);
        Some(stored.clamp(*LZ4_STORED.start(), *LZ4_STORED.end()))
    };
    Runs::of(index.iter(), bytes)
        .map_err(|(sample, found)| out_of_range(shards.len(), found, &place.clone().record(sample)))
}

/// `bytes` times `part` of `whole`.
pub(super) fn share(bytes: u64, part: u64, whole: u64) -> u64 {
    let share = u128::from(bytes) * u128::from(part) / u128::from(whole.max(1));
    u64::try_from(share).unwrap_or(u64::MAX)
}

pub(super) fn out_of_range(known: usize, found: u64, place: &Place) -> Error {
    let message = format!("expected one of {known} shards, found number {found}");
    Error::new(Kind::Corrupt, codes::INDEX_SHARD_OUT_OF_RANGE, place.clone(), message)
}
