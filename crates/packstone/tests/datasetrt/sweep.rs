//! Every file of a cache cut and flipped: damage is named, never data, and no file is touched.

use std::path::Path;
use std::sync::Arc;

use packstone::format::AuditOptions;
use packstone::model::Severity;
use packstone::ops::Scan;
use packstone::{Error, Limits};
use packstone_testkit::{Snapshot, copy_folder, cut_points, flip_points, golden_folder};

use crate::kit;

type Rows = Vec<(Vec<u8>, String)>;

fn read(folder: &Path, verify: bool) -> Result<Rows, Error> {
    let joint = kit::open_roots(vec![kit::local(folder)])?;
    let mut rows = Vec::new();
    let limits = Limits::default().with_decoded_bytes(1 << 30);
    for shard in Scan::new(Arc::new(joint)).threads(0).verify(verify).limits(limits).shards() {
        let batch = shard?.batch;
        rows.extend(batch.samples().map(|sample| {
            let metadata =
                packstone::json::Value::Object(sample.metadata().unwrap().as_ref().clone());
            (sample.value(0).unwrap().bytes.to_vec(), metadata.to_string())
        }));
    }
    Ok(rows)
}

fn look(folder: &Path, whole: &Rows, covered: bool, what: &str) {
    let before = Snapshot::of(folder);
    let seen = |options: &AuditOptions| {
        let found = kit::check(vec![kit::local(folder)], options);
        found.iter().any(|finding| finding.severity == Severity::Error)
    };
    let options = AuditOptions::default();
    assert!(seen(&options) || !covered, "{what}: the check finds nothing");
    let _ = seen(&AuditOptions { quick: true, ..AuditOptions::default() });
    if let Ok(rows) = read(folder, true) {
        assert!(!covered || rows == *whole, "{what}: other values, with checksums compared");
    }
    let _ = read(folder, false);
    assert_eq!(Snapshot::of(folder), before, "{what}: a file was touched");
}

fn sweep(name: &str) {
    let temp = tempfile::tempdir().unwrap();
    let data = golden_folder("datasetrt").join(name).join("data");
    let cache = std::fs::read_dir(data).unwrap().next().unwrap().unwrap().path();
    copy_folder(&cache, temp.path());
    let whole = read(temp.path(), true).unwrap();
    let mut damaged = 0;
    for (file, bytes) in kit::files(temp.path()) {
        let path = temp.path().join(&file);
        // Nothing hashes the manifest.
        let covered = file != "manifest.json";
        for len in cut_points(bytes.len(), 30) {
            std::fs::write(&path, &bytes[..len]).unwrap();
            look(temp.path(), &whole, true, &format!("{name} {file} cut to {len} bytes"));
            damaged += 1;
        }
        for at in flip_points(bytes.len(), 12) {
            for mask in [1 << (at % 8), 0xff] {
                let mut flipped = bytes.clone();
                flipped[at] ^= mask;
                std::fs::write(&path, &flipped).unwrap();
                look(
                    temp.path(),
                    &whole,
                    covered,
                    &format!("{name} {file} byte {at} ^ {mask:#04x}"),
                );
                damaged += 1;
            }
        }
        std::fs::write(&path, &bytes).unwrap();
    }
    assert!(damaged > 4 * 60, "{damaged} damages");
    assert!(read(temp.path(), true).unwrap() == whole);
}

#[test]
fn uncompressed() {
    sweep("v3_shards_none");
}

#[test]
fn compressed() {
    sweep("v3_basic_lz4");
}

#[test]
fn version_2() {
    sweep("v2_shards_lz4");
}

/// Without checksums the parsers stand alone: every third byte of each file, set or cleared.
#[test]
fn no_byte_of_any_file_does_more_than_an_error() {
    let temp = tempfile::tempdir().unwrap();
    let data = golden_folder("datasetrt").join("bad/lz4_garbage/data/cache");
    copy_folder(&data, temp.path());
    for (file, bytes) in kit::files(temp.path()) {
        let path = temp.path().join(&file);
        for at in (0..bytes.len()).step_by(3) {
            let mut flipped = bytes.clone();
            flipped[at] = if flipped[at] == 0xff { 0 } else { 0xff };
            std::fs::write(&path, &flipped).unwrap();
            let _ = read(temp.path(), false);
        }
        std::fs::write(&path, &bytes).unwrap();
    }
}
