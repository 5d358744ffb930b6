//! A digest of what a collection holds, whatever holds it.
//!
//! ```text
//! field    key parts ‖ dtype ‖ rank ‖ dims ‖ byte length ‖ bytes          numbers: u64 LE; text: length ‖ UTF-8
//! values   SHA-256(domain ‖ fields ‖ each field, by key)                  of one sample
//! full     SHA-256(domain ‖ values digest ‖ metadata as canonical JSON)   of one sample
//! ordered  SHA-256(domain ‖ samples ‖ sample digest ‖ sample digest ‖ …)
//! any      SHA-256(domain ‖ samples ‖ sum of the sample digests modulo 2^256)
//! ```
//!
//! `docs/digest.md` defines it for other programs, with a worked example. Shard layout, compression, file names, the
//! order of fields and the name of the collection are not content.

use std::sync::Arc;

use packstone_container::Limits;
use packstone_container::digest::{Algorithm, Hasher, hex, sha256};
use packstone_container::json::{Object, Value};
use packstone_io::Kind;

use super::content::{ContentType, content_bytes, is_wide};
use super::count_error;
use super::meter::Meter;
use super::scan::{Decoded, Scan};
use crate::error::{Error, Place, Result};
use crate::exec::{Progress, default_threads};
use crate::format::Collection;
use crate::model::{Batch, Column, DType, Field, canonical};

/// Opens the digest of one sample's fields.
const SAMPLE: &[u8] = b"packstone content 1: sample\n";
/// Opens the digest of one sample with its metadata.
const SAMPLE_FULL: &[u8] = b"packstone content 1: sample with metadata\n";
/// Opens the digest of samples in their order.
const ORDERED: &[u8] = b"packstone content 1: samples in order\n";
/// Opens the digest of samples in any order.
const UNORDERED: &[u8] = b"packstone content 1: samples in any order\n";

/// How much of a sample is content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Level {
    /// The fields alone.
    Values,
    /// The fields and what is said about the sample.
    #[default]
    Full,
}

/// How to compute a digest.
#[derive(Clone, Copy, Debug)]
pub struct DigestOptions {
    /// Threads that decode and hash; 0 works where it is called.
    pub threads: usize,
    /// How much a shard may ask for.
    pub limits: Limits,
}

impl Default for DigestOptions {
    fn default() -> Self {
        Self { threads: default_threads(), limits: Limits::default() }
    }
}

/// The digests of a collection, in lower-case hex.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollectionDigest {
    /// The collection; its name is not part of the digests.
    pub name: String,
    /// Number of samples.
    pub samples: u64,
    /// Of the fields, samples in order.
    pub values: String,
    /// Of the fields, samples in any order.
    pub values_unordered: String,
    /// Of fields and metadata, samples in order.
    pub full: String,
    /// Of fields and metadata, samples in any order.
    pub full_unordered: String,
}

impl CollectionDigest {
    /// For JSON output.
    pub fn to_json(&self) -> Value {
        let mut out = Object::new();
        out.insert("type", Value::from("digest"));
        out.insert("collection", Value::from(self.name.as_str()));
        out.insert("samples", Value::from(self.samples));
        out.insert("values", Value::from(self.values.as_str()));
        out.insert("values_unordered", Value::from(self.values_unordered.as_str()));
        out.insert("full", Value::from(self.full.as_str()));
        out.insert("full_unordered", Value::from(self.full_unordered.as_str()));
        Value::Object(out)
    }
}

/// The content digests of all samples of `collection`.
///
/// Memory is bounded by the shards that are decoded at once.
///
/// # Errors
/// Those of [`Collection::read`]; `ops/missing_sample` where the shards hold another number of samples than the
/// collection says; `ops/cancelled`.
pub fn digest_collection(
    collection: Arc<dyn Collection>,
    options: &DigestOptions,
    progress: Option<&Arc<dyn Progress>>,
) -> Result<CollectionDigest> {
    let mut meter = Meter::new(progress, collection.len());
    digest_metered(collection, options, &mut meter)
}

/// [`digest_collection`] as a part of another operation.
pub(super) fn digest_metered(
    collection: Arc<dyn Collection>,
    options: &DigestOptions,
    meter: &mut Meter<'_>,
) -> Result<CollectionDigest> {
    let mut tally = Tally::new(collection.as_ref());
    let scan = Scan::new(collection).runs(true).threads(options.threads).limits(options.limits);
    for hashed in scan.map_shards(|shard| Ok((hash_shard(&shard)?, shard.batch.value_bytes()))) {
        let (hashed, bytes) = hashed?;
        tally.add(&hashed);
        meter.step(hashed.samples, bytes)?;
    }
    tally.finish()
}

/// The digests of some samples, made on the thread that decoded them.
#[derive(Default)]
pub(super) struct Hashed {
    samples: usize,
    values: Part,
    full: Part,
}

/// The digests of one level, one after another, and their sum.
#[derive(Default)]
struct Part {
    digests: Vec<u8>,
    /// Big-endian.
    sum: [u8; 32],
}

impl Part {
    fn push(&mut self, digest: &[u8]) {
        self.digests.extend_from_slice(digest);
        add(&mut self.sum, digest);
    }
}

/// Adds modulo 2^256.
fn add(sum: &mut [u8; 32], other: &[u8]) {
    let mut carry = 0;
    for (to, from) in sum.iter_mut().zip(other).rev() {
        let [low, high] = (u16::from(*to) + u16::from(*from) + carry).to_le_bytes();
        *to = low;
        carry = u16::from(high);
    }
}

