//! A shuffle for data in shards: every sample once an epoch, while only a few shards are in use at a time.
//!
//! ```text
//! shards     permuted                       ┌ s4 s0 s7 ┐┌ s2 s6 ┐┌ s1 s5 s3 ┐      at most `window` shards each
//! positions  0 … rows of the first window   └──────────┘└───────┘└──────────┘      rows permuted inside a window
//! ```
//!
//! Shards without rows are left out before anything else. The shards are shared among the windows as evenly as can be, so
//! that none of them is a lonely rest at the end of the epoch. An epoch keeps 16 bytes a shard; a position is found by two
//! binary searches.

use std::sync::Arc;

use packstone_container::json::Object;

use super::{Drawn, Order, Permutation, codes, digest, invalid, key};
use crate::error::Result;
use crate::format::Collection;
use crate::random::{Random, nth};

const TAG: [u8; 8] = *b"blocks  ";

/// Shards in random order, rows in random order within some of them.
#[derive(Clone, Debug)]
pub struct Blocks {
    /// First sample and rows of each shard that has any.
    shards: Arc<[(u64, u64)]>,
    samples: u64,
    window: u64,
    seed: u64,
    digest: String,
}

/// How near a block shuffle comes to a full one.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct BlockQuality {
    /// Windows of an epoch.
    pub windows: u64,
    /// Rows of the largest window: the span within which a sample can be drawn.
    pub window_rows: u64,
    /// Different shards in a batch, as expected.
    pub shards: f64,
    /// Different shards in a batch of a full shuffle, as expected.
    pub shards_of_shuffle: f64,
}

impl BlockQuality {
    /// The share of the shards of a full shuffle that a batch sees: 1 is as good as a full shuffle.
    #[must_use]
    pub fn fraction(&self) -> f64 {
        if self.shards_of_shuffle > 0.0 {
            (self.shards / self.shards_of_shuffle).min(1.0)
        } else {
            1.0
        }
    }
}

impl Blocks {
    /// Shards with these rows, in the order of the collection, `window` of them in use at a time.
    ///
    /// # Errors
    /// `loader/window_invalid` for a window of none; `loader/order_too_long` for more than 2⁶³ rows.
    pub fn new(rows: impl IntoIterator<Item = u64>, window: u64, seed: u64) -> Result<Self> {
        if window == 0 {
            let message = "expected a window of at least one shard, found 0".to_owned();
            return Err(invalid(codes::WINDOW_INVALID, message));
        }
        let mut shards = Vec::new();
        let mut samples = 0u64;
        for rows in rows {
            if rows > 0 {
                shards.push((samples, rows));
            }
            samples = samples.saturating_add(rows);
        }
        // Nothing longer can be permuted.
        Permutation::new(samples, 0)?;
        let digest = digest(shards.iter().map(|(_, rows)| *rows));
        Ok(Self { shards: shards.into(), samples, window, seed, digest })
    }

    /// The shards of a collection; walks all its lists of shards.
    ///
    /// # Errors
    /// Those of [`Blocks::new`] and of [`Collection::shards`].
    pub fn of(collection: &dyn Collection, window: u64, seed: u64) -> Result<Self> {
        let rows = collection.shards(0).map(|shard| Ok(shard?.rows));
        Self::new(rows.collect::<Result<Vec<_>>>()?, window, seed)
    }

    fn windows(&self) -> u64 {
        (self.shards.len() as u64).div_ceil(self.window)
    }

    fn drawn(&self, epoch: u64) -> Result<Epoch> {
        let key = key(TAG, self.seed, epoch);
        let mut shards = self.shards.to_vec();
        Random::new(nth(key, 0)).shuffle(&mut shards);
        let (count, windows) = (shards.len() as u128, u128::from(self.windows()));
        let mut found = Vec::new();
        let (mut before, mut taken) = (0u64, 0usize);
        let mut parts = Vec::with_capacity(shards.len());
        for window in 1..=windows {
            let upto = usize::try_from((window * count).checked_div(windows).unwrap_or(0))
                .unwrap_or(usize::MAX);
            let start = before;
            for (first, rows) in shards.get(taken..upto).unwrap_or_default() {
                parts.push(Shard { before, first: *first });
                before = before.saturating_add(*rows);
            }
            let number = found.len() as u64;
            let rows = Permutation::new(before - start, nth(key, number + 1))?;
            found.push(Window { start, shards: taken, upto, rows });
            taken = upto;
        }
        Ok(Epoch { windows: found, shards: parts })
    }

