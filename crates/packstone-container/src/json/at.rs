//! A cursor for reading documents strictly: typed access, and errors that name their place.

use std::borrow::Cow;

use super::lax;
use super::number::Number;
use super::object::Object;
use super::path;
use super::shape::{ShapeError, describe};
use super::value::Value;

/// Steps that a cursor remembers. Control documents nest less; deeper paths end in `…`.
const TRAIL: usize = 12;

/// A value in a document, with the way to it.
///
/// Cheap to copy: the way is a list of positions, and is spelled out only when an error needs it.
///
/// ```
/// use packstone_container::json::{At, Value};
/// use packstone_container::json;
///
/// let document = json!({ "splits": { "train": { "shards": [{ "rows": 7 }, { "rows": "x" }] } } });
/// let shards = At::root(&document).field("splits")?.field("train")?.field("shards")?;
/// let rows: Result<Vec<u64>, _> = shards.items()?.map(|shard| shard.field("rows")?.u64()).collect();
/// assert_eq!(
///     rows.unwrap_err().to_string(),
///     r#"$.splits.train.shards[1].rows: expected a non-negative 64-bit integer, found "x""#
/// );
/// # Ok::<(), packstone_container::json::ShapeError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct At<'a> {
    root: &'a Value,
    value: &'a Value,
    trail: [usize; TRAIL],
    /// Steps from the root, which may be more than the trail holds.
    steps: usize,
}

impl<'a> At<'a> {
    /// A cursor at the outermost value.
    #[must_use]
    pub fn root(value: &'a Value) -> Self {
        Self { root: value, value, trail: [0; TRAIL], steps: 0 }
    }

    fn step(mut self, position: usize, value: &'a Value) -> Self {
        if let Some(place) = self.trail.get_mut(self.steps) {
            *place = position;
        }
        self.steps += 1;
        self.value = value;
        self
    }

