//! Rows appended to a saved tree: its leaves grow, then its documents say so.
//!
//! ```text
//! 1. leaf files grow behind their last row       readers see what the documents say: the old rows
//! 2. everything is on the disk
//! 3. all documents are replaced                  several: after an intent, which the next writer or `repair` completes
//! ```
//!
//! Both trees have the same keys, dtypes and inner shapes. Tensors, nested tensors, tensorclasses and values each row
//! grow; one value for the whole batch must be the same in both. Stacks, sub-tensordicts, views and pickled values are
//! refused, and so are archives.

use std::sync::Arc;
use std::time::Duration;

use packstone_container::Limits;
use packstone_io::{Buf, Kind, RelPath, Root, RootMut};

use super::super::layout::{LEAF, META, TENSORDICT};
use super::super::options::TreeOptions;
use super::super::reader::open_store;
use super::super::{codes, document};
use super::node::{
    Bytes, FieldValue, Leaf, NestedTensor, Node, NonTensorStack, StackValues, TensorDict,
};
use super::stage::persist;
use super::tree::Tree;
use super::{names, rewrite, stack};
use crate::error::{Error, Place, Result};
use crate::intent::{Documents, Intent};

/// How long to wait for another writer.
const PATIENCE: Duration = Duration::from_secs(60);

/// The intent of an appender: documents of nodes.
pub const APPENDING: Intent<'static> = Intent {
    file: ".packstone-append.json",
    may: is_document,
    allowed: "a meta.json",
    malformed: codes::MALFORMED_META,
    only_begun: true,
};

fn is_document(path: &RelPath) -> bool {
    path.name() == META
}

/// Appends the rows of `more` to the node at a path of keys of the tree in the folder `root`; returns how many rows it
/// has now. The empty path is the root; nodes above any other have no batch dimensions.
///
/// # Errors
/// `not_appendable` where the trees do not go together or cannot grow, before anything is written; `Conflict` where
/// another writer works there; `Io`, then readers see the old rows.
pub fn append(root: &Arc<dyn RootMut>, keys: &[&str], more: &Node, limits: &Limits) -> Result<u64> {
    if root.sole_file().is_some() {
        let message = "expected a folder, found an archive, whose entries cannot grow";
        return Err(not_appendable(Place::default(), message));
    }
    let _lock = root.lock(PATIENCE)?;
    APPENDING.complete(root.as_ref(), limits)?;
    let below_root: Arc<dyn Root> = Arc::clone(root) as _;
    let reading = TreeOptions::default().with_limits(*limits);
    let mut tree = Tree::load(open_store(below_root, limits)?.store(), &reading)?;
    let mut plan = Plan {
        root: root.as_ref(),
        rows: [0; 2],
        grown: Vec::new(),
        documents: Vec::new(),
        keys: Vec::new(),
    };
    let (folder, node) = plan.enter(&mut tree.root, keys)?;
    let (Some(old), Some(new)) = (node.batch_size().first(), more.batch_size().first()) else {
        return plan.refuse("expected batches with a first dimension to grow along, found none");
    };
    plan.rows = [*old, *new];
    plan.node(&folder, node, more)?;
    let rows = plan.total();
    let Plan { grown, documents, .. } = plan;
    let Some((marker, _)) = documents.last() else { return Ok(rows) };
    let before = root.read(marker)?;
    let mut written = Vec::new();
    for grow in &grown {
        written.extend(grow.write(root.as_ref())?);
    }
    persist(root.as_ref(), &written)?;
    match documents.as_slice() {
        [_] => root.replace(&documents)?,
        _ => APPENDING.replace(root.as_ref(), &before, &documents)?,
    }
    Ok(rows)
}

fn not_appendable(place: Place, message: impl Into<String>) -> Error {
    Error::new(Kind::Unsupported, codes::NOT_APPENDABLE, place, message)
}

/// A file that grows.
struct Grow {
    path: RelPath,
    /// What counts of what is there.
    len: u64,
    more: Bytes,
}

impl Grow {
    /// Writes what comes; gives the file, with its folder where it is new.
    fn write(&self, root: &dyn RootMut) -> Result<Vec<RelPath>> {
        let bytes: Buf = self.more.open()?;
        if bytes.as_ref().is_empty() {
            return Ok(Vec::new());
        }
        if self.len == 0 && root.len(&self.path).is_err() {
            root.create(&self.path, &bytes)?;
            return Ok(vec![self.path.clone(), self.path.parent().unwrap_or_default()]);
        }
        let edit = root.edit(&self.path)?;
        // What an older, longer save left behind the last row goes.
        edit.set_len(self.len)?;
        edit.set_len(self.len.saturating_add(bytes.as_ref().len() as u64))?;
        edit.write_at(self.len, &bytes)?;
        Ok(vec![self.path.clone()])
    }
}

