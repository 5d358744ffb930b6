//! Riegeli/records files: chunks of records, interrupted by block headers every 64 KiB.
//!
//! ```text
//! file   = │ signature chunk, 64 bytes with its block header │ chunk │ chunk │ …
//! chunk  = │ header 40 │ data │ zeros up to its end │      block headers stand in between and are not counted
//! header = │ hash of the rest u64 │ data size u64 │ hash of the data u64 │ kind u8 │ records u56 │ decoded size u64 │
//! block  = 65536 bytes; the first 24 of each: │ hash of the rest u64 │ back to the chunk's begin u64 │ on to its end u64 │
//!
//! simple     = │ compression u8 │ length of sizes varint │ sizes: one varint a record │ the records, joined │
//! transposed = │ compression u8 │ state machine │ buckets │ transitions │              read, never written
//! compressed stream = │ decoded length varint, not to be trusted │ compressed bytes │
//! ```
//!
//! A chunk that starts with a block begins at the block, before the block header. It is at least as long as it has
//! records. Hashes are HighwayHash-64 under a fixed key, over bytes without block headers. Chunks are independent:
//! damage in one leaves the others readable.
//!
//! [`Placed`] finds and checks a chunk in a [`Window`] of its file, [`ChunkDecoder`] gives its [`Records`],
//! [`ChunkEncoder`] makes an [`EncodedChunk`] of records, anywhere and on any thread, and [`ChunkWriter`] puts chunks
//! one after another. [`array_record`](crate::array_record) adds an index to such files.

mod block;
mod compression;
mod decode;
mod encode;
mod error;
mod frame;
mod header;
mod place;
mod records;
mod simple;
#[cfg(test)]
mod tests;
mod transposed;

pub use block::{BLOCK, can_begin, chunk_end};
pub use compression::Compression;
pub use decode::ChunkDecoder;
pub use encode::{ChunkEncoder, EncodedChunk};
pub use error::{ChunkError, ChunkErrorKind};
pub(crate) use frame::stray;
pub use frame::{Data, Placed, Window};
pub use header::{ChunkHeader, ChunkKind};
pub use place::ChunkWriter;
pub use records::Records;
pub use transposed::TransposedError;

use crate::digest::{Highway64, highway64};

/// `Riegeli/records` and a line feed, twice.
const KEY: [u64; 4] =
    [0x2f69_6c65_6765_6952, 0x0a73_6472_6f63_6572, 0x2f69_6c65_6765_6952, 0x0a73_6472_6f63_6572];

fn hash(bytes: &[u8]) -> u64 {
    highway64(KEY, bytes)
}

fn hasher() -> Highway64 {
    Highway64::new(KEY)
}
