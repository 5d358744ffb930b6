//! What a pass hands out: the content of every golden cache, of several fields, and what comes before a fault.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use packstone::format::{Collection, ReadContext};
use packstone::formats::datasetrt::codes;
use packstone::formats::datasetrt::document::Algo;
use packstone::formats::datasetrt::options::{OpenOptions, WriterOptions};
use packstone::formats::datasetrt::parts::joint::Joint;
use packstone::formats::datasetrt::parts::runtime::{ActiveDataset, ReaderConfig, Runtime};
use packstone::formats::datasetrt::reader::DatasetRtDataset;
use packstone::formats::datasetrt::writer::CacheWriter;
use packstone::json::{Object, Value};
use packstone::model::{Batch, Column, DType, Field, Schema};
use packstone::{Limits, LocalRoot, Root, RootMut};
use packstone_io::Buf;
use packstone_testkit::{Snapshot, good_cases};

use crate::kit;
use crate::runtime_kit::{self, payload, write};

/// Identity, metadata and values of all samples of some batches.
fn content<'b>(batches: impl IntoIterator<Item = &'b Batch>) -> Vec<String> {
    let one = |sample: packstone::model::Sample<'_>| {
        let values: Vec<_> = sample.values().map(|v| format!("{:?}", (v.shape, v.bytes))).collect();
        format!("{:?} {:?} {values:?}", sample.identity(), sample.metadata())
    };
    batches.into_iter().flat_map(|batch| batch.samples().map(one).collect::<Vec<_>>()).collect()
}

fn scanned(joint: &Joint) -> Vec<String> {
    let mut context = ReadContext { identities: true, ..ReadContext::default() };
    let read = |shard: packstone::Result<_>| joint.read(&shard.unwrap(), None, &mut context);
    content(&joint.shards(0).map(read).collect::<Result<Vec<_>, _>>().unwrap())
}

fn passed(dataset: &ActiveDataset, size: usize) -> Vec<String> {
    let pass = dataset.pass().metadata(true).identities(true).batches(size).unwrap();
    let batches: Vec<_> = pass.map(|drawn| drawn.unwrap().into_batch().unwrap()).collect();
    content(&batches)
}

#[test]
fn every_golden_dataset_is_read_as_a_scan_reads_it() {
    let ordered = ReaderConfig::new(0).with_shuffle(false);
    for (turn, case) in good_cases("datasetrt").iter().enumerate() {
        let before = Snapshot::of(&case.data);
        let joint = kit::open(case);
        let dataset =
            ActiveDataset::new(joint.clone(), ordered.clone(), Runtime::new(turn % 3)).unwrap();
        let want = scanned(&joint);
        assert_eq!(passed(&dataset, 3), want, "{}", case.name);
        // One by one, metadata are looked up.
        let samples = dataset.pass().samples().map(Result::unwrap);
        for (position, sample) in samples.enumerate() {
            let (view, mut context) = (sample.view(), ReadContext::default());
            let one = joint.get_at(position as u64, &mut context).unwrap();
            let metadata = one.metadata(0).cloned().unwrap_or_default();
            assert_eq!(format!("{:?}", view.metadata().unwrap()), format!("{metadata:?}"));
            assert_eq!(view.get("data").unwrap().bytes, one.columns()[0].bytes(0).unwrap());
            assert_eq!(view.row(), position as u64);
        }
        assert_eq!(Snapshot::of(&case.data), before);
    }
}

/// A cache with fields in tensors and columns, three shards.
fn fields(folder: &Path, samples: usize) -> ActiveDataset {
    let schema = Arc::new(Schema::new(vec![
        Field::new("image", DType::UInt8, [2, 3]),
        Field::new("text", DType::Str, []),
        Field::new("label", DType::Int32, []),
    ]));
    let image: Vec<u8> = (0..samples * 6).map(|n| n as u8).collect();
    let (mut text, mut ends) = (Vec::new(), Vec::new());
    for sample in 0..samples {
        text.extend(vec![b'x'; sample % 5]);
        ends.push(text.len());
    }
    let label: Vec<u8> = (0..samples as i32).flat_map(i32::to_le_bytes).collect();
    let columns = vec![
        Column::dense(Buf::from(image), 6, samples).unwrap(),
        Column::ragged(Buf::from(text), ends).unwrap(),
        Column::dense(Buf::from(label), 4, samples).unwrap(),
    ];
    let runs = (1..=samples).map(|row| {
        let object = Object::from_iter([("group", Value::from((row as u64 - 1) / 4))]);
        (row, Arc::new(object))
    });
    let batch = Batch::new(Arc::clone(&schema), samples, columns).unwrap();
    let batch = batch.with_metadata_runs(runs.collect()).unwrap();
    let mut options = WriterOptions::default().with_threads(0);
    (options.max_shard_bytes, options.columns) = (2000, vec!["label".to_owned()]);
    let root: Arc<dyn RootMut> = Arc::new(LocalRoot::open(folder).unwrap());
    let mut writer = CacheWriter::create(root, "f", &schema, None, &options).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    let config = ReaderConfig::new(4).with_prefetch_size(5);
    runtime_kit::open(&Runtime::new(2), &[&folder.join("f")], &config)
}

