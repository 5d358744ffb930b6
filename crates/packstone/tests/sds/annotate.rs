//! Annotation sets: one process, many workers, many publishers at once.

use std::sync::Arc;

use packstone::format::Dataset;
use packstone::formats::sds::options::Policy;
use packstone::formats::sds::parts::annotate::{
    AnnotationOptions, WorkerShard, publish_annotation_shards, publish_annotations,
    write_annotation_shard,
};
use packstone::formats::sds::parts::carrier::{Annotation, Status};
use packstone::formats::sds::parts::catalog::SetReference;
use packstone::formats::sds::parts::pointer::WorkerPointer;
use packstone::formats::sds::parts::publish::{PublishOptions, publish};
use packstone::formats::sds::reader::SdsDataset;
use packstone::json::{Object, Value};
use packstone::model::Severity;
use packstone::ops::gather;
use packstone::{Error, LocalRoot, MemoryRoot, RelPath, Root, RootMut};

use super::bad::{check, summary};
use super::kit;
use super::publish::{memory, shard};
use super::refusals::plain;

const IDS: [&str; 5] = ["a", "b", "c", "d", "e"];

pub(crate) fn dataset(root: &Arc<dyn RootMut>) -> SdsDataset {
    let made = shard(root.as_ref(), &IDS, "w", 0).unwrap();
    publish(root, &[made], &PublishOptions::new("d", "s"), &Policy::default()).unwrap()
}

pub(crate) fn annotation(ordinal: usize, label: &str) -> Annotation {
    let status = Status::ALL[ordinal % 3];
    Annotation {
        source_record_id: IDS[ordinal].to_owned(),
        source_index: ordinal as u64,
        status,
        detail_status: (ordinal == 4).then(|| "late".to_owned()),
        values: Object::from_iter([("label", label)]),
        provenance: Object::new(),
        fields: if status == Status::Success { plain().fields } else { Vec::new() },
    }
}

fn all(label: &str) -> Vec<Annotation> {
    (0..IDS.len()).map(|ordinal| annotation(ordinal, label)).collect()
}

fn publish_set(
    root: &Arc<dyn RootMut>,
    dataset: &SdsDataset,
    name: &str,
    annotations: Vec<Annotation>,
) -> Result<(), Error> {
    let options = AnnotationOptions { records_per_shard: 2, ..AnnotationOptions::default() };
    let given = annotations.into_iter().map(Ok);
    publish_annotations(root, dataset, name, given, &Object::new(), &options)
}

fn open(files: &MemoryRoot) -> SdsDataset {
    kit::open(Arc::new(files.clone())).unwrap()
}

fn paths(files: &MemoryRoot) -> Vec<String> {
    files.files().iter().map(|(path, _)| path.as_str().to_owned()).collect()
}

#[test]
fn a_set_is_read_beside_its_records() {
    let (files, root) = memory();
    let before = dataset(&root);
    publish_set(&root, &before, "labels", all("x")).unwrap();
    let after = open(&files);
    assert_eq!(after.collections(), ["records", "annotations/labels"]);
    let set = after.annotations("labels").unwrap();
    assert_eq!((set.len(), set.root.shards.len()), (5, 3));
    for ordinal in 0..5 {
        let found = set.annotation(ordinal).unwrap();
        let given = annotation(ordinal as usize, "x");
        assert_eq!(found.metadata(), given.metadata());
        assert_eq!(found.source_record_id, after.row(ordinal).unwrap().id.unwrap());
        assert_eq!(found.fields.len(), given.fields.len());
    }
    assert_eq!(set.annotation(5).err().unwrap().code(), "sds/index_out_of_range");
    // An open dataset keeps the catalog it saw, one that did not look yet sees the new one.
    assert_eq!(before.collections().len(), 2);
    publish_set(&root, &before, "more", all("y")).unwrap();
    assert_eq!((before.collections().len(), open(&files).collections().len()), (2, 3));
    let collection = after.collection("annotations/labels").unwrap();
    let alike = gather(collection.as_ref(), &[3, 0], None, &mut Default::default()).unwrap();
    let about = |row| alike.metadata(row).unwrap().get("annotation").unwrap().clone();
    assert_eq!(about(0).get("source_index").and_then(Value::as_u64), Some(3));
    let found = summary(&check(Arc::new(files), false));
    assert_eq!(found, [(Severity::Info, "sds/unreferenced")].into());
}

