//! The formats that packstone knows: one line each.

use packstone_io::{Kind, Root};

use crate::error::{Error, Place, Result};
use crate::format::Format;
use crate::formats::arrayrecord::ArrayRecord;
use crate::formats::datasetrt::DatasetRt;
use crate::formats::sds::Sds;
use crate::formats::sedpack::Sedpack;
use crate::formats::tensordict::TensorDict;

/// All formats.
pub static FORMATS: &[&dyn Format] = &[&Sedpack, &TensorDict, &DatasetRt, &Sds, &ArrayRecord];

/// A format by its [id](Format::id).
///
/// # Errors
/// `format/unknown` with the ids there are.
pub fn format(id: &str) -> Result<&'static dyn Format> {
    FORMATS.iter().copied().find(|f| f.id() == id).ok_or_else(|| {
        let known: Vec<_> = FORMATS.iter().map(|f| f.id()).collect();
        let message = format!("expected one of {}, found {id:?}", known.join(", "));
        Error::new(Kind::Invalid, "format/unknown", Place::default(), message)
    })
}

/// The format of what lies in `root`.
///
/// # Errors
/// `format/unrecognized` where no format knows it.
pub fn probe(root: &dyn Root) -> Result<&'static dyn Format> {
    for format in FORMATS {
        if format.recognizes(root)? {
            return Ok(*format);
        }
    }
    let marks: Vec<_> = FORMATS.iter().map(|f| format!("{} ({})", f.mark(), f.id())).collect();
    let message = format!("not a dataset: expected {}, found none of these", marks.join(", "));
    Err(Error::new(Kind::NotFound, "format/unrecognized", Place::file(root.label()), message))
}
