//! What a value is apart from the container that holds it.
//!
//! A Python integer of 64 bits is an `int64`, fixed `bytes` are an array of `uint8`, text and bytes of any length have
//! no shape. All else keeps its NumPy name, shape and bytes. `docs/digest.md` gives the rule to others.

use std::borrow::Cow;

use crate::model::{DType, Field};

/// The type of a field's values as content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ContentType {
    /// NumPy's name, or `str`, `bytes`, `int`.
    pub(super) dtype: Cow<'static, str>,
    /// The shape of one value.
    pub(super) shape: Vec<u64>,
    /// True where values have shapes of their own, of as many dimensions.
    pub(super) varying: bool,
}

impl ContentType {
    /// The type of the values of `field`; of Python integers that of those that fit 64 bits.
    pub(super) fn of(field: &Field) -> Self {
        let dtype = match field.dtype {
            DType::Bytes if !field.is_variable() => Cow::Borrowed("uint8"),
            ref other => other.content_name(),
        };
        let shape = if field.is_variable() { Vec::new() } else { field.shape.clone() };
        Self { dtype, shape, varying: field.varying }
    }
}

impl ContentType {
    /// True where values of both may be equal: whether a shape is known before or comes with each value is no content.
    pub(super) fn fits(&self, other: &Self) -> bool {
        let shapes = match self.varying || other.varying {
            true => self.shape.len() == other.shape.len(),
            false => self.shape == other.shape,
        };
        self.dtype == other.dtype && shapes
    }
}

impl std::fmt::Display for ContentType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.varying {
            true => write!(f, "{} of {} dimensions that vary", self.dtype, self.shape.len()),
            false => write!(f, "{} of shape {:?}", self.dtype, self.shape),
        }
    }
}

/// The bytes of a value as content: Python integers take 8 bytes where 8 are enough.
pub(super) fn content_bytes<'a>(dtype: &DType, bytes: &'a [u8]) -> &'a [u8] {
    match (dtype, bytes.first_chunk::<16>()) {
        (DType::Int, Some(wide))
            if bytes.len() == 16 && i64::try_from(i128::from_le_bytes(*wide)).is_ok() =>
        {
            bytes.get(..8).unwrap_or(bytes)
        }
        _ => bytes,
    }
}

/// True for a Python integer beyond 64 bits, whose type is `int`.
pub(super) fn is_wide(dtype: &DType, bytes: &[u8]) -> bool {
    *dtype == DType::Int && bytes.len() != 8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn containers_leave_no_trace_in_types() {
        let show =
            |dtype, shape: &[u64]| ContentType::of(&Field::new("x", dtype, shape)).to_string();
        assert_eq!(show(DType::Int, &[]), "int64 of shape []");
        assert_eq!(show(DType::Bytes, &[7]), "uint8 of shape [7]");
        assert_eq!(show(DType::Bytes, &[]), "bytes of shape []");
        assert_eq!(show(DType::Str, &[]), "str of shape []");
        assert_eq!(show(DType::FixedText(3), &[2]), "<U3 of shape [2]");
        assert_eq!(show(DType::Float32, &[2, 3]), "float32 of shape [2, 3]");
    }

    #[test]
    fn integers_are_as_wide_as_they_must_be() {
        for (n, len) in [(-1i128, 8), (i64::MIN.into(), 8), (1 << 63, 16), (i128::MIN, 16)] {
            let bytes = n.to_le_bytes();
            let content = content_bytes(&DType::Int, &bytes);
            assert_eq!((content.len(), is_wide(&DType::Int, content)), (len, len == 16), "{n}");
            assert!(bytes.starts_with(content));
        }
        assert_eq!(content_bytes(&DType::Complex128, &[0; 16]).len(), 16);
    }
}
