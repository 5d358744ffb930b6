//! Visits: jobs for all rows that planned batches want of a shard.

use std::sync::Arc;

use super::{JOB_BYTES, Pending, Planner};
use crate::format::{Access, ShardRef};
use crate::loader::directory::ShardId;
use crate::loader::job::{From, Job, Part};

impl Planner {
    /// Hands out a job for the rows that are wanted of a shard; of a map that is there already, for those of one batch.
    pub(super) fn visit(&mut self, seq: u64, id: ShardId) {
        let Some(Pending { shard, mut rows }) = self.pending.remove(&id) else { return };
        let map = self.access == Access::Mapped
            && self.cache.as_ref().is_some_and(|cache| cache.holds(id));
        let last = match self.access {
            Access::Mapped if map => seq,
            Access::Apart if self.sent == 0 => seq,
            // Farther ones are planned for the sake of checksums.
            Access::Apart => {
                let few = self.window().checked_div(self.batch_bytes()).unwrap_or(0);
                seq.saturating_add(few)
            }
            Access::Mapped | Access::Whole => u64::MAX,
        };
        let later = rows.split_off(rows.partition_point(|row| row.0 <= last));
        if !later.is_empty() {
            self.pending.insert(id, Pending { shard: Arc::clone(&shard), rows: later });
        }
        let mut parts: Vec<Part> = Vec::new();
        let mut distinct: Vec<usize> = Vec::with_capacity(rows.len());
        for (seq, row, slot) in rows {
            let Some(batch) = self.at(seq) else { continue };
            if let Some(wanted) = batch.wanted.get_mut(slot) {
                *wanted = None;
            }
            match parts.last_mut() {
                Some(part) if part.seq == seq => part.rows.push((row, slot)),
                _ => {
                    let target = Arc::clone(&batch.target);
                    parts.push(Part { seq, target, rows: vec![(row, slot)] });
                }
            }
            distinct.push(row);
        }
        let from = match &mut self.cache {
            None => return self.submit_apart(id, &shard, parts),
            Some(cache) => {
                distinct.sort_unstable();
                distinct.dedup();
                let count = distinct.len() as u64;
                let served = self.served.entry(id).or_default();
                *served = served.saturating_add(count);
                let more = *served < shard.rows;
                match cache.take(id, count) {
                    Some(batch) if map => return self.gather(id, shard, batch, parts),
                    Some(batch) => From::Decoded(vec![(shard, batch, parts.len())]),
                    None => From::Whole(shard, more),
                }
            }
        };
        self.submit(id, from, parts);
    }

    /// Hands out jobs for rows that are read apart from the others of their shard: no more at once than is worth it.
    fn submit_apart(&mut self, id: ShardId, shard: &Arc<ShardRef>, parts: Vec<Part>) {
        let (mut together, mut bytes) = (Vec::new(), 0u64);
        for part in parts {
            bytes = bytes.saturating_add(self.row_bytes.saturating_mul(part.rows.len() as u64));
            together.push(part);
            if bytes >= 4 * JOB_BYTES {
                self.submit(id, From::Rows(Arc::clone(shard)), std::mem::take(&mut together));
                bytes = 0;
            }
        }
        if !together.is_empty() {
            self.submit(id, From::Rows(Arc::clone(shard)), together);
        }
    }

    pub(super) fn submit(&mut self, id: ShardId, from: From, parts: Vec<Part>) {
        let parts: Arc<[Part]> = parts.into();
        let number = self.jobs_made;
        self.jobs_made += 1;
        self.flying.insert(number, (id, Arc::clone(&parts)));
        self.jobs.push_back((number, Job { id, from, parts }));
    }
}
