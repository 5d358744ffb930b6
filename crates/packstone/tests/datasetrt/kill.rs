//! Writers that are killed at any moment: nothing half is seen, full shards come back, and another writer goes on from
//! there to the same bytes.
//!
//! The writers are this test program itself, started again with a folder in its environment.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use packstone::format::{Format, RepairOptions, RepairReport};
use packstone::formats::datasetrt::document::Algo;
use packstone::formats::datasetrt::options::WriterOptions;
use packstone::formats::datasetrt::{DatasetRt, codes};
use packstone::json::{FloatStyle, Number, Value};
use packstone::model::Batch;
use packstone::{LocalRoot, RootMut};
use packstone_container::json;

use crate::kit::{self, samples};

const FOLDER: &str = "PACKSTONE_TEST_KILL_FOLDER";
const BATCHES: u32 = 160;
const ROWS: u32 = 10;

fn batch(number: u32) -> Batch {
    let row = |row: u32| {
        let n = number * ROWS + row;
        // Every seventh float is not finite; these are not in the records.
        let special = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY][n as usize % 3];
        let float = if n.is_multiple_of(7) { special } else { f64::from(n) / 3.0 };
        let float = Number::from_double_in(float, FloatStyle::Pydantic);
        let mut metadata = json!({ "b": n.is_multiple_of(2), "i": n, "s": format!("é{n}\n") });
        metadata.as_object_mut().unwrap().insert("f", float);
        (n.to_le_bytes().repeat(n as usize % 90), metadata)
    };
    samples(&(0..ROWS).map(row).collect::<Vec<_>>())
}

fn options() -> WriterOptions {
    let mut options = WriterOptions::default().with_threads(2);
    (options.algo, options.ratio, options.max_shard_bytes) = (Algo::Lz4, 1.0, 6000);
    options.non_finite = true;
    options
}

fn local(folder: &Path) -> Arc<dyn RootMut> {
    Arc::new(LocalRoot::open(folder).unwrap())
}

/// Writes all that is not there yet.
fn write_rest(root: &Arc<dyn RootMut>, options: &WriterOptions) -> u64 {
    let mut writer = kit::writer(root, "x", options).unwrap();
    let resumed = writer.resumed();
    for number in 0..BATCHES {
        let first = u64::from(number * ROWS);
        let skip = resumed.saturating_sub(first).min(u64::from(ROWS)) as usize;
        let batch = batch(number);
        writer.write(&batch.slice(skip..batch.rows()).unwrap()).unwrap();
    }
    let written = writer.finish().unwrap();
    assert_eq!(written.samples, u64::from(BATCHES * ROWS));
    resumed
}

/// Writes until it is killed; does nothing unless it was started for that.
#[test]
fn writes_until_killed() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else { return };
    let mut resume = options();
    resume.resume = true;
    let root = local(&folder);
    let done = tempfile::tempdir_in(folder.parent().unwrap()).unwrap();
    for number in 0.. {
        write_rest(&root, &resume);
        // Out of the folder at once: a half removed cache would be taken for a half written one.
        std::fs::rename(folder.join("x"), done.path().join(number.to_string())).unwrap();
    }
}

/// When a writer dies: so many shards are begun, and then a while.
#[derive(Debug, Clone, Copy)]
struct Moment {
    shards: usize,
    then: Duration,
}

fn kill_after(folder: &Path, moment: Moment) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kill::writes_until_killed", "--nocapture"])
        .env(FOLDER, folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // Told by what the writer did, not by the clock: a busy machine takes any time to start and to sync.
    let (shards, start) = (folder.join("tmp/x/shards"), Instant::now());
    let begun = || std::fs::read_dir(&shards).map_or(0, Iterator::count);
    while begun() < moment.shards && start.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_micros(200));
    }
    std::thread::sleep(moment.then);
    child.kill().unwrap();
    child.wait().unwrap();
}

/// From before the first file to the last shards, and some while a cache is completed and the next one begins.
fn moments() -> impl Iterator<Item = Moment> {
    (0..12).map(|n: u32| Moment {
        shards: n as usize * 7 % 20,
        then: Duration::from_millis(u64::from(if n % 4 == 3 { n * 8 } else { n % 3 })),
    })
}

