//! Selections of a dataset's records as a dataset of their own: a view, which names the objects of its source, or a copy.
//!
//! A view has one shard entry a record, with the number of the record in the object of its source. Its references are
//! relative where the source lies inside of the view's folder, else absolute: readers need consent to follow these. The
//! original writes whatever the source was opened by, so that a relative path leads wherever the view happens to lie; and
//! it puts pages under the first two characters of the snapshot id, packstone where all pages are.

use std::ops::Range;
use std::sync::Arc;

use packstone_container::json::Value;
use packstone_io::{Kind, RelPath, RootMut};

use super::super::codes;
use super::super::layout::{ROOT_DOCUMENT, fixed};
use super::super::options::OpenOptions;
use super::super::reader::SdsDataset;
use super::annotate::{AnnotationOptions, publish_annotations};
use super::carrier::Annotation;
use super::manifest::ShardEntry;
use super::notes::Notes;
use super::payload::{Encoded, decode};
use super::publish::{PublishOptions, publish_entries, publish_with};
use super::record::Row;
use super::reference::{ObjectPath, ObjectReference};
use super::store::same_document;
use super::write::{PublishedShard, ShardOptions, ShardWriter};
use crate::error::{Error, Place, Result};
use crate::exec::{Progress, keep_going};
use crate::expr::Expr;

/// Records in a shard of a copy; the original's default.
pub const RECORDS_PER_SHARD: u64 = 10_000;

/// Rows that are read at once.
const AT_ONCE: u64 = 1024;

/// The member of a root's metadata that says a dataset is a view.
pub const REFERENCE: &str = "reference_dataset";

/// Where the source of a view lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ViewSource {
    /// In this folder of the view.
    Inside(RelPath),
    /// At this absolute path or address.
    At(String),
}

fn refused(expected: &str, found: impl std::fmt::Display) -> Error {
    let message = format!("expected {expected}, found {found}");
    Error::new(Kind::Invalid, codes::VIEW_INVALID, Place::default(), message)
}

impl ViewSource {
    /// Checks that references lead to `source` from the view in `root`; gives what opens them.
    fn check(&self, root: &Arc<dyn RootMut>, source: &SdsDataset) -> Result<OpenOptions> {
        let store = source.store();
        // A view of a view leads to where its source does.
        let sources = store.objects.sources().to_vec();
        let options =
            OpenOptions { policy: store.policy.clone(), sources, ..OpenOptions::default() };
        match self {
            Self::Inside(folder) => {
                let document = folder.below(&fixed(ROOT_DOCUMENT));
                let text = store.objects.root.read(&fixed(ROOT_DOCUMENT))?;
                match same_document(root.as_ref(), &document, &text) {
                    Ok(()) if !folder.is_root() => Ok(options),
                    _ => Err(refused(
                        "the source of the view in its folder",
                        format!("none in {folder}"),
                    )),
                }
            }
            Self::At(prefix) => {
                let absolute = matches!(ObjectPath::new(prefix), Ok(ObjectPath::Absolute(_)));
                let label = store.objects.root.label();
                let own = label.trim_end_matches('/') == prefix.trim_end_matches('/');
                if !absolute || (label.starts_with('/') && !own) {
                    return Err(refused("the absolute path of the source", format!("{prefix:?}")));
                }
                Ok(options.with_source(prefix.clone(), Arc::clone(&store.objects.root)))
            }
        }
    }

    /// The reference of a source's object in the view.
    fn resolve(&self, reference: &ObjectReference) -> ObjectReference {
        let path = match (&reference.path, self) {
            (ObjectPath::Relative(path), Self::Inside(folder)) => {
                ObjectPath::Relative(folder.below(path))
            }
            (ObjectPath::Relative(path), Self::At(prefix)) => {
                ObjectPath::Absolute(format!("{}/{path}", prefix.trim_end_matches('/')))
            }
            (ObjectPath::Absolute(_), _) => reference.path.clone(),
        };
        ObjectReference { path, stored_bytes: reference.stored_bytes }
    }
}

/// The ordinals among `records` of the records whose metadata meet a condition; names that the metadata do not have may be
/// `id` and `scene_id`. Rows alone are read.
///
/// # Errors
/// `expr/type_mismatch`, `expr/overflow`; those of [`SdsDataset::rows`].
pub fn matching(source: &SdsDataset, records: Range<u64>, condition: &Expr) -> Result<Vec<u64>> {
    let names = condition.names();
    let mut found = Vec::new();
    let mut next = records.start;
    while next < records.end {
        let end = next.saturating_add(AT_ONCE).min(records.end);
        for (row, ordinal) in source.rows(next..end)?.into_iter().zip(next..) {
            let mut metadata = row.metadata;
            let identity = [("id", row.id), ("scene_id", row.scene_id)];
            for (name, value) in identity.into_iter().filter(|(name, _)| names.contains(name)) {
                if let Some(value) = value.filter(|_| !metadata.contains_key(name)) {
                    metadata.insert(name, value);
                }
            }
            if condition.matches(&metadata)? {
                found.push(ordinal);
            }
        }
        next = end;
    }
    Ok(found)
}

