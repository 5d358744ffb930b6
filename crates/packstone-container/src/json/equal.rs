//! Equality as Python sees it.

use super::number::integer_eq;
use super::value::Value;

/// Whether Python's `==` holds between what `json.loads` makes of the two values.
///
/// Order of members does not count; `1 == 1.0 == True` and `0 == -0.0 == False`; an integer of any size equals a double
/// only if it is exactly that number; decimals equal if their nearest doubles do. NaN equals nothing.
///
/// Recurses as deep as the values nest.
#[must_use]
pub fn python_eq(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Null, Value::Null) => true,
        (Value::String(a), Value::String(b)) => a == b,
        (Value::Wide(a), Value::Wide(b)) => a == b,
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| python_eq(a, b))
        }
        (Value::Object(a), Value::Object(b)) => a.eq_unordered(b, python_eq),
        _ => match (numeric(a), numeric(b)) {
            (Some(a), Some(b)) => numeric_eq(a, b),
            _ => false,
        },
    }
}

/// A value of Python's number types.
enum Numeric<'a> {
    /// An `int` or `bool`, in decimal.
    Int(&'a str),
    /// A `float`.
    Float(f64),
}

fn numeric(value: &Value) -> Option<Numeric<'_>> {
    Some(match value {
        Value::Bool(false) => Numeric::Int("0"),
        Value::Bool(true) => Numeric::Int("1"),
        Value::Number(number) if number.is_integer() => {
            Numeric::Int(if number.text() == "-0" { "0" } else { number.text() })
        }
        Value::Number(number) => Numeric::Float(number.to_f64()),
        _ => return None,
    })
}

fn numeric_eq(a: Numeric<'_>, b: Numeric<'_>) -> bool {
    match (a, b) {
        (Numeric::Int(a), Numeric::Int(b)) => a == b,
        (Numeric::Float(a), Numeric::Float(b)) => a == b,
        (Numeric::Int(a), Numeric::Float(b)) | (Numeric::Float(b), Numeric::Int(a)) => {
            integer_eq(a, b)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;
    use crate::json::{Object, ReadOptions, read};

    fn value(text: &str) -> Value {
        read(text.as_bytes(), &ReadOptions::default().with_nan(true)).unwrap().value
    }

    #[test]
    fn agrees_with_python() {
        // json.loads(a) == json.loads(b) in CPython 3.11
        for (a, b, equal) in [
            ("1", "1.0", true),
            ("1", "true", true),
            ("1.0", "true", true),
            ("0", "false", true),
            ("-0", "0", true),
            ("-0.0", "0", true),
            ("-0.0", "false", true),
            ("1e2", "100", true),
            ("0.1", "0.10", true),
            ("0.1", "0.1000000000000000055", true),
            ("9007199254740993", "9007199254740992.0", false),
            ("9007199254740993", "9007199254740993.0", false),
            ("9007199254740992", "9007199254740993.0", true),
            ("1e22", "10000000000000000000000", true),
            ("1e23", "100000000000000000000000", false),
            ("1e23", "99999999999999991611392", true),
            ("1e400", "2e400", true),
            ("1e400", "Infinity", true),
            ("1180591620717411303424", "1180591620717411303424", true),
            ("1180591620717411303424", "1180591620717411303425", false),
            ("1", "\"1\"", false),
            ("null", "false", false),
            ("null", "0", false),
            ("[]", "{}", false),
            ("[1,2]", "[1.0,2]", true),
            ("[1,2]", "[2,1]", false),
            ("[1]", "[1,1]", false),
            ("{\"a\":1,\"b\":[true]}", "{\"b\":[1.0],\"a\":true}", true),
            ("{\"a\":1}", "{\"b\":1}", false),
            ("{\"a\":1}", "{\"a\":1,\"b\":1}", false),
            ("{\"a\":1,\"a\":2}", "{\"a\":2}", true),
            ("\"\\ud800\"", "\"\\uD800\"", true),
            ("\"\\u00e9\"", "\"é\"", true),
            ("\"e\\u0301\"", "\"é\"", false),
        ] {
            assert_eq!(python_eq(&value(a), &value(b)), equal, "{a} == {b}");
            assert_eq!(python_eq(&value(b), &value(a)), equal, "{b} == {a}");
        }
        assert!(!python_eq(&value("NaN"), &value("NaN")));
    }

    #[test]
    fn finds_members_of_large_objects_in_any_order() {
        let forward: Object = (0..2000).map(|i| (format!("k{i}"), i)).collect();
        let mut backward: Object =
            (0..2000).rev().map(|i| (format!("k{i}"), json!(i as f64))).collect();
        assert!(python_eq(&forward.clone().into(), &backward.clone().into()));
        backward.insert("k7", 8);
        assert!(!python_eq(&forward.into(), &backward.into()));
    }
}
