//! Who reads which positions: ranks split positions, never shards.
//!
//! ```text
//! an epoch from position p on     G = batch · ranks
//! step s          [p + s·G ─────────────── p + (s+1)·G)
//! rank r           └─ batch ─┘└─ batch ─┘…              its part: [p + s·G + r·batch, … + batch)
//! worker w        makes the steps w, w + workers, …      workers change nothing about what comes when
//! ```
//!
//! All parts of a step, in the order of the ranks, are the positions of the epoch in order, however many ranks there are.
//! So a run that goes on with another number of ranks goes on with the same sequence at the same position. Every rank has
//! as many steps as the others. Where the last step has fewer positions than it needs, [`Remainder`] says what happens.
//!
//! Ranks that form a replication group, as those of tensor parallelism do, read the same: with `replicas` of 4 the ranks
//! 0 to 3 are the first reader, 4 to 7 the second.

use packstone_container::json::Object;

use super::codes;
use crate::error::{Error, Place, Result};

/// What happens where the last step has fewer positions than the ranks need.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Remainder {
    /// Rows without a sample fill it up; a mask says which are samples.
    #[default]
    Pad,
    /// There is no such step; its positions are not read in this epoch.
    Drop,
    /// Positions from the beginning of the epoch fill it up.
    Repeat,
}

impl Remainder {
    /// All policies.
    pub const ALL: [Self; 3] = [Self::Pad, Self::Drop, Self::Repeat];

    /// `pad`, `drop` or `repeat`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Pad => "pad",
            Self::Drop => "drop",
            Self::Repeat => "repeat",
        }
    }

    /// The policy of a name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|remainder| remainder.name() == name)
    }
}

/// One rank among others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    world_size: u32,
    rank: u32,
    replicas: u32,
    workers: u32,
    batch: u64,
    remainder: Remainder,
}

impl Share {
    /// All positions for one reader, in batches.
    ///
    /// # Errors
    /// `loader/share_invalid` for a batch of none.
    pub fn alone(batch: u64) -> Result<Self> {
        Self::new(0, 1, batch)
    }

    /// The part of a rank, in batches of so many positions on each rank.
    ///
    /// # Errors
    /// `loader/share_invalid` for a rank that there is not, a batch of none, or more than 2⁶³ positions a step.
    pub fn new(rank: u32, world_size: u32, batch: u64) -> Result<Self> {
        if rank >= world_size {
            return Err(wrong(format!("expected a rank below {world_size}, found {rank}")));
        }
        if batch == 0 {
            return Err(wrong("expected a batch of at least one sample, found 0".to_owned()));
        }
        if batch > (1 << 63) / u64::from(world_size).max(1) {
            return Err(wrong(format!(
                "expected at most 2⁶³ samples a step, found {world_size} batches of {batch}"
            )));
        }
        Ok(Self { world_size, rank, replicas: 1, workers: 1, batch, remainder: Remainder::Pad })
    }

    /// The same with groups of `replicas` ranks that read the same.
    ///
    /// # Errors
    /// `loader/share_invalid` where the ranks do not make up whole groups.
    pub fn with_replicas(mut self, replicas: u32) -> Result<Self> {
        if self.world_size.checked_rem(replicas) != Some(0) {
            let world_size = self.world_size;
            return Err(wrong(format!(
                "expected a divisor of {world_size} ranks as replicas, found {replicas}"
            )));
        }
        self.replicas = replicas;
        Ok(self)
    }

    /// The same with so many workers on each rank; 0 counts as one.
    #[must_use]
    pub fn with_workers(mut self, workers: u32) -> Self {
        self.workers = workers.max(1);
        self
    }

    /// The same with another policy for the last step.
    #[must_use]
    pub fn with_remainder(mut self, remainder: Remainder) -> Self {
        self.remainder = remainder;
        self
    }

    /// The rank.
    #[must_use]
    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// How many read different positions: ranks, or groups of them.
    #[must_use]
    pub fn readers(&self) -> u32 {
        self.world_size.checked_div(self.replicas).unwrap_or(1)
    }

    /// Which of them this rank is.
    #[must_use]
    pub fn reader(&self) -> u32 {
        self.rank.checked_div(self.replicas).unwrap_or(0)
    }

    /// Samples of one batch.
    #[must_use]
    pub fn batch(&self) -> u64 {
        self.batch
    }

    /// What happens at the end.
    #[must_use]
    pub fn remainder(&self) -> Remainder {
        self.remainder
    }

    /// Positions of one step over all ranks.
    #[must_use]
    pub fn step_len(&self) -> u64 {
        self.batch.saturating_mul(u64::from(self.readers()))
    }

    /// Steps from position `from` to the end of an epoch of `len` positions; the same on every rank.
    #[must_use]
    pub fn steps(&self, len: u64, from: u64) -> u64 {
        let left = len.saturating_sub(from);
        match self.remainder {
            Remainder::Drop => left.checked_div(self.step_len()).unwrap_or(0),
            Remainder::Pad | Remainder::Repeat => left.div_ceil(self.step_len().max(1)),
        }
    }

    /// What this rank reads in a step counted from `from`; `None` past the last.
    #[must_use]
    pub fn part(&self, step: u64, len: u64, from: u64) -> Option<Part> {
        if step >= self.steps(len, from) {
            return None;
        }
        let start = u128::from(from)
            + u128::from(step) * u128::from(self.step_len())
            + u128::from(self.reader()) * u128::from(self.batch);
        Some(Part { start, rows: self.batch, len, repeat: self.remainder == Remainder::Repeat })
    }

