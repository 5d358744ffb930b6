//! Does jobs: reads, and copies each row once to where it belongs.
//!
//! Where a read fails for one record, the others of its job are read without it: an error is that of its own sample.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use packstone_container::Limits;
use packstone_io::BufferPool;

use super::job::{From, Job, Outcome, Part};
use super::sources::{Source, Sources};
use crate::error::{Error, Place, Result};
use crate::format::{ReadContext, ShardRef};
use crate::model::{Batch, Finding, RowSlot};
use crate::ops::missing_sample;

/// Notes that are kept until somebody takes them; more say nothing new.
const MOST_NOTES: usize = 1024;

/// What the threads of one engine share.
pub(super) struct Shared {
    pub(super) sources: Arc<Sources>,
    pub(super) verify: bool,
    pub(super) limits: Limits,
    /// Nobody waits any more.
    pub(super) stop: AtomicBool,
    pub(super) notes: Arc<Mutex<Vec<Finding>>>,
    /// Shards that were read before, and compared with their recorded checksums where that was asked for.
    pub(super) touched: Arc<Mutex<HashSet<(usize, u64)>>>,
    board: Mutex<Vec<Option<(String, Instant)>>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    pub(super) fn new(
        sources: Arc<Sources>,
        verify: bool,
        limits: Limits,
        notes: Arc<Mutex<Vec<Finding>>>,
        touched: Arc<Mutex<HashSet<(usize, u64)>>>,
    ) -> Self {
        let (stop, board) = (AtomicBool::new(false), Mutex::default());
        Self { sources, verify, limits, stop, notes, touched, board }
    }

    /// Writes down what is being read until the entry is dropped.
    pub(super) fn reading(&self, what: String) -> Reading<'_> {
        let mut board = lock(&self.board);
        let free = board.iter().position(Option::is_none);
        let place = free.unwrap_or_else(|| {
            board.push(None);
            board.len() - 1
        });
        if let Some(entry) = board.get_mut(place) {
            *entry = Some((what, Instant::now()));
        }
        Reading { shared: self, place }
    }

    /// What is being read longest, and for how long.
    pub(super) fn longest(&self) -> Option<(String, Duration)> {
        let board = lock(&self.board);
        let oldest = board.iter().flatten().min_by_key(|(_, since)| *since)?;
        Some((oldest.0.clone(), oldest.1.elapsed()))
    }

    /// True for a shard that was read before.
    pub(super) fn was_touched(&self, source: usize, shard: &ShardRef) -> bool {
        lock(&self.touched).contains(&(source, shard.number))
    }

    /// True where every shard was.
    pub(super) fn all_touched(&self) -> bool {
        let touched = lock(&self.touched).len() as u64;
        touched > 0 && touched >= self.sources.shard_count()
    }

    pub(super) fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Adds what was noticed and is no error.
    pub(super) fn note(&self, more: &mut Vec<Finding>) {
        let mut notes = lock(&self.notes);
        let room = MOST_NOTES.saturating_sub(notes.len());
        notes.extend(more.drain(..).take(room));
    }
}

/// An entry of what is being read.
pub(super) struct Reading<'s> {
    shared: &'s Shared,
    place: usize,
}

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        if let Some(entry) = lock(&self.shared.board).get_mut(self.place) {
            *entry = None;
        }
    }
}

/// Does jobs on one thread.
pub(super) struct Worker {
    shared: Arc<Shared>,
    context: Mutex<ReadContext>,
}

impl Worker {
    pub(super) fn new(shared: Arc<Shared>, pool: BufferPool) -> Self {
        let context = Mutex::new(ReadContext::new(pool, shared.limits, false));
        Self { shared, context }
    }

