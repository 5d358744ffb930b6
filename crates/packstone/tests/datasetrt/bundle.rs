//! A saved description of a dataset restores its table, its epoch and how it is read.

use std::sync::Arc;

use packstone::formats::datasetrt::options::OpenOptions;
use packstone::formats::datasetrt::parts::runtime::{ActiveDataset, Bundle, ReaderConfig, Runtime};
use packstone::{Limits, LocalRoot, Root};
use packstone_testkit::good_cases;

use crate::kit;

fn drawn(dataset: &ActiveDataset) -> Vec<(u64, u64)> {
    let samples = dataset.pass().samples().map(|sample| {
        let identity = sample.unwrap().view().identity();
        (identity.cache_id, identity.sample_id)
    });
    samples.collect()
}

#[test]
fn a_saved_dataset_comes_back_as_it_was() {
    let case = good_cases("datasetrt").into_iter().find(|c| c.name == "mixed_v2_v3").unwrap();
    let paths = kit::paths(&case);
    let roots = || kit::roots(&case, &paths);
    let config = ReaderConfig::new(42).with_shuffle(true);
    let joint = kit::open_roots(roots()).unwrap();
    let dataset = ActiveDataset::new(joint, config, Runtime::new(1)).unwrap();
    dataset.select(&[8, 0, 3, 3]).unwrap();
    dataset.reweight(vec![1.0, 2.0, 0.5, 4.0]).unwrap();
    dataset.set_epoch_len(7).unwrap();
    let temp = tempfile::tempdir().unwrap();
    let folder = LocalRoot::open(temp.path()).unwrap();
    dataset.bundle(paths.clone()).unwrap().write(&folder).unwrap();
    let root: Arc<dyn Root> = Arc::new(LocalRoot::open(temp.path()).unwrap());
    let bundle = Bundle::read(root.as_ref(), &Limits::default()).unwrap();
    let restored = bundle.restore(roots(), &OpenOptions::default()).unwrap();
    assert_eq!((restored.rows(), restored.epoch_len()), (4, 7));
    assert_eq!(drawn(&restored), drawn(&dataset));
}
