//! Random order from a seed: the same on every machine, with any number of threads, in every release.
//!
//! The numbers are those of SplitMix64; a number below `n` is the upper half of the 128-bit product with `n`, drawn
//! again where that would favour some; a list is shuffled from its end (Fisher and Yates). Test vectors freeze all of
//! it.
//!
//! [`Scan::shuffled`](super::Scan::shuffled) shuffles the shards, then draws samples from a buffer: each sample that
//! leaves is replaced by the next one of the shards.

use std::ops::Range;
use std::sync::Arc;

use super::scan::Shards;
use crate::error::Result;
use crate::model::Batch;

/// Random numbers from a seed, see [the module](self).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The sequence of `seed`.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`, each as likely as the others; 0 where there is none.
    pub fn below(&mut self, bound: u64) -> u64 {
        // Products whose lower half is below this come once more often for some numbers than for others.
        let uneven = bound.wrapping_neg().checked_rem(bound).unwrap_or(0);
        loop {
            let product = u128::from(self.next_u64()) * u128::from(bound);
            let low = u64::try_from(product & u128::from(u64::MAX)).unwrap_or(0);
            if low >= uneven {
                return u64::try_from(product >> 64).unwrap_or(0);
            }
        }
    }

    /// Brings `items` into an order that follows from the numbers to come.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.index(last + 1));
        }
    }

    fn index(&mut self, len: usize) -> usize {
        usize::try_from(self.below(len as u64)).unwrap_or(0)
    }
}

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
