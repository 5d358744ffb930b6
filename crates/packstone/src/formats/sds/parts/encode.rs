//! Samples encoded on threads: each becomes a record and its row, and both become chunks that only need a place.
//!
//! ```text
//! batch ─► parts of some rows ─► threads: record, rules, JSON, SafeTensors, compression, hash ─► pieces in order
//! ```
//!
//! A batch is encoded as a whole before any of it is stored, so that one that is refused leaves no trace.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use packstone_container::array_record::{Encoder, WriteError};
use packstone_container::riegeli::EncodedChunk;
use packstone_io::RelPath;

use super::super::schema::record;
use super::payload::encode;
use super::write::{ShardOptions, failed};
use crate::error::{Error, Result};
use crate::exec::Pipeline;
use crate::model::Batch;

/// Bytes of values that one thread encodes at once, about.
const PART_BYTES: u64 = 256 << 10;
/// Parts of a batch for each thread, so that none waits long for the others.
const PARTS: usize = 4;

/// A record and its row as they are stored, without a place.
#[derive(Default)]
pub struct Piece {
    /// The chunk of the record.
    pub data: EncodedChunk,
    /// The chunk of the row.
    pub row: EncodedChunk,
    /// Bytes of both before they were compressed.
    pub bytes: u64,
}

/// How records are called that bring no id.
#[derive(Clone)]
pub struct Naming {
    /// The collection, where there are several.
    pub collection: Option<Arc<str>>,
    /// The number of the first record of a batch.
    pub first: u64,
}

impl Naming {
    /// The number of the record in row `row`.
    pub fn number(&self, row: usize) -> u64 {
        self.first.saturating_add(row as u64)
    }

    /// What it is called.
    pub fn id(&self, row: usize) -> String {
        let number = self.number(row);
        match &self.collection {
            Some(collection) => format!("{collection}/{number}"),
            None => number.to_string(),
        }
    }

    /// Names the record in row `row` in an error about it.
    pub fn place(&self, row: usize, error: Error) -> Error {
        let place = error.place().clone().record(self.number(row));
        error.with_place(place)
    }
}

struct Task {
    batch: Arc<Batch>,
    rows: Range<usize>,
    naming: Naming,
}

/// Threads that encode, as long as they are kept.
pub struct Encoders {
    pipeline: Pipeline<Task, Result<Vec<Piece>>>,
    threads: usize,
}

impl Encoders {
    /// Encodes for shards with these options, on so many threads; with none, where it is called.
    pub fn new(options: &Arc<ShardOptions>, threads: usize) -> Self {
        let make = || {
            let options = Arc::clone(options);
            let encoder = Mutex::new(Encoder::new(&options.container));
            move |task: Task| {
                let mut encoder = encoder.lock().unwrap_or_else(PoisonError::into_inner);
                let encoder = match encoder.as_mut() {
                    Ok(encoder) => encoder,
                    Err(_) => return Err(refused(WriteError::Transpose)),
                };
                task.run(&options, encoder)
            }
        };
        let window = threads.saturating_mul(PARTS).max(1);
        Self { pipeline: Pipeline::new(threads, window, make), threads }
    }

    /// Encodes all rows of a batch.
    ///
    /// # Errors
    /// Those of [`record`] and [`encode`], of the first row that has one.
    pub fn encode(&mut self, batch: &Batch, naming: &Naming) -> Result<Vec<Piece>> {
        let rows = batch.rows();
        let each = batch.value_bytes().checked_div(rows as u64).unwrap_or(0).max(1);
        let few = rows.div_ceil(self.threads.saturating_mul(PARTS).max(1));
        let most = usize::try_from(PART_BYTES / each).unwrap_or(usize::MAX).min(few).max(1);
        let batch = Arc::new(batch.clone());
        let mut starts = (0..rows).step_by(most);
        let mut pieces = Vec::with_capacity(rows);
        let mut wrong = None;
        loop {
            while wrong.is_none() && self.pipeline.has_room() {
                let Some(start) = starts.next() else { break };
                let rows = start..start.saturating_add(most).min(rows);
                let (batch, naming) = (Arc::clone(&batch), naming.clone());
                self.pipeline.submit(Task { batch, rows, naming });
            }
            // What is under way is waited for, also after an error: the next batch begins with none.
            match self.pipeline.next_result() {
                Some(Ok(Ok(part))) => pieces.extend(part),
                Some(Ok(Err(error)) | Err(error)) => {
                    wrong.get_or_insert(error);
                }
                None => return wrong.map_or(Ok(pieces), Err),
            }
        }
    }
}

impl Task {
    fn run(self, options: &ShardOptions, encoder: &mut Encoder) -> Result<Vec<Piece>> {
        let Self { batch, rows, naming } = self;
        let mut piece = |row: usize| {
            let record = record(&batch, row, || naming.id(row))?;
            let encoded = encode(&record, &options.policy)?;
            let mut piece = Piece::default();
            let chunks = [(&encoded.record, &mut piece.data), (&encoded.row, &mut piece.row)];
            for (bytes, chunk) in chunks {
                encoder.encode(&[bytes], chunk).map_err(refused)?;
                piece.bytes = piece.bytes.saturating_add(bytes.len() as u64);
            }
            Ok(piece)
        };
        rows.map(|row| piece(row).map_err(|error| naming.place(row, error))).collect()
    }
}

fn refused(error: WriteError) -> Error {
    failed(error, &RelPath::root())
}
