//! Reading in order: shards decoded ahead on threads.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use packstone_container::Limits;
use packstone_io::{BufferPool, Kind};

use super::batches::{Batches, Cutter, Source};
use super::missing_sample;
use super::salvage::read_parts;
use super::shuffle::Mixer;
use crate::error::{Error, Place, Result};
use crate::exec::{Pipeline, default_threads};
use crate::format::{Collection, ReadContext, ShardRef};
use crate::model::{Batch, Finding};
use crate::random::Random;

/// How to read a collection from one end to the other.
#[derive(Clone)]
pub struct Scan {
    collection: Arc<dyn Collection>,
    threads: usize,
    window: usize,
    range: Range<u64>,
    fields: Option<Vec<usize>>,
    verify: bool,
    identities: bool,
    runs: bool,
    limits: Limits,
    shuffle: Option<(u64, usize)>,
}

impl Scan {
    /// All samples in order, decoded on as many threads as the machine runs.
    pub fn new(collection: Arc<dyn Collection>) -> Self {
        let (threads, range) = (default_threads(), 0..collection.len());
        let limits = Limits::default();
        let (fields, verify, identities, runs, shuffle) = (None, false, false, false, None);
        let window = threads + 2;
        Self {
            collection,
            threads,
            window,
            range,
            fields,
            verify,
            identities,
            runs,
            limits,
            shuffle,
        }
    }

