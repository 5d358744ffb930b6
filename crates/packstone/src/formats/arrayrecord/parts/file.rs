//! One open file: its index, and what the note in its footer says.

use std::ops::{ControlFlow, Range};
use std::sync::{Arc, Mutex, PoisonError};

use packstone_container::Limits;
use packstone_container::array_record::{Reader, ReaderOptions, WriterOptions};
use packstone_container::json::{self, At, Object, ReadOptions, Value};
use packstone_container::riegeli::ChunkDecoder;
use packstone_io::{AlignedBuf, Buf, BufferPool, Kind, ReadAt, RelPath, Root};

use super::super::codes;
use super::fault::damaged;
use super::frame::Frame;
use crate::error::{Error, Place, Result};
use crate::model::own::Own;

/// Bytes of a file, or of what they decode to, that are read at once; a larger chunk is read alone.
const PART_BYTES: u64 = 8 << 20;
/// Records that are read at once, unless one chunk has more.
const PART_RECORDS: u64 = 16 << 10;
/// Decoders that are kept while nobody reads.
const KEPT: usize = 16;

/// An open file.
pub struct File {
    /// Its path below its root.
    pub path: RelPath,
    /// How people call it.
    pub label: String,
    /// The container.
    pub reader: Reader,
    /// What its note says, where there is one of use.
    pub own: Option<Own>,
    limits: Limits,
    decoders: Mutex<Vec<ChunkDecoder>>,
}

/// Opens the one file of a root.
///
/// # Errors
/// `not_a_file`; `NotFound`, `Denied`, `Io`.
pub fn sole(root: &dyn Root) -> Result<(RelPath, Arc<dyn ReadAt>)> {
    let Some(path) = root.sole_file() else {
        let message = "expected a file, found a folder".to_owned();
        let place = Place::file(root.label());
        return Err(Error::new(Kind::Invalid, codes::NOT_A_FILE, place, message));
    };
    Ok((path.clone(), root.open(path)?))
}

impl File {
    /// Opens the file that a root shows; reads its end.
    ///
    /// # Errors
    /// As for [`sole`]; those of [`Reader::open`].
    pub fn open(root: &dyn Root, limits: &Limits) -> Result<Self> {
        let (path, file) = sole(root)?;
        let reader = Reader::open(file, &ReaderOptions::default(), *limits);
        let reader = reader.map_err(|error| damaged(error, path.as_str()))?;
        let own = reader.note().and_then(|note| parse(note, &reader, &path, limits).ok());
        let label = root.label();
        Ok(Self { path, label, reader, own, limits: *limits, decoders: Mutex::default() })
    }

    /// Why its note is of no use, where it has one that is not.
    pub fn note_fault(&self) -> Option<Error> {
        parse(self.reader.note()?, &self.reader, &self.path, &self.limits).err()
    }

    /// The chunks that are read at once from `first` on; nothing behind the last one.
    pub fn run(&self, first: u64) -> Option<Range<u64>> {
        let mut end = first;
        let (mut bytes, mut records) = (0u64, 0u64);
        while let Some(entry) = self.reader.entry(end) {
            let size = self.extent(end).max(entry.decoded_size);
            bytes = bytes.saturating_add(size);
            records = records.saturating_add(entry.records);
            if end > first && (bytes > PART_BYTES || records > PART_RECORDS) {
                break;
            }
            end = end.saturating_add(1);
        }
        (end > first).then_some(first..end)
    }

    /// The bytes of file from the begin of a chunk to that of the next one.
    fn extent(&self, chunk: u64) -> u64 {
        let begin = self.reader.entry(chunk).map(|entry| entry.offset);
        let end = self.reader.entry(chunk.saturating_add(1)).map(|entry| entry.offset);
        let end = end.unwrap_or_else(|| self.reader.footer_offset());
        end.saturating_sub(begin.unwrap_or(end))
    }

    /// The bytes of file that the chunks of these records take.
    pub fn stored_bytes(&self, records: &Range<u64>) -> u64 {
        let last = records.end.saturating_sub(1).max(records.start);
        let chunk = |record| self.reader.locate(record).map_or(0, |(chunk, _)| chunk);
        let offset = |chunk| self.reader.entry(chunk).map(|entry| entry.offset);
        let begin = offset(chunk(records.start)).unwrap_or_default();
        let end = offset(chunk(last).saturating_add(1));
        end.unwrap_or_else(|| self.reader.footer_offset()).saturating_sub(begin)
    }

    /// Runs `work` with a decoder that is used again.
    pub fn decoding<T>(&self, work: impl FnOnce(&mut ChunkDecoder) -> T) -> T {
        let idle = self.decoders.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut decoder = idle.unwrap_or_else(|| self.reader.decoder());
        let result = work(&mut decoder);
        let mut idle = self.decoders.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < KEPT {
            idle.push(decoder);
        }
        result
    }

