//! Writing samples: leaves grow as batches come, documents follow at the end.
//!
//! ```text
//! meta.json          batch size [], "_packstone": which keys are collections, which fields they have, what is carried
//! train/meta.json    batch size [N]
//! train/x.memmap     [N, …]                   a field of one shape
//! train/y.memmap, train/y.shape.memmap        a field of varying shape
//! train/t/meta.json                           text or JSON, a value a sample
//! ```
//! Samples that were the root of a tree once, as what is carried along says, are the root again: batch size `[N]`, and the
//! fields are its keys.
//!
//! The number of samples need not be known. Memory is bounded by the number of fields. A folder is written in place and
//! is no dataset before its root document is there; of an archive nothing is there before it is whole. A writer that is
//! dropped takes everything back.

use std::sync::Arc;

use packstone_container::json::{self, Object, Style, Value};
use packstone_io::{Buf, Kind, RelPath, RootMut};

use super::layout::{EXTENSION, KEPT_KEYS, LOST_KEYS, META, NAME_BYTES};
use super::options::SaveOptions;
use super::parts::column::{Columns, Piece};
use super::parts::extension::Extension;
use super::parts::files::{Body, Files, OutFile, name_of};
use super::parts::grow::{Ground, Growing, Growth, Pit};
use super::parts::node::{Node, TensorDict};
use super::parts::pack;
use super::parts::skeleton;
use super::parts::stage::Stage;
use super::reader::DATA;
use super::{codes, document};
use crate::error::{Error, Place, Result};
use crate::format::{Plan, Writer, Written};
use crate::model::{Batch, DType, Schema};

/// The format's id, as plans name their source.
const TREE: &str = "tensordict";

/// Writes samples as a new tree.
pub struct TreeWriter {
    /// The archive to come, where it is one.
    target: Option<(Arc<dyn RootMut>, RelPath)>,
    growth: Growth,
    options: SaveOptions,
    schema: Arc<Schema>,
    carried: Option<Object>,
    /// Where the one collection is the root: what its document said.
    once: Option<Object>,
    lanes: Vec<Lane>,
    failed: bool,
}

/// One collection.
struct Lane {
    name: String,
    key: String,
    folder: RelPath,
    rows: u64,
    columns: Vec<Columns>,
}

/// What the root said about itself where it was the one collection, and this is the one that is to be written.
pub fn once_root(plan: &Plan) -> Option<&Object> {
    let [(name, _)] = plan.collections.as_slice() else { return None };
    let (_, native) = plan.source.as_ref().filter(|(id, _)| id == TREE && name == DATA)?;
    let whole = Extension::read(native).is_none_or(|said| said.collections.is_none());
    // A tree without a batch dimension has no place for that of the samples.
    let single = native.get("shape").and_then(Value::as_array).is_some_and(|dims| dims.is_empty());
    let taken =
        plan.schema.fields.iter().any(|f| f.key.parts().first().is_some_and(|k| k == EXTENSION));
    Some(native).filter(|_| whole && !single && !taken)
}

/// The keys of collections in the root: their names, but for names that cannot be keys.
pub fn keys(plan: &Plan, options: &SaveOptions) -> Vec<(String, String)> {
    let mut keys: Vec<(String, String)> = Vec::new();
    for (number, (name, _)) in plan.collections.iter().enumerate() {
        let reserved = [EXTENSION, META].into_iter().chain(LOST_KEYS).chain(KEPT_KEYS);
        let fits = name_of(name, true, options.key_names).is_ok_and(|n| n.len() <= NAME_BYTES)
            && !reserved.into_iter().any(|key| key == name);
        let mut key = if fits { name.clone() } else { format!("collection_{number}") };
        let taken = |key: &String| {
            plan.collections.iter().any(|(other, _)| other == key && other != name)
                || keys.iter().any(|(_, other)| other == key)
        };
        while taken(&key) {
            key.push('_');
        }
        keys.push((name.clone(), key));
    }
    keys
}

