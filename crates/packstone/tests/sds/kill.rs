//! Publishers and workers that are killed: nothing half is ever visible, and running again completes it.
//!
//! They are this test program itself, started again with a folder and a task in its environment.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use packstone::formats::sds::options::Policy;
use packstone::formats::sds::parts::annotate::{
    AnnotationOptions, WorkerShard, publish_annotation_shards, publish_annotations,
    worker_pointers, write_annotation_shard,
};
use packstone::formats::sds::parts::carrier::{Annotation, Status};
use packstone::formats::sds::parts::publish::{PublishOptions, publish};
use packstone::formats::sds::parts::view::{ViewSource, materialize, publish_view};
use packstone::formats::sds::parts::write::PublishedShard;
use packstone::formats::sds::reader::SdsDataset;
use packstone::json::Object;
use packstone::model::Severity;
use packstone::ops::{ConvertOptions, convert};
use packstone::registry::format;
use packstone::{Error, LocalRoot, RelPath, Root, RootMut};
use packstone_io::{Draft, Edit, Entry, IoError, Journal, ReadAt, Scratch};

use packstone_testkit::copy_folder;

use super::bad::check;
use super::kit;
use super::publish::shard;

const FOLDER: &str = "PACKSTONE_TEST_SDS_FOLDER";
/// What to do: a word and a number.
const TASK: &str = "PACKSTONE_TEST_SDS_TASK";

/// Kills its process at an operation that writes.
struct Dying {
    inner: LocalRoot,
    left: AtomicU64,
}

impl Dying {
    fn step(&self) {
        if self.left.fetch_sub(1, Ordering::SeqCst) == 0 {
            let me = std::process::id().to_string();
            Command::new("kill").args(["-9", &me]).status().unwrap();
        }
    }
}

type Io<T> = Result<T, IoError>;

impl Root for Dying {
    fn label(&self) -> String {
        self.inner.label()
    }
    fn open(&self, path: &RelPath) -> Io<Arc<dyn ReadAt>> {
        self.inner.open(path)
    }
    fn open_unlinked(&self, path: &RelPath) -> Io<Arc<dyn ReadAt>> {
        self.inner.open_unlinked(path)
    }
    fn list(&self, folder: &RelPath) -> Io<Vec<Entry>> {
        self.inner.list(folder)
    }
}

macro_rules! steps {
    ($($name:ident($($arg:ident: $type:ty),*) -> $out:ty;)*) => {$(
        fn $name(&self, $($arg: $type),*) -> Io<$out> {
            self.step();
            self.inner.$name($($arg),*)
        }
    )*};
}

impl RootMut for Dying {
    steps! {
        create(path: &RelPath, content: &[u8]) -> ();
        replace(files: &[(RelPath, Vec<u8>)]) -> ();
        draft(path: &RelPath) -> Box<dyn Draft>;
        scratch() -> Box<dyn Scratch>;
        persist_all() -> ();
        edit(path: &RelPath) -> Box<dyn Edit>;
        rename(from: &RelPath, to: &RelPath) -> ();
        exchange(one: &RelPath, other: &RelPath) -> ();
        journal(path: &RelPath) -> Box<dyn Journal>;
        create_folder(path: &RelPath) -> ();
        persist(path: &RelPath) -> ();
        remove(path: &RelPath) -> ();
        remove_folder(path: &RelPath) -> ();
        lock(patience: Duration) -> Box<dyn Send>;
    }

    fn journal_is_held(&self, path: &RelPath) -> Io<bool> {
        self.inner.journal_is_held(path)
    }
}

fn ids(worker: usize) -> Vec<String> {
    (0..3).map(|n| format!("w{worker}r{n}")).collect()
}

fn work(root: &dyn RootMut, worker: usize) -> Result<PublishedShard, Error> {
    let ids = ids(worker);
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    shard(root, &ids, &format!("{worker:03}"), 0)
}

fn annotations(dataset: &SdsDataset, ordinals: std::ops::Range<u64>) -> Vec<Annotation> {
    let annotation = |ordinal: u64| Annotation {
        source_record_id: dataset.row(ordinal).unwrap().id.unwrap(),
        source_index: ordinal,
        status: Status::Success,
        detail_status: None,
        values: Object::from_iter([("n", ordinal)]),
        provenance: Object::new(),
        fields: Vec::new(),
    };
    ordinals.map(annotation).collect()
}

fn open(root: &Arc<dyn RootMut>) -> SdsDataset {
    kit::open(Arc::clone(root) as _).unwrap()
}

