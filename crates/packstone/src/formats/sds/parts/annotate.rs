//! Publishing annotation sets: by one process, or by workers and one that joins what they wrote.
//!
//! Objects come first, then the set root, then a revision of the catalog, and last the pointer to it, which is replaced
//! only where it is still the one that was read. Names of sets accumulate; no set can be published again with other
//! content.

mod ids;
mod join;
mod object;
mod swap;
mod workers;

use std::sync::Arc;
use std::time::Duration;

use packstone_container::json::{Object as Json, Value};
use packstone_io::{Kind, RelPath, RootMut};

use super::super::codes;
use super::super::layout::{
    annotation_path, is_portable, publication_id, set_folder, set_root_path,
};
use super::super::options::Policy;
use super::super::reader::SdsDataset;
use super::carrier::Annotation;
use super::catalog::{SetReference, SetRoot, SetShard};
use super::notes::Notes;
use super::payload::check_spellable;
use super::reference::ObjectPath;
use super::store::{create_document, persist_folders};
use super::text::pythonic_object;
use crate::error::{Error, Place, Result};
use crate::exec::Retry;
use object::SetObject;
use swap::update_catalog;

pub use ids::Ids;
pub use join::publish_annotation_shards;
pub use workers::{WorkerShard, worker_pointers, write_annotation_shard};

/// How annotations are published.
#[derive(Clone, Debug)]
pub struct AnnotationOptions {
    /// Annotations in a shard.
    pub records_per_shard: u64,
    /// Which publication of the set this is; by default one that follows from the snapshot and the name.
    pub publication_id: Option<String>,
    /// How often to begin again where somebody without the lock changed the catalog in between.
    pub retries: u32,
    /// How long to wait for another publisher.
    pub patience: Duration,
    /// How often to begin again after faults that pass.
    pub retry: Retry,
}

impl Default for AnnotationOptions {
    fn default() -> Self {
        let patience = Duration::from_secs(60);
        let (publication_id, retry) = (None, Retry::default());
        Self { records_per_shard: 10_000, publication_id, retries: 8, patience, retry }
    }
}

fn refused(code: &'static str, expected: &str, found: impl std::fmt::Display) -> Error {
    let message = format!("expected {expected}, found {found}");
    Error::new(Kind::Invalid, code, Place::default(), message)
}

fn check_portable(what: &str, id: &str) -> Result<()> {
    let expected = format!("{what} of 1 to 128 letters, digits, '.', '_' and '-'");
    if is_portable(id) {
        Ok(())
    } else {
        Err(refused(codes::ID_INVALID, &expected, format!("{id:?}")))
    }
}

/// Checks all that [`publish_annotations`] checks while it writes, so that what it would refuse leaves nothing behind.
///
/// # Errors
/// `annotation_mismatch`, `coverage`; those of encoding, with the record.
pub fn check_annotations(
    dataset: &SdsDataset,
    annotations: impl IntoIterator<Item = Result<Annotation>>,
) -> Result<()> {
    let mut ids = Ids::from(dataset, 0);
    let mut count = 0u64;
    for annotation in annotations {
        let annotation = annotation?;
        ids.check(count, &annotation)?;
        annotation.encode(&dataset.store().policy.records).map_err(|error| {
            let place = error.place().clone().record(count);
            Error::new(error.kind(), error.code(), place, error.message())
        })?;
        count = count.saturating_add(1);
    }
    check_coverage(dataset, count)
}

fn check_coverage(dataset: &SdsDataset, count: u64) -> Result<()> {
    if count == dataset.len() {
        return Ok(());
    }
    let expected = format!("{} annotations, one a record", dataset.len());
    Err(refused(codes::COVERAGE, &expected, count))
}

