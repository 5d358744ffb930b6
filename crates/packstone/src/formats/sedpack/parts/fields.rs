//! What the two control documents share: strict reading with places, coercions, unknown keys.

use packstone_container::Limits;
use packstone_container::json::{
    self, At, NonFinite, NoteKind, Object, ReadOptions, ShapeError, Style, Value,
};
use packstone_io::Kind;

use super::super::codes;
use crate::error::{Error, Place, Result};
use crate::model::{Finding, Severity};

/// The text of a document as the original spells it, except that a bare `NaN` that was read stays what it is.
pub fn text(document: &mut Object) -> String {
    let style = Style { non_finite: NonFinite::Token, ..Style::PYDANTIC };
    let value = Value::Object(std::mem::take(document));
    let text = json::write(&value, &style);
    if let Value::Object(object) = value {
        *document = object;
    }
    text
}

/// Collects what is unusual in a document and no error.
#[derive(Debug)]
pub struct Notes {
    /// The document.
    pub place: Place,
    /// What was found.
    pub findings: Vec<Finding>,
}

impl Notes {
    /// For the document at `place`.
    pub fn new(place: Place) -> Self {
        Self { place, findings: Vec::new() }
    }

    /// Notes something about a value.
    pub fn add(&mut self, severity: Severity, code: &'static str, at: At<'_>, message: String) {
        let place = self.place.clone().json(at.path());
        self.findings.push(Finding::new(severity, code, place, message));
    }

    /// Notes members other than the known ones.
    pub fn unknown(&mut self, at: At<'_>, known: &[&str]) -> Result<(), ShapeError> {
        for key in at.object()?.keys() {
            if !key.as_str().is_some_and(|name| known.contains(&name)) {
                let message = format!("expected the keys {}, found {key}", known.join(", "));
                self.add(Severity::Info, codes::UNKNOWN_KEY, at, message);
            }
        }
        Ok(())
    }

    /// An integer, also in the spellings that the original accepts (`"7"`, `7.0`, `true`), which are noted.
    pub fn integer(&mut self, at: At<'_>) -> Result<i64> {
        let lax = at.lax_i64().map_err(|e| shape_error(e, &self.place))?;
        if lax.coerced {
            let message =
                format!("expected an integer, found {} (read as {})", at.value(), lax.value);
            self.add(Severity::Warning, codes::LOOSE_VALUE, at, message);
        }
        Ok(lax.value)
    }

    /// A count: an integer that is not negative.
    pub fn count(&mut self, at: Option<At<'_>>) -> Result<u64> {
        let Some(at) = at else { return Ok(0) };
        let n = self.integer(at)?;
        u64::try_from(n)
            .map_err(|_| shape_error(at.unexpected("a count of zero or more"), &self.place))
    }
}

/// Reads a document; duplicate keys and bare `NaN` are noted.
///
/// # Errors
/// `json_invalid` with the byte.
pub fn read(bytes: &[u8], limits: &Limits, notes: &mut Notes) -> Result<Value> {
    let options = ReadOptions::default().with_limits(*limits).with_nan(true);
    let document = json::read(bytes, &options).map_err(|error| {
        let place = notes.place.clone().at(error.offset as u64);
        Error::new(Kind::Corrupt, codes::JSON_INVALID, place, error.to_string())
    })?;
    for note in document.notes {
        let (code, what) = match note.kind {
            NoteKind::DuplicateKey => {
                (codes::DUPLICATE_KEY, "expected each key once, found it again")
            }
            _ => (codes::LOOSE_VALUE, "expected a JSON number, found NaN or an infinity"),
        };
        let place = notes.place.clone().json(note.path).at(note.offset as u64);
        notes.findings.push(Finding::new(Severity::Warning, code, place, what));
    }
    Ok(document.value)
}

/// A member that has the wrong shape.
pub fn shape_error(error: ShapeError, place: &Place) -> Error {
    let message = match &error {
        ShapeError::Missing { .. } => "expected this member, found none".to_owned(),
        ShapeError::Unexpected { expected, found, .. } => {
            format!("expected {expected}, found {found}")
        }
        other => other.to_string(),
    };
    Error::new(Kind::Invalid, codes::SCHEMA_INVALID, place.clone().json(error.path()), message)
}

/// The `custom_metadata` of an object; empty where absent.
///
/// # Errors
/// `schema_invalid` where it is no object.
pub fn custom_metadata(at: At<'_>, place: &Place) -> Result<Object> {
    let found = at.optional("custom_metadata").and_then(|at| at.map(At::object).transpose());
    Ok(found.map_err(|e| shape_error(e, place))?.cloned().unwrap_or_default())
}

/// The first number below `at` that JSON cannot spell: `NaN` or an infinity.
pub fn non_finite(at: At<'_>) -> Option<At<'_>> {
    match at.value() {
        Value::Number(number) => (!number.is_standard()).then_some(at),
        Value::Array(_) => at.items().ok()?.find_map(non_finite),
        Value::Object(_) => at.entries().ok()?.find_map(|(_, at)| non_finite(at)),
        _ => None,
    }
}

/// The list of checksums of an object; empty where absent.
///
/// # Errors
/// `schema_invalid` where it is no list of texts.
pub fn checksums(at: At<'_>, place: &Place) -> Result<Vec<String>> {
    let shape = |e| shape_error(e, place);
    let Some(list) = at.optional("hash_checksums").map_err(shape)? else { return Ok(Vec::new()) };
    list.items().map_err(shape)?.map(|item| item.str().map(str::to_owned).map_err(shape)).collect()
}

/// Takes the object under `name` out for editing; empty where it is absent or something else.
pub fn take_object(object: &mut Object, name: &str) -> Object {
    match object.get_mut(name) {
        Some(Value::Object(inner)) => std::mem::take(inner),
        _ => Object::new(),
    }
}

/// Sets a member, or removes it where it has its default value.
pub fn set_or_omit(object: &mut Object, name: &str, value: impl Into<Value>, is_default: bool) {
    if is_default {
        object.remove(name);
    } else {
        object.insert(name, value);
    }
}

/// Brings the members of an object into the order of `names`; others follow as they stood.
pub fn sort_members(object: &mut Object, names: &[&str]) {
    let mut sorted = Object::new();
    for name in names {
        if let Some(value) = object.remove(name) {
            sorted.insert(*name, value);
        }
    }
    for (key, value) in std::mem::take(object) {
        sorted.insert(key, value);
    }
    *object = sorted;
}