#[test]
fn samples_of_several_fields_are_drawn_and_projected() {
    let folder = tempfile::tempdir().unwrap();
    let dataset = fields(folder.path(), 30);
    assert!(dataset.joint().shard_count() > 1);
    let all = scanned(dataset.joint());
    let rows: Vec<u64> = dataset.pass().samples().map(|s| s.unwrap().view().row()).collect();
    assert_ne!(rows, (0..30).collect::<Vec<u64>>());
    let again = runtime_kit::open(&Runtime::new(1), &[&folder.path().join("f")], dataset.config());
    let found = passed(&again, 4);
    assert_eq!(found, rows.iter().map(|row| all[*row as usize].clone()).collect::<Vec<_>>());

    let some = dataset.pass().fields(&["label", "image"]).unwrap();
    for sample in some.samples() {
        let sample = sample.unwrap();
        let (view, number) = (sample.view(), sample.view().identity().sample_id);
        assert_eq!(view.value(0).unwrap().bytes, (number as i32).to_le_bytes());
        assert_eq!(view.get("image").unwrap().shape, [2, 3]);
        assert!(view.get("text").is_none() && view.buf(2).is_none());
        let group = view.metadata().unwrap();
        assert_eq!(group.get("group").and_then(Value::as_u64), Some(number / 4));
    }
    let unknown = dataset.pass().fields(&["nosuch"]).map(|_| ()).unwrap_err();
    assert_eq!(unknown.code(), "model/unknown_field");
    let none = dataset.pass().batches(0).map(|_| ()).unwrap_err();
    assert_eq!(none.code(), codes::SAMPLING_INVALID);
}

/// Changes a byte of the record of one sample.
fn damage(folder: &Path, sample: u64, within: u64) {
    let joint = kit::open_roots(vec![kit::local(folder)]).unwrap();
    let row = joint.caches()[0].row(sample).unwrap();
    let shard = folder.join(format!("shards/{:06}.bin", row.shard));
    let mut bytes = std::fs::read(&shard).unwrap();
    bytes[(row.offset + within) as usize] ^= 0xff;
    std::fs::write(shard, bytes).unwrap();
}

#[test]
fn good_samples_come_before_a_fault_and_nothing_after_it() {
    for algo in [Algo::None, Algo::Lz4] {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "c", 50, algo, 400);
        let path = folder.path().join("c");
        let fresh = |threads| {
            let config = ReaderConfig::new(6).with_prefetch_size(7);
            runtime_kit::open(&Runtime::new(threads), &[&path], &config)
        };
        let order: Vec<u64> = fresh(0).pass().samples().map(|s| s.unwrap().view().row()).collect();
        // The last byte of the length of the metadata, a letter of them.
        for (within, code) in [(7, codes::ENVELOPE_LENGTH), (10, codes::ENVELOPE_NOT_JSON)] {
            let bad = order[31];
            let first = order.iter().position(|sample| *sample == bad).unwrap();
            damage(&path, bad, within);
            for threads in [0, 1, 3] {
                let mut samples = fresh(threads).pass().samples();
                for expected in &order[..first] {
                    let sample = samples.next().unwrap().unwrap();
                    assert_eq!(sample.view().get("data").unwrap().bytes, payload(*expected));
                }
                let error = samples.next().unwrap().map(|_| ()).unwrap_err();
                assert_eq!((error.code(), error.place().record), (code, Some(bad)));
                assert!(error.place().file.as_deref().unwrap().contains("shards/"));
                assert!(samples.next().is_none() && samples.next().is_none());
                assert_eq!(samples.position(), first as u64);

                let mut batches = fresh(threads).pass().batches(20).unwrap();
                let mut good = 0;
                let error = loop {
                    match batches.next().unwrap() {
                        Ok(drawn) => {
                            good += drawn.len();
                            assert_eq!(drawn.batch().unwrap().rows(), drawn.len());
                        }
                        Err(error) => break error,
                    }
                };
                assert_eq!((good, error.code()), (first, code));
                assert!(batches.next().is_none());
            }
            damage(&path, bad, within);
        }
    }
}

