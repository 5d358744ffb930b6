//! The tree of a saved tensordict, as it is read and as it is to be written.
//!
//! ```text
//! TensorDict ─┬─ Leaf                 dtype, shape; bytes in a store or given
//!             ├─ NestedTensor         parts of any sizes, one after another; sizes apart
//!             ├─ NonTensor            one value: JSON, a container class, or pickled and left alone
//!             ├─ NonTensorStack       a value each row
//!             ├─ LazyStack ── members
//!             ├─ SubTensorDict ── index, source
//!             ├─ LazyView ── operation, source
//!             ├─ TensorClass ── fields of its own, tensordict
//!             └─ TensorDict …
//! ```
//!
//! Every folder node keeps the document that it was read from, so a rewrite can leave what packstone does not know
//! where it was; a node that is made anew has none. Trees are no deeper than the limits of their reader.

mod bytes;
mod collections;
mod fault;
mod values;

use std::borrow::Cow;
use std::sync::Arc;

use packstone_container::json::Object;

use super::super::layout::SOURCE;
use super::class::Class;
use crate::model::DType;

pub use bytes::{Bytes, Source};
pub use collections::{LazyStack, LazyView, SubTensorDict, TensorClass, TensorDict};
pub use fault::Fault;
pub use values::{FieldFiles, FieldValue, NonTensor, NonTensorStack, StackValues};

/// One node.
#[derive(Clone, Debug)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each names its own type")]
pub enum Node {
    TensorDict(TensorDict),
    Leaf(Leaf),
    NestedTensor(NestedTensor),
    NonTensor(NonTensor),
    NonTensorStack(NonTensorStack),
    LazyStack(LazyStack),
    SubTensorDict(SubTensorDict),
    LazyView(LazyView),
    TensorClass(TensorClass),
    /// A collection that could not be read.
    Broken(Fault),
}

/// A tensor.
#[derive(Clone, Debug)]
pub struct Leaf {
    /// The type of its elements.
    pub dtype: DType,
    /// Its shape, batch dimensions first.
    pub shape: Vec<u64>,
    /// Its elements, little-endian, in C order.
    pub data: Bytes,
}

/// A nested tensor of the strided layout: parts of one rank and any sizes.
#[derive(Clone, Debug)]
pub struct NestedTensor {
    /// The type of its elements.
    pub dtype: DType,
    /// Number of parts, and dimensions of each.
    pub extent: (u64, u64),
    /// The sizes: `extent.0` rows of `extent.1` 64-bit integers.
    pub sizes: Bytes,
    /// The elements of all parts, one after another; where a store has no file for them, none.
    pub data: Bytes,
}

impl Node {
    /// The batch size; empty for tensors and what could not be read.
    pub fn batch_size(&self) -> &[u64] {
        match self {
            Self::TensorDict(node) => &node.batch_size,
            Self::NonTensor(node) => &node.batch_size,
            Self::NonTensorStack(node) => &node.batch_size,
            Self::LazyStack(node) => &node.batch_size,
            Self::SubTensorDict(node) => &node.batch_size,
            Self::LazyView(node) => &node.batch_size,
            Self::TensorClass(node) => node.tensordict.batch_size(),
            Self::Leaf(_) | Self::NestedTensor(_) | Self::Broken(_) => &[],
        }
    }

    /// Its class; none for tensors and what could not be read.
    pub fn class(&self) -> Option<&Class> {
        Some(match self {
            Self::TensorDict(node) => &node.class,
            Self::NonTensor(node) => &node.class,
            Self::NonTensorStack(node) => &node.class,
            Self::LazyStack(node) => &node.class,
            Self::SubTensorDict(node) => &node.class,
            Self::LazyView(node) => &node.class,
            Self::TensorClass(node) => &node.class,
            Self::Leaf(_) | Self::NestedTensor(_) | Self::Broken(_) => return None,
        })
    }

    /// The label of its device, as its own document or those below give it.
    pub fn device(&self) -> Option<&str> {
        match self {
            Self::TensorDict(node) => node.device.as_deref(),
            Self::TensorClass(node) => node.tensordict.device(),
            Self::SubTensorDict(node) => node.source.device(),
            Self::LazyView(node) => node.source.device(),
            Self::LazyStack(node) => {
                let first = node.members.first()?.device()?;
                node.members.iter().all(|m| m.device() == Some(first)).then_some(first)
            }
            Self::NonTensorStack(node) => node.device.as_deref(),
            _ => None,
        }
    }

    /// The document that it was read from.
    pub fn document(&self) -> Option<&Arc<Object>> {
        match self {
            Self::TensorDict(node) => node.document.as_ref(),
            Self::NonTensor(node) => node.document.as_ref(),
            Self::NonTensorStack(node) => node.document.as_ref(),
            Self::LazyStack(node) => node.document.as_ref(),
            Self::SubTensorDict(node) => node.document.as_ref(),
            Self::LazyView(node) => node.document.as_ref(),
            Self::TensorClass(node) => node.document.as_ref(),
            Self::Leaf(_) | Self::NestedTensor(_) | Self::Broken(_) => None,
        }
    }

    /// The nodes below, with their keys, member numbers or, for what is looked at, `_source`.
    pub fn children(&self) -> Vec<(Cow<'_, str>, &Node)> {
        match self {
            Self::TensorDict(node) => {
                node.entries.iter().map(|(key, node)| (Cow::Borrowed(key.as_str()), node)).collect()
            }
            Self::LazyStack(node) => by_number(&node.members),
            Self::NonTensorStack(NonTensorStack {
                values: StackValues::Members(members), ..
            }) => by_number(members),
            Self::SubTensorDict(node) => vec![(Cow::Borrowed(SOURCE), node.source.as_ref())],
            Self::LazyView(node) => vec![(Cow::Borrowed(SOURCE), node.source.as_ref())],
            // The tensordict of a tensorclass is no step of its own: its keys are those of the class.
            Self::TensorClass(node) => node.tensordict.children(),
            Self::Leaf(_)
            | Self::NestedTensor(_)
            | Self::NonTensor(_)
            | Self::NonTensorStack(_)
            | Self::Broken(_) => Vec::new(),
        }
    }

    /// What it is, in a word, as `dump` says it.
    pub fn word(&self) -> &'static str {
        match self {
            Self::TensorDict(_) => "tensordict",
            Self::Leaf(_) => "tensor",
            Self::NestedTensor(_) => "nested_tensor",
            Self::NonTensor(_) => "non_tensor",
            Self::NonTensorStack(_) => "non_tensor_stack",
            Self::LazyStack(_) => "lazy_stack",
            Self::SubTensorDict(_) => "sub_tensordict",
            Self::LazyView(_) => "lazy_view",
            Self::TensorClass(_) => "tensorclass",
            Self::Broken(_) => "broken",
        }
    }
}

fn by_number(nodes: &[Node]) -> Vec<(Cow<'_, str>, &Node)> {
    nodes.iter().enumerate().map(|(number, node)| (Cow::Owned(number.to_string()), node)).collect()
}
