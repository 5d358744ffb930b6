//! The files of a cache, read or looked at and held against its manifest.

use packstone_container::Limits;
use packstone_container::arrow_table::ArrowFile;
use packstone_container::digest::{Algorithm, digest_hex};
use packstone_io::Kind;

use super::super::super::codes;
use super::super::super::document::{Manifest, ShardEntry};
use super::super::super::layout::{MANIFEST, METADATA};
use super::super::super::schema::{arrow_error, check_table};
use super::super::site::{Site, file_error};
use crate::error::{Error, Place, Result};

/// Reads the manifest of a cache.
///
/// # Errors
/// `manifest_missing`; those of [`Manifest::parse`].
pub fn read_manifest(site: &Site, limits: &Limits) -> Result<Manifest> {
    let place = site.place(MANIFEST);
    let bytes = site.root.read(&site.path(MANIFEST)?).map_err(|error| {
        if error.kind() != Kind::NotFound {
            return file_error(error, &place);
        }
        let message =
            format!("expected a complete cache, found {} without {MANIFEST}", site.label());
        Error::new(Kind::NotFound, codes::MANIFEST_MISSING, place.clone(), message)
    })?;
    Manifest::parse(&bytes, &place, limits)
}

/// Reads the table of a cache and checks it against its manifest.
///
/// # Errors
/// As for [`Cache::table`](super::Cache::table).
pub fn read_table(site: &Site, manifest: &Manifest) -> Result<ArrowFile> {
    let (place, contents) = (site.place(METADATA), manifest.contents());
    let bytes = site.read(&site.path(METADATA)?, &place)?;
    let table = ArrowFile::read(bytes).map_err(|error| arrow_error(&error, place.clone()))?;
    check_table(&table, &contents.columns, contents.samples, &place)?;
    Ok(table)
}

/// Checks that a shard is there and as long as its entry says.
///
/// # Errors
/// `file_missing`, `shard_length`, `path_escape`; I/O faults.
pub fn check_shard_length(site: &Site, shard: &ShardEntry) -> Result<()> {
    let place = site.shard_place(&shard.name);
    check_length(shard, site.len(&site.shard(&shard.name)?, &place)?, &place)
}

pub(super) fn check_length(shard: &ShardEntry, found: u64, place: &Place) -> Result<()> {
    if found == shard.bytes {
        return Ok(());
    }
    let message = format!("expected {} bytes, as the manifest says, found {found}", shard.bytes);
    Err(Error::new(Kind::Corrupt, codes::SHARD_LENGTH, place.clone(), message))
}

/// Compares a recorded SHA-256 with that of the bytes.
///
/// # Errors
/// `checksum_mismatch`.
pub fn check_sum(expected: &str, bytes: &[u8], place: Place) -> Result<()> {
    let found = digest_hex(Algorithm::Sha256, bytes);
    if expected.eq_ignore_ascii_case(&found) {
        return Ok(());
    }
    let message = format!("expected SHA-256 {expected}, found {found}");
    Err(Error::new(Kind::Corrupt, codes::CHECKSUM_MISMATCH, place, message))
}
