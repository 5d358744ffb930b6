//! One value, and how it is spelled for people.

use half::{bf16, f16};
use packstone_container::json::{self, Value};

use super::dtype::DType;

/// A typed, shaped view of a value's bytes: little-endian, C order; UTF-8 for text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ValueRef<'a> {
    /// The type of an element.
    pub dtype: &'a DType,
    /// The shape; empty for scalars and for variable text and bytes.
    pub shape: &'a [u64],
    /// The bytes.
    pub bytes: &'a [u8],
}

impl ValueRef<'_> {
    /// The value as JSON: nested arrays of numbers, text, or lower-case hex for bytes.
    ///
    /// Floats are spelled as Python spells them; `"NaN"`, `"Infinity"` and `"-Infinity"` stand as text. Complex numbers
    /// are pairs, dates and time spans are their counts of units, extended floats and void are hex.
    pub fn to_json(&self) -> Value {
        match self.dtype {
            DType::Str => Value::from(String::from_utf8_lossy(self.bytes).into_owned()),
            DType::Bytes => Value::from(packstone_container::digest::hex(self.bytes)),
            DType::Json => packstone_container::json::read(
                self.bytes,
                &json::ReadOptions::default().with_nan(true),
            )
            .map_or_else(|_| Value::Null, |document| document.value),
            _ => self.nested(self.shape, self.bytes),
        }
    }

    fn nested(&self, shape: &[u64], bytes: &[u8]) -> Value {
        let Some((dim, inner)) = shape.split_first() else { return self.element(bytes) };
        let count = usize::try_from(*dim).unwrap_or(0).max(1);
        let each = (bytes.len() / count).max(1);
        bytes
            .chunks(each)
            .take(count)
            .map(|part| self.nested(inner, part))
            .collect::<Vec<_>>()
            .into()
    }

    fn element(&self, bytes: &[u8]) -> Value {
        use DType::*;
        fn le<const N: usize>(bytes: &[u8]) -> Option<[u8; N]> {
            bytes.first_chunk::<N>().copied()
        }
        let whole = |n: i128| Value::from(n);
        let value = match self.dtype {
            Bool => bytes.first().map(|b| Value::Bool(*b != 0)),
            Int8 => le(bytes).map(|b| whole(i8::from_le_bytes(b).into())),
            Int16 => le(bytes).map(|b| whole(i16::from_le_bytes(b).into())),
            Int32 => le(bytes).map(|b| whole(i32::from_le_bytes(b).into())),
            Int if bytes.len() == 16 => le(bytes).map(|b| whole(i128::from_le_bytes(b))),
            Int64 | Int | DateTime(_) | TimeDelta(_) => {
                le(bytes).map(|b| whole(i64::from_le_bytes(b).into()))
            }
            UInt8 => bytes.first().map(|b| whole((*b).into())),
            UInt16 => le(bytes).map(|b| whole(u16::from_le_bytes(b).into())),
            UInt32 => le(bytes).map(|b| whole(u32::from_le_bytes(b).into())),
            UInt64 => le(bytes).map(|b| whole(u64::from_le_bytes(b).into())),
            Float16 => le(bytes).map(|b| float(f16::from_le_bytes(b).to_f64())),
            BFloat16 => le(bytes).map(|b| float(bf16::from_le_bytes(b).to_f64())),
            Float32 => le(bytes).map(|b| float(f32::from_le_bytes(b).into())),
            Float64 => le(bytes).map(|b| float(f64::from_le_bytes(b))),
            Complex64 => bytes.split_at_checked(4).and_then(|(re, im)| {
                let part = |b| le(b).map(|b| float(f32::from_le_bytes(b).into()));
                Some(vec![part(re)?, part(im)?].into())
            }),
            Complex128 => bytes.split_at_checked(8).and_then(|(re, im)| {
                let part = |b| le(b).map(|b| float(f64::from_le_bytes(b)));
                Some(vec![part(re)?, part(im)?].into())
            }),
            FixedText(_) => {
                let (points, _) = bytes.as_chunks::<4>();
                let text: String = points
                    .iter()
                    .map(|c| char::from_u32(u32::from_le_bytes(*c)).unwrap_or('\u{fffd}'))
                    .collect();
                Some(Value::from(text.trim_end_matches('\0')))
            }
            _ => None,
        };
        value.unwrap_or_else(|| Value::from(packstone_container::digest::hex(bytes)))
    }
}

fn float(x: f64) -> Value {
    match json::Number::from_f64_in(x, json::FloatStyle::Python) {
        Some(number) => Value::Number(number),
        None if x.is_nan() => Value::from("NaN"),
        None if x > 0.0 => Value::from("Infinity"),
        None => Value::from("-Infinity"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_spelled_as_python_spells_them() {
        let show = |dtype: DType, shape: &[u64], bytes: &[u8]| {
            ValueRef { dtype: &dtype, shape, bytes }.to_json().to_string()
        };
        assert_eq!(show(DType::Float32, &[], &0.1f32.to_le_bytes()), "0.10000000149011612");
        assert_eq!(show(DType::Float64, &[], &1e-7f64.to_le_bytes()), "1e-07");
        assert_eq!(show(DType::Float64, &[], &f64::NAN.to_le_bytes()), "\"NaN\"");
        assert_eq!(show(DType::UInt8, &[2, 2], &[1, 2, 3, 4]), "[[1,2],[3,4]]");
        assert_eq!(show(DType::UInt64, &[], &u64::MAX.to_le_bytes()), "18446744073709551615");
        assert_eq!(show(DType::Bytes, &[], &[0xff, 0]), "\"ff00\"");
        assert_eq!(show(DType::FixedText(2), &[], &[0x41, 0, 0, 0, 0, 0, 0, 0]), "\"A\"");
        assert_eq!(show(DType::Complex64, &[], &[0, 0, 128, 63, 0, 0, 0, 0]), "[1.0,0.0]");
    }
}