    /// Decode on `threads` threads, holding at most `threads + 2` shards; 0 decodes where shards are taken.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self.window = threads + 2;
        self
    }

    /// Only the samples of `range`; shards outside are not read.
    #[must_use]
    pub fn range(mut self, range: Range<u64>) -> Self {
        let end = range.end.min(self.collection.len());
        self.range = range.start.min(end)..end;
        self
    }

    /// Only these fields.
    ///
    /// # Errors
    /// `model/unknown_field`, naming the fields there are.
    pub fn fields(mut self, names: &[impl AsRef<str>]) -> Result<Self> {
        self.fields = Some(self.collection.schema().positions(names)?);
        Ok(self)
    }

    /// Compare recorded checksums of each shard before it is used.
    #[must_use]
    pub fn verify(mut self, verify: bool) -> Self {
        self.verify = verify;
        self
    }

    /// Say what the container calls each sample, see [`Batch::identity`].
    #[must_use]
    pub fn identities(mut self, identities: bool) -> Self {
        self.identities = identities;
        self
    }

    /// Take samples as they are where they differ in their fields: a shard may then come as several, each with fields of
    /// its own, see [`Collection::read_runs`].
    #[must_use]
    pub fn runs(mut self, runs: bool) -> Self {
        self.runs = runs;
        self
    }

    /// Other limits.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// In a random order that follows from `seed`: shards are shuffled fully, and [batches](Self::batches) take each
    /// sample at random from `buffer` that wait (0 and 1 keep the order inside a shard).
    ///
    /// Equal seeds give equal orders, with any number of threads. Take another seed for each pass. A decoded shard is
    /// held while one of its samples waits: memory is about that of `buffer` samples times the logarithm of the samples
    /// in a shard, and at least that of the shards decoded ahead.
    #[must_use]
    pub fn shuffled(mut self, seed: u64, buffer: usize) -> Self {
        self.shuffle = Some((seed, buffer));
        self
    }

    /// Shard after shard, in the collection's order, or shuffled.
    pub fn shards(self) -> Shards {
        self.map_shards(Ok)
    }

    /// The given shards, in the given order, whole: what filters and balancing yield.
    pub fn over_shards(
        self,
        shards: impl Iterator<Item = Result<ShardRef>> + Send + 'static,
    ) -> Shards {
        self.over(Box::new(shards), 0..u64::MAX, Ok)
    }

    /// What `work` makes of each shard, in the order of the shards; it runs on the threads that decode.
    pub fn map_shards<T: Send + 'static>(
        self,
        work: impl Fn(Decoded) -> Result<T> + Send + Sync + 'static,
    ) -> Mapped<T> {
        let range = self.range.clone();
        let mut listed = self.collection.shards(range.start);
        if let Some((seed, _)) = self.shuffle {
            listed = shuffle_shards(listed, range.end, seed);
        }
        self.over(listed, range, work)
    }

    fn over<T: Send + 'static>(
        self,
        listed: Listing,
        range: Range<u64>,
        work: impl Fn(Decoded) -> Result<T> + Send + Sync + 'static,
    ) -> Mapped<T> {
        let pool = BufferPool::new(self.window + self.threads + 1);
        let notes = Arc::new(Mutex::new(Vec::new()));
        let work = Arc::new(work);
        let make = || {
            let mut context = ReadContext::new(pool.clone(), self.limits, self.verify);
            context.identities = self.identities;
            let context = Mutex::new(context);
            let (collection, fields) = (Arc::clone(&self.collection), self.fields.clone());
            let (notes, work, range) = (Arc::clone(&notes), Arc::clone(&work), range.clone());
            let runs = self.runs;
            move |shard: ShardRef| {
                let mut context = context.lock().unwrap_or_else(PoisonError::into_inner);
                let fields = fields.as_deref();
                let wanted = cut(&range, &shard, usize::try_from(shard.rows).unwrap_or(usize::MAX));
                let collection = collection.as_ref();
                let (parts, mut failed) =
                    read_parts(collection, &shard, runs, wanted, fields, &mut context);
                notes.lock().unwrap_or_else(PoisonError::into_inner).append(&mut context.notes);
                let mut made = Vec::with_capacity(parts.len());
                for (shard, batch) in parts {
                    let rows = cut(&range, &shard, batch.rows());
                    match work(Decoded { shard, batch, rows }) {
                        Ok(one) => made.push(one),
                        Err(error) => {
                            failed = Some(error);
                            break;
                        }
                    }
                }
                Made { made, failed }
            }
        };
        let pipeline = Pipeline::new(self.threads, self.window, make);
        let (ready, failed) = (VecDeque::new(), None);
        let (listed, end, stop) = (Some(listed), range.end, None);
        Mapped { pipeline, ready, failed, listed, end, stop, notes }
    }

    /// Batches of `size` samples across shard borders; the last one may be short.
    ///
    /// # Errors
    /// `ops/batch_size` for 0.
    pub fn batches(self, size: usize) -> Result<Batches> {
        if size == 0 {
            let message = "expected a batch size of at least 1, found 0";
            return Err(Error::new(Kind::Invalid, "ops/batch_size", Place::default(), message));
        }
        let schema = match &self.fields {
            Some(fields) => Arc::new(self.collection.schema().project(fields)),
            None => Arc::clone(self.collection.schema()),
        };
        // Enough for all batches of the shards in flight, unless these are very large.
        let buffers = (self.window + 2).saturating_mul(schema.fields.len()).saturating_mul(64);
        // Without threads each batch is copied where it is taken, into the buffer that the one before it left.
        let ahead = self.shuffle.is_none() && self.threads > 0;
        let start = ahead.then_some(self.range.start);
        let cutter = Cutter { schema, size, pool: BufferPool::new(buffers), start };
        let source = match self.shuffle {
            // The shards have the seed itself.
            Some((seed, buffer)) if buffer > 1 => {
                Source::Mixed(self.shards(), Mixer::new(Random::new(!seed), buffer))
            }
            _ => {
                let cutter = cutter.clone();
                let cut = move |decoded| cutter.cut(decoded);
                let windows = windows(&self.collection, &self.range, size);
                match windows.filter(|_| self.shuffle.is_none()) {
                    Some(windows) => {
                        let range = self.range.clone();
                        Source::Ordered(self.over(windows, range, cut))
                    }
                    None => Source::Ordered(self.map_shards(cut)),
                }
            }
        };
        Batches::new(source, &cutter)
    }
}

