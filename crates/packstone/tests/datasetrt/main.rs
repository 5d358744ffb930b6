//! DatasetRT against the real library's bytes: good ones, bad ones, and our own.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "a test says what is wrong by failing"
)]

mod bad;
mod convert;
mod faults;
mod golden;
mod kill;
mod kit;
mod migrate;
mod refusals;
mod write;
