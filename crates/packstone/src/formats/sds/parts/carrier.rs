//! An annotation in the record that carries it.
//!
//! ```text
//! id        the id of the annotated record
//! metadata  {"annotation":{"detail_status":…,"empty_fields":…,"provenance":{},"source_index":…,"status":…,"values":{}}}
//! fields    those of the annotation; without any, one `__empty__` of no bytes
//! ```

use packstone_container::json::{At, Object, ShapeError, Value};
use packstone_io::{Buf, Kind};

use super::super::codes;
use super::super::layout::{ANNOTATION, EMPTY_AXIS, EMPTY_FIELD};
use super::super::options::RecordPolicy;
use super::axes::{Axis, optional};
use super::notes::Notes;
use super::payload;
use super::record::{Record, RecordField};
use super::text::{misshapen, pythonic_object};
use crate::error::{Error, Place, Result};
use crate::model::{DType, Severity};

const KEYS: [&str; 6] =
    ["detail_status", "empty_fields", "provenance", "source_index", "status", "values"];

/// What became of a record that was to be annotated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Status {
    Success,
    Skipped,
    Failed,
}

impl Status {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Success, Self::Skipped, Self::Failed];

    /// The name in documents.
    pub fn name(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Skipped => "skipped",
            Self::Failed => "failed",
        }
    }

    /// The status of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.name() == name)
    }

    /// Reads a status.
    ///
    /// # Errors
    /// Where it is none.
    pub fn parse(at: At<'_>) -> Result<Self, ShapeError> {
        let name = at.str()?;
        Self::named(name).ok_or_else(|| at.unexpected("success, skipped or failed"))
    }
}

/// What is said about one record.
#[derive(Clone, Debug)]
pub struct Annotation {
    /// The id of the record.
    pub source_record_id: String,
    /// Its ordinal.
    pub source_index: u64,
    /// What became of it.
    pub status: Status,
    /// The same in other words, not empty.
    pub detail_status: Option<String>,
    /// What was found out.
    pub values: Object,
    /// How.
    pub provenance: Object,
    /// What was found out, as arrays.
    pub fields: Vec<(String, RecordField)>,
}

impl Annotation {
    /// The detail, or else the status.
    pub fn terminal_status(&self) -> String {
        self.detail_status.clone().unwrap_or_else(|| self.status.name().to_owned())
    }

    /// What the carrier's metadata say.
    pub fn metadata(&self) -> Object {
        let mut out = Object::new();
        out.insert("detail_status", optional(self.detail_status.as_deref()));
        out.insert("empty_fields", Value::Bool(self.fields.is_empty()));
        out.insert("provenance", pythonic_object(&self.provenance));
        out.insert("source_index", self.source_index);
        out.insert("status", self.status.name());
        out.insert("values", pythonic_object(&self.values));
        Object::from_iter([(ANNOTATION, out)])
    }

    /// Spells the annotation.
    ///
    /// # Errors
    /// `annotation_invalid` for an empty detail; as for [`payload::encode_record`].
    pub fn encode(&self, policy: &RecordPolicy) -> Result<Vec<u8>> {
        if self.detail_status.as_deref() == Some("") {
            let message = "expected a detail that is not empty, found an empty one";
            let (kind, code) = (Kind::Invalid, codes::ANNOTATION_INVALID);
            return Err(Error::new(kind, code, Place::default(), message));
        }
        let mut fields = self.fields.clone();
        if fields.is_empty() {
            let empty = RecordField {
                dtype: DType::UInt8,
                shape: vec![0],
                data: Buf::default(),
                axes: vec![Axis::new(EMPTY_AXIS, 0)],
                metadata: Object::new(),
            };
            fields.push((EMPTY_FIELD.to_owned(), empty));
        }
        let (id, metadata) = (self.source_record_id.clone(), self.metadata());
        payload::encode_record(&Record { id, scene_id: None, metadata, fields }, policy)
    }

