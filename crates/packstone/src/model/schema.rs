//! What each sample holds: named, typed, shaped fields.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use packstone_container::json::{Object, Value};
use packstone_io::Kind;

use super::dtype::DType;
use crate::error::{Error, Place, Result};

/// The name of a field: a path of keys, one key long in formats without nesting. Cloning shares the names.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(Arc<[String]>);

impl Key {
    /// A key without nesting; the name is taken as it is, with slashes, dots or empty.
    pub fn new(name: impl Into<String>) -> Self {
        Self(Arc::new([name.into()]))
    }

    /// A nested key, outermost name first.
    pub fn nested(parts: Vec<String>) -> Self {
        Self(parts.into())
    }

    /// The names, outermost first.
    pub fn parts(&self) -> &[String] {
        &self.0
    }
}

impl From<Arc<[String]>> for Key {
    fn from(parts: Arc<[String]>) -> Self {
        Self(parts)
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("."))
    }
}

/// One field of every sample.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Its name.
    pub key: Key,
    /// The type of its elements.
    pub dtype: DType,
    /// The shape of one value, without the sample dimension; empty for scalars and for variable text and bytes. Where
    /// `varying`, only its length counts, and the column knows the shape of each value.
    pub shape: Vec<u64>,
    /// True where each value has a shape of its own, of as many dimensions as `shape` has.
    pub varying: bool,
    /// What the dataset says about the field.
    pub metadata: Object,
}

impl Field {
    /// A field without metadata.
    pub fn new(name: impl Into<String>, dtype: DType, shape: impl Into<Vec<u64>>) -> Self {
        Self::at(Key::new(name), dtype, shape)
    }

    /// A field without metadata at a nested key.
    pub fn at(key: Key, dtype: DType, shape: impl Into<Vec<u64>>) -> Self {
        Self { key, dtype, shape: shape.into(), varying: false, metadata: Object::new() }
    }

    /// A field whose values have shapes of their own, of `rank` dimensions.
    pub fn varying(key: Key, dtype: DType, rank: usize) -> Self {
        Self { varying: true, ..Self::at(key, dtype, vec![0; rank]) }
    }

    /// Bytes of one value; `None` where they vary, or where the product does not fit 64 bits.
    pub fn value_bytes(&self) -> Option<u64> {
        // Fixed `bytes` are one byte an element; only a scalar of them varies.
        let size = self.element_bytes().filter(|_| !self.varying)?;
        self.shape.iter().try_fold(size, |n, dim| n.checked_mul(*dim))
    }

    /// Bytes of one element; `None` for text, JSON and bytes of any length.
    pub fn element_bytes(&self) -> Option<u64> {
        match self.dtype {
            DType::Bytes if !self.shape.is_empty() => Some(1),
            _ => self.dtype.size(),
        }
    }

    /// True where values differ in length from sample to sample: text, JSON, bytes, and arrays of varying shape.
    pub fn varies(&self) -> bool {
        self.varying || self.is_variable()
    }

    /// True for text, JSON and bytes of any length, which have no shape.
    pub fn is_variable(&self) -> bool {
        matches!(self.dtype, DType::Str | DType::Json)
            || (self.dtype == DType::Bytes && self.shape.is_empty())
    }

    /// The shape for JSON output, with `null` for dimensions that vary.
    pub fn shape_json(&self) -> Value {
        if self.varying {
            return self.shape.iter().map(|_| Value::Null).collect::<Vec<_>>().into();
        }
        Value::from(self.shape.as_slice())
    }

    /// For JSON output: name, dtype, shape and metadata.
    pub fn to_json(&self) -> Value {
        let mut out = Object::new();
        out.insert("name", Value::from(self.key.to_string()));
        if self.key.parts().len() > 1 {
            let parts = self.key.parts().iter().map(|part| Value::from(part.as_str()));
            out.insert("key", parts.collect::<Vec<_>>());
        }
        out.insert("dtype", Value::from(self.dtype.name().as_ref()));
        out.insert("shape", self.shape_json());
        if !self.metadata.is_empty() {
            out.insert("metadata", Value::Object(self.metadata.clone()));
        }
        Value::Object(out)
    }
}

/// The fields of a collection, in the order of the format.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Schema {
    /// The fields.
    pub fields: Vec<Field>,
}

impl Schema {
    /// A schema of these fields.
    pub fn new(fields: Vec<Field>) -> Self {
        Self { fields }
    }

    /// The printed names, each once: `a.b` for a nested key, or `["a","b"]` where another field is called `a.b`.
    pub fn names(&self) -> Vec<String> {
        let plain: Vec<String> = self.fields.iter().map(|field| field.key.to_string()).collect();
        let mut counts: HashMap<&str, usize> = HashMap::new();
        plain.iter().for_each(|name| *counts.entry(name).or_default() += 1);
        let spell = |(field, name): (&Field, &String)| match field.key.parts() {
            parts @ [_, _, ..] if counts.get(name.as_str()).is_some_and(|count| *count > 1) => {
                parts.iter().map(String::as_str).collect::<Value>().to_string()
            }
            _ => name.clone(),
        };
        self.fields.iter().zip(&plain).map(spell).collect()
    }

    /// The position of a field by its [printed name](Self::names).
    pub fn position(&self, name: &str) -> Option<usize> {
        let is = |field: &Field| matches!(field.key.parts(), [only] if only == name);
        let found = self.fields.iter().position(is);
        let joined = |field: &Field| field.key.parts().len() != 1 && field.key.to_string() == name;
        let found = found.or_else(|| self.fields.iter().position(joined));
        // Only the names of nested keys that are not alone begin so.
        let listed = || name.starts_with('[').then(|| self.names())?.iter().position(|n| n == name);
        found.or_else(listed)
    }

    /// The positions of fields by their printed names.
    ///
    /// # Errors
    /// `model/unknown_field`, naming the fields there are.
    pub fn positions(&self, names: &[impl AsRef<str>]) -> Result<Vec<usize>> {
        let position = |name: &str| {
            self.position(name).ok_or_else(|| {
                let known = self.names().join(", ");
                let message = format!("expected a field of {known}, found {name:?}");
                Error::new(Kind::NotFound, "model/unknown_field", Place::default(), message)
            })
        };
        names.iter().map(|name| position(name.as_ref())).collect()
    }

    /// The schema of the fields at `positions`; unknown positions are left out.
    #[must_use]
    pub fn project(&self, positions: &[usize]) -> Self {
        Self::new(positions.iter().filter_map(|p| self.fields.get(*p).cloned()).collect())
    }

    /// For JSON output.
    pub fn to_json(&self) -> Value {
        self.fields.iter().map(Field::to_json).collect::<Vec<_>>().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_has_a_name_of_its_own() {
        let nested = |parts: &[&str]| {
            let key = Key::nested(parts.iter().map(|part| (*part).to_owned()).collect());
            Field::at(key, DType::Int8, [])
        };
        let schema = Schema::new(vec![nested(&["a.b"]), nested(&["a", "b"]), nested(&["a", "c"])]);
        assert_eq!(schema.names(), ["a.b", r#"["a","b"]"#, "a.c"]);
        for (place, name) in schema.names().iter().enumerate() {
            assert_eq!(schema.position(name), Some(place));
        }
        assert_eq!(schema.position("b"), None);
    }
}
