//! The protobuf wire format: fields in any order, unknown ones passed over.
//!
//! ```text
//! field = tag varint (number << 3 | type), value      type 0 varint, 1 eight bytes, 2 length varint + bytes, 5 four bytes
//! varint = 7 bits a byte, low ones first, high bit = more follow; at most 10 bytes
//! ```
//!
//! Types 3 and 4 bracket a group, long deprecated; groups are passed over whole.

/// How deep groups may nest, as in Google's parsers.
const DEPTH: u32 = 100;

/// Damage to a message and where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind} at byte {offset}")]
pub struct WireError {
    /// Where, from the start of the outermost message.
    pub offset: u64,
    /// What is wrong.
    pub kind: WireErrorKind,
}

/// What is wrong with a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WireErrorKind {
    /// The message ends inside a field.
    #[error("expected the rest of a field, found the end of the message")]
    Truncated,
    /// A varint of more than 64 bits.
    #[error("expected a varint of at most 64 bits")]
    Varint,
    /// A tag with field number 0, a number above 2²⁹-1, or an unknown type.
    #[error("expected a field tag, found {0}")]
    Tag(u64),
    /// A group that ends without a start or under another number.
    #[error("expected groups to match")]
    Group,
    /// Groups inside groups beyond any use.
    #[error("expected groups nested at most 100 deep")]
    Depth,
    /// A packed list that ends inside a value.
    #[error("expected whole values in a packed list")]
    Packed,
}

/// Bytes of a message and where they start in the outermost one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span<'a> {
    /// The bytes.
    pub bytes: &'a [u8],
    /// Where they start.
    pub offset: u64,
}

impl<'a> Span<'a> {
    /// A whole outermost message.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, offset: 0 }
    }
}

/// One field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field<'a> {
    /// Its number, 1 to 2²⁹-1.
    pub number: u32,
    /// Its value.
    pub value: Value<'a>,
}

/// The value of a field, by wire type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// Type 0.
    Varint(u64),
    /// Type 1, little-endian.
    Fixed64([u8; 8]),
    /// Type 2: text, bytes, a message or a packed list.
    Bytes(Span<'a>),
    /// Type 5, little-endian.
    Fixed32([u8; 4]),
}

/// Reads the fields of one message; an error is the last item.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
    /// Where `rest` ends in the outermost message.
    end: u64,
}

impl<'a> Reader<'a> {
    /// Starts at the first field of `message`.
    pub fn new(message: Span<'a>) -> Self {
        let end = message.offset.saturating_add(wide(message.bytes.len()));
        Self { rest: message.bytes, end }
    }

    fn offset(&self) -> u64 {
        self.end.saturating_sub(wide(self.rest.len()))
    }

    #[cold]
    fn error(&self, kind: WireErrorKind) -> WireError {
        WireError { offset: self.offset(), kind }
    }

    #[inline]
    fn varint(&mut self) -> Result<u64, WireError> {
        let (value, rest) = split_varint(self.rest).map_err(|kind| self.error(kind))?;
        self.rest = rest;
        Ok(value)
    }

    fn chunk<const N: usize>(&mut self) -> Result<[u8; N], WireError> {
        match self.rest.split_first_chunk() {
            Some((chunk, rest)) => {
                self.rest = rest;
                Ok(*chunk)
            }
            None => Err(self.error(WireErrorKind::Truncated)),
        }
    }

    /// A length and that many bytes; where they are missing, the place of the error is the length.
    #[inline]
    fn span(&mut self) -> Result<Span<'a>, WireError> {
        let start = self.rest;
        let len = self.varint()?;
        let offset = self.offset();
        match usize::try_from(len).ok().and_then(|len| self.rest.split_at_checked(len)) {
            Some((bytes, rest)) => {
                self.rest = rest;
                Ok(Span { bytes, offset })
            }
            None => Err(Self { rest: start, ..*self }.error(WireErrorKind::Truncated)),
        }
    }

    /// The next tag: number and type.
    #[inline]
    fn tag(&mut self) -> Result<(u32, u64), WireError> {
        let start = self.rest;
        let tag = self.varint()?;
        match u32::try_from(tag) {
            Ok(low @ 8..) => Ok((low >> 3, tag & 7)),
            _ => Err(Self { rest: start, ..*self }.error(WireErrorKind::Tag(tag))),
        }
    }

    /// The value of a type, or `None` for a group bracket.
    #[inline]
    fn value(&mut self, wire_type: u64) -> Result<Option<Value<'a>>, WireError> {
        Ok(Some(match wire_type {
            0 => Value::Varint(self.varint()?),
            1 => Value::Fixed64(self.chunk()?),
            2 => Value::Bytes(self.span()?),
            5 => Value::Fixed32(self.chunk()?),
            3 | 4 => return Ok(None),
            other => return Err(self.error(WireErrorKind::Tag(other))),
        }))
    }

    #[inline]
    fn field(&mut self) -> Result<Option<Field<'a>>, WireError> {
        while !self.rest.is_empty() {
            let (number, wire_type) = self.tag()?;
            if let Some(value) = self.value(wire_type)? {
                return Ok(Some(Field { number, value }));
            }
            self.group(number, wire_type, DEPTH)?;
        }
        Ok(None)
    }

    /// Passes over a group whose bracket was just read.
    fn group(&mut self, number: u32, wire_type: u64, depth: u32) -> Result<(), WireError> {
        if wire_type == 4 {
            return Err(self.error(WireErrorKind::Group));
        }
        let depth = depth.checked_sub(1).ok_or_else(|| self.error(WireErrorKind::Depth))?;
        loop {
            if self.rest.is_empty() {
                return Err(self.error(WireErrorKind::Truncated));
            }
            let (inner, wire_type) = self.tag()?;
            if wire_type == 4 && inner == number {
                return Ok(());
            }
            if self.value(wire_type)?.is_none() {
                self.group(inner, wire_type, depth)?;
            }
        }
    }
}

