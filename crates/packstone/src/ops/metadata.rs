//! What is said about the samples of a collection, as flat columns: one row a sample, values are not read.
//!
//! ```text
//! a table of the format's own      its columns, as they are
//! JSON objects of samples          a column a member: booleans, integers, doubles, texts; null where it is absent
//!   other members                  texts of JSON: lists, objects, and members whose values differ in kind
//! ```
//!
//! Names are those that conditions know. Numbers are exact: integers stand in a column of integers, or with doubles in one
//! of doubles where all of them are doubles too; what no column holds exactly is JSON.

use std::collections::HashMap;
use std::sync::Arc;

use packstone_container::arrow_table::{Cell, Column, ColumnKind, Table};
use packstone_container::json::{Object, Style, Value, write};
use packstone_io::Kind;

use super::find::Find;
use crate::error::{Error, Place, Result};
use crate::exec::{Progress, keep_going};
use crate::format::Collection;
use crate::model::sample_table;

/// More rows are not listed by any honest dataset.
const MOST_ROWS: u64 = 1 << 30;
/// Cells that a table may have, whatever is in them.
const FREE_CELLS: u64 = 1 << 24;
/// Cells for each that is not null, beyond these.
const CELLS_PER_VALUE: u64 = 256;
/// Rows between two looks at the caller.
const STEP: u64 = 1024;

/// Metadata as columns.
#[derive(Clone, Debug)]
pub struct MetadataTable {
    /// One row a sample; the table itself counts none where it has no columns.
    pub table: Table,
    /// Number of samples.
    pub rows: u64,
    /// For each column, whether its texts are JSON.
    pub json: Vec<bool>,
}

/// The metadata of all samples of a collection. Memory is that of the columns.
///
/// # Errors
/// Those of [`Find::matches`]; `ops/metadata_size` where the columns would be mostly empty and huge; `ops/cancelled`.
pub fn metadata_table(
    collection: &Arc<dyn Collection>,
    threads: usize,
    progress: Option<&Arc<dyn Progress>>,
) -> Result<MetadataTable> {
    let rows = collection.len();
    if rows > MOST_ROWS {
        return Err(too_large(format!("at most {MOST_ROWS} samples, found {rows}")));
    }
    let table = collection.table()?;
    if let Some(table) = table.filter(|table| table.text.is_none()) {
        let wanted = |place: &usize| {
            table.identity.contains(place) || table.metadata.iter().any(|(_, own)| own == place)
        };
        let columns = table.table.columns().enumerate().filter(|(place, _)| wanted(place));
        let columns: Vec<(String, Arc<Column>)> =
            columns.map(|(_, (name, column))| (name.to_owned(), Arc::clone(column))).collect();
        let json = vec![false; columns.len()];
        return Ok(MetadataTable { table: made(columns)?, rows, json });
    }
    let mut builder = Builder::default();
    for found in Find::new(Arc::clone(collection)).threads(threads).matches()? {
        let found = found?;
        builder.push(&found.identity, &found.metadata)?;
        if builder.rows.is_multiple_of(STEP) {
            keep_going(progress)?;
            if builder.rows > rows {
                break;
            }
        }
    }
    builder.finish()
}

fn made(columns: Vec<(String, Arc<Column>)>) -> Result<Table> {
    Table::new(columns).map_err(|error| {
        Error::new(Kind::Corrupt, "model/column_mismatch", Place::default(), error.to_string())
    })
}

fn too_large(expected: String) -> Error {
    Error::new(Kind::Limit, "ops/metadata_size", Place::default(), format!("expected {expected}"))
}

/// Columns in the making.
#[derive(Default)]
struct Builder {
    rows: u64,
    values: u64,
    /// Names of the container, then of metadata, each with its place in `members`.
    names: [HashMap<String, usize>; 2],
    members: Vec<(usize, String, Member)>,
}

impl Builder {
    fn push(&mut self, identity: &Object, metadata: &Object) -> Result<()> {
        for (group, object) in [(0, identity), (1, metadata)] {
            for (key, value) in object.iter() {
                let name = key.as_str().map_or_else(|| key.to_string(), str::to_owned);
                let rows = self.rows;
                let Some(member) = self.member(group, name) else { continue };
                // Of a null the column is left all the same.
                if !value.is_null() {
                    member.push(rows, value)?;
                    self.values = self.values.saturating_add(1);
                }
            }
        }
        self.rows = self.rows.saturating_add(1);
        if self.rows.is_multiple_of(STEP) {
            self.check()?;
        }
        Ok(())
    }

    fn member(&mut self, group: usize, name: String) -> Option<&mut Member> {
        let next = self.members.len();
        let known = self.names.get_mut(group)?;
        let place = match known.get(&name) {
            Some(place) => *place,
            None => {
                known.insert(name.clone(), next);
                self.members.push((group, name, Member::default()));
                next
            }
        };
        self.members.get_mut(place).map(|(_, _, member)| member)
    }

