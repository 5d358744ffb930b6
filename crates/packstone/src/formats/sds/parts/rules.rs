//! What makes a record a record, checked before it is written and after it was read.

use std::collections::{HashMap, HashSet};

use packstone_container::json::{self, Object, Style, Value};
use packstone_io::Kind;

use super::super::codes;
use super::super::options::RecordPolicy;
use super::axes::{Axis, Coordinate};
use super::record::{Record, RecordField, exceeded, tensor_type};
use super::text::pythonic_object;
use crate::error::{Error, Place, Result};

/// How the original spells what it counts against the budget of metadata.
const COUNTED: Style = Style { item_separator: ", ", key_separator: ": ", ..Style::COMPACT };
/// No descriptor counts more than so many times its length.
const EXPANSION: usize = 64;

/// Checks a record. `spelled` is the length of its descriptor, where known.
///
/// # Errors
/// `record_invalid`, `dtype_unsupported`, `limit_exceeded`, with the field.
pub fn check(record: &Record, policy: &RecordPolicy, spelled: Option<usize>) -> Result<()> {
    if record.id.is_empty() {
        return Err(broken(Place::default(), "an id that is not empty", "an empty one"));
    }
    if record.fields.is_empty() {
        return Err(broken(Place::default(), "one field at least", "none"));
    }
    within("fields", policy.fields as u64, record.fields.len() as u64)?;
    let mut names = HashSet::with_capacity(record.fields.len());
    let mut shared: HashMap<&str, &Axis> = HashMap::new();
    let mut bytes = 0u64;
    for (name, field) in &record.fields {
        let place = || Place::default().field(name);
        if name.is_empty() || !names.insert(name.as_str()) {
            return Err(broken(place(), "names that differ and are not empty", "this one"));
        }
        let size = check_field(field, policy).map_err(|error| error.with_place(place()))?;
        bytes = bytes.saturating_add(size);
        for axis in &field.axes {
            let Some(id) = axis.id.as_deref().filter(|id| !id.is_empty()) else { continue };
            if !shared.entry(id).or_insert(axis).agrees(axis) {
                let expected = format!("axes of id {id:?} to agree in length and coordinate");
                return Err(broken(place(), &expected, "others"));
            }
        }
    }
    for (name, field) in &record.fields {
        let references = field.axes.iter().filter_map(|axis| axis.coordinate.as_ref());
        let mut references = references.filter_map(|c| c.reference.as_deref());
        let dangling =
            references.find(|to| !to.is_empty() && !names.contains(to) && !shared.contains_key(to));
        if let Some(to) = dangling {
            let place = Place::default().field(name);
            let found = format!("a reference to {to:?}");
            return Err(broken(place, "a reference to a field or to the id of an axis", &found));
        }
    }
    within("bytes of tensors", policy.total_tensor_bytes, bytes)?;
    let short = |length: usize| length.saturating_mul(EXPANSION) as u64 <= policy.metadata_bytes;
    if spelled.is_some_and(short) {
        return Ok(());
    }
    within("bytes of metadata", policy.metadata_bytes, metadata_bytes(record))
}

/// Checks one field; gives its bytes.
fn check_field(field: &RecordField, policy: &RecordPolicy) -> Result<u64> {
    let place = Place::default;
    let Some(tensor) = tensor_type(&field.dtype) else {
        let hint = if field.dtype.name() == "complex128" { "; convert to complex64" } else { "" };
        let message = format!(
            "expected bool, (u)int8…64, float16…64 or complex64, found {}{hint}",
            field.dtype
        );
        return Err(Error::new(Kind::Unsupported, codes::DTYPE_UNSUPPORTED, place(), message));
    };
    let (rank, axes) = (field.shape.len(), field.axes.len());
    if rank != axes || rank == 0 {
        let expected = format!("{} axes, one a dimension and one at least", rank.max(1));
        return Err(broken(place(), &expected, &axes.to_string()));
    }
    within("axes of a field", policy.axes_per_field as u64, axes as u64)?;
    let size = tensor.byte_len(&field.shape);
    if size != Some(field.data.len() as u64) {
        let expected = size.map_or("a shape within 64 bits".to_owned(), |n| format!("{n} bytes"));
        return Err(broken(place(), &expected, &format!("{} bytes", field.data.len())));
    }
    let size = field.data.len() as u64;
    within("bytes of a tensor", policy.tensor_bytes, size)?;
    let mut names = HashSet::with_capacity(axes);
    for (axis, dimension) in field.axes.iter().zip(&field.shape) {
        let name = &axis.name;
        if name.is_empty() || !names.insert(name.as_str()) {
            let found = format!("{name:?}");
            return Err(broken(place(), "names of axes that differ and are not empty", &found));
        }
        if axis.length != *dimension {
            let expected = format!("axis {name:?} of length {dimension}, as its dimension");
            return Err(broken(place(), &expected, &axis.length.to_string()));
        }
        if let Some(coordinate) = &axis.coordinate {
            check_coordinate(axis, coordinate, policy)?;
        }
    }
    Ok(size)
}

fn check_coordinate(axis: &Axis, coordinate: &Coordinate, policy: &RecordPolicy) -> Result<()> {
    let broken = |expected: &str, found: &str| {
        let expected = format!("axis {:?} with {expected}", axis.name);
        broken(Place::default(), &expected, found)
    };
    let Coordinate { values, start, step, reference, .. } = coordinate;
    let forms = [values.is_some(), start.is_some() || step.is_some(), reference.is_some()];
    if forms.into_iter().filter(|form| *form).count() > 1 {
        return Err(broken("values, start and step, or a reference", "several of these"));
    }
    if start.is_some() != step.is_some() {
        return Err(broken("both start and step", "one of them"));
    }
    if let Some(values) = values {
        let found = values.len() as u64;
        if found != axis.length {
            let expected = format!("{} values, one an index", axis.length);
            return Err(broken(&expected, &found.to_string()));
        }
        within("coordinate values", policy.coordinate_values as u64, found)?;
    }
    Ok(())
}

/// What the original counts against the budget: every metadata object and every coordinate, as text.
fn metadata_bytes(record: &Record) -> u64 {
    let size = |object: &Object| {
        let text = json::write(&Value::Object(pythonic_object(object)), &COUNTED);
        text.len() as u64
    };
    let mut sum = size(&record.metadata);
    for (_, field) in &record.fields {
        sum = sum.saturating_add(size(&field.metadata));
        for axis in &field.axes {
            sum = sum.saturating_add(size(&axis.metadata));
            if let Some(coordinate) = &axis.coordinate {
                sum = sum.saturating_add(size(&coordinate.heart()));
                sum = sum.saturating_add(size(&coordinate.metadata));
            }
        }
    }
    sum
}

fn within(what: &str, limit: u64, found: u64) -> Result<()> {
    if found > limit { Err(exceeded(what, limit, found)) } else { Ok(()) }
}

fn broken(place: Place, expected: &str, found: &str) -> Error {
    let message = format!("expected {expected}, found {found}");
    Error::new(Kind::Invalid, codes::RECORD_INVALID, place, message)
}
