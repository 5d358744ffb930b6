//! What only DatasetRT has: the sampler with its exact draws, the table that it draws from, plans
//! for loaders, and saved selections.
//!
//! ```text
//! chacha   words of one draw           permutation   NumPy's shuffle of row numbers
//! draws    a draw's row                loader        who of many consumers reads what
//! sampler  windows of draws, state     table         rows, weights, metadata columns
//!                                      view          a selection of samples as a document
//! ```
//!
//! All of it is computation: no file is opened here.

pub mod chacha;
pub mod draws;
pub mod loader;
pub mod permutation;
pub mod sampler;
mod shape;
pub mod table;
pub mod view;
