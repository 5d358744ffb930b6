//! What the tests of all crates share: where the golden data is, copies to damage, expectations, mutations, hanging files.
//!
//! Test code: it panics where something is missing.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod gate;
mod golden;
mod mutate;
mod snapshot;

pub use gate::Gate;
pub use golden::{Case, bad_cases, golden_folder, good_cases};
pub use mutate::{cut_points, flip_points};
pub use snapshot::{Snapshot, copy_folder};
