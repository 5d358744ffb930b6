//! Reading records by number.

use std::iter::Peekable;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use packstone_io::{Buf, ReadAt, touch};

use super::error::ArrayRecordError as Error;
use super::index::{Entry, Index};
use super::iter::RecordIter;
use super::options::ReaderOptions;
use super::plan::{Plan, Wanted};
use super::source::{Bytes, Source};
use crate::Limits;
use crate::riegeli::{ChunkDecoder, ChunkError, Records};

/// An open file. Shared by threads; each of them has its own [`ChunkDecoder`].
pub struct Reader {
    pub(super) source: Source,
    pub(super) index: Index,
    pub(super) limits: Limits,
    options: ReaderOptions,
}

/// The records of one chunk.
#[derive(Clone, Debug)]
pub struct Chunk {
    /// The number of the first one in the file.
    pub first: u64,
    /// The records.
    pub records: Records,
}

/// The bytes of some chunks in a row, not decoded yet.
pub struct Span<'r> {
    reader: &'r Reader,
    chunks: Range<u64>,
    bytes: Bytes<'r>,
}

impl Reader {
    /// Opens a file. One whose bytes are not [at hand](ReadAt::at_hand) is read in ranges: its end now, in one request of
    /// [`ReaderOptions::footer_prefetch_bytes`] and another one only where the footer is longer; chunks as they are
    /// needed.
    ///
    /// # Errors
    /// [`ArrayRecordError`](Error) where the end of the file is damaged or contradicts itself.
    pub fn open(
        file: Arc<dyn ReadAt>,
        options: &ReaderOptions,
        limits: Limits,
    ) -> Result<Self, Error> {
        let source = match file.at_hand()? {
            Some(bytes) => Source::Whole(bytes),
            None => Source::Ranges(file),
        };
        Self::of(source, options, limits)
    }

