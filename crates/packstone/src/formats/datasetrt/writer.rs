//! Writing: samples become records on threads, records become shards, and a cache is seen when all of it is on the disk.
//!
//! ```text
//! write ─► metadata checked, columns, JSON (Rows) ─► records (Encoder, threads) ─► shards (Shards, one thread)
//! finish ─► last shard, metadata.arrow, index.bin, manifest.json in tmp/NAME ─► rename to NAME
//! ```
//!
//! Memory is bounded by the window of records in work, and by the metadata of all samples, which the one batch of
//! `metadata.arrow` needs at the end. Equal samples and options give equal bytes, those of the original where it can be.

mod base;
mod finish;
mod resume;

use std::sync::{Arc, Mutex, PoisonError};

use packstone_container::json::Object;
use packstone_io::{BufferPool, Journal, RelPath, RootMut};

use super::options::{WriterOptions, invalid};
use super::parts::encode::{Encoder, Job, Records};
use super::parts::journal;
use super::parts::resume::Left;
use super::parts::rows::{Rows, Spelled};
use super::parts::shards::Shards;
use super::parts::stage::Stage;
use crate::error::Result;
use crate::exec::Pipeline;
use crate::model::{Batch, Schema};
use resume::{head, resume};

pub use base::BaseWriter;

/// Bytes of samples that one thread encodes at once, about.
const JOB_BYTES: u64 = 1 << 20;
/// Samples that it encodes at once.
const JOB_ROWS: usize = 1024;

/// Writes one cache. Dropped before [`CacheWriter::finish`] it leaves nothing, unless told to.
pub struct CacheWriter {
    stage: Stage,
    options: WriterOptions,
    rows: Rows,
    carried: Option<Object>,
    encoders: Pipeline<Job, Result<Records>>,
    shards: Shards,
    journal: Option<(RelPath, Box<dyn Journal>)>,
    /// Shards that the journal tells of, and the samples in them.
    noted: usize,
    noted_samples: u64,
    resumed: u64,
    /// Samples of the other writer that come again before new ones do.
    ahead: u64,
    failed: bool,
    done: bool,
}

impl CacheWriter {
    /// Starts the cache `name` in the folder `root`, for samples of this schema; `carried` is kept in the manifest.
    ///
    /// # Errors
    /// `name_invalid`, `cache_exists`, `stage_exists`, `option_invalid`; with `resume`, `stage_differs` where other samples
    /// or options were at work, and `io/conflict` where a writer is.
    pub fn create(
        root: Arc<dyn RootMut>,
        name: &str,
        schema: &Arc<Schema>,
        carried: Option<Object>,
        options: &WriterOptions,
    ) -> Result<Self> {
        options.check()?;
        let mut rows = Rows::new(schema, options)?;
        let mut stage = Stage::of(root, name)?;
        stage.source_name = options.source_name.clone().unwrap_or_else(|| name.to_owned());
        let mut left = None;
        if options.resume {
            // A folder of stages without one, too: the killed writer got no further.
            stage.take_over();
        }
        if options.resume && stage.is_taken()? {
            left = resume(&stage, &mut rows, &carried, options)?;
            stage.make()?;
        } else {
            stage.begin()?;
        }
        let closed = left.as_ref().map(Left::closed).unwrap_or_default();
        let fields: Arc<[_]> = rows.fields().into();
        let encoders = {
            let pool = BufferPool::new(options.threads.saturating_mul(2).saturating_add(4));
            let algo = options.algo;
            Pipeline::new(options.threads, options.threads.saturating_mul(2).max(1), move || {
                let encoder = Mutex::new(Encoder::new(&fields, algo, pool.clone()));
                move |job: Job| encoder.lock().unwrap_or_else(PoisonError::into_inner).encode(&job)
            })
        };
        let shards = Shards::new(Arc::clone(&stage.root), &stage.folder, options, closed);
        let mut writer = Self {
            stage,
            options: options.clone(),
            rows,
            carried,
            encoders,
            shards,
            journal: None,
            noted: 0,
            noted_samples: 0,
            resumed: left.as_ref().map_or(0, Left::samples),
            ahead: left.as_ref().map_or(0, Left::samples),
            failed: false,
            done: false,
        };
        if left.is_some() {
            writer.begin_journal()?;
        }
        Ok(writer)
    }

