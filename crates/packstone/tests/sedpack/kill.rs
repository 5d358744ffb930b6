//! Writers that are killed at any moment: what was published stays whole, and every complete shard comes back.
//!
//! The writers are this test program itself, started again with a folder in its environment.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use packstone::format::{Dataset, Format, MergeOptions, RepairOptions};
use packstone::formats::sedpack::options::{FillerOptions, Structure};
use packstone::formats::sedpack::parts::repair::walk_files;
use packstone::formats::sedpack::writer::{Filler, create};
use packstone::formats::sedpack::{Sedpack, codes};
use packstone::json::Object;
use packstone::model::{Batch, Column, DType, Field, Schema, Severity};
use packstone::{LocalRoot, RelPath, Root, RootMut};
use packstone_io::Buf;

use crate::kit::{self, path};

/// The folder that a started writer works in.
const FOLDER: &str = "PACKSTONE_TEST_KILL_FOLDER";
/// The worker path of a started writer; empty for a coordinator.
const WORKER: &str = "PACKSTONE_TEST_KILL_WORKER";

const ROWS: usize = 8;
/// Shards that a writer publishes together.
const TURN: usize = 12;

fn schema() -> Arc<Schema> {
    Arc::new(Schema::new(vec![Field::new("x", DType::UInt8, [1000])]))
}

fn batch(value: u8) -> Batch {
    let column = Column::dense(Buf::from(vec![value; ROWS * 1000]), 1000, ROWS).unwrap();
    Batch::new(schema(), ROWS, vec![column]).unwrap()
}

fn local(folder: &Path) -> Arc<dyn RootMut> {
    Arc::new(LocalRoot::open(folder).unwrap())
}

fn dataset() -> tempfile::TempDir {
    let temp = tempfile::tempdir().unwrap();
    let mut structure = Structure::default();
    structure.examples_per_shard = ROWS as i64;
    create(local(temp.path()).as_ref(), schema(), &structure, &Object::new()).unwrap();
    temp
}

/// Writes until it is killed; does nothing unless it was started for that.
#[test]
fn writes_until_killed() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else { return };
    let worker = std::env::var(WORKER).unwrap();
    for turn in 0.. {
        let relative = match worker.as_str() {
            "" => RelPath::root(),
            worker => path(&format!("{worker}_{turn}")),
        };
        let options = FillerOptions::default().with_threads(2);
        let mut filler = Filler::open(local(&folder), &relative, options).unwrap();
        for shard in 0..TURN {
            filler.write("train", &batch(shard as u8)).unwrap();
        }
        if relative.is_root() {
            filler.finish().unwrap();
        } else {
            filler.finish_part(relative.as_str()).unwrap();
        }
        println!("\nfinished");
    }
}

