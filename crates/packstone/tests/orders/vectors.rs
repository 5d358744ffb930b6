//! The vectors of `tests/golden/loader/`, which another program computed from `docs/loader.md`.

use std::sync::Arc;

use packstone::json::{ReadOptions, Value, read};
use packstone::loader::{
    Balanced, Blocks, Distinct, Indices, Mixture, Order, Shuffled, Source, Stop, Weighted, Weights,
};
use packstone::random::nth;
use packstone_testkit::golden_folder;

fn cases(name: &str) -> Vec<Value> {
    let bytes = std::fs::read(golden_folder("loader").join("vectors.json")).unwrap();
    let all = read(&bytes, &ReadOptions::default()).unwrap().value;
    all.get(name).unwrap().as_array().unwrap().to_vec()
}

fn number(case: &Value, name: &str) -> u64 {
    case.get(name).unwrap().as_u64().unwrap()
}

fn numbers(case: &Value, name: &str) -> Vec<u64> {
    let list = case.get(name).unwrap().as_array().unwrap();
    list.iter().map(|value| value.as_u64().unwrap()).collect()
}

fn doubles(case: &Value, name: &str) -> Vec<f64> {
    let list = case.get(name).unwrap().as_array().unwrap();
    list.iter().map(|value| value.as_f64().unwrap()).collect()
}

fn stop(case: &Value) -> Stop {
    match case.get("stop").unwrap().as_str().unwrap() {
        "first" => Stop::First,
        _ => Stop::All,
    }
}

/// Every position of the case's epoch.
fn all(order: &dyn Order, case: &Value) -> Vec<u64> {
    let drawn = order.epoch(number(case, "epoch")).unwrap();
    assert_eq!((drawn.at(order.len()), drawn.at(u64::MAX)), (None, None));
    (0..order.len()).map(|position| drawn.at(position).unwrap()).collect()
}

#[test]
fn random_numbers() {
    for case in cases("nth") {
        assert_eq!(nth(number(&case, "seed"), number(&case, "index")), number(&case, "number"));
    }
}

#[test]
fn shuffled() {
    for case in cases("shuffled") {
        let order = Shuffled::new(number(&case, "len"), number(&case, "seed")).unwrap();
        let drawn = order.epoch(number(&case, "epoch")).unwrap();
        let (positions, indices) = (numbers(&case, "positions"), numbers(&case, "indices"));
        let found: Vec<u64> = positions.iter().map(|p| drawn.at(*p).unwrap()).collect();
        assert_eq!(found, indices, "{case}");
        let permutation = order.permutation(number(&case, "epoch"));
        for (position, index) in positions.iter().zip(&indices) {
            assert_eq!(permutation.position_of(*index), Some(*position));
        }
    }
}

#[test]
fn indices() {
    for case in cases("indices") {
        let order = Indices::new(numbers(&case, "list"), number(&case, "samples")).unwrap();
        let order = order.shuffled(number(&case, "seed")).unwrap();
        assert_eq!(all(&order, &case), numbers(&case, "indices"));
    }
}

#[test]
fn blocks() {
    for case in cases("blocks") {
        let rows = numbers(&case, "rows");
        let order = Blocks::new(rows, number(&case, "window"), number(&case, "seed")).unwrap();
        assert_eq!(all(&order, &case), numbers(&case, "indices"));
    }
}

#[test]
fn weighted() {
    for case in cases("weighted") {
        let weights = Arc::new(Weights::new(doubles(&case, "weights")).unwrap());
        let whole: Vec<u64> = (0..weights.rows()).map(|row| weights.whole(row)).collect();
        assert_eq!(whole, numbers(&case, "whole"), "{case}");
        let order = Weighted::new(weights, number(&case, "seed")).with_draws(40);
        assert_eq!(all(&order, &case), numbers(&case, "indices"));
    }
}

#[test]
fn distinct() {
    for case in cases("distinct") {
        let weights = Arc::new(Weights::new(doubles(&case, "weights")).unwrap());
        let order = Distinct::new(weights, number(&case, "seed"));
        assert_eq!(all(&order, &case), numbers(&case, "indices"), "{case}");
    }
}

#[test]
fn balanced() {
    for case in cases("balanced") {
        let values = numbers(&case, "values");
        let order = Balanced::new(&values, stop(&case), number(&case, "seed")).unwrap();
        assert_eq!(all(&order, &case), numbers(&case, "indices"));
    }
}

#[test]
fn mixtures() {
    for case in cases("mixture") {
        let sizes = numbers(&case, "sizes");
        let sources = sizes.iter().zip(numbers(&case, "ratios")).enumerate();
        let sources = sources.map(|(at, (samples, ratio))| {
            let order = Shuffled::new(*samples, at as u64).unwrap();
            Source { order: Arc::new(order), samples: *samples, ratio }
        });
        let order = Mixture::new(sources.collect(), stop(&case), number(&case, "seed")).unwrap();
        assert_eq!(all(&order, &case), numbers(&case, "indices"), "{case}");
    }
}
