//! What a format knows of all samples of a collection without reading them: a table of one row a sample.

use packstone_container::Limits;
use packstone_container::arrow_table::{Cell, Table};
use packstone_container::json::{self, FloatStyle, Number, Object, ReadOptions, Value};
use packstone_io::Kind;

use crate::error::{Error, Place, Result};

/// One row a sample, in the order of the collection.
#[derive(Clone, Debug)]
pub struct SampleTable {
    /// The columns, under the names that conditions know them by.
    pub table: Table,
    /// Of these, the metadata of samples: the name that each has there, and its place in the table.
    pub metadata: Vec<(String, usize)>,
    /// The place of the column whose texts are JSON objects with the metadata, where they stand there.
    pub text: Option<usize>,
    /// The places of the columns that say what the container calls a sample.
    pub identity: Vec<usize>,
}

impl SampleTable {
    /// The metadata of a sample; empty past the end.
    ///
    /// # Errors
    /// `model/metadata_text` where the text in the table is no JSON object.
    pub fn metadata(&self, row: usize, limits: &Limits) -> Result<Object> {
        let Some(text) = self.text.and_then(|place| self.cell(place, row)) else {
            let cell = |(name, place): &(String, usize)| {
                Some((name.clone(), value(self.cell(*place, row)?)))
            };
            return Ok(self.metadata.iter().filter_map(cell).collect());
        };
        let Cell::Utf8(text) = text else { return Ok(Object::new()) };
        let options = ReadOptions::default().with_limits(*limits).with_nan(true);
        let message = match json::read(text.as_bytes(), &options).map(|document| document.value) {
            Ok(Value::Object(object)) => return Ok(object),
            Ok(other) => format!("expected metadata in an object, found {}", other.kind()),
            Err(error) => format!("metadata of the sample: {error}"),
        };
        let place = Place::default().record(row as u64);
        Err(Error::new(Kind::Corrupt, "model/metadata_text", place, message))
    }

    /// What the container calls a sample; empty past the end, and where it has no name for it.
    #[must_use]
    pub fn identity(&self, row: usize) -> Object {
        let cell = |place: &usize| {
            let (name, column) = self.table.columns().nth(*place)?;
            Some((name.to_owned(), value(column.get(row)?)))
        };
        self.identity.iter().filter_map(cell).collect()
    }

    fn cell(&self, place: usize, row: usize) -> Option<Cell<'_>> {
        self.table.columns().nth(place)?.1.get(row)
    }
}

/// The value of a cell as packstone hands it out; floats that are not finite are `NaN` and its like.
#[must_use]
pub fn value(cell: Cell<'_>) -> Value {
    match cell {
        Cell::Null => Value::Null,
        Cell::Bool(value) => Value::Bool(value),
        Cell::Int64(value) => Value::from(value),
        Cell::UInt64(value) => Value::from(value),
        Cell::Float64(value) => Value::Number(Number::from_double_in(value, FloatStyle::Pydantic)),
        Cell::Utf8(text) => Value::from(text),
    }
}

#[cfg(test)]
mod tests {
    use packstone_container::arrow_table::{Column, Values};

    use super::*;

    fn table(text: Option<usize>) -> SampleTable {
        let columns: [(&str, Values); 3] = [
            ("id", Values::UInt64(vec![7, u64::MAX])),
            ("metadata.id", Values::Float64(vec![0.5, f64::NAN])),
            ("words", Values::Utf8([r#"{"a":[1e400]}"#, "[]"].iter().collect())),
        ];
        let columns = columns.map(|(name, values)| (name.to_owned(), Column::new(values)));
        SampleTable {
            table: Table::new(columns).unwrap(),
            metadata: vec![("id".to_owned(), 1), ("words".to_owned(), 2)],
            text,
            identity: vec![0],
        }
    }

    #[test]
    fn rows_become_objects() {
        let shown = |object: Object| Value::Object(object).to_string();
        let (columns, texts) = (table(None), table(Some(2)));
        let limits = Limits::default();
        let metadata = |table: &SampleTable, row| table.metadata(row, &limits).map(shown);
        assert_eq!(metadata(&columns, 0).unwrap(), r#"{"id":0.5,"words":"{\"a\":[1e400]}"}"#);
        assert_eq!(metadata(&texts, 0).unwrap(), r#"{"a":[1e400]}"#);
        assert_eq!(metadata(&texts, 1).unwrap_err().place().record, Some(1));
        assert_eq!(metadata(&columns, 2).unwrap(), "{}");
        assert_eq!(shown(columns.identity(1)), r#"{"id":18446744073709551615}"#);
        assert_eq!(shown(columns.identity(2)), "{}");
    }
}
