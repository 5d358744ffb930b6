//! `index.bin`: one row a sample, shard, offset and length of its record, each a little-endian u64.
//!
//! The file stays a map; a row is decoded when it is asked for. The specification calls the third number the length of
//! the payload, but what every cache stores is that of the whole record.

use packstone_io::{Buf, Kind};

use super::super::codes;
use super::super::layout::INDEX_ROW;
use crate::error::{Error, Place, Result};

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