    /// Opens a file whose bytes are at hand: a map, or the content of a file in memory. Uncompressed records are slices
    /// of it.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub fn over(bytes: Buf, options: &ReaderOptions, limits: Limits) -> Result<Self, Error> {
        Self::of(Source::Whole(bytes), options, limits)
    }

    fn of(source: Source, options: &ReaderOptions, limits: Limits) -> Result<Self, Error> {
        let mut decoder = ChunkDecoder::new(limits);
        let prefetch = options.footer_prefetch_bytes.min(limits.document_bytes);
        let index = Index::read(&source, prefetch, &mut decoder, &limits)?;
        Ok(Self { source, index, limits, options: options.clone() })
    }

    /// A decoder with the limits of this reader.
    pub fn decoder(&self) -> ChunkDecoder {
        ChunkDecoder::new(self.limits)
    }

    /// How many records.
    pub fn len(&self) -> u64 {
        self.index.records
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.index.records == 0
    }

    /// Records of each chunk but the last one, which may have fewer; 1 for a file without records.
    pub fn group_size(&self) -> u64 {
        self.index.group
    }

    /// How many chunks of records.
    pub fn chunk_count(&self) -> u64 {
        self.index.len()
    }

    /// What the index says of a chunk.
    pub fn entry(&self, chunk: u64) -> Option<Entry> {
        self.index.entry(chunk)
    }

    /// Where the footer begins.
    pub fn footer_offset(&self) -> u64 {
        self.index.footer_offset
    }

    /// Length of the file in bytes.
    pub fn file_len(&self) -> u64 {
        self.source.len()
    }

    /// The options of the writer as the file states them; files of before October 2022 do not.
    pub fn writer_options(&self) -> Option<&str> {
        self.index.writer_options.as_deref()
    }

    /// What a writer noted about the records for readers that know of it, see [`Placer::set_note`](super::Placer::set_note).
    pub fn note(&self) -> Option<&[u8]> {
        self.index.note.as_deref()
    }

    /// The chunk that holds a record, and the record's number in it.
    ///
    /// # Errors
    /// [`Error::RecordIndex`]
    pub fn locate(&self, record: u64) -> Result<(u64, u64), Error> {
        let (count, group) = (self.index.records, self.index.group);
        if record >= count {
            return Err(Error::RecordIndex { index: record, count });
        }
        Ok((record / group, record % group))
    }

    /// The records that a chunk holds, by number.
    pub fn records_of(&self, chunk: u64) -> Range<u64> {
        let (count, group) = (self.index.records, self.index.group);
        let first = chunk.saturating_mul(group).min(count);
        first..first.saturating_add(group).min(count)
    }

    /// Reads and decodes one chunk.
    ///
    /// # Errors
    /// [`Error::Chunk`], [`Error::ChunkRecords`]; [`Error::RecordIndex`] where there is no such chunk.
    pub fn chunk(&self, chunk: u64, decoder: &mut ChunkDecoder) -> Result<Chunk, Error> {
        let (begin, limit) = self.place(chunk)?;
        let bytes = self.source.chunk(begin, limit, &self.limits);
        let bytes = bytes.map_err(|source| self.damaged(chunk, source))?;
        self.decode(chunk, &bytes, decoder)
    }

    fn place(&self, chunk: u64) -> Result<(u64, u64), Error> {
        let (index, count) = (chunk.saturating_mul(self.index.group), self.index.records);
        self.index.place(chunk).ok_or(Error::RecordIndex { index, count })
    }

    pub(super) fn damaged(&self, chunk: u64, source: ChunkError) -> Error {
        Error::Chunk { chunk, records: self.records_of(chunk), source }
    }

    fn decode(
        &self,
        chunk: u64,
        bytes: &Bytes<'_>,
        decoder: &mut ChunkDecoder,
    ) -> Result<Chunk, Error> {
        let (begin, limit) = self.place(chunk)?;
        let records = decoder
            .decode(bytes.window(), begin, limit)
            .map_err(|source| self.damaged(chunk, source))?;
        let numbers = self.records_of(chunk);
        let (expected, found) = (numbers.end - numbers.start, records.len() as u64);
        if expected != found {
            return Err(Error::ChunkRecords { chunk, offset: begin, expected, found });
        }
        Ok(Chunk { first: numbers.start, records })
    }

    /// One record. Its whole chunk is decoded: with groups of several records, [`gather`](Self::gather) or
    /// [`records`](Self::records) do that once for all of them.
    ///
    /// # Errors
    /// [`Error::RecordIndex`], or as for [`chunk`](Self::chunk).
    pub fn record(&self, record: u64, decoder: &mut ChunkDecoder) -> Result<Buf, Error> {
        let (chunk, position) = self.locate(record)?;
        let found = self.chunk(chunk, decoder)?.records;
        let position = usize::try_from(position).unwrap_or(usize::MAX);
        // The chunk has as many records as the index says, so it has this one.
        Ok(found.buf(position).unwrap_or_default())
    }

    /// Sorts records by their chunks.
    ///
    /// # Errors
    /// [`Error::RecordIndex`]
    pub fn plan(&self, records: &[u64]) -> Result<Plan, Error> {
        let wanted = records.iter().enumerate().map(|(slot, record)| {
            let (chunk, record) = self.locate(*record)?;
            Ok(Wanted { chunk, record, slot })
        });
        Ok(Plan::new(wanted.collect::<Result<_, Error>>()?))
    }

    /// Records in the order asked for, repeated ones as well; each chunk is read and decoded once. What they keep in
    /// memory is at most twice their own bytes, besides those of a file that is at hand.
    ///
    /// # Errors
    /// [`Error::RecordIndex`] for the first that does not exist, before anything is read; as for
    /// [`chunk`](Self::chunk) for the first chunk that is damaged.
    pub fn gather(&self, records: &[u64], decoder: &mut ChunkDecoder) -> Result<Vec<Buf>, Error> {
        let mut gathered = vec![Buf::default(); records.len()];
        self.visit(records, decoder, |wanted, found| {
            let record = |one: &Wanted| usize::try_from(one.record).ok().and_then(|n| found.buf(n));
            let kept = wanted.iter().filter_map(record).map(|found| <[u8]>::len(&found));
            // A few records must not keep all of a decoded chunk; the bytes of the file stay in any case.
            let few = kept.fold(0, usize::saturating_add) <= <[u8]>::len(found.joined()) / 2
                && !self.source.holds(found.joined());
            for one in wanted {
                if let (Some(to), Some(found)) = (gathered.get_mut(one.slot), record(one)) {
                    *to = if few { Buf::copy_from(&found) } else { found };
                }
            }
            ControlFlow::Continue(())
        })?;
        Ok(gathered)
    }

    /// Hands each record to `take` with its place among those asked for, chunk after chunk, until that breaks off; each
    /// chunk is read and decoded once, and let go before the next.
    ///
    /// # Errors
    /// As for [`gather`](Self::gather).
    pub fn each(
        &self,
        records: &[u64],
        decoder: &mut ChunkDecoder,
        mut take: impl FnMut(usize, &[u8]) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        self.visit(records, decoder, |wanted, found| {
            let record = |one: &Wanted| usize::try_from(one.record).ok().and_then(|n| found.get(n));
            wanted.iter().try_for_each(|one| take(one.slot, record(one).unwrap_or_default()))
        })
    }

    /// Decodes the chunks that hold records, one after another, until `look` breaks off.
    fn visit(
        &self,
        records: &[u64],
        decoder: &mut ChunkDecoder,
        mut look: impl FnMut(&[Wanted], &Records) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        let plan = self.plan(records)?;
        let mut parts = plan.chunks().peekable();
        while parts.peek().is_some() {
            let batch = self.batch(&mut parts);
            let chunks = batch.iter().filter_map(|wanted| wanted.first()).map(|one| one.chunk);
            let spans = self.spans(chunks.map(|chunk| chunk..chunk.saturating_add(1)))?;
            spans.iter().for_each(Span::touch);
            for (span, wanted) in spans.iter().zip(batch) {
                let chunk = span.decode(span.chunks.start, decoder)?;
                if look(wanted, &chunk.records).is_break() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// The next chunks to read with one request: some, and not too many bytes.
    fn batch<'p>(
        &self,
        parts: &mut Peekable<impl Iterator<Item = &'p [Wanted]>>,
    ) -> Vec<&'p [Wanted]> {
        let mut left = BATCH_BYTES.min(self.limits.decoded_bytes);
        let mut batch: Vec<&[Wanted]> = Vec::new();
        while let Some(part) = parts.next_if(|part| {
            let place = part.first().and_then(|one| self.index.place(one.chunk));
            let (begin, limit) = place.unwrap_or_default();
            let bytes = if Source::at_once(begin, limit) { limit - begin } else { 0 };
            let rest = left.checked_sub(bytes).filter(|_| batch.len() < BATCH);
            left = rest.unwrap_or(left);
            rest.is_some() || batch.is_empty()
        }) {
            batch.push(part);
        }
        batch
    }

    /// The records of a range in order, with read-ahead: [`RecordIter`] goes on after a damaged chunk.
    ///
    /// # Errors
    /// [`Error::RecordIndex`] where the range ends after the last record.
    pub fn records<'r>(
        &'r self,
        range: Range<u64>,
        decoder: &'r mut ChunkDecoder,
    ) -> Result<RecordIter<'r>, Error> {
        let count = self.index.records;
        if range.end > count {
            return Err(Error::RecordIndex { index: range.end.saturating_sub(1), count });
        }
        Ok(RecordIter::new(self, range, decoder))
    }

    /// Cuts all chunks, from `first` on, into runs of about `bytes` bytes of file, at least a chunk each. Runs can be
    /// [loaded](Self::load) and decoded by several threads.
    pub fn runs(&self, first: u64, bytes: u64) -> impl Iterator<Item = Range<u64>> + '_ {
        let mut next = first;
        std::iter::from_fn(move || {
            let run = self.run(next..self.chunk_count(), bytes)?;
            next = run.end;
            Some(run)
        })
    }

    /// The run that these chunks begin with: as many of them as `bytes` bytes of file hold, at least one.
    pub(super) fn run(&self, chunks: Range<u64>, bytes: u64) -> Option<Range<u64>> {
        let first = chunks.start;
        let (begin, limit) = self.index.place(first)?;
        let stop = begin.saturating_add(bytes);
        let mut end = first.saturating_add(1);
        let mut at = limit;
        while at < stop && end < chunks.end {
            match self.index.place(end) {
                Some((_, limit)) if limit <= stop => (at, end) = (limit, end.saturating_add(1)),
                _ => break,
            }
        }
        Some(first..end)
    }

    /// How many bytes of file are read ahead, as the options of the reader say.
    pub(super) fn readahead(&self) -> u64 {
        self.options.readahead_buffer_size.unwrap_or(READAHEAD).min(self.limits.decoded_bytes)
    }

    /// Reads chunks in a row without decoding them.
    ///
    /// # Errors
    /// [`Error::RecordIndex`] where there are no such chunks, [`Error::Io`], [`Error::Limit`] for more than the limit on
    /// decoded bytes; as for [`chunk`](Self::chunk) where it is one large chunk and its header is damaged.
    pub fn load(&self, chunks: Range<u64>) -> Result<Span<'_>, Error> {
        let (begin, first_limit) = self.place(chunks.start)?;
        let (_, limit) = self.place(chunks.end.saturating_sub(1).max(chunks.start))?;
        let bytes = if limit == first_limit {
            let bytes = self.source.chunk(begin, limit, &self.limits);
            bytes.map_err(|source| self.damaged(chunks.start, source))?
        } else {
            self.within(limit - begin)?;
            self.source.range(begin..limit)?
        };
        Ok(Span { reader: self, chunks, bytes })
    }

    fn within(&self, found: u64) -> Result<(), Error> {
        let limit = self.limits.decoded_bytes;
        let whole = matches!(self.source, Source::Whole(_));
        if found > limit && !whole {
            return Err(Error::Limit { what: "bytes of chunks read at once", limit, found });
        }
        Ok(())
    }

    /// Reads several runs of chunks with one request, as far as they are not large.
    ///
    /// # Errors
    /// As for [`load`](Self::load).
    pub fn spans(
        &self,
        runs: impl IntoIterator<Item = Range<u64>>,
    ) -> Result<Vec<Span<'_>>, Error> {
        let runs: Vec<Range<u64>> = runs.into_iter().collect();
        let mut ranges = Vec::with_capacity(runs.len());
        let mut sum = 0u64;
        for run in &runs {
            let (begin, _) = self.place(run.start)?;
            let (_, limit) = self.place(run.end.saturating_sub(1).max(run.start))?;
            if Source::at_once(begin, limit) {
                sum = sum.saturating_add(limit - begin);
                ranges.push(begin..limit);
            }
        }
        self.within(sum)?;
        let mut parts = self.source.ranges(&ranges)?.into_iter();
        let mut small = ranges.into_iter().peekable();
        let mut spans = Vec::with_capacity(runs.len());
        for chunks in runs {
            let (begin, _) = self.place(chunks.start)?;
            if small.next_if(|range| range.start == begin).is_some()
                && let Some(bytes) = parts.next()
            {
                spans.push(Span { reader: self, chunks, bytes });
            } else {
                spans.push(self.load(chunks)?);
            }
        }
        Ok(spans)
    }
}

/// Chunks, and bytes of them, that a batch asks for at once.
const BATCH: usize = 64;
const BATCH_BYTES: u64 = 16 << 20;
/// Bytes of file that are read ahead where the options do not say how many.
const READAHEAD: u64 = 1 << 20;

impl Span<'_> {
    /// The chunks.
    pub fn chunks(&self) -> Range<u64> {
        self.chunks.clone()
    }

    /// Decodes one of them; another one is read on its own.
    ///
    /// # Errors
    /// As for [`Reader::chunk`].
    pub fn decode(&self, chunk: u64, decoder: &mut ChunkDecoder) -> Result<Chunk, Error> {
        if !self.chunks.contains(&chunk) {
            return self.reader.chunk(chunk, decoder);
        }
        self.reader.decode(chunk, &self.bytes, decoder)
    }

    /// Has a short chunk come into the processor's cache, before the ones in front of it are decoded.
    fn touch(&self) {
        let (begin, limit) = self.reader.index.place(self.chunks.start).unwrap_or_default();
        let chunk = self.bytes.window().get(begin, limit.saturating_sub(begin));
        touch(chunk.unwrap_or_default());
    }
}
