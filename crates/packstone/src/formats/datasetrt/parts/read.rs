//! Records become samples: payloads as they lie in the shard or decoded, metadata from the table.

use std::sync::Arc;

use packstone_container::Limits;
use packstone_container::arrow_table::{ArrowFile, Cell};
use packstone_container::json::Object;
use packstone_io::{Buf, Kind};

use super::super::codes;
use super::super::layout::METADATA;
use super::super::schema::arrow_error;
use super::cache::Cache;
use super::descriptor::{FieldPlace, StoredField};
use super::index::Row;
use super::maps::Stay;
use super::payloads::{Payloads, Shards};
use super::record::{self, Record};
use super::tensors::TensorReader;
use super::values;
use crate::error::{Error, Place, Result};
use crate::format::ReadContext;
use crate::model::{Batch, Column, Schema};

impl Cache {
    /// Reads samples, in the order given, with the fields at `fields`.
    ///
    /// # Errors
    /// Those of [`Cache::row`], [`Cache::shard`], [`Cache::table`] and [`record::locate`]; `lz4_damaged`, `lz4_length`,
    /// `payload_invalid`; where copies are compared, those of [`record::parse`] and [`record::compare`];
    /// `checksum_mismatch` where the context asks for it.
    pub fn read(
        &self,
        samples: &[u64],
        fields: Option<&[usize]>,
        stay: Stay,
        context: &mut ReadContext,
    ) -> Result<Batch> {
        let all: Vec<usize> = (0..self.schema.fields.len()).collect();
        let positions = fields.unwrap_or(&all);
        let schema = match fields {
            Some(fields) => Arc::new(self.schema.project(fields)),
            None => Arc::clone(&self.schema),
        };
        let stored: Vec<&StoredField> =
            positions.iter().filter_map(|at| self.descriptor.fields.get(*at)).collect();
        self.look_at_index()?;
        let rows = samples.iter().map(|sample| self.row(*sample)).collect::<Result<Vec<Row>>>()?;
        if rows.is_empty() {
            return Batch::new(Arc::clone(&schema), 0, empty(&schema));
        }
        let table = self.table()?;
        let taken = self.taken(&table, samples);
        let mut shards = Shards::new(self, stay, context.verify);
        let mut records = Vec::with_capacity(samples.len());
        // All first: what is far in memory then comes while others are asked for. What is told is the first fault.
        let located = samples.iter().zip(&rows).try_for_each(|(sample, row)| {
            records.push(self.locate(&mut shards, *sample, *row)?);
            Ok::<(), Error>(())
        });
        if self.options.compare {
            for (number, (at, record)) in records.iter().enumerate() {
                let Some((sample, row)) = samples.get(number).zip(rows.get(number)) else { break };
                let copy = shards.bytes(*at).get(record.metadata.clone()).unwrap_or_default();
                let cells = taken.iter().flatten().map(|column| column.get(number));
                if taken.is_none() || !self.spelling.is_of(cells, copy) {
                    let place = || self.sample_place(*sample, *row);
                    self.compare_copy(copy, &table, *sample, place, &context.limits)?;
                }
            }
        }
        located?;
        let spans = records.into_iter().map(|(at, record)| (at, record.payload)).collect();
        let places = |at: usize| {
            let known = samples.get(at).zip(rows.get(at));
            known.map_or_else(Place::default, |(sample, row)| self.sample_place(*sample, *row))
        };
        let in_payload = |stored: &&StoredField| !matches!(stored.place, FieldPlace::Column(_));
        let payloads = match stored.iter().any(in_payload) {
            true => shards.payloads(spans, places, context)?,
            false => Payloads::default(),
        };
        let columns = self.columns_of(&stored, &payloads, &table, samples, places, context)?;
        let batch = Batch::new(schema, samples.len(), columns)?;
        let batch = self.with_metadata(batch, samples, &table, taken, context)?;
        if !context.identities {
            return Ok(batch);
        }
        batch.with_identities(samples.iter().map(|sample| self.identity(*sample)).collect())
    }

    /// The place of a sample's shard, and the parts of its record.
    fn locate(&self, shards: &mut Shards<'_>, sample: u64, row: Row) -> Result<(usize, Record)> {
        let at = shards.place(row.shard)?;
        let shard = shards.bytes(at);
        Ok(match record::find(shard, row) {
            Some(record) => (at, record),
            None => (at, record::locate(shard, row, &self.sample_place(sample, row))?),
        })
    }

