//! Feeding a training loop: which sample comes when, who reads it, and how it gets there.
//!
//! ```text
//! order      (seed, epoch, position) → index of a sample        a pure function, its name and version frozen
//! share      (rank, worker, step)    → positions                splits positions, never shards
//! state      where a loader stands, as one JSON object
//! delivery   shards decoded ahead, rows copied once into batches
//! ```

mod order;

pub use order::{Drawn, Order};
