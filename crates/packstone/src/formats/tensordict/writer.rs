//! Writing samples: leaves grow as batches come, documents follow at the end.
//!
//! ```text
//! meta.json          batch size [], "_packstone": which keys are collections, which fields they have, what is carried
//! train/meta.json    batch size [N]
//! train/x.memmap     [N, …]                   a field of one shape
//! train/y.memmap, train/y.shape.memmap        a field of varying shape
//! train/t/meta.json                           text or JSON, a value a sample
//! ```
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
use super::{codes, document};
use crate::error::{Error, Place, Result};
use crate::format::{Plan, Writer, Written};
use crate::model::{Batch, DType, Schema};

/// Writes samples as a new tree.
pub struct TreeWriter {
    /// The archive to come, where it is one.
    target: Option<(Arc<dyn RootMut>, RelPath)>,
    growth: Growth,
    options: SaveOptions,
    schema: Arc<Schema>,
    carried: Option<Object>,
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

impl TreeWriter {
    /// Starts a new tree in `root`: an empty folder, or a file that is not there yet.
    ///
    /// # Errors
    /// Those of [`check`]; `io/exists`; `Conflict` where somebody else is writing to the folder; `Io`.
    pub fn create(root: Arc<dyn RootMut>, plan: &Plan, options: SaveOptions) -> Result<Self> {
        check(plan, &options)?;
        let lanes = keys(plan, &options).into_iter().map(|(name, key)| {
            let place = || Place::default().field(key.clone());
            let denied = |why| Error::new(Kind::Denied, codes::PATH_ESCAPE, place(), why);
            let folder = name_of(&key, true, options.key_names).map_err(denied)?;
            let folder =
                RelPath::new(&format!("./{folder}")).map_err(|why| denied(why.to_string()))?;
            let fields = plan.schema.fields.iter();
            let columns = fields.map(|field| Columns::new(field, &folder, options.key_names));
            let columns = columns.collect::<Result<_>>()?;
            Ok(Lane { name, key, folder, rows: 0, columns })
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
            lanes,
            failed: false,
        };
        writer.make_folders()?;
        Ok(writer)
    }

    fn make_folders(&mut self) -> Result<()> {
        let Ground::Folder(stage) = &mut self.growth.ground else { return Ok(()) };
        for lane in &self.lanes {
            stage.folder(&lane.folder)?;
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
        for lane in &self.lanes {
            let node = Node::TensorDict(skeleton::tree(&self.schema, lane.rows)?);
            documents(&lane.folder, &node, &self.options, &mut out)?;
            root.entries.push((lane.key.clone(), node));
        }
        let extension = Extension {
            collections: Some(
                self.lanes.iter().map(|lane| (lane.name.clone(), lane.key.clone())).collect(),
            ),
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
    RelPath::new(&format!("./{folder}/{name}")).map_err(|why| denied(why.to_string()))
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
