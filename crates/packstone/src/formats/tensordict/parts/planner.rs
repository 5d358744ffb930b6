//! From a tree to its files, node by node; see [`Files`] for what is refused.

mod entries;
mod tensors;
mod values;

use std::sync::Arc;

use packstone_io::{Buf, Kind, RelPath};

use super::super::layout::{META, SOURCE};
use super::super::options::SaveOptions;
use super::super::{codes, document};
use super::files::{Body, Files, OutFile};
use super::node::{LazyStack, Node, Source};
use super::rewrite;
use crate::error::{Error, Place, Result};

/// Works out the files of a tree.
pub(super) struct Planner<'a> {
    options: &'a SaveOptions,
    zeros: bool,
    out: Files,
    /// The keys that lead to the node.
    keys: Vec<String>,
    depth: usize,
}

impl<'a> Planner<'a> {
    /// A planner for trees with their values, or with zeros in place of those of tensors.
    pub(super) fn new(options: &'a SaveOptions, zeros: bool) -> Self {
        Self { options, zeros, out: Files::default(), keys: Vec::new(), depth: 0 }
    }

    /// The files of a tree.
    pub(super) fn plan(mut self, node: &Node) -> Result<Files> {
        self.node(&RelPath::root(), node, &[])?;
        Ok(self.out)
    }

    fn place(&self, folder: &RelPath) -> Place {
        let place = Place::file(folder.join(META).unwrap_or_default());
        if self.keys.is_empty() { place } else { place.field(self.keys.join(".")) }
    }

    fn refuse<T>(
        &self,
        folder: &RelPath,
        code: &'static str,
        message: impl Into<String>,
    ) -> Result<T> {
        Err(Error::new(Kind::Invalid, code, self.place(folder), message))
    }

    fn put(&mut self, folder: &RelPath, name: &str, len: u64, body: Body) -> Result<()> {
        self.out.files.push(OutFile { path: self.below(folder, name)?, len, body });
        Ok(())
    }

    fn text(&mut self, folder: &RelPath, name: &str, text: String) -> Result<()> {
        let bytes = Buf::from(text.into_bytes());
        self.put(folder, name, bytes.as_ref().len() as u64, Body::Given(bytes))
    }

    fn copy(&mut self, folder: &RelPath, name: &str, file: &Arc<dyn Source>) -> Result<()> {
        self.put(folder, name, file.len(), Body::Copy(Arc::clone(file)))
    }

    /// The path of a name that is one component.
    fn below(&self, folder: &RelPath, name: &str) -> Result<RelPath> {
        // A name such as `x:y` is a name here and no drive.
        let path = RelPath::new(&format!("./{folder}/{name}"));
        path.map_err(|why| {
            let place = self.place(folder);
            Error::new(Kind::Denied, codes::PATH_ESCAPE, place, format!("{name:?}: {why}"))
        })
    }

    fn folder(&mut self, folder: &RelPath, name: &str) -> Result<RelPath> {
        let path = self.below(folder, name)?;
        self.out.folders.push(path.clone());
        Ok(path)
    }

    /// Plans a node in `folder`, whose parent has this batch size; its document comes last.
    fn node(&mut self, folder: &RelPath, node: &Node, parent: &[u64]) -> Result<()> {
        if self.depth >= self.options.depth {
            let message =
                format!("expected at most {} nodes inside one another, found more", self.depth);
            return self.refuse(folder, codes::TOO_DEEP, message);
        }
        self.depth += 1;
        if let Node::Broken(fault) = node {
            return Err(fault.error());
        }
        let batch = match node {
            // Values have the batch size of whatever holds them, and stacks of values that of their nesting.
            Node::NonTensor(_) | Node::NonTensorStack(_) => parent,
            other => other.batch_size(),
        };
        if !batch.starts_with(parent) {
            let message =
                format!("expected a batch size that starts with {parent:?}, found {batch:?}");
            return self.refuse(folder, codes::BATCH_MISMATCH, message);
        }
        match node {
            Node::TensorDict(node) => self.tensordict(folder, node)?,
            Node::NonTensor(node) => self.non_tensor(folder, node)?,
            Node::NonTensorStack(node) => self.non_tensor_stack(folder, node, parent)?,
            Node::LazyStack(node) => {
                self.stacked(folder, node)?;
                self.members(folder, &node.members)?;
            }
            Node::SubTensorDict(node) => self.hidden(folder, SOURCE, &node.source)?,
            Node::LazyView(node) => self.hidden(folder, SOURCE, &node.source)?,
            Node::TensorClass(node) => self.tensorclass(folder, node)?,
            Node::Leaf(_) | Node::NestedTensor(_) | Node::Broken(_) => {
                let message = "expected a collection, found a tensor without one around it";
                return self.refuse(folder, codes::MALFORMED_META, message);
            }
        }
        self.depth -= 1;
        let written = rewrite::of(node).unwrap_or_default();
        let text = document::text(node, &written);
        self.text(folder, META, text)
    }

    fn hidden(&mut self, folder: &RelPath, name: &str, node: &Node) -> Result<()> {
        let inner = self.folder(folder, name)?;
        self.node(&inner, node, &[])
    }

    /// The batch size of a stack is that of its members with their number put in.
    fn stacked(&self, folder: &RelPath, node: &LazyStack) -> Result<()> {
        let mut batch = node.members.first().map(Node::batch_size).unwrap_or_default().to_vec();
        let dim = usize::try_from(node.stack_dim).unwrap_or(usize::MAX);
        if dim > batch.len() {
            let message = format!("expected a dimension of {}, found {dim}", batch.len() + 1);
            return self.refuse(folder, codes::MALFORMED_META, message);
        }
        batch.insert(dim, node.members.len() as u64);
        if batch != node.batch_size {
            let found = &node.batch_size;
            let message =
                format!("expected the batch size {batch:?} of the members, found {found:?}");
            return self.refuse(folder, codes::BATCH_MISMATCH, message);
        }
        Ok(())
    }

    /// Members of a stack in folders `0`, `1`, …, which have one batch size.
    fn members(&mut self, folder: &RelPath, members: &[Node]) -> Result<()> {
        let first = members.first().map(Node::batch_size).unwrap_or_default();
        for (number, member) in members.iter().enumerate() {
            if member.batch_size() != first {
                let found = member.batch_size();
                let message = format!("expected members of batch size {first:?}, found {found:?}");
                return self.refuse(folder, codes::BATCH_MISMATCH, message);
            }
            self.keys.push(number.to_string());
            self.hidden(folder, &number.to_string(), member)?;
            self.keys.pop();
        }
        Ok(())
    }
}
