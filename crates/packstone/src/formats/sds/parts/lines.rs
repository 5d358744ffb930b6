//! Annotations from elsewhere: JSON Lines, and samples of any dataset.
//!
//! ```text
//! {"id": "rec-1", "index": 0, "status": "success", "detail_status": "clear", "values": {"label": 3},
//!  "provenance": {"by": "model-7"}, "fields": {"mask": {"dtype": "uint8", "data": [[0, 1], [1, 0]]}}}
//! ```
//!
//! All members may be missing; the status then is `success`. Annotations are about the records in their order, and what one
//! says about its record, by id or index, has to be so; or they are in any order, and each names its record by id.

use std::collections::BTreeMap;
use std::fmt;

use packstone_container::json::{At, Object, ReadOptions, ShapeError, Value, read};
use packstone_io::Kind;

use super::super::codes;
use super::super::layout::ANNOTATION;
use super::super::options::JsonPolicy;
use super::super::reader::SdsDataset;
use super::annotate::Ids;
use super::array::{only, parse as array};
use super::batch::stored_shape;
use super::carrier::{Annotation, Status, from_metadata};
use super::notes::Notes;
use super::record::{RecordField, tensor_type};
use super::sample::Said;
use super::text;
use crate::error::{Error, Place, Result};
use crate::model::{Batch, DType, ValueRef};

const KEYS: [&str; 7] =
    ["detail_status", "fields", "id", "index", "provenance", "status", "values"];

/// An annotation, and what it says about which record it is about.
#[derive(Clone, Debug)]
pub struct Found {
    /// Where it was found: a file.
    pub file: String,
    /// Where in it: `line 3`, `sample 7`.
    pub called: String,
    /// The id of its record, as far as it says.
    pub id: Option<String>,
    /// The number of its record, as far as it says.
    pub index: Option<u64>,
    /// The annotation; what it says about its record does not count.
    pub about: Annotation,
}

fn refused(file: &str, called: &str, code: &'static str, message: impl fmt::Display) -> Error {
    let message = format!("{called}: {message}");
    Error::new(Kind::Invalid, code, Place::file(file), message)
}

impl Found {
    fn refused(&self, expected: impl fmt::Display, found: impl fmt::Display) -> Error {
        let message = format!("expected {expected}, found {found}");
        refused(&self.file, &self.called, codes::ANNOTATION_MISMATCH, message)
    }

    /// The annotation of the record at `ordinal`, whose id is `id`.
    fn on(self, ordinal: u64, id: Option<String>) -> Result<Annotation> {
        if let Some(index) = self.index.filter(|index| *index != ordinal) {
            let expected = format!("an annotation of record {ordinal}");
            return Err(self.refused(expected, format!("one of record {index}")));
        }
        let Some(id) = id else {
            return Err(self.refused(format!("an id of record {ordinal} in the dataset"), "none"));
        };
        if let Some(other) = self.id.as_ref().filter(|other| **other != id) {
            return Err(
                self.refused(format!("the id {id:?} of record {ordinal}"), format!("{other:?}"))
            );
        }
        Ok(Annotation { source_record_id: id, source_index: ordinal, ..self.about })
    }
}

/// The annotations of the records from `first` on, in their order.
///
/// # Errors
/// Those of `found`; `annotation_mismatch` for one that says it is about another record, `coverage` for more than there are
/// records, both with the place. Those of reading rows.
pub fn in_order<'d>(
    dataset: &'d SdsDataset,
    first: u64,
    found: impl Iterator<Item = Result<Found>> + 'd,
) -> impl Iterator<Item = Result<Annotation>> + 'd {
    let mut ids = Ids::from(dataset, first);
    found.zip(first..).map(move |(found, ordinal)| {
        let found = found?;
        if ordinal >= dataset.len() {
            let message = format!("expected annotations of {} records, found more", dataset.len());
            return Err(refused(&found.file, &found.called, codes::COVERAGE, message));
        }
        found.on(ordinal, ids.next_id()?)
    })
}

