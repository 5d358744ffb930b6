//! What is written: the library's bytes, what is refused, and how it comes to be seen.

use std::sync::Arc;

use packstone::format::{Collection, Format};
use packstone::formats::datasetrt::DatasetRt;
use packstone::formats::datasetrt::writer::CacheWriter;
use packstone::{MemoryRoot, Root, RootMut};

use crate::kit;

/// Every cache that the library wrote, written again from what was read of it.
#[test]
fn caches_of_the_library_are_written_again_byte_for_byte() {
    let mut written = 0;
    for (case, limit) in kit::untouched() {
        for path in kit::paths(&case) {
            let folder = case.data.parent().unwrap().join(&path);
            let joint = kit::open_roots(vec![kit::local(&folder)]).unwrap();
            let cache = &joint.caches()[0];
            let (name, want) = (&cache.manifest.contents().source_name, kit::files(&folder));
            for threads in [0, 3] {
                let options = kit::options_of(cache, limit).with_threads(threads);
                let root = MemoryRoot::new();
                let target: Arc<dyn RootMut> = Arc::new(root.clone());
                let mut writer =
                    CacheWriter::create(target, name, joint.schema(), None, &options).unwrap();
                for batch in kit::batches(&joint) {
                    writer.write(&batch).unwrap();
                }
                let report = writer.finish().unwrap();
                assert_eq!(report.samples, joint.len());
                assert_eq!(report.shards as usize, cache.manifest.contents().shards.len());
                let found = kit::memory_files(&root, name);
                assert_eq!(found.keys().collect::<Vec<_>>(), want.keys().collect::<Vec<_>>());
                for (file, bytes) in &want {
                    assert!(found[file] == *bytes, "{} {path}/{file}", case.name);
                }
                assert_eq!(root.files().len(), want.len(), "{}: something was left", case.name);
            }
            written += 1;
        }
    }
    assert!(written >= 27, "{written}");
}

#[test]
fn what_is_written_is_recognized() {
    let (case, limit) = kit::untouched().into_iter().next().unwrap();
    let joint = kit::open(&case);
    let root = MemoryRoot::new();
    let options = kit::options_of(&joint.caches()[0], limit);
    let target: Arc<dyn RootMut> = Arc::new(root.clone());
    let mut writer = CacheWriter::create(target, "x", joint.schema(), None, &options).unwrap();
    assert!(!DatasetRt.recognizes(&root).unwrap());
    for batch in kit::batches(&joint) {
        writer.write(&batch).unwrap();
    }
    writer.finish().unwrap();
    assert!(DatasetRt.recognizes(&root).unwrap());
    let root: Arc<dyn Root> = Arc::new(root);
    assert_eq!(DatasetRt.open(root, &Default::default()).unwrap().collections(), ["x"]);
}
