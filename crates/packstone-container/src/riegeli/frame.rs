//! Finding a chunk in its file and taking the block headers out.

use std::ops::Range;

use packstone_io::{Buf, BufferPool, PooledBuf};

use super::error::{ChunkError, ChunkErrorKind};
use super::header::{ChunkHeader, LEN};
use super::{block, hash, hasher};

/// Bytes of a file and where they start in it.
#[derive(Clone, Copy, Debug)]
pub struct Window<'a> {
    /// The bytes.
    pub bytes: &'a Buf,
    /// Where they start.
    pub start: u64,
}

impl<'a> Window<'a> {
    /// A whole file.
    pub fn whole(bytes: &'a Buf) -> Self {
        Self { bytes, start: 0 }
    }

    fn range(&self, at: u64, len: u64) -> Option<Range<usize>> {
        let start = usize::try_from(at.checked_sub(self.start)?).ok()?;
        let end = start.checked_add(usize::try_from(len).ok()?)?;
        (end <= self.bytes.len()).then_some(start..end)
    }

    pub(crate) fn get(&self, at: u64, len: u64) -> Option<&'a [u8]> {
        self.bytes.get(self.range(at, len)?)
    }
}

/// A chunk whose header was found and checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Where it begins.
    pub begin: u64,
    /// Where it ends: the first byte that belongs to the next chunk.
    pub end: u64,
    /// Its header.
    pub header: ChunkHeader,
    /// Where its data starts, or the block header in front of it.
    data: u64,
}

/// The data of a chunk, without block headers.
#[derive(Debug)]
pub enum Data<'a> {
    /// Where it lies in the window: no block header was in the way.
    Straight(&'a Buf, Range<usize>),
    /// A copy of its pieces.
    Gathered(PooledBuf),
}

impl Data<'_> {
    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Straight(bytes, range) => bytes.get(range.clone()).unwrap_or_default(),
            Self::Gathered(bytes) => bytes,
        }
    }

    /// The bytes from `from` on, kept alive on their own.
    pub(super) fn tail(self, from: usize) -> Buf {
        let tail = match self {
            Self::Straight(bytes, range) => {
                bytes.slice(range.start.saturating_add(from)..range.end)
            }
            Self::Gathered(bytes) => bytes.freeze().slice(from..),
        };
        tail.unwrap_or_default()
    }
}

impl Placed {
    /// Reads and checks the header of the chunk at `begin`, which must end by `limit`, and the block header in front of
    /// or inside it.
    ///
    /// Only the header needs to be in the window.
    ///
    /// # Errors
    /// [`ChunkErrorKind::Begin`], [`BlockHash`](ChunkErrorKind::BlockHash),
    /// [`BlockLink`](ChunkErrorKind::BlockLink), [`HeaderHash`](ChunkErrorKind::HeaderHash),
    /// [`Outside`](ChunkErrorKind::Outside).
    pub fn find(window: Window<'_>, begin: u64, limit: u64) -> Result<Self, ChunkError> {
        let fail = |kind| ChunkError { chunk: begin, kind };
        if !block::can_begin(begin) {
            return Err(fail(ChunkErrorKind::Begin));
        }
        let missing = || {
            let end = block::after(begin, LEN as u64).unwrap_or(u64::MAX);
            fail(ChunkErrorKind::Outside { limit, end })
        };
        let mut bytes = [0; LEN];
        let mut crossed = None;
        let (mut at, mut filled) = (begin, 0);
        while let Some(room) = bytes.get_mut(filled..).filter(|room| !room.is_empty()) {
            if at.is_multiple_of(block::BLOCK) {
                crossed = Some((at, block_header(window, at, begin, limit)?));
                at = at.saturating_add(block::HEADER);
            }
            let take = (room.len() as u64).min(block::to_next(at));
            let piece = window.get(at, take).ok_or_else(missing)?;
            room.iter_mut().zip(piece).for_each(|(to, byte)| *to = *byte);
            filled += piece.len();
            at = at.saturating_add(take);
        }
        let header = ChunkHeader::parse(&bytes, begin)?;
        let size = header.data_size.checked_add(LEN as u64);
        let end = size.and_then(|size| block::chunk_end(begin, size, header.records));
        let end = end
            .filter(|end| *end <= limit)
            .ok_or_else(|| fail(ChunkErrorKind::Outside { limit, end: end.unwrap_or(u64::MAX) }))?;
        if let Some((block, found)) = crossed {
            block::check_next(block, begin, end, found)?;
        }
        Ok(Self { begin, end, header, data: at })
    }

    /// The part of the file that the header and the data take, without the zeros that may follow them.
    pub fn extent(&self) -> Range<u64> {
        let size = self.header.data_size.saturating_add(LEN as u64);
        self.begin..block::after(self.begin, size).unwrap_or(self.end)
    }

