//! One digest at a time, over bytes that come in pieces.

use std::hash::Hasher as _;

use sha2::Digest as _;
use twox_hash::{XxHash3_128, XxHash32, XxHash64};

use super::{Algorithm, hex};

/// A digest in the making.
pub struct Hasher(State);

enum State {
    Md5(md5::Md5),
    Sha1(sha1::Sha1),
    Sha224(sha2::Sha224),
    Sha256(sha2::Sha256),
    Sha384(sha2::Sha384),
    Sha512(sha2::Sha512),
    Sha3_224(sha3::Sha3_224),
    Sha3_256(sha3::Sha3_256),
    Sha3_384(sha3::Sha3_384),
    Sha3_512(sha3::Sha3_512),
    Xxh32(XxHash32),
    Xxh64(XxHash64),
    Xxh128(Box<XxHash3_128>),
}

impl Hasher {
    /// A digest of nothing yet.
    pub fn new(algorithm: Algorithm) -> Self {
        Self(match algorithm {
            Algorithm::Md5 => State::Md5(Default::default()),
            Algorithm::Sha1 => State::Sha1(Default::default()),
            Algorithm::Sha224 => State::Sha224(Default::default()),
            Algorithm::Sha256 => State::Sha256(Default::default()),
            Algorithm::Sha384 => State::Sha384(Default::default()),
            Algorithm::Sha512 => State::Sha512(Default::default()),
            Algorithm::Sha3_224 => State::Sha3_224(Default::default()),
            Algorithm::Sha3_256 => State::Sha3_256(Default::default()),
            Algorithm::Sha3_384 => State::Sha3_384(Default::default()),
            Algorithm::Sha3_512 => State::Sha3_512(Default::default()),
            Algorithm::Xxh32 => State::Xxh32(XxHash32::with_seed(0)),
            Algorithm::Xxh64 => State::Xxh64(XxHash64::with_seed(0)),
            Algorithm::Xxh128 => State::Xxh128(Box::new(XxHash3_128::with_seed(0))),
        })
    }

    /// Takes in the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        match &mut self.0 {
            State::Md5(h) => h.update(bytes),
            State::Sha1(h) => h.update(bytes),
            State::Sha224(h) => h.update(bytes),
            State::Sha256(h) => h.update(bytes),
            State::Sha384(h) => h.update(bytes),
            State::Sha512(h) => h.update(bytes),
            State::Sha3_224(h) => h.update(bytes),
            State::Sha3_256(h) => h.update(bytes),
            State::Sha3_384(h) => h.update(bytes),
            State::Sha3_512(h) => h.update(bytes),
            State::Xxh32(h) => h.write(bytes),
            State::Xxh64(h) => h.write(bytes),
            State::Xxh128(h) => h.write(bytes),
        }
    }

    /// The digest of all bytes taken in.
    pub fn finish(self) -> Vec<u8> {
        match self.0 {
            State::Md5(h) => h.finalize().to_vec(),
            State::Sha1(h) => h.finalize().to_vec(),
            State::Sha224(h) => h.finalize().to_vec(),
            State::Sha256(h) => h.finalize().to_vec(),
            State::Sha384(h) => h.finalize().to_vec(),
            State::Sha512(h) => h.finalize().to_vec(),
            State::Sha3_224(h) => h.finalize().to_vec(),
            State::Sha3_256(h) => h.finalize().to_vec(),
            State::Sha3_384(h) => h.finalize().to_vec(),
            State::Sha3_512(h) => h.finalize().to_vec(),
            State::Xxh32(h) => h.finish_32().to_be_bytes().to_vec(),
            State::Xxh64(h) => h.finish().to_be_bytes().to_vec(),
            State::Xxh128(h) => h.finish_128().to_be_bytes().to_vec(),
        }
    }

    /// The digest of all bytes taken in, as lower-case hex.
    pub fn finish_hex(self) -> String {
        hex(&self.finish())
    }
}
