//! Writing: examples become shards on a bounded pool of threads, and are listed when the filler finishes.
//!
//! Nothing is visible before [`Filler::finish`]. A filler with a path of its own (`relative_path_from_split`) never
//! touches what others share: it leaves a part that [`super::parts::merge`] joins. A killed filler leaves finished
//! shards and a journal of them, from which `repair` brings everything back.

mod create;
mod finish;
mod lane;
mod part;
mod storing;

use std::sync::Arc;

use packstone_container::Limits;
use packstone_container::json::{At, Object, Value};
use packstone_io::{Journal, Kind, RelPath, RootMut, TEMPORARY};

use super::codes;
use super::document::DatasetInfo;
use super::layout::{LEVELS, SPLITS};
use super::options::{FillerOptions, invalid};
use super::parts::accept::Acceptor;
use super::parts::names::Names;
use super::parts::rotate::{FullShard, Rotation};
use super::parts::{fields, publish};
use super::reader::read_info;
use super::schema::{ShardType, check_writable};
use crate::error::{Error, Place, Result};
use crate::exec::Pipeline;
use crate::format::{Writer, Written};
use crate::model::{Batch, Schema};
use create::check_fillable;
use lane::Lane;
use storing::{Done, Job, storing, syncing};

pub use create::{create, create_like};
pub use part::PartFiller;

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
        let acceptor = Acceptor::new(Arc::clone(&info.schema), info.shard_type);
        let pipeline = storing(&root, &info, &options);
        let syncing = syncing(&root, &options);
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
        let line = of_split.journal_line(&entry);
        entry.files.iter().for_each(|file| self.syncing.submit(file.path.clone()));
        of_split.done.push(entry);
        if let Some((_, journal)) = &mut self.journal {
            journal.append(line.as_bytes())?;
        }
        Ok(())
    }
}

impl Writer for Filler {
    fn write(&mut self, collection: &str, batch: &Batch) -> Result<()> {
        Filler::write(self, collection, batch)
    }

    fn finish(self: Box<Self>) -> Result<Written> {
        Filler::finish(*self).map(|(written, _)| written)
    }
}
