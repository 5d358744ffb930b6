//! Reading a tree: documents and folder lists, no leaf.
//!
//! Each folder is listed once, which says what is there and, where it is asked, how long; a leaf is opened when its values
//! are asked for. What is wrong with one node does not hide the others: a collection that cannot be read is a
//! [`Node::Broken`], a leaf without its file a leaf whose bytes are [`Bytes::Faulty`](super::node::Bytes::Faulty).
//!
//! Known differences from the library: it drops keys whose file is gone, reads links, ends stacks at gaps and grows
//! short files, all in silence.

use std::sync::Arc;

use packstone_container::json::{Object, Value};
use packstone_io::Kind;

use super::super::layout::{META, SOURCE, TENSORDICT, VERSION};
use super::super::options::TreeOptions;
use super::super::{codes, document};
use super::class::{Class, NodeKind};
use super::listing::{Listing, Orphan};
use super::node::{Fault, Node};
use super::store::{ItemKind, Store, join};
use crate::error::{Place, Result};
use crate::model::{Finding, Severity};

/// A tree as it was read.
#[derive(Debug)]
pub struct Tree {
    /// The outermost node.
    pub root: Node,
    /// What is unusual or wrong and stands in no node.
    pub notes: Vec<Finding>,
    /// Files and folders that no entry names.
    pub orphans: Vec<Orphan>,
    /// Documents that were read.
    pub documents: u64,
    /// Whether leaves were held against the lengths of their files.
    pub measured: bool,
}

impl Tree {
    /// Reads the tree in `store`.
    ///
    /// # Errors
    /// Where the root itself cannot be read.
    pub fn load(store: Arc<dyn Store>, options: &TreeOptions) -> Result<Self> {
        Self::read(store, options, true)
    }

    /// The same without asking how long files are: of a leaf that is too short, the one who reads it is told.
    ///
    /// # Errors
    /// As for [`Tree::load`].
    pub fn sketch(store: Arc<dyn Store>, options: &TreeOptions) -> Result<Self> {
        Self::read(store, options, false)
    }

    fn read(store: Arc<dyn Store>, options: &TreeOptions, measured: bool) -> Result<Self> {
        let mut loader = Loader { measured, ..Loader::at(store, options) };
        let root = loader.node("", &[]);
        if let Node::Broken(fault) = root {
            return Err(fault.error());
        }
        let Loader { notes, orphans, documents, .. } = loader;
        Ok(Self { root, notes, orphans, documents, measured })
    }
}

/// Reads nodes. Notes and orphans are collected on the way.
pub(super) struct Loader<'a> {
    pub(super) store: Arc<dyn Store>,
    pub(super) options: &'a TreeOptions,
    pub(super) notes: Vec<Finding>,
    pub(super) orphans: Vec<Orphan>,
    pub(super) documents: u64,
    /// The keys that lead to the node that is being read.
    pub(super) keys: Vec<String>,
    pub(super) depth: usize,
    /// Whether to ask how long files are.
    measured: bool,
}

/// A node's folder and document, before it is known what it is.
pub(super) struct Raw {
    pub(super) listing: Listing,
    pub(super) document: Object,
    pub(super) class: Class,
    /// The batch size of the parent.
    pub(super) parent: Vec<u64>,
}

impl Raw {
    /// The place of the document.
    pub(super) fn place(&self) -> Place {
        Place::file(join(self.listing.folder.path(), META))
    }

    /// The place of a member of the document.
    pub(super) fn member(&self, name: &str) -> Place {
        self.place().json(member(name))
    }

    /// A fault of a member of the document.
    pub(super) fn fault(
        &self,
        code: &'static str,
        name: &str,
        message: impl Into<String>,
    ) -> Fault {
        Fault::new(Kind::Invalid, code, self.member(name), message)
    }

    /// A member that has to be an integer of zero or more.
    pub(super) fn integer(&self, name: &str) -> Result<u64, Fault> {
        let found = self.document.get(name);
        let wrong = |found: &str| {
            self.fault(
                codes::MALFORMED_META,
                name,
                format!("expected an integer of 0 or more, found {found}"),
            )
        };
        match found {
            Some(value) => value.as_u64().ok_or_else(|| wrong(&value.to_string())),
            None => Err(wrong("none")),
        }
    }
}

/// `$.name`, or `$["odd name"]`.
fn member(name: &str) -> String {
    let plain = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && !name.is_empty();
    if plain { format!("$.{name}") } else { format!("$[{}]", Value::from(name)) }
}

