//! A record, and the row that says the same without values.

use packstone_container::json::{At, Object, ShapeError, Value};
use packstone_container::safetensors::TensorType;
use packstone_io::{Buf, Kind};

use super::super::codes;
use super::super::layout::COMPACT;
use super::super::options::Policy;
use super::axes::{Axis, optional, parse_all};
use super::notes::Notes;
use super::text::{misshapen, pythonic_object, read, spell};
use crate::error::{Error, Result};
use crate::model::{DType, Severity};

const ROW_KEYS: [&str; 4] = ["fields", "id", "metadata", "scene_id"];
const FIELD_KEYS: [&str; 4] = ["axes", "dtype", "metadata", "shape"];

/// The types that fields can have.
pub static DTYPES: [(DType, TensorType); 13] = [
    (DType::Bool, TensorType::Bool),
    (DType::Int8, TensorType::I8),
    (DType::Int16, TensorType::I16),
    (DType::Int32, TensorType::I32),
    (DType::Int64, TensorType::I64),
    (DType::UInt8, TensorType::U8),
    (DType::UInt16, TensorType::U16),
    (DType::UInt32, TensorType::U32),
    (DType::UInt64, TensorType::U64),
    (DType::Float16, TensorType::F16),
    (DType::Float32, TensorType::F32),
    (DType::Float64, TensorType::F64),
    (DType::Complex64, TensorType::C64),
];

/// The type that a tensor of a field's type has.
pub fn tensor_type(dtype: &DType) -> Option<TensorType> {
    DTYPES.iter().find_map(|(ours, tensor)| (ours == dtype).then_some(*tensor))
}

/// The type of a field whose tensor has this type.
pub fn field_type(tensor: TensorType) -> Option<&'static DType> {
    DTYPES.iter().find_map(|(ours, other)| (*other == tensor).then_some(ours))
}

/// One record.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// Its name, not empty.
    pub id: String,
    /// What it belongs to.
    pub scene_id: Option<String>,
    /// What is said about it.
    pub metadata: Object,
    /// Its fields by name; at least one.
    pub fields: Vec<(String, RecordField)>,
}

/// A field of a record: little-endian values in C order.
#[derive(Clone, Debug)]
pub struct RecordField {
    /// The type of its elements.
    pub dtype: DType,
    /// Elements along each axis; at least one axis.
    pub shape: Vec<u64>,
    /// The values.
    pub data: Buf,
    /// The axes, one a dimension.
    pub axes: Vec<Axis>,
    /// What is said about it.
    pub metadata: Object,
}

impl Record {
    /// The field of this name.
    pub fn field(&self, name: &str) -> Option<&RecordField> {
        self.fields.iter().find_map(|(other, field)| (other == name).then_some(field))
    }

    /// The row that says the same without values.
    pub fn row(&self) -> Row {
        let field = |(name, field): &(String, RecordField)| {
            let RecordField { dtype, shape, axes, metadata, .. } = field;
            let dtype = dtype.numpy_str().into_owned();
            let (shape, axes, metadata) = (shape.clone(), axes.clone(), metadata.clone());
            (name.clone(), RowField { dtype, shape, axes, metadata })
        };
        Row {
            id: Some(self.id.clone()),
            scene_id: self.scene_id.clone(),
            metadata: self.metadata.clone(),
            fields: self.fields.iter().map(field).collect(),
        }
    }
}

/// A metadata row: what a record is without its values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// Its name; `None` where the row has something else than a text in its place.
    pub id: Option<String>,
    /// What it belongs to.
    pub scene_id: Option<String>,
    /// What is said about it.
    pub metadata: Object,
    /// Its fields by name.
    pub fields: Vec<(String, RowField)>,
}

/// A field of a row.
#[derive(Clone, Debug, PartialEq)]
pub struct RowField {
    /// NumPy's type string: `<f4`. Rows may state types that no record can have.
    pub dtype: String,
    /// Elements along each axis.
    pub shape: Vec<u64>,
    /// The axes, one a dimension.
    pub axes: Vec<Axis>,
    /// What is said about it.
    pub metadata: Object,
}

impl RowField {
    /// The type, where records can have it.
    pub fn field_type(&self) -> Option<&'static DType> {
        DTYPES.iter().find_map(|(dtype, _)| (dtype.numpy_str() == self.dtype).then_some(dtype))
    }
}

impl Row {
    /// Its text.
    pub fn text(&self) -> String {
        spell(self.to_value(), &COMPACT)
    }

