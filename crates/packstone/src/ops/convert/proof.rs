//! The result is read back and compared with the source by content digests.

use std::sync::Arc;

use packstone_io::Kind;

use super::{ConvertOptions, Proof};
use crate::error::{Error, Place, Result};
use crate::format::Dataset;
use crate::model::Fidelity;
use crate::ops::digest::{CollectionDigest, DigestOptions, Level, digest_metered};
use crate::ops::meter::Meter;

/// Digests the result and compares as far as the fidelity report promises equality.
pub(super) fn prove(
    sources: Vec<CollectionDigest>,
    written: &Arc<dyn Dataset>,
    fidelity: &Fidelity,
    options: &ConvertOptions,
    meter: &mut Meter<'_>,
) -> Result<Vec<Proof>> {
    let lost = || fidelity.losses.iter().filter(|loss| !loss.carried);
    let level = if lost().next().is_none() {
        Some(Level::Full)
    } else if lost().all(|loss| loss.field.is_empty()) {
        Some(Level::Values)
    } else {
        None
    };
    let how = DigestOptions { threads: options.threads, limits: options.limits };
    let mut proofs = Vec::new();
    for source in sources {
        // A format that names no empty collections holds one by not naming it.
        if source.samples == 0 && !written.collections().contains(&source.name) {
            continue;
        }
        let result = digest_metered(written.collection(&source.name)?, &how, meter)?;
        let pair = match level {
            Some(Level::Full) => (&source.full, &result.full),
            Some(Level::Values) => (&source.values, &result.values),
            None => (&source.name, &source.name),
        };
        if pair.0 != pair.1 {
            let message = format!(
                "expected content digest {} of {:?}, found {}",
                pair.0, source.name, pair.1
            );
            return Err(Error::new(
                Kind::Corrupt,
                "ops/digest_mismatch",
                Place::default(),
                message,
            ));
        }
        proofs.push(Proof { source, result, level });
    }
    Ok(proofs)
}
