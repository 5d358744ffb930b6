//! A tensordict: its own entries, then leaves, then collections.

use std::collections::HashSet;
use std::sync::Arc;

use packstone_container::json::{Key, Object, Value};
use packstone_io::{Buf, Kind};

use super::super::codes;
use super::super::layout::{LEAF, META, SIZES};
use super::leaf::{Entry, LeafEntry, classify, sizes};
use super::listing::{Listing, Taken};
use super::names;
use super::node::{Bytes, Fault, Leaf, NestedTensor, Node, TensorDict};
use super::store::{Elements, ItemKind, join};
use super::tree::{Loader, Raw};
use crate::error::{Place, Result};
use crate::exec::{default_threads, map};
use crate::model::Severity;

impl Loader<'_> {
    pub(super) fn tensordict(&mut self, mut raw: Raw) -> Result<Node, Fault> {
        let batch_size = self.batch_size(&raw)?;
        let device = self.device(&raw);
        let names = self.names(&raw, batch_size.len())?;
        let document = std::mem::take(&mut raw.document);
        let (mut entries, mut collections) = (Vec::with_capacity(document.len()), Vec::new());
        let listing = &mut raw.listing;
        for (key, value) in document.iter() {
            match classify(value) {
                Entry::Leaf(entry) => {
                    entries.push((names::shown(key), self.leaf(listing, key, entry)))
                }
                Entry::Collection => collections.push(key),
                Entry::Other => {}
            }
        }
        let folder = |key: &Key| (names::shown(key), self.folder(listing, key));
        let folders = collections.into_iter().map(folder).collect();
        entries.append(&mut self.collections(listing.folder.path(), folders, &batch_size));
        self.orphans.append(&mut raw.listing.orphans());
        let document = Some(Arc::new(document));
        let mut node =
            TensorDict { class: raw.class, batch_size, device, names, entries, document };
        inherit_names(&mut node);
        Ok(Node::TensorDict(node))
    }

    fn batch_size(&self, raw: &Raw) -> Result<Vec<u64>, Fault> {
        match raw.document.get("shape") {
            Some(value) => sizes(value, &raw.member("shape")),
            None => Ok(Vec::new()),
        }
    }

    /// The label of the device; only a label, whatever it says.
    fn device(&mut self, raw: &Raw) -> Option<String> {
        let value = raw.document.get("device")?;
        let text = value.as_str();
        if text == Some("None") {
            return None;
        }
        let kind = text.unwrap_or_default().split(':').next().unwrap_or_default();
        let index = text.unwrap_or_default().get(kind.len()..).unwrap_or_default();
        let indexed =
            index.is_empty() || index.strip_prefix(':').is_some_and(|n| n.parse::<u8>().is_ok());
        if !(DEVICES.contains(&kind) && indexed) {
            let message = format!("expected a device such as \"cpu\", found {value}");
            self.note(Severity::Warning, codes::UNKNOWN_DEVICE, raw.member("device"), message);
        } else if kind != "cpu" {
            let message = format!(
                "expected the device \"cpu\", found {value}; kept as a label, data stays on the host"
            );
            self.note(Severity::Info, codes::DEVICE_LABEL, raw.member("device"), message);
        }
        text.map(str::to_owned)
    }

    fn names(&mut self, raw: &Raw, rank: usize) -> Result<Option<Vec<Option<String>>>, Fault> {
        let items = match raw.document.get("_names") {
            Some(Value::Array(items)) => items,
            // An object is a key of this name.
            None | Some(Value::Object(_) | Value::Null) => return Ok(None),
            Some(other) => {
                let message = format!("expected a list of names, found {other}; ignored");
                self.note(Severity::Warning, codes::BAD_NAMES, raw.member("_names"), message);
                return Ok(None);
            }
        };
        let mut seen = HashSet::new();
        let distinct = items.iter().filter_map(Value::as_str).all(|name| seen.insert(name));
        let text = items.iter().all(|item| item.is_null() || item.as_str().is_some());
        if items.len() != rank || !distinct || !text {
            let found = Value::Array(items.clone());
            let message = format!("expected {rank} names, each once, or null, found {found}");
            return Err(raw.fault(codes::BAD_NAMES, "_names", message));
        }
        let names: Vec<_> = items.iter().map(|item| item.as_str().map(str::to_owned)).collect();
        Ok(names.iter().any(Option::is_some).then_some(names))
    }

    fn leaf(&mut self, listing: &mut Listing, key: &Key, entry: &Object) -> Node {
        // There are many leaves: where one stands is worked out only for those that something is wrong with.
        let parsed = LeafEntry::parse(entry, &Place::default())
            .or_else(|_| LeafEntry::parse(entry, &self.entry_place(listing.folder.path(), key)));
        let entry = match parsed {
            Ok(entry) => entry,
            Err(fault) => return Node::Broken(fault),
        };
        if entry.is_nested {
            return self.nested(listing, key, entry);
        }
        let data = if entry.count == 0 {
            Bytes::Given(Buf::default())
        } else {
            self.bytes(listing, key, LEAF, entry.bytes, entry.dtype.size().unwrap_or(1))
        };
        Node::Leaf(Leaf { dtype: entry.dtype, shape: entry.shape, data })
    }

    fn nested(&mut self, listing: &mut Listing, key: &Key, entry: LeafEntry) -> Node {
        let mut sizes = self.bytes(listing, key, SIZES, entry.bytes, 8);
        if let Bytes::Faulty(fault) = &sizes
            && fault.code() == codes::MISSING_LEAF
        {
            let message = "expected the file of the sizes of this nested tensor, found none";
            sizes = Bytes::Faulty(Fault::new(
                Kind::NotFound,
                codes::MISSING_SIZES,
                self.entry_place(listing.folder.path(), key),
                message,
            ));
        }
        // How many bytes there are to be, the sizes say, which are not read before somebody asks.
        let data = self.bytes(listing, key, LEAF, 0, entry.dtype.size().unwrap_or(1));
        let data = match data {
            Bytes::Stored { file, .. } => Bytes::Stored { len: file.len(), file },
            other => other,
        };
        let extent =
            (entry.shape.first().copied().unwrap_or(0), entry.shape.get(1).copied().unwrap_or(0));
        Node::NestedTensor(NestedTensor { dtype: entry.dtype, extent, sizes, data })
    }

    /// The place of an entry in its document, with the keys that lead to it.
    fn entry_place(&self, folder: &str, key: &Key) -> Place {
        self.placed(Place::file(join(folder, META)), key)
    }

    /// A place with the keys that lead to an entry.
    fn placed(&self, place: Place, key: &Key) -> Place {
        let mut keys = self.keys.clone();
        keys.push(names::shown(key));
        place.field(keys.join("."))
    }

    fn missing(&self, folder: &str, key: &Key, found: &str) -> Bytes {
        let message = format!("expected the file of this leaf, found {found}");
        let place = self.entry_place(folder, key);
        Bytes::Faulty(Fault::new(Kind::NotFound, codes::MISSING_LEAF, place, message))
    }

    /// The bytes of a leaf's file, held against the `need` that its entry states. A need of 0 is one that is not known.
    fn bytes(
        &mut self,
        listing: &mut Listing,
        key: &Key,
        suffix: &str,
        need: u64,
        size: u64,
    ) -> Bytes {
        let folder = Arc::clone(&listing.folder);
        let folder = folder.path();
        // No file system of this format has names with unpaired surrogates.
        let Some(name) = key.as_str() else {
            return self.missing(folder, key, "a key that no file name can hold");
        };
        let taken = match listing.find(name, suffix, false, self.options.robust_key) {
            Ok(Some(taken)) => taken,
            Ok(None) => return self.missing(folder, key, "none"),
            Err(fault) => return Bytes::Faulty(fault),
        };
        let Taken { item, again, .. } = taken;
        let at = |loader: &Self| loader.placed(Place::file(join(folder, &item.name)), key);
        match item.kind {
            ItemKind::File => {}
            ItemKind::Folder => return self.missing(folder, key, "a folder"),
            ItemKind::Link => return Bytes::Faulty(self.link(folder, &item.name, at(self))),
        }
        if again {
            let message = format!(
                "expected a file for each key, found {:?} to be that of another key too",
                item.name
            );
            self.note(Severity::Warning, codes::NAME_COLLISION, at(self), message);
        }
        let align = usize::try_from(size).unwrap_or(1);
        let file = taken.file(Elements { bytes: need, align });
        let Some(len) = item.len.filter(|len| need > 0 && *len != need) else {
            return Bytes::Stored { file, len: need };
        };
        let at = at(self);
        let message = format!("expected {need} bytes, found {len}");
        if let Err(error) = file.locate() {
            return Bytes::Faulty(error.into());
        }
        if file.is_exact() {
            return Bytes::Faulty(Fault::new(Kind::Corrupt, codes::SIZE_MISMATCH, at, message));
        }
        if len < need {
            return Bytes::Faulty(Fault::new(Kind::Corrupt, codes::TRUNCATED_LEAF, at, message));
        }
        let message = format!("{message}; the rest is left over from an older save");
        self.note(Severity::Info, codes::LEAF_TAIL, at, message);
        Bytes::Stored { file, len: need }
    }

    /// The name of a collection's folder.
    fn folder(&mut self, listing: &mut Listing, key: &Key) -> Result<String, Fault> {
        let found = match key.as_str() {
            Some(key) => listing.find(key, "", true, self.options.robust_key)?,
            None => None,
        };
        let (name, kind) = match found {
            Some(Taken { item, .. }) => (item.name.clone(), Some(item.kind)),
            None => (names::encode(&names::shown(key)).into_owned(), None),
        };
        self.keys.push(names::shown(key));
        let entered = self.enterable(listing.folder.path(), &name, kind);
        self.keys.pop();
        entered.map(|()| name)
    }

    /// The collections in `folders`, which are in `folder`; many are read at once.
    fn collections(
        &mut self,
        folder: &str,
        folders: Folders,
        batch: &[u64],
    ) -> Vec<(String, Node)> {
        let threads = if self.depth == 1 && folders.len() >= MANY { default_threads() } else { 1 };
        if threads < 2 {
            let read = |(key, name): (String, _)| {
                let node = self.collection(folder, &key, name, batch);
                (key, node)
            };
            return folders.into_iter().map(read).collect();
        }
        let parts = map(&folders, threads, |part| {
            let mut loader = self.fork();
            let read = |(key, name): &(String, Result<String, Fault>)| {
                (key.clone(), loader.collection(folder, key, name.clone(), batch))
            };
            let nodes: Vec<_> = part.iter().map(read).collect();
            (nodes, loader)
        });
        let mut nodes = Vec::with_capacity(folders.len());
        match parts {
            Ok(parts) => parts.into_iter().for_each(|(mut read, loader)| {
                nodes.append(&mut read);
                self.join(loader);
            }),
            Err(error) => {
                let fault = Fault::from(error);
                nodes
                    .extend(folders.into_iter().map(|(key, _)| (key, Node::Broken(fault.clone()))));
            }
        }
        nodes
    }

    fn collection(
        &mut self,
        folder: &str,
        key: &str,
        name: Result<String, Fault>,
        batch: &[u64],
    ) -> Node {
        self.keys.push(key.to_owned());
        let mut node = match name {
            Ok(name) => self.node(&join(folder, &name), batch),
            Err(fault) => Node::Broken(fault),
        };
        if !matches!(node, Node::Broken(_)) && !node.batch_size().starts_with(batch) {
            let message = format!(
                "expected a batch size that starts with {batch:?}, found {:?}",
                node.batch_size()
            );
            let place = Place::file(join(folder, META)).field(self.keys.join("."));
            node = Node::Broken(Fault::new(Kind::Invalid, codes::BATCH_MISMATCH, place, message));
        }
        self.keys.pop();
        node
    }
}

