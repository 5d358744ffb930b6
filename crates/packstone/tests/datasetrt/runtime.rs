//! Real caches through the runtime: the original's sequences, resumed, abandoned, on any number of threads.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use packstone::expr::Expr;
use packstone::formats::datasetrt::codes;
use packstone::formats::datasetrt::document::Algo;
use packstone::formats::datasetrt::parts::loader::{LoaderOptions, batches, plans, shared_order};
use packstone::formats::datasetrt::parts::runtime::{ActiveDataset, ReaderConfig, Runtime};
use packstone::formats::datasetrt::parts::table::Identity;
use packstone::json::{self, ReadOptions, Value};

use crate::runtime_kit::{self, in_batches, one_by_one, write};
use crate::sequences::{double, golden, list, number, numbers};

/// Caches by their number of samples, made when they are asked for.
struct Caches {
    folder: tempfile::TempDir,
    made: HashMap<u64, PathBuf>,
}

impl Caches {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), made: HashMap::new() }
    }

    fn of(&mut self, samples: u64) -> PathBuf {
        let base = self.folder.path();
        let made = self.made.entry(samples).or_insert_with(|| {
            let name = format!("c{samples}");
            let algo = if samples % 3 == 1 { Algo::Lz4 } else { Algo::None };
            // Some shards each.
            write(base, &name, samples, algo, samples * 20);
            base.join(name)
        });
        made.clone()
    }

    /// The dataset of a golden case, as it is before its first epoch.
    fn setting(&mut self, case: &Value, threads: usize) -> ActiveDataset {
        let path = self.of(number(case, "population"));
        let shuffle = case.get("shuffle").and_then(Value::as_bool).unwrap();
        let config = ReaderConfig::new(number(case, "seed")).with_shuffle(shuffle);
        let config = config.with_prefetch_size(1 + threads as u64 * 7);
        let dataset = runtime_kit::open(&Runtime::new(threads), &[&path], &config);
        if !case.get("rows").unwrap().is_null() {
            let rows = numbers(case.get("rows").unwrap());
            let rows: Vec<usize> = rows.iter().map(|row| *row as usize).collect();
            dataset.select(&rows).unwrap();
        }
        if !case.get("weights").unwrap().is_null() {
            dataset.reweight(list(case, "weights").iter().map(double).collect()).unwrap();
        }
        dataset
    }
}

/// Through its text, as it would be kept in a file.
fn again(state: &Value) -> Value {
    json::read(state.to_string().as_bytes(), &ReadOptions::default()).unwrap().value
}

#[test]
fn every_sequence_of_the_original_is_read_on_any_number_of_threads() {
    let (golden, mut caches) = (golden(), Caches::new());
    let mut epochs = 0;
    for (turn, case) in list(&golden, "cases").iter().enumerate() {
        let threads = [0, 1, 2, 8][turn % 4];
        let (one, many) = (caches.setting(case, threads), caches.setting(case, 2));
        for (len, expected) in list(case, "epoch_lens").iter().zip(list(case, "epochs")) {
            let (len, expected) = (len.as_u64().unwrap(), numbers(expected));
            one.set_epoch_len(len).unwrap();
            many.set_epoch_len(len).unwrap();
            assert_eq!(one_by_one(one.pass()), expected, "{case}");
            assert_eq!(in_batches(many.pass(), 1 + turn % 9), expected, "{case}");
            epochs += 1;
        }
    }
    assert_eq!(epochs, 86);
}

#[test]
fn reading_goes_on_from_any_position() {
    let (golden, mut caches) = (golden(), Caches::new());
    let mut resumed = 0;
    for case in list(&golden, "cases").iter().step_by(5) {
        let dataset = caches.setting(case, 2);
        let lens = numbers(case.get("epoch_lens").unwrap());
        let epochs: Vec<_> = list(case, "epochs").iter().map(numbers).collect();
        for (epoch, len) in lens.iter().enumerate() {
            dataset.set_epoch_len(*len).unwrap();
            let (mut samples, mut at) = (dataset.pass().samples(), 0);
            let states: Vec<Value> = std::iter::from_fn(|| {
                let state = samples.state().unwrap();
                assert_eq!(samples.position(), at);
                at += 1;
                samples.next().map(|sample| sample.map(|_| again(&state)).unwrap())
            })
            .collect();
            assert_eq!(states.len() as u64, *len);
            for (position, state) in states.iter().enumerate().step_by(17) {
                let other = caches.setting(case, position % 3);
                let rest = match other.resume(state).unwrap() {
                    Some(pass) => one_by_one(pass),
                    // Before the first sample nothing is reserved.
                    None => {
                        assert_eq!(position, 0);
                        other.set_epoch_len(*len).unwrap();
                        one_by_one(other.pass())
                    }
                };
                assert_eq!(rest, epochs[epoch][position..], "{case}");
                for (later, len) in lens.iter().enumerate().skip(epoch + 1) {
                    other.set_epoch_len(*len).unwrap();
                    assert_eq!(in_batches(other.pass(), 5), epochs[later], "{case}");
                }
                resumed += 1;
            }
        }
    }
    assert!(resumed > 50, "{resumed}");
}

