//! The draws of DatasetRT as an order: those of its own sampler, epoch by epoch.

use std::sync::Arc;

use packstone::Kind;
use packstone::formats::datasetrt::parts::draws::{Population, Weights};
use packstone::formats::datasetrt::parts::sampler::{self, Sampler};
use packstone::loader::{Fingerprint, native};
use packstone_testkit::golden_folder;

use crate::fake::sized;

#[test]
fn epochs_are_the_windows_of_the_sampler() {
    let path = golden_folder("datasetrt").join("v3_basic_none/data/basic_none_s1");
    let dataset = packstone::open(path).unwrap();
    let collection = dataset.collection(&dataset.collections()[0]).unwrap();
    let rows = collection.len();
    let weights: Vec<f64> = (1..=rows).map(|row| row as f64).collect();
    let summed = Arc::new(Weights::new(weights.iter().copied()).unwrap());
    for (weights, population) in
        [(None, Population::Equal(rows)), (Some(&weights[..]), Population::Weighted(summed))]
    {
        let order = native(collection.as_ref(), 42, weights).unwrap();
        assert_eq!((order.len(), order.name(), order.version()), (rows, "datasetrt", 1));
        let mut sampler = Sampler::new(population, sampler::Order::Shuffled(42)).unwrap();
        for epoch in 0..4 {
            let drawn = order.epoch(epoch).unwrap();
            let found: Vec<u64> = (0..rows).map(|position| drawn.at(position).unwrap()).collect();
            assert_eq!(found, sampler.reserve().collect::<Vec<_>>());
            assert_eq!(drawn.at(rows), None);
        }
    }
    let params = |weights| native(collection.as_ref(), 42, weights).unwrap().params().len();
    assert!(params(None) < params(Some(&weights)));
    let wrong = native(collection.as_ref(), 42, Some(&weights[1..])).unwrap_err();
    assert_eq!(wrong.code(), "datasetrt/table_invalid");
}

/// Frozen by the original: see the sampler's own tests.
#[test]
fn ten_rows_are_drawn_as_the_original_draws_them() {
    let order =
        packstone::formats::datasetrt::parts::native::NativeOrder::new(10, 42, None).unwrap();
    let drawn = packstone::loader::Order::epoch(&order, 0).unwrap();
    let found: Vec<u64> = (0..10).map(|position| drawn.at(position).unwrap()).collect();
    assert_eq!(found, [9, 5, 4, 3, 7, 1, 5, 5, 1, 0]);
    let drawn = packstone::loader::Order::epoch(&order, 1).unwrap();
    let found: Vec<u64> = (0..10).map(|position| drawn.at(position).unwrap()).collect();
    assert_eq!(found, [0, 6, 5, 0, 9, 8, 3, 8, 6, 7]);
}

#[test]
fn datasets_of_every_format_have_fingerprints_that_repeat() {
    let mut digests = Vec::new();
    for (format, path) in [
        ("sedpack", "fb_lz4/data"),
        ("sedpack", "fb_gzip/data"),
        ("tensordict", "everything/data"),
        ("datasetrt", "v3_basic_none/data/basic_none_s1"),
        ("signal-dataset", "multi-shard/data"),
    ] {
        let of = || {
            let dataset = packstone::open(golden_folder(format).join(path)).unwrap();
            let collection = dataset.collection(&dataset.collections()[0]).unwrap();
            Fingerprint::of(dataset.as_ref(), collection.as_ref()).unwrap()
        };
        assert_eq!(of(), of(), "{path}");
        digests.push(of().digest);
    }
    digests.sort();
    digests.dedup();
    assert_eq!(digests.len(), 5);
}

#[test]
fn other_formats_have_none() {
    let error = native(&sized(&[3]), 1, None).unwrap_err();
    assert_eq!((error.code(), error.kind()), ("loader/no_native_order", Kind::Unsupported));
}
