//! A disk that is full at any operation: a whole cache or none, and no file left.

use std::sync::Arc;

use packstone::formats::datasetrt::document::Algo;
use packstone::formats::datasetrt::options::WriterOptions;
use packstone::model::Batch;
use packstone::{Error, LocalRoot, Root, RootMut};
use packstone_container::json;
use packstone_io::FaultyRoot;

use crate::kit::{self, samples};

fn batches() -> Vec<Batch> {
    let row = |n: u8| (vec![n; 40], json!({ "f": f64::from(n) / 8.0, "s": format!("s{n}") }));
    [0u8, 5, 6].map(|start| samples(&(start..start + 5).map(row).collect::<Vec<_>>())).to_vec()
}

fn options(threads: usize) -> WriterOptions {
    let mut options = WriterOptions::default().with_threads(threads);
    (options.algo, options.ratio, options.max_shard_bytes) = (Algo::Lz4, 2.0, 150);
    options
}

fn write(root: Arc<dyn RootMut>, threads: usize) -> Result<(), Error> {
    let mut writer = kit::writer(&root, "x", &options(threads))?;
    for batch in batches() {
        writer.write(&batch)?;
    }
    writer.finish().map(|_| ())
}

#[test]
fn a_full_disk_at_any_operation_shows_a_whole_cache_or_none() {
    for threads in [0, 2] {
        let (mut failures, mut seen) = (0, 0);
        for good in 0.. {
            let temp = tempfile::tempdir().unwrap();
            let local = LocalRoot::open(temp.path()).unwrap();
            let root: Arc<dyn RootMut> = Arc::new(FaultyRoot::new(local, good));
            let result = write(root, threads);
            let place = format!("{good} operations, {threads} threads");
            let shown = temp.path().join("x").is_dir();
            if shown {
                // Where only syncing its name failed, it is there and whole.
                let joint = kit::open_in(kit::local(temp.path()), "x").unwrap();
                assert_eq!(kit::rows(&joint).len(), 15, "{place}");
                assert!(kit::verdict(vec![kit::local(&temp.path().join("x"))]).is_empty());
                seen += usize::from(result.is_err());
            }
            match result {
                Ok(()) => {
                    assert!(shown, "{place}");
                    break;
                }
                Err(error) => assert_eq!(error.kind(), packstone::Kind::Io, "{place}: {error}"),
            }
            failures += 1;
            // A disk that is full can still remove; one that fails in everything cannot.
            let left = kit::files(temp.path());
            let hidden = left.keys().filter(|file| !file.starts_with("x/"));
            assert!(hidden.into_iter().all(|file| file.starts_with("tmp/x/")), "{place}: {left:?}");
        }
        assert!(failures > 30 && seen <= 1, "{failures} failures, {seen} seen");
    }
}

#[test]
fn a_writer_that_is_dropped_leaves_nothing() {
    for threads in [0, 2] {
        let temp = tempfile::tempdir().unwrap();
        let root: Arc<dyn RootMut> = Arc::new(LocalRoot::open(temp.path()).unwrap());
        let mut writer = kit::writer(&root, "x", &options(threads)).unwrap();
        for batch in batches() {
            writer.write(&batch).unwrap();
        }
        drop(writer);
        assert_eq!(std::fs::read_dir(temp.path()).unwrap().count(), 0);
    }
}

/// Everything is on the disk before the cache is seen: the order of what a root is asked to do.
#[test]
fn the_manifest_is_the_last_file_and_the_rename_comes_after_all() {
    let temp = tempfile::tempdir().unwrap();
    let log = kit::LogRoot::new(LocalRoot::open(temp.path()).unwrap());
    let told = log.told();
    write(Arc::new(log), 0).unwrap();
    let told = told.lock().unwrap().clone();
    let at = |what: &str| {
        told.iter().position(|line| line == what).unwrap_or_else(|| panic!("{what}: {told:?}"))
    };
    let order = [
        at("publish tmp/x/shards/000000.bin"),
        at("publish tmp/x/metadata.arrow"),
        at("publish tmp/x/index.bin"),
        at("sync tmp/x/shards"),
        at("publish tmp/x/manifest.json"),
        at("sync tmp/x"),
        at("rename tmp/x to x"),
    ];
    assert!(order.is_sorted(), "{told:?}");
    let last = told.iter().rposition(|line| line.starts_with("publish")).unwrap();
    assert_eq!(last, order[4], "the manifest is the last file: {told:?}");
    // No root was asked to change anything that is seen.
    let seen = |line: &&String| !line.contains("tmp") && !line.starts_with("list");
    assert_eq!(told.iter().filter(seen).collect::<Vec<_>>(), [""; 0]);
    let root: Arc<dyn Root> = kit::local(temp.path());
    assert_eq!(kit::rows(&kit::open_in(root, "x").unwrap()).len(), 15);
}
