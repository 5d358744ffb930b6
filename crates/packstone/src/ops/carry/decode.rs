//! Gives back what was stored in other words: a dataset around the one that stores them.

use std::ops::Range;
use std::sync::Arc;

use packstone_container::codec::Codec;
use packstone_container::json::{self, Object, ReadOptions};
use packstone_io::{Buf, Kind};

use super::Form;
use super::plan::{Carry, Slot};
use crate::error::{Error, Place, Result};
use crate::format::{Access, Collection, Dataset, Info, Leaves, ReadContext, Selected, ShardRef};
use crate::model::{Batch, Column, Field, Outline, SampleTable, Schema};
use crate::order::Order;

/// The dataset as its source had it, where it carries a description; else the dataset itself.
///
/// # Errors
/// `ops/carried_description` where the description is damaged or does not fit what is stored.
pub fn reopened(dataset: Arc<dyn Dataset>) -> Result<Arc<dyn Dataset>> {
    let Some(description) = &dataset.info().carried else { return Ok(dataset) };
    let carry = Carry::read(description).map_err(|e| misfit(e.to_string()))?;
    Ok(Arc::new(Reopened { schema: Arc::clone(&carry.schema), carry: Arc::new(carry), dataset }))
}

/// What the first source of a dataset said about itself, where the dataset carries it.
pub fn carried_source(info: &Info) -> Option<(String, Object)> {
    let source = info.carried.as_ref()?.get("source")?.as_object()?;
    let native = source.get("native")?.as_object()?.clone();
    Some((source.get("format")?.as_str()?.to_owned(), native))
}

fn misfit(message: String) -> Error {
    Error::new(Kind::Corrupt, "ops/carried_description", Place::default(), message)
}

struct Reopened {
    dataset: Arc<dyn Dataset>,
    carry: Arc<Carry>,
    schema: Arc<Schema>,
}

impl Dataset for Reopened {
    fn info(&self) -> &Info {
        self.dataset.info()
    }

    fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    fn outline(&self) -> Result<Option<Outline>> {
        self.dataset.outline()
    }

    fn leaves(&self) -> Option<Leaves<'_>> {
        self.dataset.leaves()
    }

    fn stored(&self) -> Option<Arc<dyn Dataset>> {
        Some(Arc::clone(&self.dataset))
    }

    fn selection(
        &self,
        selected: &Selected<'_>,
        spell: &dyn Fn(&str) -> Result<String>,
    ) -> Result<String> {
        let collection = self.carry.name(selected.collection);
        self.dataset.selection(&Selected { collection, ..*selected }, spell)
    }

    fn collections(&self) -> Vec<String> {
        let source = |stored: String| {
            if self.dataset.is_beside(&stored) {
                return stored;
            }
            let renamed = self.carry.renamed.iter().find(|(_, target)| *target == stored);
            renamed.map_or(stored, |(source, _)| source.clone())
        };
        let stored = self.dataset.collections().into_iter().map(source);
        stored.chain(self.carry.empty.iter().cloned()).collect()
    }

    fn is_beside(&self, collection: &str) -> bool {
        !self.carry.leaves_out(collection) && self.dataset.is_beside(self.carry.name(collection))
    }

    fn collection(&self, name: &str) -> Result<Arc<dyn Collection>> {
        if self.is_beside(name) {
            return self.dataset.collection(self.carry.name(name));
        }
        let schema = Arc::clone(&self.schema);
        if self.carry.leaves_out(name) {
            return Ok(Arc::new(Empty { name: name.to_owned(), schema }));
        }
        let inner = self.dataset.collection(self.carry.name(name))?;
        let carry = Arc::clone(&self.carry);
        let find = |field: &Field| {
            let fields = &inner.schema().fields;
            fields.iter().position(|other| {
                other.key == field.key
                    && other.varying == field.varying
                    && other.shape.len() == field.shape.len()
                    && (other.varying || other.shape == field.shape)
                    && other.element_bytes() == field.element_bytes()
            })
        };
        let missing = |field: &Field| {
            misfit(format!("expected the stored field {}, found none like it", field.key))
        };
        let spots = carry.slots.iter().map(|slot| match slot.form {
            Form::Absent => Ok(None),
            _ => find(&slot.stored).map(Some).ok_or_else(|| missing(&slot.stored)),
        });
        let spots = spots.collect::<Result<Vec<_>>>()?;
        let about = carry.metadata.as_ref().map(|field| {
            let fields = &inner.schema().fields;
            let spot = fields.iter().position(|other| other.key == field.key && other.varies());
            spot.ok_or_else(|| missing(field))
        });
        let about = about.transpose()?;
        let name = name.to_owned();
        Ok(Arc::new(Decoded { name, inner, carry, schema, spots, about }))
    }
}

