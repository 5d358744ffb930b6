//! How a dataset is checked: what its structure showed at once, and tasks for the rest.

use packstone_container::Limits;

use super::{ReadContext, Sources};
use crate::model::Finding;

/// How to check a dataset.
#[derive(Clone, Debug, Default)]
pub struct AuditOptions {
    /// Structure, counts of lists and presence of files only: no hashing and no decoding.
    pub quick: bool,
    /// Recorded checksums of the root document, in hex.
    pub expect: Vec<String>,
    /// How much a dataset may ask for.
    pub limits: Limits,
    /// Where references that lead out of the dataset may lead.
    pub sources: Sources,
}

/// A check in two parts: what the structure showed, and independent tasks that may run at once.
#[derive(Default)]
pub struct Audit {
    /// Found while the structure was walked.
    pub findings: Vec<Finding>,
    /// What remains to be checked, usually one task a shard.
    pub tasks: Vec<AuditTask>,
    /// Control documents read so far.
    pub documents: u64,
}

/// Does one part of a check.
pub type Check = Box<dyn FnOnce(&mut ReadContext) -> Vec<Finding> + Send>;

/// One independent part of a check.
pub struct AuditTask {
    /// The bytes it will read, for progress.
    pub bytes: u64,
    /// Samples that it covers.
    pub samples: u64,
    /// Does it.
    pub run: Check,
}
