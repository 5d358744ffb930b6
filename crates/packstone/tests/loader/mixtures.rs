//! Several datasets of any formats in one loader, by ratio.

use std::sync::Arc;

use packstone::format::{Collection, Dataset};
use packstone::json;
use packstone::json::Value;
use packstone::loader::{
    Blocks, Fingerprint, Loader, LoaderOptions, Mixture, Order, Sequential, Share, Shuffled,
    Source, Stop,
};
use packstone::model::DType;

use crate::kit::{Made, numbers, options, written};

/// A dataset, a collection of it, and how many of its samples stand against those of the others.
type Part = (Arc<dyn Dataset>, Arc<dyn Collection>, u64);

/// The same samples in every format, with the ratio of each.
fn everywhere() -> Vec<Part> {
    let made: Arc<dyn Collection> = Arc::new(Made::new(60, 8));
    let all: [(&str, Value, u64); 5] = [
        ("sedpack", json!({"compression": "ZSTD", "examples_per_shard": 7}), 3),
        ("tensordict", json!({}), 1),
        ("datasetrt", json!({"compression": "lz4", "max_shard_bytes": 600}), 2),
        ("sds", json!({"records_per_shard": 9}), 2),
        ("arrayrecord", json!({"group_size": 4}), 1),
    ];
    let write = |(id, options, ratio): (&str, Value, u64)| {
        let dataset = written(&made, id, &options);
        let collection = dataset.collection(&dataset.collections()[0]).unwrap();
        assert_eq!(collection.len(), 60, "{id}");
        (dataset, collection, ratio)
    };
    all.into_iter().map(write).collect()
}

fn mixture(all: &[Part], stop: Stop) -> Mixture {
    let source = |(at, (_, collection, ratio)): (usize, &(_, Arc<dyn Collection>, u64))| {
        let order: Arc<dyn Order> = match at % 3 {
            0 => Arc::new(Shuffled::new(60, 5).unwrap()),
            1 => Arc::new(Sequential::new(60)),
            _ => Arc::new(Blocks::of(collection.as_ref(), 2, 5).unwrap()),
        };
        Source { order, samples: 60, ratio: *ratio }
    };
    Mixture::new(all.iter().enumerate().map(source).collect(), stop, 9).unwrap()
}

fn joined(all: &[Part]) -> Fingerprint {
    let each = all.iter().map(|(dataset, collection, _)| {
        Fingerprint::of(dataset.as_ref(), collection.as_ref()).unwrap()
    });
    Fingerprint::joined(&each.collect::<Vec<_>>())
}

fn mixed_loader(
    all: &[Part],
    order: &Arc<dyn Order>,
    share: Share,
    options: LoaderOptions,
) -> packstone::Result<Loader> {
    let collections = all.iter().map(|(_, collection, _)| Arc::clone(collection)).collect();
    let options = options.with_fields(["n"]);
    Loader::new(collections, joined(all), Arc::clone(order), share, options)
}

#[test]
fn datasets_of_all_formats_are_mixed_by_ratio() {
    let all = everywhere();
    for stop in [Stop::First, Stop::All] {
        let mixture = Arc::new(mixture(&all, stop));
        let order: Arc<dyn Order> = Arc::clone(&mixture) as _;
        let drawn = order.epoch(0).unwrap();
        for threads in [0, 2] {
            let share = Share::alone(9).unwrap();
            let loader = mixed_loader(&all, &order, share, options(threads)).unwrap();
            let mut position = 0;
            for delivery in loader.map(Result::unwrap) {
                let mut counts = [0; 5];
                for (number, index) in numbers(&delivery).into_iter().zip(&delivery.indices) {
                    let Some(index) = index else { continue };
                    assert_eq!(drawn.at(position), Some(*index));
                    let (source, own) = mixture.locate(*index).unwrap();
                    assert_eq!(number, own, "the sample of source {source}");
                    counts[source] += 1;
                    position += 1;
                }
                // A batch is a block of the mixture here.
                assert!(counts == [3, 1, 2, 2, 1] || position == order.len(), "{counts:?}");
            }
            assert_eq!(position, order.len());
        }
    }
}

#[test]
fn a_mixture_goes_on_with_other_ranks() {
    let all = everywhere();
    let order: Arc<dyn Order> = Arc::new(mixture(&all, Stop::All));
    let indices = |loader: &mut Loader, steps: usize| -> Vec<u64> {
        let taken = loader.take(steps).map(Result::unwrap);
        taken
            .flat_map(|delivery| delivery.indices.into_iter().flatten().collect::<Vec<_>>())
            .collect()
    };
    let alone = Share::alone(4).unwrap();
    let loading = |share, threads| mixed_loader(&all, &order, share, options(threads)).unwrap();
    let want = indices(&mut loading(alone, 0), usize::MAX);
    for steps in [0, 1, 17, want.len().div_ceil(4)] {
        let mut first = loading(alone, 2);
        let mut got = indices(&mut first, steps);
        let state = first.state();
        assert!(state.to_string().len() < 1024);
        let mut ranks: Vec<Loader> =
            (0..3).map(|rank| loading(Share::new(rank, 3, 2).unwrap(), 1)).collect();
        ranks.iter_mut().for_each(|rank| rank.restore(&state).unwrap());
        while ranks[0].steps_left() > 0 {
            ranks.iter_mut().for_each(|rank| got.extend(indices(rank, 1)));
        }
        assert_eq!(got, want, "{steps}");
    }
}

#[test]
fn the_fingerprint_covers_every_dataset_and_their_order() {
    let all = everywhere();
    let state = mixed_loader(
        &all,
        &(Arc::new(mixture(&all, Stop::All)) as Arc<dyn Order>),
        Share::alone(4).unwrap(),
        options(0),
    )
    .unwrap()
    .state();
    let refused = |others: &[Part]| {
        let order: Arc<dyn Order> = Arc::new(mixture(others, Stop::All));
        let share = Share::alone(4).unwrap();
        let mut loader = mixed_loader(others, &order, share, options(0)).unwrap();
        loader.restore(&state).unwrap_err().code().to_owned()
    };
    for at in 0..all.len() {
        // The same numbers of samples under other names, from another file.
        let mut others = all.clone();
        let other: Arc<dyn Collection> = Arc::new(Made::new(60, 6));
        let dataset = written(&other, "sedpack", &json!({"seed": 3, "examples_per_shard": 6}));
        let collection = dataset.collection("made").unwrap();
        others[at] = (dataset, collection, all[at].2);
        assert_eq!(refused(&others), "loader/state_dataset", "{at}");
    }
    let mut turned = all.clone();
    turned.swap(1, 4);
    assert_eq!(refused(&turned), "loader/state_dataset");
    let mut ratios = all.clone();
    ratios[0].2 = 4;
    assert_eq!(refused(&ratios), "loader/state_order");
}

#[test]
fn datasets_with_other_fields_are_refused() {
    let mut all = everywhere();
    let wide: Arc<dyn Collection> = Arc::new(Made::wide(60, 8, 16));
    let dataset = written(&wide, "sedpack", &json!({}));
    let collection = dataset.collection("made").unwrap();
    assert_eq!(collection.schema().fields[0].dtype, DType::Int64);
    all[2] = (dataset, collection, 1);
    let order: Arc<dyn Order> = Arc::new(mixture(&all, Stop::First));
    let share = Share::alone(4).unwrap();
    let error = mixed_loader(&all, &order, share, options(0)).err().unwrap();
    assert_eq!(error.code(), "loader/schemas_differ");
    assert!(error.message().contains("\"made\""), "{error}");
}
