//! Threads of loaders, counted in a process of their own: none is left behind, none is waited for without end.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

#[path = "loader/kit.rs"]
#[expect(dead_code, reason = "shared with the other tests of the loader")]
mod kit;

use std::sync::Arc;
use std::time::{Duration, Instant};

use kit::{Made, Trick, as_collection, as_signals_of, listed, loader, mixed, options};
use packstone::format::Collection;
use packstone::loader::codes;
use packstone::ops::reopened;
use packstone::registry::probe;
use packstone::{Kind, Limits, LocalRoot, Root, RootMut};
use packstone_testkit::{Gate, good_cases};

/// Threads of this process.
fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").unwrap().count()
}

/// Waits until there are as many threads as before: a joined thread is listed for a moment longer.
fn until(before: usize, patience: Duration) {
    let start = Instant::now();
    while threads() > before {
        assert!(start.elapsed() < patience, "{} threads are left", threads() - before);
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn no_thread_is_left_behind() {
    dropped_in_mid_epoch();
    left_by_seeking();
    after_a_thread_died();
    behind_a_file_that_does_not_come();
}

fn dropped_in_mid_epoch() {
    let before = threads();
    for apart in [false, true] {
        let made = Made::wide(100_000, 1000, 512);
        let made = Arc::new(if apart { made.apart() } else { made });
        let order = listed(mixed(100_000, 9));
        for window in [1 << 20, 64 << 20] {
            let options = options(4).with_window(window);
            let mut loader = loader(&as_collection(&made), &order, 256, options);
            assert_eq!(loader.by_ref().take(3).filter(Result::is_ok).count(), 3);
            assert!(threads() >= before + 5, "four readers and who plans");
            let start = Instant::now();
            drop(loader);
            assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
            until(before, Duration::from_secs(1));
        }
    }
}

/// Engines that were left are joined as well.
fn left_by_seeking() {
    let before = threads();
    let made = Arc::new(Made::wide(100_000, 1000, 512));
    let mut loader = loader(&as_collection(&made), &listed(0..100_000), 256, options(2));
    for epoch in 0..5 {
        loader.seek(epoch, 5_000 * epoch);
        assert!(loader.next().unwrap().is_ok());
    }
    drop(loader);
    until(before, Duration::from_secs(1));
}

fn after_a_thread_died() {
    let before = threads();
    let made = Arc::new(Made::new(40, 8).trick(2, Trick::Panics));
    let mut loader = loader(&as_collection(&made), &listed(0..40), 4, options(2));
    let died = loader.by_ref().find_map(Result::err).unwrap();
    assert_eq!(died.code(), "exec/thread_died");
    drop(loader);
    until(before, Duration::from_secs(1));
}

/// Each format that opens shards while it reads, with one shard that hangs.
fn behind_a_file_that_does_not_come() {
    let signals = tempfile::tempdir().unwrap();
    let root: Arc<dyn RootMut> = Arc::new(LocalRoot::open(signals.path()).unwrap());
    let golden = |format, name| {
        let case = good_cases(format).into_iter().find(|case| case.name == name).unwrap();
        case.data
    };
    as_signals_of(&golden("sedpack", "fb_zstd"), &root, 2);
    for data in [
        golden("sedpack", "fb_zstd"),
        golden("sedpack", "fb_none"),
        golden("datasetrt", "v3_shards_lz4"),
        signals.path().to_owned(),
    ] {
        let before = threads();
        let root: Arc<dyn Root> = Arc::new(LocalRoot::open(&data).unwrap());
        let open = |root: Arc<dyn Root>| -> Arc<dyn Collection> {
            let format = probe(root.as_ref()).unwrap();
            let dataset = reopened(format.open(root, &Limits::default()).unwrap()).unwrap();
            dataset.collection(&dataset.collections()[0]).unwrap()
        };
        let shard = open(Arc::clone(&root)).shards(0).nth(1).unwrap().unwrap();
        let gate = Gate::before(shard.path.clone(), root);
        let collection = open(Arc::new(gate.clone()));
        gate.shut();
        let limit = Duration::from_millis(100);
        let order = listed(0..collection.len());
        let mut loader = loader(&collection, &order, 1, options(2).with_stall(limit));
        let start = Instant::now();
        let mut came = 0;
        let error = loop {
            match loader.next().unwrap() {
                Ok(_) => came += 1,
                Err(error) => break error,
            }
        };
        assert_eq!((error.code(), error.kind()), (codes::STALLED, Kind::Io), "{error}");
        assert_eq!(error.place().file.as_deref(), Some(shard.path.as_str()), "{error}");
        assert_eq!((came, loader.next_position()), (shard.first, shard.first), "{data:?}");
        assert!((limit..Duration::from_secs(20)).contains(&start.elapsed()));
        let start = Instant::now();
        drop(loader);
        assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
        gate.open_up();
        until(before, Duration::from_secs(5));
    }
}
