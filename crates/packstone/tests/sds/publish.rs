//! Publishing: what is refused, in which order things appear, what a failure leaves, and what running again does.

use std::sync::Arc;

use packstone::format::Dataset;
use packstone::formats::sds::options::Policy;
use packstone::formats::sds::parts::publish::{PublishOptions, publish};
use packstone::formats::sds::parts::record::Record;
use packstone::formats::sds::parts::reference::ObjectPath;
use packstone::formats::sds::parts::write::{PublishedShard, ShardOptions, write_shard};
use packstone::json::{self, ReadOptions};
use packstone::model::Severity;
use packstone::{Error, MemoryRoot, RelPath, Root, RootMut};
use packstone_io::FaultyRoot;

use super::bad::{check, summary};
use super::kit;
use super::refusals::plain;

pub(crate) fn memory() -> (MemoryRoot, Arc<dyn RootMut>) {
    let root = MemoryRoot::new();
    (root.clone(), Arc::new(root))
}

pub(crate) fn records(ids: &[&str]) -> Vec<Record> {
    ids.iter().map(|id| Record { id: (*id).to_owned(), ..plain() }).collect()
}

pub(crate) fn shard(
    root: &dyn RootMut,
    ids: &[&str],
    work: &str,
    attempt: u64,
) -> Result<PublishedShard, Error> {
    let records = records(ids).into_iter().map(Ok);
    write_shard(root, records, work, attempt, &ShardOptions::default())
}

fn code<T>(result: Result<T, Error>) -> &'static str {
    result.err().expect("an error").code()
}

fn names(files: &MemoryRoot) -> Vec<String> {
    files.files().iter().map(|(path, _)| path.as_str().to_owned()).collect()
}

#[test]
fn ids_that_are_no_names_are_refused_before_anything_is_written() {
    let (files, root) = memory();
    let policy = Policy::default();
    for id in [
        "", ".", "..", "a/../b", "./k", "k/", "a//b", "/x", "a\\b", "a#b", "a?b", "a\0b",
        "gs://b/x",
    ] {
        let refused = publish(&root, &[], &PublishOptions::new("d", id), &policy);
        assert_eq!(code(refused), "sds/id_invalid", "{id:?}");
    }
    assert_eq!(code(publish(&root, &[], &PublishOptions::new("", "s"), &policy)), "sds/id_invalid");
    assert!(files.files().is_empty());
    for id in ["a/b", "Ünder", " s p ", "2026-01-01T00.00", "gs:x", "…"] {
        let (files, root) = memory();
        let made = publish(&root, &[], &PublishOptions::new("d", id), &policy).unwrap();
        assert_eq!(made.snapshot().snapshot_id, id);
        assert!(summary(&check(Arc::new(files), false)).is_empty(), "{id}");
    }
}

#[test]
fn metadata_that_no_reader_takes_are_refused_before_anything_is_written() {
    let read = |text: &str| {
        let mut limits = packstone::Limits::default();
        limits.depth = 1000;
        let options = ReadOptions::default().with_nan(true).with_limits(limits);
        json::read(text.as_bytes(), &options).unwrap().value
    };
    let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    let (files, root) = memory();
    for value in ["NaN", "1e999", "-Infinity", "\"\\ud800\"", &deep(127)] {
        let mut options = PublishOptions::new("d", "s");
        options.metadata.insert("x", read(value));
        let found = code(publish(&root, &[], &options, &Policy::default()));
        assert!(["sds/json_invalid", "sds/limit_exceeded"].contains(&found), "{value}: {found}");
        assert!(files.files().is_empty(), "{value}");
    }
    let mut options = PublishOptions::new("d", "s");
    options.metadata.insert("x", read(&deep(126)));
    options.metadata.insert("n", read("1.50"));
    let made = publish(&root, &[], &options, &Policy::default()).unwrap();
    // As Python reads and writes it.
    assert_eq!(made.document().metadata.get("n").unwrap().to_string(), "1.5");
}

