//! Many leaves: opening costs a list and a document a folder, maps and descriptors stay few.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use packstone::format::{Dataset, ReadContext};
use packstone::formats::tensordict::options::TreeOptions;
use packstone::formats::tensordict::reader::TensorDictDataset;
use packstone::{LocalRoot, Root};
use packstone_io::CountingRoot;
use packstone_testkit::{Snapshot, copy_folder, good_cases};

use crate::kit::meta;

const FOLDER: &str = "PACKSTONE_TEST_MANY_FOLDER";

/// A tensordict of one row with `count` leaves of `len` bytes; large ones have holes for content.
fn make(folder: &Path, count: usize, len: u64) {
    let mut entries = Vec::new();
    for leaf in 0..count {
        let file = folder.join(format!("k{leaf}.memmap"));
        if len <= 8 {
            std::fs::write(file, &(leaf as u64).to_le_bytes()[..len as usize]).unwrap();
        } else {
            File::create(file).unwrap().set_len(len).unwrap();
        }
        let shape = [1, len];
        entries.push(format!(
            r#""k{leaf}": {{"device": "cpu", "shape": {shape:?}, "dtype": "torch.uint8", "is_nested": false}}"#
        ));
    }
    std::fs::write(folder.join("meta.json"), meta(&[1], &entries.join(", "))).unwrap();
}

fn open(root: Arc<dyn Root>) -> TensorDictDataset {
    TensorDictDataset::open(root, &TreeOptions::default()).unwrap()
}

/// Reads all fields of all rows; returns the sum of the first bytes of the values, and the maps that were held.
fn read(folder: &Path) -> (u64, usize) {
    let dataset = open(Arc::new(LocalRoot::open(folder).unwrap()));
    let data = dataset.collection("data").unwrap();
    let (mut sum, mut maps) = (0, 0);
    for shard in data.shards(0) {
        let batch = data.read(&shard.unwrap(), None, &mut ReadContext::default()).unwrap();
        let values = batch
            .samples()
            .flat_map(|sample| sample.values().map(|v| u64::from(v.bytes[0])).collect::<Vec<_>>());
        sum += values.sum::<u64>();
        maps = maps.max(std::fs::read_to_string("/proc/self/maps").unwrap().lines().count());
    }
    (sum, maps)
}

#[test]
fn opening_lists_each_folder_once_and_opens_no_leaf() {
    let temp = tempfile::tempdir().unwrap();
    let case = good_cases("tensordict").into_iter().find(|case| case.name == "everything").unwrap();
    copy_folder(&case.data, temp.path());
    let root = Arc::new(CountingRoot::new(LocalRoot::open(temp.path()).unwrap()));
    let before = Snapshot::of(temp.path());
    let dataset = open(Arc::clone(&root) as Arc<dyn Root>);
    let mut seen: Vec<_> = root.take().iter().map(ToString::to_string).collect();
    seen.sort();
    let folders = [
        ".",
        "lazy",
        "lazy/0",
        "lazy/1",
        "nest",
        "nest/txt",
        "none",
        "stack",
        "tc",
        "tc/_tensordict",
    ];
    let mut due: Vec<String> = folders.iter().map(ToString::to_string).collect();
    due.push("tc/_tensordict/label".to_owned());
    let documents = due.iter().map(|folder| {
        if folder == "." { "meta.json".to_owned() } else { format!("{folder}/meta.json") }
    });
    let mut all: Vec<String> = documents.collect();
    all.append(&mut due);
    all.sort();
    assert_eq!(seen, all);
    // A part of the tree costs its own leaves only.
    let nest = dataset.collection("nest").unwrap();
    let shard = nest.shards(0).next().unwrap().unwrap();
    nest.read(&shard, None, &mut ReadContext::default()).unwrap();
    assert_eq!(
        root.take().iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["nest/k%2F1.memmap"]
    );
    nest.read(&shard, None, &mut ReadContext::default()).unwrap();
    assert!(root.take().is_empty(), "what was read is kept");
    assert_eq!(Snapshot::of(temp.path()), before);
}

#[test]
fn seventy_thousand_leaves_open_and_read() {
    let temp = tempfile::tempdir().unwrap();
    make(temp.path(), 70_000, 8);
    let (sum, maps) = read(temp.path());
    assert_eq!(sum, (0..70_000u64).map(|n| n & 0xff).sum());
    assert!(maps < 2000, "{maps} maps");
}

/// What a started process does; nothing unless it was started for that.
#[test]
fn read_with_few_descriptors() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else { return };
    let (sum, _) = read(&folder);
    assert_eq!(sum, 0);
}

#[test]
fn two_thousand_large_leaves_with_sixty_four_descriptors() {
    let temp = tempfile::tempdir().unwrap();
    make(temp.path(), 2000, 300 << 10);
    let program = std::env::current_exe().unwrap();
    let line = "ulimit -n 64; exec \"$0\" many::read_with_few_descriptors --exact --nocapture";
    let done = Command::new("sh")
        .args(["-c", line])
        .arg(program)
        .env(FOLDER, temp.path())
        .output()
        .unwrap();
    let text =
        String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success() && text.contains("1 passed"), "{text}");
}

#[test]
fn more_large_leaves_than_can_be_mapped_at_once() {
    let temp = tempfile::tempdir().unwrap();
    make(temp.path(), 8200, 256 << 10);
    let dataset = open(Arc::new(LocalRoot::open(temp.path()).unwrap()));
    let data = dataset.collection("data").unwrap();
    let shard = data.shards(0).next().unwrap().unwrap();
    let fields: Vec<usize> = (0..8200).step_by(16).collect();
    let before = std::fs::read_to_string("/proc/self/maps")
        .unwrap()
        .lines()
        .filter(|l| l.contains(".memmap"))
        .count();
    let batch = data.read(&shard, Some(&fields), &mut ReadContext::default()).unwrap();
    let maps = std::fs::read_to_string("/proc/self/maps")
        .unwrap()
        .lines()
        .filter(|l| l.contains(".memmap"))
        .count();
    assert_eq!((batch.columns().len(), before, maps), (fields.len(), 0, 0));
    assert_eq!(batch.value_bytes(), (fields.len() as u64) * (256 << 10));
}
