//! TensorDict memory maps against the real library's bytes: good ones, bad ones, and our own.
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
mod canonical;
mod dataset;
mod documents;
mod golden;
mod kit;
mod many;
mod rules;
mod sweep;
mod write_archive;
mod write_golden;
mod write_grow;
mod write_kill;
mod write_kit;
mod write_samples;
mod write_save;
