//! Are draws as likely as they should be, and independent of each other? At fixed seeds, by chi-square.
//!
//! A statistic with f degrees of freedom has the mean f and the variance 2f. [`deviations`] says how many standard
//! deviations above the mean it lies; by chance alone that is more than 4 for one of ten thousand tests or fewer.

use std::sync::Arc;

use packstone::loader::{Blocks, Distinct, Order, Shuffled, Weighted, Weights};
use packstone::random::Random;

const BOUND: f64 = 4.0;

fn deviations(found: &[u64], expected: impl Fn(usize) -> f64) -> f64 {
    let terms = found.iter().enumerate().map(|(at, found)| {
        let expected = expected(at);
        assert!(expected >= 5.0, "too few draws to judge by: {expected}");
        (*found as f64 - expected).powi(2) / expected
    });
    let (statistic, freedom) = (terms.sum::<f64>(), found.len() as f64 - 1.0);
    (statistic - freedom) / (2.0 * freedom).sqrt()
}

fn uniform(found: &[u64]) -> f64 {
    let total: u64 = found.iter().sum();
    let expected = total as f64 / found.len() as f64;
    deviations(found, |_| expected)
}

fn bin(index: u64, len: u64, bins: u64) -> usize {
    usize::try_from(u128::from(index) * u128::from(bins) / u128::from(len)).unwrap()
}

#[test]
fn the_test_notices_what_is_not_uniform() {
    assert!(uniform(&[100, 100, 100, 160]) > BOUND);
    assert!(uniform(&[100, 104, 97, 99]) < BOUND);
}

#[test]
fn every_order_of_few_samples_is_as_likely_as_the_others() {
    for len in 2..=6u64 {
        let orders = (1..=len).product::<u64>() as usize;
        let shuffled = Shuffled::new(len, 2024).unwrap();
        let mut found = vec![0u64; orders];
        for epoch in 0..(orders as u64 * 50).max(5_000) {
            let drawn = shuffled.permutation(epoch);
            let all: Vec<u64> = (0..len).map(|position| drawn.at(position).unwrap()).collect();
            // Its place among all orders, by how many later ones are smaller.
            let place = all.iter().enumerate().fold(0, |place, (at, index)| {
                let smaller = all[at..].iter().filter(|other| *other < index).count();
                place * (all.len() - at) + smaller
            });
            found[place] += 1;
        }
        let z = uniform(&found);
        assert!(z.abs() < BOUND, "{len}: {z}");
    }
}

#[test]
fn every_position_has_every_sample_equally_often() {
    for (len, seed) in [(7u64, 1u64), (10, 2), (63, 3), (64, 4), (100, 5), (4_097, 6)] {
        let shuffled = Shuffled::new(len, seed).unwrap();
        let bins = if len <= 100 { len } else { 64 };
        for position in [0, 1, len / 2, len - 1] {
            let mut found = vec![0u64; bins as usize];
            for epoch in 0..bins * 60 {
                let index = shuffled.permutation(epoch).at(position).unwrap();
                found[bin(index, len, bins)] += 1;
            }
            // Bins of 4,097 are of two sizes, which differ by less than this shows.
            let z = uniform(&found);
            assert!(z.abs() < BOUND, "{len}, {position}: {z}");
        }
    }
}

/// Counts pairs of bins that `pairs` fall in.
fn independent(len: u64, pairs: impl Iterator<Item = (u64, u64)>, what: &str) {
    const BINS: u64 = 24;
    let mut found = vec![0u64; (BINS * BINS) as usize];
    for (a, b) in pairs {
        found[bin(a, len, BINS) * BINS as usize + bin(b, len, BINS)] += 1;
    }
    let z = uniform(&found);
    assert!(z.abs() < BOUND, "{what} of {len}: {z}");
}

#[test]
fn neighbours_epochs_positions_and_seeds_are_independent() {
    for len in [5_000u64, 1 << 16, 1_000_003, 1 << 25, (1 << 40) + 1, (1 << 63) - 25] {
        let shuffled = Shuffled::new(len, 11).unwrap();
        let (now, next) = (shuffled.permutation(3), shuffled.permutation(4));
        let other = Shuffled::new(len, 12).unwrap().permutation(3);
        let count = len.min(12_000);
        let spread = || {
            (0..count).map(move |at| {
                u64::try_from(u128::from(at) * u128::from(len) / u128::from(count)).unwrap()
            })
        };
        let at = |position: u64| now.at(position % len).unwrap();
        independent(len, spread().map(|p| (p, at(p))), "position and sample");
        independent(len, (0..count).map(|p| (at(p), at(p + 1))), "neighbours");
        independent(len, spread().map(|p| (at(p), at(p + 1))), "far neighbours");
        independent(len, spread().map(|p| (at(p), at(p + len.isqrt() + 1))), "rows");
        independent(len, spread().map(|p| (at(p), next.at(p).unwrap())), "epochs");
        independent(len, spread().map(|p| (at(p), other.at(p).unwrap())), "seeds");
    }
}

