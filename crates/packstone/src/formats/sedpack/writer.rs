//! Writing: examples become shards on a bounded pool of threads, and are listed when the filler finishes.
//!
//! Nothing is visible before [`Filler::finish`]. A filler with a path of its own (`relative_path_from_split`) never
//! touches what others share: it leaves a part that [`super::parts::merge`] joins. A killed filler leaves finished
//! shards and a journal of them, from which `repair` brings everything back.

use std::sync::{Arc, Mutex, PoisonError};

use packstone_container::Limits;
use packstone_container::json::{self, At, Object, Value};
use packstone_io::{AlignedBuf, Journal, Kind, RelPath, RootMut, TEMPORARY};

use super::codes;
use super::document::DatasetInfo;
use super::layout::{LEVELS, ROOT_DOCUMENT, SPLITS};
use super::options::{FillerOptions, Structure, invalid};
use super::parts::accept::Acceptor;
use super::parts::list::{FileInfo, ListPointer, ShardEntry};
use super::parts::names::Names;
use super::parts::rotate::{FullShard, Rotation};
use super::parts::shard::{Scratch, ShardFormat};
use super::parts::{fields, merge, publish};
use super::reader::{checksums, read_info, root_document};
use super::schema::{ShardType, check_writable};
use crate::error::{Error, Place, Result};
use crate::exec::Pipeline;
use crate::format::{Writer, Written};
use crate::model::{Batch, Schema};

/// Makes a new, empty dataset in `root`.
///
/// `metadata` may hold `description`, `dataset_license`, `dataset_version`, `download_from` and `custom_metadata`.
///
/// # Errors
/// `Exists` where there is a dataset already; `not_writable` where shards cannot hold the schema; `option_invalid` where
/// no shard can be filled; `value_invalid` where the metadata is not what readers accept.
pub fn create(
    root: &dyn RootMut,
    schema: Arc<Schema>,
    structure: &Structure,
    metadata: &Object,
) -> Result<DatasetInfo> {
    check_writable(&schema, structure.shard_type)?;
    check_fillable(structure.examples_per_shard)?;
    let info = new_document(schema, structure, metadata);
    // What readers would refuse or read differently is refused here.
    let read = DatasetInfo::parse(info.text().as_bytes(), &Limits::default())?;
    if let Some(note) = read.notes.first() {
        let message = note.message.clone();
        return Err(Error::new(Kind::Invalid, codes::VALUE_INVALID, note.place.clone(), message));
    }
    create_document(root, &info)?;
    Ok(info)
}

/// Makes a new, empty dataset that says of itself and of its attributes what another one does, to the letter.
///
/// `source` is the other one's root document; its splits are not taken, nor what `structure` decides.
///
/// # Errors
/// As for [`create`].
pub fn create_like(
    root: &dyn RootMut,
    source: &Object,
    schema: Arc<Schema>,
    structure: &Structure,
) -> Result<DatasetInfo> {
    check_writable(&schema, structure.shard_type)?;
    check_fillable(structure.examples_per_shard)?;
    let mut info = new_document(schema, structure, &Object::new());
    for (section, decided) in [
        ("metadata", &["sedpack_version"][..]),
        (
            "dataset_structure",
            &["compression", "examples_per_shard", "shard_file_type", "hash_checksum_algorithms"],
        ),
    ] {
        let mut own = fields::take_object(&mut info.document, section);
        for (key, value) in
            source.get(section).and_then(Value::as_object).map(Object::iter).into_iter().flatten()
        {
            if !decided.iter().any(|name| key.as_str() == Some(name)) {
                own.insert(key.clone(), value.clone());
            }
        }
        info.document.insert(section, own);
    }
    DatasetInfo::parse(info.text().as_bytes(), &Limits::default())?;
    create_document(root, &info)?;
    Ok(info)
}

fn new_document(schema: Arc<Schema>, structure: &Structure, metadata: &Object) -> DatasetInfo {
    let mut about = metadata.clone();
    about.insert("sedpack_version", structure.sedpack_version.as_str());
    DatasetInfo::create(
        schema,
        structure.shard_type,
        structure.compression,
        structure.examples_per_shard,
        structure.algorithms.clone(),
        &about,
    )
}

