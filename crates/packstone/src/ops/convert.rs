//! Writes the content of one dataset as another: the model lane, from any format to any.
//!
//! First the target says what it cannot hold ([`plan`]); then shards are read in order, decoded on threads, and handed
//! to the writer; then, with a proof, the result is read back and its content digest compared with the source's.

mod copy;
mod job;
mod proof;
mod refusal;
mod report;

use std::sync::Arc;
use std::time::Instant;

use packstone_io::{Kind, Root, RootMut};

use self::copy::{Sink, copy};
use self::job::Job;
use self::proof::prove;
use self::refusal::unreadable;
use super::carry::{Encoder, reopened};
use super::digest::{DigestOptions, digest_metered};
use super::meter::Meter;
use crate::error::Result;
use crate::exec::Progress;
use crate::format::{Dataset, Format, Plan};
use crate::model::Fidelity;

pub use refusal::would_lose;
pub use report::{ConvertOptions, ConvertReport, Proof};

/// What a conversion would write, and what the target could not hold. Nothing is written and no sample is read.
///
/// # Errors
/// `ops/schemas_differ` where collections have other fields than the first one; those of [`Dataset::collection`] and
/// [`Format::fidelity`].
pub fn plan(
    source: &Arc<dyn Dataset>,
    format: &dyn Format,
    options: &ConvertOptions,
) -> Result<(Plan, Fidelity)> {
    let job = Job::new(source, format, options)?;
    Ok((job.plan, job.fidelity))
}

/// Writes the content of `source` into `target` as a new dataset of `format`.
///
/// On an error or when cancelled nothing is published, except that a result which fails the proof stays for a look.
///
/// # Errors
/// Those of [`plan`]; under `strict` `ops/would_lose` and `ops/unreadable`; `ops/digest_mismatch`; `ops/missing_sample`;
/// `ops/cancelled`; those of reading the source, and of [`Format::create`] and [`Writer`](crate::format::Writer).
pub fn convert(
    source: Arc<dyn Dataset>,
    format: &dyn Format,
    target: Arc<dyn RootMut>,
    options: &ConvertOptions,
    progress: Option<&Arc<dyn Progress>>,
) -> Result<ConvertReport> {
    let start = Instant::now();
    let Job { collections, plan, fidelity, carry, whole } = Job::new(&source, format, options)?;
    if options.strict && !fidelity.is_lossless() {
        return Err(would_lose(format.id(), &fidelity));
    }
    if options.strict && !fidelity.unreadable.is_empty() {
        return Err(unreadable(format.id(), &fidelity));
    }
    let samples = collections.iter().fold(0u64, |sum, c| sum.saturating_add(c.len()));
    // A proof reads everything again.
    let mut meter = Meter::new(progress, samples.saturating_mul(if options.proof { 2 } else { 1 }));
    let mut report = ConvertReport { fidelity, samples, ..ConvertReport::default() };
    let mut sources = Vec::new();
    let within = carry.is_none();
    if let Some(whole) = whole.as_ref().and_then(|whole| whole.rewriter()) {
        for collection in collections.into_iter().filter(|_| options.proof) {
            let how = DigestOptions { threads: options.threads, limits: options.limits };
            match digest_metered(collection, &how, &mut meter) {
                Ok(digest) => sources.push(digest),
                // What samples cannot show has no digest; it is copied all the same.
                Err(error) if error.kind() == Kind::Unsupported => {}
                Err(error) => return Err(error),
            }
        }
        report.written = whole.rewrite(&target, &options.options, progress)?;
    } else {
        let mut writer = format.create(Arc::clone(&target), &plan, &options.options)?;
        let encoder = carry.map(Encoder::new);
        for collection in collections {
            let sink = Sink { writer: writer.as_mut(), encoder: encoder.as_ref() };
            sources.extend(copy(collection, sink, options, &mut meter)?);
        }
        report.written = writer.finish()?;
    }
    if options.proof {
        let root: Arc<dyn Root> = target;
        let stored = format.open(root, &options.limits)?;
        // Within a format what was compared is what is stored, in whatever words.
        let written = if within { stored } else { reopened(stored)? };
        report.digests = prove(sources, &written, &report.fidelity, options, &mut meter)?;
    }
    report.seconds = start.elapsed().as_secs_f64();
    Ok(report)
}
