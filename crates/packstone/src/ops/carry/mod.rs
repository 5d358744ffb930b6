//! Carries what a format has no word for, in words that it has, so that the way back restores it.
//!
//! ```text
//! source fields ─► plan (against what the target holds) ─► stored fields + description
//! batches       ─► encode ─► writer                       description ─► a place of its own in the target
//! target opened ─► reopened: description ─► decode ─► the source's fields again
//! ```
//!
//! | the source has | the target stores |
//! | --- | --- |
//! | a nested key, a reserved name | one free name |
//! | a dtype that the target does not know | the bytes of each element, as `uint8` with one dimension more |
//! | a Python integer | `int64` |
//! | fixed `bytes` | `uint8` |
//! | JSON | its text |
//! | text | its bytes |
//! | an array of varying shape | bytes: the dims as `u64`, then the elements |
//! | bytes of any length | `uint8` of varying shape |
//! | an array without elements | nothing |
//! | metadata of samples | a field with its JSON |
//! | a collection under another name, or without samples | a line in the description |
//!
//! The description is a JSON object. Formats keep it and give it back unread, as [`Info::carried`].
//!
//! [`Info::carried`]: crate::format::Info::carried

mod decode;
mod describe;
mod encode;
mod plan;

pub use decode::{carried_source, reopened};
pub(super) use encode::Encoder;
pub(super) use plan::{Carry, plan};

/// Field of the samples' metadata, where the target holds none.
const METADATA_FIELD: &str = "sample_metadata";
/// Version of the description.
const VERSION: u64 = 1;

/// How the values of one field are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// As they are, perhaps under another name or dtype of the same bytes.
    Same,
    /// Bytes of any length: dims of `u64`, little-endian, then the elements.
    Framed,
    /// Not at all: they have no elements.
    Absent,
}

impl Form {
    const ALL: [Self; 3] = [Self::Same, Self::Framed, Self::Absent];

    fn name(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Framed => "framed",
            Self::Absent => "absent",
        }
    }
}
