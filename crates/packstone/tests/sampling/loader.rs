//! Seeds, partitions, budgets, permutations and batches of the original's loader.

use std::num::NonZeroU64;

use packstone::formats::datasetrt::codes;
use packstone::formats::datasetrt::parts::loader::{
    LoaderOptions, Partition, Population, batches, partition_rows, plans, shared_order,
    worker_budgets, worker_seed,
};
use packstone::formats::datasetrt::parts::permutation::permutation;
use packstone::formats::datasetrt::parts::sampler::{Order, Sampler};
use packstone::json::Value;

use crate::golden::{golden, list, number, numbers, one_cache, read};

fn size(n: u64) -> NonZeroU64 {
    NonZeroU64::new(n).unwrap()
}

#[test]
fn seeds_partitions_budgets_and_permutations_are_the_original_ones() {
    let golden = golden();
    let loader = golden.get("loader").unwrap();
    for case in list(loader, "derive_seed") {
        let id = |name| u32::try_from(number(case, name)).unwrap();
        let seed = worker_seed(number(case, "base"), id("rank"), id("worker"));
        assert_eq!(seed, number(case, "seed"), "{case}");
    }
    for case in list(loader, "partition_rows") {
        let (count, parts) = (number(case, "count"), number(case, "parts"));
        for (part, expected) in list(case, "spans").iter().enumerate() {
            let span = partition_rows(count, parts, part as u64);
            assert_eq!([span.offset, span.len], *numbers(expected), "{case}");
        }
    }
    for case in list(loader, "worker_budgets") {
        let budgets = worker_budgets(
            number(case, "samples"),
            number(case, "workers"),
            number(case, "populations"),
            size(number(case, "batch_size")),
        );
        assert_eq!(budgets, numbers(case.get("budgets").unwrap()), "{case}");
    }
    for case in list(loader, "split_permutation") {
        let rows = permutation(number(case, "count"), number(case, "seed")).unwrap();
        let first = numbers(case.get("first").unwrap());
        assert_eq!(rows[..first.len()], first, "{case}");
        let mut sorted = rows.clone();
        sorted.sort_unstable();
        assert!(sorted.iter().copied().eq(0..rows.len() as u64));
    }
}

/// The options of a golden case.
fn options(value: &Value) -> LoaderOptions {
    let flag = |name: &str| value.get(name).and_then(Value::as_bool).unwrap_or(false);
    LoaderOptions {
        seed: flag("shuffle").then(|| number(value, "seed")),
        samples: value.get("samples_per_epoch").and_then(Value::as_u64),
        partition: value.get("worker_partition").map(|name| {
            assert_eq!(name.as_str(), Some("split"));
            Partition::Split
        }),
        batch_size: size(number(value, "batch_size")),
        workers: u32::try_from(number(value, "num_workers")).unwrap(),
        drop_last: flag("drop_last"),
        ..LoaderOptions::default()
    }
}

#[test]
fn batches_are_those_of_the_original_loader() {
    let golden = golden();
    for case in list(golden.get("loader").unwrap(), "dataloader") {
        let rows = number(case, "population");
        let options = options(case.get("options").unwrap());
        let plans = plans(rows, rows, &options).unwrap();
        let order = shared_order(rows, &plans).unwrap();
        let mut readers: Vec<_> = plans
            .iter()
            .map(|plan| {
                let chosen = Population::new(rows, plan, order.clone());
                let chosen: Vec<_> = chosen.rows().map(|row| row as usize).collect();
                let table = one_cache(rows).select(&chosen).unwrap();
                let order = options.seed.map_or(Order::Table, |_| Order::Shuffled(plan.seed));
                let mut sampler = Sampler::new(table.population(), order).unwrap();
                sampler.set_epoch_len(plan.samples).unwrap();
                (table, sampler)
            })
            .collect();
        for expected in list(case, "passes") {
            let windows: Vec<_> =
                readers.iter_mut().map(|(_, sampler)| sampler.reserve()).collect();
            let found: Vec<Vec<u64>> = batches(&plans, options.batch_size, options.drop_last)
                .map(|batch| {
                    let worker = batch.worker as usize;
                    let span = batch.samples.offset..batch.samples.offset + batch.samples.len;
                    span.map(|sample| windows[worker].row(sample).unwrap())
                        .map(|row| readers[worker].0.identity(row).unwrap().sample_id)
                        .collect()
                })
                .collect();
            assert_eq!(found.len() as u64, number(case, "len"), "{case}");
            let expected: Vec<_> = expected.as_array().unwrap().iter().map(numbers).collect();
            assert_eq!(found, expected, "{case}");
        }
    }
}

