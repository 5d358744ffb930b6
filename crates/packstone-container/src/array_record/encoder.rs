//! Making chunks of records.

use super::error::WriteError;
use super::options::WriterOptions;
use crate::riegeli::{ChunkEncoder, EncodedChunk};

/// Makes chunks of records for a [`Placer`](super::Placer), in any order and on any thread. One per thread.
pub struct Encoder {
    chunks: ChunkEncoder,
    group_size: u64,
}

impl Encoder {
    /// An encoder for files with these options.
    ///
    /// # Errors
    /// [`WriteError::Transpose`]
    pub fn new(options: &WriterOptions) -> Result<Self, WriteError> {
        options.check()?;
        let chunks = ChunkEncoder::new(options.compression);
        Ok(Self { chunks, group_size: options.group_size.into() })
    }

    /// Makes one chunk of a whole group of records, or of the last ones of a file, in `chunk`, whose memory is used
    /// again.
    ///
    /// # Errors
    /// [`WriteError::Group`] for no record or more than a group; [`WriteError::Codec`].
    pub fn encode(
        &mut self,
        records: &[&[u8]],
        chunk: &mut EncodedChunk,
    ) -> Result<(), WriteError> {
        let (expected, found) = (self.group_size, records.len() as u64);
        if !(1..=expected).contains(&found) {
            return Err(WriteError::Group { expected, found });
        }
        Ok(self.chunks.encode(records, chunk)?)
    }
}
