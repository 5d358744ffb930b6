//! Batches of one size across shard borders.
//!
//! Which rows make a batch is decided where batches are taken, in order; copying them together is done ahead on threads,
//! as decoding is. Each row is copied once, from the map or the decoded shard into the batch.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use packstone_io::BufferPool;

use super::scan::{Decoded, Shards};
use super::shuffle::Mixer;
use crate::error::{Error, Result};
use crate::exec::Pipeline;
use crate::model::{Batch, BatchBuilder, Finding, Schema};

/// Rows of decoded shards that make a batch, in order.
type Parts = Vec<(Arc<Batch>, Range<usize>)>;

/// Batches of one size, see [`Scan::batches`](super::Scan::batches).
pub struct Batches {
    shards: Shards,
    copying: Pipeline<Parts, Result<Batch>>,
    size: usize,
    current: Option<(Arc<Batch>, Range<usize>)>,
    mixer: Option<Mixer>,
    /// What ended the shards, to be told after the batches before it.
    failed: Option<Error>,
    ended: bool,
}

impl Batches {
    pub(super) fn new(
        shards: Shards,
        schema: Arc<Schema>,
        size: usize,
        threads: usize,
        mixer: Option<Mixer>,
    ) -> Self {
        let window = threads + 1;
        let pool = BufferPool::new((window + 2).saturating_mul(schema.fields.len()));
        let copying = Pipeline::new(threads, window, || {
            let (schema, pool) = (Arc::clone(&schema), pool.clone());
            let builder: Mutex<Option<BatchBuilder>> = Mutex::default();
            move |parts: Parts| {
                let mut builder = builder.lock().unwrap_or_else(PoisonError::into_inner);
                let builder = match builder.as_mut() {
                    Some(builder) => builder,
                    None => {
                        builder.insert(BatchBuilder::new(Arc::clone(&schema), size, pool.clone())?)
                    }
                };
                for (batch, rows) in parts {
                    builder.push(&batch, rows)?;
                }
                builder.finish()
            }
        });
        Self { shards, copying, size, current: None, mixer, failed: None, ended: false }
    }

    /// What was noticed so far and is no error.
    pub fn take_notes(&mut self) -> Vec<Finding> {
        self.shards.take_notes()
    }

    /// Chooses the rows of the next batch; fewer than its size only at the end.
    fn choose(&mut self, parts: &mut Parts) -> Result<()> {
        let mut rows = 0;
        while rows < self.size {
            if let Some(mixer) = &mut self.mixer {
                let Some((batch, row)) = mixer.next(&mut self.shards)? else { break };
                parts.push((batch, row..row + 1));
                rows += 1;
                continue;
            }
            let Some((batch, left)) = &mut self.current else {
                let Some(Decoded { batch, rows, .. }) = self.shards.next().transpose()? else {
                    break;
                };
                self.current = Some((Arc::new(batch), rows));
                continue;
            };
            let end = left.end.min(left.start.saturating_add(self.size - rows));
            rows += end - left.start;
            parts.push((Arc::clone(batch), left.start..end));
            left.start = end;
            if left.start >= left.end {
                self.current = None;
            }
        }
        self.ended = rows < self.size;
        Ok(())
    }

    fn refill(&mut self) {
        while !self.ended && self.copying.has_room() {
            let mut parts = Parts::new();
            if let Err(error) = self.choose(&mut parts) {
                self.failed = Some(error);
                self.ended = true;
            }
            if parts.iter().any(|(_, rows)| !rows.is_empty()) {
                self.copying.submit(parts);
            }
        }
    }
}

impl Iterator for Batches {
    type Item = Result<Batch>;

    fn next(&mut self) -> Option<Self::Item> {
        self.refill();
        match self.copying.next_result() {
            Some(result) => Some(result.and_then(|r| r)),
            None => self.failed.take().map(Err),
        }
    }
}
