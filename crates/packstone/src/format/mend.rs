//! How parts are joined and what a killed writer left is mended.

use std::sync::Arc;

use packstone_container::Limits;
use packstone_io::RelPath;

use crate::exec::Progress;
use crate::model::Finding;

/// Where a part comes from.
#[derive(Clone, Debug)]
pub enum PartSource {
    /// The part of this name in the dataset's root.
    Named(String),
    /// A file in the dataset's root.
    File(RelPath),
    /// A document from elsewhere.
    Document {
        /// What to call it in messages.
        label: String,
        /// Its bytes.
        bytes: Vec<u8>,
    },
}

/// How to join parts.
#[derive(Clone, Debug, Default)]
pub struct MergeOptions {
    /// The parts; empty for all that are there.
    pub parts: Vec<PartSource>,
    /// How many parts there must be, where known.
    pub expect: Option<usize>,
    /// How much a document may ask for.
    pub limits: Limits,
}

/// How to mend a dataset.
#[derive(Clone, Debug, Default)]
pub struct RepairOptions {
    /// Say what would be done and do nothing.
    pub dry_run: bool,
    /// How much a dataset may ask for.
    pub limits: Limits,
    /// Told about each file that was looked at.
    pub progress: Option<Arc<dyn Progress>>,
}

/// What a repair did.
#[derive(Clone, Debug, Default)]
pub struct RepairReport {
    /// Files of a publication that was cut off, now complete.
    pub completed: Vec<String>,
    /// What was salvaged, by file, with its samples.
    pub salvaged: Vec<(String, u64)>,
    /// What could not be used and why.
    pub left: Vec<Finding>,
    /// Temporary files that were removed.
    pub removed: Vec<String>,
}
