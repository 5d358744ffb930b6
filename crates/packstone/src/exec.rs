//! Threads for one operation: a bounded pipeline that keeps order, and progress.
//!
//! Threads are made when an operation starts and joined when it ends, so nothing is inherited broken after `fork` and
//! nothing runs between operations.

mod crew;
mod pipeline;
mod retry;
mod share;

use std::sync::Arc;

use packstone_io::Kind;

use crate::error::{Error, Place, Result};

pub use crew::Crew;
pub use pipeline::Pipeline;
pub use retry::Retry;
pub use share::{at_once, for_each, map, share};

pub(crate) use crew::join;

/// Told about the progress of a long operation; the library draws nothing itself.
pub trait Progress: Send + Sync + std::fmt::Debug {
    /// Announces how much there is to do, in bytes.
    fn total(&self, bytes: u64);
    /// Tells that `bytes` more are done.
    fn advance(&self, bytes: u64);
    /// True where the user asked to stop.
    fn cancelled(&self) -> bool {
        false
    }
}

/// Ends an operation that the user asked to stop.
///
/// # Errors
/// `ops/cancelled`.
pub fn keep_going(progress: Option<&Arc<dyn Progress>>) -> Result<()> {
    match progress {
        Some(progress) if progress.cancelled() => {
            let message = "stopped before the end, as asked";
            Err(Error::new(Kind::Cancelled, "ops/cancelled", Place::default(), message))
        }
        _ => Ok(()),
    }
}

/// How many threads this machine runs at once.
pub fn default_threads() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// The error for a thread that ended in the middle of its work.
pub(crate) fn died() -> Error {
    Error::new(
        Kind::Io,
        "exec/thread_died",
        Place::default(),
        "a worker thread ended before its work was done; this is a fault of packstone",
    )
}
