//! Samples drawn by weight, without replacement.
//!
//! ```text
//! row i with the whole weight q > 0     u = ((nth(key, i) >> 12) + ½) · 2⁻⁵²       eᵢ = -ln(u) / q
//! order                                 rows by eᵢ, the smallest first; among equal ones the lower row first
//! ```
//!
//! The row with the smallest of such exponential numbers is each row with the probability of its weight, and so it goes on
//! among those that are left: this is drawing one after another. An epoch takes 16 bytes a row while it is computed, and 8
//! bytes a draw afterwards.
//!
//! The logarithm is computed here by the four basic operations alone, which are the same on every machine.

use std::sync::Arc;

use packstone_container::json::Object;

use super::{Drawn, Order, Weights, codes, invalid, key};
use crate::error::Result;
use crate::random::nth;

const TAG: [u8; 8] = *b"distinct";

/// Draws by weight, each sample at most once an epoch; a sample of weight zero never comes.
#[derive(Clone, Debug)]
pub struct Distinct {
    weights: Arc<Weights>,
    draws: u64,
    seed: u64,
}

impl Distinct {
    /// Every sample that can be drawn, once.
    #[must_use]
    pub fn new(weights: Arc<Weights>, seed: u64) -> Self {
        Self { draws: weights.drawable(), weights, seed }
    }

    /// Fewer draws an epoch.
    ///
    /// # Errors
    /// `loader/too_few_to_draw` where fewer samples have a weight above zero.
    pub fn with_draws(mut self, draws: u64) -> Result<Self> {
        let most = self.weights.drawable();
        if draws > most {
            let message =
                format!("expected at most {most} draws, as many as weigh anything, found {draws}");
            return Err(invalid(codes::TOO_FEW_TO_DRAW, message));
        }
        self.draws = draws;
        Ok(self)
    }
}

impl Order for Distinct {
    fn len(&self) -> u64 {
        self.draws
    }

    fn epoch(&self, epoch: u64) -> Result<Arc<dyn Drawn>> {
        let key = key(TAG, self.seed, epoch);
        // Positive doubles have the order of their bits.
        let mut rows: Vec<(u64, u64)> = (0..self.weights.rows())
            .filter_map(|row| {
                let whole = self.weights.whole(row);
                let time = minus_ln(nth(key, row)) / whole as f64;
                (whole > 0).then_some((time.to_bits(), row))
            })
            .collect();
        let draws = usize::try_from(self.draws).unwrap_or(usize::MAX);
        if draws < rows.len() {
            rows.select_nth_unstable(draws);
            rows.truncate(draws);
        }
        rows.sort_unstable();
        Ok(Arc::new(Epoch(rows.into_iter().map(|(_, row)| row).collect())))
    }

    fn name(&self) -> &str {
        "distinct"
    }

    fn params(&self) -> Object {
        self.weights.params(self.seed)
    }
}

#[derive(Debug)]
struct Epoch(Vec<u64>);

impl Drawn for Epoch {
    fn at(&self, position: u64) -> Option<u64> {
        self.0.get(usize::try_from(position).ok()?).copied()
    }
}

/// `-ln(u)` for a random number between 0 and 1, neither of which it is.
///
/// With `u = m · 2^e` and `m` from √½ to √2, `ln(u) = e · ln 2 + 2·artanh(s)` for `s = (m - 1) / (m + 1)`, whose series to
/// the 21st power is exact to the last bits, as `|s| < 0.172`.
fn minus_ln(number: u64) -> f64 {
    const BITS: f64 = f64::EPSILON;
    let u = ((number >> 12) as f64 + 0.5) * BITS;
    let bits = u.to_bits();
    let mut exponent = (bits >> 52) as f64 - 1023.0;
    let mut m = f64::from_bits(bits & ((1 << 52) - 1) | 1023 << 52);
    if m > std::f64::consts::SQRT_2 {
        m *= 0.5;
        exponent += 1.0;
    }
    let s = (m - 1.0) / (m + 1.0);
    let square = s * s;
    let series = (0..11).rev().fold(0.0, |sum, term| sum * square + 1.0 / f64::from(2 * term + 1));
    -(exponent * std::f64::consts::LN_2 + 2.0 * s * series)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_logarithm_is_one() {
        for number in
            (0..20_000).map(|at| nth(1, at)).chain([0, 1 << 12, u64::MAX, 1 << 63, u64::MAX >> 1])
        {
            let u = ((number >> 12) as f64 + 0.5) * f64::EPSILON;
            let (found, expected) = (minus_ln(number), -u.ln());
            assert!(
                found > 0.0 && (found / expected - 1.0).abs() < 1e-14,
                "{u}: {found} {expected}"
            );
        }
    }

    #[test]
    fn rows_come_once_and_weightless_ones_never() {
        let weights = Arc::new(Weights::new(vec![1.0, 0.0, 5.0, 2.0, 0.0]).unwrap());
        let order = Distinct::new(Arc::clone(&weights), 4);
        let all = |order: &Distinct, epoch| {
            let drawn = order.epoch(epoch).unwrap();
            (0..order.len() + 1).map_while(|p| drawn.at(p)).collect::<Vec<_>>()
        };
        let mut first = [0u64; 5];
        for epoch in 0..8_000 {
            let rows = all(&order, epoch);
            let few = order.clone().with_draws(2).unwrap();
            assert_eq!(all(&few, epoch), rows[..2]);
            first[usize::try_from(rows[0]).unwrap()] += 1;
            let mut sorted = rows;
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 2, 3]);
        }
        // 1000, 5000 and 2000 are expected; these bounds are over six deviations wide.
        assert!(first[0].abs_diff(1_000) < 200 && first[2].abs_diff(5_000) < 300, "{first:?}");
        let error = order.with_draws(4).unwrap_err();
        assert_eq!(error.code(), codes::TOO_FEW_TO_DRAW);
    }
}
