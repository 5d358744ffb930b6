//! Several orders by ratio: which source comes at a position, and which of its samples.
//!
//! ```text
//! ratios r₀ … of sum T          divided by what they share
//! block b = positions b·T …     slot = (position - b·T) permuted by nth(key, b)
//! source s                      the one whose part of 0 … T-1 has the slot: parts r₀, r₁, … one after another
//! place in the source           b·r_s + (slot - start of its part)
//! last block                    shorter, with parts of its own that share out the rest by largest remainder
//! ```
//!
//! So each block has every source exactly as often as its ratio says, at places that change from block to block, and no
//! rank or place in a batch meets one source more often than others. The smaller T, the closer every stretch of the epoch
//! keeps to the ratios: `7 : 3` does so every ten samples.
//!
//! A sample is its index among the samples of all sources, one dataset after another.

mod blocks;
mod epoch;

use std::sync::Arc;

use packstone_container::json::{Object, Value};

use blocks::Blocks;
use epoch::Epoch;

use super::{Drawn, Order, OrderId, codes, invalid, key};
use crate::error::Result;

const TAG: [u8; 8] = *b"mixture ";
/// The largest sum of ratios.
const MOST: u64 = 1 << 32;

/// When an epoch of several things ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stop {
    /// Before the first of them would have to begin anew.
    #[default]
    First,
    /// When the last of them has come to its end; the others begin anew, in another order.
    All,
}

impl Stop {
    fn name(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::All => "all",
        }
    }
}

/// One of the things that are mixed.
#[derive(Clone, Debug)]
pub struct Source {
    /// The order of its samples.
    pub order: Arc<dyn Order>,
    /// Samples of its dataset, which the order draws from.
    pub samples: u64,
    /// Its part of the mixture.
    pub ratio: u64,
}

/// Several orders by ratio.
#[derive(Clone, Debug)]
pub struct Mixture {
    sources: Arc<[Source]>,
    blocks: Blocks,
    stop: Stop,
    seed: u64,
}

impl Mixture {
    /// Mixes sources that have samples each.
    ///
    /// # Errors
    /// `loader/mixture_invalid` without sources, for a source of ratio 0 or without positions, and for ratios or samples
    /// that sum up too high; `loader/order_too_long`.
    pub fn new(sources: Vec<Source>, stop: Stop, seed: u64) -> Result<Self> {
        if sources.is_empty() {
            return Err(wrong("expected at least one source, found none".to_owned()));
        }
        let mut samples = 0u64;
        for (at, Source { order, samples: own, ratio }) in sources.iter().enumerate() {
            if *ratio == 0 || order.is_empty() {
                let found = if *ratio == 0 { "ratio 0" } else { "no positions" };
                return Err(wrong(format!(
                    "expected a source to draw from, found {found} at source {at}"
                )));
            }
            samples = samples.checked_add(*own).ok_or_else(|| {
                wrong("expected a sum of samples that fits 64 bits, found more".to_owned())
            })?;
        }
        let shared = sources.iter().fold(0, |shared, source| common(shared, source.ratio));
        let ratios: Vec<u64> =
            sources.iter().map(|source| source.ratio.checked_div(shared).unwrap_or(0)).collect();
        let block = ratios.iter().try_fold(0u64, |sum, ratio| sum.checked_add(*ratio));
        let block = block.filter(|sum| *sum <= MOST).ok_or_else(|| {
            wrong("expected ratios with a sum of at most 2³², found more".to_owned())
        })?;
        let blocks = Blocks::new(&sources, &ratios, block, stop)?;
        Ok(Self { sources: sources.into(), blocks, stop, seed })
    }

    /// The source of a sample, and the sample's index in its dataset.
    #[must_use]
    pub fn locate(&self, index: u64) -> Option<(usize, u64)> {
        let mut before = 0;
        for (at, source) in self.sources.iter().enumerate() {
            if index - before < source.samples {
                return Some((at, index - before));
            }
            before += source.samples;
        }
        None
    }

    /// How often each source comes in an epoch.
    #[must_use]
    pub fn counts(&self) -> Vec<u64> {
        self.blocks.counts()
    }
}

fn common(a: u64, b: u64) -> u64 {
    match a.checked_rem(b) {
        None => a,
        Some(rest) => common(b, rest),
    }
}

fn wrong(message: String) -> crate::error::Error {
    invalid(codes::MIXTURE_INVALID, message)
}

impl Order for Mixture {
    fn len(&self) -> u64 {
        self.blocks.len
    }

    fn epoch(&self, epoch: u64) -> Result<Arc<dyn Drawn>> {
        let key = key(TAG, self.seed, epoch);
        Ok(Arc::new(Epoch::new(&self.sources, self.blocks.clone(), epoch, key)?))
    }

