//! The reader and the writer on whole documents.

mod encodings;
mod hostile;
mod reading;
mod writing;

use super::{Document, JsonError, ReadOptions, read};

/// Reads with the default options.
fn plain(text: &str) -> Result<Document, JsonError> {
    read(text.as_bytes(), &ReadOptions::default())
}

/// Reads all that can be read.
fn tolerant() -> ReadOptions {
    ReadOptions::default().with_nan(true).with_bom(true)
}
