//! One row of a batch.

use std::sync::Arc;

use packstone_container::json::Object;

use super::Batch;
use crate::model::column::Column;
use crate::model::schema::Field;
use crate::model::value::ValueRef;

/// One row of a batch.
#[derive(Clone, Copy, Debug)]
pub struct Sample<'a> {
    pub(super) batch: &'a Batch,
    pub(super) row: usize,
}

impl<'a> Sample<'a> {
    /// The value of the field at `position` in the schema.
    pub fn value(&self, position: usize) -> Option<ValueRef<'a>> {
        let field = self.batch.schema.fields.get(position)?;
        value(field, self.batch.columns.get(position)?, self.row)
    }

    /// The value of a field by name.
    pub fn get(&self, name: &str) -> Option<ValueRef<'a>> {
        self.value(self.batch.schema.position(name)?)
    }

    /// All values in the order of the schema.
    pub fn values(&self) -> impl Iterator<Item = ValueRef<'a>> + use<'a> {
        let Sample { batch, row } = *self;
        let fields = batch.schema.fields.iter().zip(&batch.columns);
        fields.filter_map(move |(field, column)| value(field, column, row))
    }

    /// What the container calls the sample, where it was asked for.
    pub fn identity(&self) -> Option<&'a Object> {
        self.batch.identity(self.row)
    }

    /// The metadata of the sample, where it has any.
    pub fn metadata(&self) -> Option<&'a Arc<Object>> {
        self.batch.metadata(self.row)
    }
}

fn value<'a>(field: &'a Field, column: &'a Column, row: usize) -> Option<ValueRef<'a>> {
    let shape = column.shape(row).unwrap_or(&field.shape);
    Some(ValueRef { dtype: &field.dtype, shape, bytes: column.bytes(row)? })
}
