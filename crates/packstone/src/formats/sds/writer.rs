//! Writing a new dataset of samples: shards of bounded size while samples come, everything else at the end.
//!
//! Each collection becomes a range of records, in the order of the plan; the root's metadata say which, see
//! [`own`](super::parts::own). Samples of a collection `annotations/<name>` that was read from a dataset of this format
//! become that annotation set, and are published with the records.

use std::collections::BTreeSet;
use std::sync::Arc;

use packstone_container::json::{At, Object, ShapeError, Value};
use packstone_io::{Kind, RelPath, RootMut};

use super::codes;
use super::layout::{ROOT_DOCUMENT, fixed};
use super::options::Policy;
use super::parts::annotate::{AnnotationOptions, publish_annotations};
use super::parts::carrier::{Annotation, from_metadata};
use super::parts::encode::{Encoders, Naming, Piece};
use super::parts::own::{MEMBER, Own, RECORDS};
use super::parts::publish::{PublishOptions, SHARDS_PER_PAGE, publish_with};
use super::parts::reference::ObjectPath;
use super::parts::view::REFERENCE;
use super::parts::write::{PublishedShard, ShardOptions, ShardWriter};
use super::reader::{ANNOTATIONS, SdsDataset};
use super::schema::{check_plan, metadata_of, record};
use crate::error::{Error, Place, Result};
use crate::exec::default_threads;
use crate::format::{Plan, Writer, Written};
use crate::model::{Batch, Schema};

/// The options of a new dataset with their meaning.
pub const NAMES: &[(&str, &str)] = &[
    ("dataset_id", "the name of the dataset; that of the source, or \"dataset\""),
    ("snapshot_id", "the name of its snapshot, which becomes a folder; \"snapshot\""),
    ("records_per_shard", "records in a shard at most; 10000"),
    ("bytes_per_shard", "bytes of values in a shard, about, at most; 268435456"),
    ("shards_per_page", "shards that a page of the manifest names; 10000"),
];

/// What a new dataset is like.
#[derive(Clone, Debug)]
pub struct WriteOptions {
    /// Names, and what the dataset says about itself.
    pub publish: PublishOptions,
    /// Records in a shard at most.
    pub records_per_shard: u64,
    /// Bytes of values in a shard, about, at most.
    pub bytes_per_shard: u64,
    /// Threads that encode; 0 encodes where it is called. The bytes are the same.
    pub threads: usize,
}

impl WriteOptions {
    /// What `options` ask for, and by default what the source is like.
    ///
    /// # Errors
    /// `option_invalid`, `id_invalid`.
    pub fn new(plan: &Plan, options: &Object) -> Result<Self> {
        let known = |name: &str| NAMES.iter().any(|(known, _)| *known == name);
        if let Some(name) = options.keys().find(|name| !name.as_str().is_some_and(known)) {
            let names: Vec<_> = NAMES.iter().map(|(name, _)| *name).collect();
            return Err(invalid(format!(
                "expected an option of {}, found {name}",
                names.join(", ")
            )));
        }
        let native = plan.source.as_ref().filter(|(id, _)| id == super::ID).map(|(_, n)| n);
        let id = native.and_then(|native| native.get("dataset_id")?.as_str()).unwrap_or("dataset");
        let mut publish = PublishOptions::new(id, "snapshot");
        publish.metadata = native.map(metadata_of).unwrap_or_default();
        // What is written here is no view, whatever its source was.
        publish.metadata.remove(REFERENCE);
        let threads = default_threads();
        let (records_per_shard, bytes_per_shard) = (10_000, 256 << 20);
        let mut made = Self { publish, records_per_shard, bytes_per_shard, threads };
        let value = Value::Object(options.clone());
        made.read(At::root(&value)).map_err(|error| invalid(error.to_string()))?;
        made.publish.check(&Policy::default())?;
        Ok(made)
    }