    /// Few objects with many names each of their own must not become a huge table of nulls.
    fn check(&self) -> Result<()> {
        let cells = self.rows.saturating_mul(self.members.len() as u64);
        let most = FREE_CELLS.max(self.values.saturating_mul(CELLS_PER_VALUE));
        match cells > most {
            true => Err(too_large(format!("at most {most} cells, found {cells}, mostly null"))),
            false => Ok(()),
        }
    }

    fn finish(mut self) -> Result<MetadataTable> {
        self.check()?;
        let rows = self.rows;
        // A name of the container gives way to the same one in the metadata, as in conditions.
        let [_, own] = &self.names;
        let taken = |group: usize, name: &String| group == 0 && own.contains_key(name);
        let mut kept: Vec<_> = std::mem::take(&mut self.members)
            .into_iter()
            .filter(|(group, name, _)| !taken(*group, name))
            .collect();
        kept.sort_by_key(|(group, _, _)| *group);
        let json = kept.iter().map(|(_, _, member)| member.json).collect();
        let columns = kept.into_iter().map(|(_, name, mut member)| {
            member.fill(rows)?;
            Ok((name, Arc::new(member.column)))
        });
        Ok(MetadataTable { table: made(columns.collect::<Result<_>>()?)?, rows, json })
    }
}

/// One column in the making.
struct Member {
    column: Column,
    json: bool,
    /// True before the first value: then the kind of the column means nothing.
    open: bool,
}

impl Default for Member {
    fn default() -> Self {
        Self { column: Column::empty(ColumnKind::Utf8), json: false, open: true }
    }
}

impl Member {
    /// Puts nulls until there are so many rows.
    fn fill(&mut self, rows: u64) -> Result<()> {
        while (self.column.len() as u64) < rows {
            self.column.push(Cell::Null).map_err(|error| mismatch(&error))?;
        }
        Ok(())
    }

    fn push(&mut self, rows: u64, value: &Value) -> Result<()> {
        let (before, kind) = (self.column.kind(), kind(value));
        let wanted = match (self.open, kind) {
            _ if self.json => None,
            (true, kind) => kind,
            (false, kind) => kind.and_then(|kind| self.common(before, kind, value)),
        };
        self.change(wanted)?;
        self.fill(rows)?;
        let text;
        let cell = match (wanted, value) {
            (Some(ColumnKind::Bool), Value::Bool(value)) => Cell::Bool(*value),
            (Some(ColumnKind::Utf8), value) => value.as_str().map_or(Cell::Null, Cell::Utf8),
            (Some(ColumnKind::Int64), value) => value.as_i64().map_or(Cell::Null, Cell::Int64),
            (Some(ColumnKind::UInt64), value) => value.as_u64().map_or(Cell::Null, Cell::UInt64),
            (Some(ColumnKind::Float64), Value::Number(value)) => Cell::Float64(value.to_f64()),
            _ => {
                text = write(value, &Style::PYTHON);
                Cell::Utf8(&text)
            }
        };
        self.open = false;
        self.column.push(cell).map_err(|error| mismatch(&error))
    }

    /// The kind that holds all values of the column and this one exactly.
    fn common(&self, before: ColumnKind, next: ColumnKind, value: &Value) -> Option<ColumnKind> {
        use ColumnKind::{Float64, Int64, UInt64};
        match (before, next) {
            (before, next) if before == next => Some(before),
            (Int64, UInt64) if self.values().all(|cell| !matches!(cell, Cell::Int64(..0))) => {
                Some(UInt64)
            }
            (UInt64, Int64) if value.as_u64().is_some() => Some(UInt64),
            (Float64, Int64 | UInt64) if exact(value) => Some(Float64),
            (Int64 | UInt64, Float64)
                if self.values().all(|cell| exact(&sample_table::value(cell))) =>
            {
                Some(Float64)
            }
            _ => None,
        }
    }

    fn values(&self) -> impl Iterator<Item = Cell<'_>> {
        (0..self.column.len()).filter_map(|row| self.column.get(row))
    }

    /// Makes it a column of this kind, or of JSON.
    fn change(&mut self, wanted: Option<ColumnKind>) -> Result<()> {
        let kind = wanted.unwrap_or(ColumnKind::Utf8);
        let json = wanted.is_none();
        if kind == self.column.kind() && (json == self.json || self.open) {
            self.json = json;
            return Ok(());
        }
        let mut column = Column::empty(kind);
        for cell in self.values() {
            let text;
            let cell = match (cell, kind) {
                (Cell::Null, _) => Cell::Null,
                (cell, ColumnKind::Float64) => {
                    sample_table::value(cell).as_f64().map_or(Cell::Null, Cell::Float64)
                }
                (cell, ColumnKind::UInt64) => {
                    sample_table::value(cell).as_u64().map_or(Cell::Null, Cell::UInt64)
                }
                (cell, _) => {
                    text = write(&sample_table::value(cell), &Style::PYTHON);
                    Cell::Utf8(&text)
                }
            };
            column.push(cell).map_err(|error| mismatch(&error))?;
        }
        (self.column, self.json) = (column, json);
        Ok(())
    }
}

fn mismatch(error: &dyn std::error::Error) -> Error {
    Error::new(Kind::Invalid, "model/column_mismatch", Place::default(), error.to_string())
}