#[test]
fn batches_know_where_they_are() {
    let mut caches = Caches::new();
    let path = caches.of(65);
    let config = ReaderConfig::new(9);
    let dataset = runtime_kit::open(&Runtime::new(2), &[&path], &config);
    let all = one_by_one(dataset.pass());
    let fresh = || runtime_kit::open(&Runtime::new(0), &[&path], &config);
    let other = fresh();
    let mut passed = other.pass().batches(10).unwrap();
    assert_eq!(passed.next().unwrap().unwrap().len(), 10);
    assert_eq!(passed.next().unwrap().unwrap().len(), 10);
    assert_eq!(passed.position(), 20);
    let state = again(&passed.state().unwrap());
    assert_eq!(one_by_one(fresh().resume(&state).unwrap().unwrap()), all[20..]);
    // What a resumed pass tells leads on as well.
    let third = fresh();
    let mut rest = third.resume(&state).unwrap().unwrap().samples();
    rest.by_ref().take(5).for_each(drop);
    let state = rest.state().unwrap();
    assert_eq!(one_by_one(fresh().resume(&state).unwrap().unwrap()), all[25..]);
}

#[test]
fn a_pass_that_is_abandoned_counts_and_one_that_never_began_does_not() {
    let mut caches = Caches::new();
    let path = caches.of(10);
    let config = ReaderConfig::new(5);
    let dataset = runtime_kit::open(&Runtime::new(1), &[&path], &config);
    let all: Vec<u64> = (0..3).flat_map(|_| one_by_one(dataset.pass())).collect();

    let dataset = runtime_kit::open(&Runtime::new(1), &[&path], &config);
    let early = dataset.pass().samples();
    let mut first = dataset.pass().samples();
    assert_eq!(first.next().unwrap().unwrap().view().identity().sample_id, all[0]);
    assert_eq!(one_by_one(dataset.pass()), all[10..20]);
    drop(first);
    // It reserves its window only now.
    assert_eq!(early.map(|s| s.unwrap().view().row()).collect::<Vec<_>>(), all[20..]);
    // Clones draw from one sequence.
    let dataset = runtime_kit::open(&Runtime::new(1), &[&path], &config);
    dataset.clone().pass().samples().next();
    assert_eq!(one_by_one(dataset.pass()), all[10..20]);
}

#[test]
fn workers_read_what_those_of_the_original_loader_read() {
    let (golden, mut caches) = (golden(), Caches::new());
    for case in list(golden.get("loader").unwrap(), "dataloader") {
        let rows = number(case, "population");
        let value = case.get("options").unwrap();
        let flag = |name: &str| value.get(name).and_then(Value::as_bool).unwrap_or(false);
        let options = LoaderOptions {
            seed: flag("shuffle").then(|| number(value, "seed")),
            samples: value.get("samples_per_epoch").and_then(Value::as_u64),
            partition: value
                .get("worker_partition")
                .map(|_| packstone::formats::datasetrt::parts::loader::Partition::Split),
            batch_size: number(value, "batch_size").try_into().unwrap(),
            workers: number(value, "num_workers") as u32,
            drop_last: flag("drop_last"),
            ..LoaderOptions::default()
        };
        let dataset =
            runtime_kit::open(&Runtime::new(1), &[&caches.of(rows)], &ReaderConfig::new(0));
        let plans = plans(rows, rows, &options).unwrap();
        let order = shared_order(rows, &plans).unwrap();
        let shuffle = options.seed.is_some();
        let worker = |plan| dataset.worker(plan, shuffle, order.clone()).unwrap();
        let workers: Vec<_> = plans.iter().map(worker).collect();
        for expected in list(case, "passes") {
            let read: Vec<_> = workers.iter().map(|worker| one_by_one(worker.pass())).collect();
            let found = batches(&plans, options.batch_size, options.drop_last).map(|batch| {
                let span = batch.samples;
                read[batch.worker as usize][span.offset as usize..][..span.len as usize].to_vec()
            });
            let expected = expected.as_array().unwrap().iter().map(numbers);
            assert_eq!(found.collect::<Vec<_>>(), expected.collect::<Vec<_>>(), "{case}");
        }
    }
}

fn two(threads: usize, config: &ReaderConfig) -> (tempfile::TempDir, ActiveDataset) {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "a", 20, Algo::None, 300);
    write(folder.path(), "b", 13, Algo::Lz4, 300);
    let paths: [&Path; 2] = [&folder.path().join("a"), &folder.path().join("b")];
    let dataset = runtime_kit::open(&Runtime::new(threads), &paths, config);
    (folder, dataset)
}

