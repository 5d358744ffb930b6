//! The cursor goes on: shards are visited for the rows it comes to, and compared with their checksums ahead of it.

use super::{JOB_BYTES, Pending, Planner};
use crate::format::Access;
use crate::loader::directory::ShardId;
use crate::loader::job::From;

/// Bytes of batches that are made ahead in any case.
const WARM_BYTES: u64 = 8 << 20;
/// Visits of whole shards that are handed out at a time for each thread: each may hold a decoded shard until it is made.
const VISITS: usize = 4;

impl Planner {
    /// Lets shards be compared with their checksums that are wanted soon, one on each thread.
    pub(super) fn check_ahead(&mut self) {
        while self.checking < self.course.threads
            && let Some((id, shard)) = self.to_check.pop_front()
        {
            self.checking += 1;
            self.submit(id, From::Check(shard), Vec::new());
        }
    }

    /// Goes on with the cursor and visits shards.
    pub(super) fn dispatch(&mut self) {
        // With nobody to read ahead, only what is asked for is read.
        let lead = match self.access {
            _ if self.course.threads == 0 => 0,
            Access::Mapped => self.window(),
            Access::Whole | Access::Apart => self.window() / 2,
        };
        while !self.hand {
            if self.cursor.0 < self.head {
                (self.cursor, self.before) = ((self.head, 0), 0);
            }
            let (seq, slot) = self.cursor;
            // Nobody waits for more than the first batch.
            let first = self.access == Access::Apart && self.sent == 0;
            if seq > self.head && (first || self.before >= lead) {
                return;
            }
            let Some(batch) = self.at(seq) else { return };
            let bytes = batch.bytes;
            match batch.wanted.get(slot).copied() {
                None => {
                    self.cursor = (seq + 1, 0);
                    self.before = self.before.saturating_add(bytes);
                    if self.gathered.bytes >= JOB_BYTES {
                        self.submit_gathered();
                    }
                }
                Some(None) => self.cursor.1 += 1,
                Some(Some(shard)) => {
                    if self.is_soon_enough(seq, shard) || self.is_busy() || self.is_awaited(shard) {
                        return;
                    }
                    self.cursor.1 += 1;
                    self.ahead.push_back(seq);
                    self.visit(seq, shard);
                }
            }
        }
    }

    /// True where the readers have enough to do: a visit that is put off finds more rows to take along.
    fn is_busy(&self) -> bool {
        let most = VISITS.saturating_mul(self.course.threads.max(1));
        self.access == Access::Whole && self.flying.len() >= most
    }

    /// True for a shard whose file is being compared with its checksum: a thread would only wait for the other one.
    fn is_awaited(&self, shard: ShardId) -> bool {
        !self.awaited.is_empty()
            && self.pending.get(&shard).is_some_and(|pending| {
                self.awaited.contains_key(&(shard.0, pending.shard.path.clone()))
            })
    }

    /// True for a shard that is wanted later and then once for all: reading it now gains nothing but fresh memory.
    fn is_soon_enough(&mut self, seq: u64, shard: ShardId) -> bool {
        while self.ahead.front().is_some_and(|first| *first <= self.head) {
            self.ahead.pop_front();
        }
        let whole = |pending: &Pending| pending.rows.len() as u64 >= pending.shard.rows;
        seq > self.head
            && self.before >= WARM_BYTES
            && self.ahead.len() >= self.course.threads + 2
            && self.pending.get(&shard).is_some_and(whole)
    }
}
