//! Descriptors: a thousand caches are open at once where a process may have 64.

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use packstone::format::{Collection, ReadContext};
use packstone::{LocalRoot, Root};

use crate::kit;
use crate::made::Made;

const FOLDER: &str = "PACKSTONE_TEST_FILES_FOLDER";
const CACHES: u64 = 1000;

fn made(number: u64) -> Made {
    let mut made = Made::of(&[]);
    for sample in 0..3 {
        let value = (number * 3 + sample) as i64;
        made.push(0, &format!("{{\"i\":{value}}}"), &value.to_le_bytes(), value);
    }
    made
}

/// Opens and reads all caches; nothing unless it was started for that.
#[test]
fn reads_a_thousand() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else { return };
    let roots = (0..CACHES).map(|number| {
        let root: Arc<dyn Root> =
            Arc::new(LocalRoot::open_lean(folder.join(number.to_string())).unwrap());
        root
    });
    let joint = kit::open_roots(roots.collect()).unwrap();
    let open = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let before = open();
    assert_eq!(joint.len(), CACHES * 3);
    let mut context = ReadContext::default();
    for turn in 0..1500u64 {
        let position = turn * 7919 % joint.len();
        let batch = joint.get_at(position, &mut context).unwrap();
        let bytes = batch.sample(0).unwrap().value(0).unwrap().bytes.to_vec();
        assert_eq!(bytes, position.to_le_bytes());
        let (cache, sample) = joint.locate(position).unwrap();
        let found = joint.get(cache.cache_id, sample, &mut context).unwrap();
        assert_eq!(found.sample(0).unwrap().value(0).unwrap().bytes, bytes);
    }
    let rows: usize = kit::batches(&joint).iter().map(|batch| batch.rows()).sum();
    assert_eq!(rows as u64, CACHES * 3);
    assert!(open() <= before, "descriptors were kept");
    println!("\nread all");
}

#[test]
fn a_thousand_caches_are_read_with_64_descriptors() {
    let temp = tempfile::tempdir().unwrap();
    for number in 0..CACHES {
        let folder = temp.path().join(number.to_string());
        made(number).write(&folder);
        let manifest = folder.join("manifest.json");
        let text = std::fs::read_to_string(&manifest).unwrap();
        let text = text.replace("\"cache_id\": 1", &format!("\"cache_id\": {}", number + 7));
        std::fs::write(manifest, text).unwrap();
    }
    let program = std::env::current_exe().unwrap();
    let output = Command::new("sh")
        .arg("-c")
        .arg("ulimit -n 64 && exec \"$0\" --exact open_files::reads_a_thousand --nocapture")
        .arg(program)
        .env(FOLDER, temp.path())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && text.contains("read all"), "{text}\n{errors}");
}
