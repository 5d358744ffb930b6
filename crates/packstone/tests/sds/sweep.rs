//! Damage of every kind: an error or a finding, never a panic, never a hang, never wrong content from a shard.

use std::sync::Arc;
use std::time::{Duration, Instant};

use packstone::format::{Dataset, ReadContext};
use packstone::formats::sds::options::{CONTROL, Policy, RecordPolicy};
use packstone::formats::sds::parts::axes::{Axis, Coordinate};
use packstone::formats::sds::parts::carrier::Annotation;
use packstone::formats::sds::parts::catalog::{CatalogPointer, Revision, SetRoot};
use packstone::formats::sds::parts::manifest::{Manifest, ShardEntry};
use packstone::formats::sds::parts::notes::Notes;
use packstone::formats::sds::parts::payload::{decode, encode};
use packstone::formats::sds::parts::pointer::WorkerPointer;
use packstone::formats::sds::parts::publish::{PublishOptions, publish};
use packstone::formats::sds::parts::record::{DTYPES, Record, RecordField, Row, tensor_type};
use packstone::formats::sds::parts::snapshot::Snapshot;
use packstone::json::{Number, Object, Value};
use packstone::model::Severity;
use packstone::ops::Scan;
use packstone::{Error, Limits, LocalRoot, MemoryRoot, Place, RelPath, Root, RootMut};
use packstone_io::Buf;
use packstone_testkit::{cut_points, flip_points, golden_folder};
use proptest::prelude::*;

use super::bad::check;
use super::kit::{self, items, text, unhex};
use super::publish::{memory, shard};

/// A golden dataset in memory.
fn golden(case: &str) -> MemoryRoot {
    let base = golden_folder("signal-dataset").join(case).join("data");
    let root = LocalRoot::open(&base).unwrap();
    let files = MemoryRoot::new();
    let mut folders = vec![RelPath::root()];
    while let Some(folder) = folders.pop() {
        for entry in root.list(&folder).unwrap() {
            let path = folder.join(&entry.name).unwrap();
            match entry.kind {
                packstone_io::EntryKind::Folder => folders.push(path),
                _ => files.create(&path, &root.read(&path).unwrap()).unwrap(),
            }
        }
    }
    files
}

/// The SHA-256 of all that can be read: identities, values, metadata; the first error ends a collection.
fn read(files: &MemoryRoot) -> (Vec<String>, Option<Error>) {
    let mut lines = Vec::new();
    let dataset = match kit::open(Arc::new(files.clone())) {
        Ok(dataset) => dataset,
        Err(error) => return (lines, Some(error)),
    };
    let mut failed = None;
    for name in dataset.collections() {
        let collection = match dataset.collection(&name) {
            Ok(collection) => collection,
            Err(error) => {
                failed = Some(error);
                continue;
            }
        };
        for shard in Scan::new(collection).threads(0).runs(true).identities(true).shards() {
            match shard {
                Err(error) => failed = Some(error),
                Ok(decoded) => lines.extend(decoded.batch.samples().map(|sample| {
                    let values: Vec<_> = sample.values().map(|v| v.bytes.to_vec()).collect();
                    format!("{name} {:?} {values:?} {:?}", sample.identity(), sample.metadata())
                })),
            }
        }
    }
    (lines, failed)
}

/// Does `what` while a file has other bytes.
fn with<T>(
    files: &MemoryRoot,
    path: &RelPath,
    bytes: Vec<u8>,
    what: impl FnOnce(&MemoryRoot) -> T,
) -> T {
    let whole = files.read(path).unwrap().to_vec();
    files.replace(&[(path.clone(), bytes)]).unwrap();
    let out = what(files);
    files.replace(&[(path.clone(), whole)]).unwrap();
    out
}

