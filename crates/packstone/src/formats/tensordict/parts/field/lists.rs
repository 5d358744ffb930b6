//! Columns of a value each row, as text or as JSON.

use packstone_container::json::{Object, Value};
use packstone_io::{Buf, Kind};

use super::super::super::codes;
use super::super::node::FieldValue;
use super::super::values::Values;
use super::columns::outside;
use super::rows::Rows;
use crate::error::{Error, Place, Result};
use crate::model::{Column, canonical};

/// More empty lists than this inside of one value no document of a sample has.
const MANY_EMPTY: u64 = 1 << 20;

/// The value of one element as JSON.
pub(super) fn json(value: FieldValue) -> Result<Value> {
    match value {
        FieldValue::Json(value) => Ok(value),
        FieldValue::Container(class) => {
            let mut out = Object::new();
            out.insert("class", class.name());
            Ok(Value::Object(out))
        }
        FieldValue::Faulty(fault) => Err(fault.error()),
        FieldValue::Pickled => {
            let message = "expected a value that JSON holds, found a pickle, which is not executed";
            Err(Error::new(Kind::Unsupported, codes::NEEDS_PICKLE, Place::default(), message))
        }
    }
}

/// The value of a row: of one element, or lists of those of the inner dimensions.
fn row_value(values: &Values, row: u64, inner: Option<&[u64]>) -> Result<Value> {
    let at = |position| values.at(position).ok_or_else(outside).and_then(json);
    match inner {
        None => at(row),
        Some(sizes) => {
            let count = sizes.iter().fold(1u64, |n, dim| n.saturating_mul(*dim));
            let first = row.saturating_mul(count);
            // Lists of nothing cost nothing on the disk: many of them are one.
            let empty = sizes.iter().take_while(|dim| **dim > 0);
            if count == 0 && empty.fold(1u64, |n, dim| n.saturating_mul(*dim)) > MANY_EMPTY {
                return Ok(Value::Array(Vec::new()));
            }
            let flat = (first..first.saturating_add(count)).map(at).collect::<Result<Vec<_>>>()?;
            Ok(lists(sizes, flat))
        }
    }
}

fn lists(sizes: &[u64], flat: Vec<Value>) -> Value {
    let Some((len, inner)) = sizes.split_first() else {
        return flat.into_iter().next().unwrap_or_default();
    };
    let each = usize::try_from(*len).ok().and_then(|len| flat.len().checked_div(len)).unwrap_or(0);
    if each == 0 {
        // Lists of nothing, of which there are as many as the document has.
        return (0..*len).map(|_| lists(inner, Vec::new())).collect();
    }
    flat.chunks(each).map(|part| lists(inner, part.to_vec())).collect()
}

pub(super) fn each(
    values: &Values,
    inner: Option<&[u64]>,
    text: bool,
    rows: Rows<'_>,
) -> Result<Column> {
    let (mut data, mut ends) = (String::new(), Vec::with_capacity(rows.len()));
    for row in rows.iter() {
        match row_value(values, row, inner)? {
            Value::String(found) if text => data.push_str(&found),
            other => data.push_str(&canonical::value(&other)),
        }
        ends.push(data.len());
    }
    Column::ragged(Buf::from(data.into_bytes()), ends).ok_or_else(outside)
}