    /// The position that is next after a step counted from `from`: where a state stands then.
    #[must_use]
    pub fn after(&self, step: u64, len: u64, from: u64) -> u64 {
        let next = u128::from(from) + (u128::from(step) + 1) * u128::from(self.step_len());
        u64::try_from(next).map_or(len, |next| next.min(len))
    }

    /// The worker that makes a step.
    #[must_use]
    pub fn worker(&self, step: u64) -> u32 {
        let worker = step.checked_rem(u64::from(self.workers)).unwrap_or(0);
        u32::try_from(worker).unwrap_or(0)
    }

    /// As an object, for reports.
    #[must_use]
    pub fn to_json(&self) -> Object {
        let mut out = Object::new();
        out.insert("world_size", u64::from(self.world_size));
        out.insert("replicas", u64::from(self.replicas));
        out.insert("workers", u64::from(self.workers));
        out.insert("batch", self.batch);
        out.insert("remainder", self.remainder.name());
        out
    }
}

/// The positions of one batch of one rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    start: u128,
    rows: u64,
    len: u64,
    repeat: bool,
}

impl Part {
    /// Rows of the batch, all of them.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Rows that are positions of the epoch which no other batch has: the first ones.
    #[must_use]
    pub fn fresh(&self) -> u64 {
        let left = u128::from(self.len).saturating_sub(self.start);
        u64::try_from(left).map_or(self.rows, |left| left.min(self.rows))
    }

    /// The position of a row. `None` for a row without a sample, and past the last row.
    #[must_use]
    pub fn position(&self, row: u64) -> Option<u64> {
        if row >= self.rows {
            return None;
        }
        let position = self.start + u128::from(row);
        if position < u128::from(self.len) {
            return u64::try_from(position).ok();
        }
        let wrapped = self.repeat.then(|| position.checked_rem(u128::from(self.len)))??;
        u64::try_from(wrapped).ok()
    }

    /// The positions of the rows in order, `None` for those without a sample.
    pub fn positions(self) -> impl Iterator<Item = Option<u64>> {
        (0..self.rows).map(move |row| self.position(row))
    }
}

fn wrong(message: String) -> Error {
    Error::new(packstone_io::Kind::Invalid, codes::SHARE_INVALID, Place::default(), message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(share: Share, step: u64, len: u64, from: u64) -> Vec<Option<u64>> {
        share.part(step, len, from).unwrap().positions().collect()
    }

    #[test]
    fn the_last_step_is_filled_up_dropped_or_repeated() {
        let share = |rank, remainder| Share::new(rank, 2, 3).unwrap().with_remainder(remainder);
        let pad = share(1, Remainder::Pad);
        assert_eq!(pad.steps(10, 0), 2);
        assert_eq!(rows(pad, 0, 10, 0), [Some(3), Some(4), Some(5)]);
        assert_eq!(rows(pad, 1, 10, 0), [Some(9), None, None]);
        assert_eq!(pad.part(1, 10, 0).unwrap().fresh(), 1);
        assert_eq!(rows(share(0, Remainder::Repeat), 1, 10, 0), [Some(6), Some(7), Some(8)]);
        assert_eq!(rows(share(1, Remainder::Repeat), 1, 10, 0), [Some(9), Some(0), Some(1)]);
        assert_eq!(share(0, Remainder::Drop).steps(10, 0), 1);
        assert_eq!(share(0, Remainder::Drop).part(1, 10, 0), None);
        // Fewer positions than rows: they come round more than once.
        assert_eq!(rows(share(1, Remainder::Repeat), 0, 2, 0), [Some(1), Some(0), Some(1)]);
        assert_eq!((pad.steps(0, 0), pad.steps(10, 10), pad.steps(10, 11)), (0, 0, 0));
        assert_eq!((pad.after(0, 10, 0), pad.after(1, 10, 0)), (6, 10));
    }

    #[test]
    fn replicas_read_the_same() {
        let share = |rank| Share::new(rank, 8, 2).unwrap().with_replicas(4).unwrap();
        assert_eq!((share(7).readers(), share(7).reader(), share(7).step_len()), (2, 1, 4));
        for rank in 0..8 {
            assert_eq!(rows(share(rank), 0, 100, 0)[0], Some(u64::from(rank / 4 * 2)));
        }
    }

    #[test]
    fn far_positions_do_not_overflow() {
        let share = Share::new(u32::MAX - 1, u32::MAX, 1 << 31).unwrap();
        assert_eq!(share.steps(u64::MAX, u64::MAX - 1), 1);
        assert_eq!(share.part(0, u64::MAX, u64::MAX - 1).unwrap().fresh(), 0);
        assert_eq!(share.after(u64::MAX, u64::MAX, u64::MAX - 1), u64::MAX);
    }

    #[test]
    fn shares_that_cannot_be_are_refused() {
        for wrong in [
            Share::new(2, 2, 1),
            Share::new(0, 0, 1),
            Share::new(0, 1, 0),
            Share::new(0, 2, u64::MAX),
            Share::new(0, 6, 1).and_then(|share| share.with_replicas(4)),
            Share::new(0, 6, 1).and_then(|share| share.with_replicas(0)),
        ] {
            assert_eq!(wrong.unwrap_err().code(), codes::SHARE_INVALID);
        }
    }
}
