//! Which field is what is seen at a path, and where its values come from.

use std::sync::{Arc, OnceLock};

use packstone_container::json::Value;
use packstone_container::{Limits, pickle};
use packstone_io::{Buf, Kind};

use super::super::super::codes;
use super::super::flat::Seen;
use super::super::node::{Fault, FieldFiles, FieldValue, Source};
use super::super::pickles::{self, Looked};
use super::super::values::Values;
use super::Origin;
use super::lists::json;
use crate::error::{Place, Result};
use crate::model::{Column, DType, Field, Key, canonical};

pub(super) fn made(
    key: &Key,
    seen: Seen,
    batch: &[u64],
    limits: &Limits,
) -> Result<(Field, Origin), Fault> {
    let fault = |code, message: String| {
        Fault::new(Kind::Unsupported, code, Place::default().field(key.to_string()), message)
    };
    let key = key.clone();
    Ok(match (seen, batch.first()) {
        (Seen::Tensor(tensor), None) => {
            (Field::at(key, tensor.dtype.clone(), tensor.shape.clone()), Origin::Whole(tensor))
        }
        (Seen::Tensor(tensor), Some(rows)) if tensor.shape.first() == Some(rows) => {
            let width = usize::try_from(tensor.block(1));
            let width = width
                .map_err(|_| fault(codes::TOO_LARGE, "expected rows that fit memory".to_owned()))?;
            let shape = tensor.shape.get(1..).unwrap_or_default().to_vec();
            (Field::at(key, tensor.dtype.clone(), shape), Origin::Rows(tensor, width))
        }
        (Seen::Tensor(tensor), Some(_)) => {
            let message =
                format!("expected a shape that starts with {batch:?}, found {:?}", tensor.shape);
            return Err(fault(codes::BATCH_MISMATCH, message));
        }
        (Seen::Ragged(tensors), Some(rows)) if tensors.len() as u64 == *rows => {
            let first = tensors.first().map(|t| (t.dtype.clone(), t.shape.len()));
            let (dtype, rank) = first.unwrap_or((DType::UInt8, 0));
            (Field::varying(key, dtype, rank), Origin::Ragged(tensors))
        }
        (Seen::Nested(nested), Some(rows)) if nested.extent.0 == *rows => {
            let rank = usize::try_from(nested.extent.1).ok().filter(|rank| *rank <= 64);
            let message =
                || "expected at most 64 dimensions of a nested tensor, found more".to_owned();
            let rank = rank.ok_or_else(|| fault(codes::BAD_SHAPE, message()))?;
            (
                Field::varying(key, nested.dtype.clone(), rank),
                Origin::Nested(nested, OnceLock::new()),
            )
        }
        (Seen::Nested(nested), _) => {
            let message = format!(
                "expected a nested tensor of one part a sample, found {} parts in a batch of {batch:?}",
                nested.extent.0
            );
            return Err(fault(codes::NO_COMMON_FORM, message));
        }
        (Seen::Values(values), rows) => match values.same() {
            Some((value, files)) => same_value(key, value.clone(), files, limits)?,
            None => each_value(key, values, rows.copied(), batch)?,
        },
        (Seen::Pickle(file), rows) => pickled_rows(key, file.as_ref(), rows.copied(), limits)?,
        (Seen::Ragged(_), _) => {
            let message = "expected tensors of one shape, found several in a batch of another size";
            return Err(fault(codes::NO_COMMON_FORM, message.to_owned()));
        }
        (Seen::Broken(fault), _) => return Err(fault),
    })
}

fn same_value(
    key: Key,
    value: FieldValue,
    files: &FieldFiles,
    limits: &Limits,
) -> Result<(Field, Origin), Fault> {
    if let (FieldValue::Pickled, Some(pickle)) = (&value, &files.pickle) {
        if let Some(pickle::Value::Bytes(bytes)) =
            pickles::plain_field(pickle.as_ref(), "data", limits)
        {
            return Ok((Field::at(key, DType::Bytes, []), Origin::Same(Buf::copy_from(&bytes))));
        }
        let mut field = Field::at(key, DType::Bytes, []);
        field.metadata.insert("encoding", "pickle");
        return Ok((field, Origin::File(Arc::clone(pickle))));
    }
    let (dtype, bytes) = match json(value)? {
        Value::String(text) => (DType::Str, text.into_bytes()),
        other => (DType::Json, canonical::value(&other).into_bytes()),
    };
    Ok((Field::at(key, dtype, []), Origin::Same(Buf::from(bytes))))
}

/// The rows of a pickled stack, where it is plain data: all bytes, or all something that JSON holds.
fn pickled_rows(
    key: Key,
    file: &dyn Source,
    rows: Option<u64>,
    limits: &Limits,
) -> Result<(Field, Origin), Fault> {
    let needed = || {
        let message =
            "expected values that JSON holds, found a pickle of all rows, which is not executed";
        pickles::needed(file, message)
    };
    let looked = pickles::look(&file.open()?, limits);
    let Looked::Plain(pickle::Value::List(items)) = looked else { return Err(needed()) };
    let whole = [pickle::Value::List(Arc::clone(&items))];
    let values = if rows.is_some() { items.as_ref() } else { whole.as_slice() };
    if values.len() as u64 != rows.unwrap_or(1) {
        return Err(needed());
    }
    let bytes: Option<Vec<&[u8]>> = values
        .iter()
        .map(|value| match value {
            pickle::Value::Bytes(bytes) => Some(bytes.as_ref()),
            _ => None,
        })
        .collect();
    let (dtype, rows): (DType, Vec<Vec<u8>>) = match bytes {
        Some(bytes) => (DType::Bytes, bytes.into_iter().map(<[u8]>::to_vec).collect()),
        None => {
            let json = values
                .iter()
                .map(pickles::to_json)
                .collect::<Option<Vec<_>>>()
                .ok_or_else(needed)?;
            (DType::Json, json.iter().map(|value| canonical::value(value).into_bytes()).collect())
        }
    };
    let ends = rows.iter().scan(0usize, |end, row| {
        *end = end.saturating_add(row.len());
        Some(*end)
    });
    let ends = ends.collect();
    let column = Column::ragged(Buf::from(rows.concat()), ends).ok_or_else(needed)?;
    Ok((Field::at(key, dtype, []), Origin::Made(column)))
}

fn each_value(
    key: Key,
    values: Values,
    rows: Option<u64>,
    batch: &[u64],
) -> Result<(Field, Origin), Fault> {
    let sizes = values.batch_size();
    let inner = match rows {
        Some(_) if sizes.len() <= 1 => None,
        Some(_) => Some(sizes.get(1..).unwrap_or_default().to_vec()),
        // In a batch without dimensions the one sample has all values.
        None => Some(sizes.clone()),
    };
    if rows.is_some() && sizes.first() != batch.first() {
        let message = format!("expected a value for each of {batch:?}, found {sizes:?}");
        let place = Place::default().field(key.to_string());
        return Err(Fault::new(Kind::Invalid, codes::BATCH_MISMATCH, place, message));
    }
    let is_text = |row| matches!(values.at(row), Some(FieldValue::Json(Value::String(_))));
    let text = inner.is_none() && (0..rows.unwrap_or(1)).all(is_text);
    let dtype = if text { DType::Str } else { DType::Json };
    Ok((Field::at(key, dtype, []), Origin::Each { values, inner, text }))
}
