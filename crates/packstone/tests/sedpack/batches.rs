//! Batches and selections of golden datasets: what is stacked, what stays ragged, what is not opened.

use std::sync::Arc;

use packstone::format::{Collection, Dataset, ReadContext};
use packstone::formats::sedpack::codes;
use packstone::formats::sedpack::reader::SedpackDataset;
use packstone::json::Value;
use packstone::ops::{Scan, Selection};
use packstone::{Kind, Limits, LocalRoot};
use packstone_io::CountingRoot;
use packstone_testkit::golden_folder;

fn opened(name: &str) -> (Arc<CountingRoot<LocalRoot>>, SedpackDataset) {
    let data = golden_folder("sedpack").join(name).join("data");
    let root = Arc::new(CountingRoot::new(LocalRoot::open(data).unwrap()));
    let dataset = SedpackDataset::open(Arc::clone(&root) as _, &Limits::default()).unwrap();
    (root, dataset)
}

fn rows(collection: &Arc<dyn Collection>) -> Vec<Vec<Vec<u8>>> {
    let shards = Scan::new(Arc::clone(collection)).threads(0).shards();
    let batches: Vec<_> = shards.map(|shard| shard.unwrap().batch).collect();
    let samples = batches.iter().flat_map(|b| b.samples());
    samples.map(|s| s.values().map(|v| v.bytes.to_vec()).collect()).collect()
}

#[test]
fn batches_cross_shards_stack_fixed_columns_and_keep_variable_ones_apart() {
    for name in ["fb_all_dtypes", "fb_text_and_bytes", "fb_fixed_bytes", "npz_text_and_bytes"] {
        let (_, dataset) = opened(name);
        let train = dataset.collection("train").unwrap();
        let all = rows(&train);
        for size in [1, 2, 7] {
            for threads in [0, 4] {
                let scan = Scan::new(Arc::clone(&train)).threads(threads);
                let (mut sizes, mut got) = (Vec::new(), Vec::new());
                for batch in scan.batches(size).unwrap() {
                    let batch = batch.unwrap();
                    sizes.push(batch.rows());
                    for (field, column) in batch.schema().fields.iter().zip(batch.columns()) {
                        let dense = column.as_dense().map(|data| data.len() as u64);
                        let stacked = field.value_bytes().map(|n| n * batch.rows() as u64);
                        let due = if field.varies() { None } else { stacked };
                        assert_eq!(dense, due, "{name} {}", field.key);
                    }
                    got.extend(
                        batch
                            .samples()
                            .map(|s| s.values().map(|v| v.bytes.to_vec()).collect::<Vec<_>>()),
                    );
                }
                assert!(got == all, "{name} by {size} on {threads} threads");
                let (last, full) = sizes.split_last().unwrap();
                assert!(full.iter().all(|n| *n == size) && *last <= size, "{name}: {sizes:?}");
            }
        }
    }
}

#[test]
fn shards_are_chosen_by_what_is_said_of_them_and_only_those_are_opened() {
    let (root, dataset) = opened("tiny_aes_like");
    let train = dataset.collection("train").unwrap();
    let listed: Vec<_> = train.shards(0).map(|shard| shard.unwrap()).collect();
    let key = listed[1].metadata.get("key").unwrap().clone();
    root.take();
    let wanted = key.clone();
    let selection =
        Selection::new().filter(move |shard| shard.metadata.get("key") == Some(&wanted));
    let chosen = selection.select(train.shards(0)).unwrap();
    assert!(!chosen.is_empty() && chosen.len() < listed.len());
    assert!(root.take().iter().all(|file| file.name() == "shards_list.json"));
    for shard in &chosen {
        assert_eq!(shard.metadata.get("key"), Some(&key));
        let batch = train.read(shard, None, &mut ReadContext::default()).unwrap();
        assert_eq!(batch.rows() as u64, shard.rows);
        assert_eq!(
            batch.metadata(0).and_then(|m| m.get("key")).map(Value::to_string),
            Some(key.to_string())
        );
    }
    let opened: Vec<_> = root.take();
    assert_eq!(opened, chosen.iter().map(|s| s.path.clone()).collect::<Vec<_>>());
}

#[test]
fn a_split_that_is_not_there_and_one_that_is_empty_end_at_once() {
    let (_, dataset) = opened("fb_empty");
    for name in ["train", "nope", ""] {
        let error = dataset.collection(name).err().unwrap();
        assert_eq!((error.code(), error.kind()), (codes::UNKNOWN_SPLIT, Kind::NotFound));
    }
    let (_, dataset) = opened("fb_none");
    let error = dataset.collection("holdout").err().unwrap();
    assert!(error.message().contains("train"), "{error}");
    let train = dataset.collection("train").unwrap();
    assert_eq!(Scan::new(Arc::clone(&train)).range(3..3).batches(4).unwrap().count(), 0);
    assert_eq!(Scan::new(Arc::clone(&train)).range(90..99).shards().count(), 0);
    let error = Scan::new(Arc::clone(&train)).batches(0).err().unwrap();
    assert_eq!(error.code(), "ops/batch_size");
    let error = Scan::new(train).fields(&["nope"]).err().unwrap();
    assert_eq!(error.code(), "model/unknown_field");
}

#[test]
fn some_attributes_alone_read_as_they_do_among_all() {
    for name in ["fb_all_dtypes", "npz_all_dtypes", "tfrec_none", "fb_lz4"] {
        let (_, dataset) = opened(name);
        let train = dataset.collection("train").unwrap();
        let all = rows(&train);
        let names: Vec<_> = train.schema().fields.iter().map(|f| f.key.to_string()).collect();
        for positions in [vec![0], vec![names.len() - 1, 0]] {
            let fields: Vec<_> = positions.iter().map(|p| &names[*p]).collect();
            let scan = Scan::new(Arc::clone(&train)).threads(2).fields(&fields).unwrap();
            let mut got = Vec::new();
            for batch in scan.batches(2).unwrap() {
                let batch = batch.unwrap();
                got.extend(
                    batch
                        .samples()
                        .map(|s| s.values().map(|v| v.bytes.to_vec()).collect::<Vec<_>>()),
                );
            }
            let due: Vec<Vec<_>> =
                all.iter().map(|row| positions.iter().map(|p| row[*p].clone()).collect()).collect();
            assert!(got == due, "{name} {fields:?}");
        }
    }
}
