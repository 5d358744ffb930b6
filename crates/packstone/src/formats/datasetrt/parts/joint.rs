//! Several caches as one sequence of samples.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use packstone_container::codec::Codec;
use packstone_container::json::Object;
use packstone_io::Kind;

use super::super::codes;
use super::super::document::Algo;
use super::super::layout::MANIFEST;
use super::super::options::WriterOptions;
use super::super::schema::describe;
use super::cache::Cache;
use super::maps::Stay;
use super::native::NativeOrder;
use super::peer::{self, unreadable};
use super::whole::sample_table;
use crate::error::{Error, Place, Result};
use crate::format::{Access, Collection, ReadContext, ShardRef};
use crate::model::{Batch, DType, Field, SampleTable, Schema, Unreadable};
use crate::order::Order;

/// Bytes of samples that are decoded into one buffer, about.
const TOGETHER: u64 = 64 << 20;

/// The only field of a sample.
pub const PAYLOAD: &str = "data";

/// The fields of samples: the payload.
pub fn payload_schema() -> Arc<Schema> {
    Arc::new(Schema::new(vec![Field::new(PAYLOAD, DType::Bytes, [])]))
}

/// Caches that are read as one sequence of samples. Cloning shares them.
#[derive(Clone)]
pub struct Joint(Arc<Inner>);

struct Inner {
    name: String,
    schema: Arc<Schema>,
    caches: Vec<Arc<Cache>>,
    /// Places of the caches by id.
    ids: HashMap<u64, usize>,
    /// How many samples there are before each cache, and in all.
    samples: Vec<u64>,
    /// The same of runs, known once somebody reads in order.
    runs: OnceLock<Vec<u64>>,
}

impl Joint {
    /// Joins caches, in this order.
    ///
    /// # Errors
    /// `duplicate_cache_id`, `schema_differs`, `no_samples`.
    pub fn new(name: String, caches: Vec<Arc<Cache>>) -> Result<Self> {
        check_together(&caches)?;
        let (mut samples, mut all) = (vec![0u64], 0u64);
        for cache in &caches {
            all = all.saturating_add(cache.samples());
            samples.push(all);
        }
        if all == 0 {
            let message = "expected at least one sample, found none";
            let place = caches.first().map_or_else(Place::default, |c| c.site.place(MANIFEST));
            return Err(Error::new(Kind::Invalid, codes::NO_SAMPLES, place, message));
        }
        let ids = caches.iter().enumerate().map(|(at, cache)| (cache.cache_id, at)).collect();
        let schema = caches.first().map_or_else(payload_schema, |cache| Arc::clone(&cache.schema));
        Ok(Self(Arc::new(Inner { name, schema, caches, ids, samples, runs: OnceLock::new() })))
    }

    /// The caches in order.
    pub fn caches(&self) -> &[Arc<Cache>] {
        &self.0.caches
    }

    /// The position of a sample by its identity; it does not change with tables, weights or cursors.
    ///
    /// # Errors
    /// `unknown_sample`.
    pub fn position(&self, cache_id: u64, sample_id: u64) -> Result<u64> {
        let at = self.0.ids.get(&cache_id).copied();
        let found =
            at.filter(|at| self.0.caches.get(*at).is_some_and(|cache| sample_id < cache.samples()));
        found.and_then(|at| self.0.samples.get(at)?.checked_add(sample_id)).ok_or_else(|| {
            let message = format!(
                "expected an identity of this dataset, found cache_id {cache_id}, sample_id {sample_id}"
            );
            Error::new(Kind::NotFound, codes::UNKNOWN_SAMPLE, Place::default(), message)
        })
    }

    /// The cache that holds the sample at a position, and its number in the cache.
    ///
    /// # Errors
    /// `unknown_sample`.
    pub fn locate(&self, position: u64) -> Result<(&Arc<Cache>, u64)> {
        let found = self.find(position).map(|(_, cache, sample)| (cache, sample));
        found.ok_or_else(|| {
            let message = format!("expected a position below {}, found {position}", self.len());
            Error::new(Kind::NotFound, codes::UNKNOWN_SAMPLE, Place::default(), message)
        })
    }

