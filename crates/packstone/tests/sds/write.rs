//! What the library wrote, written again: every file of a dataset byte by byte.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use packstone::formats::sds::options::Policy;
use packstone::formats::sds::parts::annotate::{
    AnnotationOptions, WorkerShard, publish_annotation_shards, publish_annotations,
    worker_pointers, write_annotation_shard,
};
use packstone::formats::sds::parts::carrier::Annotation;
use packstone::formats::sds::parts::publish::{PublishOptions, publish};
use packstone::formats::sds::parts::record::Record;
use packstone::formats::sds::parts::write::{PublishedShard, ShardOptions, write_shard};
use packstone::formats::sds::reader::SdsDataset;
use packstone::json::Object;
use packstone::{LocalRoot, MemoryRoot, Root, RootMut};
use packstone_testkit::golden_folder;

use super::kit::{self, items, text};

/// All files of a golden dataset.
fn golden_files(case: &str) -> BTreeMap<String, Vec<u8>> {
    fn walk(base: &Path, folder: &Path, out: &mut BTreeMap<String, Vec<u8>>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(base, &path, out);
            } else {
                let name = path.strip_prefix(base).unwrap().to_str().unwrap().to_owned();
                out.insert(name, std::fs::read(path).unwrap());
            }
        }
    }
    let mut out = BTreeMap::new();
    let base = golden_folder("signal-dataset").join(case).join("data");
    walk(&base, &base, &mut out);
    out
}

fn golden(case: &str) -> SdsDataset {
    let path = golden_folder("signal-dataset").join(case).join("data");
    kit::open(Arc::new(LocalRoot::open(path).unwrap())).unwrap()
}

fn records(dataset: &SdsDataset, ordinals: std::ops::Range<u64>) -> Vec<Record> {
    ordinals.map(|ordinal| dataset.record(ordinal).unwrap()).collect()
}

fn shard(
    root: &Arc<dyn RootMut>,
    records: Vec<Record>,
    work: &str,
    attempt: u64,
) -> PublishedShard {
    let records = records.into_iter().map(Ok);
    write_shard(root.as_ref(), records, work, attempt, &ShardOptions::default()).unwrap()
}

fn assert_same(memory: &MemoryRoot, case: &str) {
    let mut expected = golden_files(case);
    for (path, bytes) in memory.files() {
        let name = path.as_str().to_owned();
        let golden = expected.remove(&name).unwrap_or_else(|| panic!("{case}: {name} is too much"));
        assert!(golden == bytes[..], "{case}: {name} differs");
    }
    let missing: Vec<_> = expected.keys().collect();
    assert!(missing.is_empty(), "{case}: {missing:?}");
}

fn memory() -> (MemoryRoot, Arc<dyn RootMut>) {
    let root = MemoryRoot::new();
    (root.clone(), Arc::new(root))
}

#[test]
fn one_shard_datasets_are_rewritten_byte_by_byte() {
    for case in ["dtypes", "descriptors"] {
        let source = golden(case);
        let (files, root) = memory();
        for _ in 0..2 {
            let shard = shard(&root, records(&source, 0..source.len()), "w", 0);
            let options = PublishOptions::new("golden", "snap-1");
            let made = publish(&root, &[shard], &options, &Policy::default()).unwrap();
            assert_eq!(made.len(), source.len());
            assert_same(&files, case);
        }
    }
}

#[test]
fn the_dataset_of_several_shards_and_pages_is_rewritten_byte_by_byte() {
    let source = golden("multi-shard");
    let (files, root) = memory();
    let first = shard(&root, records(&source, 0..2), "10", 0);
    let empty = shard(&root, Vec::new(), "2", 0);
    assert_eq!((empty.data.stored_bytes, empty.record_count), (131_072, 0));
    let loser = shard(&root, records(&source, 2..3), "a", 0);
    let winner = shard(&root, records(&source, 2..5), "a", 1);
    let mut options = PublishOptions::new("multi", "2026-01-01T00.00");
    options.shards_per_page = 2;
    options.verify_counts = true;
    options.expected_work_ids = Some(["a", "2", "10"].map(str::to_owned).to_vec());
    options.metadata = source.document().metadata.clone();
    let shards = [winner, empty, loser.clone(), first];
    publish(&root, &shards, &options, &Policy::default()).unwrap();
    for object in [&loser.data, &loser.metadata] {
        let packstone::formats::sds::parts::reference::ObjectPath::Relative(path) = &object.path
        else {
            panic!()
        };
        root.remove(path).unwrap();
    }
    assert_same(&files, "multi-shard");
}