    fn columns_of(
        &self,
        stored: &[&StoredField],
        payloads: &Payloads,
        table: &ArrowFile,
        samples: &[u64],
        place: impl Fn(usize) -> Place,
        context: &ReadContext,
    ) -> Result<Vec<Column>> {
        let tensors = stored.iter().filter_map(|stored| match &stored.place {
            FieldPlace::Tensor(name) => Some((*stored, name.as_str())),
            _ => None,
        });
        let mut reader = TensorReader::new(tensors.clone());
        if tensors.count() > 0 {
            for (at, span) in payloads.spans.iter().enumerate() {
                reader.add(&payloads.bytes, span.clone(), || place(at), &context.limits)?;
            }
        }
        let mut tensors = reader.finish(&payloads.bytes).into_iter();
        let mut columns = Vec::with_capacity(stored.len());
        for stored in stored {
            let column = match &stored.place {
                FieldPlace::Payload => {
                    Column::scattered_ragged(payloads.bytes.clone(), payloads.spans.clone())
                }
                FieldPlace::Tensor(_) => tensors.next().flatten(),
                FieldPlace::Column(name) => self.field_of_table(stored, name, table, samples)?,
            };
            columns.extend(column);
        }
        Ok(columns)
    }

    /// A field that is a metadata column.
    fn field_of_table(
        &self,
        stored: &StoredField,
        name: &str,
        table: &ArrowFile,
        samples: &[u64],
    ) -> Result<Option<Column>> {
        let number = self.columns().iter().position(|column| column.name == name).unwrap_or(0);
        let (mut data, mut ends) = (Vec::new(), Vec::with_capacity(samples.len()));
        for sample in samples {
            let place = || self.site.place(METADATA).record(*sample);
            let cell = table.cell(number, *sample).map_err(|e| arrow_error(&e, place()))?;
            if !values::put(&stored.field.dtype, cell, &mut data) {
                let message = format!("expected a value of {}, found another", stored.field.dtype);
                let place = place().field(name);
                return Err(Error::new(Kind::Corrupt, codes::PAYLOAD_INVALID, place, message));
            }
            ends.push(data.len());
        }
        let width = stored.field.value_bytes().and_then(|width| usize::try_from(width).ok());
        Ok(match width {
            Some(width) => Column::dense(Buf::from(data), width, samples.len()),
            None => Column::ragged(Buf::from(data), ends),
        })
    }

    /// What the container calls a sample.
    pub fn identity(&self, sample: u64) -> Object {
        let mut identity = Object::new();
        identity.insert("cache_id", self.cache_id);
        identity.insert("sample_id", sample);
        identity
    }

    /// The values of a sample's metadata columns.
    ///
    /// # Errors
    /// `arrow_invalid` where a text is no UTF-8.
    pub fn cells<'t>(&self, table: &'t ArrowFile, sample: u64) -> Result<Vec<Cell<'t>>> {
        let cells = (0..self.columns().len()).map(|column| table.cell(column, sample));
        cells.collect::<Result<_, _>>().map_err(|error| {
            let place = self.site.place(METADATA).record(sample);
            arrow_error(&error, place)
        })
    }

    /// Compares the copy of a sample's metadata with the table.
    ///
    /// # Errors
    /// `arrow_invalid`; those of [`record::parse`] and [`record::compare`].
    pub(super) fn compare_copy(
        &self,
        copy: &[u8],
        table: &ArrowFile,
        sample: u64,
        place: impl Fn() -> Place,
        limits: &Limits,
    ) -> Result<()> {
        let columns = self.columns();
        let cells = (0..columns.len()).map(|column| table.cell(column, sample).ok());
        if self.spelling.is_of(cells, copy) {
            return Ok(());
        }
        let (place, cells) = (place(), self.cells(table, sample)?);
        let object = record::parse(copy, columns, &place, limits)?;
        record::compare(&object, columns, cells.into_iter(), &place)
    }
}

fn empty(schema: &Schema) -> Vec<Column> {
    let fields = schema.fields.iter();
    fields.filter_map(|_| Column::ragged(Buf::default(), Vec::new())).collect()
}
