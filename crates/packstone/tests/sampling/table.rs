//! The active table: made, filtered, repeated, reweighted, replaced, refused.

use std::sync::Arc;

use packstone::formats::datasetrt::codes;
use packstone::formats::datasetrt::parts::draws::Population;
use packstone::formats::datasetrt::parts::table::{ActiveTable, Caches, Identity};
use packstone_container::arrow_table::{Bitmap, Cell, Column, Table, Values};

fn part(labels: &[i64], words: &[&str]) -> Table {
    Table::new([
        ("label".to_owned(), Column::new(Values::Int64(labels.to_vec()))),
        ("word".to_owned(), Column::new(Values::Utf8(words.iter().collect()))),
    ])
    .unwrap()
}

/// Caches 9 and 4 of three and two samples.
fn table() -> ActiveTable {
    let caches = Caches::new(vec![(9, 3), (4, 2)]).unwrap();
    let parts = [part(&[10, 11, 12], &["a", "b", "c"]), part(&[20, 21], &["d", "é"])];
    ActiveTable::new(Arc::new(caches), &parts).unwrap()
}

fn identities(table: &ActiveTable) -> Vec<(u64, u64)> {
    let ids = (0..table.rows() as u64).map(|row| table.identity(row).unwrap());
    ids.map(|id| (id.cache_id, id.sample_id)).collect()
}

fn names(table: &Table) -> Vec<&str> {
    table.columns().map(|(name, _)| name).collect()
}

/// The columns of `table` with one other.
fn with(table: &Table, name: &str, column: impl Into<Column>) -> Table {
    let column = Arc::new(column.into());
    let mut columns: Vec<_> =
        table.columns().map(|(name, column)| (name.to_owned(), Arc::clone(column))).collect();
    match columns.iter_mut().find(|(other, _)| other == name) {
        Some((_, place)) => *place = column,
        None => columns.push((name.to_owned(), column)),
    }
    Table::new(columns).unwrap()
}

fn without(table: &Table, name: &str) -> Table {
    let columns = table.columns().filter(|(other, _)| *other != name);
    Table::new(columns.map(|(name, column)| (name.to_owned(), Arc::clone(column)))).unwrap()
}

#[test]
fn a_table_begins_as_all_samples_of_all_caches() {
    let table = table();
    assert_eq!(identities(&table), [(9, 0), (9, 1), (9, 2), (4, 0), (4, 1)]);
    assert!(!table.is_replaced());
    assert!(matches!(table.population(), Population::Equal(5)));
    assert_eq!((table.weight(4), table.weight(5), table.identity(5)), (Some(1.0), None, None));
    let whole = table.to_table().unwrap();
    assert_eq!(names(&whole), ["cache_id", "sample_id", "label", "word", "weight"]);
    let row: Vec<_> = whole.columns().map(|(_, column)| column.get(4).unwrap()).collect();
    let expected =
        [Cell::UInt64(4), Cell::UInt64(1), Cell::Int64(21), Cell::Utf8("é"), Cell::Float64(1.0)];
    assert_eq!(row, expected);
}

#[test]
fn identities_are_found_across_empty_caches() {
    let caches = Caches::new(vec![(0, 0), (u64::MAX, 2), (1, 0), (7, 1), (8, 0)]).unwrap();
    let found: Vec<_> = (0..4).map(|row| caches.identity(row)).collect();
    let id = |cache_id, sample_id| Some(Identity { cache_id, sample_id });
    assert_eq!(found, [id(u64::MAX, 0), id(u64::MAX, 1), id(7, 0), None]);
    assert!(caches.contains(id(7, 0).unwrap()) && !caches.contains(id(7, 1).unwrap()));
    assert!(!caches.contains(id(0, 0).unwrap()) && !caches.contains(id(2, 0).unwrap()));
    assert!(Caches::new(vec![(1, 1), (1, 2)]).is_none());
    assert!(Caches::new(vec![(1, u64::MAX), (2, 1)]).is_none());
}

