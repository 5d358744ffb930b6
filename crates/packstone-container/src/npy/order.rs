//! From any stored order to little-endian C order.

use super::header::elements;
use super::{Header, Item, NpyError};

/// Reverses every run of `unit` bytes; units of 0 and 1 have no order, a partial run at the end stays.
pub fn swap_bytes(data: &mut [u8], unit: usize) {
    match unit {
        2 => swap::<2>(data),
        4 => swap::<4>(data),
        8 => swap::<8>(data),
        16 => swap::<16>(data),
        0 | 1 => {}
        _ => data.chunks_exact_mut(unit).for_each(<[u8]>::reverse),
    }
}

/// A known length lets the compiler use byte shuffles.
fn swap<const N: usize>(data: &mut [u8]) {
    data.as_chunks_mut::<N>().0.iter_mut().for_each(|unit| unit.reverse());
}

/// Copies `data`, of `shape` in Fortran order, into `out` in C order.
///
/// # Errors
/// [`NpyError::Length`] where `data` or `out` has not the length that shape and item size ask for,
/// [`NpyError::Overflow`].
pub fn to_c_order(
    data: &[u8],
    shape: &[u64],
    item_size: usize,
    out: &mut [u8],
) -> Result<(), NpyError> {
    check_len(shape, item_size, data.len())?;
    check_len(shape, item_size, out.len())?;
    if data.is_empty() {
        return Ok(());
    }
    // Axes of length 1 move nothing; without them there are at most 63, whatever the header said.
    let axes: Vec<usize> =
        shape.iter().filter(|&&n| n != 1).filter_map(|&n| usize::try_from(n).ok()).collect();
    let Some((&row, outer)) = axes.split_last() else {
        out.copy_from_slice(data);
        return Ok(());
    };
    let mut stride = item_size;
    let mut counters: Vec<Counter> = Vec::with_capacity(outer.len());
    for &len in outer {
        counters.push(Counter { at: 0, len, stride });
        stride *= len;
    }
    let copy_row = match item_size {
        1 => copy_row::<1>,
        2 => copy_row::<2>,
        4 => copy_row::<4>,
        8 => copy_row::<8>,
        16 => copy_row::<16>,
        _ => copy_row::<0>,
    };
    let mut base = 0;
    for to_row in out.chunks_exact_mut(row * item_size) {
        copy_row(data.get(base..).unwrap_or_default(), stride, item_size, to_row);
        base = advance(&mut counters, base);
    }
    Ok(())
}

/// Gathers the first item of every `stride` bytes; a size known as `N` saves a call for each, 0 stands for any.
fn copy_row<const N: usize>(from: &[u8], stride: usize, item_size: usize, to: &mut [u8]) {
    let item_size = if N == 0 { item_size } else { N };
    for (to, from) in to.chunks_exact_mut(item_size).zip(from.chunks(stride)) {
        if let Some(from) = from.get(..item_size) {
            to.copy_from_slice(from);
        }
    }
}

/// Position along one of the outer axes, and how far apart its elements are in the source.
struct Counter {
    at: usize,
    len: usize,
    stride: usize,
}

/// Steps to the next row; returns its offset in the source.
fn advance(counters: &mut [Counter], mut base: usize) -> usize {
    for counter in counters.iter_mut().rev() {
        counter.at += 1;
        base += counter.stride;
        if counter.at < counter.len {
            break;
        }
        base -= counter.stride * counter.len;
        counter.at = 0;
    }
    base
}

/// Copies the data of an array into `out` as little-endian elements in C order.
///
/// # Errors
/// As [`to_c_order`].
pub fn to_little_endian_c_order(
    header: &Header,
    item: &Item,
    data: &[u8],
    out: &mut [u8],
) -> Result<(), NpyError> {
    if header.fortran_order {
        to_c_order(data, &header.shape, item.size, out)?;
    } else {
        check_len(&header.shape, item.size, data.len())?;
        check_len(&header.shape, item.size, out.len())?;
        out.copy_from_slice(data);
    }
    if item.big_endian {
        swap_bytes(out, item.unit);
    }
    Ok(())
}

