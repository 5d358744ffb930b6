//! What a format offers: the traits that operations are written against.

mod mend;
mod parts;

use std::any::Any;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use packstone_container::Limits;
use packstone_container::codec::{Codec, Decoder};
use packstone_container::json::Object;
use packstone_io::{Buf, BufferPool, Kind, RelPath, Root, RootMut};

use crate::error::{Error, Place, Result};
use crate::exec::Progress;
use crate::model::{Batch, Fidelity, Finding, Holds, Outline, SampleTable, Schema, Unreadable};
use crate::order::Order;

pub use mend::{MergeOptions, PartSource, RepairOptions, RepairReport};
pub use parts::Parts;

/// A dataset format: how it is recognized, opened, made, checked and mended. One line in the registry each.
pub trait Format: Sync {
    /// The short name, as in `--to sedpack` and in codes.
    fn id(&self) -> &'static str;

    /// One line for people.
    fn title(&self) -> &'static str;

    /// The options of [`Format::create`] with their meaning, for `packstone formats` and for messages.
    fn write_options(&self) -> &'static [(&'static str, &'static str)];

    /// What it is recognized by, for people: `dataset_info.json`.
    fn mark(&self) -> &'static str;

    /// Endings of file names, without the dot, for datasets of this format that are one file.
    fn file_endings(&self) -> &'static [&'static str] {
        &[]
    }

    /// True where `root` holds a dataset of this format; looks at names only.
    ///
    /// # Errors
    /// I/O faults.
    fn recognizes(&self, root: &dyn Root) -> Result<bool>;

    /// True where samples of one dataset may differ in their fields, so that a copy takes collections as they are.
    fn mixes_fields(&self) -> bool {
        false
    }

    /// Opens a dataset; reads no more than its first control document.
    ///
    /// # Errors
    /// `NotFound`, `Unsupported` (newer version), `Invalid`, `Corrupt`.
    fn open(&self, root: Arc<dyn Root>, limits: &Limits) -> Result<Arc<dyn Dataset>>;

    /// Opens several roots as one dataset, in their order, where the format knows what that means.
    ///
    /// # Errors
    /// Those of [`Format::open`]; `Unsupported`; `Invalid` where they do not go together.
    fn open_many(&self, roots: Vec<Arc<dyn Root>>, limits: &Limits) -> Result<Arc<dyn Dataset>> {
        self.open(only(self.id(), roots)?, limits)
    }

    /// The same, following references that lead out of the dataset to `sources` and nowhere else. Formats without such
    /// references open as always.
    ///
    /// # Errors
    /// Those of [`Format::open_many`].
    fn open_following(
        &self,
        roots: Vec<Arc<dyn Root>>,
        limits: &Limits,
        _sources: &Sources,
    ) -> Result<Arc<dyn Dataset>> {
        self.open_many(roots, limits)
    }

    /// What samples of a new dataset can be made of, under these options. What they cannot be made of is carried in
    /// other words by the operations, see [`Plan::carried`].
    ///
    /// # Errors
    /// `Invalid` where the options contradict each other.
    fn holds(&self, plan: &Plan, options: &Object) -> Result<Holds>;

    /// What this format cannot hold of a dataset, under these options. Nothing is written.
    ///
    /// # Errors
    /// `Invalid` where the options contradict each other or the schema.
    fn fidelity(&self, plan: &Plan, options: &Object) -> Result<Fidelity>;

    /// Starts a new dataset in an empty folder.
    ///
    /// # Errors
    /// `Exists`, `Invalid`, `Denied`, `Io`.
    fn create(
        &self,
        root: Arc<dyn RootMut>,
        plan: &Plan,
        options: &Object,
    ) -> Result<Box<dyn Writer>>;

    /// Starts a worker's part of a dataset that exists: invisible until [`Format::merge`].
    ///
    /// # Errors
    /// Those of [`Format::open`]; `Exists` where there is a part of that name; `Unsupported`.
    fn part(&self, root: Arc<dyn RootMut>, name: &str) -> Result<Box<dyn Writer>>;

    /// The parts of a dataset that several processes write: of a new one in an empty folder, or of the one that is there and
    /// was made with the same plan.
    ///
    /// # Errors
    /// Those of [`Format::create`]; `Unsupported`, with the reason, where the format has none.
    fn parts(
        &self,
        root: Arc<dyn RootMut>,
        _plan: &Plan,
        _options: &Object,
    ) -> Result<Box<dyn Parts>> {
        self.part(root, "part")?;
        let message = format!("expected a format whose parts are named, found {}", self.id());
        Err(Error::new(Kind::Unsupported, "format/no_parts", Place::default(), message))
    }

    /// Prepares a check of a whole dataset.
    ///
    /// # Errors
    /// Those of [`Format::open`].
    fn audit(&self, root: Arc<dyn Root>, options: &AuditOptions) -> Result<Audit>;

    /// Prepares a check of several roots that are read as one dataset, and of what must hold between them.
    ///
    /// # Errors
    /// Those of [`Format::audit`]; `Unsupported` as for [`Format::open_many`].
    fn audit_many(&self, roots: Vec<Arc<dyn Root>>, options: &AuditOptions) -> Result<Audit> {
        self.audit(only(self.id(), roots)?, options)
    }

    /// Joins what workers wrote on their own into the dataset, from the part files of the root that are named, or all.
    ///
    /// # Errors
    /// `Invalid` where parts overlap, are missing or do not belong here; `Conflict`; `Unsupported`.
    fn merge(&self, root: Arc<dyn RootMut>, options: &MergeOptions) -> Result<Written>;

    /// Mends what a killed writer left.
    ///
    /// # Errors
    /// `Unsupported` where the format has nothing to mend.
    fn repair(&self, root: Arc<dyn RootMut>, options: &RepairOptions) -> Result<RepairReport>;

    /// Opens a saved selection of samples, see [`Dataset::selection`]. `open` gives what lies at a path as the document
    /// spells it.
    ///
    /// # Errors
    /// `Unsupported` where the format has none; those of [`Format::open`]; `Conflict` where the dataset changed since.
    fn open_selection(
        &self,
        _document: &[u8],
        _open: &mut dyn FnMut(&str) -> Result<Arc<dyn Root>>,
        _limits: &Limits,
    ) -> Result<Arc<dyn Dataset>> {
        Err(no_selections(self.id()))
    }
}