/// Publishes the records of `source` with these ordinals, in this order, without copying them.
///
/// Annotation sets of the source go with them, each annotation under its new ordinal.
///
/// # Errors
/// `view_invalid` where references would lead elsewhere; `index_out_of_range`; those of
/// [`publish`](super::publish::publish) and [`publish_annotations`].
pub fn publish_view(
    root: &Arc<dyn RootMut>,
    source: &SdsDataset,
    at: &ViewSource,
    ordinals: &[u64],
    options: &PublishOptions,
) -> Result<SdsDataset> {
    let mut options = options.clone();
    if options.metadata.is_empty() {
        options.metadata.insert(REFERENCE, Value::Bool(true));
    }
    let policy = &source.store().policy;
    options.check(policy)?;
    let open = at.check(root, source)?;
    let mut entries = Vec::with_capacity(ordinals.len());
    for (first_ordinal, ordinal) in (0u64..).zip(ordinals) {
        let found = source.store().index.locate(*ordinal)?;
        let entry = found.entry()?;
        let offset = ordinal.saturating_sub(entry.first_ordinal);
        entries.push(ShardEntry {
            first_ordinal,
            record_count: 1,
            data: at.resolve(&entry.data),
            metadata: at.resolve(&entry.metadata),
            record_indices: Some(entry.index(offset).into_iter().collect()),
        });
    }
    let beside = |view: &SdsDataset| copy_annotations(root, source, view, ordinals);
    options.retry.run(|| publish_entries(root, &entries, &options, policy, &open, &beside))
}

/// Publishes the records of `source` with these ordinals, in this order, as a dataset that needs no other.
///
/// Records and rows are copied as they are stored, after a look whether they can be read.
///
/// # Errors
/// As for [`publish_view`]; those of reading the source.
pub fn materialize(
    root: &Arc<dyn RootMut>,
    source: &SdsDataset,
    ordinals: &[u64],
    options: &PublishOptions,
    records_per_shard: u64,
) -> Result<SdsDataset> {
    materialize_with(root, source, ordinals, options, records_per_shard, None)
}

/// As [`materialize`], telling of each record; stopped on the way, it takes its shards back.
///
/// # Errors
/// As for [`materialize`]; `ops/cancelled`.
pub fn materialize_with(
    root: &Arc<dyn RootMut>,
    source: &SdsDataset,
    ordinals: &[u64],
    options: &PublishOptions,
    records_per_shard: u64,
    progress: Option<&Arc<dyn Progress>>,
) -> Result<SdsDataset> {
    options.check(&source.store().policy)?;
    let mut shards = Vec::new();
    let copied = copy_records(root, source, ordinals, records_per_shard, progress, &mut shards);
    if let Err(error) = copied.and_then(|()| keep_going(progress)) {
        // Best effort: what stays is named by nothing.
        for shard in shards.iter().filter(|shard| shard.created) {
            for object in [&shard.data, &shard.metadata] {
                if let ObjectPath::Relative(path) = &object.path {
                    let _ = root.remove(path);
                    let folders = std::iter::successors(path.parent(), RelPath::parent);
                    for folder in folders.take_while(|folder| !folder.is_root()) {
                        let _ = root.remove_folder(&folder);
                    }
                }
            }
        }
        return Err(error);
    }
    let beside = |copy: &SdsDataset| copy_annotations(root, source, copy, ordinals);
    publish_with(root, &shards, options, &source.store().policy, &beside)
}

fn copy_records(
    root: &Arc<dyn RootMut>,
    source: &SdsDataset,
    ordinals: &[u64],
    records_per_shard: u64,
    progress: Option<&Arc<dyn Progress>>,
    shards: &mut Vec<PublishedShard>,
) -> Result<()> {
    let store = source.store();
    let per_shard = usize::try_from(records_per_shard).unwrap_or(usize::MAX).max(1);
    let shard_options = ShardOptions { policy: store.policy.clone(), ..ShardOptions::default() };
    let shard_options = Arc::new(shard_options);
    if let Some(progress) = progress {
        progress.total(ordinals.len() as u64);
    }
    for (number, part) in (0u64..).zip(ordinals.chunks(per_shard)) {
        let first = number.saturating_mul(per_shard as u64);
        let work_id = format!("{first:012}");
        let mut writer = ShardWriter::start(root.as_ref(), &work_id, 0, &shard_options)?;
        for ordinal in part {
            keep_going(progress)?;
            writer.push_encoded(&stored(source, *ordinal)?)?;
            if let Some(progress) = progress {
                progress.advance(1);
            }
        }
        shards.push(writer.finish()?);
    }
    Ok(())
}

/// A record and its row as they are stored.
fn stored(source: &SdsDataset, ordinal: u64) -> Result<Encoded> {
    let store = source.store();
    let found = store.index.locate(ordinal)?;
    let entry = found.entry()?;
    let index = entry.index(ordinal.saturating_sub(entry.first_ordinal)).unwrap_or(u64::MAX);
    let read = |object: &ObjectReference| {
        let shard = store.shards.open(object)?;
        store.shards.decoding(|decoder| shard.record(index, decoder))
    };
    let (record, row) = (read(&entry.data)?, read(&entry.metadata)?);
    let place = |object: &ObjectReference| Notes::silent(Place::file(&object.path).record(index));
    decode(&record, &store.policy.records, &mut place(&entry.data))?;
    Row::parse(&row, &store.policy, &mut place(&entry.metadata))?;
    Ok(Encoded { record: record.to_vec(), row: row.to_vec() })
}

/// Publishes the annotations of the records with these ordinals under their new ones.
fn copy_annotations(
    root: &Arc<dyn RootMut>,
    source: &SdsDataset,
    target: &SdsDataset,
    ordinals: &[u64],
) -> Result<()> {
    for name in source.catalog()?.names() {
        let set = source.annotations(name)?;
        let annotations = (0u64..).zip(ordinals).map(|(index, ordinal)| {
            let annotation = set.annotation(*ordinal)?;
            Ok(Annotation { source_index: index, ..annotation })
        });
        let metadata = &set.root.metadata;
        let options = AnnotationOptions::default();
        publish_annotations(root, target, name, annotations, metadata, &options)?;
    }
    Ok(())
}
