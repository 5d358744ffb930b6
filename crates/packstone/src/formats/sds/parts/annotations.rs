//! Annotation sets as they are published: the catalog, and one set after another when it is asked for.

use std::sync::Arc;

use packstone_io::{Kind, RelPath};

use super::super::codes;
use super::super::layout::{CATALOG, fixed};
use super::super::options::Policy;
use super::super::reader::Store;
use super::carrier::{Annotation, check_source};
use super::catalog::{CatalogPointer, Revision, SetReference, SetRoot, SetShard};
use super::index::check_document;
use super::notes::{Notes, within};
use super::reference::{Objects, check_size};
use crate::error::{Error, Place, Result};

/// The newest revision of the catalog when it was read.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    /// Its path; `None` for a dataset without annotations.
    pub path: Option<RelPath>,
    /// What it says.
    pub revision: Revision,
}

impl Catalog {
    /// Reads pointer and revision. A dataset without a pointer has no sets.
    ///
    /// # Errors
    /// `catalog_invalid`, `revision_hash_mismatch`, `missing_object`; those of documents.
    pub fn read(objects: &Objects, policy: &Policy, notes: &mut Notes) -> Result<Self> {
        let pointer = match read_document(objects, &fixed(CATALOG), policy) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == Kind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(error),
        };
        notes.place = Place::file(CATALOG);
        let pointer = CatalogPointer::parse(&pointer, &policy.control, notes)?;
        let path = RelPath::new(&pointer.revision).unwrap_or_default();
        let bytes = read_document(objects, &path, policy)?;
        notes.place = Place::file(&path);
        let revision = Revision::parse(&bytes, path.as_str(), &policy.control, notes)?;
        Ok(Self { path: Some(path), revision })
    }

    /// The names of the sets.
    pub fn names(&self) -> &[String] {
        &self.revision.names
    }

    /// Opens a set of the dataset in `store`.
    ///
    /// # Errors
    /// `unknown_set`; those of [`read_set`].
    pub fn set(&self, store: Arc<Store>, name: &str) -> Result<AnnotationSet> {
        let Some(reference) = self.revision.sets.get(name) else {
            let known = self.names().join(", ");
            let known = if known.is_empty() { "none".to_owned() } else { known };
            let message = format!("expected one of the annotation sets {known}, found {name:?}");
            let place = Place::file(CATALOG);
            return Err(Error::new(Kind::NotFound, codes::UNKNOWN_SET, place, message));
        };
        let mut notes = Notes::silent(Place::default());
        let snapshot = &store.index.snapshot;
        let root = read_set(&store.objects, name, reference, &store.policy, &mut notes)?;
        let place = Place::file(&reference.path);
        root.check(&place, name, &snapshot.snapshot_id, snapshot.record_count)?;
        Ok(AnnotationSet { root, store })
    }
}

/// Reads a set root.
///
/// # Errors
/// `size_mismatch`, `missing_object`; those of [`SetRoot::parse`].
pub fn read_set(
    objects: &Objects,
    name: &str,
    reference: &SetReference,
    policy: &Policy,
    notes: &mut Notes,
) -> Result<SetRoot> {
    let bytes = read_document(objects, &reference.path, policy)?;
    check_size(&reference.path, reference.stored_bytes, bytes.len() as u64)?;
    notes.place = Place::file(&reference.path);
    let root = SetRoot::parse(&bytes, &policy.control, notes)?;
    let expected = reference.path.components().nth(3).unwrap_or_default();
    if root.publication_id != expected && root.name == name {
        let message = format!("expected {expected:?}, found {:?}", root.publication_id);
        let place = notes.place.clone().json("$.publication_id");
        return Err(Error::new(Kind::Corrupt, codes::SET_MISMATCH, place, message));
    }
    Ok(root)
}

/// Reads a small document.
///
/// # Errors
/// `missing_object`, `path_link`, `limit_exceeded`; I/O faults.
pub fn read_document(
    objects: &Objects,
    path: &RelPath,
    policy: &Policy,
) -> Result<packstone_io::Buf> {
    let file = objects.open_own(path)?;
    check_document(file.len(), &policy.control, &Place::file(path))?;
    Ok(file.read_all()?)
}

/// One annotation set: an annotation for each record of the dataset.
pub struct AnnotationSet {
    /// What its root says.
    pub root: SetRoot,
    pub(super) store: Arc<Store>,
}

impl AnnotationSet {
    /// Number of annotations.
    pub fn len(&self) -> u64 {
        self.root.record_count
    }

    /// True for the set of a dataset without records.
    pub fn is_empty(&self) -> bool {
        self.root.record_count == 0
    }

    /// One annotation, about the record at `ordinal`.
    ///
    /// # Errors
    /// `index_out_of_range`; as for [`AnnotationSet::read`].
    pub fn annotation(&self, ordinal: u64) -> Result<Annotation> {
        let nowhere = || {
            let message = format!("expected a record of the dataset, found number {ordinal}");
            Error::new(Kind::NotFound, codes::INDEX_OUT_OF_RANGE, Place::default(), message)
        };
        let shards = &self.root.shards;
        let at = shards.partition_point(|shard| shard.first_ordinal <= ordinal).checked_sub(1);
        let shard = at.and_then(|at| shards.get(at)).ok_or_else(nowhere)?;
        let offset = ordinal.saturating_sub(shard.first_ordinal);
        if offset >= shard.record_count {
            return Err(nowhere());
        }
        self.read(shard, &[offset])?.into_iter().next().ok_or_else(nowhere)
    }

    /// The annotations of a shard at these places; each is about the record at its ordinal.
    ///
    /// # Errors
    /// `size_mismatch`, `shard_damaged`, `annotation_invalid`, `annotation_mismatch`; those of the payload and of the rows.
    pub fn read(&self, shard: &SetShard, places: &[u64]) -> Result<Vec<Annotation>> {
        let store = &self.store;
        let open = store.shards.open(&shard.object)?;
        let payloads = store.shards.decoding(|decoder| open.records(places, decoder))?;
        let called = shard.object.path.to_string();
        let mut out = Vec::with_capacity(payloads.len());
        let mut ids = Ids::default();
        for (payload, place) in payloads.iter().zip(places) {
            let here = |error| within(error, &called, Some(*place));
            let mut notes = Notes::silent(Place::default());
            let annotation = Annotation::decode(payload, &store.policy.records, &mut notes);
            let annotation = annotation.map_err(here)?;
            let ordinal = shard.first_ordinal.saturating_add(*place);
            let id = ids.of(store, ordinal, places.len())?;
            check_source(&annotation, ordinal, id.as_deref()).map_err(here)?;
            out.push(annotation);
        }
        Ok(out)
    }
}

/// The ids of records, read ahead.
#[derive(Default)]
struct Ids {
    first: u64,
    ids: Vec<Option<String>>,
}

impl Ids {
    /// The id of a record; `ahead` records are read at once.
    fn of(&mut self, store: &Store, ordinal: u64, ahead: usize) -> Result<Option<String>> {
        let known = |this: &Self| {
            let at = usize::try_from(ordinal.checked_sub(this.first)?).ok()?;
            this.ids.get(at).cloned()
        };
        if let Some(id) = known(self) {
            return Ok(id);
        }
        let end = ordinal.saturating_add(ahead.clamp(1, 1024) as u64).min(store.index.len());
        let rows = store.rows(ordinal..end.max(ordinal.saturating_add(1)))?;
        self.first = ordinal;
        self.ids = rows.into_iter().map(|row| row.id).collect();
        Ok(known(self).flatten())
    }
}
