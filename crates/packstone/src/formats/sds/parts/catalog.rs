//! The documents of annotation sets: a pointer that is replaced, revisions named by their digest, and set roots.
//!
//! ```text
//! annotations/catalog.json          {"revision":{"generation":null,"path":"annotations/catalogs/<sha256>.json"}}
//! annotations/catalogs/….json       {"sets":{<name>:{"generation":null,"path":…/root.json,"stored_bytes":…}}}
//! annotations/sets/<name>/<publication>/root.json
//!                                   {"metadata":{},"name":…,"publication_id":…,"record_count":…,
//!                                    "shards":[{"first_ordinal":…,"object":{…},"record_count":…}],"source_snapshot_id":…}
//! ```
//!
//! Keys are exact: others are refused. Only the shard rows of a set root may have more, which is noted.

use std::collections::BTreeMap;

use packstone_container::digest::{hex, sha256};
use packstone_container::json::{At, Object, ShapeError, Value};
use packstone_io::{Kind, RelPath};

use super::super::codes;
use super::super::layout::{COMPACT, is_portable, revision_digest, set_root_path};
use super::super::options::JsonPolicy;
use super::notes::Notes;
use super::reference::{ObjectPath, ObjectReference, generation};
use super::snapshot::{contiguous, same_count};
use super::text::{misshapen, pythonic_object, read, spell};
use crate::error::{Error, Place, Result};

/// What the pointer says: the path of the newest revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CatalogPointer {
    /// The revision.
    pub revision: String,
}

impl CatalogPointer {
    /// Reads the pointer.
    ///
    /// # Errors
    /// `json_invalid`, `duplicate_key`, `limit_exceeded`, `catalog_invalid`.
    pub fn parse(bytes: &[u8], policy: &JsonPolicy, notes: &mut Notes) -> Result<Self> {
        let value = read(bytes, policy, notes)?;
        let at = At::root(&value);
        let place = notes.place.clone();
        let shape = |e: ShapeError| misshapen(codes::CATALOG_INVALID, &e, &place);
        exact(at, &["revision"], &[]).map_err(shape)?;
        let revision = at.field("revision").map_err(shape)?;
        exact(revision, &["path"], &["generation"]).map_err(shape)?;
        let path = revision.field("path").map_err(shape)?;
        let text = path.str().map_err(shape)?;
        if revision_digest(text).is_none() {
            let expected = "annotations/catalogs/<64 digits of lower-case hex>.json";
            return Err(shape(path.unexpected(expected)));
        }
        generation(revision, codes::CATALOG_INVALID, notes)?;
        Ok(Self { revision: text.to_owned() })
    }

    /// Its text.
    pub fn text(&self) -> String {
        let mut revision = Object::new();
        revision.insert("generation", Value::Null);
        revision.insert("path", self.revision.as_str());
        spell(Value::Object(Object::from_iter([("revision", revision)])), &COMPACT)
    }
}

/// A reference to a set root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetReference {
    /// The set root.
    pub path: RelPath,
    /// Its size in bytes.
    pub stored_bytes: u64,
}

/// What a revision says: the sets by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Revision {
    /// The sets.
    pub sets: BTreeMap<String, SetReference>,
    /// Their names in the order of the document.
    pub names: Vec<String>,
}