/// The annotations of all records, in their order, from annotations in any order that name their records by id. A record
/// without one is annotated as `missing`, where that is given.
///
/// # Errors
/// As for [`in_order`]; `annotation_mismatch` for one without an id, with an id that another has or that no record has, and
/// for records with one id; `coverage` for a record without one.
pub fn by_id(
    dataset: &SdsDataset,
    found: impl Iterator<Item = Result<Found>>,
    missing: Option<Status>,
) -> Result<Vec<Annotation>> {
    let mut known: BTreeMap<String, Found> = BTreeMap::new();
    for found in found {
        let found = found?;
        let Some(id) = found.id.clone() else {
            return Err(found.refused("the id of a record", "none"));
        };
        if let Some(before) = known.get(&id) {
            let twice = format!("it in {}, too", before.called);
            return Err(found.refused(format!("{id:?} once"), twice));
        }
        known.insert(id, found);
    }
    let mut ids = Ids::from(dataset, 0);
    let mut out = Vec::new();
    for ordinal in 0..dataset.len() {
        let id = ids.next_id()?;
        let found = id.as_ref().and_then(|id| known.remove(id));
        out.push(match (found, missing) {
            (Some(found), _) => found.on(ordinal, id)?,
            (None, Some(status)) => {
                let source_record_id = id.unwrap_or_default();
                Annotation { source_record_id, source_index: ordinal, status, ..nothing() }
            }
            (None, None) => {
                let id = id.unwrap_or_default();
                let message = format!(
                    "expected an annotation for each record, found none for {id:?}, or two records of that id"
                );
                let place = Place::default().record(ordinal);
                return Err(Error::new(Kind::Invalid, codes::COVERAGE, place, message));
            }
        });
    }
    match known.into_iter().next() {
        None => Ok(out),
        Some((id, found)) => {
            Err(found.refused("the id of a record", format!("{id:?}, which none has")))
        }
    }
}

/// Annotations as JSON Lines; empty lines do not count.
///
/// # Errors
/// `json_invalid`, `duplicate_key`, `limit_exceeded`, `annotation_invalid`, with the number of the line.
pub fn lines<'t>(
    file: &'t str,
    text: &'t [u8],
    policy: JsonPolicy,
) -> impl Iterator<Item = Result<Found>> + 't {
    let lines = text.split(|byte| *byte == b'\n').zip(1u64..);
    let lines = lines.map(|(line, number)| (line.trim_ascii(), format!("line {number}")));
    lines.filter(|(line, _)| !line.is_empty()).map(move |(line, called)| {
        let value = text::read(line, &policy, &mut Notes::silent(Place::file(file)));
        let value = value.map_err(|error| refused(file, &called, error.code(), error.message()))?;
        parse(At::root(&value), file, &called).map_err(|error| {
            let found = format!("{}: {}", error.path(), text::said(&error));
            refused(file, &called, codes::ANNOTATION_INVALID, found)
        })
    })
}

/// An annotation that says nothing yet.
fn nothing() -> Annotation {
    Annotation {
        source_record_id: String::new(),
        source_index: 0,
        status: Status::Success,
        detail_status: None,
        values: Object::new(),
        provenance: Object::new(),
        fields: Vec::new(),
    }
}

fn parse(at: At<'_>, file: &str, called: &str) -> Result<Found, ShapeError> {
    only(at, &KEYS)?;
    // What is null says nothing.
    let given =
        |key: &str| Ok::<_, ShapeError>(at.optional(key)?.filter(|at| !at.value().is_null()));
    let text = |key| given(key)?.map(|at| Ok(at.str()?.to_owned())).transpose();
    let object = |key| {
        Ok::<_, ShapeError>(match given(key)? {
            Some(at) => at.object()?.clone(),
            None => Object::new(),
        })
    };
    let mut fields = Vec::new();
    if let Some(at) = given("fields")? {
        for (name, at) in at.entries()? {
            fields.push((name.to_owned(), array(at)?));
        }
    }
    let status = given("status")?.map(Status::parse).transpose()?;
    let about = Annotation {
        status: status.unwrap_or(Status::Success),
        detail_status: text("detail_status")?,
        values: object("values")?,
        provenance: object("provenance")?,
        fields,
        ..nothing()
    };
    let index = given("index")?.map(At::u64).transpose()?;
    let (file, called) = (file.to_owned(), called.to_owned());
    Ok(Found { file, called, id: text("id")?, index, about })
}

