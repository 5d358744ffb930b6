//! Nodes that hold others: by keys, stacked, or looked at through an index or an operation.

use std::sync::Arc;

use packstone_container::json::Object;

use super::super::class::Class;
use super::super::index::Index;
use super::super::view::ViewOp;
use super::Node;
use super::values::{FieldFiles, FieldValue};

/// A mapping of keys to nodes.
#[derive(Clone, Debug)]
pub struct TensorDict {
    /// Its class: usually `tensordict:TensorDict`, else one that nobody knows.
    pub class: Class,
    /// The batch size.
    pub batch_size: Vec<u64>,
    /// The label of its device; nothing is ever placed there.
    pub device: Option<String>,
    /// The names of the batch dimensions, where any has one.
    pub names: Option<Vec<Option<String>>>,
    /// Keys and nodes in load order: leaves first, then collections.
    pub entries: Vec<(String, Node)>,
    /// Its document as read.
    pub document: Option<Arc<Object>>,
}

impl TensorDict {
    /// A plain tensordict on the host without names, as new saves have them.
    pub fn new(batch_size: Vec<u64>, entries: Vec<(String, Node)>) -> Self {
        Self {
            class: Class::exported("TensorDict"),
            batch_size,
            device: Some("cpu".to_owned()),
            names: None,
            entries,
            document: None,
        }
    }

    /// The node of a key.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entries.iter().find(|(name, _)| name == key).map(|(_, node)| node)
    }
}

/// Nodes stacked along a new dimension, each stored on its own.
#[derive(Clone, Debug)]
pub struct LazyStack {
    /// Its class.
    pub class: Class,
    /// That of the members with their number at the stacked dimension.
    pub batch_size: Vec<u64>,
    /// The dimension that was stacked.
    pub stack_dim: u64,
    /// Its name.
    pub stack_dim_name: Option<String>,
    /// The members in order.
    pub members: Vec<Node>,
    /// Its document as read.
    pub document: Option<Arc<Object>>,
}

/// What an index shows of another node.
#[derive(Clone, Debug)]
pub struct SubTensorDict {
    /// Its class.
    pub class: Class,
    /// The batch size that the index leaves.
    pub batch_size: Vec<u64>,
    /// The index into the batch dimensions.
    pub index: Index,
    /// What is looked at.
    pub source: Box<Node>,
    /// Its document as read.
    pub document: Option<Arc<Object>>,
}

/// Another node with its batch dimensions rearranged.
#[derive(Clone, Debug)]
pub struct LazyView {
    /// Its class, one a kind of operation.
    pub class: Class,
    /// The batch size that the operation leaves.
    pub batch_size: Vec<u64>,
    /// The operation.
    pub op: ViewOp,
    /// What is looked at.
    pub source: Box<Node>,
    /// Its document as read.
    pub document: Option<Arc<Object>>,
}

/// A tensordict with a class of its own, and fields that are no tensors.
#[derive(Clone, Debug)]
pub struct TensorClass {
    /// Its class, which need not exist here.
    pub class: Class,
    /// Fields in its own document or pickle; those in the tensordict are NonTensor nodes there.
    pub fields: Vec<(String, FieldValue)>,
    /// Its files.
    pub files: FieldFiles,
    /// True where `json_types.json` stands for the pickle.
    pub replaced: bool,
    /// True where `json_types.json` was written for another pickle than the one beside it.
    pub mismatch: bool,
    /// The tensordict, or a lazy stack.
    pub tensordict: Box<Node>,
    /// Its document as read.
    pub document: Option<Arc<Object>>,
}
