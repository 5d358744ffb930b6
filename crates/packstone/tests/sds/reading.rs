//! Ways to read: without listing, by index, by shard; what documents say beside what readers need.

use std::sync::Arc;

use packstone::format::Dataset;
use packstone::formats::sds::options::Policy;
use packstone::formats::sds::parts::publish::{PublishOptions, publish};
use packstone::json::Value;
use packstone::ops::{Scan, gather};
use packstone::{Error, Kind, LocalRoot, MemoryRoot, RelPath, Root, RootMut};
use packstone_io::{Entry, IoError, ReadAt};
use packstone_testkit::{golden_folder, good_cases};

use super::kit::{self, edit, items, text};
use super::publish::memory;

fn golden(case: &str) -> Arc<LocalRoot> {
    let path = golden_folder("signal-dataset").join(case).join("data");
    Arc::new(LocalRoot::open(path).unwrap())
}

/// A store that cannot list.
struct Unlisted(Arc<LocalRoot>);

impl Root for Unlisted {
    fn label(&self) -> String {
        self.0.label()
    }
    fn open(&self, path: &RelPath) -> Result<Arc<dyn ReadAt>, IoError> {
        self.0.open(path)
    }
    fn open_unlinked(&self, path: &RelPath) -> Result<Arc<dyn ReadAt>, IoError> {
        self.0.open_unlinked(path)
    }
    fn list(&self, folder: &RelPath) -> Result<Vec<Entry>, IoError> {
        panic!("{folder} was listed")
    }
}

#[test]
fn nothing_is_found_by_listing() {
    for case in good_cases("signal-dataset") {
        let dataset = kit::open(Arc::new(Unlisted(golden(&case.name)))).unwrap();
        for name in dataset.collections() {
            let collection = dataset.collection(&name).unwrap();
            let scan = Scan::new(collection).threads(0).runs(true);
            scan.shards().for_each(|shard| drop(shard.unwrap()));
        }
    }
}

#[test]
fn shards_are_what_the_library_gives_as_read_instructions() {
    for case in good_cases("signal-dataset") {
        let dataset = kit::open(golden(&case.name)).unwrap();
        let records = dataset.collection("records").unwrap();
        let Some(expected) = case.expected.get("read_instructions").unwrap().as_array() else {
            // A view, where the library gives none: an entry a record, of which the neighbours that one page has in one
            // object are read at once.
            let rows: Vec<u64> = records.shards(0).map(|shard| shard.unwrap().rows).collect();
            assert_eq!(rows, [1, 1, 2, 1], "{}", case.name);
            continue;
        };
        let found: Vec<_> = records
            .shards(0)
            .map(|shard| shard.unwrap())
            .map(|shard| (shard.path.as_str().to_owned(), shard.first, shard.rows))
            .collect();
        let number = |value: &Value, key: &str| value.get(key).unwrap().as_u64().unwrap();
        let expected: Vec<_> = expected
            .iter()
            .map(|e| {
                (text(e, "filename").to_owned(), number(e, "first_ordinal"), number(e, "take"))
            })
            .collect();
        assert_eq!(found, expected, "{}", case.name);
    }
}

#[test]
fn samples_come_in_the_order_asked_for_with_repeats_from_any_index_on() {
    for name in ["view", "annotations"] {
        let dataset = kit::open(golden(name)).unwrap();
        let records = dataset.collection("records").unwrap();
        let all: Vec<u64> = (0..records.len()).collect();
        let firsts = |indices: &[u64]| -> Vec<Vec<u8>> {
            let batch = gather(records.as_ref(), indices, None, &mut Default::default()).unwrap();
            batch.samples().map(|s| s.get("signal").unwrap().bytes.to_vec()).collect()
        };
        let values = firsts(&all);
        for indices in [&[3, 0, 0, 2][..], &[1], &[], &[2, 3, 2, 3]] {
            let expected: Vec<_> = indices.iter().map(|at| values[*at as usize].clone()).collect();
            assert_eq!(firsts(indices), expected, "{name} {indices:?}");
        }
        for from in 0..=records.len() {
            let scan = Scan::new(Arc::clone(&records)).threads(0).range(from..u64::MAX);
            let mut batches = scan.batches(2).unwrap();
            let mut rest = Vec::new();
            for batch in &mut batches {
                let batch = batch.unwrap();
                rest.extend(batch.samples().map(|s| s.get("signal").unwrap().bytes.to_vec()));
            }
            assert_eq!(rest, values[from as usize..], "{name} from {from}");
        }
        assert!(gather(records.as_ref(), &[records.len()], None, &mut Default::default()).is_err());
    }
}

