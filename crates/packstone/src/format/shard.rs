//! The unit in which samples are read, and what reading a part of it costs.

use std::any::Any;
use std::sync::Arc;

use packstone_container::json::Object;
use packstone_io::RelPath;

/// A shard as its dataset lists it: the unit in which samples are read.
#[derive(Clone, Debug)]
pub struct ShardRef {
    /// Position among the shards of its collection.
    pub number: u64,
    /// Index of its first sample in the collection.
    pub first: u64,
    /// Number of samples, as listed.
    pub rows: u64,
    /// Its file.
    pub path: RelPath,
    /// What the dataset says about its samples.
    pub metadata: Arc<Object>,
    /// What the format keeps about it.
    pub detail: Arc<dyn Any + Send + Sync>,
}

/// What it costs to read some rows of a shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// As much as the whole shard, which then lies decoded in memory.
    Whole,
    /// What these rows cost: they are decoded apart from the others.
    Apart,
    /// Next to nothing: a shard that was read is a map of its file, which takes no memory of its own.
    Mapped,
}
