//! What went wrong with a file, sorted by what the caller can do about it.

use std::fmt;

/// What a caller can do about an error; shared by all layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// A file, dataset, collection or record is not there.
    NotFound,
    /// The target exists already.
    Exists,
    /// The operating system refuses, or a path would leave its root.
    Denied,
    /// Somebody else changed the same thing in between.
    Conflict,
    /// Valid, but this version of packstone cannot do it.
    Unsupported,
    /// The request or document breaks a rule of its format.
    Invalid,
    /// Stored bytes are damaged.
    Corrupt,
    /// A limit on size, depth or count was reached.
    Limit,
    /// The operating system reported a fault.
    Io,
    /// The caller asked to stop.
    Cancelled,
}

impl Kind {
    /// The name used in JSON output and in Python.
    pub fn name(self) -> &'static str {
        match self {
            Kind::NotFound => "not_found",
            Kind::Exists => "exists",
            Kind::Denied => "denied",
            Kind::Conflict => "conflict",
            Kind::Unsupported => "unsupported",
            Kind::Invalid => "invalid",
            Kind::Corrupt => "corrupt",
            Kind::Limit => "limit",
            Kind::Io => "io",
            Kind::Cancelled => "cancelled",
        }
    }
}

/// A failed file operation: what was tried, on which path, and why it failed.
#[derive(Debug)]
pub struct IoError {
    kind: Kind,
    action: &'static str,
    path: String,
    source: Option<std::io::Error>,
    detail: String,
}

impl IoError {
    /// An error without an operating system cause.
    pub fn new(
        kind: Kind,
        action: &'static str,
        path: impl Into<String>,
        detail: impl Into<String>,
    ) -> Self {
        Self { kind, action, path: path.into(), source: None, detail: detail.into() }
    }

    /// Wraps an operating system error; its kind follows from the cause.
    pub fn os(action: &'static str, path: impl Into<String>, source: std::io::Error) -> Self {
        use std::io::ErrorKind as E;
        let kind = match source.kind() {
            E::NotFound | E::NotADirectory => Kind::NotFound,
            E::AlreadyExists => Kind::Exists,
            E::PermissionDenied | E::ReadOnlyFilesystem | E::CrossesDevices => Kind::Denied,
            E::OutOfMemory => Kind::Limit,
            E::Interrupted => Kind::Cancelled,
            _ => Kind::Io,
        };
        Self { kind, action, path: path.into(), detail: String::new(), source: Some(source) }
    }

    /// What the caller can do about it.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The path, relative to its root where there is one.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The reason alone, without action and path.
    pub fn reason(&self) -> String {
        match &self.source {
            Some(source) if self.detail.is_empty() => source.to_string(),
            Some(source) => format!("{}: {source}", self.detail),
            None => self.detail.clone(),
        }
    }
}

impl fmt::Display for IoError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot {} {}: {}", self.action, self.path, self.reason())
    }
}

impl std::error::Error for IoError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|e| e as _)
    }
}