/// What the document of a selection says it is, in its member `format`; the member `dataset` has the [id](Format::id).
pub const SELECTION: &str = "packstone.view";

/// The error of a format without saved selections.
fn no_selections(format: &str) -> Error {
    let message = format!("expected a format that keeps selections of samples, found {format}");
    Error::new(Kind::Unsupported, "format/no_selections", Place::default(), message)
}

/// Samples to be kept as a selection.
pub struct Selected<'s> {
    /// Their collection.
    pub collection: &'s str,
    /// Their indices in it, in the order of the selection.
    pub samples: &'s [u64],
    /// How they were found.
    pub condition: Option<&'s str>,
}

/// Where references that lead out of a dataset may lead: texts that they start with, and what lies there.
#[derive(Clone, Default)]
pub struct Sources(pub Vec<(String, Arc<dyn Root>)>);

impl fmt::Debug for Sources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(start, _)| start)).finish()
    }
}

/// The one root there is, for formats that do not read several as one.
pub(crate) fn only(id: &str, roots: Vec<Arc<dyn Root>>) -> Result<Arc<dyn Root>> {
    let [root] = <[_; 1]>::try_from(roots).map_err(|roots| {
        let message =
            format!("expected one {id} dataset, found {} that cannot be read as one", roots.len());
        Error::new(Kind::Unsupported, "format/one_root", Place::default(), message)
    })?;
    Ok(root)
}

/// What a new dataset will hold.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The fields.
    pub schema: Arc<Schema>,
    /// The collections that will be written, in order, with their numbers of samples where known.
    pub collections: Vec<(String, Option<u64>)>,
    /// What the source says about itself, see [`Info::native`].
    pub source: Option<(String, Object)>,
    /// Within a format, the [`Collection::document`] of each collection.
    pub documents: Vec<Option<Object>>,
    /// What is stored in other words than the source has, to be kept unread and given back as [`Info::carried`].
    pub carried: Option<Object>,
}

