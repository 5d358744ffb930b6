//! What comes back: results of jobs, decoded shards, and the room of batches that were taken.

use std::sync::Arc;

use super::Planner;
use crate::exec::died;
use crate::loader::directory::ShardId;
use crate::loader::job::Outcome;
use crate::model::Batch;

impl Planner {
    /// A batch was taken; its memory is the taker's.
    pub(in crate::loader) fn taken(&mut self) {
        if let Some(batch) = self.planned.pop_front() {
            self.head += 1;
            self.bytes = self.bytes.saturating_sub(batch.bytes);
            self.rows = self.rows.saturating_sub(batch.slots.len() as u64);
            if self.cursor.0 >= self.head {
                self.before = self.before.saturating_sub(batch.bytes);
            }
        }
    }

    /// What came of a job.
    pub(in crate::loader) fn done(&mut self, number: u64, result: std::thread::Result<Outcome>) {
        let Some((id, parts)) = self.flying.remove(&number) else { return };
        if parts.is_empty() {
            self.checking = self.checking.saturating_sub(1);
            self.awaited.retain(|_, checked| *checked != id);
        }
        let outcome = result.unwrap_or_else(|_| {
            let all = parts.iter().flat_map(|part| part.rows.iter().map(|row| (part.seq, row.1)));
            Outcome { faults: all.map(|(seq, slot)| (seq, slot, died())).collect(), decoded: None }
        });
        for part in parts.iter() {
            if let Some(batch) = self.at(part.seq) {
                batch.missing = batch.missing.saturating_sub(part.rows.len());
            }
        }
        for (seq, slot, error) in outcome.faults {
            if let Some(batch) = self.at(seq) {
                batch.faults.push((slot, error));
            }
        }
        if let Some(batch) = outcome.decoded {
            self.keep(id, batch);
        }
    }

    /// A shard was decoded as a whole.
    fn keep(&mut self, id: ShardId, batch: Arc<Batch>) {
        let Some(cache) = &mut self.cache else { return };
        let served = self.served.get(&id).copied().unwrap_or(0);
        let left = (batch.rows() as u64).saturating_sub(served);
        let pending = &self.pending;
        let next = |id: &ShardId| pending.get(id)?.rows.first().map(|row| row.0);
        cache.keep(id, batch, left, next);
    }
}
