//! What is done with datasets: one verb a file, written against the traits of [`crate::format`] alone.

mod scan;

pub use scan::{Batches, Scan, Shards, gather};
