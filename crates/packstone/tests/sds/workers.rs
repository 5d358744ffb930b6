//! Parts of a dataset that is published when all of them are there.

use std::sync::Arc;

use packstone::format::{Collection, Dataset, Format, Parts, Plan};
use packstone::formats::sds::Sds;
use packstone::json::{Object, Value};
use packstone::model::{Batch, Column, DType, Field, Schema};
use packstone::{Kind, Limits, MemoryRoot, RelPath, Root, RootMut};
use packstone_io::Buf;

fn plan() -> Plan {
    let schema = Schema::new(vec![Field::new("n", DType::Int64, vec![])]);
    let collections = vec![("train".to_owned(), None), ("test".to_owned(), None)];
    Plan { schema: Arc::new(schema), collections, ..Plan::default() }
}

fn options() -> Object {
    let mut options = Object::new();
    options.insert("records_per_shard", 2);
    options
}

fn parts(files: &MemoryRoot) -> Box<dyn Parts> {
    Sds.parts(Arc::new(files.clone()), &plan(), &options()).unwrap()
}

fn numbers(range: std::ops::Range<i64>) -> Batch {
    let count = usize::try_from(range.end - range.start).unwrap();
    let bytes: Vec<u8> = range.flat_map(i64::to_le_bytes).collect();
    let column = Column::dense(Buf::from(bytes), 8, count).unwrap();
    Batch::new(plan().schema, count, vec![column]).unwrap()
}

fn write(parts: &dyn Parts, name: &str, range: std::ops::Range<i64>) {
    let mut writer = parts.open(name).unwrap();
    writer.write("train", &numbers(range.clone())).unwrap();
    writer.write("test", &numbers(range.start..range.start + 1)).unwrap();
    assert_eq!(writer.finish().unwrap().samples, u64::try_from(range.count()).unwrap() + 1);
}

fn read(files: &MemoryRoot, collection: &str) -> Vec<i64> {
    let root: Arc<dyn Root> = Arc::new(files.clone());
    let dataset = Sds.open(root, &Limits::default()).unwrap();
    let collection: Arc<dyn Collection> = dataset.collection(collection).unwrap();
    let scan = packstone::ops::Scan::new(collection).threads(0);
    let number = |bytes: &[u8]| i64::from_le_bytes(bytes.try_into().unwrap());
    let shards = scan.shards().map(Result::unwrap);
    shards
        .flat_map(|s| {
            s.batch.samples().map(|v| number(v.get("n").unwrap().bytes)).collect::<Vec<_>>()
        })
        .collect()
}

fn is_published(files: &MemoryRoot) -> bool {
    Sds.recognizes(files).unwrap()
}

fn path(text: &str) -> RelPath {
    RelPath::new(text).unwrap()
}

#[test]
fn parts_are_joined_in_the_order_that_is_asked_for() {
    let files = MemoryRoot::new();
    let workers = parts(&files);
    write(workers.as_ref(), "b", 0..5);
    write(workers.as_ref(), "a", 5..7);
    assert_eq!(workers.finished().unwrap(), ["a", "b"]);
    assert!(!is_published(&files));
    let names = ["b".to_owned(), "a".to_owned()];
    let written = workers.commit(&names).unwrap();
    assert_eq!((written.samples, written.shards), (9, 6));
    assert_eq!(read(&files, "train"), [0, 1, 2, 3, 4, 5, 6]);
    assert_eq!(read(&files, "test"), [0, 5]);
    assert!(workers.finished().unwrap().is_empty());
    let report = packstone::ops::verify(&Sds, Arc::new(files.clone()), &Default::default(), None);
    assert!(report.unwrap().is_clean());
    // Again, and by another process.
    assert_eq!(parts(&files).commit(&names).unwrap().samples, 9);
    assert_eq!(parts(&files).commit(&[]).unwrap().samples, 9);
}

