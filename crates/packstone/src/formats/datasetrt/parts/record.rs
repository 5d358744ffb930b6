//! A record of a shard: its envelope, and the copy of the metadata in it.
//!
//! ```text
//! u64 LE bytes of metadata │ metadata, a JSON object │ payload as it is stored
//! ```
//!
//! The copy must say what the row of `metadata.arrow` says. Nearly always it is spelled as the original spells it; then
//! comparing bytes is enough. Else it is parsed: order, white space, escapes and spelling of numbers are free, of members
//! with one name the last counts if all are values, `-0.0` equals `0.0`, and `null` stands for any float that is not finite.

use std::ops::Range;

use packstone_container::Limits;
use packstone_container::arrow_table::Cell;
use packstone_container::json::{self, Object, ReadOptions, Value};
use packstone_io::Kind;

use super::super::codes;
use super::super::document::original;
use super::super::layout::ENVELOPE;
use super::super::schema::{ColumnSpec, ValueKind};
use super::float;
use super::index::Row;
use crate::error::{Error, Place, Result};
use crate::model::sample_table::value;

/// Where the parts of a record lie in its shard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The copy of the metadata.
    pub metadata: Range<usize>,
    /// The payload as it is stored.
    pub payload: Range<usize>,
}

/// Finds the record of a row of the index; `None` where it does not lie inside of its shard.
pub fn find(shard: &[u8], row: Row) -> Option<Record> {
    let (start, end) = (usize::try_from(row.offset).ok()?, usize::try_from(row.end()?).ok()?);
    let stated = u64::from_le_bytes(*shard.get(start..end)?.first_chunk()?);
    let text = start.checked_add(size_of::<u64>())?;
    let payload = text.checked_add(usize::try_from(stated).ok()?)?;
    (payload <= end).then_some(Record { metadata: text..payload, payload: payload..end })
}

/// Finds the record of a row of the index; `place` names the shard and the sample.
///
/// # Errors
/// `index_past_end`, `index_row_too_short`, `envelope_length`.
pub fn locate(shard: &[u8], row: Row, place: &Place) -> Result<Record> {
    if let Some(record) = find(shard, row) {
        return Ok(record);
    }
    let fail = |code, message| Err(Error::new(Kind::Corrupt, code, place.clone(), message));
    let len = shard.len() as u64;
    if row.end().is_none_or(|end| end > len) {
        let (offset, found) = (row.offset, row.len);
        let message = format!(
            "expected a record inside the {len} bytes of the shard, found {found} bytes at {offset}"
        );
        return fail(codes::INDEX_PAST_END, message);
    }
    if row.len < ENVELOPE {
        let message = format!("expected a record of at least 8 bytes, found {}", row.len);
        return fail(codes::INDEX_ROW_TOO_SHORT, message);
    }
    let stated = usize::try_from(row.offset).ok().and_then(|start| shard.get(start..));
    let stated = stated.and_then(|rest| rest.first_chunk::<8>());
    let stated = stated.map_or(u64::MAX, |bytes| u64::from_le_bytes(*bytes));
    let room = row.len - ENVELOPE;
    let message =
        format!("expected at most {room} bytes of metadata in this record, found {stated}");
    fail(codes::ENVELOPE_LENGTH, message)
}

/// Spells the metadata of records: as the original does, or so that it reads every float right.
#[derive(Clone, Debug)]
pub struct Spelling {
    /// What stands in front of each value.
    pub(super) before: Vec<String>,
    peer_exact: bool,
}

impl Spelling {
    /// For records with these columns.
    pub fn new(columns: &[ColumnSpec], peer_exact: bool) -> Self {
        let before = columns.iter().enumerate().map(|(number, column)| {
            let name = json::write(&Value::from(column.name.as_str()), &json::Style::COMPACT);
            format!("{}{name}:", if number == 0 { '{' } else { ',' })
        });
        Self { before: before.collect(), peer_exact }
    }

