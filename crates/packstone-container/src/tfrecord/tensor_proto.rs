//! `TensorProto` of half floats, which is how TensorFlow stores them in a bytes feature.
//!
//! ```text
//! TensorProto { 1: dtype = 19, 2: shape { 2: dim { 1: size } }*, 4: content }     content: little-endian, C order
//! ```
//!
//! Other producers put the bits into field 13 (`half_val`), one varint each, and may leave out the end of a run of equal
//! values: the last one fills the rest.

use crate::wire::{
    Field, Reader, Span, Value, Varints, WireError, bytes_field_len, put_bytes, put_len,
    put_varint_field, varint_len, wide,
};

/// `DT_HALF`.
const HALF: u64 = 19;
/// TensorFlow's own limit on axes.
const RANK_MAX: usize = 254;

/// Why a message is not a tensor of half floats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TensorError {
    /// The bytes are not a protobuf message.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// The tensor holds something else.
    #[error("expected a tensor of half floats (type 19), found type {found}")]
    Dtype {
        /// TensorFlow's number of the type found; 0 where none is given.
        found: u64,
    },
    /// The shape is unknown, has an axis of unknown length, more than 254 axes, or too many elements.
    #[error("expected a fully known shape of at most 254 axes and 2⁶³ bytes")]
    Shape,
    /// There are more or fewer values than the shape asks for.
    #[error("expected {expected} bytes of values, found {found}")]
    Length {
        /// Bytes the shape asks for.
        expected: u64,
        /// Bytes present.
        found: u64,
    },
    /// A value in `half_val` has more than 16 bits.
    #[error("expected half floats, found {found:#x}")]
    Value {
        /// The value.
        found: u64,
    },
}

/// A tensor of half floats.
#[derive(Clone, Debug)]
pub struct HalfTensor<'a> {
    shape: Vec<u64>,
    /// Bytes that the shape asks for.
    len: u64,
    message: Span<'a>,
    content: &'a [u8],
}

impl<'a> HalfTensor<'a> {
    /// Reads the message `bytes`.
    ///
    /// # Errors
    /// [`TensorError`].
    pub fn parse(bytes: &'a [u8]) -> Result<Self, TensorError> {
        let message = Span::new(bytes);
        let (mut dtype, mut shape, mut content) = (0, Vec::new(), &[][..]);
        for field in Reader::new(message) {
            match field? {
                Field { number: 1, value: Value::Varint(found) } => dtype = found,
                Field { number: 2, value: Value::Bytes(span) } => dims(span, &mut shape)?,
                Field { number: 4, value: Value::Bytes(span) } => content = span.bytes,
                _ => {}
            }
        }
        if dtype != HALF {
            return Err(TensorError::Dtype { found: dtype });
        }
        let len = byte_len(&shape)?;
        // Empty content means that the values are in field 13.
        if !content.is_empty() {
            check_len(len, content.len())?;
        }
        Ok(Self { shape, len, message, content })
    }

    /// Elements along each axis; empty for a scalar.
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// Copies the values as little-endian bytes in C order into `out`, which must have their length: two bytes for each
    /// element that the caller expects.
    ///
    /// # Errors
    /// [`TensorError`] where the length differs or the values are damaged or too many.
    pub fn copy_to(&self, out: &mut [u8]) -> Result<(), TensorError> {
        check_len(self.len, out.len())?;
        if !self.content.is_empty() {
            out.copy_from_slice(self.content);
            return Ok(());
        }
        let mut values = Varints::new(self.message, 13);
        let mut last = [0, 0];
        for element in out.as_chunks_mut().0 {
            if let Some(value) = values.next() {
                let found = value?;
                let half = u16::try_from(found).map_err(|_| TensorError::Value { found })?;
                last = half.to_le_bytes();
            }
            *element = last;
        }
        match values.next().transpose()? {
            None => Ok(()),
            Some(_) => {
                let found = self.len.saturating_add(2);
                Err(TensorError::Length { expected: self.len, found })
            }
        }
    }
}

