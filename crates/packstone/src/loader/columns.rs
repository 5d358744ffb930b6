//! Weights and keys of samples from what a dataset says about them.

use std::collections::HashMap;
use std::sync::Arc;

use packstone_container::arrow_table::Cell;
use packstone_container::json::{Object, Value};
use packstone_io::Kind;

use super::codes;
use crate::error::{Error, Place, Result};
use crate::format::Collection;
use crate::ops::{Find, Match};

/// The number that each sample has under `name` in its metadata: true and false are 1 and 0, `a.b` also is the member `b`
/// of the object `a`.
///
/// # Errors
/// `loader/column_invalid` with the sample where there is no number; those of [`Find::matches`].
pub fn weights_of(
    collection: &Arc<dyn Collection>,
    name: &str,
    threads: usize,
) -> Result<Vec<f64>> {
    let mut weights = Vec::new();
    each(collection, name, threads, |sample, cell| {
        weights.push(match cell {
            Cell::Float64(number) => number,
            Cell::Int64(number) => number as f64,
            Cell::UInt64(number) => number as f64,
            Cell::Bool(yes) => f64::from(u8::from(yes)),
            Cell::Utf8(_) | Cell::Null => return Err(wrong("a number", name, sample, cell)),
        });
        Ok(())
    })?;
    counted(collection.as_ref(), weights)
}

/// What stands for the value that each sample has under `name` in its metadata: equal numbers for equal values, 0 for the
/// first that occurs, 1 for the next.
///
/// # Errors
/// `loader/column_invalid` with the sample where there is no value; those of [`Find::matches`].
pub fn keys_of(collection: &Arc<dyn Collection>, name: &str, threads: usize) -> Result<Vec<u64>> {
    #[derive(PartialEq, Eq, Hash)]
    enum Key {
        Bool(bool),
        Integer(i128),
        Double(u64),
        Text(String),
    }
    let mut known = HashMap::new();
    let mut keys = Vec::new();
    each(collection, name, threads, |sample, cell| {
        let key = match cell {
            Cell::Bool(yes) => Key::Bool(yes),
            Cell::Int64(number) => Key::Integer(number.into()),
            Cell::UInt64(number) => Key::Integer(number.into()),
            Cell::Float64(number) => Key::Double(number.to_bits()),
            Cell::Utf8(text) => Key::Text(text.to_owned()),
            Cell::Null => return Err(wrong("a value", name, sample, cell)),
        };
        let next = known.len() as u64;
        keys.push(*known.entry(key).or_insert(next));
        Ok(())
    })?;
    counted(collection.as_ref(), keys)
}

/// Tells `take` what each sample has under a name, in order.
fn each(
    collection: &Arc<dyn Collection>,
    name: &str,
    threads: usize,
    mut take: impl FnMut(u64, Cell<'_>) -> Result<()>,
) -> Result<()> {
    if let Some(table) = collection.table()?
        && table.text.is_none()
        && let Some(column) = table.table.column(name)
    {
        let rows = 0..column.len();
        return rows
            .into_iter()
            .try_for_each(|row| take(row as u64, column.get(row).unwrap_or(Cell::Null)));
    }
    for found in Find::new(Arc::clone(collection)).threads(threads).matches()? {
        let Match { index, metadata, identity } = found?;
        let value = member(&metadata, name).or_else(|| identity.get(name));
        take(index, value.map_or(Cell::Null, cell))?;
    }
    Ok(())
}

fn member<'o>(object: &'o Object, name: &str) -> Option<&'o Value> {
    if let Some(value) = object.get(name) {
        return Some(value);
    }
    let (first, rest) = name.split_once('.')?;
    member(object.get(first)?.as_object()?, rest)
}

/// A value as a cell; null for what is none.
fn cell(value: &Value) -> Cell<'_> {
    match value {
        Value::Bool(yes) => Cell::Bool(*yes),
        _ => match (value.as_i64(), value.as_u64(), value.as_number(), value.as_str()) {
            (Some(number), ..) => Cell::Int64(number),
            (_, Some(number), ..) => Cell::UInt64(number),
            (_, _, Some(number), _) => Cell::Float64(number.to_f64()),
            (.., Some(text)) => Cell::Utf8(text),
            _ => Cell::Null,
        },
    }
}

fn wrong(expected: &str, name: &str, sample: u64, found: Cell<'_>) -> Error {
    let found = match found {
        Cell::Utf8(text) => format!("{text:?}"),
        _ => "none".to_owned(),
    };
    let message = format!("expected {expected} in {name:?} of every sample, found {found}");
    let place = Place::default().record(sample);
    Error::new(Kind::Invalid, codes::COLUMN_INVALID, place, message)
}

/// The values, if there is one for each sample.
fn counted<T>(collection: &dyn Collection, values: Vec<T>) -> Result<Vec<T>> {
    if values.len() as u64 == collection.len() {
        return Ok(values);
    }
    let (expected, found) = (collection.len(), values.len());
    let message = format!("expected metadata of {expected} samples, found {found}");
    Err(Error::new(Kind::Corrupt, codes::COUNT_DIFFERS, Place::default(), message))
}
