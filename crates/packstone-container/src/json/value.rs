//! The tree of a JSON document.

use std::fmt;

use super::number::Number;
use super::object::Object;
use super::wide::Wide;
use super::write::{self, Style};

/// A JSON value.
///
/// `==` compares what would be written: order of members and spelling of numbers count. [`python_eq`](super::python_eq)
/// compares as Python compares what it reads. [`Display`](fmt::Display) writes [`Style::COMPACT`].
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Value {
    /// `null`.
    #[default]
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, by its text.
    Number(Number),
    /// A string.
    String(String),
    /// A string that a `String` cannot hold, for it has an unpaired surrogate.
    Wide(Wide),
    /// An array.
    Array(Vec<Value>),
    /// An object.
    Object(Object),
}

impl Value {
    /// What kind of value this is, with its article: `a string`, `an object`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Number(_) => "a number",
            Self::String(_) => "a string",
            Self::Wide(_) => "a string with an unpaired surrogate",
            Self::Array(_) => "an array",
            Self::Object(_) => "an object",
        }
    }

    /// A string of UTF-16 units: [`Value::String`] if they are valid UTF-16, else [`Value::Wide`].
    #[must_use]
    pub fn from_utf16(units: &[u16]) -> Self {
        Wide::from_units(units).map_or_else(Self::String, Self::Wide)
    }

    /// Whether this is `null`.
    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// The boolean.
    #[must_use]
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// The number.
    #[must_use]
    pub fn as_number(&self) -> Option<&Number> {
        match self {
            Self::Number(number) => Some(number),
            _ => None,
        }
    }

    /// The integer, as [`Number::as_i64`].
    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
        self.as_number()?.as_i64()
    }

    /// The integer, as [`Number::as_u64`].
    #[must_use]
    pub fn as_u64(&self) -> Option<u64> {
        self.as_number()?.as_u64()
    }

    /// The double, as [`Number::as_f64`].
    #[must_use]
    pub fn as_f64(&self) -> Option<f64> {
        self.as_number()?.as_f64()
    }

    /// The string, if it is valid Unicode.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// The items.
    #[must_use]
    pub fn as_array(&self) -> Option<&[Value]> {
        match self {
            Self::Array(items) => Some(items),
            _ => None,
        }
    }

    /// The items, to change them.
    #[must_use]
    pub fn as_array_mut(&mut self) -> Option<&mut Vec<Value>> {
        match self {
            Self::Array(items) => Some(items),
            _ => None,
        }
    }

    /// The object.
    #[must_use]
    pub fn as_object(&self) -> Option<&Object> {
        match self {
            Self::Object(object) => Some(object),
            _ => None,
        }
    }

    /// The object, to change it.
    #[must_use]
    pub fn as_object_mut(&mut self) -> Option<&mut Object> {
        match self {
            Self::Object(object) => Some(object),
            _ => None,
        }
    }

    /// The value of a member, if this is an object that has it.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.as_object()?.get(name)
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&write::write(self, &Style::COMPACT))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    #[test]
    fn stays_small() {
        assert!(size_of::<Value>() <= 32);
        assert!(size_of::<(super::super::Key, Value)>() <= 56);
    }

    #[test]
    fn answers_only_for_its_own_kind() {
        let value = json!({ "n": 3, "s": "x", "xs": [null, true], "f": 0.5 });
        assert_eq!(value.get("n").and_then(Value::as_u64), Some(3));
        assert_eq!(value.get("n").and_then(Value::as_i64), Some(3));
        assert_eq!(value.get("n").and_then(Value::as_str), None);
        assert_eq!(value.get("s").and_then(Value::as_str), Some("x"));
        assert_eq!(value.get("f").and_then(Value::as_f64), Some(0.5));
        assert_eq!(value.get("f").and_then(Value::as_i64), None);
        let items = value.get("xs").and_then(Value::as_array).unwrap();
        assert!(items[0].is_null());
        assert_eq!(items[1].as_bool(), Some(true));
        assert_eq!(items[1].get("n"), None);
        assert_eq!(value.kind(), "an object");
    }

    #[test]
    fn displays_compactly() {
        assert_eq!(json!({ "a": [1, {}], "b": "é\n" }).to_string(), r#"{"a":[1,{}],"b":"é\n"}"#);
    }

    #[test]
    fn takes_utf16_as_text_where_it_can() {
        assert_eq!(Value::from_utf16(&[0xd83d, 0xde00]), Value::from("😀"));
        assert!(matches!(Value::from_utf16(&[0xd83d]), Value::Wide(_)));
    }
}
