//! A record in one SafeTensors buffer.
//!
//! ```text
//! u64 LE length | {"tensor_000000":{"dtype":…,"shape":…,"data_offsets":…},"__sds_descriptor__":{…},…} | tensors
//! descriptor: {"fields":{<name>:{"axes":[…],"metadata":{},"tensor":"tensor_000000"}},
//!              "format":"signal-dataset.record","id":…,"metadata":{},"scene_id":…,"version":"0.1"}
//! ```
//!
//! Written as the original does: `tensor_%06d` by the order of names, tensors by rank of type, then by key.

use std::collections::HashSet;

use packstone_container::Limits;
use packstone_container::json::{At, Object, ShapeError, Value};
use packstone_container::safetensors::{
    Order, SafeTensors, SafeTensorsError, TensorInfo, TensorSpec, TensorType, serialize,
};
use packstone_io::{Buf, Kind};

use super::super::codes;
use super::super::layout::{COMPACT, DESCRIPTOR, LAYOUT_VERSION, RECORD_FORMAT};
use super::super::options::{JsonPolicy, Policy, RecordPolicy};
use super::axes::{Axis, optional, parse_all};
use super::notes::Notes;
use super::record::{Record, RecordField, exceeded, field_type, tensor_type};
use super::rules;
use super::text::{fault, misshapen, pythonic_object, read, said, spell};
use crate::error::{Error, Place, Result};
use crate::model::Severity;

const KEYS: [&str; 6] = ["fields", "format", "id", "metadata", "scene_id", "version"];
const FIELD_KEYS: [&str; 3] = ["axes", "metadata", "tensor"];

/// Reads a record.
///
/// # Errors
/// `payload_invalid`, `descriptor_invalid`, `format_unknown`, `record_invalid`, `dtype_unsupported`, `json_invalid`,
/// `duplicate_key`, `limit_exceeded`.
pub fn decode(payload: &Buf, policy: &RecordPolicy, notes: &mut Notes) -> Result<Record> {
    let place = notes.place.clone();
    let here = |error| stored(error, &place);
    let found = payload.len() as u64;
    if found > policy.encoded_bytes {
        return Err(here(exceeded("bytes of a record", policy.encoded_bytes, found)));
    }
    let mut limits = Limits::default();
    limits.depth = policy.json_depth;
    limits.entries = (policy.fields as u64).saturating_add(1);
    let tensors = SafeTensors::parse(payload.clone(), &limits);
    let tensors = tensors.map_err(|error| refused(error, found, &place))?;
    check_tensors(&tensors, policy).map_err(here)?;
    let Some((info, text)) = tensors.get(DESCRIPTOR) else {
        let message = format!("expected the tensor {DESCRIPTOR}, found none");
        return Err(Error::new(Kind::Corrupt, codes::PAYLOAD_INVALID, place, message));
    };
    if info.dtype != TensorType::U8 || info.shape.len() != 1 {
        let message = format!(
            "expected {DESCRIPTOR} of type U8 and one dimension, found {} and shape {:?}",
            info.dtype, info.shape
        );
        return Err(Error::new(Kind::Corrupt, codes::PAYLOAD_INVALID, place, message));
    }
    let value = read(&text, &policy.descriptor(), notes)?;
    let record = describe(At::root(&value), &tensors, notes)?;
    rules::check(&record, policy, Some(text.len())).map_err(here)?;
    Ok(record)
}

/// The error for a record that is stored; what breaks a rule there is damage.
fn stored(error: Error, place: &Place) -> Error {
    let kind = if error.kind() == Kind::Invalid { Kind::Corrupt } else { error.kind() };
    let place = Place { field: error.place().field.clone(), ..place.clone() };
    Error::new(kind, error.code(), place, error.message())
}

fn refused(error: SafeTensorsError, len: u64, place: &Place) -> Error {
    let (kind, code) = match &error {
        SafeTensorsError::TooMany { .. } => (Kind::Limit, codes::LIMIT_EXCEEDED),
        // One that ends after its buffer is no header.
        SafeTensorsError::HeaderTooLong { found, .. } if *found <= len => {
            (Kind::Limit, codes::LIMIT_EXCEEDED)
        }
        _ => (Kind::Corrupt, codes::PAYLOAD_INVALID),
    };
    Error::new(kind, code, place.clone(), error.to_string()).because(error)
}

