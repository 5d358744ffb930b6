//! Reading every byte of a file.
//!
//! ```text
//! │ signature │ chunks, each held against the index │ footer │ padding │ postscript, its copies │ padding │
//! ```

use std::sync::Arc;

use packstone_io::ReadAt;

use super::FIRST_CHUNK;
use super::error::ArrayRecordError;
use super::finding::Finding;
use super::index::Entry;
use super::options::ReaderOptions;
use super::reader::Reader;
use super::source::{Bytes, Source};
use crate::Limits;
use crate::riegeli::{
    BLOCK, ChunkDecoder, ChunkError, ChunkErrorKind, ChunkKind, Placed, Records, stray,
};

/// Checks all hashes, all chunks, what lies between them, and the index against them; tells `report` what is wrong:
/// first whether the file opens, then in order of the file.
///
/// Where it does not open, chunks are followed from the start as far as they lead.
pub fn verify(file: &Arc<dyn ReadAt>, limits: Limits, report: &mut dyn FnMut(Finding)) {
    let reader = match Reader::open(Arc::clone(file), &ReaderOptions::default(), limits) {
        Ok(reader) => Some(reader),
        Err(error) => {
            report(error.into());
            None
        }
    };
    let len = file.len();
    let mut walk = Walk {
        source: Source::Ranges(Arc::clone(file)),
        limits,
        decoder: ChunkDecoder::new(limits),
        reader: reader.as_ref(),
        next: 0,
        report,
    };
    if len >= FIRST_CHUNK {
        walk.signature();
    }
    let Some(reader) = &reader else { return walk.chunks(FIRST_CHUNK, len) };
    let (footer, postscript) = (reader.footer_offset(), len.saturating_sub(BLOCK));
    walk.chunks(FIRST_CHUNK, footer);
    if let Some(end) = walk.known(footer, postscript) {
        walk.chunks(end, postscript);
    }
    walk.copies(postscript, len);
    if let Some(end) = walk.known(postscript, len) {
        walk.chunks(end, len);
    }
}

/// A chunk of the index, and its number.
type Indexed<'r> = (&'r Reader, u64, Entry);

struct Walk<'w> {
    source: Source,
    limits: Limits,
    decoder: ChunkDecoder,
    reader: Option<&'w Reader>,
    /// The chunk of the index that comes next.
    next: u64,
    report: &'w mut dyn FnMut(Finding),
}

impl<'w> Walk<'w> {
    fn entry(&self) -> Option<(&'w Reader, Entry)> {
        let reader = self.reader?;
        Some((reader, reader.entry(self.next)?))
    }

    fn signature(&mut self) {
        let found = self.find(0, FIRST_CHUNK).and_then(|(bytes, placed)| {
            placed.data(bytes.window(), self.decoder.pool())?;
            Ok(placed.header)
        });
        let error = match found {
            Err(error) => error,
            Ok(header) if header.kind == ChunkKind::Signature && header.records == 0 => return,
            Ok(header) => {
                let (kind, records) = (header.kind.byte(), header.records);
                ChunkError { chunk: 0, kind: ChunkErrorKind::Type { kind, records } }
            }
        };
        (self.report)(Finding::Signature(error));
    }

    /// Follows the chunks from `at` up to `limit`, where one of them must end.
    fn chunks(&mut self, mut at: u64, limit: u64) {
        while at < limit {
            self.pass(at);
            let found = self.entry().filter(|(_, entry)| entry.offset == at);
            let number = self.next;
            self.next += u64::from(found.is_some());
            let indexed = found.map(|(reader, entry)| (reader, number, entry));
            let next = match self.chunk(at, limit, indexed) {
                Ok(end) => Some(end),
                Err(error) => {
                    (self.report)(match indexed {
                        Some((reader, number, _)) => reader.damaged(number, error).into(),
                        None => Finding::Stray(error),
                    });
                    // Only the index knows where the next chunk is.
                    self.entry().map(|(_, entry)| entry.offset).filter(|next| *next > at)
                }
            };
            let Some(next) = next else { break };
            at = next;
        }
        self.pass(limit);
    }

    /// Looks at the chunks of the index that should have begun before `at`.
    fn pass(&mut self, at: u64) {
        while let Some((reader, Entry { offset, .. })) = self.entry().filter(|(_, e)| e.offset < at)
        {
            (self.report)(match reader.chunk(self.next, &mut self.decoder) {
                Ok(_) => Finding::Misplaced { chunk: self.next, offset },
                Err(error) => error.into(),
            });
            self.next += 1;
        }
    }

    fn find(&self, at: u64, limit: u64) -> Result<(Bytes<'_>, Placed), ChunkError> {
        let bytes = self.source.chunk(at, limit, &self.limits)?;
        let placed = Placed::find(bytes.window(), at, limit)?;
        Ok((bytes, placed))
    }

