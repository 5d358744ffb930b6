//! Opening a dataset and reading its records, rows and annotations.
//!
//! Opening reads `root.json` and the snapshot. Pages of the manifest, the catalog of annotations and the fields of records
//! are read when they are asked for, so that damage harms only what depends on it. Rows are read without touching records,
//! and records without touching rows, except that the fields of a collection are those of the first row.
//!
//! Records may differ in their fields. A collection has the fields of its first record, with shapes that vary; what reads
//! samples one by one or in batches names the first record that differs, what reads runs gets each with its own fields.
//!
//! Known difference from the original: it opens all annotation sets with the dataset, and not the dataset without them.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use packstone_container::Limits;
use packstone_io::{Kind, Root};

use super::codes;
use super::document::{RootDocument, root_place};
use super::layout::{PROTOTYPE_DOCUMENT, ROOT_DOCUMENT, fixed};
use super::options::{OpenOptions, Policy};
use super::parts::annotations::{AnnotationSet, Catalog};
use super::parts::batch::{own_schema, schema_of};
use super::parts::collection::{Annotations, Records};
use super::parts::index::{Index, check_document};
use super::parts::notes::{Notes, within};
use super::parts::own::{Own, RECORDS};
use super::parts::payload;
use super::parts::record::{Record, Row};
use super::parts::reference::{ObjectReference, Objects};
use super::parts::shards::Shards;
use super::parts::snapshot::Snapshot;
use crate::error::{Error, Place, Result};
use crate::format::{Collection, Dataset, Info};
use crate::model::Schema;

/// Start of the names of collections that are annotation sets.
pub const ANNOTATIONS: &str = "annotations";
/// Records that are tried for the fields of a dataset whose first ones are damaged.
const PROBES: usize = 8;
/// Rows that are read at once.
const AT_ONCE: u64 = 1024;

/// An open dataset.
#[derive(Clone)]
pub struct SdsDataset {
    info: Info,
    document: Arc<RootDocument>,
    store: Arc<Store>,
}

/// What the collections of a dataset share.
pub struct Store {
    /// Where everything is.
    pub objects: Objects,
    /// Where records are.
    pub index: Arc<Index>,
    /// What holds them.
    pub shards: Shards,
    /// Bounds.
    pub policy: Policy,
    own: Option<Own>,
    schema: OnceLock<Arc<Schema>>,
    catalog: OnceLock<Arc<Catalog>>,
}

impl SdsDataset {
    /// Opens the dataset in `root`.
    ///
    /// # Errors
    /// `missing_object` or `prototype` where there is none; those of [`RootDocument::parse`] and [`Snapshot::parse`];
    /// `size_mismatch`.
    pub fn open(root: Arc<dyn Root>, limits: &Limits) -> Result<Self> {
        Self::open_with(root, &OpenOptions::within(limits))
    }

    /// Opens the dataset in `root`, perhaps following absolute references.
    ///
    /// # Errors
    /// As for [`SdsDataset::open`].
    pub fn open_with(root: Arc<dyn Root>, options: &OpenOptions) -> Result<Self> {
        let objects = Objects::new(root, &options.sources);
        let mut notes = Notes::silent(root_place());
        let document = read_root(&objects, &options.policy, &mut notes)?;
        Self::behind(document, objects, options)
    }

    /// The dataset that `root` will hold once this document is its `root.json`: all else is there.
    pub(super) fn unmarked(
        root: Arc<dyn Root>,
        document: &str,
        options: &OpenOptions,
    ) -> Result<Self> {
        let objects = Objects::new(root, &options.sources);
        let mut notes = Notes::silent(root_place());
        let control = &options.policy.control;
        let document = RootDocument::parse(document.as_bytes(), control, &mut notes)?;
        Self::behind(document, objects, options)
    }

