//! Compares the content of two datasets, whatever their formats and shards.
//!
//! ```text
//! collections ─► fields (names, types, shapes) ─► numbers of samples ─► samples one by one: fields, metadata
//! ```
//!
//! Both sides are scanned in step; only as many shards as are decoded at once are held. Values are compared as the bytes
//! that the [content digest](super::digest_collection) takes, so a NaN equals itself and `-0.0` differs from `0.0`.

mod explain;

use std::sync::Arc;

use packstone_container::Limits;
use packstone_container::json::{Object, Value};

use super::content::{ContentType, content_bytes};
use super::count_error;
use super::digest::{DigestOptions, Level, digest_metered};
use super::meter::Meter;
use super::scan::{Decoded, Scan, Shards};
use crate::error::{Error, Result};
use crate::exec::{Progress, default_threads};
use crate::format::{Collection, Dataset};
use crate::model::{Batch, DType, Field, Key, Schema, ValueRef, canonical};

/// How to compare.
#[derive(Clone, Debug)]
pub struct DiffOptions {
    /// Collections to compare; empty for all of both.
    pub collections: Vec<String>,
    /// Whether sample metadata counts.
    pub level: Level,
    /// Compare collections as bags: by the digests that ignore order, without saying which samples differ.
    pub ignore_order: bool,
    /// Differences that are described; the rest is counted.
    pub limit: usize,
    /// Threads that decode each side; 0 decodes where it is called.
    pub threads: usize,
    /// How much a shard may ask for.
    pub limits: Limits,
}

impl Default for DiffOptions {
    fn default() -> Self {
        Self {
            collections: Vec::new(),
            level: Level::Full,
            ignore_order: false,
            limit: 20,
            threads: default_threads(),
            limits: Limits::default(),
        }
    }
}

/// One difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The collection.
    pub collection: String,
    /// The sample; `None` where the collections differ as such.
    pub index: Option<u64>,
    /// The field; `None` where it is about all of the sample or its metadata.
    pub field: Option<String>,
    /// What differs: `expected X, found Y`.
    pub what: String,
}

impl Difference {
    /// For JSON output.
    pub fn to_json(&self) -> Value {
        let mut out = Object::new();
        out.insert("type", Value::from("difference"));
        out.insert("collection", Value::from(self.collection.as_str()));
        if let Some(index) = self.index {
            out.insert("index", Value::from(index));
        }
        if let Some(field) = &self.field {
            out.insert("field", Value::from(field.as_str()));
        }
        out.insert("what", Value::from(self.what.as_str()));
        Value::Object(out)
    }
}

/// What a comparison found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiffReport {
    /// True without any difference.
    pub equal: bool,
    /// The first differences.
    pub differences: Vec<Difference>,
    /// Differences beyond those.
    pub more: u64,
    /// Samples that were compared.
    pub samples: u64,
}

impl DiffReport {
    /// For JSON output: the summary; differences have [lines of their own](Difference::to_json).
    pub fn to_json(&self) -> Value {
        let mut out = Object::new();
        out.insert("type", Value::from("diff"));
        out.insert("equal", Value::Bool(self.equal));
        out.insert(
            "differences",
            Value::from((self.differences.len() as u64).saturating_add(self.more)),
        );
        out.insert("shown", Value::from(self.differences.len()));
        out.insert("samples", Value::from(self.samples));
        Value::Object(out)
    }
}

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
    let (here, there) = (expected.collections(), found.collections());
    let wanted =
        |name: &&String| options.collections.is_empty() || options.collections.contains(name);
    for name in &options.collections {
        // A name that neither side knows is a mistake of the caller.
        if !there.contains(name) {
            expected.collection(name)?;
        }
    }
    let (mut pairs, mut samples) = (Vec::new(), 0u64);
    let mut log =
        Log { collection: String::new(), limit: options.limit, report: DiffReport::default() };
    for name in here.iter().filter(wanted) {
        log.collection.clone_from(name);
        if !there.contains(name) {
            log.about_all("expected the collection, found none".to_owned());
            continue;
        }
        let pair = (
            expected.collection(name).map_err(side("first"))?,
            found.collection(name).map_err(side("second"))?,
        );
        samples = samples.saturating_add(match options.ignore_order {
            true => pair.0.len().saturating_add(pair.1.len()),
            false => pair.0.len().min(pair.1.len()),
        });
        pairs.push(pair);
    }
    for name in there.iter().filter(wanted).filter(|name| !here.contains(name)) {
        log.collection.clone_from(name);
        log.about_all("expected no such collection, found one".to_owned());
    }
    let mut meter = Meter::new(progress, samples);
    for (a, b) in pairs {
        a.name().clone_into(&mut log.collection);
        if options.ignore_order {
            compare_bags(a, b, options, &mut meter, &mut log)?;
        } else {
            compare(a, b, options, &mut meter, &mut log)?;
        }
    }
    log.report.equal = log.report.differences.is_empty() && log.report.more == 0;
    Ok(log.report)
}

