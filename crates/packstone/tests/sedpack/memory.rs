//! Peak memory of whole scans, checks and writes, each measured in a process of its own.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use packstone::format::Dataset;
use packstone::formats::sedpack::options::{FillerOptions, Structure};
use packstone::formats::sedpack::schema::Compression;
use packstone::formats::sedpack::writer::{Filler, create};
use packstone::json::Object;
use packstone::model::{Batch, Column, DType, Field, Schema};
use packstone::ops::Scan;
use packstone::{LocalRoot, RelPath, RootMut};
use packstone_container::digest::Algorithm;
use packstone_io::Buf;

use crate::kit;

const FOLDER: &str = "PACKSTONE_TEST_MEMORY_FOLDER";
/// One value, values in a shard, shards: 4 MiB a shard, 320 MiB in all.
const WIDTH: usize = 64 << 10;
const ROWS: usize = 64;
const SHARDS: usize = 80;
/// Threads of the scans and what they may hold: shards in work, waiting, and kept for reuse.
const THREADS: usize = 2;
const WINDOW: u64 = (2 * THREADS as u64 + 3) * (WIDTH * ROWS) as u64;

/// The largest resident size that this process ever had, in bytes.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

fn local(folder: &Path) -> Arc<LocalRoot> {
    Arc::new(LocalRoot::open(folder).unwrap())
}

fn write(folder: &Path, compression: Compression) {
    let root: Arc<dyn RootMut> = local(folder);
    let schema = Arc::new(Schema::new(vec![Field::new("x", DType::UInt8, [WIDTH as u64])]));
    let mut structure = Structure::default();
    (structure.compression, structure.algorithms) = (compression, vec![Algorithm::Xxh64]);
    structure.examples_per_shard = ROWS as i64;
    create(root.as_ref(), Arc::clone(&schema), &structure, &Object::new()).unwrap();
    let options = FillerOptions::default().with_threads(THREADS);
    let mut filler = Filler::open(root, &RelPath::root(), options).unwrap();
    for shard in 0..SHARDS {
        // Runs of varied bytes: they compress, and differ from shard to shard.
        let values: Vec<u8> = (0..WIDTH).map(|n| (n / 16 * 7 + shard) as u8).collect();
        let column = Column::dense(Buf::from(values.repeat(ROWS)), WIDTH, ROWS).unwrap();
        filler
            .write("train", &Batch::new(Arc::clone(&schema), ROWS, vec![column]).unwrap())
            .unwrap();
    }
    filler.finish().unwrap();
}

fn scan(folder: &Path, batches: bool) {
    let train = kit::open(local(folder)).unwrap().collection("train").unwrap();
    assert_eq!(train.len(), (ROWS * SHARDS) as u64);
    let scan = Scan::new(train).threads(THREADS);
    let rows: usize = if batches {
        scan.batches(100).unwrap().map(|batch| batch.unwrap().rows()).sum()
    } else {
        // Each value is looked at, so that mapped pages count too.
        let shards = scan.shards().map(|shard| shard.unwrap().batch);
        shards.map(|b| b.samples().filter(|s| s.value(0).unwrap().bytes.contains(&1)).count()).sum()
    };
    assert_eq!(rows, ROWS * SHARDS);
}

/// What a started process does and how much it took; nothing unless it was started for that.
#[test]
fn measured_alone() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else { return };
    match std::env::var("PACKSTONE_TEST_MEMORY_TASK").unwrap().as_str() {
        "write none" => write(&folder, Compression::None),
        "write lz4" => write(&folder, Compression::Lz4),
        "shards" => scan(&folder, false),
        "batches" => scan(&folder, true),
        "check" => assert_eq!(kit::verdict(local(&folder)), kit::clean()),
        other => panic!("{other}"),
    }
    println!("\npeak {}", peak());
}

fn measure(folder: &Path, task: &str) -> u64 {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "memory::measured_alone", "--nocapture"])
        .env(FOLDER, folder)
        .env("PACKSTONE_TEST_MEMORY_TASK", task)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{task}: {text}");
    text.lines().find_map(|line| line.strip_prefix("peak ")).unwrap().parse().unwrap()
}

fn bounded(compression: &str) {
    let temp = tempfile::tempdir().unwrap();
    for task in [&format!("write {compression}"), "shards", "batches", "check"] {
        let peak = measure(temp.path(), task);
        assert!(peak < WINDOW + (100 << 20), "{compression} {task}: {} MiB", peak >> 20);
    }
}

#[test]
fn an_uncompressed_dataset_passes_through_bounded_memory() {
    bounded("none");
}

#[test]
fn a_compressed_dataset_passes_through_bounded_memory() {
    bounded("lz4");
}
