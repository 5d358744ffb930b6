//! Bytes in memory: [`Buf`], cheap to clone and slice, and [`AlignedBuf`], which it can be made from.
//!
//! Large blocks come from anonymous maps, so they start on a page, cost nothing until touched, ask for huge pages and
//! can fail with an error instead of ending the process. A plain large `Vec` starts 16 bytes after a page boundary,
//! where the kernel copies up to four times slower.

use std::ops::{Deref, Range, RangeBounds};
use std::sync::Arc;

use bytes::Bytes;
use memmap2::{Advice, MmapMut, MmapOptions};

use crate::backing::Backing;
use crate::error::IoError;

/// Alignment in bytes that every [`AlignedBuf`] starts at, at least.
const ALIGNMENT: usize = 64;
const MAP_FROM: usize = 128 << 10;
/// The size of a huge page.
const HUGE_PAGE: usize = 2 << 20;

/// Immutable bytes, cheap to clone and to slice, over a vector, a file map or a pooled buffer.
#[derive(Clone, Default)]
pub struct Buf {
    bytes: Bytes,
    /// The file that they are mapped from, where it can be read.
    file: Option<Arc<Backing>>,
    own: bool,
}

impl Buf {
    /// Wraps any owner of bytes without a copy; the owner is dropped with the last clone.
    pub fn from_owner<T: AsRef<[u8]> + Send + 'static>(owner: T) -> Self {
        Bytes::from_owner(owner).into()
    }

    /// Copies `bytes` into a new buffer.
    pub fn copy_from(bytes: &[u8]) -> Self {
        Bytes::copy_from_slice(bytes).into()
    }

    /// The same bytes, which are memory of their own.
    pub(crate) fn owned(self) -> Self {
        Self { own: true, ..self }
    }

    /// True where the bytes are memory of their own: no map, and no part of something larger.
    pub fn is_own(&self) -> bool {
        self.own
    }

    /// The same bytes, which are the map of a file.
    pub(crate) fn backed_by(self, file: Option<Backing>) -> Self {
        Self { file: file.map(Arc::new), ..self }
    }

    /// Copies the bytes of `range` to `out`, in the cheapest way there is; false where they do not fill it exactly.
    ///
    /// # Errors
    /// Where these are the map of a file: `Corrupt` where it was cut since, `Io`.
    pub fn copy_to(&self, range: Range<usize>, out: &mut [u8]) -> Result<bool, IoError> {
        let Some(from) = self.bytes.get(range).filter(|from| from.len() == out.len()) else {
            return Ok(false);
        };
        match &self.file {
            Some(file) if file.copy(from, out)? => {}
            _ => out.copy_from_slice(from),
        }
        Ok(true)
    }

    /// A view of `range`, without a copy, or `None` where it does not fit.
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Option<Self> {
        use std::ops::Bound;
        let start = match range.start_bound() {
            Bound::Included(n) => *n,
            Bound::Excluded(n) => n.checked_add(1)?,
            Bound::Unbounded => 0,
        };
        let end = match range.end_bound() {
            Bound::Included(n) => n.checked_add(1)?,
            Bound::Excluded(n) => *n,
            Bound::Unbounded => self.bytes.len(),
        };
        let inside = start <= end && end <= self.bytes.len();
        inside.then(|| Self {
            bytes: self.bytes.slice(start..end),
            file: self.file.clone(),
            own: self.own && end - start == self.bytes.len(),
        })
    }
}

impl Deref for Buf {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl AsRef<[u8]> for Buf {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl PartialEq for Buf {
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }
}

impl Eq for Buf {}

impl From<Bytes> for Buf {
    fn from(bytes: Bytes) -> Self {
        Self { bytes, file: None, own: false }
    }
}

impl From<Vec<u8>> for Buf {
    fn from(bytes: Vec<u8>) -> Self {
        Self::from(Bytes::from(bytes)).owned()
    }
}

impl From<AlignedBuf> for Buf {
    fn from(bytes: AlignedBuf) -> Self {
        Self::from_owner(bytes).owned()
    }
}

impl std::fmt::Debug for Buf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Buf({} bytes)", self.bytes.len())
    }
}

/// A growable buffer whose first byte is aligned to at least 64, made to be reused.
#[derive(Default)]
pub struct AlignedBuf {
    store: Store,
    len: usize,
}

enum Store {
    Heap { block: Vec<u8>, skip: usize },
    Map(MmapMut),
}

impl Default for Store {
    fn default() -> Self {
        Store::Heap { block: Vec::new(), skip: 0 }
    }
}

impl Store {
    fn new(capacity: usize) -> Result<Self, IoError> {
        if capacity == 0 {
            return Ok(Self::default());
        }
        if capacity < MAP_FROM {
            let block = vec![0; capacity + ALIGNMENT];
            let skip = block.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT);
            return Ok(Store::Heap { block, skip });
        }
        // The kernel lays only whole multiples out so that huge pages fit.
        let capacity = match capacity.checked_next_multiple_of(HUGE_PAGE) {
            Some(rounded) if capacity >= HUGE_PAGE => rounded,
            _ => capacity,
        };
        let map = MmapOptions::new()
            .len(capacity)
            .map_anon()
            .map_err(|e| IoError::os("allocate", format!("{capacity} bytes"), e))?;
        if capacity >= HUGE_PAGE {
            // Advice only: where huge pages are off, ordinary ones serve.
            let _ = map.advise(Advice::HugePage);
        }
        Ok(Store::Map(map))
    }

    fn bytes(&self) -> &[u8] {
        match self {
            Store::Heap { block, skip } => block.get(*skip..).unwrap_or_default(),
            Store::Map(map) => map,
        }
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        match self {
            Store::Heap { block, skip } => block.get_mut(*skip..).unwrap_or_default(),
            Store::Map(map) => map,
        }
    }
}

