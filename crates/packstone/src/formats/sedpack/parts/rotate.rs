//! When one shard ends and the next begins.
//!
//! A shard ends when it holds `examples_per_shard` examples, or when its metadata and the given one are both non-empty
//! and differ as Python compares them (order of keys and `1`, `1.0`, `true` do not count). No metadata never ends a
//! shard. Metadata that does not end the shard becomes that of the whole shard; a shard opened because the last one was
//! full starts without.

use std::sync::Arc;

use packstone_container::json::{self, Object, Value};

use super::super::layout::TABLE_LIMIT;
use crate::error::Result;
use crate::model::Batch;

/// Bytes of values after which a shard ends early, so that it stays within what FlatBuffers can address.
const MAX_BYTES: u64 = (2 << 30) - (64 << 20);
/// What an fb shard adds to each value at most: padding, length, table, entry.
const OVERHEAD: u64 = 48;

/// A shard in the making.
#[derive(Debug, Default)]
pub struct OpenShard {
    parts: Vec<Batch>,
    rows: u64,
    bytes: u64,
    metadata: Arc<Object>,
}

/// A complete shard that is not stored yet.
#[derive(Debug)]
pub struct FullShard {
    /// Its rows.
    pub parts: Vec<Batch>,
    /// How many.
    pub rows: u64,
    /// What is said about them.
    pub metadata: Arc<Object>,
}

/// Cuts batches into shards.
#[derive(Debug)]
pub struct Rotation {
    limit: u64,
    values: u64,
    exact: bool,
    open: OpenShard,
}

impl Rotation {
    /// Shards of at most `examples_per_shard` examples of `attributes` attributes, fewer where an fb shard would pass
    /// the tables that the original's Rust reader takes. `exact` ends a shard at any change of metadata, none included, so
    /// that each example keeps its own to the letter.
    pub fn new(examples_per_shard: i64, attributes: usize, fb: bool, exact: bool) -> Self {
        let values = attributes as u64;
        let tables = if fb { ((TABLE_LIMIT - 2) / (values + 1)).max(1) } else { u64::MAX };
        let limit = u64::try_from(examples_per_shard).unwrap_or(1).clamp(1, tables);
        Self { limit, values, exact, open: OpenShard::default() }
    }

    /// Appends the rows of `batch`; shards that end are handed to `full`.
    ///
    /// # Errors
    /// What `full` returns.
    pub fn push(
        &mut self,
        batch: &Batch,
        mut full: impl FnMut(FullShard) -> Result<()>,
    ) -> Result<()> {
        let mut start = 0;
        let mut runs: Vec<_> = batch.metadata_runs().map(|(r, m)| (r.end, Arc::clone(m))).collect();
        if runs.last().is_none_or(|(end, _)| *end < batch.rows()) {
            runs.push((batch.rows(), Arc::default()));
        }
        for (end, metadata) in runs {
            while start < end {
                if self.open.rows > 0 && (self.open.rows >= self.limit || self.differs(&metadata)) {
                    full(self.take())?;
                }
                let take = self.room(batch, start, end);
                if take == 0 {
                    full(self.take())?;
                    continue;
                }
                if !metadata.is_empty() {
                    self.open.metadata = Arc::clone(&metadata);
                }
                let rows = start..start + take;
                self.open.bytes += self.weight(batch, rows.clone());
                self.open.rows += take as u64;
                self.open.parts.push(if rows == (0..batch.rows()) {
                    batch.clone()
                } else {
                    batch.slice(rows)?
                });
                start += take;
            }
        }
        if self.open.rows >= self.limit {
            full(self.take())?;
        }
        Ok(())
    }

    fn differs(&self, given: &Object) -> bool {
        let current = &self.open.metadata;
        if self.exact {
            return *given != **current;
        }
        !given.is_empty()
            && !current.is_empty()
            && !json::python_eq(
                &Value::Object(given.clone()),
                &Value::Object(current.as_ref().clone()),
            )
    }

    fn weight(&self, batch: &Batch, rows: std::ops::Range<usize>) -> u64 {
        let overhead =
            (rows.len() as u64).saturating_mul((self.values + 1).saturating_mul(OVERHEAD));
        batch.bytes_of(rows).saturating_add(overhead)
    }

    /// How many of the rows from `start` on still fit; an empty shard takes one in any case.
    fn room(&self, batch: &Batch, start: usize, end: usize) -> usize {
        let left = usize::try_from(self.limit - self.open.rows).unwrap_or(usize::MAX);
        let mut take = left.min(end - start);
        while take > 1
            && self.open.bytes.saturating_add(self.weight(batch, start..start + take)) > MAX_BYTES
        {
            take = take.div_ceil(2);
        }
        let one_fits =
            self.open.bytes.saturating_add(self.weight(batch, start..start + take)) <= MAX_BYTES;
        if one_fits || self.open.rows == 0 { take } else { 0 }
    }

    fn take(&mut self) -> FullShard {
        let OpenShard { parts, rows, metadata, .. } = std::mem::take(&mut self.open);
        FullShard { parts, rows, metadata }
    }

    /// What remains at the end.
    pub fn finish(&mut self) -> Option<FullShard> {
        (self.open.rows > 0).then(|| self.take())
    }
}
