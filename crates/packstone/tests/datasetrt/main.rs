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
mod copies;
mod documents;
mod faults;
mod golden;
mod kill;
mod kit;
mod made;
mod memory;
mod migrate;
mod open_files;
mod reading;
mod refusals;
mod runtime;
mod runtime_bundle;
mod runtime_kit;
mod runtime_reading;
mod runtime_selected;
#[path = "../sampling/golden.rs"]
#[allow(dead_code, reason = "the tests of sampling use all of it")]
mod sequences;
mod sweep;
mod write;
