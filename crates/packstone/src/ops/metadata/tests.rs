//! Objects of samples become the columns that hold them exactly.

use packstone_container::arrow_table::ColumnKind;
use packstone_container::json::{Object, ReadOptions, Style, Value, read, write};

use super::builder::Builder;
use super::*;
use crate::model::sample_table;

fn table(rows: &[&str]) -> MetadataTable {
    let mut builder = Builder::default();
    for row in rows {
        let options = ReadOptions::default().with_nan(true);
        let Value::Object(row) = read(row.as_bytes(), &options).unwrap().value else { panic!() };
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
        (&[r#"{"x":3}"#, r#"{"x":0.5}"#, r#"{"x":NaN}"#], Float64, false, &["3.0", "0.5", "NaN"]),
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
