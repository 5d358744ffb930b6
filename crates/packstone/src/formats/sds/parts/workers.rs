//! Parts of a dataset that is published when all of them are there.
//!
//! ```text
//! packstone-part-<name>.json   { "packstone_part": 1, "fields": …, "bare": …, "collections": [[name, records, [shard, …]], …] }
//! shard                        { "records": …, "data": {path, stored_bytes}, "metadata": {path, stored_bytes} }
//! ```
//!
//! Shards lie where those of the dataset do, and count for nobody before a root leads to them. The file of a part is
//! created once, when its shards are there. It is removed when the dataset is published.

use std::sync::Arc;

use packstone_container::Limits;
use packstone_container::json::{At, Object, ReadOptions, ShapeError, Value, read};
use packstone_io::{Kind, RelPath, RootMut};

use super::super::codes;
use super::super::layout::{ROOT_DOCUMENT, fixed, is_portable};
use super::super::reader::SdsDataset;
use super::super::writer::{SdsWriter, Share};
use super::notes::Notes;
use super::own::Own;
use super::reference::{ObjectPath, ObjectReference};
use super::store::create_document;
use super::text::{misshapen, said};
use super::write::PublishedShard;
use crate::error::{Error, Place, Result};
use crate::format::{Dataset, Parts, Plan, Writer, Written};
use crate::model::{Batch, Schema};

/// How the names of part files begin and end.
const NAME: (&str, &str) = ("packstone-part-", ".json");
/// The version of part files.
const VERSION: u64 = 1;

/// The parts of a dataset to come.
pub struct Workers {
    root: Arc<dyn RootMut>,
    plan: Plan,
    options: Object,
}

fn invalid(place: Place, message: String) -> Error {
    Error::new(Kind::Invalid, codes::WORK_IDS, place, message)
}

fn part_path(name: &str) -> Result<RelPath> {
    if !is_portable(name) {
        let message = format!(
            "expected the name of a part of 1 to 128 letters, digits, '.', '_' and '-', found {name:?}"
        );
        return Err(invalid(Place::default(), message));
    }
    Ok(RelPath::new(&format!("{}{name}{}", NAME.0, NAME.1)).unwrap_or_default())
}

impl Workers {
    /// The parts of a dataset of this plan in `root`.
    ///
    /// # Errors
    /// Those of [`SdsWriter::create`], but for a dataset that is there already.
    pub fn new(root: Arc<dyn RootMut>, plan: &Plan, options: &Object) -> Result<Self> {
        let made = Self { root, plan: plan.clone(), options: options.clone() };
        if !made.is_published() {
            made.writer()?;
        }
        Ok(made)
    }

    fn is_published(&self) -> bool {
        self.root.len(&fixed(ROOT_DOCUMENT)).is_ok()
    }

    fn writer(&self) -> Result<SdsWriter> {
        SdsWriter::create(Arc::clone(&self.root), &self.plan, &self.options)
    }

    /// What the part `name` wrote.
    fn share(&self, name: &str) -> Result<Share> {
        let path = part_path(name)?;
        let bytes = self.root.read(&path).map_err(|error| match error.kind() {
            Kind::NotFound => {
                let message = format!("expected a finished part {name:?}, found none");
                invalid(Place::default(), message)
            }
            _ => error.into(),
        })?;
        let place = Place::file(&path);
        let document = read(&bytes, &ReadOptions::default().with_limits(Limits::default()));
        let document = document.map_err(|error| invalid(place.clone(), error.to_string()))?;
        let at = At::root(&document.value);
        let shape = |error: ShapeError| invalid(place.clone().json(error.path()), said(&error));
        let version = at.field("packstone_part").and_then(At::u64).map_err(shape)?;
        let fields = at.field("fields").map_err(shape)?.value();
        if version != VERSION || *fields != described(&self.plan.schema) {
            let message =
                "expected a part of this dataset, found one of another version or of other fields";
            return Err(invalid(place, message.to_owned()));
        }
        let mut notes = Notes::silent(place.clone());
        let mut lanes = Vec::new();
        for lane in at.field("collections").and_then(At::items).map_err(shape)? {
            let name = lane.index(0).and_then(At::str).map_err(shape)?.to_owned();
            let records = lane.index(1).and_then(At::u64).map_err(shape)?;
            let mut shards = Vec::new();
            for shard in lane.index(2).and_then(At::items).map_err(shape)? {
                let record_count = shard.field("records").and_then(At::u64).map_err(shape)?;
                let mut object = |name| {
                    let at = shard.field(name).map_err(shape)?;
                    let found = ObjectReference::parse(at, codes::WORK_IDS, &mut notes)?;
                    match &found.path {
                        ObjectPath::Relative(_) => Ok(found),
                        ObjectPath::Absolute(_) => Err(misshapen(
                            codes::PATH_ABSOLUTE,
                            &at.unexpected("a path of this dataset"),
                            &place,
                        )),
                    }
                };
                let (data, metadata) = (object("data")?, object("metadata")?);
                let (work_id, attempt, created) = (String::new(), 0, false);
                shards.push(PublishedShard {
                    work_id,
                    attempt,
                    record_count,
                    data,
                    metadata,
                    created,
                });
            }
            lanes.push((name, records, shards));
        }
        let bare = at.field("bare").and_then(At::bool).map_err(shape)?;
        Ok(Share { lanes, bare })
    }
}

