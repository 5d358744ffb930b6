//! `index.bin`: one row a sample, shard, offset and length of its record, each a little-endian u64.
//!
//! The file stays a map; a row is decoded when it is asked for. The specification calls the third number the length of
//! the payload, but what every cache stores is that of the whole record.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use packstone_io::{Buf, Kind};

use super::super::codes;
use super::super::layout::INDEX_ROW;
use crate::error::{Error, Place, Result};
use crate::exec::{at_once, default_threads};

/// Where a record lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Number of its shard.
    pub shard: u64,
    /// Where it begins in the shard.
    pub offset: u64,
    /// Its length in bytes, envelope included.
    pub len: u64,
}

impl Row {
    /// The row as the file has it.
    pub fn to_bytes(self) -> [u8; INDEX_ROW] {
        let mut out = [0; INDEX_ROW];
        for (to, from) in out.chunks_exact_mut(8).zip([self.shard, self.offset, self.len]) {
            to.copy_from_slice(&from.to_le_bytes());
        }
        out
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (words, _) = bytes.as_chunks::<8>();
        match words {
            [shard, offset, len] => Some(Self {
                shard: u64::from_le_bytes(*shard),
                offset: u64::from_le_bytes(*offset),
                len: u64::from_le_bytes(*len),
            }),
            _ => None,
        }
    }

    /// Where it ends in its shard; `None` where no file is that long.
    pub fn end(self) -> Option<u64> {
        self.offset.checked_add(self.len)
    }
}

/// Rows that are looked at in one go.
const CHUNK: u64 = 8192;
/// So many rows are worth a thread.
const MANY: u64 = 16 * CHUNK;

/// The first row of an index that names a shard at or past `shards`, with that shard.
///
/// All rows are read, past any map, so that none of them takes memory afterwards.
///
/// # Errors
/// I/O faults.
pub fn stray(file: &dyn packstone_io::ReadAt, shards: u64) -> Result<Option<(u64, u64)>> {
    let rows = file.len() / INDEX_ROW as u64;
    let chunks = rows.div_ceil(CHUNK);
    let threads = default_threads().min(usize::try_from(rows / MANY).unwrap_or(1)).max(1);
    // Whoever is free takes the next chunk: a thread that starts late leaves more to the others.
    let next = AtomicU64::new(0);
    let look = |_| {
        let taken = std::iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed));
        let starts = taken.take_while(|chunk| *chunk < chunks).map(|chunk| chunk * CHUNK);
        let mut found =
            starts.map(|start| stray_in(file, start..(start + CHUNK).min(rows), shards));
        found.find_map(Result::transpose).transpose()
    };
    // A thread's first find is its lowest one, and all chunks before it were taken.
    let found = at_once(0..threads, look)?.into_iter().collect::<Result<Vec<_>>>()?;
    Ok(found.into_iter().flatten().min())
}

fn stray_in(
    file: &dyn packstone_io::ReadAt,
    rows: Range<u64>,
    shards: u64,
) -> Result<Option<(u64, u64)>> {
    let width = INDEX_ROW as u64;
    let bytes =
        file.read_ranges(&[rows.start * width..rows.end * width])?.pop().unwrap_or_default();
    let (table, _) = bytes.as_chunks::<INDEX_ROW>();
    let shard = |[a, b, c, d, e, f, g, h, ..]: &[u8; INDEX_ROW]| {
        u64::from_le_bytes([*a, *b, *c, *d, *e, *f, *g, *h])
    };
    // One comparison for all rows; which one it is, is asked only where there is one.
    if table.iter().map(shard).fold(0, u64::max) < shards || table.is_empty() {
        return Ok(None);
    }
    Ok((rows.start..).zip(table.iter().map(shard)).find(|(_, found)| *found >= shards))
}

/// The index of a cache over its bytes.
#[derive(Clone, Debug)]
pub struct Index(Buf);

