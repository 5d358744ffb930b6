//! Where the bytes of a file come from: all of them at hand, or ranges of them on request.

use std::ops::Range;
use std::sync::Arc;

use packstone_io::{Buf, IoError, ReadAt};

use crate::Limits;
use crate::riegeli::{ChunkError, ChunkErrorKind, Placed, Window};

/// A chunk that may be longer than this is asked for its header first.
const AT_ONCE: u64 = 1 << 20;
/// A chunk header and a block header in it.
const HEADERS: u64 = 64;

pub(super) enum Source {
    Whole(Buf),
    Ranges(Arc<dyn ReadAt>),
}

/// Some bytes of a file.
pub(super) enum Bytes<'s> {
    Whole(&'s Buf),
    Part(Buf, u64),
}

impl Bytes<'_> {
    pub(super) fn window(&self) -> Window<'_> {
        match self {
            Self::Whole(bytes) => Window::whole(bytes),
            Self::Part(bytes, start) => Window { bytes, start: *start },
        }
    }
}

impl Source {
    pub(super) fn len(&self) -> u64 {
        match self {
            Self::Whole(bytes) => bytes.as_ref().len() as u64,
            Self::Ranges(file) => file.len(),
        }
    }

    /// True for a part of the bytes that are at hand.
    pub(super) fn holds(&self, part: &Buf) -> bool {
        let Self::Whole(bytes) = self else { return false };
        let (all, part) = (bytes.as_ptr_range(), part.as_ptr_range());
        all.start <= part.start && part.end <= all.end
    }

    /// The last bytes of the file, `most` or fewer.
    pub(super) fn tail(&self, most: u64) -> Result<Bytes<'_>, IoError> {
        let len = self.len();
        self.range(len.saturating_sub(most)..len)
    }

    /// A range of the file.
    pub(super) fn range(&self, range: Range<u64>) -> Result<Bytes<'_>, IoError> {
        match self {
            Self::Whole(bytes) => Ok(Bytes::Whole(bytes)),
            Self::Ranges(file) => {
                let start = range.start;
                let bytes = file.read_ranges(&[range])?.pop().unwrap_or_default();
                Ok(Bytes::Part(bytes, start))
            }
        }
    }

    /// Several ranges of the file, asked for at once.
    pub(super) fn ranges(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes<'_>>, IoError> {
        match self {
            Self::Whole(bytes) => Ok(ranges.iter().map(|_| Bytes::Whole(bytes)).collect()),
            Self::Ranges(file) => {
                let starts = ranges.iter().map(|range| range.start);
                let parts = file.read_ranges(ranges)?.into_iter().zip(starts);
                Ok(parts.map(|(bytes, start)| Bytes::Part(bytes, start)).collect())
            }
        }
    }

    /// Whether a chunk between these bytes is read without asking for its header first.
    pub(super) fn at_once(begin: u64, limit: u64) -> bool {
        limit.saturating_sub(begin) <= AT_ONCE
    }

    /// Bytes with all of the chunk that begins at `begin` and ends by `limit`.
    pub(super) fn chunk(
        &self,
        begin: u64,
        limit: u64,
        limits: &Limits,
    ) -> Result<Bytes<'_>, ChunkError> {
        let io = |error| ChunkError { chunk: begin, kind: ChunkErrorKind::Io(error) };
        if matches!(self, Self::Whole(_)) || Self::at_once(begin, limit) {
            return self.range(begin..limit).map_err(io);
        }
        let headers = self.range(begin..begin.saturating_add(HEADERS).min(limit)).map_err(io)?;
        let placed = Placed::find(headers.window(), begin, limit)?;
        let found = placed.header.data_size;
        if found > limits.decoded_bytes {
            let (what, limit) = ("bytes of data in a chunk", limits.decoded_bytes);
            let kind = ChunkErrorKind::Limit { what, limit, found };
            return Err(ChunkError { chunk: begin, kind });
        }
        self.range(placed.extent()).map_err(io)
    }
}
