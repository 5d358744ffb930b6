//! What a planner keeps of batches and shards while their rows are on the way.

use std::sync::Arc;

use crate::error::Error;
use crate::format::ShardRef;
use crate::loader::directory::ShardId;
use crate::loader::job::{Part, Target};
use crate::loader::steps::Slot;
use crate::model::Batch;

/// A batch that is planned.
pub(super) struct Planned {
    pub(super) step: u64,
    pub(super) slots: Vec<Slot>,
    pub(super) indices: Vec<Option<u64>>,
    /// Where each slot's row is, until it is being fetched; empty where rows are at hand.
    pub(super) wanted: Vec<Option<ShardId>>,
    pub(super) target: Arc<Target>,
    pub(super) missing: usize,
    pub(super) faults: Vec<(usize, Error)>,
    pub(super) bytes: u64,
}

/// Copies for one job.
#[derive(Default)]
pub(super) struct Gathered {
    pub(super) source: usize,
    pub(super) bytes: u64,
    /// Rows at hand.
    pub(super) indices: Vec<u64>,
    /// Decoded shards, each with its number of parts.
    pub(super) shards: Vec<(Arc<ShardRef>, Arc<Batch>, usize)>,
    pub(super) parts: Vec<Part>,
}

/// Rows of a shard that planned batches want and nobody fetches.
pub(super) struct Pending {
    pub(super) shard: Arc<ShardRef>,
    /// Batch, row, slot, in the order of the first two.
    pub(super) rows: Vec<(u64, usize, usize)>,
}
