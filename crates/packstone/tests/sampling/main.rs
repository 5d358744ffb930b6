//! The sampler, the table and the loader's plans of DatasetRT against sequences that the original library emitted.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation
)]

mod golden;
mod loader;
mod sampler;
mod table;
mod view;
