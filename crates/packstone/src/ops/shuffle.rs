//! Random order from a seed: the same on every machine, with any number of threads, in every release. Test vectors
//! freeze it.
//!
//! [`Scan::shuffled`](super::Scan::shuffled) shuffles the list of shards with the numbers of the seed. Samples then
//! pass a buffer, with the numbers of the seed's complement: while fewer wait than should, the next one of the shards is
//! put at the end; then the one at a random place is taken, and the last one moves into its place.

use std::ops::Range;
use std::sync::Arc;

use super::scan::Shards;
use crate::error::Result;
use crate::model::Batch;
use crate::random::Random;

/// Samples that wait to be drawn. A decoded shard is held as long as one of its samples waits.
pub(super) struct Mixer {
    random: Random,
    size: usize,
    waiting: Vec<(Arc<Batch>, usize)>,
    /// The shard that samples come from.
    current: Option<(Arc<Batch>, Range<usize>)>,
}

impl Mixer {
    pub(super) fn new(random: Random, size: usize) -> Self {
        Self { random, size, waiting: Vec::new(), current: None }
    }

    /// The next sample, drawn when as many wait as should, or all that are left.
    pub(super) fn next(&mut self, shards: &mut Shards) -> Result<Option<(Arc<Batch>, usize)>> {
        while self.waiting.len() < self.size {
            let Some((batch, rows)) = &mut self.current else {
                let Some(shard) = shards.next().transpose()? else { break };
                self.current = Some((Arc::new(shard.batch), shard.rows));
                continue;
            };
            match rows.next() {
                Some(row) => self.waiting.push((Arc::clone(batch), row)),
                None => self.current = None,
            }
        }
        let at = self.random.index(self.waiting.len());
        Ok((at < self.waiting.len()).then(|| self.waiting.swap_remove(at)))
    }
}