    fn behind(document: RootDocument, objects: Objects, options: &OpenOptions) -> Result<Self> {
        let mut notes = Notes::silent(root_place());
        let snapshot = read_snapshot(&objects, &document.snapshot, &options.policy, &mut notes)?;
        let own = Own::of(&document.metadata, snapshot.record_count);
        let carried = own.as_ref().and_then(|own| own.carried.clone());
        let info = Info { format: super::ID, native: document.document.clone(), carried };
        let index = Arc::new(Index::new(snapshot, objects.clone(), options.policy.control));
        let mut limits = options.limits;
        limits.decoded_bytes = limits.decoded_bytes.min(options.policy.records.encoded_bytes);
        let shards = Shards::new(objects.clone(), limits);
        let (policy, schema, catalog) = (options.policy.clone(), OnceLock::new(), OnceLock::new());
        let store = Store { objects, index, shards, policy, own, schema, catalog };
        Ok(Self { info, document: Arc::new(document), store: Arc::new(store) })
    }

    /// What `root.json` says.
    pub fn document(&self) -> &RootDocument {
        &self.document
    }

    /// What the snapshot says.
    pub fn snapshot(&self) -> &Snapshot {
        &self.store.index.snapshot
    }

    /// What the collections share.
    pub fn store(&self) -> &Arc<Store> {
        &self.store
    }

    /// Number of records.
    pub fn len(&self) -> u64 {
        self.store.index.len()
    }

    /// True for a dataset without records.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One record.
    ///
    /// # Errors
    /// `index_out_of_range`; those of the page, the shard and the payload.
    pub fn record(&self, ordinal: u64) -> Result<Record> {
        self.store.record(ordinal)
    }

    /// What one record is without its values. No shard of records is touched.
    ///
    /// # Errors
    /// As for [`SdsDataset::record`].
    pub fn row(&self, ordinal: u64) -> Result<Row> {
        let rows = self.store.rows(ordinal..ordinal.saturating_add(1))?;
        rows.into_iter().next().ok_or_else(|| {
            let message = format!("expected a record of the dataset, found number {ordinal}");
            Error::new(Kind::NotFound, codes::INDEX_OUT_OF_RANGE, Place::default(), message)
        })
    }

    /// The rows of some records.
    ///
    /// # Errors
    /// As for [`SdsDataset::record`].
    pub fn rows(&self, ordinals: Range<u64>) -> Result<Vec<Row>> {
        self.store.rows(ordinals)
    }

    /// The catalog of annotation sets.
    ///
    /// # Errors
    /// `catalog_invalid`, `revision_hash_mismatch`, `missing_object`, `json_invalid`, …
    pub fn catalog(&self) -> Result<Arc<Catalog>> {
        self.store.catalog()
    }

    /// An annotation set by its name.
    ///
    /// # Errors
    /// `unknown_set`; those of [`SdsDataset::catalog`]; `set_invalid`, `set_mismatch`, `size_mismatch`, ….
    pub fn annotations(&self, name: &str) -> Result<AnnotationSet> {
        self.store.catalog()?.set(Arc::clone(&self.store), name)
    }

    /// The ordinals of the records that a collection is.
    ///
    /// # Errors
    /// `unknown_set`, also for annotation sets.
    pub fn ordinals(&self, collection: &str) -> Result<Range<u64>> {
        let found = self.ranges().into_iter().find(|(name, _)| name == collection);
        found.map(|(_, range)| range).ok_or_else(|| {
            let known: Vec<String> = self.ranges().into_iter().map(|(name, _)| name).collect();
            let known = known.join(", ");
            let message = format!("expected records, one of {known}, found {collection:?}");
            Error::new(Kind::NotFound, codes::UNKNOWN_SET, root_place(), message)
        })
    }

    /// The collections of records: one, or those that packstone's writer was given, with their first ordinals.
    fn ranges(&self) -> Vec<(String, Range<u64>)> {
        let Some(own) = self.store.own.as_ref().filter(|own| !own.collections.is_empty()) else {
            return vec![(RECORDS.to_owned(), 0..self.len())];
        };
        let mut next = 0u64;
        let ranges = own.collections.iter().map(|(name, len)| {
            let first = next;
            next = next.saturating_add(*len);
            (name.clone(), first..next)
        });
        ranges.collect()
    }
}

