//! Tells a [`Progress`] what was done, in bytes of values, and hears from it when to stop.

use std::sync::Arc;

use crate::error::Result;
use crate::exec::{Progress, keep_going};

/// The progress of one operation over a known number of samples.
///
/// How many bytes these have is known once the first shard is decoded: exactly where all samples have one size, else
/// as an estimate.
pub(super) struct Meter<'a> {
    progress: Option<&'a Arc<dyn Progress>>,
    samples: u64,
    told: bool,
}

impl<'a> Meter<'a> {
    /// A meter for an operation that reads `samples` in sum.
    pub(super) fn new(progress: Option<&'a Arc<dyn Progress>>, samples: u64) -> Self {
        Self { progress, samples, told: false }
    }

    /// Tells that a shard of `samples` with values of `bytes` is done.
    ///
    /// # Errors
    /// `ops/cancelled`.
    pub(super) fn step(&mut self, samples: usize, bytes: u64) -> Result<()> {
        let Some(progress) = self.progress else { return Ok(()) };
        if !self.told && samples > 0 {
            let all = u128::from(bytes) * u128::from(self.samples) / samples as u128;
            progress.total(u64::try_from(all).unwrap_or(u64::MAX));
            self.told = true;
        }
        progress.advance(bytes);
        keep_going(self.progress)
    }
}
