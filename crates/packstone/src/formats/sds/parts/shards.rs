//! Open shards: containers with their index in memory, the last ones kept open.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use packstone_container::Limits;
use packstone_container::array_record::{ArrayRecordError, Reader, ReaderOptions};
use packstone_container::riegeli::ChunkDecoder;
use packstone_io::{Buf, Kind};

use super::super::codes;
use super::reference::{ObjectPath, ObjectReference, Objects};
use crate::error::{Error, Place, Result};

/// Shards that are kept open.
const KEPT_OPEN: usize = 64;
/// Decoders that are kept while nobody reads.
const KEPT_DECODERS: usize = 16;

/// The shards of a dataset.
pub struct Shards {
    /// Where they are.
    pub objects: Objects,
    options: ReaderOptions,
    limits: Limits,
    open: Mutex<VecDeque<(ObjectReference, Arc<Shard>)>>,
    decoders: Mutex<Vec<ChunkDecoder>>,
}

/// One open shard.
pub struct Shard {
    reader: Reader,
    path: ObjectPath,
}

impl Shards {
    /// The shards among `objects`; records of more than `limits.decoded_bytes` are refused.
    pub fn new(objects: Objects, limits: Limits) -> Self {
        let options = ReaderOptions::default();
        Self { objects, options, limits, open: Mutex::default(), decoders: Mutex::default() }
    }

    /// The same shards read with other options, which change no result.
    #[must_use]
    pub fn with_options(mut self, options: ReaderOptions) -> Self {
        self.options = options;
        self
    }

    /// Opens a shard whose size is the one of its reference.
    ///
    /// # Errors
    /// `missing_object`, `path_link`, `path_absolute`, `size_mismatch`, `shard_damaged`, `limit_exceeded`.
    pub fn open(&self, reference: &ObjectReference) -> Result<Arc<Shard>> {
        {
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(at) = open.iter().rposition(|(kept, _)| kept == reference)
                && let Some(kept) = open.remove(at)
            {
                let shard = Arc::clone(&kept.1);
                open.push_back(kept);
                return Ok(shard);
            }
        }
        let file = self.objects.open_whole(reference)?;
        let path = reference.path.clone();
        let reader = Reader::open(file, &self.options, self.limits);
        let reader = reader.map_err(|error| damaged(error, &path, None))?;
        let shard = Arc::new(Shard { reader, path });
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.len() >= KEPT_OPEN {
            open.pop_front();
        }
        open.push_back((reference.clone(), Arc::clone(&shard)));
        Ok(shard)
    }

    /// Runs `work` with a decoder that is used again.
    pub fn decoding<T>(&self, work: impl FnOnce(&mut ChunkDecoder) -> T) -> T {
        let idle = self.decoders.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut decoder = idle.unwrap_or_else(|| ChunkDecoder::new(self.limits));
        let result = work(&mut decoder);
        let mut idle = self.decoders.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < KEPT_DECODERS {
            idle.push(decoder);
        }
        result
    }
}

impl Shard {
    /// Its records.
    pub fn len(&self) -> u64 {
        self.reader.len()
    }

    /// True for a shard without records.
    pub fn is_empty(&self) -> bool {
        self.reader.is_empty()
    }

    /// How it is called.
    pub fn path(&self) -> &ObjectPath {
        &self.path
    }

    /// About how large a record is, as its container claims.
    pub fn size(&self, index: u64) -> Option<u64> {
        let (chunk, _) = self.reader.locate(index).ok()?;
        let entry = self.reader.entry(chunk)?;
        entry.decoded_size.checked_div(entry.records)
    }

    /// One record.
    ///
    /// # Errors
    /// `index_out_of_range`, `shard_damaged`, with the record.
    pub fn record(&self, index: u64, decoder: &mut ChunkDecoder) -> Result<Buf> {
        let record = self.reader.record(index, decoder);
        record.map_err(|error| damaged(error, &self.path, Some(index)))
    }

    /// Records in the order asked for, repeated ones as well.
    ///
    /// # Errors
    /// As for [`Shard::record`], for the first that cannot be had.
    pub fn records(&self, indices: &[u64], decoder: &mut ChunkDecoder) -> Result<Vec<Buf>> {
        if let Some(range) = consecutive(indices) {
            return self.range(range, decoder);
        }
        let records = self.reader.gather(indices, decoder);
        records.map_err(|error| damaged(error, &self.path, indices.first().copied()))
    }

    fn range(&self, range: Range<u64>, decoder: &mut ChunkDecoder) -> Result<Vec<Buf>> {
        let wrong = |error, record| damaged(error, &self.path, Some(record));
        let first = range.start;
        // Asked for one that is not there, the error names the first one of these.
        let missing = self.reader.len().max(first);
        let records = self.reader.records(range, decoder).map_err(|e| wrong(e, missing))?;
        let mut out = Vec::new();
        for record in records {
            out.push(record.map_err(|e| wrong(e, first.saturating_add(out.len() as u64)))?);
        }
        Ok(out)
    }
}

/// The range of numbers that follow one another.
fn consecutive(indices: &[u64]) -> Option<Range<u64>> {
    let first = *indices.first()?;
    let range = first..first.checked_add(indices.len() as u64)?;
    let follows = indices.iter().zip(range.clone()).all(|(index, expected)| *index == expected);
    follows.then_some(range)
}

/// The error for a shard that cannot be read.
pub fn damaged(error: ArrayRecordError, path: &ObjectPath, record: Option<u64>) -> Error {
    let mut place = Place::file(path);
    place.offset = error.offset();
    place.record = match &error {
        ArrayRecordError::Chunk { records, .. } => Some(records.start),
        ArrayRecordError::RecordIndex { index, .. } => Some(*index),
        _ => record,
    };
    let (kind, code) = match &error {
        ArrayRecordError::RecordIndex { .. } => (Kind::Corrupt, codes::INDEX_OUT_OF_RANGE),
        _ => match error.kind() {
            Kind::Limit => (Kind::Limit, codes::LIMIT_EXCEEDED),
            Kind::Unsupported => (Kind::Unsupported, codes::SHARD_DAMAGED),
            Kind::Io => (Kind::Io, "io/fault"),
            _ => (Kind::Corrupt, codes::SHARD_DAMAGED),
        },
    };
    let message = format!("{error} ({})", error.code());
    Error::new(kind, code, place, message).because(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_follow_one_another_are_a_range() {
        assert_eq!(consecutive(&[3, 4, 5]), Some(3..6));
        assert_eq!(consecutive(&[7]), Some(7..8));
        for apart in [&[][..], &[1, 3], &[2, 1], &[0, 0], &[u64::MAX]] {
            assert_eq!(consecutive(apart), None);
        }
    }
}