impl Index {
    /// Takes the bytes of an index that must have `samples` rows; looks at none of them.
    ///
    /// # Errors
    /// `index_partial_row`, `index_row_count`.
    pub fn new(bytes: Buf, samples: u64, place: &Place) -> Result<Self> {
        let fail = |code, message| Error::new(Kind::Corrupt, code, place.clone(), message);
        if !bytes.len().is_multiple_of(INDEX_ROW) {
            let message =
                format!("expected rows of {INDEX_ROW} bytes, found {} bytes", bytes.len());
            return Err(fail(codes::INDEX_PARTIAL_ROW, message));
        }
        let rows = (bytes.len() / INDEX_ROW) as u64;
        if rows != samples {
            let message = format!("expected {samples} rows, as the manifest says, found {rows}");
            return Err(fail(codes::INDEX_ROW_COUNT, message));
        }
        Ok(Self(bytes))
    }

    /// Number of rows.
    pub fn rows(&self) -> u64 {
        (self.0.len() / INDEX_ROW) as u64
    }

    /// A row; `None` past the end.
    pub fn row(&self, number: u64) -> Option<Row> {
        let start = usize::try_from(number).ok()?.checked_mul(INDEX_ROW)?;
        Row::from_bytes(self.0.get(start..start.checked_add(INDEX_ROW)?)?)
    }

    /// All rows in order.
    pub fn iter(&self) -> impl Iterator<Item = Row> + '_ {
        self.0.chunks_exact(INDEX_ROW).filter_map(Row::from_bytes)
    }

    /// The bytes of the file.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Bytes(Buf);

    impl packstone_io::ReadAt for Bytes {
        fn len(&self) -> u64 {
            self.0.len()
        }

        fn read_ranges(&self, ranges: &[Range<u64>]) -> Result<Vec<Buf>, packstone_io::IoError> {
            let at = |n: u64| usize::try_from(n).unwrap();
            Ok(ranges.iter().map(|r| self.0.slice(at(r.start)..at(r.end)).unwrap()).collect())
        }
    }

    #[test]
    fn the_first_stray_row_is_found_wherever_it_stands() {
        for rows in [1, 2, CHUNK, CHUNK + 1, 2 * MANY + 3] {
            for stray_at in [0, 1, CHUNK - 1, CHUNK, MANY, rows - 1] {
                let row =
                    |n| Row { shard: if n < stray_at { n % 3 } else { 3 }, offset: 9, len: 9 };
                let bytes: Vec<u8> = (0..rows).flat_map(|n| row(n).to_bytes()).collect();
                let file = Bytes(Buf::from(bytes));
                let want = (stray_at < rows).then_some((stray_at, 3));
                assert_eq!(stray(&file, 3).unwrap(), want, "{stray_at} of {rows}");
                assert_eq!(stray(&file, 4).unwrap(), None);
            }
        }
        assert_eq!(stray(&Bytes(Buf::default()), 0).unwrap(), None);
    }

    #[test]
    fn rows_are_three_little_endian_numbers() {
        let rows = [
            Row { shard: 1, offset: 2, len: 3 },
            Row { shard: u64::MAX, offset: 0, len: u64::MAX },
        ];
        let bytes: Vec<u8> = rows.iter().flat_map(|row| row.to_bytes()).collect();
        assert_eq!(
            bytes[..24],
            [1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0]
        );
        let index = Index::new(Buf::from(bytes.clone()), 2, &Place::default()).unwrap();
        assert_eq!(index.iter().collect::<Vec<_>>(), rows);
        assert_eq!((index.row(1), index.row(2), index.row(u64::MAX)), (Some(rows[1]), None, None));
        assert_eq!((rows[0].end(), rows[1].end()), (Some(5), Some(u64::MAX)));
        for (len, samples, code) in
            [(47, 2, codes::INDEX_PARTIAL_ROW), (24, 2, codes::INDEX_ROW_COUNT)]
        {
            let cut = Buf::from(bytes[..len].to_vec());
            assert_eq!(Index::new(cut, samples, &Place::default()).unwrap_err().code(), code);
        }
    }
}
