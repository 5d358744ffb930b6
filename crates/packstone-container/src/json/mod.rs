//! Strict, lossless JSON: the control documents of datasets, and what the program reports.
//!
//! ```text
//! bytes ── read ──▶ Document { Value, notes } ── write(style) ──▶ text
//!                       │
//!                       └── At: typed access, errors with JSON paths
//! ```
//!
//! [`read`] keeps what general readers lose: the order of members, the text of numbers, unpaired surrogates, and the
//! fact that a name occurred twice. [`write()`] spells values as the library that reads them next does, down to the byte:
//! a document in one of the [`Style`]s survives reading and writing unchanged. [`json!`](crate::json!) builds values for
//! output.
//!
//! Not kept are white space and the choice between a character and its escape, which the style decides.

mod at;
mod build;
mod document;
mod encoding;
mod equal;
mod error;
mod escape;
mod float;
mod key;
mod lax;
mod number;
mod object;
mod path;
mod read;
mod scan;
mod shape;
mod small;
mod value;
mod wide;
mod write;

#[cfg(test)]
mod tests;

pub use at::{At, Lax};
pub use document::{Document, Note, NoteKind, ReadOptions};
pub use encoding::Encoding;
pub(crate) use encoding::utf16_of_python_utf8;
pub use equal::python_eq;
pub use error::{JsonError, JsonErrorKind};
pub use float::{FloatStyle, float_text, python_float};
pub use key::Key;
pub use number::{Number, NumberError};
pub use object::Object;
pub use read::read;
pub use shape::ShapeError;
pub use value::Value;
pub use wide::Wide;
pub use write::{NonFinite, Style, write, write_to};