#[test]
fn no_cut_of_a_document_goes_unnoticed_and_no_flip_does_harm() {
    for case in ["annotations", "view"] {
        let files = golden(case);
        let (whole, _) = read(&files);
        for (path, bytes) in files.files() {
            let name = path.as_str();
            let read_by_readers = !name.contains("/shards/") && !name.starts_with("source/");
            if !name.ends_with(".json") || !read_by_readers {
                continue;
            }
            // Long documents repeat themselves.
            let step = if bytes.len() < 200 { 1 } else { 7 };
            for cut in (0..bytes.len()).rev().step_by(step) {
                // A last line end is white space; what has a size in a reference is noticed even so.
                let (lines, failed) = with(&files, &path, bytes[..cut].to_vec(), read);
                let same = lines == whole && failed.is_none();
                let newline = name == "root.json" && cut + 1 == bytes.len();
                let old = name.contains("/catalogs/");
                assert!(!same || newline || old, "{case} {name} cut at {cut}");
            }
            for at in (0..bytes.len()).step_by(step) {
                let mut flipped = bytes.to_vec();
                flipped[at] ^= 1 << (at % 8);
                let (lines, _) = with(&files, &path, flipped, read);
                // What is still read is what was there; names of datasets are not part of it.
                for line in lines.iter().filter(|line| line.starts_with("records")) {
                    assert!(whole.contains(line), "{case} {name} flipped at {at}: {line}");
                }
            }
        }
    }
}

#[test]
fn no_flip_and_no_cut_of_a_shard_goes_unnoticed_by_a_check_or_changes_what_is_read() {
    let files = golden("annotations");
    let (whole, _) = read(&files);
    for (path, bytes) in files.files() {
        if !path.as_str().ends_with(".arrayrecord") {
            continue;
        }
        let mut points = flip_points(bytes.len(), 24);
        points.extend((0..bytes.len()).step_by(7919));
        // Where chunks are: the first two kilobytes, and the footer.
        points.extend((64..2048).step_by(41).chain((65536..65536 + 2048).step_by(67)));
        for at in points {
            let mut flipped = bytes.to_vec();
            flipped[at] ^= 1 << (at % 8);
            let (found, (lines, _)) = with(&files, &path, flipped, |files| {
                (check(Arc::new(files.clone()), false), read(files))
            });
            let told = found.iter().filter(|f| f.severity > Severity::Info).count();
            assert!(told > 0, "{path} flipped at {at}: {found:?}");
            assert!(lines.iter().all(|line| whole.contains(line)), "{path} flipped at {at}");
        }
        for cut in cut_points(bytes.len(), 12) {
            let cut_off = bytes[..cut].to_vec();
            let found = with(&files, &path, cut_off, |files| check(Arc::new(files.clone()), false));
            assert!(found.iter().any(|f| f.code == "sds/size_mismatch"), "{path} cut at {cut}");
        }
    }
}

#[test]
fn no_flip_and_no_cut_of_a_payload_does_more_than_an_error() {
    let vectors = kit::golden_json("vectors.json");
    let policy = Policy::default();
    let silent = || Notes::new(Place::default());
    for vector in items(&vectors, "vectors") {
        let payload = unhex(text(vector, "encoded_hex"));
        for cut in (0..payload.len()).step_by(if payload.len() > 1000 { 17 } else { 1 }) {
            let cut = Buf::from(payload[..cut].to_vec());
            assert!(decode(&cut, &policy.records, &mut silent()).is_err());
            assert!(Annotation::decode(&cut, &policy.records, &mut silent()).is_err());
        }
        for at in (0..payload.len()).step_by(if payload.len() > 1000 { 13 } else { 1 }) {
            for bit in [0, 5, 7] {
                let mut flipped = payload.clone();
                flipped[at] ^= 1 << bit;
                let flipped = Buf::from(flipped);
                let _ = decode(&flipped, &policy.records, &mut silent());
                let _ = Annotation::decode(&flipped, &policy.records, &mut silent());
            }
        }
        let Some(row) = vector.get("metadata_hex") else { continue };
        let row = unhex(row.as_str().unwrap());
        for at in 0..row.len() {
            assert!(Row::parse(&row[..at], &policy, &mut silent()).is_err());
            let mut flipped = row.clone();
            flipped[at] ^= 1 << (at % 8);
            let _ = Row::parse(&flipped, &policy, &mut silent());
        }
    }
}