    /// Appends the object of these values, one a column.
    pub fn spell<'c>(&self, cells: impl Iterator<Item = Cell<'c>>, out: &mut String) {
        if self.before.is_empty() {
            out.push('{');
        }
        for (before, cell) in self.before.iter().zip(cells) {
            out.push_str(before);
            match cell {
                Cell::Bool(value) => out.push_str(if value { "true" } else { "false" }),
                Cell::Int64(value) => out.push_str(&value.to_string()),
                Cell::UInt64(value) => out.push_str(&value.to_string()),
                Cell::Float64(value) if self.peer_exact => out.push_str(&float::peer_exact(value)),
                Cell::Float64(value) => out.push_str(&float::shortest(value)),
                Cell::Utf8(text) => {
                    json::write_to(out, &Value::from(text), &json::Style::COMPACT);
                }
                Cell::Null => out.push_str("null"),
            }
        }
        out.push('}');
    }
}

/// Reads a copy of metadata and checks that it has exactly these columns, of these kinds.
///
/// # Errors
/// `envelope_not_json`, `envelope_keys_differ`, `envelope_kind_differs`, `envelope_null`.
pub fn parse(
    text: &[u8],
    columns: &[ColumnSpec],
    place: &Place,
    limits: &Limits,
) -> Result<Object> {
    let fail =
        |code, place: Place, message: String| Err(Error::new(Kind::Corrupt, code, place, message));
    let document = match json::read(text, &ReadOptions::default().with_limits(*limits)) {
        Ok(document) => document,
        Err(error) => {
            let message = format!("metadata of the record: {error}");
            return fail(codes::ENVELOPE_NOT_JSON, place.clone(), message);
        }
    };
    // Of what is given twice, the original reads the replaced values, too.
    if !document.notes.is_empty()
        && let Some((_, message)) =
            original::refuses(std::str::from_utf8(text).unwrap_or_default(), original::RECORD)
    {
        return fail(codes::ENVELOPE_NOT_JSON, place.clone(), message);
    }
    let document = document.value;
    let Value::Object(object) = document else {
        let message = format!("expected metadata in an object, found {}", document.kind());
        return fail(codes::ENVELOPE_NOT_JSON, place.clone(), message);
    };
    let by_name = Members::of(&object);
    for column in columns {
        let place = place.clone().field(&column.name);
        match by_name.get(&column.name) {
            Some(Value::Null) if column.kind == ValueKind::Float => {}
            Some(Value::Null) => {
                let message =
                    format!("expected a value of kind {}, found null", column.kind.name());
                return fail(codes::ENVELOPE_NULL, place, message);
            }
            Some(value) => {
                let found = kind(value);
                if found != Some(column.kind) {
                    let found = found.map_or(value.kind(), ValueKind::name);
                    let message =
                        format!("expected a value of kind {}, found {found}", column.kind.name());
                    return fail(codes::ENVELOPE_KIND_DIFFERS, place, message);
                }
            }
            None => {
                let message = "expected this column in the metadata of the record, found none";
                return fail(codes::ENVELOPE_KEYS_DIFFER, place, message.to_owned());
            }
        }
    }
    if object.len() > columns.len() {
        let known = |name: &str| columns.iter().any(|column| column.name == name);
        let more = object.keys().find(|key| !key.as_str().is_some_and(known));
        let more = more.map(|key| key.to_string()).unwrap_or_default();
        let message = format!("expected the columns of the manifest, found {more:?} too");
        return fail(codes::ENVELOPE_KEYS_DIFFER, place.clone(), message);
    }
    Ok(object)
}

/// Members of an object by name: a list that is searched, or an index for many.
enum Members<'o> {
    Few(&'o Object),
    Many(std::collections::HashMap<&'o str, &'o Value>),
}

impl<'o> Members<'o> {
    fn of(object: &'o Object) -> Self {
        if object.len() <= 16 {
            return Self::Few(object);
        }
        Self::Many(object.iter().filter_map(|(key, value)| Some((key.as_str()?, value))).collect())
    }

    fn get(&self, name: &str) -> Option<&'o Value> {
        match self {
            Self::Few(object) => object.get(name),
            Self::Many(members) => members.get(name).copied(),
        }
    }
}

