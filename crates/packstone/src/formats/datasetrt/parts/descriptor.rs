//! What samples of another format were, as a member of the manifest that the original carries along unread.
//!
//! ```text
//! "packstone": {
//!   "version": 1,
//!   "fields": [{"key": ["image"], "dtype": "uint8", "shape": [28, 28], "tensor": "image"},
//!              {"key": ["label"], "dtype": "int32", "shape": [], "column": "label"}],
//!   "metadata_column": "packstone_metadata",
//!   "carried": {…}
//! }
//! ```
//!
//! A field is the whole payload (`"payload": true`), a tensor of a SafeTensors payload, or a metadata column. Metadata of
//! samples that no columns can hold are JSON text in a column of their own. Without this member a sample is its payload.
//! `carried` and the `metadata` of fields are JSON text where the original would refuse a manifest with such values in it.

use packstone_container::json::{self, At, Object, ReadOptions, ShapeError, Style, Value};
use packstone_io::Kind;

use super::super::codes;
use super::super::document::holds;
use super::super::layout::EXTENSION;
use super::super::schema::{ColumnSpec, ValueKind};
use super::joint::PAYLOAD;
use crate::error::{Error, Place, Result};
use crate::model::{DType, Field, Key, Schema};

/// Version of the description.
const VERSION: u64 = 1;
/// Dimensions of a value at most.
const MAX_RANK: u64 = 64;

/// Where the values of a field are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldPlace {
    /// They are the payload.
    Payload,
    /// A tensor of this name in the payload.
    Tensor(String),
    /// The metadata column of this name.
    Column(String),
}

/// A field and where its values are.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredField {
    /// The field.
    pub field: Field,
    /// Where its values are.
    pub place: FieldPlace,
}

/// What the samples of a cache are.
#[derive(Clone, Debug, PartialEq)]
pub struct Descriptor {
    /// Their fields.
    pub fields: Vec<StoredField>,
    /// The column with their metadata as JSON text, where the columns are not the metadata themselves.
    pub metadata_column: Option<String>,
    /// What the writer was given to keep.
    pub carried: Option<Object>,
}

impl Default for Descriptor {
    /// Samples of the format itself: a payload, and columns of metadata.
    fn default() -> Self {
        let field = Field::new(PAYLOAD, DType::Bytes, []);
        let fields = vec![StoredField { field, place: FieldPlace::Payload }];
        Self { fields, metadata_column: None, carried: None }
    }
}

impl Descriptor {
    /// The descriptor in a manifest, checked against the metadata columns.
    ///
    /// # Errors
    /// `manifest_invalid`.
    pub fn of(document: &Object, columns: &[ColumnSpec], place: &Place) -> Result<Self> {
        let Some(value) = document.get(EXTENSION) else { return Ok(Self::default()) };
        let invalid = |path: String, message: String| {
            let place = place.clone().json(path);
            Error::new(Kind::Invalid, codes::MANIFEST_INVALID, place, message)
        };
        let root = At::root(value);
        let descriptor = Self::read(root).map_err(|error| {
            let path = error.path().replacen('$', &format!("$.{EXTENSION}"), 1);
            invalid(path, error.to_string())
        })?;
        descriptor.check(columns).map_err(|message| invalid(format!("$.{EXTENSION}"), message))?;
        Ok(descriptor)
    }

    fn read(at: At<'_>) -> Result<Self, ShapeError> {
        let version = at.field("version")?;
        if version.u64()? != VERSION {
            return Err(version.unexpected(format!("version {VERSION}")));
        }
        let fields = at.field("fields")?.items()?.map(stored).collect::<Result<Vec<_>, _>>()?;
        let metadata_column = match at.optional("metadata_column")? {
            Some(name) => Some(name.str()?.to_owned()),
            None => None,
        };
        let carried = at.optional("carried")?.map(kept).transpose()?;
        Ok(Self { fields, metadata_column, carried })
    }

    fn check(&self, columns: &[ColumnSpec]) -> Result<(), String> {
        let kind = |name: &str| columns.iter().find(|c| c.name == name).map(|column| column.kind);
        let mut payloads = 0;
        let mut tensors = std::collections::HashSet::new();
        for StoredField { field, place } in &self.fields {
            match place {
                FieldPlace::Payload => payloads += 1,
                FieldPlace::Tensor(name) => {
                    if !tensors.insert(name) {
                        return Err(format!("expected each tensor once, found {name:?} again"));
                    }
                }
                FieldPlace::Column(name) => {
                    if kind(name).is_none() || kind(name) != column_kind(field) {
                        let what = format!("a column that holds {}", field.dtype);
                        return Err(format!("expected {what}, found {name:?}"));
                    }
                }
            }
        }
        let whole = self.fields.iter().find(|stored| stored.place == FieldPlace::Payload);
        if payloads > 1 || (payloads == 1 && !tensors.is_empty()) {
            return Err("expected one field in the payload, found more".to_owned());
        }
        if whole.is_some_and(|w| w.field.dtype != DType::Bytes || !w.field.is_variable()) {
            return Err("expected bytes as the payload, found another field".to_owned());
        }
        match &self.metadata_column {
            Some(name) if kind(name) != Some(ValueKind::String) => {
                Err(format!("expected a text column of metadata, found {name:?}"))
            }
            _ => Ok(()),
        }
    }