impl Store {
    /// One record.
    ///
    /// # Errors
    /// As for [`SdsDataset::record`].
    pub fn record(&self, ordinal: u64) -> Result<Record> {
        let found = self.index.locate(ordinal)?;
        let entry = found.entry()?;
        let offset = ordinal.saturating_sub(entry.first_ordinal);
        let index = entry.index(offset).unwrap_or(u64::MAX);
        let shard = self.shards.open(&entry.data)?;
        let bytes = self.shards.decoding(|decoder| shard.record(index, decoder))?;
        self.decode(&bytes, &entry.data, index)
    }

    /// Reads the record with number `index` in an object.
    ///
    /// # Errors
    /// Those of [`payload::decode`].
    pub fn decode(
        &self,
        bytes: &packstone_io::Buf,
        object: &ObjectReference,
        index: u64,
    ) -> Result<Record> {
        let mut notes = Notes::silent(Place::default());
        let record = payload::decode(bytes, &self.policy.records, &mut notes);
        record.map_err(|error| within(error, &object.path.to_string(), Some(index)))
    }

    /// The rows of some records.
    ///
    /// # Errors
    /// As for [`SdsDataset::record`].
    pub fn rows(&self, ordinals: Range<u64>) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        let mut next = ordinals.start;
        while next < ordinals.end {
            let found = self.index.locate(next)?;
            let entry = found.entry()?;
            let until = ordinals.end.min(next.saturating_add(AT_ONCE));
            let last = found.shared_end(|entry| &entry.metadata, until);
            let shard = self.shards.open(&entry.metadata)?;
            let indices = (next..last).map(|at| found.index(at).unwrap_or(u64::MAX));
            let indices: Vec<u64> = indices.collect();
            let records = self.shards.decoding(|decoder| shard.records(&indices, decoder))?;
            let called = entry.metadata.path.to_string();
            for (bytes, index) in records.iter().zip(&indices) {
                let mut notes = Notes::silent(Place::default());
                let row = Row::parse(bytes, &self.policy, &mut notes);
                rows.push(row.map_err(|error| within(error, &called, Some(*index)))?);
            }
            next = last;
        }
        Ok(rows)
    }

    /// The catalog, read once.
    fn catalog(&self) -> Result<Arc<Catalog>> {
        if let Some(catalog) = self.catalog.get() {
            return Ok(Arc::clone(catalog));
        }
        let mut notes = Notes::silent(Place::default());
        let read = Arc::new(Catalog::read(&self.objects, &self.policy, &mut notes)?);
        Ok(Arc::clone(self.catalog.get_or_init(|| read)))
    }

    /// The fields of records: as recorded by the writer, or those of the first record that can be read.
    fn schema(&self) -> Result<Arc<Schema>> {
        if let Some(schema) = self.schema.get() {
            return Ok(Arc::clone(schema));
        }
        let found = Arc::new(self.probe()?);
        Ok(Arc::clone(self.schema.get_or_init(|| found)))
    }

    /// True where packstone wrote the records and none has metadata.
    pub fn is_bare(&self) -> bool {
        self.own.as_ref().is_some_and(|own| own.bare)
    }

    fn probe(&self) -> Result<Schema> {
        if let Some(own) = &self.own {
            return Ok(own.schema.clone());
        }
        let pages = &self.index.snapshot.manifests;
        let firsts = pages.iter().filter(|page| page.record_count > 0);
        let mut failed = None;
        for page in firsts.take(PROBES) {
            match self.fields_of(page.first_ordinal) {
                Ok(schema) => return Ok(schema),
                Err(error) => {
                    failed.get_or_insert(error);
                }
            }
        }
        failed.map_or_else(|| Ok(Schema::default()), Err)
    }

    /// The fields of one record, by its row; where that is of no use, by itself.
    fn fields_of(&self, ordinal: u64) -> Result<Schema> {
        let rows = self.rows(ordinal..ordinal.saturating_add(1));
        let row = rows.ok().and_then(|rows| rows.into_iter().next());
        let known = row.as_ref().and_then(|row| {
            let fields = row.fields.iter().map(|(name, field)| {
                let dtype = field.field_type().filter(|_| !field.shape.is_empty())?;
                Some((name.as_str(), dtype, field.shape.len()))
            });
            fields.collect::<Option<Vec<_>>>().filter(|fields| !fields.is_empty())
        });
        match known {
            Some(fields) => Ok(schema_of(fields.into_iter())),
            None => Ok(own_schema(&self.record(ordinal)?)),
        }
    }
}

