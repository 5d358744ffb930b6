//! Entries of a tensordict's document: which are leaves, which are collections, and what a leaf's says.

use packstone_container::json::{Object, Value};
use packstone_io::Kind;

use super::super::{codes, schema};
use super::node::Fault;
use crate::error::Place;
use crate::model::DType;

/// What an entry of a tensordict's document is.
#[derive(Clone, Copy, Debug)]
pub enum Entry<'a> {
    /// A tensor.
    Leaf(&'a Object),
    /// A folder.
    Collection,
    /// Nothing of the tree: one of the tensordict's own entries, or something that a writer added.
    Other,
}

/// Tells what an entry is; the text of `type` does not matter.
pub fn classify(value: &Value) -> Entry<'_> {
    let Some(object) = value.as_object() else { return Entry::Other };
    if object.get("type").is_some_and(|value| !value.is_null()) {
        return Entry::Collection;
    }
    if object.contains_key("dtype") && object.contains_key("shape") {
        Entry::Leaf(object)
    } else {
        Entry::Other
    }
}

/// What a leaf's entry says.
#[derive(Clone, Debug, PartialEq)]
pub struct LeafEntry {
    /// The type of its elements.
    pub dtype: DType,
    /// Its shape; of a nested tensor, that of its sizes.
    pub shape: Vec<u64>,
    /// Whether it is a nested tensor.
    pub is_nested: bool,
    /// Elements, as the shape says.
    pub count: u64,
    /// Bytes, as shape and dtype say; of a nested tensor, those of its sizes.
    pub bytes: u64,
}

impl LeafEntry {
    /// Reads the entry at `place`.
    ///
    /// # Errors
    /// `unknown_dtype`, `unsupported_dtype`, `bad_shape`.
    pub fn parse(entry: &Object, place: &Place) -> Result<Self, Fault> {
        let text = entry.get("dtype").unwrap_or(&Value::Null);
        let dtype = match text.as_str() {
            Some(text) => schema::from_torch(text, place)?,
            None => {
                let message =
                    format!("expected a dtype such as \"torch.float32\", found {}", text.kind());
                return Err(Fault::new(
                    Kind::Invalid,
                    codes::UNKNOWN_DTYPE,
                    place.clone(),
                    message,
                ));
            }
        };
        let shape = sizes(entry.get("shape").unwrap_or(&Value::Null), place)?;
        let is_nested = entry.get("is_nested").is_some_and(truthy);
        let bad =
            |message: String| Fault::new(Kind::Invalid, codes::BAD_SHAPE, place.clone(), message);
        if is_nested && !matches!(shape.as_slice(), [parts, rank] if *parts > 0 && *rank > 0) {
            return Err(bad(format!(
                "expected the shape [parts, dimensions] of the sizes of a nested tensor, found {shape:?}"
            )));
        }
        let size = if is_nested { 8 } else { dtype.size().unwrap_or(1) };
        // A dimension of 0 makes the others harmless to multiply, but not to hold.
        let most =
            shape.iter().filter(|dim| **dim > 0).try_fold(size, |n, dim| n.checked_mul(*dim));
        let fits = most.is_some_and(|n| i64::try_from(n).is_ok());
        if !fits {
            return Err(bad(format!(
                "expected a shape whose bytes fit 63 bits, found {shape:?} of {dtype}"
            )));
        }
        let count = shape.iter().product();
        Ok(Self { bytes: size.saturating_mul(count), dtype, shape, is_nested, count })
    }
}

