//! Writes the content of one dataset as another: the model lane, from any format to any.
//!
//! First the target says what it cannot hold ([`plan`]); then shards are read in order, decoded on threads, and handed
//! to the writer; then, with a proof, the result is read back and its content digest compared with the source's.

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use packstone_container::Limits;
use packstone_container::json::{Object, Value};
use packstone_io::{BufferPool, Kind, Root, RootMut};

use super::carry::{self, Carry, Encoder, reopened};
use super::count_error;
use super::digest::{CollectionDigest, DigestOptions, Level, Tally, digest_metered, hash_shard};
use super::meter::Meter;
use super::scan::Scan;
use crate::error::{Error, Place, Result};
use crate::exec::{Progress, default_threads};
use crate::format::{Collection, Dataset, Format, Plan, Writer, Written};
use crate::model::{Batch, BatchBuilder, Fidelity, Unreadable};

/// How to convert.
#[derive(Clone, Debug)]
pub struct ConvertOptions {
    /// Collections to convert, in this order; empty for all, in the order of the source.
    pub collections: Vec<String>,
    /// The target format's own options, see [`Format::write_options`].
    pub options: Object,
    /// Refuse where the target cannot hold everything.
    pub strict: bool,
    /// Threads that decode; 0 decodes where it is called.
    pub threads: usize,
    /// Read the result back and compare content digests.
    pub proof: bool,
    /// How much a shard may ask for.
    pub limits: Limits,
}

impl Default for ConvertOptions {
    fn default() -> Self {
        Self {
            collections: Vec::new(),
            options: Object::new(),
            strict: false,
            threads: default_threads(),
            proof: false,
            limits: Limits::default(),
        }
    }
}

/// The digests of a collection before and after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    /// Of the source.
    pub source: CollectionDigest,
    /// Of the result.
    pub result: CollectionDigest,
    /// The level at which both are equal; `None` where the fidelity report tells of fields that change, so that
    /// equality is not to be expected.
    pub level: Option<Level>,
}

/// What a conversion did.
#[derive(Clone, Debug, Default)]
pub struct ConvertReport {
    /// What the target does not hold as the source has it.
    pub fidelity: Fidelity,
    /// What the writer published.
    pub written: Written,
    /// Samples that were read.
    pub samples: u64,
    /// Wall time, proof included.
    pub seconds: f64,
    /// One a collection, where a proof was asked for.
    pub digests: Vec<Proof>,
}

impl ConvertReport {
    /// For JSON output.
    pub fn to_json(&self) -> Value {
        let mut written = Object::new();
        written.insert("samples", Value::from(self.written.samples));
        written.insert("shards", Value::from(self.written.shards));
        written.insert("bytes", Value::from(self.written.bytes));
        let proofs = self.digests.iter().map(|proof| {
            let mut out = Object::new();
            out.insert("collection", Value::from(proof.source.name.as_str()));
            let level = proof.level.map(|level| match level {
                Level::Values => "values",
                Level::Full => "full",
            });
            out.insert("equal", level.map_or(Value::Null, Value::from));
            out.insert("source", proof.source.to_json());
            out.insert("result", proof.result.to_json());
            Value::Object(out)
        });
        let mut out = Object::new();
        out.insert("type", Value::from("convert"));
        out.insert("samples", Value::from(self.samples));
        out.insert("written", Value::Object(written));
        out.insert("losses", self.fidelity.to_json());
        out.insert("unreadable", self.fidelity.unreadable_json());
        out.insert("proofs", proofs.collect::<Vec<_>>());
        out.insert("seconds", Value::from(self.seconds));
        Value::Object(out)
    }
}

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

/// A conversion, planned.
struct Job {
    collections: Vec<Arc<dyn Collection>>,
    plan: Plan,
    fidelity: Fidelity,
    /// `None` within a format, where what is stored moves as it is.
    carry: Option<Carry>,
    /// The dataset, where it is written again as a whole.
    whole: Option<Arc<dyn Dataset>>,
}

impl Job {
    fn new(
        source: &Arc<dyn Dataset>,
        format: &dyn Format,
        options: &ConvertOptions,
    ) -> Result<Self> {
        let within = source.info().format == format.id();
        let stored = source.stored().filter(|_| within);
        let stored = stored.as_ref().unwrap_or(source);
        let all = options.collections.is_empty();
        let whole = Some(stored).filter(|s| within && all && s.rewriter().is_some()).cloned();
        let source = stored.as_ref();
        let mut collections = chosen(source, options)?;
        if !within {
            // Targets hold arrays of one shape better than arrays of any.
            for collection in &mut collections {
                if let Some(settled) = collection.settled()? {
                    *collection = settled;
                }
            }
        }
        let mut plan = wanted(source, &collections, within && format.mixes_fields())?;
        let mut carry = None;
        if within {
            plan.source = Some((source.info().format.to_owned(), source.info().native.clone()));
            plan.carried.clone_from(&source.info().carried);
            plan.documents = collections.iter().map(|c| c.document().cloned()).collect();
        } else {
            let holds = format.holds(&plan, &options.options)?;
            let made = carry::plan(&mut plan, &collections, &holds)?;
            plan.carried = Some(made.describe());
            carry = Some(made);
        }
        let mut fidelity = match whole {
            // Nothing can be lost; the options still have to make sense.
            Some(_) => format.holds(&plan, &options.options).map(|_| Fidelity::default())?,
            None => format.fidelity(&plan, &options.options)?,
        };
        match &carry {
            Some(carry) => carry.report(&mut fidelity),
            // What is stored moves as it is, also where the original could make nothing of it.
            None => {
                for collection in &collections {
                    fidelity.unreadable.extend(collection.unreadable(&options.options)?);
                }
            }
        }
        Ok(Self { collections, plan, fidelity, carry, whole })
    }
}