impl<'a> Loader<'a> {
    fn at(store: Arc<dyn Store>, options: &'a TreeOptions) -> Self {
        let (notes, orphans, keys) = (Vec::new(), Vec::new(), Vec::new());
        Self { store, options, notes, orphans, documents: 0, keys, depth: 0, measured: true }
    }

    /// Another one that stands at the same node and has collected nothing.
    pub(super) fn fork(&self) -> Self {
        let (keys, depth, measured) = (self.keys.clone(), self.depth, self.measured);
        Self { keys, depth, measured, ..Self::at(Arc::clone(&self.store), self.options) }
    }

    /// Takes what another one collected.
    pub(super) fn join(&mut self, mut other: Self) {
        self.notes.append(&mut other.notes);
        self.orphans.append(&mut other.orphans);
        self.documents += other.documents;
    }

    pub(super) fn note(
        &mut self,
        severity: Severity,
        code: &'static str,
        place: Place,
        message: impl Into<String>,
    ) {
        let place = if self.keys.is_empty() || place.field.is_some() {
            place
        } else {
            place.field(self.keys.join("."))
        };
        self.notes.push(Finding::new(severity, code, place, message));
    }

    /// The node in `folder`, whose parent has this batch size.
    pub(super) fn node(&mut self, folder: &str, parent: &[u64]) -> Node {
        if self.depth >= self.options.limits.depth {
            let message =
                format!("expected at most {} folders inside one another, found more", self.depth);
            return Node::Broken(Fault::new(
                Kind::Limit,
                codes::TOO_DEEP,
                Place::file(folder),
                message,
            ));
        }
        self.depth += 1;
        let node = self.raw(folder, parent).and_then(|raw| self.build(raw));
        self.depth -= 1;
        node.unwrap_or_else(Node::Broken)
    }

    /// The node below `keys` in a folder of a listing, which has to be a folder.
    pub(super) fn child(
        &mut self,
        listing: &mut Listing,
        name: &str,
        key: &str,
        parent: &[u64],
    ) -> Node {
        self.keys.push(key.to_owned());
        let kind = listing.take(name).map(|taken| taken.item.kind);
        let node = match self.enterable(listing.folder.path(), name, kind) {
            Ok(()) => self.node(&join(listing.folder.path(), name), parent),
            Err(fault) => Node::Broken(fault),
        };
        self.keys.pop();
        node
    }

    /// Refuses what is no folder.
    pub(super) fn enterable(
        &self,
        folder: &str,
        name: &str,
        kind: Option<ItemKind>,
    ) -> Result<(), Fault> {
        let place = || Place::file(join(folder, name)).field(self.keys.join("."));
        match kind {
            Some(ItemKind::Folder) => Ok(()),
            Some(ItemKind::Link) => Err(self.link(folder, name, place())),
            found => {
                let found = if found.is_some() { "a file" } else { "nothing" };
                let message = format!("expected the folder of a collection, found {found}");
                Err(Fault::new(Kind::NotFound, codes::MISSING_COLLECTION, place(), message))
            }
        }
    }

    /// The fault for a link.
    pub(super) fn link(&self, folder: &str, name: &str, place: Place) -> Fault {
        if self.store.is_cycle(folder, name) {
            let message = "expected a file or folder, found a link back to a folder that holds it";
            return Fault::new(Kind::Denied, codes::CYCLE, place, message);
        }
        Fault::new(
            Kind::Denied,
            codes::SYMLINK,
            place,
            "expected a file or folder, found a link or a device",
        )
    }

    fn raw(&mut self, folder: &str, parent: &[u64]) -> Result<Raw, Fault> {
        let listed = match self.measured {
            true => self.store.folder(folder)?,
            false => self.store.names(folder)?,
        };
        let mut listing = Listing::of(listed);
        let place = Place::file(join(folder, META));
        let item = match listing.take(META).map(|taken| taken.item.clone()) {
            Some(item) if item.kind == ItemKind::File => item,
            Some(item) if item.kind == ItemKind::Link => return Err(self.link(folder, META, place)),
            found => {
                let found = if found.is_some() { "a folder" } else { "none" };
                let message = format!("expected the document {META}, found {found}");
                return Err(Fault::new(Kind::NotFound, codes::MISSING_META, place, message));
            }
        };
        let bytes = listing.folder.document(&item, self.options.limits.document_bytes)?;
        self.documents += 1;
        let document = document::read(&bytes, &place, &self.options.limits, &mut self.notes)?;
        self.version(&document, &place)?;
        let class = self.class(&document, &listing, &place)?;
        Ok(Raw { listing, document, class, parent: parent.to_vec() })
    }

