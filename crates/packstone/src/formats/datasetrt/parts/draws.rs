//! The row of a draw, computed from its number alone.
//!
//! ```text
//! seed, draw ─▶ state = seed ^ rotl(draw, 32) ─▶ 32-byte key ─▶ ChaCha8 words ─▶ row
//!                                                              equal:    v·n, the upper half, drawn again where uneven
//!                                                              weighted: upper bound of ((v >> 12)·2⁻⁵²)·scale among sums
//! ```
//!
//! Each draw has a generator of its own, so any of them costs the same. The numbers are those of the original library
//! (which has them from rand 0.8); the two methods give different rows for equal weights.

use std::sync::{Arc, OnceLock};

use packstone_container::digest::{Algorithm, Hasher};
use packstone_io::Kind;

use super::super::codes;
use super::chacha::{ChaCha8, halves};
use crate::error::{Error, Place, Result};

const MULTIPLIER: u64 = 6_364_136_223_846_793_005;
const INCREMENT: u64 = 11_634_580_027_462_260_723;
/// 2⁻⁵², the distance of doubles above 1.
const STEP: f64 = f64::EPSILON;

/// The words of one draw.
#[must_use]
pub fn generator(seed: u64, draw: u64) -> ChaCha8 {
    let mut state = seed ^ draw.rotate_left(32);
    ChaCha8::new([(); 8].map(|()| {
        state = state.wrapping_mul(MULTIPLIER).wrapping_add(INCREMENT);
        let (word, _) = halves(((state >> 18) ^ state) >> 27);
        let (_, high) = halves(state);
        word.rotate_right(high >> 27)
    }))
}

/// What rows are drawn from.
#[derive(Clone, Debug)]
pub enum Population {
    /// A table that was never replaced: each row is as likely as the others, drawn by the integer method.
    Equal(u64),
    /// A table that was replaced, if only by itself: drawn by the cumulative method.
    Weighted(Arc<Weights>),
}

impl Population {
    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> u64 {
        match self {
            Self::Equal(rows) => *rows,
            Self::Weighted(weights) => weights.rows(),
        }
    }

    /// The row of a draw; 0 where there are no rows.
    #[must_use]
    pub fn draw(&self, seed: u64, draw: u64) -> u64 {
        let mut words = generator(seed, draw);
        match self {
            Self::Equal(rows) => below(&mut words, *rows),
            Self::Weighted(weights) => weights.row(words.next_u64()),
        }
    }
}

/// A number below `n`, each as likely as the others; 0 where there is none.
fn below(words: &mut ChaCha8, n: u64) -> u64 {
    // Of products of `n` the lower halves up to here occur equally often for every upper half.
    let zone = n.checked_shl(n.leading_zeros()).unwrap_or(0).wrapping_sub(1);
    loop {
        let product = u128::from(words.next_u64()) * u128::from(n);
        let low = u64::try_from(product & u128::from(u64::MAX)).unwrap_or(0);
        if low <= zone {
            return u64::try_from(product >> 64).unwrap_or(0);
        }
    }
}

/// Weights of rows, ready for drawing.
#[derive(Debug)]
pub struct Weights {
    /// The sums up to each row; the last one is the total and no bound.
    sums: Vec<f64>,
    scale: f64,
    digest: OnceLock<String>,
}

impl Weights {
    /// Sums up weights, which must be positive and finite, as must be their sum.
    ///
    /// # Errors
    /// [`codes::WEIGHT_INVALID`] with the row; [`codes::TABLE_INVALID`] without any.
    pub fn new(weights: impl IntoIterator<Item = f64>) -> Result<Self> {
        let mut total = 0.0f64;
        let mut sums = Vec::new();
        for (row, weight) in weights.into_iter().enumerate() {
            if !(weight.is_finite() && weight > 0.0) {
                return Err(invalid(
                    row,
                    format!("expected a positive, finite weight, found {weight}"),
                ));
            }
            total += weight;
            if !total.is_finite() {
                let message = "expected weights with a finite sum, found one beyond the doubles";
                return Err(invalid(row, message.to_owned()));
            }
            sums.push(total);
        }
        if sums.is_empty() {
            let message = "expected a table of at least one row, found none";
            return Err(Error::new(Kind::Invalid, codes::TABLE_INVALID, Place::default(), message));
        }
        // The largest number drawn must stay below the total.
        let mut scale = total;
        while scale * (1.0 - STEP) >= total {
            scale = scale.next_down();
        }
        Ok(Self { sums, scale, digest: OnceLock::new() })
    }