#[test]
fn rows_are_filtered_repeated_and_weighted() {
    let table = table();
    let kept = table.filter(&Bitmap::from_fn(5, |row| row % 2 == 0)).unwrap();
    assert_eq!(identities(&kept), [(9, 0), (9, 2), (4, 1)]);
    assert!(kept.is_replaced() && matches!(kept.population(), Population::Weighted(_)));
    let twice = kept.select(&[2, 2, 0]).unwrap();
    assert_eq!(identities(&twice), [(4, 1), (4, 1), (9, 0)]);
    let heavy = twice.reweighted(vec![0.5, 2.0, 4.0]).unwrap();
    assert_eq!((identities(&heavy), heavy.weight(1)), (identities(&twice), Some(2.0)));
    // The one before is what it was.
    assert_eq!((table.rows(), twice.weight(1)), (5, Some(1.0)));
    let whole = heavy.to_table().unwrap();
    assert_eq!(whole.column("word").unwrap().get(1), Some(Cell::Utf8("é")));
    // Putting a table in its own place changes how rows are drawn, and nothing else.
    let same = table.replaced_by(table.to_table().unwrap()).unwrap();
    assert_eq!(same.to_table().unwrap(), table.to_table().unwrap());
    assert!(same.is_replaced());
    let code = |result: packstone::Result<ActiveTable>| result.map(|_| ()).map_err(|e| e.code());
    assert_eq!(code(table.select(&[5])), Err(codes::TABLE_INVALID));
    assert_eq!(code(table.select(&[])), Err(codes::TABLE_INVALID));
    assert_eq!(code(table.filter(&Bitmap::filled(4, true))), Err(codes::TABLE_INVALID));
    assert_eq!(code(table.filter(&Bitmap::filled(5, false))), Err(codes::TABLE_INVALID));
    assert_eq!(code(table.reweighted(vec![1.0; 4])), Err(codes::TABLE_INVALID));
}

#[test]
fn a_table_is_replaced_by_what_the_original_accepts() {
    let table = table();
    let given = table.to_table().unwrap().select(&[4, 0, 0]).unwrap();
    // Ids of another integer kind, weights as integers, changed values, nulls, further columns, another order.
    let given = with(&given, "cache_id", Values::Int64(vec![4, 9, 9]));
    let given = with(&given, "sample_id", Values::Int64(vec![1, 0, 2]));
    let given = with(&given, "weight", Values::Int64(vec![1, 2, 3]));
    let mut labels = Column::new(Values::Int64(vec![-1, -2]));
    labels.push(Cell::Null).unwrap();
    let given = with(&given, "label", labels);
    let given = with(&given, "split", Values::Bool([true, false, true].into_iter().collect()));
    let mut columns: Vec<_> =
        given.columns().map(|(name, column)| (name.to_owned(), Arc::clone(column))).collect();
    columns.reverse();
    let replaced = table.replaced_by(Table::new(columns).unwrap()).unwrap();
    assert_eq!(identities(&replaced), [(4, 1), (9, 0), (9, 2)]);
    assert_eq!(replaced.weight(2), Some(3.0));
    let whole = replaced.to_table().unwrap();
    assert_eq!(names(&whole), ["split", "weight", "word", "label", "sample_id", "cache_id"]);
    assert_eq!(whole.column("weight").unwrap().get(2), Some(Cell::Int64(3)));
    assert_eq!(whole.column("label").unwrap().get(2), Some(Cell::Null));
    // Other weights and other rows leave its order and its further columns.
    let other = replaced.reweighted(vec![0.5; 3]).unwrap().select(&[2]).unwrap();
    assert_eq!(names(&other.to_table().unwrap()), names(&whole));
    assert_eq!((other.weight(0), identities(&other)), (Some(0.5), vec![(9, 2)]));
    // And is replaced again, without the further column.
    let again = replaced.replaced_by(without(&whole, "split")).unwrap();
    assert_eq!(names(&again.to_table().unwrap()).len(), 5);
}

