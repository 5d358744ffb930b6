//! A buffer that fills from its end.

use packstone_io::{Buf, BufferPool, IoError, PooledBuf};

use super::TransposedError;

/// ```text
/// buffer: │ room │ what was put, the last in front │      never more than the limit
/// ```
pub(super) struct Backward<'p> {
    pool: &'p BufferPool,
    buffer: PooledBuf,
    /// Where the content starts.
    start: usize,
    limit: usize,
}

impl<'p> Backward<'p> {
    /// For content of `limit` bytes at most; `guess` is a first idea of how many.
    pub(super) fn new(pool: &'p BufferPool, limit: u64, guess: u64) -> Result<Self, IoError> {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let room = usize::try_from(guess).unwrap_or(usize::MAX).saturating_mul(2).min(limit);
        let mut buffer = pool.take(room)?;
        buffer.set_len(room)?;
        Ok(Self { pool, buffer, start: room, limit })
    }

    /// Bytes so far.
    pub(super) fn len(&self) -> usize {
        self.buffer.len() - self.start
    }

    /// Puts `bytes` in front.
    pub(super) fn put(&mut self, bytes: &[u8]) -> Result<(), Full> {
        if bytes.len() > self.start {
            self.grow(bytes.len())?;
        }
        let end = self.start;
        self.start -= bytes.len();
        if let Some(room) = self.buffer.get_mut(self.start..end) {
            room.copy_from_slice(bytes);
        }
        Ok(())
    }

    #[cold]
    fn grow(&mut self, more: usize) -> Result<(), Full> {
        let len = self.len();
        let need = len.saturating_add(more);
        if need > self.limit {
            return Err(Full::Limit(TransposedError::Records {
                what: "decoded size",
                expected: self.limit as u64,
                found: need as u64,
            }));
        }
        let room = need.saturating_mul(2).min(self.limit);
        let mut larger = self.pool.take(room).map_err(Full::Memory)?;
        larger.set_len(room).map_err(Full::Memory)?;
        let content = self.buffer.get(self.start..).unwrap_or_default();
        if let Some(to) = larger.get_mut(room - len..) {
            to.copy_from_slice(content);
        }
        (self.buffer, self.start) = (larger, room - len);
        Ok(())
    }

    /// The content.
    pub(super) fn finish(self) -> Buf {
        self.buffer.freeze().slice(self.start..).unwrap_or_default()
    }
}

/// Why nothing more can be put.
#[derive(Debug)]
pub(super) enum Full {
    Limit(TransposedError),
    Memory(IoError),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grows_in_front_up_to_its_limit() {
        let pool = BufferPool::new(2);
        let mut out = Backward::new(&pool, 1000, 3).unwrap();
        let mut expected = Vec::new();
        for n in 0..100u8 {
            out.put(&[n; 10]).unwrap();
            expected.splice(0..0, [n; 10]);
            assert_eq!(out.len(), expected.len());
        }
        assert!(matches!(out.put(&[0]), Err(Full::Limit(_))));
        out.put(&[]).unwrap();
        assert_eq!(out.finish()[..], expected);
    }
}
