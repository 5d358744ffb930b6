//! What a worker says about the annotations it wrote: the pointer that was first is the one that counts.
//!
//! `{"first_ordinal":…,"generation":null,"logical_shard_id":…,"name":…,"publication_id":…,"record_ids":[…],
//! "source_snapshot_id":…,"statuses":[…],"stored_bytes":…,"terminal_statuses":[…],"uri":…}`, these keys and no others.

use packstone_container::json::{At, Object, ShapeError, Value};

use super::super::codes;
use super::super::layout::COMPACT;
use super::super::options::JsonPolicy;
use super::carrier::Status;
use super::catalog::exact;
use super::notes::Notes;
use super::text::{misshapen, read, spell};
use crate::error::Result;

const KEYS: [&str; 11] = [
    "first_ordinal",
    "generation",
    "logical_shard_id",
    "name",
    "publication_id",
    "record_ids",
    "source_snapshot_id",
    "statuses",
    "stored_bytes",
    "terminal_statuses",
    "uri",
];

/// A worker's shard of annotations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerPointer {
    /// The name of the set.
    pub name: String,
    /// Which publication of it.
    pub publication_id: String,
    /// The snapshot whose records are annotated.
    pub source_snapshot_id: String,
    /// Which shard of the publication; workers that try the same one have the same id.
    pub logical_shard_id: String,
    /// The ordinal of the first annotation.
    pub first_ordinal: u64,
    /// The ids of the records.
    pub record_ids: Vec<String>,
    /// The object, with the root in front as the worker spelled it.
    pub uri: String,
    /// Bytes of the object.
    pub stored_bytes: u64,
    /// What became of each record.
    pub statuses: Vec<Status>,
    /// The same in more detail, where there is any.
    pub terminal_statuses: Vec<String>,
}

impl WorkerPointer {
    /// Reads a pointer.
    ///
    /// # Errors
    /// `json_invalid`, `duplicate_key`, `limit_exceeded`, `pointer_invalid`.
    pub fn parse(bytes: &[u8], policy: &JsonPolicy, notes: &mut Notes) -> Result<Self> {
        let value = read(bytes, policy, notes)?;
        let shape = |e: ShapeError| misshapen(codes::POINTER_INVALID, &e, &notes.place);
        Self::shaped(At::root(&value)).map_err(shape)
    }

    fn shaped(at: At<'_>) -> Result<Self, ShapeError> {
        exact(at, &KEYS, &[])?;
        let generation = at.field("generation")?;
        let whole = generation.number().is_ok_and(packstone_container::json::Number::is_integer);
        if !generation.value().is_null() && !whole {
            return Err(generation.unexpected("an integer or null"));
        }
        let text = |key| filled(at.field(key)?);
        let texts = |key: &str| at.field(key)?.items()?.map(filled).collect::<Result<Vec<_>, _>>();
        let pointer = Self {
            name: text("name")?,
            publication_id: text("publication_id")?,
            source_snapshot_id: text("source_snapshot_id")?,
            logical_shard_id: text("logical_shard_id")?,
            first_ordinal: at.field("first_ordinal")?.u64()?,
            record_ids: texts("record_ids")?,
            uri: text("uri")?,
            stored_bytes: at.field("stored_bytes")?.u64()?,
            statuses: at
                .field("statuses")?
                .items()?
                .map(Status::parse)
                .collect::<Result<_, _>>()?,
            terminal_statuses: texts("terminal_statuses")?,
        };
        let records = pointer.record_ids.len();
        if records == 0 {
            return Err(at.field("record_ids")?.unexpected("one record at least"));
        }
        for (key, found) in [
            ("statuses", pointer.statuses.len()),
            ("terminal_statuses", pointer.terminal_statuses.len()),
        ] {
            if found != records {
                return Err(at.field(key)?.unexpected(format!("{records} items, one a record")));
            }
        }
        Ok(pointer)
    }

    /// Its text.
    pub fn text(&self) -> String {
        let texts = |texts: &[String]| texts.iter().map(String::as_str).collect::<Value>();
        let mut out = Object::new();
        out.insert("first_ordinal", self.first_ordinal);
        out.insert("generation", Value::Null);
        out.insert("logical_shard_id", self.logical_shard_id.as_str());
        out.insert("name", self.name.as_str());
        out.insert("publication_id", self.publication_id.as_str());
        out.insert("record_ids", texts(&self.record_ids));
        out.insert("source_snapshot_id", self.source_snapshot_id.as_str());
        out.insert("statuses", self.statuses.iter().map(|s| s.name()).collect::<Value>());
        out.insert("stored_bytes", self.stored_bytes);
        out.insert("terminal_statuses", texts(&self.terminal_statuses));
        out.insert("uri", self.uri.as_str());
        spell(Value::Object(out), &COMPACT)
    }
}

fn filled(at: At<'_>) -> Result<String, ShapeError> {
    match at.str()? {
        "" => Err(at.unexpected("a text that is not empty")),
        text => Ok(text.to_owned()),
    }
}
