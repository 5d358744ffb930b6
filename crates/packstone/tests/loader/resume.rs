//! A run that is interrupted anywhere, and goes on with other threads and ranks, is the run that was not.

use std::sync::Arc;

use packstone::format::Collection;
use packstone::loader::{
    Balanced, Blocks, Delivery, Distinct, Indices, Loader, Mixture, Order, Remainder, Sequential,
    Share, Shuffled, Source, State, Stop, Weighted, Weights,
};
use packstone::random::nth;
use proptest::prelude::*;

use crate::golden::collections;
use crate::kit::{Row, options, rows, shared};

/// A few datasets of each format: mapped, compressed, of many shards.
const CASES: [&str; 10] = [
    "sedpack fb_none train",
    "sedpack fb_zstd train",
    "sedpack fb_tree_small_branching train",
    "sedpack npz_zip train",
    "tensordict basic",
    "tensordict tdz_deflate",
    "datasetrt v3_shards_lz4",
    "datasetrt v3_shards_none",
    "signal-dataset made",
    "signal-dataset annotations",
];

/// Every order, over a collection.
fn orders(collection: &Arc<dyn Collection>) -> Vec<Arc<dyn Order>> {
    let len = collection.len();
    let weights: Vec<f64> = (0..len).map(|at| (nth(3, at) % 5) as f64 + 0.5).collect();
    let weights = Arc::new(Weights::new(weights).unwrap());
    let keys: Vec<u64> = (0..len).map(|at| nth(4, at) % 3).collect();
    let list: Vec<u64> = (0..len + 5).map(|at| nth(5, at) % len).collect();
    let source = |order: Arc<dyn Order>, samples, ratio| Source { order, samples, ratio };
    let half = len.div_ceil(2);
    let parts = vec![
        source(Arc::new(Shuffled::new(half, 1).unwrap()), half, 2),
        source(Arc::new(Sequential::new((len - half).max(1))), (len - half).max(1), 1),
    ];
    let mut all: Vec<Arc<dyn Order>> = vec![
        Arc::new(Sequential::new(len)),
        Arc::new(Shuffled::new(len, 7).unwrap()),
        Arc::new(Blocks::of(collection.as_ref(), 2, 7).unwrap()),
        Arc::new(Weighted::new(Arc::clone(&weights), 7)),
        Arc::new(Distinct::new(weights, 7)),
        Arc::new(Balanced::new(&keys, Stop::All, 7).unwrap()),
        Arc::new(Indices::new(list, len).unwrap().shuffled(7).unwrap()),
    ];
    if len > 1 {
        all.push(Arc::new(Mixture::new(parts, Stop::First, 7).unwrap()));
    }
    all.extend(collection.draws(7, None).unwrap());
    all
}

/// All ranks of a run.
struct Run(Vec<Loader>);

impl Run {
    fn start(
        collection: &Arc<dyn Collection>,
        order: &Arc<dyn Order>,
        ranks: u32,
        threads: usize,
        batch: u64,
        state: Option<&State>,
    ) -> Self {
        let one = |rank| {
            let share = Share::new(rank, ranks, batch).unwrap();
            let mut loader = shared(collection, order, share, options(threads));
            state.into_iter().for_each(|state| loader.restore(state).unwrap());
            loader
        };
        Self((0..ranks).map(one).collect())
    }

    /// Makes steps on all ranks; the fresh rows in the order of the ranks.
    fn steps(&mut self, count: u64, out: &mut Vec<Row>) {
        for _ in 0..count {
            let all: Vec<Option<Delivery>> =
                self.0.iter_mut().map(|rank| rank.next().map(Result::unwrap)).collect();
            let there = all.iter().flatten().count();
            assert!(there == 0 || there == all.len(), "ranks end together");
            for delivery in all.iter().flatten() {
                let fresh = rows(delivery).into_iter().zip(&delivery.mask);
                out.extend(fresh.filter(|(_, fresh)| **fresh).map(|(row, _)| row));
            }
        }
    }

    fn left(&self) -> u64 {
        self.0[0].steps_left()
    }

    fn next_epoch(&mut self) {
        self.0.iter_mut().for_each(Loader::next_epoch);
    }

