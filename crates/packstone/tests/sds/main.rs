//! SignalDataset against the real library's bytes: good ones, bad ones, and our own.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "a test says what is wrong by failing"
)]

mod annotate;
mod bad;
mod convert;
mod documents;
mod golden;
mod kill;
mod kit;
mod payloads;
mod publish;
mod reading;
mod refusals;
mod sweep;
mod vectors;
mod views;
mod workers;
mod write;