#[test]
fn publishing_a_set_again_succeeds_and_with_other_content_collides() {
    let (files, root) = memory();
    let made = dataset(&root);
    publish_set(&root, &made, "labels", all("x")).unwrap();
    let before = paths(&files);
    publish_set(&root, &made, "labels", all("x")).unwrap();
    assert_eq!(paths(&files), before);
    let refused = publish_set(&root, &made, "labels", all("y")).unwrap_err();
    assert_eq!(refused.code(), "sds/collision");
    let other = AnnotationOptions {
        publication_id: Some("another".to_owned()),
        ..AnnotationOptions::default()
    };
    let given = all("y").into_iter().map(Ok);
    let refused = publish_annotations(&root, &made, "labels", given, &Object::new(), &other);
    assert_eq!(refused.unwrap_err().code(), "sds/collision");
    let set = open(&files).annotations("labels").unwrap().annotation(1).unwrap();
    assert_eq!(set.values.get("label").and_then(Value::as_str), Some("x"));
}

#[test]
fn annotations_of_other_records_are_refused_and_nothing_is_named() {
    let (files, root) = memory();
    let made = dataset(&root);
    let with = |change: fn(&mut Vec<Annotation>)| {
        let mut annotations = all("x");
        change(&mut annotations);
        publish_set(&root, &made, "labels", annotations).unwrap_err().code()
    };
    assert_eq!(with(|a| drop(a.pop())), "sds/coverage");
    assert_eq!(with(|a| a.push(annotation(4, "x"))), "sds/coverage");
    assert_eq!(with(|a| a.swap(1, 2)), "sds/annotation_mismatch");
    assert_eq!(with(|a| a[2].source_index = 1), "sds/annotation_mismatch");
    assert_eq!(with(|a| a[4].source_record_id = "x".to_owned()), "sds/annotation_mismatch");
    assert_eq!(with(|a| a[4].detail_status = Some(String::new())), "sds/annotation_invalid");
    for name in ["", "a b", "-x", "é", &"a".repeat(129)] {
        let refused = publish_set(&root, &made, name, all("x")).unwrap_err();
        assert_eq!(refused.code(), "sds/id_invalid", "{name:?}");
    }
    assert_eq!(open(&files).collections(), ["records"]);
    assert!(!paths(&files).iter().any(|path| path.contains("catalog")));
}

fn worker(
    root: &Arc<dyn RootMut>,
    dataset: &SdsDataset,
    id: &str,
    ordinals: std::ops::Range<usize>,
    label: &str,
) -> Result<WorkerPointer, Error> {
    let shard = WorkerShard {
        name: "set".to_owned(),
        publication_id: "p".to_owned(),
        logical_shard_id: id.to_owned(),
        first_ordinal: ordinals.start as u64,
    };
    let annotations: Vec<_> = ordinals.map(|ordinal| annotation(ordinal, label)).collect();
    write_annotation_shard(root, dataset, &shard, &annotations)
}

#[test]
fn the_first_worker_of_a_shard_wins_and_others_get_its_pointer() {
    let (files, root) = memory();
    let made = dataset(&root);
    let first = worker(&root, &made, "0", 0..3, "first").unwrap();
    let second = worker(&root, &made, "0", 0..3, "second").unwrap();
    assert_eq!(second, first);
    // The same work again finds itself; the loser's object stays and means nothing.
    assert_eq!(worker(&root, &made, "0", 0..3, "first").unwrap(), first);
    let objects = paths(&files).iter().filter(|path| path.contains("sets/set/p/objects")).count();
    assert_eq!(objects, 2);
    assert_eq!(first.terminal_statuses, ["success", "skipped", "failed"]);
    let rest = worker(&root, &made, "1", 3..5, "first").unwrap();
    assert_eq!(rest.terminal_statuses, ["success", "late"]);
    let (none, options) = (Object::new(), AnnotationOptions::default());
    let pointers = [rest, second, first];
    publish_annotation_shards(&root, &made, "set", "p", &pointers, &none, &options).unwrap();
    publish_annotation_shards(&root, &made, "set", "p", &pointers, &none, &options).unwrap();
    let found = open(&files).annotations("set").unwrap().annotation(2).unwrap();
    assert_eq!(found.values.get("label").and_then(Value::as_str), Some("first"));
    let found = check(Arc::new(files), false);
    assert_eq!(summary(&found), [(Severity::Info, "sds/unreferenced")].into());
    assert_eq!(found.len(), 1, "{found:?}");
}

