//! Positional reads.

use std::ops::Range;

use crate::buffer::Buf;
use crate::error::IoError;

/// A file that can be read at any position, by several threads at once.
///
/// Callers ask for the ranges they need in one call; the source decides how to merge them.
pub trait ReadAt: Send + Sync {
    /// Length in bytes when it was opened.
    fn len(&self) -> u64;

    /// True for a file of no bytes.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes of each range, in the order asked.
    ///
    /// # Errors
    /// [`Kind::Corrupt`](crate::Kind::Corrupt) where a range lies outside the file.
    fn read_ranges(&self, ranges: &[Range<u64>]) -> Result<Vec<Buf>, IoError>;

    /// All bytes, where having them costs no more than asking for some: of a file in memory, one that is mapped, or a
    /// small one. `None` where what is not asked for is better left where it is.
    ///
    /// # Errors
    /// `Io`.
    fn at_hand(&self) -> Result<Option<Buf>, IoError> {
        Ok(None)
    }

    /// The whole file.
    ///
    /// # Errors
    /// As for [`ReadAt::read_ranges`].
    fn read_all(&self) -> Result<Buf, IoError> {
        Ok(self.read_ranges(&[0..self.len()])?.pop().unwrap_or_default())
    }
}