fn check_len(shape: &[u64], item_size: usize, found: usize) -> Result<(), NpyError> {
    let found = u64::try_from(found).unwrap_or(u64::MAX);
    let item_size = u64::try_from(item_size).unwrap_or(u64::MAX);
    let expected = elements(shape)?.checked_mul(item_size).ok_or(NpyError::Overflow)?;
    if expected == found { Ok(()) } else { Err(NpyError::Length { expected, found }) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn swapping() {
        let swapped = |unit| {
            let mut data: Vec<u8> = (0..17).collect();
            swap_bytes(&mut data, unit);
            data
        };
        assert_eq!(swapped(2)[..5], [1, 0, 3, 2, 5]);
        assert_eq!(swapped(4)[..8], [3, 2, 1, 0, 7, 6, 5, 4]);
        assert_eq!(swapped(8)[7..9], [0, 15]);
        assert_eq!(swapped(16)[..3], [15, 14, 13]);
        assert_eq!(swapped(3)[..4], [2, 1, 0, 5]);
        assert_eq!(swapped(16)[16], 16);
        for unit in [0, 1] {
            assert!(swapped(unit).is_sorted());
        }
    }

    /// `numpy.arange(24).reshape(2, 3, 4)` laid out in Fortran order.
    const FORTRAN: [u8; 24] =
        [0, 12, 4, 16, 8, 20, 1, 13, 5, 17, 9, 21, 2, 14, 6, 18, 10, 22, 3, 15, 7, 19, 11, 23];

    #[test]
    fn transposing() {
        let mut out = [0; 24];
        to_c_order(&FORTRAN, &[2, 3, 4], 1, &mut out).unwrap();
        assert!(out.iter().copied().eq(0..24));
        out.fill(0);
        to_c_order(&FORTRAN, &[2, 1, 3, 1, 4, 1], 1, &mut out).unwrap();
        assert!(out.iter().copied().eq(0..24));
    }

    #[test]
    fn big_endian_fortran_arrays() {
        // [[1, 2, 3], [4, 5, 6]] as >u2.
        let data = [0, 1, 0, 4, 0, 2, 0, 5, 0, 3, 0, 6];
        let header = Header {
            descr: ">u2".to_owned(),
            fortran_order: true,
            shape: vec![2, 3],
            data_offset: 128,
        };
        let mut out = [0; 12];
        to_little_endian_c_order(&header, &header.item().unwrap(), &data, &mut out).unwrap();
        assert_eq!(out, [1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0]);
        let c = Header { fortran_order: false, ..header };
        to_little_endian_c_order(&c, &c.item().unwrap(), &data, &mut out).unwrap();
        assert_eq!(out, [1, 0, 4, 0, 2, 0, 5, 0, 3, 0, 6, 0]);
        let short = to_little_endian_c_order(&c, &c.item().unwrap(), &data[1..], &mut out);
        assert_eq!(short, Err(NpyError::Length { expected: 12, found: 11 }));
    }

    #[test]
    fn odd_shapes() {
        let mut out = [9];
        to_c_order(&[5], &[], 1, &mut out).unwrap();
        assert_eq!(out, [5]);
        to_c_order(&[6], &vec![1; 300_000], 1, &mut out).unwrap();
        assert_eq!(out, [6]);
        to_c_order(&[], &[u64::MAX, 0, u64::MAX], 8, &mut []).unwrap();
        to_c_order(&[], &[u64::MAX, 7], 0, &mut []).unwrap_err();
        to_c_order(&[], &[1 << 60], 0, &mut []).unwrap();
        assert_eq!(to_c_order(&[], &[1 << 62], 16, &mut []), Err(NpyError::Overflow));
        to_c_order(&[1, 2], &[2], 1, &mut [0; 3]).unwrap_err();
    }

    proptest! {
        #[test]
        fn transposing_follows_the_definition(
            shape in prop::collection::vec(1u64..5, 0..5),
            item_size in 1usize..5,
        ) {
            let count = usize::try_from(shape.iter().product::<u64>()).unwrap();
            let data: Vec<u8> = (0..count * item_size).map(|i| u8::try_from(i % 251).unwrap()).collect();
            let mut out = vec![0; data.len()];
            to_c_order(&data, &shape, item_size, &mut out).unwrap();
            for c in 0..count {
                // The index of element c in C order, and its place in Fortran order.
                let (mut rest, mut index) = (c, vec![0; shape.len()]);
                for (i, &n) in shape.iter().enumerate().rev() {
                    let n = usize::try_from(n).unwrap();
                    (index[i], rest) = (rest % n, rest / n);
                }
                let mut stride = 1;
                let mut f = 0;
                for (i, &n) in index.iter().zip(&shape) {
                    f += i * stride;
                    stride *= usize::try_from(n).unwrap();
                }
                let (from, to) = (f * item_size, c * item_size);
                prop_assert_eq!(&out[to..to + item_size], &data[from..from + item_size]);
            }
        }
    }
}
