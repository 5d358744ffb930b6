//! Parts of one new dataset: written by several processes, joined by one.

use super::{Writer, Written};
use crate::error::Result;

/// A dataset whose parts are written by several processes on their own, and joined by one of them.
///
/// A part counts once its writer finished. One that died leaves nothing that counts, and its part is written again under
/// the same name. Of two that finish the same part at once, one counts.
pub trait Parts: Send + Sync {
    /// Starts a part.
    ///
    /// # Errors
    /// `Exists` where that part is finished; `Invalid` for the name.
    fn open(&self, name: &str) -> Result<Box<dyn Writer>>;

    /// The names of the parts that are finished and not joined yet.
    ///
    /// # Errors
    /// I/O faults.
    fn finished(&self) -> Result<Vec<String>>;

    /// Publishes the parts of these names, all that are finished where none is given. Safe to repeat.
    ///
    /// # Errors
    /// `Invalid` where one is not finished or does not fit the others; `Conflict`; then nothing is published.
    fn commit(&self, names: &[String]) -> Result<Written>;
}
