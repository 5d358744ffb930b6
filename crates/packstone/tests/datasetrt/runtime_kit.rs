//! Caches made for the runtime's tests, and what is read of them.

use std::path::Path;
use std::sync::Arc;

use packstone::formats::datasetrt::document::Algo;
use packstone::formats::datasetrt::options::WriterOptions;
use packstone::formats::datasetrt::parts::runtime::{ActiveDataset, DrawnSample, Pass};
use packstone::formats::datasetrt::parts::runtime::{ReaderConfig, Runtime};
use packstone::formats::datasetrt::writer::CacheWriter;
use packstone::json::{Object, Value};
use packstone::model::{Batch, Column, DType, Field, Schema};
use packstone::{LocalRoot, Root, RootMut};
use packstone_io::Buf;

/// The payload of a sample: it begins with its number and has a length of its own.
pub(crate) fn payload(sample: u64) -> Vec<u8> {
    let mut bytes = sample.to_le_bytes().to_vec();
    bytes.resize(8 + (sample as usize * 7) % 40, sample as u8);
    bytes
}

/// What is said about a sample.
pub(crate) fn metadata(sample: u64) -> Object {
    let mut object = Object::new();
    object.insert("even", sample.is_multiple_of(2));
    object.insert("label", sample % 10);
    object.insert("name", format!("sample {sample}"));
    object
}

/// Writes the cache `name` of so many samples into `folder`.
pub(crate) fn write(folder: &Path, name: &str, samples: u64, algo: Algo, shard_bytes: u64) {
    let schema = Arc::new(Schema::new(vec![Field::new("data", DType::Bytes, [])]));
    let mut options = WriterOptions::default().with_threads(0);
    (options.algo, options.max_shard_bytes) = (algo, shard_bytes);
    let root: Arc<dyn RootMut> = Arc::new(LocalRoot::open(folder).unwrap());
    let mut writer = CacheWriter::create(root, name, &schema, None, &options).unwrap();
    let (mut data, mut ends, mut runs) = (Vec::new(), Vec::new(), Vec::new());
    for sample in 0..samples {
        data.extend(payload(sample));
        ends.push(data.len());
        runs.push((ends.len(), Arc::new(metadata(sample))));
    }
    let column = Column::ragged(Buf::from(data), ends).unwrap();
    let batch = Batch::new(schema, samples as usize, vec![column]).unwrap();
    writer.write(&batch.with_metadata_runs(runs).unwrap()).unwrap();
    writer.finish().unwrap();
}

pub(crate) fn open(runtime: &Runtime, folders: &[&Path], config: &ReaderConfig) -> ActiveDataset {
    let root = |folder: &&Path| -> Arc<dyn Root> { Arc::new(LocalRoot::open(folder).unwrap()) };
    runtime.open(folders.iter().map(root).collect(), config).unwrap()
}

/// The number of a sample, once all that was read of it is as it was written.
pub(crate) fn checked(sample: DrawnSample<'_>) -> u64 {
    let number = sample.identity().sample_id;
    assert_eq!(sample.get("data").unwrap().bytes, payload(number));
    assert_eq!(&sample.buf(0).unwrap()[..], payload(number));
    assert_eq!(*sample.metadata().unwrap(), metadata(number));
    number
}

/// The samples of a pass one by one.
pub(crate) fn one_by_one(pass: Pass) -> Vec<u64> {
    pass.samples().map(|sample| checked(sample.unwrap().view())).collect()
}

/// The samples of a pass in batches, which have their words too.
pub(crate) fn in_batches(pass: Pass, size: usize) -> Vec<u64> {
    let mut found = Vec::new();
    for drawn in pass.metadata(true).identities(true).batches(size).unwrap() {
        let drawn = drawn.unwrap();
        for (row, sample) in drawn.samples().enumerate() {
            let (number, batch) = (checked(sample), drawn.batch().unwrap());
            assert_eq!(batch.columns()[0].bytes(row).unwrap(), payload(number));
            assert_eq!(**batch.metadata(row).unwrap(), metadata(number));
            let id = batch.identity(row).unwrap().get("sample_id").and_then(Value::as_u64);
            assert_eq!(id, Some(number));
            found.push(number);
        }
        assert!(drawn.len() <= size);
    }
    found
}
