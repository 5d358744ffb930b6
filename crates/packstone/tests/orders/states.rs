//! States: there and back, refused by name, hostile.

use std::sync::Arc;

use packstone::Kind;
use packstone::json::{Object, Value};
use packstone::loader::{
    Balanced, Blocks, Distinct, Drawn, Fingerprint, Indices, Mixture, Order, Remainder, Sequential,
    Share, Shuffled, Source, State, Stop, Weighted, Weights,
};
use proptest::prelude::*;

use crate::fake::{dataset, sized};

fn fingerprint() -> Fingerprint {
    Fingerprint::of(&dataset("sedpack"), &sized(&[40, 60])).unwrap()
}

fn weights() -> Arc<Weights> {
    Arc::new(Weights::new((0..100).map(f64::from).collect()).unwrap())
}

/// One of every kind, over a hundred samples.
fn orders() -> Vec<Arc<dyn Order>> {
    let keys: Vec<u64> = (0..100).map(|at| at % 7).collect();
    let part = |samples: u64, ratio| Source {
        order: Arc::new(Shuffled::new(samples, 2).unwrap()),
        samples,
        ratio,
    };
    vec![
        Arc::new(Sequential::new(100)),
        Arc::new(Shuffled::new(100, u64::MAX).unwrap()),
        Arc::new(Blocks::of(&sized(&[40, 0, 60]), 1, 3).unwrap()),
        Arc::new(Weighted::new(weights(), 4)),
        Arc::new(Distinct::new(weights(), 4)),
        Arc::new(Balanced::new(&keys, Stop::All, 5).unwrap()),
        Arc::new(Indices::new((0..50).rev().collect::<Vec<_>>(), 100).unwrap()),
        Arc::new(Indices::new(vec![3; 70], 100).unwrap().shuffled(4).unwrap()),
        Arc::new(Mixture::new(vec![part(30, 2), part(70, 3)], Stop::All, 6).unwrap()),
    ]
}

#[test]
fn every_order_has_a_small_state_that_survives_writing() {
    let orders = orders();
    for (at, order) in orders.iter().enumerate() {
        for remainder in Remainder::ALL {
            let state =
                State::new(fingerprint(), order.as_ref(), remainder).at(u64::MAX, order.len());
            let text = state.to_string();
            assert!(text.len() < 1000, "{text}");
            let again = State::parse(text.as_bytes()).unwrap();
            assert_eq!((&again, again.to_string()), (&state, text));
            for (other, order) in orders.iter().enumerate() {
                let check = again.check(&fingerprint(), order.as_ref());
                assert_eq!(check.is_ok(), at == other, "{at} {other}");
            }
        }
    }
}

/// Joined output equals the uninterrupted run: any order, any place, other ranks and batches afterwards.
#[test]
fn resuming_anywhere_goes_on_exactly() {
    for order in orders() {
        let run = |order: &dyn Order,
                   share: &dyn Fn(u32) -> Share,
                   ranks: u32,
                   state: &State,
                   most: u64| {
            let drawn: Arc<dyn Drawn> = order.epoch(state.epoch).unwrap();
            let (mut taken, mut position) = (Vec::new(), state.position);
            for step in 0..share(0).steps(order.len(), state.position).min(most) {
                for rank in 0..ranks {
                    let part = share(rank).part(step, order.len(), state.position).unwrap();
                    taken.extend(part.positions().flatten().map(|p| drawn.at(p).unwrap()));
                }
                position = share(0).after(step, order.len(), state.position);
            }
            (taken, state.at(state.epoch, position))
        };
        let start = State::new(fingerprint(), order.as_ref(), Remainder::Pad).at(2, 0);
        let alone = |_| Share::alone(1).unwrap();
        let (whole, end) = run(order.as_ref(), &alone, 1, &start, u64::MAX);
        assert_eq!((whole.len() as u64, end.position), (order.len(), order.len()));
        for (first, then) in [(1u32, 3u32), (4, 2), (1, 1), (3, 8)] {
            let before = move |rank| Share::new(rank, first, 3).unwrap();
            let after = move |rank| Share::new(rank, then, 5).unwrap();
            let last = before(0).steps(order.len(), 0);
            for stop in [0, 1, last / 2, last - 1, last] {
                let (mut joined, state) = run(order.as_ref(), &before, first, &start, stop);
                let state = State::parse(state.to_string().as_bytes()).unwrap();
                state.check(&fingerprint(), order.as_ref()).unwrap();
                // A second state soon after the first, then to the end.
                let (more, state) = run(order.as_ref(), &after, then, &state, 1);
                joined.extend(more);
                let state = State::parse(state.to_string().as_bytes()).unwrap();
                let (more, end) = run(order.as_ref(), &before, first, &state, u64::MAX);
                joined.extend(more);
                assert_eq!(joined, whole, "{} at {stop}", order.name());
                assert_eq!(end.position, order.len());
                // The next epoch is full.
                let next = end.skip(order.len()).unwrap();
                assert_eq!((next.epoch, next.position), (4, 0));
            }
        }
    }
}

