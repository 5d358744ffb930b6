//! Operations: on a format that lives in memory only, and on the golden datasets.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod carry;
mod convert;
mod diff;
mod digest;
mod fake;
mod golden;
mod large;
mod scan;
mod select;
mod shuffle;
mod verify;
