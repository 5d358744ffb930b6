//! Records in a row as a collection of samples, over one file or several.
//!
//! What is read at once is a part of a file: chunks in a row of some 8 MiB and 16384 records at most, or one that is
//! larger. Parts of one file have its number. A record is found by its number without walking anything.

use std::ops::Range;
use std::sync::Arc;

use packstone_container::codec::Codec;
use packstone_io::{Buf, BufferPool, Kind};

use super::super::codes;
use super::file::File;
use super::frame::Frame;
use crate::error::{Error, Place, Result};
use crate::format::{Collection, ReadContext, ShardRef};
use crate::model::{Batch, Schema};

/// Bytes of records that memory is had for before they are seen, at most.
const TOGETHER: u64 = 64 << 20;
/// Records that say how long others are.
const LOOKED_AT: usize = 64;

/// A file, and the number that its first record has in the dataset.
pub type Placed = (Arc<File>, u64);

/// Some records of a dataset in a row.
pub struct Records {
    /// Their name.
    pub name: String,
    /// Which of the dataset they are.
    pub range: Range<u64>,
    /// How samples lie in them.
    pub frame: Arc<Frame>,
    /// All files of the dataset.
    pub files: Arc<[Placed]>,
}

/// A part of a file.
struct Part {
    file: Arc<File>,
    /// Its records, by their numbers in the file.
    records: Range<u64>,
}

fn foreign() -> Error {
    let message = "expected a shard of this collection, found another";
    Error::new(Kind::Invalid, codes::RECORD_INDEX, Place::default(), message)
}

/// The file that holds a record of the dataset, by its place among `files`.
fn file_of(files: &[Placed], record: u64) -> Option<usize> {
    files.partition_point(|(_, first)| *first <= record).checked_sub(1)
}

impl Records {
    /// The next part from record `next` of the dataset on.
    fn part(files: &[Placed], range: &Range<u64>, next: u64) -> Option<ShardRef> {
        if next >= range.end {
            return None;
        }
        let number = file_of(files, next)?;
        let (file, first) = files.get(number)?;
        let (chunk, _) = file.reader.locate(next.saturating_sub(*first)).ok()?;
        let run = file.run(chunk)?;
        let start = file.reader.records_of(chunk).start.max(range.start.saturating_sub(*first));
        let end = file.reader.records_of(run.end.saturating_sub(1)).end;
        let records = start..end.min(range.end.saturating_sub(*first));
        Some(ShardRef {
            number: number as u64,
            first: start.saturating_add(*first).saturating_sub(range.start),
            rows: records.end.saturating_sub(records.start),
            path: file.path.clone(),
            metadata: Arc::default(),
            detail: Arc::new(Part { file: Arc::clone(file), records }),
        })
    }

    fn batch(
        &self,
        fields: Option<&[usize]>,
        (data, spans): (Buf, Vec<Range<usize>>),
        place: impl Fn(usize) -> Place,
    ) -> Result<Batch> {
        self.frame.batch(&data, spans, fields, place)
    }
}

/// Records of one file after another in a buffer of their own; each list has places among `count` for its records.
fn together<'f>(
    asked: impl Iterator<Item = (&'f Arc<File>, &'f [usize], &'f [u64])> + Clone,
    count: usize,
    pool: &BufferPool,
) -> Result<(Buf, Vec<Range<usize>>)> {
    if count == 1
        && let Some((file, _, [record])) = asked.clone().find(|(_, places, _)| !places.is_empty())
    {
        let record = file.record(*record)?;
        let span = 0..record.len();
        return Ok((record, vec![span]));
    }
    let likely = asked.clone().map(|(file, _, records)| file.likely_bytes(records));
    // What the index says is a wish, not a fact.
    let likely = likely.fold(0, u64::saturating_add).min(TOGETHER);
    let mut data = pool.take_growing(usize::try_from(likely).unwrap_or(0))?;
    let mut spans = vec![0..0; count];
    for (file, places, records) in asked.filter(|(_, places, _)| !places.is_empty()) {
        file.append(records, &mut data, |at, span| {
            if let Some(to) = places.get(at).and_then(|place| spans.get_mut(*place)) {
                *to = span;
            }
        })?;
    }
    Ok((data.freeze(), spans))
}

impl Collection for Records {
    fn name(&self) -> &str {
        &self.name
    }

    fn len(&self) -> u64 {
        self.range.end.saturating_sub(self.range.start)
    }

    /// The mean of the first records.
    fn likely_bytes(&self) -> Option<u64> {
        let (file, first) = self.files.get(file_of(&self.files, self.range.start)?)?;
        let start = self.range.start.saturating_sub(*first);
        let end = self.range.end.saturating_sub(*first).min(file.reader.len());
        let some: Vec<u64> = (start..end).take(LOOKED_AT).collect();
        file.likely_bytes(&some).checked_div(some.len() as u64)
    }

