//! Plain Python values.

use std::sync::Arc;

use crate::json::{Number, Wide};

/// A value that a pickle of plain data stands for.
///
/// What the pickle shares is shared here, so a value may be far smaller than what it stands for; [`decode`](super::decode)
/// bounds both. `==` compares structure: `1`, `1.0` and `True` are three values, and NaN differs from itself.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Value {
    /// `None`.
    None,
    /// `True` or `False`.
    Bool(bool),
    /// An integer of any size, in decimal digits.
    Int(Number),
    /// A float.
    Float(f64),
    /// A string.
    Str(Arc<str>),
    /// A string with an unpaired surrogate.
    Wide(Arc<Wide>),
    /// `bytes`.
    Bytes(Arc<[u8]>),
    /// `bytearray`.
    ByteArray(Arc<[u8]>),
    /// A list.
    List(Arc<[Value]>),
    /// A tuple.
    Tuple(Arc<[Value]>),
    /// A dict, in the order in which it was filled. A key that was set twice stands twice; Python never writes that.
    Dict(Arc<[(Value, Value)]>),
    /// A set, in the order in which it was filled.
    Set(Arc<[Value]>),
    /// A frozenset, in the order in which it was filled.
    FrozenSet(Arc<[Value]>),
}

impl Value {
    /// What kind of value this is, with its article: `a list`, `an int`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::None => "None",
            Self::Bool(_) => "a bool",
            Self::Int(_) => "an int",
            Self::Float(_) => "a float",
            Self::Str(_) | Self::Wide(_) => "a str",
            Self::Bytes(_) => "bytes",
            Self::ByteArray(_) => "a bytearray",
            Self::List(_) => "a list",
            Self::Tuple(_) => "a tuple",
            Self::Dict(_) => "a dict",
            Self::Set(_) => "a set",
            Self::FrozenSet(_) => "a frozenset",
        }
    }

    /// The value of the last entry of a dict whose key is the string `key`.
    pub fn get(&self, key: &str) -> Option<&Value> {
        let Self::Dict(entries) = self else { return None };
        let is_key = |found: &Value| matches!(found, Value::Str(text) if **text == *key);
        entries.iter().rev().find(|(found, _)| is_key(found)).map(|(_, value)| value)
    }
}
