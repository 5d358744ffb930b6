//! Stores the rows of a batch in the words of the target.

use std::sync::Arc;

use packstone_io::{Buf, Kind};

use super::Form;
use super::plan::{Carry, Slot};
use crate::error::{Error, Place, Result};
use crate::model::{Batch, Column, DType, Schema, canonical};

/// Turns batches of the source into batches of the target.
pub(in crate::ops) struct Encoder {
    carry: Carry,
    stored: Arc<Schema>,
}

impl Encoder {
    pub(in crate::ops) fn new(carry: Carry) -> Self {
        let stored = Arc::new(carry.stored());
        Self { carry, stored }
    }

    /// What the target calls a collection.
    pub(in crate::ops) fn name<'a>(&'a self, collection: &'a str) -> &'a str {
        self.carry.name(collection)
    }

    /// The same rows as the target stores them. Bytes are copied only where a frame is put around them.
    ///
    /// # Errors
    /// `ops/wide_integer` for a Python integer beyond 64 bits where the target has 64.
    pub(in crate::ops) fn encode(&self, batch: &Batch) -> Result<Batch> {
        if self.carry.is_plain() {
            return Ok(batch.clone());
        }
        let mut columns = Vec::with_capacity(self.stored.fields.len());
        for (slot, column) in self.carry.slots.iter().zip(batch.columns()) {
            match slot.form {
                Form::Absent => {}
                Form::Framed => columns.push(framed(column)?),
                Form::Same => columns.push(same(slot, column)?),
            }
        }
        if let Some(field) = &self.carry.metadata {
            columns.push(about(batch, field.varying)?);
        }
        let mut stored = Batch::new(Arc::clone(&self.stored), batch.rows(), columns)?;
        if self.carry.metadata.is_none() {
            stored.copy_metadata(batch);
        }
        Ok(stored)
    }
}

fn same(slot: &Slot, column: &Column) -> Result<Column> {
    let Slot { source, stored, .. } = slot;
    if source.dtype == DType::Int && stored.dtype != DType::Int {
        narrow(slot, column)?;
    }
    match (source.varying, stored.varying) {
        (true, true) if stored.shape.len() > source.shape.len() => deeper(slot, column),
        (false, true) => lengths(column.clone()),
        _ => Ok(column.clone()),
    }
}

/// Integers beyond 64 bits have no place in 64.
fn narrow(slot: &Slot, column: &Column) -> Result<()> {
    let wide = |row: &usize| column.bytes(*row).is_none_or(|bytes| bytes.len() != 8);
    match (0..column.rows()).find(wide) {
        None => Ok(()),
        Some(row) => {
            let message = format!(
                "expected an integer of 64 bits, found a wider one in row {row} of a batch"
            );
            let place = Place::default().field(slot.source.key.to_string());
            Err(Error::new(Kind::Unsupported, "ops/wide_integer", place, message))
        }
    }
}

/// The bytes of each element as a dimension of their own.
fn deeper(slot: &Slot, column: &Column) -> Result<Column> {
    let size = slot.source.element_bytes().unwrap_or(1);
    let mut dims = Vec::new();
    for row in 0..column.rows() {
        dims.extend_from_slice(column.shape(row).unwrap_or_default());
        dims.push(size);
    }
    column.clone().with_shapes(slot.stored.shape.len(), dims).ok_or_else(torn)
}

/// Bytes of any length as arrays of one dimension.
fn lengths(column: Column) -> Result<Column> {
    let length = |row| column.bytes(row).map(|bytes| bytes.len() as u64);
    let dims = (0..column.rows()).map(length).collect::<Option<_>>();
    dims.and_then(|dims| column.with_shapes(1, dims)).ok_or_else(torn)
}

/// Dims of `u64`, then the elements.
fn framed(column: &Column) -> Result<Column> {
    let (mut data, mut ends) = (Vec::new(), Vec::with_capacity(column.rows()));
    for row in 0..column.rows() {
        let (shape, bytes) = column.shape(row).zip(column.bytes(row)).ok_or_else(torn)?;
        shape.iter().for_each(|dim| data.extend_from_slice(&dim.to_le_bytes()));
        data.extend_from_slice(bytes);
        ends.push(data.len());
    }
    Column::ragged(Buf::from(data), ends).ok_or_else(torn)
}

/// The metadata of each sample in their one spelling.
fn about(batch: &Batch, varying: bool) -> Result<Column> {
    let (mut data, mut ends) = (Vec::new(), Vec::with_capacity(batch.rows()));
    for row in 0..batch.rows() {
        let text = batch.metadata(row).map_or_else(|| "{}".to_owned(), |m| canonical::object(m));
        data.extend_from_slice(text.as_bytes());
        ends.push(data.len());
    }
    let column = Column::ragged(Buf::from(data), ends).ok_or_else(torn)?;
    if varying { lengths(column) } else { Ok(column) }
}

fn torn() -> Error {
    let message = "expected a value and its shape in each row, found none".to_owned();
    Error::new(Kind::Invalid, "model/column_mismatch", Place::default(), message)
}