/// A collection that is described and not stored.
struct Empty {
    name: String,
    schema: Arc<Schema>,
}

impl Collection for Empty {
    fn name(&self) -> &str {
        &self.name
    }

    fn len(&self) -> u64 {
        0
    }

    fn shard_count(&self) -> u64 {
        0
    }

    fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    fn shards(&self, _from: u64) -> Box<dyn Iterator<Item = Result<ShardRef>> + Send> {
        Box::new(std::iter::empty())
    }

    fn read(&self, shard: &ShardRef, _: Option<&[usize]>, _: &mut ReadContext) -> Result<Batch> {
        Err(misfit(format!("expected no shards of {:?}, found {}", self.name, shard.path)))
    }
}

/// A collection whose rows are given back as the source had them.
struct Decoded {
    name: String,
    inner: Arc<dyn Collection>,
    carry: Arc<Carry>,
    schema: Arc<Schema>,
    /// Where each field is stored; nowhere for those without elements.
    spots: Vec<Option<usize>>,
    about: Option<usize>,
}

/// What is read of the stored fields for fields of the source.
struct Asked {
    fields: Vec<usize>,
    stored: Vec<usize>,
    /// Where metadata are among the stored ones.
    about: Option<usize>,
}

impl Decoded {
    fn ask(&self, fields: Option<&[usize]>) -> Asked {
        let fields = fields.map_or_else(|| (0..self.spots.len()).collect(), <[usize]>::to_vec);
        let spot = |field: &usize| self.spots.get(*field).copied().flatten();
        let mut stored: Vec<usize> = fields.iter().filter_map(spot).collect();
        let about = self.about.map(|spot| {
            stored.push(spot);
            stored.len() - 1
        });
        Asked { fields, stored, about }
    }

    /// Gives back what was asked for.
    fn answer(&self, asked: &Asked, batch: &Batch) -> Result<Batch> {
        let fields = &asked.fields;
        let mut next = batch.columns().iter();
        let mut columns = Vec::with_capacity(fields.len());
        for field in fields {
            let slot = self.carry.slots.get(*field);
            let slot = slot.ok_or_else(|| misfit(format!("expected a field at {field}")))?;
            columns.push(
                match slot.form {
                    Form::Absent => Column::dense(Buf::default(), 0, batch.rows()),
                    form => next.next().and_then(|column| restored(slot, form, column)),
                }
                .ok_or_else(|| {
                    misfit(format!(
                        "expected values of {} as described, found others",
                        slot.source.key
                    ))
                })?,
            );
        }
        let schema = match fields.len() == self.schema.fields.len() {
            true => Arc::clone(&self.schema),
            false => Arc::new(self.schema.project(fields)),
        };
        let mut out = Batch::new(schema, batch.rows(), columns)?;
        match asked.about {
            Some(place) => out = out.with_metadata_runs(self.runs(batch, place)?)?,
            None => out.copy_metadata(batch),
        }
        out.copy_identities(batch);
        Ok(out)
    }

