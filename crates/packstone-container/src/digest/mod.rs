//! Digests of files, in Sedpack's spelling, and the checksums of containers.
//!
//! A digest is lower-case hex. The xxHash family has seed 0 and is written big-endian, as its authors print it;
//! `xxh64` is XXH64, `xxh128` is the 128-bit XXH3.

mod checksum;
mod hasher;
mod highway;
mod multi;

use std::fmt;

pub use checksum::{crc32, crc32c, masked_crc32c};
pub use hasher::Hasher;
pub use highway::{Highway64, highway64};
pub use multi::MultiHasher;

/// A digest algorithm that a Sedpack dataset may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names say all there is")]
#[non_exhaustive]
pub enum Algorithm {
    Md5,
    Sha1,
    Sha224,
    Sha256,
    Sha384,
    Sha512,
    Sha3_224,
    Sha3_256,
    Sha3_384,
    Sha3_512,
    Xxh32,
    Xxh64,
    Xxh128,
}

impl Algorithm {
    /// All algorithms, in the order of Sedpack's documentation.
    pub const ALL: [Self; 13] = [
        Self::Md5,
        Self::Sha1,
        Self::Sha224,
        Self::Sha256,
        Self::Sha384,
        Self::Sha512,
        Self::Sha3_224,
        Self::Sha3_256,
        Self::Sha3_384,
        Self::Sha3_512,
        Self::Xxh32,
        Self::Xxh64,
        Self::Xxh128,
    ];

    /// Sedpack's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Md5 => "md5",
            Self::Sha1 => "sha1",
            Self::Sha224 => "sha224",
            Self::Sha256 => "sha256",
            Self::Sha384 => "sha384",
            Self::Sha512 => "sha512",
            Self::Sha3_224 => "sha3_224",
            Self::Sha3_256 => "sha3_256",
            Self::Sha3_384 => "sha3_384",
            Self::Sha3_512 => "sha3_512",
            Self::Xxh32 => "xxh32",
            Self::Xxh64 => "xxh64",
            Self::Xxh128 => "xxh128",
        }
    }

    /// The algorithm of that name; names are case-sensitive, as Sedpack's are.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|algorithm| algorithm.name() == name)
    }

    /// Length of the digest in bytes; the hex text has twice as many characters.
    pub fn digest_len(self) -> usize {
        match self {
            Self::Xxh32 => 4,
            Self::Xxh64 => 8,
            Self::Md5 | Self::Xxh128 => 16,
            Self::Sha1 => 20,
            Self::Sha224 | Self::Sha3_224 => 28,
            Self::Sha256 | Self::Sha3_256 => 32,
            Self::Sha384 | Self::Sha3_384 => 48,
            Self::Sha512 | Self::Sha3_512 => 64,
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// `bytes` as lower-case hex.
pub fn hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 0x0f]);
    digits.filter_map(|digit| char::from_digit(digit.into(), 16)).collect()
}

/// The hex digest of `bytes`.
pub fn digest_hex(algorithm: Algorithm, bytes: &[u8]) -> String {
    let mut hasher = Hasher::new(algorithm);
    hasher.update(bytes);
    hasher.finish_hex()
}

/// SHA-256 of `bytes`.
pub fn sha256(bytes: &[u8]) -> [u8; 32] {
    use sha2::Digest as _;
    sha2::Sha256::digest(bytes).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Digests of `abc`, of nothing, and of 1000 × `0123456789`, as Python's hashlib and xxhash print them.
    #[test]
    fn digests_are_those_of_the_original() {
        let long = b"0123456789".repeat(1000);
        for (line, algorithm) in include_str!("vectors.txt").lines().zip(Algorithm::ALL) {
            let [name, abc, empty, many] =
                line.split(' ').collect::<Vec<_>>().try_into().expect("four words");
            assert_eq!(algorithm.name(), name);
            assert_eq!(digest_hex(algorithm, b"abc"), abc, "{name}");
            assert_eq!(digest_hex(algorithm, b""), empty, "{name}");
            assert_eq!(digest_hex(algorithm, &long), many, "{name}");
            assert_eq!(abc.len(), 2 * algorithm.digest_len(), "{name}");
        }
        assert_eq!(include_str!("vectors.txt").lines().count(), Algorithm::ALL.len());
    }

    #[test]
    fn names_go_both_ways_and_keep_their_case() {
        for algorithm in Algorithm::ALL {
            assert_eq!(Algorithm::from_name(algorithm.name()), Some(algorithm));
        }
        for unknown in ["", "SHA256", "sha-256", "xxh3", "sha3"] {
            assert_eq!(Algorithm::from_name(unknown), None);
        }
    }

    #[test]
    fn pieces_give_the_digest_of_the_whole() {
        let data: Vec<u8> =
            (0..5000u32).map(|n| u8::try_from(((n * 7) >> 3) % 256).unwrap()).collect();
        for algorithm in Algorithm::ALL {
            for size in [1, 63, 64, 65, 1024] {
                let mut hasher = Hasher::new(algorithm);
                data.chunks(size).for_each(|piece| hasher.update(piece));
                assert_eq!(hasher.finish_hex(), digest_hex(algorithm, &data), "{algorithm} {size}");
            }
        }
    }

    #[test]
    fn the_short_cut_is_the_same_digest() {
        assert_eq!(hex(&sha256(b"abc")), digest_hex(Algorithm::Sha256, b"abc"));
        assert_eq!(hex(&[0x00, 0x0f, 0xf0, 0xa5]), "000ff0a5");
    }
}
