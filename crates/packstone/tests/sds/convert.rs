//! SignalDataset as source and target of conversions: what comes back is what was given.

use std::sync::Arc;

use packstone::format::{Dataset, Format, Plan, Writer};
use packstone::formats::sds::Sds;
use packstone::formats::sds::writer::{SdsWriter, WriteOptions};
use packstone::json::{Object, Value};
use packstone::model::{Batch, Column, DType, Field, Key, Schema};
use packstone::ops::{
    ConvertOptions, DiffOptions, DigestOptions, Scan, convert, diff, digest_collection, gather,
    reopened,
};
use packstone::registry::format;
use packstone::{Error, Limits, LocalRoot, MemoryRoot, Root, RootMut};
use packstone_io::Buf;
use packstone_testkit::{golden_folder, good_cases};

use super::bad::{check, summary};
use super::kit;
use super::publish::memory;

fn golden(case: &str) -> Arc<dyn Dataset> {
    let path = golden_folder("signal-dataset").join(case).join("data");
    Arc::new(kit::open(Arc::new(LocalRoot::open(path).unwrap())).unwrap())
}

fn options() -> ConvertOptions {
    ConvertOptions { threads: 0, proof: true, ..ConvertOptions::default() }
}

fn to(
    source: &Arc<dyn Dataset>,
    id: &str,
    root: &Arc<dyn RootMut>,
    options: &ConvertOptions,
) -> Result<Arc<dyn Dataset>, Error> {
    let target = format(id).unwrap();
    let report = convert(Arc::clone(source), target, Arc::clone(root), options, None)?;
    assert!(report.digests.iter().all(|proof| proof.level.is_some()));
    let readable: Arc<dyn Root> = Arc::clone(root) as _;
    reopened(target.open(readable, &Limits::default())?)
}

fn digest(dataset: &dyn Dataset, collection: &str) -> (u64, String, String) {
    let options = DigestOptions { threads: 0, ..DigestOptions::default() };
    let digest = digest_collection(dataset.collection(collection).unwrap(), &options, None);
    let digest = digest.unwrap();
    (digest.samples, digest.values, digest.full)
}

#[test]
fn copies_within_the_format_have_the_same_content_names_and_annotations() {
    for case in good_cases("signal-dataset") {
        let source = golden(&case.name);
        let (files, root) = memory();
        let copy = to(&source, "sds", &root, &options()).unwrap();
        assert_eq!(copy.collections(), source.collections(), "{}", case.name);
        for collection in source.collections() {
            let expected = digest(source.as_ref(), &collection);
            assert_eq!(digest(copy.as_ref(), &collection), expected, "{}", case.name);
        }
        let opened = kit::open(Arc::new(files.clone())).unwrap();
        let original = kit::open(Arc::new(LocalRoot::open(&case.data).unwrap())).unwrap();
        for ordinal in 0..original.len() {
            assert_eq!(opened.row(ordinal).unwrap(), original.row(ordinal).unwrap());
        }
        assert_eq!(opened.document().dataset_id, original.document().dataset_id);
        let mut metadata = original.document().metadata.clone();
        metadata.remove("reference_dataset");
        assert_eq!(opened.document().metadata, metadata);
        let errors = summary(&check(Arc::new(files), false));
        assert!(errors.iter().all(|(severity, _)| severity.name() == "info"), "{errors:?}");
    }
}

#[test]
fn records_of_one_shape_become_arrays_of_that_shape_elsewhere() {
    let source = golden("annotations");
    let options = ConvertOptions { collections: vec!["records".to_owned()], ..options() };
    let there: Arc<dyn RootMut> = Arc::new(MemoryRoot::new());
    let target = format("sedpack").unwrap();
    convert(Arc::clone(&source), target, Arc::clone(&there), &options, None).unwrap();
    let stored = target.open(Arc::clone(&there) as _, &Limits::default()).unwrap();
    let field = &stored.schema().fields[0];
    assert_eq!((field.dtype.clone(), &field.shape[..]), (DType::Int32, &[4][..]));
    // And back: axes, metadata, everything.
    let (_, root) = memory();
    let stored = reopened(stored).unwrap();
    let back = to(&stored, "sds", &root, &options).unwrap();
    assert_eq!(digest(back.as_ref(), "records"), digest(source.as_ref(), "records"));
}