#[test]
fn the_same_publication_succeeds_again_and_another_one_collides() {
    let (files, root) = memory();
    let made = shard(root.as_ref(), &["a", "b"], "w", 0).unwrap();
    let options = PublishOptions::new("d", "s");
    publish(&root, std::slice::from_ref(&made), &options, &Policy::default()).unwrap();
    let before = files.files();
    publish(&root, std::slice::from_ref(&made), &options, &Policy::default()).unwrap();
    assert_eq!(files.files().len(), before.len());
    for (dataset, snapshot) in [("other", "s"), ("d", "other")] {
        let options = PublishOptions::new(dataset, snapshot);
        let refused = publish(&root, std::slice::from_ref(&made), &options, &Policy::default());
        assert_eq!(code(refused), "sds/collision");
        // Nothing of it was written, not even what would lie under names of its own.
        assert_eq!(names(&files).len(), before.len());
    }
    assert_eq!(
        files.files().iter().map(|(_, b)| b.to_vec()).collect::<Vec<_>>(),
        before.iter().map(|(_, b)| b.to_vec()).collect::<Vec<_>>()
    );
}

#[test]
fn an_attempt_is_compared_by_its_bytes_and_never_overwritten() {
    let (files, root) = memory();
    let first = shard(root.as_ref(), &["a"], "w", 0).unwrap();
    assert!(first.created);
    let again = shard(root.as_ref(), &["a"], "w", 0).unwrap();
    assert_eq!(
        (again.created, &again.data, &again.metadata),
        (false, &first.data, &first.metadata)
    );
    let before = names(&files);
    // As many records, objects of the same size, other content.
    let refused = shard(root.as_ref(), &["b"], "w", 0);
    assert_eq!(code(refused), "sds/shard_conflict");
    assert_eq!(names(&files), before, "something was left");
    let second = shard(root.as_ref(), &["b"], "w", 1).unwrap();
    let made = publish(&root, &[second, first], &PublishOptions::new("d", "s"), &Policy::default());
    assert_eq!(made.unwrap().record(0).unwrap().id, "b");
    assert_eq!(code(shard(root.as_ref(), &["a"], "", 0)), "sds/work_ids");
}

#[test]
fn pieces_of_work_are_ordered_by_name_and_must_be_those_expected() {
    let (_, root) = memory();
    let make = |work: &str, attempt| {
        shard(root.as_ref(), &[&format!("{work}.{attempt}")], work, attempt).unwrap()
    };
    let shards = [make("a", 0), make("10", 0), make("é", 2), make("2", 0), make("é", 1)];
    let mut options = PublishOptions::new("d", "s");
    for (expected, named) in [
        (&["a", "10", "é", "2", "a"][..], "once"),
        (&["a", "10", "é", "2", "x"], "[\"x\"]"),
        (&["a", "10", "é"], "[\"2\"]"),
    ] {
        options.expected_work_ids = Some(expected.iter().map(|id| (*id).to_owned()).collect());
        let error = publish(&root, &shards, &options, &Policy::default()).err().unwrap();
        assert_eq!(error.code(), "sds/work_ids");
        assert!(error.message().contains(named), "{error}");
    }
    options.expected_work_ids = None;
    let made = publish(&root, &shards, &options, &Policy::default()).unwrap();
    let ids: Vec<_> = (0..4).map(|ordinal| made.record(ordinal).unwrap().id).collect();
    assert_eq!(ids, ["10.0", "2.0", "a.0", "é.2"]);
}

#[test]
fn objects_are_what_their_workers_said() {
    let (files, root) = memory();
    let made = shard(root.as_ref(), &["a", "b"], "w", 0).unwrap();
    let with = |change: fn(&mut PublishedShard)| {
        let mut shard = made.clone();
        change(&mut shard);
        let mut options = PublishOptions::new("d", "s");
        options.verify_counts = true;
        code(publish(&root, &[shard], &options, &Policy::default()))
    };
    assert_eq!(with(|s| s.record_count = 3), "sds/count_mismatch");
    assert_eq!(with(|s| s.data.stored_bytes += 1), "sds/size_mismatch");
    let elsewhere = |text: &str| ObjectPath::new(text).unwrap();
    let mut gone = made.clone();
    gone.metadata.path = elsewhere("objects/none.arrayrecord");
    let options = PublishOptions::new("e", "s");
    assert_eq!(code(publish(&root, &[gone], &options, &Policy::default())), "sds/missing_object");
    let mut far = made.clone();
    far.data.path = elsewhere("/objects/x.arrayrecord");
    assert_eq!(code(publish(&root, &[far], &options, &Policy::default())), "sds/path_absolute");
    assert_eq!(files.files().len(), 2);
}