#[test]
fn what_died_counts_for_nothing_and_is_done_again() {
    let files = MemoryRoot::new();
    let workers = parts(&files);
    let empty = files.list(&RelPath::root()).unwrap().len();
    let mut dropped = workers.open("a").unwrap();
    dropped.write("train", &numbers(0..5)).unwrap();
    drop(dropped);
    assert_eq!(files.list(&RelPath::root()).unwrap().len(), empty);
    // One that dies takes nothing back.
    let mut dead = workers.open("a").unwrap();
    dead.write("train", &numbers(100..105)).unwrap();
    // Of two that write it now, the first to finish counts.
    let mut late = workers.open("a").unwrap();
    late.write("train", &numbers(200..205)).unwrap();
    write(workers.as_ref(), "a", 0..3);
    let refused = late.finish().unwrap_err();
    assert_eq!((refused.kind(), refused.code()), (Kind::Exists, "sds/work_ids"));
    assert_eq!(workers.open("a").err().unwrap().kind(), Kind::Exists);
    workers.commit(&[]).unwrap();
    assert_eq!(read(&files, "train"), [0, 1, 2]);
    drop(dead);
}

#[test]
fn parts_that_lie_are_refused_and_publish_nothing() {
    let files = MemoryRoot::new();
    let workers = parts(&files);
    write(workers.as_ref(), "a", 0..5);
    let file = path("packstone-part-a.json");
    let good = files.read(&file).unwrap().to_vec();
    let commit = |bytes: &[u8]| {
        files.replace(&[(file.clone(), bytes.to_vec())]).unwrap();
        workers.commit(&["a".to_owned()])
    };
    for end in 0..good.len() - 1 {
        commit(&good[..end]).unwrap_err();
        assert!(!is_published(&files));
    }
    let text = String::from_utf8(good.clone()).unwrap();
    for (from, to) in [
        (r#""packstone_part":1"#, r#""packstone_part":2"#),
        (r#""int64""#, r#""int32""#),
        (r#""path":"objects"#, r#""path":"/objects"#),
        (r#""path":"objects"#, r#""path":"../objects"#),
        (r#""path":"objects/data"#, r#""path":"objects/gone"#),
        (r#""stored_bytes":"#, r#""stored_bytes":1"#),
        (r#""bare":true"#, r#""bare":3"#),
        (r#""collections":["#, r#""collections":[[],"#),
    ] {
        assert!(text.contains(from), "{from} in {text}");
        commit(text.replacen(from, to, 1).as_bytes()).unwrap_err();
        assert!(!is_published(&files), "{to}");
    }
    for names in [&["b"][..], &["a", "a"], &["a", "b"]] {
        files.replace(&[(file.clone(), good.clone())]).unwrap();
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(workers.commit(&names).unwrap_err().code(), "sds/work_ids");
        assert!(!is_published(&files));
    }
    for name in ["", "a/b", "..", "é"] {
        assert_eq!(workers.open(name).err().unwrap().code(), "sds/work_ids", "{name}");
    }
    assert_eq!(commit(&good).unwrap().samples, 6);
}

#[test]
fn records_of_parts_have_names_of_their_own() {
    let files = MemoryRoot::new();
    let workers = parts(&files);
    write(workers.as_ref(), "a", 0..2);
    write(workers.as_ref(), "b", 2..4);
    workers.commit(&[]).unwrap();
    let root: Arc<dyn Root> = Arc::new(files.clone());
    let dataset =
        packstone::formats::sds::reader::SdsDataset::open(root, &Limits::default()).unwrap();
    let rows = dataset.rows(0..dataset.len()).unwrap();
    let ids: Vec<String> = rows.into_iter().map(|row| row.id.unwrap()).collect();
    assert_eq!(ids, ["train/a/0", "train/a/1", "train/b/0", "train/b/1", "test/a/0", "test/b/0"]);
    assert!(dataset.info().native.get("dataset_id") == Some(&Value::from("dataset")));
}