fn wanted(source: &dyn Dataset, collections: &[Arc<dyn Collection>], mixed: bool) -> Result<Plan> {
    let mut plan = Plan { schema: Arc::clone(source.schema()), ..Plan::default() };
    if let Some(first) = collections.first() {
        plan.schema = Arc::clone(first.schema());
        let mut others = collections.iter().filter(|_| !mixed);
        if let Some(other) = others.find(|c| c.schema() != first.schema()) {
            let message = format!(
                "expected the fields of {:?} in all collections, found others in {:?}",
                first.name(),
                other.name()
            );
            return Err(Error::new(
                Kind::Unsupported,
                "ops/schemas_differ",
                Place::default(),
                message,
            ));
        }
    }
    plan.collections = collections.iter().map(|c| (c.name().to_owned(), Some(c.len()))).collect();
    // What was carried here from a first source goes on from there.
    let own = || (source.info().format.to_owned(), source.info().native.clone());
    plan.source = Some(carry::carried_source(source.info()).unwrap_or_else(own));
    Ok(plan)
}

fn chosen(source: &dyn Dataset, options: &ConvertOptions) -> Result<Vec<Arc<dyn Collection>>> {
    let all = source.collections();
    let names = if options.collections.is_empty() { &all } else { &options.collections };
    let once =
        names.iter().enumerate().filter(|(at, name)| names.iter().take(*at).all(|n| n != *name));
    once.map(|(_, name)| source.collection(name)).collect()
}

/// Writes the content of `source` into `target` as a new dataset of `format`.
///
/// On an error or when cancelled nothing is published, except that a result which fails the proof stays for a look.
///
/// # Errors
/// Those of [`plan`]; under `strict` `ops/would_lose` and `ops/unreadable`; `ops/digest_mismatch`; `ops/missing_sample`; `ops/cancelled`;
/// those of reading the source, and of [`Format::create`] and [`Writer`].
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

/// Where samples go.
struct Sink<'a> {
    writer: &'a mut dyn Writer,
    encoder: Option<&'a Encoder>,
}

impl Sink<'_> {
    fn write(&mut self, collection: &str, batch: &Batch) -> Result<()> {
        match self.encoder {
            None => self.writer.write(collection, batch),
            Some(encoder) => self.writer.write(encoder.name(collection), &encoder.encode(batch)?),
        }
    }
}

/// Hands all samples of a collection to the writer; returns their digest where a proof is asked for.
fn copy(
    collection: Arc<dyn Collection>,
    mut sink: Sink<'_>,
    options: &ConvertOptions,
    meter: &mut Meter<'_>,
) -> Result<Option<CollectionDigest>> {
    let (name, len, proof) = (collection.name().to_owned(), collection.len(), options.proof);
    let mut tally = Tally::new(collection.as_ref());
    let mut samples = 0u64;
    // Within a format, samples are written as they are, also with fields and names of their own.
    let within = sink.encoder.is_none();
    let scan = Scan::new(collection).runs(within).identities(within);
    let scan = scan.threads(options.threads).limits(options.limits);
    let shards = scan.map_shards(move |shard| {
        let digests = if proof { Some(hash_shard(&shard)?) } else { None };
        Ok((shard, digests))
    });
    for shard in shards {
        let (shard, digests) = shard?;
        let batch = slice(shard.batch, shard.rows)?;
        sink.write(&name, &batch)?;
        tally.add(&digests.unwrap_or_default());
        samples = samples.saturating_add(batch.rows() as u64);
        meter.step(batch.rows(), batch.value_bytes())?;
    }
    if samples != len {
        return Err(count_error(&name, len, samples));
    }
    if proof { tally.finish().map(Some) } else { Ok(None) }
}

/// The rows of a batch, which is copied only where it holds others too.
fn slice(batch: Batch, rows: Range<usize>) -> Result<Batch> {
    if rows == (0..batch.rows()) {
        return Ok(batch);
    }
    let pool = BufferPool::new(0);
    let mut builder = BatchBuilder::new(Arc::clone(batch.schema()), rows.len(), pool)?;
    builder.push(&batch, rows)?;
    builder.finish()
}

/// The error of a writer that would lose what the report tells of.
pub fn would_lose(format: &str, fidelity: &Fidelity) -> Error {
    let lost = fidelity.losses.iter().filter(|loss| !loss.carried);
    let lost: Vec<_> = lost
        .map(|loss| match loss.field.as_str() {
            "" => loss.what.clone(),
            field => format!("{field}: {}", loss.what),
        })
        .collect();
    let message = format!(
        "expected a format that holds everything, found that {format} would lose: {}",
        lost.join("; ")
    );
    Error::new(Kind::Unsupported, "ops/would_lose", Place::default(), message)
}

fn unreadable(format: &str, fidelity: &Fidelity) -> Error {
    let kept: Vec<_> = fidelity.unreadable.iter().map(Unreadable::text).collect();
    let message = format!(
        "expected a copy that the original library of {format} reads, found that it could not: {}",
        kept.join("; ")
    );
    Error::new(Kind::Unsupported, "ops/unreadable", Place::default(), message)
}

/// Digests the result and compares as far as the fidelity report promises equality.
fn prove(
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
