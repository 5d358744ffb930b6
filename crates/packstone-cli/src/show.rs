//! Values for people: short, whatever the size of the array.

use packstone::json::Value;
use packstone::model::{DType, Field, ValueRef};

use crate::units;

/// Elements of an array that are shown.
const ELEMENTS: usize = 6;
/// Characters of a text, and digits of bytes, that are shown.
const LETTERS: usize = 64;

/// A value in a few words: `[0.5, 1.0, …]`, `"text"`, `00ff…`.
pub(crate) fn value(value: ValueRef<'_>) -> String {
    let ValueRef { dtype, shape, bytes } = value;
    match dtype {
        DType::Str => {
            let text = String::from_utf8_lossy(bytes);
            let quoted = Value::from(shorten(&text, LETTERS).as_str()).to_string();
            if text.chars().nth(LETTERS).is_none() {
                quoted
            } else {
                format!("{quoted} ({})", units::size(bytes.len() as u64))
            }
        }
        DType::Bytes => {
            let hex: String = bytes.iter().take(LETTERS / 2).map(|b| format!("{b:02x}")).collect();
            let more = if bytes.len() > LETTERS / 2 { "…" } else { "" };
            format!("{hex}{more} ({})", units::size(bytes.len() as u64))
        }
        DType::Json => shorten(&String::from_utf8_lossy(bytes), LETTERS),
        _ if shape.is_empty() => value.to_json().to_string(),
        _ => array(value),
    }
}

fn array(value: ValueRef<'_>) -> String {
    let ValueRef { dtype, bytes, .. } = value;
    let width = dtype.size().and_then(|n| usize::try_from(n).ok()).unwrap_or(1).max(1);
    let shown: Vec<String> = bytes
        .chunks_exact(width)
        .take(ELEMENTS)
        .map(|element| ValueRef { dtype, shape: &[], bytes: element }.to_json().to_string())
        .collect();
    let more = if bytes.len() / width > ELEMENTS { ", …" } else { "" };
    format!("[{}{more}]", shown.join(", "))
}

/// The name of a field; one without letters in quotes.
pub(crate) fn name(field: &Field) -> String {
    let name = field.key.to_string();
    if name.trim().is_empty() { format!("{name:?}") } else { name }
}

/// The type of a field: `float32[64, 3]`, `str`.
pub(crate) fn field_type(field: &Field) -> String {
    if field.shape.is_empty() {
        return field.dtype.to_string();
    }
    let shape: Vec<String> = match field.varying {
        true => field.shape.iter().map(|_| "?".to_owned()).collect(),
        false => field.shape.iter().map(u64::to_string).collect(),
    };
    format!("{}[{}]", field.dtype, shape.join(", "))
}

/// The first `count` characters.
pub(crate) fn shorten(text: &str, count: usize) -> String {
    let mut out: String = text.chars().take(count).collect();
    if out.len() < text.len() {
        out.push('…');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(dtype: DType, shape: &[u64], bytes: &[u8]) -> String {
        value(ValueRef { dtype: &dtype, shape, bytes })
    }

    #[test]
    fn short_values_are_whole_and_long_ones_cut() {
        assert_eq!(shown(DType::UInt8, &[], &[7]), "7");
        assert_eq!(shown(DType::UInt8, &[2, 2], &[1, 2, 3, 4]), "[1, 2, 3, 4]");
        assert_eq!(shown(DType::UInt8, &[7], &[0; 7]), "[0, 0, 0, 0, 0, 0, …]");
        assert_eq!(shown(DType::UInt8, &[0], &[]), "[]");
        assert_eq!(shown(DType::Float32, &[1], &0.5f32.to_le_bytes()), "[0.5]");
        assert_eq!(shown(DType::Str, &[], "é\n".as_bytes()), "\"é\\n\"");
        assert_eq!(shown(DType::Str, &[], &[b'x'; 65]), format!("\"{}…\" (65 B)", "x".repeat(64)));
        assert_eq!(shown(DType::Bytes, &[], &[0, 255]), "00ff (2 B)");
        assert_eq!(shown(DType::Bytes, &[], &[0; 33]), format!("{}… (33 B)", "00".repeat(32)));
    }
}
