//! packstone reads, writes, verifies, repairs and converts dataset formats that machine-learning teams have on disk.
//!
//! ```no_run
//! # fn main() -> packstone::Result<()> {
//! let dataset = packstone::open("tiny_aes_sedpack")?;
//! let train = dataset.collection("train")?;
//! for batch in packstone::ops::Scan::new(train).batches(256)? {
//!     let batch = batch?;
//!     for sample in batch.samples() {
//!         let trace = sample.get("trace1").map(|value| value.bytes.len());
//!         println!("{trace:?}");
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! The layers, inside out: [`model`] (types, columns, batches), [`mod@format`] (what a format offers), [`formats`] (one
//! folder each), [`ops`] (one verb a file, blind to formats), [`loader`] (order, shares, state, delivery). `ARCHITECTURE.md`
//! draws the house.

pub mod error;
pub mod exec;
pub mod expr;
pub mod format;
pub mod formats;
pub mod intent;
pub mod loader;
pub mod model;
pub mod ops;
pub mod order;
pub mod random;
pub mod registry;
pub mod site;

pub use error::{Error, Place, Result};
pub use packstone_container::{Limits, json};
pub use packstone_io::{Kind, LocalRoot, MemoryRoot, RelPath, Root, RootMut};
pub use site::open;

#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