impl AlignedBuf {
    /// An empty buffer with room for `capacity` bytes.
    ///
    /// # Errors
    /// [`Kind::Limit`](crate::Kind::Limit) where the memory cannot be had.
    pub fn with_capacity(capacity: usize) -> Result<Self, IoError> {
        Ok(Self { store: Store::new(capacity)?, len: 0 })
    }

    /// How many bytes fit without a new allocation.
    pub fn capacity(&self) -> usize {
        self.store.bytes().len()
    }

    /// Forgets the content and keeps the memory.
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// Makes room for at least `more` bytes after the current end.
    ///
    /// # Errors
    /// [`Kind::Limit`](crate::Kind::Limit) where the memory cannot be had.
    pub fn reserve(&mut self, more: usize) -> Result<(), IoError> {
        let need = self.len.saturating_add(more);
        if need > self.capacity() {
            let mut store = Store::new(need.max(self.capacity().saturating_mul(2)))?;
            let len = self.len;
            if let Some(to) = store.bytes_mut().get_mut(..len) {
                to.copy_from_slice(self);
            }
            self.store = store;
        }
        Ok(())
    }

    /// Sets the length; bytes that were never written are zero, reused memory keeps what it held.
    ///
    /// # Errors
    /// [`Kind::Limit`](crate::Kind::Limit) where the memory cannot be had.
    pub fn set_len(&mut self, len: usize) -> Result<(), IoError> {
        self.reserve(len.saturating_sub(self.len))?;
        self.len = len;
        Ok(())
    }

    /// Shortens to `len` bytes; longer values change nothing.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// Appends the bytes of `range` in `bytes`; false, and nothing appended, where it reaches outside.
    ///
    /// # Errors
    /// [`Kind::Limit`](crate::Kind::Limit) where the memory cannot be had; as for [`Buf::copy_to`].
    pub fn extend_from_buf(&mut self, bytes: &Buf, range: Range<usize>) -> Result<bool, IoError> {
        if bytes.get(range.clone()).is_none() {
            return Ok(false);
        }
        let start = self.len;
        self.set_len(start.saturating_add(range.len()))?;
        bytes.copy_to(range, self.get_mut(start..).unwrap_or_default())
    }

    /// Appends `bytes`.
    ///
    /// # Errors
    /// [`Kind::Limit`](crate::Kind::Limit) where the memory cannot be had.
    pub fn extend_from_slice(&mut self, bytes: &[u8]) -> Result<(), IoError> {
        let start = self.len;
        self.set_len(start.saturating_add(bytes.len()))?;
        if let Some(to) = self.get_mut(start..) {
            to.copy_from_slice(bytes);
        }
        Ok(())
    }
}

impl Deref for AlignedBuf {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        self.store.bytes().get(..self.len).unwrap_or_default()
    }
}

impl std::ops::DerefMut for AlignedBuf {
    fn deref_mut(&mut self) -> &mut [u8] {
        let len = self.len;
        self.store.bytes_mut().get_mut(..len).unwrap_or_default()
    }
}

impl AsRef<[u8]> for AlignedBuf {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl std::fmt::Debug for AlignedBuf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "AlignedBuf({} of {} bytes)", self.len, self.capacity())
    }
}

/// Has `bytes` come into the processor's cache, all lines of it at once: what reads them one after another later need not
/// wait for each. Worth it for short pieces that lie far apart; longer ones than a page are left to whoever reads them.
pub fn touch(bytes: &[u8]) {
    const LINE: usize = 64;
    const MOST: usize = 4 << 10;
    if bytes.len() <= MOST {
        let lines = bytes.iter().step_by(LINE).chain(bytes.last());
        std::hint::black_box(lines.fold(0u8, |sum, byte| sum.wrapping_add(*byte)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_aligned_and_keeps_its_content_while_growing() {
        let mut buffer = AlignedBuf::default();
        for step in 0..40u8 {
            buffer.extend_from_slice(&vec![step; 10_000]).unwrap();
            assert_eq!(buffer.as_ptr() as usize % ALIGNMENT, 0);
        }
        assert_eq!(buffer.len(), 400_000);
        assert!((0..40u8).all(|s| buffer[usize::from(s) * 10_000 + 9_999] == s));
    }

    #[test]
    fn an_impossible_size_is_an_error() {
        assert!(AlignedBuf::with_capacity(usize::MAX / 2).is_err());
    }

    #[test]
    fn slices_outside_are_none() {
        let buf = Buf::from(vec![1, 2, 3]);
        assert_eq!(buf.slice(1..).as_deref(), Some(&[2u8, 3][..]));
        assert!(buf.slice(2..5).is_none());
        assert!(buf.slice(..=usize::MAX).is_none());
    }
}
