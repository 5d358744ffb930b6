//! What is unusual in a document and no error, and errors that say where.

use packstone_container::json::{At, Object, ShapeError, Value};

use super::super::codes;
use super::text::misshapen;
use crate::error::{Error, Place, Result};
use crate::model::{Finding, Severity};

/// Collects what is unusual.
#[derive(Debug)]
pub struct Notes {
    /// The document.
    pub place: Place,
    /// What was found.
    pub findings: Vec<Finding>,
    /// False where nobody asks.
    keep: bool,
}

impl Notes {
    /// For the document at `place`.
    pub fn new(place: Place) -> Self {
        Self { place, findings: Vec::new(), keep: true }
    }

    /// For readers that want the content and nothing else.
    pub fn silent(place: Place) -> Self {
        Self { keep: false, ..Self::new(place) }
    }

    /// True where somebody asks for notes.
    pub fn kept(&self) -> bool {
        self.keep
    }

    /// Notes something about a value, or about the document.
    pub fn add(
        &mut self,
        severity: Severity,
        code: &'static str,
        at: Option<At<'_>>,
        message: impl Into<String>,
    ) {
        if self.keep {
            let place = self.place.clone();
            let place = at.map_or(place.clone(), |at| place.json(at.path()));
            self.findings.push(Finding::new(severity, code, place, message));
        }
    }

    /// Notes members other than the known ones, which are kept and mean nothing here.
    ///
    /// # Errors
    /// Where this is no object.
    pub fn unknown(&mut self, at: At<'_>, known: &[&str]) -> Result<(), ShapeError> {
        let object = at.object()?;
        if !self.keep {
            return Ok(());
        }
        for key in object.keys() {
            if !key.as_str().is_some_and(|name| known.contains(&name)) {
                let message = format!("expected the keys {}, found {key}", known.join(", "));
                self.add(Severity::Info, codes::UNKNOWN_KEY, Some(at), message);
            }
        }
        Ok(())
    }

    /// A `metadata` object. Like the original, takes whatever Python calls false for an empty one, and notes it.
    ///
    /// # Errors
    /// Where it is something else.
    pub fn metadata(&mut self, at: At<'_>) -> Result<Object, ShapeError> {
        let Some(at) = at.optional("metadata")? else { return Ok(Object::new()) };
        match at.value() {
            Value::Object(object) => Ok(object.clone()),
            value if is_falsy(value) => {
                let message = format!("expected an object, found {value}, which is read as {{}}");
                self.add(Severity::Warning, codes::METADATA_LOOSE, Some(at), message);
                Ok(Object::new())
            }
            _ => Err(at.unexpected("an object")),
        }
    }

    /// The error for a value of another shape.
    pub fn misshapen(&self, code: &'static str, error: &ShapeError) -> Error {
        misshapen(code, error, &self.place)
    }
}

/// What Python's `or` passes over.
fn is_falsy(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Number(number) => number.to_f64() == 0.0,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

/// The same error with the file and the record, where it does not name them itself.
pub fn within(error: Error, file: &str, record: Option<u64>) -> Error {
    let mut place = error.place().clone();
    place.file.get_or_insert_with(|| file.to_owned());
    place.record = place.record.or(record);
    error.with_place(place)
}
