//! Weights of rows as whole numbers, ready for drawing.
//!
//! ```text
//! w        a double: 53 bits of mantissa, an exponent
//! q        w · 2^s, to the nearest whole number, a half upwards; at least 1 where w > 0; 0 where w = 0
//! s        the same for all rows: the largest for which the sum is certain to be at most 2^62
//! sums     q₀, q₀+q₁, …                    8 bytes a row
//! guide    for every 8 rows or so, where in the sums to begin                1 byte a row
//! ```
//!
//! Multiplying by a power of two changes no proportion, so all is exact where the weights are whole numbers (or such times
//! a power of two) with a sum below 2⁶⁰; else a row as heavy as the average of n rows is off by less than n parts in 2⁶¹.
//! Denormal weights are weights like others. Only a row lighter than 2⁻⁶² of all is drawn more often than it should:
//! as if it weighed just that.

use packstone_container::json::Object;

use super::{codes, digest, invalid};
use crate::error::{Place, Result};

/// The largest sum.
const MOST: u128 = 1 << 62;
/// Rows of one entry of the guide, nearly.
const GUIDED: u64 = 8;

/// Weights of rows.
#[derive(Debug)]
pub struct Weights {
    sums: Vec<u64>,
    /// Where to begin among the sums, for each value of the upper bits.
    guide: Vec<u64>,
    shift: u32,
    drawable: u64,
    digest: String,
}

impl Weights {
    /// Takes weights, one a row.
    ///
    /// # Errors
    /// `loader/weight_invalid` with row and value for a weight that is negative, infinite or no number;
    /// `loader/weights_zero` where none is above zero.
    pub fn new(weights: Vec<f64>) -> Result<Self> {
        let scale = Scale::of(&weights)?;
        let rows = weights.len();
        let digest = digest(weights.iter().map(|weight| weight.to_bits()));
        let (mut total, mut drawable) = (0u64, 0u64);
        // The sums take the place of the weights, without other memory.
        let sum = |weight| {
            let whole = scale.whole(weight);
            drawable += u64::from(whole > 0);
            total += whole;
            total
        };
        let sums: Vec<u64> = weights.into_iter().map(sum).collect();
        if total == 0 {
            let message = format!("expected a weight above 0, found none among {rows} samples");
            return Err(invalid(codes::WEIGHTS_ZERO, message));
        }
        let mut shift = 0u32;
        while (total - 1) >> shift > rows as u64 / GUIDED {
            shift += 1;
        }
        let (mut guide, mut start) = (Vec::new(), 0u64);
        for (row, sum) in sums.iter().enumerate() {
            while start < *sum {
                guide.push(row as u64);
                start += 1 << shift;
            }
        }
        guide.push(rows as u64);
        Ok(Self { sums, guide, shift, drawable, digest })
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.sums.len() as u64
    }

    /// Number of rows with a weight above zero.
    #[must_use]
    pub fn drawable(&self) -> u64 {
        self.drawable
    }

    /// Tells these weights from others.
    #[must_use]
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// The sum of the whole numbers.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.sums.last().copied().unwrap_or(0)
    }

    /// The whole number that a row weighs; 0 past the end.
    #[must_use]
    pub fn whole(&self, row: u64) -> u64 {
        let Ok(row) = usize::try_from(row) else { return 0 };
        let before = row.checked_sub(1).and_then(|row| self.sums.get(row)).copied().unwrap_or(0);
        self.sums.get(row).map_or(0, |sum| sum - before)
    }

    /// The parameters of an order that draws by these weights.
    pub(super) fn params(&self, seed: u64) -> Object {
        let mut params = Object::new();
        params.insert("seed", seed);
        params.insert("weights", self.rows());
        params.insert("digest", self.digest());
        params
    }

    /// The row that a number below the total falls on.
    pub(super) fn row(&self, number: u64) -> Option<u64> {
        let bucket = usize::try_from(number >> self.shift).ok()?;
        let place = |bucket| usize::try_from(*self.guide.get(bucket)?).ok();
        let (from, upto) = (place(bucket)?, place(bucket + 1)?);
        let sums = self.sums.get(from..self.sums.len().min(upto + 1))?;
        let row = from + sums.partition_point(|sum| *sum <= number);
        (row < self.sums.len()).then_some(row as u64)
    }
}

/// A power of two by which all weights are multiplied.
struct Scale {
    /// Exponent of the heaviest row.
    top: i32,
    /// The power, from the units of the heaviest row's mantissa.
    power: i32,
}

impl Scale {
    fn of(weights: &[f64]) -> Result<Self> {
        // Doubles of at least 0 have the order of their bits; infinity, what is no number and what is negative lie above.
        let mut heaviest = 0;
        for (row, weight) in weights.iter().enumerate() {
            let bits = weight.to_bits();
            if bits >= f64::INFINITY.to_bits() && *weight != 0.0 {
                let message =
                    format!("expected a weight of at least 0, found {weight:?} for sample {row}");
                let place = Place::default().record(row as u64);
                return Err(invalid(codes::WEIGHT_INVALID, message).with_place(place));
            }
            if bits > heaviest && *weight > 0.0 {
                heaviest = bits;
            }
        }
        let (_, top) = parts(f64::from_bits(heaviest));
        // The sum in units of the heaviest row's last bit, rounded up row by row.
        let mut sum = 0u128;
        for weight in weights {
            if *weight > 0.0 {
                let (mantissa, exponent) = parts(*weight);
                let down = top - exponent;
                sum += u128::from(if down < 64 { mantissa >> down } else { 0 }) + 1;
            }
        }
        let rows = weights.len() as u128;
        let fits = |power: i32| {
            let scaled = match u32::try_from(power) {
                Ok(up) => sum << up.min(9),
                Err(_) => (sum >> power.unsigned_abs().min(127)) + 1,
            };
            scaled + rows <= MOST
        };
        // A mantissa has 53 bits, so more than 9 up never fits and 64 down always does.
        let power = (-64..=9).rev().find(|power| fits(*power)).unwrap_or(-64);
        Ok(Self { top, power })
    }

