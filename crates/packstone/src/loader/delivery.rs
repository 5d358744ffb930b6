//! What a loader gives: a batch, and which samples of the order it has.

use packstone_io::{AlignedBuf, Buf, Kind};

use super::codes;
use crate::error::{Error, Place, Result};
use crate::model::{Batch, Column, Field};

/// One step of one reader.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// The epoch.
    pub epoch: u64,
    /// The number of the step in the epoch, the same on all ranks; where the number of ranks changed in mid-epoch, as
    /// though there had always been as many.
    pub step: u64,
    /// The rows. Under [`OnFault::Skip`](super::OnFault::Skip) a batch is as much shorter as samples could not be read,
    /// perhaps empty; the three lists go with the rows that there are.
    pub batch: Batch,
    /// The position of each row in the order; none for rows without a sample, which are zeros, or nothing where rows may
    /// have any length, see [`Remainder::Pad`](super::Remainder::Pad).
    pub positions: Vec<Option<u64>>,
    /// The index of each row in the collection, or in all of them one after another.
    pub indices: Vec<Option<u64>>,
    /// False for rows that only fill the batch up: without a sample, or repeated, see
    /// [`Remainder`](super::Remainder).
    pub mask: Vec<bool>,
}

/// Rows of any length as one array, filled up with zeros.
///
/// ```text
/// values [rows, longest …] in C order      mask [rows, longest …], 1 where a value is, 0 where it is filled up
/// ```
#[derive(Clone, Debug)]
pub struct Padded {
    /// The shape: the number of rows, then the longest extent of each dimension. Text and bytes have one dimension.
    pub shape: Vec<u64>,
    /// The elements.
    pub values: Buf,
    /// One byte an element.
    pub mask: Buf,
}

impl Padded {
    /// Fills up the rows of a field of varying shape, or of any length. Each row is copied once more, for how long the
    /// longest is, is known only when all are there.
    ///
    /// # Errors
    /// `padding_too_large` where the array would take more than `most` bytes; `Limit` without memory.
    pub fn new(field: &Field, column: &Column, most: u64) -> Result<Self> {
        let element = field.element_bytes().filter(|_| field.varying).unwrap_or(1);
        let rank = if field.varying { field.shape.len() } else { 1 };
        let shape_of = |row: usize| match column.shape(row) {
            Some(shape) => shape.to_vec(),
            None => vec![column.bytes(row).map_or(0, <[u8]>::len) as u64],
        };
        let mut shape = vec![0; rank];
        for row in 0..column.rows() {
            let longest = |(most, dim): (&mut u64, u64)| *most = dim.max(*most);
            shape.iter_mut().zip(shape_of(row)).for_each(longest);
        }
        let each = shape.iter().try_fold(1u64, |n, dim| n.checked_mul(*dim));
        let count = each.and_then(|each| each.checked_mul(column.rows() as u64));
        let bytes = count.and_then(|count| count.checked_mul(element)).filter(|n| *n <= most);
        let sizes = bytes.and_then(|bytes| {
            let size = |n: u64| usize::try_from(n).ok();
            Some((size(bytes)?, size(count?)?, size(each?)?, size(element)?))
        });
        let Some((bytes, count, each, element)) = sizes else {
            let message = format!(
                "expected at most {most} bytes of {:?} filled up, found rows up to {shape:?}",
                field.key.to_string()
            );
            let code = codes::PADDING_TOO_LARGE;
            return Err(Error::new(Kind::Limit, code, Place::default(), message));
        };
        let zeros = |len: usize| {
            let mut buffer = AlignedBuf::with_capacity(len)?;
            buffer.set_len(len)?;
            Ok::<_, Error>(buffer)
        };
        let (mut values, mut mask) = (zeros(bytes)?, zeros(count)?);
        for row in 0..column.rows() {
            let first = row.saturating_mul(each);
            let own = shape_of(row);
            let bytes = column.bytes(row).unwrap_or_default();
            for (place, line) in lines(&own, &shape, first, element, bytes) {
                let start = place.saturating_mul(element);
                let end = start.saturating_add(line.len());
                values.get_mut(start..end).unwrap_or_default().copy_from_slice(line);
                let there = line.len().checked_div(element).unwrap_or(0);
                mask.get_mut(place..place.saturating_add(there)).unwrap_or_default().fill(1);
            }
        }
        shape.insert(0, column.rows() as u64);
        Ok(Self { shape, values: values.into(), mask: mask.into() })
    }
}