fn create_document(root: &dyn RootMut, info: &DatasetInfo) -> Result<()> {
    let document = root_document()?;
    root.create(&document, info.text().as_bytes()).map_err(|error| {
        let message = "expected a folder without a dataset, found one";
        match error.kind() {
            Kind::Exists => {
                Error::new(Kind::Exists, "io/exists", Place::file(ROOT_DOCUMENT), message)
            }
            _ => error.into(),
        }
    })?;
    root.persist(&document)?;
    root.persist(&RelPath::root())?;
    Ok(())
}

/// The original lists a shard without a file where the number is below 1.
fn check_fillable(examples_per_shard: i64) -> Result<()> {
    if examples_per_shard < 1 {
        let message = format!("expected at least 1 example a shard, found {examples_per_shard}");
        return Err(invalid(message));
    }
    Ok(())
}

/// Writes examples into an existing dataset.
pub struct Filler {
    root: Arc<dyn RootMut>,
    info: DatasetInfo,
    relative: RelPath,
    options: FillerOptions,
    acceptor: Acceptor,
    /// The shard metadata that was looked at last.
    checked: Option<Arc<Object>>,
    lanes: Vec<Lane>,
    pipeline: Pipeline<Job, Result<Done>>,
    /// Puts stored shards on the disk while others are encoded.
    syncing: Pipeline<RelPath, Result<()>>,
    journal: Option<(RelPath, Box<dyn Journal>)>,
    /// The dataset was made for this filler and goes with it.
    created: bool,
    failed: bool,
    written: Written,
}

/// Threads that put shards on the disk.
const SYNC_THREADS: usize = 2;

/// What a filler has of one split.
struct Lane {
    split: &'static str,
    folder: RelPath,
    rotation: Rotation,
    names: Names,
    /// Shards that were handed out, stored or not.
    begun: Vec<RelPath>,
    done: Vec<ShardEntry>,
}

struct Job {
    lane: usize,
    path: RelPath,
    shard: FullShard,
}

struct Done {
    lane: usize,
    entry: ShardEntry,
    bytes: u64,
}

impl Filler {
    /// Opens the dataset in `root` for writing below `<split>/<relative>`; the empty path is the coordinator's own.
    ///
    /// Fillers that work at the same time need paths of which none leads to or through another.
    ///
    /// # Errors
    /// Those of opening; `not_writable`; `option_invalid` where no shard can be filled; `parts_invalid` where `relative`
    /// has so many folders that readers would not follow.
    pub fn open(
        root: Arc<dyn RootMut>,
        relative: &RelPath,
        options: FillerOptions,
    ) -> Result<Self> {
        let info = read_info(root.as_ref(), &Limits::default())?;
        check_fillable(info.examples_per_shard)?;
        check_writable(&info.schema, info.shard_type)?;
        // A split, the path below it, and the generated folders.
        let deepest = format!("split/{relative}/{}", "x/".repeat(LEVELS));
        publish::check_depth(&RelPath::new(&deepest).unwrap_or_default())?;
        let format = Arc::new(ShardFormat::from(&info));
        let acceptor = Acceptor::new(Arc::clone(&info.schema), info.shard_type);
        let pipeline = {
            let (format, root, algorithms) =
                (Arc::clone(&format), Arc::clone(&root), info.algorithms.clone());
            Pipeline::new(options.threads, options.window, move || {
                let state = Mutex::new((Scratch::default(), AlignedBuf::default()));
                let (format, root, algorithms) =
                    (Arc::clone(&format), Arc::clone(&root), algorithms.clone());
                move |job: Job| {
                    let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
                    let (scratch, out) = &mut *state;
                    let Job { lane, path, shard } = job;
                    format.encode(&shard.parts, scratch, out)?;
                    root.create_folder(&path.parent().unwrap_or_default())?;
                    root.create(&path, out)?;
                    let file = FileInfo { path, checksums: checksums(&algorithms, out) };
                    let entry = ShardEntry {
                        files: vec![file],
                        examples: shard.rows,
                        metadata: shard.metadata,
                    };
                    Ok(Done { lane, entry, bytes: out.len() as u64 })
                }
            })
        };
        let syncing = {
            let root = Arc::clone(&root);
            // Waiting for the disk takes no core; shards that wait for it take no memory.
            Pipeline::new(options.threads.min(SYNC_THREADS), usize::MAX, move || {
                let root = Arc::clone(&root);
                move |path: RelPath| Ok(root.persist(&path)?)
            })
        };
        Ok(Self {
            root,
            info,
            relative: relative.clone(),
            options,
            acceptor,
            checked: None,
            lanes: Vec::new(),
            pipeline,
            syncing,
            journal: None,
            created: false,
            failed: false,
            written: Written::default(),
        })
    }

