//! A keyed permutation of the numbers below any length up to 2⁶³, of constant size, with its inverse.
//!
//! ```text
//! x < n     columns a = ⌈√n⌉,  rows b = ⌈n / a⌉,  so that n ≤ a·b < n + a
//! x = row·a + column
//! round i even:  column ← (column + F(i, row)) mod a          F(i, v) = upper half of  nth(key, v·R + i) · bound
//! round i odd:   row    ← (row + F(i, column)) mod b          bound = a or b
//! x ← row·a + column;  once more from the start while x ≥ n
//! ```
//!
//! This is a Feistel network over two coordinates instead of two halves of a word: each round is undone by subtracting
//! what it added, so the whole is a bijection of a·b numbers, and going on while the result is outside makes it one of the
//! first n. At most `a - 1` numbers lie outside, so hardly any position needs a second pass. All numbers `nth(key, …)` of one
//! key are different places of one SplitMix64 sequence: no round shares its function with another.
//!
//! Short permutations need more rounds until every order is equally likely: R = 32 below 64, 16 below 4,096, else 8.

use packstone_io::Kind;

use super::super::codes;
use super::Drawn;
use crate::error::{Error, Place, Result};
use crate::random::{nth, upper};

/// The longest permutation: products of coordinates stay below 2⁶⁴.
const LONGEST: u64 = 1 << 63;

/// A bijection of the numbers below its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Permutation {
    len: u64,
    columns: u64,
    rows: u64,
    key: u64,
}

impl Permutation {
    /// The permutation of the numbers below `len` under `key`.
    ///
    /// # Errors
    /// `loader/order_too_long` beyond 2⁶³ numbers.
    pub fn new(len: u64, key: u64) -> Result<Self> {
        if len > LONGEST {
            let message = format!("expected an order of at most 2⁶³ positions, found {len}");
            let code = codes::ORDER_TOO_LONG;
            return Err(Error::new(Kind::Limit, code, Place::default(), message));
        }
        let root = len.isqrt();
        let columns = (root + u64::from(root * root < len)).max(1);
        Ok(Self { len, columns, rows: len.div_ceil(columns), key })
    }

    /// The same length under another key, at no cost.
    #[must_use]
    pub fn with_key(self, key: u64) -> Self {
        Self { key, ..self }
    }

    /// How many numbers there are.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// True where there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The number at `position`; `None` past the end.
    #[must_use]
    pub fn at(&self, position: u64) -> Option<u64> {
        let [number] = self.several([position]);
        number
    }

    /// The numbers at some positions: the processor draws those that it is given together side by side.
    fn several<const N: usize>(&self, positions: [u64; N]) -> [Option<u64>; N] {
        let pass = match self.len {
            0..64 => Self::pass::<32, N>,
            64..4096 => Self::pass::<16, N>,
            _ => Self::pass::<8, N>,
        };
        let mut numbers = positions;
        pass(self, &mut numbers);
        // A bijection of `columns · rows` numbers, repeated until it leads below the length, as it does at the latest when
        // it comes back to where it began.
        let inside = |number: u64, from: u64| from >= self.len || number < self.len;
        while !numbers.iter().zip(&positions).all(|(number, from)| inside(*number, *from)) {
            let mut further = numbers;
            pass(self, &mut further);
            for ((number, next), from) in numbers.iter_mut().zip(further).zip(&positions) {
                *number = if inside(*number, *from) { *number } else { next };
            }
        }
        let mut at = positions.into_iter();
        numbers.map(|number| at.next().filter(|from| *from < self.len).map(|_| number))
    }

    /// The position at which `number` is; `None` for one that is not there.
    #[must_use]
    pub fn position_of(&self, number: u64) -> Option<u64> {
        let pass = match self.len {
            0..64 => Self::pass_back::<32>,
            64..4096 => Self::pass_back::<16>,
            _ => Self::pass_back::<8>,
        };
        if number >= self.len {
            return None;
        }
        let mut position = pass(self, number);
        while position >= self.len {
            position = pass(self, position);
        }
        Some(position)
    }

    fn shift<const R: u64>(&self, round: u64, other: u64, bound: u64) -> u64 {
        upper(nth(self.key, other.wrapping_mul(R).wrapping_add(round)), bound)
    }

    fn pass<const R: u64, const N: usize>(&self, numbers: &mut [u64; N]) {
        let (a, b) = (self.columns, self.rows);
        let mut places = numbers.map(|number| split(number, a));
        for pair in 0..R / 2 {
            for (column, row) in &mut places {
                *column = add(*column, self.shift::<R>(2 * pair, *row, a), a);
            }
            for (column, row) in &mut places {
                *row = add(*row, self.shift::<R>(2 * pair + 1, *column, b), b);
            }
        }
        *numbers = places.map(|(column, row)| row * a + column);
    }