fn whole() -> std::collections::BTreeMap<String, Vec<u8>> {
    let temp = tempfile::tempdir().unwrap();
    write_rest(&local(temp.path()), &options());
    kit::files(&temp.path().join("x"))
}

/// What is in the folder.
fn entries(folder: &Path) -> Vec<String> {
    let name = |entry: std::fs::DirEntry| entry.file_name().into_string().unwrap();
    std::fs::read_dir(folder).unwrap().map(|entry| name(entry.unwrap())).collect()
}

#[test]
fn a_resumed_writer_goes_on_to_the_same_bytes() {
    let whole = whole();
    let (mut resumed, mut most) = (0, 0);
    for moment in moments() {
        let temp = tempfile::tempdir().unwrap();
        let root = local(temp.path());
        kill_after(temp.path(), moment);
        // What is seen, if anything, is whole.
        if temp.path().join("x").exists() {
            assert!(kit::files(&temp.path().join("x")) == whole);
            std::fs::remove_dir_all(temp.path().join("x")).unwrap();
        }
        let mut options = options();
        options.resume = true;
        let before = write_rest(&root, &options);
        resumed += usize::from(before > 0);
        most = most.max(before);
        let files = kit::files(&temp.path().join("x"));
        assert_eq!(files.keys().collect::<Vec<_>>(), whole.keys().collect::<Vec<_>>());
        assert!(files == whole, "killed after {moment:?}, resumed at {before}");
        assert_eq!(entries(temp.path()), ["x"], "killed after {moment:?}");
    }
    assert!(resumed > 3 && most > 30, "{resumed} resumed, at most from {most}");
}

fn repair(root: &Arc<dyn RootMut>, dry_run: bool) -> RepairReport {
    let options = RepairOptions { dry_run, ..RepairOptions::default() };
    DatasetRt.repair(Arc::clone(root), &options).unwrap()
}

#[test]
fn full_shards_of_a_killed_writer_become_a_cache() {
    let (mut salvaged, mut lost, mut whole) = (0, 0, 0);
    for moment in moments() {
        let temp = tempfile::tempdir().unwrap();
        let root = local(temp.path());
        kill_after(temp.path(), moment);
        if temp.path().join("x").exists() {
            whole += 1;
            continue;
        }
        let before = kit::files(temp.path());
        assert!(
            DatasetRt.recognizes(kit::local(temp.path()).as_ref()).unwrap() || before.is_empty()
        );
        let would = repair(&root, true);
        assert!(kit::files(temp.path()) == before, "a dry run changes nothing");
        let did = repair(&root, false);
        assert_eq!((&would.salvaged, &would.completed), (&did.salvaged, &did.completed));
        let Some((name, count)) = did.salvaged.first() else {
            lost += 1;
            continue;
        };
        assert_eq!(name, "x");
        let joint = kit::open_in(kit::local(temp.path()), "x").unwrap();
        let rows = kit::rows(&joint);
        assert_eq!(rows.len() as u64, *count);
        let mut want = (0..BATCHES).flat_map(|number| {
            let batch = batch(number);
            let rows: Vec<(Vec<u8>, Value)> = batch
                .samples()
                .map(|s| {
                    (
                        s.value(0).unwrap().bytes.to_vec(),
                        Value::Object(s.metadata().unwrap().as_ref().clone()),
                    )
                })
                .collect();
            rows
        });
        for (payload, metadata) in rows {
            let (want_payload, want_metadata) = want.next().unwrap();
            assert!(payload == want_payload);
            assert!(
                json::python_eq(&metadata, &want_metadata)
                    || metadata.get("f").unwrap().to_string() == "null"
            );
        }
        let found = kit::check(vec![kit::local(&temp.path().join("x"))], &Default::default());
        let wrong: Vec<_> = found.iter().filter(|f| f.code != codes::NON_FINITE).collect();
        assert!(wrong.is_empty(), "{wrong:?}");
        assert_eq!(std::fs::read_dir(temp.path()).unwrap().count(), 1);
        assert!(repair(&root, false).salvaged.is_empty());
        salvaged += 1;
    }
    assert!(salvaged > 3, "{salvaged} salvaged, {lost} lost, {whole} whole");
}

