//! One bit a row.

/// Bits in order, the first in the lowest bit of the first word; bits past the end are zero.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bitmap {
    words: Vec<u64>,
    len: usize,
}

const BITS: usize = 64;

impl Bitmap {
    /// `len` equal bits.
    #[must_use]
    pub fn filled(len: usize, bit: bool) -> Self {
        let word = if bit { u64::MAX } else { 0 };
        Self { words: vec![word; len.div_ceil(BITS)], len }.trimmed()
    }

    /// The bits of a function of the row, which is called once for each in order.
    pub fn from_fn(len: usize, bit: impl FnMut(usize) -> bool) -> Self {
        (0..len).map(bit).collect()
    }

    /// The first `len` bits of bytes whose lowest bits come first, as Arrow has them; `None` where there are fewer.
    #[must_use]
    pub fn from_lsb_bytes(bytes: &[u8], len: usize) -> Option<Self> {
        let bytes = bytes.get(..len.div_ceil(8))?;
        let words = bytes.chunks(8).map(|chunk| {
            let mut word = [0; 8];
            word.iter_mut().zip(chunk).for_each(|(to, from)| *to = *from);
            u64::from_le_bytes(word)
        });
        Some(Self { words: words.collect(), len }.trimmed())
    }

    /// The bits in `⌈len/8⌉` bytes whose lowest bits come first; the unused ones are zero.
    pub fn lsb_bytes(&self) -> impl Iterator<Item = u8> {
        self.words.iter().flat_map(|word| word.to_le_bytes()).take(self.len.div_ceil(8))
    }

    /// Number of bits.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no bits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// One bit; `None` past the end.
    #[must_use]
    pub fn get(&self, row: usize) -> Option<bool> {
        let word = self.words.get(row / BITS)?;
        (row < self.len).then_some(word >> (row % BITS) & 1 == 1)
    }

    /// Appends a bit.
    pub fn push(&mut self, bit: bool) {
        if self.len.is_multiple_of(BITS) {
            self.words.push(0);
        }
        if let Some(last) = self.words.last_mut() {
            *last |= u64::from(bit) << (self.len % BITS);
            self.len += 1;
        }
    }

    /// How many bits are set.
    #[must_use]
    pub fn ones(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether all bits are set.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.ones() == self.len
    }

    /// All bits in order.
    pub fn iter(&self) -> impl Iterator<Item = bool> + Clone + '_ {
        let bits = self.words.iter().flat_map(|word| (0..BITS).map(move |at| word >> at & 1 == 1));
        bits.take(self.len)
    }

    /// The rows whose bits are set, in order.
    pub fn rows(&self) -> impl Iterator<Item = usize> + Clone + '_ {
        self.words
            .iter()
            .enumerate()
            .flat_map(|(place, word)| Ones { rest: *word, base: place * BITS })
    }

    /// The words behind the bits.
    #[must_use]
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// `len` bits made word by word: the function is given the first row of each word and how many there are, and
    /// returns their bits.
    pub fn from_words(len: usize, mut word: impl FnMut(usize, usize) -> u64) -> Self {
        let words = (0..len).step_by(BITS).map(|first| word(first, BITS.min(len - first)));
        Self { words: words.collect(), len }.trimmed()
    }

    /// The bits set in both; those past the end of the shorter one are left out.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        self.zip(other, |a, b| a & b)
    }

    /// The bits set in one or both; those past the end of the shorter one are left out.
    #[must_use]
    pub fn or(&self, other: &Self) -> Self {
        self.zip(other, |a, b| a | b)
    }

    /// The bits that are not set.
    #[must_use]
    pub fn not(&self) -> Self {
        Self { words: self.words.iter().map(|word| !word).collect(), len: self.len }.trimmed()
    }

    fn zip(&self, other: &Self, each: impl Fn(u64, u64) -> u64) -> Self {
        let words = self.words.iter().zip(&other.words).map(|(a, b)| each(*a, *b)).collect();
        Self { words, len: self.len.min(other.len) }.trimmed()
    }

    fn trimmed(mut self) -> Self {
        let used = self.len % BITS;
        if let (Some(last), 1..) = (self.words.last_mut(), used) {
            *last &= (1 << used) - 1;
        }
        self
    }
}

impl FromIterator<bool> for Bitmap {
    fn from_iter<I: IntoIterator<Item = bool>>(bits: I) -> Self {
        let mut map = Self::default();
        bits.into_iter().for_each(|bit| map.push(bit));
        map
    }
}

/// The set bits of one word, as rows.
#[derive(Clone)]
struct Ones {
    rest: u64,
    base: usize,
}

impl Iterator for Ones {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let low = self.rest.trailing_zeros();
        self.rest &= self.rest.wrapping_sub(1);
        (low < u64::BITS).then(|| self.base + low as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_survive_every_way_in_and_out() {
        for len in [0, 1, 7, 8, 63, 64, 65, 200] {
            let bit = |row: usize| row * row % 3 == 1;
            let map = Bitmap::from_fn(len, bit);
            assert_eq!(map.len(), len);
            assert!((0..len).all(|row| map.get(row) == Some(bit(row))));
            assert_eq!(map.get(len), None);
            assert_eq!(map.ones(), (0..len).filter(|row| bit(*row)).count());
            assert_eq!(
                map.rows().collect::<Vec<_>>(),
                (0..len).filter(|r| bit(*r)).collect::<Vec<_>>()
            );
            assert_eq!(map.iter().collect::<Bitmap>(), map);
            let bytes: Vec<u8> = map.lsb_bytes().collect();
            assert_eq!(bytes.len(), len.div_ceil(8));
            assert_eq!(Bitmap::from_lsb_bytes(&bytes, len), Some(map.clone()));
            let word = |first: usize, count: usize| {
                (0..count).map(|at| u64::from(bit(first + at)) << at).sum()
            };
            assert_eq!(Bitmap::from_words(len, word), map);
            assert_eq!(map.not().not(), map);
            assert_eq!(map.or(&map.not()), Bitmap::filled(len, true));
            assert_eq!(map.and(&map.not()), Bitmap::filled(len, false));
        }
    }

    #[test]
    fn the_lowest_bit_comes_first_and_unused_bits_do_not_count() {
        let map = Bitmap::from_lsb_bytes(&[0b0000_0101, 0xff], 10).unwrap();
        assert_eq!(map.rows().collect::<Vec<_>>(), [0, 2, 8, 9]);
        assert_eq!(map.lsb_bytes().collect::<Vec<_>>(), [0b0000_0101, 0b11]);
        assert!(Bitmap::filled(10, true).is_full() && !map.is_full());
        assert_eq!(Bitmap::from_lsb_bytes(&[1], 9), None);
        assert_eq!(Bitmap::filled(70, true).and(&Bitmap::filled(3, true)), Bitmap::filled(3, true));
    }
}
