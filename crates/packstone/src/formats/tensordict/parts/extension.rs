//! What packstone's writer says of a tree in its root document, as a text, which other readers take for no key.
//!
//! ```text
//! "_packstone": "{\"version\": 1,
//!     \"collections\": [\"train\", {\"name\": \"shape\", \"key\": \"collection_1\"}],
//!     \"fields\": [{\"key\": [\"x\"], \"dtype\": \"float32\", \"shape\": [3]}, {\"key\": [\"y\"], \"dtype\": \"uint8\", \"rank\": 1}],
//!     \"carried\": {…}}"
//! ```
//!
//! - `collections`: the keys of the root that are collections, in order, each under its name. Without this member the
//!   root itself is the one collection.
//! - `fields`: the fields of all collections in their order. The tree alone does not tell JSON from text where all values
//!   are text, an array of varying shape from any other where there are no samples, nor the order of fields.
//! - `carried`: see [`Plan::carried`](crate::format::Plan::carried).

use packstone_container::json::{
    self, At, NonFinite, Object, ReadOptions, ShapeError, Style, Value,
};

use super::super::layout::EXTENSION;
use crate::model::{DType, Field, Key};

/// The version of what the entry says.
const VERSION: u64 = 1;
/// More dimensions than this no array has.
const MAX_RANK: u64 = 64;

/// What the entry says, see [the module](self).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Extension {
    /// Names of collections and their keys in the root; `None` where the root is the one collection.
    pub collections: Option<Vec<(String, String)>>,
    /// The fields of all collections, in order.
    pub fields: Option<Vec<Field>>,
    /// What was stored in other words.
    pub carried: Option<Object>,
}

impl Extension {
    /// Reads it from the root document; an entry that is something else is not packstone's.
    pub fn read(document: &Object) -> Option<Self> {
        let text = document.get(EXTENSION)?.as_str()?;
        let value = json::read(text.as_bytes(), &ReadOptions::default().with_nan(true)).ok()?.value;
        Self::parse(At::root(&value)).ok()
    }

    fn parse(at: At<'_>) -> Result<Self, ShapeError> {
        let version = at.field("version")?;
        if version.u64()? != VERSION {
            return Err(version.unexpected("version 1"));
        }
        let collections = match at.optional("collections")? {
            Some(list) => Some(list.items()?.map(collection).collect::<Result<_, _>>()?),
            None => None,
        };
        let fields = match at.optional("fields")? {
            Some(list) => Some(list.items()?.map(field).collect::<Result<_, _>>()?),
            None => None,
        };
        let carried = match at.optional("carried")? {
            Some(carried) => Some(carried.object()?.clone()),
            None => None,
        };
        Ok(Self { collections, fields, carried })
    }

    /// The text of the entry.
    pub fn text(&self) -> String {
        let mut out = Object::new();
        out.insert("version", VERSION);
        if let Some(collections) = &self.collections {
            let each = collections.iter().map(|(name, key)| match name == key {
                true => Value::from(name.as_str()),
                false => {
                    let pair = [("name", name.as_str()), ("key", key.as_str())];
                    Value::Object(pair.into_iter().collect())
                }
            });
            out.insert("collections", each.collect::<Vec<_>>());
        }
        if let Some(fields) = &self.fields {
            out.insert("fields", fields.iter().map(described).collect::<Vec<_>>());
        }
        if let Some(carried) = &self.carried {
            out.insert("carried", carried.clone());
        }
        // What is carried may have numbers that JSON has no word for.
        json::write(&Value::Object(out), &Style { non_finite: NonFinite::Token, ..Style::COMPACT })
    }
}

fn collection(at: At<'_>) -> Result<(String, String), ShapeError> {
    if let Some(name) = at.value().as_str() {
        return Ok((name.to_owned(), name.to_owned()));
    }
    Ok((at.field("name")?.str()?.to_owned(), at.field("key")?.str()?.to_owned()))
}

fn field(at: At<'_>) -> Result<Field, ShapeError> {
    let key = at.field("key")?.items()?.map(|part| Ok(part.str()?.to_owned()));
    let key = Key::nested(key.collect::<Result<_, ShapeError>>()?);
    let dtype = at.field("dtype")?;
    let dtype = DType::from_name(dtype.str()?).ok_or_else(|| dtype.unexpected("a dtype"))?;
    match at.optional("rank")? {
        Some(rank) => {
            let found = usize::try_from(rank.u64()?.min(MAX_RANK + 1)).unwrap_or(0);
            if found as u64 > MAX_RANK {
                return Err(rank.unexpected("at most 64 dimensions"));
            }
            Ok(Field::varying(key, dtype, found))
        }
        None => {
            let shape = at.field("shape")?.items()?.map(At::u64);
            Ok(Field::at(key, dtype, shape.collect::<Result<Vec<_>, _>>()?))
        }
    }
}

fn described(field: &Field) -> Value {
    let mut out = Object::new();
    out.insert("key", field.key.parts().iter().map(String::as_str).collect::<Vec<_>>());
    out.insert("dtype", field.dtype.name().as_ref());
    if field.varying {
        out.insert("rank", field.shape.len());
    } else {
        out.insert("shape", field.shape.as_slice());
    }
    Value::Object(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<Extension> {
        let mut document = Object::new();
        document.insert(EXTENSION, text);
        Extension::read(&document)
    }

    #[test]
    fn what_is_written_is_read() {
        let pair = |name: &str, key: &str| (name.to_owned(), key.to_owned());
        let key = Key::nested(vec!["a".to_owned(), "b.c".to_owned()]);
        let mut carried = Object::new();
        carried.insert("é", 1);
        let full = Extension {
            collections: Some(vec![pair("train", "train"), pair("shape", "collection_1")]),
            fields: Some(vec![
                Field::at(key.clone(), DType::Float32, [3, 0]),
                Field::varying(key.clone(), DType::UInt8, 2),
                Field::at(key, DType::Json, []),
            ]),
            carried: Some(carried),
        };
        for extension in [full, Extension::default()] {
            assert_eq!(read(&extension.text()), Some(extension));
        }
    }

    #[test]
    fn what_is_not_packstones_is_nothing() {
        for text in [
            "",
            "[]",
            "{}",
            r#"{"version": 2}"#,
            r#"{"version": 1, "collections": [1]}"#,
            r#"{"version": 1, "collections": {"a": 1}}"#,
            r#"{"version": 1, "fields": [{"key": ["x"], "dtype": "float33", "shape": []}]}"#,
            r#"{"version": 1, "fields": [{"key": ["x"], "dtype": "int8", "rank": 65}]}"#,
            r#"{"version": 1, "fields": [{"key": ["x"], "dtype": "int8", "shape": [-1]}]}"#,
            r#"{"version": 1, "carried": []}"#,
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
