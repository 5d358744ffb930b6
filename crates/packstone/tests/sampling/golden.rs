//! `expected_sequences.json`, and tables like those it was made from.

use std::sync::Arc;

use packstone::formats::datasetrt::parts::table::{ActiveTable, Caches};
use packstone::json::{self, ReadOptions, Value};
use packstone_container::arrow_table::{Column, Table, Values};

pub(crate) fn golden() -> Value {
    read("expected_sequences.json")
}

pub(crate) fn read(name: &str) -> Value {
    let path = packstone_testkit::golden_folder("datasetrt").join("sequences").join(name);
    json::read(&std::fs::read(path).unwrap(), &ReadOptions::default()).unwrap().value
}

pub(crate) fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value.get(name).and_then(Value::as_array).unwrap()
}

pub(crate) fn number(value: &Value, name: &str) -> u64 {
    value.get(name).and_then(Value::as_u64).unwrap()
}

pub(crate) fn numbers(value: &Value) -> Vec<u64> {
    value.as_array().unwrap().iter().map(|number| number.as_u64().unwrap()).collect()
}

/// A double as the golden data spell it: `{"f64": "3ff0000000000000"}`.
pub(crate) fn double(value: &Value) -> f64 {
    f64::from_bits(u64::from_str_radix(value.get("f64").unwrap().as_str().unwrap(), 16).unwrap())
}

/// One cache of id 7 with `samples` samples and a column `n` of their numbers.
pub(crate) fn one_cache(samples: u64) -> ActiveTable {
    let caches = Arc::new(Caches::new(vec![(7, samples)]).unwrap());
    let column = Column::new(Values::Int64((0..samples as i64).collect()));
    ActiveTable::new(caches, &[Table::new([("n".to_owned(), column)]).unwrap()]).unwrap()
}