fn replaced(case: &str, file: &str, from: &str, to: &str) -> Error {
    let root = golden(case);
    let folder = tempfile::tempdir().unwrap();
    packstone_testkit::copy_folder(std::path::Path::new(&root.label()), folder.path());
    let path = folder.path().join(file);
    let document = std::fs::read_to_string(&path).unwrap();
    assert!(document.contains(from));
    std::fs::write(path, document.replacen(from, to, 1)).unwrap();
    kit::open(Arc::new(LocalRoot::open(folder.path()).unwrap())).err().unwrap()
}

#[test]
fn unpaired_surrogates_are_refused_in_control_documents() {
    for (from, to) in [("\"multi\"", "\"\\ud800\""), ("\"owner\"", "\"\\udfff\"")] {
        let error = replaced("multi-shard", "root.json", from, to);
        assert_eq!(error.code(), "sds/json_invalid", "{error}");
    }
}

#[test]
fn errors_name_code_document_and_path() {
    let error =
        replaced("multi-shard", "root.json", "\"stored_bytes\": 664", "\"stored_bytes\": true");
    assert_eq!((error.code(), error.kind()), ("sds/document_invalid", Kind::Corrupt));
    assert_eq!(error.place().file.as_deref(), Some("root.json"));
    assert_eq!(error.place().json_path.as_deref(), Some("$.snapshot.stored_bytes"));
    for case in super::kit::edited("bad") {
        let Err(error) = kit::open(case.root()) else { continue };
        assert!(error.code().starts_with("sds/"), "{}: {error}", case.name);
        assert!(error.place().file.is_some(), "{}: {error}", case.name);
    }
}

#[test]
fn unknown_keys_and_metadata_are_kept() {
    let edited = edit("variants", "root-unknown-keys");
    let dataset = kit::open(edited.root()).unwrap();
    assert_eq!(dataset.info().native.get("x-root").and_then(Value::as_u64), Some(1));
    assert!(dataset.info().native.get("metadata").unwrap().get("owner").is_some());
    let expected = super::kit::golden_json("multi-shard/expected.json");
    let metadata = expected.get("dataset").unwrap().get("metadata").unwrap();
    assert_eq!(kit::spelled(&dataset.document().metadata.clone().into()), kit::spelled(metadata));
    assert_eq!(items(&expected, "records").len(), 5);
}

#[test]
fn a_damaged_set_or_catalog_leaves_the_rest_readable() {
    for (case, good) in [("set-extra-key", 3), ("set-object-missing", 4), ("catalog-array", 1)] {
        let edited = edit("bad", case);
        let dataset = kit::open(edited.root()).unwrap();
        let names = dataset.collections();
        let readable = |name: &&String| dataset.collection(name).is_ok();
        let open = names.iter().filter(readable).count();
        // A shard of a set is read when its samples are; the first is, for its fields.
        let expected = if case == "set-object-missing" { good - 1 } else { good };
        assert_eq!(open, expected, "{case}: {names:?}");
        let failed = names.iter().find(|name| !readable(name)).unwrap();
        assert!(failed.starts_with("annotations"), "{case}: {failed}");
        assert!(dataset.record(0).is_ok());
    }
}

#[test]
fn an_empty_dataset_has_no_samples_and_no_fields() {
    let (files, root) = memory();
    publish(&root, &[], &PublishOptions::new("d", "s"), &Policy::default()).unwrap();
    let dataset = kit::open(Arc::new(files)).unwrap();
    assert!(dataset.is_empty() && dataset.schema().fields.is_empty());
    let records = dataset.collection("records").unwrap();
    assert_eq!((records.len(), records.shard_count(), records.shards(0).count()), (0, 0, 0));
    assert_eq!(dataset.record(0).unwrap_err().code(), "sds/index_out_of_range");
    let none: Arc<dyn RootMut> = Arc::new(MemoryRoot::new());
    assert_eq!(kit::open(none as _).err().unwrap().kind(), Kind::NotFound);
}