/// A dataset of two records whose documents agree on a number of them.
fn boasting(records: u64, indices: Option<Vec<u64>>) -> MemoryRoot {
    let (files, root) = memory();
    let made = shard(root.as_ref(), &["a", "b"], "w", 0).unwrap();
    let mut claimed = made.clone();
    claimed.record_count = records;
    if indices.is_none() {
        publish(&root, &[claimed], &PublishOptions::new("d", "s"), &Policy::default()).unwrap();
        return files;
    }
    publish(&root, &[made], &PublishOptions::new("d", "s"), &Policy::default()).unwrap();
    let path = RelPath::new("manifests/b4/s-00000000.json").unwrap();
    let bytes = root.read(&path).unwrap();
    let mut page = Manifest::parse(&bytes, &CONTROL, &mut Notes::silent(Place::default())).unwrap();
    page.record_count = records;
    page.shards = vec![ShardEntry {
        record_count: records,
        record_indices: indices,
        ..page.shards[0].clone()
    }];
    let text = page.text();
    let path_of = |text: &str| RelPath::new(text).unwrap();
    let snapshot = path_of("snapshots/s/snapshot.json");
    let mut notes = Notes::silent(Place::default());
    let mut document =
        Snapshot::parse(&root.read(&snapshot).unwrap(), &CONTROL, &mut notes).unwrap();
    document.record_count = records;
    document.manifests[0].record_count = records;
    document.manifests[0].object.stored_bytes = text.len() as u64;
    let snapshot_text = document.text();
    let marker = String::from_utf8(root.read(&path_of("root.json")).unwrap().to_vec()).unwrap();
    let old = root.len(&snapshot).unwrap();
    let marker = marker.replace(
        &format!("\"stored_bytes\": {old}"),
        &format!("\"stored_bytes\": {}", snapshot_text.len()),
    );
    root.replace(&[
        (path, text.into_bytes()),
        (snapshot, snapshot_text.into_bytes()),
        (path_of("root.json"), marker.into_bytes()),
    ])
    .unwrap();
    files
}

#[test]
fn documents_that_boast_cost_no_time_and_no_memory() {
    let begin = Instant::now();
    for records in [3, 1 << 40, u64::MAX / 2, u64::MAX] {
        let files = boasting(records, None);
        let dataset = kit::open(Arc::new(files.clone())).unwrap();
        assert_eq!(dataset.len(), records);
        assert_eq!(dataset.record(1).unwrap().id, "b");
        assert_eq!(dataset.record(records - 1).unwrap_err().code(), "sds/index_out_of_range");
        assert!(dataset.rows(0..records).is_err());
        let collection = dataset.collection("records").unwrap();
        assert!(collection.settled().is_err());
        let shards = Scan::new(Arc::clone(&collection)).threads(2).shards();
        assert!(shards.take(3).any(|shard| shard.is_err()));
        let last = collection.shards(records - 1).next().unwrap().unwrap();
        assert!(collection.read(&last, None, &mut ReadContext::default()).is_err());
        let found = check(Arc::new(files), false);
        assert!(found.iter().all(|f| f.code == "sds/count_mismatch"), "{found:?}");
    }
    let repeated = boasting(100_000, Some(vec![1; 100_000]));
    let dataset = kit::open(Arc::new(repeated.clone())).unwrap();
    assert_eq!(dataset.record(99_999).unwrap().id, "b");
    assert!(check(Arc::new(repeated), false).is_empty());
    let beyond = boasting(2, Some(vec![0, u64::MAX]));
    let dataset = kit::open(Arc::new(beyond.clone())).unwrap();
    assert_eq!(dataset.record(1).unwrap_err().code(), "sds/index_out_of_range");
    let found = check(Arc::new(beyond), false);
    assert!(found.iter().any(|f| f.code == "sds/index_out_of_range"), "{found:?}");
    assert!(begin.elapsed() < Duration::from_secs(60), "{:?}", begin.elapsed());
}

