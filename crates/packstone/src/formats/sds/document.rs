//! The root document `root.json`: which dataset this is, and its one snapshot.
//!
//! ```text
//! dataset_id  format  layout_version  metadata {}  min_reader_version
//! record_codec {"name": "safetensors"}  shard_format {"name": "array_record"}  snapshot {path, stored_bytes}
//! ```
//!
//! Other keys are kept and mean nothing, except inside of `record_codec` and `shard_format`, where they may mean another
//! codec and are refused, as the original does. `metadata` may be missing, which the specification does not allow and
//! the original does; that is noted.

use std::cmp::Ordering;

use packstone_container::json::{At, Object, ShapeError, Value};
use packstone_io::Kind;

use super::codes;
use super::layout::{
    LAYOUT_VERSION, MIN_READER_VERSION, PRETTY, READER_VERSION, RECORD_CODEC, ROOT_FORMAT,
    SHARD_FORMAT,
};
use super::options::JsonPolicy;
use super::parts::notes::Notes;
use super::parts::reference::ObjectReference;
use super::parts::text::{misshapen, pythonic_object, read, spell};
use crate::error::{Error, Place, Result};
use crate::model::Severity;

const KEYS: [&str; 8] = [
    "dataset_id",
    "format",
    "layout_version",
    "metadata",
    "min_reader_version",
    "record_codec",
    "shard_format",
    "snapshot",
];

/// What `root.json` says.
#[derive(Clone, Debug)]
pub struct RootDocument {
    /// The name of the dataset.
    pub dataset_id: String,
    /// Its snapshot.
    pub snapshot: ObjectReference,
    /// What the dataset says about itself.
    pub metadata: Object,
    /// The document as it was read or will be written.
    pub document: Object,
}

impl RootDocument {
    /// A new document.
    pub fn new(dataset_id: &str, snapshot: ObjectReference, metadata: &Object) -> Self {
        let metadata = pythonic_object(metadata);
        let named = |name: &str| Object::from_iter([("name", name)]);
        let mut document = head(ROOT_FORMAT);
        document.insert("dataset_id", dataset_id);
        document.insert("metadata", Value::Object(metadata.clone()));
        document.insert("min_reader_version", MIN_READER_VERSION);
        document.insert("record_codec", named(RECORD_CODEC));
        document.insert("shard_format", named(SHARD_FORMAT));
        document.insert("snapshot", snapshot.to_value());
        Self { dataset_id: dataset_id.to_owned(), snapshot, metadata, document }
    }

    /// Its text.
    pub fn text(&self) -> String {
        spell(Value::Object(self.document.clone()), &PRETTY)
    }

    /// Reads the document.
    ///
    /// # Errors
    /// `json_invalid`, `duplicate_key`, `limit_exceeded`, `document_invalid`, `format_unknown`, `layout_unsupported`,
    /// `version_invalid`, `reader_too_old`, `path_invalid`.
    pub fn parse(bytes: &[u8], policy: &JsonPolicy, notes: &mut Notes) -> Result<Self> {
        let value = read(bytes, policy, notes)?;
        let at = At::root(&value);
        check_head(at, ROOT_FORMAT, notes)?;
        check_named(at, "record_codec", RECORD_CODEC, notes)?;
        check_named(at, "shard_format", SHARD_FORMAT, notes)?;
        let place = notes.place.clone();
        let shape = |e: ShapeError| misshapen(codes::DOCUMENT_INVALID, &e, &place);
        check_reader(at.optional("min_reader_version").map_err(shape)?, notes)?;
        let dataset_id = text(at.field("dataset_id").map_err(shape)?, notes)?;
        let snapshot = at.field("snapshot").map_err(shape)?;
        let snapshot = ObjectReference::parse(snapshot, codes::DOCUMENT_INVALID, notes)?;
        if at.optional("metadata").map_err(shape)?.is_none() {
            let message = "expected metadata, found none, which is read as {}";
            notes.add(Severity::Warning, codes::METADATA_LOOSE, Some(at), message);
        }
        let metadata = notes.metadata(at).map_err(shape)?;
        notes.unknown(at, &KEYS).map_err(shape)?;
        let document = at.object().map_err(shape)?.clone();
        Ok(Self { dataset_id, snapshot, metadata, document })
    }
}

/// A document that says what it is.
pub(super) fn head(format: &str) -> Object {
    Object::from_iter([("format", format), ("layout_version", LAYOUT_VERSION)])
}