#[test]
fn a_wrong_count_that_was_published_is_found_when_read_and_checked() {
    let (files, root) = memory();
    let mut made = shard(root.as_ref(), &["a", "b"], "w", 0).unwrap();
    made.record_count = 3;
    let dataset =
        publish(&root, &[made], &PublishOptions::new("d", "s"), &Policy::default()).unwrap();
    assert_eq!(dataset.record(1).unwrap().id, "b");
    let error = dataset.record(2).unwrap_err();
    assert_eq!((error.code(), error.place().record), ("sds/index_out_of_range", Some(2)));
    assert_eq!(code(dataset.row(2)), "sds/index_out_of_range");
    let found = summary(&check(Arc::new(files), false));
    assert_eq!(found, [(Severity::Error, "sds/count_mismatch")].into());
}

#[test]
fn pages_hold_as_many_shards_as_asked_and_never_more_than_readers_take() {
    let (_, root) = memory();
    for pages in [0, 80_001, u64::MAX] {
        let mut options = PublishOptions::new("d", "s");
        options.shards_per_page = pages;
        assert_eq!(code(publish(&root, &[], &options, &Policy::default())), "sds/option_invalid");
    }
    // As many as fit, of the kind that takes most: one page of a view.
    let made = shard(root.as_ref(), &["a"], "w", 0).unwrap();
    let source =
        publish(&root, &[made], &PublishOptions::new("d", "s"), &Policy::default()).unwrap();
    let (files, view) = memory();
    let mut options = PublishOptions::new("v", "s");
    options.shards_per_page = 80_000;
    let at = packstone::formats::sds::parts::view::ViewSource::At("/src".to_owned());
    let ordinals = vec![0; 80_001];
    let made = packstone::formats::sds::parts::view::publish_view(
        &view, &source, &at, &ordinals, &options,
    );
    let made = made.unwrap();
    assert_eq!((made.len(), made.snapshot().manifests.len()), (80_001, 2));
    assert_eq!(made.record(80_000).unwrap().id, "a");
    assert!(files.files().len() == 4);
}

fn publish_all(root: Arc<dyn RootMut>) -> Result<(), Error> {
    let shards =
        [shard(root.as_ref(), &["a", "b"], "w0", 0)?, shard(root.as_ref(), &["c"], "w1", 0)?];
    let mut options = PublishOptions::new("d", "s");
    options.shards_per_page = 1;
    publish(&root, &shards, &options, &Policy::default()).map(drop)
}

#[test]
fn a_failure_at_any_step_publishes_nothing_and_running_again_completes_it() {
    let (whole, root) = memory();
    publish_all(root).unwrap();
    let content = |files: &MemoryRoot| {
        files.files().into_iter().map(|(p, b)| (p, b.to_vec())).collect::<Vec<_>>()
    };
    let mut steps = 0;
    for good in 0.. {
        let files = MemoryRoot::new();
        let faulty = Arc::new(FaultyRoot::new(files.clone(), good));
        let result = publish_all(Arc::clone(&faulty) as _);
        let marker = RelPath::new("root.json").unwrap();
        if result.is_ok() {
            steps = good;
            assert_eq!(content(&files), content(&whole));
            break;
        }
        // The marker is the last thing that is made; only putting its name on the disk can fail after it.
        if files.len(&marker).is_err() {
            let opened = kit::open(Arc::new(files.clone()));
            assert_eq!(code(opened), "sds/missing_object", "after {good} steps");
        }
        publish_all(Arc::new(files.clone())).unwrap_or_else(|e| panic!("after {good} steps: {e}"));
        let left = content(&files);
        let temporary = |path: &RelPath| path.name().starts_with(".packstone-");
        let named: Vec<_> = left.into_iter().filter(|(path, _)| !temporary(path)).collect();
        assert_eq!(named, content(&whole), "after {good} steps");
    }
    assert!(steps > 20, "{steps}");
}