/// What a dataset says about itself.
#[derive(Clone, Debug)]
pub struct Info {
    /// The format's [id](Format::id).
    pub format: &'static str,
    /// The format's own metadata, as its documents have it.
    pub native: Object,
    /// The [`Plan::carried`] of the one who wrote it.
    pub carried: Option<Object>,
}

/// An open dataset.
pub trait Dataset: Send + Sync {
    /// What it says about itself.
    fn info(&self) -> &Info;

    /// The fields that samples have where a collection does not say otherwise; known also without any collection.
    fn schema(&self) -> &Arc<Schema>;

    /// The names of its collections, in the order of the format.
    fn collections(&self) -> Vec<String>;

    /// What it is made of, where that is more than collections of fields.
    ///
    /// # Errors
    /// Damage and I/O faults.
    fn outline(&self) -> Result<Option<Outline>> {
        Ok(None)
    }

    /// A JSON object for each stored leaf and value, with its key and the SHA-256 of its bytes, for formats of trees.
    fn leaves(&self) -> Option<Leaves<'_>> {
        None
    }

    /// The dataset as it is stored, where this one gives back what is stored in other words.
    fn stored(&self) -> Option<Arc<dyn Dataset>> {
        None
    }

    /// How to write the dataset again with all that samples do not show, where they do not show everything.
    fn rewriter(&self) -> Option<&dyn Rewrite> {
        None
    }

    /// True for a collection that others published beside those of the dataset's writer, as annotations are:
    /// [`Info::carried`] says nothing about it.
    fn is_beside(&self, _collection: &str) -> bool {
        false
    }

    /// A collection by name.
    ///
    /// # Errors
    /// `NotFound` with the names there are.
    fn collection(&self, name: &str) -> Result<Arc<dyn Collection>>;

    /// The document of a selection of samples, from which [`Format::open_selection`] shows them alone. `spell` says how
    /// the document spells the place that a root calls itself by.
    ///
    /// # Errors
    /// `Unsupported` where the format has none; those of [`Dataset::collection`].
    fn selection(
        &self,
        _selected: &Selected<'_>,
        _spell: &dyn Fn(&str) -> Result<String>,
    ) -> Result<String> {
        Err(no_selections(self.info().format))
    }
}

/// The leaves of a dataset, one after another.
pub type Leaves<'a> = Box<dyn Iterator<Item = Result<Object>> + 'a>;

/// Writes a whole dataset again in its own format, losing nothing.
pub trait Rewrite {
    /// Writes it to a root that holds nothing yet, under the options of [`Format::create`].
    ///
    /// # Errors
    /// `Exists`, `Invalid`, `Corrupt` where something of it cannot be read, `Io`; then nothing is published.
    fn rewrite(
        &self,
        target: &Arc<dyn RootMut>,
        options: &Object,
        progress: Option<&Arc<dyn Progress>>,
    ) -> Result<Written>;
}

/// A sequence of samples, stored in shards.
pub trait Collection: Send + Sync {
    /// Its name.
    fn name(&self) -> &str;

    /// Number of samples, as the dataset says.
    fn len(&self) -> u64;

    /// True for a collection without samples.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of shards, as the dataset says.
    fn shard_count(&self) -> u64;

    /// The fields of its samples.
    fn schema(&self) -> &Arc<Schema>;

    /// The same samples under a schema that fixes the shapes of fields where all samples have the same one, for formats
    /// that state shapes sample by sample. Reads what is said about all samples, and no values. `None` where the schema
    /// says already what can be said.
    ///
    /// # Errors
    /// Those of reading documents; also where samples differ in their fields.
    fn settled(&self) -> Result<Option<Arc<dyn Collection>>> {
        Ok(None)
    }

