//! From a tree to its files, node by node; see [`Files`] for what is refused.

use std::sync::Arc;

use packstone_io::{Buf, Kind, RelPath};

use super::super::layout::{
    FIELDS_PICKLE, JSON_TYPES, KEPT_KEYS, LEAF, LOST_KEYS, META, SIZES, SOURCE, STACK_PICKLE,
    TENSORDICT,
};
use super::super::options::{KeyNames, SaveOptions};
use super::super::schema::{self, Support};
use super::super::{codes, document};
use super::files::{Body, Files, OutFile, name_of};
use super::leaf::{Entry, classify};
use super::node::{
    Bytes, FieldFiles, FieldValue, LazyStack, Leaf, NestedTensor, Node, NonTensor, NonTensorStack,
    Source, StackValues, TensorClass, TensorDict,
};
use super::outputs::Outputs;
use super::{json_types, names, rewrite, stack};
use crate::error::{Error, Place, Result};
use crate::model::{DType, Finding, Severity};

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

    fn tensordict(&mut self, folder: &RelPath, node: &TensorDict) -> Result<()> {
        self.check_names(folder, node)?;
        let mut outputs = Outputs::new();
        for (key, child) in &node.entries {
            self.keys.push(key.clone());
            self.entry(folder, node, key, child, &mut outputs)?;
            self.keys.pop();
        }
        self.check_lookups(folder, node, &outputs)?;
        for (one, other) in outputs.look_alikes() {
            let message = format!(
                "expected names that differ in more than case, found {one:?} and {other:?}"
            );
            let place = self.place(folder);
            self.out.notes.push(Finding::new(
                Severity::Warning,
                codes::NAME_COLLISION,
                place,
                message,
            ));
        }
        Ok(())
    }

    /// A reader looks for the encoded name first: with keys as names, that must not be the file of another key.
    fn check_lookups(&self, folder: &RelPath, node: &TensorDict, outputs: &Outputs) -> Result<()> {
        let raw = self.options.key_names == KeyNames::Raw;
        let mut keys = node.entries.iter().map(|(key, _)| key.as_str()).filter(|_| raw);
        let taken = keys.find_map(|key| {
            let encoded = names::encode(key);
            let all = ["", LEAF, SIZES].map(|suffix| format!("{encoded}{suffix}"));
            let other = all.iter().find_map(|name| outputs.key_of(name))?;
            (other != key).then(|| (key.to_owned(), other.to_owned()))
        });
        match taken {
            None => Ok(()),
            Some((key, other)) => {
                let message = format!(
                    "expected a key whose encoded name no other key has, found {key:?} and {other:?}"
                );
                self.refuse(folder, codes::NAME_COLLISION, message)
            }
        }
    }

    fn check_names(&self, folder: &RelPath, node: &TensorDict) -> Result<()> {
        let Some(names) = &node.names else { return Ok(()) };
        let mut given: Vec<&str> = names.iter().flatten().map(String::as_str).collect();
        given.sort_unstable();
        let twice = given.windows(2).any(|pair| pair.first() == pair.last());
        if names.len() == node.batch_size.len() && !twice {
            return Ok(());
        }
        let message =
            format!("expected {} names, each once or null, found {names:?}", node.batch_size.len());
        self.refuse(folder, codes::BAD_NAMES, message)
    }

    fn entry(
        &mut self,
        folder: &RelPath,
        parent: &TensorDict,
        key: &str,
        node: &Node,
        outputs: &mut Outputs,
    ) -> Result<()> {
        // What stands in the document already is no worse for being written again.
        let old = parent.document.as_ref().and_then(|document| document.get(key));
        let kept = old.is_some_and(|value| !matches!(classify(value), Entry::Other));
        let reserved = LOST_KEYS.contains(&key) || KEPT_KEYS.contains(&key);
        if reserved && !kept && !self.options.allow_lossy_keys {
            let what = match LOST_KEYS.contains(&key) {
                true => "whose values readers lose",
                false => "in whose place readers look for something else",
            };
            let message = format!("expected another key than {key:?}, {what}");
            return self.refuse(folder, codes::RESERVED_KEY, message);
        }
        let collection = !matches!(node, Node::Leaf(_) | Node::NestedTensor(_));
        let name = match name_of(key, collection, self.options.key_names) {
            Ok(name) => name,
            Err(message) => return self.refuse(folder, codes::PATH_ESCAPE, message),
        };
        let take = |outputs: &mut Outputs, name: String| {
            outputs.take(key, name).map_err(|(code, message)| {
                Error::new(Kind::Invalid, code, self.place(folder), message)
            })
        };
        match node {
            Node::Leaf(leaf) => {
                let file = take(outputs, name + LEAF)?;
                self.leaf(folder, parent, kept, &file, leaf)
            }
            Node::NestedTensor(nested) => {
                let file = take(outputs, format!("{name}{LEAF}"))?;
                let sizes = take(outputs, name + SIZES)?;
                self.nested(folder, kept, [&file, &sizes], nested)
            }
            other => {
                let inner = take(outputs, name)?;
                let inner = self.folder(folder, &inner)?;
                self.node(&inner, other, &parent.batch_size)
            }
        }
    }

    fn check_dtype(&self, folder: &RelPath, kept: bool, dtype: &DType) -> Result<()> {
        let told = match schema::support(dtype) {
            Support::Full => return Ok(()),
            Support::WriteOnly if kept || self.options.allow_unloadable_dtypes => return Ok(()),
            Support::WriteOnly => "which the original library writes and cannot load",
            Support::Foreign => "which torch has not",
        };
        let message = format!("expected a type that readers load, found {dtype}, {told}");
        let place = self.place(folder);
        Err(Error::new(Kind::Unsupported, codes::UNSUPPORTED_DTYPE, place, message))
    }

    fn leaf(
        &mut self,
        folder: &RelPath,
        parent: &TensorDict,
        kept: bool,
        name: &str,
        leaf: &Leaf,
    ) -> Result<()> {
        self.check_dtype(folder, kept, &leaf.dtype)?;
        if !kept && !leaf.shape.starts_with(&parent.batch_size) {
            let message = format!(
                "expected a shape that starts with {:?}, found {:?}",
                parent.batch_size, leaf.shape
            );
            return self.refuse(folder, codes::BATCH_MISMATCH, message);
        }
        let size = leaf.dtype.size().unwrap_or(1);
        let need = leaf.shape.iter().try_fold(size, |n, dim| n.checked_mul(*dim));
        let Some(need) = need.filter(|need| i64::try_from(*need).is_ok()) else {
            let message =
                format!("expected a shape whose bytes fit 63 bits, found {:?}", leaf.shape);
            return self.refuse(folder, codes::BAD_SHAPE, message);
        };
        if need == 0 {
            return Ok(());
        }
        if self.zeros {
            return self.put(folder, name, need, Body::Zeros);
        }
        if let Bytes::Faulty(fault) = &leaf.data {
            return Err(fault.error());
        }
        let found = leaf.data.len().unwrap_or(0);
        if found != need {
            let message = format!("expected {need} bytes for {:?}, found {found}", leaf.shape);
            return self.refuse(folder, codes::BAD_SHAPE, message);
        }
        self.put(folder, name, need, Body::Leaf(leaf.data.clone()))
    }

    fn nested(
        &mut self,
        folder: &RelPath,
        kept: bool,
        [name, sizes]: [&str; 2],
        nested: &NestedTensor,
    ) -> Result<()> {
        self.check_dtype(folder, kept, &nested.dtype)?;
        let (parts, rank) = nested.extent;
        if parts == 0 || rank == 0 {
            let message = format!(
                "expected a nested tensor of at least one part and one dimension, found {parts} and {rank}"
            );
            return self.refuse(folder, codes::BAD_SHAPE, message);
        }
        let found = if self.zeros { nested.sized()? } else { nested.open()?.data.len() as u64 };
        let body = if self.zeros { Body::Zeros } else { Body::Elements(Box::new(nested.clone())) };
        // The library leaves the file away where all parts are empty, and then loses the key.
        self.put(folder, name, found, body)?;
        let len = nested.sizes.len().unwrap_or(0);
        self.put(folder, sizes, len, Body::Leaf(nested.sizes.clone()))
    }

    fn non_tensor(&mut self, folder: &RelPath, node: &NonTensor) -> Result<()> {
        // A value that JSON holds now has no use for the pickle of an older one.
        let plain = matches!(node.value, FieldValue::Json(_));
        let files = if plain { &FieldFiles::default() } else { &node.files };
        self.fields(folder, files, &[("data", &node.value)])
    }

    fn tensorclass(&mut self, folder: &RelPath, node: &TensorClass) -> Result<()> {
        let fields: Vec<_> =
            node.fields.iter().map(|(name, value)| (name.as_str(), value)).collect();
        self.fields(folder, &node.files, &fields)?;
        self.hidden(folder, TENSORDICT, &node.tensordict)
    }

    /// The files beside the document where values are in them.
    fn fields(
        &mut self,
        folder: &RelPath,
        files: &FieldFiles,
        fields: &[(&str, &FieldValue)],
    ) -> Result<()> {
        let mut classes = Vec::new();
        for (name, value) in fields {
            match value {
                FieldValue::Faulty(fault) => return Err(fault.error()),
                FieldValue::Pickled if files.pickle.is_none() => {
                    let message = format!(
                        "expected a value that JSON holds as {name:?}, or the pickle that has it, found neither"
                    );
                    return self.refuse(folder, codes::VALUE_NOT_STORABLE, message);
                }
                FieldValue::Container(class) => classes.push((*name, *class)),
                FieldValue::Json(_) | FieldValue::Pickled => {}
            }
        }
        if let Some(pickle) = &files.pickle {
            self.copy(folder, FIELDS_PICKLE, pickle)?;
            return files
                .types
                .as_ref()
                .map_or(Ok(()), |types| self.copy(folder, JSON_TYPES, types));
        }
        if classes.is_empty() {
            return Ok(());
        }
        let Some((pickle, types)) = json_types::files(&classes) else {
            let message =
                format!("expected fewer fields that are classes, found {}", classes.len());
            return self.refuse(folder, codes::VALUE_NOT_STORABLE, message);
        };
        self.put(folder, FIELDS_PICKLE, pickle.len() as u64, Body::Given(Buf::from(pickle)))?;
        self.text(folder, JSON_TYPES, types)
    }

    fn non_tensor_stack(
        &mut self,
        folder: &RelPath,
        node: &NonTensorStack,
        parent: &[u64],
    ) -> Result<()> {
        match &node.values {
            StackValues::Json(values) => {
                let seen = stack::batch_size(values);
                if !seen.starts_with(parent) {
                    let message =
                        format!("expected values for a batch of {parent:?}, found {seen:?}");
                    return self.refuse(folder, codes::BATCH_MISMATCH, message);
                }
                if seen.len() > node.batch_size.len().max(1) {
                    let message = format!(
                        "expected values that are no lists of one length, which readers take for dimensions: {:?} becomes {seen:?}",
                        node.batch_size
                    );
                    let place = self.place(folder);
                    let code = codes::AMBIGUOUS_VALUES;
                    self.out.notes.push(Finding::new(Severity::Warning, code, place, message));
                }
                Ok(())
            }
            StackValues::Pickled(pickle) => self.copy(folder, STACK_PICKLE, pickle),
            StackValues::Members(members) => self.members(folder, members),
            StackValues::Faulty(fault) => Err(fault.error()),
        }
    }
}