/// The bounds of tensors, and of the header's own JSON.
fn check_tensors(tensors: &SafeTensors, policy: &RecordPolicy) -> Result<()> {
    let header = tensors.header();
    let mut total = 0u64;
    for tensor in header.tensors() {
        let size = tensor.end.saturating_sub(tensor.start);
        if tensor.name == DESCRIPTOR {
            if size > policy.descriptor_bytes {
                return Err(exceeded("bytes of a descriptor", policy.descriptor_bytes, size));
            }
            continue;
        }
        if size > policy.tensor_bytes {
            return Err(exceeded("bytes of a tensor", policy.tensor_bytes, size));
        }
        total = total.saturating_add(size);
    }
    if total > policy.total_tensor_bytes {
        return Err(exceeded("bytes of tensors", policy.total_tensor_bytes, total));
    }
    let texts = header.metadata().map_or(0, |texts| texts.len().saturating_add(1));
    let ranks = header.tensors().iter().map(|tensor| tensor.shape.len());
    check_header(ranks, texts, policy)
}

/// Bounds of a header with tensors of these ranks: each has a type, a shape and two offsets.
fn check_header(
    ranks: impl Iterator<Item = usize>,
    texts: usize,
    policy: &RecordPolicy,
) -> Result<()> {
    const DEPTH: usize = 4;
    let nodes = ranks.fold(1usize, |sum, rank| sum.saturating_add(rank).saturating_add(6));
    let nodes = nodes.saturating_add(texts);
    if nodes > policy.json_nodes {
        return Err(exceeded("values in the header", policy.json_nodes as u64, nodes as u64));
    }
    if policy.json_depth < DEPTH {
        return Err(exceeded("levels in the header", policy.json_depth as u64, DEPTH as u64));
    }
    Ok(())
}

/// Puts descriptor and tensors together.
fn describe(at: At<'_>, tensors: &SafeTensors, notes: &mut Notes) -> Result<Record> {
    let place = notes.place.clone();
    let shape = |e: ShapeError| misshapen(codes::DESCRIPTOR_INVALID, &e, &place);
    for (key, expected) in [("format", RECORD_FORMAT), ("version", LAYOUT_VERSION)] {
        let found = at.field(key).map_err(shape)?;
        if found.value().as_str() != Some(expected) {
            let error = found.unexpected(format!("{expected:?}"));
            let place = place.clone().json(error.path());
            let (kind, code) = (Kind::Unsupported, codes::FORMAT_UNKNOWN);
            return Err(Error::new(kind, code, place, said(&error)));
        }
    }
    let mut record = Record {
        id: at.field("id").and_then(At::str).map_err(shape)?.to_owned(),
        metadata: notes.metadata(at).map_err(shape)?,
        ..Record::default()
    };
    let scene = at.optional("scene_id").map_err(shape)?.filter(|at| !at.value().is_null());
    record.scene_id = scene.map(At::str).transpose().map_err(shape)?.map(str::to_owned);
    let mut used = HashSet::new();
    for (name, at) in at.field("fields").and_then(At::entries).map_err(shape)? {
        let key = at.field("tensor").map_err(shape)?;
        let wanted = key.str().map_err(shape)?;
        let found = tensors.get(wanted).filter(|_| wanted != DESCRIPTOR);
        let Some((info, data)) = found else {
            return Err(shape(key.unexpected("the name of a tensor")));
        };
        if !used.insert(wanted) {
            let message =
                format!("expected a tensor of its own, found that of another field: {wanted:?}");
            notes.add(Severity::Warning, codes::TENSOR_SHARED, Some(key), message);
        }
        let axes = at.optional("axes").map_err(shape)?;
        let axes = axes.map_or(Ok(Vec::new()), |at| parse_all(at, notes)).map_err(shape)?;
        let metadata = notes.metadata(at).map_err(shape)?;
        notes.unknown(at, &FIELD_KEYS).map_err(shape)?;
        let field = field(info, data, axes, metadata)
            .map_err(|error| error.with_place(place.clone().field(name)))?;
        record.fields.push((name.to_owned(), field));
    }
    let mut named = tensors.header().tensors().iter().filter(|tensor| tensor.name != DESCRIPTOR);
    if let Some(other) = named.find(|tensor| !used.contains(tensor.name.as_str())) {
        let message = format!("expected a field for each tensor, found none for {:?}", other.name);
        return Err(Error::new(Kind::Corrupt, codes::DESCRIPTOR_INVALID, place, message));
    }
    notes.unknown(at, &KEYS).map_err(shape)?;
    Ok(record)
}

