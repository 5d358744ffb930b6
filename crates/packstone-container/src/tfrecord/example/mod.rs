//! `tf.train.Example`: named features, each a list of bytes, floats or integers.
//!
//! ```text
//! Example  { 1: Features }                  Features { 1: map entry { 1: name, 2: Feature } }*
//! Feature  { 1: BytesList | 2: FloatList | 3: Int64List }
//! BytesList { 1: bytes }*   FloatList { 1: packed f32 }   Int64List { 1: packed varints }
//! ```
//!
//! Writers order the entries by a hash; here they are sorted by name, and of entries with one name the last counts, as
//! in a protobuf map. Lists may be packed or not. Where a message holds a second value for something that occurs once
//! (two kinds in one feature), protobuf merges and writers never do: that is an error here.

mod build;
mod lists;

pub use build::ExampleBuilder;
pub use lists::{BytesList, FloatList, Floats, Int64List, Int64s, Values};

use crate::wire::{Field, Reader, Span, Value, WireError};

/// More features than any schema has; keeps memory in proportion to the record.
const FEATURES_MAX: usize = 1 << 20;

/// Why a record is not a `tf.train.Example`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExampleError {
    /// The bytes are not a protobuf message.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// A name is not UTF-8.
    #[error("expected a UTF-8 feature name at byte {offset}")]
    Name {
        /// Where it starts.
        offset: u64,
    },
    /// A feature has two values.
    #[error("expected one value for a feature, found another at byte {offset}")]
    Repeated {
        /// Where the second starts.
        offset: u64,
    },
    /// Too many features.
    #[error("expected at most 1048576 features")]
    Features,
}

/// A parsed record: its features by name.
#[derive(Clone, Debug)]
pub struct Example<'a> {
    /// Sorted by name, each name once.
    features: Vec<(&'a str, Feature<'a>)>,
}

/// The values of one feature.
#[derive(Clone, Copy, Debug)]
pub enum Feature<'a> {
    /// No list at all, not even an empty one.
    Unset,
    /// Byte strings; text and serialized tensors are stored so.
    Bytes(BytesList<'a>),
    /// 32-bit floats.
    Floats(FloatList<'a>),
    /// 64-bit integers.
    Int64s(Int64List<'a>),
}

impl<'a> Example<'a> {
    /// Reads the message `bytes`. The lists themselves are read, and may fail, when they are iterated.
    ///
    /// # Errors
    /// [`ExampleError`], with offsets into `bytes`.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, ExampleError> {
        let mut features = Vec::with_capacity(8);
        for field in Reader::new(Span::new(bytes)) {
            let Field { number: 1, value: Value::Bytes(list) } = field? else { continue };
            for field in Reader::new(list) {
                let Field { number: 1, value: Value::Bytes(entry) } = field? else { continue };
                if features.len() == FEATURES_MAX {
                    return Err(ExampleError::Features);
                }
                features.push(map_entry(entry)?);
            }
        }
        // Stable, so the last of equal names stays last; then it replaces the one kept before it.
        features.sort_by_key(|(name, _)| *name);
        features.dedup_by(|later, kept| {
            let same = later.0 == kept.0;
            if same {
                kept.1 = later.1;
            }
            same
        });
        Ok(Self { features })
    }

    /// The feature of that name.
    pub fn get(&self, name: &str) -> Option<Feature<'a>> {
        let at = self.features.binary_search_by_key(&name, |(name, _)| name).ok()?;
        self.features.get(at).map(|(_, feature)| *feature)
    }

    /// All features, by name.
    pub fn features(&self) -> &[(&'a str, Feature<'a>)] {
        &self.features
    }
}

fn map_entry(entry: Span<'_>) -> Result<(&str, Feature<'_>), ExampleError> {
    let (mut name, mut feature) = ("", None);
    for field in Reader::new(entry) {
        match field? {
            Field { number: 1, value: Value::Bytes(span) } => {
                let bad = ExampleError::Name { offset: span.offset };
                name = std::str::from_utf8(span.bytes).map_err(|_| bad)?;
            }
            Field { number: 2, value: Value::Bytes(span) } => once(&mut feature, span, span)?,
            _ => {}
        }
    }
    Ok((name, feature.map_or(Ok(Feature::Unset), Feature::parse)?))
}

impl<'a> Feature<'a> {
    fn parse(message: Span<'a>) -> Result<Self, ExampleError> {
        let mut feature = None;
        for field in Reader::new(message) {
            let Field { number, value: Value::Bytes(span) } = field? else { continue };
            match number {
                1 => once(&mut feature, Feature::Bytes(BytesList::new(span)), span)?,
                2 => once(&mut feature, Feature::Floats(FloatList::new(span)), span)?,
                3 => once(&mut feature, Feature::Int64s(Int64List::new(span)), span)?,
                _ => {}
            }
        }
        Ok(feature.unwrap_or(Feature::Unset))
    }
}

/// Fills an empty place; `span` is where the value comes from.
fn once<T>(place: &mut Option<T>, value: T, span: Span<'_>) -> Result<(), ExampleError> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(ExampleError::Repeated { offset: span.offset }),
    }
}

#[cfg(test)]
mod tests;
