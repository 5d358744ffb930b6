//! How a new dataset is written: what it will hold, who takes its samples, and what was published.

use std::sync::Arc;

use packstone_container::json::Object;

use crate::error::Result;
use crate::model::{Batch, Schema};

/// What a new dataset will hold.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The fields.
    pub schema: Arc<Schema>,
    /// The collections that will be written, in order, with their numbers of samples where known.
    pub collections: Vec<(String, Option<u64>)>,
    /// What the source says about itself, see [`Info::native`](super::Info::native).
    pub source: Option<(String, Object)>,
    /// Within a format, the [`Collection::document`](super::Collection::document) of each collection.
    pub documents: Vec<Option<Object>>,
    /// What is stored in other words than the source has, to be kept unread and given back as
    /// [`Info::carried`](super::Info::carried).
    pub carried: Option<Object>,
}

/// Writes samples; nothing is visible before [`Writer::finish`]. Dropped before that, it publishes nothing.
pub trait Writer: Send {
    /// Appends all rows of `batch` to a collection.
    ///
    /// # Errors
    /// `Invalid` where a value does not fit the schema, naming it; then nothing of `batch` is written. `Io`.
    fn write(&mut self, collection: &str, batch: &Batch) -> Result<()>;

    /// Publishes everything.
    ///
    /// # Errors
    /// `Conflict`, `Io`; then nothing is published.
    fn finish(self: Box<Self>) -> Result<Written>;
}

/// What a writer published.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Samples.
    pub samples: u64,
    /// Shards.
    pub shards: u64,
    /// Bytes of shard files.
    pub bytes: u64,
}