    /// True where any sample has metadata.
    ///
    /// # Errors
    /// Those of [`Collection::shards`].
    fn has_metadata(&self) -> Result<bool> {
        for shard in self.shards(0) {
            if !shard?.metadata.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// What the format knows of all samples without reading them, where it keeps that apart.
    ///
    /// # Errors
    /// Damage and I/O faults.
    fn table(&self) -> Result<Option<SampleTable>> {
        Ok(None)
    }

    /// The order in which the format's own library draws samples, where it has one: from rows that are equally likely, or
    /// by `weights`, one a sample.
    ///
    /// # Errors
    /// `Invalid` where weights cannot be drawn by.
    fn draws(&self, _seed: u64, _weights: Option<&[f64]>) -> Result<Option<Arc<dyn Order>>> {
        Ok(None)
    }

    /// A text that is another one for other samples, from what the dataset's first documents record about them, where
    /// they do. Costs no more than opening did.
    fn recorded(&self) -> Option<String> {
        None
    }

    /// The document that the format keeps about this collection alone, where each has one of its own.
    fn document(&self) -> Option<&Object> {
        None
    }

    /// What the format's original library could not read in a copy of the samples under these options of
    /// [`Format::create`], where that is known without reading samples.
    ///
    /// # Errors
    /// Those of [`Collection::table`]; `Invalid` for the options.
    fn unreadable(&self, _options: &Object) -> Result<Vec<Unreadable>> {
        Ok(Vec::new())
    }

    /// The codec that values are stored with, where all have the same one and that is known without reading samples.
    fn codec(&self) -> Option<Codec> {
        None
    }

    /// The bytes that the samples of a shard take where they are stored, if that is less than its whole file.
    fn stored_bytes(&self, _shard: &ShardRef) -> Option<u64> {
        None
    }

    /// The shards in order, from the one that holds the sample `from` on. Reads only the documents on the way.
    fn shards(&self, from: u64) -> Box<dyn Iterator<Item = Result<ShardRef>> + Send>;

    /// Any run of samples as a shard of its own, for formats whose shards are made while reading: what is read together
    /// then follows from what is needed. It may end early, where what is read together does. `None` where shards lie on the disk as they
    /// are, or samples are missing.
    fn window(&self, _rows: Range<u64>) -> Option<ShardRef> {
        None
    }

    /// The samples of a shard, with the fields at `fields` only where given.
    ///
    /// # Errors
    /// `NotFound`, `Corrupt`, `Limit`, with the file and the record.
    fn read(
        &self,
        shard: &ShardRef,
        fields: Option<&[usize]>,
        context: &mut ReadContext,
    ) -> Result<Batch>;

    /// The samples of a shard at the given rows, in the given order. Formats that can leave the others alone do.
    ///
    /// # Errors
    /// As for [`Collection::read`].
    fn read_rows(
        &self,
        shard: &ShardRef,
        rows: &[usize],
        fields: Option<&[usize]>,
        context: &mut ReadContext,
    ) -> Result<Batch> {
        self.read(shard, fields, context)?.select(rows)
    }

    /// What it costs to read some rows of a shard.
    fn access(&self) -> Access {
        Access::Whole
    }

    /// The samples at `indices`, in that order, where the format has rows at hand and need not go through shards.
    ///
    /// # Errors
    /// As for [`Collection::read`].
    fn read_at(
        &self,
        _indices: &[u64],
        _fields: Option<&[usize]>,
        _context: &mut ReadContext,
    ) -> Result<Option<Batch>> {
        Ok(None)
    }

    /// The samples of a shard as runs of neighbours with the same fields, each with the part of the shard that it is: for
    /// formats whose samples may differ in that. Elsewhere, and where all samples have the fields of the collection, one
    /// run. `fields` stands for the names of these fields, as far as a run has them.
    ///
    /// # Errors
    /// As for [`Collection::read`], but not for samples with other fields.
    fn read_runs(
        &self,
        shard: &ShardRef,
        fields: Option<&[usize]>,
        context: &mut ReadContext,
    ) -> Result<Vec<(ShardRef, Batch)>> {
        Ok(vec![(shard.clone(), self.read(shard, fields, context)?)])
    }
}

/// What it costs to read some rows of a shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// As much as the whole shard, which then lies decoded in memory.
    Whole,
    /// What these rows cost: they are decoded apart from the others.
    Apart,
    /// Next to nothing: a shard that was read is a map of its file, which takes no memory of its own.
    Mapped,
}

/// A shard as its dataset lists it: the unit in which samples are read.
#[derive(Clone, Debug)]
pub struct ShardRef {
    /// Position among the shards of its collection.
    pub number: u64,
    /// Index of its first sample in the collection.
    pub first: u64,
    /// Number of samples, as listed.
    pub rows: u64,
    /// Its file.
    pub path: RelPath,
    /// What the dataset says about its samples.
    pub metadata: Arc<Object>,
    /// What the format keeps about it.
    pub detail: Arc<dyn Any + Send + Sync>,
}

/// What a reading thread keeps between shards.
pub struct ReadContext {
    /// Decompressors.
    pub decoder: Decoder,
    /// Buffers for decoded shards.
    pub pool: BufferPool,
    /// How much a shard may ask for.
    pub limits: Limits,
    /// Compare recorded checksums before a shard is used.
    pub verify: bool,
    /// Say what the container calls each sample, see [`Batch::identity`].
    pub identities: bool,
    /// What was noticed and is no error.
    pub notes: Vec<Finding>,
}

impl ReadContext {
    /// A context for one thread, with buffers from `pool`.
    pub fn new(pool: BufferPool, limits: Limits, verify: bool) -> Self {
        let (decoder, notes) = (Decoder::new(), Vec::new());
        Self { decoder, pool, limits, verify, identities: false, notes }
    }

