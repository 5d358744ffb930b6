//! Why bytes are no Arrow file that is read here, or a table is none that is written.

use packstone_io::Kind;

use super::error::TableError;
use super::flat::FlatError;

/// Why an Arrow file is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ArrowError {
    /// The marks at both ends are missing.
    #[error("expected an Arrow IPC file, found {found}")]
    NotAFile {
        /// What it is instead.
        found: &'static str,
    },
    /// The length of the footer does not fit the file.
    #[error("expected a footer inside the {len} bytes of the file, found one of {found}")]
    FooterLength {
        /// The length as it stands there.
        found: i32,
        /// Bytes of the file.
        len: usize,
    },
    /// Something that must be there is not.
    #[error("expected {0}, found none")]
    Missing(&'static str),
    /// A flatbuffer leads out of its bytes.
    #[error(transparent)]
    Flat(#[from] FlatError),
    /// Another version of the format.
    #[error("expected Arrow metadata version 4 or 5, found {found}")]
    Version {
        /// The version.
        found: i16,
    },
    /// Valid, but not read here.
    #[error("expected plain columns, found {what}")]
    Unsupported {
        /// What it is.
        what: &'static str,
    },
    /// A column of a type that is not read here.
    #[error(
        "expected a column of bool, int64, uint64, float64 or utf8, found {found} in {column:?}"
    )]
    Type {
        /// The column.
        column: String,
        /// Its type.
        found: &'static str,
    },
    /// The name of a column is no text, or more text than the file holds.
    #[error("expected a name of column {column} in UTF-8, found other bytes")]
    Name {
        /// The number of the column.
        column: usize,
    },
    /// A record batch contradicts itself.
    #[error("record batch {number}: {reason}")]
    Batch {
        /// Its number.
        number: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// A text is no UTF-8, or lies outside of its buffer.
    #[error(
        "expected UTF-8 inside of its buffer, found other bytes in row {row} of column {column}"
    )]
    Text {
        /// The number of the column.
        column: usize,
        /// The row.
        row: u64,
    },
    /// There is no such column or row.
    #[error("expected a column and row of the file, found column {column}, row {row}")]
    NoCell {
        /// The column asked for.
        column: usize,
        /// The row asked for.
        row: u64,
    },
    /// More text in one batch than its 32-bit ends can count.
    #[error("expected less than 2 GiB of text in column {column:?}, found {found} bytes")]
    TooMuchText {
        /// The column.
        column: String,
        /// Bytes of its texts.
        found: u64,
    },
    /// The columns do not make a table.
    #[error(transparent)]
    Table(#[from] TableError),
}

impl ArrowError {
    /// The same error, told of a batch where it speaks of its message.
    pub(super) fn in_batch(self, number: usize) -> Self {
        match self {
            Self::Flat(error) => Self::Batch { number, reason: error.to_string() },
            other => other,
        }
    }

    /// What a caller can do about it.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Unsupported { .. } | Self::Type { .. } | Self::Version { .. } => {
                Kind::Unsupported
            }
            Self::NoCell { .. } => Kind::NotFound,
            Self::TooMuchText { .. } => Kind::Limit,
            Self::Table(_) => Kind::Invalid,
            _ => Kind::Corrupt,
        }
    }
}