/// Says in which of the two datasets an error is.
fn side(name: &'static str) -> impl Fn(Error) -> Error {
    move |error| {
        let message = format!("{} (in the {name} dataset)", error.message());
        Error::new(error.kind(), error.code(), error.place().clone(), message).because(error)
    }
}

/// Collects differences of one collection after another.
struct Log {
    collection: String,
    limit: usize,
    report: DiffReport,
}

impl Log {
    fn add(&mut self, index: Option<u64>, field: Option<String>, what: impl FnOnce() -> String) {
        if self.report.differences.len() < self.limit {
            let collection = self.collection.clone();
            self.report.differences.push(Difference { collection, index, field, what: what() });
        } else {
            self.report.more = self.report.more.saturating_add(1);
        }
    }

    fn about_all(&mut self, what: String) {
        self.add(None, None, || what);
    }
}

/// A field that both sides have with the same type of content, and where each side has it.
struct Common {
    key: Key,
    sides: [Spot; 2],
}

/// Where one side has a field.
struct Spot {
    position: usize,
    dtype: DType,
    shape: Vec<u64>,
}

impl Spot {
    fn of(position: usize, field: &Field) -> Self {
        Self { position, dtype: field.dtype.clone(), shape: ContentType::of(field).shape }
    }

    /// The bytes and the shape.
    fn value<'a>(&'a self, (batch, row): (&'a Batch, usize)) -> Option<(&'a [u8], &'a [u64])> {
        let column = batch.columns().get(self.position)?;
        let shape = column.shape(row).unwrap_or(&self.shape);
        Some((content_bytes(&self.dtype, column.bytes(row)?), shape))
    }
}

/// What two schemas have in common.
#[derive(Default)]
struct Fields {
    common: Vec<Common>,
    /// The other fields, and what is expected and found.
    apart: Vec<(String, String)>,
}

impl Fields {
    fn of(a: &Schema, b: &Schema) -> Self {
        let (here, there) = (&a.fields, &b.fields);
        let mut out = Self::default();
        for (at, field) in here.iter().enumerate() {
            let twin = there.iter().enumerate().find(|(_, other)| other.key == field.key);
            let content = ContentType::of(field);
            let found = match twin {
                None => "no such field".to_owned(),
                Some((position, twin)) if content.fits(&ContentType::of(twin)) => {
                    let sides = [Spot::of(at, field), Spot::of(position, twin)];
                    out.common.push(Common { key: field.key.clone(), sides });
                    continue;
                }
                Some((_, twin)) => ContentType::of(twin).to_string(),
            };
            out.apart.push((field.key.to_string(), format!("expected {content}, found {found}")));
        }
        for field in there.iter().filter(|field| here.iter().all(|other| other.key != field.key)) {
            let what = format!("expected no such field, found {}", ContentType::of(field));
            out.apart.push((field.key.to_string(), what));
        }
        out
    }

    fn log(&self, index: Option<u64>, log: &mut Log) {
        for (field, what) in &self.apart {
            log.add(index, Some(field.clone()), || what.clone());
        }
    }
}

fn compare_fields(a: &dyn Collection, b: &dyn Collection, log: &mut Log) -> Fields {
    let fields = Fields::of(a.schema(), b.schema());
    fields.log(None, log);
    fields
}

/// The fields of samples that are not those of their collections, as they were last found.
#[derive(Default)]
struct Odd(Option<([Arc<Schema>; 2], Fields)>);