impl<'a> Iterator for Reader<'a> {
    type Item = Result<Field<'a>, WireError>;

    fn next(&mut self) -> Option<Self::Item> {
        let field = self.field();
        if field.is_err() {
            self.rest = &[];
        }
        field.transpose()
    }
}

impl std::iter::FusedIterator for Reader<'_> {}

/// The values of a repeated varint field, packed or not; an error is the last item.
#[derive(Clone, Debug)]
pub struct Varints<'a> {
    fields: Reader<'a>,
    number: u32,
    packed: Reader<'a>,
}

impl<'a> Varints<'a> {
    /// Reads field `number` of `message`.
    pub fn new(message: Span<'a>, number: u32) -> Self {
        let packed = Reader::new(Span { bytes: &[], ..message });
        Self { fields: Reader::new(message), number, packed }
    }
}

impl Iterator for Varints<'_> {
    type Item = Result<u64, WireError>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.packed.rest.is_empty() {
            match self.fields.next()? {
                Err(error) => return Some(Err(error)),
                Ok(Field { number, .. }) if number != self.number => {}
                Ok(Field { value: Value::Varint(value), .. }) => return Some(Ok(value)),
                Ok(Field { value: Value::Bytes(span), .. }) => self.packed = Reader::new(span),
                Ok(_) => {}
            }
        }
        let value = self.packed.varint().map_err(|e| match e.kind {
            WireErrorKind::Truncated => WireError { kind: WireErrorKind::Packed, ..e },
            _ => e,
        });
        if value.is_err() {
            (self.packed.rest, self.fields.rest) = (&[], &[]);
        }
        Some(value)
    }
}

impl std::iter::FusedIterator for Varints<'_> {}

/// The varint at the start of `bytes`, and what follows it; more bytes than it needs are fine, up to 10.
///
/// # Errors
/// [`WireErrorKind::Truncated`] where it goes on after `bytes`, [`WireErrorKind::Varint`] where it exceeds 64 bits.
#[inline]
pub fn split_varint(bytes: &[u8]) -> Result<(u64, &[u8]), WireErrorKind> {
    match bytes.split_first() {
        Some((&byte @ 0..0x80, rest)) => Ok((byte.into(), rest)),
        _ => split_long_varint(bytes),
    }
}

fn split_long_varint(bytes: &[u8]) -> Result<(u64, &[u8]), WireErrorKind> {
    let mut value = 0u64;
    for (i, &byte) in bytes.iter().enumerate().take(10) {
        if i == 9 && byte > 1 {
            return Err(WireErrorKind::Varint);
        }
        value |= u64::from(byte & 0x7f) << (7 * i);
        if byte < 0x80 {
            return Ok((value, bytes.get(i + 1..).unwrap_or_default()));
        }
    }
    Err(WireErrorKind::Truncated)
}

/// Bytes that `value` takes as a varint.
pub fn varint_len(value: u64) -> u64 {
    u64::from((64 - (value | 1).leading_zeros()).div_ceil(7))
}

/// Appends `value` as a varint.
pub fn put_varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(low_bits(value) | 0x80);
        value >>= 7;
    }
    out.push(low_bits(value));
}

fn low_bits(value: u64) -> u8 {
    let [low, ..] = value.to_le_bytes();
    low & 0x7f
}

/// Appends a varint field.
pub fn put_varint_field(number: u32, value: u64, out: &mut Vec<u8>) {
    put_varint(u64::from(number) << 3, out);
    put_varint(value, out);
}

/// Appends tag and length of a field of `len` bytes, which must follow.
pub fn put_len(number: u32, len: u64, out: &mut Vec<u8>) {
    put_varint(u64::from(number) << 3 | 2, out);
    put_varint(len, out);
}

/// Appends a field of bytes.
pub fn put_bytes(number: u32, bytes: &[u8], out: &mut Vec<u8>) {
    put_len(number, wide(bytes.len()), out);
    out.extend_from_slice(bytes);
}

/// Bytes that a field of `len` bytes takes with its tag and length.
pub fn bytes_field_len(number: u32, len: u64) -> u64 {
    varint_len(u64::from(number) << 3) + varint_len(len) + len
}

