//! Nothing waits for ever, and nothing is left behind.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use packstone::loader::{Order, Shuffled, codes};

use crate::kit::{Made, Trick, as_collection, listed, loader, mixed, numbers, options};

#[test]
fn a_stalled_source_is_named() {
    for threads in [1, 3] {
        let made = Arc::new(Made::new(64, 8).trick(3, Trick::Waits));
        let order = listed(0..64);
        let limit = Duration::from_millis(200);
        let options = options(threads).with_stall(limit).with_window(4 << 10);
        let mut loader = loader(&as_collection(&made), &order, 8, options);
        let start = Instant::now();
        let failed = loader.by_ref().find_map(Result::err).unwrap();
        assert_eq!(failed.code(), codes::STALLED);
        assert_eq!(failed.place().file.as_deref(), Some("made/3"), "{failed}");
        assert!(failed.message().contains("made/3"));
        assert!((limit..Duration::from_secs(20)).contains(&start.elapsed()));
        // The thread that hangs is not waited for much longer than a second.
        let start = Instant::now();
        drop(loader);
        assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
        made.open();
    }
}

#[test]
fn what_passes_is_gone_on_with() {
    let made = Arc::new(Made::new(64, 8).trick(3, Trick::Waits));
    let order = listed(0..64);
    let options = options(2).with_stall(Duration::from_millis(50));
    let mut loader = loader(&as_collection(&made), &order, 8, options);
    assert!(loader.by_ref().any(|batch| batch.is_err()));
    assert_eq!(loader.next_position(), 24);
    made.open();
    let rest: Vec<u64> = loader.flat_map(|batch| numbers(&batch.unwrap())).collect();
    assert_eq!(rest, (24..64).collect::<Vec<u64>>());
}

#[test]
fn dropping_in_mid_epoch_joins_all_threads() {
    let threads = || {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap();
        let names = tasks
            .filter_map(|task| std::fs::read_to_string(task.unwrap().path().join("comm")).ok());
        names.filter(|name| name.trim() == "packstone plan").count()
    };
    let made = Arc::new(Made::wide(100_000, 1000, 512));
    let order = listed(mixed(100_000, 9));
    for window in [1 << 20, 64 << 20] {
        let mut loader = loader(&as_collection(&made), &order, 256, options(4).with_window(window));
        assert_eq!(loader.by_ref().take(3).filter(Result::is_ok).count(), 3);
        let start = Instant::now();
        drop(loader);
        assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    }
    // Other tests have planners of their own; none of these two is left, so they go when the others are done.
    let patience = Instant::now() + Duration::from_secs(60);
    while threads() > 0 && Instant::now() < patience {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(threads(), 0);
}

#[test]
fn seeking_reads_nothing_and_does_not_wait() {
    let made = Arc::new(Made::wide(100_000, 1000, 512));
    let order = listed(mixed(100_000, 9));
    let mut loader = loader(&as_collection(&made), &order, 100, options(2));
    let fresh = made.reads.load(Ordering::SeqCst);
    assert_eq!(fresh, 0, "nothing is read before it is asked for");
    let mut slowest = Vec::new();
    for position in [0, 99_900, 5_000, 50_000] {
        let start = Instant::now();
        loader.seek(1, position);
        slowest.push(start.elapsed());
        let first = loader.next().unwrap().unwrap();
        assert_eq!((first.positions[0], first.epoch), (Some(position), 1));
    }
    slowest.sort_unstable();
    assert!(slowest[1] < Duration::from_millis(5), "{slowest:?}");
}

#[test]
fn lists_are_read_a_few_times_and_not_for_every_sample() {
    let made = Arc::new(Made::new(20_000, 1));
    let collection = as_collection(&made);
    let order: Arc<dyn Order> = Arc::new(Shuffled::new(20_000, 5).unwrap());
    let mut loader = loader(&collection, &order, 500, options(0));
    let before = made.listed.load(Ordering::Relaxed);
    let rows: usize = (0..4).map(|_| loader.next().unwrap().unwrap().batch.rows()).sum();
    let listed = made.listed.load(Ordering::Relaxed) - before;
    assert_eq!(rows, 2_000);
    assert!(listed <= 40, "{listed} times");
}
