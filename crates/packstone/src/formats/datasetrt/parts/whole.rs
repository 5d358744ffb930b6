//! The table of all samples of caches, made of their `metadata.arrow`; no shard is opened.

use std::sync::Arc;

use packstone_container::arrow_table::Table;
use packstone_io::Kind;

use super::super::codes;
use super::super::layout::METADATA;
use super::super::schema::arrow_error;
use super::cache::Cache;
use super::joint::Joint;
use super::table::{ActiveTable, Caches};
use crate::error::{Error, Place, Result};
use crate::model::SampleTable;

/// The caches of a dataset by id, with their numbers of samples.
///
/// # Errors
/// `table_invalid` where their samples do not fit 64 bits.
pub fn caches(joint: &Joint) -> Result<Arc<Caches>> {
    let caches = joint.caches().iter().map(|cache| (cache.cache_id, cache.samples()));
    Caches::new(caches.collect()).map(Arc::new).ok_or_else(|| {
        let message = "expected caches whose samples fit 64 bits, found more";
        Error::new(Kind::Invalid, codes::TABLE_INVALID, Place::default(), message)
    })
}

/// All samples of the caches in order, with their stored columns.
///
/// # Errors
/// Those of [`Cache::table`]; `table_invalid`.
pub fn whole_table(joint: &Joint, caches: Arc<Caches>) -> Result<ActiveTable> {
    let read = |cache: &Arc<Cache>| {
        let place = || cache.site.place(METADATA);
        cache.table()?.table().map_err(|error| arrow_error(&error, place()))
    };
    let parts = joint.caches().iter().map(read).collect::<Result<Vec<Table>>>()?;
    ActiveTable::new(caches, &parts)
}

/// The same for conditions: what of it is metadata, and what identifies a sample.
///
/// # Errors
/// As for [`whole_table`].
pub fn sample_table(joint: &Joint) -> Result<SampleTable> {
    /// The columns before the stored ones: the identity.
    const BEFORE: usize = 2;
    let table = whole_table(joint, caches(joint)?)?.to_table()?;
    let (mut metadata, mut text) = (Vec::new(), None);
    if let Some(cache) = joint.caches().first() {
        for (place, column) in cache.columns().iter().enumerate() {
            if cache.descriptor.is_metadata(&column.name) {
                metadata.push((column.name.clone(), BEFORE + place));
            }
            if cache.descriptor.metadata_column.as_ref() == Some(&column.name) {
                text = Some(BEFORE + place);
            }
        }
    }
    Ok(SampleTable { table, metadata, text, identity: (0..BEFORE).collect() })
}
