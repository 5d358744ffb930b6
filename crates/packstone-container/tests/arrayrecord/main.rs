//! ArrayRecord against the real library's bytes: good ones, damaged ones, and our own.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "a test says what is wrong by failing"
)]

mod bad;
mod golden;
mod kit;
mod rewrite;
mod salvage;
mod sources;
mod sweep;
