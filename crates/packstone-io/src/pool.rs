//! Buffers that go back where they came from when the last reader drops them.
//!
//! ```text
//! BufferPool ──take──▶ PooledBuf ──freeze──▶ Buf ── last clone dropped ──▶ BufferPool
//!     └── dropped ──▶ reserve of the process, a few ──▶ the next pool that has nothing
//! ```
//!
//! The system clears every fresh page, which takes as long as copying to it: who reads epoch after epoch, each with a
//! reader of its own, should not pay for that each time.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::buffer::{AlignedBuf, Buf};
use crate::error::IoError;

/// Buffers up to this size serve for anything smaller.
const SMALL: usize = 64 << 10;

/// Bytes that the process keeps for the next pool, and the shortest buffer that is worth it.
const RESERVED: usize = 64 << 20;
const RESERVED_FROM: usize = 128 << 10;

/// Buffers of pools that are gone. Never waited for, see [`PooledBuf`].
static RESERVE: Mutex<Vec<AlignedBuf>> = Mutex::new(Vec::new());

/// Keeps a buffer for the next pool, where there is room.
fn put_by(buffer: AlignedBuf) {
    if buffer.capacity() < RESERVED_FROM {
        return;
    }
    if let Ok(mut reserve) = RESERVE.try_lock() {
        let kept = reserve.iter().map(AlignedBuf::capacity).fold(0, usize::saturating_add);
        if kept.saturating_add(buffer.capacity()) <= RESERVED {
            reserve.push(buffer);
        }
    }
}

/// A buffer of `least` to `most` bytes that a pool left behind; the smallest that fits.
fn put_by_before(least: usize, most: usize) -> Option<AlignedBuf> {
    let mut reserve = RESERVE.try_lock().ok()?;
    let fits = reserve.iter().enumerate().filter(|(_, b)| (least..=most).contains(&b.capacity()));
    let at = fits.min_by_key(|(_, buffer)| buffer.capacity()).map(|(at, _)| at)?;
    Some(reserve.swap_remove(at))
}

/// A shared store of [`AlignedBuf`]s; fresh pages cost more than most decoding, so they are kept.
#[derive(Clone, Debug)]
pub struct BufferPool(Arc<Shelf>);

#[derive(Debug)]
struct Shelf {
    free: Mutex<Vec<AlignedBuf>>,
    keep: usize,
    /// Buffers on loan, and the most that were at once: more than these nobody will ask for.
    lent: AtomicUsize,
    most: AtomicUsize,
}

impl BufferPool {
    /// A pool that keeps at most `keep` buffers while nobody uses them.
    pub fn new(keep: usize) -> Self {
        let (lent, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Self(Arc::new(Shelf { free: Mutex::new(Vec::new()), keep, lent, most }))
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
        // Short of twice as much, nobody waits for what is lost by it.
        let reserved =
            || put_by_before(capacity.max(RESERVED_FROM / 2), capacity.saturating_mul(2));
        self.lend(kept.or_else(reserved), capacity)
    }

    /// An empty buffer for content that takes `least` bytes or much more: the largest that is kept, since one that grows
    /// is had anew each time.
    ///
    /// # Errors
    /// As for [`BufferPool::take`].
    pub fn take_growing(&self, least: usize) -> Result<PooledBuf, IoError> {
        let mut free = self.0.free.lock().unwrap_or_else(PoisonError::into_inner);
        let largest = free.iter().enumerate().max_by_key(|(_, buffer)| buffer.capacity());
        let kept = largest.map(|(at, _)| at).map(|at| free.remove(at));
        drop(free);
        let kept = kept.filter(|buffer| buffer.capacity() >= least);
        self.lend(kept.or_else(|| put_by_before(least.max(1), RESERVED)), least)
    }

    fn lend(&self, kept: Option<AlignedBuf>, capacity: usize) -> Result<PooledBuf, IoError> {
        let mut buffer = match kept {
            Some(buffer) => buffer,
            None => AlignedBuf::with_capacity(capacity)?,
        };
        buffer.clear();
        let lent = self.0.lent.fetch_add(1, Ordering::Relaxed).saturating_add(1);
        self.0.most.fetch_max(lent, Ordering::Relaxed);
        Ok(PooledBuf { buffer, home: Arc::downgrade(&self.0) })
    }
}

impl Drop for Shelf {
    fn drop(&mut self) {
        let free = self.free.get_mut().unwrap_or_else(PoisonError::into_inner);
        free.drain(..).for_each(put_by);
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
        Buf::from_owner(self).owned()
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
        let Some(home) = self.home.upgrade() else {
            return put_by(std::mem::take(&mut self.buffer));
        };
        home.lent.fetch_sub(1, Ordering::Relaxed);
        // Never waited for: in a process forked while a thread held it, the lock stays taken for ever.
        let Some(mut free) = (0..16).find_map(|_| home.free.try_lock().ok()) else { return };
        let most = home.keep.min(home.most.load(Ordering::Relaxed));
        if free.len() < most && self.buffer.capacity() > 0 {
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

    #[test]
    fn no_more_is_kept_than_was_ever_in_use() {
        let pool = BufferPool::new(4096);
        let kept = |pool: &BufferPool| {
            let free = pool.0.free.lock().unwrap();
            free.iter().map(AlignedBuf::capacity).sum::<usize>()
        };
        // Each time a small need that grows to what a small need is not given again.
        for _ in 0..20 {
            let mut one = pool.take(1).unwrap();
            let other = pool.take(1).unwrap();
            one.set_len(4 << 20).unwrap();
            drop((one, other));
            assert!(kept(&pool) <= 2 * (4 << 20), "{} bytes", kept(&pool));
        }
        let address = pool.take(4 << 20).unwrap().as_ptr();
        for _ in 0..20 {
            let mut one = pool.take_growing(1).unwrap();
            assert!(std::ptr::eq(one.as_ptr(), address));
            one.set_len(4 << 20).unwrap();
        }
        assert!(pool.take_growing(5 << 20).unwrap().capacity() >= 5 << 20);
    }

    #[test]
    fn the_next_pool_gets_what_one_left_behind() {
        // Sizes that no other test of this process asks for.
        let size = 11 << 20;
        let pool = BufferPool::new(4);
        let (one, other) = (pool.take(size).unwrap(), pool.take(size).unwrap());
        let mut addresses = [one.as_ptr(), other.as_ptr()];
        drop(one);
        drop(pool);
        // Its pool is gone by now.
        drop(other.freeze());
        let pool = BufferPool::new(4);
        let again = [pool.take(size).unwrap(), pool.take(size - 5).unwrap()];
        let mut found = again.each_ref().map(|buffer| buffer.as_ptr());
        addresses.sort_unstable();
        found.sort_unstable();
        assert_eq!(found, addresses);
        assert!(pool.take(RESERVED + 1).unwrap().capacity() > RESERVED);
    }
}
