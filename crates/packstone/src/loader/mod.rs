//! Feeding a training loop: which sample comes when, who reads it, and how it gets there.
//!
//! ```text
//! order      (seed, epoch, position) → index of a sample        a pure function, its name and version frozen
//! share      (rank, worker, step)    → positions                splits positions, never shards
//! state      where a loader stands, as one JSON object
//! plan       what each rank will read
//! delivery   shards decoded ahead, rows copied once into batches
//! ```
//!
//! `docs/loader.md` has every algorithm in full and where its test vectors are.

mod cache;
pub mod codes;
mod columns;
mod delivery;
mod directory;
mod engine;
mod fingerprint;
mod job;
#[expect(clippy::module_inception, reason = "a file for each noun of the room")]
mod loader;
mod options;
mod order;
mod plan;
mod planner;
mod share;
mod sources;
mod state;
mod steps;
mod worker;

pub use columns::{keys_of, weights_of};
pub use delivery::{Delivery, Padded};
pub use fingerprint::Fingerprint;
pub use loader::Loader;
pub use options::{LoaderOptions, OnFault};
pub use order::{
    Balanced, BlockQuality, Blocks, Distinct, Drawn, Indices, Mixture, Order, OrderId, Permutation,
    Sequential, Shuffled, Source, Stop, Weighted, Weights, native,
};
pub use plan::{Plan, PlanOptions, RankPlan, plan, plan_joined};
pub use share::{Part, Remainder, Share};
pub use state::State;