    /// The value itself.
    #[must_use]
    pub fn value(self) -> &'a Value {
        self.value
    }

    /// The JSON path of the value. Names longer than 64 characters are cut, paths of more than 12 steps end in `…`.
    #[must_use]
    pub fn path(self) -> String {
        let mut path = path::ROOT.to_owned();
        let mut value = self.root;
        for &position in self.trail.iter().take(self.steps) {
            let next = match value {
                Value::Array(items) => {
                    path::push_index(&mut path, position);
                    items.get(position)
                }
                Value::Object(object) => object.get_index(position).map(|(key, value)| {
                    path::push_key(&mut path, key);
                    value
                }),
                _ => None,
            };
            let Some(next) = next else { break };
            value = next;
        }
        if self.steps > TRAIL {
            path.push('…');
        }
        path
    }

    /// The error that something else than this value was expected. `expected` reads on: `a string`, `one of a, b`.
    #[must_use]
    pub fn unexpected(self, expected: impl Into<Cow<'static, str>>) -> ShapeError {
        ShapeError::Unexpected {
            path: self.path(),
            expected: expected.into(),
            found: describe(self.value),
        }
    }

    /// A member that must be there.
    ///
    /// # Errors
    ///
    /// This is not an object, or has no such member.
    pub fn field(self, name: &str) -> Result<Self, ShapeError> {
        self.optional(name)?.ok_or_else(|| {
            let mut path = self.path();
            path::push_name(&mut path, name);
            ShapeError::Missing { path }
        })
    }

    /// A member that may be absent. One that is `null` is there.
    ///
    /// # Errors
    ///
    /// This is not an object.
    pub fn optional(self, name: &str) -> Result<Option<Self>, ShapeError> {
        Ok(self.object()?.find(name).map(|(position, value)| self.step(position, value)))
    }

    /// An item that must be there.
    ///
    /// # Errors
    ///
    /// This is not an array, or is shorter.
    pub fn index(self, index: usize) -> Result<Self, ShapeError> {
        self.array()?.get(index).map(|value| self.step(index, value)).ok_or_else(|| {
            let mut path = self.path();
            path::push_index(&mut path, index);
            ShapeError::Missing { path }
        })
    }

    /// The items of an array.
    ///
    /// # Errors
    ///
    /// This is not an array.
    pub fn items(self) -> Result<impl ExactSizeIterator<Item = Self> + use<'a>, ShapeError> {
        Ok(self
            .array()?
            .iter()
            .enumerate()
            .map(move |(position, value)| self.step(position, value)))
    }

    /// The members of an object, with their names.
    ///
    /// # Errors
    ///
    /// This is not an object, or a name has an unpaired surrogate and so is no text.
    pub fn entries(self) -> Result<impl Iterator<Item = (&'a str, Self)> + use<'a>, ShapeError> {
        let object = self.object()?;
        if let Some((position, (_, value))) =
            object.iter().enumerate().find(|(_, (key, _))| key.as_str().is_none())
        {
            return Err(ShapeError::Unexpected {
                path: self.step(position, value).path(),
                expected: "a member name of Unicode text".into(),
                found: "an unpaired surrogate".to_owned(),
            });
        }
        Ok(object.iter().enumerate().filter_map(move |(position, (key, value))| {
            Some((key.as_str()?, self.step(position, value)))
        }))
    }

    /// The text of a string.
    ///
    /// # Errors
    ///
    /// This is not a string, or one with an unpaired surrogate.
    pub fn str(self) -> Result<&'a str, ShapeError> {
        self.value.as_str().ok_or_else(|| self.unexpected("a string"))
    }

    /// The boolean.
    ///
    /// # Errors
    ///
    /// This is not a boolean.
    pub fn bool(self) -> Result<bool, ShapeError> {
        self.value.as_bool().ok_or_else(|| self.unexpected("a boolean"))
    }

    /// The number.
    ///
    /// # Errors
    ///
    /// This is not a number.
    pub fn number(self) -> Result<&'a Number, ShapeError> {
        self.value.as_number().ok_or_else(|| self.unexpected("a number"))
    }

    /// The value of an integer without fraction or exponent.
    ///
    /// # Errors
    ///
    /// This is not such a number, or is beyond 64 bits or negative.
    pub fn u64(self) -> Result<u64, ShapeError> {
        self.value.as_u64().ok_or_else(|| self.unexpected("a non-negative 64-bit integer"))
    }

    /// The value of an integer without fraction or exponent.
    ///
    /// # Errors
    ///
    /// This is not such a number, or is beyond 64 bits.
    pub fn i64(self) -> Result<i64, ShapeError> {
        self.value.as_i64().ok_or_else(|| self.unexpected("a 64-bit integer"))
    }

    /// The integer that pydantic's lax mode takes this for: see [`Lax`].
    ///
    /// # Errors
    ///
    /// This is not a number, boolean or string that spells an integer, or is beyond 64 bits.
    pub fn lax_i64(self) -> Result<Lax<i64>, ShapeError> {
        lax::integer(self.value).ok_or_else(|| self.unexpected("a 64-bit integer"))
    }

    /// The object.
    ///
    /// # Errors
    ///
    /// This is not an object.
    pub fn object(self) -> Result<&'a Object, ShapeError> {
        self.value.as_object().ok_or_else(|| self.unexpected("an object"))
    }

    /// The items of an array, without their places.
    ///
    /// # Errors
    ///
    /// This is not an array.
    pub fn array(self) -> Result<&'a [Value], ShapeError> {
        self.value.as_array().ok_or_else(|| self.unexpected("an array"))
    }
}