    /// The metadata of rows, parsed once where neighbours have the same.
    fn runs(&self, batch: &Batch, place: usize) -> Result<Vec<(usize, Arc<Object>)>> {
        let mut runs: Vec<(usize, Arc<Object>)> = Vec::new();
        let mut before: Option<&[u8]> = None;
        for row in 0..batch.rows() {
            let bytes = batch.columns().get(place).and_then(|column| column.bytes(row));
            let bytes = bytes.ok_or_else(|| misfit(format!("expected metadata in row {row}")))?;
            match runs.last_mut().filter(|_| before == Some(bytes)) {
                Some(run) => run.0 = row + 1,
                None => {
                    let read = json::read(bytes, &ReadOptions::default().with_nan(true));
                    let value = read.map_err(|e| misfit(format!("metadata of row {row}: {e}")))?;
                    let object = value.value.as_object().cloned();
                    let object = object
                        .ok_or_else(|| misfit("expected metadata to be an object".to_owned()))?;
                    runs.push((row + 1, Arc::new(object)));
                }
            }
            before = Some(bytes);
        }
        Ok(runs)
    }
}

fn restored(slot: &Slot, form: Form, column: &Column) -> Option<Column> {
    let Slot { source, stored, .. } = slot;
    let rank = source.shape.len();
    if form == Form::Framed {
        return column.unframed(rank);
    }
    match (source.varying, stored.varying) {
        (false, true) => Some(column.clone().without_shapes()),
        (true, true) if stored.shape.len() > rank => {
            let mut dims = Vec::new();
            for row in 0..column.rows() {
                dims.extend_from_slice(column.shape(row)?.get(..rank)?);
            }
            column.clone().with_shapes(rank, dims)
        }
        _ => Some(column.clone()),
    }
}

impl Collection for Decoded {
    fn name(&self) -> &str {
        &self.name
    }

    fn len(&self) -> u64 {
        self.inner.len()
    }

    fn shard_count(&self) -> u64 {
        self.inner.shard_count()
    }

    fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    fn has_metadata(&self) -> Result<bool> {
        if self.about.is_some() { Ok(true) } else { self.inner.has_metadata() }
    }

    fn table(&self) -> Result<Option<SampleTable>> {
        // What stands in a field in other words is no table.
        if self.about.is_some() { Ok(None) } else { self.inner.table() }
    }

    fn draws(&self, seed: u64, weights: Option<&[f64]>) -> Result<Option<Arc<dyn Order>>> {
        self.inner.draws(seed, weights)
    }

    fn recorded(&self) -> Option<String> {
        self.inner.recorded()
    }

    fn codec(&self) -> Option<Codec> {
        self.inner.codec()
    }

    fn stored_bytes(&self, shard: &ShardRef) -> Option<u64> {
        self.inner.stored_bytes(shard)
    }

    fn likely_bytes(&self) -> Option<u64> {
        self.inner.likely_bytes()
    }

    fn shards(&self, from: u64) -> Box<dyn Iterator<Item = Result<ShardRef>> + Send> {
        self.inner.shards(from)
    }

    fn read(
        &self,
        shard: &ShardRef,
        fields: Option<&[usize]>,
        context: &mut ReadContext,
    ) -> Result<Batch> {
        let asked = self.ask(fields);
        self.answer(&asked, &self.inner.read(shard, Some(&asked.stored), context)?)
    }

    fn read_rows(
        &self,
        shard: &ShardRef,
        rows: &[usize],
        fields: Option<&[usize]>,
        context: &mut ReadContext,
    ) -> Result<Batch> {
        let asked = self.ask(fields);
        self.answer(&asked, &self.inner.read_rows(shard, rows, Some(&asked.stored), context)?)
    }

    fn window(&self, rows: Range<u64>) -> Option<ShardRef> {
        self.inner.window(rows)
    }

    fn read_at(
        &self,
        indices: &[u64],
        fields: Option<&[usize]>,
        context: &mut ReadContext,
    ) -> Result<Option<Batch>> {
        let asked = self.ask(fields);
        let found = self.inner.read_at(indices, Some(&asked.stored), context)?;
        found.map(|batch| self.answer(&asked, &batch)).transpose()
    }

    fn access(&self) -> Access {
        self.inner.access()
    }
}
