//! Memory and time of opening, scanning, checking and writing, each measured in a process of its own.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use packstone::format::{Collection, ReadContext};
use packstone::formats::datasetrt::document::Algo;
use packstone::formats::datasetrt::options::WriterOptions;
use packstone::ops::Scan;
use packstone::{LocalRoot, RootMut};
use packstone_container::json;

use crate::kit::{self, samples};
use crate::made::{Made, record};

const FOLDER: &str = "PACKSTONE_TEST_MEMORY_FOLDER";
const TASK: &str = "PACKSTONE_TEST_MEMORY_TASK";
/// 150 MiB of payloads.
const ROWS: usize = 60;
const BATCHES: usize = 40;
const WIDTH: usize = 64 << 10;

/// A line of this process's status, in bytes.
fn status(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.trim_start_matches(':').trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

fn write(folder: &Path, algo: Algo) {
    let root: Arc<dyn RootMut> = Arc::new(LocalRoot::open(folder).unwrap());
    let mut options = WriterOptions::default().with_threads(2);
    (options.algo, options.max_shard_bytes) = (algo, 1 << 30);
    let mut writer = kit::writer(&root, "x", &options).unwrap();
    // Runs of equal bytes compress, and each row begins at another one.
    let pattern: Vec<u8> = (0..WIDTH + 256).map(|n| (n / 16 * 7) as u8).collect();
    for batch in 0..BATCHES {
        let row = |row: usize| {
            let bytes = pattern[(batch * row) % 256..][..WIDTH].to_vec();
            (bytes, json!({ "i": batch * ROWS + row }))
        };
        let rows: Vec<_> = (0..ROWS).map(row).collect();
        writer.write(&samples(&rows)).unwrap();
    }
    assert_eq!(writer.finish().unwrap().samples, (ROWS * BATCHES) as u64);
}

fn million() -> Made {
    let mut made = Made::of(&[]);
    made.shards[0].0 = record("{\"i\":5}", b"sixteen bytes...");
    let len = made.shards[0].0.len() as u64;
    made.index = vec![[0, 0, len]; 1_000_000];
    made.values = vec![5; 1_000_000];
    made
}

/// What a started process does and how much it took; nothing unless it was started for that.
#[test]
fn measured_alone() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else { return };
    let open = || kit::open_in(kit::local(&folder), "x").unwrap();
    match std::env::var(TASK).unwrap().as_str() {
        "write none" => write(&folder, Algo::None),
        "write lz4" => write(&folder, Algo::Lz4),
        "scan" => {
            let shards = Scan::new(Arc::new(open())).threads(2).shards();
            // Each value is looked at, so that mapped pages count too.
            let seen = shards.map(|shard| {
                let batch = shard.unwrap().batch;
                batch.samples().filter(|s| s.value(0).unwrap().bytes.contains(&1)).count()
            });
            assert!(seen.sum::<usize>() > ROWS * BATCHES / 2);
        }
        "check" => assert_eq!(kit::verdict(vec![kit::local(&folder.join("x"))]).len(), 0),
        "open" => {
            let before = status("RssAnon");
            let start = Instant::now();
            let joint = open();
            let took = start.elapsed();
            assert_eq!(joint.len(), 1_000_000);
            let mut context = ReadContext::default();
            assert_eq!(joint.get_at(999_999, &mut context).unwrap().rows(), 1);
            println!("\nprivate {}", status("RssAnon").saturating_sub(before));
            println!("took {}", took.as_micros());
        }
        other => panic!("{other}"),
    }
    println!("\npeak {}", status("VmHWM"));
}

fn measure(folder: &Path, task: &str, what: &str) -> u64 {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "memory::measured_alone", "--nocapture"])
        .env(FOLDER, folder)
        .env(TASK, task)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{task}: {text}");
    let line = text.lines().find_map(|line| line.strip_prefix(what)).unwrap();
    line.trim().parse().unwrap()
}

#[test]
fn a_cache_is_written_scanned_and_checked_in_bounded_memory() {
    for algo in ["none", "lz4"] {
        let temp = tempfile::tempdir().unwrap();
        let peak = measure(temp.path(), &format!("write {algo}"), "peak");
        assert!(peak < 120 << 20, "write {algo}: {} MiB", peak >> 20);
        if algo == "lz4" {
            // Compressed it is one shard of some MiB, whose payloads are decoded run by run.
            for task in ["scan", "check"] {
                let peak = measure(temp.path(), task, "peak");
                assert!(peak < 160 << 20, "{task} {algo}: {} MiB", peak >> 20);
            }
        }
    }
}

#[test]
fn a_million_samples_are_opened_in_little_time_and_private_memory() {
    let temp = tempfile::tempdir().unwrap();
    million().write(&temp.path().join("x"));
    let private = measure(temp.path(), "open", "private");
    assert!(private < 4 << 20, "{} KiB", private >> 10);
    let took = Duration::from_micros(measure(temp.path(), "open", "took"));
    // Without optimization; a pass over the index is all there is.
    assert!(took < Duration::from_secs(3), "{took:?}");
}
