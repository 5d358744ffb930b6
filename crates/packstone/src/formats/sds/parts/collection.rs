//! Records and annotation sets as collections of samples.
//!
//! What is read at once is a part of a shard: as many records as promise some 4 MiB, which stay in the caches, at most 1024. Parts of one shard
//! have its number. Entries of a view that follow one another in one shard are read as one part, with the number of the
//! first.

use std::ops::Range;
use std::sync::Arc;

use packstone_io::{Kind, RelPath};

use super::super::codes;
use super::super::reader::Store;
use super::annotations::AnnotationSet;
use super::batch::{Placed, Shapes, build, identity, metadata_runs, mixed, own_schema, places};
use super::catalog::SetShard;
use super::index::Found;
use super::manifest::ShardEntry;
use super::record::Record;
use super::reference::ObjectPath;
use crate::error::{Error, Place, Result};
use crate::format::{Access, Collection, ReadContext, ShardRef};
use crate::model::{Batch, Schema};

/// Bytes of a shard that are read at once.
const PART_BYTES: u64 = 4 << 20;
/// Records that are read at once; the original's default.
const PART_RECORDS: u64 = 1024;

/// Records that are read at once, of a shard of this size.
fn part_records(stored_bytes: u64, records: u64) -> u64 {
    let each = stored_bytes.checked_div(records).unwrap_or(0).max(1);
    (PART_BYTES / each).clamp(1, PART_RECORDS)
}

/// The path of an object for people; absolute ones without their first slash.
fn path_of(path: &ObjectPath) -> RelPath {
    match path {
        ObjectPath::Relative(path) => path.clone(),
        ObjectPath::Absolute(text) => {
            RelPath::new(text.trim_start_matches('/')).unwrap_or_default()
        }
    }
}

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

/// Where a part ends that has a whole entry up to `next`: behind as many records of its neighbours as may be read at once.
fn joined(
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

/// A batch of records that all have the fields of their collection.
fn strict(
    collection: &dyn Collection,
    shard: &ShardRef,
    records: Vec<Record>,
    rows: Option<&[usize]>,
    fields: Option<&[usize]>,
    context: &mut ReadContext,
) -> Result<Batch> {
    let schema = collection.schema();
    let mut placed = Vec::with_capacity(records.len());
    for (at, record) in records.into_iter().enumerate() {
        let places = places(schema, &record).map_err(|field| {
            let row = rows.map_or(Some(at), |rows| rows.get(at).copied()).unwrap_or(at);
            let ordinal = shard.first.saturating_add(row as u64);
            let error = mixed(collection.name(), ordinal, &field, schema);
            error.with_place(Place::file(&shard.path).record(ordinal).field(field))
        })?;
        placed.push((record, places));
    }
    batch(schema, fields, placed, context)
}

/// The batch of records whose fields are where `placed` says.
fn batch(
    schema: &Arc<Schema>,
    fields: Option<&[usize]>,
    mut placed: Vec<Placed>,
    context: &mut ReadContext,
) -> Result<Batch> {
    let runs = metadata_runs(&mut placed);
    let batch = build(schema, fields, &placed, &context.pool)?.with_metadata_runs(runs)?;
    if !context.identities {
        return Ok(batch);
    }
    let name = |(record, _): &(Record, _)| identity(&record.id, record.scene_id.as_deref());
    batch.with_identities(placed.iter().map(name).collect())
}

/// Batches of neighbouring records with the same fields.
fn runs(
    shard: &ShardRef,
    records: Vec<Record>,
    usual: &Arc<Schema>,
    fields: Option<&[usize]>,
    context: &mut ReadContext,
) -> Result<Vec<(ShardRef, Batch)>> {
    let mut out: Vec<(ShardRef, Batch)> = Vec::new();
    let mut open: Option<(Arc<Schema>, Vec<Placed>)> = None;
    let mut first = shard.first;
    let mut close = |open: Option<(Arc<Schema>, Vec<Placed>)>, first: &mut u64| -> Result<()> {
        let Some((schema, placed)) = open else { return Ok(()) };
        let rows = placed.len() as u64;
        let part = ShardRef { first: *first, rows, ..shard.clone() };
        // Fields that are asked for are those of these names, as far as the run has them.
        let wanted = fields.map(|fields| {
            let names = fields.iter().filter_map(|at| usual.fields.get(*at));
            names.filter_map(|field| schema.position(&field.key.to_string())).collect::<Vec<_>>()
        });
        out.push((part, batch(&schema, wanted.as_deref(), placed, context)?));
        *first = first.saturating_add(rows);
        Ok(())
    };
    for record in records {
        if let Some((schema, placed)) = &mut open
            && let Ok(places) = places(schema, &record)
        {
            placed.push((record, places));
            continue;
        }
        close(open.take(), &mut first)?;
        let (schema, places) = match places(usual, &record) {
            Ok(places) => (Arc::clone(usual), places),
            Err(_) => {
                let own = Arc::new(own_schema(&record));
                let all = (0..record.fields.len()).collect();
                (own, all)
            }
        };
        open = Some((schema, vec![(record, places)]));
    }
    close(open, &mut first)?;
    Ok(out)
}

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
        let record = |annotation: super::carrier::Annotation| Record {
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