/// Refuses a plan that no tree can hold, by the names of its files and the types of its fields.
///
/// # Errors
/// `name_collision`, `name_too_long`, `reserved_key`, `unsupported_dtype`, `bad_shape`, `path_escape`,
/// `value_not_storable`.
pub fn check(plan: &Plan, options: &SaveOptions) -> Result<()> {
    let bytes = plan.schema.fields.iter().find(|f| f.is_variable() && f.dtype == DType::Bytes);
    if let Some(field) = bytes {
        let message = "expected values that JSON or tensors hold, found bytes of any length";
        let place = Place::default().field(field.key.to_string());
        return Err(Error::new(Kind::Unsupported, codes::VALUE_NOT_STORABLE, place, message));
    }
    let tree = skeleton::sample(&plan.schema)?;
    Files::zeroed(&Node::TensorDict(tree), options).map(drop)
}

/// The collections with their keys, as the root of several has them.
fn named(plan: &Plan, options: &SaveOptions) -> Vec<(String, Option<String>)> {
    keys(plan, options).into_iter().map(|(name, key)| (name, Some(key))).collect()
}

fn columns(plan: &Plan, folder: &RelPath, options: &SaveOptions) -> Result<Vec<Columns>> {
    let fields = plan.schema.fields.iter();
    fields.map(|field| Columns::new(field, folder, options.key_names)).collect()
}

/// The device of a root and the name of its batch dimension, where it has one dimension.
fn labels(once: &Object) -> (Option<String>, Option<Vec<Option<String>>>) {
    let device = once.get("device").and_then(Value::as_str).filter(|device| *device != "None");
    let names = once.get("_names").and_then(Value::as_array);
    let names = names.filter(|names| names.len() == 1);
    let names = names.map(|names| names.iter().map(|n| n.as_str().map(str::to_owned)).collect());
    (device.map(str::to_owned), names)
}

impl TreeWriter {
    /// Starts a new tree in `root`: an empty folder, or a file that is not there yet.
    ///
    /// # Errors
    /// Those of [`check`]; `io/exists`; `Conflict` where somebody else is writing to the folder; `Io`.
    pub fn create(root: Arc<dyn RootMut>, plan: &Plan, options: SaveOptions) -> Result<Self> {
        check(plan, &options)?;
        let once = once_root(plan).cloned();
        let at = if once.is_some() { vec![(DATA.to_owned(), None)] } else { named(plan, &options) };
        let lanes = at.into_iter().map(|(name, key)| {
            let Some(key) = key else {
                let (key, folder) = (String::new(), RelPath::root());
                return Ok(Lane {
                    columns: columns(plan, &folder, &options)?,
                    name,
                    key,
                    folder,
                    rows: 0,
                });
            };
            let place = || Place::default().field(key.clone());
            let denied = |why| Error::new(Kind::Denied, codes::PATH_ESCAPE, place(), why);
            let folder = name_of(&key, true, options.key_names).map_err(denied)?;
            let folder =
                RelPath::new(&format!("./{folder}")).map_err(|why| denied(why.to_string()))?;
            Ok(Lane { columns: columns(plan, &folder, &options)?, name, key, folder, rows: 0 })
        });
        let lanes = lanes.collect::<Result<Vec<Lane>>>()?;
        let files = lanes.iter().flat_map(|lane| &lane.columns).map(Columns::files).sum();
        let (target, ground) = match root.sole_file().cloned() {
            Some(path) => {
                pack::refuse_existing(root.as_ref(), &path)?;
                let ground = Ground::Archive(Pit::new(Arc::clone(&root)));
                (Some((root, path)), ground)
            }
            None => {
                let stage = Stage::begin(&root, &RelPath::root(), false)?;
                (None, Ground::Folder(stage))
            }
        };
        let mut writer = Self {
            target,
            growth: Growth::new(ground, files),
            options,
            schema: Arc::clone(&plan.schema),
            carried: plan.carried.clone(),
            once,
            lanes,
            failed: false,
        };
        writer.make_folders()?;
        Ok(writer)
    }

