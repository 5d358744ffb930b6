//! Whatever ranks and workers there are, together they read the order once, in order.

use packstone::loader::{Remainder, Share};
use proptest::prelude::*;

fn remainders() -> impl Strategy<Value = Remainder> {
    prop_oneof![Just(Remainder::Pad), Just(Remainder::Drop), Just(Remainder::Repeat)]
}

/// Positions of all readers, step by step, and how many rows had none.
fn union(share: impl Fn(u32) -> Share, ranks: u32, len: u64, from: u64) -> (Vec<u64>, u64) {
    let steps = share(0).steps(len, from);
    let (mut positions, mut empty) = (Vec::new(), 0);
    for step in 0..steps {
        for rank in 0..ranks {
            assert_eq!(share(rank).steps(len, from), steps);
            let part = share(rank).part(step, len, from).unwrap();
            assert_eq!(part.rows(), share(rank).batch());
            assert_eq!(part.positions().count() as u64, part.rows());
            for (row, position) in part.positions().enumerate() {
                assert_eq!(part.position(row as u64), position);
                match position {
                    Some(position) => positions.push(position),
                    None => empty += 1,
                }
            }
        }
    }
    for rank in 0..ranks {
        assert_eq!(share(rank).part(steps, len, from), None);
    }
    (positions, empty)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn the_union_of_all_ranks_is_the_order(
        len in 0u64..400, ranks in 1u32..=8, batch in 1u64..20, from in 0u64..420, remainder in remainders(),
    ) {
        let share = |rank| Share::new(rank, ranks, batch).unwrap().with_remainder(remainder);
        let (positions, empty) = union(share, ranks, len, from);
        let (left, step) = (len.saturating_sub(from), batch * u64::from(ranks));
        let whole = left / step * step;
        match remainder {
            Remainder::Drop => {
                prop_assert!(positions.into_iter().eq(from..from + whole));
                prop_assert_eq!(empty, 0);
            }
            Remainder::Pad => {
                prop_assert!(positions.into_iter().eq(from..from + left));
                prop_assert_eq!((left + empty) % step, 0);
                prop_assert!(empty < step);
            }
            Remainder::Repeat => {
                let rows = left.div_ceil(step) * step;
                prop_assert!(positions.into_iter().eq((from..from + rows).map(|p| p % len)));
                prop_assert_eq!(empty, 0);
            }
        }
    }

    #[test]
    fn another_number_of_ranks_goes_on_with_the_same_sequence(
        len in 1u64..600, first in 1u32..=8, then in 1u32..=8, batch in 1u64..16, other in 1u64..16, stop in 0u64..40,
    ) {
        let before = |rank| Share::new(rank, first, batch).unwrap();
        let steps = before(0).steps(len, 0).min(stop);
        let mut positions = Vec::new();
        for step in 0..steps {
            for rank in 0..first {
                positions.extend(before(rank).part(step, len, 0).unwrap().positions().flatten());
            }
        }
        let from = steps.checked_sub(1).map_or(0, |last| before(0).after(last, len, 0));
        let after = |rank| Share::new(rank, then, other).unwrap();
        positions.extend(union(after, then, len, from).0);
        prop_assert!(positions.into_iter().eq(0..len));
    }

    #[test]
    fn every_step_has_one_worker_and_all_have_nearly_as_many(
        steps in 0u64..200, workers in 0u32..9,
    ) {
        let share = Share::alone(1).unwrap().with_workers(workers);
        let mut made = vec![0u64; workers.max(1) as usize];
        for step in 0..steps {
            made[share.worker(step) as usize] += 1;
        }
        let (most, least) = (made.iter().max().unwrap(), made.iter().min().unwrap());
        prop_assert!(most - least <= 1);
    }

    #[test]
    fn ranks_of_a_group_read_the_same(
        len in 0u64..200, groups in 1u32..=4, replicas in 1u32..=4, batch in 1u64..9,
    ) {
        let ranks = groups * replicas;
        let share = |rank| Share::new(rank, ranks, batch).unwrap().with_replicas(replicas).unwrap();
        let leaders = |reader: u32| share(reader * replicas);
        prop_assert!(union(leaders, groups, len, 0).0.into_iter().eq(0..len));
        for rank in 0..ranks {
            for step in 0..share(rank).steps(len, 0) {
                prop_assert_eq!(share(rank).part(step, len, 0), leaders(rank / replicas).part(step, len, 0));
            }
        }
    }
}