/// Appends the lengths of a `TensorShapeProto`.
fn dims(message: Span<'_>, shape: &mut Vec<u64>) -> Result<(), TensorError> {
    for field in Reader::new(message) {
        match field? {
            Field { number: 2, value: Value::Bytes(dim) } => {
                if shape.len() == RANK_MAX {
                    return Err(TensorError::Shape);
                }
                let mut size = 0;
                for field in Reader::new(dim) {
                    if let Field { number: 1, value: Value::Varint(found) } = field? {
                        size = found;
                    }
                }
                shape.push(size);
            }
            Field { number: 3, value: Value::Varint(1..) } => return Err(TensorError::Shape),
            _ => {}
        }
    }
    Ok(())
}

/// Bytes of a tensor; lengths are signed in the message, so -1 (unknown) shows as more than 2⁶³.
fn byte_len(shape: &[u64]) -> Result<u64, TensorError> {
    let most = i64::MAX.cast_unsigned();
    if shape.iter().any(|&axis| axis > most) {
        return Err(TensorError::Shape);
    }
    if shape.contains(&0) {
        return Ok(0);
    }
    let len = shape.iter().try_fold(2u64, |n, &axis| n.checked_mul(axis));
    len.filter(|&n| n <= most).ok_or(TensorError::Shape)
}

fn check_len(expected: u64, found: usize) -> Result<(), TensorError> {
    let found = wide(found);
    if expected == found { Ok(()) } else { Err(TensorError::Length { expected, found }) }
}

