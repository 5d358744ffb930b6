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

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use packstone_container::json::{Object, Value};
use packstone_container::pickle::Class as Container;
use packstone_io::{Buf, Kind};

use super::super::codes;
use super::super::layout::SOURCE;
use super::class::Class;
use super::index::Index;
use super::view::ViewOp;
use crate::error::{Error, Place, Result};
use crate::model::{DType, Finding, Severity};

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

/// Why something could not be read: an error that can be told more than once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault(Arc<(Kind, &'static str, Place, String)>);

impl Fault {
    /// A fault with its stable code.
    pub fn new(kind: Kind, code: &'static str, place: Place, message: impl Into<String>) -> Self {
        Self(Arc::new((kind, code, place, message.into())))
    }

    /// The stable code.
    pub fn code(&self) -> &'static str {
        self.0.1
    }

    /// As an error.
    pub fn error(&self) -> Error {
        let (kind, code, place, message) = self.0.as_ref();
        Error::new(*kind, code, place.clone(), message.clone())
    }

    /// As a finding.
    pub fn finding(&self) -> Finding {
        let (_, code, place, message) = self.0.as_ref();
        Finding::new(Severity::Error, code, place.clone(), message.clone())
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::new(error.kind(), error.code(), error.place().clone(), error.message())
    }
}

/// A file of a store, opened when its bytes are asked for.
pub trait Source: fmt::Debug + Send + Sync {
    /// Its path in the store, `/`-separated.
    fn path(&self) -> String;

    /// Its length in bytes; that of the decoded bytes in an archive.
    fn len(&self) -> u64;

    /// True for a file of no bytes.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// True where it holds one tensor and nothing behind it, as entries of archives do.
    fn is_exact(&self) -> bool {
        false
    }

    /// Finds the bytes without reading them, where a store can say beforehand that it will not find them.
    ///
    /// # Errors
    /// `Corrupt`, `Unsupported`, with the file.
    fn locate(&self) -> Result<()> {
        Ok(())
    }

    /// True where the bytes should be let go soon: there are more files like it than can be held at once.
    fn is_fleeting(&self) -> bool {
        false
    }

    /// True where its bytes stand in the store as an element of their alignment needs them.
    fn is_aligned(&self) -> bool {
        true
    }

    /// All of its bytes.
    ///
    /// # Errors
    /// `Corrupt`, `Limit`, `Io`, with the file.
    fn open(&self) -> Result<Buf>;

    /// The CRC-32 of its bytes, where they are many and would have to be decoded: [`Source::stream`] spares the memory
    /// that [`Source::open`] takes for them.
    fn packed(&self) -> Option<u32> {
        None
    }

    /// Hands over all of its bytes piece by piece, checked at the end where they are decoded.
    ///
    /// # Errors
    /// Those of [`Source::open`], but no limit of memory; those of `sink`.
    fn stream(&self, sink: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        sink(&self.open()?)
    }

    /// Compares the bytes with the checksum that the store has of them, where it has one and reading does not look.
    ///
    /// # Errors
    /// `crc_mismatch`; those of [`Source::open`].
    fn verify(&self) -> Result<()> {
        Ok(())
    }
}

/// Bytes: in a store until asked for, or at hand.
#[derive(Clone, Debug)]
pub enum Bytes {
    /// The first `len` bytes of a file that holds at least as many.
    Stored {
        /// The file.
        file: Arc<dyn Source>,
        /// How many of its bytes count.
        len: u64,
    },
    /// At hand.
    Given(Buf),
    /// Not to be had.
    Faulty(Fault),
}

impl Bytes {
    /// How many; `None` where they are not to be had.
    pub fn len(&self) -> Option<u64> {
        match self {
            Self::Stored { len, .. } => Some(*len),
            Self::Given(bytes) => Some(bytes.as_ref().len() as u64),
            Self::Faulty(_) => None,
        }
    }

    /// True where there are none, or none to be had.
    pub fn is_empty(&self) -> bool {
        self.len().unwrap_or(0) == 0
    }

    /// True where the bytes should be let go soon, see [`Source::is_fleeting`].
    pub fn is_fleeting(&self) -> bool {
        matches!(self, Self::Stored { file, .. } if file.is_fleeting())
    }

    /// Hands over the bytes piece by piece.
    ///
    /// # Errors
    /// Those of [`Source::stream`]; the fault.
    pub fn stream(&self, sink: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        match self {
            Self::Stored { file, len } if file.len() == *len => file.stream(sink),
            _ => sink(&self.open()?),
        }
    }

    /// The bytes themselves.
    ///
    /// # Errors
    /// Those of [`Source::open`]; the fault.
    pub fn open(&self) -> Result<Buf> {
        match self {
            Self::Given(bytes) => Ok(bytes.clone()),
            Self::Faulty(fault) => Err(fault.error()),
            Self::Stored { file, len } => {
                let all = file.open()?;
                let wanted = usize::try_from(*len).ok().and_then(|len| all.slice(..len));
                wanted.ok_or_else(|| {
                    let message = format!("expected {len} bytes, found {}", all.as_ref().len());
                    let place = Place::file(file.path());
                    Error::new(Kind::Corrupt, codes::TRUNCATED_LEAF, place, message)
                })
            }
        }
    }
}

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
