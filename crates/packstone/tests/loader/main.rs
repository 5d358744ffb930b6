//! The loader's delivery: what comes, in which order, after which faults.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod faults;
mod golden;
mod kit;
mod resume;
mod stopping;
