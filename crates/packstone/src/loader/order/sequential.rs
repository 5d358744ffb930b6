//! The order in which samples are stored, the same in every epoch.

use std::sync::Arc;

use super::{Drawn, Order};
use crate::error::Result;

/// The samples 0, 1, 2 and so on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sequential {
    samples: u64,
}

impl Sequential {
    /// As many samples.
    #[must_use]
    pub fn new(samples: u64) -> Self {
        Self { samples }
    }
}

impl Order for Sequential {
    fn len(&self) -> u64 {
        self.samples
    }

    fn epoch(&self, _epoch: u64) -> Result<Arc<dyn Drawn>> {
        Ok(Arc::new(*self))
    }

    fn name(&self) -> &str {
        "sequential"
    }
}

impl Drawn for Sequential {
    fn at(&self, position: u64) -> Option<u64> {
        (position < self.samples).then_some(position)
    }
}
