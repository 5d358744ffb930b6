//! Arrays that are written as JSON: nested lists of numbers, or hex.
//!
//! ```text
//! [[0, 1], [1, 0]]                                     integers are int64, others float64, true and false bool
//! {"dtype": "uint8", "data": [[0, 1], [1, 0]]}         perhaps with "shape", "axes", "metadata"
//! {"dtype": "float32", "shape": [2], "hex": "0000803f00000040"}
//! ```
//!
//! A complex number is a pair; `"NaN"`, `"Infinity"` and `"-Infinity"` are text. A number that the type does not have is
//! refused, except that floats are rounded.

use half::f16;
use packstone_container::json::{At, ShapeError, Value};
use packstone_io::Buf;

use super::axes::{Axis, parse_all};
use super::notes::Notes;
use super::record::{DTYPES, RecordField};
use crate::error::Place;
use crate::model::DType;

const KEYS: [&str; 6] = ["axes", "data", "dtype", "hex", "metadata", "shape"];

/// Reads an array.
///
/// # Errors
/// Where it is none, with the JSON path.
pub fn parse(at: At<'_>) -> Result<RecordField, ShapeError> {
    if at.value().as_object().is_none() {
        let dtype = guess(at.value());
        let dtype = dtype.ok_or_else(|| {
            at.unexpected("numbers of one kind, or an object with dtype and data")
        })?;
        let (shape, data) = elements(at, &dtype)?;
        let shape = stored(shape);
        let (axes, metadata) = (Axis::unnamed(&shape), Default::default());
        return Ok(RecordField { dtype, shape, data, axes, metadata });
    }
    only(at, &KEYS)?;
    let stated = at.field("dtype")?;
    let known = DType::from_name(stated.str()?);
    let known = known.filter(|dtype| DTYPES.iter().any(|(known, _)| known == dtype));
    let dtype =
        known.ok_or_else(|| stated.unexpected("bool, (u)int8…64, float16…64 or complex64"))?;
    let shape = match at.optional("shape")? {
        Some(at) => Some(at.items()?.map(At::u64).collect::<Result<Vec<_>, _>>()?),
        None => None,
    };
    let (shape, data) = match (at.optional("data")?, at.optional("hex")?) {
        (Some(data), None) => {
            let (found, bytes) = elements(data, &dtype)?;
            (fits(data, found, shape)?, bytes)
        }
        (None, Some(hex)) => {
            let shape = shape.ok_or_else(|| at.unexpected("a shape beside hex"))?;
            let bytes = unhex(hex.str()?);
            let size = dtype.size().unwrap_or(1);
            let count = shape.iter().try_fold(size, |n, dim| n.checked_mul(*dim));
            let bytes = bytes.filter(|bytes| count == Some(bytes.len() as u64));
            let expected = || hex.unexpected(format!("the bytes of {dtype}{shape:?} in hex"));
            let bytes = bytes.ok_or_else(expected)?;
            (shape, Buf::from(bytes))
        }
        _ => return Err(at.unexpected("either data or hex")),
    };
    let shape = stored(shape);
    let axes = match at.optional("axes")? {
        Some(axes) => parse_all(axes, &mut Notes::silent(Place::default()))?,
        None => Axis::unnamed(&shape),
    };
    let metadata = at.optional("metadata")?.map(At::object).transpose()?;
    let metadata = metadata.cloned().unwrap_or_default();
    Ok(RecordField { dtype, shape, data, axes, metadata })
}

/// Refuses members of other names.
///
/// # Errors
/// For the first of them.
pub fn only(at: At<'_>, keys: &[&str]) -> Result<(), ShapeError> {
    match at.entries()?.find(|(key, _)| !keys.contains(key)) {
        Some((key, _)) => {
            Err(at.unexpected(format!("no keys but {}, not {key:?}", keys.join(", "))))
        }
        None => Ok(()),
    }
}

/// A scalar is one element along one axis.
fn stored(shape: Vec<u64>) -> Vec<u64> {
    if shape.is_empty() { vec![1] } else { shape }
}

