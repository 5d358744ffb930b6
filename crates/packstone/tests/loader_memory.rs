//! Memory of a shuffled epoch: bounded by the window, in a process of its own.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

#[path = "loader/kit.rs"]
#[expect(dead_code, reason = "shared with the other tests of the loader")]
mod kit;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use kit::{Made, as_collection, listed, loader, mixed, numbers, options};

/// 64 MB in 40 shards, in full shuffle through a window of 8 MB.
fn most(apart: bool) -> (u64, u64) {
    let made = Made::wide(16_000, 400, 4096);
    let made = Arc::new(if apart { made.apart() } else { made });
    let order = listed(mixed(16_000, 11));
    let options = options(2).with_window(8 << 20);
    let loader = loader(&as_collection(&made), &order, 50, options);
    let before = resident();
    let (mut most, mut seen) = (0, 0);
    for batch in loader {
        seen += numbers(&batch.unwrap()).len();
        if seen % 500 == 0 {
            most = most.max(resident().saturating_sub(before));
        }
    }
    assert_eq!(seen, 16_000);
    (most, made.reads.load(Ordering::SeqCst))
}

#[test]
fn memory_is_bounded_by_the_window_and_reads_by_half_of_it() {
    for apart in [false, true] {
        let (most, reads) = most(apart);
        // The window, a shard of 1.6 MB for each thread twice, and what an allocator keeps.
        assert!(most < 32 << 20, "{most} bytes, apart: {apart}");
        // Half of the window are batches, 1,000 rows; a shard is read once in half of that, 32 times in the epoch.
        assert!(reads <= 40 * 34, "{reads} reads, apart: {apart}");
    }
}

/// Memory of this process that is its own, in bytes.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    line.trim().trim_end_matches(" kB").trim().parse::<u64>().unwrap() * 1024
}
