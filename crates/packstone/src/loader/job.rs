//! What a thread does at once: one visit to a shard for all rows that are wanted of it soon, or rows that are at hand.

use std::sync::{Arc, Mutex, PoisonError};

use packstone_io::BufferPool;

use super::directory::ShardId;
use crate::error::{Error, Result};
use crate::format::ShardRef;
use crate::model::{Batch, BatchSlots, RowSlot, Schema};

/// A batch in the making: its memory is taken when the first row comes.
pub(super) struct Target {
    schema: Arc<Schema>,
    rows: usize,
    pool: BufferPool,
    state: Mutex<State>,
}

#[derive(Default)]
enum State {
    #[default]
    Empty,
    /// All rows as they were read, with no need of a copy.
    Whole(Batch),
    Slots(BatchSlots),
}

impl Target {
    pub(super) fn new(schema: Arc<Schema>, rows: usize, pool: BufferPool) -> Self {
        Self { schema, rows, pool, state: Mutex::default() }
    }

    /// Copies rows of `from` to their slots; a batch that is just this one is taken as it is.
    ///
    /// # Errors
    /// Those of [`BatchSlots`].
    pub(super) fn put(&self, from: &Batch, rows: &[RowSlot]) -> Result<()> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |(at, pair): (usize, &RowSlot)| *pair == (at, at);
        let whole = rows.len() == self.rows && from.rows() == self.rows;
        if matches!(*state, State::Empty)
            && whole
            && rows.iter().enumerate().all(same)
            && from.is_own()
            && **from.schema() == *self.schema
        {
            *state = State::Whole(from.clone());
            return Ok(());
        }
        let mut slots = self.slots(std::mem::take(&mut *state))?;
        let put = slots.put(from, rows);
        *state = State::Slots(slots);
        put
    }

    /// Slots with what is there already.
    fn slots(&self, state: State) -> Result<BatchSlots> {
        if let State::Slots(slots) = state {
            return Ok(slots);
        }
        let mut slots = BatchSlots::new(Arc::clone(&self.schema), self.rows, &self.pool)?;
        if let State::Whole(batch) = state {
            let all: Vec<RowSlot> = (0..self.rows).map(|row| (row, row)).collect();
            slots.put(&batch, &all)?;
        }
        Ok(slots)
    }

    /// The batch, with all slots or those `kept`; those in `blank` have no sample.
    ///
    /// # Errors
    /// Those of [`BatchSlots`].
    pub(super) fn finish(&self, kept: Option<&[usize]>, blank: &[usize]) -> Result<Batch> {
        let state = std::mem::take(&mut *self.state.lock().unwrap_or_else(PoisonError::into_inner));
        match state {
            State::Whole(batch) if kept.is_none() && blank.is_empty() => Ok(batch),
            other => {
                let mut slots = self.slots(other)?;
                slots.blank(blank)?;
                slots.finish(kept)
            }
        }
    }
}

/// Rows for one batch.
pub(super) struct Part {
    /// The batch, counted from the start of the engine.
    pub(super) seq: u64,
    pub(super) target: Arc<Target>,
    /// Rows of what is read, or numbers of `indices`, with their slots.
    pub(super) rows: Vec<RowSlot>,
}

/// Where rows come from.
pub(super) enum From {
    /// Rows at hand: indices in the collection.
    Hand(Vec<u64>),
    /// Rows of a shard, some of them read apart.
    Rows(Arc<ShardRef>),
    /// A shard that is decoded as a whole, and whether others of its rows are still to come. If not, who decoded it lets it
    /// go: unmapping a file takes time that nobody should wait for.
    Whole(Arc<ShardRef>, bool),
    /// Shards that were decoded before, each with the parts of the job, as many as said, that come from it.
    Decoded(Vec<(Arc<ShardRef>, Arc<Batch>, usize)>),
    /// A shard that is wanted soon, for the comparison with its checksums alone.
    Check(Arc<ShardRef>),
}

/// A job.
pub(super) struct Job {
    /// The shard; for rows at hand and decoded shards the collection alone counts.
    pub(super) id: ShardId,
    pub(super) from: From,
    pub(super) parts: Arc<[Part]>,
}

/// What came of a job.
#[derive(Default)]
pub(super) struct Outcome {
    /// Rows that could not be had: batch, slot, why.
    pub(super) faults: Vec<(u64, usize, Error)>,
    /// The shard, where it was decoded as a whole and others of its rows are still to come.
    pub(super) decoded: Option<Arc<Batch>>,
}