#[test]
fn a_payload_that_does_not_decode_is_a_fault_of_its_sample() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "c", 20, Algo::Lz4, 1 << 20);
    let path = folder.path().join("c");
    let joint = kit::open_roots(vec![kit::local(&path)]).unwrap();
    let (_, _, record) = joint.caches()[0].record(11).unwrap();
    let start = joint.caches()[0].row(11).unwrap().offset;
    damage(&path, 11, record.payload.start as u64 - start);
    let config = ReaderConfig::new(0).with_shuffle(false);
    for threads in [0, 2] {
        let dataset = runtime_kit::open(&Runtime::new(threads), &[&path], &config);
        let mut samples = dataset.pass().samples();
        assert_eq!(samples.by_ref().take(11).filter(Result::is_ok).count(), 11);
        assert_eq!(samples.next().unwrap().map(|_| ()).unwrap_err().code(), codes::LZ4_LENGTH);
        let mut batches = dataset.pass().batches(8).unwrap();
        assert_eq!(batches.next().unwrap().unwrap().len(), 8);
        assert_eq!(batches.next().unwrap().unwrap().len(), 3);
        assert!(batches.next().unwrap().is_err());
    }
}

fn copy(folder: &Path, name: &str) -> PathBuf {
    let case = packstone_testkit::bad_cases("datasetrt").into_iter().find(|c| c.name == name);
    let target = folder.join(name);
    packstone_testkit::copy_folder(&case.unwrap().data, &target);
    let inside = std::fs::read_dir(&target).unwrap().next().unwrap().unwrap().path();
    if target.join("manifest.json").exists() { target } else { inside }
}

#[test]
fn what_is_compared_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let differs = copy(folder.path(), "envelope_value_differs");
    let ordered = ReaderConfig::new(0).with_shuffle(false);
    let compared = runtime_kit::open(&Runtime::new(1), &[&differs], &ordered);
    let error = compared.pass().samples().find_map(Result::err).unwrap();
    assert_eq!(error.code(), codes::ENVELOPE_VALUE_DIFFERS);
    let lax = Runtime::new(1).with_compare(false);
    let unseen = runtime_kit::open(&lax, &[&differs], &ordered);
    assert_eq!(unseen.pass().samples().filter(Result::is_ok).count() as u64, unseen.rows());

    let damaged = copy(folder.path(), "checksum_shard");
    let open = |validate| {
        let root: Arc<dyn Root> = Arc::new(LocalRoot::open(&damaged).unwrap());
        let config = ordered.clone().with_validate_cache(validate);
        Runtime::new(2).open(vec![root], &config).map(|_| ()).map_err(|error| error.code())
    };
    assert_eq!((open(false), open(true)), (Ok(()), Err(codes::CHECKSUM_MISMATCH)));
}

#[test]
fn tables_are_made_without_shards() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "c", 12, Algo::None, 100);
    let path = folder.path().join("c");
    let dataset = runtime_kit::open(&Runtime::new(1), &[&path], &ReaderConfig::new(0));
    std::fs::remove_dir_all(path.join("shards")).unwrap();
    let table = dataset.table().unwrap().to_table().unwrap();
    let names: Vec<&str> = table.columns().map(|(name, _)| name).collect();
    assert_eq!(names, ["cache_id", "sample_id", "even", "label", "name", "weight"]);
    dataset.filter(&packstone::expr::Expr::parse("label == 1").unwrap()).unwrap();
    assert_eq!(dataset.rows(), 2);
    assert!(dataset.pass().samples().next().unwrap().is_err());
}

#[test]
fn a_folder_of_caches_and_odd_settings_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "c", 3, Algo::None, 100);
    let root: Arc<dyn Root> = Arc::new(LocalRoot::open(folder.path()).unwrap());
    assert!(Runtime::new(1).open(vec![root], &ReaderConfig::new(0)).is_err());
    let joint = kit::open_roots(vec![kit::local(&folder.path().join("c"))]).unwrap();
    let none = ReaderConfig::new(0).with_prefetch_size(0);
    let error = ActiveDataset::new(joint, none, Runtime::default()).map(|_| ()).unwrap_err();
    assert_eq!(error.code(), codes::SAMPLING_INVALID);
    let opened =
        DatasetRtDataset::open_many(Vec::new(), &OpenOptions::default(), &Limits::default());
    assert!(opened.is_err());
}