/// Three shards, pages, snapshot, root, and an annotation set.
fn publish_all(root: &Arc<dyn RootMut>) -> Result<(), Error> {
    let shards = (0..3).map(|worker| work(root.as_ref(), worker)).collect::<Result<Vec<_>, _>>()?;
    let mut options = PublishOptions::new("d", "s");
    options.shards_per_page = 2;
    let dataset = publish(root, &shards, &options, &Policy::default())?;
    let given = annotations(&dataset, 0..9).into_iter().map(Ok);
    let (none, options) = (Object::new(), AnnotationOptions::default());
    publish_annotations(root, &dataset, "set", given, &none, &options)
}

fn annotate(root: &Arc<dyn RootMut>, worker: u64) {
    let dataset = open(root);
    let shard = WorkerShard {
        name: "workers".to_owned(),
        publication_id: "p".to_owned(),
        logical_shard_id: format!("{worker:03}"),
        first_ordinal: worker * 3,
    };
    let given = annotations(&dataset, worker * 3..worker * 3 + 3);
    write_annotation_shard(root, &dataset, &shard, &given).unwrap();
}

/// Does its task; nothing unless it was started for one.
#[test]
fn does_its_task() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let task = std::env::var(TASK).unwrap();
    let (word, number) = task.split_once(' ').unwrap();
    let number: u64 = number.parse().unwrap();
    let inner = LocalRoot::open(&folder).unwrap();
    match word {
        "publish" => {
            let root: Arc<dyn RootMut> = Arc::new(Dying { inner, left: number.into() });
            publish_all(&root).unwrap();
        }
        "view" | "copy" | "convert" => {
            let source = open(&local(&Path::new(&folder).join("source")));
            let root: Arc<dyn RootMut> = Arc::new(Dying { inner, left: number.into() });
            let options = PublishOptions::new("v", "s");
            match word {
                "view" => {
                    let at = ViewSource::Inside(RelPath::new("source").unwrap());
                    publish_view(&root, &source, &at, &[8, 0], &options).map(drop)
                }
                "copy" => materialize(&root, &source, &[8, 0], &options, 1).map(drop),
                _ => {
                    let options = ConvertOptions { threads: 0, ..ConvertOptions::default() };
                    let source = Arc::new(source);
                    convert(source, format("sds").unwrap(), root, &options, None).map(drop)
                }
            }
            .unwrap();
        }
        "write" => drop(work(&inner, number as usize).unwrap()),
        "annotate" => annotate(&(Arc::new(inner) as _), number),
        "set" => {
            let root: Arc<dyn RootMut> = Arc::new(inner);
            let dataset = open(&root);
            let given = annotations(&dataset, 0..dataset.len()).into_iter().map(Ok);
            let (none, options) = (Object::new(), AnnotationOptions::default());
            let name = format!("set{number:02}");
            publish_annotations(&root, &dataset, &name, given, &none, &options).unwrap();
        }
        other => panic!("{other}"),
    }
}

