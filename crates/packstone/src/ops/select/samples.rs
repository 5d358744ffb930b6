//! Some samples of a collection as a collection.

use std::ops::Range;
use std::sync::Arc;

use packstone_container::codec::Codec;
use packstone_io::{Kind, RelPath};

use super::super::{gather, missing_sample};
use crate::error::{Error, Place, Result};
use crate::format::{Access, Collection, ReadContext, ShardRef};
use crate::model::{Batch, SampleTable, Schema, canonical};

/// Samples that are gathered at once.
const TOGETHER: u64 = 256;

/// A fixed list of samples with indices of its own; a sample may occur more than once.
///
/// Scans, digests and searches work on it as on any collection. Its shards are runs of the list.
pub struct ChosenSamples {
    inner: Arc<dyn Collection>,
    rows: Arc<[u64]>,
}

impl ChosenSamples {
    /// The samples of `inner` at these indices, in this order. An index past the end is an error when it is read.
    pub fn new(inner: Arc<dyn Collection>, rows: Arc<[u64]>) -> Self {
        Self { inner, rows }
    }

    /// The indices in the collection below of the samples of a shard.
    fn indices(&self, shard: &ShardRef) -> Result<&[u64]> {
        let range = shard.first..shard.first.saturating_add(shard.rows);
        self.listed(&range).ok_or_else(|| missing_sample(self.len(), range.start))
    }

    fn listed(&self, range: &Range<u64>) -> Option<&[u64]> {
        self.rows.get(usize::try_from(range.start).ok()?..usize::try_from(range.end).ok()?)
    }

    fn run(&self, first: u64) -> Option<ShardRef> {
        let rows = self.len().checked_sub(first).filter(|rows| *rows > 0)?.min(TOGETHER);
        let (number, path) = (first.checked_div(TOGETHER)?, RelPath::root());
        Some(ShardRef { number, first, rows, path, metadata: Arc::default(), detail: Arc::new(()) })
    }

    /// One sample with fields of its own.
    fn one(
        &self,
        index: u64,
        fields: Option<&[usize]>,
        context: &mut ReadContext,
    ) -> Result<Batch> {
        let shard = self.inner.shards(index).next().transpose()?;
        let shard = shard.ok_or_else(|| missing_sample(self.inner.len(), index))?;
        for (part, batch) in self.inner.read_runs(&shard, fields, context)? {
            let row = index.checked_sub(part.first).and_then(|row| usize::try_from(row).ok());
            if let Some(row) = row.filter(|row| *row < batch.rows()) {
                return batch.select(&[row]);
            }
        }
        Err(missing_sample(self.inner.len(), index))
    }
}

impl Collection for ChosenSamples {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn len(&self) -> u64 {
        self.rows.len() as u64
    }

    fn shard_count(&self) -> u64 {
        self.len().div_ceil(TOGETHER)
    }

    fn schema(&self) -> &Arc<Schema> {
        self.inner.schema()
    }

    fn has_metadata(&self) -> Result<bool> {
        self.inner.has_metadata()
    }

    fn table(&self) -> Result<Option<SampleTable>> {
        let Some(whole) = self.inner.table()? else { return Ok(None) };
        let rows = self.rows.iter().map(|row| usize::try_from(*row).unwrap_or(usize::MAX));
        let table = whole.table.select(&rows.collect::<Vec<_>>()).map_err(|error| {
            let place = Place::default();
            Error::new(Kind::NotFound, "ops/index_out_of_range", place, error.to_string())
        })?;
        Ok(Some(SampleTable { table, ..whole }))
    }

    /// What the collection below records, and which of its samples these are.
    fn recorded(&self) -> Option<String> {
        let below = self.inner.recorded().unwrap_or_default();
        Some(format!("{} {below}", canonical::numbers(self.rows.iter().copied())))
    }

    fn codec(&self) -> Option<Codec> {
        self.inner.codec()
    }

    fn likely_bytes(&self) -> Option<u64> {
        self.inner.likely_bytes()
    }

    fn shards(&self, from: u64) -> Box<dyn Iterator<Item = Result<ShardRef>> + Send> {
        let runs = Self { inner: Arc::clone(&self.inner), rows: Arc::clone(&self.rows) };
        let mut next = from.checked_div(TOGETHER).unwrap_or(0).saturating_mul(TOGETHER);
        Box::new(std::iter::from_fn(move || {
            let run = runs.run(next)?;
            next = next.saturating_add(run.rows);
            Some(Ok(run))
        }))
    }

    fn read(
        &self,
        shard: &ShardRef,
        fields: Option<&[usize]>,
        context: &mut ReadContext,
    ) -> Result<Batch> {
        gather(self.inner.as_ref(), self.indices(shard)?, fields, context)
    }

    fn read_rows(
        &self,
        shard: &ShardRef,
        rows: &[usize],
        fields: Option<&[usize]>,
        context: &mut ReadContext,
    ) -> Result<Batch> {
        let all = self.indices(shard)?;
        let index = |row: &usize| {
            let short = || missing_sample(self.len(), shard.first.saturating_add(*row as u64));
            all.get(*row).copied().ok_or_else(short)
        };
        let indices = rows.iter().map(index).collect::<Result<Vec<u64>>>()?;
        gather(self.inner.as_ref(), &indices, fields, context)
    }

    fn read_at(
        &self,
        indices: &[u64],
        fields: Option<&[usize]>,
        context: &mut ReadContext,
    ) -> Result<Option<Batch>> {
        let index = |at: &u64| self.rows.get(usize::try_from(*at).ok()?).copied();
        match indices.iter().map(index).collect::<Option<Vec<u64>>>() {
            Some(indices) => self.inner.read_at(&indices, fields, context),
            None => Ok(None),
        }
    }

    fn read_runs(
        &self,
        shard: &ShardRef,
        fields: Option<&[usize]>,
        context: &mut ReadContext,
    ) -> Result<Vec<(ShardRef, Batch)>> {
        // Together where they are alike, else each as it is.
        if let Ok(batch) = self.read(shard, fields, context) {
            return Ok(vec![(shard.clone(), batch)]);
        }
        let each = (shard.first..).zip(self.indices(shard)?).map(|(first, index)| {
            let batch = self.one(*index, fields, context)?;
            Ok((ShardRef { first, rows: 1, ..shard.clone() }, batch))
        });
        each.collect()
    }

    fn access(&self) -> Access {
        self.inner.access()
    }
}
