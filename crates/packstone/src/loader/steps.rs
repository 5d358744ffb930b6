//! The positions of one reader from a position of an epoch on, step by step.

use super::Share;

/// The steps that one rank makes in an epoch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Steps {
    pub(super) share: Share,
    /// Positions of the epoch.
    pub(super) len: u64,
    /// The position that steps are counted from.
    pub(super) from: u64,
}

/// A row of a batch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    /// Its position in the order; none for a row without a sample.
    pub(super) position: Option<u64>,
    /// A position that no other batch of the epoch has.
    pub(super) fresh: bool,
}

impl Steps {
    /// Their number.
    pub(super) fn count(&self) -> u64 {
        self.share.steps(self.len, self.from)
    }

    /// The rows of a step; `None` past the end.
    pub(super) fn slots(&self, step: u64) -> Option<Vec<Slot>> {
        let part = self.share.part(step, self.len, self.from)?;
        let fresh = part.fresh();
        let slot = |(row, position)| Slot { position, fresh: row < fresh };
        Some((0..).zip(part.positions()).map(slot).collect())
    }

    /// What people call a step: its number in the epoch, as though there had been as many ranks from the start.
    pub(super) fn number(&self, step: u64) -> u64 {
        self.from.checked_div(self.share.step_len()).unwrap_or(0).saturating_add(step)
    }
}
