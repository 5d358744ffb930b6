//! Rows of records as columns: each value copied once, from its decoded chunk into the batch.

use std::sync::Arc;

use packstone_container::json::{Object, Value};
use packstone_io::{BufferPool, Kind};

use super::super::codes;
use super::axes::optional;
use super::record::{Record, RecordField, Row, RowField};
use super::sample;
use crate::error::{Error, Place, Result};
use crate::model::{Batch, Column, DType, Field, Key, Schema};

/// A record, and where the fields of a schema are in it.
pub type Placed = (Record, Vec<usize>);

/// The fields that a record has, as a schema whose shapes vary.
pub fn schema_of<'a>(fields: impl Iterator<Item = (&'a str, &'a DType, usize)>) -> Schema {
    let field = |(name, dtype, rank): (&str, &DType, usize)| {
        Field::varying(Key::new(name), dtype.clone(), rank)
    };
    Schema::new(fields.map(field).collect())
}

/// The schema of a record's own fields.
pub fn own_schema(record: &Record) -> Schema {
    let fields = record.fields.iter();
    schema_of(fields.map(|(name, field)| (name.as_str(), &field.dtype, field.shape.len())))
}

/// Where the values of a schema's fields are in a record; the name of the first field that is not as the schema says.
pub fn places(schema: &Schema, record: &Record) -> Result<Vec<usize>, String> {
    let mut places = Vec::with_capacity(schema.fields.len());
    for (at, field) in schema.fields.iter().enumerate() {
        let name = field.key.to_string();
        // Mostly in the same order.
        let here = record.fields.get(at).is_some_and(|(other, _)| *other == name);
        let find = || record.fields.iter().position(|(other, _)| *other == name);
        let place = if here { Some(at) } else { find() };
        let fits = place
            .filter(|place| record.fields.get(*place).is_some_and(|(_, found)| fits(field, found)));
        places.push(fits.ok_or(name)?);
    }
    if record.fields.len() == schema.fields.len() {
        return Ok(places);
    }
    let known = |name: &str| schema.position(name).is_some();
    let other = record.fields.iter().find(|(name, _)| !known(name));
    Err(other.map(|(name, _)| name.clone()).unwrap_or_default())
}

fn fits(field: &Field, found: &RecordField) -> bool {
    if field.dtype != found.dtype {
        return false;
    }
    match field.varying {
        true => field.shape.len() == found.shape.len(),
        false => stored_shape(&field.shape) == found.shape,
    }
}

/// The shape that a value of this shape is stored in: a scalar is one element along one axis.
pub fn stored_shape(shape: &[u64]) -> &[u64] {
    if shape.is_empty() { &[1] } else { shape }
}

/// Builds a batch of `records`, all of which have the fields of `schema`, those at `fields` only where given.
///
/// # Errors
/// `io/out_of_memory`.
pub fn build(
    schema: &Arc<Schema>,
    fields: Option<&[usize]>,
    records: &[Placed],
    pool: &BufferPool,
) -> Result<Batch> {
    let all: Vec<usize>;
    let wanted = match fields {
        Some(fields) => fields,
        None => {
            all = (0..schema.fields.len()).collect();
            &all
        }
    };
    let columns = wanted.iter().map(|place| {
        let values = records.iter().map(|(record, places)| {
            let at = places.get(*place)?;
            record.fields.get(*at).map(|(_, field)| field)
        });
        let values = values.collect::<Option<Vec<_>>>();
        let field = schema.fields.get(*place);
        let (field, values) = field.zip(values).ok_or_else(|| mismatch(*place))?;
        column(field, &values, pool)
    });
    let columns = columns.collect::<Result<Vec<_>>>()?;
    let schema = match fields {
        Some(fields) => Arc::new(schema.project(fields)),
        None => Arc::clone(schema),
    };
    Batch::new(schema, records.len(), columns)
}

