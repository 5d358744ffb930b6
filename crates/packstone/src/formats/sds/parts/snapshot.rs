//! The snapshot: how many records, and the pages of the manifest.
//!
//! ```text
//! format  layout_version  snapshot_id  record_count  shard_count  stored_bytes
//! manifests [{first_ordinal, record_count, shard_count, stored_bytes, object {path, stored_bytes}}]
//! ```
//!
//! `stored_bytes` are those of shard objects, data and metadata; a page's own size stands in its `object`.

use packstone_container::json::{At, Object, ShapeError, Value};
use packstone_io::Kind;

use super::super::codes;
use super::super::document::{check_head, count, head, text};
use super::super::layout::{PRETTY, SNAPSHOT_FORMAT};
use super::super::options::JsonPolicy;
use super::notes::Notes;
use super::reference::ObjectReference;
use super::text::{misshapen, read, spell};
use crate::error::{Error, Place, Result};

const KEYS: [&str; 7] = [
    "format",
    "layout_version",
    "manifests",
    "record_count",
    "shard_count",
    "snapshot_id",
    "stored_bytes",
];
const PAGE_KEYS: [&str; 5] =
    ["first_ordinal", "object", "record_count", "shard_count", "stored_bytes"];

/// What a snapshot says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// Its name.
    pub snapshot_id: String,
    /// Records in all pages.
    pub record_count: u64,
    /// Shard entries in all pages.
    pub shard_count: u64,
    /// Bytes of the objects of all shard entries.
    pub stored_bytes: u64,
    /// The pages in order.
    pub manifests: Vec<ManifestReference>,
}

/// A reference to a page of the manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestReference {
    /// The ordinal of its first record.
    pub first_ordinal: u64,
    /// Its records.
    pub record_count: u64,
    /// Its shard entries.
    pub shard_count: u64,
    /// Bytes of the objects of its shard entries.
    pub stored_bytes: u64,
    /// The page.
    pub object: ObjectReference,
}

impl Snapshot {
    /// Reads a snapshot and compares its counts with those of its pages.
    ///
    /// # Errors
    /// As for [`RootDocument::parse`](super::super::document::RootDocument::parse); `range_mismatch`, `count_mismatch`.
    pub fn parse(bytes: &[u8], policy: &JsonPolicy, notes: &mut Notes) -> Result<Self> {
        let value = read(bytes, policy, notes)?;
        let at = At::root(&value);
        check_head(at, SNAPSHOT_FORMAT, notes)?;
        let place = notes.place.clone();
        let shape = |e: ShapeError| misshapen(codes::DOCUMENT_INVALID, &e, &place);
        let snapshot_id = text(at.field("snapshot_id").map_err(shape)?, notes)?;
        let [record_count, shard_count, stored_bytes] = [
            count(at, "record_count", notes)?,
            count(at, "shard_count", notes)?,
            count(at, "stored_bytes", notes)?,
        ];
        let pages = at.field("manifests").and_then(At::items).map_err(shape)?;
        let manifests = pages.map(|page| ManifestReference::parse(page, notes));
        let manifests = manifests.collect::<Result<_>>()?;
        notes.unknown(at, &KEYS).map_err(shape)?;
        let snapshot = Self { snapshot_id, record_count, shard_count, stored_bytes, manifests };
        snapshot.check(&place)?;
        Ok(snapshot)
    }

    fn check(&self, place: &Place) -> Result<()> {
        let pages = &self.manifests;
        let mut next = Some(0u64);
        for (page, number) in pages.iter().zip(0u64..) {
            contiguous(next, page.first_ordinal, || {
                place.clone().json(format!("$.manifests[{number}].first_ordinal"))
            })?;
            next = page.first_ordinal.checked_add(page.record_count);
        }
        let sum = |of: fn(&ManifestReference) -> u64| {
            pages.iter().try_fold(0u64, |sum, page| sum.checked_add(of(page)))
        };
        for (key, found, expected) in [
            ("record_count", self.record_count, sum(|page| page.record_count)),
            ("shard_count", self.shard_count, sum(|page| page.shard_count)),
            ("stored_bytes", self.stored_bytes, sum(|page| page.stored_bytes)),
        ] {
            same_count(expected, found, || {
                (place.clone().json(format!("$.{key}")), "as its manifests add up")
            })?;
        }
        Ok(())
    }

    /// Its text.
    pub fn text(&self) -> String {
        let mut out = head(SNAPSHOT_FORMAT);
        out.insert("snapshot_id", self.snapshot_id.as_str());
        out.insert("record_count", self.record_count);
        out.insert("shard_count", self.shard_count);
        out.insert("stored_bytes", self.stored_bytes);
        let pages = self.manifests.iter().map(ManifestReference::to_value);
        out.insert("manifests", pages.collect::<Vec<_>>());
        spell(Value::Object(out), &PRETTY)
    }
}

impl ManifestReference {
    fn parse(at: At<'_>, notes: &mut Notes) -> Result<Self> {
        let object = at.field("object");
        let object = object.map_err(|e| notes.misshapen(codes::DOCUMENT_INVALID, &e))?;
        let found = Self {
            first_ordinal: count(at, "first_ordinal", notes)?,
            record_count: count(at, "record_count", notes)?,
            shard_count: count(at, "shard_count", notes)?,
            stored_bytes: count(at, "stored_bytes", notes)?,
            object: ObjectReference::parse(object, codes::DOCUMENT_INVALID, notes)?,
        };
        let unknown = notes.unknown(at, &PAGE_KEYS);
        unknown.map_err(|e| notes.misshapen(codes::DOCUMENT_INVALID, &e))?;
        Ok(found)
    }

    fn to_value(&self) -> Value {
        let mut out = Object::new();
        out.insert("first_ordinal", self.first_ordinal);
        out.insert("record_count", self.record_count);
        out.insert("shard_count", self.shard_count);
        out.insert("stored_bytes", self.stored_bytes);
        out.insert("object", self.object.to_value());
        Value::Object(out)
    }
}

/// Checks that a range begins where the one before ends.
///
/// # Errors
/// `range_mismatch`.
pub(super) fn contiguous(
    expected: Option<u64>,
    found: u64,
    place: impl FnOnce() -> Place,
) -> Result<()> {
    if expected == Some(found) {
        return Ok(());
    }
    let expected = expected.map_or("an ordinal within 64 bits".to_owned(), |n| n.to_string());
    let message = format!("expected the range to begin at {expected}, found {found}");
    Err(Error::new(Kind::Corrupt, codes::RANGE_MISMATCH, place(), message))
}

/// Checks a count against what it counts; `None` stands for more than 64 bits.
///
/// # Errors
/// `count_mismatch`.
pub(super) fn same_count(
    expected: Option<u64>,
    found: u64,
    told: impl FnOnce() -> (Place, &'static str),
) -> Result<()> {
    if expected == Some(found) {
        return Ok(());
    }
    let expected = expected.map_or("more than 64 bits hold".to_owned(), |n| n.to_string());
    let (place, why) = told();
    let message = format!("expected {expected} {why}, found {found}");
    Err(Error::new(Kind::Corrupt, codes::COUNT_MISMATCH, place, message))
}
