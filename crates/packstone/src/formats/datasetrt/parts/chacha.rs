//! ChaCha with 8 rounds as a source of numbers: 64-bit block counter, 64-bit stream id 0.

/// `expand 32-byte k`, in little-endian words.
const CONSTANTS: [u32; 4] = [0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574];
const ROUNDS: usize = 8;

type Block = [u32; 16];

/// The words of one key, from block 0 on.
#[derive(Clone, Debug)]
pub struct ChaCha8 {
    key: [u32; 8],
    next_block: u64,
    block: std::array::IntoIter<u32, 16>,
}

impl ChaCha8 {
    /// The words of `key`.
    #[must_use]
    pub fn new(key: [u32; 8]) -> Self {
        Self { key, next_block: 1, block: block(&key, 0).into_iter() }
    }

    /// The next word.
    pub fn next_u32(&mut self) -> u32 {
        loop {
            if let Some(word) = self.block.next() {
                return word;
            }
            self.block = block(&self.key, self.next_block).into_iter();
            self.next_block = self.next_block.wrapping_add(1);
        }
    }

    /// The next two words, the first being the lower half.
    pub fn next_u64(&mut self) -> u64 {
        let low = u64::from(self.next_u32());
        low | u64::from(self.next_u32()) << 32
    }
}

fn block(key: &[u32; 8], counter: u64) -> Block {
    let [c0, c1, c2, c3] = CONSTANTS;
    let [k0, k1, k2, k3, k4, k5, k6, k7] = *key;
    let (low, high) = halves(counter);
    let start = [c0, c1, c2, c3, k0, k1, k2, k3, k4, k5, k6, k7, low, high, 0, 0];
    let mut s = start;
    for _ in 0..ROUNDS / 2 {
        // Columns, then diagonals.
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = s;
        let [[a, e, i, m], [b, f, j, n], [c, g, k, o], [d, h, l, p]] =
            [[a, e, i, m], [b, f, j, n], [c, g, k, o], [d, h, l, p]].map(quarter);
        let [[a, f, k, p], [b, g, l, m], [c, h, i, n], [d, e, j, o]] =
            [[a, f, k, p], [b, g, l, m], [c, h, i, n], [d, e, j, o]].map(quarter);
        s = [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p];
    }
    s.iter_mut().zip(start).for_each(|(word, first)| *word = word.wrapping_add(first));
    s
}

fn quarter([mut a, mut b, mut c, mut d]: [u32; 4]) -> [u32; 4] {
    a = a.wrapping_add(b);
    d = (d ^ a).rotate_left(16);
    c = c.wrapping_add(d);
    b = (b ^ c).rotate_left(12);
    a = a.wrapping_add(b);
    d = (d ^ a).rotate_left(8);
    c = c.wrapping_add(d);
    b = (b ^ c).rotate_left(7);
    [a, b, c, d]
}

/// The lower and the upper half.
pub(super) fn halves(x: u64) -> (u32, u32) {
    let [a, b, c, d, e, f, g, h] = x.to_le_bytes();
    (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first test vector that is published for eight rounds and 256 bits of key: all zero.
    #[test]
    fn the_zero_key_gives_the_published_stream() {
        let mut words = ChaCha8::new([0; 8]);
        let bytes: Vec<u8> = (0..32).flat_map(|_| words.next_u32().to_le_bytes()).collect();
        let expected = "3e00ef2f895f40d67f5bb8e81f09a5a12c840ec3ce9a7f3b181be188ef711a1e\
                        984ce172b9216f419f445367456d5619314a42a3da86b001387bfdb80e0cfe42\
                        d2aefa0deaa5c151bf0adb6c01f2a5adc0fd581259f9a2aadcf20f8fd566a26b\
                        5032ec38bbc5da98ee0c6f568b872a65a08abf251deb21bb4b56e5d8821e68aa";
        assert_eq!(packstone_container::digest::hex(&bytes), expected);
    }
}