/// A row of a batch of any dataset as an annotation; it is sample `number` of `file`. What its container calls it is the id
/// of the record.
///
/// Arrays become fields; text, JSON and integers without a size become values, beside the metadata of the sample. What is
/// an annotation already keeps its status and provenance.
///
/// # Errors
/// `not_writable` for a field that annotations cannot have, `annotation_invalid`, `record_invalid`, with the field.
pub fn of_sample(batch: &Batch, row: usize, file: &str, number: u64) -> Result<Found> {
    let id = batch.identity(row).and_then(|identity| identity.get("id")?.as_str());
    let none = Object::new();
    let said = Said::of(batch.metadata(row).map_or(&none, |metadata| metadata.as_ref()));
    let (mut fields, mut values) = (Vec::new(), Object::new());
    for (field, column) in batch.schema().fields.iter().zip(batch.columns()) {
        let name = field.key.to_string();
        let refused = |expected: &str, found: &str| {
            let message = format!("expected {expected}, found {found}");
            let place = Place::file(file).field(&name).record(number);
            Error::new(Kind::Unsupported, codes::NOT_WRITABLE, place, message)
        };
        let data = column.buf(row).ok_or_else(|| refused("a value", "none"))?;
        match &field.dtype {
            DType::Str => {
                let text = str::from_utf8(&data).map_err(|_| refused("text", "other bytes"))?;
                values.insert(name, text);
            }
            DType::Json => {
                let value = read(&data, &ReadOptions::default());
                let value = value.map_err(|error| refused("JSON", &error.to_string()))?;
                values.insert(name, value.value);
            }
            dtype @ DType::Int => {
                let value = ValueRef { dtype, shape: &[], bytes: &data };
                values.insert(name, value.to_json());
            }
            dtype if tensor_type(dtype).is_some() => {
                let shape = stored_shape(column.shape(row).unwrap_or(&field.shape)).to_vec();
                let (axes, metadata) = said.field(&name, &shape)?;
                let dtype = dtype.clone();
                fields.push((name, RecordField { dtype, shape, data, axes, metadata }));
            }
            dtype => {
                let expected = "bool, (u)int8…64, float16…64, complex64, text or JSON";
                return Err(refused(expected, &dtype.to_string()));
            }
        }
    }
    let mut about = match said.record.get(ANNOTATION).and_then(Value::as_object) {
        Some(_) => from_metadata(String::new(), &said.record, fields)?,
        None => Annotation { values: said.record, fields, ..nothing() },
    };
    for (name, value) in values {
        let name = name.to_string();
        if about.values.contains_key(&name) {
            let message = "expected a name for each value, found a field called as a member of the sample's metadata";
            let place = Place::file(file).field(&name).record(number);
            return Err(Error::new(Kind::Invalid, codes::NOT_WRITABLE, place, message));
        }
        about.values.insert(name, value);
    }
    let (file, called) = (file.to_owned(), format!("sample {number}"));
    Ok(Found { file, called, id: id.map(str::to_owned), index: None, about })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use packstone_io::Buf;

    use super::*;
    use crate::model::{Column, Field, Schema};

    #[test]
    fn a_text_field_does_not_hide_metadata_of_its_name() {
        let schema = Arc::new(Schema::new(vec![Field::new("label", DType::Str, [])]));
        let column = Column::ragged(Buf::from(b"cat".to_vec()), vec![3]).unwrap();
        let batch = Batch::new(schema, 1, vec![column]).unwrap();
        let found = of_sample(&batch, 0, "x", 0).unwrap();
        assert_eq!(found.about.values.get("label").and_then(Value::as_str), Some("cat"));
        let mut metadata = Object::new();
        metadata.insert("label", "dog");
        let both = batch.with_metadata(Arc::new(metadata));
        assert_eq!(of_sample(&both, 0, "x", 0).unwrap_err().code(), codes::NOT_WRITABLE);
    }
}
