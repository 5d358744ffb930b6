//! Everything that a tree holds, as it is stored: one line a tensor or value, in tree order.
//!
//! Members of stacks stand under their numbers, what views and sub-tensordicts look at under `_source`. Nothing is
//! opened before somebody asks for its bytes.

use std::sync::Arc;

use packstone_container::json::{Object, Value};
use packstone_io::{Buf, Kind};

use super::super::codes;
use super::node::{
    Bytes, FieldFiles, FieldValue, Leaf, NestedTensor, Node, NonTensorStack, Source, StackValues,
};
use crate::error::{Error, Place, Result};
use crate::model::DType;

/// One thing that a tree holds.
#[derive(Clone, Debug)]
pub struct Entry<'a> {
    /// The keys that lead there.
    pub key: Vec<String>,
    /// The kind of node that holds it: `tensordict`, `lazy_stack`, `tensorclass`, ….
    pub holder: &'static str,
    /// What it is.
    pub content: Content<'a>,
}

/// What an entry is.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Content<'a> {
    /// A tensor.
    Tensor(&'a Leaf),
    /// A nested tensor.
    Nested(&'a NestedTensor),
    /// A value for the whole batch, and the files of its node.
    Value(&'a FieldValue, &'a FieldFiles),
    /// A value each row.
    Values(&'a NonTensorStack),
    /// A pickle whose fields nobody knows.
    Pickle(&'a Arc<dyn Source>),
    /// A node that could not be read.
    Broken(&'a Node),
}

/// All entries below a node.
pub fn leaves(node: &Node) -> Vec<Entry<'_>> {
    let mut out = Vec::new();
    walk(node, node.word(), &mut Vec::new(), &mut out);
    out
}

fn walk<'a>(node: &'a Node, holder: &'static str, key: &mut Vec<String>, out: &mut Vec<Entry<'a>>) {
    let content = match node {
        Node::Leaf(leaf) => Some(Content::Tensor(leaf)),
        Node::NestedTensor(nested) => Some(Content::Nested(nested)),
        Node::NonTensor(found) => Some(Content::Value(&found.value, &found.files)),
        Node::NonTensorStack(stack) if !matches!(stack.values, StackValues::Members(_)) => {
            Some(Content::Values(stack))
        }
        Node::Broken(_) => Some(Content::Broken(node)),
        _ => None,
    };
    out.extend(content.map(|content| Entry { key: key.clone(), holder, content }));
    if let Node::TensorClass(class) = node {
        for (name, value) in &class.fields {
            let key = key.iter().chain([name]).cloned().collect();
            let content = Content::Value(value, &class.files);
            out.push(Entry { key, holder: node.word(), content });
        }
        let opaque =
            !class.replaced && !class.fields.iter().any(|(_, v)| matches!(v, FieldValue::Pickled));
        if let Some(pickle) = class.files.pickle.as_ref().filter(|_| opaque) {
            let content = Content::Pickle(pickle);
            out.push(Entry { key: key.clone(), holder: node.word(), content });
        }
    }
    for (name, child) in node.children() {
        key.push(name.into_owned());
        walk(child, node.word(), key, out);
        key.pop();
    }
}

impl Entry<'_> {
    /// What it is, in a word.
    pub fn word(&self) -> &'static str {
        match self.content {
            Content::Tensor(_) => "tensor",
            Content::Nested(_) => "nested_tensor",
            Content::Value(..) => "non_tensor",
            Content::Values(_) => "non_tensor_stack",
            Content::Pickle(_) => "pickle",
            Content::Broken(_) => "broken",
        }
    }

    /// The type of its elements, for tensors.
    pub fn dtype(&self) -> Option<&DType> {
        match self.content {
            Content::Tensor(leaf) => Some(&leaf.dtype),
            Content::Nested(nested) => Some(&nested.dtype),
            _ => None,
        }
    }

    /// Its shape, for tensors; of a nested tensor, the number of parts and their dimensions.
    pub fn shape(&self) -> Option<Vec<u64>> {
        match self.content {
            Content::Tensor(leaf) => Some(leaf.shape.clone()),
            Content::Nested(nested) => Some(vec![nested.extent.0, nested.extent.1]),
            Content::Values(stack) => Some(stack.batch_size.clone()),
            _ => None,
        }
    }

    /// Bytes of its elements or of its pickle; `None` where there are none or they are not to be had.
    pub fn nbytes(&self) -> Option<u64> {
        match self.content {
            Content::Tensor(leaf) => leaf.data.len(),
            Content::Nested(nested) => nested.data.len(),
            Content::Pickle(file) => Some(file.len()),
            Content::Value(FieldValue::Pickled, files) => {
                files.pickle.as_ref().map(|file| file.len())
            }
            Content::Values(NonTensorStack { values: StackValues::Pickled(file), .. }) => {
                Some(file.len())
            }
            _ => None,
        }
    }

    /// Its file, where it has one of its own.
    pub fn file(&self) -> Option<String> {
        match self.content {
            Content::Tensor(Leaf { data: Bytes::Stored { file, .. }, .. })
            | Content::Nested(NestedTensor { data: Bytes::Stored { file, .. }, .. })
            | Content::Values(NonTensorStack { values: StackValues::Pickled(file), .. })
            | Content::Pickle(file) => Some(file.path()),
            Content::Value(FieldValue::Pickled, files) => {
                files.pickle.as_ref().map(|file| file.path())
            }
            _ => None,
        }
    }

    /// The value as JSON, where it is no tensor and no pickle.
    pub fn value(&self) -> Option<Value> {
        match self.content {
            Content::Value(FieldValue::Json(value), _) => Some(value.clone()),
            Content::Value(FieldValue::Container(class), _) => {
                let mut out = Object::new();
                out.insert("class", class.name());
                Some(Value::Object(out))
            }
            Content::Values(NonTensorStack { values: StackValues::Json(values), .. }) => {
                Some(Value::Array(values.clone()))
            }
            _ => None,
        }
    }

    /// Its bytes: the elements of a tensor in C order, those of all parts, a pickle as it is. Values of JSON have none.
    ///
    /// # Errors
    /// Those of the file; `Invalid` for what has no bytes.
    pub fn open(&self) -> Result<Buf> {
        match self.content {
            Content::Tensor(leaf) => leaf.data.open(),
            Content::Nested(nested) => Ok(nested.open()?.data),
            Content::Pickle(file) => file.open(),
            Content::Values(NonTensorStack { values: StackValues::Pickled(file), .. }) => {
                file.open()
            }
            Content::Value(FieldValue::Pickled, FieldFiles { pickle: Some(file), .. }) => {
                file.open()
            }
            Content::Value(FieldValue::Faulty(fault), _)
            | Content::Values(NonTensorStack { values: StackValues::Faulty(fault), .. }) => {
                Err(fault.error())
            }
            Content::Broken(Node::Broken(fault)) => Err(fault.error()),
            _ => {
                let message =
                    format!("expected an entry with bytes of its own, found a {}", self.word());
                let place = Place::default().field(self.key.join("."));
                Err(Error::new(Kind::Invalid, codes::NO_COMMON_FORM, place, message))
            }
        }
    }
}
