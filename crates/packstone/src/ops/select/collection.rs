//! Some shards of a collection as a collection.

use std::sync::Arc;

use packstone_container::codec::Codec;
use packstone_io::Kind;

use crate::error::{Error, Place, Result};
use crate::format::{Access, Collection, ReadContext, ShardRef};
use crate::model::{Batch, Schema, canonical};

/// A fixed list of shards with indices of its own: the first sample of the first shard is sample 0.
///
/// Scans, batches, random access and digests work on it as on any collection. A shard may occur more than once.
pub struct SelectedCollection {
    inner: Arc<dyn Collection>,
    shards: Arc<[ShardRef]>,
    /// Where each shard ends.
    ends: Arc<[u64]>,
}

impl SelectedCollection {
    /// `shards` of `inner`, in this order.
    ///
    /// # Errors
    /// `ops/too_many_samples` where their sum does not fit 64 bits.
    pub fn new(inner: Arc<dyn Collection>, shards: Vec<ShardRef>) -> Result<Self> {
        let mut end = 0u64;
        let ends = shards.iter().map(|shard| {
            end = end.checked_add(shard.rows).ok_or_else(|| {
                let message = "expected a number of samples that fits 64 bits, found more";
                Error::new(Kind::Limit, "ops/too_many_samples", Place::file(&shard.path), message)
            })?;
            Ok(end)
        });
        let ends = ends.collect::<Result<_>>()?;
        Ok(Self { inner, shards: shards.into(), ends })
    }
}

impl Collection for SelectedCollection {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn len(&self) -> u64 {
        self.ends.last().copied().unwrap_or(0)
    }

    fn shard_count(&self) -> u64 {
        self.shards.len() as u64
    }

    fn schema(&self) -> &Arc<Schema> {
        self.inner.schema()
    }

    /// What the collection below records, and which of its shards these are.
    fn recorded(&self) -> Option<String> {
        let below = self.inner.recorded().unwrap_or_default();
        let shards = canonical::numbers(self.shards.iter().map(|shard| shard.number));
        Some(format!("{shards} {below}"))
    }

    fn codec(&self) -> Option<Codec> {
        self.inner.codec()
    }

    fn stored_bytes(&self, shard: &ShardRef) -> Option<u64> {
        self.inner.stored_bytes(self.original(shard).ok()?)
    }

    fn shards(&self, from: u64) -> Box<dyn Iterator<Item = Result<ShardRef>> + Send> {
        let (shards, ends) = (Arc::clone(&self.shards), Arc::clone(&self.ends));
        let start = ends.partition_point(|end| *end <= from);
        Box::new((start..shards.len()).filter_map(move |position| {
            let (shard, end) = (shards.get(position)?, ends.get(position)?);
            let (number, first) = (position as u64, end.saturating_sub(shard.rows));
            Some(Ok(ShardRef { number, first, ..shard.clone() }))
        }))
    }

    fn read(
        &self,
        shard: &ShardRef,
        fields: Option<&[usize]>,
        context: &mut ReadContext,
    ) -> Result<Batch> {
        self.inner.read(self.original(shard)?, fields, context)
    }

    fn read_rows(
        &self,
        shard: &ShardRef,
        rows: &[usize],
        fields: Option<&[usize]>,
        context: &mut ReadContext,
    ) -> Result<Batch> {
        self.inner.read_rows(self.original(shard)?, rows, fields, context)
    }

    fn access(&self) -> Access {
        self.inner.access()
    }
}

impl SelectedCollection {
    /// The shard by the place that it has in the collection below.
    fn original(&self, shard: &ShardRef) -> Result<&ShardRef> {
        let position = usize::try_from(shard.number).unwrap_or(usize::MAX);
        let original = self.shards.get(position).filter(|original| original.path == shard.path);
        original.ok_or_else(|| {
            let message =
                format!("expected a shard of this selection, found shard {}", shard.number);
            Error::new(Kind::Invalid, "ops/foreign_shard", Place::file(&shard.path), message)
        })
    }
}
