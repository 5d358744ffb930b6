//! Which shards are read, and in which order: filters, limits, balance. No shard file is opened.
//!
//! A [`Selection`] applies its steps in this order: predicate, at most k shards of each metadata, the first n shards,
//! shuffle. [`balanced`] interleaves groups of shards. What they yield goes to
//! [`Scan::over_shards`](super::Scan::over_shards), or into a [`SelectedCollection`], which has random access too.

mod balance;
mod collection;
mod samples;

use std::collections::HashMap;
use std::sync::Arc;

use crate::error::Result;
use crate::format::ShardRef;
use crate::model::canonical;
use crate::random::Random;

pub use balance::{BalanceKey, Balanced, balanced};
pub use collection::SelectedCollection;
pub use samples::ChosenSamples;

type Predicate = dyn Fn(&ShardRef) -> bool + Send + Sync;

/// A choice among the shards of a collection; the default takes all.
#[derive(Clone, Default)]
pub struct Selection {
    filter: Option<Arc<Predicate>>,
    per_metadata: u64,
    first: i64,
    seed: Option<u64>,
}

impl Selection {
    /// All shards, in their order.
    pub fn new() -> Self {
        Self::default()
    }

    /// Only shards that `keep` says yes to.
    #[must_use]
    pub fn filter(mut self, keep: impl Fn(&ShardRef) -> bool + Send + Sync + 'static) -> Self {
        self.filter = Some(Arc::new(keep));
        self
    }

    /// Of shards with equal metadata only the first `most`; 0 for no limit. Metadata are equal that are spelled equal
    /// with sorted keys: `1` and `1.0` are not.
    #[must_use]
    pub fn per_metadata(mut self, most: u64) -> Self {
        self.per_metadata = most;
        self
    }

    /// Only the first `count` shards, or for a negative number all but the last `-count`; 0 for no limit.
    #[must_use]
    pub fn first(mut self, count: i64) -> Self {
        self.first = count;
        self
    }

    /// In an order that follows from `seed`, see [`Random::shuffle`].
    #[must_use]
    pub fn shuffled(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// The chosen ones of `shards`, which come as [`Collection::shards`](crate::format::Collection::shards) lists them.
    ///
    /// # Errors
    /// The first one in `shards`.
    pub fn select(
        &self,
        shards: impl IntoIterator<Item = Result<ShardRef>>,
    ) -> Result<Vec<ShardRef>> {
        let mut counts: HashMap<String, u64> = HashMap::new();
        let mut kept = Vec::new();
        for shard in shards {
            let shard = shard?;
            if self.filter.as_ref().is_some_and(|keep| !keep(&shard)) {
                continue;
            }
            if self.per_metadata > 0 {
                let count = counts.entry(canonical::object(&shard.metadata)).or_default();
                *count += 1;
                if *count > self.per_metadata {
                    continue;
                }
            }
            kept.push(shard);
            if usize::try_from(self.first).is_ok_and(|first| first > 0 && kept.len() >= first) {
                break;
            }
        }
        if self.first < 0 {
            let dropped = usize::try_from(self.first.unsigned_abs()).unwrap_or(usize::MAX);
            kept.truncate(kept.len().saturating_sub(dropped));
        }
        if let Some(seed) = self.seed {
            Random::new(seed).shuffle(&mut kept);
        }
        Ok(kept)
    }
}