    /// How well an epoch mixes batches of so many samples that begin anywhere in it. Costs O(shards).
    ///
    /// # Errors
    /// Those of [`Order::epoch`].
    pub fn quality(&self, epoch: u64, batch: u64) -> Result<BlockQuality> {
        let drawn = self.drawn(epoch)?;
        let rows = |at: usize| {
            let next = drawn.shards.get(at + 1).map_or(self.samples, |next| next.before);
            drawn.shards.get(at).map_or(0.0, |shard| (next - shard.before) as f64)
        };
        let (batch, all) = (batch as f64, self.samples.max(1) as f64);
        let (mut shards, mut window_rows) = (0.0, 0);
        for window in &drawn.windows {
            window_rows = window_rows.max(window.rows.len());
            let own = window.rows.len() as f64;
            let seen = |inside: f64| -> f64 {
                (window.shards..window.upto).map(|at| seen(rows(at), own, inside)).sum()
            };
            // From most beginnings a batch lies inside the window, or the window inside the batch; from the others some of
            // either is in the other, from none to all alike.
            let most = batch.min(own);
            let parts =
                (0..PARTS).map(|part| seen(most * (f64::from(part) + 0.5) / f64::from(PARTS)));
            let partly = parts.sum::<f64>() / f64::from(PARTS);
            shards += ((own - batch).abs() * seen(most) + 2.0 * most * partly) / all;
        }
        let of_shuffle = (0..drawn.shards.len()).map(|at| seen(rows(at), all, batch));
        Ok(BlockQuality {
            windows: self.windows(),
            window_rows,
            shards: shards.min(drawn.shards.len() as f64),
            shards_of_shuffle: of_shuffle.sum(),
        })
    }
}

/// Steps of the sum over batches that lie partly in a window.
const PARTS: u32 = 8;

/// How likely `taken` distinct rows out of `all` have one of the `rows` of a shard: one minus the product of
/// `1 - a / (all - i)` over i below b, where a and b are the larger and the smaller of both, in good approximation.
fn seen(rows: f64, all: f64, taken: f64) -> f64 {
    let (large, small) = (rows.max(taken), rows.min(taken));
    let missed = 1.0 - large / (all - (small - 1.0).max(0.0) / 2.0);
    1.0 - missed.max(0.0).powf(small)
}

impl Order for Blocks {
    fn len(&self) -> u64 {
        self.samples
    }

    fn epoch(&self, epoch: u64) -> Result<Arc<dyn Drawn>> {
        Ok(Arc::new(self.drawn(epoch)?))
    }

    fn name(&self) -> &str {
        "blocks"
    }

    fn params(&self) -> Object {
        let mut params = Object::new();
        params.insert("seed", self.seed);
        params.insert("window", self.window);
        params.insert("shards", self.shards.len() as u64);
        params.insert("digest", self.digest.as_str());
        params
    }
}

/// The order of one epoch.
#[derive(Debug)]
struct Epoch {
    windows: Vec<Window>,
    shards: Vec<Shard>,
}

#[derive(Debug)]
struct Window {
    /// Position of its first row.
    start: u64,
    /// Its shards are these among all of the epoch.
    shards: usize,
    upto: usize,
    rows: Permutation,
}

#[derive(Debug)]
struct Shard {
    /// Rows of the shards before it in this epoch.
    before: u64,
    /// Its first sample.
    first: u64,
}

impl Drawn for Epoch {
    fn at(&self, position: u64) -> Option<u64> {
        let window = self.windows.partition_point(|window| window.start <= position);
        let window = self.windows.get(window.checked_sub(1)?)?;
        let row = window.start + window.rows.at(position - window.start)?;
        let shards = self.shards.get(window.shards..window.upto)?;
        let shard = shards.partition_point(|shard| shard.before <= row);
        let shard = shards.get(shard.checked_sub(1)?)?;
        Some(shard.first + (row - shard.before))
    }
}