/// The fields of a schema, as the root's metadata have them.
fn described(schema: &Arc<Schema>) -> Value {
    let own = Own { schema: Schema::clone(schema), ..Own::default() }.to_value();
    own.get("fields").cloned().unwrap_or_default()
}

fn part_text(schema: &Arc<Schema>, share: &Share) -> String {
    let lanes = share.lanes.iter().map(|(name, records, shards)| {
        let shards = shards.iter().map(|shard| {
            let mut out = Object::new();
            out.insert("records", shard.record_count);
            out.insert("data", shard.data.to_value());
            out.insert("metadata", shard.metadata.to_value());
            Value::Object(out)
        });
        let shards = Value::Array(shards.collect());
        Value::Array(vec![Value::from(name.as_str()), Value::from(*records), shards])
    });
    let mut out = Object::new();
    out.insert("packstone_part", VERSION);
    out.insert("fields", described(schema));
    out.insert("bare", share.bare);
    out.insert("collections", Value::Array(lanes.collect()));
    format!("{}\n", Value::Object(out))
}

impl Parts for Workers {
    fn open(&self, name: &str) -> Result<Box<dyn Writer>> {
        let path = part_path(name)?;
        if self.root.len(&path).is_ok() {
            return Err(finished(name));
        }
        let mut token = [0u8; 8];
        getrandom::fill(&mut token).map_err(|error| {
            Error::new(Kind::Io, "io/fault", Place::default(), error.to_string())
        })?;
        let token = format!("{:016x}", u64::from_le_bytes(token));
        let writer = self.writer()?.for_part(name, token);
        let (root, schema) = (Arc::clone(&self.root), Arc::clone(&self.plan.schema));
        Ok(Box::new(PartWriter { writer, root, schema, name: name.to_owned() }))
    }

    fn finished(&self) -> Result<Vec<String>> {
        let entries = self.root.list(&RelPath::root())?;
        let names = entries.iter().filter_map(|entry| {
            entry.name.strip_prefix(NAME.0)?.strip_suffix(NAME.1).map(str::to_owned)
        });
        let mut names: Vec<String> = names.collect();
        names.sort();
        Ok(names)
    }

    fn commit(&self, names: &[String]) -> Result<Written> {
        let finished = self.finished()?;
        if self.is_published() {
            // The end of a commit that was cut off after it had published, or that is done again.
            for name in &finished {
                self.root.remove(&part_path(name)?)?;
            }
            let samples = SdsDataset::open(Arc::clone(&self.root) as _, &Limits::default())?;
            let counts = samples.collections().into_iter().map(|name| samples.collection(&name));
            let counts =
                counts.map(|collection| Ok(collection?.len())).collect::<Result<Vec<_>>>()?;
            let samples = counts.into_iter().fold(0, u64::saturating_add);
            return Ok(Written { samples, ..Written::default() });
        }
        let names = if names.is_empty() { &finished[..] } else { names };
        let mut writer = self.writer()?;
        for (at, name) in names.iter().enumerate() {
            if names.iter().take(at).any(|before| before == name) {
                let message = format!("expected each part once, found {name:?} twice");
                return Err(invalid(Place::default(), message));
            }
            writer.take_share(self.share(name)?);
        }
        let written = Writer::finish(Box::new(writer))?;
        for name in &finished {
            // Best effort: nobody asks for them any more.
            let _ = self.root.remove(&part_path(name)?);
        }
        Ok(written)
    }
}

fn finished(name: &str) -> Error {
    let message = format!("expected a part to be written, found {name:?} finished");
    Error::new(Kind::Exists, codes::WORK_IDS, Place::default(), message)
}

/// A writer whose end is a part file.
struct PartWriter {
    writer: SdsWriter,
    root: Arc<dyn RootMut>,
    schema: Arc<Schema>,
    name: String,
}

impl Writer for PartWriter {
    fn write(&mut self, collection: &str, batch: &Batch) -> Result<()> {
        Writer::write(&mut self.writer, collection, batch)
    }

    fn finish(self: Box<Self>) -> Result<Written> {
        let Self { writer, root, schema, name } = *self;
        let path = part_path(&name)?;
        writer.finish_part(|share| {
            match create_document(root.as_ref(), &path, part_text(&schema, share).as_bytes()) {
                Err(error) if matches!(error.kind(), Kind::Exists | Kind::Conflict) => {
                    Err(finished(&name))
                }
                other => other.map(drop),
            }
        })
    }
}
