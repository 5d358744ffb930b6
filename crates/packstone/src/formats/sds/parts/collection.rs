//! Records and annotation sets as collections of samples.
//!
//! What is read at once is a part of a shard: as many records as promise some 4 MiB, which stay in the caches, at most
//! 1024. Parts of one shard have its number. Entries of a view that follow one another in one shard are read as one part,
//! with the number of the first.

mod annotations;
mod batches;
mod spans;

use std::ops::Range;
use std::sync::Arc;

use packstone_io::Kind;

use super::super::codes;
use super::super::reader::Store;
use super::batch::Shapes;
use super::index::Found;
use super::record::Record;
use crate::error::{Error, Place, Result};
use crate::format::{Access, Collection, ReadContext, ShardRef};
use crate::model::{Batch, Schema};
use batches::{runs, strict};
use spans::{PART_RECORDS, joined, part_records, path_of};

pub use annotations::Annotations;

fn foreign() -> Error {
    let message = "expected a shard of this collection, found another";
    Error::new(Kind::Invalid, codes::INDEX_OUT_OF_RANGE, Place::default(), message)
}

/// The records of a dataset, or some of them in a row.
pub struct Records {
    /// Its name.
    pub name: String,
    /// Their ordinals in the dataset.
    pub range: Range<u64>,
    /// The fields of the first record.
    pub schema: Arc<Schema>,
    /// Where they are.
    pub store: Arc<Store>,
}

/// A part of a shard of records: of one entry, or of several that name the same object.
struct Part {
    /// The first of them.
    found: Found,
    /// The ordinal of its first record.
    first: u64,
}

impl Collection for Records {
    fn name(&self) -> &str {
        &self.name
    }

    fn len(&self) -> u64 {
        self.range.end.saturating_sub(self.range.start)
    }

    fn shard_count(&self) -> u64 {
        let snapshot = &self.store.index.snapshot;
        if self.len() == snapshot.record_count {
            return snapshot.shard_count;
        }
        if self.is_empty() {
            return 0;
        }
        // How many hold these records, only their pages know.
        let (start, end) = (self.range.start, self.range.end);
        let entries = Arc::clone(&self.store.index).entries(start).map_while(Result::ok);
        let holds = |found: &Found| {
            let entry = found.entry().ok();
            entry.is_some_and(|entry| entry.record_count > 0 && entry.first_ordinal < end)
        };
        entries.filter(holds).count() as u64
    }

    fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    fn settled(&self) -> Result<Option<Arc<dyn Collection>>> {
        if self.is_empty() || !self.schema.fields.iter().any(|field| field.varying) {
            return Ok(None);
        }
        let mut shapes = Shapes::new(&self.name, &self.schema);
        let (mut next, end) = (self.range.start, self.range.end);
        while next < end {
            let last = end.min(next.saturating_add(PART_RECORDS));
            for (row, ordinal) in self.store.rows(next..last)?.iter().zip(next..) {
                shapes.add(row, ordinal.saturating_sub(self.range.start))?;
            }
            next = last;
        }
        let (name, range, store) = (self.name.clone(), self.range.clone(), Arc::clone(&self.store));
        Ok(Some(Arc::new(Self { name, range, schema: Arc::new(shapes.settle()), store })))
    }

    fn has_metadata(&self) -> Result<bool> {
        Ok(!self.is_empty() && !self.store.is_bare())
    }

    /// The share of the object, also where it is not one of the dataset.
    fn stored_bytes(&self, shard: &ShardRef) -> Option<u64> {
        let part = shard.detail.downcast_ref::<Part>()?;
        let entry = part.found.entry().ok()?;
        let records = match &entry.record_indices {
            None => entry.record_count,
            // How many there are beside those of a view, only the object knows.
            Some(_) => self.store.shards.open(&entry.data).ok()?.len(),
        };
        let bytes = u128::from(entry.data.stored_bytes).saturating_mul(shard.rows.into());
        u64::try_from(bytes.checked_div(records.into())?).ok()
    }

    fn shards(&self, from: u64) -> Box<dyn Iterator<Item = Result<ShardRef>> + Send> {
        let (start, end) = (self.range.start, self.range.end);
        let mut next = start.saturating_add(from);
        if next >= end && !self.is_empty() {
            return Box::new(std::iter::empty());
        }
        let store = Arc::clone(&self.store);
        let mut entries = Arc::clone(&store.index).entries(next);
        let mut open: Option<Found> = None;
        Box::new(std::iter::from_fn(move || {
            loop {
                let found = match open.take() {
                    Some(found) => found,
                    None => match entries.next()? {
                        Ok(found) => found,
                        Err(error) => return Some(Err(error)),
                    },
                };
                let entry = match found.entry() {
                    Ok(entry) => entry,
                    Err(error) => return Some(Err(error)),
                };
                let last = entry.first_ordinal.saturating_add(entry.record_count).min(end);
                if next >= last {
                    if next >= end {
                        return None;
                    }
                    continue;
                }
                let rows = part_records(entry.data.stored_bytes, entry.record_count);
                let rows = rows.min(last.saturating_sub(next));
                let part = Part { first: next, found: found.clone() };
                let mut behind = next.saturating_add(rows);
                if behind == last {
                    behind = joined(&store, &found, entry, next, behind, end);
                }
                let rows = behind.saturating_sub(next);
                let shard = ShardRef {
                    number: found.number,
                    first: next.saturating_sub(start),
                    rows,
                    path: path_of(&entry.data.path),
                    metadata: Arc::default(),
                    detail: Arc::new(part),
                };
                next = behind;
                open = Some(found);
                return Some(Ok(shard));
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
        let records = self.records(shard, None)?;
        runs(shard, records, &self.schema, fields, context)
    }

    fn access(&self) -> Access {
        Access::Apart
    }
}

impl Records {
    fn records(&self, shard: &ShardRef, rows: Option<&[usize]>) -> Result<Vec<Record>> {
        let part = shard.detail.downcast_ref::<Part>().ok_or_else(foreign)?;
        let entry = part.found.entry()?;
        let index = |row: u64| {
            let inside = (row < shard.rows).then(|| part.first.saturating_add(row));
            inside.and_then(|ordinal| part.found.index(ordinal)).ok_or_else(foreign)
        };
        let indices: Vec<u64> = match rows {
            None => (0..shard.rows).map(index).collect::<Result<_>>()?,
            Some(rows) => rows.iter().map(|row| index(*row as u64)).collect::<Result<_>>()?,
        };
        let open = self.store.shards.open(&entry.data)?;
        let payloads = self.store.shards.decoding(|decoder| open.records(&indices, decoder))?;
        let payloads = payloads.iter().zip(indices);
        payloads.map(|(bytes, index)| self.store.decode(bytes, &entry.data, index)).collect()
    }
}