    /// Records in a row: their bytes, and where each is in them. Those of one chunk stay where they were decoded.
    ///
    /// # Errors
    /// Those of [`Reader::chunk`].
    pub fn range(
        &self,
        records: &Range<u64>,
        pool: &BufferPool,
    ) -> Result<(Buf, Vec<Range<usize>>)> {
        let wrong = |error| damaged(error, self.path.as_str());
        if records.is_empty() {
            return Ok((Buf::default(), Vec::new()));
        }
        let (first, _) = self.reader.locate(records.start).map_err(wrong)?;
        let (last, _) = self.reader.locate(records.end.saturating_sub(1)).map_err(wrong)?;
        self.decoding(|decoder| {
            let span = self.reader.load(first..last.saturating_add(1)).map_err(wrong)?;
            let mut decode = |chunk: u64| {
                let found = span.decode(chunk, decoder).map_err(wrong)?;
                let of = |record: u64| usize::try_from(record.saturating_sub(found.first));
                let here = found.first.max(records.start)
                    ..found.first.saturating_add(found.records.len() as u64).min(records.end);
                let from = of(here.start).unwrap_or(usize::MAX);
                let to = of(here.end).unwrap_or(usize::MAX);
                let spans = (from..to).filter_map(|n| found.records.span(n));
                Ok::<_, Error>((found.records.joined().clone(), spans.collect::<Vec<_>>()))
            };
            if first == last {
                return decode(first);
            }
            let sizes = (first..=last).filter_map(|chunk| self.reader.entry(chunk));
            let likely = sizes.map(|entry| entry.decoded_size).fold(0, u64::saturating_add);
            // What the index says is a wish, not a fact.
            let mut data = pool.take(usize::try_from(likely.min(PART_BYTES)).unwrap_or(0))?;
            let mut spans = Vec::new();
            for chunk in first..last.saturating_add(1) {
                let (found, inside) = decode(chunk)?;
                let begin = inside.first().map_or(0, |span| span.start);
                let end = inside.last().map_or(0, |span| span.end);
                let shift = data.len();
                data.extend_from_slice(found.get(begin..end).unwrap_or_default())?;
                let moved = |at: usize| at.saturating_sub(begin).saturating_add(shift);
                spans.extend(inside.iter().map(|span| moved(span.start)..moved(span.end)));
            }
            Ok((data.freeze(), spans))
        })
    }

    /// One record, where it lies or apart from its chunk.
    ///
    /// # Errors
    /// `record_index`; those of [`Reader::chunk`].
    pub fn record(&self, record: u64) -> Result<Buf> {
        let found = self.decoding(|decoder| self.reader.gather(&[record], decoder));
        let found = found.map_err(|error| damaged(error, self.path.as_str()))?;
        Ok(found.into_iter().next().unwrap_or_default())
    }

    /// Appends records to `data`, each chunk decoded once, and tells where each lies by its place among those asked for.
    ///
    /// # Errors
    /// `record_index`; those of [`Reader::chunk`]; `io/out_of_memory`.
    pub fn append(
        &self,
        records: &[u64],
        data: &mut AlignedBuf,
        mut lies: impl FnMut(usize, Range<usize>),
    ) -> Result<()> {
        let mut full = Ok(());
        let take = |place: usize, record: &[u8]| {
            let start = data.len();
            full = data.extend_from_slice(record);
            lies(place, start..data.len());
            if full.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        let found = self.decoding(|decoder| self.reader.each(records, decoder, take));
        found.map_err(|error| damaged(error, self.path.as_str()))?;
        Ok(full?)
    }

    /// The bytes that records have, about, if the index tells the sizes of their chunks truly.
    pub fn likely_bytes(&self, records: &[u64]) -> u64 {
        let bytes = |record: &u64| {
            let (chunk, _) = self.reader.locate(*record).ok()?;
            let records = self.reader.records_of(chunk);
            self.reader.entry(chunk)?.decoded_size.checked_div(records.end - records.start)
        };
        records.iter().filter_map(bytes).fold(0, u64::saturating_add)
    }

    /// What it says about itself.
    pub fn native(&self) -> Object {
        let reader = &self.reader;
        let entries = (0..reader.chunk_count()).filter_map(|chunk| reader.entry(chunk));
        let decoded = entries.map(|entry| entry.decoded_size).fold(0, u64::saturating_add);
        let first = reader.entry(0).map(|entry| entry.offset);
        let footer = reader.footer_offset();
        let mut out = Object::new();
        out.insert("writer_options", reader.writer_options().map_or(Value::Null, Value::from));
        out.insert("compression", self.compression().map_or(Value::Null, Value::from));
        out.insert("records", reader.len());
        out.insert("chunks", reader.chunk_count());
        out.insert("group_size", reader.group_size());
        out.insert("file_bytes", reader.file_len());
        out.insert("chunk_bytes", footer.saturating_sub(first.unwrap_or(footer)));
        out.insert("record_bytes", decoded);
        out.insert("footer_offset", footer);
        out
    }

    /// The codec that the options name, with its level.
    pub fn compression(&self) -> Option<String> {
        let options: WriterOptions = self.reader.writer_options()?.parse().ok()?;
        let stored = options.stored();
        let codecs = ["uncompressed", "brotli", "zstd", "snappy"];
        let is_codec = |option: &&str| codecs.iter().any(|codec| option.starts_with(codec));
        stored.split(',').find(is_codec).map(str::to_owned)
    }
}

/// What a note says.
///
/// # Errors
/// `note_invalid`.
fn parse(note: &[u8], reader: &Reader, path: &RelPath, limits: &Limits) -> Result<Own> {
    let refused = |message: String, json: &str| {
        let place = Place::file(path).at(reader.footer_offset());
        let place = if json.is_empty() { place } else { place.json(json) };
        Error::new(Kind::Corrupt, codes::NOTE_INVALID, place, message)
    };
    let read = json::read(note, &ReadOptions::default().with_limits(*limits));
    let value = read.map_err(|error| refused(error.to_string(), ""))?.value;
    let own = Own::parse(At::root(&value));
    let own = own.map_err(|error| refused(error.to_string(), error.path()))?;
    let sum = own.collections.iter().try_fold(0u64, |sum, (_, len)| sum.checked_add(*len));
    if sum != Some(reader.len()) {
        let expected = reader.len();
        let message = format!("expected collections of {expected} records in all, found others");
        return Err(refused(message, "$.collections"));
    }
    if Frame::new(Arc::new(own.schema.clone())).is_none() {
        let message = "expected fields that records can have, found others".to_owned();
        return Err(refused(message, "$.fields"));
    }
    Ok(own)
}
