//! What a check found.

use std::fmt;

use packstone_container::json::{Object, Value};

use crate::error::{Error, Place};

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing; the dataset is whole.
    Info,
    /// packstone reads it, but something is off: another reader may not.
    Warning,
    /// Data is damaged, missing or contradictory.
    Error,
}

impl Severity {
    /// The name in JSON output.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Info => "info",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

/// One thing that a check found, under the same codes as errors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How much it matters.
    pub severity: Severity,
    /// The stable code; `docs/findings.md` explains each.
    pub code: &'static str,
    /// Where it is.
    pub place: Place,
    /// What is wrong: `expected X, found Y`.
    pub message: String,
}

impl Finding {
    /// A finding.
    pub fn new(
        severity: Severity,
        code: &'static str,
        place: Place,
        message: impl Into<String>,
    ) -> Self {
        Self { severity, code, place, message: message.into() }
    }

    /// For JSON output.
    pub fn to_json(&self) -> Value {
        let mut out = Object::new();
        out.insert("type", Value::from("finding"));
        out.insert("severity", Value::from(self.severity.name()));
        out.insert("code", Value::from(self.code));
        if let Value::Object(place) = self.place.to_json() {
            for (name, value) in place {
                out.insert(name, value);
            }
        }
        out.insert("message", Value::from(self.message.as_str()));
        Value::Object(out)
    }
}

impl From<Error> for Finding {
    fn from(error: Error) -> Self {
        Self::new(Severity::Error, error.code(), error.place().clone(), error.message())
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = self.place.to_string();
        let gap = if place.is_empty() { "" } else { ": " };
        write!(f, "{}: {place}{gap}{} [{}]", self.severity.name(), self.message, self.code)
    }
}
