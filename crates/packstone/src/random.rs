//! Random numbers from a seed: the same on every machine and in every release.
//!
//! The numbers are those of SplitMix64; a number below `n` is the upper half of the 128-bit product with `n`, drawn again
//! where that would favour some; a list is shuffled from its end (Fisher and Yates).

/// What SplitMix64 makes of its state: another number for every number, with all bits mixed.
pub fn mix(z: u64) -> u64 {
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
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
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
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