/// A writer that stopped where it stands, with its journal.
fn stopped(root: &Arc<dyn RootMut>, upto: u32) {
    let mut keep = options();
    keep.keep_partial = true;
    let mut writer = kit::writer(root, "x", &keep).unwrap();
    (0..upto).for_each(|number| writer.write(&batch(number)).unwrap());
    drop(writer);
}

#[test]
fn a_writer_killed_before_its_first_file_leaves_nothing_to_the_next() {
    for left in ["tmp", "tmp/x", "tmp/x/shards"] {
        let temp = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(temp.path().join(left)).unwrap();
        let mut options = options();
        options.resume = true;
        assert_eq!(write_rest(&local(temp.path()), &options), 0);
        assert_eq!(entries(temp.path()), ["x"], "{left}");
    }
}

#[test]
fn only_the_same_options_and_fields_go_on() {
    let temp = tempfile::tempdir().unwrap();
    let root = local(temp.path());
    stopped(&root, 100);
    type Edit = fn(&mut WriterOptions);
    let edits: [Edit; 4] = [
        |o| o.max_shard_bytes = 5000,
        |o| o.algo = Algo::None,
        |o| o.version = 2,
        |o| o.peer_exact_floats = false,
    ];
    for edit in edits {
        let mut other = options();
        other.resume = true;
        edit(&mut other);
        let error = kit::writer(&root, "x", &other).err().unwrap();
        assert_eq!(error.code(), codes::STAGE_DIFFERS);
    }
    let mut same = options();
    same.resume = true;
    let writer = kit::writer(&root, "x", &same).unwrap();
    assert!(writer.resumed() > 100, "{}", writer.resumed());
    // While it lives nobody else may: not to go on, not to salvage.
    let error = kit::writer(&root, "x", &same).err().unwrap();
    assert_eq!(error.code(), "io/conflict");
    let error = DatasetRt.repair(Arc::clone(&root), &RepairOptions::default()).unwrap_err();
    assert_eq!(error.code(), "io/conflict");
}

#[test]
fn shards_that_are_not_what_the_journal_says_are_written_again() {
    let whole = whole();
    for damage in ["cut", "flipped", "gone"] {
        let temp = tempfile::tempdir().unwrap();
        let root = local(temp.path());
        stopped(&root, 150);
        let path = temp.path().join("tmp/x/shards/000002.bin");
        let mut bytes = std::fs::read(&path).unwrap();
        match damage {
            "cut" => std::fs::write(&path, &bytes[..bytes.len() - 1]).unwrap(),
            "flipped" => {
                bytes[100] ^= 1;
                std::fs::write(&path, &bytes).unwrap();
            }
            _ => std::fs::remove_file(&path).unwrap(),
        }
        let mut options = options();
        options.resume = true;
        let resumed = write_rest(&root, &options);
        assert!(resumed > 0 && resumed < 200, "{damage}: {resumed}");
        assert!(kit::files(&temp.path().join("x")) == whole, "{damage}");
    }
}

#[test]
fn a_complete_cache_that_lacks_its_name_gets_it() {
    let temp = tempfile::tempdir().unwrap();
    let root = local(temp.path());
    write_rest(&root, &options());
    std::fs::create_dir(temp.path().join("tmp")).unwrap();
    std::fs::rename(temp.path().join("x"), temp.path().join("tmp/x")).unwrap();
    let report = repair(&root, false);
    assert_eq!((report.completed.as_slice(), report.salvaged.len()), (&["x".to_owned()][..], 1));
    assert!(kit::files(&temp.path().join("x")) == whole());
}

#[test]
fn what_the_original_leaves_behind_is_told_and_left() {
    let temp = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(temp.path().join("tmp/y/shards")).unwrap();
    std::fs::write(temp.path().join("tmp/y/shards/000000.bin"), b"records").unwrap();
    let report = repair(&local(temp.path()), false);
    assert_eq!(report.left.len(), 1);
    assert_eq!(report.left[0].code, codes::LEFTOVER_WRITE_TEMP);
    assert!(temp.path().join("tmp/y/shards/000000.bin").is_file());
}