    /// Does a job.
    pub(super) fn run(&self, job: &Job) -> Outcome {
        let mut outcome = Outcome::default();
        let Some(source) = self.shared.sources.get(job.id.0) else { return outcome };
        if self.shared.stopped() {
            return outcome;
        }
        let what = match &job.from {
            From::Hand(_) => source.collection.name().to_owned(),
            From::Rows(shard) | From::Whole(shard, _) | From::Check(shard) => {
                shard.path.to_string()
            }
            From::Decoded(_) => "decoded shards".to_owned(),
        };
        let _reading = self.shared.reading(what);
        let mut context = lock(&self.context);
        match &job.from {
            From::Decoded(shards) => {
                let mut rest: &[Part] = &job.parts;
                for (shard, batch, count) in shards {
                    let Some((parts, after)) = rest.split_at_checked(*count) else { break };
                    let visit = Visit { worker: self, source, job, parts, shard: Some(shard) };
                    visit.copy(batch, None, &mut outcome);
                    rest = after;
                }
            }
            From::Check(shard) => {
                self.touch(job, shard, &mut context, |context| {
                    // What is wrong is told to those who want the rows.
                    let fields = source.fields.as_deref();
                    source.collection.read_rows(shard, &[0], fields, context).is_ok()
                });
            }
            From::Hand(indices) => {
                context.verify = self.shared.verify;
                let rows: Vec<usize> = (0..indices.len()).collect();
                let visit = Visit { worker: self, source, job, parts: &job.parts, shard: None };
                visit.some(&rows, &mut context, &mut outcome);
            }
            From::Rows(shard) => {
                self.touch(job, shard, &mut context, |context| {
                    let visit = Visit::of(self, source, job, shard);
                    visit.some(&visit.wanted(), context, &mut outcome);
                    outcome.faults.is_empty()
                });
            }
            From::Whole(shard, more) => {
                self.touch(job, shard, &mut context, |context| {
                    let visit = Visit::of(self, source, job, shard);
                    visit.whole(*more, context, &mut outcome);
                    outcome.faults.is_empty()
                });
            }
        }
        context.notes.clear();
        outcome
    }

    /// Reads a shard, the first time with its checksums compared and its oddities noted.
    fn touch(
        &self,
        job: &Job,
        shard: &ShardRef,
        context: &mut ReadContext,
        read: impl FnOnce(&mut ReadContext) -> bool,
    ) {
        let which = (job.id.0, shard.number);
        let first = !lock(&self.shared.touched).contains(&which);
        context.verify = self.shared.verify && first;
        // Who was told to stop may not have looked at all of it.
        if read(context) && first && !self.shared.stopped() {
            lock(&self.shared.touched).insert(which);
            self.shared.note(&mut context.notes);
        }
    }
}

/// One job in the doing.
struct Visit<'a> {
    worker: &'a Worker,
    source: &'a Source,
    job: &'a Job,
    /// The parts of the job that come from the shard.
    parts: &'a [Part],
    shard: Option<&'a Arc<ShardRef>>,
}

impl<'a> Visit<'a> {
    /// For all parts of a job.
    fn of(worker: &'a Worker, source: &'a Source, job: &'a Job, shard: &'a Arc<ShardRef>) -> Self {
        Self { worker, source, job, parts: &job.parts, shard: Some(shard) }
    }

    /// Rows that the job wants, each once, in order.
    fn wanted(&self) -> Vec<usize> {
        let rows = self.parts.iter().flat_map(|part| &part.rows);
        let mut rows: Vec<usize> = rows.map(|(row, _)| *row).collect();
        rows.sort_unstable();
        rows.dedup();
        rows
    }

    /// Reads the shard as a whole; where that fails, what can be read of it.
    fn whole(&self, more: bool, context: &mut ReadContext, outcome: &mut Outcome) {
        let Some(shard) = self.shard else { return };
        match self.read(shard, None, context) {
            Ok(batch) => {
                let batch = Arc::new(batch);
                self.copy(&batch, None, outcome);
                outcome.decoded = more.then_some(batch);
            }
            // The record at fault may be none of those that are wanted.
            Err(error) if error.place().record.is_some() => {
                self.some(&self.wanted(), context, outcome);
            }
            Err(error) => self.fail(&error, &self.wanted(), outcome),
        }
    }

    /// Reads some rows.
    fn some(&self, rows: &[usize], context: &mut ReadContext, outcome: &mut Outcome) {
        let (all, read) = match (self.shard, &self.job.from) {
            (Some(shard), _) => (shard.rows, self.read(shard, Some(rows), context).map(Some)),
            (None, From::Hand(indices)) => {
                let some: Vec<u64> =
                    rows.iter().filter_map(|row| indices.get(*row)).copied().collect();
                (indices.len() as u64, self.at_hand(&some, context))
            }
            _ => return,
        };
        let rows_read = (rows.len() as u64 != all).then_some(rows);
        match read {
            Ok(Some(batch)) => self.copy(&batch, rows_read, outcome),
            // More than can be held at once.
            Ok(None) => self.halves(rows, context, outcome),
            Err(error) => self.without(error, rows, context, outcome),
        }
    }