#[test]
fn neighbours_stay_neighbours_as_seldom_as_by_chance() {
    let len = 200_000u64;
    let drawn = Shuffled::new(len, 8).unwrap().permutation(0);
    let all: Vec<u64> = (0..len).map(|position| drawn.at(position).unwrap()).collect();
    // A pair of neighbours is one of stored neighbours with probability 2/len: 2 are expected in all.
    let pairs = all.windows(2).filter(|pair| pair[0].abs_diff(pair[1]) == 1).count();
    assert!(pairs <= 10, "{pairs}");
    let fixed = (0..len).filter(|position| all[*position as usize] == *position).count();
    assert!(fixed <= 8, "{fixed}");
    let displaced: f64 = (0..len).map(|p| all[p as usize].abs_diff(p) as f64).sum();
    let share = displaced / len as f64 / (len as f64 / 3.0);
    assert!((share - 1.0).abs() < 0.01, "{share}");
}

/// More rows than other samplers take; weights of six orders of magnitude, and one row in sixteen of none.
#[test]
fn draws_among_33_million_rows_are_in_proportion() {
    const ROWS: usize = 1 << 25;
    const GROUP: usize = 1 << 16;
    const GROUPS: usize = ROWS / GROUP;
    let group = |factor: usize| -> Vec<f64> {
        let weight = |row| match row % 16 {
            0 => 0.0,
            rest => factor as f64 * [1e-3, 1.0, 1e3][rest % 3],
        };
        (0..GROUP).map(weight).collect()
    };
    let groups: Vec<Vec<f64>> = (1..=7).map(group).collect();
    let mut weights = Vec::with_capacity(ROWS);
    (0..GROUPS).for_each(|at| weights.extend_from_slice(&groups[at % 7]));
    let expected: Vec<f64> = (0..GROUPS).map(|at| groups[at % 7].iter().sum()).collect();
    let total: f64 = expected.iter().sum();
    let mut random = Random::new(99);
    let weights = Arc::new(Weights::new(weights).unwrap());
    assert_eq!(weights.drawable(), (ROWS - ROWS / 16) as u64);
    let order = Weighted::new(weights, random.next_u64()).with_draws(1 << 40);
    let drawn = order.epoch(0).unwrap();
    let (mut groups, mut classes, mut parity) = (vec![0u64; GROUPS], [0u64; 3], [0u64; 2]);
    const DRAWS: u64 = 400_000;
    // Positions from all over the epoch.
    for at in 0..DRAWS {
        let row = drawn.at(at * ((1 << 40) / DRAWS)).unwrap() as usize;
        assert_ne!(row % 16, 0, "row {row} weighs nothing");
        groups[row >> 16] += 1;
        classes[row % 16 % 3] += 1;
        parity[(row >> 5) & 1] += 1;
    }
    let z = deviations(&groups, |group| DRAWS as f64 * expected[group] / total);
    assert!(z.abs() < BOUND, "groups: {z}");
    // Five of fifteen rows are in each class.
    let light = DRAWS as f64 * 1e-3 / 1001.001;
    assert!((classes[0] as f64) < light + 6.0 * light.sqrt() + 1.0, "{classes:?}");
    let middle = DRAWS as f64 / 1001.001;
    assert!((classes[1] as f64 - middle).abs() < 5.0 * middle.sqrt(), "{classes:?}");
    assert!(uniform(&parity).abs() < BOUND, "{parity:?}");
}

#[test]
fn weighted_positions_and_epochs_are_independent() {
    let weights = Arc::new(Weights::new(vec![1.0; 24]).unwrap());
    let order = Weighted::new(weights, 5).with_draws(20_001);
    let (now, next) = (order.epoch(7).unwrap(), order.epoch(8).unwrap());
    let pair = |p| (now.at(p).unwrap(), now.at(p + 1).unwrap());
    independent(24, (0..20_000).map(pair), "neighbours");
    independent(24, (0..20_000).map(|p| (now.at(p).unwrap(), next.at(p).unwrap())), "epochs");
}