    /// Checks one chunk; gives where it ends. An error says that it cannot be found out.
    fn chunk(
        &mut self,
        at: u64,
        limit: u64,
        indexed: Option<Indexed<'_>>,
    ) -> Result<u64, ChunkError> {
        let bytes = self.source.chunk(at, limit, &self.limits)?;
        let placed = Placed::find(bytes.window(), at, limit)?;
        let kind = placed.header.kind;
        let holds_records = matches!(kind, ChunkKind::Simple | ChunkKind::Transposed)
            || placed.header.records > 0
            || indexed.is_some();
        let finding = if holds_records {
            let found = self.decoder.decode_placed(bytes.window(), &placed);
            match indexed {
                Some(indexed) => compare(indexed, &placed, found),
                None => self.stray(&placed, found.map(|_| ())),
            }
        } else {
            match placed.data(bytes.window(), self.decoder.pool()) {
                Ok(data) => not_zero(kind, at, data.bytes()).map(Finding::Padding),
                Err(error) if kind == ChunkKind::Padding => Some(Finding::Padding(error)),
                Err(error) => Some(Finding::Stray(error)),
            }
        };
        if let Some(finding) = finding {
            (self.report)(finding);
        }
        self.tail(&placed);
        Ok(placed.end)
    }

    /// What is wrong with a chunk of records that the index does not name; without an index, all may be right.
    fn stray(&self, placed: &Placed, found: Result<(), ChunkError>) -> Option<Finding> {
        match found {
            Err(error) => Some(Finding::Stray(error)),
            Ok(()) => self.reader.map(|_| {
                let (offset, records) = (placed.begin, placed.header.records);
                Finding::Unindexed { offset, records }
            }),
        }
    }

    /// Looks at the zeros that make a chunk as long as it has records.
    fn tail(&mut self, placed: &Placed) {
        let tail = placed.extent().end..placed.end;
        let found = tail.end.saturating_sub(tail.start);
        let checked = if found > self.limits.decoded_bytes {
            let (what, limit) = ("bytes behind a chunk", self.limits.decoded_bytes);
            let kind = ChunkErrorKind::Limit { what, limit, found };
            Err(ChunkError { chunk: placed.begin, kind })
        } else {
            let io = |error| ChunkError { chunk: placed.begin, kind: ChunkErrorKind::Io(error) };
            let bytes = self.source.range(tail).map_err(io);
            bytes.and_then(|bytes| placed.check_tail(bytes.window()))
        };
        if let Err(error) = checked {
            (self.report)(Finding::Padding(error));
        }
    }

    /// The end of a chunk that could be read when the file was opened.
    fn known(&mut self, at: u64, limit: u64) -> Option<u64> {
        match self.find(at, limit).map(|(_, placed)| placed) {
            Ok(placed) => {
                self.tail(&placed);
                Some(placed.end)
            }
            Err(error) => {
                (self.report)(Finding::Stray(error));
                None
            }
        }
    }

    fn copies(&mut self, offset: u64, limit: u64) {
        let Ok(bytes) = self.source.chunk(offset, limit, &self.limits) else { return };
        let Ok(records) = self.decoder.decode(bytes.window(), offset, limit) else { return };
        let found = records.iter().filter(|copy| Some(*copy) == records.get(0)).count() as u64;
        let count = records.len() as u64;
        if (found, count) != (3, 3) {
            (self.report)(Finding::PostscriptCopies { offset, found, count });
        }
    }
}

/// What is wrong with a chunk of the index.
fn compare(
    (reader, chunk, entry): Indexed<'_>,
    placed: &Placed,
    found: Result<Records, ChunkError>,
) -> Option<Finding> {
    let found = match found {
        Ok(records) => records.len() as u64,
        Err(error) => return Some(reader.damaged(chunk, error).into()),
    };
    let Placed { begin: offset, end, header, .. } = *placed;
    // Who reads by the index takes it to end where the next one begins.
    if let Some((_, limit)) = reader.index.place(chunk).filter(|(_, limit)| end > *limit) {
        let kind = ChunkErrorKind::Outside { limit, end };
        return Some(reader.damaged(chunk, ChunkError { chunk: offset, kind }).into());
    }
    let expected = entry.records;
    if expected != found {
        return Some(ArrayRecordError::ChunkRecords { chunk, offset, expected, found }.into());
    }
    let (expected, found) = (header.decoded_size, entry.decoded_size);
    (expected != found).then_some(Finding::EntrySize { chunk, offset, expected, found })
}

/// What is wrong with the data of a chunk without records.
fn not_zero(kind: ChunkKind, chunk: u64, data: &[u8]) -> Option<ChunkError> {
    let found = if kind == ChunkKind::Padding { stray(data) } else { 0 };
    let kind = ChunkErrorKind::Values { expected: 0, found };
    (found > 0).then_some(ChunkError { chunk, kind })
}
