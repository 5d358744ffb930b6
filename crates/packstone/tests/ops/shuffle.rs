//! Shuffled reading: frozen orders, whatever the threads.

use packstone::Kind;
use packstone::ops::Scan;
use packstone::random::Random;
use proptest::prelude::*;

use crate::fake::{FakeCollection, counted, numbers};

fn order(
    collection: &FakeCollection,
    seed: u64,
    buffer: usize,
    size: usize,
    threads: usize,
) -> Vec<i64> {
    let scan = Scan::new(collection.clone().arc()).threads(threads).shuffled(seed, buffer);
    scan.batches(size).unwrap().flat_map(|batch| numbers(&batch.unwrap())).collect()
}

/// The first numbers of SplitMix64 for the seed 1234567, as published with its reference code.
#[test]
fn numbers_are_those_of_splitmix64() {
    let mut random = Random::new(1_234_567);
    let found: Vec<u64> = (0..5).map(|_| random.next_u64()).collect();
    assert_eq!(
        found,
        [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821
        ]
    );
}

#[test]
fn small_numbers_are_even_and_shuffles_move_everything_everywhere() {
    let mut random = Random::new(7);
    let mut counts = [0u32; 6];
    (0..60_000).for_each(|_| counts[usize::try_from(random.below(6)).unwrap()] += 1);
    assert!(counts.iter().all(|count| (9_500..10_500).contains(count)), "{counts:?}");
    let mut places = [[0u32; 4]; 4];
    for _ in 0..24_000 {
        let mut items = [0, 1, 2, 3];
        random.shuffle(&mut items);
        items.iter().enumerate().for_each(|(at, item)| places[at][*item] += 1);
    }
    assert!(places.iter().flatten().all(|count| (5_600..6_400).contains(count)), "{places:?}");
    assert_eq!((random.below(0), random.below(1)), (0, 0));
    assert!((0..100).all(|_| random.below(u64::MAX) < u64::MAX));
    let mut none: [u8; 0] = [];
    random.shuffle(&mut none);
}

#[test]
fn orders_are_frozen() {
    let collection = counted("a", &[4, 4, 4, 4]);
    let mut items: Vec<u32> = (0..10).collect();
    Random::new(42).shuffle(&mut items);
    assert_eq!(items, FROZEN_LIST);
    assert_eq!(order(&collection, 42, 0, 3, 2), FROZEN_SHARDS);
    assert_eq!(order(&collection, 42, 6, 3, 2), FROZEN_SAMPLES);
}

#[test]
fn threads_and_batch_sizes_do_not_matter_and_seeds_do() {
    let collection = counted("a", &[7, 1, 0, 30, 2, 9]);
    let want = order(&collection, 5, 10, 4, 0);
    for threads in [0, 1, 4] {
        for size in [1, 7, 100] {
            assert_eq!(order(&collection, 5, 10, size, threads), want);
        }
    }
    assert_ne!(order(&collection, 6, 10, 4, 0), want);
    // Without a buffer the samples of a shard stay together, in their order.
    let shards: Vec<Vec<i64>> = Scan::new(collection.clone().arc())
        .shuffled(5, 10)
        .shards()
        .map(|s| numbers(&s.unwrap().batch))
        .collect();
    assert_eq!(shards.concat(), order(&collection, 5, 1, 4, 2));
    assert_ne!(shards.concat(), (0..49).collect::<Vec<_>>());
}

#[test]
fn a_range_is_shuffled_within_itself() {
    let collection = counted("a", &[5, 5, 5, 5]).arc();
    let scan = Scan::new(collection).range(3..12).shuffled(1, 4);
    let mut found: Vec<i64> = scan.batches(5).unwrap().flat_map(|b| numbers(&b.unwrap())).collect();
    assert_ne!(found, (3..12).collect::<Vec<_>>());
    found.sort_unstable();
    assert_eq!(found, (3..12).collect::<Vec<_>>());
}

#[test]
fn faults_come_out_and_sizes_of_zero_are_refused() {
    let collection = counted("a", &[5, 5, 5]).broken(1).arc();
    let results: Vec<_> =
        Scan::new(collection).shuffled(1, 4).batches(100).unwrap().take(9).collect();
    assert_eq!(
        results.iter().filter_map(|r| r.as_ref().err()).map(|e| e.code()).collect::<Vec<_>>(),
        ["fake/broken"]
    );
    let refused = Scan::new(counted("a", &[5]).arc()).shuffled(1, 4).batches(0).err().unwrap();
    assert_eq!((refused.code(), refused.kind()), ("ops/batch_size", Kind::Invalid));
}

proptest! {
    #[test]
    fn every_sample_comes_once(
        sizes in proptest::collection::vec(0usize..12, 0..12),
        seed: u64,
        buffer in 0usize..40,
        size in 1usize..20,
    ) {
        let collection = counted("a", &sizes);
        let mut found = order(&collection, seed, buffer, size, 1);
        found.sort_unstable();
        let all: i64 = sizes.iter().map(|n| i64::try_from(*n).unwrap()).sum();
        prop_assert_eq!(found, (0..all).collect::<Vec<_>>());
    }
}

/// All three were computed by a second implementation in Python, from the description in `ops/shuffle.rs`.
const FROZEN_LIST: [u32; 10] = [8, 3, 6, 5, 4, 0, 9, 2, 1, 7];
const FROZEN_SHARDS: [i64; 16] = [4, 5, 6, 7, 12, 13, 14, 15, 0, 1, 2, 3, 8, 9, 10, 11];
const FROZEN_SAMPLES: [i64; 16] = [4, 14, 7, 5, 0, 13, 2, 1, 8, 6, 12, 15, 10, 9, 11, 3];
