//! A tree as a dataset.
//!
//! ```text
//! batch size [N, …]    one collection `data` of N samples, one a row
//! batch size []        one collection `data` of one sample
//! "_packstone" in the root document names keys: a collection each, of as many samples as that node has rows
//! any mapping below    a collection by its dotted key, on request: `next`
//! ```

mod opened;
mod rowwise;

use std::sync::Arc;

use packstone_container::json::Object;
use packstone_io::{Kind, RelPath, Root, RootMut};

use super::codes;
use super::layout::META;
use super::options::{SaveOptions, TreeOptions};
use super::parts::extension::Extension;
use super::parts::leaves::{Entry, leaves};
use super::parts::line::line;
use super::parts::node::{Fault, Node};
use super::parts::outline::outline;
use super::parts::store::Store;
use super::parts::transfer;
use super::parts::tree::Tree;
use crate::error::{Error, Place, Result};
use crate::exec::Progress;
use crate::format::{Collection, Dataset, Info, Leaves, Rewrite, Written};
use crate::model::{Field, Outline, Schema};
use rowwise::Rowwise;

pub use opened::{Opened, is_archive, open_store, shown_by};

/// The one collection of a tree that says nothing else.
pub const DATA: &str = "data";

/// An open tree.
pub struct TensorDictDataset {
    info: Info,
    /// The root document, or the archive.
    file: RelPath,
    store: Arc<dyn Store>,
    tree: Arc<Tree>,
    /// Names of collections, with their keys in the root; without a key, the root is the collection.
    names: Vec<(String, Option<String>)>,
    /// The fields of all collections, where packstone wrote them.
    declared: Option<Vec<Field>>,
    schema: Arc<Schema>,
    /// The first collection, which the schema is of.
    first: Option<Arc<Rowwise>>,
    options: TreeOptions,
}

impl TensorDictDataset {
    /// Opens the tree in `root`: its documents are read, no leaf is.
    ///
    /// # Errors
    /// Those of [`open_store`] and [`Tree::load`]; the fault of the first node that cannot be read.
    pub fn open(root: Arc<dyn Root>, options: &TreeOptions) -> Result<Self> {
        Self::open_by(Tree::load, root, options)
    }

    /// The same without a look at each leaf, see [`Tree::sketch`].
    ///
    /// # Errors
    /// As for [`TensorDictDataset::open`].
    pub fn open_sketched(root: Arc<dyn Root>, options: &TreeOptions) -> Result<Self> {
        Self::open_by(Tree::sketch, root, options)
    }

    fn open_by(
        load: impl Fn(Arc<dyn Store>, &TreeOptions) -> Result<Tree>,
        root: Arc<dyn Root>,
        options: &TreeOptions,
    ) -> Result<Self> {
        let file = shown_by(root.as_ref());
        let store = open_store(root, &options.limits)?.store();
        let tree = load(Arc::clone(&store), options)?;
        Self::over(file, store, tree, options)
    }

    /// The dataset that a loaded tree is.
    ///
    /// # Errors
    /// The fault of the first node that cannot be read; `too_large` where nothing stands behind its rows.
    pub fn over(
        file: RelPath,
        store: Arc<dyn Store>,
        tree: Tree,
        options: &TreeOptions,
    ) -> Result<Self> {
        if let Some(fault) = first_broken(&tree.root) {
            return Err(fault.error());
        }
        let native =
            tree.root.document().map(|document| document.as_ref().clone()).unwrap_or_default();
        let Extension { collections, fields: declared, carried } =
            Extension::read(&native).unwrap_or_default();
        let info = Info { format: "tensordict", native, carried };
        let names = match collections {
            Some(named) => named.into_iter().map(|(name, key)| (name, Some(key))).collect(),
            None => vec![(DATA.to_owned(), None)],
        };
        let (tree, options) = (Arc::new(tree), options.clone());
        let schema = Arc::new(Schema::new(declared.clone().unwrap_or_default()));
        let first = None;
        let mut dataset = Self { info, file, store, tree, names, declared, schema, first, options };
        if let Some((name, _)) = dataset.names.first() {
            let first = Arc::new(dataset.open_collection(name)?);
            dataset.schema = Arc::clone(first.schema());
            dataset.first = Some(first);
        }
        Ok(dataset)
    }

