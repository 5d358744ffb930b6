//! Sedpack against the real library's bytes: good ones, bad ones, and our own.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "a test says what is wrong by failing"
)]

mod bad;
mod batches;
mod documents;
mod flat;
mod golden;
mod kill;
mod kit;
mod memory;
mod npz;
mod parts;
mod paths;
mod refusals;
mod schema;
mod streams;
mod sweep;
mod tfrec;
mod tree;
mod verify;
mod workers;
mod write;
