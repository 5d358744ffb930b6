//! Where and why a text is not the JSON that was asked for.

use thiserror::Error;

use super::encoding::Encoding;

/// A document that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{kind} at line {line}, column {column} (byte {offset})")]
#[non_exhaustive]
pub struct JsonError {
    /// Where, in bytes from the start of the document.
    pub offset: usize,
    /// The line of this place, from 1; only line feeds end lines.
    pub line: usize,
    /// The character of this place in its line, from 1.
    pub column: usize,
    /// Why.
    pub kind: JsonErrorKind,
}

/// Why a document cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum JsonErrorKind {
    /// The document is larger than [`Limits::document_bytes`](crate::Limits::document_bytes).
    #[error("expected a document of at most {limit} bytes, found {found}")]
    TooLarge {
        /// The limit in bytes.
        limit: u64,
        /// The size in bytes.
        found: u64,
    },
    /// Arrays and objects nest deeper than the limit.
    #[error("expected nesting of at most {limit} levels, found more")]
    TooDeep {
        /// The limit, of containers open at once.
        limit: usize,
    },
    /// The document has more values than the limit.
    #[error("expected at most {limit} values, found more")]
    TooManyValues {
        /// The limit, of scalars and containers.
        limit: usize,
    },
    /// The document begins with the UTF-8 byte order mark.
    #[error("expected JSON, found a byte order mark")]
    ByteOrderMark,
    /// The bytes are not UTF-8.
    #[error("expected UTF-8, found other bytes")]
    InvalidUtf8,
    /// The bytes are not in the encoding that the first of them suggest.
    #[error("expected {encoding}, found other bytes")]
    InvalidText {
        /// The encoding.
        encoding: Encoding,
    },
    /// The document ends too early.
    #[error("expected {expected}, found the end of the document")]
    Truncated {
        /// What had to follow.
        expected: &'static str,
    },
    /// A character stands where it must not.
    #[error("expected {expected}, found {found:?}")]
    Unexpected {
        /// What had to follow.
        expected: &'static str,
        /// What did.
        found: char,
    },
    /// Something follows the value.
    #[error("expected the end of the document, found {found:?}")]
    TrailingText {
        /// Its first character.
        found: char,
    },
    /// A number begins with a zero that is not its only integer digit.
    #[error("expected a number without leading zeros")]
    LeadingZero,
    /// `NaN`, `Infinity` or `-Infinity`, where they are not allowed.
    #[error("expected a finite number, found {token}")]
    NonFinite {
        /// The token.
        token: &'static str,
    },
    /// A character below U+0020 in a string.
    #[error("expected an escape, found the bare control character {found:?}")]
    ControlCharacter {
        /// The character.
        found: char,
    },
    /// A member name occurs twice in one object, where that is refused.
    #[error("expected distinct member names, found {path} again")]
    DuplicateKey {
        /// JSON path of the member.
        path: String,
    },
}

impl JsonError {
    /// Counts lines and columns up to the place.
    pub(super) fn new(document: &[u8], offset: usize, kind: JsonErrorKind) -> Self {
        let before = document.get(..offset).unwrap_or(document);
        let line_start =
            before.iter().rposition(|&byte| byte == b'\n').map_or(0, |place| place + 1);
        let is_first_byte = |byte: &&u8| **byte & 0xc0 != 0x80;
        Self {
            offset,
            line: before.iter().filter(|&&byte| byte == b'\n').count() + 1,
            column: before.iter().skip(line_start).filter(is_first_byte).count() + 1,
            kind,
        }
    }
}
