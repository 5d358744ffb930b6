//! JSON in one spelling, so that equal metadata are equal bytes.
//!
//! The spelling is that of Python's
//! `json.dumps(json.loads(text), sort_keys=True, separators=(",", ":"), ensure_ascii=False)`, where
//! an unpaired surrogate stays an escape: members by the code points of their names, no space, integers digit by
//! digit, other numbers as `repr` spells their nearest double. `1` and `1.0` differ, `1.0` and `1e0` do not.

use packstone_container::digest::{Algorithm, Hasher};
use packstone_container::json::{self, FloatStyle, Number, Object, Style, Value};

/// The one spelling of `object`.
pub fn object(object: &Object) -> String {
    let mut out = String::new();
    members(&mut out, object);
    out
}

/// The one spelling of `value`.
pub fn value(value: &Value) -> String {
    let mut out = String::new();
    any(&mut out, value);
    out
}

/// A digest of a list of numbers, in hex: XXH3-128 of their little-endian bytes.
pub fn numbers(numbers: impl IntoIterator<Item = u64>) -> String {
    let mut hasher = Hasher::new(Algorithm::Xxh128);
    let mut bytes = Vec::with_capacity(8 << 10);
    for number in numbers {
        bytes.extend_from_slice(&number.to_le_bytes());
        if bytes.len() >= 8 << 10 {
            hasher.update(&bytes);
            bytes.clear();
        }
    }
    hasher.update(&bytes);
    hasher.finish_hex()
}

fn any(out: &mut String, value: &Value) {
    match value {
        Value::Number(n) => number(out, n),
        Value::Object(object) => members(out, object),
        Value::Array(items) => {
            out.push('[');
            for (place, item) in items.iter().enumerate() {
                if place > 0 {
                    out.push(',');
                }
                any(out, item);
            }
            out.push(']');
        }
        _ => json::write_to(out, value, &Style::COMPACT),
    }
}

fn members(out: &mut String, object: &Object) {
    let mut members: Vec<_> = object.iter().collect();
    members.sort_by_key(|(key, _)| *key);
    out.push('{');
    for (place, (key, value)) in members.into_iter().enumerate() {
        if place > 0 {
            out.push(',');
        }
        out.push('"');
        out.push_str(&key.to_string());
        out.push_str("\":");
        any(out, value);
    }
    out.push('}');
}

fn number(out: &mut String, number: &Number) {
    if number.is_integer() {
        out.push_str(if number.text() == "-0" { "0" } else { number.text() });
        return;
    }
    let x = number.to_f64();
    match json::float_text(x, FloatStyle::Python) {
        Some(text) => out.push_str(&text),
        None if x.is_nan() => out.push_str("NaN"),
        None if x > 0.0 => out.push_str("Infinity"),
        None => out.push_str("-Infinity"),
    }
}

#[cfg(test)]
mod tests {
    use packstone_container::json::{ReadOptions, read};

    use super::*;

    #[test]
    fn one_spelling_for_equal_documents() {
        // The right sides are what CPython 3.11 prints for the left sides.
        for (text, want) in [
            (r#"{"b": 1, "a": [1.0, 1e0, 1.00, 1]}"#, r#"{"a":[1.0,1.0,1.0,1],"b":1}"#),
            (
                r#"[-0, -0.0, 1e-7, 1E+22, 1e400, -1e400]"#,
                "[0,-0.0,1e-07,1e+22,Infinity,-Infinity]",
            ),
            (
                r#"[0.1000000000000000055, 123456789012345678901234567890]"#,
                "[0.1,123456789012345678901234567890]",
            ),
            (r#"{"\uffff": 1, "\ud83d\ude00": 2, "": 3}"#, "{\"\":3,\"\u{ffff}\":1,\"😀\":2}"),
            (
                r#"["\u00e9\/\u007f\u0001\n\"\\", true, null, {}, []]"#,
                "[\"é/\u{7f}\\u0001\\n\\\"\\\\\",true,null,{},[]]",
            ),
            (r#"["\ud800", NaN]"#, r#"["\ud800",NaN]"#),
            (r#"{"x": {"d": 1, "c": {"b": 2, "a": 3}}}"#, r#"{"x":{"c":{"a":3,"b":2},"d":1}}"#),
        ] {
            let read = read(text.as_bytes(), &ReadOptions::default().with_nan(true)).unwrap().value;
            assert_eq!(value(&read), want, "{text}");
        }
    }
}