    fn shard_count(&self) -> u64 {
        if self.is_empty() {
            return 0;
        }
        let last = file_of(&self.files, self.range.end.saturating_sub(1));
        let files = file_of(&self.files, self.range.start).zip(last);
        files.map_or(0, |(first, last)| last.saturating_sub(first).saturating_add(1) as u64)
    }

    fn schema(&self) -> &Arc<Schema> {
        self.frame.schema()
    }

    fn has_metadata(&self) -> Result<bool> {
        Ok(false)
    }

    fn codec(&self) -> Option<Codec> {
        let codec = |file: &Arc<File>| {
            let text = file.compression()?;
            match text.split(':').next()? {
                "uncompressed" => Some(Codec::None),
                "brotli" => Some(Codec::Brotli),
                "zstd" => Some(Codec::Zstd),
                "snappy" => Some(Codec::Snappy),
                _ => None,
            }
        };
        let mut each = self.files.iter().map(|(file, _)| codec(file));
        let first = each.next()??;
        each.all(|codec| codec == Some(first)).then_some(first)
    }

    fn stored_bytes(&self, shard: &ShardRef) -> Option<u64> {
        let part = shard.detail.downcast_ref::<Part>()?;
        Some(part.file.stored_bytes(&part.records))
    }

    fn shards(&self, from: u64) -> Box<dyn Iterator<Item = Result<ShardRef>> + Send> {
        let (files, range) = (Arc::clone(&self.files), self.range.clone());
        let mut next = range.start.saturating_add(from);
        Box::new(std::iter::from_fn(move || {
            let shard = Self::part(&files, &range, next)?;
            next = range.start.saturating_add(shard.first).saturating_add(shard.rows);
            Some(Ok(shard))
        }))
    }

    fn read(
        &self,
        shard: &ShardRef,
        fields: Option<&[usize]>,
        context: &mut ReadContext,
    ) -> Result<Batch> {
        let part = shard.detail.downcast_ref::<Part>().ok_or_else(foreign)?;
        let found = part.file.range(&part.records, &context.pool)?;
        let first = part.records.start;
        let place =
            |row: usize| Place::file(&part.file.path).record(first.saturating_add(row as u64));
        self.batch(fields, found, place)
    }

    fn read_rows(
        &self,
        shard: &ShardRef,
        rows: &[usize],
        fields: Option<&[usize]>,
        context: &mut ReadContext,
    ) -> Result<Batch> {
        let part = shard.detail.downcast_ref::<Part>().ok_or_else(foreign)?;
        let record = |row: &usize| {
            let row = Some(*row as u64).filter(|row| *row < shard.rows);
            row.map(|row| part.records.start.saturating_add(row)).ok_or_else(foreign)
        };
        let records = rows.iter().map(record).collect::<Result<Vec<_>>>()?;
        let places: Vec<usize> = (0..records.len()).collect();
        let asked = std::iter::once((&part.file, places.as_slice(), records.as_slice()));
        let found = together(asked, records.len(), &context.pool)?;
        let place = |row: usize| {
            let place = Place::file(&part.file.path);
            records.get(row).map_or_else(|| place.clone(), |record| place.clone().record(*record))
        };
        self.batch(fields, found, place)
    }

    fn read_at(
        &self,
        indices: &[u64],
        fields: Option<&[usize]>,
        context: &mut ReadContext,
    ) -> Result<Option<Batch>> {
        let mut wanted: Vec<(Vec<usize>, Vec<u64>)> =
            vec![(Vec::new(), Vec::new()); self.files.len()];
        let mut places = Vec::with_capacity(indices.len());
        for (slot, index) in indices.iter().enumerate() {
            let record = self.range.start.checked_add(*index).filter(|at| *at < self.range.end);
            let record = record.ok_or_else(foreign)?;
            let number = file_of(&self.files, record).ok_or_else(foreign)?;
            let ((file, first), (slots, records)) =
                self.files.get(number).zip(wanted.get_mut(number)).ok_or_else(foreign)?;
            let record = record.saturating_sub(*first);
            slots.push(slot);
            records.push(record);
            places.push((file, record));
        }
        let asked = self.files.iter().zip(&wanted);
        let asked = asked.map(|((file, _), (slots, records))| (file, &slots[..], &records[..]));
        let found = together(asked, indices.len(), &context.pool)?;
        let place = |row: usize| match places.get(row) {
            Some((file, record)) => Place::file(&file.path).record(*record),
            None => Place::default(),
        };
        self.batch(fields, found, place).map(Some)
    }
}