    /// The place of the cache that holds the sample at a position, the cache, and the sample's number in it.
    pub(super) fn find(&self, position: u64) -> Option<(usize, &Arc<Cache>, u64)> {
        let at = self.0.samples.partition_point(|before| *before <= position).checked_sub(1)?;
        Some((at, self.0.caches.get(at)?, position - self.0.samples.get(at)?))
    }

    /// The sample of an identity, as a batch of one.
    ///
    /// # Errors
    /// `unknown_sample`; those of [`Cache::read`].
    pub fn get(&self, cache_id: u64, sample_id: u64, context: &mut ReadContext) -> Result<Batch> {
        self.get_at(self.position(cache_id, sample_id)?, context)
    }

    /// The sample at a position, as a batch of one.
    ///
    /// # Errors
    /// `unknown_sample`; those of [`Cache::read`].
    pub fn get_at(&self, position: u64, context: &mut ReadContext) -> Result<Batch> {
        let (cache, sample) = self.locate(position)?;
        cache.read(&[sample], None, Stay::Kept, context)
    }

    /// How many runs there are before each cache, and in all.
    fn runs(&self) -> Result<&[u64]> {
        if let Some(runs) = self.0.runs.get() {
            return Ok(runs);
        }
        let (mut runs, mut all) = (vec![0], 0);
        for cache in &self.0.caches {
            all += cache.runs()?.len() as u64;
            runs.push(all);
        }
        Ok(self.0.runs.get_or_init(|| runs))
    }

    /// The number of the run that holds the sample at a position, and how many runs there are.
    fn runs_from(&self, position: u64) -> Result<(u64, u64)> {
        let runs = self.runs()?;
        let all = runs.last().copied().unwrap_or(0);
        let Some((at, cache, sample)) = self.find(position) else { return Ok((all, all)) };
        let before = runs.get(at).copied().unwrap_or(0);
        Ok((before + cache.runs()?.holding(sample) as u64, all))
    }

    /// The run of this number among those of all caches.
    fn run(&self, number: u64) -> Option<ShardRef> {
        let runs = self.runs().ok()?;
        let cache_at = runs.partition_point(|before| *before <= number).checked_sub(1)?;
        let cache = self.0.caches.get(cache_at)?;
        let within = usize::try_from(number - runs.get(cache_at)?).ok()?;
        let samples = cache.runs().ok()?.run(within)?;
        let entry = cache.shard_entry(cache.index().row(samples.start)?.shard)?;
        Some(ShardRef {
            number,
            first: self.0.samples.get(cache_at)?.checked_add(samples.start)?,
            rows: samples.end - samples.start,
            path: cache.site.shard(&entry.name).ok()?,
            metadata: Arc::default(),
            detail: Arc::new(Run { cache: cache_at, first: samples.start }),
        })
    }

    /// Samples from a position on: those of `rows` that lie in one cache and can be held at once.
    fn neighbours(&self, rows: Range<u64>) -> Option<ShardRef> {
        let (at, cache, first) = self.find(rows.start)?;
        let most = rows.end.checked_sub(rows.start)?.min(cache.samples().checked_sub(first)?);
        let row = cache.index().row(first)?;
        let mut bytes = 0u64;
        let together = (first..first.saturating_add(most)).map_while(|sample| {
            bytes = bytes.saturating_add(cache.decoded_bytes(cache.index().row(sample)?));
            (bytes <= TOGETHER || sample == first).then_some(())
        });
        let count = together.count() as u64;
        (count > 0).then_some(ShardRef {
            number: self.runs_from(rows.start).ok()?.0,
            first: rows.start,
            rows: count,
            path: cache.site.shard(&cache.shard_entry(row.shard)?.name).ok()?,
            metadata: Arc::default(),
            detail: Arc::new(Run { cache: at, first }),
        })
    }

