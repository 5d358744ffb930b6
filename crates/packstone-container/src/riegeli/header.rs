//! Chunk headers: `│hash u64│data size u64│data hash u64│kind u8, records u56│decoded size u64│`, little-endian.

use super::error::{ChunkError, ChunkErrorKind};
use super::hash;

/// Bytes of a chunk header, block headers not counted.
pub(super) const LEN: usize = 40;
/// The largest number of records that fits.
const MAX_RECORDS: u64 = (1 << 56) - 1;

/// What a chunk holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ChunkKind {
    /// The first chunk of a file.
    Signature,
    /// A description of the file.
    Metadata,
    /// Nothing.
    Padding,
    /// Records, joined.
    Simple,
    /// Records, taken apart by their fields.
    Transposed,
    /// Something else; an error only where it claims to hold records.
    Other(u8),
}

impl ChunkKind {
    /// The byte in the file.
    pub fn byte(self) -> u8 {
        match self {
            Self::Signature => b's',
            Self::Metadata => b'm',
            Self::Padding => b'p',
            Self::Simple => b'r',
            Self::Transposed => b't',
            Self::Other(byte) => byte,
        }
    }

    fn from_byte(byte: u8) -> Self {
        match byte {
            b's' => Self::Signature,
            b'm' => Self::Metadata,
            b'p' => Self::Padding,
            b'r' => Self::Simple,
            b't' => Self::Transposed,
            other => Self::Other(other),
        }
    }
}

/// The header of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkHeader {
    /// Bytes of data, without block headers.
    pub data_size: u64,
    /// Hash of the data.
    pub data_hash: u64,
    /// What the chunk holds.
    pub kind: ChunkKind,
    /// How many records, below 2⁵⁶.
    pub records: u64,
    /// Sum of their lengths.
    pub decoded_size: u64,
}

impl ChunkHeader {
    /// The header for `data`; more than 2⁵⁶-1 records become that many.
    pub(super) fn of(kind: ChunkKind, data: &[u8], records: u64, decoded_size: u64) -> Self {
        let (data_size, data_hash) = (data.len() as u64, hash(data));
        Self { data_size, data_hash, kind, records: records.min(MAX_RECORDS), decoded_size }
    }

    /// Checks the hash of the header of the chunk at byte `chunk` and takes it apart.
    pub(super) fn parse(bytes: &[u8; LEN], chunk: u64) -> Result<Self, ChunkError> {
        let (stored, rest) = bytes.split_first_chunk().unwrap_or((&[0; 8], &[]));
        let (expected, found) = (u64::from_le_bytes(*stored), hash(rest));
        if expected != found {
            let kind = ChunkErrorKind::HeaderHash { expected, found };
            return Err(ChunkError { chunk, kind });
        }
        let mut words = rest.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word));
        let mut word = || words.next().unwrap_or_default();
        let (data_size, data_hash, typed, decoded_size) = (word(), word(), word(), word());
        let [kind, ..] = typed.to_le_bytes();
        let kind = ChunkKind::from_byte(kind);
        Ok(Self { data_size, data_hash, kind, records: typed >> 8, decoded_size })
    }

    /// The bytes in the file, without block headers.
    pub(super) fn encode(&self) -> [u8; LEN] {
        let typed = self.records.min(MAX_RECORDS) << 8 | u64::from(self.kind.byte());
        let words = [self.data_size, self.data_hash, typed, self.decoded_size];
        let words = words.map(u64::to_le_bytes);
        let rest = words.as_flattened();
        let mut bytes = [0; LEN];
        let fields = hash(rest).to_le_bytes().into_iter().chain(rest.iter().copied());
        bytes.iter_mut().zip(fields).for_each(|(to, byte)| *to = byte);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The record chunk of a file of the original: `hello`, uncompressed.
    #[test]
    fn a_header_of_the_original_goes_both_ways() {
        let bytes = [
            0x3e, 0x2c, 0x33, 0x4c, 0x67, 0xca, 0x14, 0x53, 8, 0, 0, 0, 0, 0, 0, 0, 0xf9, 0xd8,
            0xb2, 0xe5, 0x41, 0xb1, 0x3d, 0x9b, 0x72, 1, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0,
        ];
        let header = ChunkHeader::of(ChunkKind::Simple, b"\0\x01\x05hello", 1, 5);
        assert_eq!(header.encode(), bytes);
        assert_eq!(ChunkHeader::parse(&bytes, 64).unwrap(), header);
        for at in 0..LEN {
            let mut damaged = bytes;
            damaged[at] ^= 4;
            let error = ChunkHeader::parse(&damaged, 64).unwrap_err();
            assert_eq!((error.chunk, error.kind.code()), (64, "chunk_header_hash"), "byte {at}");
        }
    }

    #[test]
    fn kinds_go_both_ways() {
        for byte in 0..=255 {
            assert_eq!(ChunkKind::from_byte(byte).byte(), byte);
        }
    }
}
