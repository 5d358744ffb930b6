//! The program from outside: what it prints, and how it ends.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod annotating;
mod caches;
mod documented;
mod failures;
mod help;
mod loading;
mod packing;
mod reading;
mod records;
mod support;
mod terminal;
mod trees;
mod verifying;
mod viewing;
mod writing;
