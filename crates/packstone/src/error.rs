//! The one public error: what the caller can do, a stable code, the place, and what was expected and found.

use std::fmt;

use packstone_container::json::{Object, Value};
use packstone_io::{IoError, Kind};

/// Where in a dataset something is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Place {
    /// File, relative to the dataset.
    pub file: Option<String>,
    /// Byte offset in the file (in the decoded bytes where the file is compressed).
    pub offset: Option<u64>,
    /// Record (example, sample) number in the file.
    pub record: Option<u64>,
    /// Field of the record.
    pub field: Option<String>,
    /// Path in a JSON document, such as `$.splits.train`.
    pub json_path: Option<String>,
}

impl Place {
    /// A whole file.
    pub fn file(path: impl fmt::Display) -> Self {
        Self { file: Some(path.to_string()), ..Self::default() }
    }

    /// The same place at a byte offset.
    #[must_use]
    pub fn at(mut self, offset: u64) -> Self {
        self.offset = Some(offset);
        self
    }

    /// The same place at a record.
    #[must_use]
    pub fn record(mut self, record: u64) -> Self {
        self.record = Some(record);
        self
    }

    /// The same place at a field.
    #[must_use]
    pub fn field(mut self, field: impl Into<String>) -> Self {
        self.field = Some(field.into());
        self
    }

    /// The same place at a path in its JSON document.
    #[must_use]
    pub fn json(mut self, path: impl Into<String>) -> Self {
        self.json_path = Some(path.into());
        self
    }

    /// The parts that are known, for JSON output.
    pub fn to_json(&self) -> Value {
        let mut out = Object::new();
        let texts = [("file", &self.file), ("field", &self.field), ("json_path", &self.json_path)];
        for (name, text) in texts {
            if let Some(text) = text {
                out.insert(name, Value::from(text.as_str()));
            }
        }
        for (name, number) in [("offset", self.offset), ("record", self.record)] {
            if let Some(number) = number {
                out.insert(name, Value::from(number));
            }
        }
        Value::Object(out)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        parts.extend(self.file.clone());
        parts.extend(self.json_path.clone());
        parts.extend(self.record.map(|n| format!("record {n}")));
        parts.extend(self.field.as_ref().map(|name| format!("field {name:?}")));
        parts.extend(self.offset.map(|n| format!("byte {n}")));
        f.write_str(&parts.join(", "))
    }
}

/// Any failure of the library.
#[derive(Debug)]
pub struct Error(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: Kind,
    code: &'static str,
    place: Place,
    message: String,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// A result of the library.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An error with its stable code, such as `sedpack/hash_mismatch`.
    pub fn new(kind: Kind, code: &'static str, place: Place, message: impl Into<String>) -> Self {
        Self(Box::new(Inner { kind, code, place, message: message.into(), source: None }))
    }

    /// The same error with its cause.
    #[must_use]
    pub fn because(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// The same error at another place.
    #[must_use]
    pub fn with_place(mut self, place: Place) -> Self {
        self.0.place = place;
        self
    }

    /// The same error under another code.
    #[must_use]
    pub fn with_code(mut self, code: &'static str) -> Self {
        self.0.code = code;
        self
    }

    /// What the caller can do about it.
    pub fn kind(&self) -> Kind {
        self.0.kind
    }

    /// The stable code; `docs/findings.md` explains each.
    pub fn code(&self) -> &'static str {
        self.0.code
    }

    /// Where it is.
    pub fn place(&self) -> &Place {
        &self.0.place
    }

    /// What is wrong, without code and place.
    pub fn message(&self) -> &str {
        &self.0.message
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = self.0.place.to_string();
        let gap = if place.is_empty() { "" } else { ": " };
        write!(f, "{place}{gap}{} [{}]", self.0.message, self.0.code)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_deref().map(|e| e as _)
    }
}

impl From<IoError> for Error {
    fn from(error: IoError) -> Self {
        let code = match error.kind() {
            Kind::NotFound => "io/not_found",
            Kind::Exists => "io/exists",
            Kind::Denied => "io/denied",
            Kind::Conflict => "io/conflict",
            Kind::Invalid => "io/not_a_file",
            Kind::Corrupt => "io/short_file",
            Kind::Limit => "io/out_of_memory",
            Kind::Cancelled => "io/interrupted",
            _ => "io/fault",
        };
        Self::new(error.kind(), code, Place::file(error.path()), error.reason()).because(error)
    }
}
