//! The cells of a sample, held against the columns of the first one.

use packstone_container::arrow_table::Cell;
use packstone_container::json::{Object, Value};

use super::super::super::schema::ValueKind;
use super::super::values;
use super::{Columns, Rows, Source, refused};
use crate::error::{Error, Result};
use crate::model::Batch;

impl Rows {
    /// The cells of a row, one a column.
    pub(super) fn cells<'c>(
        &self,
        columns: &Columns,
        batch: &'c Batch,
        row: usize,
        metadata: Option<&'c Object>,
        text: Option<&'c str>,
        sample: u64,
    ) -> Result<Vec<Cell<'c>>> {
        let members = metadata.map_or(0, Object::len);
        if text.is_none() && members != columns.members {
            return Err(self.other_members(columns, metadata, sample));
        }
        let mut cells = Vec::with_capacity(columns.specs.len());
        for (spec, source) in columns.specs.iter().zip(&columns.sources) {
            let cell = match source {
                Source::Json => Cell::Utf8(text.unwrap_or_default()),
                Source::Field(position) => self.field_cell(batch, *position, row, sample)?,
                Source::Member(name) => {
                    let value = metadata.and_then(|metadata| metadata.get(name));
                    let value =
                        value.ok_or_else(|| self.other_members(columns, metadata, sample))?;
                    member_cell(value).map_err(|found| {
                        let message = format!("expected bool, int, float or string, found {found}");
                        refused(sample, name, message)
                    })?
                }
            };
            if cell.kind() != Some(spec.kind.column()) {
                let found = kind_of(cell).map_or("null", ValueKind::name);
                let message = format!(
                    "expected a value of kind {}, as in the samples before, found {found}",
                    spec.kind.name()
                );
                return Err(refused(sample, &spec.name, message));
            }
            if let Cell::Float64(x) = cell
                && !x.is_finite()
                && !self.options.non_finite
            {
                let message = format!(
                    "expected a finite float, found {x}: the original could not read the sample \
                     (option non_finite takes it)"
                );
                return Err(refused(sample, &spec.name, message));
            }
            cells.push(cell);
        }
        Ok(cells)
    }

    fn field_cell<'c>(
        &self,
        batch: &'c Batch,
        position: usize,
        row: usize,
        sample: u64,
    ) -> Result<Cell<'c>> {
        let stored = self.fields.get(position);
        let bytes = batch.columns().get(position).and_then(|column| column.bytes(row));
        let cell = stored.zip(bytes).and_then(|(s, bytes)| values::cell(&s.field.dtype, bytes));
        cell.ok_or_else(|| {
            let name = stored.map(|s| s.field.key.to_string()).unwrap_or_default();
            let message = "expected an integer of 64 bits with sign or a text, found another value";
            refused(sample, &name, message.to_owned())
        })
    }

    /// The error for a sample whose metadata have other members than the first one's.
    fn other_members(&self, columns: &Columns, metadata: Option<&Object>, sample: u64) -> Error {
        let expected = columns.sources.iter().filter_map(|source| match source {
            Source::Member(name) => Some(name.as_str()),
            _ => None,
        });
        let expected: Vec<&str> = expected.collect();
        let members: Vec<String> =
            metadata.into_iter().flat_map(Object::keys).map(|key| key.to_string()).collect();
        let missing = expected.iter().find(|name| !members.iter().any(|found| found == *name));
        let more = members.iter().find(|found| !expected.contains(&found.as_str()));
        let (name, message) = match (missing, more) {
            (Some(name), _) => (
                (*name).to_owned(),
                "expected this member, as in the metadata of the samples before, found none",
            ),
            (None, Some(name)) => (
                name.clone(),
                "expected no such member, as in the metadata of the samples before, found one",
            ),
            (None, None) => (String::new(), "expected text as names of members, found others"),
        };
        let message = format!("{message} (option sample_metadata \"json\" takes any)");
        refused(sample, &name, message)
    }
}

/// A member of metadata as a cell, or what it is instead.
pub(super) fn member_cell(value: &Value) -> Result<Cell<'_>, String> {
    match value {
        Value::Bool(value) => Ok(Cell::Bool(*value)),
        Value::String(text) => Ok(Cell::Utf8(text)),
        Value::Number(number) if number.is_integer() => {
            let integer = number.as_i64().map(Cell::Int64);
            integer.ok_or_else(|| format!("{number}, an integer beyond 64 bits"))
        }
        Value::Number(number) => {
            let x = number.to_f64();
            match x.is_finite() || !number.is_standard() {
                true => Ok(Cell::Float64(x)),
                false => Err(format!("{number}, beyond the range of doubles")),
            }
        }
        other => Err(other.kind().to_owned()),
    }
}

pub(super) fn kind_of(cell: Cell<'_>) -> Option<ValueKind> {
    let kind = cell.kind()?;
    ValueKind::ALL.into_iter().find(|known| known.column() == kind)
}
