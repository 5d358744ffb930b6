//! Bare ArrayRecord files as datasets: the original's files, damaged ones, and our own.
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
mod golden;
mod kit;
mod repair;
mod write;

/// The original's files and the recipes of damage, as the container's own tests have them.
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../../../packstone-container/tests/arrayrecord/kit.rs"]
mod files;
