//! The options of writers and readers, in the original's grammar.
//!
//! ```text
//! options = option, option, …        empty ones are passed over
//! option  = key | key:value          no blanks around keys; around numbers they may stand
//! ```
//!
//! A key given twice, an unknown one, one that excludes another and a value outside of its range are errors, and the
//! same one is named as by the original, with one exception: hexadecimal numbers of bytes are not taken.

mod parse;
mod reader;
mod writer;

pub use parse::OptionError;
pub use reader::{IndexStorage, ReaderOptions};
pub use writer::WriterOptions;

#[cfg(test)]
mod tests;