    fn read_run(
        &self,
        shard: &ShardRef,
        rows: Option<&[usize]>,
        fields: Option<&[usize]>,
        context: &mut ReadContext,
    ) -> Result<Batch> {
        let foreign = || {
            let message = format!("expected a shard of {:?}, found another", self.0.name);
            let place = Place::file(&shard.path);
            Error::new(Kind::Invalid, codes::UNKNOWN_COLLECTION, place, message)
        };
        let run = shard.detail.downcast_ref::<Run>().ok_or_else(foreign)?;
        let cache = self.0.caches.get(run.cache).ok_or_else(foreign)?;
        let all = run.first..run.first.saturating_add(shard.rows);
        let samples: Vec<u64> = match rows {
            None => all.collect(),
            Some(rows) => {
                let sample = |row: &usize| {
                    let sample = run.first.checked_add(*row as u64)?;
                    all.contains(&sample).then_some(sample)
                };
                rows.iter().map(sample).collect::<Option<_>>().ok_or_else(foreign)?
            }
        };
        let stay = if rows.is_some() { Stay::Kept } else { Stay::Passing };
        cache.read(&samples, fields, stay, context)
    }
}

/// What a run is of.
struct Run {
    /// Position of its cache.
    cache: usize,
    /// Its first sample in the cache.
    first: u64,
}

/// Checks what must hold between the caches of a list.
///
/// # Errors
/// `duplicate_cache_id`, `schema_differs`.
pub fn check_together(caches: &[Arc<Cache>]) -> Result<()> {
    let mut ids = std::collections::HashMap::new();
    for cache in caches {
        if let Some(other) = ids.insert(cache.cache_id, cache) {
            let message = format!(
                "expected an id of its own, found {} of {} again",
                cache.cache_id,
                other.site.label()
            );
            let place = cache.site.place(MANIFEST);
            return Err(Error::new(Kind::Conflict, codes::DUPLICATE_CACHE_ID, place, message));
        }
    }
    let Some(first) = caches.first() else { return Ok(()) };
    let same = |cache: &&Arc<Cache>| {
        cache.columns() == first.columns() && cache.descriptor.fields == first.descriptor.fields
    };
    match caches.iter().find(|cache| !same(cache)) {
        None => Ok(()),
        Some(other) => {
            let message = format!(
                "expected the metadata columns of {} ({}), found {}",
                first.site.label(),
                describe(first.columns()),
                describe(other.columns())
            );
            let place = other.site.place(MANIFEST).json("$.metadata_schema");
            Err(Error::new(Kind::Invalid, codes::SCHEMA_DIFFERS, place, message))
        }
    }
}

impl Collection for Joint {
    fn name(&self) -> &str {
        &self.0.name
    }

    fn len(&self) -> u64 {
        self.0.samples.last().copied().unwrap_or(0)
    }

