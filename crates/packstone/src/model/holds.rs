//! What a format has a word for, so that the rest can be carried in other words.

use super::dtype::DType;

/// What the samples of a format can be made of.
#[derive(Clone, Copy, Debug)]
pub struct Holds {
    /// Keys of several names.
    pub nested: bool,
    /// Arrays whose shape differs from sample to sample.
    pub varying: bool,
    /// Text of any length.
    pub text: bool,
    /// Bytes of any length.
    pub bytes: bool,
    /// JSON values.
    pub json: bool,
    /// Metadata of each sample.
    pub metadata: bool,
    /// Arrays without elements.
    pub empty_arrays: bool,
    /// Collections without samples.
    pub empty_collections: bool,
    /// Elements of fixed size.
    pub dtype: fn(&DType) -> bool,
    /// Names that no field can have.
    pub reserved: &'static [&'static str],
    /// The names that collections can have, where not every name will do.
    pub collections: Option<&'static [&'static str]>,
    /// True for a name that a collection can have, where any but a few will do.
    pub collection_name: fn(&str) -> bool,
}

impl Holds {
    /// A format that has a word for everything.
    pub const ALL: Self = Self {
        nested: true,
        varying: true,
        text: true,
        bytes: true,
        json: true,
        metadata: true,
        empty_arrays: true,
        empty_collections: true,
        dtype: |_| true,
        reserved: &[],
        collections: None,
        collection_name: |_| true,
    };
}
