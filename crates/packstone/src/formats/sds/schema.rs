//! What records can be made of, and samples as records.

use std::sync::Arc;

use packstone_container::json::{Object, Value};
use packstone_io::{Buf, Kind};

use super::codes;
use super::parts::batch::stored_shape;
use super::parts::record::{Record, RecordField, tensor_type};
use super::parts::sample::Said;
use crate::error::{Error, Place, Result};
use crate::format::Plan;
use crate::model::{Batch, DType, Holds, Schema};

/// What records can be made of.
pub fn holds() -> Holds {
    Holds {
        nested: false,
        text: false,
        bytes: false,
        json: false,
        dtype: is_stored,
        reserved: &[""],
        ..Holds::ALL
    }
}

fn is_stored(dtype: &DType) -> bool {
    tensor_type(dtype).is_some()
}

/// Checks that a dataset can be written as planned.
///
/// # Errors
/// `not_writable`, naming the field.
pub fn check_plan(plan: &Plan) -> Result<()> {
    // A dataset of this format without records says nothing about fields.
    let own = plan.source.as_ref().is_some_and(|(id, _)| id == super::ID);
    if own && plan.schema.fields.is_empty() { Ok(()) } else { check_writable(&plan.schema) }
}

fn check_writable(schema: &Schema) -> Result<()> {
    let refused = |place: Place, expected: &str, found: String| {
        let message = format!("expected {expected}, found {found}");
        Err(Error::new(Kind::Unsupported, codes::NOT_WRITABLE, place, message))
    };
    if schema.fields.is_empty() {
        return refused(Place::default(), "one field at least", "none".to_owned());
    }
    for (at, field) in schema.fields.iter().enumerate() {
        let place = || Place::default().field(field.key.to_string());
        if !is_stored(&field.dtype) || field.is_variable() {
            let expected = "bool, (u)int8…64, float16…64 or complex64";
            return refused(place(), expected, field.dtype.to_string());
        }
        let name = match field.key.parts() {
            [name] if !name.is_empty() => name,
            _ => {
                return refused(
                    place(),
                    "a name without parts",
                    format!("{:?}", field.key.to_string()),
                );
            }
        };
        if schema.fields.iter().skip(at + 1).any(|other| other.key == field.key) {
            return refused(place(), "each name once", format!("{name:?} again"));
        }
    }
    Ok(())
}

/// A row of a batch as a record. Its id is the one that its container gave it, or else `id`.
///
/// # Errors
/// `not_writable`, `record_invalid`, `model/column_mismatch`.
pub fn record(batch: &Batch, row: usize, id: impl FnOnce() -> String) -> Result<Record> {
    let text = |key| batch.identity(row).and_then(|identity| identity.get(key)?.as_str());
    let said = Said::of(batch.metadata(row).map_or(&Object::new(), Arc::as_ref));
    let mut record = Record {
        id: text("id").map_or_else(id, str::to_owned),
        scene_id: text("scene_id").map(str::to_owned),
        fields: Vec::with_capacity(batch.columns().len()),
        metadata: Object::new(),
    };
    for (field, column) in batch.schema().fields.iter().zip(batch.columns()) {
        let name = field.key.to_string();
        let missing = || {
            let message = format!("expected a value in row {row}, found none");
            let place = Place::default().field(&name);
            Error::new(Kind::Invalid, "model/column_mismatch", place, message)
        };
        let shape = stored_shape(column.shape(row).unwrap_or(&field.shape)).to_vec();
        let data: Buf = column.buf(row).ok_or_else(missing)?;
        let (axes, metadata) = said.field(&name, &shape)?;
        let dtype = field.dtype.clone();
        record.fields.push((name, RecordField { dtype, shape, data, axes, metadata }));
    }
    record.metadata = said.record;
    Ok(record)
}

/// The members of `native` that are a dataset's own metadata.
pub fn metadata_of(native: &Object) -> Object {
    native.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default()
}
