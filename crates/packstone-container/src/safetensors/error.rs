//! What can be wrong with a SafeTensors buffer.

use crate::json::{JsonError, ShapeError};

/// Why a buffer was refused, or cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SafeTensorsError {
    /// The buffer ends before the header does.
    #[error("expected a header of {expected} bytes and its length, found {found} bytes")]
    Truncated {
        /// Bytes of the header as announced, without the length; 0 where that is cut off too.
        expected: u64,
        /// Bytes present.
        found: u64,
    },
    /// The header is longer than allowed.
    #[error("expected a header of at most {limit} bytes, found {found} announced")]
    HeaderTooLong {
        /// The limit.
        limit: u64,
        /// The announced length.
        found: u64,
    },
    /// The header is not JSON, or names something twice.
    #[error("header: {0}")]
    Json(#[from] JsonError),
    /// The header has another shape than it should.
    #[error("header: {0}")]
    Shape(#[from] ShapeError),
    /// More tensors than allowed.
    #[error("expected at most {limit} tensors, found {found}")]
    TooMany {
        /// The limit.
        limit: u64,
        /// Tensors present.
        found: u64,
    },
    /// A type that the format does not have.
    #[error("expected tensor {name:?} of a SafeTensors type, found {found:?}")]
    Type {
        /// The tensor.
        name: String,
        /// The type's name.
        found: String,
    },
    /// The bytes of a tensor do not fit 64 bits, or packed elements do not fill the last byte.
    #[error("expected tensor {name:?} of a whole number of bytes below 2⁶⁴")]
    Size {
        /// The tensor.
        name: String,
    },
    /// A tensor is longer or shorter than its type and shape say.
    #[error("expected {expected} bytes of tensor {name:?}, found {found}")]
    Length {
        /// The tensor.
        name: String,
        /// Bytes that type and shape ask for.
        expected: u64,
        /// Bytes between its offsets.
        found: u64,
    },
    /// Offsets that go back.
    #[error("expected the end of tensor {name:?} at {start} or later, found {end}")]
    Reversed {
        /// The tensor.
        name: String,
        /// Its first byte.
        start: u64,
        /// The byte after its last.
        end: u64,
    },
    /// A tensor begins inside of another.
    #[error(
        "expected tensor {name:?} at byte {expected} of the data, found it at {found}: it overlaps another"
    )]
    Overlap {
        /// The tensor.
        name: String,
        /// Where the tensors before it end.
        expected: u64,
        /// Where it begins.
        found: u64,
    },
    /// Bytes between tensors that belong to none.
    #[error(
        "expected tensor {name:?} at byte {expected} of the data, found it at {found}: there is a gap before"
    )]
    Gap {
        /// The tensor.
        name: String,
        /// Where the tensors before it end.
        expected: u64,
        /// Where it begins.
        found: u64,
    },
    /// Tensors end before or after the data does.
    #[error("expected {expected} bytes of data, found {found}")]
    Data {
        /// Where the last tensor ends.
        expected: u64,
        /// Bytes present.
        found: u64,
    },
    /// Two tensors of one name are to be written.
    #[error("expected distinct names, found {name:?} again")]
    Repeated {
        /// The name.
        name: String,
    },
    /// A tensor is to be written under the name of the metadata.
    #[error("expected a name other than \"__metadata__\"")]
    Reserved,
}