/// The second of two draws without replacement has the probability that drawing one after another gives it.
#[test]
fn pairs_without_replacement_are_in_proportion() {
    let weights = [1.0, 2.0, 4.0, 0.5, 2.5];
    let total: f64 = weights.iter().sum();
    let order = Distinct::new(Arc::new(Weights::new(weights.to_vec()).unwrap()), 31);
    let order = order.with_draws(2).unwrap();
    const EPOCHS: u64 = 30_000;
    let (mut found, mut expected) = (Vec::new(), Vec::new());
    let pairs: Vec<(u64, u64)> =
        (0..5).flat_map(|a| (0..5).filter(move |b| *b != a).map(move |b| (a, b))).collect();
    for (a, b) in &pairs {
        let (a, b) = (weights[*a as usize], weights[*b as usize]);
        found.push(0);
        expected.push(EPOCHS as f64 * a / total * b / (total - a));
    }
    for epoch in 0..EPOCHS {
        let drawn = order.epoch(epoch).unwrap();
        let pair = (drawn.at(0).unwrap(), drawn.at(1).unwrap());
        found[pairs.iter().position(|p| *p == pair).unwrap()] += 1;
    }
    let z = deviations(&found, |at| expected[at]);
    assert!(z.abs() < BOUND, "{z}: {found:?} {expected:?}");
}

fn distinct_shards(order: &dyn Order, shard: u64, batch: usize) -> f64 {
    let drawn = order.epoch(1).unwrap();
    let all: Vec<u64> = (0..order.len()).map(|p| drawn.at(p).unwrap() / shard).collect();
    let batches: Vec<usize> = all
        .chunks_exact(batch)
        .map(|batch| {
            let mut shards = batch.to_vec();
            shards.sort_unstable();
            shards.dedup();
            shards.len()
        })
        .collect();
    batches.iter().sum::<usize>() as f64 / batches.len() as f64
}

#[test]
fn the_quality_of_blocks_is_what_batches_show() {
    let rows = vec![100u64; 100];
    for (window, expected) in [(1, 0.03), (16, 0.31), (50, 0.77), (100, 1.0)] {
        let order = Blocks::new(rows.clone(), window, 3).unwrap();
        let quality = order.quality(1, 64).unwrap();
        let found = distinct_shards(&order, 100, 64);
        assert!((found / quality.shards - 1.0).abs() < 0.1, "{window}: {found} {quality:?}");
        assert!((quality.fraction() - expected).abs() < 0.02, "{window}: {quality:?}");
        let shuffled = Shuffled::new(10_000, 3).unwrap();
        let of_shuffle = distinct_shards(&shuffled, 100, 64);
        assert!((of_shuffle / quality.shards_of_shuffle - 1.0).abs() < 0.02, "{quality:?}");
    }
}

#[test]
fn the_end_of_a_block_shuffle_is_no_worse_than_its_beginning() {
    // 33 shards by 16 at a time: eleven in each window, none is left alone.
    let order = Blocks::new(vec![50u64; 33], 16, 8).unwrap();
    let drawn = order.epoch(0).unwrap();
    let shards = |from: u64| {
        let mut shards: Vec<u64> = (from..from + 64).map(|p| drawn.at(p).unwrap() / 50).collect();
        shards.sort_unstable();
        shards.dedup();
        shards.len()
    };
    assert!(shards(0) >= 10 && shards(order.len() - 64) >= 10);
}

#[test]
fn blocks_of_empty_and_unequal_shards_are_bijections() {
    for (rows, window) in [
        (vec![0, 0, 0], 2u64),
        (vec![1, 0, 1000, 0, 3, 3, 0, 77], 2),
        (vec![5000, 1, 1, 1], 3),
        (vec![2; 500], 7),
        (vec![4; 10], u64::MAX),
    ] {
        let order = Blocks::new(rows.clone(), window, 6).unwrap();
        let drawn = order.epoch(2).unwrap();
        let mut all: Vec<u64> = (0..order.len()).map(|p| drawn.at(p).unwrap()).collect();
        all.sort_unstable();
        assert!(all.into_iter().eq(0..rows.iter().sum::<u64>()));
        assert_eq!(drawn.at(order.len()), None);
    }
    assert!(Blocks::new(vec![1], 0, 0).is_err() && Blocks::new(vec![u64::MAX, 5], 1, 0).is_err());
}
