//! Publishing the shards of workers as one set, which cover every record once.

use std::collections::BTreeMap;
use std::sync::Arc;

use packstone_container::array_record::{Reader, ReaderOptions};
use packstone_container::json::Object as Json;
use packstone_io::{Kind, RelPath, Root, RootMut};

use super::super::super::codes;
use super::super::super::layout::{is_lower_hex, set_folder};
use super::super::super::reader::SdsDataset;
use super::super::catalog::{SetRoot, SetShard};
use super::super::pointer::WorkerPointer;
use super::super::reference::{ObjectReference, check_size, opening};
use super::super::shards::damaged;
use super::{AnnotationOptions, begin, publish_set, refused};
use crate::error::{Error, Place, Result};

/// Publishes what workers wrote as the set `name`: together their shards cover every record once.
///
/// # Errors
/// `id_invalid`, `coverage`, `pointer_invalid`, `annotation_mismatch`, `missing_object`, `size_mismatch`,
/// `count_mismatch`; those of [`publish_annotations`](super::publish_annotations).
pub fn publish_annotation_shards(
    root: &Arc<dyn RootMut>,
    dataset: &SdsDataset,
    name: &str,
    publication_id: &str,
    pointers: &[WorkerPointer],
    metadata: &Json,
    options: &AnnotationOptions,
) -> Result<()> {
    let policy = &dataset.store().policy;
    let set = begin(dataset, name, publication_id, metadata, policy)?;
    let mut shards: BTreeMap<&str, &WorkerPointer> = BTreeMap::new();
    for pointer in pointers {
        let id = pointer.logical_shard_id.as_str();
        if *shards.entry(id).or_insert(pointer) != pointer {
            let expected = format!("one winner of the shard {id:?}");
            return Err(refused(codes::COVERAGE, &expected, "two that differ"));
        }
    }
    let mut ordered: Vec<&WorkerPointer> = shards.into_values().collect();
    ordered.sort_by_key(|pointer| pointer.first_ordinal);
    let mut next = 0u64;
    let mut made = Vec::with_capacity(ordered.len());
    for pointer in ordered {
        check_pointer(pointer, &set)?;
        if pointer.first_ordinal != next {
            let expected = format!("a shard from record {next} on");
            let found = format!("one from record {} on", pointer.first_ordinal);
            return Err(refused(codes::COVERAGE, &expected, found));
        }
        let count = pointer.record_ids.len() as u64;
        let end = next.saturating_add(count);
        check_ids(dataset, pointer, next..end)?;
        let object = check_object(root.as_ref(), pointer, name, publication_id)?;
        made.push(SetShard { first_ordinal: next, record_count: count, object });
        next = end;
    }
    if next != dataset.len() {
        let expected = format!("shards that cover {} records", dataset.len());
        return Err(refused(codes::COVERAGE, &expected, format!("{next} covered")));
    }
    let set = SetRoot { shards: made, ..set };
    options.retry.run(|| publish_set(root, &set, policy, options))
}

fn check_pointer(pointer: &WorkerPointer, set: &SetRoot) -> Result<()> {
    for (what, expected, found) in [
        ("set", &set.name, &pointer.name),
        ("publication", &set.publication_id, &pointer.publication_id),
        ("snapshot", &set.source_snapshot_id, &pointer.source_snapshot_id),
    ] {
        if expected != found {
            let expected = format!("shards of the {what} {expected:?}");
            return Err(refused(codes::COVERAGE, &expected, format!("one of {found:?}")));
        }
    }
    Ok(())
}

fn check_ids(
    dataset: &SdsDataset,
    pointer: &WorkerPointer,
    ordinals: std::ops::Range<u64>,
) -> Result<()> {
    if ordinals.end > dataset.len() {
        let expected = format!("shards that cover {} records", dataset.len());
        return Err(refused(codes::COVERAGE, &expected, format!("{} covered", ordinals.end)));
    }
    let rows = dataset.rows(ordinals.clone())?;
    let pairs = rows.iter().zip(&pointer.record_ids).zip(ordinals);
    for ((row, id), ordinal) in pairs {
        if row.id.as_ref() != Some(id) {
            let expected = format!("record id {:?}", row.id.as_deref().unwrap_or_default());
            let error = refused(codes::ANNOTATION_MISMATCH, &expected, format!("{id:?}"));
            return Err(error.with_place(Place::default().record(ordinal)));
        }
    }
    Ok(())
}

/// The object of a pointer, which is there as it says.
fn check_object(
    root: &dyn Root,
    pointer: &WorkerPointer,
    name: &str,
    publication_id: &str,
) -> Result<ObjectReference> {
    let folder = format!("{}/objects/", set_folder(name, publication_id));
    let path = pointer.uri.rsplit_once(&folder).and_then(|(before, object)| {
        let (part, file) = object.split_once('/')?;
        let id = file.strip_suffix(".arrayrecord")?;
        let hex = |text: &str, digits| text.len() == digits && text.bytes().all(is_lower_hex);
        let inside = before.is_empty() || before.ends_with('/');
        (inside && hex(part, 2) && hex(id, 32)).then(|| format!("{folder}{object}"))
    });
    let path = path.and_then(|path| RelPath::new(&path).ok());
    let path = path.ok_or_else(|| {
        let expected = format!("an object under {folder}");
        refused(codes::POINTER_INVALID, &expected, format!("{:?}", pointer.uri))
    })?;
    let file = root.open_unlinked(&path).map_err(|error| opening(error, path.as_str()))?;
    check_size(&path, pointer.stored_bytes, file.len())?;
    let reference = ObjectReference::new(path, file.len());
    let reader = Reader::open(file, &ReaderOptions::default(), Default::default());
    let found = reader.map_err(|error| damaged(error, &reference.path, None))?.len();
    let expected = pointer.record_ids.len() as u64;
    if found != expected {
        let message = format!("expected {expected} annotations, found {found}");
        let place = Place::file(&reference.path);
        return Err(Error::new(Kind::Corrupt, codes::COUNT_MISMATCH, place, message));
    }
    Ok(reference)
}
