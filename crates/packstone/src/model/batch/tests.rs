//! Batches and the builder together: shapes, metadata and identities go with their rows.

use packstone_container::json::Value;
use packstone_io::{Buf, BufferPool};

use super::*;
use crate::model::BatchSlots;
use crate::model::row_table::tests::{objects, table};
use crate::model::{DType, Key};

fn batch(texts: &[&str], label: Option<&str>) -> Batch {
    let schema =
        Schema::new(vec![Field::new("n", DType::UInt8, []), Field::new("text", DType::Str, [])]);
    let ends = texts.iter().scan(0, |end, t| {
        *end += t.len();
        Some(*end)
    });
    let numbers: Vec<u8> = (0..texts.len()).map(|n| u8::try_from(n).unwrap()).collect();
    let columns = vec![
        Column::dense(Buf::from(numbers), 1, texts.len()).unwrap(),
        Column::ragged(Buf::from(texts.concat().into_bytes()), ends.collect()).unwrap(),
    ];
    let mut metadata = Object::new();
    if let Some(label) = label {
        metadata.insert("label", Value::from(label));
    }
    Batch::new(Arc::new(schema), texts.len(), columns).unwrap().with_metadata(metadata.into())
}

#[test]
fn shapes_that_vary_are_checked_and_gathered() {
    let schema = Arc::new(Schema::new(vec![Field::varying(Key::new("x"), DType::Int16, 2)]));
    let column = |dims: &[u64]| {
        let data = Buf::from(vec![7; 12]);
        Column::ragged(data, vec![8, 8, 12]).unwrap().with_shapes(2, dims.to_vec()).unwrap()
    };
    let batch = |dims: &[u64]| Batch::new(Arc::clone(&schema), 3, vec![column(dims)]);
    assert!(batch(&[2, 2, 3, 0, 1, 1]).unwrap_err().to_string().contains("in row 2"));
    assert!(batch(&[2, 2, u64::MAX, 3, 2, 1]).is_err());
    let batch = batch(&[2, 2, 3, 0, 2, 1]).unwrap();
    let identities = (0..3).map(|n| packstone_container::json!({"n": n}));
    let identities = identities.map(|v| v.as_object().unwrap().clone()).collect();
    let batch = batch.with_identities(identities).unwrap();
    let last = batch.slice(1..3).unwrap().select(&[1]).unwrap();
    assert_eq!(last.identity(0).unwrap().get("n").and_then(Value::as_u64), Some(2));
    let mut builder = BatchBuilder::new(schema, 8, BufferPool::new(1)).unwrap();
    builder.push(&batch, 2..3).unwrap();
    builder.push(&batch, 0..2).unwrap();
    let got = builder.finish().unwrap();
    let shapes: Vec<_> = got.samples().map(|s| s.get("x").unwrap().shape.to_vec()).collect();
    assert_eq!(shapes, [[2, 1], [2, 2], [3, 0]]);
    assert!(got.identity(0).is_none());
}

#[test]
fn gathers_rows_and_their_metadata_across_batches() {
    let parts =
        [batch(&["", "bc", "d"], None), batch(&["e", "fgh"], Some("x")), batch(&["i"], None)];
    let mut builder =
        BatchBuilder::new(Arc::clone(parts[0].schema()), 8, BufferPool::new(4)).unwrap();
    builder.push(&parts[0], 1..3).unwrap();
    builder.push(&parts[1], 0..2).unwrap();
    builder.push(&parts[2], 0..1).unwrap();
    let got = builder.finish().unwrap();
    let texts: Vec<_> = got.samples().map(|s| s.get("text").unwrap().bytes.to_vec()).collect();
    assert_eq!(texts, [&b"bc"[..], b"d", b"e", b"fgh", b"i"]);
    let labelled: Vec<_> = got.samples().map(|s| s.metadata().is_some()).collect();
    assert_eq!(labelled, [false, false, true, true, false]);
    assert_eq!(got.columns()[0].as_dense().unwrap()[..], [1, 2, 0, 1, 0]);
    assert_eq!(builder.finish().unwrap().rows(), 0);
    assert!(builder.push(&parts[1], 1..3).is_err());
}

#[test]
fn rows_of_a_table_stay_with_their_values_wherever_they_go() {
    let with_table = batch(&["a", "bc", ""], None).with_metadata_table(table()).unwrap();
    assert!(batch(&["a"], None).with_metadata_table(table()).is_err());
    let wanted = objects();
    let check = |batch: &Batch, rows: &[Option<usize>]| {
        let found = batch.samples().map(|sample| sample.metadata().map(AsRef::as_ref));
        let wanted = rows.iter().map(|row| row.and_then(|row| wanted.get(row)));
        assert_eq!(found.collect::<Vec<_>>(), wanted.collect::<Vec<_>>());
        let runs = batch.metadata_runs();
        assert_eq!(runs.map(|(rows, _)| rows.len()).sum::<usize>(), batch.rows());
    };
    check(&with_table, &[Some(0), Some(1), Some(2)]);
    check(&with_table.slice(1..3).unwrap(), &[Some(1), Some(2)]);
    check(&with_table.select(&[2, 2, 0]).unwrap(), &[Some(2), Some(2), Some(0)]);
    let mut copy = batch(&["x", "y", "z"], None);
    assert!(!copy.has_metadata_runs());
    copy.copy_metadata(&with_table);
    check(&copy, &[Some(0), Some(1), Some(2)]);
    let (plain, pool) = (batch(&["x"], None), BufferPool::new(2));
    let mut builder = BatchBuilder::new(Arc::clone(plain.schema()), 8, pool.clone()).unwrap();
    builder.push(&plain, 0..1).unwrap();
    builder.push(&with_table, 1..3).unwrap();
    builder.push(&plain, 0..1).unwrap();
    builder.push(&with_table, 0..1).unwrap();
    check(&builder.finish().unwrap(), &[None, Some(1), Some(2), None, Some(0)]);
    builder.push(&plain, 0..1).unwrap();
    assert!(!builder.finish().unwrap().has_metadata_runs());
    let mut slots = BatchSlots::new(Arc::clone(plain.schema()), 4, &pool).unwrap();
    slots.put(&with_table, &[(0, 3), (2, 0)]).unwrap();
    slots.put(&plain, &[(0, 1)]).unwrap();
    slots.put(&with_table.slice(1..2).unwrap(), &[(0, 2)]).unwrap();
    let batch = slots.finish(None).unwrap();
    check(&batch, &[Some(2), None, Some(1), Some(0)]);
    // One object of a row, whoever looked first.
    assert!(Arc::ptr_eq(batch.metadata(0).unwrap(), with_table.metadata(2).unwrap()));
}
