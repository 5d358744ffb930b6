//! The order of samples: a pure function of seed, epoch and position.
//!
//! Orders stand in [`loader`](crate::loader); a format may have one of its own, see
//! [`Collection::draws`](crate::format::Collection::draws).

use std::sync::Arc;

use packstone_container::json::Object;

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

    /// What it is called in a state; an order of one's own should have a name of its own.
    fn name(&self) -> &str {
        "custom"
    }

    /// The version of its algorithm: another one for another sequence under the same parameters.
    fn version(&self) -> u64 {
        1
    }

    /// All that the sequence depends on besides epoch and position. Long lists stand there as a digest.
    fn params(&self) -> Object {
        Object::new()
    }
}

/// The order of one epoch.
pub trait Drawn: Send + Sync + std::fmt::Debug {
    /// The index of the sample at `position`, below [`Order::len`]; `None` past the end.
    fn at(&self, position: u64) -> Option<u64>;

    /// The same for several positions; some orders draw several faster than one after another.
    fn each(&self, positions: &[u64]) -> Vec<Option<u64>> {
        positions.iter().map(|position| self.at(*position)).collect()
    }
}
