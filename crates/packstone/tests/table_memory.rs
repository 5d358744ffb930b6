//! What a table of many rows costs: alone in its process, since the memory of the whole process is looked at.
#![allow(clippy::unwrap_used, clippy::cast_possible_truncation, clippy::cast_possible_wrap)]

use std::sync::Arc;

use packstone::formats::datasetrt::parts::table::{ActiveTable, Caches};
use packstone_container::arrow_table::{Bitmap, Column, Table, Values};

#[test]
fn a_million_rows_cost_what_their_columns_do() {
    let rows = 1_000_000;
    let caches = Arc::new(Caches::new(vec![(1, rows)]).unwrap());
    let labels = Column::new(Values::Int64((0..rows as i64).collect()));
    let flags = Column::new(Values::Bool(Bitmap::from_fn(rows as usize, |row| row % 3 == 0)));
    let stored = Table::new([("label".to_owned(), labels), ("flag".to_owned(), flags)]).unwrap();
    let table = ActiveTable::new(caches, std::slice::from_ref(&stored)).unwrap();
    let shared = table.to_table().unwrap();
    assert!(Arc::ptr_eq(shared.column("label").unwrap(), stored.column("label").unwrap()));
    drop(shared);
    let before = resident();
    let half = table.filter(&Bitmap::from_fn(rows as usize, |row| row % 2 == 0)).unwrap();
    // 500,000 rows: two ids, a weight, its sum and a label of 8 bytes each, and one bit.
    let cost = resident().saturating_sub(before);
    assert!(cost < 60 << 20, "{cost} bytes");
    assert_eq!(half.identity(499_999).unwrap().sample_id, 999_998);
}

/// Bytes of memory in use.
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}