#[test]
fn plans_and_populations_are_the_original_ones() {
    let file = read("loader_plans.json");
    let cases = list(&file, "cases");
    assert_eq!(cases.len(), 240);
    for case in cases {
        let [rows, samples, seed, partition, batch_size, workers, drop_last, rank, ranks, expected] =
            case.as_array().unwrap()
        else {
            panic!("{case}")
        };
        let narrow = |value: &Value| u32::try_from(value.as_u64().unwrap()).unwrap();
        let rows = rows.as_u64().unwrap();
        let options = LoaderOptions {
            seed: seed.as_u64(),
            samples: samples.as_u64(),
            partition: Some(match partition.as_str().unwrap() {
                "split" => Partition::Split,
                _ => Partition::Replicate,
            }),
            batch_size: size(batch_size.as_u64().unwrap()),
            workers: narrow(workers),
            drop_last: drop_last.as_bool().unwrap(),
            rank: narrow(rank),
            ranks: narrow(ranks),
        };
        let plans = plans(rows, 1, &options).unwrap();
        let order = shared_order(rows, &plans).unwrap();
        let expected = expected.as_array().unwrap();
        assert_eq!(plans.len(), expected.len(), "{case}");
        for (plan, expected) in plans.iter().zip(expected) {
            let expected = expected.as_array().unwrap();
            assert_eq!(plan.samples, expected[0].as_u64().unwrap(), "{case}");
            assert_eq!(plan.seed, expected[1].as_u64().unwrap(), "{case}");
            let population = Population::new(rows, plan, order.clone());
            assert_eq!(population.rows().collect::<Vec<_>>(), numbers(&expected[2]), "{case}");
            assert_eq!(population.row(population.len()), None);
        }
    }
}

#[test]
fn plans_of_nothing_are_refused() {
    let refused = |rows, epoch_len, options: &LoaderOptions| {
        plans(rows, epoch_len, options).map(|_| ()).map_err(|error| error.code())
    };
    let options = LoaderOptions::default();
    assert_eq!(refused(1, 1, &options), Ok(()));
    assert_eq!(refused(0, 1, &options), Err(codes::SAMPLING_INVALID));
    assert_eq!(refused(1, 0, &options), Err(codes::SAMPLING_INVALID));
    assert_eq!(refused(1, (1 << 53) + 1, &options), Err(codes::SAMPLING_INVALID));
    let other = LoaderOptions { rank: 2, ranks: 2, ..LoaderOptions::default() };
    assert_eq!(refused(1, 1, &other), Err(codes::SAMPLING_INVALID));
    assert_eq!(partition_rows(10, 3, 3).len, 0);
    assert_eq!(partition_rows(10, 0, 0).len, 0);
    // The largest numbers do not overflow.
    let most = LoaderOptions {
        batch_size: NonZeroU64::MAX,
        workers: 3,
        ranks: u32::MAX,
        drop_last: true,
        partition: Some(Partition::Split),
        ..LoaderOptions::default()
    };
    assert!(plans(u64::MAX, 1 << 53, &most).unwrap().iter().all(|plan| plan.samples == 0));
}

#[test]
fn batches_come_from_each_worker_in_turn_until_it_has_no_more() {
    let options = LoaderOptions { workers: 3, batch_size: size(3), ..LoaderOptions::default() };
    let plans = plans(14, 14, &options).unwrap();
    let order: Vec<_> = batches(&plans, size(3), false)
        .map(|batch| (batch.worker, batch.samples.offset, batch.samples.len))
        .collect();
    assert_eq!(order, [(0, 0, 3), (1, 0, 3), (2, 0, 3), (0, 3, 3), (2, 3, 2)]);
    assert_eq!(batches(&plans, size(3), true).count(), 4);
}