/// The kind of a column of values like this one; `None` for what is JSON.
fn kind(value: &Value) -> Option<ColumnKind> {
    Some(match value {
        Value::Bool(_) => ColumnKind::Bool,
        Value::Number(number) if !number.is_integer() => ColumnKind::Float64,
        Value::Number(_) if value.as_i64().is_some() => ColumnKind::Int64,
        Value::Number(_) if value.as_u64().is_some() => ColumnKind::UInt64,
        value if value.as_str().is_some() => ColumnKind::Utf8,
        _ => return None,
    })
}

/// True for an integer that is a double, and for null.
fn exact(value: &Value) -> bool {
    value.is_null() || value.as_f64().is_some()
}

#[cfg(test)]
mod tests {
    use packstone_container::json::{ReadOptions, read};

    use super::*;

    fn table(rows: &[&str]) -> MetadataTable {
        let mut builder = Builder::default();
        for row in rows {
            let options = ReadOptions::default().with_nan(true);
            let Value::Object(row) = read(row.as_bytes(), &options).unwrap().value else {
                panic!()
            };
            let mut identity = Object::new();
            identity.insert("id", builder.rows);
            builder.push(&identity, &row).unwrap();
        }
        builder.finish().unwrap()
    }

    fn column(rows: &[&str]) -> (ColumnKind, bool, Vec<String>) {
        let found = table(rows);
        let column = found.table.column("x").unwrap();
        let at = found.table.columns().position(|(name, _)| name == "x").unwrap();
        let cells = (0..rows.len())
            .map(|row| write(&sample_table::value(column.get(row).unwrap()), &Style::PYTHON));
        (column.kind(), found.json[at], cells.collect())
    }

    #[test]
    fn kinds_follow_from_the_values() {
        use ColumnKind::{Bool, Float64, Int64, UInt64, Utf8};
        for (rows, kind, json, cells) in [
            (
                &[r#"{"x":true}"#, "{}", r#"{"x":false}"#][..],
                Bool,
                false,
                &["true", "null", "false"][..],
            ),
            (&[r#"{"x":1}"#, r#"{"x":-7}"#], Int64, false, &["1", "-7"]),
            (
                &[r#"{"x":18446744073709551615}"#, r#"{"x":3}"#],
                UInt64,
                false,
                &["18446744073709551615", "3"],
            ),
            (
                &[r#"{"x":3}"#, r#"{"x":18446744073709551615}"#],
                UInt64,
                false,
                &["3", "18446744073709551615"],
            ),
            (
                &[r#"{"x":-3}"#, r#"{"x":18446744073709551615}"#],
                Utf8,
                true,
                &[r#""-3""#, r#""18446744073709551615""#],
            ),
            (
                &[r#"{"x":3}"#, r#"{"x":0.5}"#, r#"{"x":NaN}"#],
                Float64,
                false,
                &["3.0", "0.5", "NaN"],
            ),
            (&[r#"{"x":0.5}"#, r#"{"x":3}"#], Float64, false, &["0.5", "3.0"]),
            (
                &[r#"{"x":9007199254740993}"#, r#"{"x":0.5}"#],
                Utf8,
                true,
                &[r#""9007199254740993""#, r#""0.5""#],
            ),
            (
                &[r#"{"x":"a"}"#, r#"{"x":null}"#, r#"{"x":""}"#],
                Utf8,
                false,
                &[r#""a""#, "null", r#""""#],
            ),
            (&[r#"{"x":"a"}"#, r#"{"x":1}"#], Utf8, true, &[r#""\"a\"""#, r#""1""#]),
            (&[r#"{"x":1}"#, r#"{"x":"a"}"#], Utf8, true, &[r#""1""#, r#""\"a\"""#]),
            (&[r#"{"x":[1, {}]}"#, r#"{"x":true}"#], Utf8, true, &[r#""[1, {}]""#, r#""true""#]),
            (&[r#"{"x":null}"#], Utf8, false, &["null"]),
            (
                &[r#"{"x":123456789012345678901234567890}"#],
                Utf8,
                true,
                &[r#""123456789012345678901234567890""#],
            ),
        ] {
            assert_eq!(
                column(rows),
                (kind, json, cells.iter().map(|c| (*c).to_owned()).collect()),
                "{rows:?}"
            );
        }
    }

    #[test]
    fn names_of_the_container_come_first_and_give_way() {
        let names = |rows: &[&str]| {
            table(rows).table.columns().map(|(name, _)| name.to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(names(&[r#"{"b":1}"#, r#"{"a":1}"#]), ["id", "b", "a"]);
        assert_eq!(names(&[r#"{"b":1}"#, r#"{"id":"mine"}"#]), ["b", "id"]);
        assert_eq!(table(&["{}", "{}"]).rows, 2);
    }

    #[test]
    fn many_names_of_few_rows_are_refused() {
        let mut builder = Builder::default();
        let refused = (0..1u32 << 16).find_map(|row| {
            let mut object = Object::new();
            object.insert(format!("n{row}"), 1);
            builder.push(&Object::new(), &object).err()
        });
        assert_eq!(refused.unwrap().code(), "ops/metadata_size");
    }
}
