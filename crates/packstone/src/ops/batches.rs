//! Batches of one size across shard borders.
//!
//! ```text
//! shard 0 │▒▒▒▒▒▒▒▒▒▒▒▒│▒▒▒▒▒▒▒▒  ░░░░│   ▒ whole batches: copied by the thread that decoded the shard
//! shard 1 │░░░░░░░░  ▒▒▒▒▒▒▒▒▒▒▒▒│        ░ parts of a batch that crosses a border: copied where batches are taken
//! ```
//!
//! Where batches start follows from the index of a shard's first sample, so threads need not wait for each other. Each
//! row is copied once, from the map or the decoded shard into the batch, and a shard that holds whole batches only is let
//! go before they are taken.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use packstone_io::BufferPool;

use super::scan::{Decoded, Mapped, Shards};
use super::shuffle::Mixer;
use crate::error::{Error, Result};
use crate::model::{Batch, BatchBuilder, Finding, Schema};

/// What a shard gives to the batches.
pub(super) enum Piece {
    /// A batch of its own.
    Whole(Batch),
    /// Rows that go together with others.
    Part(Arc<Batch>, Range<usize>),
}

/// Cuts shards at the borders of batches.
#[derive(Clone)]
pub(super) struct Cutter {
    /// Fields, rows and memory of a batch.
    pub(super) schema: Arc<Schema>,
    pub(super) size: usize,
    pub(super) pool: BufferPool,
    /// The sample that the first batch starts with; `None` where shards do not come in order.
    pub(super) start: Option<u64>,
}

impl Cutter {
    fn builder(&self) -> Result<BatchBuilder> {
        BatchBuilder::new(Arc::clone(&self.schema), self.size, self.pool.clone())
    }

    /// The pieces of a shard, in order.
    pub(super) fn cut(&self, decoded: Decoded) -> Result<Vec<Piece>> {
        let Decoded { shard, batch, rows } = decoded;
        if is_whole(&batch, &rows, self.size) {
            return Ok(vec![Piece::Whole(batch)]);
        }
        let Some(start) = self.start else {
            return Ok(vec![Piece::Part(Arc::new(batch), rows)]);
        };
        let size = self.size as u64;
        let before = shard.first.saturating_add(rows.start as u64).saturating_sub(start) % size;
        // Rows up to the first border; all where none lies inside.
        let head = usize::try_from(size - before).unwrap_or(usize::MAX) % self.size;
        let head = rows.start.saturating_add(head).min(rows.end);
        let wholes = (rows.end - head) / self.size;
        let tail = head + wholes * self.size;
        let mut built = VecDeque::with_capacity(wholes);
        if wholes > 0 {
            let mut builder = self.builder()?;
            for number in 0..wholes {
                let from = head + number * self.size;
                builder.push(&batch, from..from + self.size)?;
                built.push_back(Piece::Whole(builder.finish()?));
            }
        }
        let batch = Arc::new(batch);
        let part =
            |rows: Range<usize>| (!rows.is_empty()).then(|| Piece::Part(Arc::clone(&batch), rows));
        Ok(part(rows.start..head).into_iter().chain(built).chain(part(tail..rows.end)).collect())
    }
}

/// True for rows that are a batch of `size` as they were read, with no need of a copy.
fn is_whole(batch: &Batch, rows: &Range<usize>, size: usize) -> bool {
    *rows == (0..size) && batch.rows() == size && batch.is_own()
}

/// Where the rows of batches come from.
pub(super) enum Source {
    /// Shard after shard.
    Ordered(Mapped<Vec<Piece>>),
    /// Through a buffer that mixes them.
    Mixed(Shards, Mixer),
}

/// Batches of one size, see [`Scan::batches`](super::Scan::batches).
pub struct Batches {
    source: Source,
    pieces: VecDeque<Piece>,
    /// Rows that wait for others to make a batch.
    joining: BatchBuilder,
    size: usize,
    /// What ended the shards, to be told after the batch before it.
    failed: Option<Error>,
}

impl Batches {
    pub(super) fn new(source: Source, cutter: &Cutter) -> Result<Self> {
        let joining = cutter.builder()?;
        let pieces = VecDeque::new();
        Ok(Self { source, pieces, joining, size: cutter.size, failed: None })
    }

    /// What was noticed so far and is no error.
    pub fn take_notes(&mut self) -> Vec<Finding> {
        match &mut self.source {
            Source::Ordered(pieces) => pieces.take_notes(),
            Source::Mixed(shards, _) => shards.take_notes(),
        }
    }

    /// The next piece; `None` at the end.
    fn piece(&mut self) -> Result<Option<Piece>> {
        let shards = match &mut self.source {
            Source::Mixed(shards, mixer) => {
                let drawn = mixer.next(shards)?;
                return Ok(drawn.map(|(batch, row)| Piece::Part(batch, row..row + 1)));
            }
            Source::Ordered(shards) => shards,
        };
        while self.pieces.is_empty() {
            match shards.next().transpose()? {
                Some(pieces) => self.pieces = pieces.into(),
                None => return Ok(None),
            }
        }
        Ok(self.pieces.pop_front())
    }

    /// The next batch; short only at the end or before a fault.
    fn batch(&mut self) -> Result<Option<Batch>> {
        while self.joining.rows() < self.size {
            match self.piece()? {
                Some(Piece::Whole(batch)) if self.joining.rows() == 0 => return Ok(Some(batch)),
                // Where shards are not cut, or one held fewer samples than its list said.
                Some(Piece::Whole(batch)) => {
                    let rows = 0..batch.rows();
                    self.pieces.push_front(Piece::Part(Arc::new(batch), rows));
                }
                Some(Piece::Part(batch, rows)) => {
                    let room = self.size - self.joining.rows();
                    let end = rows.end.min(rows.start.saturating_add(room));
                    self.joining.push(&batch, rows.start..end)?;
                    if end < rows.end {
                        self.pieces.push_front(Piece::Part(batch, end..rows.end));
                    }
                }
                None => break,
            }
        }
        if self.joining.rows() == 0 { Ok(None) } else { self.joining.finish().map(Some) }
    }
}

impl Iterator for Batches {
    type Item = Result<Batch>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(error) = self.failed.take() {
            return Some(Err(error));
        }
        match self.batch() {
            Ok(batch) => batch.map(Ok),
            Err(error) if self.joining.rows() > 0 => {
                // The samples before a fault are delivered first.
                self.failed = Some(error);
                Some(self.joining.finish())
            }
            Err(error) => Some(Err(error)),
        }
    }
}
