//! A page of the manifest: shards with their two objects, and for views which of the records in them.
//!
//! ```text
//! format  layout_version  first_ordinal  record_count
//! shards [{first_ordinal, record_count, data {path, stored_bytes}, metadata {path, stored_bytes}, record_indices?}]
//! ```

use packstone_container::json::{At, Object, ShapeError, Value};

use super::super::codes;
use super::super::document::{check_head, count, head};
use super::super::layout::{MANIFEST_FORMAT, PRETTY};
use super::super::options::JsonPolicy;
use super::notes::Notes;
use super::reference::ObjectReference;
use super::snapshot::{ManifestReference, contiguous, same_count};
use super::text::{misshapen, read, spell};
use crate::error::{Place, Result};

const KEYS: [&str; 5] = ["first_ordinal", "format", "layout_version", "record_count", "shards"];
const ENTRY_KEYS: [&str; 5] =
    ["data", "first_ordinal", "metadata", "record_count", "record_indices"];

/// What a page says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// The ordinal of its first record.
    pub first_ordinal: u64,
    /// Its records.
    pub record_count: u64,
    /// Its shards in order.
    pub shards: Vec<ShardEntry>,
}

/// A shard, or the records of one that a view shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShardEntry {
    /// The ordinal of its first record.
    pub first_ordinal: u64,
    /// Its records.
    pub record_count: u64,
    /// The records.
    pub data: ObjectReference,
    /// Their metadata rows, in the same order.
    pub metadata: ObjectReference,
    /// The numbers of the records in the objects; `None` for all in their order.
    pub record_indices: Option<Vec<u64>>,
}

impl ShardEntry {
    /// The number in the objects of the record at `offset`.
    pub fn index(&self, offset: u64) -> Option<u64> {
        match &self.record_indices {
            None => (offset < self.record_count).then_some(offset),
            Some(indices) => indices.get(usize::try_from(offset).ok()?).copied(),
        }
    }

    /// Bytes of both objects.
    pub fn stored_bytes(&self) -> Option<u64> {
        self.data.stored_bytes.checked_add(self.metadata.stored_bytes)
    }

    fn parse(at: At<'_>, notes: &mut Notes) -> Result<Self> {
        let place = notes.place.clone();
        let shape = |e: ShapeError| misshapen(codes::DOCUMENT_INVALID, &e, &place);
        let mut object = |key| {
            let at = at.field(key).map_err(shape)?;
            ObjectReference::parse(at, codes::DOCUMENT_INVALID, notes)
        };
        let (data, metadata) = (object("data")?, object("metadata")?);
        let record_count = count(at, "record_count", notes)?;
        let indices = at.optional("record_indices").map_err(shape)?;
        let indices = indices.filter(|at| !at.value().is_null());
        let record_indices = match indices {
            None => None,
            Some(at) => {
                let indices = at.items().map_err(shape)?.map(At::u64);
                let indices = indices.collect::<Result<Vec<_>, _>>().map_err(shape)?;
                same_count(Some(record_count), indices.len() as u64, || {
                    (place.clone().json(at.path()), "indices, one a record")
                })?;
                Some(indices)
            }
        };
        notes.unknown(at, &ENTRY_KEYS).map_err(shape)?;
        let first_ordinal = count(at, "first_ordinal", notes)?;
        Ok(Self { first_ordinal, record_count, data, metadata, record_indices })
    }

    fn to_value(&self) -> Value {
        let mut out = Object::new();
        out.insert("first_ordinal", self.first_ordinal);
        out.insert("record_count", self.record_count);
        out.insert("data", self.data.to_value());
        out.insert("metadata", self.metadata.to_value());
        if let Some(indices) = &self.record_indices {
            out.insert("record_indices", Value::from(indices.as_slice()));
        }
        Value::Object(out)
    }
}

impl Manifest {
    /// Reads a page and checks that its shards follow one another.
    ///
    /// # Errors
    /// As for [`Snapshot::parse`](super::snapshot::Snapshot::parse).
    pub fn parse(bytes: &[u8], policy: &JsonPolicy, notes: &mut Notes) -> Result<Self> {
        let value = read(bytes, policy, notes)?;
        let at = At::root(&value);
        check_head(at, MANIFEST_FORMAT, notes)?;
        let place = notes.place.clone();
        let shape = |e: ShapeError| misshapen(codes::DOCUMENT_INVALID, &e, &place);
        let shards = at.field("shards").and_then(At::items).map_err(shape)?;
        let shards = shards.map(|entry| ShardEntry::parse(entry, notes)).collect::<Result<_>>()?;
        let first_ordinal = count(at, "first_ordinal", notes)?;
        let record_count = count(at, "record_count", notes)?;
        notes.unknown(at, &KEYS).map_err(shape)?;
        let manifest = Self { first_ordinal, record_count, shards };
        manifest.check(&place)?;
        Ok(manifest)
    }

    fn check(&self, place: &Place) -> Result<()> {
        let mut next = Some(self.first_ordinal);
        let mut records = Some(0u64);
        for (shard, number) in self.shards.iter().zip(0u64..) {
            contiguous(next, shard.first_ordinal, || {
                place.clone().json(format!("$.shards[{number}].first_ordinal"))
            })?;
            next = shard.first_ordinal.checked_add(shard.record_count);
            records = records.and_then(|sum| sum.checked_add(shard.record_count));
        }
        same_count(records, self.record_count, || {
            (place.clone().json("$.record_count"), "as its shards add up")
        })
    }

    /// Compares the page with what the snapshot says about it.
    ///
    /// # Errors
    /// `range_mismatch`, `count_mismatch`.
    pub fn check_reference(&self, reference: &ManifestReference) -> Result<()> {
        let place = Place::file(&reference.object.path);
        contiguous(Some(reference.first_ordinal), self.first_ordinal, || {
            place.clone().json("$.first_ordinal")
        })?;
        let bytes =
            self.shards.iter().try_fold(0u64, |sum, shard| sum.checked_add(shard.stored_bytes()?));
        let told = |key: &str, why| (place.clone().json(key), why);
        same_count(Some(reference.record_count), self.record_count, || {
            told("$.record_count", "records, as the snapshot says of this page")
        })?;
        same_count(Some(reference.shard_count), self.shards.len() as u64, || {
            told("$.shards", "shards, as the snapshot says of this page")
        })?;
        same_count(bytes, reference.stored_bytes, || {
            told("$.shards", "bytes of shards, as this page adds up")
        })
    }

    /// Its text.
    pub fn text(&self) -> String {
        let mut out = head(MANIFEST_FORMAT);
        out.insert("first_ordinal", self.first_ordinal);
        out.insert("record_count", self.record_count);
        out.insert("shards", self.shards.iter().map(ShardEntry::to_value).collect::<Vec<_>>());
        spell(Value::Object(out), &PRETTY)
    }
}
