//! ArrayRecord files: Riegeli files with an index of their chunks at the end, so that any record is found at once.
//!
//! ```text
//! │ signature 64 │ records │ records │ … │ footer │ padding │ postscript, one whole block of 64 KiB │
//! records    = one chunk of `group_size` records, the last one of the rest; after each one padding up to the next
//!              block, where the writer was asked for that
//! footer     = one chunk: metadata { 1: { 1: version 1, 2: chunks, 3: records, 4: options of the writer } }, then for
//!              each chunk { 1: offset, 2: decoded size, 3: records }; Protocol Buffers messages
//!              perhaps with a note in field 50700, which only packstone knows
//! postscript = a chunk at file size - 65536 with the message { 1: offset of the footer, 2: magic } three times
//! ```
//!
//! Record `i` is number `i % group_size` in chunk `i / group_size`, so that everything depends on chunks that are all
//! full but the last one. What the original leaves unchecked, [`Reader::open`] checks: it answers a damaged index with
//! empty records or a crash.
//!
//! - [`Reader`] gives records by number, batches of them with each chunk decoded once, and runs of chunks to be decoded
//!   on several threads. [`verify`] reads every byte; [`salvage`] finds the chunks of a file whose index is lost.
//! - [`Encoder`] makes chunks on any thread, [`Placer`] puts them into the file in order and writes the index,
//!   [`Writer`] is both for one thread.
//! - [`WriterOptions`] and [`ReaderOptions`] speak the original's grammar: `group_size:1,zstd:3`.
//!
//! Uncompressed files are the original's byte for byte. With Zstandard they are where its library compresses alike:
//! version 1.5.6, which is linked here, does; 1.5.7 makes about one stream in a hundred otherwise. Brotli and Snappy
//! streams differ more often. All of them are read by the original.

mod encoder;
mod error;
mod finding;
mod index;
mod iter;
mod messages;
mod options;
mod placer;
mod plan;
mod reader;
mod salvage;
mod source;
#[cfg(test)]
mod tests;
mod verify;
mod writer;

pub use encoder::Encoder;
pub use error::{ArrayRecordError, WriteError};
pub use finding::Finding;
pub use index::Entry;
pub use iter::RecordIter;
pub use options::{IndexStorage, OptionError, ReaderOptions, WriterOptions};
pub use placer::{Placer, Written};
pub use plan::{Plan, Wanted};
pub use reader::{Chunk, Reader, Span};
pub use salvage::{Salvaged, salvage};
pub use verify::verify;
pub use writer::Writer;

/// Where the first chunk of records begins, if there is one: behind the signature.
const FIRST_CHUNK: u64 = 64;
