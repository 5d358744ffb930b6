//! How much is planned ahead: bytes and rows of batches in the making.

use super::{JOB_BYTES, Planner};
use crate::format::Access;

/// Bytes of batches in the making where no shard is decoded as a whole: enough for some rows a visit.
const APART_BYTES: u64 = 16 << 20;
/// The same where shards are maps: what is copied should still be in the processor's cache when it is taken, and no thread
/// should wait until it is.
const COPIED_BYTES: u64 = 16 << 20;
/// Rows that are planned at most: looking farther ahead gains nothing.
const MOST_ROWS: u64 = 1 << 17;

impl Planner {
    pub(super) fn has_room(&self) -> bool {
        // Before rows were seen, nobody knows how many fit.
        if !self.learned {
            return self.planned.is_empty();
        }
        // A large first batch is waited for: others would share the memory's rate with it.
        if self.hand && self.sent == 0 && self.batch_bytes() >= JOB_BYTES {
            return self.planned.is_empty();
        }
        if self.hand {
            // Looking farther ahead gains nothing: a job for each thread, one that waits and one to be taken.
            let threads = self.course.threads as u64;
            let jobs = if threads == 0 { 1 } else { threads + 2 };
            let fits = self.course.window.checked_div(jobs).unwrap_or(0);
            let job = JOB_BYTES.min(fits).max(self.batch_bytes());
            let more = self.gathered.parts.is_empty() || self.gathered.bytes < job;
            let room = self.bytes.saturating_add(job) <= job.saturating_mul(jobs);
            return self.planned.is_empty() || more && (room || !self.gathered.parts.is_empty());
        }
        let window = if self.checks_ahead() { self.course.window } else { self.window() };
        self.planned.is_empty() || self.bytes < window && self.rows < MOST_ROWS
    }

    /// True where threads that have nothing to copy can compare whole shards with their checksums.
    pub(super) fn checks_ahead(&self) -> bool {
        self.shared.verify && self.access == Access::Apart && self.course.threads > 1
    }

    pub(super) fn batch_bytes(&self) -> u64 {
        self.row_bytes.saturating_mul(self.course.steps.share.batch())
    }

    /// Bytes of batches in the making.
    pub(super) fn window(&self) -> u64 {
        match self.access {
            Access::Whole => self.course.window / 2,
            Access::Apart => {
                let few = self.batch_bytes().saturating_mul(self.course.threads as u64 + 2);
                few.max(APART_BYTES).min(self.course.window)
            }
            Access::Mapped => {
                let few = self.batch_bytes().saturating_mul(self.course.threads as u64 + 1);
                few.max(COPIED_BYTES).min(self.course.window)
            }
        }
    }
}
