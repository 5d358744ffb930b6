//! How much of a shard is read at once, and the name that people know it by.

use packstone_io::RelPath;

use super::super::super::reader::Store;
use super::super::index::Found;
use super::super::manifest::ShardEntry;
use super::super::reference::ObjectPath;

/// Bytes of a shard that are read at once.
const PART_BYTES: u64 = 4 << 20;
/// Records that are read at once; the original's default.
pub(super) const PART_RECORDS: u64 = 1024;

/// Records that are read at once, of a shard of this size.
pub(super) fn part_records(stored_bytes: u64, records: u64) -> u64 {
    let each = stored_bytes.checked_div(records).unwrap_or(0).max(1);
    (PART_BYTES / each).clamp(1, PART_RECORDS)
}

/// The path of an object for people; absolute ones without their first slash.
pub(super) fn path_of(path: &ObjectPath) -> RelPath {
    match path {
        ObjectPath::Relative(path) => path.clone(),
        ObjectPath::Absolute(text) => {
            RelPath::new(text.trim_start_matches('/')).unwrap_or_default()
        }
    }
}

/// Where a part ends that has a whole entry up to `next`: behind as many records of its neighbours as may be read at once.
pub(super) fn joined(
    store: &Store,
    found: &Found,
    entry: &ShardEntry,
    first: u64,
    next: u64,
    end: u64,
) -> u64 {
    let most = end.min(first.saturating_add(PART_RECORDS));
    let stop = found.shared_end(|entry| &entry.data, most);
    if stop <= next {
        return next;
    }
    // One that does not open is named by whoever reads it.
    let Ok(shard) = store.shards.open(&entry.data) else { return next };
    let size = |ordinal| found.index(ordinal).and_then(|index| shard.size(index));
    let mut left = PART_BYTES;
    for ordinal in first..stop {
        match size(ordinal).and_then(|size| left.checked_sub(size)) {
            Some(rest) => left = rest,
            None => return ordinal.max(next),
        }
    }
    stop
}