/// Keys of collections, with the names of their folders.
type Folders = Vec<(String, Result<String, Fault>)>;

/// So many collections in the root are worth a second thread.
const MANY: usize = 16;

/// The kinds of device that torch knows.
const DEVICES: [&str; 21] = [
    "cpu",
    "cuda",
    "ipu",
    "xpu",
    "mkldnn",
    "opengl",
    "opencl",
    "ideep",
    "hip",
    "ve",
    "fpga",
    "maia",
    "xla",
    "lazy",
    "vulkan",
    "mps",
    "meta",
    "hpu",
    "mtia",
    "privateuseone",
    "ort",
];

/// A tensordict without names takes those of the first of its collections that has some, as far as it has dimensions.
fn inherit_names(node: &mut TensorDict) {
    if node.names.is_some() {
        return;
    }
    let rank = node.batch_size.len();
    let named = node.entries.iter().find_map(|(_, child)| dim_names(child));
    node.names = named.and_then(|names| {
        let own: Vec<_> = names.into_iter().take(rank).collect();
        own.iter().any(Option::is_some).then_some(own)
    });
}

/// The names of a node's batch dimensions, where any has one.
pub fn dim_names(node: &Node) -> Option<Vec<Option<String>>> {
    match node {
        Node::TensorDict(node) => node.names.clone(),
        Node::TensorClass(node) => dim_names(&node.tensordict),
        _ => None,
    }
}
