//! What can be wrong with a `.npy` array.

/// Why an array was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NpyError {
    /// The first six bytes are not NumPy's.
    #[error("expected \\x93NUMPY at byte 0, found another start")]
    Magic,
    /// A version that does not exist yet.
    #[error("expected npy version 1.0, 2.0 or 3.0, found {major}.{minor}")]
    Version {
        /// Major version.
        major: u8,
        /// Minor version.
        minor: u8,
    },
    /// The header reaches past the end.
    #[error("expected a header of {expected} bytes, found {found}")]
    Truncated {
        /// Bytes needed.
        expected: u64,
        /// Bytes present.
        found: u64,
    },
    /// The header is larger than any real one.
    #[error("expected a header of at most {limit} bytes, found {found} announced")]
    HeaderTooLong {
        /// The limit.
        limit: u64,
        /// The announced length.
        found: u64,
    },
    /// The header text is not the expected literal.
    #[error("expected {expected} at byte {offset}")]
    Syntax {
        /// What should stand there.
        expected: &'static str,
        /// Where, from the start of the array.
        offset: u64,
    },
    /// A key is missing, unknown or given twice.
    #[error("expected the keys descr, fortran_order and shape once each, found {found}")]
    Keys {
        /// What is there instead.
        found: &'static str,
    },
    /// An array of Python objects, which only a pickle loader could read.
    #[error("cannot read an object array: its data is a pickle")]
    Object,
    /// A structured or nested type.
    #[error("cannot read an array of a structured type")]
    Structured,
    /// A type name that NumPy does not store.
    #[error("expected a NumPy type such as <f4, found {descr:?}")]
    Descr {
        /// The name found.
        descr: String,
    },
    /// The shape multiplies to more than 64 bits hold.
    #[error("expected a shape of less than 2⁶⁴ bytes")]
    Overflow,
    /// There is more or less data than the shape asks for.
    #[error("expected {expected} bytes of array data, found {found}")]
    Length {
        /// Bytes the shape asks for.
        expected: u64,
        /// Bytes present.
        found: u64,
    },
}