    fn has_metadata(&self) -> Result<bool> {
        for cache in &self.0.caches {
            if cache.has_metadata()? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn table(&self) -> Result<Option<SampleTable>> {
        sample_table(self).map(Some)
    }

    fn draws(&self, seed: u64, weights: Option<&[f64]>) -> Result<Option<Arc<dyn Order>>> {
        Ok(Some(Arc::new(NativeOrder::new(self.len(), seed, weights)?)))
    }

    /// Checksums of the manifests: of tables, indices and the last shards.
    fn recorded(&self) -> Option<String> {
        let caches = self.caches().iter().map(|cache| {
            let contents = cache.manifest.contents();
            let shard = contents.shards.last().map_or("", |shard| shard.sha256.as_str());
            [contents.metadata_sha256.as_str(), contents.index_sha256.as_str(), shard].join(" ")
        });
        Some(caches.collect::<Vec<_>>().join("\n"))
    }

    fn document(&self) -> Option<&Object> {
        match self.0.caches.as_slice() {
            [only] => Some(&only.manifest.contents().document),
            _ => None,
        }
    }

    fn unreadable(&self, options: &Object) -> Result<Vec<Unreadable>> {
        let runs = self.0.caches.iter().zip(&self.0.samples).map(|(cache, first)| {
            Ok(peer::Run { cache, samples: 0..cache.samples(), first: *first })
        });
        unreadable(&self.0.name, runs, &WriterOptions::of_copies().with(options)?)
    }

    fn codec(&self) -> Option<Codec> {
        let shards = |cache: &Arc<Cache>| cache.manifest.contents().shards.clone();
        let mut each = self.0.caches.iter().flat_map(shards).map(|shard| shard.algo);
        let first = each.next()?;
        each.all(|algo| algo == first).then_some(match first {
            Algo::None => Codec::None,
            Algo::Lz4 => Codec::Lz4Frame,
        })
    }

    fn stored_bytes(&self, shard: &ShardRef) -> Option<u64> {
        let run = shard.detail.downcast_ref::<Run>()?;
        let index = self.0.caches.get(run.cache)?.index();
        let rows = run.first..run.first.saturating_add(shard.rows);
        Some(rows.filter_map(|row| index.row(row)).fold(0, |sum, row| sum.saturating_add(row.len)))
    }

    fn likely_bytes(&self) -> Option<u64> {
        let all = self.0.caches.iter().flat_map(|cache| &cache.manifest.contents().shards);
        all.fold(0, |sum: u64, shard| sum.saturating_add(shard.raw_bytes)).checked_div(self.len())
    }

    fn shard_count(&self) -> u64 {
        let stored = |cache: &Arc<Cache>| cache.manifest.contents().shards.len() as u64;
        match self.runs() {
            Ok(runs) => runs.last().copied().unwrap_or(0),
            // Who goes through them is told what is wrong.
            Err(_) => self.0.caches.iter().map(stored).sum(),
        }
    }

    fn schema(&self) -> &Arc<Schema> {
        &self.0.schema
    }

    fn shards(&self, from: u64) -> Box<dyn Iterator<Item = Result<ShardRef>> + Send> {
        let (first, end) = match self.runs_from(from) {
            Ok(runs) => runs,
            Err(error) => return Box::new(std::iter::once(Err(error))),
        };
        let joint = self.clone();
        Box::new((first..end).filter_map(move |number| joint.run(number).map(Ok)))
    }

    fn read(
        &self,
        shard: &ShardRef,
        fields: Option<&[usize]>,
        context: &mut ReadContext,
    ) -> Result<Batch> {
        self.read_run(shard, None, fields, context)
    }

    fn read_rows(
        &self,
        shard: &ShardRef,
        rows: &[usize],
        fields: Option<&[usize]>,
        context: &mut ReadContext,
    ) -> Result<Batch> {
        self.read_run(shard, Some(rows), fields, context)
    }

    fn access(&self) -> Access {
        Access::Apart
    }

    fn window(&self, rows: Range<u64>) -> Option<ShardRef> {
        self.neighbours(rows)
    }

    /// Of one cache, as many as can be held at once. Where there are several caches, not even none are at hand.
    fn read_at(
        &self,
        indices: &[u64],
        fields: Option<&[usize]>,
        context: &mut ReadContext,
    ) -> Result<Option<Batch>> {
        let Some((at, cache, _)) = self.find(indices.first().copied().unwrap_or(0)) else {
            return Ok(None);
        };
        if indices.is_empty() && self.caches().len() > 1 {
            return Ok(None);
        }
        let mut bytes = 0u64;
        let sample = |index: &u64| {
            let (place, _, sample) = self.find(*index)?;
            bytes = bytes.saturating_add(cache.decoded_bytes(cache.index().row(sample)?));
            (place == at && (bytes <= TOGETHER || indices.len() == 1)).then_some(sample)
        };
        match indices.iter().map(sample).collect::<Option<Vec<u64>>>() {
            Some(samples) => cache.read(&samples, fields, Stay::Kept, context).map(Some),
            None => Ok(None),
        }
    }
}
