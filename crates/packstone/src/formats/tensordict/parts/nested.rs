//! Nested tensors: parts of one rank and any sizes.
//!
//! ```text
//! <name>.shape.memmap   n rows of `rank` 64-bit integers            <name>.memmap   part, part, …
//! ```
//!
//! Where all parts are empty the library writes no elements and then loses the key; here the sizes are enough.

use packstone_io::{Buf, Kind};

use super::super::codes;
use super::node::{Bytes, NestedTensor};
use crate::error::{Error, Place, Result};

/// The sizes and elements of a nested tensor, checked against each other.
#[derive(Clone, Debug)]
pub struct Parts {
    /// Dimensions of each part.
    pub rank: usize,
    /// The sizes, part after part.
    pub sizes: Vec<u64>,
    /// Where each part ends in `data`.
    pub ends: Vec<usize>,
    /// The elements of all parts.
    pub data: Buf,
}

/// The sizes of a nested tensor.
#[derive(Clone, Debug)]
pub struct Shapes {
    /// Dimensions of each part.
    pub rank: usize,
    /// The sizes, part after part.
    pub sizes: Vec<u64>,
    /// Where each part ends among the elements, in bytes.
    pub ends: Vec<usize>,
}

impl Shapes {
    /// The sizes of each part.
    pub fn each(&self) -> impl Iterator<Item = &[u64]> {
        (0..self.ends.len()).filter_map(|part| {
            let start = part.checked_mul(self.rank)?;
            self.sizes.get(start..start.checked_add(self.rank)?)
        })
    }
}

impl Parts {
    /// Number of parts.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// True where there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The sizes of one part.
    pub fn shape(&self, part: usize) -> Option<&[u64]> {
        let start = part.checked_mul(self.rank)?;
        self.sizes.get(start..start.checked_add(self.rank)?)
    }
}

impl NestedTensor {
    /// Reads sizes and elements.
    ///
    /// # Errors
    /// `missing_sizes`, `missing_leaf`, `bad_shape` where sizes are negative or overflow, `truncated_leaf` or
    /// `size_mismatch` where there are too few elements or, in an archive, too many.
    pub fn open(&self) -> Result<Parts> {
        let Shapes { rank, sizes, ends } = self.shapes()?;
        let total = ends.last().copied().unwrap_or(0);
        let data = match &self.data {
            // Nothing is missing where there is nothing.
            Bytes::Faulty(_) if total == 0 => Buf::default(),
            data => data.open()?.slice(..total).ok_or_else(|| self.other_length(total))?,
        };
        Ok(Parts { rank, sizes, ends, data })
    }

    /// Reads the sizes, and holds the number of elements against them; the elements are not read.
    ///
    /// # Errors
    /// As for [`NestedTensor::open`], but for those of reading the elements.
    pub fn shapes(&self) -> Result<Shapes> {
        let (sizes, ends) = self.read_sizes()?;
        let total = ends.last().copied().unwrap_or(0);
        let rank = usize::try_from(self.extent.1).unwrap_or(usize::MAX);
        match &self.data {
            Bytes::Faulty(_) if total == 0 => {}
            Bytes::Faulty(fault) => return Err(fault.error()),
            data => {
                let (found, needed) = (data.len().unwrap_or(0), total as u64);
                if found < needed || (found > needed && self.is_exact()) {
                    return Err(self.other_length(total));
                }
            }
        }
        Ok(Shapes { rank, sizes, ends })
    }

    /// Hands over the elements of all parts piece by piece.
    ///
    /// # Errors
    /// As for [`NestedTensor::open`]; those of `sink`.
    pub fn stream(&self, sink: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let total = self.shapes()?.ends.last().copied().unwrap_or(0);
        match &self.data {
            data if data.len() == Some(total as u64) => data.stream(sink),
            _ => sink(&self.open()?.data),
        }
    }

    fn other_length(&self, total: usize) -> Error {
        let found = self.data.len().unwrap_or(0);
        let code = if self.is_exact() { codes::SIZE_MISMATCH } else { codes::TRUNCATED_LEAF };
        let message =
            format!("expected {total} bytes for the elements of all parts, found {found}");
        Error::new(Kind::Corrupt, code, self.place(), message)
    }

