//! Errors of documents whose members are not what they should be.

use packstone_container::json::ShapeError;
use packstone_io::Kind;

use crate::error::{Error, Place};

/// The error of a member, under `code`, with its JSON path as place.
pub(super) fn shape_error(error: ShapeError, code: &'static str) -> Error {
    let message = match &error {
        ShapeError::Unexpected { expected, found, .. } => {
            format!("expected {expected}, found {found}")
        }
        _ => "expected this member, found none".to_owned(),
    };
    Error::new(Kind::Invalid, code, Place::default().json(error.path()), message)
}