/// The kind that the original takes a value for; `None` where it takes it for nothing.
fn kind(value: &Value) -> Option<ValueKind> {
    match value {
        Value::Bool(_) => Some(ValueKind::Bool),
        Value::String(_) => Some(ValueKind::String),
        // An integer beyond 64 bits is a float to it, and so is minus zero.
        Value::Number(number) if number.text() != "-0" && number.as_i64().is_some() => {
            Some(ValueKind::Int)
        }
        Value::Number(number) => number.to_f64().is_finite().then_some(ValueKind::Float),
        _ => None,
    }
}

/// Checks that a copy of metadata, already of the right columns and kinds, says what `cells` say.
///
/// # Errors
/// `envelope_value_differs`, naming the column.
pub fn compare<'c>(
    copy: &Object,
    columns: &[ColumnSpec],
    cells: impl Iterator<Item = Cell<'c>>,
    place: &Place,
) -> Result<()> {
    let copy = Members::of(copy);
    for (column, cell) in columns.iter().zip(cells) {
        let found = copy.get(&column.name).unwrap_or(&Value::Null);
        if !equal(found, cell) {
            let message = format!(
                "expected {} as in metadata.arrow, found {}",
                shown(&value(cell)),
                shown(found)
            );
            let place = place.clone().field(&column.name);
            return Err(Error::new(Kind::Corrupt, codes::ENVELOPE_VALUE_DIFFERS, place, message));
        }
    }
    Ok(())
}

fn equal(found: &Value, cell: Cell<'_>) -> bool {
    match (found, cell) {
        (Value::Bool(found), Cell::Bool(value)) => *found == value,
        (Value::Number(found), Cell::Int64(value)) => found.as_i64() == Some(value),
        (Value::Number(found), Cell::Float64(value)) => found.to_f64() == value,
        (Value::Null, Cell::Float64(value)) => !value.is_finite(),
        (Value::String(found), Cell::Utf8(value)) => found == value,
        _ => false,
    }
}

