//! Publishing a dataset: of what workers wrote, one process makes pages, a snapshot and, last of all, `root.json`.
//!
//! Every document is created once. The same publication run again succeeds and gives the same bytes; another one into the
//! same folder is refused before anything is written. What readers would refuse is refused first.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use packstone_container::array_record::{Reader, ReaderOptions};
use packstone_container::json::{Object, Value};
use packstone_io::{Kind, RelPath, Root, RootMut};

use super::super::codes;
use super::super::document::{RootDocument, root_place};
use super::super::layout::{ROOT_DOCUMENT, fixed, manifest_path, snapshot_path};
use super::super::options::{OpenOptions, Policy};
use super::super::reader::SdsDataset;
use super::manifest::{Manifest, ShardEntry};
use super::payload::check_spellable;
use super::record::exceeded;
use super::reference::{ObjectPath, ObjectReference, check_size, opening};
use super::shards::damaged;
use super::snapshot::{ManifestReference, Snapshot};
use super::store::{create_document, persist_folders, same_document};
use super::text::pythonic_object;
use super::write::PublishedShard;
use crate::error::{Error, Place, Result};
use crate::exec::Retry;

/// Shard entries of a page; the original's default.
pub const SHARDS_PER_PAGE: u64 = 10_000;
/// More would pass the number of values that readers take.
const MOST_PER_PAGE: u64 = 80_000;

/// What a new dataset is called, and how it is published.
#[derive(Clone, Debug)]
pub struct PublishOptions {
    /// The name of the dataset.
    pub dataset_id: String,
    /// The name of its snapshot, which becomes a folder.
    pub snapshot_id: String,
    /// What the dataset says about itself.
    pub metadata: Object,
    /// Which pieces of work there must be, no more and no less.
    pub expected_work_ids: Option<Vec<String>>,
    /// Shard entries of a page.
    pub shards_per_page: u64,
    /// Open every object and compare its count.
    pub verify_counts: bool,
    /// How often to begin again after faults that pass.
    pub retry: Retry,
}

impl PublishOptions {
    /// A publication under these names.
    pub fn new(dataset_id: impl Into<String>, snapshot_id: impl Into<String>) -> Self {
        Self {
            dataset_id: dataset_id.into(),
            snapshot_id: snapshot_id.into(),
            metadata: Object::new(),
            expected_work_ids: None,
            shards_per_page: SHARDS_PER_PAGE,
            verify_counts: false,
            retry: Retry::default(),
        }
    }

    /// Checks what does not depend on shards.
    ///
    /// # Errors
    /// `id_invalid`, `option_invalid`, `limit_exceeded`, `json_invalid`.
    pub fn check(&self, policy: &Policy) -> Result<()> {
        let refused = |code, expected: &str, found: String| {
            let message = format!("expected {expected}, found {found}");
            Err(Error::new(Kind::Invalid, code, Place::default(), message))
        };
        if self.dataset_id.is_empty() {
            let expected = "a dataset id that is not empty";
            return refused(codes::ID_INVALID, expected, "an empty one".to_owned());
        }
        // Parts of paths that readers would change, or take for something else.
        let clean = |path: &str| {
            matches!(
                ObjectPath::new(path), Ok(ObjectPath::Relative(found)) if found.as_str() == path
            )
        };
        let id = &self.snapshot_id;
        if !clean(id) || !clean(&snapshot_path(id)) {
            let expected = "a snapshot id that is a path of plain names";
            return refused(codes::ID_INVALID, expected, format!("{id:?}"));
        }
        if !(1..=MOST_PER_PAGE).contains(&self.shards_per_page) {
            let expected = format!("1 to {MOST_PER_PAGE} shards a page");
            return refused(codes::OPTION_INVALID, &expected, self.shards_per_page.to_string());
        }
        let metadata = Value::Object(self.metadata.clone());
        // The root itself is one level, and has some more values.
        let mut bounds = policy.control;
        bounds.depth = bounds.depth.saturating_sub(1);
        bounds.nodes = bounds.nodes.saturating_sub(16);
        check_spellable(&metadata, &bounds).map_err(|error| error.with_place(root_place()))
    }
}

/// The shards that count: of each piece of work the last attempt, in the order of their names.
fn winners(shards: &[PublishedShard]) -> Vec<&PublishedShard> {
    let mut winners: BTreeMap<&str, &PublishedShard> = BTreeMap::new();
    for shard in shards {
        let winner = winners.entry(&shard.work_id).or_insert(shard);
        if shard.attempt > winner.attempt {
            *winner = shard;
        }
    }
    winners.into_values().collect()
}