    fn pass_back<const R: u64>(&self, number: u64) -> u64 {
        let (a, b) = (self.columns, self.rows);
        let (mut column, mut row) = split(number, a);
        for pair in (0..R / 2).rev() {
            row = subtract(row, self.shift::<R>(2 * pair + 1, column, b), b);
            column = subtract(column, self.shift::<R>(2 * pair, row, a), a);
        }
        row * a + column
    }
}

impl Drawn for Permutation {
    fn at(&self, position: u64) -> Option<u64> {
        Self::at(self, position)
    }

    fn each(&self, positions: &[u64]) -> Vec<Option<u64>> {
        let (groups, rest) = positions.as_chunks::<8>();
        let numbers = groups.iter().flat_map(|group| self.several(*group));
        numbers.chain(rest.iter().map(|position| self.at(*position))).collect()
    }
}

/// Column and row of a number; there is at least one column.
fn split(number: u64, columns: u64) -> (u64, u64) {
    let row = number.checked_div(columns).unwrap_or(0);
    (number - row * columns, row)
}

/// The sum of two numbers below `bound`, which is far below 2⁶³, on a circle.
fn add(a: u64, b: u64, bound: u64) -> u64 {
    let sum = a + b;
    if sum >= bound { sum - bound } else { sum }
}

fn subtract(a: u64, b: u64, bound: u64) -> u64 {
    if a >= b { a - b } else { a + bound - b }
}

#[cfg(test)]
#[expect(clippy::cast_possible_truncation, reason = "numbers below 5,000")]
mod tests {
    use super::*;

    #[test]
    fn every_short_length_is_a_bijection_with_its_inverse() {
        let mut seen = vec![0u64; 5_000];
        for len in 0..=5_000u64 {
            let permutation = Permutation::new(len, nth(len, 1)).unwrap();
            for position in 0..len {
                let number = permutation.at(position).unwrap();
                let seen = &mut seen[..len as usize][number as usize];
                assert_ne!(std::mem::replace(seen, len), len, "{len}: {number} twice");
                if position % 64 == len % 64 {
                    assert_eq!(permutation.position_of(number), Some(position), "{len}");
                }
            }
            assert_eq!((permutation.at(len), permutation.position_of(len)), (None, None));
        }
    }

    #[test]
    fn several_are_those_of_each_position() {
        for len in (0..300).chain([4_095, 4_097, 1 << 20, 1 << 63]) {
            let permutation = Permutation::new(len, nth(len, 2)).unwrap();
            let mut positions: Vec<u64> = (0..150).map(|at| upper(nth(7, at), len)).collect();
            positions.extend([0, len.saturating_sub(1), len, u64::MAX]);
            let each: Vec<_> = positions.iter().map(|at| permutation.at(*at)).collect();
            assert_eq!(permutation.each(&positions), each, "{len}");
        }
    }

    #[test]
    fn long_lengths_have_inverses() {
        let mut lens: Vec<u64> = (13..=63).flat_map(|bits| [(1 << bits) - 1, 1 << bits]).collect();
        lens.extend((0..200).map(|at| nth(3, at) >> (1 + at % 50)));
        // Around squares the rectangle changes its shape.
        lens.extend((2..31).flat_map(|bits| {
            let side = (1u64 << bits) + 1;
            [side * side - 1, side * side, side * side + 1, side * (side + 1)]
        }));
        for (at, len) in lens.into_iter().filter(|len| *len > 0).enumerate() {
            let permutation = Permutation::new(len, nth(9, at as u64)).unwrap();
            let ends = [0, 1, len / 2, len.saturating_sub(2), len - 1];
            for position in ends.into_iter().chain((0..40).map(|at| upper(nth(5, at), len))) {
                let position = position.min(len - 1);
                let number = permutation.at(position).unwrap();
                assert!(number < len);
                assert_eq!(permutation.position_of(number), Some(position), "{len}");
                let back = permutation.position_of(position).unwrap();
                assert_eq!(permutation.at(back), Some(position), "{len}");
            }
        }
    }

    #[test]
    fn longer_ones_are_refused() {
        assert!(Permutation::new(1 << 63, 0).is_ok());
        for len in [(1 << 63) + 1, u64::MAX] {
            let error = Permutation::new(len, 0).unwrap_err();
            assert_eq!((error.code(), error.kind()), (codes::ORDER_TOO_LONG, Kind::Limit));
        }
    }
}