#[test]
fn records_that_differ_are_named_where_samples_are_to_be_alike() {
    for (case, record) in [("dtypes", 1), ("descriptors", 1), ("multi-shard", 3)] {
        let source = golden(case);
        let there: Arc<dyn RootMut> = Arc::new(MemoryRoot::new());
        let refused = to(&source, "sedpack", &there, &options()).err().unwrap();
        assert_eq!(refused.code(), "sds/mixed_fields", "{case}");
        let records = source.collection("records").unwrap();
        let mut batches = Scan::new(Arc::clone(&records)).threads(0).batches(2).unwrap();
        let refused = batches.find_map(Result::err).unwrap();
        assert_eq!((refused.code(), refused.place().record), ("sds/mixed_fields", Some(record)));
        let picked = gather(records.as_ref(), &[record], None, &mut Default::default());
        assert_eq!(picked.err().unwrap().place().record, Some(record), "{case}");
        assert!(gather(records.as_ref(), &[0], None, &mut Default::default()).is_ok());
    }
}

fn schema() -> Arc<Schema> {
    Arc::new(Schema::new(vec![
        Field::new("scalar", DType::Float64, []),
        Field::new("grid", DType::UInt16, vec![2, 1]),
        Field::varying(Key::new("any"), DType::Int8, 1),
    ]))
}

fn batch(first: u8, rows: usize) -> Batch {
    let rows_of = |width: usize| -> Buf {
        (0..rows * width).map(|n| first.wrapping_add(n as u8)).collect::<Vec<_>>().into()
    };
    let ends: Vec<usize> = (1..=rows).map(|row| row * (row + 1) / 2).collect();
    let dims = (1..=rows as u64).collect();
    let bytes = vec![first; ends.last().copied().unwrap_or(0)];
    let any = Column::ragged(Buf::from(bytes), ends).unwrap().with_shapes(1, dims).unwrap();
    let columns = vec![
        Column::dense(rows_of(8), 8, rows).unwrap(),
        Column::dense(rows_of(4), 4, rows).unwrap(),
        any,
    ];
    let metadata = Object::from_iter([("row", u64::from(first))]);
    Batch::new(schema(), rows, columns).unwrap().with_metadata(metadata.into())
}

#[test]
fn collections_scalars_and_shapes_of_a_new_dataset_come_back() {
    let (files, root) = memory();
    let collections = ["train", "test", "holdout"].map(|name| (name.to_owned(), None)).to_vec();
    let plan = Plan { schema: schema(), collections, ..Plan::default() };
    let options = Object::from_iter([("records_per_shard", 4), ("shards_per_page", 2)]);
    let mut writer = Sds.create(Arc::clone(&root), &plan, &options).unwrap();
    for (name, first, rows) in [("test", 1, 3), ("train", 10, 5), ("test", 20, 3), ("train", 30, 1)]
    {
        writer.write(name, &batch(first, rows)).unwrap();
    }
    let written = writer.finish().unwrap();
    assert_eq!((written.samples, written.shards), (12, 4));
    let made = kit::open(Arc::new(files.clone())).unwrap();
    assert_eq!(made.collections(), ["train", "test", "holdout"]);
    assert_eq!(**made.schema(), *schema());
    for (name, len, shards) in [("train", 6, 2), ("test", 6, 2), ("holdout", 0, 0)] {
        let collection = made.collection(name).unwrap();
        assert_eq!((collection.len(), collection.shard_count()), (len, shards), "{name}");
        let rows: u64 = collection.shards(0).map(|shard| shard.unwrap().rows).sum();
        assert_eq!(rows, len);
    }
    let train = made.collection("train").unwrap();
    let picked = gather(train.as_ref(), &[5, 0, 5], None, &mut Default::default()).unwrap();
    let firsts: Vec<u8> = picked.samples().map(|s| s.get("grid").unwrap().bytes[0]).collect();
    assert_eq!(firsts, [30, 10, 30]);
    let sample = picked.sample(1).unwrap();
    assert_eq!(sample.get("scalar").unwrap().shape, [0; 0]);
    assert_eq!(sample.get("any").unwrap().shape, [1]);
    assert_eq!(sample.metadata().unwrap().get("row").and_then(Value::as_u64), Some(10));
    // For others it is one sequence of records with one element along one axis in place of a scalar.
    let record = made.record(0).unwrap();
    assert_eq!(record.id, "train/0");
    assert_eq!(record.field("scalar").unwrap().shape, [1]);
    assert_eq!(made.record(6).unwrap().id, "test/0");
    assert!(summary(&check(Arc::new(files), false)).is_empty());
}

