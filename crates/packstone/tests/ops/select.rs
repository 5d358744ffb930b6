//! Selections, balance and views, on collections of their own.

use std::sync::Arc;

use packstone::format::{Collection, ReadContext, ShardRef};
use packstone::json::Value;
use packstone::ops::{
    BalanceKey, ChosenSamples, DigestOptions, Scan, SelectedCollection, Selection, balanced,
    digest_collection, gather,
};
use packstone::{Error, Kind, Place};

use crate::fake::{FakeCollection, counted, numbers};

fn shards(collection: &FakeCollection) -> Vec<ShardRef> {
    collection.shards(0).map(Result::unwrap).collect()
}

fn view(sizes: &[usize], picked: &[usize]) -> SelectedCollection {
    let inner = counted("a", sizes);
    let all = shards(&inner);
    let picked = picked.iter().map(|at| all[*at].clone()).collect();
    SelectedCollection::new(inner.arc(), picked).unwrap()
}

#[test]
fn a_view_has_indices_of_its_own() {
    let view = view(&[3, 2, 0, 4], &[3, 1, 2, 1]);
    assert_eq!((view.len(), view.shard_count(), view.name()), (8, 4, "a"));
    let want = [5, 6, 7, 8, 3, 4, 3, 4];
    let listed: Vec<_> =
        view.shards(0).map(|s| s.map(|s| (s.number, s.first, s.rows)).unwrap()).collect();
    assert_eq!(listed, [(0, 0, 4), (1, 4, 2), (2, 6, 0), (3, 6, 2)]);
    let later: Vec<_> = view.shards(5).map(|s| s.unwrap().number).collect();
    assert_eq!(later, [1, 2, 3]);
    assert_eq!(view.shards(8).count(), 0);
    assert_eq!(view.shards(u64::MAX).count(), 0);

    let mut context = ReadContext::default();
    let asked = [7, 0, 5, 3, 4, 4];
    let got = gather(&view, &asked, None, &mut context).unwrap();
    let wanted: Vec<i64> = asked.iter().map(|at| want[usize::try_from(*at).unwrap()]).collect();
    assert_eq!(numbers(&got), wanted);
    assert_eq!(
        gather(&view, &[8], None, &mut context).unwrap_err().code(),
        "ops/index_out_of_range"
    );

    let view: Arc<dyn Collection> = Arc::new(view);
    for size in [1, 2, 3, 100] {
        let batches: Vec<_> =
            Scan::new(Arc::clone(&view)).batches(size).unwrap().map(Result::unwrap).collect();
        assert_eq!(batches.iter().flat_map(numbers).collect::<Vec<_>>(), want, "batches of {size}");
    }
    let part: Vec<_> =
        Scan::new(view).range(3..7).batches(9).unwrap().map(Result::unwrap).collect();
    assert_eq!(numbers(&part[0]), [8, 3, 4, 3]);
}

#[test]
fn views_refuse_what_is_not_theirs() {
    let view = view(&[3, 2], &[1]);
    let foreign = ShardRef { number: 1, ..view.shards(0).next().unwrap().unwrap() };
    let mut context = ReadContext::default();
    assert_eq!(view.read(&foreign, None, &mut context).unwrap_err().code(), "ops/foreign_shard");
    let original = shards(&counted("a", &[3, 2]))[0].clone();
    assert_eq!(view.read(&original, None, &mut context).unwrap_err().code(), "ops/foreign_shard");
    let huge = ShardRef { rows: u64::MAX, ..original };
    let inner = counted("a", &[3, 2]).arc();
    let refused = SelectedCollection::new(inner, vec![huge.clone(), huge]).err().unwrap();
    assert_eq!((refused.code(), refused.kind()), ("ops/too_many_samples", Kind::Limit));
}

#[test]
fn nothing_selected_is_an_empty_collection() {
    let inner = counted("a", &[3, 2]);
    let none = Selection::new().filter(|_| false).select(inner.shards(0)).unwrap();
    assert!(none.is_empty());
    let view: Arc<dyn Collection> = Arc::new(SelectedCollection::new(inner.arc(), none).unwrap());
    assert!(view.is_empty());
    assert_eq!(Scan::new(Arc::clone(&view)).batches(4).unwrap().count(), 0);
    assert_eq!(Scan::new(view).shuffled(1, 8).batches(4).unwrap().count(), 0);
    for repeat in [false, true] {
        for keys in [&[][..], &[BalanceKey::metadata("k")]] {
            assert_eq!(balanced(Vec::new(), keys, repeat).unwrap().count(), 0);
        }
    }
}

