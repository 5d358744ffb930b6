//! An annotation set as a collection of samples.

use std::sync::Arc;

use super::super::annotations::AnnotationSet;
use super::super::batch::own_schema;
use super::super::carrier::Annotation;
use super::super::catalog::SetShard;
use super::super::record::Record;
use super::batches::{runs, strict};
use super::foreign;
use super::spans::{part_records, path_of};
use crate::error::Result;
use crate::format::{Access, Collection, ReadContext, ShardRef};
use crate::model::{Batch, Schema};

/// An annotation set.
pub struct Annotations {
    name: String,
    set: Arc<AnnotationSet>,
    schema: Arc<Schema>,
}

/// A part of a shard of annotations.
struct SetPart {
    shard: SetShard,
    offset: u64,
}

impl Annotations {
    /// The set as a collection; reads its first annotation.
    ///
    /// # Errors
    /// Those of [`AnnotationSet::annotation`].
    pub fn new(name: String, set: Arc<AnnotationSet>) -> Result<Self> {
        let schema = match set.is_empty() {
            true => Schema::default(),
            false => {
                let first = set.annotation(0)?;
                own_schema(&Record { fields: first.fields, ..Record::default() })
            }
        };
        Ok(Self { name, set, schema: Arc::new(schema) })
    }

    fn records(&self, shard: &ShardRef, rows: Option<&[usize]>) -> Result<Vec<Record>> {
        let part = shard.detail.downcast_ref::<SetPart>().ok_or_else(foreign)?;
        let place = |row: u64| {
            (row < shard.rows).then(|| part.offset.saturating_add(row)).ok_or_else(foreign)
        };
        let places: Vec<u64> = match rows {
            None => (0..shard.rows).map(place).collect::<Result<_>>()?,
            Some(rows) => rows.iter().map(|row| place(*row as u64)).collect::<Result<_>>()?,
        };
        let annotations = self.set.read(&part.shard, &places)?;
        let record = |annotation: Annotation| Record {
            metadata: annotation.metadata(),
            id: annotation.source_record_id,
            scene_id: None,
            fields: annotation.fields,
        };
        Ok(annotations.into_iter().map(record).collect())
    }
}

impl Collection for Annotations {
    fn name(&self) -> &str {
        &self.name
    }

    fn len(&self) -> u64 {
        self.set.len()
    }

    fn shard_count(&self) -> u64 {
        self.set.root.shards.len() as u64
    }

    fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    fn has_metadata(&self) -> Result<bool> {
        Ok(!self.is_empty())
    }

    fn shards(&self, from: u64) -> Box<dyn Iterator<Item = Result<ShardRef>> + Send> {
        let set = Arc::clone(&self.set);
        let mut next = from;
        let mut at = set.root.shards.partition_point(|s| s.first_ordinal <= from).saturating_sub(1);
        Box::new(std::iter::from_fn(move || {
            loop {
                let shard = set.root.shards.get(at)?;
                let last = shard.first_ordinal.saturating_add(shard.record_count);
                if next >= last {
                    at = at.saturating_add(1);
                    continue;
                }
                let rows = part_records(shard.object.stored_bytes, shard.record_count);
                let rows = rows.min(last.saturating_sub(next));
                let offset = next.saturating_sub(shard.first_ordinal);
                let part = ShardRef {
                    number: at as u64,
                    first: next,
                    rows,
                    path: path_of(&shard.object.path),
                    metadata: Arc::default(),
                    detail: Arc::new(SetPart { shard: shard.clone(), offset }),
                };
                next = next.saturating_add(rows);
                return Some(Ok(part));
            }
        }))
    }

    fn read(
        &self,
        shard: &ShardRef,
        fields: Option<&[usize]>,
        context: &mut ReadContext,
    ) -> Result<Batch> {
        let records = self.records(shard, None)?;
        strict(self, shard, records, None, fields, context)
    }

    fn read_rows(
        &self,
        shard: &ShardRef,
        rows: &[usize],
        fields: Option<&[usize]>,
        context: &mut ReadContext,
    ) -> Result<Batch> {
        let records = self.records(shard, Some(rows))?;
        strict(self, shard, records, Some(rows), fields, context)
    }

    fn read_runs(
        &self,
        shard: &ShardRef,
        fields: Option<&[usize]>,
        context: &mut ReadContext,
    ) -> Result<Vec<(ShardRef, Batch)>> {
        runs(shard, self.records(shard, None)?, &self.schema, fields, context)
    }

    fn access(&self) -> Access {
        Access::Apart
    }
}