    fn whole(&self, weight: f64) -> u64 {
        if weight == 0.0 {
            return 0;
        }
        let (mantissa, exponent) = parts(weight);
        let power = exponent - self.top + self.power;
        let whole = match power {
            0.. => mantissa << power.min(9),
            // One more bit is kept to be rounded by.
            -64..0 => {
                let kept = mantissa >> (-1 - power);
                (kept >> 1) + (kept & 1)
            }
            _ => 0,
        };
        whole.max(1)
    }
}

/// A positive, finite double as a number of 53 bits, the highest of them set, times a power of two.
fn parts(weight: f64) -> (u64, i32) {
    let bits = weight.to_bits();
    let (exponent, fraction) = (bits >> 52, bits & ((1 << 52) - 1));
    let exponent = i32::try_from(exponent).unwrap_or(0);
    if exponent > 0 {
        return (fraction | 1 << 52, exponent - 1);
    }
    let missing = fraction.leading_zeros().saturating_sub(11);
    (fraction << missing, -i32::try_from(missing).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wholes(weights: &[f64]) -> Vec<u64> {
        let weights = Weights::new(weights.to_vec()).unwrap();
        (0..weights.rows()).map(|row| weights.whole(row)).collect()
    }

    /// Divided by the largest power of two that they share.
    fn reduced(weights: &[f64]) -> Vec<u64> {
        let wholes = wholes(weights);
        let shared = wholes.iter().filter(|w| **w > 0).map(|w| w.trailing_zeros()).min().unwrap();
        wholes.into_iter().map(|whole| whole >> shared).collect()
    }

    #[test]
    fn whole_weights_keep_their_exact_proportions() {
        assert_eq!(reduced(&[1.0, 2.0, 0.0, 3.0, 7.0]), [1, 2, 0, 3, 7]);
        assert_eq!(reduced(&[0.25, 0.5, 0.0, 1.75]), [1, 2, 0, 7]);
        let most = (1u64 << 53) - 1;
        assert_eq!(reduced(&[most as f64, 1.0]), [most, 1]);
        let many: Vec<f64> = (0..10_000).map(|n| f64::from(n * 7 % 1000)).collect();
        let found = reduced(&many);
        assert!(many.iter().zip(&found).all(|(weight, whole)| *weight == *whole as f64));
    }

    #[test]
    fn denormal_and_enormous_weights_are_weights_like_others() {
        let small = f64::from_bits(1);
        assert_eq!(reduced(&[small, 3.0 * small, 5.0 * small]), [1, 3, 5]);
        assert_eq!(
            reduced(&[f64::MAX, f64::MAX, f64::MAX / 2.0]),
            [2, 2, 1].map(|w| w * ((1 << 53) - 1))
        );
        assert_eq!(reduced(&[f64::MIN_POSITIVE, small]), [1 << 52, 1]);
        // What is too light beside others still can be drawn, and what is zero cannot.
        assert_eq!(wholes(&[f64::MAX, small, 0.0, -0.0])[1..], [1, 0, 0]);
    }

    #[test]
    fn sums_stay_below_their_bound_and_use_it() {
        for (rows, weight) in
            [(1usize, 1.0), (1, f64::MAX), (3, 0.1), (5_000, 1e-310), (4_097, 1e300)]
        {
            let total = Weights::new(vec![weight; rows]).unwrap().total();
            assert!((1 << 59..=1 << 62).contains(&total), "{rows} × {weight}: {total}");
        }
    }

    #[test]
    fn every_number_falls_on_its_row() {
        for weights in [
            vec![1.0, 0.0, 3.0],
            vec![0.0, 0.0, 5.0, 0.0],
            (0..1000).map(|n| f64::from(n % 5)).collect(),
            (0..300).map(|n| if n == 123 { 1e9 } else { 1.0 }).collect(),
        ] {
            let weights = Weights::new(weights).unwrap();
            let mut start = 0;
            for row in 0..weights.rows() {
                let whole = weights.whole(row);
                if whole > 0 {
                    assert_eq!(weights.row(start), Some(row));
                    assert_eq!(weights.row(start + whole - 1), Some(row));
                }
                start += whole;
            }
            assert_eq!((start, weights.row(start)), (weights.total(), None));
        }
    }

    #[test]
    fn what_is_no_weight_is_refused_with_its_row() {
        for (wrong, shown) in
            [(-1.0, "-1.0"), (f64::NAN, "NaN"), (f64::INFINITY, "inf"), (-5e-324, "-5e-324")]
        {
            let error = Weights::new(vec![1.0, 0.0, wrong]).unwrap_err();
            assert_eq!((error.code(), error.place().record), (codes::WEIGHT_INVALID, Some(2)));
            assert!(error.message().contains(shown), "{error}");
        }
        for none in [vec![], vec![0.0], vec![0.0, -0.0]] {
            assert_eq!(Weights::new(none).unwrap_err().code(), codes::WEIGHTS_ZERO);
        }
    }
}
