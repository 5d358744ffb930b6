//! Records one after another.

use std::ops::Range;

use packstone_io::Buf;

use super::error::ArrayRecordError as Error;
use super::reader::{Chunk, Reader, Span};
use crate::riegeli::ChunkDecoder;

/// The records of a range in order.
///
/// A damaged chunk gives one error for all of its records, which the error names; then come those of the next chunk.
/// A file that cannot be read gives the error of the first chunk concerned in the same way.
pub struct RecordIter<'r> {
    reader: &'r Reader,
    decoder: &'r mut ChunkDecoder,
    next: u64,
    end: u64,
    span: Option<Span<'r>>,
    chunk: Option<Chunk>,
}

impl<'r> RecordIter<'r> {
    pub(super) fn new(
        reader: &'r Reader,
        range: Range<u64>,
        decoder: &'r mut ChunkDecoder,
    ) -> Self {
        let Range { start: next, end } = range;
        Self { reader, decoder, next, end, span: None, chunk: None }
    }

    fn decode(&mut self, number: u64) -> Result<Chunk, Error> {
        let span = match self.span.take() {
            Some(span) if span.chunks().contains(&number) => span,
            _ => {
                // What is not asked for is not read: many ask for a record or two.
                let last = self.end.saturating_sub(1) / self.reader.group_size();
                let wanted = number..last.saturating_add(1);
                let run = self.reader.run(wanted, self.reader.readahead());
                self.reader.load(run.unwrap_or(number..number.saturating_add(1)))?
            }
        };
        self.span.insert(span).decode(number, self.decoder)
    }
}

impl Iterator for RecordIter<'_> {
    type Item = Result<Buf, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.next >= self.end {
            return None;
        }
        let within = |chunk: &Chunk, record: u64| {
            let position = usize::try_from(record.checked_sub(chunk.first)?).ok()?;
            chunk.records.buf(position)
        };
        let record = self.next;
        if let Some(found) = self.chunk.as_ref().and_then(|chunk| within(chunk, record)) {
            self.next = record + 1;
            return Some(Ok(found));
        }
        let number = record / self.reader.group_size();
        match self.decode(number) {
            Ok(chunk) => {
                self.next = record + 1;
                let found = within(&chunk, record).unwrap_or_default();
                self.chunk = Some(chunk);
                Some(Ok(found))
            }
            Err(error) => {
                self.next = self.reader.records_of(number).end;
                Some(Err(error))
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.end.saturating_sub(self.next);
        (0, usize::try_from(left).ok())
    }
}

impl std::iter::FusedIterator for RecordIter<'_> {}