    /// The state, which all ranks agree on, through its text.
    fn state(&self) -> State {
        let texts: Vec<String> = self.0.iter().map(|rank| rank.state().to_string()).collect();
        assert!(texts.iter().all(|text| *text == texts[0] && text.len() < 1024));
        State::parse(texts[0].as_bytes()).unwrap()
    }
}

/// Two epochs, never interrupted.
fn whole(collection: &Arc<dyn Collection>, order: &Arc<dyn Order>) -> Vec<Vec<Row>> {
    let mut run = Run::start(collection, order, 1, 0, 5, None);
    let epochs = (0..2).map(|_| {
        let mut out = Vec::new();
        run.steps(run.left() + 1, &mut out);
        assert_eq!(out.len() as u64, order.len());
        run.next_epoch();
        out
    });
    epochs.collect()
}

/// What one interrupted run does.
#[derive(Clone, Copy, Debug)]
struct Way {
    ranks: (u32, u32),
    threads: (usize, usize),
    /// Steps before the first state, and between it and the second.
    save: u64,
    again: u64,
    batch: u64,
}

fn interrupted(
    collection: &Arc<dyn Collection>,
    order: &Arc<dyn Order>,
    way: Way,
) -> Vec<Vec<Row>> {
    let Way { ranks, threads, save, again, batch } = way;
    let mut first = Vec::new();
    let mut run = Run::start(collection, order, ranks.0, threads.0, batch, None);
    run.steps(save, &mut first);
    let mut run = Run::start(collection, order, ranks.1, threads.1, batch, Some(&run.state()));
    run.steps(again, &mut first);
    let mut run = Run::start(collection, order, ranks.0, threads.1, batch, Some(&run.state()));
    run.steps(run.left() + 1, &mut first);
    run.next_epoch();
    let mut second = Vec::new();
    run.steps(run.left() + 1, &mut second);
    vec![first, second]
}

fn same(name: &str, order: &Arc<dyn Order>, way: Way, got: &[Vec<Row>], want: &[Vec<Row>]) {
    for (epoch, (got, want)) in got.iter().zip(want).enumerate() {
        let differs = got.iter().zip(want).position(|(got, want)| got != want);
        let lens = (got.len(), want.len());
        assert!(
            differs.is_none() && lens.0 == lens.1,
            "{name} {} {way:?} epoch {epoch}: {lens:?} rows, first other one {differs:?}",
            order.name()
        );
    }
}

fn chosen() -> Vec<(String, Arc<dyn Collection>)> {
    let wanted = |name: &str| CASES.iter().any(|case| name.starts_with(case));
    let all: Vec<_> = collections().iter().filter(|(name, ..)| wanted(name)).collect();
    let format = |name: &str| all.iter().filter(|(n, ..)| n.starts_with(name)).count();
    let formats = ["sedpack", "tensordict", "datasetrt", "signal-dataset"].map(format);
    assert!(formats.iter().all(|count| *count >= 2), "{formats:?}");
    all.into_iter().map(|(name, collection, _)| (name.clone(), Arc::clone(collection))).collect()
}

#[test]
fn the_matrix_of_interruptions() {
    let mut runs = 0;
    for (name, collection) in chosen() {
        for order in orders(&collection) {
            let want = whole(&collection, &order);
            for (at, ranks) in [(1, 3), (4, 2)].into_iter().enumerate() {
                let batch = 1 + order.len() / 12;
                let all = Share::new(0, ranks.0, batch).unwrap().steps(order.len(), 0);
                let saves = [0, 1, all / 2, all.saturating_sub(1), all, all + 1];
                for (turn, save) in saves.into_iter().enumerate() {
                    // Over saves and ranks, every number of threads.
                    for threads in [[0, 2], [1, 4], [4, 0]][(turn + at) % 3] {
                        let threads = (threads, [4, 2, 1, 0][(turn + threads) % 4]);
                        let way = Way { ranks, threads, save, again: 1, batch };
                        same(&name, &order, way, &interrupted(&collection, &order, way), &want);
                        runs += 1;
                    }
                }
            }
        }
    }
    assert!(runs > 1500, "{runs}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_interruption(
        case in 0..CASES.len(),
        order in 0..9usize,
        (ranks, threads) in ((1..5u32, 1..5u32), (0..4usize, 0..4usize)),
        (save, again, batch) in (0..40u64, 0..40u64, 1..9u64),
    ) {
        let all = chosen();
        let (name, collection) = &all[case % all.len()];
        let orders = orders(collection);
        let order = &orders[order % orders.len()];
        let way = Way { ranks, threads, save, again, batch };
        same(name, order, way, &interrupted(collection, order, way), &whole(collection, order));
    }
}