    fn make_folders(&mut self) -> Result<()> {
        let Ground::Folder(stage) = &mut self.growth.ground else { return Ok(()) };
        for lane in &self.lanes {
            if !lane.folder.is_root() {
                stage.folder(&lane.folder)?;
            }
            let tree = Node::TensorDict(skeleton::tree(&self.schema, 1)?);
            for folder in folders(&lane.folder, &tree, &self.options)? {
                stage.folder(&folder)?;
            }
        }
        Ok(())
    }

    fn lane(&self, collection: &str) -> Result<usize> {
        self.lanes.iter().position(|lane| lane.name == collection).ok_or_else(|| {
            let known: Vec<_> = self.lanes.iter().map(|lane| lane.name.as_str()).collect();
            let message = format!(
                "expected one of the collections {}, found {collection:?}",
                known.join(", ")
            );
            Error::new(Kind::NotFound, codes::UNKNOWN_COLLECTION, Place::default(), message)
        })
    }

    fn append(&mut self, lane: usize, batch: &Batch) -> Result<()> {
        let Some(lane) = self.lanes.get_mut(lane) else { return Ok(()) };
        let fields = batch.schema().fields.iter().zip(batch.columns());
        let accepted = lane.columns.iter().zip(fields);
        let pieces = accepted
            .map(|(own, (field, column))| own.accept(field, column))
            .collect::<Result<Vec<Piece<'_>>>>()?;
        // From here on a fault leaves rows that some fields have and others have not.
        for (column, piece) in lane.columns.iter_mut().zip(&pieces) {
            let growth = &mut self.growth;
            column.append(growth, piece).inspect_err(|_| self.failed = true)?;
        }
        lane.rows = lane.rows.saturating_add(batch.rows() as u64);
        Ok(())
    }

    /// The documents of the root and of all mappings below, the root's last.
    fn documents(&self) -> Result<Vec<(RelPath, String)>> {
        let mut out = Vec::new();
        let mut root = TensorDict::new(Vec::new(), Vec::new());
        if let (Some(once), [lane]) = (&self.once, self.lanes.as_slice()) {
            root = skeleton::tree(&self.schema, lane.rows)?;
            for (key, node) in &root.entries {
                let folder = below(&lane.folder, key, &self.options)?;
                documents(&folder, node, &self.options, &mut out)?;
            }
            (root.device, root.names) = labels(once);
        }
        for lane in self.lanes.iter().filter(|_| self.once.is_none()) {
            let node = Node::TensorDict(skeleton::tree(&self.schema, lane.rows)?);
            documents(&lane.folder, &node, &self.options, &mut out)?;
            root.entries.push((lane.key.clone(), node));
        }
        let extension = Extension {
            collections: self.once.is_none().then(|| {
                self.lanes.iter().map(|lane| (lane.name.clone(), lane.key.clone())).collect()
            }),
            fields: Some(self.schema.fields.clone()),
            carried: self.carried.clone(),
        };
        let mut own = document::of(&Node::TensorDict(root)).unwrap_or_default();
        own.insert(EXTENSION, extension.text());
        let text = json::write(&Value::Object(own), &Style::PYTHON);
        out.push((RelPath::new(META).unwrap_or_default(), text));
        Ok(out)
    }