#[derive(Debug)]
struct Another(Object, u64);

impl Order for Another {
    fn len(&self) -> u64 {
        100
    }

    fn epoch(&self, _epoch: u64) -> packstone::Result<Arc<dyn Drawn>> {
        Sequential::new(100).epoch(0)
    }

    fn name(&self) -> &str {
        "mine"
    }

    fn version(&self) -> u64 {
        self.1
    }

    fn params(&self) -> Object {
        self.0.clone()
    }
}

#[test]
fn another_dataset_order_or_version_is_refused_by_name() {
    let order = Shuffled::new(100, 7).unwrap();
    let state = State::new(fingerprint(), &order, Remainder::Pad);
    let refused = |dataset: &Fingerprint, order: &dyn Order| {
        let error = state.check(dataset, order).unwrap_err();
        (error.code(), error.place().json_path.clone().unwrap(), error.message().to_owned())
    };
    let own = fingerprint();
    let other = Fingerprint::of(&dataset("sds"), &sized(&[40, 60])).unwrap();
    let (code, path, message) = refused(&other, &order);
    assert_eq!((code, path.as_str()), ("loader/state_dataset", "$.dataset"));
    assert!(
        message.contains("of sds with 100") && message.contains("of sedpack with"),
        "{message}"
    );
    let (code, path, message) = refused(&own, &Sequential::new(100));
    assert_eq!((code, path.as_str()), ("loader/state_order", "$.order.name"));
    assert_eq!(message, "expected a state of order \"sequential\", found one of \"shuffled\"");
    let (code, path, message) = refused(&own, &Shuffled::new(100, 8).unwrap());
    assert_eq!((code, path.as_str()), ("loader/state_order", "$.order.params"));
    assert!(message.contains(r#"{"seed":8}"#) && message.contains(r#"{"seed":7}"#), "{message}");
    let (code, path, _) = refused(&own, &Shuffled::new(99, 7).unwrap());
    assert_eq!((code, path.as_str()), ("loader/state_order", "$.order.len"));
    let state = State::new(fingerprint(), &Another(Object::new(), 1), Remainder::Pad);
    let error = state.check(&own, &Another(Object::new(), 2)).unwrap_err();
    assert_eq!((error.code(), error.kind()), ("loader/state_version", Kind::Unsupported));
}

#[test]
fn long_parameters_and_names_are_kept_as_digests() {
    let long = |last: u64| {
        let list = Value::Array((0..500).chain([last]).map(Value::from).collect());
        Another(Object::from_iter([("list", list)]), 1)
    };
    let mut collection = sized(&[40, 60]);
    collection.name = "\u{1}\"é😀".repeat(2000);
    let fingerprint = Fingerprint::of(&dataset("sedpack"), &collection).unwrap();
    let state = State::new(fingerprint.clone(), &long(1), Remainder::Pad);
    assert!(state.to_string().len() < 1000, "{state}");
    let state = State::parse(state.to_string().as_bytes()).unwrap();
    state.check(&fingerprint, &long(1)).unwrap();
    assert_eq!(state.check(&fingerprint, &long(2)).unwrap_err().code(), "loader/state_order");
    collection.name.push('x');
    let other = Fingerprint::of(&dataset("sedpack"), &collection).unwrap();
    assert_eq!(state.check(&other, &long(1)).unwrap_err().code(), "loader/state_dataset");
}

#[test]
fn fingerprints_tell_datasets_apart() {
    let base = sized(&[40, 0, 60]);
    let mut others = vec![sized(&[40, 60]), sized(&[41, 0, 59]), sized(&[40, 0, 61])];
    let mut changed = |change: &dyn Fn(&mut crate::fake::Fake)| {
        let mut other = base.clone();
        change(&mut other);
        others.push(other);
    };
    changed(&|other| other.name = "test".to_owned());
    changed(&|other| other.folder = "elsewhere".to_owned());
    changed(&|other| other.recorded = Some("f00".to_owned()));
    changed(&|other| {
        let field = packstone::model::Field::new("x", packstone::model::DType::Float32, vec![4]);
        other.schema = Arc::new(packstone::model::Schema::new(vec![field]));
    });
    let of =
        |collection: &crate::fake::Fake| Fingerprint::of(&dataset("sedpack"), collection).unwrap();
    let mut digests: Vec<_> = others.iter().chain([&base]).map(|fake| of(fake).digest).collect();
    assert_eq!(of(&base), of(&base.clone()));
    let joined = Fingerprint::joined(&[of(&base), of(&others[0])]);
    assert_eq!((joined.samples, joined.collection.as_str()), (200, "train+train"));
    digests.push(joined.digest);
    digests.push(Fingerprint::joined(&[of(&others[0]), of(&base)]).digest);
    digests.push(of(&sized(&[])).digest);
    let count = digests.len();
    digests.sort();
    digests.dedup();
    assert_eq!(digests.len(), count);
}

/// A trillion shards, which nobody could walk.
struct Endless(crate::fake::Fake);

impl packstone::format::Collection for Endless {
    fn name(&self) -> &str {
        "endless"
    }

    fn len(&self) -> u64 {
        1 << 60
    }

    fn shard_count(&self) -> u64 {
        1 << 40
    }

    fn schema(&self) -> &Arc<packstone::model::Schema> {
        &self.0.schema
    }

    fn shards(
        &self,
        from: u64,
    ) -> Box<dyn Iterator<Item = packstone::Result<packstone::format::ShardRef>> + Send> {
        let shard = self.0.shards(0).next().unwrap().unwrap();
        Box::new((from >> 20..1 << 40).map(move |number| {
            let (first, rows) = (number << 20, 1 << 20);
            Ok(packstone::format::ShardRef { number, first, rows, ..shard.clone() })
        }))
    }

    fn read(
        &self,
        _: &packstone::format::ShardRef,
        _: Option<&[usize]>,
        _: &mut packstone::format::ReadContext,
    ) -> packstone::Result<packstone::model::Batch> {
        unreachable!("a fingerprint reads no sample")
    }
}

#[test]
fn fingerprints_walk_no_list() {
    let endless = Endless(sized(&[1]));
    let fingerprint = Fingerprint::of(&dataset("sds"), &endless).unwrap();
    assert_eq!((fingerprint.samples, fingerprint.collection.as_str()), (1 << 60, "endless"));
    let order = Shuffled::new(1 << 60, 3).unwrap();
    let state = State::new(fingerprint.clone(), &order, Remainder::Pad).skip(u64::MAX).unwrap();
    assert_eq!((state.epoch, state.position), (15, (1 << 60) - 1));
    state.check(&fingerprint, &order).unwrap();
}

#[test]
fn fingerprints_tell_selections_apart() {
    let collection: Arc<dyn packstone::format::Collection> = Arc::new(sized(&[10; 7]));
    let shards: Vec<_> = collection.shards(0).collect::<packstone::Result<_>>().unwrap();
    let of = |order: [usize; 7]| {
        let shards = order.map(|at| shards[at].clone()).to_vec();
        let selected = packstone::ops::SelectedCollection::new(Arc::clone(&collection), shards);
        Fingerprint::of(&dataset("sedpack"), &selected.unwrap()).unwrap()
    };
    // The first, middle and last shard are the same.
    assert_ne!(of([0, 1, 2, 3, 4, 5, 6]), of([0, 2, 1, 3, 4, 5, 6]));
}

#[test]
fn positions_are_skipped_and_rewound_across_epochs() {
    let order = Sequential::new(100);
    let state = State::new(fingerprint(), &order, Remainder::Pad);
    let place = |state: State| (state.epoch, state.position);
    assert_eq!(place(state.skip(0).unwrap()), (0, 0));
    assert_eq!(place(state.skip(99).unwrap()), (0, 99));
    assert_eq!(place(state.skip(100).unwrap()), (1, 0));
    assert_eq!(place(state.at(3, 100).skip(1).unwrap()), (4, 1));
    assert_eq!(place(state.at(3, 100).rewind(100).unwrap()), (3, 0));
    assert_eq!(place(state.at(3, 5).rewind(6).unwrap()), (2, 99));
    for wrong in [
        state.rewind(1),
        state.at(u64::MAX, 99).skip(1),
        State::new(fingerprint(), &Sequential::new(0), Remainder::Pad).skip(1),
    ] {
        assert_eq!(wrong.unwrap_err().code(), "loader/state_position");
    }
}

fn example() -> String {
    let order = Shuffled::new(100, 7).unwrap();
    State::new(fingerprint(), &order, Remainder::Drop).at(1, 5).to_string()
}

#[test]
fn what_is_no_state_is_refused_with_its_place() {
    let text = example();
    for (from, to, code, path) in [
        ("packstone.loader", "packstone.datasetrt", "loader/state_invalid", Some("$.format")),
        (
            r#""version":1,"dataset""#,
            r#""version":2,"dataset""#,
            "loader/state_version",
            Some("$.version"),
        ),
        (r#""epoch":1"#, r#""epoch":-1"#, "loader/state_invalid", Some("$.epoch")),
        (r#""epoch":1"#, r#""epoch":"1""#, "loader/state_invalid", Some("$.epoch")),
        (r#""epoch":1"#, r#""epoch":1,"epoch":1"#, "loader/state_invalid", None),
        (r#""epoch":1"#, r#""epoch":1,"extra":1"#, "loader/state_invalid", Some("$")),
        (r#""position":5"#, r#""position":101"#, "loader/state_position", Some("$.position")),
        (
            r#""remainder":"drop""#,
            r#""remainder":"keep""#,
            "loader/state_invalid",
            Some("$.remainder"),
        ),
        (r#""params":{"seed":7}"#, r#""params":7"#, "loader/state_invalid", Some("$.order.params")),
        (
            r#""samples":100"#,
            r#""samples":1e99"#,
            "loader/state_invalid",
            Some("$.dataset.samples"),
        ),
    ] {
        let changed = text.replacen(from, to, 1);
        assert_ne!(changed, text, "{from}");
        let error = State::parse(changed.as_bytes()).unwrap_err();
        assert_eq!((error.code(), error.place().json_path.as_deref()), (code, path), "{error}");
        assert!(!error.message().starts_with('$'), "{error}");
    }
    for end in 0..text.len() {
        assert!(State::parse(&text.as_bytes()[..end]).is_err());
    }
    let long = format!("{text}{}", " ".repeat(5000));
    assert_eq!(State::parse(long.as_bytes()).unwrap_err().code(), "loader/state_invalid");
    assert!(State::parse("[".repeat(4000).as_bytes()).is_err());
}

proptest! {
    #[test]
    fn damaged_states_never_panic(at in 0usize..400, byte: u8) {
        let mut text = example().into_bytes();
        let at = at % text.len();
        text[at] = byte;
        if let Ok(state) = State::parse(&text) {
            prop_assert!(state.position <= state.order.len);
            let _ = (state.skip(u64::MAX), state.rewind(7));
        }
    }
}
