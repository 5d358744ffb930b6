//! Random numbers from a seed: the same on every machine and in every release.
//!
//! The numbers are those of SplitMix64; a number below `n` is the upper half of the 128-bit product with `n`, drawn again
//! where that would favour some; a list is shuffled from its end (Fisher and Yates).

/// What SplitMix64 adds to its state before each number.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// What SplitMix64 makes of its state: another number for every number, with all bits mixed.
pub fn mix(z: u64) -> u64 {
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The number at `index` of the sequence of `seed`, the first being 0; those before it need not be drawn.
pub fn nth(seed: u64, index: u64) -> u64 {
    mix(seed.wrapping_add(STEP.wrapping_mul(index.wrapping_add(1))))
}

/// The upper half of the product of a random number with `bound`: a number below it, or 0 where there is none. Some come
/// up to `bound` parts in 2⁶⁴ more often than others; [`Random::below`] makes up for that.
pub fn upper(number: u64, bound: u64) -> u64 {
    u64::try_from((u128::from(number) * u128::from(bound)) >> 64).unwrap_or(0)
}

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
        self.0 = self.0.wrapping_add(STEP);
        mix(self.0)
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

    /// An index below `len`; 0 where there is none.
    pub fn index(&mut self, len: usize) -> usize {
        usize::try_from(self.below(len as u64)).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_number_of_a_sequence_is_found_at_once() {
        for seed in [0, 7, u64::MAX] {
            let mut random = Random::new(seed);
            for index in 0..100 {
                assert_eq!(nth(seed, index), random.next_u64());
            }
        }
        assert_eq!(nth(0, 0), 0xe220_a839_7b1d_cdaf);
        assert_eq!((upper(u64::MAX, 10), upper(1 << 63, 10), upper(5, 0)), (9, 5, 0));
    }
}