    fn read(&mut self, at: At<'_>) -> Result<(), ShapeError> {
        let publish = &mut self.publish;
        for (name, text) in
            [("dataset_id", &mut publish.dataset_id), ("snapshot_id", &mut publish.snapshot_id)]
        {
            if let Some(at) = at.optional(name)? {
                *text = at.str()?.to_owned();
            }
        }
        publish.shards_per_page = SHARDS_PER_PAGE;
        for (name, number) in [
            ("records_per_shard", &mut self.records_per_shard),
            ("bytes_per_shard", &mut self.bytes_per_shard),
            ("shards_per_page", &mut publish.shards_per_page),
        ] {
            if let Some(at) = at.optional(name)? {
                *number = at.u64()?;
                if *number == 0 {
                    return Err(at.unexpected("at least 1"));
                }
            }
        }
        Ok(())
    }
}

fn invalid(message: String) -> Error {
    Error::new(Kind::Invalid, codes::OPTION_INVALID, Place::default(), message)
}

/// The name of the annotation set that a collection is.
pub fn set_name(collection: &str) -> Option<&str> {
    collection.strip_prefix(ANNOTATIONS)?.strip_prefix('/')
}

/// One collection in the making.
#[derive(Default)]
struct Lane {
    name: String,
    /// Records that wait for their shard to be full.
    waiting: Vec<Piece>,
    waiting_bytes: u64,
    records: u64,
    shards: Vec<PublishedShard>,
    /// The annotations of a set.
    annotations: Vec<Annotation>,
}

/// What a part wrote.
#[derive(Clone, Debug)]
pub struct Share {
    /// Of each collection its name, its records, and its shards.
    pub lanes: Vec<(String, u64, Vec<PublishedShard>)>,
    /// True where no record has metadata.
    pub bare: bool,
}

/// Writes a new dataset; dropped before it finishes, it takes its shards back.
pub struct SdsWriter {
    root: Arc<dyn RootMut>,
    options: WriteOptions,
    shard_options: Arc<ShardOptions>,
    encoders: Encoders,
    own: Own,
    lanes: Vec<Lane>,
    /// True where the source has annotation sets, so that collections of their names are such.
    annotated: bool,
    failed: bool,
    written: Written,
    /// What the part is called, and what sets this try apart from others, where this writes a part.
    part: Option<(String, String)>,
}

impl SdsWriter {
    /// Starts a new dataset in `root`, where none may be.
    ///
    /// # Errors
    /// `collision`; `not_writable`, `option_invalid`, `id_invalid`.
    pub fn create(root: Arc<dyn RootMut>, plan: &Plan, options: &Object) -> Result<Self> {
        Self::with_options(root, plan, WriteOptions::new(plan, options)?)
    }

    /// The same with options that are read already.
    ///
    /// # Errors
    /// As for [`SdsWriter::create`].
    pub fn with_options(
        root: Arc<dyn RootMut>,
        plan: &Plan,
        options: WriteOptions,
    ) -> Result<Self> {
        check_plan(plan)?;
        if !plan.collections.is_empty()
            && plan.collections.iter().all(|(name, _)| set_name(name).is_some())
            && plan.source.as_ref().is_some_and(|(id, _)| id == super::ID)
        {
            let message =
                "expected records for the annotations to be about, found annotations alone";
            return Err(Error::new(
                Kind::Unsupported,
                codes::NOT_WRITABLE,
                Place::default(),
                message,
            ));
        }
        if root.len(&fixed(ROOT_DOCUMENT)).is_ok() {
            let message = "expected a folder without a dataset, found one in it";
            let place = Place::file(ROOT_DOCUMENT);
            return Err(Error::new(Kind::Exists, codes::COLLISION, place, message));
        }
        let annotated = plan.source.as_ref().is_some_and(|(id, _)| id == super::ID);
        let lane =
            |(name, _): &(String, Option<u64>)| Lane { name: name.clone(), ..Lane::default() };
        let shard_options = Arc::<ShardOptions>::default();
        let mut writer = Self {
            root,
            encoders: Encoders::new(&shard_options, options.threads),
            shard_options,
            own: Own { schema: Schema::clone(&plan.schema), bare: true, ..Own::default() },
            lanes: plan.collections.iter().map(lane).collect(),
            options,
            annotated,
            failed: false,
            written: Written::default(),
            part: None,
        };
        writer.own.carried.clone_from(&plan.carried);
        Ok(writer)
    }

