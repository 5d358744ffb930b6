//! Differences as they are found: the first are described, the rest is counted.

use super::{DiffReport, Difference};

/// Collects differences of one collection after another.
pub(super) struct Log {
    pub(super) collection: String,
    pub(super) limit: usize,
    pub(super) report: DiffReport,
}

impl Log {
    pub(super) fn add(
        &mut self,
        index: Option<u64>,
        field: Option<String>,
        what: impl FnOnce() -> String,
    ) {
        if self.report.differences.len() < self.limit {
            let collection = self.collection.clone();
            self.report.differences.push(Difference { collection, index, field, what: what() });
        } else {
            self.report.more = self.report.more.saturating_add(1);
        }
    }

    pub(super) fn about_all(&mut self, what: String) {
        self.add(None, None, || what);
    }
}