#[test]
fn a_coordinator_wants_every_record_once_from_shards_that_belong_together() {
    let (files, root) = memory();
    let made = dataset(&root);
    let parts = [("0", 0..2), ("1", 2..4), ("2", 4..5)]
        .map(|(id, ordinals)| worker(&root, &made, id, ordinals, "x").unwrap());
    type Change<'a> = &'a dyn Fn(&mut Vec<WorkerPointer>);
    let with = |change: Change<'_>| {
        let mut pointers = parts.to_vec();
        change(&mut pointers);
        let (none, options) = (Object::new(), AnnotationOptions::default());
        let result =
            publish_annotation_shards(&root, &made, "set", "p", &pointers, &none, &options);
        result.map_err(|error| error.code())
    };
    let cases: &[(Change<'_>, &str)] = &[
        (&|p| drop(p.remove(1)), "sds/coverage"),
        (&|p| drop(p.remove(2)), "sds/coverage"),
        (&|p| p.clear(), "sds/coverage"),
        (&|p| p[1].first_ordinal = 1, "sds/coverage"),
        (&|p| p[1].name = "other".to_owned(), "sds/coverage"),
        (&|p| p[1].publication_id = "q".to_owned(), "sds/coverage"),
        (&|p| p[1].source_snapshot_id = "t".to_owned(), "sds/coverage"),
        (&|p| p.push(WorkerPointer { stored_bytes: 1, ..p[0].clone() }), "sds/coverage"),
        (&|p| p[1].record_ids.swap(0, 1), "sds/annotation_mismatch"),
        (&|p| p[2].record_ids.push("f".to_owned()), "sds/coverage"),
        (&|p| p[1].stored_bytes = 1, "sds/size_mismatch"),
        (&|p| p[1].uri = "/elsewhere/x.arrayrecord".to_owned(), "sds/pointer_invalid"),
        (&|p| p[1].uri = p[1].uri.replace("/objects/", "/objects/../"), "sds/pointer_invalid"),
        (&|p| p[1].uri = p[0].uri.replace(".arrayrecord", "0.arrayrecord"), "sds/pointer_invalid"),
    ];
    for (number, (change, code)) in cases.iter().enumerate() {
        assert_eq!(with(change), Err(*code), "case {number}");
        assert_eq!(open(&files).collections(), ["records"], "case {number}");
    }
    // A pointer to the object of another shard with another number of annotations.
    let swapped = with(&|p| p[2].uri = p[0].uri.clone());
    assert_eq!(swapped, Err("sds/count_mismatch"));
    assert_eq!(with(&|p| p.reverse()), Ok(()));
    for (id, ordinals) in [("a b", 0..1), ("", 0..1)] {
        let refused = worker(&root, &made, id, ordinals, "x").unwrap_err();
        assert_eq!(refused.code(), "sds/id_invalid");
    }
    assert_eq!(worker(&root, &made, "3", 0..0, "x").unwrap_err().code(), "sds/coverage");
}

#[test]
fn sixteen_publishers_at_once_lose_no_set() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d");
    let root: Arc<dyn RootMut> = Arc::new(LocalRoot::create(&path).unwrap());
    dataset(&root);
    std::thread::scope(|scope| {
        for number in 0..16 {
            let path = &path;
            scope.spawn(move || {
                // Each has its own descriptors, as processes do.
                let root: Arc<dyn RootMut> = Arc::new(LocalRoot::open(path).unwrap());
                let dataset = kit::open(Arc::clone(&root) as _).unwrap();
                publish_set(&root, &dataset, &format!("s{number:02}"), all("x")).unwrap();
            });
        }
    });
    let dataset = kit::open(Arc::clone(&root) as _).unwrap();
    assert_eq!(dataset.catalog().unwrap().names().len(), 16);
    let found = check(root as _, false);
    // Fifteen revisions before the newest.
    assert_eq!(found.len(), 15, "{found:?}");
}

/// A root on which somebody without the lock changes the catalog whenever it was read.
struct Disturbed {
    inner: MemoryRoot,
    left: std::sync::atomic::AtomicUsize,
}