    fn name(&self) -> &str {
        "mixture"
    }

    fn params(&self) -> Object {
        let sources = self.sources.iter().map(|source| {
            let mut about = OrderId::of(source.order.as_ref()).to_json();
            about.insert("ratio", source.ratio);
            about.insert("samples", source.samples);
            Value::Object(about)
        });
        let sources = Value::Array(sources.collect());
        let mut params = Object::new();
        params.insert("seed", self.seed);
        params.insert("stop", self.stop.name());
        params.insert("sources", sources);
        params
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Sequential, Shuffled};
    use super::*;

    fn source(samples: u64, ratio: u64) -> Source {
        Source { order: Arc::new(Shuffled::new(samples, 5).unwrap()), samples, ratio }
    }

    fn all(mixture: &Mixture, epoch: u64) -> Vec<u64> {
        let drawn = mixture.epoch(epoch).unwrap();
        let all: Vec<u64> = (0..mixture.len()).map(|p| drawn.at(p).unwrap()).collect();
        assert_eq!(drawn.at(mixture.len()), None);
        all
    }

    #[test]
    fn every_block_has_the_ratios() {
        let mixture = Mixture::new(vec![source(100, 14), source(60, 6)], Stop::First, 1).unwrap();
        // 142 samples are 100 of the first by 7 : 3; then it is exhausted.
        assert_eq!((mixture.len(), mixture.counts()), (142, vec![99, 43]));
        let found = all(&mixture, 0);
        for block in found.chunks(10) {
            let first = block.iter().filter(|index| **index < 100).count();
            assert_eq!(first, if block.len() == 10 { 7 } else { 1 });
        }
        let mut distinct = found.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), 142);
        assert_ne!(found, all(&mixture, 1));
        assert_eq!(mixture.locate(99), Some((0, 99)));
        assert_eq!((mixture.locate(100), mixture.locate(160)), (Some((1, 0)), None));
    }

    #[test]
    fn the_last_to_end_ends_the_epoch() {
        let mixture = Mixture::new(vec![source(5, 1), source(40, 2)], Stop::All, 3).unwrap();
        assert_eq!((mixture.len(), mixture.counts()), (60, vec![20, 40]));
        let found = all(&mixture, 4);
        let mut large: Vec<_> = found.iter().filter(|index| **index >= 5).collect();
        large.sort_unstable();
        assert!(large.into_iter().copied().eq(5..45));
        for index in 0..5 {
            assert_eq!(found.iter().filter(|found| **found == index).count(), 4);
        }
    }

    #[test]
    fn no_source_is_asked_for_more_than_it_has_before_the_first_is_exhausted() {
        for (sizes, ratios) in [
            ([7, 2, 9], [3, 1, 4]),
            ([1, 1, 1], [5, 1, 1]),
            ([50, 3, 8], [2, 2, 2]),
            ([9, 9, 9], [7, 11, 13]),
        ] {
            let sources: Vec<_> =
                sizes.iter().zip(ratios).map(|(size, ratio)| source(*size, ratio)).collect();
            let first = Mixture::new(sources.clone(), Stop::First, 3).unwrap();
            assert!(first.counts().iter().zip(sizes).all(|(count, size)| *count <= size));
            let mut found = all(&first, 2);
            found.sort_unstable();
            found.dedup();
            assert_eq!(found.len() as u64, first.len());
            let last = Mixture::new(sources, Stop::All, 3).unwrap();
            assert!(last.counts().iter().zip(sizes).all(|(count, size)| *count >= size));
            let mut found = all(&last, 2);
            found.sort_unstable();
            found.dedup();
            assert_eq!(found.len() as u64, sizes.iter().sum::<u64>(), "{sizes:?} {ratios:?}");
        }
    }

    #[test]
    fn what_cannot_be_mixed_is_refused() {
        let empty = Source { order: Arc::new(Sequential::new(0)), samples: 0, ratio: 1 };
        for sources in [
            vec![],
            vec![source(3, 0)],
            vec![source(3, 1), empty],
            vec![source(3, 1 << 32), source(3, 1)],
            vec![Source { samples: u64::MAX, ..source(3, 1) }, source(3, 1)],
        ] {
            let error = Mixture::new(sources, Stop::First, 0).unwrap_err();
            assert_eq!(error.code(), codes::MIXTURE_INVALID);
        }
        let long = Source { order: Arc::new(Sequential::new(1 << 62)), samples: 1 << 62, ratio: 1 };
        let sources = vec![long, source(3, 7)];
        assert_eq!(Mixture::new(sources, Stop::All, 0).unwrap_err().code(), codes::ORDER_TOO_LONG);
    }
}