/// The type that the first number asks for, where all are of its kind.
fn guess(value: &Value) -> Option<DType> {
    match value {
        Value::Bool(_) => Some(DType::Bool),
        Value::Number(number) if number.is_integer() => Some(DType::Int64),
        Value::Number(_) | Value::String(_) => Some(DType::Float64),
        Value::Array(items) => {
            let mut kinds = items.iter().map(guess);
            // Integers among floats are floats.
            kinds.try_fold(None, |kind, next| match (kind, next?) {
                (None, next) => Some(Some(next)),
                (Some(kind), next) if kind == next => Some(Some(kind)),
                (Some(DType::Int64), DType::Float64) | (Some(DType::Float64), DType::Int64) => {
                    Some(Some(DType::Float64))
                }
                _ => None,
            })?
        }
        _ => None,
    }
}

/// The shape and the bytes of nested lists.
fn elements(at: At<'_>, dtype: &DType) -> Result<(Vec<u64>, Buf), ShapeError> {
    let mut shape = Vec::new();
    let mut inner = at.value();
    while let Value::Array(items) = inner {
        let pair = items.len() == 2 && items.iter().all(|item| item.as_array().is_none());
        if *dtype == DType::Complex64 && pair {
            break;
        }
        shape.push(items.len() as u64);
        let Some(first) = items.first() else { break };
        inner = first;
    }
    let mut bytes = Vec::new();
    walk(at, dtype, &shape, &mut bytes)?;
    Ok((shape, Buf::from(bytes)))
}

fn walk(at: At<'_>, dtype: &DType, shape: &[u64], out: &mut Vec<u8>) -> Result<(), ShapeError> {
    let Some((dim, inner)) = shape.split_first() else {
        let fits = element(at.value(), dtype, out);
        return fits.ok_or_else(|| at.unexpected(format!("a value of {dtype}")));
    };
    let items = at.items()?;
    if items.len() as u64 != *dim {
        return Err(at.unexpected(format!("{dim} items, as its neighbours have")));
    }
    for item in items {
        walk(item, dtype, inner, out)?;
    }
    Ok(())
}

fn element(value: &Value, dtype: &DType, out: &mut Vec<u8>) -> Option<()> {
    use DType::*;
    /// The bytes of an integer of this type.
    macro_rules! integer {
        ($type:ty) => {{
            let number = value.as_number().filter(|number| number.is_integer())?;
            out.extend(number.text().parse::<$type>().ok()?.to_le_bytes());
        }};
    }
    match dtype {
        Bool => out.push(u8::from(value.as_bool()?)),
        Int8 => integer!(i8),
        Int16 => integer!(i16),
        Int32 => integer!(i32),
        Int64 => integer!(i64),
        UInt8 => integer!(u8),
        UInt16 => integer!(u16),
        UInt32 => integer!(u32),
        UInt64 => integer!(u64),
        Float16 => {
            let x = double(value)?;
            let rounded = f16::from_f64(x);
            (rounded.is_infinite() == x.is_infinite()).then_some(())?;
            out.extend(rounded.to_le_bytes());
        }
        Float32 => out.extend(single(value)?.to_le_bytes()),
        Float64 => out.extend(double(value)?.to_le_bytes()),
        Complex64 => {
            let [re, im] = value.as_array()? else { return None };
            out.extend(single(re)?.to_le_bytes());
            out.extend(single(im)?.to_le_bytes());
        }
        _ => return None,
    }
    Some(())
}

fn double(value: &Value) -> Option<f64> {
    match value.as_str() {
        Some("NaN") => Some(f64::NAN),
        Some("Infinity") => Some(f64::INFINITY),
        Some("-Infinity") => Some(f64::NEG_INFINITY),
        Some(_) => None,
        None => Some(value.as_number()?.to_f64()).filter(|x| x.is_finite()),
    }
}

fn single(value: &Value) -> Option<f32> {
    let x = double(value)?;
    #[expect(clippy::cast_possible_truncation, reason = "it rounds, and what overflows is refused")]
    let rounded = x as f32;
    (rounded.is_infinite() == x.is_infinite()).then_some(rounded)
}

/// The shape of data whose lists have the shape `found`: the stated one, which a flat list may have as well.
fn fits(at: At<'_>, found: Vec<u64>, stated: Option<Vec<u64>>) -> Result<Vec<u64>, ShapeError> {
    let Some(stated) = stated.filter(|stated| *stated != found) else { return Ok(found) };
    let count = stated.iter().try_fold(1u64, |n, dim| n.checked_mul(*dim));
    match found[..] {
        [flat] if count == Some(flat) => Ok(stated),
        [] if count == Some(1) => Ok(stated),
        _ => Err(at.unexpected(format!("values of the shape {stated:?}, not {found:?}"))),
    }
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|n| u8::try_from(n).ok());
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let byte = |[high, low]: &[u8; 2]| Some(digit(*high)? << 4 | digit(*low)?);
    rest.is_empty().then(|| pairs.iter().map(byte).collect())?
}

