//! NumPy's `default_rng(seed).shuffle` of the numbers of rows.
//!
//! ```text
//! seed ─▶ SeedSequence: pool of four words ─▶ 2 × 128 bits ─▶ PCG64 (XSL-RR)
//! i = n-1 … 1:  j = a word's low bits, drawn again while above i;  swap i and j
//! ```
//!
//! A word is half of a number of the generator, the lower half first.

use packstone_io::Kind;

use super::super::codes;
use super::chacha::halves;
use crate::error::{Error, Place, Result};

/// More rows than this would be shuffled with whole numbers, of which there is no example to be held to.
const MOST: u64 = 1 << 32;

/// The row numbers 0 to `count - 1`, shuffled. Takes 8 bytes a row.
///
/// # Errors
/// [`codes::SAMPLING_INVALID`] for more than 2³² rows.
pub fn permutation(count: u64, seed: u64) -> Result<Vec<u64>> {
    if count > MOST {
        let message = format!("expected at most 2³² rows to shuffle, found {count}");
        let kind = Kind::Unsupported;
        return Err(Error::new(kind, codes::SAMPLING_INVALID, Place::default(), message));
    }
    let mut rows: Vec<u64> = (0..count).collect();
    let mut words = Pcg64::new(seed);
    for last in (1..rows.len()).rev() {
        let chosen = words.up_to(last as u64);
        rows.swap(last, usize::try_from(chosen).unwrap_or(last));
    }
    Ok(rows)
}

/// The entropy of a seed, spread over as many words as are asked for.
struct SeedSequence([u32; 4]);

impl SeedSequence {
    fn new(seed: u64) -> Self {
        const FIRST: u32 = 0x43b0_d7e5;
        const FACTOR: u32 = 0x931e_8875;
        let mut factor = FIRST;
        let mut hash = |word: u32| {
            let mixed = word ^ factor;
            factor = factor.wrapping_mul(FACTOR);
            let mixed = mixed.wrapping_mul(factor);
            mixed ^ (mixed >> 16)
        };
        // Seeds below 2³² have one word of entropy; the words that lack are zero either way.
        let (low, high) = halves(seed);
        let mut pool = [low, high, 0, 0].map(&mut hash);
        for from in 0..pool.len() {
            for to in (0..pool.len()).filter(|to| *to != from) {
                let word = hash(pool.get(from).copied().unwrap_or(0));
                if let Some(place) = pool.get_mut(to) {
                    *place = mix(*place, word);
                }
            }
        }
        Self(pool)
    }

    /// Four numbers of 64 bits.
    fn numbers(&self) -> [u64; 4] {
        const FIRST: u32 = 0x8b51_f9dd;
        const FACTOR: u32 = 0x58f3_8ded;
        let mut factor = FIRST;
        let mut words = self.0.iter().cycle().map(|word| {
            let mixed = word ^ factor;
            factor = factor.wrapping_mul(FACTOR);
            let mixed = mixed.wrapping_mul(factor);
            u64::from(mixed ^ (mixed >> 16))
        });
        let mut word = || words.next().unwrap_or(0);
        [(); 4].map(|()| word() | word() << 32)
    }
}

fn mix(a: u32, b: u32) -> u32 {
    const LEFT: u32 = 0xca01_f9dd;
    const RIGHT: u32 = 0x4973_f715;
    let mixed = a.wrapping_mul(LEFT).wrapping_sub(b.wrapping_mul(RIGHT));
    mixed ^ (mixed >> 16)
}

struct Pcg64 {
    state: u128,
    increment: u128,
    /// The upper half of a number whose lower half was used.
    left: Option<u32>,
}

impl Pcg64 {
    const FACTOR: u128 = 0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645;

    fn new(seed: u64) -> Self {
        let [a, b, c, d] = SeedSequence::new(seed).numbers().map(u128::from);
        let mut new = Self { state: 0, increment: (c << 64 | d) << 1 | 1, left: None };
        new.step();
        new.state = new.state.wrapping_add(a << 64 | b);
        new.step();
        new
    }

    fn step(&mut self) {
        self.state = self.state.wrapping_mul(Self::FACTOR).wrapping_add(self.increment);
    }

    fn next_u64(&mut self) -> u64 {
        self.step();
        let low = |x: u128| u64::try_from(x & u128::from(u64::MAX)).unwrap_or(0);
        let (turn, _) = halves(low(self.state >> 122));
        (low(self.state >> 64) ^ low(self.state)).rotate_right(turn)
    }

    fn next_u32(&mut self) -> u32 {
        if let Some(word) = self.left.take() {
            return word;
        }
        let (low, high) = halves(self.next_u64());
        self.left = Some(high);
        low
    }

    /// A number from 0 to `last`, which is below 2³².
    fn up_to(&mut self, last: u64) -> u64 {
        let mask = u64::MAX.checked_shr(last.leading_zeros()).unwrap_or(0);
        loop {
            let word = u64::from(self.next_u32()) & mask;
            if word <= last {
                return word;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Printed by NumPy 2.4: `default_rng(s).bit_generator.random_raw(3)`.
    #[test]
    fn numbers_are_those_of_numpy() {
        let vectors = [
            (0, [11749869230777074271, 4976686463289251617, 755828109848996024]),
            (1, [9441442522235856127, 17532960557476522086, 2659275481604167885]),
            (42, [14276969152011380360, 8095878257575067585, 15838336090824644132]),
            (4294967295, [4647538520743280031, 4041050679407036418, 5299467714154781845]),
            (4294967296, [16412783775159424549, 10277383025879800780, 14774146505460541886]),
            (
                18446744073709551615,
                [12544278110101001871, 15593249672699323225, 136562751618339402],
            ),
        ];
        for (seed, expected) in vectors {
            let mut words = Pcg64::new(seed);
            assert_eq!([(); 3].map(|()| words.next_u64()), expected, "{seed}");
        }
    }

    /// `a = arange(70000); default_rng(2**64 - 1).shuffle(a); (a * arange(70000)).sum()`, and its first numbers.
    #[test]
    fn a_long_table_is_shuffled_as_by_numpy() {
        let rows = permutation(70_000, u64::MAX).unwrap();
        assert_eq!(rows[..4], [59515, 4571, 67051, 2860]);
        assert_eq!(rows.iter().zip(0..).map(|(row, at)| row * at).sum::<u64>(), 85724109641967);
    }

    #[test]
    fn too_many_rows_are_refused_before_they_take_memory() {
        assert_eq!(permutation(MOST + 1, 0).unwrap_err().code(), codes::SAMPLING_INVALID);
        assert_eq!(permutation(0, 7).unwrap(), []);
    }
}