impl Revision {
    /// Reads the revision at `path`, whose bytes have the digest of its name.
    ///
    /// # Errors
    /// As for [`CatalogPointer::parse`]; `revision_hash_mismatch`.
    pub fn parse(bytes: &[u8], path: &str, policy: &JsonPolicy, notes: &mut Notes) -> Result<Self> {
        let (expected, found) = (revision_digest(path).unwrap_or_default(), hex(&sha256(bytes)));
        if expected != found {
            let message = format!("expected sha256 {expected}, found {found}");
            let place = notes.place.clone();
            let code = codes::REVISION_HASH_MISMATCH;
            return Err(Error::new(Kind::Corrupt, code, place, message));
        }
        let value = read(bytes, policy, notes)?;
        let at = At::root(&value);
        let place = notes.place.clone();
        let shape = |e: ShapeError| misshapen(codes::CATALOG_INVALID, &e, &place);
        exact(at, &["sets"], &[]).map_err(shape)?;
        let mut revision = Self::default();
        for (name, at) in at.field("sets").and_then(At::entries).map_err(shape)? {
            if !is_portable(name) {
                let message = format!("expected a portable name of a set, found {name:?}");
                let place = place.clone().json(at.path());
                return Err(Error::new(Kind::Corrupt, codes::CATALOG_INVALID, place, message));
            }
            exact(at, &["path", "stored_bytes"], &["generation"]).map_err(shape)?;
            let path = at.field("path").map_err(shape)?;
            let text = path.str().map_err(shape)?;
            let expected = || format!("annotations/sets/{name}/<publication>/root.json");
            let wrong = || shape(path.unexpected(expected()));
            let Ok(ObjectPath::Relative(found)) = ObjectPath::new(text) else {
                return Err(wrong());
            };
            let publication = found.components().nth(3).unwrap_or_default().to_owned();
            if !is_portable(&publication) || found.as_str() != set_root_path(name, &publication) {
                return Err(wrong());
            }
            let stored_bytes = at.field("stored_bytes").and_then(At::u64).map_err(shape)?;
            generation(at, codes::CATALOG_INVALID, notes)?;
            revision.names.push(name.to_owned());
            revision.sets.insert(name.to_owned(), SetReference { path: found, stored_bytes });
        }
        Ok(revision)
    }

    /// Its text.
    pub fn text(&self) -> String {
        let sets = self.sets.iter().map(|(name, set)| {
            let mut out = Object::new();
            out.insert("generation", Value::Null);
            out.insert("path", set.path.as_str());
            out.insert("stored_bytes", set.stored_bytes);
            (name.as_str(), out)
        });
        let sets: Object = sets.collect();
        spell(Value::Object(Object::from_iter([("sets", sets)])), &COMPACT)
    }
}

/// What a set root says.
#[derive(Clone, Debug, PartialEq)]
pub struct SetRoot {
    /// The name of the set.
    pub name: String,
    /// Which publication of it this is.
    pub publication_id: String,
    /// The snapshot whose records it annotates.
    pub source_snapshot_id: String,
    /// Its annotations, one a record of the snapshot.
    pub record_count: u64,
    /// What is said about the set.
    pub metadata: Object,
    /// Its shards in order.
    pub shards: Vec<SetShard>,
}

/// A shard of annotations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetShard {
    /// The ordinal of its first annotation.
    pub first_ordinal: u64,
    /// Its annotations, one at least.
    pub record_count: u64,
    /// The annotations.
    pub object: ObjectReference,
}

