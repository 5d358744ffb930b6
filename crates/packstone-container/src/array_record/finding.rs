//! What [`verify`](super::verify) reports.

use super::error::ArrayRecordError;
use crate::riegeli::ChunkError;

/// Something wrong with a file, or only out of order.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Finding {
    /// Reading fails on it, too.
    #[error(transparent)]
    Unreadable(#[from] ArrayRecordError),
    /// The first chunk is not the signature of a Riegeli file.
    #[error("expected the signature of a riegeli file: {0}")]
    Signature(ChunkError),
    /// Padding, or the zeros at the end of a chunk, are something else.
    #[error("expected padding: {0}")]
    Padding(ChunkError),
    /// A chunk that the index does not know of is damaged.
    #[error(transparent)]
    Stray(ChunkError),
    /// A chunk of records is not in the index.
    #[error("expected the index to name the chunk of {records} records at byte {offset}")]
    Unindexed {
        /// Where it begins.
        offset: u64,
        /// Records in it.
        records: u64,
    },
    /// A chunk of the index lies inside of another one.
    #[error("expected chunk {chunk} of the index to begin where another ends, found byte {offset}")]
    Misplaced {
        /// Its number.
        chunk: u64,
        /// Where it begins by the index.
        offset: u64,
    },
    /// The index states another decoded size than the chunk.
    #[error("expected a decoded size of {expected} in chunk {chunk} of the index, found {found}")]
    EntrySize {
        /// The number of the chunk.
        chunk: u64,
        /// Where it begins.
        offset: u64,
        /// As the chunk states, and has.
        expected: u64,
        /// As the index states.
        found: u64,
    },
    /// The three copies of the postscript are not the same, or not three.
    #[error(
        "expected three equal postscripts at byte {offset}, found {found} equal ones of {count}"
    )]
    PostscriptCopies {
        /// Where they begin.
        offset: u64,
        /// Copies that equal the first one, itself counted.
        found: u64,
        /// Copies.
        count: u64,
    },
}

impl Finding {
    /// A stable word for it.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unreadable(error) => error.code(),
            Self::Signature(_) => "signature_damaged",
            Self::Padding(_) => "padding_damaged",
            Self::Stray(error) => error.kind.code(),
            Self::Unindexed { .. } => "chunk_unindexed",
            Self::Misplaced { .. } => "chunk_misplaced",
            Self::EntrySize { .. } => "entry_size",
            Self::PostscriptCopies { .. } => "postscript_copies",
        }
    }

    /// Whether records cannot be read because of it; otherwise all of them can.
    pub fn unreadable(&self) -> bool {
        matches!(self, Self::Unreadable(_))
    }

    /// Where in the file, as far as it has a place.
    pub fn offset(&self) -> Option<u64> {
        match self {
            Self::Unreadable(error) => error.offset(),
            Self::Signature(error) | Self::Padding(error) | Self::Stray(error) => Some(error.chunk),
            Self::Unindexed { offset, .. }
            | Self::Misplaced { offset, .. }
            | Self::EntrySize { offset, .. }
            | Self::PostscriptCopies { offset, .. } => Some(*offset),
        }
    }
}