#[test]
fn the_empty_dataset_is_rewritten_byte_by_byte() {
    let (files, root) = memory();
    let options = PublishOptions::new("empty", "none");
    for _ in 0..2 {
        let made = publish(&root, &[], &options, &Policy::default()).unwrap();
        let (none, how) = (Object::new(), AnnotationOptions::default());
        publish_annotations(&root, &made, "nothing", [], &none, &how).unwrap();
        assert_same(&files, "empty");
    }
}

fn annotations(case: &str, set: &str) -> (Vec<Annotation>, Object) {
    let set = golden(case).annotations(set).unwrap();
    let all = (0..set.len()).map(|ordinal| set.annotation(ordinal).unwrap()).collect();
    (all, set.root.metadata.clone())
}

#[test]
fn annotation_sets_of_one_process_and_of_workers_are_rewritten_byte_by_byte() {
    let source = golden("annotations");
    // Pointers say where their worker's root was: there it was called `data`.
    let folder = tempfile::tempdir().unwrap();
    let root: Arc<dyn RootMut> = Arc::new(LocalRoot::create(folder.path().join("data")).unwrap());
    let shard = shard(&root, records(&source, 0..4), "w", 0);
    let options = PublishOptions::new("annotated", "snap-a");
    let made = publish(&root, &[shard], &options, &Policy::default()).unwrap();
    let (labels, metadata) = annotations("annotations", "labels");
    let how = AnnotationOptions { records_per_shard: 3, ..AnnotationOptions::default() };
    let given = labels.iter().cloned().map(Ok);
    publish_annotations(&root, &made, "labels", given, &metadata, &how).unwrap();
    let (workers, metadata) = annotations("annotations", "workers.v1");
    let work = |id: &str, first_ordinal, part: &[Annotation]| {
        let shard = WorkerShard {
            name: "workers.v1".to_owned(),
            publication_id: "pub-1".to_owned(),
            logical_shard_id: id.to_owned(),
            first_ordinal,
        };
        write_annotation_shard(&root, &made, &shard, part).unwrap()
    };
    let first = work("shard-0", 0, &workers[..1]);
    let second = work("shard-1", 1, &workers[1..]);
    let readable: Arc<dyn Root> = Arc::clone(&root) as _;
    let found = worker_pointers(&readable, "workers.v1", "pub-1", &Policy::default()).unwrap();
    assert_eq!(found, [first.clone(), second.clone()]);
    let how = AnnotationOptions::default();
    let pointers = [second, first];
    publish_annotation_shards(&root, &made, "workers.v1", "pub-1", &pointers, &metadata, &how)
        .unwrap();
    let (last, metadata) = annotations("annotations", "Z-last_1");
    let how = AnnotationOptions {
        publication_id: Some("manual.0".to_owned()),
        ..AnnotationOptions::default()
    };
    let given = last.into_iter().map(Ok);
    publish_annotations(&root, &made, "Z-last_1", given, &metadata, &how).unwrap();
    let label = root.label();
    let data = folder.path().join("data");
    for (name, golden) in golden_files("annotations") {
        let found = std::fs::read(data.join(&name)).unwrap_or_else(|e| panic!("{name}: {e}"));
        if name.contains("/shards/") {
            let found = String::from_utf8(found).unwrap().replace(&label, "data");
            assert_eq!(found.into_bytes(), golden, "{name}");
        } else {
            assert!(found == golden, "{name} differs");
        }
    }
}

/// The records that the library refuses, as far as a caller here can have them at all.
#[test]
fn records_that_break_a_rule_are_refused_before_anything_is_written() {
    let cases = kit::golden_json("bad/writes.json");
    let refused: Vec<&str> = items(&cases, "cases")
        .iter()
        .filter(|case| text(case, "expect") == "error")
        .map(|case| text(case, "name"))
        .collect();
    let mut tried = 0;
    for (name, change) in super::refusals::CHANGES {
        assert!(refused.contains(name), "{name}");
        let (files, root) = memory();
        let mut record = super::refusals::plain();
        change(&mut record);
        let options = ShardOptions::default();
        let error = write_shard(root.as_ref(), [Ok(record)], "w", 0, &options).unwrap_err();
        let known = ["sds/record_invalid", "sds/dtype_unsupported", "sds/json_invalid"];
        assert!(known.contains(&error.code()), "{name}: {error}");
        assert!(files.files().is_empty(), "{name} left something");
        tried += 1;
    }
    assert!(tried >= 18, "{tried}");
}