/// The digests of the rows of a shard that are asked for.
pub(super) fn hash_shard(shard: &Decoded) -> Result<Hashed> {
    let batch = &shard.batch;
    let heads = heads(batch);
    let mut opening = SAMPLE.to_vec();
    put(&mut opening, heads.len());
    let mut hashed = Hashed { samples: shard.rows.len(), ..Hashed::default() };
    let mut about = About::default();
    for row in shard.rows.clone() {
        let mut hasher = Hasher::new(Algorithm::Sha256);
        hasher.update(&opening);
        for head in &heads {
            let column = batch.columns().get(head.position);
            column.and_then(|column| head.put(&mut hasher, column, row)).ok_or_else(|| {
                let message = format!("expected a value in row {row}, found none");
                Error::new(Kind::Invalid, "model/column_mismatch", Place::default(), message)
            })?;
        }
        let values = hasher.finish();
        let mut hasher = Hasher::new(Algorithm::Sha256);
        hasher.update(SAMPLE_FULL);
        hasher.update(&values);
        hasher.update(about.spell(batch.metadata(row)));
        hashed.values.push(&values);
        hashed.full.push(&hasher.finish());
    }
    Ok(hashed)
}

/// The spelled metadata of the last row; most rows share those of the row before.
#[derive(Default)]
struct About<'a>(Option<(Option<&'a Arc<Object>>, Vec<u8>)>);

impl<'a> About<'a> {
    fn spell(&mut self, metadata: Option<&'a Arc<Object>>) -> &[u8] {
        let known = self.0.as_ref().is_some_and(|(before, _)| match (before, metadata) {
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            (a, b) => a.is_none() && b.is_none(),
        });
        if !known {
            let text = metadata.map_or_else(|| "{}".to_owned(), |m| canonical::object(m));
            let mut spelled = Vec::new();
            put_text(&mut spelled, &text);
            self.0 = Some((metadata, spelled));
        }
        self.0.as_ref().map_or(&[], |(_, spelled)| spelled)
    }
}

/// What comes before the bytes of a field, the same in all rows.
struct Head {
    position: usize,
    dtype: DType,
    usual: Vec<u8>,
    /// For a Python integer beyond 64 bits.
    wide: Vec<u8>,
    /// True where the dims follow, row by row.
    varying: bool,
}

impl Head {
    fn put(&self, hasher: &mut Hasher, column: &Column, row: usize) -> Option<()> {
        let bytes = content_bytes(&self.dtype, column.bytes(row)?);
        hasher.update(if is_wide(&self.dtype, bytes) { &self.wide } else { &self.usual });
        if self.varying {
            column.shape(row)?.iter().for_each(|dim| hasher.update(&dim.to_le_bytes()));
        }
        hasher.update(&(bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
        Some(())
    }
}

fn heads(batch: &Batch) -> Vec<Head> {
    let mut fields: Vec<(usize, &Field)> = batch.schema().fields.iter().enumerate().collect();
    // UTF-8 has the order of code points.
    fields.sort_by_key(|(_, field)| &field.key);
    let head = |(position, field): (usize, &Field)| {
        let usual = ContentType::of(field);
        let wide = ContentType { dtype: field.dtype.name(), ..usual.clone() };
        let spell = |content: &ContentType| {
            let mut out = Vec::new();
            put(&mut out, field.key.parts().len());
            field.key.parts().iter().for_each(|part| put_text(&mut out, part));
            put_text(&mut out, &content.dtype);
            put(&mut out, content.shape.len());
            let dims = content.shape.iter().filter(|_| !field.varying);
            dims.for_each(|dim| out.extend_from_slice(&dim.to_le_bytes()));
            out
        };
        let (usual, wide) = (spell(&usual), spell(&wide));
        Head { position, dtype: field.dtype.clone(), usual, wide, varying: field.varying }
    };
    fields.into_iter().map(head).collect()
}

fn put(out: &mut Vec<u8>, number: usize) {
    out.extend_from_slice(&(number as u64).to_le_bytes());
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    put(out, text.len());
    out.extend_from_slice(text.as_bytes());
}

/// The digests of a collection in the making.
pub(super) struct Tally {
    name: String,
    expected: u64,
    samples: u64,
    values: Running,
    full: Running,
}

impl Tally {
    pub(super) fn new(collection: &dyn Collection) -> Self {
        let expected = collection.len();
        let name = collection.name().to_owned();
        Self {
            name,
            expected,
            samples: 0,
            values: Running::new(expected),
            full: Running::new(expected),
        }
    }

    /// Takes in the next samples.
    pub(super) fn add(&mut self, next: &Hashed) {
        self.values.add(&next.values);
        self.full.add(&next.full);
        self.samples += next.samples as u64;
    }

    /// The digests, where all samples came.
    pub(super) fn finish(self) -> Result<CollectionDigest> {
        if self.samples != self.expected {
            return Err(count_error(&self.name, self.expected, self.samples));
        }
        let ((values, values_unordered), (full, full_unordered)) =
            (self.values.finish(), self.full.finish());
        let (name, samples) = (self.name, self.samples);
        Ok(CollectionDigest { name, samples, values, values_unordered, full, full_unordered })
    }
}

/// Both digests of one level.
struct Running {
    ordered: Hasher,
    count: [u8; 8],
    /// Big-endian.
    sum: [u8; 32],
}

impl Running {
    fn new(samples: u64) -> Self {
        let count = samples.to_le_bytes();
        let mut ordered = Hasher::new(Algorithm::Sha256);
        ordered.update(ORDERED);
        ordered.update(&count);
        Self { ordered, count, sum: [0; 32] }
    }

    fn add(&mut self, part: &Part) {
        self.ordered.update(&part.digests);
        add(&mut self.sum, &part.sum);
    }

    fn finish(self) -> (String, String) {
        let unordered = sha256(&[UNORDERED, &self.count, &self.sum].concat());
        (self.ordered.finish_hex(), hex(&unordered))
    }
}
