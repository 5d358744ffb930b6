//! What is done with datasets: one verb a file, written against the traits of [`crate::format`] alone.

mod batches;
mod carry;
mod content;
mod convert;
mod diff;
mod digest;
mod find;
mod gather;
mod metadata;
mod meter;
mod record;
mod salvage;
mod scan;
mod select;
mod shuffle;
mod verify;

use packstone_io::Kind;

use crate::error::{Error, Place};

pub use batches::Batches;
pub use carry::{carried_source, reopened};
pub use convert::{ConvertOptions, ConvertReport, Proof, convert, plan, would_lose};
pub use diff::{DiffOptions, DiffReport, Difference, diff};
pub use digest::{CollectionDigest, DigestOptions, Level, digest_collection};
pub use find::{Find, Match, Matches};
pub use gather::gather;
pub use metadata::{MetadataTable, metadata_table};
pub use record::DigestRecord;
pub use scan::{Decoded, Mapped, Scan, Shards};
pub use select::{BalanceKey, Balanced, ChosenSamples, SelectedCollection, Selection, balanced};
pub use verify::{VerifyOptions, VerifyReport, verify, verify_many};

/// The error for a collection whose shards hold another number of samples than it says.
fn count_error(collection: &str, expected: u64, found: u64) -> Error {
    let message = format!("expected {expected} samples in {collection:?}, found {found}");
    Error::new(Kind::Corrupt, "ops/missing_sample", Place::default(), message)
}

/// The error for lists of shards that end before a sample they should hold.
pub(crate) fn missing_sample(len: u64, index: u64) -> Error {
    let message = format!("expected {len} samples, found the lists end before sample {index}");
    Error::new(Kind::Corrupt, "ops/missing_sample", Place::default(), message)
}