#[test]
fn what_fills_up_the_last_step_follows_the_policy() {
    let (_, collection) = chosen().into_iter().find(|(n, _)| n.contains("basic")).unwrap();
    let len = collection.len();
    let order: Arc<dyn Order> = Arc::new(Sequential::new(len));
    for remainder in Remainder::ALL {
        let share = Share::new(1, 2, 3).unwrap().with_remainder(remainder);
        let loader = shared(&collection, &order, share, options(1));
        let all: Vec<Delivery> = loader.map(Result::unwrap).collect();
        let positions = |at: &Delivery| at.positions.clone();
        let steps = if remainder == Remainder::Drop { len / 6 } else { len.div_ceil(6) };
        assert_eq!(all.len() as u64, steps);
        for (step, delivery) in (0..).zip(&all) {
            let wanted = (0..3).map(|row| step * 6 + 3 + row).map(|position| match remainder {
                _ if position < len => Some(position),
                Remainder::Repeat => Some(position % len),
                _ => None,
            });
            assert_eq!(positions(delivery), wanted.collect::<Vec<_>>());
            assert!(delivery.batch.rows() == 3 && delivery.indices == delivery.positions);
        }
    }
}

#[test]
fn a_state_of_something_else_is_refused_by_name() {
    let all = chosen();
    let collection = &all[0].1;
    let share = Share::alone(2).unwrap();
    let len = collection.len();
    let order: Arc<dyn Order> = Arc::new(Shuffled::new(len, 7).unwrap());
    let loading = |order: &Arc<dyn Order>, share| shared(collection, order, share, options(0));
    let mut loader = loading(&order, share);
    let refused = |loader: &mut Loader, state: &State, code: &str| {
        let error = loader.restore(state).unwrap_err();
        assert_eq!(error.code(), code, "{error}");
        assert_eq!(loader.next_position(), 0);
    };
    let other: Arc<dyn Order> = Arc::new(Shuffled::new(len, 8).unwrap());
    refused(&mut loader, &loading(&other, share).state(), "loader/state_order");
    let other = share.with_remainder(Remainder::Drop);
    refused(&mut loader, &loading(&order, other).state(), "loader/state_remainder");
    let mut state = loader.state();
    state.dataset.samples += 1;
    refused(&mut loader, &state, "loader/state_dataset");
}

#[test]
fn several_collections_are_one_after_another() {
    let all = chosen();
    let (_, collection) = all.iter().find(|(n, _)| n.contains("fb_zstd")).unwrap();
    let len = collection.len();
    let fingerprint =
        shared(collection, &orders(collection)[0], Share::alone(1).unwrap(), options(0))
            .state()
            .dataset;
    let order: Arc<dyn Order> = Arc::new(Shuffled::new(2 * len, 3).unwrap());
    let both = vec![Arc::clone(collection), Arc::clone(collection)];
    let share = Share::alone(3).unwrap();
    let loader = Loader::new(both, fingerprint.clone(), order, share, options(2)).unwrap();
    let want = whole(collection, &(Arc::new(Sequential::new(len)) as Arc<dyn Order>));
    let mut seen = Vec::new();
    for delivery in loader.map(Result::unwrap) {
        for row in rows(&delivery).into_iter().filter(|row| row.index.is_some()) {
            let index = row.index.unwrap();
            seen.push(index);
            let one = &want[0][usize::try_from(index % len).unwrap()];
            assert_eq!((&row.values, &row.metadata), (&one.values, &one.metadata));
        }
    }
    seen.sort_unstable();
    assert_eq!(seen, (0..2 * len).collect::<Vec<u64>>());
    let other = all.iter().find(|(n, _)| n.contains("basic")).unwrap().1.clone();
    let order: Arc<dyn Order> = Arc::new(Sequential::new(1));
    let mixed =
        Loader::new(vec![Arc::clone(collection), other], fingerprint, order, share, options(0));
    assert_eq!(mixed.err().unwrap().code(), "loader/schemas_differ");
}