    /// The error for weights that are not one a row.
    pub(super) fn miscounted(rows: u64, found: u64) -> Error {
        let message = format!("expected weights of {rows} rows, found {found}");
        Error::new(Kind::Invalid, codes::TABLE_INVALID, Place::default(), message)
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.sums.len() as u64
    }

    /// The row of a random word.
    fn row(&self, word: u64) -> u64 {
        let place = (word >> 12) as f64 * STEP * self.scale;
        let bounds = self.sums.split_last().map_or(&[][..], |(_, bounds)| bounds);
        bounds.partition_point(|bound| *bound <= place) as u64
    }

    /// A short text that other weights do not have.
    #[must_use]
    pub fn digest(&self) -> &str {
        self.digest.get_or_init(|| {
            let mut hasher = Hasher::new(Algorithm::Xxh128);
            for sums in self.sums.chunks(1024) {
                let bytes: Vec<u8> = sums.iter().flat_map(|sum| sum.to_le_bytes()).collect();
                hasher.update(&bytes);
            }
            hasher.finish_hex()
        })
    }
}

fn invalid(row: usize, message: String) -> Error {
    Error::new(Kind::Invalid, codes::WEIGHT_INVALID, Place::default().record(row as u64), message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(seed: u64, draw: u64, count: usize) -> Vec<u64> {
        let mut words = generator(seed, draw);
        (0..count).map(|_| words.next_u64()).collect()
    }

    fn rows(population: &Population, seed: u64) -> String {
        let rows: Vec<_> = (0..64).map(|draw| population.draw(seed, draw).to_string()).collect();
        rows.join(" ")
    }

    fn weighted(weights: &[f64]) -> Population {
        Population::Weighted(Arc::new(Weights::new(weights.iter().copied()).unwrap()))
    }

    #[test]
    fn words_of_a_draw() {
        let first = words(0, 0, 9);
        assert_eq!(
            first[..3],
            [0xb585_f767_a79a_3b6c, 0x7746_a55f_bad8_c037, 0xb2fb_0d32_81e2_a6e6]
        );
        assert_eq!(first[8], 0xcdc4_a23a_7e88_e660);
        assert_eq!(words(42, 0, 2), [0xae90_bfb5_395d_5ba1, 0xf345_3fc6_2579_9188]);
        assert_eq!(words(42, 1, 2), [0x80d6_1800_276a_1cb0, 0xba98_5e7f_a637_10e2]);
        // The upper halves of seed and draw number are interchangeable.
        assert_eq!(words(1 << 32, 1, 4), words(0, 0, 4));
    }

    #[test]
    fn rows_of_an_untouched_table() {
        assert_eq!(
            rows(&Population::Equal(5), 0),
            "3 2 1 1 0 1 2 3 1 3 0 4 4 1 4 0 2 1 1 1 4 0 0 3 2 2 4 2 1 3 3 1 3 1 4 1 4 3 4 3 3 3 3 0 1 1 4 3 4 0 2 3 1 0 \
             4 2 0 3 4 3 0 0 3 1"
        );
        assert_eq!(
            rows(&Population::Equal(10), 42),
            "9 5 4 3 7 1 5 5 1 0 0 6 5 0 9 8 3 8 6 7 0 4 6 2 8 4 2 2 4 3 9 1 7 8 6 6 5 6 6 5 1 3 3 2 8 4 8 4 7 1 4 5 5 6 \
             4 4 5 1 5 8 9 1 5 5"
        );
        assert_eq!(
            rows(&Population::Equal(1000), u64::MAX),
            "684 957 382 731 697 358 380 35 983 965 330 427 368 276 0 685 621 492 982 19 416 118 808 489 386 115 522 \
             310 416 125 309 114 850 537 908 535 427 188 731 837 856 578 796 305 476 180 456 449 189 657 124 762 76 705 \
             951 771 549 165 667 227 825 849 826 498"
        );
    }

    #[test]
    fn rows_of_a_replaced_table() {
        assert_eq!(
            rows(&weighted(&[1.0; 5]), 0),
            "3 2 0 1 0 1 2 3 1 1 0 4 4 1 4 1 2 1 1 4 4 1 0 3 4 2 4 3 1 3 3 0 3 1 4 1 4 3 4 3 3 3 2 0 1 1 4 2 4 0 1 1 0 0 \
             4 2 0 0 4 1 0 2 3 3"
        );
        assert_eq!(
            rows(&weighted(&[0.5, 1.5, 8.0]), 1),
            "2 2 2 2 2 2 2 1 1 1 2 1 2 2 2 2 2 1 2 2 2 1 2 2 2 2 0 2 2 1 1 2 1 2 2 0 1 2 2 1 2 2 2 2 2 2 2 2 2 1 2 2 2 2 \
             2 2 2 1 2 2 2 2 0 2"
        );
        assert_eq!(
            rows(&weighted(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0]), 42),
            "8 6 6 6 3 3 7 7 3 0 3 9 6 8 2 8 5 8 9 8 2 6 7 4 9 6 4 4 6 5 9 3 9 6 8 7 5 8 5 6 2 5 7 4 8 7 9 6 8 6 6 9 6 8 \
             6 6 3 3 7 9 9 8 2 7"
        );
    }

    #[test]
    fn weights_that_cannot_be_drawn_are_refused_with_their_row() {
        let refused = |weights: &[f64]| {
            let error = Weights::new(weights.iter().copied()).unwrap_err();
            (error.code(), error.place().record)
        };
        for wrong in [0.0, -1.0, -0.0, f64::NAN, f64::INFINITY] {
            assert_eq!(refused(&[1.0, wrong]), (codes::WEIGHT_INVALID, Some(1)), "{wrong}");
        }
        assert_eq!(refused(&[1e308, 5e307, 1e308]), (codes::WEIGHT_INVALID, Some(2)));
        assert_eq!(refused(&[]), (codes::TABLE_INVALID, None));
        // The sum may be the largest double, and a single weight the smallest.
        assert_eq!(weighted(&[f64::MAX]).draw(3, 4), 0);
        assert_eq!(weighted(&[5e-324]).draw(3, 4), 0);
    }

    /// Emitted by the original after windows of 10¹² samples that were abandoned at their first.
    #[test]
    fn far_draws_cost_what_near_ones_do() {
        let weights: Vec<f64> = (1..=10).map(f64::from).collect();
        let (equal, weighted) = (Population::Equal(10), weighted(&weights));
        let far = |population: &Population, seed| {
            let draws = 1_000_000_000_000..1_000_000_000_016;
            draws.map(|draw| population.draw(seed, draw)).collect::<Vec<_>>()
        };
        assert_eq!(far(&equal, 42), [9, 5, 6, 5, 4, 8, 9, 3, 9, 0, 3, 2, 1, 4, 1, 8]);
        assert_eq!(far(&equal, u64::MAX), [3, 7, 3, 0, 4, 9, 4, 1, 6, 8, 3, 4, 2, 6, 8, 7]);
        assert_eq!(far(&weighted, 42), [4, 7, 7, 7, 6, 8, 6, 5, 9, 1, 5, 6, 3, 6, 3, 8]);
        assert_eq!(far(&weighted, u64::MAX), [7, 8, 5, 6, 6, 6, 6, 6, 7, 6, 6, 6, 4, 5, 8, 8]);
        assert!(equal.draw(42, u64::MAX) < 10);
        assert_eq!(Population::Equal(0).draw(1, 1), 0);
    }

    #[test]
    fn digests_tell_weights_apart() {
        let digest =
            |weights: &[f64]| Weights::new(weights.iter().copied()).unwrap().digest().to_owned();
        assert_eq!(digest(&[1.0, 2.0]), digest(&[1.0, 2.0]));
        assert_ne!(digest(&[1.0, 2.0]), digest(&[2.0, 1.0]));
    }
}
