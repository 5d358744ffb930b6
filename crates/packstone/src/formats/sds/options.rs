//! How much a dataset may ask for, and how one is opened.
//!
//! The bounds are those of the original, at the same edges: a value equal to the bound passes.

use std::fmt;
use std::sync::Arc;

use packstone_container::Limits;
use packstone_io::Root;

use crate::format::Sources;

/// Bounds of a JSON document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonPolicy {
    /// Bytes of the document.
    pub bytes: u64,
    /// Nesting, where the outermost value has level 1 and scalars count as well.
    pub depth: usize,
    /// Values: containers and scalars, not keys.
    pub nodes: usize,
}

/// Bounds of control documents; the original's `ControlPolicy`.
pub const CONTROL: JsonPolicy = JsonPolicy { bytes: 64 << 20, depth: 128, nodes: 1_000_000 };

/// Bounds of records, metadata rows and annotations; the original's `ResourcePolicy`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordPolicy {
    /// Bytes of an encoded record.
    pub encoded_bytes: u64,
    /// Bytes of its descriptor.
    pub descriptor_bytes: u64,
    /// Fields of a record.
    pub fields: usize,
    /// Axes of a field.
    pub axes_per_field: usize,
    /// Explicit coordinate values of an axis.
    pub coordinate_values: usize,
    /// Bytes of a tensor.
    pub tensor_bytes: u64,
    /// Bytes of all tensors of a record.
    pub total_tensor_bytes: u64,
    /// Bytes of all that a record says about itself, and of a metadata row.
    pub metadata_bytes: u64,
    /// Nesting of a descriptor or header.
    pub json_depth: usize,
    /// Values in a descriptor or header.
    pub json_nodes: usize,
}

impl Default for RecordPolicy {
    fn default() -> Self {
        Self {
            encoded_bytes: 64 << 30,
            descriptor_bytes: 16 << 20,
            fields: 10_000,
            axes_per_field: 128,
            coordinate_values: 10_000_000,
            tensor_bytes: 16 << 30,
            total_tensor_bytes: 64 << 30,
            metadata_bytes: 16 << 20,
            json_depth: CONTROL.depth,
            json_nodes: CONTROL.nodes,
        }
    }
}

impl RecordPolicy {
    /// Bounds of a descriptor.
    pub fn descriptor(&self) -> JsonPolicy {
        JsonPolicy { bytes: self.descriptor_bytes, depth: self.json_depth, nodes: self.json_nodes }
    }
}

/// All bounds of a dataset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Of control documents.
    pub control: JsonPolicy,
    /// Of records.
    pub records: RecordPolicy,
}

impl Default for Policy {
    fn default() -> Self {
        Self { control: CONTROL, records: RecordPolicy::default() }
    }
}

impl Policy {
    /// The bounds of the original, and no more than `limits`.
    pub fn within(limits: &Limits) -> Self {
        let mut policy = Self::default();
        policy.control.bytes = policy.control.bytes.min(limits.document_bytes);
        policy.control.depth = policy.control.depth.min(limits.depth);
        policy.records.json_depth = policy.records.json_depth.min(limits.depth);
        policy.records.encoded_bytes = policy.records.encoded_bytes.min(limits.decoded_bytes);
        policy
    }

    /// Bounds of a metadata row: its size is the records' concern, its structure that of documents.
    pub fn row(&self) -> JsonPolicy {
        JsonPolicy { bytes: self.records.metadata_bytes, ..self.control }
    }
}

/// How to open a dataset.
#[derive(Clone, Default)]
pub struct OpenOptions {
    /// Bounds.
    pub policy: Policy,
    /// How much a shard may ask for.
    pub limits: Limits,
    /// Where absolute references may lead: texts that they start with, and what lies there. Others are refused.
    pub sources: Vec<(String, Arc<dyn Root>)>,
}

impl OpenOptions {
    /// No more than `limits`, and no absolute references.
    pub fn within(limits: &Limits) -> Self {
        Self { policy: Policy::within(limits), limits: *limits, sources: Vec::new() }
    }

    /// The same options, following references to these sources.
    #[must_use]
    pub fn with_sources(self, sources: &Sources) -> Self {
        let add = |options: Self, (prefix, root): &(String, Arc<dyn Root>)| {
            options.with_source(prefix.as_str(), Arc::clone(root))
        };
        sources.0.iter().fold(self, add)
    }

    /// The same options, following references that start with `prefix` to what lies in `root`: a view's source.
    #[must_use]
    pub fn with_source(mut self, prefix: impl Into<String>, root: Arc<dyn Root>) -> Self {
        let prefix = prefix.into();
        self.sources.push((prefix.trim_end_matches('/').to_owned(), root));
        self
    }
}

impl fmt::Debug for OpenOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sources: Vec<_> = self.sources.iter().map(|(prefix, _)| prefix).collect();
        f.debug_struct("OpenOptions")
            .field("policy", &self.policy)
            .field("limits", &self.limits)
            .field("sources", &sources)
            .finish()
    }
}
