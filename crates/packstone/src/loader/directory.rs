//! Which shard holds a sample. Shards that were found once are remembered; lists are read where an order goes.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::sources::Sources;
use crate::error::Result;
use crate::format::ShardRef;
use crate::ops::missing_sample;

/// Shards that are remembered of all collections.
const REMEMBERED: usize = 1 << 20;
/// Shards that are looked at behind the first one that was asked for: they stand in the same list. Each further jump looks
/// at twice as many, since it may read the list anew: so many shards are found in a few jumps, in any order.
const NEIGHBOURS: usize = 64;

/// Which shard: the collection, and the index of the first sample in it.
pub(super) type ShardId = (usize, u64);

type Listing = Box<dyn Iterator<Item = Result<ShardRef>> + Send>;

/// Finds shards.
pub(super) struct Directory {
    sources: Arc<Sources>,
    known: HashMap<usize, BTreeMap<u64, Arc<ShardRef>>>,
    count: usize,
    /// How many the next jump looks at.
    neighbours: usize,
    /// The shard that was found last.
    last: Option<(usize, Arc<ShardRef>)>,
    /// Where the last look-up ended, and what lists the shards behind it.
    open: Option<(ShardId, Listing)>,
}

impl Directory {
    pub(super) fn new(sources: Arc<Sources>) -> Self {
        let (known, neighbours) = (HashMap::new(), NEIGHBOURS);
        Self { sources, known, count: 0, neighbours, last: None, open: None }
    }

    /// The shard that holds the sample at `index`, and its row there.
    ///
    /// # Errors
    /// `index_out_of_range`; those of [`Collection::shards`](crate::format::Collection::shards); `ops/missing_sample`.
    pub(super) fn find(&mut self, index: u64) -> Result<(ShardId, usize, Arc<ShardRef>)> {
        let (source, local) = self.sources.locate(index)?;
        let holds = |shard: &ShardRef| {
            (shard.first..shard.first.saturating_add(shard.rows)).contains(&local)
        };
        let shard = match self.last.take().filter(|(at, shard)| *at == source && holds(shard)) {
            Some((_, shard)) => shard,
            None => match self.look_up(source, local) {
                Some(shard) => shard,
                None => self.list(source, local)?,
            },
        };
        self.last = Some((source, Arc::clone(&shard)));
        let row = usize::try_from(local.saturating_sub(shard.first)).unwrap_or(usize::MAX);
        Ok(((source, shard.first), row, shard))
    }

    fn look_up(&self, source: usize, local: u64) -> Option<Arc<ShardRef>> {
        let known = self.known.get(&source)?;
        let (_, shard) = known.range(..=local).next_back()?;
        (local < shard.first.saturating_add(shard.rows)).then(|| Arc::clone(shard))
    }

    /// Reads on where the last look-up ended, or from the sample on.
    fn list(&mut self, source: usize, local: u64) -> Result<Arc<ShardRef>> {
        let len = self.sources.get(source).map_or(0, |source| source.collection.len());
        let (mut listing, follows) = match self.open.take() {
            Some((end, listing)) if end == (source, local) => (listing, true),
            _ => match self.sources.get(source) {
                Some(source) => (source.collection.shards(local), false),
                None => return Err(missing_sample(len, local)),
            },
        };
        let mut found = None;
        let mut end = local;
        let most = self.neighbours;
        if !follows {
            self.neighbours = most.saturating_mul(2).min(REMEMBERED / 2);
        }
        for _ in 0..most {
            let shard = match listing.next() {
                Some(Ok(shard)) => Arc::new(shard),
                Some(Err(error)) if found.is_none() => return Err(error),
                // Told when somebody asks for what is behind it.
                Some(Err(_)) | None => break,
            };
            if shard.rows == 0 {
                continue;
            }
            let after = shard.first.saturating_add(shard.rows);
            if found.is_none() {
                if !(shard.first..after).contains(&local) {
                    return Err(missing_sample(len, local));
                }
                found = Some(Arc::clone(&shard));
            }
            end = after;
            self.remember(source, shard);
            // Whoever goes in order takes one after the other.
            if follows {
                break;
            }
        }
        self.open = Some(((source, end), listing));
        found.ok_or_else(|| missing_sample(len, local))
    }

    fn remember(&mut self, source: usize, shard: Arc<ShardRef>) {
        if self.count >= REMEMBERED {
            self.known.clear();
            self.count = 0;
        }
        self.known.entry(source).or_default().insert(shard.first, shard);
        self.count += 1;
    }
}