/// Reads a list of sizes; `true` and `false` count as 1 and 0, as in Python.
///
/// # Errors
/// `bad_shape`.
pub fn sizes(value: &Value, place: &Place) -> Result<Vec<u64>, Fault> {
    let bad = |found: String| {
        let message = format!("expected a list of sizes, found {found}");
        Fault::new(Kind::Invalid, codes::BAD_SHAPE, place.clone(), message)
    };
    let items = value.as_array().ok_or_else(|| bad(value.kind().to_owned()))?;
    let size = |item: &Value| match item {
        Value::Bool(flag) => Some(u64::from(*flag)),
        _ => item.as_u64().filter(|n| i64::try_from(*n).is_ok()),
    };
    items.iter().map(|item| size(item).ok_or_else(|| bad(format!("{item} in it")))).collect()
}

/// Whether Python takes a value for true.
fn truthy(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(flag) => *flag,
        Value::Number(number) => number.to_f64() != 0.0,
        Value::String(text) => !text.is_empty(),
        Value::Wide(_) => true,
        Value::Array(items) => !items.is_empty(),
        Value::Object(object) => !object.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use packstone_container::json;

    use super::*;

    fn parse(text: &str) -> Result<LeafEntry, &'static str> {
        let value = json::read(text.as_bytes(), &json::ReadOptions::default()).unwrap().value;
        LeafEntry::parse(value.as_object().unwrap(), &Place::default())
            .map_err(|fault| fault.code())
    }

    #[test]
    fn entries_are_told_apart_by_their_members() {
        let kind = |text: &str| {
            let value = json::read(text.as_bytes(), &json::ReadOptions::default()).unwrap().value;
            match classify(&value) {
                Entry::Leaf(_) => "leaf",
                Entry::Collection => "collection",
                Entry::Other => "other",
            }
        };
        for (text, want) in [
            (r#"{"type": "TensorDict"}"#, "collection"),
            (r#"{"type": 5, "dtype": "torch.int8", "shape": []}"#, "collection"),
            (r#"{"type": null, "dtype": "torch.int8", "shape": []}"#, "leaf"),
            (r#"{"dtype": "torch.int8"}"#, "other"),
            (r#"{"shape": []}"#, "other"),
            (r#"{"type": null}"#, "other"),
            ("[1]", "other"),
            ("\"cpu\"", "other"),
        ] {
            assert_eq!(kind(text), want, "{text}");
        }
    }

    #[test]
    fn shapes_are_checked_before_anything_is_sized_by_them() {
        let leaf = parse(r#"{"dtype": "torch.int16", "shape": [true, 3], "device": 5}"#).unwrap();
        assert_eq!((leaf.shape, leaf.count, leaf.bytes, leaf.is_nested), (vec![1, 3], 3, 6, false));
        let scalar = parse(r#"{"dtype": "torch.complex128", "shape": []}"#).unwrap();
        assert_eq!((scalar.count, scalar.bytes), (1, 16));
        let empty = parse(r#"{"dtype": "torch.float64", "shape": [3, 0]}"#).unwrap();
        assert_eq!((empty.count, empty.bytes), (0, 0));
        for shape in [
            "[-1]",
            "[-2, -2]",
            "[1.0]",
            "[\"1\"]",
            "[null]",
            "4",
            "null",
            "[4611686018427387904, 2]",
            "[9223372036854775807, 0, 2]",
            "[18446744073709551616]",
        ] {
            let text = format!(r#"{{"dtype": "torch.float32", "shape": {shape}}}"#);
            assert_eq!(parse(&text), Err(codes::BAD_SHAPE), "{shape}");
        }
        for shape in ["[2]", "[]", "[2, 0]", "[0, 2]", "[2, 2, 2]", "[2305843009213693952, 1]"] {
            let text = format!(r#"{{"dtype": "torch.int8", "shape": {shape}, "is_nested": true}}"#);
            assert_eq!(parse(&text), Err(codes::BAD_SHAPE), "{shape}");
        }
        assert_eq!(parse(r#"{"dtype": 5, "shape": []}"#), Err(codes::UNKNOWN_DTYPE));
        assert_eq!(parse(r#"{"dtype": "torch.float", "shape": []}"#), Err(codes::UNKNOWN_DTYPE));
    }
}
