//! Buffers that go back where they came from when the last reader drops them.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::buffer::{AlignedBuf, Buf};
use crate::error::IoError;

/// Buffers up to this size serve for anything smaller.
const SMALL: usize = 64 << 10;

/// A shared store of [`AlignedBuf`]s; fresh pages cost more than most decoding, so they are kept.
#[derive(Clone, Debug)]
pub struct BufferPool(Arc<Shelf>);

#[derive(Debug)]
struct Shelf {
    free: Mutex<Vec<AlignedBuf>>,
    keep: usize,
}

impl BufferPool {
    /// A pool that keeps at most `keep` buffers while nobody uses them.
    pub fn new(keep: usize) -> Self {
        Self(Arc::new(Shelf { free: Mutex::new(Vec::new()), keep }))
    }

    /// An empty buffer with room for `capacity` bytes: a kept one if one is large enough, else a new one.
    ///
    /// # Errors
    /// [`Kind::Limit`](crate::Kind::Limit) where the memory cannot be had.
    pub fn take(&self, capacity: usize) -> Result<PooledBuf, IoError> {
        // A much larger one stays for those who need it; who does not know yet may have any.
        let most = match capacity {
            0 => usize::MAX,
            _ => capacity.saturating_mul(16).max(SMALL),
        };
        let mut free = self.0.free.lock().unwrap_or_else(PoisonError::into_inner);
        // The last one returned is the warmest; a too small one is let go, so sizes adapt.
        let fits = free.iter().rposition(|b| (capacity..=most).contains(&b.capacity()));
        let small = || free.iter().rposition(|b| b.capacity() < capacity);
        let (kept, gone) = match fits.or_else(small) {
            Some(at) => match fits {
                Some(_) => (Some(free.remove(at)), None),
                None => (None, Some(free.remove(at))),
            },
            None => (None, None),
        };
        drop(free);
        drop(gone);
        let mut buffer = match kept {
            Some(buffer) => buffer,
            None => AlignedBuf::with_capacity(capacity)?,
        };
        buffer.clear();
        Ok(PooledBuf { buffer, home: Arc::downgrade(&self.0) })
    }
}

/// A buffer on loan from a [`BufferPool`].
#[derive(Debug)]
pub struct PooledBuf {
    buffer: AlignedBuf,
    home: Weak<Shelf>,
}

impl PooledBuf {
    /// Makes the bytes immutable and shareable; they return to the pool with the last clone.
    pub fn freeze(self) -> Buf {
        Buf::from_owner(self)
    }
}

impl AsRef<[u8]> for PooledBuf {
    fn as_ref(&self) -> &[u8] {
        &self.buffer
    }
}

impl std::ops::Deref for PooledBuf {
    type Target = AlignedBuf;
    fn deref(&self) -> &AlignedBuf {
        &self.buffer
    }
}

impl std::ops::DerefMut for PooledBuf {
    fn deref_mut(&mut self) -> &mut AlignedBuf {
        &mut self.buffer
    }
}

impl Drop for PooledBuf {
    fn drop(&mut self) {
        let Some(home) = self.home.upgrade() else { return };
        // Never waited for: in a process forked while a thread held it, the lock stays taken for ever.
        let Some(mut free) = (0..16).find_map(|_| home.free.try_lock().ok()) else { return };
        if free.len() < home.keep && self.buffer.capacity() > 0 {
            free.push(std::mem::take(&mut self.buffer));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_returns_after_the_last_clone() {
        let pool = BufferPool::new(2);
        let mut first = pool.take(1 << 20).unwrap();
        first.extend_from_slice(b"abc").unwrap();
        let address = first.as_ptr();
        let frozen = first.freeze();
        let clone = frozen.clone();
        drop(frozen);
        assert_eq!(&clone[..], b"abc");
        drop(clone);
        let again = pool.take(100_000).unwrap();
        assert!(again.is_empty() && std::ptr::eq(again.as_ptr(), address));
    }

    #[test]
    fn small_needs_leave_large_buffers_alone() {
        let pool = BufferPool::new(4);
        let large = pool.take(1 << 20).unwrap();
        let address = large.as_ptr();
        drop(large);
        assert!(pool.take(1000).unwrap().capacity() <= SMALL);
        assert!(std::ptr::eq(pool.take(1 << 20).unwrap().as_ptr(), address));
        // Whoever cannot say gets what there is; nobody too little.
        assert!(pool.take(0).unwrap().capacity() > 0);
        assert!(pool.take(4 << 20).unwrap().capacity() >= 4 << 20);
    }
}
