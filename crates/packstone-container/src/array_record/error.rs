//! Why a file cannot be read or written.

use std::io;
use std::ops::Range;

use packstone_io::{IoError, Kind};

use crate::codec::CodecError;
use crate::riegeli::ChunkError;
use crate::wire::WireError;

/// Why a file, or a record of it, cannot be read. Offsets are in bytes from the start of the file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArrayRecordError {
    /// The file is cut, or something was appended.
    #[error("expected a multiple of 65536 bytes and at least 131072, found {found} bytes")]
    FileSize {
        /// Length of the file.
        found: u64,
    },
    /// The postscript cannot be read.
    #[error("postscript: {0}")]
    Postscript(#[source] ChunkError),
    /// The postscript can be read, but says nothing of use.
    #[error("expected a postscript at byte {offset} with {what}, found {found}")]
    PostscriptInvalid {
        /// Where the postscript begins.
        offset: u64,
        /// What should be in it.
        what: &'static str,
        /// What is.
        found: String,
    },
    /// The postscript leads out of the part of the file where a footer can be.
    #[error("expected a footer between byte 64 and byte {limit}, found its offset to be {found}")]
    FooterOffset {
        /// Where the postscript begins.
        limit: u64,
        /// Where the footer should be.
        found: u64,
    },
    /// The footer cannot be read.
    #[error("footer: {0}")]
    Footer(#[source] ChunkError),
    /// The first record of the footer is not what it should be.
    #[error("expected array record metadata in the footer at byte {offset}, found {found}")]
    Metadata {
        /// Where the footer begins.
        offset: u64,
        /// What is there instead.
        found: String,
    },
    /// Written by another version of the format.
    #[error("expected version 1 in the footer at byte {offset}, found {found}")]
    Version {
        /// Where the footer begins.
        offset: u64,
        /// The version.
        found: u64,
    },
    /// An entry of the index is no message.
    #[error("expected index entry {entry} in the footer at byte {offset}: {source}")]
    IndexEntry {
        /// Where the footer begins.
        offset: u64,
        /// Its number.
        entry: u64,
        /// What is wrong with it.
        source: WireError,
    },
    /// The index has another number of entries than the metadata states.
    #[error("expected an index of {expected} chunks, found {found} in the footer at byte {offset}")]
    IndexCount {
        /// Where the footer begins.
        offset: u64,
        /// By the metadata.
        expected: u64,
        /// Entries of the index.
        found: u64,
    },
    /// The index leads to where its chunk cannot be.
    #[error(
        "expected chunk {entry} of the index to begin between bytes {} and {}, found {}",
        .allowed.start, .allowed.end, .found.map_or("no offset".to_owned(), |at| at.to_string())
    )]
    IndexOffset {
        /// Where the footer begins.
        offset: u64,
        /// The entry.
        entry: u64,
        /// Where its chunk can begin, the end excluded, if a chunk can begin there at all.
        allowed: Range<u64>,
        /// Where the index says it does.
        found: Option<u64>,
    },
    /// Chunks have unequal numbers of records, so that none is found by its number.
    #[error("expected {expected} records in chunk {entry} of the index, found {found}")]
    IndexGroup {
        /// Where the footer begins.
        offset: u64,
        /// The entry.
        entry: u64,
        /// Records of the first chunk, or 1.
        expected: u64,
        /// Records of this one.
        found: u64,
    },
    /// The chunks of the index hold another number of records than the metadata states.
    #[error(
        "expected {expected} records, found {found} in the index in the footer at byte {offset}"
    )]
    IndexRecords {
        /// Where the footer begins.
        offset: u64,
        /// By the metadata.
        expected: u64,
        /// Sum over the index.
        found: u64,
    },
    /// A chunk of records cannot be read.
    #[error("records {} to {}: {source}", .records.start, .records.end.saturating_sub(1))]
    Chunk {
        /// The number of the chunk.
        chunk: u64,
        /// The records in it.
        records: Range<u64>,
        /// What is wrong with it.
        source: ChunkError,
    },
    /// A chunk holds another number of records than the index states.
    #[error("expected {expected} records in chunk {chunk} at byte {offset}, found {found}")]
    ChunkRecords {
        /// The number of the chunk.
        chunk: u64,
        /// Where it begins.
        offset: u64,
        /// Records by the index.
        expected: u64,
        /// Records by the chunk.
        found: u64,
    },
    /// A record was asked for that does not exist.
    #[error("expected a record below {count}, found {index}")]
    RecordIndex {
        /// The one asked for.
        index: u64,
        /// How many there are.
        count: u64,
    },
    /// The file asks for more than the caller allows.
    #[error("expected at most {limit} {what}, found {found}")]
    Limit {
        /// What is limited.
        what: &'static str,
        /// The limit.
        limit: u64,
        /// What the file asks for.
        found: u64,
    },
    /// The file cannot be read.
    #[error(transparent)]
    Io(#[from] IoError),
}

