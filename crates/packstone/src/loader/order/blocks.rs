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

    /// How well an epoch mixes batches of so many samples. Costs O(shards).
    ///
    /// # Errors
    /// Those of [`Order::epoch`].
    pub fn quality(&self, epoch: u64, batch: u64) -> Result<BlockQuality> {
        let drawn = self.drawn(epoch)?;
        let mut quality = BlockQuality {
            windows: self.windows(),
            window_rows: 0,
            shards: 0.0,
            shards_of_shuffle: 0.0,
        };
        let rows = |at: usize| {
            let next = drawn.shards.get(at + 1).map_or(self.samples, |next| next.before);
            drawn.shards.get(at).map_or(0, |shard| next - shard.before)
        };
        for window in &drawn.windows {
            let of_window = window.rows.len();
            quality.window_rows = quality.window_rows.max(of_window);
            // A batch that is longer than a window sees all of it, and goes on with others.
            let inside = batch.min(of_window);
            let seen: f64 =
                (window.shards..window.upto).map(|at| seen(rows(at), of_window, inside)).sum();
            let windows_of_batch = batch as f64 / inside.max(1) as f64;
            quality.shards += share(of_window, self.samples) * seen * windows_of_batch;
        }
        let all = 0..drawn.shards.len();
        quality.shards_of_shuffle = all.map(|at| seen(rows(at), self.samples, batch)).sum();
        quality.shards = quality.shards.min(drawn.shards.len() as f64);
        Ok(quality)
    }
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// How likely a batch of distinct rows out of `all` has one of the `rows` of a shard.
fn seen(rows: u64, all: u64, batch: u64) -> f64 {
    if batch.saturating_add(rows) > all {
        return if rows > 0 && batch > 0 { 1.0 } else { 0.0 };
    }
    // The product of (all - rows - i) / (all - i), by whichever side is shorter.
    let (count, taken) = if batch < rows { (batch, rows) } else { (rows, batch) };
    // After so many factors nothing is left of it.
    let missed = (0..count.min(1 << 12))
        .try_fold(1.0f64, |missed, i| {
            let missed = missed * (1.0 - taken as f64 / (all - i) as f64);
            (missed > 1e-12).then_some(missed)
        })
        .unwrap_or(0.0);
    let rest = count.saturating_sub(1 << 12);
    let missed = missed * (1.0 - taken as f64 / all as f64).powf(rest as f64);
    1.0 - missed
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