impl Odd {
    fn fields(&mut self, a: &Arc<Schema>, b: &Arc<Schema>) -> &Fields {
        let known = self.0.take().filter(|([x, y], _)| Arc::ptr_eq(x, a) && Arc::ptr_eq(y, b));
        let found = || ([Arc::clone(a), Arc::clone(b)], Fields::of(a, b));
        &self.0.insert(known.unwrap_or_else(found)).1
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

fn compare_lengths(a: &dyn Collection, b: &dyn Collection, log: &mut Log) {
    if a.len() != b.len() {
        log.about_all(format!("expected {} samples, found {}", a.len(), b.len()));
    }
}

fn compare(
    a: Arc<dyn Collection>,
    b: Arc<dyn Collection>,
    options: &DiffOptions,
    meter: &mut Meter<'_>,
    log: &mut Log,
) -> Result<()> {
    let usual = compare_fields(a.as_ref(), b.as_ref(), log);
    compare_lengths(a.as_ref(), b.as_ref(), log);
    let shared = a.len().min(b.len());
    let schemas = [Arc::clone(a.schema()), Arc::clone(b.schema())];
    let mut odd = Odd::default();
    let mut sides =
        [Side::new(a, "first", shared, options), Side::new(b, "second", shared, options)];
    let mut twins = Twins::default();
    let mut index = 0u64;
    loop {
        let [left, right] = &mut sides;
        let (Some(x), Some(y)) = (left.next_rows()?, right.next_rows()?) else {
            break;
        };
        let count = x.rows.len().min(y.rows.len());
        // Formats may let samples differ in their fields; what is usual was compared before.
        let same =
            |batch: &Batch, schema| Arc::ptr_eq(batch.schema(), schema) || batch.schema() == schema;
        let [here, there] = &schemas;
        let is_usual = same(&x.batch, here) && same(&y.batch, there);
        let fields = match is_usual {
            true => &usual,
            false => odd.fields(x.batch.schema(), y.batch.schema()),
        };
        for (row, other) in x.rows.by_ref().take(count).zip(y.rows.by_ref()) {
            if !is_usual {
                fields.log(Some(index), log);
            }
            compare_rows(&fields.common, (&x.batch, row), (&y.batch, other), index, log);
            if options.level == Level::Full {
                let (a, b) = (x.batch.metadata(row), y.batch.metadata(other));
                if !twins.same(a, b) {
                    log.add(Some(index), None, || explain::metadata(a, b));
                }
            }
            index = index.saturating_add(1);
        }
        let bytes =
            u128::from(x.batch.value_bytes()) * count as u128 / x.batch.rows().max(1) as u128;
        meter.step(count, u64::try_from(bytes).unwrap_or(u64::MAX))?;
    }
    log.report.samples = log.report.samples.saturating_add(index);
    if index != shared {
        let name = log.collection.clone();
        let [left, right] = &mut sides;
        let ended = if left.next_rows()?.is_none() { left } else { right };
        return Err(side(ended.name)(count_error(&name, shared, index)));
    }
    Ok(())
}

/// One of the two datasets while its shards are walked.
struct Side {
    name: &'static str,
    shards: Shards,
    current: Option<Decoded>,
}

impl Side {
    fn new(
        collection: Arc<dyn Collection>,
        name: &'static str,
        shared: u64,
        options: &DiffOptions,
    ) -> Self {
        let scan = Scan::new(collection).threads(options.threads).limits(options.limits);
        let scan = scan.runs(true);
        Self { name, shards: scan.range(0..shared).shards(), current: None }
    }

    /// The shard whose rows are next; `None` at the end.
    fn next_rows(&mut self) -> Result<Option<&mut Decoded>> {
        while self.current.as_ref().is_none_or(|current| current.rows.is_empty()) {
            let Some(next) = self.shards.next() else { return Ok(None) };
            let next = next.map_err(side(self.name))?;
            self.current = Some(next);
        }
        Ok(self.current.as_mut())
    }
}

fn compare_rows(
    common: &[Common],
    a: (&Batch, usize),
    b: (&Batch, usize),
    index: u64,
    log: &mut Log,
) {
    for field in common {
        let [here, there] = &field.sides;
        let (x, y) = (here.value(a), there.value(b));
        if x != y {
            let found = |(bytes, shape)| ValueRef { dtype: &here.dtype, shape, bytes };
            let what = || explain::values(x.map(found), y.map(found));
            log.add(Some(index), Some(field.key.to_string()), what);
        }
    }
}

/// The metadata that were last found equal; whole shards share theirs.
#[derive(Default)]
struct Twins(Option<[Arc<Object>; 2]>);

impl Twins {
    fn same(&mut self, a: Option<&Arc<Object>>, b: Option<&Arc<Object>>) -> bool {
        let (Some(a), Some(b)) = (a, b) else { return a.is_none() && b.is_none() };
        let known = self.0.as_ref().is_some_and(|[x, y]| Arc::ptr_eq(x, a) && Arc::ptr_eq(y, b));
        let same = known || Arc::ptr_eq(a, b) || canonical::object(a) == canonical::object(b);
        if same && !known {
            self.0 = Some([Arc::clone(a), Arc::clone(b)]);
        }
        same
    }
}
