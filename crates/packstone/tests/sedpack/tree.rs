//! What is read when: opening, counting and looking up cost what is asked for, whatever the size of the tree.

use std::sync::Arc;

use packstone::format::{Collection, Dataset, ReadContext};
use packstone::formats::sedpack::reader::SedpackDataset;
use packstone::model::Batch;
use packstone::ops::{Scan, gather};
use packstone::{Limits, LocalRoot, MemoryRoot, RelPath};
use packstone_io::CountingRoot;
use packstone_testkit::{golden_folder, good_cases};

use crate::kit::{document, flat, list, path, pointer, put, shard_entry};

const ATTRIBUTES: &str = r#"[{"name": "x", "dtype": "int32", "shape": []}]"#;
/// Folders below the split, folders in each, shards in each of these, examples in each shard.
const SHAPE: [usize; 4] = [10, 10, 1000, 256];

/// A tree of 100,000 listed shards. Only the shard files that tests read are there.
fn huge() -> MemoryRoot {
    let root = MemoryRoot::new();
    let [outer, inner, shards, rows] = SHAPE;
    let examples = |shards: usize| (shards * rows) as u64;
    let mut tops = Vec::new();
    for a in 0..outer {
        let mut children = Vec::new();
        for b in 0..inner {
            let entries: Vec<_> = (0..shards)
                .map(|n| shard_entry(&format!("train/{a}/{b}/{n}.fb"), "00", rows as u64))
                .collect();
            let at = format!("train/{a}/{b}/shards_list.json");
            put(&root, &at, list(&at, examples(shards), &entries, &[]));
            children.push(pointer(&at, "00", examples(shards), shards));
        }
        let at = format!("train/{a}/shards_list.json");
        put(&root, &at, list(&at, examples(inner * shards), &[], &children));
        tops.push(pointer(&at, "00", examples(inner * shards), inner * shards));
    }
    let at = "train/shards_list.json";
    let all = outer * inner * shards;
    put(&root, at, list(at, examples(all), &[], &tops));
    put(
        &root,
        "dataset_info.json",
        document("fb", "", ATTRIBUTES, &pointer(at, "00", examples(all), all)),
    );
    root
}

/// A shard whose values are `first`, `first + 1`, …
fn shard(first: usize) -> Vec<u8> {
    let values: Vec<_> = (first..first + SHAPE[3]).map(|n| (n as i32).to_le_bytes()).collect();
    flat(&values.iter().map(|v| vec![Some(&v[..])]).collect::<Vec<_>>())
}

fn opened<R: packstone::Root + 'static>(root: R) -> (Arc<CountingRoot<R>>, Arc<dyn Collection>) {
    let counting = Arc::new(CountingRoot::new(root));
    let dataset = SedpackDataset::open(Arc::clone(&counting) as _, &Limits::default()).unwrap();
    let train = dataset.collection("train").unwrap();
    (counting, train)
}

fn value(batch: &Batch, row: usize) -> i32 {
    i32::from_le_bytes(batch.sample(row).unwrap().value(0).unwrap().bytes.try_into().unwrap())
}

#[test]
fn opening_and_counting_a_hundred_thousand_shards_reads_one_file() {
    let (counting, train) = opened(huge());
    assert_eq!((train.len(), train.shard_count()), (25_600_000, 100_000));
    assert_eq!(counting.take(), [path("dataset_info.json")]);
}

#[test]
fn opening_and_counting_golden_data_reads_one_file() {
    for case in good_cases("sedpack") {
        let counting = Arc::new(CountingRoot::new(LocalRoot::open(&case.data).unwrap()));
        let dataset = SedpackDataset::open(Arc::clone(&counting) as _, &Limits::default()).unwrap();
        let splits = case.expected.get("splits").unwrap();
        for name in dataset.collections() {
            let split = dataset.collection(&name).unwrap();
            let count = |key| splits.get(&name).unwrap().get(key).unwrap().as_u64().unwrap();
            assert_eq!(
                (split.len(), split.shard_count()),
                (count("number_of_examples"), count("number_of_shards"))
            );
        }
        assert_eq!(counting.take(), [path("dataset_info.json")], "{}", case.name);
    }
}

