//! JSON as this format reads and spells it.
//!
//! Read strictly: UTF-8, no name twice, every number finite, no unpaired surrogate, bounded in size, nesting and number
//! of values. Spelled as Python's `json.dumps` does, with sorted keys.
//!
//! Known differences from the original: it takes UTF-16 and UTF-32, numbers beyond doubles where nobody looks at them,
//! and unpaired surrogates in control documents; all of these are refused. A UTF-8 byte order mark is read and noted.

use std::borrow::Cow;

use packstone_container::Limits;
use packstone_container::json::{
    self, At, FloatStyle, JsonErrorKind, Number, Object, ReadOptions, ShapeError, Style, Value,
};
use packstone_io::Kind;

use super::super::codes;
use super::super::options::JsonPolicy;
use super::notes::Notes;
use crate::error::{Error, Place, Result};
use crate::model::Severity;

/// CPython reads and writes no longer integers.
const INTEGER_DIGITS: usize = 4300;

/// Reads a document or descriptor.
///
/// # Errors
/// `json_invalid`, `duplicate_key`, `limit_exceeded`, with the byte or the JSON path.
pub fn read(bytes: &[u8], policy: &JsonPolicy, notes: &mut Notes) -> Result<Value> {
    let mut limits = Limits::default();
    limits.document_bytes = policy.bytes;
    limits.depth = policy.depth;
    let options = ReadOptions::default()
        .with_limits(limits)
        .with_max_values(policy.nodes)
        .with_bom(true)
        .with_refused_duplicates(true);
    let document = json::read(bytes, &options).map_err(|error| {
        let (kind, code) = match &error.kind {
            JsonErrorKind::TooLarge { .. }
            | JsonErrorKind::TooDeep { .. }
            | JsonErrorKind::TooManyValues { .. } => (Kind::Limit, codes::LIMIT_EXCEEDED),
            JsonErrorKind::DuplicateKey { .. } => (Kind::Corrupt, codes::DUPLICATE_KEY),
            _ => (Kind::Corrupt, codes::JSON_INVALID),
        };
        let place = notes.place.clone().at(error.offset as u64);
        Error::new(kind, code, place, error.to_string())
    })?;
    if !document.notes.is_empty() {
        // The mark is all that the options let through.
        let message = "expected plain UTF-8, found a byte order mark before it";
        notes.add(Severity::Warning, codes::BYTE_ORDER_MARK, None, message);
    }
    match fault(&document.value, policy.depth) {
        None => Ok(document.value),
        Some(fault) => Err(fault.at(notes.place.clone())),
    }
}

/// What is wrong with a value that is JSON.
#[derive(Debug)]
pub struct Fault {
    kind: Kind,
    code: &'static str,
    path: String,
    message: Cow<'static, str>,
}

impl Fault {
    /// The error for a value at `place`.
    pub fn at(self, place: Place) -> Error {
        Error::new(self.kind, self.code, place.json(self.path), self.message)
    }
}

/// The first thing in `value` that readers refuse: nesting beyond `depth` levels, a number that no double or no Python
/// integer holds, an unpaired surrogate.
pub fn fault(value: &Value, depth: usize) -> Option<Fault> {
    if is_sound(value, depth) { None } else { find(At::root(value), depth) }
}

fn is_sound(value: &Value, levels: usize) -> bool {
    let Some(below) = levels.checked_sub(1) else { return false };
    match value {
        Value::Null | Value::Bool(_) | Value::String(_) => true,
        Value::Number(number) => number_fault(number).is_none(),
        Value::Wide(_) => false,
        Value::Array(items) => items.iter().all(|item| is_sound(item, below)),
        Value::Object(object) => {
            object.iter().all(|(key, item)| key.as_str().is_some() && is_sound(item, below))
        }
    }
}

fn number_fault(number: &Number) -> Option<&'static str> {
    let text = number.text();
    if number.is_integer() {
        let digits = text.trim_start_matches('-').len();
        return (digits > INTEGER_DIGITS).then_some("an integer of at most 4300 digits");
    }
    // Neither long nor with an exponent, it is near 0.
    let plain = text.len() < 300 && number.is_standard() && !text.contains(['e', 'E']);
    (!plain && !number.to_f64().is_finite()).then_some("a finite number")
}

fn find(at: At<'_>, levels: usize) -> Option<Fault> {
    let Some(below) = levels.checked_sub(1) else {
        let message = Cow::Borrowed("expected nesting within the limit, found more levels");
        let (kind, code) = (Kind::Limit, codes::LIMIT_EXCEEDED);
        return Some(Fault { kind, code, path: at.path(), message });
    };
    let refused = |error: ShapeError| {
        let message = Cow::Owned(said(&error));
        Fault {
            kind: Kind::Corrupt,
            code: codes::JSON_INVALID,
            path: error.path().to_owned(),
            message,
        }
    };
    match at.value() {
        Value::Number(number) => {
            number_fault(number).map(|expected| refused(at.unexpected(expected)))
        }
        Value::Wide(_) => Some(refused(at.unexpected("Unicode text"))),
        Value::Array(_) => at.items().ok()?.find_map(|item| find(item, below)),
        Value::Object(_) => match at.entries() {
            Ok(mut entries) => entries.find_map(|(_, item)| find(item, below)),
            Err(error) => Some(refused(error)),
        },
        _ => None,
    }
}

/// A shape error without its path, which stands in the place.
pub fn said(error: &ShapeError) -> String {
    match error {
        ShapeError::Missing { .. } => "expected this member, found none".to_owned(),
        ShapeError::Unexpected { expected, found, .. } => {
            format!("expected {expected}, found {found}")
        }
        other => other.to_string(),
    }
}