fn column(field: &Field, values: &[&RecordField], pool: &BufferPool) -> Result<Column> {
    let total = values.iter().map(|value| value.data.len()).fold(0, usize::saturating_add);
    let mut data = pool.take(total)?;
    let mut ends = Vec::with_capacity(values.len());
    for value in values {
        data.extend_from_slice(&value.data)?;
        ends.push(data.len());
    }
    let data = data.freeze();
    let made = match field.varying {
        true => {
            let dims = values.iter().flat_map(|value| &value.shape).copied().collect();
            let ragged = Column::ragged(data, ends);
            ragged.and_then(|column| column.with_shapes(field.shape.len(), dims))
        }
        false => {
            let width = total.checked_div(values.len()).unwrap_or(0);
            Column::dense(data, width, values.len())
        }
    };
    made.ok_or_else(|| mismatch(0))
}

fn mismatch(place: usize) -> Error {
    let message = format!("expected values of field {place} in all records, found others");
    Error::new(Kind::Invalid, "model/column_mismatch", Place::default(), message)
}

/// The shapes of fields, as rows state them.
pub struct Shapes<'c> {
    collection: &'c str,
    schema: &'c Schema,
    /// Of each field the shape of all rows so far; `None` where they differ.
    shapes: Vec<Option<Vec<u64>>>,
}

impl<'c> Shapes<'c> {
    /// For the rows of a collection.
    pub fn new(collection: &'c str, schema: &'c Schema) -> Self {
        Self { collection, schema, shapes: Vec::new() }
    }

    /// Takes a row.
    ///
    /// # Errors
    /// `mixed_fields` where it has other fields than the collection.
    pub fn add(&mut self, row: &Row, ordinal: u64) -> Result<()> {
        let Self { collection, schema, .. } = *self;
        let other = |field: &str| mixed(collection, ordinal, field, schema);
        let named = |name: &str| schema.position(name).is_some();
        if let Some((name, _)) = row.fields.iter().find(|(name, _)| !named(name)) {
            return Err(other(name));
        }
        for (at, field) in schema.fields.iter().enumerate() {
            let name = field.key.to_string();
            let found =
                row.fields.iter().find_map(|(other, found)| (*other == name).then_some(found));
            let fits = |found: &&RowField| {
                found.field_type() == Some(&field.dtype) && found.shape.len() == field.shape.len()
            };
            let found = found.filter(fits).ok_or_else(|| other(&name))?;
            match self.shapes.get_mut(at) {
                None => self.shapes.push(Some(found.shape.clone())),
                Some(shape) if shape.as_ref() != Some(&found.shape) => *shape = None,
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// The schema with the shapes that all rows have.
    pub fn settle(self) -> Schema {
        let fields = self.schema.fields.iter().zip(self.shapes).map(|(field, shape)| match shape {
            Some(shape) if field.varying => Field { shape, varying: false, ..field.clone() },
            _ => field.clone(),
        });
        Schema::new(fields.collect())
    }
}

/// What the container calls a record.
pub fn identity(id: &str, scene_id: Option<&str>) -> Object {
    Object::from_iter([("id", Value::from(id)), ("scene_id", optional(scene_id))])
}

/// The metadata of each row, sharing empty ones.
pub fn metadata_runs(records: &mut [Placed]) -> Vec<(usize, Arc<Object>)> {
    let none = Arc::<Object>::default();
    let mut runs: Vec<(usize, Arc<Object>)> = Vec::with_capacity(records.len());
    for (end, (record, _)) in (1..).zip(records) {
        let own = std::mem::take(&mut record.metadata);
        let object = sample::metadata(own, &record.fields);
        match runs.last_mut() {
            Some(last) if *last.1 == object => last.0 = end,
            _ if object.is_empty() => runs.push((end, Arc::clone(&none))),
            _ => runs.push((end, Arc::new(object))),
        }
    }
    runs
}

/// The error for a record with other fields than its collection.
pub fn mixed(collection: &str, ordinal: u64, field: &str, schema: &Schema) -> Error {
    let known: Vec<_> = schema.fields.iter().map(|f| format!("{} ({})", f.key, f.dtype)).collect();
    let message = format!(
        "expected the fields of {collection:?} in record {ordinal}: {}; found {field:?} missing, different or too much",
        known.join(", ")
    );
    Error::new(Kind::Unsupported, codes::MIXED_FIELDS, Place::default(), message)
}