    /// The fields alone.
    pub fn schema(&self) -> Schema {
        Schema::new(self.fields.iter().map(|stored| stored.field.clone()).collect())
    }

    /// True for samples of the format itself.
    pub fn is_plain(&self) -> bool {
        *self == Self::default()
    }

    /// True for a column that is neither a field nor the JSON text, so a part of the metadata itself.
    pub fn is_metadata(&self, column: &str) -> bool {
        self.metadata_column.is_none()
            && !self.fields.iter().any(|s| matches!(&s.place, FieldPlace::Column(c) if c == column))
    }

    /// The member of the manifest.
    pub fn to_value(&self) -> Value {
        let mut out = Object::new();
        out.insert("version", VERSION);
        out.insert("fields", self.fields.iter().map(line).collect::<Vec<_>>());
        if let Some(name) = &self.metadata_column {
            out.insert("metadata_column", name.as_str());
        }
        if let Some(carried) = &self.carried {
            out.insert("carried", keep(carried, 2));
        }
        Value::Object(out)
    }
}

/// The kind of the metadata column that can hold a field; none where no column can.
pub fn column_kind(field: &Field) -> Option<ValueKind> {
    use DType::*;
    if !field.shape.is_empty() || field.varying {
        return None;
    }
    match field.dtype {
        Bool => Some(ValueKind::Bool),
        Int8 | Int16 | Int32 | Int64 | UInt8 | UInt16 | UInt32 | UInt64 => Some(ValueKind::Int),
        Float16 | BFloat16 | Float32 | Float64 => Some(ValueKind::Float),
        Str => Some(ValueKind::String),
        _ => None,
    }
}

fn line(stored: &StoredField) -> Value {
    let StoredField { field, place } = stored;
    let mut out = Object::new();
    let parts = field.key.parts().iter().map(|part| Value::from(part.as_str()));
    out.insert("key", parts.collect::<Vec<_>>());
    out.insert("dtype", field.dtype.name().as_ref());
    match field.varying {
        true => out.insert("rank", field.shape.len() as u64),
        false => out.insert("shape", field.shape.as_slice()),
    };
    match place {
        FieldPlace::Payload => out.insert("payload", true),
        FieldPlace::Tensor(name) => out.insert("tensor", name.as_str()),
        FieldPlace::Column(name) => out.insert("column", name.as_str()),
    };
    if !field.metadata.is_empty() {
        out.insert("metadata", keep(&field.metadata, 4));
    }
    Value::Object(out)
}

/// An object so many levels deep in the manifest; as text where the original would refuse it or packstone's own writer of
/// manifests would change it: numbers that are not finite or beyond doubles, half characters, deep nesting.
fn keep(object: &Object, levels: usize) -> Value {
    let value = Value::Object(object.clone());
    match holds(&value, levels) {
        true => value,
        false => json::write(&value, &Style::PYTHON).into(),
    }
}

/// What was kept.
fn kept(at: At<'_>) -> Result<Object, ShapeError> {
    let Value::String(text) = at.value() else { return at.object().cloned() };
    let options = ReadOptions::default().with_nan(true);
    match json::read(text.as_bytes(), &options).map(|document| document.value) {
        Ok(Value::Object(object)) => Ok(object),
        _ => Err(at.unexpected("an object, or one as JSON text")),
    }
}

