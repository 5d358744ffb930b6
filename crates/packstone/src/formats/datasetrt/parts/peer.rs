//! What of a cache the original could not read back, if it were written again as it is: column names that its table has
//! itself, floats that are not finite, and floats that it misreads in every spelling that is written.
//!
//! Looked for in `metadata.arrow` alone; no shard is opened.

use std::collections::BTreeMap;
use std::ops::Range;

use packstone_container::arrow_table::Cell;

use super::super::layout::{METADATA, RESERVED};
use super::super::options::WriterOptions;
use super::super::schema::{ValueKind, arrow_error};
use super::cache::Cache;
use super::descriptor::FieldPlace;
use super::float;
use crate::error::Result;
use crate::model::Unreadable;

/// Some neighbours of a cache, and where they are in what is copied.
pub struct Run<'c> {
    /// The cache.
    pub cache: &'c Cache,
    /// The samples in it.
    pub samples: Range<u64>,
    /// The number of the first one in the copy.
    pub first: u64,
}

/// How many floats of a column are of a kind, and the first sample with one.
type Count = (u64, u64);

/// What the original could not read in a copy of these samples.
///
/// # Errors
/// Those of [`Cache::table`] and of its values.
pub fn unreadable<'c>(
    collection: &str,
    runs: impl Iterator<Item = Result<Run<'c>>>,
    options: &WriterOptions,
) -> Result<Vec<Unreadable>> {
    let mut out = Vec::new();
    let mut add = |field: &str, sample, what: String| {
        let (collection, field) = (collection.to_owned(), field.to_owned());
        out.push(Unreadable { collection, field, sample, what });
    };
    let mut special: BTreeMap<String, Count> = BTreeMap::new();
    let mut misread: BTreeMap<String, Count> = BTreeMap::new();
    let mut reserved = Vec::new();
    for (number, run) in runs.enumerate() {
        let Run { cache, samples, first } = run?;
        for (at, column) in cache.columns().iter().enumerate() {
            let name = &column.name;
            let is_field = || {
                let place = FieldPlace::Column(name.clone());
                let stored = cache.descriptor.fields.iter().find(|stored| stored.place == place);
                stored.is_some_and(|s| options.columns.contains(&s.field.key.to_string()))
            };
            if !cache.descriptor.is_metadata(name) && !is_field() {
                continue;
            }
            let kept = options.reserved_prefix.as_deref() == Some("");
            if number == 0 && kept && RESERVED.contains(&name.as_str()) {
                reserved.push(name.clone());
            }
            if column.kind != ValueKind::Float {
                continue;
            }
            let table = cache.table()?;
            for (sample, copied) in samples.clone().zip(first..) {
                let cell = table.cell(at, sample).map_err(|error| {
                    arrow_error(&error, cache.site.place(METADATA).record(sample))
                })?;
                let Cell::Float64(x) = cell else { continue };
                let counts = match x.is_finite() {
                    false if options.non_finite => &mut special,
                    true if float::is_misread(x, options.peer_exact_floats) => &mut misread,
                    _ => continue,
                };
                counts.entry(name.clone()).or_insert((0, copied)).0 += 1;
            }
        }
    }
    for name in reserved {
        let what = "the original makes no table of a cache with a column of this name";
        add(&name, None, what.to_owned());
    }
    for (name, (count, first)) in special {
        let what = format!("{count} floats are not finite; the original reads no such sample");
        add(&name, Some(first), what);
    }
    for (name, (count, first)) in misread {
        let what = format!(
            "{count} floats are others to the original, which then refuses the cache under \
             validate_cache"
        );
        add(&name, Some(first), what);
    }
    Ok(out)
}