#[test]
fn limits_of_the_caller_hold_as_well() {
    let files = golden("multi-shard");
    let mut limits = Limits::default();
    limits.document_bytes = 300;
    let refused =
        packstone::formats::sds::reader::SdsDataset::open(Arc::new(files.clone()), &limits);
    assert_eq!(refused.err().unwrap().code(), "sds/limit_exceeded");
    let limits = Limits::default().with_decoded_bytes(100);
    let dataset =
        packstone::formats::sds::reader::SdsDataset::open(Arc::new(files), &limits).unwrap();
    assert_eq!(dataset.record(0).unwrap_err().code(), "sds/limit_exceeded");
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::from),
        prop::num::f64::NORMAL.prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::btree_map(any::<String>(), inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn object() -> impl Strategy<Value = Object> {
    prop::collection::btree_map(any::<String>(), json(), 0..3)
        .prop_map(|map| map.into_iter().collect())
}

fn axis(length: u64) -> impl Strategy<Value = Axis> {
    let text = || prop::option::of(any::<String>());
    let number = || any::<i32>().prop_map(|n| Some(Number::from(n)));
    let forms = prop_oneof![
        Just(None),
        Just(Some(Coordinate::default())),
        prop::collection::vec(json(), length as usize)
            .prop_map(|values| Some(Coordinate { values: Some(values), ..Coordinate::default() })),
        (number(), number(), text()).prop_map(|(start, step, unit)| {
            Some(Coordinate { start, step, unit, ..Coordinate::default() })
        }),
    ];
    (text(), forms, object()).prop_map(move |(role, coordinate, metadata)| Axis {
        role,
        coordinate,
        metadata,
        ..Axis::new("", length)
    })
}

fn field() -> impl Strategy<Value = RecordField> {
    let shape = prop::collection::vec(0..4u64, 1..4);
    (shape, 0..DTYPES.len(), object(), any::<u8>()).prop_flat_map(
        |(shape, kind, metadata, fill)| {
            let axes: Vec<_> = shape.iter().map(|length| axis(*length)).collect();
            axes.prop_map(move |mut axes| {
                axes.iter_mut().enumerate().for_each(|(at, axis)| axis.name = format!("axis {at}"));
                let dtype = DTYPES[kind].0.clone();
                let size = tensor_type(&dtype).unwrap().byte_len(&shape).unwrap();
                let data = Buf::from(vec![fill; size as usize]);
                RecordField { dtype, shape: shape.clone(), data, axes, metadata: metadata.clone() }
            })
        },
    )
}

fn record() -> impl Strategy<Value = Record> {
    let fields = prop::collection::btree_map("\\PC{1,8}", field(), 1..4);
    let id = "\\PC{1,12}";
    (id, prop::option::of(any::<String>()), object(), fields).prop_map(
        |(id, scene_id, metadata, fields)| Record {
            id,
            scene_id,
            metadata,
            fields: fields.into_iter().collect(),
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_record_is_read_as_it_was_written(record in record()) {
        let policy = Policy::default();
        let encoded = encode(&record, &policy).unwrap();
        let mut notes = Notes::new(Place::default());
        let read = decode(&Buf::from(encoded.record.clone()), &policy.records, &mut notes).unwrap();
        let row = Row::parse(&encoded.row, &policy, &mut notes).unwrap();
        prop_assert_eq!(&notes.findings, &[]);
        prop_assert_eq!(&read.row(), &row);
        prop_assert_eq!(&read.id, &record.id);
        prop_assert_eq!(&read.scene_id, &record.scene_id);
        for (name, field) in &record.fields {
            let found = read.field(name).unwrap();
            prop_assert_eq!((&found.dtype, &found.shape), (&field.dtype, &field.shape));
            prop_assert_eq!(&found.data, &field.data);
        }
        prop_assert_eq!(encode(&read, &policy).unwrap().record, encoded.record);
    }

    #[test]
    fn no_bytes_make_a_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut notes = Notes::new(Place::default());
        let _ = decode(&Buf::from(bytes.clone()), &RecordPolicy::default(), &mut notes);
        let _ = Row::parse(&bytes, &Policy::default(), &mut notes);
    }

    #[test]
    fn no_value_makes_a_reader_of_documents_panic(value in json(), key in 0..8usize) {
        let documents = [
            ("root.json", "dataset_id"), ("", "manifests"), ("", "shards"), ("", "sets"),
            ("", "revision"), ("", "snapshot_id"), ("", "record_ids"), ("", "fields"),
        ];
        let mut object = Object::new();
        for format in ["dataset", "snapshot", "manifest"] {
            object.insert("format", format!("signal-dataset.{format}"));
            object.insert("layout_version", "0.1");
            object.insert(documents[key].1, value.clone());
            let text = packstone::json::write(&Value::Object(object.clone()), &packstone::json::Style::COMPACT);
            let (bytes, mut notes) = (text.as_bytes(), Notes::new(Place::default()));
            let _ = Snapshot::parse(bytes, &CONTROL, &mut notes);
            let _ = Manifest::parse(bytes, &CONTROL, &mut notes);
            let _ = SetRoot::parse(bytes, &CONTROL, &mut notes);
            let _ = CatalogPointer::parse(bytes, &CONTROL, &mut notes);
            let _ = WorkerPointer::parse(bytes, &CONTROL, &mut notes);
            let path = packstone::formats::sds::layout::revision_path(bytes);
            let _ = Revision::parse(bytes, &path, &CONTROL, &mut notes);
            let _ = Row::parse(bytes, &Policy::default(), &mut notes);
        }
    }
}