    /// Everything that the tree holds as it is stored, in tree order.
    pub fn entries(&self) -> Vec<Entry<'_>> {
        leaves(&self.tree.root)
    }

    /// The tree itself.
    pub fn tree(&self) -> &Arc<Tree> {
        &self.tree
    }

    /// The tree, its leaves held against the lengths of their files.
    fn measured(&self) -> Result<Arc<Tree>> {
        match self.tree.measured {
            true => Ok(Arc::clone(&self.tree)),
            false => Ok(Arc::new(Tree::load(Arc::clone(&self.store), &self.options)?)),
        }
    }

    fn open_collection(&self, name: &str) -> Result<Rowwise> {
        let root = &self.tree.root;
        let known = self.names.iter().find(|(known, _)| known == name);
        let declared = known.and(self.declared.as_deref());
        let found = match known {
            Some((_, None)) => Some(root),
            Some((_, Some(key))) => self.get(key),
            None => at_path(root, name),
        };
        let is_mapping = |node: &&Node| !matches!(node, Node::Leaf(_) | Node::NestedTensor(_));
        let node = found.filter(is_mapping).ok_or_else(|| {
            let known = self.collections().join(", ");
            let message = format!(
                "expected one of the collections {known}, or the key of a mapping, found {name:?}"
            );
            Error::new(Kind::NotFound, codes::UNKNOWN_COLLECTION, Place::file(META), message)
        })?;
        Rowwise::new(name, &self.file, node, declared, self.options.limits)
    }

    fn get(&self, key: &str) -> Option<&Node> {
        match &self.tree.root {
            Node::TensorDict(root) => root.get(key),
            _ => None,
        }
    }
}

/// The first node that could not be read.
pub fn first_broken(node: &Node) -> Option<Fault> {
    match node {
        Node::Broken(fault) => Some(fault.clone()),
        other => other.children().into_iter().find_map(|(_, child)| first_broken(child)),
    }
}

/// The node at a dotted path of keys; keys may have dots of their own.
fn at_path<'a>(node: &'a Node, path: &str) -> Option<&'a Node> {
    node.children().into_iter().find_map(|(key, child)| {
        let rest = path.strip_prefix(key.as_ref())?;
        match rest.strip_prefix('.') {
            Some(rest) => at_path(child, rest),
            None => rest.is_empty().then_some(child),
        }
    })
}

impl Dataset for TensorDictDataset {
    fn info(&self) -> &Info {
        &self.info
    }

    fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    fn collections(&self) -> Vec<String> {
        self.names.iter().map(|(name, _)| name.clone()).collect()
    }

    fn rewriter(&self) -> Option<&dyn Rewrite> {
        Some(self)
    }

    fn outline(&self) -> Result<Option<Outline>> {
        Ok(Some(outline("", &self.measured()?.root)))
    }

    fn leaves(&self) -> Option<Leaves<'_>> {
        let limits = self.options.limits;
        Some(Box::new(self.entries().into_iter().map(move |entry| line(&entry, &limits))))
    }

    fn collection(&self, name: &str) -> Result<Arc<dyn Collection>> {
        match &self.first {
            Some(first) if first.name == name => Ok(Arc::clone(first) as Arc<dyn Collection>),
            _ => Ok(Arc::new(self.open_collection(name)?)),
        }
    }
}

impl Rewrite for TensorDictDataset {
    fn rewrite(
        &self,
        target: &Arc<dyn RootMut>,
        options: &Object,
        progress: Option<&Arc<dyn Progress>>,
    ) -> Result<Written> {
        let options = SaveOptions::default().with(options)?;
        let tree = self.measured()?;
        let saved = transfer::copy(&self.store, &tree, target, &options, progress)?;
        let lens = self.names.iter().map(|(name, _)| Ok(self.open_collection(name)?.len));
        let lens = lens.collect::<Result<Vec<u64>>>()?;
        let samples = lens.iter().fold(0, |sum: u64, len| sum.saturating_add(*len));
        Ok(Written { samples, shards: saved.files, bytes: saved.bytes })
    }
}