/// Publishes what workers wrote as a new dataset, and opens it.
///
/// # Errors
/// `id_invalid`, `option_invalid`, `work_ids`; `missing_object`, `size_mismatch`, `count_mismatch` where objects are not
/// what their workers said; `collision` where another dataset is there; I/O faults.
pub fn publish(
    root: &Arc<dyn RootMut>,
    shards: &[PublishedShard],
    options: &PublishOptions,
    policy: &Policy,
) -> Result<SdsDataset> {
    publish_with(root, shards, options, policy, &|_| Ok(()))
}

/// What else belongs to a dataset and is published before its root, when all that it builds on is there. It may run again.
pub(in super::super) type Beside<'a> = &'a dyn Fn(&SdsDataset) -> Result<()>;

/// As [`publish`], with what is published beside the records.
///
/// # Errors
/// As for [`publish`]; those of `beside`.
pub(in super::super) fn publish_with(
    root: &Arc<dyn RootMut>,
    shards: &[PublishedShard],
    options: &PublishOptions,
    policy: &Policy,
    beside: Beside<'_>,
) -> Result<SdsDataset> {
    options.check(policy)?;
    let shards = winners(shards);
    check_work(&shards, options)?;
    options.retry.run(|| publish_once(root, &shards, options, policy, beside))
}

fn publish_once(
    root: &Arc<dyn RootMut>,
    shards: &[&PublishedShard],
    options: &PublishOptions,
    policy: &Policy,
    beside: Beside<'_>,
) -> Result<SdsDataset> {
    for shard in shards {
        for object in [&shard.data, &shard.metadata] {
            check_object(root.as_ref(), object, shard.record_count, options.verify_counts)?;
        }
    }
    let mut next = 0u64;
    let entries = shards.iter().map(|shard| {
        let first_ordinal = next;
        next = next.saturating_add(shard.record_count);
        ShardEntry {
            first_ordinal,
            record_count: shard.record_count,
            data: shard.data.clone(),
            metadata: shard.metadata.clone(),
            record_indices: None,
        }
    });
    let entries: Vec<ShardEntry> = entries.collect();
    publish_entries(root, &entries, options, policy, &OpenOptions::default(), beside)
}

fn check_work(shards: &[&PublishedShard], options: &PublishOptions) -> Result<()> {
    let Some(expected) = &options.expected_work_ids else { return Ok(()) };
    let refused = |message: String| {
        Err(Error::new(Kind::Invalid, codes::WORK_IDS, Place::default(), message))
    };
    let wanted: BTreeSet<&str> = expected.iter().map(String::as_str).collect();
    if wanted.len() != expected.len() {
        return refused("expected each work id once, found one again".to_owned());
    }
    let found: BTreeSet<&str> = shards.iter().map(|shard| shard.work_id.as_str()).collect();
    let missing: Vec<_> = wanted.difference(&found).collect();
    if !missing.is_empty() {
        return refused(format!("expected work ids {missing:?}, found none of these"));
    }
    let others: Vec<_> = found.difference(&wanted).collect();
    if !others.is_empty() {
        return refused(format!("expected no other work ids, found {others:?}"));
    }
    Ok(())
}

fn check_object(
    root: &dyn Root,
    object: &ObjectReference,
    records: u64,
    counts: bool,
) -> Result<()> {
    let ObjectPath::Relative(path) = &object.path else {
        let message = "expected an object of this dataset, found an absolute path";
        let place = Place::file(&object.path);
        return Err(Error::new(Kind::Invalid, codes::PATH_ABSOLUTE, place, message));
    };
    let file = root.open_unlinked(path).map_err(|error| opening(error, path.as_str()))?;
    check_size(path, object.stored_bytes, file.len())?;
    if counts {
        let limits = packstone_container::Limits::default();
        let reader = Reader::open(file, &ReaderOptions::default(), limits);
        let found = reader.map_err(|error| damaged(error, &object.path, None))?.len();
        if found != records {
            let message = format!("expected {records} records, found {found}");
            let place = Place::file(path);
            return Err(Error::new(Kind::Corrupt, codes::COUNT_MISMATCH, place, message));
        }
    }
    Ok(())
}