fn stored(at: At<'_>) -> Result<StoredField, ShapeError> {
    let parts = at.field("key")?.items()?.map(|part| part.str().map(str::to_owned));
    let key = Key::nested(parts.collect::<Result<_, _>>()?);
    let dtype = at.field("dtype")?;
    let dtype = DType::from_name(dtype.str()?).ok_or_else(|| dtype.unexpected("a dtype"))?;
    let mut field = match at.optional("rank")? {
        Some(rank) => {
            let found = Some(rank.u64()?).filter(|rank| *rank <= MAX_RANK);
            let found = found.and_then(|rank| usize::try_from(rank).ok());
            Field::varying(key, dtype, found.ok_or_else(|| rank.unexpected("at most 64"))?)
        }
        None => {
            let dims = at.field("shape")?.items()?.map(At::u64).collect::<Result<Vec<_>, _>>()?;
            Field::at(key, dtype, dims)
        }
    };
    if !field.varying && !field.is_variable() && field.value_bytes().is_none() {
        return Err(at.unexpected("a field whose values fit 64 bits"));
    }
    if let Some(metadata) = at.optional("metadata")? {
        field.metadata = kept(metadata)?;
    }
    let place = match (at.optional("tensor")?, at.optional("column")?) {
        (Some(name), None) => FieldPlace::Tensor(name.str()?.to_owned()),
        (None, Some(name)) => FieldPlace::Column(name.str()?.to_owned()),
        (None, None) if at.field("payload")?.bool()? => FieldPlace::Payload,
        _ => return Err(at.unexpected("one of payload, tensor and column")),
    };
    Ok(StoredField { field, place })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Descriptor {
        let tensor = |field: Field, name: &str| StoredField {
            field,
            place: FieldPlace::Tensor(name.to_owned()),
        };
        let mut label = Field::new("label", DType::Int32, []);
        label.metadata.insert("unit", "m");
        Descriptor {
            fields: vec![
                tensor(Field::new("image", DType::UInt8, [28, 28]), "image"),
                tensor(
                    Field::varying(
                        Key::nested(vec!["a".to_owned(), "b".to_owned()]),
                        DType::Float32,
                        2,
                    ),
                    "a.b",
                ),
                StoredField { field: label, place: FieldPlace::Column("label".to_owned()) },
            ],
            metadata_column: Some("packstone_metadata".to_owned()),
            carried: Some(Object::from_iter([("version", 1)])),
        }
    }

    fn columns() -> Vec<ColumnSpec> {
        vec![
            ColumnSpec::new("label", ValueKind::Int),
            ColumnSpec::new("packstone_metadata", ValueKind::String),
        ]
    }

    fn read(value: Value) -> Result<Descriptor, String> {
        let document = Object::from_iter([(EXTENSION, value)]);
        Descriptor::of(&document, &columns(), &Place::default()).map_err(|e| e.to_string())
    }

    #[test]
    fn descriptions_come_back() {
        assert_eq!(read(example().to_value()), Ok(example()));
        let plain = Descriptor::of(&Object::new(), &[], &Place::default()).unwrap();
        assert!(plain.is_plain() && !example().is_plain());
        assert_eq!(read(plain.to_value()), Ok(plain));
    }

    #[test]
    fn what_the_original_refuses_is_kept_as_text() {
        let deep = "[".repeat(125) + &"]".repeat(125);
        for (text, as_text) in [
            (r#"{"b": 1, "a": {"y": [1.50, "é"], "x": null}}"#, false),
            (r#"{"a": [NaN, -Infinity]}"#, true),
            (r#"{"a": 1e999}"#, true),
            (r#"{"a": "\ud800", "\udc00": 1}"#, true),
            (&format!(r#"{{"a": {deep}}}"#), true),
        ] {
            let options = ReadOptions::default().with_nan(true);
            let value = json::read(text.as_bytes(), &options).unwrap().value;
            let mut descriptor = example();
            descriptor.carried = value.as_object().cloned();
            descriptor.fields[0].field.metadata = value.as_object().unwrap().clone();
            let member = descriptor.to_value();
            let carried = member.get("carried").unwrap();
            assert_eq!(carried.as_str().is_some(), as_text, "{text}");
            assert_eq!(read(member).unwrap(), descriptor, "{text}");
        }
        let mut member = example().to_value();
        member.as_object_mut().unwrap().insert("carried", "[1]");
        assert!(read(member).unwrap_err().contains("an object"));
    }

    #[test]
    fn descriptions_that_contradict_the_cache_are_refused() {
        let refuse = |edit: fn(&mut Descriptor), what: &str| {
            let mut descriptor = example();
            edit(&mut descriptor);
            let error = read(descriptor.to_value()).unwrap_err();
            assert!(error.contains(what) && error.contains("manifest_invalid"), "{error}");
        };
        refuse(|d| d.metadata_column = Some("label".to_owned()), "a text column");
        refuse(|d| d.fields[2].place = FieldPlace::Column("none".to_owned()), "a column that");
        refuse(|d| d.fields[2].field.dtype = DType::Float32, "a column that holds float32");
        refuse(|d| d.fields[1].place = FieldPlace::Tensor("image".to_owned()), "each tensor once");
        refuse(|d| d.fields[1].place = FieldPlace::Payload, "one field in the payload");
    }
}