    /// The bytes of a file that is gone through more than once and then let go, in memory that is used again: the second
    /// time they are at hand, and no page is mapped.
    ///
    /// # Errors
    /// I/O faults; `Corrupt` where the file was cut since it was opened; `io/out_of_memory`.
    pub fn in_memory(&self, file: &Buf) -> Result<Buf> {
        let mut bytes = self.pool.take(file.len())?;
        bytes.extend_from_buf(file, 0..file.len())?;
        Ok(bytes.freeze())
    }
}

impl Default for ReadContext {
    fn default() -> Self {
        Self::new(BufferPool::new(8), Limits::default(), false)
    }
}

/// Writes samples; nothing is visible before [`Writer::finish`]. Dropped before that, it publishes nothing.
pub trait Writer: Send {
    /// Appends all rows of `batch` to a collection.
    ///
    /// # Errors
    /// `Invalid` where a value does not fit the schema, naming it; then nothing of `batch` is written. `Io`.
    fn write(&mut self, collection: &str, batch: &Batch) -> Result<()>;

    /// Publishes everything.
    ///
    /// # Errors
    /// `Conflict`, `Io`; then nothing is published.
    fn finish(self: Box<Self>) -> Result<Written>;
}

/// What a writer published.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Samples.
    pub samples: u64,
    /// Shards.
    pub shards: u64,
    /// Bytes of shard files.
    pub bytes: u64,
}

/// How to check a dataset.
#[derive(Clone, Debug, Default)]
pub struct AuditOptions {
    /// Structure, counts of lists and presence of files only: no hashing and no decoding.
    pub quick: bool,
    /// Recorded checksums of the root document, in hex.
    pub expect: Vec<String>,
    /// How much a dataset may ask for.
    pub limits: Limits,
    /// Where references that lead out of the dataset may lead.
    pub sources: Sources,
}

/// A check in two parts: what the structure showed, and independent tasks that may run at once.
#[derive(Default)]
pub struct Audit {
    /// Found while the structure was walked.
    pub findings: Vec<Finding>,
    /// What remains to be checked, usually one task a shard.
    pub tasks: Vec<AuditTask>,
    /// Control documents read so far.
    pub documents: u64,
}

/// Does one part of a check.
pub type Check = Box<dyn FnOnce(&mut ReadContext) -> Vec<Finding> + Send>;

/// One independent part of a check.
pub struct AuditTask {
    /// The bytes it will read, for progress.
    pub bytes: u64,
    /// Samples that it covers.
    pub samples: u64,
    /// Does it.
    pub run: Check,
}
