//! The header of an array: parsed strictly, written as NumPy writes it.

use super::literal::Literals;
use super::{Item, NpyError};

const MAGIC: &[u8; 6] = b"\x93NUMPY";
/// Data starts at a multiple of this.
const ALIGN: usize = 64;
/// Characters that NumPy keeps free for the growing axis: 2⁶⁴-1 has 20 digits.
const GROWTH: usize = 21;
/// No header that can be read as a column comes near this; NumPy itself stops at 10,000.
const HEADER_MAX: usize = 1 << 20;

/// What stands before the data of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The element type as spelled, `<f4`; see [`Header::item`].
    pub descr: String,
    /// Whether the first axis is the one whose elements are neighbours.
    pub fortran_order: bool,
    /// Elements along each axis; empty for a scalar.
    pub shape: Vec<u64>,
    /// Where the data starts.
    pub data_offset: usize,
}

impl Header {
    /// Reads the header of `bytes`, a whole `.npy` file or archive member.
    ///
    /// # Errors
    /// [`NpyError`], in particular [`NpyError::Object`] and [`NpyError::Structured`] for arrays that are not columns.
    pub fn parse(bytes: &[u8]) -> Result<Self, NpyError> {
        let short =
            |expected| NpyError::Truncated { expected: wide(expected), found: wide(bytes.len()) };
        let rest = bytes.strip_prefix(MAGIC).ok_or(NpyError::Magic)?;
        let (&[major, minor], rest) = rest.split_first_chunk().ok_or(short(8))?;
        let (len, text) = match (major, minor) {
            (1, 0) => {
                let (len, text) = rest.split_first_chunk().ok_or(short(10))?;
                (u32::from(u16::from_le_bytes(*len)), text)
            }
            (2 | 3, 0) => {
                let (len, text) = rest.split_first_chunk().ok_or(short(12))?;
                (u32::from_le_bytes(*len), text)
            }
            _ => return Err(NpyError::Version { major, minor }),
        };
        let too_long = NpyError::HeaderTooLong { limit: wide(HEADER_MAX), found: len.into() };
        let len = usize::try_from(len).ok().filter(|&n| n <= HEADER_MAX).ok_or(too_long)?;
        let data_offset = bytes.len() - text.len() + len;
        let text = text.get(..len).ok_or(short(data_offset))?;
        let (descr, fortran_order, shape) = fields(Literals::new(text, wide(data_offset)))?;
        Ok(Self { descr, fortran_order, shape, data_offset })
    }

    /// The element type.
    ///
    /// # Errors
    /// As [`Item::parse`].
    pub fn item(&self) -> Result<Item, NpyError> {
        Item::parse(&self.descr)
    }

    /// How many elements the shape holds. It is not held against the data: elements may have no bytes.
    ///
    /// # Errors
    /// [`NpyError::Overflow`].
    pub fn elements(&self) -> Result<u64, NpyError> {
        elements(&self.shape)
    }

    /// Bytes of data that the shape asks for.
    ///
    /// # Errors
    /// [`NpyError::Overflow`].
    pub fn data_len(&self, item_size: usize) -> Result<u64, NpyError> {
        self.elements()?.checked_mul(wide(item_size)).ok_or(NpyError::Overflow)
    }

    /// The data of `bytes`, which the header was read from; it must have exactly the length that the shape asks for.
    ///
    /// # Errors
    /// [`NpyError::Length`], [`NpyError::Overflow`].
    pub fn data<'a>(&self, bytes: &'a [u8], item_size: usize) -> Result<&'a [u8], NpyError> {
        let data = bytes.get(self.data_offset..).unwrap_or_default();
        let (expected, found) = (self.data_len(item_size)?, wide(data.len()));
        if expected == found { Ok(data) } else { Err(NpyError::Length { expected, found }) }
    }
}

/// The product of `shape`; an axis of length 0 makes it 0, however long the others are.
pub(super) fn elements(shape: &[u64]) -> Result<u64, NpyError> {
    if shape.contains(&0) {
        return Ok(0);
    }
    shape.iter().try_fold(1u64, |n, &axis| n.checked_mul(axis)).ok_or(NpyError::Overflow)
}

fn fields(mut text: Literals<'_>) -> Result<(String, bool, Vec<u64>), NpyError> {
    let (mut descr, mut fortran_order, mut shape) = (None, None, None);
    text.need(b'{', "a dictionary")?;
    while !text.take(b'}') {
        let key = text.string()?;
        text.need(b':', "a colon")?;
        let again = match key {
            "descr" => {
                if let Some(b'[' | b'(' | b'{') = text.peek() {
                    return Err(NpyError::Structured);
                }
                descr.replace(text.string()?).is_some()
            }
            "fortran_order" => fortran_order.replace(text.boolean()?).is_some(),
            "shape" => shape.replace(text.shape()?).is_some(),
            _ => return Err(NpyError::Keys { found: "an unknown one" }),
        };
        if again {
            return Err(NpyError::Keys { found: "one twice" });
        }
        if !text.take(b',') && text.peek() != Some(b'}') {
            return Err(text.error("a comma or the end of the dictionary"));
        }
    }
    if text.peek().is_some() {
        return Err(text.error("the end of the header"));
    }
    let (Some(descr), Some(fortran_order), Some(shape)) = (descr, fortran_order, shape) else {
        return Err(NpyError::Keys { found: "one missing" });
    };
    if Item::parse(descr) == Err(NpyError::Object) {
        return Err(NpyError::Object);
    }
    Ok((descr.to_owned(), fortran_order, shape))
}

/// Appends the header that NumPy 2 writes for such an array: version 1.0, or 2.0 where the text is longer than 65,535
/// bytes.
///
/// # Errors
/// [`NpyError::Descr`], [`NpyError::Object`] where `descr` is no plain type; [`NpyError::HeaderTooLong`] where the
/// shape has some hundred thousand axes.
pub fn write_header(
    descr: &str,
    shape: &[u64],
    fortran_order: bool,
    out: &mut Vec<u8>,
) -> Result<(), NpyError> {
    Item::parse(descr)?;
    let axes: Vec<String> = shape.iter().map(u64::to_string).collect();
    let comma = if axes.len() == 1 { "," } else { "" };
    let fortran = if fortran_order { "True" } else { "False" };
    let axes_text = axes.join(", ");
    let mut text = format!(
        "{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': ({axes_text}{comma}), }}"
    );
    let growing = if fortran_order { axes.last() } else { axes.first() };
    let room = growing.map_or(0, |axis| GROWTH.saturating_sub(axis.len()));
    text.extend(std::iter::repeat_n(' ', room));
    // The line end counts; where the sum is a multiple already, NumPy adds a whole block.
    let padded = |prefix: usize| text.len() + 1 + ALIGN - (prefix + text.len() + 1) % ALIGN;
    let found = wide(padded(12));
    let too_long = NpyError::HeaderTooLong { limit: wide(HEADER_MAX), found };
    let long = u32::try_from(found).ok().filter(|_| padded(12) <= HEADER_MAX).ok_or(too_long)?;
    let start = out.len();
    out.extend_from_slice(MAGIC);
    let end = if let Ok(short) = u16::try_from(padded(10)) {
        out.extend_from_slice(&[1, 0]);
        out.extend_from_slice(&short.to_le_bytes());
        start + 10 + padded(10)
    } else {
        out.extend_from_slice(&[2, 0]);
        out.extend_from_slice(&long.to_le_bytes());
        start + 12 + padded(12)
    };
    out.extend_from_slice(text.as_bytes());
    out.resize(end - 1, b' ');
    out.push(b'\n');
    Ok(())
}

fn wide(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