    /// Reads samples that are at hand: neighbours as one run. None where they are too many.
    fn at_hand(&self, indices: &[u64], context: &mut ReadContext) -> Result<Option<Batch>> {
        let Source { collection, fields } = self.source;
        let fields = fields.as_deref();
        let first = indices.first().copied().unwrap_or_default();
        let run = first..first.saturating_add(indices.len() as u64);
        let neighbours = indices.iter().copied().eq(run.clone());
        let window = neighbours.then(|| collection.window(run)).flatten();
        if let Some(shard) = window.filter(|shard| shard.rows == indices.len() as u64) {
            return collection.read(&shard, fields, context).map(Some);
        }
        match collection.read_at(indices, fields, context)? {
            None if indices.len() <= 1 => Err(missing_sample(collection.len(), first)),
            read => Ok(read),
        }
    }

    fn read(
        &self,
        shard: &ShardRef,
        rows: Option<&[usize]>,
        context: &mut ReadContext,
    ) -> Result<Batch> {
        let Source { collection, fields } = self.source;
        let fields = fields.as_deref();
        let all = |rows: &[usize]| {
            rows.len() as u64 == shard.rows && rows.iter().enumerate().all(|(at, row)| at == *row)
        };
        let batch = match rows {
            Some(rows) if !all(rows) => collection.read_rows(shard, rows, fields, context)?,
            _ => collection.read(shard, fields, context)?,
        };
        let expected = rows.map_or(shard.rows, |rows| rows.len() as u64);
        if batch.rows() as u64 != expected {
            let len = collection.len();
            return Err(missing_sample(len, shard.first.saturating_add(batch.rows() as u64)));
        }
        Ok(batch)
    }

    /// Reads rows in smaller parts until those are found that fail for a reason of their own.
    fn without(
        &self,
        error: Error,
        rows: &[usize],
        context: &mut ReadContext,
        outcome: &mut Outcome,
    ) {
        if self.worker.shared.stopped() {
            return;
        }
        // Without a record, it is the shard that is at fault; rows at hand may be those of several.
        let shard = self.shard.is_some() && error.place().record.is_none();
        if rows.len() <= 1 || shard {
            self.fail(&error, rows, outcome);
            return;
        }
        self.halves(rows, context, outcome);
    }

    fn halves(&self, rows: &[usize], context: &mut ReadContext, outcome: &mut Outcome) {
        let (one, other) = rows.split_at(rows.len() / 2);
        self.some(one, context, outcome);
        self.some(other, context, outcome);
    }

    fn fail(&self, error: &Error, rows: &[usize], outcome: &mut Outcome) {
        self.parts.iter().for_each(|part| self.fail_part(error, part, Some(rows), outcome));
    }

    /// Says of each row of `part`, or of those among `rows`, that it could not be had.
    fn fail_part(&self, error: &Error, part: &Part, rows: Option<&[usize]>, outcome: &mut Outcome) {
        let among = |row: &usize| rows.is_none_or(|rows| rows.binary_search(row).is_ok());
        for (row, slot) in part.rows.iter().filter(|(row, _)| among(row)) {
            let index = match (&self.job.from, self.shard) {
                (From::Hand(indices), _) => indices.get(*row).copied().unwrap_or_default(),
                (_, Some(shard)) => shard.first.saturating_add(*row as u64),
                _ => 0,
            };
            outcome.faults.push((part.seq, *slot, self.named(error, index)));
        }
    }

    /// The error of one sample, with its shard.
    fn named(&self, error: &Error, index: u64) -> Error {
        let mut place = error.place().clone();
        if let (None, Some(shard)) = (&place.file, self.shard) {
            place.file = Place::file(&shard.path).file;
        }
        let name = self.source.collection.name();
        let message = format!("sample {index} of {name:?}: {}", error.message());
        Error::new(error.kind(), error.code(), place, message)
    }

    /// Copies to all batches; `rows` says which rows were read, all where not given.
    fn copy(&self, batch: &Batch, rows: Option<&[usize]>, outcome: &mut Outcome) {
        for part in self.parts {
            if self.worker.shared.stopped() {
                return;
            }
            let chosen: Vec<RowSlot>;
            let pairs = match rows {
                None => &part.rows,
                Some(rows) => {
                    let place =
                        |(row, slot): &RowSlot| Some((rows.binary_search(row).ok()?, *slot));
                    chosen = part.rows.iter().filter_map(place).collect();
                    &chosen
                }
            };
            if pairs.is_empty() {
                continue;
            }
            if let Err(error) = part.target.put(batch, pairs) {
                self.fail_part(&error, part, rows, outcome);
            }
        }
    }
}