impl ArrayRecordError {
    /// A stable word for it; for a damaged chunk of records, the word for the damage.
    pub fn code(&self) -> &'static str {
        match self {
            Self::FileSize { .. } => "file_size",
            Self::Postscript(_) => "postscript_damaged",
            Self::PostscriptInvalid { .. } => "postscript_invalid",
            Self::FooterOffset { .. } => "footer_offset",
            Self::Footer(_) => "footer_damaged",
            Self::Metadata { .. } => "metadata_invalid",
            Self::Version { .. } => "version",
            Self::IndexEntry { .. } => "index_entry",
            Self::IndexCount { .. } => "index_count",
            Self::IndexOffset { .. } => "index_offset",
            Self::IndexGroup { .. } => "index_group",
            Self::IndexRecords { .. } => "index_records",
            Self::Chunk { source, .. } => source.kind.code(),
            Self::ChunkRecords { .. } => "chunk_records",
            Self::RecordIndex { .. } => "record_index",
            Self::Limit { .. } => "limit",
            Self::Io(_) => "io",
        }
    }

    /// What a caller can do about it.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Postscript(source) | Self::Footer(source) | Self::Chunk { source, .. } => {
                source.kind.kind()
            }
            Self::Version { .. } => Kind::Unsupported,
            Self::RecordIndex { .. } => Kind::NotFound,
            Self::Limit { .. } => Kind::Limit,
            Self::Io(error) => error.kind(),
            _ => Kind::Corrupt,
        }
    }

    /// Where in the file, as far as it has a place.
    pub fn offset(&self) -> Option<u64> {
        match self {
            Self::FileSize { found } => Some(*found),
            Self::Postscript(source) | Self::Footer(source) | Self::Chunk { source, .. } => {
                Some(source.chunk)
            }
            Self::FooterOffset { limit, .. } => Some(*limit),
            Self::PostscriptInvalid { offset, .. }
            | Self::Metadata { offset, .. }
            | Self::Version { offset, .. }
            | Self::IndexEntry { offset, .. }
            | Self::IndexCount { offset, .. }
            | Self::IndexOffset { offset, .. }
            | Self::IndexGroup { offset, .. }
            | Self::IndexRecords { offset, .. }
            | Self::ChunkRecords { offset, .. } => Some(*offset),
            Self::RecordIndex { .. } | Self::Limit { .. } | Self::Io(_) => None,
        }
    }
}

/// Why a file cannot be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// Transposed chunks are read only.
    #[error("cannot write transposed chunks: leave the option transpose out")]
    Transpose,
    /// Settings that the codec does not have, or no memory.
    #[error(transparent)]
    Codec(#[from] CodecError),
    /// A chunk of too many or no records, or one after a chunk that is not full.
    #[error("expected {expected} records in a chunk, or fewer in the last one, found {found}")]
    Group {
        /// The size of a group.
        expected: u64,
        /// Records of the chunk, or of the one before it.
        found: u64,
    },
    /// The target failed.
    #[error("cannot write: {0}")]
    Io(#[from] io::Error),
}

impl WriteError {
    /// What a caller can do about it.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Transpose => Kind::Unsupported,
            Self::Codec(error) => error.kind(),
            Self::Group { .. } => Kind::Invalid,
            Self::Io(_) => Kind::Io,
        }
    }
}

impl From<IoError> for WriteError {
    fn from(error: IoError) -> Self {
        Self::Codec(CodecError::Memory(error))
    }
}
