//! A tree as a dataset.
//!
//! ```text
//! batch size [N, …]    one collection `data` of N samples, one a row
//! batch size []        one collection `data` of one sample
//! "_packstone" in the root document names keys: a collection each, of as many samples as that node has rows
//! any mapping below    a collection by its dotted key, on request: `next`
//! ```
//!
//! Rows are read from the maps of leaves without a copy. Shards are ranges of rows, made here: the format has none.

use std::ops::Range;
use std::sync::Arc;

use packstone_container::Limits;
use packstone_container::json::Object;
use packstone_io::{Buf, Kind, RelPath, Root, RootMut};

use super::codes;
use super::layout::META;
use super::options::{SaveOptions, TreeOptions};
use super::parts::archive::ArchiveStore;
use super::parts::extension::Extension;
use super::parts::field::{FieldReader, Rows};
use super::parts::folder::FolderStore;
use super::parts::leaves::{Entry, leaves};
use super::parts::line::line;
use super::parts::node::{Fault, Node};
use super::parts::outline::outline;
use super::parts::readers::{Readers, readers};
use super::parts::store::Store;
use super::parts::transfer;
use super::parts::tree::Tree;
use crate::error::{Error, Place, Result};
use crate::exec::Progress;
use crate::format::{Collection, Dataset, Info, Leaves, ReadContext, Rewrite, ShardRef, Written};
use crate::model::{Batch, Field, Outline, Schema};

/// The one collection of a tree that says nothing else.
pub const DATA: &str = "data";
/// Bytes of the rows of a shard, about.
const SHARD_BYTES: u64 = 4 << 20;
/// Rows of a shard at most.
const SHARD_ROWS: u64 = 1 << 20;
/// Rows that there can be where nothing is stored for each of them: as many as are gone through in seconds.
const BARE_ROWS: u64 = 1 << 24;

/// The files of a tree in `root`: a folder, or an archive where the root is one file.
///
/// # Errors
/// `not_an_archive`, `consolidated`, `corrupt_zip`; I/O faults.
pub fn open_store(root: Arc<dyn Root>, limits: &Limits) -> Result<Opened> {
    let Some(file) = root.sole_file().cloned() else {
        return Ok(Opened::Folder(Arc::new(FolderStore::new(root))));
    };
    let bytes: Buf = root.read(&file)?;
    Ok(Opened::Archive(Arc::new(ArchiveStore::open(bytes, file.name(), limits)?)))
}

/// True where a file is an archive of a tree, or one that `consolidate()` wrote, whatever its name.
///
/// # Errors
/// I/O faults.
pub fn is_archive(root: &dyn Root, file: &RelPath) -> Result<bool> {
    let bytes = match root.read(file) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == Kind::NotFound => return Ok(false),
        Err(error) => return Err(error.into()),
    };
    match ArchiveStore::open(bytes, file.name(), &Limits::default()) {
        Ok(_) => Ok(true),
        Err(error) => Ok(error.code() == codes::CONSOLIDATED),
    }
}

/// The files of a tree.
pub enum Opened {
    /// A folder.
    Folder(Arc<FolderStore>),
    /// An archive.
    Archive(Arc<ArchiveStore>),
}

impl Opened {
    /// What both are.
    pub fn store(&self) -> Arc<dyn Store> {
        match self {
            Self::Folder(store) => Arc::clone(store) as Arc<dyn Store>,
            Self::Archive(store) => Arc::clone(store) as Arc<dyn Store>,
        }
    }
}

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

