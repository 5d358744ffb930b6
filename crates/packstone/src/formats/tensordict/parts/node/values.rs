//! Nodes and fields that are no tensors: one value for the batch, or a value each row.

use std::sync::Arc;

use packstone_container::json::{Object, Value};
use packstone_container::pickle::Class as Container;

use super::super::class::Class;
use super::Node;
use super::bytes::Source;
use super::fault::Fault;

/// The value of a field that is no tensor.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum FieldValue {
    /// As its document has it.
    Json(Value),
    /// A container class itself, as pytrees store it.
    Container(Container),
    /// In the pickle of its node, which nobody executes.
    Pickled,
    /// Not to be had.
    Faulty(Fault),
}

/// The files beside the document of a node with fields, for whoever copies them.
#[derive(Clone, Debug, Default)]
pub struct FieldFiles {
    /// `other.pickle`.
    pub pickle: Option<Arc<dyn Source>>,
    /// `json_types.json`.
    pub types: Option<Arc<dyn Source>>,
}

/// One value for the whole batch.
#[derive(Clone, Debug)]
pub struct NonTensor {
    /// `tensordict:NonTensorData`, `tensordict:MetaData` or a parametrized one.
    pub class: Class,
    /// The batch size, which the parent gives.
    pub batch_size: Vec<u64>,
    /// The value.
    pub value: FieldValue,
    /// Its files.
    pub files: FieldFiles,
    /// True where `json_types.json` stands for the pickle.
    pub replaced: bool,
    /// True where `json_types.json` was written for another pickle than the one beside it.
    pub mismatch: bool,
    /// Its document as read.
    pub document: Option<Arc<Object>>,
}

/// The values of a NonTensorStack.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum StackValues {
    /// Nested lists, one level a stacked dimension, in the order of indices.
    Json(Vec<Value>),
    /// Pickled nested lists, which nobody unpickles.
    Pickled(Arc<dyn Source>),
    /// Numbered folders, as older releases stored them.
    Members(Vec<Node>),
    /// Not to be had.
    Faulty(Fault),
}

/// A value each row.
#[derive(Clone, Debug)]
pub struct NonTensorStack {
    /// Its class.
    pub class: Class,
    /// The batch size, as the nesting of the values gives it.
    pub batch_size: Vec<u64>,
    /// The dimension that was stacked; kept, but the values are in order already.
    pub stack_dim: u64,
    /// The label of its device.
    pub device: Option<String>,
    /// The values.
    pub values: StackValues,
    /// Its document as read.
    pub document: Option<Arc<Object>>,
}