fn start(folder: &Path, worker: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kill::writes_until_killed", "--nocapture"])
        .env(FOLDER, folder)
        .env(WORKER, worker)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Kills a writer with SIGKILL and returns how many turns it had finished.
fn kill(mut writer: Child) -> usize {
    writer.kill().unwrap();
    let lines = BufReader::new(writer.stdout.take().unwrap()).lines();
    let finished = lines.map_while(Result::ok).filter(|line| line == "finished").count();
    assert!(!writer.wait().unwrap().success());
    finished
}

fn shards_on_disk(root: &dyn Root) -> Vec<RelPath> {
    match walk_files(root, &path("train")) {
        Ok(files) => {
            files.into_iter().map(|(f, _)| f).filter(|f| f.name().ends_with(".fb")).collect()
        }
        Err(_) => Vec::new(),
    }
}

fn listed(root: &Arc<dyn RootMut>) -> Vec<RelPath> {
    let dataset = kit::open(Arc::clone(root) as _).unwrap();
    let Ok(train) = dataset.collection("train") else { return Vec::new() };
    let mut files: Vec<_> = train.shards(0).map(|shard| shard.unwrap().path).collect();
    assert_eq!(train.len(), (files.len() * ROWS) as u64);
    files.sort();
    files
}

/// What a kill left, by file, all of it information.
fn check(root: &Arc<dyn RootMut>, place: &str) -> Vec<String> {
    let found = kit::check(Arc::clone(root) as _, &Default::default()).unwrap();
    let serious: Vec<_> = found.iter().filter(|f| f.severity > Severity::Info).collect();
    assert!(serious.is_empty(), "{place}: {serious:?}");
    assert!(found.iter().all(|f| f.code == codes::UNLISTED_FILE), "{place}: {found:?}");
    found.into_iter().filter_map(|f| f.place.file).collect()
}

/// True where the kill came between the rename of the split's list and that of the root.
///
/// The format has both under fixed names and the one's checksum in the other, so nobody can replace them in one step.
/// These microseconds are the only state that needs `repair` before the dataset reads again.
fn is_torn(root: &Arc<dyn RootMut>) -> bool {
    let found = kit::check(Arc::clone(root) as _, &Default::default()).unwrap();
    let mut serious = found.iter().filter(|f| f.severity > Severity::Info).peekable();
    let list = Some("train/shards_list.json");
    serious.peek().is_some()
        && serious.all(|f| f.code == codes::HASH_MISMATCH && f.place.file.as_deref() == list)
}

/// Moments in milliseconds that look random and are the same in every run.
fn moments() -> impl Iterator<Item = Duration> {
    (0..20u64).map(|n| Duration::from_millis(15 + n * n * 37 % 180))
}

#[test]
fn twenty_kills_lose_nothing_that_was_published_and_no_complete_shard() {
    let begin = Instant::now();
    let temp = dataset();
    let root = local(temp.path());
    let (mut before, mut interrupted, mut published, mut torn) = (Vec::new(), 0, 0, 0);
    for (number, moment) in moments().enumerate() {
        let place = format!("kill {number} after {moment:?}");
        let writer = start(temp.path(), "");
        std::thread::sleep(moment);
        let finished = kill(writer);
        published += finished;
        let on_disk = shards_on_disk(root.as_ref());
        if is_torn(&root) {
            torn += 1;
            Sedpack.repair(Arc::clone(&root), &RepairOptions::default()).unwrap();
        }
        check(&root, &place);
        let now = listed(&root);
        assert!(
            before.iter().all(|shard| now.binary_search(shard).is_ok()),
            "{place}: lost shards"
        );
        assert!(now.len() >= before.len() + finished * TURN, "{place}: lost a finished turn");
        interrupted += usize::from(on_disk.len() > now.len());
        let report = Sedpack.repair(Arc::clone(&root), &RepairOptions::default()).unwrap();
        assert!(report.left.is_empty(), "{place}: {:?}", report.left);
        // A publication that had begun is completed; else each shard comes back on its own.
        if report.completed.is_empty() {
            assert_eq!(report.salvaged.len(), on_disk.len() - now.len(), "{place}");
        }
        // Every file that is there is a complete shard, and listed.
        before = listed(&root);
        assert_eq!(before, on_disk, "{place}");
        assert_eq!(check(&root, &place), [""; 0], "{place}: left behind");
        let again = Sedpack.repair(Arc::clone(&root), &RepairOptions::default()).unwrap();
        assert!(again.salvaged.is_empty() && again.removed.is_empty(), "{place}");
        let rows = kit::read(Arc::clone(&root) as _).unwrap();
        assert!(
            rows.iter().all(|row| row[0].len() == 1000 && row[0].iter().all(|b| *b == row[0][0]))
        );
    }
    assert!(torn <= 1, "{torn} kills between two renames, which are microseconds apart");
    assert!(interrupted > 3 && published > 3, "{interrupted} interrupted, {published} published");
    assert!(begin.elapsed() < Duration::from_secs(60), "{:?}", begin.elapsed());
}

#[test]
fn killed_workers_leave_whole_parts_and_shards_that_come_back() {
    let temp = dataset();
    let root = local(temp.path());
    for (number, moment) in moments().step_by(4).enumerate() {
        let place = format!("kill {number} after {moment:?}");
        let writers = ["a", "b"].map(|name| start(temp.path(), &format!("job_{number}/{name}")));
        std::thread::sleep(moment);
        let finished: usize = writers.map(kill).into_iter().sum();
        // Workers alone publish nothing.
        let before = listed(&root);
        check(&root, &place);
        let report = Sedpack.repair(Arc::clone(&root), &RepairOptions::default()).unwrap();
        assert!(
            report.left.iter().all(|f| f.severity == Severity::Info),
            "{place}: {:?}",
            report.left
        );
        let merged = Sedpack.merge(Arc::clone(&root), &MergeOptions::default()).unwrap();
        assert!(merged.shards >= (finished * TURN) as u64, "{place}");
        let now = listed(&root);
        assert_eq!(now, shards_on_disk(root.as_ref()), "{place}");
        assert!(before.iter().all(|shard| now.binary_search(shard).is_ok()), "{place}");
        assert_eq!(check(&root, &place), [""; 0], "{place}: left behind");
    }
    assert!(!listed(&root).is_empty());
}

#[test]
fn repair_refuses_while_a_writer_is_alive() {
    let temp = dataset();
    let root = local(temp.path());
    let mut filler =
        Filler::open(Arc::clone(&root), &RelPath::root(), FillerOptions::default()).unwrap();
    filler.write("train", &batch(1)).unwrap();
    let error = Sedpack.repair(Arc::clone(&root), &RepairOptions::default()).unwrap_err();
    assert_eq!(error.code(), "io/conflict");
    filler.finish().unwrap();
    assert!(Sedpack.repair(root, &RepairOptions::default()).unwrap().salvaged.is_empty());
}