#[test]
fn a_fault_in_the_list_is_handed_on() {
    let fault = || Err(Error::new(Kind::Corrupt, "fake/list", Place::default(), "expected a list"));
    let mut listed: Vec<_> = counted("a", &[1, 1]).shards(0).collect();
    listed.push(fault());
    assert_eq!(Selection::new().first(-1).select(listed).unwrap_err().code(), "fake/list");
    // What is not asked for is not looked at.
    let mut listed: Vec<_> = counted("a", &[1, 1]).shards(0).collect();
    listed.push(fault());
    assert_eq!(Selection::new().first(2).select(listed).unwrap().len(), 2);
}

#[test]
fn limits_come_before_the_shuffle_which_follows_its_seed() {
    let inner = counted("a", &[1; 20]);
    let chosen = |seed| {
        let selection =
            Selection::new().filter(|shard| shard.number % 2 == 0).first(6).shuffled(seed);
        selection.select(inner.shards(0)).unwrap().iter().map(|s| s.number).collect::<Vec<_>>()
    };
    assert_eq!(chosen(1), chosen(1));
    assert_ne!(chosen(1), chosen(2));
    let mut sorted = chosen(1);
    sorted.sort_unstable();
    assert_eq!(sorted, [0, 2, 4, 6, 8, 10]);
}

#[test]
fn weights_must_be_numbers_above_zero() {
    let all = shards(&counted("a", &[1, 1]));
    for weight in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let key = BalanceKey::new(|_| Value::Null)
            .weight(move |shard| if shard.number == 1 { weight } else { 1.0 });
        let refused = balanced(all.clone(), &[key], true).err().unwrap();
        assert_eq!(
            (refused.code(), refused.kind()),
            ("ops/balance_weight", Kind::Invalid),
            "{weight}"
        );
    }
}

#[test]
fn balanced_shards_are_scanned_in_their_order() {
    let inner = counted("a", &[2, 2, 2, 2]);
    let key = BalanceKey::new(|shard| Value::from(shard.number / 2));
    let order = balanced(shards(&inner), &[key], false).unwrap();
    let rows: Vec<_> = Scan::new(inner.arc())
        .threads(3)
        .over_shards(order)
        .flat_map(|s| numbers(&s.unwrap().batch))
        .collect();
    assert_eq!(rows, [0, 1, 4, 5, 2, 3, 6, 7]);
}

#[test]
fn samples_in_any_order_are_a_collection() {
    let inner = counted("a", &[3, 2, 4]).arc();
    let digest = |collection: Arc<dyn Collection>| {
        digest_collection(collection, &DigestOptions::default(), None).unwrap()
    };
    let chosen = |rows: &[u64]| -> Arc<dyn Collection> {
        Arc::new(ChosenSamples::new(Arc::clone(&inner), rows.into()))
    };
    let whole = digest(Arc::clone(&inner));
    assert_eq!(digest(chosen(&[0, 1, 2, 3, 4, 5, 6, 7, 8])), whole);
    let turned = digest(chosen(&[8, 7, 6, 5, 4, 3, 2, 1, 0]));
    assert_eq!(turned.full_unordered, whole.full_unordered);
    assert_ne!(turned.full, whole.full);
    // More than is gathered at once, and repeated.
    let rows: Vec<u64> = (0..1000).map(|n| n * 7 % 9).collect();
    let many = chosen(&rows);
    assert_eq!((many.len(), many.shard_count()), (1000, 4));
    let read: Vec<i64> = Scan::new(Arc::clone(&many))
        .shards()
        .flat_map(|shard| numbers(&shard.unwrap().batch))
        .collect();
    assert!(read.iter().zip(&rows).all(|(read, row)| u64::try_from(*read) == Ok(*row)));
    assert_eq!(many.shards(600).next().unwrap().unwrap().first, 512);
    let fields = chosen(&[4]);
    assert_eq!(fields.recorded(), chosen(&[4]).recorded());
    assert_ne!(fields.recorded(), chosen(&[5]).recorded());
    let refused = digest_collection(chosen(&[9]), &DigestOptions::default(), None).unwrap_err();
    assert_eq!(refused.code(), "ops/missing_sample");
    assert!(digest(chosen(&[])).samples == 0);
}
