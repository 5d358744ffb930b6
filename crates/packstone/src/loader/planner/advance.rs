//! One turn of the planner: what is planned, handed out and let go each time it is asked.

use std::sync::Arc;

use super::Planner;
use crate::format::Access;
use crate::loader::cache::Cache;

/// Bytes of files that stay mapped, and their number; they take address space, and no memory of their own.
const MAPPED_BYTES: u64 = 16 << 30;
const MAPS: usize = 1 << 12;

impl Planner {
    /// Plans, hands out jobs and lets batches leave, as far as that goes now. True where more could be planned at once.
    pub(in crate::loader) fn advance(&mut self) -> bool {
        if !self.begun {
            self.begin();
        }
        let enough = self.rows.saturating_add(self.portion);
        let wants_more =
            |planner: &Self| !planner.ended && !planner.shared.stopped() && planner.has_room();
        while self.rows < enough && wants_more(self) {
            if let Err(error) = self.plan() {
                (self.ended, self.last) = (true, Some(error));
            }
        }
        if self.rows >= enough {
            self.portion = self.portion.saturating_mul(2);
        }
        let learned = self.learned;
        self.check_ahead();
        self.dispatch();
        self.submit_gathered();
        self.leave();
        // How many batches fit may be known only now.
        self.learned != learned || wants_more(self)
    }

    /// Looks at how rows are had.
    fn begin(&mut self) {
        self.begun = true;
        let shared = Arc::clone(&self.shared);
        let _reading = shared.reading("the first rows".to_owned());
        if let Some(bytes) = self.sources.likely_bytes().filter(|_| !self.learned) {
            self.learn(1, bytes);
        }
        self.hand = self.sources.at_hand(!self.shared.verify || self.shared.all_touched());
        self.access = self.sources.access();
        self.cache = match self.access {
            _ if self.hand => None,
            Access::Whole => Some(Cache::new(self.course.window / 2, usize::MAX)),
            Access::Mapped => Some(Cache::new(MAPPED_BYTES, MAPS)),
            Access::Apart => None,
        };
    }
}
