//! Says how two values differ, in a few words however large they are.

use std::sync::Arc;

use packstone_container::json::Object;

use crate::model::{DType, ValueRef, canonical};

/// Characters of a text that are shown.
const SHOWN: usize = 60;

/// `expected X, found Y` for two values of one type; of arrays the first element that differs.
pub(super) fn values(expected: Option<ValueRef<'_>>, found: Option<ValueRef<'_>>) -> String {
    let (Some(expected), Some(found)) = (expected, found) else {
        let word = |value: Option<ValueRef<'_>>| if value.is_some() { "a value" } else { "none" };
        return format!("expected {}, found {}", word(expected), word(found));
    };
    let byte = expected.bytes.iter().zip(found.bytes).take_while(|(a, b)| a == b).count();
    let size = expected.dtype.size().and_then(|size| usize::try_from(size).ok());
    match size.filter(|_| !expected.shape.is_empty() && expected.bytes.len() == found.bytes.len()) {
        Some(size) => elements(expected, found, byte / size.max(1), size),
        None if *expected.dtype == DType::Bytes && !expected.shape.is_empty() => {
            elements(expected, found, byte, 1)
        }
        None if expected.bytes.len() <= SHOWN && found.bytes.len() <= SHOWN => {
            format!("expected {}, found {}", expected.to_json(), found.to_json())
        }
        None => format!(
            "expected {} bytes, found {}, different from byte {byte} on",
            expected.bytes.len(),
            found.bytes.len()
        ),
    }
}

fn elements(expected: ValueRef<'_>, found: ValueRef<'_>, first: usize, size: usize) -> String {
    let all = expected.bytes.chunks(size.max(1)).zip(found.bytes.chunks(size.max(1)));
    let differing = all.filter(|(a, b)| a != b).count();
    let show = |value: ValueRef<'_>| {
        let start = first.saturating_mul(size);
        let bytes = value.bytes.get(start..start.saturating_add(size)).unwrap_or_default();
        let dtype = if *value.dtype == DType::Bytes { &DType::UInt8 } else { value.dtype };
        shortened(&ValueRef { dtype, shape: &[], bytes }.to_json().to_string())
    };
    let mut rest = first as u64;
    let mut place: Vec<u64> = Vec::new();
    for dim in expected.shape.iter().rev() {
        place.push(rest.checked_rem(*dim).unwrap_or(0));
        rest = rest.checked_div(*dim).unwrap_or(0);
    }
    place.reverse();
    let others = match differing.saturating_sub(1) {
        0 => String::new(),
        1 => ", and one more element differs".to_owned(),
        n => format!(", and {n} more elements differ"),
    };
    format!("expected {} at {place:?}, found {}{others}", show(expected), show(found))
}

/// `expected X, found Y` for what is said about a sample.
pub(super) fn metadata(expected: Option<&Arc<Object>>, found: Option<&Arc<Object>>) -> String {
    let text = |side: Option<&Arc<Object>>| match side {
        Some(metadata) => shortened(&canonical::object(metadata)),
        None => "none".to_owned(),
    };
    format!("expected metadata {}, found {}", text(expected), text(found))
}

/// The start of a long text.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explain(dtype: DType, shape: &[u64], a: &[u8], b: &[u8]) -> String {
        let value = |bytes| Some(ValueRef { dtype: &dtype, shape, bytes });
        values(value(a), value(b))
    }

    #[test]
    fn values_are_shown_and_elements_are_found() {
        assert_eq!(explain(DType::Int16, &[], &[1, 0], &[255, 255]), "expected 1, found -1");
        assert_eq!(explain(DType::Str, &[], b"a", b"bc"), "expected \"a\", found \"bc\"");
        assert_eq!(
            explain(DType::UInt8, &[2, 3], &[0, 1, 2, 3, 4, 5], &[0, 1, 2, 3, 9, 5]),
            "expected 4 at [1, 1], found 9"
        );
        assert_eq!(
            explain(DType::Bytes, &[3], &[1, 2, 3], &[9, 9, 9]),
            "expected 1 at [0], found 9, and 2 more elements differ"
        );
        let floats = [0.5f32, 1.5].map(f32::to_le_bytes).concat();
        let others = [0.5f32, f32::NAN].map(f32::to_le_bytes).concat();
        assert_eq!(
            explain(DType::Float32, &[2], &floats, &others),
            "expected 1.5 at [1], found \"NaN\""
        );
        assert_eq!(
            explain(DType::Bytes, &[], &[7; 100], &[7; 99]),
            "expected 100 bytes, found 99, different from byte 99 on"
        );
        assert_eq!(
            explain(DType::Int, &[], &[1, 0, 0, 0, 0, 0, 0, 0], &[0xff; 16]).split(',').count(),
            2
        );
    }

    #[test]
    fn absent_values_and_hostile_shapes_end_well() {
        assert_eq!(values(None, None), "expected none, found none");
        assert_eq!(
            explain(DType::UInt8, &[0, u64::MAX], &[1], &[2]),
            "expected 1 at [0, 0], found 2"
        );
        assert_eq!(shortened(&"é".repeat(61)).chars().count(), 61);
    }
}
