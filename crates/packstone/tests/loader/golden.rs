//! What the loader gives of golden datasets is what a scan gives, in the order asked for.

use std::sync::{Arc, OnceLock};

use packstone::format::Collection;
use packstone::loader::Delivery;
use packstone::ops::reopened;
use packstone::registry::format;
use packstone::{Limits, MemoryRoot, RootMut};
use packstone_testkit::{Snapshot, good_cases};

use crate::kit::{Row, as_signals, listed, loader, mixed, options, rows, stored};

/// Every collection of every golden dataset that can be read as a whole.
pub(crate) fn collections() -> &'static [Opened] {
    static ALL: OnceLock<Vec<Opened>> = OnceLock::new();
    ALL.get_or_init(open)
}

/// A collection with its name and its rows.
pub(crate) type Opened = (String, Arc<dyn Collection>, Vec<Row>);

fn open() -> Vec<Opened> {
    let mut all = Vec::new();
    for case in good_cases("sedpack").into_iter().filter(|case| case.name == "fb_zstd") {
        let root = Arc::new(MemoryRoot::default());
        let writable: Arc<dyn RootMut> = Arc::clone(&root) as _;
        as_signals(&case.data, &writable);
        let dataset = format("sds").unwrap().open(root, &Limits::default()).unwrap();
        let collection = reopened(dataset).unwrap().collection("train").unwrap();
        let rows = stored(&collection).unwrap();
        all.push(("signal-dataset made".to_owned(), collection, rows));
    }
    for format in ["sedpack", "tensordict", "datasetrt", "signal-dataset"] {
        for case in good_cases(format) {
            let Ok(dataset) = packstone::open(&case.data) else { continue };
            for name in dataset.collections() {
                let Ok(collection) = dataset.collection(&name) else { continue };
                if collection.len() > 3000 {
                    continue;
                }
                let Ok(rows) = stored(&collection) else { continue };
                if !rows.is_empty() {
                    all.push((format!("{format} {} {name}", case.name), collection, rows));
                }
            }
        }
    }
    all
}

fn drain(loader: packstone::loader::Loader) -> Vec<Delivery> {
    loader.map(|batch| batch.unwrap_or_else(|e| panic!("{e}"))).collect()
}

#[test]
fn every_collection_comes_in_any_order() {
    let mut formats = std::collections::BTreeMap::new();
    for (name, collection, all) in collections() {
        *formats.entry(name.split(' ').next().unwrap().to_owned()).or_insert(0) += 1;
        let len = all.len() as u64;
        let twice: Vec<u64> = mixed(len, 1).into_iter().chain(mixed(len, 2)).collect();
        let orders = [(0..len).collect(), mixed(len, 7), twice, (0..len).rev().collect()];
        for (at, order) in orders.into_iter().enumerate() {
            for threads in [0, 2] {
                let batch = 1 + (len + at as u64) % 9;
                let order_ = listed(order.clone());
                let got = drain(loader(collection, &order_, batch, options(threads)));
                let steps = (order.len() as u64).div_ceil(batch);
                assert_eq!(got.len() as u64, steps, "{name}");
                let mut rest = order.iter();
                for (step, delivery) in (0u64..).zip(&got) {
                    assert_eq!((delivery.step, delivery.batch.rows() as u64), (step, batch));
                    for (row, fresh) in rows(delivery).into_iter().zip(&delivery.mask) {
                        match rest.next() {
                            Some(index) => {
                                assert!(*fresh);
                                let want = &all[usize::try_from(*index).unwrap()];
                                assert_eq!(row, *want, "{name}, order {at}, step {step}");
                            }
                            None => assert!(!fresh && row.index.is_none()),
                        }
                    }
                }
                assert!(rest.next().is_none(), "{name}");
            }
        }
    }
    // Every format is among them, with more than a few.
    assert!(formats.len() == 4 && formats.values().all(|count| *count >= 4), "{formats:?}");
}

#[test]
fn loading_touches_no_file() {
    for case in good_cases("sedpack").iter().chain(&good_cases("datasetrt")).take(20) {
        let before = Snapshot::of(&case.data);
        let Ok(dataset) = packstone::open(&case.data) else { continue };
        for name in dataset.collections() {
            let Ok(collection) = dataset.collection(&name) else { continue };
            let order = listed(0..collection.len());
            loader(&collection, &order, 4, options(1)).for_each(drop);
        }
        assert!(before == Snapshot::of(&case.data), "{}", case.name);
    }
}
