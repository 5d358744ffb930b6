//! Publishing annotation sets: by one process, or by workers and one that joins what they wrote.
//!
//! Objects come first, then the set root, then a revision of the catalog, and last the pointer to it, which is replaced
//! under the lock of the root, and only where it is still the one that was read. Names of sets accumulate; no set can be
//! published again with other content. Of workers that try the same shard the first pointer counts, and all others get it
//! back; their objects stay and mean nothing.
//!
//! Known differences from the original: it locks a file next to the pointer, which packstone does not. A publisher of
//! either that comes between reading and replacing is noticed, except in the moment between the last look and the rename.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use packstone_container::array_record::{Reader, ReaderOptions, Writer, WriterOptions};
use packstone_container::digest::{Algorithm, Hasher};
use packstone_container::json::{Object as Json, Value};
use packstone_io::{Kind, RelPath, Root, RootMut};

use super::super::codes;
use super::super::layout::{
    CATALOG, WRITER_OPTIONS, annotation_path, fixed, is_portable, pointer_path, publication_id,
    revision_path, set_folder, set_root_path, worker_path,
};
use super::super::options::Policy;
use super::super::reader::SdsDataset;
use super::annotations::{Catalog, read_document};
use super::carrier::{Annotation, check_source};
use super::catalog::{CatalogPointer, SetReference, SetRoot, SetShard};
use super::notes::Notes;
use super::payload::check_spellable;
use super::pointer::WorkerPointer;
use super::reference::{ObjectPath, ObjectReference, Objects, check_size, opening};
use super::shards::damaged;
use super::store::{Object, create_document, persist_folders};
use super::text::pythonic_object;
use super::write::failed;
use crate::error::{Error, Place, Result};
use crate::exec::Retry;

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

/// An object of annotations in the making.
struct SetObject<'r> {
    writer: Writer<Object<'r>>,
    content: Hasher,
    folder: RelPath,
}

impl<'r> SetObject<'r> {
    fn start(root: &'r dyn RootMut, folder: &RelPath) -> Result<Self> {
        // The text is one of its grammar.
        let options: WriterOptions = WRITER_OPTIONS.parse().unwrap_or_default();
        let writer = Writer::new(Object::start(root, folder)?, &options);
        let writer = writer.map_err(|error| failed(error, folder))?;
        let content = Hasher::new(Algorithm::Sha256);
        Ok(Self { writer, content, folder: folder.clone() })
    }

    fn push(&mut self, annotation: &Annotation, policy: &Policy) -> Result<()> {
        let payload = annotation.encode(&policy.records)?;
        self.content.update(&(payload.len() as u64).to_le_bytes());
        self.content.update(&payload);
        self.writer.write(&payload).map_err(|error| failed(error, &self.folder))
    }

    /// Gives it the name that `name` makes of its content.
    fn finish(
        self,
        retry: &Retry,
        name: impl FnOnce(&str) -> String,
    ) -> Result<(ObjectReference, u64)> {
        let path = name(&self.content.finish_hex());
        let path = RelPath::new(&path).unwrap_or_default();
        let mut written = self.writer.finish().map_err(|error| failed(error, &path))?;
        let records = written.records;
        written.out.seal()?;
        let (bytes, _) = retry.run(|| written.out.publish(&path))?;
        Ok((ObjectReference::new(path, bytes), records))
    }
}

/// The ids of records in their order, read some at a time.
pub struct Ids<'d> {
    dataset: &'d SdsDataset,
    next: u64,
    ids: std::vec::IntoIter<Option<String>>,
}

impl<'d> Ids<'d> {
    /// The ids from record `first` on.
    pub fn from(dataset: &'d SdsDataset, first: u64) -> Self {
        Self { dataset, next: first, ids: Vec::new().into_iter() }
    }

