//! Parts by the names that workers know them by, tried more than once.

use std::sync::Arc;

use packstone::format::{Dataset, Format, Parts, Plan, RepairOptions, Writer};
use packstone::formats::sedpack::Sedpack;
use packstone::json::Object;
use packstone::model::{Batch, Column, DType, Field, Schema};
use packstone::{Kind, Limits, MemoryRoot, Root};
use packstone_io::Buf;

fn plan() -> Plan {
    let schema = Schema::new(vec![Field::new("n", DType::Int64, vec![])]);
    Plan { schema: Arc::new(schema), ..Plan::default() }
}

fn parts(files: &MemoryRoot) -> Box<dyn Parts> {
    let mut options = Object::new();
    options.insert("examples_per_shard", 2);
    Sedpack.parts(Arc::new(files.clone()), &plan(), &options).unwrap()
}

fn numbers(range: std::ops::Range<i64>) -> Batch {
    let count = usize::try_from(range.end - range.start).unwrap();
    let bytes: Vec<u8> = range.flat_map(i64::to_le_bytes).collect();
    let column = Column::dense(Buf::from(bytes), 8, count).unwrap();
    Batch::new(plan().schema, count, vec![column]).unwrap()
}

fn begun(parts: &dyn Parts, name: &str, range: std::ops::Range<i64>) -> Box<dyn Writer> {
    let mut writer = parts.open(name).unwrap();
    writer.write("train", &numbers(range)).unwrap();
    writer
}

fn samples(files: &MemoryRoot) -> u64 {
    let root: Arc<dyn Root> = Arc::new(files.clone());
    let dataset: Arc<dyn Dataset> = Sedpack.open(root, &Limits::default()).unwrap();
    dataset.collections().iter().map(|name| dataset.collection(name).unwrap().len()).sum()
}

#[test]
fn tries_that_died_count_for_nothing() {
    let files = MemoryRoot::new();
    let workers = parts(&files);
    // One that dies takes nothing back.
    let dead = begun(workers.as_ref(), "a", 0..9);
    drop(begun(workers.as_ref(), "a", 0..9));
    assert!(workers.finished().unwrap().is_empty());
    assert_eq!(workers.commit(&["a".to_owned()]).unwrap_err().code(), "sedpack/parts_invalid");
    // Of two that finish it at once, one counts.
    let late = begun(workers.as_ref(), "a", 100..105);
    begun(workers.as_ref(), "a", 0..5).finish().unwrap();
    late.finish().unwrap();
    assert_eq!(workers.open("a").err().unwrap().kind(), Kind::Exists);
    begun(workers.as_ref(), "b", 5..8).finish().unwrap();
    assert_eq!(workers.finished().unwrap(), ["a", "b"]);
    assert_eq!(samples(&files), 0);
    assert_eq!(workers.commit(&[]).unwrap().samples, 8);
    assert!(workers.finished().unwrap().is_empty());
    for names in [&["a", "b"][..], &["a"], &[]] {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(parts(&files).commit(&names).unwrap().samples, 0);
    }
    assert_eq!(samples(&files), 8);
    // Nothing of the others comes back.
    let repaired = Sedpack.repair(Arc::new(files.clone()), &RepairOptions::default()).unwrap();
    assert!(repaired.salvaged.is_empty(), "{repaired:?}");
    assert_eq!(samples(&files), 8);
    drop(dead);
}

#[test]
fn names_of_parts_are_plain() {
    let files = MemoryRoot::new();
    let workers = parts(&files);
    for name in ["", "a/b", "../a", "a.try1"] {
        assert!(workers.open(name).is_err(), "{name}");
    }
    let other = Plan {
        schema: Arc::new(Schema::new(vec![Field::new("n", DType::Int32, vec![])])),
        ..Plan::default()
    };
    let refused = Sedpack.parts(Arc::new(files.clone()), &other, &Object::new()).err().unwrap();
    assert_eq!(refused.code(), "sedpack/parts_invalid");
}
