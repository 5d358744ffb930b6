//! Making values from Rust's own, and the [`json!`](crate::json!) macro.

use super::number::Number;
use super::object::Object;
use super::value::Value;
use super::wide::Wide;

/// Builds a [`Value`](crate::json::Value) from a literal that looks like JSON.
///
/// Names are literals. Values are `null`, nested literals, or expressions of any type that converts into a value.
///
/// ```
/// use packstone_container::json;
///
/// let names = vec!["a", "b"];
/// let value = json!({ "type": "dataset", "n": 1 + 2, "names": names, "parent": null, "shape": [2, { "k": 0.5 }] });
/// assert_eq!(
///     value.to_string(),
///     r#"{"type":"dataset","n":3,"names":["a","b"],"parent":null,"shape":[2,{"k":0.5}]}"#
/// );
/// ```
#[macro_export]
macro_rules! json {
    (@members $object:ident) => {};
    (@members $object:ident $key:literal : null $(, $($rest:tt)*)?) => {
        $object.insert($key, $crate::json::Value::Null);
        $crate::json!(@members $object $($($rest)*)?);
    };
    (@members $object:ident $key:literal : { $($inner:tt)* } $(, $($rest:tt)*)?) => {
        $object.insert($key, $crate::json!({ $($inner)* }));
        $crate::json!(@members $object $($($rest)*)?);
    };
    (@members $object:ident $key:literal : [ $($inner:tt)* ] $(, $($rest:tt)*)?) => {
        $object.insert($key, $crate::json!([ $($inner)* ]));
        $crate::json!(@members $object $($($rest)*)?);
    };
    (@members $object:ident $key:literal : $value:expr $(, $($rest:tt)*)?) => {
        $object.insert($key, $value);
        $crate::json!(@members $object $($($rest)*)?);
    };
    (@items [$($done:expr,)*]) => {
        $crate::json::Value::Array(::std::vec![$($done),*])
    };
    (@items [$($done:expr,)*] null $(, $($rest:tt)*)?) => {
        $crate::json!(@items [$($done,)* $crate::json::Value::Null,] $($($rest)*)?)
    };
    (@items [$($done:expr,)*] { $($inner:tt)* } $(, $($rest:tt)*)?) => {
        $crate::json!(@items [$($done,)* $crate::json!({ $($inner)* }),] $($($rest)*)?)
    };
    (@items [$($done:expr,)*] [ $($inner:tt)* ] $(, $($rest:tt)*)?) => {
        $crate::json!(@items [$($done,)* $crate::json!([ $($inner)* ]),] $($($rest)*)?)
    };
    (@items [$($done:expr,)*] $value:expr $(, $($rest:tt)*)?) => {
        $crate::json!(@items [$($done,)* $crate::json::Value::from($value),] $($($rest)*)?)
    };
    (null) => { $crate::json::Value::Null };
    ([ $($items:tt)* ]) => { $crate::json!(@items [] $($items)*) };
    ({}) => { $crate::json::Value::Object($crate::json::Object::new()) };
    ({ $($members:tt)+ }) => {{
        let mut object = $crate::json::Object::new();
        $crate::json!(@members object $($members)+);
        $crate::json::Value::Object(object)
    }};
    ($value:expr) => { $crate::json::Value::from($value) };
}

macro_rules! from_parts {
    ($($part:ty => $variant:ident)*) => {$(
        impl From<$part> for Value {
            fn from(value: $part) -> Self {
                Self::$variant(value.into())
            }
        }
    )*};
}
from_parts! {
    bool => Bool
    u8 => Number u16 => Number u32 => Number u64 => Number u128 => Number usize => Number
    i8 => Number i16 => Number i32 => Number i64 => Number i128 => Number isize => Number
    Number => Number
    &str => String String => String &String => String
    Wide => Wide
    Object => Object
}

/// A finite double in the pydantic spelling; NaN and infinities become `null`, as JSON has no word for them.
impl From<f64> for Value {
    fn from(x: f64) -> Self {
        Number::from_f64(x).map_or(Self::Null, Self::Number)
    }
}

/// `None` becomes `null`.
impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl<T: Into<Value>> From<Vec<T>> for Value {
    fn from(items: Vec<T>) -> Self {
        items.into_iter().collect()
    }
}

impl<T: Into<Value> + Clone> From<&[T]> for Value {
    fn from(items: &[T]) -> Self {
        items.iter().cloned().collect()
    }
}

impl<T: Into<Value>, const N: usize> From<[T; N]> for Value {
    fn from(items: [T; N]) -> Self {
        items.into_iter().collect()
    }
}

impl<T: Into<Value>> FromIterator<T> for Value {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Self::Array(items.into_iter().map(Into::into).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: impl Into<Value>) -> String {
        value.into().to_string()
    }

    #[test]
    fn converts_what_reports_are_made_of() {
        assert_eq!(text(true), "true");
        assert_eq!(text(-3_i8), "-3");
        assert_eq!(text(u64::MAX), "18446744073709551615");
        assert_eq!(text(3_usize), "3");
        assert_eq!(text("a\"b"), r#""a\"b""#);
        let owned = String::from("s");
        assert_eq!(text(&owned), r#""s""#);
        assert_eq!(text(1.0), "1.0");
        assert_eq!(text(f64::NAN), "null");
        assert_eq!(text(f64::NEG_INFINITY), "null");
        assert_eq!(text(None::<u32>), "null");
        assert_eq!(text(Some("x")), r#""x""#);
        assert_eq!(text(vec![Some(1), None]), "[1,null]");
        assert_eq!(text([1_u8, 2].as_slice()), "[1,2]");
        assert_eq!(text([[1], [2]]), "[[1],[2]]");
        assert_eq!(text(Object::from_iter([("k", Value::Null)])), r#"{"k":null}"#);
        assert_eq!((0..3).collect::<Value>().to_string(), "[0,1,2]");
    }

    #[test]
    fn macro_takes_literals_and_expressions() {
        let xs = [1, 2];
        let name = Some("n");
        let value = json!({
            "null": null,
            "empty": [],
            "none": {},
            "sum": xs.iter().sum::<i32>(),
            "first": [xs[0], null, [name], { "deep": { "er": [[]] } },],
            "indexed": [10, 20][1],
            "if": if xs.is_empty() { 0 } else { 1 },
            "xs": xs,
        });
        assert_eq!(
            value.to_string(),
            "{\"null\":null,\"empty\":[],\"none\":{},\"sum\":3,\"first\":[1,null,[\"n\"],{\"deep\":{\"er\":[[]]}}],\
             \"indexed\":20,\"if\":1,\"xs\":[1,2]}"
        );
        assert_eq!(json!(null), Value::Null);
        assert_eq!(json!("x"), Value::from("x"));
        assert_eq!(json!([null, 1]).to_string(), "[null,1]");
    }
}
