//! What is said where a target cannot hold everything, or its original library could not read it.

use packstone_io::Kind;

use crate::error::{Error, Place};
use crate::model::{Fidelity, Unreadable};

/// The error of a writer that would lose what the report tells of.
pub fn would_lose(format: &str, fidelity: &Fidelity) -> Error {
    let lost = fidelity.losses.iter().filter(|loss| !loss.carried);
    let lost: Vec<_> = lost
        .map(|loss| match loss.field.as_str() {
            "" => loss.what.clone(),
            field => format!("{field}: {}", loss.what),
        })
        .collect();
    let message = format!(
        "expected a format that holds everything, found that {format} would lose: {}",
        lost.join("; ")
    );
    Error::new(Kind::Unsupported, "ops/would_lose", Place::default(), message)
}

pub(super) fn unreadable(format: &str, fidelity: &Fidelity) -> Error {
    let kept: Vec<_> = fidelity.unreadable.iter().map(Unreadable::text).collect();
    let message = format!(
        "expected a copy that the original library of {format} reads, found that it could not: {}",
        kept.join("; ")
    );
    Error::new(Kind::Unsupported, "ops/unreadable", Place::default(), message)
}
