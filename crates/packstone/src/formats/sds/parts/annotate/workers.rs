//! Annotations by workers: shards that each writes with a pointer, and which pointers are there.
//!
//! Of workers that try the same shard the first pointer counts, and all others get it back; their objects stay and mean
//! nothing.

use std::sync::Arc;

use packstone_io::{RelPath, Root, RootMut};

use super::super::super::codes;
use super::super::super::layout::{pointer_path, set_folder, worker_path};
use super::super::super::options::Policy;
use super::super::super::reader::SdsDataset;
use super::super::annotations::read_document;
use super::super::carrier::Annotation;
use super::super::notes::Notes;
use super::super::pointer::WorkerPointer;
use super::super::reference::{ObjectPath, Objects};
use super::super::store::{create_document, persist_folders};
use super::ids::Ids;
use super::object::SetObject;
use super::{check_portable, refused};
use crate::error::{Place, Result};
use crate::exec::Retry;

/// Which shard of which publication a worker writes.
#[derive(Clone, Debug)]
pub struct WorkerShard {
    /// The name of the set.
    pub name: String,
    /// Which publication of it.
    pub publication_id: String,
    /// Which shard; workers that try the same one have the same id.
    pub logical_shard_id: String,
    /// The ordinal of the first annotation.
    pub first_ordinal: u64,
}

/// Writes a worker's annotations, and gives the pointer that counts: its own, or that of the worker that was first.
///
/// # Errors
/// `id_invalid`, `annotation_mismatch`, `coverage` for none or more than there are records; those of encoding; I/O faults.
pub fn write_annotation_shard(
    root: &Arc<dyn RootMut>,
    dataset: &SdsDataset,
    shard: &WorkerShard,
    annotations: &[Annotation],
) -> Result<WorkerPointer> {
    let WorkerShard { name, publication_id, logical_shard_id, first_ordinal } = shard;
    check_portable("a name of a set", name)?;
    check_portable("a publication id", publication_id)?;
    check_portable("a logical shard id", logical_shard_id)?;
    let policy = &dataset.store().policy;
    let end = first_ordinal.saturating_add(annotations.len() as u64);
    if annotations.is_empty() || end > dataset.len() {
        let expected = format!("annotations of records below {}, one at least", dataset.len());
        let found = format!("{} from record {first_ordinal} on", annotations.len());
        return Err(refused(codes::COVERAGE, &expected, found));
    }
    let mut ids = Ids::from(dataset, *first_ordinal);
    for (ordinal, annotation) in (*first_ordinal..).zip(annotations) {
        ids.check(ordinal, annotation)?;
    }
    let folder = format!("{}/objects", set_folder(name, publication_id));
    let folder = RelPath::new(&folder).unwrap_or_default();
    let retry = Retry::default();
    let mut object = SetObject::start(root.as_ref(), &folder)?;
    annotations.iter().try_for_each(|annotation| object.push(annotation, policy))?;
    let (object, _) = object
        .finish(&retry, |content| worker_path(name, publication_id, logical_shard_id, content))?;
    let own = WorkerPointer {
        name: name.clone(),
        publication_id: publication_id.clone(),
        source_snapshot_id: dataset.snapshot().snapshot_id.clone(),
        logical_shard_id: logical_shard_id.clone(),
        first_ordinal: *first_ordinal,
        record_ids: annotations.iter().map(|a| a.source_record_id.clone()).collect(),
        uri: format!("{}/{}", root.label().trim_end_matches('/'), object.path),
        stored_bytes: object.stored_bytes,
        statuses: annotations.iter().map(|annotation| annotation.status).collect(),
        terminal_statuses: annotations.iter().map(Annotation::terminal_status).collect(),
    };
    let path = pointer_path(name, publication_id, logical_shard_id);
    let path = RelPath::new(&path).unwrap_or_default();
    let text = own.text();
    // What nobody could read back is not left behind.
    WorkerPointer::parse(text.as_bytes(), &policy.control, &mut Notes::silent(Place::file(&path)))?;
    match retry.run(|| create_document(root.as_ref(), &path, text.as_bytes())) {
        Ok(()) => {}
        Err(error) if error.code() == codes::COLLISION => {
            let readable: Arc<dyn Root> = Arc::clone(root) as _;
            let first = read_document(&Objects::new(readable, &[]), &path, policy)?;
            let mut notes = Notes::silent(Place::file(&path));
            return WorkerPointer::parse(&first, &policy.control, &mut notes);
        }
        Err(error) => return Err(error),
    }
    if let ObjectPath::Relative(object) = &object.path {
        persist_folders(root.as_ref(), [object, &path].into_iter())?;
    }
    Ok(own)
}

/// The pointers that workers left in a publication of a set, in the order of their ordinals.
///
/// # Errors
/// Those of [`WorkerPointer::parse`]; I/O faults.
pub fn worker_pointers(
    root: &Arc<dyn Root>,
    name: &str,
    publication_id: &str,
    policy: &Policy,
) -> Result<Vec<WorkerPointer>> {
    check_portable("a name of a set", name)?;
    check_portable("a publication id", publication_id)?;
    let objects = Objects::new(Arc::clone(root), &[]);
    let folder = format!("{}/shards", set_folder(name, publication_id));
    let folder = RelPath::new(&folder).unwrap_or_default();
    let mut pointers = Vec::new();
    for part in root.list(&folder)? {
        let Ok(part) = folder.join(&part.name) else { continue };
        for file in root.list(&part)?.iter().filter(|file| file.name.ends_with(".json")) {
            let Ok(path) = part.join(&file.name) else { continue };
            let bytes = read_document(&objects, &path, policy)?;
            let mut notes = Notes::silent(Place::file(&path));
            pointers.push(WorkerPointer::parse(&bytes, &policy.control, &mut notes)?);
        }
    }
    pointers.sort_by_key(|pointer| pointer.first_ordinal);
    Ok(pointers)
}