/// The error for a value that has another shape than it should.
pub fn misshapen(code: &'static str, error: &ShapeError, place: &Place) -> Error {
    Error::new(Kind::Corrupt, code, place.clone().json(error.path()), said(error))
}

/// The text of a document.
pub fn spell(value: Value, style: &Style) -> String {
    json::write(&value, style)
}

/// A value with its numbers as Python spells them.
///
/// What came from another document may be `1.50` or `1E5`; the original reads `1.5` and `100000.0` and writes that.
pub fn pythonic(value: &Value) -> Value {
    match value {
        Value::Number(number) => Value::Number(pythonic_number(number)),
        Value::Array(items) => Value::Array(items.iter().map(pythonic).collect()),
        Value::Object(object) => Value::Object(pythonic_object(object)),
        other => other.clone(),
    }
}

/// See [`pythonic`].
pub fn pythonic_object(object: &Object) -> Object {
    object.iter().map(|(key, value)| (key.clone(), pythonic(value))).collect()
}

/// See [`pythonic`].
pub fn pythonic_number(number: &Number) -> Number {
    if number.is_integer() {
        return if number.text() == "-0" { Number::from(0) } else { number.clone() };
    }
    Number::from_f64_in(number.to_f64(), FloatStyle::Python).unwrap_or_else(|| number.clone())
}

#[cfg(test)]
mod tests {
    use super::super::super::layout::{COMPACT, PRETTY};
    use super::super::super::options::CONTROL;
    use super::*;

    fn code(text: &[u8], policy: &JsonPolicy) -> Result<usize, &'static str> {
        let mut notes = Notes::new(Place::default());
        read(text, policy, &mut notes).map(|_| notes.findings.len()).map_err(|e| e.code())
    }

    #[test]
    fn nesting_counts_scalars_and_starts_with_one() {
        let policy = |depth| JsonPolicy { depth, ..CONTROL };
        for (text, levels) in
            [("1", 1), ("[]", 1), ("[1]", 2), ("{\"a\":{}}", 2), ("{\"a\":[{}]}", 3), ("[[1]]", 3)]
        {
            assert_eq!(code(text.as_bytes(), &policy(levels)), Ok(0), "{text}");
            let refused = code(text.as_bytes(), &policy(levels - 1));
            assert_eq!(refused, Err(codes::LIMIT_EXCEEDED), "{text}");
        }
    }

    #[test]
    fn values_count_and_keys_do_not() {
        let policy = |nodes| JsonPolicy { nodes, ..CONTROL };
        let text = br#"{"a":[1,2],"b":{}}"#;
        assert_eq!(code(text, &policy(5)), Ok(0));
        assert_eq!(code(text, &policy(4)), Err(codes::LIMIT_EXCEEDED));
    }

    #[test]
    fn what_no_reader_agrees_on_is_refused() {
        for (text, want) in [
            (&b"{\"a\":1e999}"[..], codes::JSON_INVALID),
            (b"[-1e400]", codes::JSON_INVALID),
            (b"[\"\\ud800\"]", codes::JSON_INVALID),
            (b"{\"\\udc00\":1}", codes::JSON_INVALID),
            (b"[NaN]", codes::JSON_INVALID),
            (b"{\"a\":{\"b\":1,\"\\u0062\":2}}", codes::DUPLICATE_KEY),
            (b"[1] 2", codes::JSON_INVALID),
            (b"\xff\xfe[\0]\0", codes::JSON_INVALID),
            (b"[\0]\0", codes::JSON_INVALID),
        ] {
            assert_eq!(code(text, &CONTROL), Err(want), "{}", String::from_utf8_lossy(text));
        }
        let digits = |count: usize| format!("[{}]", "9".repeat(count));
        assert_eq!(code(digits(4300).as_bytes(), &CONTROL), Ok(0));
        assert_eq!(code(digits(4301).as_bytes(), &CONTROL), Err(codes::JSON_INVALID));
        assert_eq!(code(b"\xef\xbb\xbf{}", &CONTROL), Ok(1));
    }

    #[test]
    fn faults_name_their_place() {
        let mut notes = Notes::new(Place::file("root.json"));
        let error = read(br#"{"a":[1,{"b":1e999}]}"#, &CONTROL, &mut notes).unwrap_err();
        assert_eq!(
            error.to_string(),
            "root.json, $.a[1].b: expected a finite number, found 1e999 [sds/json_invalid]"
        );
    }

    #[test]
    fn both_dialects_are_those_of_the_original() {
        let value =
            packstone_container::json!({ "b": [1, {}], "a": { "é": "\u{2028}\n" }, "": [] });
        assert_eq!(
            spell(value.clone(), &COMPACT),
            "{\"\":[],\"a\":{\"é\":\"\u{2028}\\n\"},\"b\":[1,{}]}"
        );
        assert_eq!(
            spell(value, &PRETTY),
            "{\n  \"\": [],\n  \"a\": {\n    \"é\": \"\u{2028}\\n\"\n  },\n  \"b\": [\n    1,\n    {}\n  ]\n}\n"
        );
    }

    #[test]
    fn numbers_are_spelled_as_python_reads_and_writes_them() {
        let mut notes = Notes::new(Place::default());
        let text = b"[1.50,1E5,-0,-0.0,1e-7,1180591620717411303424,100]";
        let value = read(text, &CONTROL, &mut notes).unwrap();
        assert_eq!(
            spell(pythonic(&value), &COMPACT),
            "[1.5,100000.0,0,-0.0,1e-07,1180591620717411303424,100]"
        );
    }
}