#[test]
fn shards_of_any_group_size_and_options_of_readers_give_the_same_records() {
    use packstone_container::array_record::ReaderOptions;
    let (files, root) = memory();
    let ids: Vec<String> = (0..20).map(|n| format!("r{n}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let mut options = ShardOptions::default();
    options.container = "group_size:7".parse().unwrap();
    let made = write_shard(root.as_ref(), records(&ids).into_iter().map(Ok), "w", 0, &options);
    let made = publish(&root, &[made.unwrap()], &PublishOptions::new("d", "s"), &Policy::default());
    let made = made.unwrap();
    let found: Vec<_> = (0..20).map(|ordinal| made.record(ordinal).unwrap().id).collect();
    assert_eq!(found, ids);
    assert!(summary(&check(Arc::new(files.clone()), false)).is_empty());
    let store = made.store();
    let entry = store.index.locate(0).unwrap().entry().unwrap().clone();
    for options in [
        "",
        "readahead_buffer_size:0,max_parallelism:0",
        "readahead_buffer_size:16M",
        "index_storage_option:offloaded,footer_prefetch_bytes:0",
        "footer_prefetch_bytes:64K",
    ] {
        let options: ReaderOptions = options.parse().unwrap();
        let shards = packstone::formats::sds::parts::shards::Shards::new(
            store.objects.clone(),
            packstone::Limits::default(),
        );
        let shards = shards.with_options(options);
        let shard = shards.open(&entry.data).unwrap();
        for indices in [&[0, 1, 2][..], &[19, 3, 3, 0], &[], &[7]] {
            let found = shards.decoding(|decoder| shard.records(indices, decoder)).unwrap();
            let found: Vec<_> =
                found.iter().map(|bytes| store.decode(bytes, &entry.data, 0).unwrap().id).collect();
            let expected: Vec<_> = indices.iter().map(|at| ids[*at as usize]).collect();
            assert_eq!(found, expected);
        }
    }
}

#[test]
fn bounds_of_shards_are_kept() {
    let (files, root) = memory();
    let mut options = ShardOptions::default();
    options.max_records = Some(2);
    let write = |options: &ShardOptions, ids: &[&str]| {
        write_shard(root.as_ref(), records(ids).into_iter().map(Ok), "w", 0, options)
    };
    assert_eq!(code(write(&options, &["a", "b", "c"])), "sds/limit_exceeded");
    options.max_bytes = Some(131_071);
    assert_eq!(code(write(&options, &["a", "b"])), "sds/limit_exceeded");
    assert!(files.files().is_empty(), "{:?}", names(&files));
    options.max_bytes = Some(131_072);
    assert_eq!(write(&options, &["a", "b"]).unwrap().record_count, 2);
}

#[test]
fn opening_reads_two_documents_and_containers_stay_open() {
    let (files, root) = memory();
    let made = shard(root.as_ref(), &["a", "b", "c"], "w", 0).unwrap();
    publish(&root, &[made], &PublishOptions::new("d", "s"), &Policy::default()).unwrap();
    let counting = Arc::new(packstone_io::CountingRoot::new(files));
    let dataset = kit::open(Arc::clone(&counting) as _).unwrap();
    let opened = counting.take();
    assert_eq!(opened.len(), 2, "{opened:?}");
    for _ in 0..100 {
        dataset.record(1).unwrap();
    }
    let opened = counting.take();
    // A page and the object of records, and neither rows nor any folder.
    assert_eq!(opened.len(), 2, "{opened:?}");
    assert!(opened.iter().all(|path| !path.as_str().contains("metadata")), "{opened:?}");
    (0..3).for_each(|ordinal| drop(dataset.row(ordinal).unwrap()));
    let opened = counting.take();
    assert_eq!(opened.len(), 1, "{opened:?}");
    assert!(opened[0].as_str().starts_with("objects/metadata/"));
    assert_eq!(dataset.collections(), ["records"]);
}

/// A root whose operations fail once each for a reason that passes, or for one that stays.
struct Flaky {
    inner: MemoryRoot,
    error: i32,
    seen: std::sync::Mutex<std::collections::HashSet<String>>,
}

impl Flaky {
    fn step(&self, action: &'static str, path: &RelPath) -> Result<(), packstone_io::IoError> {
        let first = self.seen.lock().unwrap().insert(format!("{action} {path}"));
        match first {
            false => Ok(()),
            true => {
                let fault = std::io::Error::from_raw_os_error(self.error);
                Err(packstone_io::IoError::os(action, path.as_str(), fault))
            }
        }
    }
}

type Io<T> = Result<T, packstone_io::IoError>;

impl Root for Flaky {
    fn label(&self) -> String {
        self.inner.label()
    }
    fn open(&self, path: &RelPath) -> Io<Arc<dyn packstone_io::ReadAt>> {
        self.inner.open(path)
    }
    fn list(&self, folder: &RelPath) -> Io<Vec<packstone_io::Entry>> {
        self.inner.list(folder)
    }
}

macro_rules! flaky {
    ($($name:ident($path:ident $(, $arg:ident: $type:ty)*) -> $out:ty;)*) => {$(
        fn $name(&self, $path: &RelPath $(, $arg: $type)*) -> Io<$out> {
            self.step(stringify!($name), $path)?;
            self.inner.$name($path $(, $arg)*)
        }
    )*};
}

impl RootMut for Flaky {
    flaky! {
        create(path, content: &[u8]) -> ();
        rename(path, to: &RelPath) -> ();
        persist(path) -> ();
        remove(path) -> ();
    }
    fn replace(&self, files: &[(RelPath, Vec<u8>)]) -> Io<()> {
        self.step("replace", &files[0].0)?;
        self.inner.replace(files)
    }
    fn draft(&self, path: &RelPath) -> Io<Box<dyn packstone_io::Draft>> {
        self.inner.draft(path)
    }
    fn scratch(&self) -> Io<Box<dyn packstone_io::Scratch>> {
        self.inner.scratch()
    }
    fn persist_all(&self) -> Io<()> {
        self.inner.persist_all()
    }
    fn edit(&self, path: &RelPath) -> Io<Box<dyn packstone_io::Edit>> {
        self.inner.edit(path)
    }
    fn exchange(&self, one: &RelPath, other: &RelPath) -> Io<()> {
        self.inner.exchange(one, other)
    }
    fn journal(&self, path: &RelPath) -> Io<Box<dyn packstone_io::Journal>> {
        self.inner.journal(path)
    }
    fn journal_is_held(&self, path: &RelPath) -> Io<bool> {
        self.inner.journal_is_held(path)
    }
    fn create_folder(&self, path: &RelPath) -> Io<()> {
        self.inner.create_folder(path)
    }
    fn remove_folder(&self, path: &RelPath) -> Io<()> {
        self.inner.remove_folder(path)
    }
    fn lock(&self, patience: std::time::Duration) -> Io<Box<dyn Send>> {
        self.inner.lock(patience)
    }
}

#[test]
fn faults_that_pass_are_tried_again_and_others_are_told_at_once() {
    let retry = packstone::exec::Retry {
        attempts: 40,
        first: std::time::Duration::ZERO,
        most: std::time::Duration::ZERO,
    };
    let run = |error: i32| {
        let files = MemoryRoot::new();
        let seen = std::sync::Mutex::default();
        let root: Arc<dyn RootMut> = Arc::new(Flaky { inner: files.clone(), error, seen });
        let mut shards = ShardOptions::default();
        shards.retry = retry.clone();
        let given = records(&["a", "b"]).into_iter().map(Ok);
        let made = write_shard(root.as_ref(), given, "w", 0, &shards)?;
        let mut options = PublishOptions::new("d", "s");
        options.retry = retry.clone();
        let dataset = publish(&root, &[made], &options, &Policy::default())?;
        Ok::<_, Error>((files, dataset.len()))
    };
    // EIO, ESTALE; then ENOSPC, EACCES, EROFS.
    for passing in [5, 116] {
        let (files, records) = run(passing).map_err(|e| e.to_string()).unwrap();
        assert_eq!(records, 2);
        assert!(check(Arc::new(files), false).is_empty());
    }
    for staying in [28, 13, 30] {
        assert!(run(staying).is_err(), "{staying}");
    }
}