    /// Reads an annotation.
    ///
    /// # Errors
    /// `annotation_invalid`; as for [`payload::decode`].
    pub fn decode(bytes: &Buf, policy: &RecordPolicy, notes: &mut Notes) -> Result<Self> {
        let mut carrier = payload::decode(bytes, policy, notes)?;
        let fields = std::mem::take(&mut carrier.fields);
        let metadata = Value::Object(std::mem::take(&mut carrier.metadata));
        let place = notes.place.clone();
        let shape = |e: ShapeError| {
            let path = e.path().replacen('$', "$.metadata", 1);
            let message = super::text::said(&e);
            let place = place.clone().json(path);
            Error::new(Kind::Corrupt, codes::ANNOTATION_INVALID, place, message)
        };
        let about = About::parse(At::root(&metadata), notes).map_err(shape)?;
        let real = fields.iter().any(|(name, _)| name != EMPTY_FIELD);
        if about.empty_fields && real {
            let message =
                "expected no fields where empty_fields is true, found some, which do not count";
            notes.add(Severity::Warning, codes::ANNOTATION_LOOSE, None, message);
        }
        Ok(Self {
            source_record_id: carrier.id,
            source_index: about.source_index,
            status: about.status,
            detail_status: about.detail_status,
            values: about.values,
            provenance: about.provenance,
            fields: if about.empty_fields { Vec::new() } else { fields },
        })
    }
}

struct About {
    source_index: u64,
    status: Status,
    detail_status: Option<String>,
    values: Object,
    provenance: Object,
    empty_fields: bool,
}

impl About {
    fn parse(metadata: At<'_>, notes: &mut Notes) -> Result<Self, ShapeError> {
        let at = metadata.field(ANNOTATION)?;
        let object = |key| match at.optional(key)? {
            Some(at) => at.object().cloned(),
            None => Ok(Object::new()),
        };
        let detail = at.optional("detail_status")?.filter(|at| !at.value().is_null());
        let detail_status = match detail {
            Some(at) if at.str()?.is_empty() => {
                return Err(at.unexpected("a text that is not empty, or null"));
            }
            Some(at) => Some(at.str()?.to_owned()),
            None => None,
        };
        let about = Self {
            source_index: at.field("source_index")?.u64()?,
            status: Status::parse(at.field("status")?)?,
            detail_status,
            values: object("values")?,
            provenance: object("provenance")?,
            empty_fields: at.field("empty_fields")?.bool()?,
        };
        let only = metadata.object()?.len() == 1;
        let known = |key: &str| KEYS.contains(&key);
        if notes.kept() && (!only || at.entries()?.any(|(key, _)| !known(key))) {
            let message =
                "expected the annotation and nothing else, found other keys, which do not count";
            notes.add(Severity::Warning, codes::ANNOTATION_LOOSE, None, message);
        }
        Ok(about)
    }
}

/// The error for an annotation that is not about the record at its place.
///
/// # Errors
/// `annotation_mismatch`.
pub fn check_source(found: &Annotation, ordinal: u64, id: Option<&str>) -> Result<()> {
    let wrong = |expected: String, found: String| {
        let message = format!("expected {expected}, found {found}");
        Err(Error::new(Kind::Corrupt, codes::ANNOTATION_MISMATCH, Place::default(), message))
    };
    if found.source_index != ordinal {
        let expected = format!("an annotation of record {ordinal} of the dataset");
        return wrong(expected, format!("one of record {}", found.source_index));
    }
    match id {
        Some(id) if id == found.source_record_id => Ok(()),
        Some(id) => wrong(format!("record id {id:?}"), format!("{:?}", found.source_record_id)),
        None => wrong("a record with an id".to_owned(), "one without".to_owned()),
    }
}

/// An annotation whose metadata are those of a carrier, such as a sample that was read.
///
/// # Errors
/// `annotation_invalid`.
pub fn from_metadata(
    id: String,
    metadata: &Object,
    fields: Vec<(String, RecordField)>,
) -> Result<Annotation> {
    let value = Value::Object(metadata.clone());
    let place = Place::default();
    let about = About::parse(At::root(&value), &mut Notes::silent(place.clone()));
    let about = about.map_err(|e| misshapen(codes::ANNOTATION_INVALID, &e, &place))?;
    Ok(Annotation {
        source_record_id: id,
        source_index: about.source_index,
        status: about.status,
        detail_status: about.detail_status,
        values: about.values,
        provenance: about.provenance,
        fields,
    })
}