#[test]
fn any_number_of_threads_writes_the_same_bytes() {
    let source = golden("annotations").collection("records").unwrap();
    let all = Scan::new(source).threads(0).identities(true).shards().next().unwrap().unwrap().batch;
    let write = |threads: usize, rows: usize| {
        let (files, root) = memory();
        let collections = vec![("records".to_owned(), None)];
        let plan = Plan { schema: Arc::clone(all.schema()), collections, ..Plan::default() };
        let mut options = WriteOptions::new(&plan, &Object::new()).unwrap();
        (options.threads, options.records_per_shard) = (threads, 3);
        let mut writer = Box::new(SdsWriter::with_options(root, &plan, options).unwrap());
        for first in (0..all.rows()).step_by(rows) {
            let part = all.slice(first..all.rows().min(first + rows)).unwrap();
            writer.write("records", &part).unwrap();
        }
        assert_eq!(writer.finish().unwrap().samples, all.rows() as u64);
        files.files()
    };
    let expected = write(0, 1);
    for (threads, rows) in [(0, 100), (1, 100), (2, 2), (3, 100), (8, 3)] {
        assert_eq!(write(threads, rows), expected, "{threads} threads, {rows} rows at once");
    }
}

#[test]
fn a_writer_that_fails_or_is_dropped_leaves_nothing() {
    let (files, root) = memory();
    let collections = vec![("records".to_owned(), None)];
    let plan = Plan { schema: schema(), collections, ..Plan::default() };
    let options = Object::from_iter([("records_per_shard", 1)]);
    let mut writer = Sds.create(Arc::clone(&root), &plan, &options).unwrap();
    writer.write("records", &batch(1, 3)).unwrap();
    assert_eq!(files.files().len(), 6);
    drop(writer);
    assert!(files.files().is_empty());
    let mut writer = Sds.create(Arc::clone(&root), &plan, &options).unwrap();
    let mut bad = Object::new();
    bad.insert("x", Value::from_utf16(&[0xd800]));
    let refused = writer.write("records", &batch(1, 3).with_metadata(bad.into())).unwrap_err();
    assert_eq!((refused.code(), refused.place().record), ("sds/json_invalid", Some(0)));
    assert!(files.files().is_empty());
    // The batch was refused as a whole, so that the writer can go on.
    writer.write("records", &batch(7, 2)).unwrap();
    assert_eq!(writer.finish().unwrap().samples, 2);
    let again = Sds.create(root, &plan, &options).err().unwrap();
    assert_eq!(again.code(), "sds/collision");
}

