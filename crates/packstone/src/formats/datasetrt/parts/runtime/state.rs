//! Where reading stands, as a small JSON value.
//!
//! ```text
//! {"format":"packstone.datasetrt.runtime","version":1,"caches":"…","table":null,"sampler":{…}}
//! ```
//!
//! `caches` is a digest of the caches in order: ids, numbers of samples, checksums of their metadata. `table` is one of
//! the samples in a table that was replaced. `sampler` is [`Sampler::state`](super::super::sampler::Sampler::state).

use packstone_container::digest::{Algorithm, Hasher};
use packstone_container::json::{At, ShapeError, Value};
use packstone_io::Kind;

use super::super::super::codes;
use super::super::joint::Joint;
use super::super::shape::shape_error;
use super::super::table::ActiveTable;
use crate::error::{Error, Place, Result};

const FORMAT: &str = "packstone.datasetrt.runtime";
const VERSION: u64 = 1;

/// The state of a dataset.
pub(super) fn write(joint: &Joint, table: Option<&str>, sampler: Value) -> Value {
    packstone_container::json!({
        "format": FORMAT,
        "version": VERSION,
        "caches": caches(joint),
        "table": table,
        "sampler": sampler,
    })
}

/// The state of the sampler in one of a dataset, which must be this one.
pub(super) fn read<'s>(state: &'s Value, joint: &Joint, table: Option<&str>) -> Result<&'s Value> {
    let at = At::root(state);
    let field = |name: &str| at.field(name).map_err(shape);
    let format = field("format")?;
    if format.str().map_err(shape)? != FORMAT {
        return Err(shape(format.unexpected(format!("{FORMAT:?}"))));
    }
    let version = field("version")?.u64().map_err(shape)?;
    if version != VERSION {
        let message = format!("expected a state of version {VERSION}, found {version}");
        let place = Place::default().json("$.version");
        return Err(Error::new(Kind::Unsupported, codes::STATE_VERSION, place, message));
    }
    if field("caches")?.str().map_err(shape)? != caches(joint) {
        return Err(other("$.caches", "the caches of this dataset"));
    }
    let found = field("table")?;
    let found = if found.value().is_null() { None } else { Some(found.str().map_err(shape)?) };
    if found != table {
        return Err(other("$.table", "the samples of this table"));
    }
    Ok(field("sampler")?.value())
}

/// The state is of something else.
pub(super) fn other(path: &str, expected: &str) -> Error {
    let message = format!("expected {expected}, found others");
    Error::new(Kind::Invalid, codes::STATE_INVALID, Place::default().json(path), message)
}

/// The same error about a part of the document.
pub(super) fn in_sampler(error: Error) -> Error {
    let path = error.place().json_path.as_deref().unwrap_or("$");
    let path = path.replacen('$', "$.sampler", 1);
    error.with_place(Place::default().json(path))
}

fn shape(error: ShapeError) -> Error {
    shape_error(error, codes::STATE_INVALID)
}

fn caches(joint: &Joint) -> String {
    let mut hasher = Hasher::new(Algorithm::Xxh128);
    for cache in joint.caches() {
        hasher.update(&cache.cache_id.to_le_bytes());
        hasher.update(&cache.samples().to_le_bytes());
        let sum = cache.manifest.contents().metadata_sha256.to_ascii_lowercase();
        hasher.update(sum.as_bytes());
    }
    hasher.finish_hex()
}

/// Tells the samples of a table from others.
pub(super) fn digest(table: &ActiveTable) -> String {
    let mut hasher = Hasher::new(Algorithm::Xxh128);
    let identities = (0..table.rows() as u64).filter_map(|row| table.identity(row));
    for identity in identities {
        hasher.update(&identity.cache_id.to_le_bytes());
        hasher.update(&identity.sample_id.to_le_bytes());
    }
    hasher.finish_hex()
}