fn field(info: &TensorInfo, data: Buf, axes: Vec<Axis>, metadata: Object) -> Result<RecordField> {
    let Some(dtype) = field_type(info.dtype) else {
        let message = format!("expected a type that NumPy has, found {}", info.dtype);
        let (kind, code) = (Kind::Unsupported, codes::DTYPE_UNSUPPORTED);
        return Err(Error::new(kind, code, Place::default(), message));
    };
    // A scalar is one element along one axis.
    let shape = if info.shape.is_empty() { vec![1] } else { info.shape.clone() };
    Ok(RecordField { dtype: dtype.clone(), shape, data, axes, metadata })
}

/// A record and its metadata row, as they are stored.
#[derive(Clone, Debug)]
pub struct Encoded {
    /// The record.
    pub record: Vec<u8>,
    /// The row.
    pub row: Vec<u8>,
}

/// Spells a record and its row, after checking that both can be read back.
///
/// # Errors
/// `record_invalid`, `dtype_unsupported`, `limit_exceeded`, `json_invalid`.
pub fn encode(record: &Record, policy: &Policy) -> Result<Encoded> {
    let payload = encode_record(record, &policy.records)?;
    let row = record.row().to_value();
    check_spellable(&row, &policy.row())?;
    let row = spell(row, &COMPACT);
    let (limit, found) = (policy.records.metadata_bytes, row.len() as u64);
    if found > limit {
        return Err(exceeded("bytes of a metadata row", limit, found));
    }
    Ok(Encoded { record: payload, row: row.into_bytes() })
}

/// Spells a record.
///
/// # Errors
/// As for [`encode`].
pub fn encode_record(record: &Record, policy: &RecordPolicy) -> Result<Vec<u8>> {
    rules::check(record, policy, None)?;
    let mut fields: Vec<&(String, RecordField)> = record.fields.iter().collect();
    fields.sort_by(|(a, _), (b, _)| a.cmp(b));
    let keys: Vec<String> = (0..fields.len()).map(|n| format!("tensor_{n:06}")).collect();
    let described = fields.iter().zip(&keys).map(|((name, field), key)| {
        let mut out = Object::new();
        out.insert("axes", field.axes.iter().map(Axis::to_value).collect::<Vec<_>>());
        out.insert("metadata", pythonic_object(&field.metadata));
        out.insert("tensor", key.as_str());
        (name.as_str(), Value::Object(out))
    });
    let mut out = Object::new();
    out.insert("fields", described.collect::<Object>());
    out.insert("format", RECORD_FORMAT);
    out.insert("id", record.id.as_str());
    out.insert("metadata", pythonic_object(&record.metadata));
    out.insert("scene_id", optional(record.scene_id.as_deref()));
    out.insert("version", LAYOUT_VERSION);
    let descriptor = Value::Object(out);
    check_spellable(&descriptor, &policy.descriptor())?;
    let descriptor = spell(descriptor, &COMPACT);
    let length = descriptor.len() as u64;
    if length > policy.descriptor_bytes {
        return Err(exceeded("bytes of a descriptor", policy.descriptor_bytes, length));
    }
    let ranks = fields.iter().map(|(_, field)| field.shape.len());
    check_header(ranks.chain([1]), 0, policy)?;
    let mut tensors = Vec::with_capacity(fields.len().saturating_add(1));
    for ((_, field), key) in fields.iter().zip(&keys) {
        // The rules let no other types through.
        let dtype = tensor_type(&field.dtype).unwrap_or(TensorType::U8);
        tensors.push((TensorSpec { name: key, dtype, shape: &field.shape }, field.data.as_ref()));
    }
    let length = [length];
    let spec = TensorSpec { name: DESCRIPTOR, dtype: TensorType::U8, shape: &length };
    tensors.push((spec, descriptor.as_bytes()));
    let payload = serialize(&tensors, None, Order::Canonical)
        .map_err(|error| refused(error, u64::MAX, &Place::default()))?;
    let found = payload.len() as u64;
    if found > policy.encoded_bytes {
        return Err(exceeded("bytes of a record", policy.encoded_bytes, found));
    }
    Ok(payload)
}

/// Refuses what readers would: nesting, number of values, numbers beyond doubles, unpaired surrogates.
///
/// # Errors
/// `limit_exceeded`, `json_invalid`.
pub fn check_spellable(value: &Value, policy: &JsonPolicy) -> Result<()> {
    if let Some(fault) = fault(value, policy.depth) {
        return Err(fault.at(Place::default()));
    }
    let found = nodes(value);
    if found > policy.nodes {
        return Err(exceeded("values in a document", policy.nodes as u64, found as u64));
    }
    Ok(())
}

fn nodes(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(nodes).fold(1, usize::saturating_add),
        Value::Object(object) => object.values().map(nodes).fold(1, usize::saturating_add),
        _ => 1,
    }
}