#[test]
fn what_records_cannot_be_made_of_is_refused_at_creation() {
    let create = |fields: Vec<Field>, options: Object| {
        let (files, root) = memory();
        let plan = Plan { schema: Arc::new(Schema::new(fields)), ..Plan::default() };
        let made = Sds.create(root, &plan, &options);
        assert!(files.files().is_empty());
        made.err().map(|error| error.code())
    };
    let x = || vec![Field::new("x", DType::UInt8, vec![1])];
    for fields in [
        vec![],
        vec![Field::new("x", DType::Str, [])],
        vec![Field::new("x", DType::Complex128, vec![2])],
        vec![Field::new("", DType::UInt8, [])],
        vec![Field::at(Key::nested(vec!["a".into(), "b".into()]), DType::UInt8, [])],
        [x(), x()].concat(),
    ] {
        assert_eq!(create(fields, Object::new()), Some("sds/not_writable"));
    }
    for (name, value, code) in [
        ("colour", Value::from(1), "sds/option_invalid"),
        ("records_per_shard", Value::from(0), "sds/option_invalid"),
        ("bytes_per_shard", Value::from("x"), "sds/option_invalid"),
        ("shards_per_page", Value::from(1_000_000), "sds/option_invalid"),
        ("snapshot_id", Value::from("../x"), "sds/id_invalid"),
        ("dataset_id", Value::from(""), "sds/id_invalid"),
    ] {
        assert_eq!(create(x(), Object::from_iter([(name, value)])), Some(code), "{name}");
    }
    for id in ["part", "merge", "repair"] {
        let (_, root) = memory();
        let refused = match id {
            "part" => Sds.part(root, "p").map(drop),
            "merge" => Sds.merge(root, &Default::default()).map(drop),
            _ => Sds.repair(root, &Default::default()).map(drop),
        };
        assert_eq!(refused.unwrap_err().code(), "sds/published_once", "{id}");
    }
}

#[test]
fn projections_and_ranges_read_what_is_asked_for() {
    let source = golden("annotations");
    let records = source.collection("records").unwrap();
    let scan = || Scan::new(Arc::clone(&records)).threads(0);
    let names: Vec<_> = scan().fields(&["signal"]).unwrap().range(1..3).shards().collect();
    assert_eq!(names.len(), 1);
    let decoded = names.into_iter().next().unwrap().unwrap();
    assert_eq!((decoded.shard.first, decoded.rows.len()), (1, 2));
    assert!(scan().fields(&["nothing"]).is_err());
    let unknown = source.collection("annotations/none").err().unwrap();
    assert_eq!(unknown.code(), "sds/unknown_set");
    assert_eq!(source.collection("nothing").err().unwrap().code(), "sds/unknown_set");
    assert_eq!(kit::open(Arc::new(MemoryRoot::new())).err().unwrap().code(), "sds/missing_object");
    assert!(!Sds.recognizes(&MemoryRoot::new()).unwrap());
}

/// What differs, as `collection index field: what`.
fn differences(expected: &dyn Dataset, found: &dyn Dataset) -> Vec<String> {
    let options = DiffOptions { threads: 0, ..DiffOptions::default() };
    let report = diff(expected, found, &options, None).unwrap();
    assert_eq!(report.equal, report.differences.is_empty());
    let line = |difference: &packstone::ops::Difference| {
        let index = difference.index.map(|index| index.to_string()).unwrap_or_default();
        let field = difference.field.as_deref().unwrap_or_default();
        format!("{} {index} {field}: {}", difference.collection, difference.what)
    };
    report.differences.iter().map(line).collect()
}

#[test]
fn datasets_whose_records_have_other_fields_are_compared_record_by_record() {
    for case in good_cases("signal-dataset") {
        let source = golden(&case.name);
        let (_files, root) = memory();
        let copy = to(&source, "sds", &root, &options()).unwrap();
        assert_eq!(differences(source.as_ref(), copy.as_ref()), [""; 0], "{}", case.name);
    }
    // Record 3 of the one has fields of its own, and the other no record like it.
    let (mixed, other) = (golden("multi-shard"), golden("annotations"));
    let found = differences(mixed.as_ref(), other.as_ref());
    assert!(found.iter().any(|line| line.starts_with("records 3 signal: expected")), "{found:?}");
}

#[test]
fn whether_a_shape_is_known_before_is_no_content() {
    let case = kit::edit("variants", "catalog-absent");
    let source: Arc<dyn Dataset> = Arc::new(kit::open(case.root()).unwrap());
    let (_files, root) = memory();
    let there = to(&source, "sedpack", &root, &options()).unwrap();
    let (_files, root) = memory();
    let back = to(&there, "sds", &root, &options()).unwrap();
    assert_eq!(differences(source.as_ref(), there.as_ref()), [""; 0]);
    assert_eq!(differences(back.as_ref(), source.as_ref()), [""; 0]);
    assert_eq!(digest(source.as_ref(), "records"), digest(back.as_ref(), "records"));
}