    fn version(&mut self, document: &Object, place: &Place) -> Result<(), Fault> {
        let place = || place.clone().json("$._format_version");
        let newer = |found: &str| {
            let message = format!("expected format version {VERSION} or older, found {found}");
            Fault::new(Kind::Unsupported, codes::UNSUPPORTED_VERSION, place(), message)
        };
        match document.get("_format_version") {
            // A key of this name: the document has no version then.
            None | Some(Value::Object(_)) | Some(Value::Bool(_)) => Ok(()),
            Some(Value::Number(n)) if n.is_integer() => {
                let negative = n.text().starts_with('-');
                if negative || n.as_u64().is_some_and(|n| n <= VERSION) {
                    Ok(())
                } else {
                    Err(newer(n.text()))
                }
            }
            Some(other) => {
                let message = format!("expected an integer, found {other}; read as version 0");
                self.note(Severity::Warning, codes::ODD_VERSION, place(), message);
                Ok(())
            }
        }
    }

    /// The class by `_class` where it is known, else by `_type`.
    fn class(
        &mut self,
        document: &Object,
        listing: &Listing,
        place: &Place,
    ) -> Result<Class, Fault> {
        let by_class = document.get("_class").and_then(Value::as_str).and_then(Class::from_id);
        let text = document.get("_type");
        let by_type = text.and_then(Value::as_str).and_then(Class::from_type);
        if text.is_none() {
            let message =
                "expected the entry _type, found none; the original library does not read this";
            let known = by_class.as_ref().is_some_and(|class| class.kind().is_some());
            if !known {
                let place = place.clone().json("$._type");
                return Err(Fault::new(Kind::Invalid, codes::MISSING_TYPE, place, message));
            }
            self.note(Severity::Warning, codes::MISSING_TYPE, place.clone(), message);
        }
        let known =
            [&by_class, &by_type].into_iter().flatten().find(|class| class.kind().is_some());
        if let Some(class) = known {
            return Ok(class.clone());
        }
        let found = by_class.or(by_type).ok_or_else(|| {
            let message = "expected a class in _type, found no name of one";
            Fault::new(Kind::Invalid, codes::MALFORMED_META, place.clone().json("$._type"), message)
        })?;
        // A tensorclass is a class of its user: nobody else knows it, and nobody needs to.
        let tensorclass = listing.kind(TENSORDICT).is_some() || is_tensorclass(document);
        if !tensorclass {
            let message =
                format!("expected a class of the library, found {found}; read by its structure");
            self.note(Severity::Warning, codes::UNKNOWN_CLASS, place.clone(), message);
        }
        Ok(found)
    }

    fn build(&mut self, raw: Raw) -> Result<Node, Fault> {
        let kind = raw.class.kind();
        match kind {
            Some(NodeKind::TensorDict) => self.tensordict(raw),
            Some(NodeKind::LazyStack) => self.lazy_stack(raw),
            Some(NodeKind::SubTensorDict) => self.sub_tensordict(raw),
            Some(NodeKind::LazyView) => self.lazy_view(raw),
            Some(NodeKind::NonTensor) => self.non_tensor(raw),
            Some(NodeKind::NonTensorStack) => self.non_tensor_stack(raw),
            None if raw.listing.kind(TENSORDICT).is_some() => self.tensorclass(raw),
            None => self.by_structure(raw),
        }
    }

    /// A class that nobody knows, read by what its folder and document look like.
    fn by_structure(&mut self, raw: Raw) -> Result<Node, Fault> {
        let has = |name: &str| raw.document.contains_key(name);
        let sourced = raw.listing.kind(SOURCE).is_some();
        if has("_is_non_tensor") {
            self.non_tensor(raw)
        } else if is_tensorclass(&raw.document) {
            self.tensorclass(raw)
        } else if sourced && has("custom_op") {
            self.lazy_view(raw)
        } else if sourced && has("index") {
            self.sub_tensordict(raw)
        } else if has("stack_dim") && has("data") {
            self.non_tensor_stack(raw)
        } else if has("stack_dim") && !has("shape") {
            self.lazy_stack(raw)
        } else {
            self.tensordict(raw)
        }
    }
}

/// The document of a tensorclass has neither version nor class nor shape.
fn is_tensorclass(document: &Object) -> bool {
    let own = |name: &str| document.get(name).is_some_and(|value| value.as_object().is_none());
    !own("_format_version")
        && !own("_class")
        && !own("shape")
        && !own("stack_dim")
        && !own("_is_non_tensor")
}