fn start(folder: &Path, task: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kill::does_its_task", "--nocapture"])
        .env(FOLDER, folder)
        .env(TASK, task)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn local(folder: &Path) -> Arc<dyn RootMut> {
    Arc::new(LocalRoot::open(folder).unwrap())
}

/// Nothing but what nobody names is wrong.
fn assert_clean(root: &Arc<dyn RootMut>, place: &str) {
    let found = check(Arc::clone(root) as _, false);
    let serious: Vec<_> = found.iter().filter(|f| f.severity > Severity::Info).collect();
    assert!(serious.is_empty(), "{place}: {serious:?}");
}

#[test]
fn a_publisher_killed_at_any_step_shows_nothing_half_and_can_run_again() {
    let mut seen = [0; 3];
    for step in 0.. {
        let folder = tempfile::tempdir().unwrap();
        let place = format!("killed at step {step}");
        let done = start(folder.path(), &format!("publish {step}")).wait().unwrap().success();
        let root = local(folder.path());
        match kit::open(Arc::clone(&root) as _) {
            Err(error) => {
                assert_eq!(error.code(), "sds/missing_object", "{place}: {error}");
                assert!(!done);
                seen[0] += 1;
            }
            Ok(dataset) => {
                assert_clean(&root, &place);
                assert_eq!(dataset.rows(0..9).unwrap().len(), 9);
                let sets = dataset.catalog().unwrap().names().len();
                assert!(!done || sets == 1, "{place}");
                seen[1 + sets] += 1;
            }
        }
        publish_all(&root).unwrap_or_else(|error| panic!("{place}: {error}"));
        assert_clean(&root, &place);
        assert_eq!(open(&root).annotations("set").unwrap().annotation(8).unwrap().source_index, 8);
        if done {
            break;
        }
    }
    assert!(seen[0] > 30 && seen[1] > 5 && seen[2] > 1, "{seen:?}");
}

#[test]
fn views_and_copies_killed_at_any_step_never_show_records_without_their_annotations() {
    let made = tempfile::tempdir().unwrap();
    publish_all(&local(made.path())).unwrap();
    for task in ["view", "copy", "convert"] {
        let mut seen = [0; 2];
        for step in (0..).step_by(3) {
            let folder = tempfile::tempdir().unwrap();
            let place = format!("{task} killed at step {step}");
            let source = folder.path().join("source");
            copy_folder(made.path(), &source);
            let done = start(folder.path(), &format!("{task} {step}")).wait().unwrap().success();
            let root = local(folder.path());
            match kit::open(Arc::clone(&root) as _) {
                Err(error) => {
                    assert_eq!(error.code(), "sds/missing_object", "{place}: {error}");
                    assert!(!done, "{place}");
                    seen[0] += 1;
                }
                Ok(dataset) => {
                    assert_clean(&root, &place);
                    assert_eq!(dataset.annotations("set").unwrap().len(), dataset.len(), "{place}");
                    seen[1] += 1;
                }
            }
            if done {
                break;
            }
        }
        assert!(seen[0] > 5 && seen[1] > 0, "{task}: {seen:?}");
    }
}

#[test]
fn of_sixty_four_workers_some_are_killed_and_their_work_is_done_again() {
    const WORKERS: usize = 64;
    let folder = tempfile::tempdir().unwrap();
    let root = local(folder.path());
    let run = |task: &str, publish: &dyn Fn()| {
        let mut killed = Vec::new();
        for round in 0..WORKERS / 16 {
            let started: Vec<_> = (round * 16..round * 16 + 16)
                .map(|worker| (worker, start(folder.path(), &format!("{task} {worker}"))))
                .collect();
            for (worker, mut child) in started {
                if worker % 3 == 0 {
                    std::thread::sleep(Duration::from_millis(worker as u64 * 37 % 40));
                    child.kill().unwrap();
                }
                if !child.wait().unwrap().success() {
                    killed.push(worker);
                }
            }
        }
        assert!(killed.iter().all(|worker| worker % 3 == 0), "{killed:?}");
        for worker in &killed {
            assert!(start(folder.path(), &format!("{task} {worker}")).wait().unwrap().success());
        }
        publish();
        killed.len()
    };
    let killed = run("write", &|| {
        // What each wrote follows from its work id: finding it again is writing it again.
        let shards = (0..WORKERS).map(|worker| work(root.as_ref(), worker).unwrap());
        let shards: Vec<_> = shards.collect();
        assert!(shards.iter().all(|shard| !shard.created));
        let mut options = PublishOptions::new("d", "s");
        options.expected_work_ids = Some((0..WORKERS).map(|w| format!("{w:03}")).collect());
        options.verify_counts = true;
        publish(&root, &shards, &options, &Policy::default()).unwrap();
    });
    let dataset = open(&root);
    let found: Vec<_> =
        dataset.rows(0..dataset.len()).unwrap().into_iter().map(|r| r.id.unwrap()).collect();
    let expected: Vec<_> = (0..WORKERS).flat_map(ids).collect();
    assert_eq!(found, expected);
    let also = run("annotate", &|| {
        let readable: Arc<dyn Root> = Arc::clone(&root) as _;
        let pointers = worker_pointers(&readable, "workers", "p", &Policy::default()).unwrap();
        let (none, options) = (Object::new(), AnnotationOptions::default());
        let dataset = open(&root);
        publish_annotation_shards(&root, &dataset, "workers", "p", &pointers, &none, &options)
            .unwrap();
    });
    let set = open(&root).annotations("workers").unwrap();
    assert_eq!(set.len(), 3 * WORKERS as u64);
    assert_eq!(set.annotation(191).unwrap().source_index, 191);
    assert_clean(&root, "after all workers");
    assert!(killed + also > 0, "no worker was killed in its work");
}

#[test]
fn sixteen_processes_publish_sixteen_sets() {
    let folder = tempfile::tempdir().unwrap();
    let root = local(folder.path());
    publish_all(&root).unwrap();
    let started: Vec<_> =
        (0..16).map(|number| start(folder.path(), &format!("set {number}"))).collect();
    for mut child in started {
        assert!(child.wait().unwrap().success());
    }
    let names = open(&root).catalog().unwrap().names().to_vec();
    assert_eq!(names.len(), 17, "{names:?}");
    assert_clean(&root, "after all publishers");
}
