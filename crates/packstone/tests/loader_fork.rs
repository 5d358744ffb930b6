//! Loaders in forked processes: made before or after the fork, in the middle of an epoch, while threads read.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(clippy::print_stdout, reason = "a program of its own")]

#[path = "loader/kit.rs"]
#[expect(dead_code, reason = "shared with the other tests of the loader")]
mod kit;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use packstone::format::Collection;
use packstone::loader::{Fingerprint, Loader, LoaderOptions, Order, Share, Shuffled};
use packstone::{LocalRoot, Result, RootMut};
use packstone_testkit::good_cases;

/// How long a child may take; it needs a few milliseconds.
const PATIENCE: Duration = Duration::from_secs(60);

fn main() {
    for (format, case) in [
        ("sedpack", "fb_zstd"),
        ("sedpack", "fb_none"),
        ("tensordict", "basic"),
        ("datasetrt", "v3_shards_lz4"),
    ] {
        let case = good_cases(format).into_iter().find(|found| found.name == case).unwrap();
        all(&case.data);
        println!("{format} {}: fine", case.name);
        if format == "sedpack" {
            let folder = tempfile::tempdir().unwrap();
            let root: Arc<dyn RootMut> = Arc::new(LocalRoot::open(folder.path()).unwrap());
            kit::as_signals(&case.data, &root);
            all(&folder.path().to_owned());
            println!("the same as a signal dataset: fine");
        }
    }
}

fn all(path: &PathBuf) {
    before(path);
    after(path);
    in_the_middle(path);
    dropped(path);
}

fn open(path: &PathBuf) -> Result<Vec<Arc<dyn Collection>>> {
    let dataset = packstone::open(path)?;
    let all = dataset.collections().into_iter().map(|name| dataset.collection(&name).unwrap());
    Ok(vec![all.max_by_key(|collection| collection.len()).unwrap()])
}

fn loader(path: &PathBuf, threads: usize) -> Loader {
    let collections = open(path).unwrap();
    let dataset = packstone::open(path).unwrap();
    let fingerprint = Fingerprint::of(dataset.as_ref(), collections[0].as_ref()).unwrap();
    let order: Arc<dyn Order> = Arc::new(Shuffled::new(collections[0].len(), 5).unwrap());
    let options = LoaderOptions::default().with_threads(threads);
    let share = Share::alone(1).unwrap();
    let loader = Loader::new(collections, fingerprint, order, share, options).unwrap();
    let path = path.clone();
    loader.reopening(move || open(&path))
}

/// The indices and the bytes of what is left of the epoch.
fn rest(loader: &mut Loader) -> Vec<(Option<u64>, Vec<u8>)> {
    let rows = loader.map(|delivery| {
        let delivery = delivery.unwrap();
        let values = delivery.batch.samples().flat_map(|s| s.values().collect::<Vec<_>>());
        (delivery.indices[0], values.flat_map(|value| value.bytes.to_vec()).collect())
    });
    rows.collect()
}

/// Runs `work` in a child, which must say that all is well, in time.
fn fork(work: impl FnOnce() -> bool) {
    // SAFETY: what the child uses was made by itself or belongs to the loader, whose behaviour here is what is tested; it
    // ends without unwinding into what it inherited.
    #[expect(unsafe_code, reason = "there is no safe fork")]
    let child = unsafe { libc::fork() };
    if child == 0 {
        let fine = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).unwrap_or(false);
        // SAFETY: ends the process at once.
        #[expect(unsafe_code, reason = "nothing inherited is to be dropped")]
        unsafe {
            libc::_exit(if fine { 0 } else { 1 });
        }
    }
    assert!(child > 0, "fork failed");
    let start = Instant::now();
    loop {
        let mut status = 0;
        // SAFETY: waits for the child made above and writes to a number of this frame.
        #[expect(unsafe_code, reason = "a child is waited for")]
        let ended = unsafe { libc::waitpid(child, &raw mut status, libc::WNOHANG) };
        if ended == child {
            assert_eq!(status, 0, "the child failed");
            return;
        }
        if start.elapsed() > PATIENCE {
            // SAFETY: ends the child made above, which was not waited for yet.
            #[expect(unsafe_code, reason = "a child that hangs is ended")]
            unsafe {
                libc::kill(child, libc::SIGKILL);
            }
            panic!("the child hangs");
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Made before the fork, and not begun.
fn before(path: &PathBuf) {
    for threads in [0, 2] {
        let mut loader = loader(path, threads);
        let want = rest(&mut self::loader(path, 0));
        assert!(want.len() > 2);
        fork(|| rest(&mut loader) == want);
        assert!(rest(&mut loader) == want);
    }
}

/// Made after the fork, by a parent that has threads.
fn after(path: &PathBuf) {
    let mut parent = loader(path, 2);
    let want = rest(&mut loader(path, 0));
    parent.next().unwrap().unwrap();
    fork(|| rest(&mut loader(path, 2)) == want);
    assert!(rest(&mut parent) == want[1..]);
}

/// Forked again and again between batches, while threads read ahead: the child goes on where the parent stands.
fn in_the_middle(path: &PathBuf) {
    let want = rest(&mut loader(path, 0));
    for round in 0..20 {
        let mut parent = loader(path, 2);
        let at = round % (want.len() - 1);
        let held: Vec<_> = parent.by_ref().take(at).collect();
        fork(|| {
            let state = parent.state();
            let rest = rest(&mut parent);
            // What came before the fork can be dropped, and the loader used on.
            drop(held);
            parent.next_epoch();
            let fine = parent.next().unwrap().is_ok() && parent.restore(&state).is_ok();
            rest == want[at..] && fine && parent.take_notes().is_empty()
        });
        assert!(rest(&mut parent) == want[at..], "the parent is disturbed");
    }
}

/// A child that only drops what it inherited.
fn dropped(path: &PathBuf) {
    let mut parent = loader(path, 2);
    parent.next().unwrap().unwrap();
    parent.seek(0, 1);
    parent.next().unwrap().unwrap();
    let mut kept = Some(parent);
    fork(|| {
        drop(kept.take());
        true
    });
    assert!(kept.unwrap().next().unwrap().is_ok());
}
