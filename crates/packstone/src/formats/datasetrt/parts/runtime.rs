//! Caches as a stream of samples: ordered or drawn by a seed, weighted, read ahead on threads, resumable anywhere.
//!
//! ```text
//! caches ─► ActiveDataset ── table: rows, weights, columns (made of metadata.arrow when it is asked for)
//!               │ pass()     sampler: where the next window begins
//!               ▼
//!             Pass ── window of rows ─► chunks of samples, in the order of the window
//!                       └► threads: grouped by shard, sorted by offset, read, put back in order ─► batches, samples
//! ```
//!
//! Order, windows and draws are those of the original: see [`sampler`](super::sampler), [`draws`](super::draws). A pass
//! reserves its window when it hands out its first sample, and the next pass begins after it, even if this one is
//! abandoned. What has been handed out so far is a small JSON value ([`ActiveDataset::state`]), from which reading goes
//! on exactly there, at once.
//!
//! At most a few chunks are in memory, whatever the size of the dataset. Samples of uncompressed caches are views of
//! their shard's map; batches are copied once, into buffers that are used again. Metadata are looked up when they are
//! asked for.

mod active;
mod bundle;
mod drawn;
mod fetch;
mod opened;
mod pass;
mod payloads;
mod state;

use std::sync::Arc;

use packstone_container::Limits;
use packstone_io::{Kind, Root};

use super::super::codes;
use super::super::options::OpenOptions;
use super::super::reader::DatasetRtDataset;
use super::cache::Cache;
use super::maps::Stay;
use crate::error::{Error, Place, Result};
use crate::exec;

pub use active::ActiveDataset;
pub use bundle::Bundle;
pub use drawn::{Drawn, DrawnSample, OwnedSample};
pub use pass::{Batches, Pass, Samples};

/// How a dataset is read, as the original is told.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReaderConfig {
    /// The seed of draws; without a meaning where samples come in the order of the table.
    pub seed: u64,
    /// Samples that one thread reads at once, at most; where batches are read, these are the unit.
    pub prefetch_size: u64,
    /// Samples are drawn by the seed and their weights, instead of coming in the order of the table.
    pub shuffle: bool,
    /// Compare all checksums when the dataset is opened.
    pub validate_cache: bool,
}

impl ReaderConfig {
    /// The original's defaults with a seed: shuffled, 64 samples ahead, nothing validated.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { seed, prefetch_size: 64, shuffle: true, validate_cache: false }
    }

    /// In the order of the table, or drawn.
    #[must_use]
    pub fn with_shuffle(mut self, shuffle: bool) -> Self {
        self.shuffle = shuffle;
        self
    }

    /// Other samples at once.
    #[must_use]
    pub fn with_prefetch_size(mut self, samples: u64) -> Self {
        self.prefetch_size = samples;
        self
    }

    /// Comparing all checksums at the start, or none.
    #[must_use]
    pub fn with_validate_cache(mut self, validate: bool) -> Self {
        self.validate_cache = validate;
        self
    }

    fn check(&self) -> Result<()> {
        if self.prefetch_size > 0 {
            return Ok(());
        }
        let message = "expected a prefetch_size of at least 1, found 0";
        Err(Error::new(Kind::Invalid, codes::SAMPLING_INVALID, Place::default(), message))
    }
}

/// What reads: threads, and what they may do.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Runtime {
    /// Threads of one pass; 0 reads where samples are taken.
    pub threads: usize,
    /// How caches are opened.
    pub open: OpenOptions,
    /// How much a record may ask for.
    pub limits: Limits,
}

impl Default for Runtime {
    fn default() -> Self {
        Self::new(exec::default_threads())
    }
}

impl Runtime {
    /// Reads on so many threads and compares the metadata of each record.
    #[must_use]
    pub fn new(threads: usize) -> Self {
        Self { threads, open: OpenOptions::default(), limits: Limits::default() }
    }

    /// The same, comparing the metadata of each record with the table or not.
    #[must_use]
    pub fn with_compare(mut self, compare: bool) -> Self {
        self.open = self.open.with_compare(compare);
        self
    }

    /// The same with other limits.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Opens caches, one a root, as one dataset in this order.
    ///
    /// # Errors
    /// Those of [`DatasetRtDataset::open_many`]; `sampling_invalid`; with `validate_cache`, `checksum_mismatch`.
    pub fn open(&self, roots: Vec<Arc<dyn Root>>, config: &ReaderConfig) -> Result<ActiveDataset> {
        config.check()?;
        let opened = DatasetRtDataset::open_many(roots, &self.open, &self.limits)?;
        let Some(joint) = opened.joint() else {
            let message = "expected caches, found a folder of them";
            return Err(Error::new(
                Kind::Invalid,
                codes::MANIFEST_MISSING,
                Place::default(),
                message,
            ));
        };
        if config.validate_cache {
            joint.caches().iter().try_for_each(|cache| self.validate(cache))?;
        }
        ActiveDataset::new(joint.clone(), config.clone(), self.clone())
    }

    /// Compares every checksum of a cache, and that there is a table.
    fn validate(&self, cache: &Cache) -> Result<()> {
        let shards: Vec<u64> = (0..cache.manifest.contents().shards.len() as u64).collect();
        cache.table()?;
        exec::for_each(&shards, self.threads, |number| {
            let (_, shard) = cache.shard(*number, Stay::Passing)?;
            cache.compare_checksums(*number, &shard)
        })
    }
}