    fn publish(self) -> Result<Written> {
        let documents = self.documents()?;
        let Self { target, mut growth, mut lanes, options, .. } = self;
        let mut written = Written::default();
        let mut files: Vec<&Growing> = Vec::new();
        for lane in &mut lanes {
            written.samples = written.samples.saturating_add(lane.rows);
            for column in &mut lane.columns {
                files.extend(column.close(&mut growth, lane.rows)?);
            }
        }
        written.shards = files.len() as u64;
        written.bytes = files.iter().fold(0, |sum, file| sum.saturating_add(file.len()));
        match growth.ground {
            Ground::Folder(mut stage) => {
                let (root, below) = documents.split_last().unzip();
                for (path, text) in below.unwrap_or_default() {
                    stage.create(path, text.as_bytes())?;
                }
                stage.finish(root.map(|(_, text)| text.as_bytes()).unwrap_or_default())?;
            }
            Ground::Archive(pit) => {
                let all = pit.read_back()?;
                let mut entries = Files::default();
                for file in files {
                    let body = Body::Pieces(file.pieces(&all)?);
                    let (path, len) = (file.path().clone(), file.len());
                    entries.files.push(OutFile { path, len, body });
                }
                for (path, text) in documents {
                    let bytes = Buf::from(text.into_bytes());
                    let len = bytes.as_ref().len() as u64;
                    entries.files.push(OutFile { path, len, body: Body::Given(bytes) });
                }
                if let Some((root, path)) = target {
                    pack::write(&root, &path, entries, &options, None)?;
                }
            }
        }
        Ok(written)
    }
}

/// The folders below `folder` that a node needs, parents first.
fn folders(folder: &RelPath, node: &Node, options: &SaveOptions) -> Result<Vec<RelPath>> {
    let mut out = Vec::new();
    for (key, child) in node.children() {
        if matches!(child, Node::Leaf(_) | Node::NestedTensor(_)) {
            continue;
        }
        let inner = below(folder, &key, options)?;
        out.push(inner.clone());
        out.extend(folders(&inner, child, options)?);
    }
    Ok(out)
}

/// The documents of a mapping and of all mappings below, its own last.
fn documents(
    folder: &RelPath,
    node: &Node,
    options: &SaveOptions,
    out: &mut Vec<(RelPath, String)>,
) -> Result<()> {
    let Node::TensorDict(_) = node else { return Ok(()) };
    for (key, child) in node.children() {
        documents(&below(folder, &key, options)?, child, options, out)?;
    }
    let own = document::of(node).unwrap_or_default();
    out.push((folder.join(META).unwrap_or_default(), document::text(node, &own)));
    Ok(())
}

fn below(folder: &RelPath, key: &str, options: &SaveOptions) -> Result<RelPath> {
    let denied = |message: String| {
        Error::new(Kind::Denied, codes::PATH_ESCAPE, Place::default().field(key), message)
    };
    let name = name_of(key, true, options.key_names).map_err(denied)?;
    let name = RelPath::new(&format!("./{name}")).map_err(|why| denied(why.to_string()))?;
    Ok(folder.below(&name))
}

impl Writer for TreeWriter {
    fn write(&mut self, collection: &str, batch: &Batch) -> Result<()> {
        if self.failed {
            let message = "expected a writer without a failure, found one that failed before";
            return Err(super::options::invalid(message.to_owned()));
        }
        let lane = self.lane(collection)?;
        if batch.columns().len() != self.schema.fields.len() {
            let message = format!(
                "expected {} fields, found {}",
                self.schema.fields.len(),
                batch.columns().len()
            );
            return Err(Error::new(
                Kind::Invalid,
                codes::VALUE_NOT_STORABLE,
                Place::default(),
                message,
            ));
        }
        if batch.metadata_runs().any(|(_, metadata)| !metadata.is_empty()) {
            let message = "expected samples without metadata of their own, found some";
            return Err(Error::new(
                Kind::Unsupported,
                codes::VALUE_NOT_STORABLE,
                Place::default(),
                message,
            ));
        }
        self.append(lane, batch)
    }

    fn finish(self: Box<Self>) -> Result<Written> {
        if self.failed {
            let message = "expected a writer without a failure, found one that failed before";
            return Err(super::options::invalid(message.to_owned()));
        }
        self.publish()
    }
}
