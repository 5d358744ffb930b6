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
//! The kinds are those that the metadata of datasets have. Columns are shared between tables, so a table with one other
//! column costs that column.

mod bitmap;
mod column;
mod error;
mod table;
mod texts;

pub use bitmap::Bitmap;
pub use column::{Cell, Column, ColumnKind, Values};
pub use error::TableError;
pub use table::Table;
pub use texts::Texts;