    /// How many samples another writer had written: the caller goes on with the one after them.
    pub fn resumed(&self) -> u64 {
        self.resumed
    }

    /// Appends all rows of `batch`.
    ///
    /// # Errors
    /// `value_invalid` with the number of the sample, and then nothing of the batch is taken; faults of what is stored
    /// meanwhile, and then nothing more is.
    pub fn write(&mut self, batch: &Batch) -> Result<()> {
        if self.failed {
            let message = "expected a writer without a failure, found one that failed before";
            return Err(invalid(message.to_owned()));
        }
        let first = self.rows.samples();
        let metadata = self.rows.accept(batch)?;
        // From here on samples are taken: a fault leaves a hole, so nothing is published any more.
        self.take(batch, metadata, first).inspect_err(|_| self.failed = true)
    }

    fn take(&mut self, batch: &Batch, metadata: Spelled, first: u64) -> Result<()> {
        if batch.rows() > 0 {
            self.begin_journal()?;
        }
        let (mut start, mut text_start) = (0, 0);
        while start < batch.rows() {
            let mut end = (start + JOB_ROWS).min(batch.rows());
            while end - start > 1 && batch.bytes_of(start..end) > JOB_BYTES {
                end = start + (end - start).div_ceil(2);
            }
            let ends = metadata.ends.get(start..end).unwrap_or_default();
            let text_end = ends.last().copied().unwrap_or(text_start);
            let spelled = Spelled {
                text: metadata.text.get(text_start..text_end).unwrap_or_default().to_owned(),
                ends: ends.iter().map(|end| end - text_start).collect(),
            };
            while !self.encoders.has_room() {
                self.collect()?;
            }
            let batch = batch.slice(start..end)?;
            self.encoders.submit(Job { batch, metadata: spelled, first: first + start as u64 });
            (start, text_start) = (end, text_end);
        }
        Ok(())
    }

    /// Takes the next records and appends them to their shard.
    fn collect(&mut self) -> Result<()> {
        let Some(records) = self.encoders.next_result() else { return Ok(()) };
        if self.shards.push(&records.and_then(|r| r)?)? > 0 {
            self.note()?;
        }
        Ok(())
    }

    /// The first line of the journal tells what is written.
    fn begin_journal(&mut self) -> Result<()> {
        if self.journal.is_some() {
            return Ok(());
        }
        let Some(head) = head(&self.stage, &self.rows, &self.carried, &self.options) else {
            return Ok(());
        };
        let root = Arc::clone(&self.stage.root);
        let old = journal::journals(root.as_ref(), &self.stage.folder)?;
        let (path, mut journal) = journal::start(root.as_ref(), &self.stage.folder)?;
        journal.append(head.line().as_bytes())?;
        self.journal = Some((path, journal));
        self.note()?;
        // The new one tells all that the old ones told.
        old.iter().try_for_each(|old| root.remove(old))?;
        Ok(())
    }

    /// Notes the shards that became complete.
    fn note(&mut self) -> Result<()> {
        let Some((_, journal)) = &mut self.journal else { return Ok(()) };
        let Some(columns) = self.rows.columns() else { return Ok(()) };
        for closed in self.shards.closed.get(self.noted..).unwrap_or_default() {
            let values = self.rows.values();
            let line = journal::shard_line(closed, &columns.specs, values, self.noted_samples);
            journal.append(line.as_bytes())?;
            self.noted += 1;
            self.noted_samples += closed.lengths.len() as u64;
        }
        Ok(())
    }
}