/// The runs along the last dimension of a row of shape `own`, with the elements at which they start in an array whose
/// rows have the shape `all`.
fn lines<'b>(
    own: &[u64],
    all: &[u64],
    first: usize,
    element: usize,
    bytes: &'b [u8],
) -> impl Iterator<Item = (usize, &'b [u8])> {
    let size = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
    let (outer, last) = own.split_at(own.len().saturating_sub(1));
    let line = size(last.first().copied().unwrap_or(1)).saturating_mul(element);
    let all = all.to_vec();
    let outer: Vec<u64> = outer.to_vec();
    bytes.chunks(line.max(1)).enumerate().map(move |(number, bytes)| {
        // The number of the line, digit by digit in the dimensions before the last.
        let (mut rest, mut place) = (number as u64, 0usize);
        let mut stride = all.last().copied().map_or(1, size);
        for (own, all) in outer.iter().zip(&all).rev() {
            let digit = rest.checked_rem(*own).unwrap_or(0);
            place = place.saturating_add(size(digit).saturating_mul(stride));
            stride = stride.saturating_mul(size(*all));
            rest = rest.checked_div(*own).unwrap_or(0);
        }
        (first.saturating_add(place), bytes)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{DType, Key};

    #[test]
    fn rows_are_filled_up_to_the_longest_in_each_dimension() {
        let field = Field::varying(Key::new("x"), DType::Int16, 2);
        let data: Vec<u8> = (1..=7u8).flat_map(|n| [n, 0]).collect();
        let column = Column::ragged(Buf::from(data), vec![8, 8, 14]).unwrap();
        let column = column.with_shapes(2, vec![2, 2, 0, 3, 1, 3]).unwrap();
        let padded = Padded::new(&field, &column, 1 << 20).unwrap();
        assert_eq!(padded.shape, [3, 2, 3]);
        let values: Vec<u8> = padded.values.iter().step_by(2).copied().collect();
        assert_eq!(values, [1, 2, 0, 3, 4, 0, 0, 0, 0, 0, 0, 0, 5, 6, 7, 0, 0, 0]);
        assert_eq!(padded.mask[..], [1, 1, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0]);
        assert!(padded.values.as_ptr().addr().is_multiple_of(64));
        let error = Padded::new(&field, &column, 35).unwrap_err();
        assert_eq!((error.code(), error.kind()), (codes::PADDING_TOO_LARGE, Kind::Limit));
    }

    #[test]
    fn text_has_one_dimension_and_scalars_none() {
        let field = Field::new("t", DType::Str, []);
        let column = Column::ragged(Buf::from(b"abc".to_vec()), vec![1, 1, 3]).unwrap();
        let padded = Padded::new(&field, &column, 100).unwrap();
        assert_eq!((padded.shape, &padded.values[..]), (vec![3, 2], &b"a\0\0\0bc"[..]));
        assert_eq!(padded.mask[..], [1, 0, 0, 0, 1, 1]);
        let field = Field::varying(Key::new("x"), DType::UInt8, 0);
        let column = Column::ragged(Buf::from(b"ab".to_vec()), vec![1, 2]).unwrap();
        let column = column.with_shapes(0, Vec::new()).unwrap();
        let padded = Padded::new(&field, &column, 100).unwrap();
        assert_eq!((padded.shape, &padded.values[..]), (vec![2], &b"ab"[..]));
        assert_eq!(padded.mask[..], [1, 1]);
    }
}