impl Disturbed {
    fn disturb(&self, path: &RelPath) {
        use std::sync::atomic::Ordering::SeqCst;
        let spend = |left: usize| left.checked_sub(1);
        if !path.as_str().starts_with("annotations/catalogs/")
            || self.left.fetch_update(SeqCst, SeqCst, spend).is_err()
        {
            return;
        }
        let number = self.left.load(SeqCst);
        // The lock is held by the one who is disturbed, so this is written past it. Nobody looks at the set itself.
        let mut next = open(&self.inner).catalog().unwrap().revision.clone();
        let name = format!("other{number}");
        let path = format!("annotations/sets/{name}/p/root.json");
        let path = RelPath::new(&path).unwrap();
        next.sets.insert(name, SetReference { path, stored_bytes: 1 });
        let text = next.text();
        let path = packstone::formats::sds::layout::revision_path(text.as_bytes());
        let pointer = format!("{{\"revision\":{{\"generation\":null,\"path\":\"{path}\"}}}}");
        let at = |text: &str| RelPath::new(text).unwrap();
        let pair = [
            (at(&path), text.into_bytes()),
            (at("annotations/catalog.json"), pointer.into_bytes()),
        ];
        self.inner.replace(&pair).unwrap();
    }
}

macro_rules! through {
    ($($name:ident($($arg:ident: $type:ty),*) -> $out:ty;)*) => {$(
        fn $name(&self, $($arg: $type),*) -> $out { self.inner.$name($($arg),*) }
    )*};
}

type Io<T> = Result<T, packstone_io::IoError>;

impl Root for Disturbed {
    through! {
        label() -> String;
        open(path: &RelPath) -> Io<Arc<dyn packstone_io::ReadAt>>;
        list(folder: &RelPath) -> Io<Vec<packstone_io::Entry>>;
    }
}

impl RootMut for Disturbed {
    through! {
        replace(files: &[(RelPath, Vec<u8>)]) -> Io<()>;
        draft(path: &RelPath) -> Io<Box<dyn packstone_io::Draft>>;
        scratch() -> Io<Box<dyn packstone_io::Scratch>>;
        persist_all() -> Io<()>;
        edit(path: &RelPath) -> Io<Box<dyn packstone_io::Edit>>;
        rename(from: &RelPath, to: &RelPath) -> Io<()>;
        exchange(one: &RelPath, other: &RelPath) -> Io<()>;
        journal(path: &RelPath) -> Io<Box<dyn packstone_io::Journal>>;
        journal_is_held(path: &RelPath) -> Io<bool>;
        create_folder(path: &RelPath) -> Io<()>;
        persist(path: &RelPath) -> Io<()>;
        remove(path: &RelPath) -> Io<()>;
        remove_folder(path: &RelPath) -> Io<()>;
        lock(patience: std::time::Duration) -> Io<Box<dyn Send>>;
    }

    fn create(&self, path: &RelPath, content: &[u8]) -> Io<()> {
        self.disturb(path);
        self.inner.create(path, content)
    }
}

#[test]
fn a_catalog_that_others_change_in_between_is_read_again() {
    let (files, root) = memory();
    let made = dataset(&root);
    publish_set(&root, &made, "first", all("x")).unwrap();
    let disturbed = |left: usize| -> Arc<dyn RootMut> {
        Arc::new(Disturbed { inner: files.clone(), left: left.into() })
    };
    publish_set(&disturbed(3), &made, "second", all("y")).unwrap();
    let names = open(&files).catalog().unwrap().names().to_vec();
    assert_eq!(names, ["first", "other0", "other1", "other2", "second"]);
    let refused = publish_set(&disturbed(100), &made, "third", all("z")).unwrap_err();
    assert_eq!(refused.code(), "sds/catalog_changed");
    assert!(!open(&files).catalog().unwrap().names().contains(&"third".to_owned()));
}

#[test]
fn somebody_who_holds_the_lock_is_waited_for_and_then_told() {
    let (_, root) = memory();
    let made = dataset(&root);
    let held = root.lock(std::time::Duration::ZERO).unwrap();
    let patience = std::time::Duration::from_millis(20);
    let options = AnnotationOptions { patience, ..AnnotationOptions::default() };
    let given = || all("x").into_iter().map(Ok);
    let refused = publish_annotations(&root, &made, "set", given(), &Object::new(), &options);
    assert_eq!(refused.unwrap_err().code(), "io/conflict");
    drop(held);
    publish_annotations(&root, &made, "set", given(), &Object::new(), &options).unwrap();
}
