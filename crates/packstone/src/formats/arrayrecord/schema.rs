//! What records can be made of.

use std::sync::Arc;

use packstone_io::Kind;

use super::codes;
use super::layout::RECORD;
use super::parts::frame::Frame;
use crate::error::{Error, Place, Result};
use crate::model::{DType, Field, Holds, Schema};

/// The field of a plain file.
pub fn plain() -> Schema {
    Schema::new(vec![Field::new(RECORD, DType::Bytes, [])])
}

/// What records can be made of.
pub fn holds() -> Holds {
    Holds {
        nested: false,
        varying: false,
        metadata: false,
        dtype: |dtype| *dtype != DType::Int,
        ..Holds::ALL
    }
}

/// The frame of samples with these fields.
///
/// # Errors
/// `not_writable`, naming the field.
pub fn check_writable(schema: &Schema) -> Result<Frame> {
    let refused = |place: Place, expected: &str, found: String| {
        let message = format!("expected {expected}, found {found}");
        Err(Error::new(Kind::Unsupported, codes::NOT_WRITABLE, place, message))
    };
    for (at, field) in schema.fields.iter().enumerate() {
        let place = || Place::default().field(field.key.to_string());
        if field.dtype == DType::Int || field.varying {
            let expected = "values of one shape and of a dtype with a size, text or bytes";
            return refused(place(), expected, field.dtype.to_string());
        }
        if field.key.parts().len() != 1 {
            return refused(
                place(),
                "a name without parts",
                format!("{:?}", field.key.to_string()),
            );
        }
        if schema.fields.iter().skip(at + 1).any(|other| other.key == field.key) {
            return refused(place(), "each name once", format!("{} again", field.key));
        }
    }
    match Frame::new(Arc::new(schema.clone())) {
        Some(frame) => Ok(frame),
        None => refused(Place::default(), "a field of 64 bits at most", "none".to_owned()),
    }
}