/// The file that shows a tree: the root document, or the archive.
pub fn shown_by(root: &dyn Root) -> RelPath {
    root.sole_file().cloned().unwrap_or_else(|| RelPath::new(META).unwrap_or_default())
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

/// The rows of a node as samples.
struct Rowwise {
    name: String,
    /// The file that shows it: the root document, or the archive.
    file: RelPath,
    len: u64,
    per_shard: u64,
    schema: Arc<Schema>,
    fields: Vec<FieldReader>,
}

impl Rowwise {
    fn new(
        name: &str,
        file: &RelPath,
        node: &Node,
        declared: Option<&[Field]>,
        limits: Limits,
    ) -> Result<Self> {
        let found = readers(node, &limits);
        let (schema, fields) = match declared {
            Some(declared) => as_declared(found, declared),
            None => found,
        };
        let row = fields.iter().fold(0u64, |n, reader| n.saturating_add(reader.row_bytes()));
        let len = node.batch_size().first().copied().unwrap_or(1);
        // Nothing on the disk stands behind rows without bytes: a number alone must not keep anybody busy.
        let stored = fields.iter().any(|reader| reader.stored_row_bytes() > 0);
        let most = limits.entries.min(BARE_ROWS);
        if !stored && len > most {
            let message =
                format!("expected at most {most} rows without bytes of their own, found {len}");
            return Err(Error::new(
                Kind::Limit,
                codes::TOO_LARGE,
                Place::file(META).json("$.shape"),
                message,
            ));
        }
        let per_shard = (SHARD_BYTES / row.max(1)).clamp(1, SHARD_ROWS);
        let (name, file) = (name.to_owned(), file.clone());
        let schema = Arc::new(Schema::new(schema));
        Ok(Self { name, file, len, per_shard, schema, fields })
    }

    /// A run of no rows yet.
    fn run(&self) -> ShardRef {
        let (metadata, detail) = (Arc::new(Object::new()), Arc::new(()));
        ShardRef { number: 0, first: 0, rows: 0, path: self.file.clone(), metadata, detail }
    }

    fn columns(
        &self,
        rows: Rows<'_>,
        fields: Option<&[usize]>,
        context: &ReadContext,
    ) -> Result<Batch> {
        let all: Range<usize> = 0..self.fields.len();
        let positions: Vec<usize> = fields.map_or_else(|| all.collect(), <[usize]>::to_vec);
        let schema = match fields {
            Some(fields) => Arc::new(self.schema.project(fields)),
            None => Arc::clone(&self.schema),
        };
        let column = |position: &usize| {
            let (field, reader) =
                self.schema.fields.get(*position).zip(self.fields.get(*position))?;
            Some(reader.read(field, rows, &context.limits, context.verify))
        };
        let columns = positions.iter().filter_map(column);
        Batch::new(schema, rows.len(), columns.collect::<Result<_>>()?)
    }
}

/// The fields as packstone's writer declared them, where the tree still is what it wrote; else as they are.
fn as_declared((fields, readers): Readers, declared: &[Field]) -> Readers {
    let mut found: Vec<(Field, FieldReader)> = fields.into_iter().zip(readers).collect();
    let is_of = |field: &Field, (own, reader): &(Field, FieldReader)| reader.fits(own, field);
    let fits = |field: &Field| found.iter().any(|found| is_of(field, found));
    if found.len() != declared.len() || !declared.iter().all(fits) {
        return found.into_iter().unzip();
    }
    found.sort_by_key(|found| declared.iter().position(|field| is_of(field, found)));
    let mut readers: Vec<FieldReader> = found.into_iter().map(|(_, reader)| reader).collect();
    readers.iter_mut().zip(declared).for_each(|(reader, field)| reader.declare(field));
    (declared.to_vec(), readers)
}

impl Collection for Rowwise {
    fn name(&self) -> &str {
        &self.name
    }

    fn len(&self) -> u64 {
        self.len
    }

    fn shard_count(&self) -> u64 {
        self.len.div_ceil(self.per_shard)
    }

    fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    fn has_metadata(&self) -> Result<bool> {
        Ok(false)
    }

    /// What one value has for all rows is counted with the first.
    fn stored_bytes(&self, shard: &ShardRef) -> Option<u64> {
        let each = self.fields.iter().map(FieldReader::stored_row_bytes);
        let each = each.fold(0, u64::saturating_add).saturating_mul(shard.rows);
        let shared = self.fields.iter().filter(|reader| reader.stored_row_bytes() == 0);
        let shared = shared.map(FieldReader::row_bytes).fold(0, u64::saturating_add);
        Some(each.saturating_add(if shard.first == 0 { shared } else { 0 }))
    }

    fn shards(&self, from: u64) -> Box<dyn Iterator<Item = Result<ShardRef>> + Send> {
        let (len, per_shard) = (self.len, self.per_shard);
        let run = self.run();
        Box::new((from / per_shard..self.shard_count()).map(move |number| {
            let first = number.saturating_mul(per_shard);
            let rows = per_shard.min(len.saturating_sub(first));
            Ok(ShardRef { number, first, rows, ..run.clone() })
        }))
    }

    fn window(&self, rows: Range<u64>) -> Option<ShardRef> {
        let inside = rows.start < rows.end && rows.end <= self.len;
        let number = rows.start / self.per_shard;
        inside.then(|| ShardRef {
            number,
            first: rows.start,
            rows: rows.end - rows.start,
            ..self.run()
        })
    }

    fn read(
        &self,
        shard: &ShardRef,
        fields: Option<&[usize]>,
        context: &mut ReadContext,
    ) -> Result<Batch> {
        let count = usize::try_from(shard.rows).unwrap_or(usize::MAX);
        self.columns(Rows::Run(shard.first, count), fields, context)
    }

    fn read_rows(
        &self,
        shard: &ShardRef,
        rows: &[usize],
        fields: Option<&[usize]>,
        context: &mut ReadContext,
    ) -> Result<Batch> {
        if let Some(row) = rows.iter().find(|row| **row as u64 >= shard.rows) {
            let message = format!("expected rows below {}, found {row}", shard.rows);
            return Err(Error::new(
                Kind::NotFound,
                codes::BATCH_MISMATCH,
                Place::file(META),
                message,
            ));
        }
        self.columns(Rows::Listed(shard.first, rows), fields, context)
    }

    fn read_at(
        &self,
        indices: &[u64],
        fields: Option<&[usize]>,
        context: &mut ReadContext,
    ) -> Result<Option<Batch>> {
        let rows: Option<Vec<usize>> =
            indices.iter().map(|index| usize::try_from(*index).ok()).collect();
        match rows.filter(|_| indices.iter().all(|index| *index < self.len)) {
            Some(rows) => self.columns(Rows::Listed(0, &rows), fields, context).map(Some),
            None => Ok(None),
        }
    }
}