/// A value that may have been written in another type than it should.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lax<T> {
    /// The value.
    pub value: T,
    /// Whether the document has it in another type: `"7"`, `7.0` or `true` for an integer.
    pub coerced: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;
    use crate::json::Wide;

    fn document() -> Value {
        json!({
            "dataset_structure": { "compression": 7, "shapes": [[1, 2], [3, "x"]] },
            "odd name": { "n": null, "f": 7.0, "b": true, "big": u128::MAX, "neg": -1 },
        })
    }

    #[test]
    fn reads_what_is_there() {
        let document = document();
        let root = At::root(&document);
        let shapes = root.field("dataset_structure").unwrap().field("shapes").unwrap();
        assert_eq!(shapes.index(1).unwrap().index(0).unwrap().u64(), Ok(3));
        let first: Vec<_> =
            shapes.index(0).unwrap().items().unwrap().map(|at| at.i64().unwrap()).collect();
        assert_eq!(first, [1, 2]);
        assert_eq!(shapes.index(1).unwrap().index(1).unwrap().str(), Ok("x"));
        let odd = root.field("odd name").unwrap();
        let entries: Vec<_> = odd.entries().unwrap().map(|(name, at)| (name, at.path())).collect();
        assert_eq!(entries[0], ("n", "$[\"odd name\"].n".to_owned()));
        assert_eq!(entries.len(), 5);
        assert!(odd.optional("nothing").unwrap().is_none());
        assert!(odd.optional("n").unwrap().unwrap().value().is_null());
        assert_eq!(odd.field("b").unwrap().bool(), Ok(true));
        assert_eq!(odd.field("f").unwrap().number().unwrap().text(), "7.0");
    }

    #[test]
    fn errors_name_place_expectation_and_finding() {
        let document = document();
        let root = At::root(&document);
        let structure = root.field("dataset_structure").unwrap();
        let odd = root.field("odd name").unwrap();
        let shapes = structure.field("shapes").unwrap();
        let messages = [
            structure.field("compression").unwrap().str().unwrap_err(),
            structure.field("name").unwrap_err(),
            structure.field("compression").unwrap().field("x").unwrap_err(),
            structure.field("compression").unwrap().optional("x").unwrap_err(),
            structure.array().unwrap_err(),
            shapes.index(2).unwrap_err(),
            shapes.index(1).unwrap().object().unwrap_err(),
            shapes.index(1).unwrap().index(1).unwrap().u64().unwrap_err(),
            odd.field("n").unwrap().i64().unwrap_err(),
            odd.field("f").unwrap().i64().unwrap_err(),
            odd.field("neg").unwrap().u64().unwrap_err(),
            odd.field("big").unwrap().i64().unwrap_err(),
            odd.field("b").unwrap().number().unwrap_err(),
            odd.field("b").unwrap().unexpected(format!("one of {}", "x, y")),
        ];
        assert_eq!(
            messages.map(|error| error.to_string()),
            [
                "$.dataset_structure.compression: expected a string, found 7",
                "$.dataset_structure.name: missing",
                "$.dataset_structure.compression: expected an object, found 7",
                "$.dataset_structure.compression: expected an object, found 7",
                "$.dataset_structure: expected an array, found an object",
                "$.dataset_structure.shapes[2]: missing",
                "$.dataset_structure.shapes[1]: expected an object, found an array",
                "$.dataset_structure.shapes[1][1]: expected a non-negative 64-bit integer, found \"x\"",
                "$[\"odd name\"].n: expected a 64-bit integer, found null",
                "$[\"odd name\"].f: expected a 64-bit integer, found 7.0",
                "$[\"odd name\"].neg: expected a non-negative 64-bit integer, found -1",
                "$[\"odd name\"].big: expected a 64-bit integer, found 340282366920938463463374607431768211455",
                "$[\"odd name\"].b: expected a number, found true",
                "$[\"odd name\"].b: expected one of x, y, found true",
            ]
        );
        assert_eq!(structure.field("name").unwrap_err().path(), "$.dataset_structure.name");
    }

    #[test]
    fn cuts_long_findings() {
        let text = Value::from("\n".repeat(1000));
        assert!(At::root(&text).u64().unwrap_err().to_string().len() < 300);
        let digits = Value::Number("9".repeat(1000).parse().unwrap());
        assert!(At::root(&digits).u64().unwrap_err().to_string().len() < 300);
    }

    #[test]
    fn survives_paths_longer_than_its_trail() {
        let mut value = json!("leaf");
        for _ in 0..20 {
            value = json!([value]);
        }
        let mut at = At::root(&value);
        for step in 0..20 {
            assert_eq!(at.path().ends_with('…'), step > TRAIL);
            at = at.index(0).unwrap();
        }
        assert_eq!(at.str(), Ok("leaf"));
        assert_eq!(at.path(), format!("${}…", "[0]".repeat(TRAIL)));
    }

    #[test]
    fn names_without_text_are_refused() {
        let mut object = Object::from_iter([("a", 1)]);
        object.insert(Wide::from_units(&[0xd800]).unwrap(), 2);
        let value = Value::from(object);
        assert_eq!(
            At::root(&value).entries().err().unwrap().to_string(),
            r#"$["\ud800"]: expected a member name of Unicode text, found an unpaired surrogate"#
        );
    }
}