/// Publishes pages of these entries, a snapshot, what is `beside`, and last the root, and opens the result with `open`.
///
/// # Errors
/// As for [`publish_with`].
pub(super) fn publish_entries(
    root: &Arc<dyn RootMut>,
    entries: &[ShardEntry],
    options: &PublishOptions,
    policy: &Policy,
    open: &OpenOptions,
    beside: Beside<'_>,
) -> Result<SdsDataset> {
    let per_page = usize::try_from(options.shards_per_page).unwrap_or(usize::MAX).max(1);
    // All of it is spelled once before anything is written, so that a publication that cannot end never begins.
    let mut snapshot = Snapshot {
        snapshot_id: options.snapshot_id.clone(),
        record_count: 0,
        shard_count: entries.len() as u64,
        stored_bytes: 0,
        manifests: Vec::new(),
    };
    for (number, part) in (0u64..).zip(entries.chunks(per_page)) {
        let (page, bytes) = page(part, snapshot.record_count)?;
        let text = page.text();
        check_text(&text, policy)?;
        let path = manifest_path(&options.snapshot_id, number);
        let path = RelPath::new(&path).unwrap_or_default();
        let object = ObjectReference::new(path, text.len() as u64);
        snapshot.manifests.push(ManifestReference {
            first_ordinal: page.first_ordinal,
            record_count: page.record_count,
            shard_count: part.len() as u64,
            stored_bytes: bytes,
            object,
        });
        let records = snapshot.record_count.checked_add(page.record_count);
        let stored = snapshot.stored_bytes.checked_add(bytes);
        (snapshot.record_count, snapshot.stored_bytes) =
            records.zip(stored).ok_or_else(too_many)?;
    }
    let snapshot_text = snapshot.text();
    check_text(&snapshot_text, policy)?;
    let path = RelPath::new(&snapshot_path(&options.snapshot_id)).unwrap_or_default();
    let reference = ObjectReference::new(path.clone(), snapshot_text.len() as u64);
    let metadata = pythonic_object(&options.metadata);
    let document = RootDocument::new(&options.dataset_id, reference, &metadata).text();
    check_text(&document, policy)?;
    let marker = fixed(ROOT_DOCUMENT);
    match same_document(root.as_ref(), &marker, document.as_bytes()) {
        Err(error) if error.kind() != Kind::NotFound => return Err(error),
        _ => {}
    }
    let pages = entries.chunks(per_page).zip(&snapshot.manifests);
    for (part, reference) in pages {
        let (page, _) = page(part, reference.first_ordinal)?;
        if let ObjectPath::Relative(path) = &reference.object.path {
            create_document(root.as_ref(), path, page.text().as_bytes())?;
        }
    }
    create_document(root.as_ref(), &path, snapshot_text.as_bytes())?;
    let named = entries.iter().flat_map(|entry| [&entry.data, &entry.metadata]);
    let named = named.chain(snapshot.manifests.iter().map(|page| &page.object));
    let own = named.filter_map(|reference| match &reference.path {
        ObjectPath::Relative(path) => Some(path),
        ObjectPath::Absolute(_) => None,
    });
    persist_folders(root.as_ref(), own.chain([&path]))?;
    let readable: Arc<dyn Root> = Arc::clone(root) as _;
    let open = OpenOptions { policy: policy.clone(), ..open.clone() };
    beside(&SdsDataset::unmarked(Arc::clone(&readable), &document, &open)?)?;
    create_document(root.as_ref(), &marker, document.as_bytes())?;
    persist_folders(root.as_ref(), [&marker].into_iter())?;
    SdsDataset::open_with(readable, &open)
}

/// A page of these entries, and the bytes of their objects.
fn page(entries: &[ShardEntry], first_ordinal: u64) -> Result<(Manifest, u64)> {
    let count = entries.iter().try_fold(0u64, |sum, entry| sum.checked_add(entry.record_count));
    let bytes = entries.iter().try_fold(0u64, |sum, entry| sum.checked_add(entry.stored_bytes()?));
    let (record_count, bytes) = count.zip(bytes).ok_or_else(too_many)?;
    Ok((Manifest { first_ordinal, record_count, shards: entries.to_vec() }, bytes))
}

fn too_many() -> Error {
    let message = "expected counts and sizes of 64 bits, found more";
    Error::new(Kind::Limit, codes::LIMIT_EXCEEDED, Place::default(), message)
}

fn check_text(text: &str, policy: &Policy) -> Result<()> {
    let found = text.len() as u64;
    match found > policy.control.bytes {
        true => Err(exceeded("bytes of a document", policy.control.bytes, found)),
        false => Ok(()),
    }
}
