//! The three kinds of lists, read as they are iterated.

use crate::wire::{Field, Reader, Span, Value, Varints, WireError, WireErrorKind};

/// Byte strings.
#[derive(Clone, Copy, Debug)]
pub struct BytesList<'a>(Span<'a>);

impl<'a> BytesList<'a> {
    pub(super) fn new(message: Span<'a>) -> Self {
        Self(message)
    }

    /// The values, in order; an error is the last item.
    pub fn iter(&self) -> Values<'a> {
        Values(Reader::new(self.0))
    }
}

/// The values of a [`BytesList`].
#[derive(Clone, Debug)]
pub struct Values<'a>(Reader<'a>);

impl<'a> Iterator for Values<'a> {
    type Item = Result<&'a [u8], WireError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.0.next()? {
                Ok(Field { number: 1, value: Value::Bytes(span) }) => return Some(Ok(span.bytes)),
                Ok(_) => {}
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

/// 32-bit floats.
#[derive(Clone, Copy, Debug)]
pub struct FloatList<'a>(Span<'a>);

impl<'a> FloatList<'a> {
    pub(super) fn new(message: Span<'a>) -> Self {
        Self(message)
    }

    /// The values, in order; an error is the last item.
    pub fn iter(&self) -> Floats<'a> {
        Floats { fields: Reader::new(self.0), packed: &[] }
    }

    /// The values as little-endian bytes, where they stand together as all writers put them; `None` where they are
    /// scattered and must be iterated.
    ///
    /// # Errors
    /// [`WireError`] where the list is damaged.
    pub fn packed(&self) -> Result<Option<&'a [u8]>, WireError> {
        let mut fields = Reader::new(self.0).filter(|f| !matches!(f, Ok(f) if f.number != 1));
        match (fields.next().transpose()?, fields.next().transpose()?) {
            (None, _) => Ok(Some(&[])),
            (Some(Field { value: Value::Bytes(span), .. }), None) => whole(span).map(Some),
            _ => Ok(None),
        }
    }
}

/// A packed list without a partial value at its end.
fn whole(span: Span<'_>) -> Result<&[u8], WireError> {
    if span.bytes.len().is_multiple_of(4) {
        return Ok(span.bytes);
    }
    Err(WireError { offset: span.offset, kind: WireErrorKind::Packed })
}

/// The values of a [`FloatList`].
#[derive(Clone, Debug)]
pub struct Floats<'a> {
    fields: Reader<'a>,
    packed: &'a [u8],
}

impl Iterator for Floats<'_> {
    type Item = Result<f32, WireError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some((value, rest)) = self.packed.split_first_chunk() {
                self.packed = rest;
                return Some(Ok(f32::from_le_bytes(*value)));
            }
            match self.fields.next()? {
                Ok(Field { number: 1, value: Value::Fixed32(v) }) => {
                    return Some(Ok(f32::from_le_bytes(v)));
                }
                Ok(Field { number: 1, value: Value::Bytes(span) }) => match whole(span) {
                    Ok(packed) => self.packed = packed,
                    Err(error) => {
                        self.fields = Reader::new(Span { bytes: &[], ..span });
                        return Some(Err(error));
                    }
                },
                Ok(_) => {}
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

/// 64-bit integers.
#[derive(Clone, Copy, Debug)]
pub struct Int64List<'a>(Span<'a>);

impl<'a> Int64List<'a> {
    pub(super) fn new(message: Span<'a>) -> Self {
        Self(message)
    }

    /// The values, in order; an error is the last item.
    pub fn iter(&self) -> Int64s<'a> {
        Int64s(Varints::new(self.0, 1))
    }
}

/// The values of an [`Int64List`].
#[derive(Clone, Debug)]
pub struct Int64s<'a>(Varints<'a>);

impl Iterator for Int64s<'_> {
    type Item = Result<i64, WireError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|value| value.map(u64::cast_signed))
    }
}