#[test]
fn a_look_up_by_index_reads_the_lists_on_its_path_only() {
    let root = huge();
    let (a, b, n, row) = (7, 3, 421, 200);
    let first = ((a * SHAPE[1] + b) * SHAPE[2] + n) * SHAPE[3];
    put(&root, &format!("train/{a}/{b}/{n}.fb"), shard(first));
    let (counting, train) = opened(root);
    counting.take();
    let index = (first + row) as u64;
    let got = gather(train.as_ref(), &[index], None, &mut ReadContext::default()).unwrap();
    assert_eq!(value(&got, 0), (first + row) as i32);
    let way: Vec<RelPath> = [
        "train/shards_list.json",
        "train/7/shards_list.json",
        "train/7/3/shards_list.json",
        "train/7/3/421.fb",
    ]
    .map(path)
    .into();
    assert_eq!(counting.take(), way);
    // A second look-up in the same lists reads the shard alone.
    let again = gather(train.as_ref(), &[index - 3, index], None, &mut ReadContext::default());
    assert_eq!(value(&again.unwrap(), 0), (first + row - 3) as i32);
    assert_eq!(counting.take(), way[3..]);
}

#[test]
fn a_range_reads_its_own_shards_and_lists_only() {
    let root = huge();
    // The last shard of one list and the first two of the next.
    let border = SHAPE[2] * SHAPE[3];
    put(&root, "train/0/0/999.fb", shard(border - SHAPE[3]));
    put(&root, "train/0/1/0.fb", shard(border));
    put(&root, "train/0/1/1.fb", shard(border + SHAPE[3]));
    let (counting, train) = opened(root);
    counting.take();
    let (start, end) = (border - 2, border + SHAPE[3] + 1);
    let batches = Scan::new(train).threads(0).range(start as u64..end as u64).batches(1000);
    let got: Vec<i32> = batches
        .unwrap()
        .flat_map(|batch| {
            let batch = batch.unwrap();
            (0..batch.rows()).map(|row| value(&batch, row)).collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(got, (start..end).map(|n| n as i32).collect::<Vec<_>>());
    let read = counting.take();
    for file in &read {
        let known =
            ["train/shards_list.json", "train/0/shards_list.json", "train/0/0/shards_list.json"]
                .into_iter()
                .chain([
                    "train/0/1/shards_list.json",
                    "train/0/0/999.fb",
                    "train/0/1/0.fb",
                    "train/0/1/1.fb",
                ]);
        assert!(known.into_iter().any(|k| k == file.as_str()), "{file} was read");
    }
    assert_eq!(read.len(), 7);
}

#[test]
fn many_look_ups_in_one_long_list_take_no_time() {
    // A flat list as releases up to 0.1.3 wrote them.
    let root = MemoryRoot::new();
    let count = 100_000;
    let entries: Vec<_> =
        (0..count).map(|n| shard_entry(&format!("train/{n}.fb"), "00", 1)).collect();
    let at = "train/shards_list.json";
    put(&root, at, list(at, count, &entries, &[]));
    let train = pointer(at, "00", count, count as usize);
    put(&root, "dataset_info.json", document("fb", "", ATTRIBUTES, &train));
    let (_, train) = opened(root);
    let warm = train.shards(0).next().unwrap().unwrap();
    assert_eq!(warm.path, path("train/0.fb"));
    let start = std::time::Instant::now();
    for index in (0..count).step_by(1000) {
        let shard = train.shards(index).next().unwrap().unwrap();
        assert_eq!((shard.first, shard.path), (index, path(&format!("train/{index}.fb"))));
    }
    // Reading the list again for each of them would take minutes.
    assert!(start.elapsed().as_secs() < 30, "{:?}", start.elapsed());
}

#[test]
fn every_index_of_golden_trees_is_what_a_scan_yields_there() {
    for name in ["fb_tree_fillers", "fb_tree_small_branching", "npz_distributed", "tfrec_none"] {
        let data = golden_folder("sedpack").join(name).join("data");
        let (_, train) = opened(LocalRoot::open(data).unwrap());
        let bytes = |batch: &Batch, row| -> Vec<Vec<u8>> {
            batch.sample(row).unwrap().values().map(|v| v.bytes.to_vec()).collect()
        };
        let mut all = Vec::new();
        for shard in Scan::new(Arc::clone(&train)).threads(2).shards() {
            let shard = shard.unwrap();
            all.extend((0..shard.batch.rows()).map(|row| bytes(&shard.batch, row)));
        }
        assert_eq!(all.len() as u64, train.len(), "{name}");
        // Backwards, one by one, and with repeats.
        let mut indices: Vec<u64> = (0..train.len()).rev().collect();
        indices.extend([0, 0, train.len() - 1]);
        let got = gather(train.as_ref(), &indices, None, &mut ReadContext::default()).unwrap();
        for (row, index) in indices.iter().enumerate() {
            assert!(bytes(&got, row) == all[*index as usize], "{name} index {index}");
        }
        let error = gather(train.as_ref(), &[train.len()], None, &mut ReadContext::default());
        assert_eq!(error.unwrap_err().code(), "ops/index_out_of_range");
    }
}
