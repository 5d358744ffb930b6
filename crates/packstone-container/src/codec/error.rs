//! Why a compressed stream could not be decoded or made.

use packstone_io::{IoError, Kind};

use super::Codec;

/// A failed decode or encode. Offsets count bytes from the start of the compressed input.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CodecError {
    /// There is nothing to decode. An empty file is never a complete stream, for no codec.
    #[error("expected a stream ({codec}), found no data")]
    Empty {
        /// What was asked for.
        codec: Codec,
    },
    /// The input starts with something else.
    #[error("expected a {codec} header at byte {at}, found {found}")]
    Header {
        /// What was asked for.
        codec: Codec,
        /// Where the header should be.
        at: usize,
        /// The bytes or the value found instead.
        found: String,
    },
    /// The input ends inside a member.
    #[error(
        "expected the rest of the {codec} member at byte {at}, found the end after {len} bytes"
    )]
    Truncated {
        /// What was asked for.
        codec: Codec,
        /// Where the unfinished member starts.
        at: usize,
        /// Length of the input.
        len: usize,
    },
    /// The compressed data contradicts itself.
    #[error("damaged {codec} member at byte {at}: {reason}")]
    Corrupt {
        /// What was asked for.
        codec: Codec,
        /// Where the damaged member starts.
        at: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// A stored checksum or length differs from that of the decoded bytes.
    #[error("{codec} member at byte {at}: expected {what} {expected:#x}, found {found:#x}")]
    Mismatch {
        /// What was asked for.
        codec: Codec,
        /// Where the member starts.
        at: usize,
        /// Name of the check.
        what: &'static str,
        /// The value that the stream stores.
        expected: u64,
        /// The value of what was decoded.
        found: u64,
    },
    /// Valid, but needs something that packstone does not have.
    #[error("{codec} member at byte {at} needs {what}, which is not supported")]
    Unsupported {
        /// What was asked for.
        codec: Codec,
        /// Where the member starts.
        at: usize,
        /// What it needs.
        what: &'static str,
    },
    /// One member was asked for, and there is more than that.
    #[error("expected one {codec} member, found {bytes} bytes after it")]
    Surplus {
        /// What was asked for.
        codec: Codec,
        /// Bytes after the first member.
        bytes: u64,
    },
    /// The stream decodes to more than the caller allows, or asks for that much memory.
    #[error("{codec} stream needs more than the limit of {limit} bytes")]
    Limit {
        /// What was asked for.
        codec: Codec,
        /// The limit in bytes.
        limit: u64,
    },
    /// The codec has no such level.
    #[error("expected a {codec} level from {min} to {max}, found {found}")]
    Level {
        /// What was asked for.
        codec: Codec,
        /// Lowest level.
        min: i32,
        /// Highest level.
        max: i32,
        /// The level asked for.
        found: i32,
    },
    /// The codec has no such window.
    #[error("expected a {codec} window log from {min} to {max}, found {found}")]
    Window {
        /// What was asked for.
        codec: Codec,
        /// Lowest logarithm.
        min: u32,
        /// Highest logarithm.
        max: u32,
        /// The one asked for.
        found: u32,
    },
    /// Memory for the result cannot be had.
    #[error(transparent)]
    Memory(#[from] IoError),
    /// The compression library failed for no reason that lies in the data.
    #[error("{codec} library: {reason}")]
    Library {
        /// What was asked for.
        codec: Codec,
        /// The message of the library.
        reason: String,
    },
}

impl CodecError {
    /// What a caller can do about it.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Empty { .. }
            | Self::Header { .. }
            | Self::Truncated { .. }
            | Self::Corrupt { .. }
            | Self::Mismatch { .. }
            | Self::Surplus { .. } => Kind::Corrupt,
            Self::Unsupported { .. } => Kind::Unsupported,
            Self::Limit { .. } => Kind::Limit,
            Self::Level { .. } | Self::Window { .. } => Kind::Invalid,
            Self::Memory(error) => error.kind(),
            Self::Library { .. } => Kind::Io,
        }
    }
}