/// A value for a message.
fn shown(value: &Value) -> String {
    let text = json::write(
        value,
        &json::Style { non_finite: json::NonFinite::Token, ..json::Style::COMPACT },
    );
    if text.chars().count() <= 60 {
        return text;
    }
    text.chars().take(60).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: Row = Row { shard: 0, offset: 2, len: 13 };

    fn columns() -> Vec<ColumnSpec> {
        let names = [("b", ValueKind::Bool), ("f", ValueKind::Float), ("i", ValueKind::Int)];
        let mut columns = names.map(|(name, kind)| ColumnSpec::new(name, kind)).to_vec();
        columns.push(ColumnSpec::new("s\"", ValueKind::String));
        columns
    }

    fn cells() -> [Cell<'static>; 4] {
        [Cell::Bool(true), Cell::Float64(1e-7), Cell::Int64(-3), Cell::Utf8("é\n")]
    }

    fn check(text: &str) -> Result<(), &'static str> {
        let place = Place::default();
        parse(text.as_bytes(), &columns(), &place, &Limits::default())
            .and_then(|object| compare(&object, &columns(), cells().into_iter(), &place))
            .map_err(|error| error.code())
    }

    #[test]
    fn the_parts_of_a_record_lie_where_its_envelope_says() {
        let shard = b"..\x03\0\0\0\0\0\0\0{ }pq..";
        let place = Place::default();
        assert_eq!(
            locate(shard, ROW, &place).unwrap(),
            Record { metadata: 10..13, payload: 13..15 }
        );
        for (row, code) in [
            (Row { len: 7, ..ROW }, codes::INDEX_ROW_TOO_SHORT),
            (Row { len: 0, ..ROW }, codes::INDEX_ROW_TOO_SHORT),
            (Row { len: 10, ..ROW }, codes::ENVELOPE_LENGTH),
            (Row { len: 16, ..ROW }, codes::INDEX_PAST_END),
            (Row { len: u64::MAX, ..ROW }, codes::INDEX_PAST_END),
            (Row { offset: u64::MAX, ..ROW }, codes::INDEX_PAST_END),
        ] {
            assert_eq!(locate(shard, row, &place).unwrap_err().code(), code, "{row:?}");
        }
    }

    #[test]
    fn metadata_is_spelled_as_the_original_spells_it() {
        let mut text = String::new();
        Spelling::new(&columns(), false).spell(cells().into_iter(), &mut text);
        assert_eq!(text, r#"{"b":true,"f":1e-7,"i":-3,"s\"":"é\n"}"#);
        assert_eq!(check(&text), Ok(()));
    }

    #[test]
    fn another_spelling_of_the_same_values_is_equal() {
        for text in [
            r#" { "s\u0022" : "\u00e9\u000a" , "i":-3, "f": 100E-9, "b" :true } "#,
            r#"{"i":7,"b":true,"f":0.0000001,"i":-3,"s\"":"é\n"}"#,
        ] {
            assert_eq!(check(text), Ok(()), "{text}");
        }
    }

    #[test]
    fn replaced_values_are_read_too() {
        let base = r#"{"b":true,"f":1e-7,"i":-3,"s\"":"é\n"}"#;
        for (value, good) in [
            ("1", true),
            ("\"null [\"", true),
            ("null", false),
            ("[]", false),
            ("{}", false),
            ("1e999", false),
            ("\"\\ud800\"", false),
        ] {
            let text = base.replacen('{', &format!("{{\"f\":{value},"), 1);
            let want = if good { Ok(()) } else { Err(codes::ENVELOPE_NOT_JSON) };
            assert_eq!(check(&text), want, "{text}");
        }
    }

    #[test]
    fn what_differs_is_named() {
        use codes::*;
        let base = r#"{"b":true,"f":1e-7,"i":-3,"s\"":"é\n"}"#;
        for (from, to, code) in [
            ("-3", "-4", ENVELOPE_VALUE_DIFFERS),
            ("1e-7", "1e-8", ENVELOPE_VALUE_DIFFERS),
            ("true", "false", ENVELOPE_VALUE_DIFFERS),
            ("1e-7", "null", ENVELOPE_VALUE_DIFFERS),
            ("-3", "null", ENVELOPE_NULL),
            ("true", "null", ENVELOPE_NULL),
            ("1e-7", "1", ENVELOPE_KIND_DIFFERS),
            ("-3", "-3.0", ENVELOPE_KIND_DIFFERS),
            ("-3", "-0", ENVELOPE_KIND_DIFFERS),
            ("-3", "9223372036854775808", ENVELOPE_KIND_DIFFERS),
            ("true", "1", ENVELOPE_KIND_DIFFERS),
            ("true", "[]", ENVELOPE_KIND_DIFFERS),
            ("1e-7", "1e999", ENVELOPE_KIND_DIFFERS),
            ("\"é", "\"\\ud800", ENVELOPE_KIND_DIFFERS),
            ("\"i\"", "\"j\"", ENVELOPE_KEYS_DIFFER),
            ("}", ",\"z\":1}", ENVELOPE_KEYS_DIFFER),
            ("}", "} x", ENVELOPE_NOT_JSON),
            ("}", "", ENVELOPE_NOT_JSON),
        ] {
            let text = base.replace(from, to);
            assert_eq!(check(&text), Err(code), "{text}");
        }
        assert_eq!(check(""), Err(ENVELOPE_NOT_JSON));
        assert_eq!(check("[1]"), Err(ENVELOPE_NOT_JSON));
    }

    #[test]
    fn floats_compare_as_numbers() {
        for (text, x, same) in [
            ("-0.0", 0.0, true),
            ("-0e5", 0.0, true),
            ("null", f64::NAN, true),
            ("null", f64::INFINITY, true),
            ("null", 1.0, false),
            ("0.1000000000000000055", 0.1, true),
            ("9223372036854775808", 9223372036854775808.0, true),
            ("1.0", f64::NAN, false),
        ] {
            let value = json::read(text.as_bytes(), &ReadOptions::default()).unwrap().value;
            assert_eq!(equal(&value, Cell::Float64(x)), same, "{text} {x}");
        }
    }
}
