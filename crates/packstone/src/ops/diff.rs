//! Compares the content of two datasets, whatever their formats and shards.
//!
//! ```text
//! collections ─► fields (names, types, shapes) ─► numbers of samples ─► samples one by one: fields, metadata
//! ```
//!
//! Both sides are scanned in step; only as many shards as are decoded at once are held. Values are compared as the bytes
//! that the [content digest](super::digest_collection) takes, so a NaN equals itself and `-0.0` differs from `0.0`.

mod explain;
mod fields;
mod log;
mod report;
mod samples;

use std::sync::Arc;

use self::fields::Fields;
use self::log::Log;
use super::digest::{DigestOptions, Level, digest_metered};
use super::meter::Meter;
use crate::error::{Error, Result};
use crate::exec::Progress;
use crate::format::{Collection, Dataset};

pub use report::{DiffOptions, DiffReport, Difference};

/// Compares `found` with `expected`.
///
/// # Errors
/// Those of reading either side, with a message that names the side; `ops/missing_sample` where shards hold another
/// number of samples than their collection says; `ops/cancelled`.
pub fn diff(
    expected: &dyn Dataset,
    found: &dyn Dataset,
    options: &DiffOptions,
    progress: Option<&Arc<dyn Progress>>,
) -> Result<DiffReport> {
    let mut log =
        Log { collection: String::new(), limit: options.limit, report: DiffReport::default() };
    let pairs = pairs(expected, found, options, &mut log)?;
    let samples = pairs.iter().fold(0u64, |sum, (a, b)| {
        sum.saturating_add(match options.ignore_order {
            true => a.len().saturating_add(b.len()),
            false => a.len().min(b.len()),
        })
    });
    let mut meter = Meter::new(progress, samples);
    for (a, b) in pairs {
        a.name().clone_into(&mut log.collection);
        if options.ignore_order {
            compare_bags(a, b, options, &mut meter, &mut log)?;
        } else {
            samples::compare(a, b, options, &mut meter, &mut log)?;
        }
    }
    log.report.equal = log.report.differences.is_empty() && log.report.more == 0;
    Ok(log.report)
}

/// A collection of each side.
type Pair = (Arc<dyn Collection>, Arc<dyn Collection>);

/// The collections that are compared; what only one side has is logged.
fn pairs(
    expected: &dyn Dataset,
    found: &dyn Dataset,
    options: &DiffOptions,
    log: &mut Log,
) -> Result<Vec<Pair>> {
    let pair = |one: &str, other: &str| -> Result<Pair> {
        let one = expected.collection(one).map_err(side("first"))?;
        Ok((one, found.collection(other).map_err(side("second"))?))
    };
    if let Some((one, other)) = &options.pair {
        return Ok(vec![pair(one, other)?]);
    }
    let (here, there) = (expected.collections(), found.collections());
    let wanted =
        |name: &&String| options.collections.is_empty() || options.collections.contains(name);
    for name in &options.collections {
        // A name that neither side knows is a mistake of the caller.
        if !there.contains(name) {
            expected.collection(name)?;
        }
    }
    let mut pairs = Vec::new();
    for name in here.iter().filter(wanted) {
        if there.contains(name) {
            pairs.push(pair(name, name)?);
            continue;
        }
        log.collection.clone_from(name);
        log.about_all("expected the collection, found none".to_owned());
    }
    for name in there.iter().filter(wanted).filter(|name| !here.contains(name)) {
        log.collection.clone_from(name);
        log.about_all("expected no such collection, found one".to_owned());
    }
    Ok(pairs)
}

/// Says in which of the two datasets an error is.
fn side(name: &'static str) -> impl Fn(Error) -> Error {
    move |error| {
        let message = format!("{} (in the {name} dataset)", error.message());
        Error::new(error.kind(), error.code(), error.place().clone(), message).because(error)
    }
}

fn compare_bags(
    a: Arc<dyn Collection>,
    b: Arc<dyn Collection>,
    options: &DiffOptions,
    meter: &mut Meter<'_>,
    log: &mut Log,
) -> Result<()> {
    compare_fields(a.as_ref(), b.as_ref(), log);
    compare_lengths(a.as_ref(), b.as_ref(), log);
    let how = DigestOptions { threads: options.threads, limits: options.limits };
    let samples = a.len().min(b.len());
    let a = digest_metered(a, &how, meter).map_err(side("first"))?;
    let b = digest_metered(b, &how, meter).map_err(side("second"))?;
    let (here, there) = match options.level {
        Level::Values => (a.values_unordered, b.values_unordered),
        Level::Full => (a.full_unordered, b.full_unordered),
    };
    if here != there {
        log.about_all(format!("expected samples of unordered digest {here}, found {there}"));
    }
    log.report.samples = log.report.samples.saturating_add(samples);
    Ok(())
}

fn compare_fields(a: &dyn Collection, b: &dyn Collection, log: &mut Log) -> Fields {
    let fields = Fields::of(a.schema(), b.schema());
    fields.log(None, log);
    fields
}

fn compare_lengths(a: &dyn Collection, b: &dyn Collection, log: &mut Log) {
    if a.len() != b.len() {
        log.about_all(format!("expected {} samples, found {}", a.len(), b.len()));
    }
}