    /// As it is written, with numbers as Python spells them.
    pub fn to_value(&self) -> Value {
        let fields = self.fields.iter().map(|(name, field)| {
            let mut out = Object::new();
            out.insert("axes", field.axes.iter().map(Axis::to_value).collect::<Vec<_>>());
            out.insert("dtype", field.dtype.as_str());
            out.insert("metadata", pythonic_object(&field.metadata));
            out.insert("shape", Value::from(field.shape.as_slice()));
            (name.as_str(), Value::Object(out))
        });
        let mut out = Object::new();
        out.insert("fields", fields.collect::<Object>());
        out.insert("id", optional(self.id.as_deref()));
        out.insert("metadata", pythonic_object(&self.metadata));
        out.insert("scene_id", optional(self.scene_id.as_deref()));
        Value::Object(out)
    }

    /// Reads a row. What the original lets through though no record can be like it is read and noted.
    ///
    /// # Errors
    /// `json_invalid`, `duplicate_key`, `limit_exceeded`, `row_invalid`.
    pub fn parse(bytes: &[u8], policy: &Policy, notes: &mut Notes) -> Result<Self> {
        let value = read(bytes, &policy.row(), notes)?;
        let at = At::root(&value);
        let place = notes.place.clone();
        let shape = |e: ShapeError| misshapen(codes::ROW_INVALID, &e, &place);
        let fields = at.field("fields").map_err(shape)?;
        let (limit, found) = (policy.records.fields, fields.object().map_err(shape)?.len());
        if found > limit {
            return Err(exceeded("fields", limit as u64, found as u64).with_place(place));
        }
        let mut row = Self::default();
        for (name, at) in fields.entries().map_err(shape)? {
            let field = RowField::parse(at, notes).map_err(shape)?;
            let (limit, found) = (policy.records.axes_per_field, field.axes.len());
            if found > limit {
                let error = exceeded("axes of a field", limit as u64, found as u64);
                return Err(error.with_place(place.field(name)));
            }
            row.fields.push((name.to_owned(), field));
        }
        if row.fields.is_empty() {
            loose(notes, fields, "fields, one at least");
        }
        let id = at.field("id").map_err(shape)?;
        row.id = id.value().as_str().map(str::to_owned);
        if row.id.as_ref().is_none_or(String::is_empty) {
            loose(notes, id, "a text that is not empty");
        }
        let scene = at.optional("scene_id").map_err(shape)?.filter(|at| !at.value().is_null());
        if let Some(at) = scene {
            row.scene_id = at.value().as_str().map(str::to_owned);
            if row.scene_id.is_none() {
                loose(notes, at, "a text or null");
            }
        }
        row.metadata = notes.metadata(at).map_err(shape)?;
        notes.unknown(at, &ROW_KEYS).map_err(shape)?;
        Ok(row)
    }
}

impl RowField {
    fn parse(at: At<'_>, notes: &mut Notes) -> Result<Self, ShapeError> {
        let stated = at.field("dtype")?;
        let dtype = match stated.value() {
            // NumPy reads null as its default type.
            Value::Null => "<f8".to_owned(),
            _ => stated.str()?.to_owned(),
        };
        let axes = at.field("axes")?;
        let sizes = at.field("shape")?;
        let shape = sizes.items()?.map(At::u64).collect::<Result<Vec<_>, _>>()?;
        let field =
            Self { dtype, shape, axes: parse_all(axes, notes)?, metadata: notes.metadata(at)? };
        if field.axes.len() != field.shape.len() {
            return Err(axes.unexpected(format!("{} axes, one a dimension", field.shape.len())));
        }
        let mut lengths = field.axes.iter().zip(&field.shape).zip(axes.items()?);
        if let Some(((_, size), at)) = lengths.find(|((axis, size), _)| axis.length != **size) {
            return Err(at.field("length")?.unexpected(size.to_string()));
        }
        if field.field_type().is_none() || stated.value().is_null() {
            match DType::from_numpy(&field.dtype).is_some() || field.dtype.ends_with('O') {
                true => loose(notes, stated, "a type that records can have"),
                false => return Err(stated.unexpected("a NumPy type")),
            }
        }
        if field.shape.is_empty() {
            loose(notes, sizes, "one dimension at least");
        }
        notes.unknown(at, &FIELD_KEYS)?;
        Ok(field)
    }
}

fn loose(notes: &mut Notes, at: At<'_>, expected: &str) {
    let message = format!("expected {expected}, found {}", at.value());
    notes.add(Severity::Warning, codes::ROW_LOOSE, Some(at), message);
}

/// The error for more of something than allowed.
pub(super) fn exceeded(what: &str, limit: u64, found: u64) -> Error {
    let message = format!("expected at most {limit} {what}, found {found}");
    Error::new(Kind::Limit, codes::LIMIT_EXCEEDED, Default::default(), message)
}
