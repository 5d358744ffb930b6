//! The axes of a field, and what lies along them: `{name, length, role, id, coordinate, metadata}`.
//!
//! A coordinate is explicit (`values`, one an index), linear (`start`, `step`), or a `reference` to another field or to an
//! axis by its id; or it only states a `unit`. Descriptors and metadata rows spell axes alike.

use packstone_container::json::{At, Number, Object, ShapeError, Value, python_eq};

use super::notes::Notes;
use super::text::{pythonic, pythonic_number, pythonic_object};

const AXIS_KEYS: [&str; 6] = ["coordinate", "id", "length", "metadata", "name", "role"];
const COORDINATE_KEYS: [&str; 6] = ["metadata", "reference", "start", "step", "unit", "values"];
/// Start of the names of axes that nobody named.
const UNNAMED: &str = "dim_";

/// One axis of a field.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Axis {
    /// Its name, unique in the field.
    pub name: String,
    /// Indices along it.
    pub length: u64,
    /// What it stands for.
    pub role: Option<String>,
    /// Axes of one id agree in length and coordinate.
    pub id: Option<String>,
    /// What lies along it.
    pub coordinate: Option<Coordinate>,
    /// What is said about it.
    pub metadata: Object,
}

/// What lies along an axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Coordinate {
    /// A value for each index.
    pub values: Option<Vec<Value>>,
    /// The value at index 0.
    pub start: Option<Number>,
    /// The difference from one index to the next.
    pub step: Option<Number>,
    /// A field of the record, or the id of an axis.
    pub reference: Option<String>,
    /// The unit of values.
    pub unit: Option<String>,
    /// What is said about it.
    pub metadata: Object,
}

impl Axis {
    /// An axis with a name and nothing else.
    pub fn new(name: impl Into<String>, length: u64) -> Self {
        Self { name: name.into(), length, ..Self::default() }
    }

    /// The axes of a field of which only the shape is known: `dim_0`, `dim_1`, ….
    pub fn unnamed(shape: &[u64]) -> Vec<Self> {
        let named =
            |(place, length): (usize, &u64)| Self::new(format!("{UNNAMED}{place}"), *length);
        shape.iter().enumerate().map(named).collect()
    }

    /// True for axes that say nothing but their lengths, see [`Axis::unnamed`].
    pub fn are_unnamed(axes: &[Self]) -> bool {
        axes.iter().enumerate().all(|(place, axis)| {
            let number = axis.name.strip_prefix(UNNAMED);
            number.is_some_and(|number| *number == place.to_string())
                && axis.role.is_none()
                && axis.id.is_none()
                && axis.coordinate.is_none()
                && axis.metadata.is_empty()
        })
    }

    /// Reads an axis; other keys are noted.
    ///
    /// # Errors
    /// What has another shape, with its JSON path.
    pub fn parse(at: At<'_>, notes: &mut Notes) -> Result<Self, ShapeError> {
        let coordinate = at.optional("coordinate")?.filter(|at| !at.value().is_null());
        let coordinate = coordinate.map(|at| Coordinate::parse(at, notes)).transpose()?;
        notes.unknown(at, &AXIS_KEYS)?;
        Ok(Self {
            name: at.field("name")?.str()?.to_owned(),
            length: at.field("length")?.u64()?,
            role: text(at, "role")?,
            id: text(at, "id")?,
            coordinate,
            metadata: notes.metadata(at)?,
        })
    }

    /// As it is written, with numbers as Python spells them.
    pub fn to_value(&self) -> Value {
        let mut out = Object::new();
        let coordinate = self.coordinate.as_ref().map_or(Value::Null, Coordinate::to_value);
        out.insert("coordinate", coordinate);
        out.insert("id", optional(self.id.as_deref()));
        out.insert("length", self.length);
        out.insert("metadata", pythonic_object(&self.metadata));
        out.insert("name", self.name.as_str());
        out.insert("role", optional(self.role.as_deref()));
        Value::Object(out)
    }

    /// True where axes of one id agree: lengths and coordinates are equal as Python compares them.
    pub fn agrees(&self, other: &Self) -> bool {
        self.length == other.length
            && match (&self.coordinate, &other.coordinate) {
                (None, None) => true,
                (Some(a), Some(b)) => a.equals(b),
                _ => false,
            }
    }
}

impl Coordinate {
    fn parse(at: At<'_>, notes: &mut Notes) -> Result<Self, ShapeError> {
        notes.unknown(at, &COORDINATE_KEYS)?;
        let values = given(at, "values")?.map(At::array).transpose()?;
        Ok(Self {
            values: values.map(<[Value]>::to_vec),
            start: given(at, "start")?.map(At::number).transpose()?.cloned(),
            step: given(at, "step")?.map(At::number).transpose()?.cloned(),
            reference: text(at, "reference")?,
            unit: text(at, "unit")?,
            metadata: notes.metadata(at)?,
        })
    }

    fn to_value(&self) -> Value {
        let mut out = self.heart();
        out.insert("metadata", pythonic_object(&self.metadata));
        Value::Object(out)
    }

    /// All but the metadata, in the order in which the original counts their bytes.
    pub(super) fn heart(&self) -> Object {
        let number = |number: &Option<Number>| {
            number.as_ref().map_or(Value::Null, |n| Value::Number(pythonic_number(n)))
        };
        let values = self.values.as_ref();
        let mut out = Object::new();
        out.insert(
            "values",
            values.map_or(Value::Null, |v| Value::Array(v.iter().map(pythonic).collect())),
        );
        out.insert("start", number(&self.start));
        out.insert("step", number(&self.step));
        out.insert("reference", optional(self.reference.as_deref()));
        out.insert("unit", optional(self.unit.as_deref()));
        out
    }

    fn equals(&self, other: &Self) -> bool {
        let number = |a: &Option<Number>, b: &Option<Number>| match (a, b) {
            (None, None) => true,
            (Some(a), Some(b)) => python_eq(&Value::Number(a.clone()), &Value::Number(b.clone())),
            _ => false,
        };
        let values = match (&self.values, &other.values) {
            (None, None) => true,
            (Some(a), Some(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| python_eq(a, b))
            }
            _ => false,
        };
        let metadata = || {
            let value = |object: &Object| Value::Object(object.clone());
            python_eq(&value(&self.metadata), &value(&other.metadata))
        };
        values
            && number(&self.start, &other.start)
            && number(&self.step, &other.step)
            && self.reference == other.reference
            && self.unit == other.unit
            && metadata()
    }
}

/// The axes at `axes`.
///
/// # Errors
/// What has another shape, with its JSON path.
pub fn parse_all(at: At<'_>, notes: &mut Notes) -> Result<Vec<Axis>, ShapeError> {
    at.items()?.map(|axis| Axis::parse(axis, notes)).collect()
}

fn given<'a>(at: At<'a>, key: &str) -> Result<Option<At<'a>>, ShapeError> {
    Ok(at.optional(key)?.filter(|at| !at.value().is_null()))
}

fn text(at: At<'_>, key: &str) -> Result<Option<String>, ShapeError> {
    Ok(given(at, key)?.map(At::str).transpose()?.map(str::to_owned))
}

/// A text or null.
pub(super) fn optional(text: Option<&str>) -> Value {
    text.map_or(Value::Null, Value::from)
}
