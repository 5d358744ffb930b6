//! What is done with datasets: one verb a file, written against the traits of [`crate::format`] alone.

mod canonical;
mod content;
mod convert;
mod diff;
mod digest;
mod scan;
mod select;
mod shuffle;
mod verify;

use std::sync::Arc;

use packstone_io::Kind;

use crate::error::{Error, Place, Result};
use crate::exec::Progress;
use crate::format::Collection;

pub use convert::{ConvertOptions, ConvertReport, Proof, convert, plan};
pub use diff::{DiffOptions, DiffReport, Difference, diff};
pub use digest::{CollectionDigest, DigestOptions, Level, digest_collection};
pub use scan::{Batches, Decoded, Mapped, Scan, Shards, gather};
pub use select::{BalanceKey, Balanced, SelectedCollection, Selection, balanced};
pub use shuffle::Random;
pub use verify::{VerifyOptions, VerifyReport, verify};

/// Ends an operation that the user asked to stop.
fn keep_going(progress: Option<&Arc<dyn Progress>>) -> Result<()> {
    match progress {
        Some(progress) if progress.cancelled() => {
            let message = "stopped before the end, as asked";
            Err(Error::new(Kind::Cancelled, "ops/cancelled", Place::default(), message))
        }
        _ => Ok(()),
    }
}

/// Announces the bytes of all values of `collection`; where values vary in length the total is not known and not told.
fn announce(progress: Option<&Arc<dyn Progress>>, collection: &dyn Collection) {
    let Some(progress) = progress else { return };
    let fields = collection.schema().fields.iter();
    let row = fields
        .map(|field| if field.varies() { None } else { field.value_bytes() })
        .try_fold(0u64, |sum, bytes| sum.checked_add(bytes?));
    if let Some(total) = row.and_then(|row| row.checked_mul(collection.len())) {
        progress.total(total);
    }
}

fn advance(progress: Option<&Arc<dyn Progress>>, bytes: u64) {
    if let Some(progress) = progress {
        progress.advance(bytes);
    }
}

/// The error for a collection whose shards hold another number of samples than it says.
fn count_error(collection: &str, expected: u64, found: u64) -> Error {
    let message = format!("expected {expected} samples in {collection:?}, found {found}");
    Error::new(Kind::Corrupt, "ops/missing_sample", Place::default(), message)
}
