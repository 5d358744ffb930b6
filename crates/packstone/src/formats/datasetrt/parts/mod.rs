//! What only DatasetRT has: caches, the sampler with its exact draws, the table that it draws from, plans for loaders, the
//! runtime that reads samples in that order, and saved selections.
//!
//! ```text
//! chacha   words of one draw           permutation   NumPy's shuffle of row numbers
//! draws    a draw's row                loader        who of many consumers reads what
//! sampler  windows of draws, state     table         rows, weights, metadata columns
//! native   draws as an order           view          a selection of samples as a document
//! ```
//!
//! These are computation and open no file; the other modules read and write caches, [`runtime`] by way of these.

pub mod cache;
pub mod chacha;
pub mod check;
mod copy;
pub mod descriptor;
pub mod draws;
pub mod encode;
mod filling;
pub mod float;
pub mod identity;
pub mod index;
pub mod joint;
pub mod journal;
pub mod loader;
pub mod maps;
mod metadata;
pub mod migrate;
pub mod native;
pub mod payloads;
pub mod peer;
pub mod permutation;
pub mod read;
pub mod record;
pub mod repair;
pub mod resume;
pub mod rows;
pub mod runs;
pub mod runtime;
pub mod sampler;
pub mod selected;
mod shape;
pub mod shards;
pub mod site;
pub mod stage;
pub mod table;
pub mod tensors;
pub mod values;
pub mod view;
pub mod whole;