/// Appends the message for a tensor of `shape` whose little-endian bytes in C order are `values`, as TensorFlow writes
/// it.
///
/// # Errors
/// [`TensorError::Shape`], [`TensorError::Length`]; nothing is appended then.
pub fn write_half(shape: &[u64], values: &[u8], out: &mut Vec<u8>) -> Result<(), TensorError> {
    check_len(byte_len(shape)?, values.len())?;
    // Protobuf leaves zeros out.
    let dim_len = |axis: u64| if axis == 0 { 0 } else { 1 + varint_len(axis) };
    put_varint_field(1, HALF, out);
    put_len(2, shape.iter().map(|&axis| bytes_field_len(2, dim_len(axis))).sum(), out);
    for &axis in shape {
        put_len(2, dim_len(axis), out);
        if axis != 0 {
            put_varint_field(1, axis, out);
        }
    }
    if !values.is_empty() {
        put_bytes(4, values, out);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Written by TensorFlow: shape (2, 3) and a scalar.
    const MATRIX: &[u8] =
        b"\x08\x13\x12\x08\x12\x02\x08\x02\x12\x02\x08\x03\x22\x0c\xc4\x3b\xdf\x49\xc5\xb8\xe3\xb5\x22\xc0\xb4\x48";
    const SCALAR: &[u8] = b"\x08\x13\x12\0\x22\x02\x24\x47";

    fn read(bytes: &[u8]) -> Result<(Vec<u64>, Vec<u8>), TensorError> {
        let tensor = HalfTensor::parse(bytes)?;
        let elements: u64 = tensor.shape().iter().product();
        let mut out = vec![0xee; usize::try_from(elements).unwrap().min(1 << 16) * 2];
        tensor.copy_to(&mut out)?;
        Ok((tensor.shape().to_vec(), out))
    }

    #[test]
    fn what_tensorflow_writes() {
        assert_eq!(read(MATRIX).unwrap(), (vec![2, 3], MATRIX[14..].to_vec()));
        assert_eq!(read(SCALAR).unwrap(), (vec![], vec![0x24, 0x47]));
        let mut out = Vec::new();
        write_half(&[2, 3], &MATRIX[14..], &mut out).unwrap();
        write_half(&[], &[0x24, 0x47], &mut out).unwrap();
        assert_eq!(out, [MATRIX, SCALAR].concat());
    }

    #[test]
    fn empty_tensors() {
        let mut out = Vec::new();
        write_half(&[2, 0], &[], &mut out).unwrap();
        assert_eq!(out, b"\x08\x13\x12\x06\x12\x02\x08\x02\x12\0");
        assert_eq!(read(&out).unwrap(), (vec![2, 0], vec![]));
    }

    #[test]
    fn values_in_field_13() {
        let start = b"\x08\x13\x12\x04\x12\x02\x08\x03";
        let of = |rest: &[u8]| read(&[start, rest].concat()).map(|(_, values)| values);
        // Packed 0x3c00, 0x4000, then one that fills; unpacked; none at all.
        assert_eq!(of(b"\x6a\x06\x80\x78\x80\x80\x01\x07").unwrap(), [0, 0x3c, 0, 0x40, 7, 0]);
        assert_eq!(of(b"\x68\x80\x78\x68\x05").unwrap(), [0, 0x3c, 5, 0, 5, 0]);
        assert_eq!(of(b"").unwrap(), [0; 6]);
        assert!(matches!(
            of(b"\x6a\x04\x01\x01\x01\x01"),
            Err(TensorError::Length { found: 8, .. })
        ));
        assert_eq!(of(b"\x68\x80\x80\x04"), Err(TensorError::Value { found: 0x10000 }));
    }

    #[test]
    fn other_tensors_are_refused() {
        assert_eq!(read(b"\x08\x01").unwrap_err(), TensorError::Dtype { found: 1 });
        assert_eq!(read(b"").unwrap_err(), TensorError::Dtype { found: 0 });
        let shape = |dims: &[u8]| {
            let mut bytes = b"\x08\x13".to_vec();
            put_bytes(2, dims, &mut bytes);
            HalfTensor::parse(&bytes).map(|_| ())
        };
        let unknown = shape(b"\x12\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
        assert_eq!(unknown, Err(TensorError::Shape));
        assert_eq!(shape(b"\x18\x01"), Err(TensorError::Shape));
        assert_eq!(shape(&b"\x12\x02\x08\x01".repeat(254)), Ok(()));
        assert_eq!(shape(&b"\x12\x02\x08\x01".repeat(255)), Err(TensorError::Shape));
        assert_eq!(shape(&b"\x12\x02\x08\x7f".repeat(9)), Err(TensorError::Shape));
        // 2⁶¹ elements announced, two bytes given, none allocated.
        let vast = b"\x08\x13\x12\x0c\x12\x0a\x08\x80\x80\x80\x80\x80\x80\x80\x80\x20\x22\x02ab";
        assert!(matches!(HalfTensor::parse(vast), Err(TensorError::Length { found: 2, .. })));
    }

    #[test]
    fn lengths_must_agree() {
        let tensor = HalfTensor::parse(MATRIX).unwrap();
        let error = TensorError::Length { expected: 12, found: 10 };
        assert_eq!(tensor.copy_to(&mut [0; 10]), Err(error));
        let mut out = vec![1];
        assert!(write_half(&[2], &[0; 6], &mut out).is_err());
        assert!(write_half(&[u64::MAX], &[0; 6], &mut out).is_err());
        assert_eq!(out, [1]);
    }

    #[test]
    fn no_truncation_passes_as_the_tensor() {
        for len in 0..MATRIX.len() {
            if let Ok((shape, _)) = read(&MATRIX[..len]) {
                // Cut between fields: an earlier, shorter message, never the same tensor.
                assert!(len == 2 || len == 12, "{len} bytes, shape {shape:?}");
            }
        }
    }

    proptest! {
        #[test]
        fn changed_bytes_never_panic(at in 0..MATRIX.len(), byte: u8) {
            let mut bytes = MATRIX.to_vec();
            bytes[at] = byte;
            if let Ok(tensor) = HalfTensor::parse(&bytes) {
                let _ = tensor.copy_to(&mut [0; 12]);
            }
        }
    }
}
