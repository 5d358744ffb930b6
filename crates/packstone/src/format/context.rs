//! What a thread keeps while it reads one shard after another.

use packstone_container::Limits;
use packstone_container::codec::Decoder;
use packstone_io::{Buf, BufferPool};

use crate::error::Result;
use crate::model::Finding;

/// Bytes of a file that is read into memory, at most.
const IN_MEMORY: usize = 32 << 20;

/// What a reading thread keeps between shards.
pub struct ReadContext {
    /// Decompressors.
    pub decoder: Decoder,
    /// Buffers for decoded shards.
    pub pool: BufferPool,
    /// How much a shard may ask for.
    pub limits: Limits,
    /// Compare recorded checksums before a shard is used.
    pub verify: bool,
    /// Say what the container calls each sample, see [`Batch::identity`](crate::model::Batch::identity).
    pub identities: bool,
    /// What was noticed and is no error.
    pub notes: Vec<Finding>,
}

impl ReadContext {
    /// A context for one thread, with buffers from `pool`.
    pub fn new(pool: BufferPool, limits: Limits, verify: bool) -> Self {
        let (decoder, notes) = (Decoder::new(), Vec::new());
        Self { decoder, pool, limits, verify, identities: false, notes }
    }

    /// The bytes of a file that is gone through more than once and then let go, in memory that is used again: the second
    /// time they are at hand, and no page is mapped. A long file stays the map that it is: a sparse one has any length.
    ///
    /// # Errors
    /// I/O faults; `Corrupt` where the file was cut since it was opened; `io/out_of_memory`.
    pub fn in_memory(&self, file: &Buf) -> Result<Buf> {
        if file.len() > IN_MEMORY {
            return Ok(file.clone());
        }
        let mut bytes = self.pool.take(file.len())?;
        bytes.extend_from_buf(file, 0..file.len())?;
        Ok(bytes.freeze())
    }
}

impl Default for ReadContext {
    fn default() -> Self {
        Self::new(BufferPool::new(8), Limits::default(), false)
    }
}
