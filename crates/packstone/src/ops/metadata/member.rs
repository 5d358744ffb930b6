//! One column in the making: its kind follows from the values, as long as one holds them all exactly.

use packstone_container::arrow_table::{Cell, Column, ColumnKind};
use packstone_container::json::{Style, Value, write};
use packstone_io::Kind;

use crate::error::{Error, Place, Result};
use crate::model::sample_table;

/// One column in the making.
pub(super) struct Member {
    pub(super) column: Column,
    pub(super) json: bool,
    /// True before the first value: then the kind of the column means nothing.
    open: bool,
}

impl Default for Member {
    fn default() -> Self {
        Self { column: Column::empty(ColumnKind::Utf8), json: false, open: true }
    }
}

impl Member {
    /// Puts nulls until there are so many rows.
    pub(super) fn fill(&mut self, rows: u64) -> Result<()> {
        while (self.column.len() as u64) < rows {
            self.column.push(Cell::Null).map_err(|error| mismatch(&error))?;
        }
        Ok(())
    }

    pub(super) fn push(&mut self, rows: u64, value: &Value) -> Result<()> {
        let (before, kind) = (self.column.kind(), kind(value));
        let wanted = match (self.open, kind) {
            _ if self.json => None,
            (true, kind) => kind,
            (false, kind) => kind.and_then(|kind| self.common(before, kind, value)),
        };
        self.change(wanted)?;
        self.fill(rows)?;
        let text;
        let cell = match (wanted, value) {
            (Some(ColumnKind::Bool), Value::Bool(value)) => Cell::Bool(*value),
            (Some(ColumnKind::Utf8), value) => value.as_str().map_or(Cell::Null, Cell::Utf8),
            (Some(ColumnKind::Int64), value) => value.as_i64().map_or(Cell::Null, Cell::Int64),
            (Some(ColumnKind::UInt64), value) => value.as_u64().map_or(Cell::Null, Cell::UInt64),
            (Some(ColumnKind::Float64), Value::Number(value)) => Cell::Float64(value.to_f64()),
            _ => {
                text = write(value, &Style::PYTHON);
                Cell::Utf8(&text)
            }
        };
        self.open = false;
        self.column.push(cell).map_err(|error| mismatch(&error))
    }

    /// The kind that holds all values of the column and this one exactly.
    fn common(&self, before: ColumnKind, next: ColumnKind, value: &Value) -> Option<ColumnKind> {
        use ColumnKind::{Float64, Int64, UInt64};
        match (before, next) {
            (before, next) if before == next => Some(before),
            (Int64, UInt64) if self.values().all(|cell| !matches!(cell, Cell::Int64(..0))) => {
                Some(UInt64)
            }
            (UInt64, Int64) if value.as_u64().is_some() => Some(UInt64),
            (Float64, Int64 | UInt64) if exact(value) => Some(Float64),
            (Int64 | UInt64, Float64)
                if self.values().all(|cell| exact(&sample_table::value(cell))) =>
            {
                Some(Float64)
            }
            _ => None,
        }
    }

    fn values(&self) -> impl Iterator<Item = Cell<'_>> {
        (0..self.column.len()).filter_map(|row| self.column.get(row))
    }

    /// Makes it a column of this kind, or of JSON.
    fn change(&mut self, wanted: Option<ColumnKind>) -> Result<()> {
        let kind = wanted.unwrap_or(ColumnKind::Utf8);
        let json = wanted.is_none();
        if kind == self.column.kind() && (json == self.json || self.open) {
            self.json = json;
            return Ok(());
        }
        let mut column = Column::empty(kind);
        for cell in self.values() {
            let text;
            let cell = match (cell, kind) {
                (Cell::Null, _) => Cell::Null,
                (cell, ColumnKind::Float64) => {
                    sample_table::value(cell).as_f64().map_or(Cell::Null, Cell::Float64)
                }
                (cell, ColumnKind::UInt64) => {
                    sample_table::value(cell).as_u64().map_or(Cell::Null, Cell::UInt64)
                }
                (cell, _) => {
                    text = write(&sample_table::value(cell), &Style::PYTHON);
                    Cell::Utf8(&text)
                }
            };
            column.push(cell).map_err(|error| mismatch(&error))?;
        }
        (self.column, self.json) = (column, json);
        Ok(())
    }
}

fn mismatch(error: &dyn std::error::Error) -> Error {
    Error::new(Kind::Invalid, "model/column_mismatch", Place::default(), error.to_string())
}

/// The kind of a column of values like this one; `None` for what is JSON.
fn kind(value: &Value) -> Option<ColumnKind> {
    Some(match value {
        Value::Bool(_) => ColumnKind::Bool,
        Value::Number(number) if !number.is_integer() => ColumnKind::Float64,
        Value::Number(_) if value.as_i64().is_some() => ColumnKind::Int64,
        Value::Number(_) if value.as_u64().is_some() => ColumnKind::UInt64,
        value if value.as_str().is_some() => ColumnKind::Utf8,
        _ => return None,
    })
}

/// True for an integer that is a double, and for null.
fn exact(value: &Value) -> bool {
    value.is_null() || value.as_f64().is_some()
}
