//! What a strict reader says of a value that should not be there.

use std::borrow::Cow;

use thiserror::Error;

use super::path;
use super::value::Value;

/// A value is not what the document should have in its place.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ShapeError {
    /// A member or item is absent.
    #[error("{path}: missing")]
    Missing {
        /// JSON path of what is missing.
        path: String,
    },
    /// A value is of another kind, or of the right kind but not a valid one.
    #[error("{path}: expected {expected}, found {found}")]
    Unexpected {
        /// JSON path of the value.
        path: String,
        /// What had to be there.
        expected: Cow<'static, str>,
        /// The value, if it is short, or its kind.
        found: String,
    },
}

impl ShapeError {
    /// JSON path of the place.
    #[must_use]
    pub fn path(&self) -> &str {
        match self {
            Self::Missing { path } | Self::Unexpected { path, .. } => path,
        }
    }
}

/// A value for a message: scalars themselves, cut to a fit length, and of containers the kind.
pub(super) fn describe(value: &Value) -> String {
    match value {
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => match path::shown(number.text()) {
            (head, true) => format!("{head}…"),
            (text, false) => text.to_owned(),
        },
        Value::String(text) => {
            let mut quoted = String::new();
            path::push_quoted(&mut quoted, text);
            quoted
        }
        other => other.kind().to_owned(),
    }
}