/// Checks that a document is what it should be, in a layout that is known.
///
/// # Errors
/// `document_invalid`, `format_unknown`, `layout_unsupported`.
pub(super) fn check_head(at: At<'_>, format: &str, notes: &Notes) -> Result<()> {
    let shape = |e: ShapeError| notes.misshapen(codes::DOCUMENT_INVALID, &e);
    for (key, expected, code) in [
        ("format", format, codes::FORMAT_UNKNOWN),
        ("layout_version", LAYOUT_VERSION, codes::LAYOUT_UNSUPPORTED),
    ] {
        let found = at.field(key).map_err(shape)?;
        if found.value().as_str() != Some(expected) {
            let error = found.unexpected(format!("{expected:?}"));
            let place = notes.place.clone().json(error.path());
            let message = super::parts::text::said(&error);
            return Err(Error::new(Kind::Unsupported, code, place, message));
        }
    }
    Ok(())
}

fn check_named(at: At<'_>, key: &str, name: &str, notes: &Notes) -> Result<()> {
    let shape = |e: ShapeError| notes.misshapen(codes::DOCUMENT_INVALID, &e);
    let found = at.field(key).map_err(shape)?;
    let object = found.object().map_err(shape)?;
    if object.len() == 1 && object.get("name").and_then(Value::as_str) == Some(name) {
        return Ok(());
    }
    let message = format!("expected {{\"name\":\"{name}\"}}, found {}", found.value());
    let place = notes.place.clone().json(found.path());
    Err(Error::new(Kind::Unsupported, codes::FORMAT_UNKNOWN, place, message))
}

/// A text that is not empty.
pub(super) fn text(at: At<'_>, notes: &Notes) -> Result<String> {
    match at.value().as_str() {
        Some(text) if !text.is_empty() => Ok(text.to_owned()),
        _ => {
            let error = at.unexpected("a text that is not empty");
            Err(notes.misshapen(codes::DOCUMENT_INVALID, &error))
        }
    }
}

/// A nonnegative integer.
pub(super) fn count(at: At<'_>, key: &str, notes: &Notes) -> Result<u64> {
    at.field(key).and_then(At::u64).map_err(|e| notes.misshapen(codes::DOCUMENT_INVALID, &e))
}

fn check_reader(demand: Option<At<'_>>, notes: &Notes) -> Result<()> {
    let Some(at) = demand.filter(|at| !at.value().is_null()) else { return Ok(()) };
    let text = at.str().map_err(|e| notes.misshapen(codes::DOCUMENT_INVALID, &e))?;
    let place = notes.place.clone().json(at.path());
    let Some(demanded) = release(text) else {
        let message = format!("expected a version such as {MIN_READER_VERSION}, found {text:?}");
        return Err(Error::new(Kind::Invalid, codes::VERSION_INVALID, place, message));
    };
    let own = release(READER_VERSION).unwrap_or_default();
    if compare(&demanded, &own) == Ordering::Greater {
        let message = format!(
            "expected a demand for signal-dataset {READER_VERSION} or older, whose rules packstone reads by, found {text}"
        );
        return Err(Error::new(Kind::Unsupported, codes::READER_TOO_OLD, place, message));
    }
    Ok(())
}

/// The leading numbers of a version: digits of each component up to the first without any, at least three of them.
fn release(text: &str) -> Option<Vec<&str>> {
    let mut parts = Vec::new();
    for part in text.split('.') {
        let end = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
        match part.get(..end) {
            Some(number) if !number.is_empty() => parts.push(number.trim_start_matches('0')),
            _ => break,
        }
    }
    if parts.is_empty() {
        return None;
    }
    while parts.len() < 3 {
        parts.push("");
    }
    Some(parts)
}

/// Compares numbers of any size: without leading zeros, the longer one is the larger one.
fn compare(a: &[&str], b: &[&str]) -> Ordering {
    let key = |parts: &[&str]| parts.iter().map(|p| (p.len(), (*p).to_owned())).collect::<Vec<_>>();
    key(a).cmp(&key(b))
}

/// Where the root document is.
pub(super) fn root_place() -> Place {
    Place::file(super::layout::ROOT_DOCUMENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn newer(text: &str) -> Option<bool> {
        let demanded = release(text)?;
        Some(compare(&demanded, &release(READER_VERSION)?) == Ordering::Greater)
    }

    #[test]
    fn versions_compare_by_their_leading_numbers() {
        for old in
            ["0.4.0", "0.4", "0", "0.4.0rc9", "0.4.0+x", "0.4.x.9", "00.04", "0.3.99", "0.4.0."]
        {
            assert_eq!(newer(old), Some(false), "{old}");
        }
        for new in
            ["0.4.1", "1", "0.4.0.1", "0.5.0rc1", "0.10.0", "99999999999999999999.0.0", "0.04.01"]
        {
            assert_eq!(newer(new), Some(true), "{new}");
        }
        for unreadable in ["", "v0.1.0", ".1", "x"] {
            assert_eq!(newer(unreadable), None, "{unreadable}");
        }
    }
}
