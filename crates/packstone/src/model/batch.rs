//! Many samples at once, and one of them.

mod builder;
mod cut;
mod sample;

use std::ops::Range;
use std::sync::Arc;

use packstone_container::json::Object;
use packstone_io::Kind;

use super::column::Column;
use super::row_table::RowTable;
use super::said::Said;
use super::schema::{Field, Schema};
use crate::error::{Error, Place, Result};

pub use builder::BatchBuilder;
pub use sample::Sample;

/// Rows of named columns. Cloning shares the bytes.
#[derive(Clone, Debug)]
pub struct Batch {
    schema: Arc<Schema>,
    rows: usize,
    columns: Vec<Column>,
    said: Said,
    identities: Arc<[Object]>,
}

impl Batch {
    /// A batch of columns that have the order of `schema` and `rows` rows each.
    ///
    /// # Errors
    /// `model/column_mismatch` where a column is missing or has another number of rows.
    pub fn new(schema: Arc<Schema>, rows: usize, columns: Vec<Column>) -> Result<Self> {
        if columns.len() != schema.fields.len() || columns.iter().any(|c| c.rows() != rows) {
            let found: Vec<_> = columns.iter().map(Column::rows).collect();
            let fields = schema.fields.len();
            return Err(mismatch(format!(
                "expected {fields} columns of {rows} rows, found {found:?}"
            )));
        }
        for (field, column) in schema.fields.iter().zip(&columns).filter(|(field, _)| field.varying)
        {
            check_shapes(field, column)?;
        }
        Ok(Self { schema, rows, columns, said: Said::default(), identities: Arc::default() })
    }

    /// The same rows with metadata of their own, as runs: each ends before its row and begins where the one before ends.
    ///
    /// # Errors
    /// `model/column_mismatch` where they do not end with the last row, or are out of order.
    pub fn with_metadata_runs(mut self, runs: Vec<(usize, Arc<Object>)>) -> Result<Self> {
        if runs.last().map_or(0, |run| run.0) != self.rows || !runs.is_sorted_by_key(|run| run.0) {
            return Err(mismatch(format!("expected metadata for {} rows", self.rows)));
        }
        self.said = Said::objects(runs);
        Ok(self)
    }

    /// The same rows with metadata of their own, one row of the table each.
    ///
    /// # Errors
    /// `model/column_mismatch` where the table has another number of rows.
    pub(crate) fn with_metadata_table(mut self, table: RowTable) -> Result<Self> {
        if table.rows() != self.rows {
            let found = table.rows();
            return Err(mismatch(format!(
                "expected metadata for {} rows, found {found}",
                self.rows
            )));
        }
        self.said = Said::table(table);
        Ok(self)
    }

    /// The same rows with what is said about rows of other batches, which are as many.
    ///
    /// # Errors
    /// `model/column_mismatch` where they are not.
    pub(super) fn with_said(mut self, said: Said) -> Result<Self> {
        if !said.is_empty() && said.rows() != self.rows {
            return Err(mismatch(format!("expected metadata for {} rows", self.rows)));
        }
        self.said = said;
        Ok(self)
    }

    /// The same rows with what their container calls each, which is no content: `{"cache_id": 7, "sample_id": 3}`.
    ///
    /// # Errors
    /// `model/column_mismatch` where there are more or fewer than rows.
    pub fn with_identities(mut self, identities: Vec<Object>) -> Result<Self> {
        if identities.len() != self.rows {
            let found = identities.len();
            return Err(mismatch(format!("expected {} identities, found {found}", self.rows)));
        }
        self.identities = identities.into();
        Ok(self)
    }

    /// The same rows, all with this metadata; an empty object is none.
    #[must_use]
    pub fn with_metadata(mut self, metadata: Arc<Object>) -> Self {
        let runs = if metadata.is_empty() { Vec::new() } else { vec![(self.rows, metadata)] };
        self.said = Said::objects(runs);
        self
    }

    /// Takes the metadata of `other`, which has as many rows.
    pub(crate) fn copy_metadata(&mut self, other: &Self) {
        self.said.clone_from(&other.said);
    }

    /// Takes the identities of `other`, which has as many rows.
    pub(crate) fn copy_identities(&mut self, other: &Self) {
        self.identities = Arc::clone(&other.identities);
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The fields.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// The columns in the order of the schema.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The metadata of a row, where it has any. What stands in a table becomes an object when it is first looked at.
    pub fn metadata(&self, row: usize) -> Option<&Arc<Object>> {
        self.said.get(row).filter(|object| !object.is_empty())
    }

    /// What the container calls a row, where it was asked for.
    pub fn identity(&self, row: usize) -> Option<&Object> {
        self.identities.get(row)
    }

    /// One row.
    pub fn sample(&self, row: usize) -> Option<Sample<'_>> {
        (row < self.rows).then_some(Sample { batch: self, row })
    }

    /// All rows, one by one, without a copy.
    pub fn samples(&self) -> impl Iterator<Item = Sample<'_>> {
        (0..self.rows).map(|row| Sample { batch: self, row })
    }

    /// True where nothing is gained by copying the batch: its rows lie one after another in memory of their own.
    pub(crate) fn is_own(&self) -> bool {
        let mut fields = self.schema.fields.iter().zip(&self.columns);
        fields.all(|(field, c)| c.is_own() && (c.as_dense().is_some() || field.varies()))
    }

    /// True where [`metadata_runs`](Self::metadata_runs) has any; no row is looked at.
    pub(crate) fn has_metadata_runs(&self) -> bool {
        !self.said.is_empty()
    }

    /// What is said about the rows.
    pub(super) fn said(&self) -> &Said {
        &self.said
    }

    /// Neighbouring rows that share their metadata, in order; empty objects stand for none.
    pub fn metadata_runs(&self) -> impl Iterator<Item = (Range<usize>, &Arc<Object>)> {
        self.said.runs()
    }

    /// Bytes of the values of `rows`.
    pub fn bytes_of(&self, rows: Range<usize>) -> u64 {
        self.columns.iter().map(|c| c.total(rows.clone()) as u64).sum()
    }

    /// Bytes of all values.
    pub fn value_bytes(&self) -> u64 {
        self.bytes_of(0..self.rows)
    }
}

/// Each value of a field of varying shape has the bytes that its shape asks for.
fn check_shapes(field: &Field, column: &Column) -> Result<()> {
    let fits = |row| {
        let (shape, bytes) = (column.shape(row)?, column.bytes(row)?);
        (shape.len() == field.shape.len()).then_some(())?;
        let size = field.element_bytes()?;
        let need = shape.iter().try_fold(size, |n, dim| n.checked_mul(*dim))?;
        (need == bytes.len() as u64).then_some(())
    };
    match (0..column.rows()).find(|row| fits(*row).is_none()) {
        None => Ok(()),
        Some(row) => {
            let message = format!(
                "expected bytes for {} of shape {:?} in row {row}, found {}",
                field.dtype,
                column.shape(row).unwrap_or_default(),
                column.bytes(row).map_or(0, <[u8]>::len)
            );
            Err(mismatch(message))
        }
    }
}

pub(super) fn mismatch(message: String) -> Error {
    Error::new(Kind::Invalid, "model/column_mismatch", Place::default(), message)
}

#[cfg(test)]
mod tests;