#[test]
fn every_other_table_is_refused_with_its_reason_and_changes_nothing() {
    let table = table();
    let whole = table.to_table().unwrap();
    let null = |kind: &Column| {
        let mut column = kind.select(&[0, 1, 2, 3]).unwrap();
        column.push(Cell::Null).unwrap();
        column
    };
    let ids = |last| Values::UInt64(vec![9, 9, 9, 4, last]);
    let weights = |last| Values::Float64(vec![1.0, 1.0, 1.0, 1.0, last]);
    let cases = [
        (whole.select(&[]).unwrap(), codes::TABLE_INVALID, "expected a table of at least one row"),
        (
            without(&whole, "cache_id"),
            codes::TABLE_INVALID,
            "expected a column \"cache_id\", found none",
        ),
        (without(&whole, "sample_id"), codes::TABLE_INVALID, "\"sample_id\""),
        (without(&whole, "weight"), codes::TABLE_INVALID, "\"weight\""),
        (without(&whole, "word"), codes::TABLE_INVALID, "expected a column \"word\", found none"),
        (
            with(&whole, "cache_id", ids(5)),
            codes::UNKNOWN_IDENTITY,
            "record 4: expected a sample of this dataset, found sample 1 of cache 5",
        ),
        (
            with(&whole, "sample_id", ids(2)),
            codes::UNKNOWN_IDENTITY,
            "record 0: expected a sample of this dataset, found sample 9 of cache 9",
        ),
        (
            with(&whole, "cache_id", Values::Int64(vec![9, 9, 9, 4, -4])),
            codes::TABLE_INVALID,
            "record 4, field \"cache_id\": expected an id of 0 or more, found -4",
        ),
        (
            with(&whole, "cache_id", weights(4.0)),
            codes::TABLE_INVALID,
            "expected uint64 or int64, found float64",
        ),
        (
            with(&whole, "cache_id", null(whole.column("cache_id").unwrap())),
            codes::TABLE_INVALID,
            "record 4, field \"cache_id\": expected an id, found null",
        ),
        (
            with(&whole, "weight", null(whole.column("weight").unwrap())),
            codes::WEIGHT_INVALID,
            "record 4, field \"weight\": expected a weight, found null",
        ),
        (
            with(&whole, "weight", Values::Utf8(["1"; 5].iter().collect())),
            codes::WEIGHT_INVALID,
            "expected a number, found utf8",
        ),
        (
            with(&whole, "weight", weights(0.0)),
            codes::WEIGHT_INVALID,
            "record 4: expected a positive, finite weight, found 0",
        ),
        (with(&whole, "weight", weights(f64::NAN)), codes::WEIGHT_INVALID, "found NaN"),
        (
            with(&whole, "weight", Values::Float64(vec![1e308; 5])),
            codes::WEIGHT_INVALID,
            "record 1: expected weights with a finite sum",
        ),
        (
            with(&whole, "weight", Values::Int64(vec![1, 1, 1, 1, -1])),
            codes::WEIGHT_INVALID,
            "record 4",
        ),
        (
            with(&whole, "label", weights(0.0)),
            codes::TABLE_INVALID,
            "field \"label\": expected int64 as stored, found float64",
        ),
    ];
    for (given, code, says) in cases {
        let error = table.replaced_by(given).map(|_| ()).unwrap_err();
        assert_eq!(error.code(), code, "{error}");
        assert!(error.to_string().contains(says), "{error}");
        assert!(!table.is_replaced() && table.rows() == 5);
    }
    let twice = whole.columns().chain(whole.columns().take(1));
    let twice =
        Table::new(twice.map(|(name, column)| (name.to_owned(), Arc::clone(column)))).unwrap();
    let error = table.replaced_by(twice).map(|_| ()).unwrap_err();
    assert!(
        error.to_string().contains("expected columns of distinct names, found \"cache_id\" again")
    );
}

#[test]
fn stored_columns_with_reserved_names_get_others() {
    let column = |value| Column::new(Values::Int64(vec![value, value]));
    let stored = ["cache_id", "metadata.weight", "sample_id", "weight"];
    let stored = stored.iter().zip(1..).map(|(name, value)| ((*name).to_owned(), column(value)));
    let caches = Arc::new(Caches::new(vec![(3, 2)]).unwrap());
    let table = ActiveTable::new(caches, &[Table::new(stored).unwrap()]).unwrap();
    let whole = table.to_table().unwrap();
    assert_eq!(
        names(&whole),
        [
            "cache_id",
            "sample_id",
            "metadata.cache_id",
            "metadata.weight",
            "metadata.sample_id",
            "metadata.metadata.weight",
            "weight"
        ]
    );
    assert_eq!(whole.column("metadata.metadata.weight").unwrap().get(0), Some(Cell::Int64(4)));
    assert_eq!(identities(&table.replaced_by(whole).unwrap()), [(3, 0), (3, 1)]);
}

#[test]
fn tables_of_caches_must_fit_them_and_each_other() {
    let caches = Arc::new(Caches::new(vec![(9, 1), (4, 2)]).unwrap());
    let one = part(&[1], &["a"]);
    let two = part(&[1, 2], &["a", "b"]);
    let build = |parts: &[Table]| {
        ActiveTable::new(Arc::clone(&caches), parts).map(|_| ()).map_err(|error| error.code())
    };
    assert_eq!(build(&[one.clone(), two.clone()]), Ok(()));
    assert_eq!(build(std::slice::from_ref(&one)), Err(codes::TABLE_INVALID));
    assert_eq!(build(&[one.clone(), one.clone()]), Err(codes::TABLE_INVALID));
    assert_eq!(build(&[one.clone(), without(&two, "word")]), Err(codes::TABLE_INVALID));
    let other = with(&two, "label", Values::Float64(vec![1.0, 2.0]));
    assert_eq!(build(&[one, other]), Err(codes::TABLE_INVALID));
}