/// The samples of `range` in runs of whole batches, about as many as shards have, where the collection makes shards as
/// they are asked for.
fn windows(collection: &Arc<dyn Collection>, range: &Range<u64>, size: usize) -> Option<Listing> {
    let (collection, range, size) = (Arc::clone(collection), range.clone(), size as u64);
    collection.window(range.start..range.start.saturating_add(1).min(range.end))?;
    let usual = collection.len() / collection.shard_count().max(1);
    let rows = (usual / size).max(1).saturating_mul(size);
    let mut next = range.start;
    Some(Box::new(std::iter::from_fn(move || {
        // One that was cut short is followed by what fills it up, so that the others begin with a batch.
        let filled = (next - range.start) % rows;
        let end = next.saturating_add(rows - filled).min(range.end);
        if next >= end {
            return None;
        }
        let Some(shard) = collection.window(next..end) else {
            // What cannot be found any more is told, and is the end.
            let missing = missing_sample(collection.len(), next);
            next = range.end;
            return Some(Err(missing));
        };
        next = next.saturating_add(shard.rows.max(1));
        Some(Ok(shard))
    })))
}

/// The shards up to the sample `end` in the order of `seed`; an error comes before all of them.
fn shuffle_shards(listed: Listing, end: u64, seed: u64) -> Listing {
    let asked = listed.take_while(|shard| shard.as_ref().map_or(true, |shard| shard.first < end));
    match asked.collect::<Result<Vec<_>>>() {
        Ok(mut shards) => {
            Random::new(seed).shuffle(&mut shards);
            Box::new(shards.into_iter().map(Ok))
        }
        Err(error) => Box::new(std::iter::once(Err(error))),
    }
}

type Listing = Box<dyn Iterator<Item = Result<ShardRef>> + Send>;

/// Decoded shards in order, see [`Scan::shards`].
pub type Shards = Mapped<Decoded>;

/// What was made of each shard, in order, see [`Scan::map_shards`].
pub struct Mapped<T> {
    pipeline: Pipeline<ShardRef, Made<T>>,
    /// Runs of the last shard that was taken, and what ended them.
    ready: VecDeque<T>,
    failed: Option<Error>,
    listed: Option<Listing>,
    /// Shards from this sample on are not asked for.
    end: u64,
    stop: Option<Error>,
    notes: Arc<Mutex<Vec<Finding>>>,
}

/// What was made of the runs of a shard, in order, and what ended them early.
struct Made<T> {
    made: Vec<T>,
    failed: Option<Error>,
}

/// A decoded shard and which of its rows are asked for.
#[derive(Debug)]
pub struct Decoded {
    /// The shard; where a record in it is at fault, the part before that.
    pub shard: ShardRef,
    /// All of its rows.
    pub batch: Batch,
    /// Those inside the range of the scan.
    pub rows: Range<usize>,
}

fn cut(range: &Range<u64>, shard: &ShardRef, rows: usize) -> Range<usize> {
    let inside = |index: u64| {
        let row = index.saturating_sub(shard.first).min(rows as u64);
        usize::try_from(row).unwrap_or(rows)
    };
    inside(range.start)..inside(range.end)
}

impl<T: Send + 'static> Mapped<T> {
    /// What was noticed so far and is no error.
    pub fn take_notes(&mut self) -> Vec<Finding> {
        std::mem::take(&mut self.notes.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn refill(&mut self) {
        while self.pipeline.has_room() {
            let Some(listed) = &mut self.listed else { return };
            match listed.next() {
                Some(Ok(shard)) if shard.first < self.end => self.pipeline.submit(shard),
                Some(Err(error)) => {
                    // Reported after the shards that come before it.
                    self.stop = Some(error);
                    self.listed = None;
                }
                _ => self.listed = None,
            }
        }
    }
}

impl<T: Send + 'static> Iterator for Mapped<T> {
    type Item = Result<T>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(ready) = self.ready.pop_front() {
                return Some(Ok(ready));
            }
            if let Some(error) = self.failed.take() {
                return Some(Err(error));
            }
            self.refill();
            match self.pipeline.next_result() {
                Some(Ok(Made { made, failed })) => {
                    self.ready.extend(made);
                    self.failed = failed;
                }
                Some(Err(error)) => return Some(Err(error)),
                None => return self.stop.take().map(Err),
            }
        }
    }
}
