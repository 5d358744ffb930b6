//! Layer 2 of packstone: containers and codecs, bytes ↔ records, with no knowledge of datasets.
//!
//! Everything here takes `&[u8]`, [`Buf`](packstone_io::Buf) or a positional reader and opens no path. Every length is
//! checked against the bytes at hand and against [`Limits`] before memory is taken for it; no input panics.

pub mod array_record;
pub mod arrow_table;
pub mod codec;
pub mod digest;
pub mod flatshard;
pub mod json;
pub mod npy;
pub mod pickle;
pub mod riegeli;
pub mod safetensors;
pub mod tfrecord;
pub mod wire;
pub mod zip;

mod limits;
pub use limits::Limits;
