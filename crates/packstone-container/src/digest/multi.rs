//! Several digests in one pass over the bytes.

use super::{Algorithm, Hasher};

/// What all hashers take in turn: small enough to stay in the second-level cache in between.
const PIECE: usize = 256 << 10;

/// Several digests in the making. An algorithm named twice is computed once.
pub struct MultiHasher {
    hashers: Vec<(Algorithm, Hasher)>,
    order: Vec<Algorithm>,
}

impl MultiHasher {
    /// Digests of nothing yet.
    pub fn new(algorithms: &[Algorithm]) -> Self {
        let mut hashers: Vec<(Algorithm, Hasher)> = Vec::new();
        for &algorithm in algorithms {
            if !hashers.iter().any(|(known, _)| *known == algorithm) {
                hashers.push((algorithm, Hasher::new(algorithm)));
            }
        }
        Self { hashers, order: algorithms.to_vec() }
    }

    /// Takes in the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        for piece in bytes.chunks(PIECE) {
            for (_, hasher) in &mut self.hashers {
                hasher.update(piece);
            }
        }
    }

    /// The hex digests, one for each algorithm given to [`new`](Self::new), in that order.
    pub fn finish(self) -> Vec<String> {
        let digests: Vec<_> =
            self.hashers.into_iter().map(|(known, hasher)| (known, hasher.finish_hex())).collect();
        let digest = |algorithm: &Algorithm| {
            digests.iter().find(|(known, _)| known == algorithm).map(|(_, digest)| digest.clone())
        };
        self.order.iter().filter_map(digest).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::digest_hex;
    use super::*;

    #[test]
    fn order_and_repetition_are_kept_across_pieces() {
        let data: Vec<u8> = (0..PIECE * 2 + 77).map(|n| u8::try_from(n % 251).unwrap()).collect();
        let wanted = [Algorithm::Xxh64, Algorithm::Sha256, Algorithm::Xxh64, Algorithm::Md5];
        let mut hasher = MultiHasher::new(&wanted);
        hasher.update(&data[..1000]);
        hasher.update(&data[1000..]);
        assert_eq!(hasher.finish(), wanted.map(|a| digest_hex(a, &data)));
    }

    #[test]
    fn no_algorithms_give_no_digests() {
        let mut hasher = MultiHasher::new(&[]);
        hasher.update(b"abc");
        assert!(hasher.finish().is_empty());
    }
}
