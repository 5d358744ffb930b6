//! What each rank will read, and weights and keys from metadata.

use std::sync::Arc;

use packstone::format::Collection;
use packstone::json::{ReadOptions, Value, read};
use packstone::loader::{
    Blocks, PlanOptions, Remainder, Sequential, Shuffled, keys_of, plan, weights_of,
};

use crate::fake::sized;

fn options(world_size: u32, batch: u64) -> PlanOptions {
    let mut options = PlanOptions::default();
    (options.world_size, options.batch) = (world_size, batch);
    options
}

#[test]
fn every_rank_is_told_what_it_reads() {
    let collection = sized(&[10, 0, 10, 5]);
    let mut options = options(2, 4);
    options.workers = 3;
    options.stored = Some(2_500);
    let found = plan(&collection, &Sequential::new(25), &options).unwrap();
    assert_eq!((found.len, found.steps, found.dropped, found.shards), (25, 4, 0, 4));
    let [first, second] = &found.ranks[..] else { panic!("{found:?}") };
    assert_eq!((first.samples, first.filled, first.steps), (13, 3, 4));
    assert_eq!((second.samples, second.filled, second.steps), (12, 4, 4));
    assert_eq!(first.first, [0, 1, 2, 3, 8, 9, 10, 11]);
    assert_eq!((first.bytes, first.shards, second.shards), (Some(13 * 12), 3, 3));
    assert_eq!((first.stored, second.stored), (Some(1_300), Some(1_200)));
    assert_eq!(first.worker_steps, [2, 1, 1]);
    options.remainder = Remainder::Drop;
    let found = plan(&collection, &Sequential::new(25), &options).unwrap();
    assert_eq!((found.steps, found.dropped, found.ranks[1].samples), (3, 1, 12));
    options.from = 20;
    let found = plan(&collection, &Sequential::new(25), &options).unwrap();
    assert_eq!((found.steps, found.dropped, found.ranks[0].samples), (0, 5, 0));
}

#[test]
fn samples_of_all_readers_are_the_epoch_and_replicas_read_the_same() {
    let collection = sized(&[100; 10]);
    for remainder in Remainder::ALL {
        let mut options = options(8, 7);
        (options.replicas, options.remainder) = (2, remainder);
        let found = plan(&collection, &Shuffled::new(1000, 3).unwrap(), &options).unwrap();
        let leaders = found.ranks.iter().step_by(2);
        assert_eq!(leaders.map(|rank| rank.samples).sum::<u64>() + found.dropped, 1000);
        for pair in found.ranks.chunks(2) {
            assert_eq!((pair[0].reader, &pair[0].first), (pair[1].reader, &pair[1].first));
        }
    }
    options(3, 1).replicas = 2;
    let mut wrong = options(3, 1);
    wrong.replicas = 2;
    let error = plan(&collection, &Sequential::new(1000), &wrong).unwrap_err();
    assert_eq!(error.code(), "loader/share_invalid");
}

#[test]
fn blocks_touch_few_shards_at_a_time_and_large_plans_are_cut_short() {
    let collection = sized(&[100; 10]);
    let order = Blocks::of(&collection, 2, 1).unwrap();
    let mut options = options(1, 10);
    options.examine = 200;
    let found = plan(&collection, &order, &options).unwrap();
    assert_eq!((found.ranks[0].examined, found.ranks[0].shards), (200, 2));
    let found = plan(&collection, &Shuffled::new(1000, 1).unwrap(), &options).unwrap();
    assert_eq!((found.ranks[0].examined, found.ranks[0].shards), (200, 10));
}

#[test]
fn weights_and_keys_come_from_metadata() {
    let mut collection = sized(&[2, 1, 2]);
    let metadata = |text: &str| read(text.as_bytes(), &ReadOptions::default()).unwrap().value;
    let with = |texts: [&str; 3], fake: &mut crate::fake::Fake| -> Arc<dyn Collection> {
        fake.metadata = texts.map(metadata).to_vec();
        Arc::new(fake.clone())
    };
    let told = with(
        [
            r#"{"w":1,"k":"a","o":{"w":true}}"#,
            r#"{"w":0.5,"k":7,"o":{"w":false}}"#,
            r#"{"w":18446744073709551615,"k":"a","o":{"w":2}}"#,
        ],
        &mut collection,
    );
    let most = u64::MAX as f64;
    assert_eq!(weights_of(&told, "w", 0).unwrap(), [1.0, 1.0, 0.5, most, most]);
    assert_eq!(weights_of(&told, "o.w", 0).unwrap(), [1.0, 1.0, 0.0, 2.0, 2.0]);
    assert_eq!(keys_of(&told, "k", 0).unwrap(), [0, 0, 1, 0, 0]);
    for (name, record) in [("k", 0), ("nosuch", 0), ("o", 0)] {
        let error = weights_of(&told, name, 0).unwrap_err();
        assert_eq!((error.code(), error.place().record), ("loader/column_invalid", Some(record)));
    }
    let partly = with([r#"{"k":1}"#, "{\"j\":2}", r#"{"k":1.0}"#], &mut collection);
    assert_eq!(keys_of(&partly, "k", 0).unwrap_err().place().record, Some(2));
    let doubles = with([r#"{"k":1}"#, r#"{"k":1.0}"#, r#"{"k":true}"#], &mut collection);
    assert_eq!(keys_of(&doubles, "k", 0).unwrap(), [0, 0, 1, 2, 2]);
    let _: Value = metadata("{}");
}