impl SetRoot {
    /// Reads a set root and checks that its shards cover what it says.
    ///
    /// # Errors
    /// `json_invalid`, `duplicate_key`, `limit_exceeded`, `set_invalid`, `path_invalid`, `range_mismatch`,
    /// `count_mismatch`.
    pub fn parse(bytes: &[u8], policy: &JsonPolicy, notes: &mut Notes) -> Result<Self> {
        let value = read(bytes, policy, notes)?;
        let at = At::root(&value);
        let place = notes.place.clone();
        let shape = |e: ShapeError| misshapen(codes::SET_INVALID, &e, &place);
        let keys =
            ["metadata", "name", "publication_id", "record_count", "shards", "source_snapshot_id"];
        exact(at, &keys, &[]).map_err(shape)?;
        let text = |key: &str, expected, good: fn(&str) -> bool| {
            let at = at.field(key).map_err(shape)?;
            let text = at.str().map_err(shape)?;
            if good(text) { Ok(text.to_owned()) } else { Err(shape(at.unexpected(expected))) }
        };
        let portable = "a portable identifier";
        let mut set = Self {
            name: text("name", portable, is_portable)?,
            publication_id: text("publication_id", portable, is_portable)?,
            source_snapshot_id: text("source_snapshot_id", "a text that is not empty", |t| {
                !t.is_empty()
            })?,
            record_count: at.field("record_count").and_then(At::u64).map_err(shape)?,
            metadata: notes.metadata(at).map_err(shape)?,
            shards: Vec::new(),
        };
        let (mut next, mut sum) = (Some(0u64), Some(0u64));
        for at in at.field("shards").and_then(At::items).map_err(shape)? {
            let first = at.field("first_ordinal").map_err(shape)?;
            let count = at.field("record_count").map_err(shape)?;
            let object = at.field("object").map_err(shape)?;
            let shard = SetShard {
                first_ordinal: first.u64().map_err(shape)?,
                record_count: count.u64().map_err(shape)?,
                object: ObjectReference::parse(object, codes::SET_INVALID, notes)?,
            };
            if shard.record_count == 0 {
                return Err(shape(count.unexpected("a positive integer")));
            }
            if let ObjectPath::Absolute(path) = &shard.object.path {
                let message = format!("expected a path below the dataset, found {path:?}");
                let place = place.clone().json(object.path());
                return Err(Error::new(Kind::Denied, codes::PATH_ABSOLUTE, place, message));
            }
            contiguous(next, shard.first_ordinal, || place.clone().json(first.path()))?;
            next = shard.first_ordinal.checked_add(shard.record_count);
            sum = sum.and_then(|sum| sum.checked_add(shard.record_count));
            notes.unknown(at, &["first_ordinal", "object", "record_count"]).map_err(shape)?;
            set.shards.push(shard);
        }
        same_count(sum, set.record_count, || {
            (place.clone().json("$.record_count"), "as its shards add up")
        })?;
        Ok(set)
    }

    /// Checks that the set is the one that the catalog means, and that it annotates this snapshot as a whole.
    ///
    /// # Errors
    /// `set_mismatch`, `count_mismatch`.
    pub fn check(&self, place: &Place, name: &str, snapshot_id: &str, records: u64) -> Result<()> {
        for (key, expected, found) in [
            ("$.name", name, &self.name),
            ("$.source_snapshot_id", snapshot_id, &self.source_snapshot_id),
        ] {
            if expected != found {
                let message = format!("expected {expected:?}, found {found:?}");
                let place = place.clone().json(key);
                return Err(Error::new(Kind::Corrupt, codes::SET_MISMATCH, place, message));
            }
        }
        same_count(Some(records), self.record_count, || {
            (place.clone().json("$.record_count"), "annotations, one a record of the dataset")
        })
    }

    /// Its text.
    pub fn text(&self) -> String {
        let shard = |shard: &SetShard| {
            let mut out = Object::new();
            out.insert("first_ordinal", shard.first_ordinal);
            out.insert("object", shard.object.to_value());
            out.insert("record_count", shard.record_count);
            Value::Object(out)
        };
        let mut out = Object::new();
        out.insert("metadata", pythonic_object(&self.metadata));
        out.insert("name", self.name.as_str());
        out.insert("publication_id", self.publication_id.as_str());
        out.insert("record_count", self.record_count);
        out.insert("shards", self.shards.iter().map(shard).collect::<Vec<_>>());
        out.insert("source_snapshot_id", self.source_snapshot_id.as_str());
        spell(Value::Object(out), &COMPACT)
    }
}

/// Checks that an object has these keys, perhaps those, and no others.
///
/// # Errors
/// The first that is missing or too much.
pub(super) fn exact(at: At<'_>, keys: &[&str], optional: &[&str]) -> Result<(), ShapeError> {
    for key in keys {
        at.field(key)?;
    }
    let known = |key: &str| keys.contains(&key) || optional.contains(&key);
    match at.entries()?.find(|(key, _)| !known(key)) {
        None => Ok(()),
        Some((_, at)) => Err(at.unexpected("no such key")),
    }
}