    /// Takes the block headers out of the data, checks them and the hash of the data.
    ///
    /// # Errors
    /// As [`find`](Self::find), [`ChunkErrorKind::DataHash`], [`ChunkErrorKind::Io`] without memory.
    pub fn data<'a>(&self, window: Window<'a>, pool: &BufferPool) -> Result<Data<'a>, ChunkError> {
        let size = self.header.data_size;
        let straight = !self.data.is_multiple_of(block::BLOCK) && size <= block::to_next(self.data);
        let (data, found) = match window.range(self.data, size) {
            Some(range) if straight || size == 0 => {
                let data = Data::Straight(window.bytes, range);
                let found = hash(data.bytes());
                (data, found)
            }
            _ => self.gather(window, pool)?,
        };
        let expected = self.header.data_hash;
        if expected != found {
            let kind = ChunkErrorKind::DataHash { len: size, expected, found };
            return Err(ChunkError { chunk: self.begin, kind });
        }
        Ok(data)
    }

    fn gather(
        &self,
        window: Window<'_>,
        pool: &BufferPool,
    ) -> Result<(Data<'static>, u64), ChunkError> {
        let fail = |kind| ChunkError { chunk: self.begin, kind };
        let missing = || {
            let limit = window.start.saturating_add(window.bytes.len() as u64);
            fail(ChunkErrorKind::Outside { limit, end: self.extent().end })
        };
        // Before any memory is taken: the pieces must be there.
        let extent = self.extent().end.checked_sub(self.data);
        extent.and_then(|len| window.get(self.data, len)).ok_or_else(missing)?;
        let len = usize::try_from(self.header.data_size).map_err(|_| missing())?;
        let memory = |error| fail(ChunkErrorKind::Io(error));
        let mut gathered = pool.take(len).map_err(memory)?;
        let mut hasher = hasher();
        let (mut at, mut left) = (self.data, self.header.data_size);
        while left > 0 {
            if at.is_multiple_of(block::BLOCK) {
                let next = block_header(window, at, self.begin, self.end)?;
                block::check_next(at, self.begin, self.end, next)?;
                at = at.saturating_add(block::HEADER);
            }
            let take = left.min(block::to_next(at));
            let piece = window.get(at, take).ok_or_else(missing)?;
            gathered.extend_from_slice(piece).map_err(memory)?;
            hasher.update(piece);
            at = at.saturating_add(take);
            left -= take;
        }
        Ok((Data::Gathered(gathered), hasher.finish()))
    }

    /// Looks at what nobody needs: the zeros up to the end and the block headers among them.
    ///
    /// # Errors
    /// As [`find`](Self::find); [`ChunkErrorKind::Values`] where something else stands there.
    pub(crate) fn check_tail(&self, window: Window<'_>) -> Result<(), ChunkError> {
        let mut at = self.extent().end;
        while at < self.end {
            if at.is_multiple_of(block::BLOCK) {
                let next = block_header(window, at, self.begin, self.end)?;
                block::check_next(at, self.begin, self.end, next)?;
                at = at.saturating_add(block::HEADER);
            }
            let take = (self.end - at).min(block::to_next(at));
            let Some(piece) = window.get(at, take) else {
                let kind = ChunkErrorKind::Outside { limit: at, end: self.end };
                return Err(ChunkError { chunk: self.begin, kind });
            };
            let found = stray(piece);
            if found > 0 {
                let kind = ChunkErrorKind::Values { expected: 0, found };
                return Err(ChunkError { chunk: self.begin, kind });
            }
            at = at.saturating_add(take);
        }
        Ok(())
    }
}

/// How many bytes are not zero.
pub(crate) fn stray(bytes: &[u8]) -> u64 {
    const ZEROS: [u8; 4096] = [0; 4096];
    let zero = |piece: &[u8]| ZEROS.get(..piece.len()) == Some(piece);
    if bytes.chunks(ZEROS.len()).all(zero) {
        return 0;
    }
    bytes.iter().filter(|byte| **byte != 0).count() as u64
}

/// Checks the block header at `at` within a chunk that begins at `begin`; gives the end that it states.
fn block_header(window: Window<'_>, at: u64, begin: u64, limit: u64) -> Result<u64, ChunkError> {
    let bytes = window.get(at, block::HEADER).and_then(|bytes| bytes.first_chunk());
    let bytes = bytes.ok_or(ChunkError {
        chunk: begin,
        kind: ChunkErrorKind::Outside { limit, end: at.saturating_add(block::HEADER) },
    })?;
    block::check(bytes, at, begin)
}