struct Plan<'a> {
    root: &'a dyn RootMut,
    /// Rows that are there, and rows to come.
    rows: [u64; 2],
    grown: Vec<Grow>,
    documents: Documents,
    keys: Vec<String>,
}

impl Plan<'_> {
    fn refuse<T>(&self, message: impl Into<String>) -> Result<T> {
        let place = match self.keys.is_empty() {
            true => Place::file(META),
            false => Place::default().field(self.keys.join(".")),
        };
        Err(not_appendable(place, message))
    }

    /// The node at a path of keys, with its folder.
    fn enter<'n>(&mut self, root: &'n mut Node, keys: &[&str]) -> Result<(RelPath, &'n mut Node)> {
        let (mut folder, mut node) = (RelPath::root(), root);
        for key in keys {
            self.keys.push((*key).to_owned());
            let Node::TensorDict(dict) = node else {
                return self.refuse("expected a tensordict above, found something else");
            };
            if !dict.batch_size.is_empty() {
                return self.refuse("expected no batch dimensions above, found some");
            }
            folder = folder_of(self.root, &folder, key)?;
            let found = dict.entries.iter_mut().find(|(name, _)| name == key);
            match found {
                Some((_, child)) => node = child,
                None => return self.refuse("expected a node of this key, found none"),
            }
        }
        Ok((folder, node))
    }

    fn total(&self) -> u64 {
        self.rows.iter().fold(0, |sum, rows| sum.saturating_add(*rows))
    }

    /// Plans the growth of `old` by `more`; afterwards `old` is the node that the documents describe.
    fn node(&mut self, folder: &RelPath, old: &mut Node, more: &Node) -> Result<()> {
        match (&mut *old, more) {
            (Node::TensorDict(old), Node::TensorDict(more)) => {
                self.tensordict(folder, old, more)?;
            }
            (Node::NonTensorStack(old), Node::NonTensorStack(more)) => self.values(old, more)?,
            (Node::TensorClass(old), Node::TensorClass(more)) if old.class == more.class => {
                let plain = |value: &FieldValue| matches!(value, FieldValue::Json(_));
                let same = old.fields.len() == more.fields.len()
                    && old
                        .fields
                        .iter()
                        .zip(&more.fields)
                        .all(|((a, x), (b, y))| a == b && plain(x) && equal(x, y));
                if !same {
                    return self.refuse("expected fields of the same values, found others");
                }
                let inner = below(folder, TENSORDICT)?;
                // Its own document says nothing of rows.
                return self.node(&inner, &mut old.tensordict, &more.tensordict);
            }
            (Node::NonTensor(old), Node::NonTensor(more)) => {
                return match equal(&old.value, &more.value) {
                    true => Ok(()),
                    false => self.refuse("expected one value for all rows, found another to come"),
                };
            }
            (old, more) if old.word() == more.word() => {
                return self
                    .refuse(format!("expected a node that can grow, found a {}", old.word()));
            }
            (old, more) => {
                return self.refuse(format!("expected a {}, found a {}", old.word(), more.word()));
            }
        }
        let written = rewrite::of(old).unwrap_or_default();
        let text = document::text(old, &written);
        self.documents.push((below(folder, META)?, text.into_bytes()));
        Ok(())
    }

    fn batch(&self, old: &[u64], more: &[u64]) -> Result<Vec<u64>> {
        let [first, second] = self.rows;
        let same = old.first() == Some(&first)
            && more.first() == Some(&second)
            && old.get(1..) == more.get(1..);
        if !same {
            return self.refuse(format!(
                "expected {first} and {second} rows of one shape, found {old:?} and {more:?}"
            ));
        }
        let rest = old.get(1..).unwrap_or_default().iter().copied();
        Ok(std::iter::once(self.total()).chain(rest).collect())
    }

    fn tensordict(
        &mut self,
        folder: &RelPath,
        old: &mut TensorDict,
        more: &TensorDict,
    ) -> Result<()> {
        if old.class != more.class || old.entries.len() != more.entries.len() {
            return self.refuse(format!(
                "expected {} with {} keys, found {} with {}",
                old.class,
                old.entries.len(),
                more.class,
                more.entries.len()
            ));
        }
        let batch = self.batch(&old.batch_size, &more.batch_size)?;
        for (key, node) in &mut old.entries {
            self.keys.push(key.clone());
            let Some(more) = more.get(key) else {
                return self.refuse("expected rows for each key, found none for this one");
            };
            match (&mut *node, more) {
                (Node::Leaf(old), Node::Leaf(more)) => self.leaf(folder, key, old, more)?,
                (Node::NestedTensor(old), Node::NestedTensor(more)) => self.nested(old, more)?,
                (node, more) => {
                    let inner = folder_of(self.root, folder, key)?;
                    self.node(&inner, node, more)?;
                }
            }
            self.keys.pop();
        }
        old.batch_size = batch;
        Ok(())
    }

    fn leaf(&mut self, folder: &RelPath, key: &str, old: &mut Leaf, more: &Leaf) -> Result<()> {
        if old.dtype != more.dtype {
            return self.refuse(format!("expected {}, found {}", old.dtype, more.dtype));
        }
        let shape = self.batch(&old.shape, &more.shape)?;
        let size = more.dtype.size().unwrap_or(1);
        let need = more.shape.iter().try_fold(size, |n, dim| n.checked_mul(*dim));
        let found = match &more.data {
            Bytes::Faulty(fault) => return Err(fault.error()),
            data => data.len(),
        };
        if need != found && !(need == Some(0) && found.is_none_or(|n| n == 0)) {
            return self.refuse(format!("expected {need:?} bytes to come, found {found:?}"));
        }
        let (path, len) = match &old.data {
            Bytes::Stored { file, len } => (file.path(), *len),
            Bytes::Faulty(fault) => return Err(fault.error()),
            // Without elements until now, so without a file.
            Bytes::Given(_) => {
                (below(folder, &format!("{}{LEAF}", names::encode(key)))?.as_str().to_owned(), 0)
            }
        };
        self.grow(&path, len, more.data.clone())?;
        old.shape = shape;
        Ok(())
    }

    fn nested(&mut self, old: &mut NestedTensor, more: &NestedTensor) -> Result<()> {
        let [first, second] = self.rows;
        let same = old.dtype == more.dtype
            && old.extent == (first, old.extent.1)
            && more.extent == (second, old.extent.1);
        if !same {
            return self.refuse(format!(
                "expected {second} parts of {} dimensions of {}, found {} of {} of {}",
                old.extent.1, old.dtype, more.extent.0, more.extent.1, more.dtype
            ));
        }
        let old_bytes = old.open()?.data.len() as u64;
        let parts = more.open()?;
        let (Bytes::Stored { file: sizes, len }, Bytes::Stored { file: data, .. }) =
            (&old.sizes, &old.data)
        else {
            return self
                .refuse("expected a nested tensor with both of its files, found one missing");
        };
        let (sizes, len, data) = (sizes.path(), *len, data.path());
        self.grow(&data, old_bytes, Bytes::Given(parts.data))?;
        self.grow(&sizes, len, more.sizes.clone())?;
        old.extent.0 = self.total();
        Ok(())
    }

    fn grow(&mut self, path: &str, len: u64, more: Bytes) -> Result<()> {
        let path = RelPath::new(&format!("./{path}")).map_err(|why| {
            Error::new(Kind::Denied, codes::PATH_ESCAPE, Place::file(path), why.to_string())
        })?;
        self.grown.push(Grow { path, len, more });
        Ok(())
    }

    fn values(&self, old: &mut NonTensorStack, more: &NonTensorStack) -> Result<()> {
        let (StackValues::Json(values), StackValues::Json(added)) = (&mut old.values, &more.values)
        else {
            return self.refuse("expected values that JSON holds, found others");
        };
        let [first, second] = self.rows;
        if values.len() as u64 != first || added.len() as u64 != second {
            return self.refuse(format!(
                "expected {first} and {second} values, found {} and {}",
                values.len(),
                added.len()
            ));
        }
        values.extend(added.iter().cloned().map(rewrite::python_value));
        old.batch_size = stack::batch_size(values);
        Ok(())
    }
}

fn equal(one: &FieldValue, other: &FieldValue) -> bool {
    match (one, other) {
        (FieldValue::Json(one), FieldValue::Json(other)) => {
            packstone_container::json::python_eq(one, other)
        }
        (FieldValue::Container(one), FieldValue::Container(other)) => one == other,
        _ => false,
    }
}

/// The folder of a key, under its encoded name or, in older saves, the key itself.
///
/// # Errors
/// `path_escape`.
pub fn folder_of(root: &dyn RootMut, folder: &RelPath, key: &str) -> Result<RelPath> {
    let encoded = below(folder, &names::encode(key))?;
    match below(&encoded, META).map(|meta| root.len(&meta).is_ok()) {
        Ok(false) if names::is_safe(key, true) => below(folder, key),
        _ => Ok(encoded),
    }
}

/// A name below a folder.
///
/// # Errors
/// `path_escape`.
pub fn below(folder: &RelPath, name: &str) -> Result<RelPath> {
    RelPath::new(&format!("./{folder}/{name}")).map_err(|why| {
        Error::new(Kind::Denied, codes::PATH_ESCAPE, Place::file(name), why.to_string())
    })
}
