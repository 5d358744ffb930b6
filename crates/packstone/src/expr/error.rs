//! Errors with their place in the text.

use packstone_io::Kind;

use crate::error::{Error, Place};

pub(super) const SYNTAX: &str = "expr/syntax";
pub(super) const TOO_DEEP: &str = "expr/too_deep";
pub(super) const UNKNOWN_COLUMN: &str = "expr/unknown_column";
pub(super) const TYPE_MISMATCH: &str = "expr/type_mismatch";
pub(super) const OVERFLOW: &str = "expr/overflow";

/// An error of the text at byte `at`.
pub(super) fn error(code: &'static str, at: usize, message: impl Into<String>) -> Error {
    Error::new(Kind::Invalid, code, Place::default().at(at as u64), message)
}

/// Something else should stand at byte `at`.
pub(super) fn syntax(at: usize, expected: &str, found: &str) -> Error {
    error(SYNTAX, at, format!("expected {expected}, found {found}"))
}

/// A value of another type than its place asks for.
pub(super) fn mismatch(at: usize, expected: &str, found: &str) -> Error {
    error(TYPE_MISMATCH, at, format!("expected {expected}, found {found}"))
}

/// Integers whose result leaves the 128 bits.
pub(super) fn overflow(at: usize) -> Error {
    error(OVERFLOW, at, "expected a result of at most 128 bits, found a larger one")
}
