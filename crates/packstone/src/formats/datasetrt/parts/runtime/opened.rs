//! A shard that samples are read from, and where it has the payload of each.

use std::ops::Range;
use std::sync::Arc;

use packstone_container::arrow_table::ArrowFile;
use packstone_io::Buf;

use super::super::super::document::Algo;
use super::super::cache::Cache;
use super::super::index::Row;
use super::super::maps::Stay;
use super::super::record;
use crate::error::Result;
use crate::format::ReadContext;

/// Samples of one shard, by their places among the picks.
pub(super) struct Group<'a> {
    pub(super) cache: &'a Cache,
    pub(super) shard: u64,
    pub(super) at: &'a [usize],
}

/// A shard that samples are read from.
pub(super) struct Opened<'a> {
    cache: &'a Cache,
    table: Arc<ArrowFile>,
    pub(super) bytes: Buf,
    pub(super) algo: Algo,
}

impl<'a> Opened<'a> {
    pub(super) fn of(group: &Group<'a>) -> Result<Self> {
        let cache = group.cache;
        cache.look_at_index()?;
        cache.look_at_shard(group.shard)?;
        let table = cache.table()?;
        let (entry, bytes) = cache.shard(group.shard, Stay::Kept)?;
        Ok(Self { cache, table, bytes, algo: entry.algo })
    }

    /// Where the payload of a record lies, whose copy of the metadata says what the table says.
    pub(super) fn payload(
        &self,
        sample: u64,
        row: Row,
        context: &ReadContext,
    ) -> Result<Range<usize>> {
        let place = || self.cache.sample_place(sample, row);
        let record = match record::find(&self.bytes, row) {
            Some(record) => record,
            None => record::locate(&self.bytes, row, &place())?,
        };
        if self.cache.options.compare {
            let copy = self.bytes.get(record.metadata).unwrap_or_default();
            self.cache.compare_copy(copy, &self.table, sample, place, &context.limits)?;
        }
        Ok(record.payload)
    }
}
