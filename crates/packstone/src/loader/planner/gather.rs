//! Jobs that only copy: rows at hand and rows of maps, together until they are worth a thread's while.

use std::sync::Arc;

use super::{Gathered, JOB_BYTES, Planned, Planner};
use crate::format::ShardRef;
use crate::loader::directory::ShardId;
use crate::loader::job::{From, Part};
use crate::model::Batch;

impl Planner {
    /// Puts all rows of a batch into the next job.
    pub(super) fn fetch_at_hand(&mut self, seq: u64, batch: &mut Planned) {
        let inside = &mut self.gathered.indices;
        let mut rows = Vec::with_capacity(batch.indices.len());
        inside.reserve(batch.indices.len());
        for (slot, index) in batch.indices.iter().enumerate() {
            let Some(index) = index else { continue };
            match self.sources.locate(*index) {
                Ok((_, index)) => {
                    rows.push((inside.len(), slot));
                    inside.push(index);
                }
                Err(error) => batch.faults.push((slot, error)),
            }
        }
        batch.missing = rows.len();
        if !rows.is_empty() {
            self.gathered.parts.push(Part { seq, target: Arc::clone(&batch.target), rows });
            self.gathered.bytes = self.gathered.bytes.saturating_add(batch.bytes);
            if self.gathered.bytes >= JOB_BYTES {
                self.submit_gathered();
            }
        }
    }

    /// Puts rows of a map into the next job.
    pub(super) fn gather(
        &mut self,
        id: ShardId,
        shard: Arc<ShardRef>,
        batch: Arc<Batch>,
        parts: Vec<Part>,
    ) {
        if self.gathered.source != id.0 {
            self.submit_gathered();
        }
        let rows: usize = parts.iter().map(|part| part.rows.len()).sum();
        let gathered = &mut self.gathered;
        gathered.source = id.0;
        gathered.bytes += self.row_bytes.saturating_mul(rows as u64);
        gathered.shards.push((shard, batch, parts.len()));
        gathered.parts.extend(parts);
    }

    /// Hands out a job for what was gathered.
    pub(super) fn submit_gathered(&mut self) {
        let Gathered { source, indices, shards, parts, .. } = std::mem::take(&mut self.gathered);
        if !parts.is_empty() {
            let from = if self.hand { From::Hand(indices) } else { From::Decoded(shards) };
            self.submit((source, 0), from, parts);
        }
    }
}