    /// The bytes of all parts, as the sizes say.
    ///
    /// # Errors
    /// Those of [`NestedTensor::open`] that concern the sizes.
    pub fn sized(&self) -> Result<u64> {
        Ok(self.read_sizes()?.1.last().copied().unwrap_or(0) as u64)
    }

    fn place(&self) -> Place {
        match &self.data {
            Bytes::Stored { file, .. } => Place::file(file.path()),
            _ => Place::default(),
        }
    }

    fn is_exact(&self) -> bool {
        matches!(&self.data, Bytes::Stored { file, .. } if file.is_exact())
    }

    /// The sizes, and where parts end in bytes.
    fn read_sizes(&self) -> Result<(Vec<u64>, Vec<usize>)> {
        let bytes = self.sizes.open()?;
        let place = || match &self.sizes {
            Bytes::Stored { file, .. } => Place::file(file.path()),
            _ => Place::default(),
        };
        let bad = |part: usize, what: &str| {
            let message =
                format!("expected sizes whose bytes fit 63 bits in part {part}, found {what}");
            Error::new(Kind::Corrupt, codes::BAD_SHAPE, place().record(part as u64), message)
        };
        let rank = usize::try_from(self.extent.1).unwrap_or(usize::MAX).max(1);
        let (words, _) = bytes.as_chunks::<8>();
        let (mut sizes, mut ends) =
            (Vec::with_capacity(words.len()), Vec::with_capacity(words.len() / rank));
        let mut end = 0u64;
        for (part, row) in words.chunks(rank).enumerate() {
            let mut count = self.dtype.size().unwrap_or(1);
            for word in row {
                let size = i64::from_le_bytes(*word);
                let size = u64::try_from(size).map_err(|_| bad(part, &size.to_string()))?;
                sizes.push(size);
                count = count.checked_mul(size).ok_or_else(|| bad(part, "more"))?;
            }
            end = end
                .checked_add(count)
                .filter(|n| i64::try_from(*n).is_ok())
                .ok_or_else(|| bad(part, "more"))?;
            ends.push(usize::try_from(end).map_err(|_| bad(part, "more"))?);
        }
        if ends.len() as u64 != self.extent.0 {
            let message =
                format!("expected the sizes of {} parts, found {}", self.extent.0, ends.len());
            return Err(Error::new(Kind::Corrupt, codes::TRUNCATED_LEAF, place(), message));
        }
        Ok((sizes, ends))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::DType;

    fn nested(sizes: &[i64], rank: u64, data: &[u8]) -> NestedTensor {
        let bytes: Vec<u8> = sizes.iter().flat_map(|n| n.to_le_bytes()).collect();
        NestedTensor {
            dtype: DType::Int16,
            extent: (sizes.len() as u64 / rank, rank),
            sizes: Bytes::Given(Buf::from(bytes)),
            data: Bytes::Given(Buf::copy_from(data)),
        }
    }

    #[test]
    fn parts_lie_one_after_another() {
        let parts = nested(&[2, 1, 0, 3, 1, 2], 2, &[1, 2, 3, 4, 5, 6, 7, 8]).open().unwrap();
        assert_eq!((parts.len(), &parts.ends[..]), (3, &[4, 4, 8][..]));
        assert_eq!(
            (parts.shape(1), parts.shape(2), parts.shape(3)),
            (Some(&[0, 3][..]), Some(&[1, 2][..]), None)
        );
    }

    #[test]
    fn sizes_are_checked() {
        for (sizes, data, code) in [
            (&[-1i64, 2][..], &[0u8; 4][..], codes::BAD_SHAPE),
            (&[i64::MAX, 2], &[0; 4], codes::BAD_SHAPE),
            (&[i64::MAX, i64::MAX], &[0; 4], codes::BAD_SHAPE),
            (&[1, 3], &[0; 4], codes::TRUNCATED_LEAF),
        ] {
            assert_eq!(nested(sizes, 2, data).open().unwrap_err().code(), code, "{sizes:?}");
        }
        let mut short = nested(&[1, 1], 1, &[0; 4]);
        short.extent.0 = 3;
        assert_eq!(short.open().unwrap_err().code(), codes::TRUNCATED_LEAF);
    }
}
