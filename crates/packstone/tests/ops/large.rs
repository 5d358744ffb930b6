//! Batches that are larger than what a format reads at once, and than what one thread copies.

use std::sync::Arc;

use packstone::format::{Collection, Plan, ReadContext};
use packstone::model::{Batch, Column, DType, Schema};
use packstone::ops::{Scan, gather};
use packstone::{registry, site};
use packstone_io::Buf;
use tempfile::TempDir;

use crate::fake::{object, schema};

/// Bytes of a sample.
const WIDTH: usize = 150_000;
const ROWS: usize = 50;

/// The first bytes of a sample tell which one it is, the rest differs from its neighbours'.
fn value(row: usize) -> Vec<u8> {
    let mut value: Vec<u8> =
        (0..WIDTH).map(|at| u8::try_from((at / 7 + row * 31) % 251).unwrap()).collect();
    value[0] = u8::try_from(row).unwrap();
    value
}

fn all(schema: &Arc<Schema>) -> Batch {
    let data: Vec<u8> = (0..ROWS).flat_map(value).collect();
    let column = match schema.fields[0].is_variable() {
        true => Column::ragged(Buf::from(data), (1..=ROWS).map(|row| row * WIDTH).collect()),
        false => Column::dense(Buf::from(data), WIDTH, ROWS),
    };
    Batch::new(Arc::clone(schema), ROWS, vec![column.unwrap()]).unwrap()
}

/// A collection of these samples in a folder; the shards of DatasetRT hold six of them.
fn stored(scratch: &TempDir, name: &str, options: &str) -> Arc<dyn Collection> {
    let schema = match name {
        "datasetrt" | "arrayrecord" => schema(&[("data", DType::Bytes, &[])]),
        _ => schema(&[("data", DType::UInt8, &[WIDTH as u64])]),
    };
    let extension = if name == "arrayrecord" { ".arrayrecord" } else { "" };
    let path = scratch.path().join(format!("made{extension}"));
    let format = registry::format(name).unwrap();
    let collections = vec![("train".to_owned(), Some(ROWS as u64))];
    let plan = Plan { schema: Arc::clone(&schema), collections, ..Plan::default() };
    let to = site::target(&path, format).unwrap();
    let mut writer = format.create(to, &plan, &object(options)).unwrap();
    let metadata = object(if name == "datasetrt" { r#"{"label": 3}"# } else { "{}" });
    writer.write("train", &all(&schema).with_metadata(metadata)).unwrap();
    writer.finish().unwrap();
    let dataset = packstone::open(&path).unwrap();
    dataset.collection("train").unwrap()
}

fn check(batch: &Batch, rows: impl Iterator<Item = usize>) {
    let rows: Vec<usize> = rows.collect();
    assert_eq!(batch.rows(), rows.len());
    for (at, row) in rows.into_iter().enumerate() {
        assert!(batch.columns()[0].bytes(at).unwrap() == value(row), "sample {row}");
    }
}

const STORED: [(&str, &str); 6] = [
    ("datasetrt", r#"{"compression": "none", "max_shard_bytes": 1000000}"#),
    ("datasetrt", r#"{"compression": "lz4", "max_shard_bytes": 1000000}"#),
    ("arrayrecord", r#"{"compression": "none", "group_size": 1}"#),
    ("arrayrecord", r#"{"compression": "zstd", "group_size": 7}"#),
    ("tensordict", "{}"),
    ("sedpack", "{}"),
];

#[test]
fn batches_in_order_are_the_same_samples_whatever_their_size() {
    for (name, options) in STORED {
        let scratch = TempDir::new().unwrap();
        let collection = stored(&scratch, name, options);
        for (size, threads) in [(1, 2), (7, 0), (7, 2), (16, 1), (40, 2), (ROWS, 2), (99, 1)] {
            for first in [0, 5] {
                let scan = Scan::new(Arc::clone(&collection)).threads(threads);
                let mut next = first;
                for batch in scan.range(first as u64..u64::MAX).batches(size).unwrap() {
                    let end = (next + size).min(ROWS);
                    let batch = batch.unwrap();
                    check(&batch, next..end);
                    let column = &batch.columns()[0];
                    assert!(column.as_dense().is_some() || column.ends().is_some(), "apart");
                    next = end;
                }
                assert_eq!(next, ROWS, "{name} {options} by {size} on {threads} threads");
            }
        }
    }
}

#[test]
fn gathered_samples_come_in_the_order_asked_for() {
    for (name, options) in STORED {
        let scratch = TempDir::new().unwrap();
        let collection = stored(&scratch, name, options);
        for count in [1, 20, 64] {
            let rows = (0..count).map(|n| n * 17 % ROWS);
            let indices: Vec<u64> = rows.clone().map(|row| row as u64).collect();
            let mut context = ReadContext::default();
            check(&gather(collection.as_ref(), &indices, None, &mut context).unwrap(), rows);
        }
    }
}
