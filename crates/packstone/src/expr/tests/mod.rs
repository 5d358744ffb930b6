//! Conditions over a table and over the same metadata as JSON objects, which must agree.

mod refused;
mod same;
mod values;

use packstone_container::arrow_table::{Cell, Column, ColumnKind, Table};
use packstone_container::json::{FloatStyle, Number, Object, Value};

use super::Expr;
use crate::error::Result;

/// A value of a column `kind`s can hold.
fn cell(value: &Value, kind: ColumnKind) -> Cell<'_> {
    match kind {
        _ if value.is_null() => Cell::Null,
        ColumnKind::Bool => Cell::Bool(value.as_bool().unwrap()),
        ColumnKind::Int64 => Cell::Int64(value.as_i64().unwrap()),
        ColumnKind::UInt64 => Cell::UInt64(value.as_u64().unwrap()),
        ColumnKind::Float64 => Cell::Float64(value.as_number().unwrap().to_f64()),
        ColumnKind::Utf8 => Cell::Utf8(value.as_str().unwrap()),
    }
}

/// A JSON number of a double, NaN and infinities included.
fn double(x: f64) -> Value {
    match Number::from_f64_in(x, FloatStyle::Pydantic) {
        Some(number) => Value::Number(number),
        None => {
            let token = if x.is_nan() {
                "NaN"
            } else if x > 0.0 {
                "Infinity"
            } else {
                "-Infinity"
            };
            let options = packstone_container::json::ReadOptions::default().with_nan(true);
            packstone_container::json::read(token.as_bytes(), &options).unwrap().value
        }
    }
}

/// Rows of values under named columns, as a table and as objects.
struct Rows {
    table: Table,
    objects: Vec<Object>,
}

impl Rows {
    fn new(columns: &[(&str, ColumnKind)], rows: &[Vec<Value>]) -> Self {
        let made = columns.iter().enumerate().map(|(at, (name, kind))| {
            let mut column = Column::empty(*kind);
            for row in rows {
                column.push(cell(&row[at], *kind)).unwrap();
            }
            ((*name).to_owned(), column)
        });
        let objects = rows.iter().map(|row| {
            columns.iter().zip(row).map(|((name, _), value)| (*name, value.clone())).collect()
        });
        Self { table: Table::new(made).unwrap(), objects: objects.collect() }
    }

    /// The rows taken, which are the same both ways.
    fn select(&self, text: &str) -> Result<Vec<usize>> {
        let expr = Expr::parse(text)?;
        let taken: Vec<_> = expr.select(&self.table)?.rows().collect();
        for (row, object) in self.objects.iter().enumerate() {
            assert_eq!(
                expr.matches(object)?,
                taken.contains(&row),
                "{text} at row {row}: {object:?}"
            );
        }
        Ok(taken)
    }
}

/// The message of an error with its place and code.
fn message<T>(result: Result<T>) -> String {
    result.map(|_| ()).unwrap_err().to_string()
}
