//! Each value of a key equally often.
//!
//! ```text
//! round r = positions r·K … r·K + K-1     each of the K values once, permuted by nth(key, 2·r)
//! value v in round r                      its sample number r; its samples are permuted anew in each pass over them,
//!                                         pass t by nth(nth(key, 2·v + 1), t)
//! ```
//!
//! So after every round, and nearly at every position, all values have come equally often. Where samples of a value run
//! out it begins with them anew, in another order. Samples are kept sorted by value, 8 bytes each.

use std::sync::Arc;

use packstone_container::json::Object;

use super::{Drawn, Order, Permutation, Stop, digest, key};
use crate::error::Result;
use crate::random::nth;

const TAG: [u8; 8] = *b"balanced";

/// Samples by the value of a key, each value as often as the others.
#[derive(Clone, Debug)]
pub struct Balanced {
    inner: Arc<Groups>,
    rounds: u64,
    draws: u64,
    seed: u64,
}

#[derive(Debug)]
struct Groups {
    /// The samples, those of one value next to each other.
    members: Vec<u64>,
    /// For each value where its samples begin, and their permutation.
    groups: Vec<(u64, Permutation)>,
    /// The permutation of the values.
    values: Permutation,
    digest: String,
}

impl Balanced {
    /// The value of each sample, as any number that stands for it. An epoch ends with the last whole round before the
    /// first value would repeat, or after the last value has come with all its samples.
    ///
    /// # Errors
    /// `loader/order_too_long`.
    pub fn new(values: &[u64], stop: Stop, seed: u64) -> Result<Self> {
        let mut members: Vec<u64> = (0..values.len() as u64).collect();
        let value = |sample: &u64| usize::try_from(*sample).ok().and_then(|at| values.get(at));
        members.sort_by_key(value);
        let (mut groups, mut start) = (Vec::new(), 0u64);
        for group in members.chunk_by(|a, b| value(a) == value(b)) {
            groups.push((start, Permutation::new(group.len() as u64, 0)?));
            start += group.len() as u64;
        }
        let sizes = || groups.iter().map(|(_, permutation)| permutation.len());
        let rounds = match stop {
            Stop::First => sizes().min(),
            Stop::All => sizes().max(),
        };
        let rounds = rounds.unwrap_or(0);
        let count = Permutation::new(groups.len() as u64, 0)?;
        let draws = rounds.saturating_mul(count.len());
        let digest = digest(values.iter().copied());
        let inner = Arc::new(Groups { members, groups, values: count, digest });
        Ok(Self { inner, rounds, draws, seed })
    }

    /// How many values there are.
    #[must_use]
    pub fn values(&self) -> u64 {
        self.inner.values.len()
    }

    /// How often each value comes in an epoch.
    #[must_use]
    pub fn rounds(&self) -> u64 {
        self.rounds
    }
}

impl Order for Balanced {
    fn len(&self) -> u64 {
        self.draws
    }

    fn epoch(&self, epoch: u64) -> Result<Arc<dyn Drawn>> {
        let (groups, draws) = (Arc::clone(&self.inner), self.draws);
        Ok(Arc::new(Epoch { groups, draws, key: key(TAG, self.seed, epoch) }))
    }

    fn name(&self) -> &str {
        "balanced"
    }

    fn params(&self) -> Object {
        let mut params = Object::new();
        params.insert("seed", self.seed);
        params.insert("values", self.values());
        params.insert("samples", self.inner.members.len() as u64);
        params.insert("digest", self.inner.digest.as_str());
        params
    }
}

#[derive(Debug)]
struct Epoch {
    groups: Arc<Groups>,
    draws: u64,
    key: u64,
}

impl Drawn for Epoch {
    fn at(&self, position: u64) -> Option<u64> {
        if position >= self.draws {
            return None;
        }
        let values = self.groups.values;
        let (round, slot) =
            (position.checked_div(values.len())?, position.checked_rem(values.len())?);
        let value = values.with_key(nth(self.key, round.wrapping_mul(2))).at(slot)?;
        let (start, members) = self.groups.groups.get(usize::try_from(value).ok()?)?;
        let (pass, at) = (round.checked_div(members.len())?, round.checked_rem(members.len())?);
        let key = nth(nth(self.key, value.wrapping_mul(2).wrapping_add(1)), pass);
        let place = start + members.with_key(key).at(at)?;
        self.groups.members.get(usize::try_from(place).ok()?).copied()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Seven samples of value 3, two of 8, four of 5.
    const VALUES: [u64; 13] = [3, 5, 3, 3, 8, 5, 3, 3, 5, 5, 8, 3, 3];

    fn counts(order: &Balanced, positions: std::ops::Range<u64>) -> BTreeMap<u64, Vec<u64>> {
        let drawn = order.epoch(1).unwrap();
        let mut counts = BTreeMap::<_, Vec<_>>::new();
        for position in positions {
            let sample = drawn.at(position).unwrap();
            counts.entry(VALUES[usize::try_from(sample).unwrap()]).or_default().push(sample);
        }
        counts
    }

    #[test]
    fn every_round_has_every_value_once() {
        let order = Balanced::new(&VALUES, Stop::All, 9).unwrap();
        assert_eq!((order.len(), order.rounds(), order.values()), (21, 7, 3));
        for round in 0..7 {
            let counts = counts(&order, 3 * round..3 * round + 3);
            assert!(counts.len() == 3 && counts.values().all(|samples| samples.len() == 1));
        }
        assert_eq!(order.epoch(1).unwrap().at(21), None);
    }

    #[test]
    fn every_pass_over_a_value_has_each_of_its_samples_once() {
        let all = counts(&Balanced::new(&VALUES, Stop::All, 9).unwrap(), 0..21);
        for (value, samples) in all {
            let own = (0..13).filter(|at| VALUES[*at] == value).map(|at| at as u64);
            let own: Vec<u64> = own.collect();
            for pass in samples.chunks(own.len()) {
                let mut sorted = pass.to_vec();
                sorted.sort_unstable();
                sorted.dedup();
                assert_eq!(sorted.len(), pass.len());
                assert!(pass.iter().all(|sample| own.contains(sample)));
            }
        }
        let first = Balanced::new(&VALUES, Stop::First, 9).unwrap();
        assert_eq!(first.len(), 6);
        assert_eq!(Balanced::new(&[], Stop::All, 0).unwrap().len(), 0);
    }
}