/// Publishes an annotation for each record of `dataset`, in their order, as the set `name`.
///
/// Run again with the same annotations it succeeds; nothing is visible before it returns.
///
/// # Errors
/// `id_invalid`, `annotation_mismatch`, `coverage`; `collision` where the set was published with other content;
/// those of encoding, `catalog_changed`, `io/conflict`, I/O faults.
pub fn publish_annotations(
    root: &Arc<dyn RootMut>,
    dataset: &SdsDataset,
    name: &str,
    annotations: impl IntoIterator<Item = Result<Annotation>>,
    metadata: &Json,
    options: &AnnotationOptions,
) -> Result<()> {
    let policy = &dataset.store().policy;
    let snapshot_id = &dataset.snapshot().snapshot_id;
    let publication = options.publication_id.clone();
    let publication = publication.unwrap_or_else(|| publication_id(snapshot_id, name));
    let set = begin(dataset, name, &publication, metadata, policy)?;
    let folder = format!("{}/objects", set_folder(name, &publication));
    let folder = RelPath::new(&folder).unwrap_or_default();
    let mut ids = Ids::from(dataset, 0);
    let mut shards: Vec<SetShard> = Vec::new();
    let mut open: Option<SetObject<'_>> = None;
    let (mut ordinal, mut first) = (0u64, 0u64);
    let close = |object: SetObject<'_>, first: u64| -> Result<SetShard> {
        let (object, record_count) = object.finish(&options.retry, |content| {
            annotation_path(name, &publication, first, content)
        })?;
        Ok(SetShard { first_ordinal: first, record_count, object })
    };
    for annotation in annotations {
        let annotation = annotation?;
        if ordinal >= dataset.len() {
            let expected = format!("{} annotations, one a record", dataset.len());
            return Err(refused(codes::COVERAGE, &expected, "more"));
        }
        ids.check(ordinal, &annotation)?;
        let object = match &mut open {
            Some(object) => object,
            none => none.insert(SetObject::start(root.as_ref(), &folder)?),
        };
        object.push(&annotation, policy)?;
        ordinal = ordinal.saturating_add(1);
        if ordinal.saturating_sub(first) >= options.records_per_shard.max(1) {
            shards.extend(open.take().map(|object| close(object, first)).transpose()?);
            first = ordinal;
        }
    }
    shards.extend(open.take().map(|object| close(object, first)).transpose()?);
    check_coverage(dataset, ordinal)?;
    let set = SetRoot { shards, ..set };
    options.retry.run(|| publish_set(root, &set, policy, options))
}

/// A set root without shards, checked as far as it goes.
fn begin(
    dataset: &SdsDataset,
    name: &str,
    publication: &str,
    metadata: &Json,
    policy: &Policy,
) -> Result<SetRoot> {
    check_portable("a name of a set", name)?;
    check_portable("a publication id", publication)?;
    let metadata = pythonic_object(metadata);
    let mut bounds = policy.control;
    bounds.depth = bounds.depth.saturating_sub(1);
    bounds.nodes = bounds.nodes.saturating_sub(16);
    check_spellable(&Value::Object(metadata.clone()), &bounds)?;
    Ok(SetRoot {
        name: name.to_owned(),
        publication_id: publication.to_owned(),
        source_snapshot_id: dataset.snapshot().snapshot_id.clone(),
        record_count: dataset.len(),
        metadata,
        shards: Vec::new(),
    })
}

/// Publishes a set root whose objects are there, and names it in the catalog.
fn publish_set(
    root: &Arc<dyn RootMut>,
    set: &SetRoot,
    policy: &Policy,
    options: &AnnotationOptions,
) -> Result<()> {
    let text = set.text();
    let path = RelPath::new(&set_root_path(&set.name, &set.publication_id)).unwrap_or_default();
    // What readers would refuse is not published.
    SetRoot::parse(text.as_bytes(), &policy.control, &mut Notes::silent(Place::file(&path)))?;
    create_document(root.as_ref(), &path, text.as_bytes())?;
    let objects = set.shards.iter().filter_map(|shard| match &shard.object.path {
        ObjectPath::Relative(path) => Some(path),
        ObjectPath::Absolute(_) => None,
    });
    persist_folders(root.as_ref(), objects.chain([&path]))?;
    let reference = SetReference { path, stored_bytes: text.len() as u64 };
    update_catalog(root, &set.name, &reference, policy, options)
}
