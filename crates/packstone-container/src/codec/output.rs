//! The bytes decoded so far, and the room for more: grows step by step, never past the limit.

use std::io::Write;

use packstone_io::AlignedBuf;

use super::{Codec, CodecError};
use crate::Limits;

/// Room to start with where nothing is known about the size.
const FIRST_ROOM: usize = 64 << 10;

/// ```text
/// buffer: │ filled │ spare │      with  filled ≤ limit  and  filled + spare ≤ limit + 1
/// ```
/// The one byte past the limit tells a stream that ends exactly there from one that goes on.
pub(super) struct Output<'a> {
    buffer: &'a mut AlignedBuf,
    codec: Codec,
    filled: usize,
    limit: usize,
}

impl<'a> Output<'a> {
    pub(super) fn new(codec: Codec, buffer: &'a mut AlignedBuf, limits: &Limits) -> Self {
        buffer.clear();
        let limit = usize::try_from(limits.decoded_bytes).unwrap_or(usize::MAX);
        Self { buffer, codec, filled: 0, limit }
    }

    /// Bytes decoded so far.
    pub(super) fn filled(&self) -> usize {
        self.filled
    }

    /// What was decoded from byte `start` on.
    pub(super) fn since(&self, start: usize) -> &[u8] {
        self.buffer.get(start..self.filled).unwrap_or_default()
    }

    /// The error for a stream that decodes to more than is allowed.
    pub(super) fn too_much(&self) -> CodecError {
        CodecError::Limit { codec: self.codec, limit: self.limit as u64 }
    }

    /// Whether `more` bytes still fit under the limit.
    pub(super) fn allows(&self, more: u64) -> Result<usize, CodecError> {
        usize::try_from(more).ok().filter(|&n| n <= self.left()).ok_or_else(|| self.too_much())
    }

    /// Bytes that still fit under the limit.
    pub(super) fn left(&self) -> usize {
        self.limit.saturating_sub(self.filled)
    }

    /// Makes room for `more` bytes, as far as the limit permits.
    ///
    /// Large buffers are maps that cost nothing until touched, but a claim still has to be plausible before it gets
    /// here: address space ends, too.
    pub(super) fn reserve(&mut self, more: usize) -> Result<(), CodecError> {
        let most = self.limit.saturating_add(1);
        let need = self.filled.saturating_add(more).min(most);
        if need > self.buffer.len() {
            self.buffer.truncate(self.filled);
            self.buffer.reserve(need - self.filled)?;
            self.buffer.set_len(self.buffer.capacity().min(most))?;
        }
        Ok(())
    }

    /// The decoded bytes and the room after them, which is as large as was reserved.
    pub(super) fn split(&mut self) -> (&[u8], &mut [u8]) {
        let (filled, spare) = self.buffer.split_at_mut_checked(self.filled).unwrap_or_default();
        (filled, spare)
    }

    /// Room of at least one byte, growing where there is none.
    pub(super) fn spare(&mut self) -> Result<&mut [u8], CodecError> {
        if self.filled == self.buffer.len() {
            self.reserve(self.filled.max(FIRST_ROOM))?;
        }
        Ok(self.split().1)
    }

    /// Takes over the first `count` bytes of the room.
    pub(super) fn advance(&mut self, count: usize) -> Result<(), CodecError> {
        self.filled = self.filled.saturating_add(count).min(self.buffer.len());
        if self.filled > self.limit { Err(self.too_much()) } else { Ok(()) }
    }

    /// Forgets what was decoded after byte `len`.
    pub(super) fn rewind(&mut self, len: usize) {
        self.filled = self.filled.min(len);
    }

    /// Cuts the buffer to what was decoded.
    pub(super) fn finish(self) {
        self.buffer.truncate(self.filled);
    }
}

/// The end of a buffer, for libraries that write to a [`Write`].
pub(super) struct Append<'a>(pub(super) &'a mut AlignedBuf);

impl Write for Append<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.extend_from_slice(bytes).map_err(std::io::Error::other)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
