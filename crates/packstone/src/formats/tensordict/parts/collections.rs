//! The other nodes: values, stacks, views, tensorclasses.

use std::sync::Arc;

use packstone_container::json::Value;
use packstone_io::Kind;

use super::super::codes;
use super::super::layout::{FIELDS_PICKLE, JSON_TYPES, META, SOURCE, STACK_PICKLE, TENSORDICT};
use super::fields::Fields;
use super::index::Index;
use super::listing::Listing;
use super::node::{
    Fault, FieldFiles, FieldValue, LazyStack, LazyView, Node, NonTensor, NonTensorStack, Source,
    StackValues, SubTensorDict, TensorClass,
};
use super::pick::Pick;
use super::pickles;
use super::stack;
use super::store::{Elements, ItemKind, join};
use super::tree::{Loader, Raw};
use super::view::ViewOp;
use crate::error::{Place, Result};
use crate::model::Severity;

/// The entries of a NonTensor's document.
const NON_TENSOR: [&str; 3] = ["data", "_metadata", "_is_non_tensor"];

impl Loader<'_> {
    /// A file beside a document.
    fn beside(&self, listing: &mut Listing, name: &str) -> Result<Option<Arc<dyn Source>>, Fault> {
        let folder = Arc::clone(&listing.folder);
        let Some(taken) = listing.take(name) else { return Ok(None) };
        match taken.item.kind {
            ItemKind::File => Ok(Some(taken.file(Elements::NONE))),
            ItemKind::Link => {
                let folder = folder.path();
                Err(self.link(folder, name, Place::file(join(folder, name))))
            }
            ItemKind::Folder => Ok(None),
        }
    }

    fn fields(&self, raw: &mut Raw) -> Result<Fields, Fault> {
        let pickle = self.beside(&mut raw.listing, FIELDS_PICKLE)?;
        let types = self.beside(&mut raw.listing, JSON_TYPES)?;
        Ok(Fields::read(&raw.document, FieldFiles { pickle, types }, &self.options.limits))
    }

    pub(super) fn non_tensor(&mut self, mut raw: Raw) -> Result<Node, Fault> {
        let fields = self.fields(&mut raw)?;
        for (name, _) in
            fields.document.iter().filter(|(name, _)| !NON_TENSOR.contains(&name.as_str()))
        {
            let message = format!("expected the entries {}, found {name:?}", NON_TENSOR.join(", "));
            self.note(Severity::Warning, codes::EXTRA_FIELD, raw.place(), message);
        }
        // A document that has all fields leaves nothing for a pickle to hold: which of them counts, nobody can say.
        let complete = fields.json("data").is_some() && fields.json("_metadata").is_some();
        let missing = || {
            let message = "expected a value in data or in a pickle, found none";
            FieldValue::Faulty(raw.fault(codes::MISSING_VALUE, "data", message))
        };
        let value = match fields.value("data") {
            Some(FieldValue::Json(_)) if fields.pickled && complete => FieldValue::Pickled,
            Some(value) => value,
            None if fields.pickled => FieldValue::Pickled,
            None => missing(),
        };
        self.orphans.append(&mut raw.listing.orphans());
        Ok(Node::NonTensor(NonTensor {
            class: raw.class,
            batch_size: raw.parent,
            value,
            files: fields.files,
            replaced: fields.types.is_some(),
            mismatch: fields.mismatch,
            document: Some(Arc::new(raw.document)),
        }))
    }

    pub(super) fn tensorclass(&mut self, mut raw: Raw) -> Result<Node, Fault> {
        let fields = self.fields(&mut raw)?;
        if raw.listing.kind(TENSORDICT).is_none() {
            let message = format!("expected the folder {TENSORDICT} of a tensorclass, found none");
            return Err(Fault::new(Kind::Invalid, codes::MALFORMED_META, raw.place(), message));
        }
        let mut named: Vec<String> = fields.document.iter().map(|(name, _)| name.clone()).collect();
        let types = fields.types.iter().flatten().map(|(name, _)| name);
        named.extend(types.filter(|name| fields.json(name).is_none()).cloned());
        if fields.pickled
            && let Some(pickle) = &fields.files.pickle
        {
            let more = pickles::field_names(pickle.as_ref(), &self.options.limits);
            named.extend(more.into_iter().filter(|name| fields.json(name).is_none()));
        }
        let value = |name: &str| fields.value(name).unwrap_or(FieldValue::Pickled);
        let values = named.into_iter().map(|name| (name.clone(), value(&name))).collect();
        let batch = raw.parent.clone();
        let tensordict = self.hidden(&mut raw.listing, TENSORDICT, &batch);
        if let Node::Broken(fault) = tensordict {
            return Err(fault);
        }
        self.orphans.append(&mut raw.listing.orphans());
        Ok(Node::TensorClass(TensorClass {
            class: raw.class,
            fields: values,
            files: fields.files,
            replaced: fields.types.is_some(),
            mismatch: fields.mismatch,
            tensordict: Box::new(tensordict),
            document: Some(Arc::new(raw.document)),
        }))
    }

    /// A node in a folder that is no key of its own.
    fn hidden(&mut self, listing: &mut Listing, name: &str, parent: &[u64]) -> Node {
        let kind = listing.take(name).map(|taken| taken.item.kind);
        match self.enterable(listing.folder.path(), name, kind) {
            Ok(()) => self.node(&join(listing.folder.path(), name), parent),
            Err(fault) => Node::Broken(fault),
        }
    }

    pub(super) fn non_tensor_stack(&mut self, mut raw: Raw) -> Result<Node, Fault> {
        let device = raw.document.get("device").and_then(Value::as_str).map(str::to_owned);
        let stack_dim = raw.document.get("stack_dim").and_then(Value::as_u64).unwrap_or(0);
        let missing = |name: &str| {
            let message = format!("expected the file {name} with the values, found none");
            let place = Place::file(join(raw.listing.folder.path(), META)).json("$.data");
            StackValues::Faulty(Fault::new(Kind::NotFound, codes::MISSING_VALUE, place, message))
        };
        let (values, batch_size) = match raw.document.get("data") {
            Some(Value::Array(items)) => {
                (StackValues::Json(items.clone()), stack::batch_size(items))
            }
            Some(Value::String(name)) if name == STACK_PICKLE => {
                let missing = missing(name);
                let pickle = self.beside(&mut raw.listing, STACK_PICKLE)?;
                // Its sizes are in the pickle; those of the parent are the least it can have.
                let sizes = pickle
                    .as_ref()
                    .and_then(|p| pickles::stack_size(p.as_ref(), &self.options.limits));
                (
                    pickle.map_or(missing, StackValues::Pickled),
                    sizes.unwrap_or_else(|| raw.parent.clone()),
                )
            }
            None | Some(Value::Null) => {
                let members = self.members(&mut raw.listing)?;
                let count = members.len() as u64;
                let inner = members.first().map(Node::batch_size).unwrap_or_default();
                let batch = std::iter::once(count).chain(inner.iter().copied()).collect();
                (StackValues::Members(members), batch)
            }
            Some(other) => {
                let message = format!("expected a list or {STACK_PICKLE:?}, found {other}");
                return Err(raw.fault(codes::MALFORMED_META, "data", message));
            }
        };
        self.orphans.append(&mut raw.listing.orphans());
        Ok(Node::NonTensorStack(NonTensorStack {
            class: raw.class,
            batch_size,
            stack_dim,
            device,
            values,
            document: Some(Arc::new(raw.document)),
        }))
    }

    /// The nodes in folders `0`, `1`, … up to the first number that is missing, which has to be the last.
    fn members(&mut self, listing: &mut Listing) -> Result<Vec<Node>, Fault> {
        let (count, after) = listing.numbered();
        if let Some(after) = after {
            let place = Place::file(join(listing.folder.path(), &after)).field(self.keys.join("."));
            let message =
                format!("expected members 0, 1, … without a gap, found {after} but no {count}");
            return Err(Fault::new(Kind::Corrupt, codes::LAZY_GAP, place, message));
        }
        let members = (0..count).map(|number| {
            let name = number.to_string();
            self.child(listing, &name, &name, &[])
        });
        Ok(members.collect())
    }

    pub(super) fn lazy_stack(&mut self, mut raw: Raw) -> Result<Node, Fault> {
        let stack_dim = raw.integer("stack_dim")?;
        let stack_dim_name =
            raw.document.get("stack_dim_name").and_then(Value::as_str).map(str::to_owned);
        let members = self.members(&mut raw.listing)?;
        if let Some(Node::Broken(fault)) =
            members.iter().find(|node| matches!(node, Node::Broken(_)))
        {
            return Err(fault.clone());
        }
        let inner = members.first().map(|node| node.batch_size().to_vec()).unwrap_or_default();
        if let Some(other) = members.iter().find(|node| node.batch_size() != inner) {
            let message = format!(
                "expected members of batch size {inner:?}, found one of {:?}",
                other.batch_size()
            );
            return Err(Fault::new(Kind::Invalid, codes::BATCH_MISMATCH, raw.place(), message));
        }
        let dim =
            usize::try_from(stack_dim).ok().filter(|dim| *dim <= inner.len()).ok_or_else(|| {
                let message =
                    format!("expected a dimension of {}, found {stack_dim}", inner.len() + 1);
                raw.fault(codes::MALFORMED_META, "stack_dim", message)
            })?;
        let mut batch_size = inner;
        batch_size.insert(dim, members.len() as u64);
        self.orphans.append(&mut raw.listing.orphans());
        let document = Some(Arc::new(raw.document));
        Ok(Node::LazyStack(LazyStack {
            class: raw.class,
            batch_size,
            stack_dim,
            stack_dim_name,
            members,
            document,
        }))
    }

    pub(super) fn sub_tensordict(&mut self, mut raw: Raw) -> Result<Node, Fault> {
        let value = raw.document.get("index").unwrap_or(&Value::Null);
        let bad = |message| raw.fault(codes::BAD_INDEX, "index", message);
        if !raw.document.contains_key("index") {
            return Err(bad("expected an index, found none".to_owned()));
        }
        let index = Index::parse(value).map_err(bad)?;
        let source = self.hidden(&mut raw.listing, SOURCE, &[]);
        if let Node::Broken(fault) = source {
            return Err(fault);
        }
        let pick = Pick::index(source.batch_size(), &index)
            .map_err(|m| raw.fault(codes::BAD_INDEX, "index", m))?;
        self.orphans.append(&mut raw.listing.orphans());
        Ok(Node::SubTensorDict(SubTensorDict {
            class: raw.class,
            batch_size: pick.shape().to_vec(),
            index,
            source: Box::new(source),
            document: Some(Arc::new(raw.document)),
        }))
    }

    pub(super) fn lazy_view(&mut self, mut raw: Raw) -> Result<Node, Fault> {
        let member = |name: &str| raw.document.get(name).unwrap_or(&Value::Null);
        let bad = |message: String| raw.fault(codes::BAD_VIEW_OP, "custom_op", message);
        let op = ViewOp::parse(member("custom_op"), member("custom_op_kwargs")).map_err(bad)?;
        let source = self.hidden(&mut raw.listing, SOURCE, &[]);
        if let Node::Broken(fault) = source {
            return Err(fault);
        }
        let pick = Pick::view(source.batch_size(), &op)
            .map_err(|m| raw.fault(codes::BAD_VIEW_OP, "custom_op_kwargs", m))?;
        self.orphans.append(&mut raw.listing.orphans());
        Ok(Node::LazyView(LazyView {
            class: raw.class,
            batch_size: pick.shape().to_vec(),
            op,
            source: Box::new(source),
            document: Some(Arc::new(raw.document)),
        }))
    }
}