    fn set_of<'n>(&self, collection: &'n str) -> Option<&'n str> {
        set_name(collection).filter(|_| self.annotated)
    }

    fn lane(&mut self, name: &str) -> usize {
        let known = self.lanes.iter().position(|lane| lane.name == name);
        known.unwrap_or_else(|| {
            self.lanes.push(Lane { name: name.to_owned(), ..Lane::default() });
            self.lanes.len() - 1
        })
    }

    fn take(&mut self, collection: &str, batch: &Batch) -> Result<()> {
        let at = self.lane(collection);
        let Some(lane) = self.lanes.get(at) else { return Ok(()) };
        let several = (self.lanes.len() > 1).then(|| Arc::from(collection));
        let several = match &self.part {
            Some((part, _)) => Some(Arc::from(format!("{collection}/{part}"))),
            None => several,
        };
        let naming = Naming { collection: several, first: lane.records };
        if self.set_of(collection).is_some() {
            let annotation = |row: usize| {
                let record = record(batch, row, || naming.id(row))?;
                from_metadata(record.id, &record.metadata, record.fields)
            };
            let rows = 0..batch.rows();
            let all = rows.map(|row| annotation(row).map_err(|error| naming.place(row, error)));
            let all = all.collect::<Result<Vec<_>>>()?;
            if let Some(lane) = self.lanes.get_mut(at) {
                lane.records = lane.records.saturating_add(all.len() as u64);
                lane.annotations.extend(all);
            }
            return Ok(());
        }
        // A batch is taken as a whole or not at all.
        let pieces = self.encoders.encode(batch, &naming)?;
        self.own.bare = self.own.bare && batch.metadata_runs().all(|(_, said)| said.is_empty());
        self.failed = true;
        for piece in pieces {
            let full = self.lanes.get_mut(at).is_some_and(|lane| {
                lane.waiting_bytes = lane.waiting_bytes.saturating_add(piece.bytes);
                lane.records = lane.records.saturating_add(1);
                lane.waiting.push(piece);
                lane.waiting.len() as u64 >= self.options.records_per_shard
                    || lane.waiting_bytes >= self.options.bytes_per_shard
            });
            if full {
                self.store(at)?;
            }
        }
        self.failed = false;
        Ok(())
    }

    /// Writes the records that wait as a shard.
    fn store(&mut self, at: usize) -> Result<()> {
        let several = self.lanes.len() > 1;
        let Some(lane) = self.lanes.get_mut(at) else { return Ok(()) };
        let waiting = std::mem::take(&mut lane.waiting);
        lane.waiting_bytes = 0;
        let first = lane.records.saturating_sub(waiting.len() as u64);
        // Names in the order of collections, and of records in them.
        let work_id = match &self.part {
            Some((part, token)) => format!("{at:04}-{part}-{first:012}-{token}"),
            None if several => format!("{at:04}-{first:012}"),
            None => format!("{first:012}"),
        };
        let mut writer = ShardWriter::start(self.root.as_ref(), &work_id, 0, &self.shard_options)?;
        waiting.iter().try_for_each(|piece| writer.place(piece))?;
        let shard = writer.finish()?;
        self.written.shards = self.written.shards.saturating_add(1);
        self.written.samples = self.written.samples.saturating_add(shard.record_count);
        let bytes = shard.data.stored_bytes.saturating_add(shard.metadata.stored_bytes);
        self.written.bytes = self.written.bytes.saturating_add(bytes);
        lane.shards.push(shard);
        Ok(())
    }

    fn publish(mut self: Box<Self>) -> Result<Written> {
        if self.failed {
            return Err(invalid(
                "expected a writer without a failure, found one that failed before".to_owned(),
            ));
        }
        self.failed = true;
        self.store_rest()?;
        let (sets, lanes): (Vec<_>, Vec<_>) =
            self.lanes.iter().partition(|lane| self.set_of(&lane.name).is_some());
        let plain = matches!(lanes[..], [only] if only.name == RECORDS);
        let mut own = self.own.clone();
        own.collections = lanes.iter().map(|lane| (lane.name.clone(), lane.records)).collect();
        let mut options = self.options.publish.clone();
        options.metadata.remove(MEMBER);
        // A copy of a dataset that says nothing of the kind needs to say nothing either.
        let loose = own.schema.fields.iter().all(|field| field.varying);
        if !(plain && loose && self.annotated && own.carried.is_none()) {
            options.metadata.insert(MEMBER, own.to_value());
        }
        let shards: Vec<PublishedShard> =
            lanes.iter().flat_map(|lane| lane.shards.iter().cloned()).collect();
        let beside = |dataset: &SdsDataset| self.annotate(dataset, &sets);
        publish_with(&self.root, &shards, &options, &self.shard_options.policy, &beside)?;
        // From here on the dataset is there, and nothing is taken back.
        self.lanes.clear();
        Ok(self.written.clone())
    }

    fn store_rest(&mut self) -> Result<()> {
        for at in 0..self.lanes.len() {
            if self.lanes.get(at).is_some_and(|lane| !lane.waiting.is_empty()) {
                self.store(at)?;
            }
        }
        Ok(())
    }

    /// The same writer for a part of that name, which [`SdsWriter::finish_part`] ends; `token` sets its shards apart from
    /// those of others that write the same part.
    #[must_use]
    pub fn for_part(mut self, name: &str, token: String) -> Self {
        self.part = Some((name.to_owned(), token));
        self
    }

    /// Stores what is left, and hands what was written to `note`, which makes it count: a part of a dataset to come.
    ///
    /// # Errors
    /// `option_invalid` after a failure; I/O faults; those of `note`. Then the shards are taken back.
    pub fn finish_part(mut self, note: impl FnOnce(&Share) -> Result<()>) -> Result<Written> {
        if self.failed {
            return Err(invalid(
                "expected a writer without a failure, found one that failed before".to_owned(),
            ));
        }
        self.failed = true;
        self.store_rest()?;
        let lane = |lane: &Lane| (lane.name.clone(), lane.records, lane.shards.clone());
        let lanes = self.lanes.iter().map(lane).collect();
        note(&Share { lanes, bare: self.own.bare })?;
        self.lanes.clear();
        Ok(self.written.clone())
    }

    /// Takes over what a part wrote, behind what is there.
    pub fn take_share(&mut self, share: Share) {
        self.own.bare = self.own.bare && share.bare;
        for (name, records, shards) in share.lanes {
            let at = self.lane(&name);
            let Some(lane) = self.lanes.get_mut(at) else { continue };
            lane.records = lane.records.saturating_add(records);
            for shard in shards {
                self.written.shards = self.written.shards.saturating_add(1);
                self.written.samples = self.written.samples.saturating_add(shard.record_count);
                let bytes = shard.data.stored_bytes.saturating_add(shard.metadata.stored_bytes);
                self.written.bytes = self.written.bytes.saturating_add(bytes);
                // In the order of parts, whatever they are called; nothing of it is taken back with this writer.
                let work_id = format!("{at:04}-{:012}", lane.shards.len());
                lane.shards.push(PublishedShard { work_id, created: false, ..shard });
            }
        }
    }

    fn annotate(&self, dataset: &SdsDataset, sets: &[&Lane]) -> Result<()> {
        for lane in sets {
            let Some(name) = self.set_of(&lane.name) else { continue };
            let annotations = lane.annotations.iter().cloned().map(Ok);
            let (metadata, options) = (Object::new(), AnnotationOptions::default());
            publish_annotations(&self.root, dataset, name, annotations, &metadata, &options)?;
        }
        Ok(())
    }
}

impl Writer for SdsWriter {
    fn write(&mut self, collection: &str, batch: &Batch) -> Result<()> {
        if self.failed {
            return Err(invalid(
                "expected a writer without a failure, found one that failed before".to_owned(),
            ));
        }
        self.take(collection, batch)
    }

    fn finish(self: Box<Self>) -> Result<Written> {
        self.publish()
    }
}

impl Drop for SdsWriter {
    fn drop(&mut self) {
        // Best effort: what cannot be removed is named by nothing, and readers ignore it.
        let mut folders = BTreeSet::new();
        for shard in self.lanes.iter().flat_map(|lane| &lane.shards).filter(|shard| shard.created) {
            for object in [&shard.data, &shard.metadata] {
                let ObjectPath::Relative(path) = &object.path else { continue };
                let _ = self.root.remove(path);
                let mut folder = path.parent();
                while let Some(here) = folder.filter(|folder| !folder.is_root()) {
                    folder = here.parent();
                    folders.insert(here);
                }
            }
        }
        let folders: Vec<RelPath> = folders.into_iter().collect();
        for folder in folders.iter().rev() {
            let _ = self.root.remove_folder(folder);
        }
    }
}
