//! Checksums of an archive whose leaves were changed in place.
//!
//! Of stored entries the CRC-32 is computed anew and written where it differs: in the local header, or the descriptor
//! behind the payload, and in the central directory. Nothing else changes, neither sizes nor dates. Compressed entries
//! keep theirs: nobody can change them in place.

use std::sync::Arc;
use std::time::Duration;

use packstone_container::Limits;
use packstone_container::zip::{Directory, Method};
use packstone_io::{Kind, RootMut};

use super::super::codes;
use super::archive::zip_error;
use super::save::step;
use crate::error::{Error, Place, Result};
use crate::exec::Progress;

/// How long to wait for another writer.
const PATIENCE: Duration = Duration::from_secs(60);

/// What was done to checksums.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refreshed {
    /// Stored entries, whose checksums were computed.
    pub stored: u64,
    /// Of these, entries whose checksum was another.
    pub changed: u64,
    /// Compressed entries, which were left alone.
    pub compressed: u64,
}

/// Brings the checksums of an archive up to date, which is the one file of `root`.
///
/// # Errors
/// `not_an_archive`, also for a folder; `corrupt_zip`; `Conflict` where another writer works there; `Io`, then some are up to date, and
/// doing it again does the rest.
pub fn refresh(
    root: &Arc<dyn RootMut>,
    limits: &Limits,
    progress: Option<&Arc<dyn Progress>>,
) -> Result<Refreshed> {
    let path = root.sole_file().ok_or_else(|| {
        let message = "expected an archive, found a folder";
        let place = Place::file(root.label());
        Error::new(Kind::Invalid, codes::NOT_AN_ARCHIVE, place, message)
    })?;
    let _lock = root.lock(PATIENCE)?;
    let bytes = root.read(path)?;
    let fault = |name: &str| {
        let name = name.to_owned();
        move |error| -> Error { zip_error(error, &name) }
    };
    let directory = Directory::parse(&bytes, limits).map_err(fault(path.as_str()))?;
    if let Some(progress) = progress {
        progress.total(bytes.as_ref().len() as u64);
    }
    // Everything is computed before anything is written: a damaged archive stays as it is.
    let (mut found, mut patches) = (Refreshed::default(), Vec::new());
    for (number, record) in directory.records().iter().enumerate() {
        if record.method() != Method::Stored {
            found.compressed += 1;
            continue;
        }
        found.stored += 1;
        let stale = directory.refresh_crc(&bytes, number).map_err(fault(record.name()))?;
        found.changed += u64::from(!stale.is_empty());
        patches.extend(stale);
        step(progress, record.len())?;
    }
    if !patches.is_empty() {
        let edit = root.edit(path)?;
        for patch in patches {
            edit.write_at(patch.offset, &patch.bytes)?;
        }
        edit.sync()?;
    }
    Ok(found)
}