    /// Opens a dataset that was made for this filler and is removed with it if it never finishes.
    ///
    /// # Errors
    /// As for [`Filler::open`].
    pub fn open_created(root: Arc<dyn RootMut>, options: FillerOptions) -> Result<Self> {
        let mut filler = Self::open(root, &RelPath::root(), options)?;
        filler.created = true;
        Ok(filler)
    }

    /// The fields that examples have.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.info.schema
    }

    /// Appends all rows of `batch` to a split. Values are cast where NumPy calls it safe.
    ///
    /// # Errors
    /// `unknown_split`; `value_invalid`, then nothing of the batch is taken. Faults of shards that are stored meanwhile.
    pub fn write(&mut self, split: &str, batch: &Batch) -> Result<()> {
        self.check_failed()?;
        let lane = self.lane(split)?;
        self.check_metadata(batch)?;
        let batch = self.acceptor.accept(batch)?;
        // From here on rows are taken: a fault leaves a hole, so nothing more is written or published.
        self.take(lane, &batch).inspect_err(|_| self.failed = true)
    }

    fn take(&mut self, lane: usize, batch: &Batch) -> Result<()> {
        let mut full = Vec::new();
        if let Some(lane) = self.lanes.get_mut(lane) {
            lane.rotation.push(batch, |shard| {
                full.push(shard);
                Ok(())
            })?;
        }
        full.into_iter().try_for_each(|shard| self.store(lane, shard))
    }

    fn check_failed(&self) -> Result<()> {
        if self.failed {
            let message = "expected a filler without a failure, found one that failed before";
            return Err(invalid(message.to_owned()));
        }
        Ok(())
    }

    /// What lists could not say of the examples is refused: the original turns `NaN` into `null`.
    fn check_metadata(&mut self, batch: &Batch) -> Result<()> {
        for (_, metadata) in batch.metadata_runs() {
            if self.checked.as_ref().is_some_and(|last| Arc::ptr_eq(last, metadata)) {
                continue;
            }
            let value = Value::Object(metadata.as_ref().clone());
            if let Some(at) = fields::non_finite(At::root(&value)) {
                let message = format!("expected a JSON number, found {}", at.value());
                let place = Place::default().json(at.path());
                return Err(Error::new(Kind::Invalid, codes::VALUE_INVALID, place, message));
            }
            self.checked = Some(Arc::clone(metadata));
        }
        Ok(())
    }

    fn lane(&mut self, split: &str) -> Result<usize> {
        let Some(name) = SPLITS.iter().find(|name| **name == split) else {
            let message =
                format!("expected one of the splits {}, found {split:?}", SPLITS.join(", "));
            return Err(Error::new(Kind::Invalid, codes::UNKNOWN_SPLIT, Place::default(), message));
        };
        if let Some(at) = self.lanes.iter().position(|lane| lane.split == *name) {
            return Ok(at);
        }
        let folder = RelPath::new(name).unwrap_or_default().below(&self.relative);
        let fb = self.info.shard_type == ShardType::Fb;
        let (attributes, exact) = (self.info.schema.fields.len(), self.options.exact_metadata);
        let rotation = Rotation::new(self.info.examples_per_shard, attributes, fb, exact);
        let seed = self.options.seed.map(|seed| seed.wrapping_add(self.lanes.len() as u64));
        self.lanes.push(Lane {
            split: name,
            folder,
            rotation,
            names: Names::new(seed),
            begun: Vec::new(),
            done: Vec::new(),
        });
        Ok(self.lanes.len() - 1)
    }

    /// Starts the journal, which also tells others that a writer is at work.
    fn start_journal(&mut self) -> Result<()> {
        if self.journal.is_none() {
            let mut random = [0u8; 8];
            getrandom::fill(&mut random)
                .map_err(|e| Error::new(Kind::Io, "io/fault", Place::default(), e.to_string()))?;
            let name = format!("{TEMPORARY}{:016x}.journal", u64::from_le_bytes(random));
            let path = RelPath::new(&name).unwrap_or_default();
            self.journal = Some((path.clone(), self.root.journal(&path)?));
        }
        Ok(())
    }

    fn store(&mut self, lane: usize, shard: FullShard) -> Result<()> {
        self.start_journal()?;
        while !self.pipeline.has_room() {
            self.collect()?;
        }
        let Some(of_split) = self.lanes.get_mut(lane) else { return Ok(()) };
        let stem = of_split.names.next(&of_split.folder)?;
        let path = format!("{stem}.{}", self.info.shard_type.name());
        let path = RelPath::new(&path).map_err(|why| {
            Error::new(Kind::Invalid, codes::PATH_ESCAPE, Place::file(&path), why.to_string())
        })?;
        of_split.begun.push(path.clone());
        self.pipeline.submit(Job { lane, path, shard });
        Ok(())
    }

    /// Takes the next stored shard from the pool and notes it in the journal.
    fn collect(&mut self) -> Result<()> {
        let Some(result) = self.pipeline.next_result() else { return Ok(()) };
        let Done { lane, entry, bytes } =
            result.and_then(|r| r).inspect_err(|_| self.failed = true)?;
        self.written.shards += 1;
        self.written.samples += entry.examples;
        self.written.bytes += bytes;
        let Some(of_split) = self.lanes.get_mut(lane) else { return Ok(()) };
        let line = journal_line(of_split.split, &entry);
        entry.files.iter().for_each(|file| self.syncing.submit(file.path.clone()));
        of_split.done.push(entry);
        if let Some((_, journal)) = &mut self.journal {
            journal.append(line.as_bytes())?;
        }
        Ok(())
    }

    /// Stores what is left and lists everything: up to `dataset_info.json`, or, for a filler with a path of its own, up
    /// to the list of that path. Returns what was written and the pointers for a coordinator.
    ///
    /// # Errors
    /// `Conflict`, `Io`; then nothing is published.
    pub fn finish(mut self) -> Result<(Written, Vec<ListPointer>)> {
        self.check_failed()?;
        for lane in 0..self.lanes.len() {
            let rest = self.lanes.get_mut(lane).and_then(|l| l.rotation.finish());
            rest.map_or(Ok(()), |shard| self.store(lane, shard))?;
        }
        while !self.pipeline.is_empty() {
            self.collect()?;
        }
        while let Some(synced) = self.syncing.next_result() {
            synced.and_then(|r| r)?;
        }
        let root = Arc::clone(&self.root);
        let algorithms = self.info.algorithms.clone();
        let mut updates = Vec::new();
        for lane in self.lanes.iter().filter(|lane| !lane.done.is_empty()) {
            let fresh = publish::write_fresh(root.as_ref(), &lane.folder, &lane.done, &algorithms)?;
            if self.relative.is_root() {
                updates.extend(fresh);
            } else {
                updates.extend(publish::write_joint(
                    root.as_ref(),
                    &lane.folder,
                    fresh,
                    &algorithms,
                )?);
            }
        }
        // From here on nothing is taken back: where publishing fails, `repair` finds shards, lists and journal.
        self.lanes.clear();
        self.created = false;
        let journal = self.journal.take();
        if self.relative.is_root() && !updates.is_empty() {
            let schema = Arc::clone(&self.info.schema);
            let same = move |info: &mut DatasetInfo| {
                if info.schema == schema {
                    return Ok(());
                }
                let message =
                    "expected the attributes that the filler was opened with, found others";
                Err(Error::new(
                    Kind::Conflict,
                    codes::ROOT_CHANGED,
                    Place::file(ROOT_DOCUMENT),
                    message,
                ))
            };
            let lists =
                updates.iter().map(|u| publish::Update::List(u.file.path.clone())).collect();
            publish::publish(&root, lists, self.options.patience, &Limits::default(), same)?;
        }
        self.journal = journal;
        Ok((self.written.clone(), updates))
    }

    /// Finishes a filler with a path of its own and leaves its part file for `merge`.
    ///
    /// # Errors
    /// As for [`Filler::finish`]; `Exists` where there is a part of that name.
    pub fn finish_part(self, name: &str) -> Result<Written> {
        let (root, info) = (Arc::clone(&self.root), self.info.clone());
        let path = merge::part_path(name)?;
        if root.len(&path).is_ok() {
            let message = format!("expected a new part, found {name:?} written already");
            return Err(Error::new(
                Kind::Exists,
                codes::PARTS_INVALID,
                Place::file(&path),
                message,
            ));
        }
        let (written, updates) = self.finish()?;
        root.create(&path, merge::part_text(name, &info, &updates).as_bytes())?;
        root.persist(&path)?;
        root.persist(&RelPath::root())?;
        Ok(written)
    }

    /// Takes back what was stored and never published.
    fn discard(&mut self) {
        // Best effort: what cannot be removed stays unlisted, and `repair` knows it.
        while self.pipeline.next_result().is_some() {}
        for lane in &self.lanes {
            let mut folders = vec![lane.folder.clone()];
            for path in &lane.begun {
                let _ = self.root.remove(path);
                let mut folder = path.parent();
                while let Some(here) = folder.filter(|f| !f.is_root()) {
                    folder = here.parent();
                    if !folders.contains(&here) {
                        folders.push(here);
                    }
                }
            }
            folders.sort_by_key(|f| std::cmp::Reverse(f.components().count()));
            for folder in folders {
                if let Ok(list) = folder.join(super::layout::SHARDS_LIST)
                    && folder != lane.folder
                    && folder.starts_with(&lane.folder)
                {
                    let _ = self.root.remove(&list);
                }
                let _ = self.root.remove_folder(&folder);
            }
        }
        if self.created
            && let Ok(document) = root_document()
        {
            let _ = self.root.remove(&document);
        }
    }
}

