//! What does not make a table.

use super::column::ColumnKind;

/// Why columns do not fit together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// Columns, or values and their validity, of different lengths.
    #[error("expected {expected} rows, found {found}")]
    Rows {
        /// Rows of what came first.
        expected: usize,
        /// Rows of what does not fit.
        found: usize,
    },
    /// A value or a column of another kind.
    #[error("expected {expected}, found {found}")]
    Kind {
        /// The kind of the column.
        expected: ColumnKind,
        /// The kind of what does not fit.
        found: ColumnKind,
    },
    /// Ends of texts that go back, pass the text's own end, or cut a character.
    #[error(
        "expected the end of text {row} after the one before, within the bytes and between characters"
    )]
    TextEnd {
        /// The row.
        row: usize,
    },
    /// Bytes that are no UTF-8.
    #[error("expected UTF-8, found other bytes at {at}")]
    Utf8 {
        /// Where, among the bytes of all texts.
        at: usize,
    },
    /// A row past the end.
    #[error("expected a row below {rows}, found {row}")]
    NoRow {
        /// Number of rows.
        rows: usize,
        /// The row asked for.
        row: usize,
    },
}
