//! What can be wrong with a chunk.

use packstone_io::{IoError, Kind};

use super::TransposedError;
use crate::codec::CodecError;

/// A chunk that cannot be trusted, or not be read.
#[derive(Debug, thiserror::Error)]
#[error("chunk at byte {chunk}: {kind}")]
pub struct ChunkError {
    /// Where the chunk begins, in bytes from the start of the file.
    pub chunk: u64,
    /// What is wrong with it.
    pub kind: ChunkErrorKind,
}

/// What is wrong with a chunk.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChunkErrorKind {
    /// No chunk can begin there.
    #[error("expected a begin at a block of 65536 bytes or at least 25 bytes after one")]
    Begin,
    /// A block header is damaged.
    #[error(
        "expected hash {expected:016x} of the block header at byte {block}, found {found:016x}"
    )]
    BlockHash {
        /// Where the block starts.
        block: u64,
        /// As stored.
        expected: u64,
        /// As computed.
        found: u64,
    },
    /// A block header belongs to another chunk.
    #[error(
        "expected the block header at byte {block} to name {expected} as the {what}, found {found}"
    )]
    BlockLink {
        /// Where the block starts.
        block: u64,
        /// `begin` or `end`.
        what: &'static str,
        /// Where the chunk begins or ends.
        expected: u64,
        /// Where the block header says it does.
        found: u64,
    },
    /// The chunk header is damaged.
    #[error("expected hash {expected:016x} of the chunk header, found {found:016x}")]
    HeaderHash {
        /// As stored.
        expected: u64,
        /// As computed.
        found: u64,
    },
    /// The data is damaged.
    #[error("expected hash {expected:016x} of {len} bytes of data, found {found:016x}")]
    DataHash {
        /// Bytes of data.
        len: u64,
        /// As stored.
        expected: u64,
        /// As computed.
        found: u64,
    },
    /// The chunk is longer than its place.
    #[error("expected an end by byte {limit}, found {end}")]
    Outside {
        /// Where it must end.
        limit: u64,
        /// Where it would end; `u64::MAX` where no file is that long.
        end: u64,
    },
    /// The kind has no records, but some are claimed.
    #[error("expected a chunk of records, found {records} in a chunk of type {kind:#04x}")]
    Type {
        /// The type byte.
        kind: u8,
        /// The number claimed.
        records: u64,
    },
    /// There is no data, not even a compression type.
    #[error("expected a compression type, found no data")]
    NoData,
    /// The compression type is unknown.
    #[error("expected a known compression type, found {0:#04x}")]
    Compression(u8),
    /// The sizes of the records do not fit their place, their number or their sum.
    #[error("expected {what}, found {found}")]
    Sizes {
        /// What was expected.
        what: &'static str,
        /// What is there instead.
        found: u64,
    },
    /// The records, joined, have another length.
    #[error("expected {expected} bytes of records, found {found}")]
    Values {
        /// The announced length.
        expected: u64,
        /// The length found.
        found: u64,
    },
    /// A compressed stream is damaged.
    #[error("{stream}: {source}")]
    Stream {
        /// Which stream.
        stream: &'static str,
        /// What is wrong with it; its offsets count from the start of the compressed bytes.
        source: Box<CodecError>,
    },
    /// The state machine of a transposed chunk is damaged.
    #[error("transposed data: {0}")]
    Transposed(#[from] TransposedError),
    /// The chunk asks for more than the caller allows.
    #[error("expected at most {limit} {what}, found {found}")]
    Limit {
        /// What is limited.
        what: &'static str,
        /// The limit.
        limit: u64,
        /// What the chunk asks for.
        found: u64,
    },
    /// The file or memory failed.
    #[error(transparent)]
    Io(#[from] IoError),
}

impl ChunkErrorKind {
    /// A stable word for it.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Begin => "chunk_begin",
            Self::BlockHash { .. } => "block_header_hash",
            Self::BlockLink { .. } => "block_header_link",
            Self::HeaderHash { .. } => "chunk_header_hash",
            Self::DataHash { .. } => "chunk_data_hash",
            Self::Outside { .. } => "chunk_outside",
            Self::Type { .. } => "chunk_type",
            Self::NoData => "chunk_empty",
            Self::Compression(_) => "compression_type",
            Self::Sizes { .. } => "record_sizes",
            Self::Values { .. } => "record_values",
            // Memory that cannot be had and limits are no damage.
            Self::Stream { source, .. } => match source.kind() {
                Kind::Limit => "limit",
                Kind::Io => "io",
                _ => "compressed_stream",
            },
            Self::Transposed(_) => "transposed_data",
            Self::Limit { .. } => "limit",
            Self::Io(_) => "io",
        }
    }

    /// What a caller can do about it.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Limit { .. } => Kind::Limit,
            Self::Stream { source, .. } => source.kind(),
            Self::Io(error) => error.kind(),
            _ => Kind::Corrupt,
        }
    }
}
