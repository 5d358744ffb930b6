//! Errors at their exact position, and checksums on first touch.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use packstone::Kind;
use packstone::loader::{LoaderOptions, OnFault, codes};
use packstone::model::Severity;

use crate::kit::{Made, Trick, as_collection, listed, loader, mixed, numbers, options};

const THREADS: [usize; 4] = [0, 1, 2, 4];

#[test]
fn batches_before_a_fault_are_whole_and_the_fault_is_named() {
    for apart in [false, true] {
        for threads in THREADS {
            for (trick, name) in [(Trick::Broken, "broken"), (Trick::Record(3), "record")] {
                let made = Made::new(100, 8).trick(5, trick);
                let made = Arc::new(if apart { made.apart() } else { made });
                let order = mixed(100, 3);
                // The first position whose sample cannot be had.
                let bad = |n: &u64| n / 8 == 5 && (name == "broken" || n % 8 == 3);
                let at = order.iter().position(bad).unwrap() as u64;
                let listed = listed(order.clone());
                let mut loader = loader(&as_collection(&made), &listed, 4, options(threads));
                for step in 0..at / 4 {
                    let delivery = loader.next().unwrap().unwrap();
                    let span = usize::try_from(step * 4).unwrap();
                    assert_eq!(numbers(&delivery), order[span..span + 4], "{threads} {name}");
                }
                for _ in 0..2 {
                    // Asked again, it tries again.
                    let error = loader.next().unwrap().unwrap_err();
                    assert_eq!((error.code(), error.kind()), ("made/broken", Kind::Corrupt));
                    assert_eq!(error.place().file.as_deref(), Some("made/5"));
                    let index = order[usize::try_from(at).unwrap()];
                    assert!(error.message().contains(&format!("sample {index} of")), "{error}");
                    assert_eq!(loader.next_position(), at / 4 * 4);
                }
                loader.skip_steps(1);
                assert_eq!(loader.next_position(), at / 4 * 4 + 4);
                let next = loader.next().unwrap().unwrap();
                assert_eq!(next.step, at / 4 + 1, "{threads} {name}");
            }
        }
    }
}

#[test]
fn skipped_samples_are_counted_and_the_rest_is_there() {
    for apart in [false, true] {
        for threads in THREADS {
            let made = Made::new(100, 8).trick(5, Trick::Broken).trick(2, Trick::Record(1));
            let made = Arc::new(if apart { made.apart() } else { made });
            let order = mixed(100, 4);
            let listed = listed(order.clone());
            let options = options(threads).with_faults(OnFault::Skip);
            let mut loader = loader(&as_collection(&made), &listed, 7, options);
            let mut left = 0;
            for (step, wanted) in order.chunks(7).enumerate() {
                let delivery = loader.next().unwrap().unwrap();
                let good: Vec<u64> =
                    wanted.iter().copied().filter(|n| n / 8 != 5 && *n != 17).collect();
                left += wanted.len() - good.len();
                let real: Vec<u64> = delivery.indices.iter().copied().flatten().collect();
                assert_eq!(real, good, "{threads}");
                assert_eq!(numbers(&delivery)[..good.len()], good, "{threads}");
                let place = |n: &u64| Some(step * 7 + wanted.iter().position(|w| w == n).unwrap());
                let positions: Vec<_> = good.iter().map(|n| place(n).map(|p| p as u64)).collect();
                assert_eq!(delivery.positions[..good.len()], positions);
                assert_eq!(loader.skipped(), left as u64);
            }
            assert!(loader.next().is_none() && left == 9);
            let notes = loader.take_notes();
            assert_eq!(notes.len(), 9);
            let is_skip = |code| code == codes::SAMPLE_SKIPPED;
            assert!(notes.iter().all(|n| is_skip(n.code) && n.severity == Severity::Warning));
            assert!(notes.iter().any(|n| n.message.contains("sample 17 of")));
            assert!(loader.take_notes().is_empty());
        }
    }
}

#[test]
fn a_shard_is_verified_once_and_only_if_asked() {
    let made = Arc::new(Made::new(64, 8).apart());
    let order = listed(mixed(64, 5).into_iter().chain(mixed(64, 6)));
    let mut few = options(2).with_window(1);
    let mut loading = loader(&as_collection(&made), &order, 4, few.clone());
    for epoch in 0..2 {
        loading.set_epoch(epoch);
        assert_eq!(loading.by_ref().map(Result::unwrap).count(), 32);
    }
    let mut verified = std::mem::take(&mut *made.verified.lock().unwrap());
    verified.sort_unstable();
    verified.dedup();
    assert_eq!(verified, (0..8).collect::<Vec<u64>>());
    assert!(made.reads.load(Ordering::SeqCst) > 64);
    few.verify = false;
    loader(&as_collection(&made), &order, 4, few).for_each(drop);
    assert!(made.verified.lock().unwrap().is_empty());
}

/// Who is told to stop in the middle of a shard that is at fault has not found it sound.
#[test]
fn a_shard_whose_reading_was_broken_off_is_verified_again() {
    let made = Made::new(16, 8).apart().trick(0, Trick::Waits).trick(0, Trick::Record(3));
    let made = Arc::new(made);
    let options = options(1).with_stall(Duration::from_millis(200));
    let mut loader = loader(&as_collection(&made), &listed(0..16), 8, options);
    assert_eq!(loader.next().unwrap().unwrap_err().code(), codes::STALLED);
    made.open();
    // Long enough for the reader to see that nobody waits any more.
    std::thread::sleep(Duration::from_millis(100));
    for _ in 0..2 {
        made.verified.lock().unwrap().clear();
        assert_eq!(loader.next().unwrap().unwrap_err().code(), "made/broken");
        assert!(made.verified.lock().unwrap().contains(&0));
    }
}

#[test]
fn a_reader_that_dies_is_an_error_and_never_a_wait() {
    for threads in THREADS {
        let made = Arc::new(Made::new(40, 8).trick(2, Trick::Panics));
        let order = listed(0..40);
        let mut loader = loader(&as_collection(&made), &order, 4, options(threads));
        for step in 0..4 {
            assert_eq!(loader.next().unwrap().unwrap().step, step);
        }
        let error = loader.next().unwrap().unwrap_err();
        assert_eq!(error.code(), "exec/thread_died");
        loader.skip_steps(2);
        assert_eq!(loader.next().unwrap().unwrap().step, 6);
    }
}

#[test]
fn an_index_past_the_end_is_a_fault_in_its_place() {
    let made = Arc::new(Made::new(10, 4));
    let order = listed([1, 2, 10, 3]);
    let mut loading = loader(&as_collection(&made), &order, 2, options(1));
    assert_eq!(numbers(&loading.next().unwrap().unwrap()), [1, 2]);
    let error = loading.next().unwrap().unwrap_err();
    assert_eq!(error.code(), codes::INDEX_OUT_OF_RANGE);
    let skip = LoaderOptions::default().with_faults(OnFault::Skip);
    let loading = loader(&as_collection(&made), &order, 2, skip);
    let all: Vec<u64> = loading.flat_map(|batch| numbers(&batch.unwrap())).collect();
    assert_eq!(all, [1, 2, 3]);
}