impl Drop for Filler {
    fn drop(&mut self) {
        if !self.lanes.is_empty() || self.created {
            if self.options.keep_partial {
                while !self.pipeline.is_empty() && self.collect().is_ok() {}
                return;
            }
            self.discard();
        }
        if let Some((path, journal)) = self.journal.take() {
            drop(journal);
            let _ = self.root.remove(&path);
        }
    }
}

/// A line of the journal: the split, and the shard as its list will have it.
fn journal_line(split: &str, entry: &ShardEntry) -> String {
    let mut line = Object::new();
    line.insert("split", split);
    line.insert("shard", entry.to_value());
    let mut text = json::write(&Value::Object(line), &json::Style::COMPACT);
    text.push('\n');
    text
}

impl Writer for Filler {
    fn write(&mut self, collection: &str, batch: &Batch) -> Result<()> {
        Filler::write(self, collection, batch)
    }

    fn finish(self: Box<Self>) -> Result<Written> {
        Filler::finish(*self).map(|(written, _)| written)
    }
}

/// A filler whose end is a part file.
pub struct PartFiller {
    filler: Filler,
    name: String,
}

impl PartFiller {
    /// Writes below `<split>/<name>`; the name may be a path of several folders.
    ///
    /// # Errors
    /// As for [`Filler::open`]; `path_escape` where the name leads elsewhere; `parts_invalid` where somebody used it
    /// before, finished or not.
    pub fn open(root: Arc<dyn RootMut>, name: &str, options: FillerOptions) -> Result<Self> {
        let relative = merge::part_folder(name)?;
        merge::check_unused(root.as_ref(), name)?;
        Ok(Self { filler: Filler::open(root, &relative, options)?, name: name.to_owned() })
    }
}

impl Writer for PartFiller {
    fn write(&mut self, collection: &str, batch: &Batch) -> Result<()> {
        self.filler.write(collection, batch)
    }

    fn finish(self: Box<Self>) -> Result<Written> {
        self.filler.finish_part(&self.name)
    }
}
