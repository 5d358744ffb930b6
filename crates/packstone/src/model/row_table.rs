//! Metadata of some rows as columns: a row becomes an object when somebody looks at it, and the object is kept.
//!
//! ```text
//! names    id │ score │ split     shared by all tables of a dataset
//! columns  7  │ 0.5   │ train     ─ first look at the row ─► {"id": 7, "score": 0.5, "split": "train"}
//!          8  │ 0.25  │ test
//! ```
//!
//! Few loops ask for the metadata of their samples, and of an object most of the cost are its names and the text of its
//! numbers. The columns are a copy: the file that they came from may be gone.

use std::sync::{Arc, OnceLock};

use packstone_container::arrow_table::Column;
use packstone_container::json::{Key, Object};

use super::batch::mismatch;
use super::sample_table::value;
use crate::error::Result;

/// Metadata of some rows as columns.
#[derive(Debug)]
pub(crate) struct RowTable {
    names: Arc<[Key]>,
    columns: Vec<Column>,
    rows: usize,
    /// Those looked at; no memory for any before the first look.
    objects: OnceLock<Box<[OnceLock<Arc<Object>>]>>,
}

impl RowTable {
    /// Columns of `rows` rows under these names.
    ///
    /// # Errors
    /// `model/column_mismatch` where there are more or fewer names than columns, or a column has another number of rows.
    pub(crate) fn new(names: Arc<[Key]>, columns: Vec<Column>, rows: usize) -> Result<Self> {
        if names.len() != columns.len() || columns.iter().any(|column| column.len() != rows) {
            let (count, found) = (names.len(), columns.iter().map(Column::len).collect::<Vec<_>>());
            return Err(mismatch(format!(
                "expected {count} columns of {rows} rows of metadata, found {found:?}"
            )));
        }
        Ok(Self { names, columns, rows, objects: OnceLock::new() })
    }

    /// Number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// The object of a row; `None` past the end.
    pub(crate) fn object(&self, row: usize) -> Option<&Arc<Object>> {
        let none = || (0..self.rows).map(|_| OnceLock::new()).collect();
        let object = self.objects.get_or_init(none).get(row)?;
        Some(object.get_or_init(|| Arc::new(self.read(row))))
    }

    fn read(&self, row: usize) -> Object {
        let cells = self.names.iter().zip(&self.columns);
        cells.filter_map(|(name, column)| Some((name.clone(), value(column.get(row)?)))).collect()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use packstone_container::arrow_table::Values;
    use packstone_container::json::{FloatStyle, Number, Value};

    use super::*;

    /// Three rows with what is spelled in ways of its own.
    pub(in crate::model) fn table() -> RowTable {
        let columns = vec![
            Values::Utf8(["", "é\n\"", "😀 a text of more than twenty-two bytes"].iter().collect()),
            Values::Int64(vec![i64::MIN, -1, i64::MAX]),
            Values::Float64(vec![1e300, -0.0, 5e-324]),
            Values::Bool([true, false, true].into_iter().collect()),
            Values::Float64(vec![f64::NAN, f64::NEG_INFINITY, 9007199254740993.0]),
        ];
        let names = ["text", "i", "f", "b", "g"].map(Key::from);
        let columns = columns.into_iter().map(Column::new).collect();
        RowTable::new(names.into(), columns, 3).unwrap()
    }

    /// The same, made at once and of numbers as they are.
    pub(in crate::model) fn objects() -> [Object; 3] {
        let float = |x| Value::Number(Number::from_double_in(x, FloatStyle::Pydantic));
        let texts = ["", "é\n\"", "😀 a text of more than twenty-two bytes"];
        let others = [
            (i64::MIN, 1e300, true, f64::NAN),
            (-1, -0.0, false, f64::NEG_INFINITY),
            (i64::MAX, 5e-324, true, 9007199254740993.0),
        ];
        std::array::from_fn(|row| {
            let (i, f, b, g) = others[row];
            let text = Value::from(texts[row]);
            Object::from_iter([
                ("text", text),
                ("i", Value::from(i)),
                ("f", float(f)),
                ("b", Value::from(b)),
                ("g", float(g)),
            ])
        })
    }

    #[test]
    fn rows_are_the_objects_that_they_would_have_been_made_into() {
        let table = table();
        for (row, want) in objects().iter().enumerate() {
            assert_eq!(**table.object(row).unwrap(), *want);
        }
        let spelled = |row, name| {
            let number = table.object(row).unwrap().get(name).and_then(Value::as_number);
            number.unwrap().text()
        };
        assert_eq!(
            ["i", "f", "g"].map(|n| spelled(0, n)),
            ["-9223372036854775808", "1e+300", "NaN"]
        );
        assert_eq!(["i", "f", "g"].map(|n| spelled(1, n)), ["-1", "-0.0", "-Infinity"]);
        assert_eq!(["f", "g"].map(|n| spelled(2, n)), ["5e-324", "9007199254740992.0"]);
        assert!(table.object(3).is_none());
    }

    #[test]
    fn an_object_is_made_once_and_only_of_a_row_that_is_looked_at() {
        let table = table();
        assert!(table.objects.get().is_none());
        let first = Arc::clone(table.object(1).unwrap());
        assert!(Arc::ptr_eq(&first, table.object(1).unwrap()));
        let made = table.objects.get().unwrap().iter().map(|object| object.get().is_some());
        assert_eq!(made.collect::<Vec<_>>(), [false, true, false]);
        let threads = || {
            std::thread::scope(|scope| {
                let look = || Arc::clone(table.object(2).unwrap());
                let both = [scope.spawn(look), scope.spawn(look)];
                both.map(|thread| thread.join().unwrap())
            })
        };
        let [one, other] = threads();
        assert!(Arc::ptr_eq(&one, &other));
    }

    #[test]
    fn of_names_that_repeat_the_first_gives_the_place_and_the_last_the_value() {
        let columns = [1, 2, 3].map(|n| Column::new(Values::Int64(vec![n])));
        let names = ["a", "b", "a"].map(Key::from);
        let table = RowTable::new(names.into(), columns.into(), 1).unwrap();
        assert_eq!(**table.object(0).unwrap(), Object::from_iter([("a", 3), ("b", 2)]));
    }

    #[test]
    fn columns_that_do_not_fit_are_refused() {
        let column = || Column::new(Values::Int64(vec![1, 2]));
        let names: Arc<[Key]> = ["a", "b"].map(Key::from).into();
        assert!(RowTable::new(Arc::clone(&names), vec![column()], 2).is_err());
        assert!(RowTable::new(Arc::clone(&names), vec![column(), column()], 3).is_err());
        let none = RowTable::new(Arc::default(), Vec::new(), 2).unwrap();
        assert!(none.object(1).unwrap().is_empty() && none.object(2).is_none());
        assert!(RowTable::new(names, vec![column(), column()], 2).is_ok());
    }
}
