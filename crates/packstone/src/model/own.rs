//! What packstone's own writers leave in datasets of formats that say less about samples: which fields these have, which
//! collections they were, and what is carried for a source of another format.
//!
//! ```text
//! "packstone": {"version": 1, "bare": true?, "carried": {...}?, "collections": [["train", 100], ["test", 20]],
//!               "fields": [{"name": "x", "dtype": "float32", "shape": [3]}, {"name": "y", "dtype": "uint8", "rank": 1}]}
//! ```
//!
//! Other readers see one sequence of records and metadata that mean nothing to them.

use packstone_container::json::{At, Object, ShapeError, Value};

use super::dtype::DType;
use super::schema::{Field, Key, Schema};

/// The member that it is, among metadata of a dataset.
pub const MEMBER: &str = "packstone";
const VERSION: u64 = 1;
/// The name of the one collection of a dataset that does not name it.
pub const RECORDS: &str = "records";

/// What the member says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Own {
    /// The fields of all records.
    pub schema: Schema,
    /// The collections in order, with their numbers of records.
    pub collections: Vec<(String, u64)>,
    /// True where no record has metadata, so that none need be looked for.
    pub bare: bool,
    /// See [`Info::carried`](crate::format::Info::carried).
    pub carried: Option<Object>,
}

impl Own {
    /// Reads the member of a root's metadata, where there is one of a version that is known and that fits `records`.
    pub fn of(metadata: &Object, records: u64) -> Option<Self> {
        let value = metadata.get(MEMBER)?;
        let own = Self::parse(At::root(value)).ok()?;
        let sum = own.collections.iter().try_fold(0u64, |sum, (_, len)| sum.checked_add(*len));
        (sum == Some(records)).then_some(own)
    }

    /// Reads the member itself.
    ///
    /// # Errors
    /// Where it is of another shape or version.
    pub fn parse(at: At<'_>) -> Result<Self, ShapeError> {
        let version = at.field("version")?;
        if version.u64()? != VERSION {
            return Err(version.unexpected(format!("version {VERSION}")));
        }
        let fields = at.field("fields")?.items()?.map(field).collect::<Result<_, _>>()?;
        let collection = |at: At<'_>| Ok((at.index(0)?.str()?.to_owned(), at.index(1)?.u64()?));
        let collections = at.field("collections")?.items()?.map(collection);
        let collections = collections.collect::<Result<_, ShapeError>>()?;
        let carried = at.optional("carried")?.map(At::object).transpose()?.cloned();
        let bare = at.optional("bare")?.map(At::bool).transpose()?.unwrap_or_default();
        Ok(Self { schema: Schema::new(fields), collections, bare, carried })
    }

    /// As it is written.
    pub fn to_value(&self) -> Value {
        let field = |field: &Field| {
            let mut out = Object::new();
            out.insert("name", field.key.to_string());
            out.insert("dtype", field.dtype.name().as_ref());
            match field.varying {
                true => out.insert("rank", field.shape.len()),
                false => out.insert("shape", Value::from(field.shape.as_slice())),
            };
            if !field.metadata.is_empty() {
                out.insert("metadata", Value::Object(field.metadata.clone()));
            }
            Value::Object(out)
        };
        let mut out = Object::new();
        out.insert("version", VERSION);
        out.insert("fields", self.schema.fields.iter().map(field).collect::<Vec<_>>());
        let collection = |(name, len): &(String, u64)| {
            Value::Array(vec![Value::from(name.as_str()), Value::from(*len)])
        };
        out.insert("collections", self.collections.iter().map(collection).collect::<Vec<_>>());
        if self.bare {
            out.insert("bare", true);
        }
        if let Some(carried) = &self.carried {
            out.insert("carried", Value::Object(carried.clone()));
        }
        Value::Object(out)
    }
}

fn field(at: At<'_>) -> Result<Field, ShapeError> {
    let (name, stated) = (at.field("name")?.str()?, at.field("dtype")?);
    let dtype = DType::from_name(stated.str()?);
    let dtype = dtype.ok_or_else(|| stated.unexpected("the name of a type"))?;
    let mut field = match at.optional("rank")? {
        Some(rank) => {
            let count = usize::try_from(rank.u64()?).ok().filter(|n| *n <= 128);
            let count = count.ok_or_else(|| rank.unexpected("at most 128"))?;
            Field::varying(Key::new(name), dtype, count)
        }
        None => {
            let dims = at.field("shape")?.items()?.map(At::u64);
            Field::new(name, dtype, dims.collect::<Result<Vec<_>, _>>()?)
        }
    };
    if let Some(metadata) = at.optional("metadata")? {
        field.metadata = metadata.object()?.clone();
    }
    Ok(field)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let fields = vec![
            Field::new("x", DType::Float32, vec![3]),
            Field::new("s", DType::Int64, []),
            Field::varying(Key::new("y"), DType::UInt8, 2),
        ];
        let own = Own {
            schema: Schema::new(fields),
            collections: vec![("train".to_owned(), 3), ("test".to_owned(), 0)],
            bare: true,
            carried: Some(Object::from_iter([("version", 1)])),
        };
        let metadata = Object::from_iter([(MEMBER, own.to_value())]);
        assert_eq!(Own::of(&metadata, 3), Some(own));
        assert_eq!(Own::of(&metadata, 4), None);
        assert_eq!(Own::of(&Object::from_iter([(MEMBER, 7)]), 0), None);
    }
}
