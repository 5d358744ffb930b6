//! The blocks of a mixture: how many there are, and how many slots of each a source has.
//!
//! ```text
//! whole blocks   │ r₀ slots │ r₁ slots │ … │      parts by where each ends
//! the last one   │ its positions shared out by largest remainder │
//! ```

use std::sync::Arc;

use super::super::Permutation;
use super::{Source, Stop};
use crate::error::Result;

/// The parts of a block, by where each ends.
pub(super) type Parts = Arc<[u64]>;

/// How long an epoch is, and how its blocks are parted.
#[derive(Clone, Debug)]
pub(super) struct Blocks {
    /// Positions of an epoch.
    pub(super) len: u64,
    /// Whole blocks.
    pub(super) whole: u64,
    /// The parts of a whole block, and the order of its slots.
    pub(super) ratios: Parts,
    pub(super) all: Permutation,
    /// Those of the last block.
    pub(super) rest: Parts,
    pub(super) last: Permutation,
}

impl Blocks {
    /// For ratios that sum up to `block`.
    ///
    /// # Errors
    /// `loader/order_too_long`.
    pub(super) fn new(sources: &[Source], ratios: &[u64], block: u64, stop: Stop) -> Result<Self> {
        let fair = |(source, ratio): (&Source, &u64)| {
            let all = u128::from(source.order.len()) * u128::from(block);
            let (down, up) =
                (all / u128::from(*ratio).max(1), all.div_ceil(u128::from(*ratio).max(1)));
            match stop {
                Stop::First => down,
                Stop::All => up,
            }
        };
        let fair = sources.iter().zip(ratios).map(fair);
        let len = match stop {
            Stop::First => fair.min(),
            Stop::All => fair.max(),
        };
        let len = u64::try_from(len.unwrap_or(0)).unwrap_or(u64::MAX);
        // Nothing longer can be named by a position.
        Permutation::new(len, 0)?;
        let (whole, left) = (len / block.max(1), len % block.max(1));
        let rest = shared_out(left, ratios, block);
        Ok(Self {
            len,
            whole,
            ratios: ends(ratios),
            all: Permutation::new(block, 0)?,
            rest: ends(&rest),
            last: Permutation::new(left, 0)?,
        })
    }

    /// How often each source comes in an epoch.
    pub(super) fn counts(&self) -> Vec<u64> {
        let (all, rest) = (widths(&self.ratios), widths(&self.rest));
        all.zip(rest).map(|(all, rest)| self.whole.saturating_mul(all) + rest).collect()
    }
}

/// `count` by ratio: what is whole of each share, and one more for those of which most is left, the first among equals.
fn shared_out(count: u64, ratios: &[u64], sum: u64) -> Vec<u64> {
    let share = |ratio: &u64| {
        let all = u128::from(count) * u128::from(*ratio);
        let whole = all.checked_div(u128::from(sum)).unwrap_or(0);
        (u64::try_from(whole).unwrap_or(0), all.checked_rem(u128::from(sum)).unwrap_or(0))
    };
    let shares: Vec<_> = ratios.iter().map(share).collect();
    let missing = count - shares.iter().map(|(whole, _)| whole).sum::<u64>();
    let mut most: Vec<usize> = (0..shares.len()).collect();
    most.sort_by_key(|at| std::cmp::Reverse(shares.get(*at).map(|(_, left)| *left)));
    let more: Vec<usize> = most.into_iter().take(usize::try_from(missing).unwrap_or(0)).collect();
    let whole = |(at, (whole, _)): (usize, &(u64, u128))| whole + u64::from(more.contains(&at));
    shares.iter().enumerate().map(whole).collect()
}

fn ends(parts: &[u64]) -> Parts {
    let mut end = 0;
    parts
        .iter()
        .map(|part| {
            end += part;
            end
        })
        .collect()
}

fn widths(ends: &[u64]) -> impl Iterator<Item = u64> + '_ {
    ends.iter().scan(0, |before, end| Some(end - std::mem::replace(before, *end)))
}
