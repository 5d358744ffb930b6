//! Samples that are kept as a selection: a document of its own, beside the dataset that it leads to.

use packstone_io::Kind;

use crate::error::{Error, Place};

/// What the document of a selection says it is, in its member `format`; the member `dataset` has the
/// [id](super::Format::id).
pub const SELECTION: &str = "packstone.view";

/// Samples to be kept as a selection.
pub struct Selected<'s> {
    /// Their collection.
    pub collection: &'s str,
    /// Their indices in it, in the order of the selection.
    pub samples: &'s [u64],
    /// How they were found.
    pub condition: Option<&'s str>,
}

/// The error of a format without saved selections.
pub(super) fn no_selections(format: &str) -> Error {
    let message = format!("expected a format that keeps selections of samples, found {format}");
    Error::new(Kind::Unsupported, "format/no_selections", Place::default(), message)
}
