//! Flat tables: named columns of equal length in memory.
//!
//! ```text
//! Table   [(name, Column)]                       names may repeat, as Arrow's may
//! Column  Values + validity (absent: no nulls)   one kind, one value a row, also under a null
//! Values  Bool     bits                          1/8 byte a row
//!         Int64 | UInt64 | Float64               8 bytes a row
//!         Utf8     ends + one String             8 bytes a row and the text
//! ```
//!
//! [`ArrowFile`] finds such columns in an Arrow IPC file without copying them, [`write_file`] writes a table as one.
//!
//! The kinds are those that the metadata of datasets have. Columns are shared between tables, so a table with one other
//! column costs that column.

mod bitmap;
mod build;
mod column;
mod error;
mod fault;
mod flat;
mod place;
mod read;
mod table;
mod texts;
mod write;

#[cfg(test)]
mod tests;

pub use bitmap::Bitmap;
pub use column::{Cell, Column, ColumnKind, Values};
pub use error::TableError;
pub use fault::ArrowError;
pub use flat::FlatError;
pub use read::{ArrowField, ArrowFile};
pub use table::Table;
pub use texts::Texts;
pub use write::write_file;

/// What an Arrow IPC file begins and ends with.
const MAGIC: [u8; 6] = *b"ARROW1";