    /// The id of the next record, which may have none; `None` behind the last one, too.
    ///
    /// # Errors
    /// Those of [`SdsDataset::rows`].
    pub fn next_id(&mut self) -> Result<Option<String>> {
        if let Some(id) = self.ids.next() {
            return Ok(id);
        }
        let end = self.next.saturating_add(1024).min(self.dataset.len());
        let rows = self.dataset.rows(self.next..end)?;
        self.next = end;
        self.ids = rows.into_iter().map(|row| row.id).collect::<Vec<_>>().into_iter();
        Ok(self.ids.next().flatten())
    }

    /// Checks the annotation of the next record.
    fn check(&mut self, ordinal: u64, annotation: &Annotation) -> Result<()> {
        let id = self.next_id()?;
        check_source(annotation, ordinal, id.as_deref()).map_err(|error| {
            let place = error.place().clone().record(ordinal);
            Error::new(Kind::Invalid, error.code(), place, error.message())
        })
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

/// Names a set in the catalog.
///
/// # Errors
/// `collision` where another set has the name; `catalog_changed` where others without the lock come in between again and
/// again; `io/conflict` where another publisher holds the lock all the time; those of [`Catalog::read`].
pub fn update_catalog(
    root: &Arc<dyn RootMut>,
    name: &str,
    reference: &SetReference,
    policy: &Policy,
    options: &AnnotationOptions,
) -> Result<()> {
    let _held = root.lock(options.patience)?;
    let readable: Arc<dyn Root> = Arc::clone(root) as _;
    let objects = Objects::new(readable, &[]);
    let pointer = fixed(CATALOG);
    for _ in 0..options.retries.max(1) {
        let catalog = Catalog::read(&objects, policy, &mut Notes::silent(Place::default()))?;
        let mut revision = catalog.revision;
        match revision.sets.get(name) {
            Some(found) if found == reference => return Ok(()),
            Some(_) => {
                let message = format!(
                    "expected a new name, found the annotation set {name:?} published with other content"
                );
                let place = Place::file(CATALOG);
                return Err(Error::new(Kind::Exists, codes::COLLISION, place, message));
            }
            None => {}
        }
        revision.sets.insert(name.to_owned(), reference.clone());
        let text = revision.text();
        let path = RelPath::new(&revision_path(text.as_bytes())).unwrap_or_default();
        create_document(root.as_ref(), &path, text.as_bytes())?;
        persist_folders(root.as_ref(), [&path].into_iter())?;
        let next = CatalogPointer { revision: path.as_str().to_owned() }.text();
        let swapped = match &catalog.path {
            None => match root.create(&pointer, next.as_bytes()) {
                Ok(()) => {
                    root.persist(&pointer)?;
                    persist_folders(root.as_ref(), [&pointer].into_iter())?;
                    true
                }
                Err(error) if error.kind() == Kind::Exists => false,
                Err(error) => return Err(error.into()),
            },
            // Nobody else may have replaced it since it was read.
            Some(old) if points_to(&objects, old, policy)? => {
                root.replace(&[(pointer.clone(), next.into_bytes())])?;
                true
            }
            Some(_) => false,
        };
        if swapped {
            return Ok(());
        }
    }
    let message =
        format!("expected the catalog to stay, found it changed {} times", options.retries);
    Err(Error::new(Kind::Conflict, codes::CATALOG_CHANGED, Place::file(CATALOG), message))
}

fn points_to(objects: &Objects, revision: &RelPath, policy: &Policy) -> Result<bool> {
    let bytes = read_document(objects, &fixed(CATALOG), policy)?;
    let mut notes = Notes::silent(Place::file(CATALOG));
    let pointer = CatalogPointer::parse(&bytes, &policy.control, &mut notes)?;
    Ok(pointer.revision == revision.as_str())
}

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

/// Publishes what workers wrote as the set `name`: together their shards cover every record once.
///
/// # Errors
/// `id_invalid`, `coverage`, `pointer_invalid`, `annotation_mismatch`, `missing_object`, `size_mismatch`,
/// `count_mismatch`; those of [`publish_annotations`].
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
        let hex = |text: &str, digits| {
            text.len() == digits && text.bytes().all(super::super::layout::is_lower_hex)
        };
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
