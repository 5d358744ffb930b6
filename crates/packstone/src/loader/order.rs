//! The order of samples: a pure function of seed, epoch and position.

use std::sync::Arc;

use crate::error::Result;

/// An order of samples that repeats itself for equal seeds, on every machine and in every release.
pub trait Order: Send + Sync + std::fmt::Debug {
    /// Positions of one epoch.
    fn len(&self) -> u64;

    /// True for an order without positions.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The draws of an epoch. What they need is computed here, once, so that each position is then found at once.
    ///
    /// # Errors
    /// Those of reading what the order goes by.
    fn epoch(&self, epoch: u64) -> Result<Arc<dyn Drawn>>;
}

/// The order of one epoch.
pub trait Drawn: Send + Sync + std::fmt::Debug {
    /// The index of the sample at `position`, below [`Order::len`]; `None` past the end.
    fn at(&self, position: u64) -> Option<u64>;
}