/// Reads `root.json`.
///
/// # Errors
/// As for [`SdsDataset::open`].
pub fn read_root(objects: &Objects, policy: &Policy, notes: &mut Notes) -> Result<RootDocument> {
    let file = objects.open_own(&fixed(ROOT_DOCUMENT)).map_err(|error| {
        if error.kind() != Kind::NotFound {
            return error;
        }
        let place = root_place();
        if objects.root.len(&fixed(PROTOTYPE_DOCUMENT)).is_ok() {
            let message = format!(
                "expected {ROOT_DOCUMENT}, found {PROTOTYPE_DOCUMENT} of a prototype that no release reads"
            );
            return Error::new(Kind::Unsupported, codes::PROTOTYPE, place, message);
        }
        let message = format!("not a signal dataset: expected {ROOT_DOCUMENT}, found none");
        Error::new(Kind::NotFound, codes::MISSING_OBJECT, place, message)
    })?;
    check_document(file.len(), &policy.control, &notes.place)?;
    RootDocument::parse(&file.read_all()?, &policy.control, notes)
}

/// Reads the snapshot that a root names.
///
/// # Errors
/// As for [`SdsDataset::open`]; `path_absolute`.
pub fn read_snapshot(
    objects: &Objects,
    reference: &ObjectReference,
    policy: &Policy,
    notes: &mut Notes,
) -> Result<Snapshot> {
    if let super::parts::reference::ObjectPath::Absolute(path) = &reference.path {
        let message = format!("expected a snapshot below the dataset, found {path:?}");
        let place = root_place().json("$.snapshot.path");
        return Err(Error::new(Kind::Denied, codes::PATH_ABSOLUTE, place, message));
    }
    let place = std::mem::replace(&mut notes.place, Place::file(&reference.path));
    let file = objects.open_whole(reference)?;
    check_document(file.len(), &policy.control, &notes.place)?;
    let snapshot = Snapshot::parse(&file.read_all()?, &policy.control, notes);
    notes.place = place;
    snapshot
}

impl Dataset for SdsDataset {
    fn info(&self) -> &Info {
        &self.info
    }

    fn schema(&self) -> &Arc<Schema> {
        static NONE: OnceLock<Arc<Schema>> = OnceLock::new();
        // Where no record can be read there is nothing to say, and reading says why.
        let _ = self.store.schema();
        self.store.schema.get().unwrap_or_else(|| NONE.get_or_init(Arc::default))
    }

    /// The records, and the annotation sets; where their catalog is damaged, one collection that fails with the reason.
    fn collections(&self) -> Vec<String> {
        let mut names: Vec<String> = self.ranges().into_iter().map(|(name, _)| name).collect();
        match self.store.catalog() {
            Ok(catalog) => {
                let sets = catalog.names().iter().map(|name| format!("{ANNOTATIONS}/{name}"));
                names.extend(sets);
            }
            Err(_) => names.push(ANNOTATIONS.to_owned()),
        }
        names
    }

    /// Annotations: they come after the records, with fields of their own.
    fn is_beside(&self, collection: &str) -> bool {
        self.ranges().iter().all(|(records, _)| records != collection)
    }

    fn collection(&self, name: &str) -> Result<Arc<dyn Collection>> {
        let ranges = self.ranges();
        if let Some((name, range)) = ranges.into_iter().find(|(known, _)| known == name) {
            let (store, schema) = (Arc::clone(&self.store), self.store.schema()?);
            return Ok(Arc::new(Records { name, range, schema, store }));
        }
        if name == ANNOTATIONS {
            self.store.catalog()?;
        }
        let set = name.strip_prefix(ANNOTATIONS).and_then(|rest| rest.strip_prefix('/'));
        let Some(set) = set else {
            let known = self.collections().join(", ");
            let message = format!("expected one of the collections {known}, found {name:?}");
            let place = root_place();
            return Err(Error::new(Kind::NotFound, codes::UNKNOWN_SET, place, message));
        };
        let set = self.annotations(set)?;
        Ok(Arc::new(Annotations::new(name.to_owned(), Arc::new(set))?))
    }
}