#[cfg(test)]
mod tests {
    use packstone_container::json::{ReadOptions, read};

    use super::*;

    fn array(text: &str) -> Result<(String, Vec<u64>, Vec<u8>), String> {
        let value = read(text.as_bytes(), &ReadOptions::default()).unwrap().value;
        let field = parse(At::root(&value)).map_err(|error| error.to_string())?;
        Ok((field.dtype.to_string(), field.shape, field.data.to_vec()))
    }

    #[test]
    fn lists_are_arrays() {
        let f32s = |values: &[f32]| values.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<_>>();
        for (text, dtype, shape, bytes) in [
            ("[1, 2]", "int64", &[2][..], [1i64, 2].map(i64::to_le_bytes).concat()),
            ("[[true], [false]]", "bool", &[2, 1], vec![1, 0]),
            ("[1, 0.5]", "float64", &[2], [1f64, 0.5].map(f64::to_le_bytes).concat()),
            ("7", "int64", &[1], 7i64.to_le_bytes().to_vec()),
            (
                r#"{"dtype": "uint8", "data": [[1, 2], [3, 255]]}"#,
                "uint8",
                &[2, 2],
                vec![1, 2, 3, 255],
            ),
            (
                r#"{"dtype": "uint8", "data": [1, 2], "shape": [2, 1]}"#,
                "uint8",
                &[2, 1],
                vec![1, 2],
            ),
            (r#"{"dtype": "int8", "data": [[], []]}"#, "int8", &[2, 0], vec![]),
            (
                r#"{"dtype": "float32", "data": [0.1, "NaN", "-Infinity"]}"#,
                "float32",
                &[3],
                f32s(&[0.1, f32::NAN, f32::NEG_INFINITY]),
            ),
            (
                r#"{"dtype": "complex64", "data": [[1, 2], [3, 4]]}"#,
                "complex64",
                &[2],
                f32s(&[1.0, 2.0, 3.0, 4.0]),
            ),
            (r#"{"dtype": "complex64", "data": [1, 2]}"#, "complex64", &[1], f32s(&[1.0, 2.0])),
            (
                r#"{"dtype": "uint16", "hex": "0100fFff", "shape": [2]}"#,
                "uint16",
                &[2],
                vec![1, 0, 255, 255],
            ),
            (r#"{"dtype": "float16", "data": 1}"#, "float16", &[1], vec![0, 0x3c]),
        ] {
            assert_eq!(array(text), Ok((dtype.to_owned(), shape.to_vec(), bytes)), "{text}");
        }
    }

    #[test]
    fn what_is_no_array_is_refused() {
        for text in [
            "null",
            "[]",
            r#""x""#,
            "[[1], 2]",
            "[[1, 2], [3]]",
            "[1, true]",
            r#"{"dtype": "uint8", "data": [256]}"#,
            r#"{"dtype": "uint8", "data": [1.0]}"#,
            r#"{"dtype": "float32", "data": [1e300]}"#,
            r#"{"dtype": "float16", "data": [70000]}"#,
            r#"{"dtype": "str", "data": ["x"]}"#,
            r#"{"dtype": "uint8"}"#,
            r#"{"data": [1]}"#,
            r#"{"dtype": "uint8", "data": [1], "hex": "01"}"#,
            r#"{"dtype": "uint8", "hex": "01"}"#,
            r#"{"dtype": "uint8", "hex": "0", "shape": [1]}"#,
            r#"{"dtype": "uint8", "hex": "01", "shape": [2]}"#,
            r#"{"dtype": "uint8", "hex": "", "shape": [18446744073709551615, 2]}"#,
            r#"{"dtype": "uint8", "data": [1, 2], "shape": [3]}"#,
            r#"{"dtype": "uint8", "data": [[1, 2]], "shape": [2]}"#,
            r#"{"dtype": "uint8", "data": [1], "colour": 1}"#,
        ] {
            assert!(array(text).is_err(), "{text}: {:?}", array(text));
        }
    }
}
