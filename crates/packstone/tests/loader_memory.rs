//! Memory of a shuffled epoch: bounded by the window, in a process of its own.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

#[path = "loader/kit.rs"]
#[expect(dead_code, reason = "shared with the other tests of the loader")]
mod kit;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use kit::{Made, Sole, as_collection, listed, loader, mixed, numbers, options};
use packstone::format::{Collection, Info};
use packstone::json;
use packstone::json::{Object, Value};
use packstone::ops::{ConvertOptions, convert};
use packstone::{registry, site};

/// 64 MB in 40 shards.
fn made() -> Made {
    Made::wide(16_000, 400, 4096)
}

/// What 64 MB take in full shuffle through a window of 8 MB.
fn most(collection: &Arc<dyn Collection>) -> u64 {
    let order = listed(mixed(16_000, 11));
    let options = options(2).with_window(8 << 20);
    let loader = loader(collection, &order, 50, options);
    let before = resident();
    let (mut most, mut seen) = (0, 0);
    for batch in loader {
        seen += numbers(&batch.unwrap()).len();
        if seen % 500 == 0 {
            most = most.max(resident().saturating_sub(before));
        }
    }
    assert_eq!(seen, 16_000);
    most
}

#[test]
fn memory_is_bounded_by_the_window() {
    // One after the other: the memory of the whole process is looked at.
    by_the_window_and_reads_by_half_of_it();
    whatever_is_decoded();
}

fn by_the_window_and_reads_by_half_of_it() {
    for apart in [false, true] {
        let made = Arc::new(if apart { made().apart() } else { made() });
        let most = most(&as_collection(&made));
        let reads = made.reads.load(Ordering::SeqCst);
        // The window, a shard of 1.6 MB for each thread twice, and what an allocator keeps.
        assert!(most < 32 << 20, "{most} bytes, apart: {apart}");
        // Half of the window are batches, 1,000 rows; a shard is read once in half of that, 32 times in the epoch.
        assert!(reads <= 40 * 34, "{reads} reads, apart: {apart}");
    }
}

/// What is stored in far fewer bytes than it becomes: no buffer that has grown may be lost to the next one, and no leaf of
/// an archive may be in memory as a whole.
fn whatever_is_decoded() {
    let all: [(&str, &str, Value); 2] = [
        ("sedpack", "lz4", json!({"compression": "LZ4", "examples_per_shard": 400})),
        ("tensordict", "made.tdz", json!({"compression": "deflate"})),
    ];
    let folder = tempfile::tempdir().unwrap();
    for (id, name, options) in all {
        let path = folder.path().join(name);
        let info = Info { format: "made", native: Object::new(), carried: None };
        let source = Arc::new(Sole::new(info, as_collection(&Arc::new(made()))));
        let options = options.as_object().unwrap().clone();
        let options = ConvertOptions { options, ..ConvertOptions::default() };
        let target = registry::format(id).unwrap();
        convert(source, target, site::target(&path, target).unwrap(), &options, None).unwrap();
        let dataset = packstone::open(&path).unwrap();
        let collection = dataset.collection(&dataset.collections()[0]).unwrap();
        let most = most(&collection);
        assert!(most < 40 << 20, "{most} bytes, {name}");
    }
}

/// Memory of this process that is its own, in bytes.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    line.trim().trim_end_matches(" kB").trim().parse::<u64>().unwrap() * 1024
}