/// A length in memory, as messages count it.
pub(crate) fn wide(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn fields(bytes: &[u8]) -> Result<Vec<Field<'_>>, WireError> {
        Reader::new(Span::new(bytes)).collect()
    }

    fn fails(bytes: &[u8]) -> (WireErrorKind, u64) {
        let error = fields(bytes).unwrap_err();
        (error.kind, error.offset)
    }

    #[test]
    fn all_types() {
        let bytes = b"\x08\x96\x01\x11ABCDEFGH\x1a\x02hi\x25wxyz\xfa\xff\xff\xff\x0f\0";
        let span = Span { bytes: b"hi", offset: 14 };
        let last = Span { bytes: b"", offset: 27 };
        assert_eq!(
            fields(bytes).unwrap(),
            [
                Field { number: 1, value: Value::Varint(150) },
                Field { number: 2, value: Value::Fixed64(*b"ABCDEFGH") },
                Field { number: 3, value: Value::Bytes(span) },
                Field { number: 4, value: Value::Fixed32(*b"wxyz") },
                Field { number: (1 << 29) - 1, value: Value::Bytes(last) },
            ]
        );
    }

    #[test]
    fn groups_are_passed_over() {
        // Group 1 with a field, an inner group 2 and a string that looks like an end.
        let bytes = b"\x0b\x08\x05\x13\x14\x12\x01\x0c\x0c\x10\x07";
        assert_eq!(fields(bytes).unwrap(), [Field { number: 2, value: Value::Varint(7) }]);
        assert_eq!(fails(b"\x0c"), (WireErrorKind::Group, 1));
        assert_eq!(fails(b"\x0b\x14"), (WireErrorKind::Group, 2));
        assert_eq!(fails(b"\x0b\x08\x05"), (WireErrorKind::Truncated, 3));
        let nested = |n| [vec![0x0b; n], vec![0x0c; n]].concat();
        assert_eq!(fields(&nested(100)).unwrap(), []);
        assert_eq!(fails(&nested(101)).0, WireErrorKind::Depth);
        assert_eq!(fails(&vec![0x0b; 100_000]).0, WireErrorKind::Depth);
    }

    #[test]
    fn damage_has_its_kind_and_place() {
        assert_eq!(fails(b"\x08"), (WireErrorKind::Truncated, 1));
        assert_eq!(fails(b"\x08\x80\x80"), (WireErrorKind::Truncated, 1));
        assert_eq!(fails(b"\x12\x05hell"), (WireErrorKind::Truncated, 1));
        assert_eq!(fails(b"\x09ABCDEFG"), (WireErrorKind::Truncated, 1));
        assert_eq!(fails(b"\x0dABC"), (WireErrorKind::Truncated, 1));
        assert_eq!(
            fails(b"\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
            (WireErrorKind::Truncated, 1)
        );
        assert_eq!(
            fails(b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"),
            (WireErrorKind::Varint, 1)
        );
        assert_eq!(
            fails(b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x81\0"),
            (WireErrorKind::Varint, 1)
        );
        assert_eq!(fails(b"\x08\x01\x02\x00"), (WireErrorKind::Tag(2), 2));
        assert_eq!(fails(b"\x0e"), (WireErrorKind::Tag(6), 1));
        assert_eq!(fails(b"\x80\x80\x80\x80\x10"), (WireErrorKind::Tag(1 << 32), 0));
        let mut reader = Reader::new(Span::new(b"\x0e\x08\x01"));
        assert!(reader.next().unwrap().is_err());
        assert_eq!(reader.next(), None);
    }

    #[test]
    fn repeated_varints_packed_and_not() {
        // One unpacked, three packed, an empty pack, another field, one unpacked.
        let bytes = b"\x08\x01\x0a\x04\x02\x83\x01\x04\x0a\0\x10\x63\x08\x05";
        let all: Result<Vec<u64>, _> = Varints::new(Span::new(bytes), 1).collect();
        assert_eq!(all.unwrap(), [1, 2, 131, 4, 5]);
        let mut cut = Varints::new(Span::new(b"\x0a\x02\x01\x80\x08\x05"), 1);
        assert_eq!(cut.next(), Some(Ok(1)));
        let error = WireError { offset: 3, kind: WireErrorKind::Packed };
        assert_eq!(cut.next(), Some(Err(error)));
        assert_eq!(cut.next(), None);
    }

    #[test]
    fn writing() {
        let mut out = Vec::new();
        put_varint_field(1, 150, &mut out);
        put_bytes(16, b"hi", &mut out);
        assert_eq!(out, b"\x08\x96\x01\x82\x01\x02hi");
        assert_eq!(bytes_field_len(16, 2), 5);
    }

    proptest! {
        #[test]
        fn varints_come_back(value: u64, shift in 0u32..64) {
            let value = value >> shift;
            let mut out = Vec::new();
            put_varint(value, &mut out);
            prop_assert_eq!(wide(out.len()), varint_len(value));
            let mut reader = Reader::new(Span::new(&out));
            prop_assert_eq!(reader.varint(), Ok(value));
            prop_assert!(reader.rest.is_empty());
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let _ = fields(&bytes);
            let _ = Varints::new(Span::new(&bytes), 1).count();
        }
    }
}
