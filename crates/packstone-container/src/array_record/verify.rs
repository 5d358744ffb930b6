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
use crate::riegeli::{BLOCK, ChunkDecoder, ChunkError, ChunkErrorKind, ChunkKind, Placed};

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
        indexed: Option<(&Reader, u64, Entry)>,
    ) -> Result<u64, ChunkError> {
        let bytes = self.source.chunk(at, limit, &self.limits)?;
        let placed = Placed::find(bytes.window(), at, limit)?;
        let header = placed.header;
        let records = match header.kind {
            ChunkKind::Simple | ChunkKind::Transposed => true,
            _ => indexed.is_some() || header.records > 0,
        };
        let finding = if records {
            let found = self.decoder.decode_placed(bytes.window(), &placed);
            match (found, indexed) {
                (Err(error), Some((reader, number, _))) => {
                    Some(reader.damaged(number, error).into())
                }
                (Err(error), None) => Some(Finding::Stray(error)),
                (Ok(_), None) if self.reader.is_none() => None,
                (Ok(_), None) => Some(Finding::Unindexed { offset: at, records: header.records }),
                (Ok(found), Some((_, chunk, entry))) => {
                    let (expected, found) = (entry.records, found.len() as u64);
                    if expected != found {
                        let offset = at;
                        let error =
                            ArrayRecordError::ChunkRecords { chunk, offset, expected, found };
                        Some(error.into())
                    } else {
                        let (expected, found) = (header.decoded_size, entry.decoded_size);
                        let wrong = Finding::EntrySize { chunk, offset: at, expected, found };
                        (expected != found).then_some(wrong)
                    }
                }
            }
        } else {
            match placed.data(bytes.window(), self.decoder.pool()) {
                Ok(data) => not_zero(header.kind, at, data.bytes()).map(Finding::Padding),
                Err(error) if header.kind == ChunkKind::Padding => Some(Finding::Padding(error)),
                Err(error) => Some(Finding::Stray(error)),
            }
        };
        if let Some(finding) = finding {
            (self.report)(finding);
        }
        self.tail(&placed);
        Ok(placed.end)
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

/// What is wrong with the data of a chunk without records.
fn not_zero(kind: ChunkKind, chunk: u64, data: &[u8]) -> Option<ChunkError> {
    let found = data.iter().filter(|byte| **byte != 0).count() as u64;
    let kind = match kind {
        ChunkKind::Padding if found > 0 => ChunkErrorKind::Values { expected: 0, found },
        _ => return None,
    };
    Some(ChunkError { chunk, kind })
}