#[test]
fn the_table_is_changed_as_a_whole_or_not_at_all() {
    let config = ReaderConfig::new(3).with_shuffle(false);
    let (_folder, dataset) = two(2, &config);
    assert_eq!((dataset.rows(), dataset.epoch_len()), (33, 33));
    let codes = |result: Result<(), packstone::Error>| result.map_err(|error| error.code());
    dataset.set_epoch_len(4).unwrap();
    assert_eq!(one_by_one(dataset.pass()), [0, 1, 2, 3]);
    let table = dataset.table().unwrap().to_table().unwrap();
    for refused in [
        codes(dataset.select(&[33])),
        codes(dataset.select(&[])),
        codes(dataset.replace(table.select(&[]).unwrap())),
        codes(dataset.reweight(vec![1.0; 32])),
        codes(dataset.filter(&Expr::parse("label > 100").unwrap())),
    ] {
        assert_eq!(refused, Err(codes::TABLE_INVALID));
    }
    assert_eq!(codes(dataset.reweight(vec![0.0; 33])), Err(codes::WEIGHT_INVALID));
    assert_eq!(codes(dataset.reweight(vec![1e308; 33])), Err(codes::WEIGHT_INVALID));
    assert_eq!(codes(dataset.set_epoch_len(0)), Err(codes::SAMPLING_INVALID));
    assert!(dataset.filter(&Expr::parse("nosuch == 1").unwrap()).is_err());
    // All that was refused has changed nothing.
    assert_eq!(one_by_one(dataset.pass()), [4, 5, 6, 7]);
    assert_eq!(dataset.rows(), 33);

    let before = dataset.pass().samples();
    dataset.filter(&Expr::parse("label == 3 and even == false").unwrap()).unwrap();
    assert_eq!((dataset.rows(), dataset.epoch_len()), (3, 3));
    let read = |dataset: &ActiveDataset| -> Vec<(u64, u64)> {
        let samples = dataset.pass().samples().map(Result::unwrap);
        samples.map(|s| (s.view().row(), s.view().identity().sample_id)).collect()
    };
    assert_eq!(read(&dataset), [(0, 3), (1, 13), (2, 3)]);
    dataset.select(&[2, 2, 0]).unwrap();
    assert_eq!(read(&dataset), [(0, 3), (1, 3), (2, 3)]);
    let first = dataset.table().unwrap().identity(0).unwrap();
    let second_cache = dataset.joint().caches()[1].cache_id;
    assert_eq!(first, Identity { cache_id: second_cache, sample_id: 3 });
    // What had not begun reads the table that there is when it begins.
    assert_eq!(before.count(), 3);
}

#[test]
fn a_window_keeps_the_table_that_it_began_with() {
    let (_folder, dataset) = two(0, &ReaderConfig::new(1).with_prefetch_size(2));
    let mut samples = dataset.pass().samples();
    let first = samples.next().unwrap().unwrap();
    dataset.select(&[5]).unwrap();
    let rest = samples.by_ref().map(|s| s.unwrap().view().row());
    assert_eq!(rest.count(), 32);
    assert_eq!(samples.state().unwrap_err().code(), codes::STATE_INVALID);
    assert!(first.view().row() < 33);
    assert_eq!(one_by_one(dataset.pass()), [5]);
}

#[test]
fn a_state_of_something_else_is_refused_by_name() {
    let config = ReaderConfig::new(8);
    let (_folder, dataset) = two(1, &config);
    let mut samples = dataset.pass().samples();
    samples.next();
    let state = again(&samples.state().unwrap());
    assert!(state.to_string().len() < 600, "{state}");
    let refused = |state: &Value, dataset: &ActiveDataset| {
        let before = dataset.state().unwrap();
        let error = dataset.resume(state).map(|_| ()).unwrap_err();
        assert_eq!(dataset.state().unwrap(), before);
        (error.code(), error.place().json_path.clone().unwrap_or_default())
    };
    for (name, value, code) in [
        ("format", Value::from("other"), codes::STATE_INVALID),
        ("version", Value::from(2), codes::STATE_VERSION),
        ("caches", Value::from("00"), codes::STATE_INVALID),
        ("table", Value::from("00"), codes::STATE_INVALID),
        ("sampler", Value::Null, codes::STATE_INVALID),
        ("sampler", packstone::json!({ "format": "other" }), codes::STATE_INVALID),
    ] {
        let mut changed = state.clone();
        changed.as_object_mut().unwrap().insert(name, value);
        let (found, path) = refused(&changed, &dataset);
        assert_eq!(found, code, "{name}");
        assert!(path.starts_with(&format!("$.{name}")), "{name}: {path}");
    }
    let (_other, seeded) = two(1, &ReaderConfig::new(9));
    assert_eq!(refused(&state, &seeded).1, "$.sampler.seed");
    // The same weights of other samples.
    let (_other, turned) = two(1, &config);
    dataset.select(&[0, 1, 2]).unwrap();
    turned.select(&[2, 1, 0]).unwrap();
    assert_eq!(refused(&dataset.state().unwrap(), &turned).1, "$.table");
    turned.select(&[2, 1, 0]).unwrap();
    assert!(turned.resume(&dataset.state().unwrap()).unwrap().is_none());
}
