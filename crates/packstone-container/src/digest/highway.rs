//! HighwayHash, as Riegeli files use it.

use ::highway::{HighwayHash, HighwayHasher, Key};

/// The 64-bit HighwayHash of `bytes` under a key of four words.
pub fn highway64(key: [u64; 4], bytes: &[u8]) -> u64 {
    HighwayHasher::new(Key(key)).hash64(bytes)
}

/// The same over bytes that come in pieces.
pub struct Highway64(HighwayHasher);

impl Highway64 {
    /// A hash of nothing yet.
    pub fn new(key: [u64; 4]) -> Self {
        Self(HighwayHasher::new(Key(key)))
    }

    /// Takes in the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.append(bytes);
    }

    /// The hash of all bytes taken in.
    pub fn finish(self) -> u64 {
        self.0.finalize64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `Riegeli/records` and a line feed, twice.
    const RIEGELI: [u64; 4] = [
        0x2f69_6c65_6765_6952,
        0x0a73_6472_6f63_6572,
        0x2f69_6c65_6765_6952,
        0x0a73_6472_6f63_6572,
    ];

    /// Hashes of the bytes 0, 1, 2, …, as an implementation that shares no code gives them, and the three that stand in
    /// the first 64 bytes of every Riegeli file.
    #[test]
    fn hashes_are_those_of_the_original() {
        let counting: Vec<u8> = (0..100).collect();
        for (len, hash) in [
            (0, 0x72c3_b1e9_c013_9fe1),
            (1, 0x2cd5_7bc4_7907_559d),
            (2, 0x79f8_9e5c_740f_5e3b),
            (3, 0x3bbb_8da4_70c8_0319),
            (4, 0x4d9e_8297_9ab1_7ce7),
            (7, 0x81d0_0cb7_03e0_9f52),
            (15, 0x3402_cb26_fb21_7163),
            (16, 0x3e13_be3a_4140_f4a7),
            (17, 0xa708_4c61_4077_eaca),
            (19, 0x357e_d625_31a8_6044),
            (31, 0x4d26_2a70_9c34_ae7d),
            (32, 0xb73f_6df5_50f9_dce4),
            (33, 0xec2f_9200_14ea_a741),
            (63, 0xbea2_8b7a_087e_1493),
            (64, 0xe34b_1e10_0f13_22af),
            (100, 0xe809_4874_65a4_4f74),
        ] {
            assert_eq!(highway64(RIEGELI, &counting[..len]), hash, "{len} bytes");
            let mut pieces = Highway64::new(RIEGELI);
            counting[..len].chunks(7).for_each(|piece| pieces.update(piece));
            assert_eq!(pieces.finish(), hash, "{len} bytes in pieces");
        }
        let block = [0u64.to_le_bytes(), 64u64.to_le_bytes()].concat();
        assert_eq!(highway64(RIEGELI, &block), 0x3f4a_880d_d170_af83);
        let words: [u64; 4] = [0, 0x72c3_b1e9_c013_9fe1, 0x73, 0];
        let chunk = words.map(u64::to_le_bytes).concat();
        assert_eq!(highway64(RIEGELI, &chunk), 0xa9e1_8792_3cc2_ba91);
    }
}
