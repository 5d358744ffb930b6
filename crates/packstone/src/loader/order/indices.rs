//! The samples that the user lists, in the order of the list or shuffled.

use std::sync::Arc;

use packstone_container::json::Object;

use super::{Drawn, Order, Permutation, codes, digest, invalid, key};
use crate::error::Result;

const TAG: [u8; 8] = *b"indices ";

/// A list of indices; each may occur any number of times.
#[derive(Clone, Debug)]
pub struct Indices {
    list: Arc<[u64]>,
    digest: String,
    shuffle: Option<(Permutation, u64)>,
}

impl Indices {
    /// The samples of `list`, out of `samples` samples, the same in every epoch.
    ///
    /// # Errors
    /// `loader/index_out_of_range` with the place in the list.
    pub fn new(list: impl Into<Arc<[u64]>>, samples: u64) -> Result<Self> {
        let list = list.into();
        if let Some((at, index)) = list.iter().enumerate().find(|(_, index)| **index >= samples) {
            let message = format!(
                "expected an index below {samples} at place {at} of the list, found {index}"
            );
            return Err(invalid(codes::INDEX_OUT_OF_RANGE, message));
        }
        let digest = digest(list.iter().copied());
        Ok(Self { list, digest, shuffle: None })
    }

    /// The same list, in another order each epoch.
    ///
    /// # Errors
    /// `loader/order_too_long`.
    pub fn shuffled(mut self, seed: u64) -> Result<Self> {
        self.shuffle = Some((Permutation::new(self.list.len() as u64, 0)?, seed));
        Ok(self)
    }
}

impl Order for Indices {
    fn len(&self) -> u64 {
        self.list.len() as u64
    }

    fn epoch(&self, epoch: u64) -> Result<Arc<dyn Drawn>> {
        let permutation = self.shuffle.map(|(shape, seed)| shape.with_key(key(TAG, seed, epoch)));
        Ok(Arc::new(Epoch { list: Arc::clone(&self.list), permutation }))
    }

    fn name(&self) -> &str {
        "indices"
    }

    fn params(&self) -> Object {
        let mut params = Object::new();
        if let Some((_, seed)) = self.shuffle {
            params.insert("seed", seed);
        }
        params.insert("indices", self.len());
        params.insert("digest", self.digest.as_str());
        params
    }
}

#[derive(Debug)]
struct Epoch {
    list: Arc<[u64]>,
    permutation: Option<Permutation>,
}

impl Drawn for Epoch {
    fn at(&self, position: u64) -> Option<u64> {
        let place = match &self.permutation {
            Some(permutation) => permutation.at(position)?,
            None => position,
        };
        self.list.get(usize::try_from(place).ok()?).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_come_as_they_are_or_shuffled() {
        let order = Indices::new(vec![5, 0, 5, 9], 10).unwrap();
        let all = |order: &Indices, epoch| {
            let drawn = order.epoch(epoch).unwrap();
            (0..5).map_while(|position| drawn.at(position)).collect::<Vec<_>>()
        };
        assert_eq!(all(&order, 0), [5, 0, 5, 9]);
        assert_eq!(all(&order, 3), [5, 0, 5, 9]);
        let order = order.shuffled(1).unwrap();
        let mut epochs: Vec<_> = (0..20).map(|epoch| all(&order, epoch)).collect();
        epochs.sort();
        epochs.dedup();
        assert!(epochs.len() > 5);
        for mut epoch in epochs {
            epoch.sort_unstable();
            assert_eq!(epoch, [0, 5, 5, 9]);
        }
    }

    #[test]
    fn an_index_past_the_end_is_refused_with_its_place() {
        let error = Indices::new(vec![1, 2, 3], 3).unwrap_err();
        assert_eq!(error.code(), codes::INDEX_OUT_OF_RANGE);
        assert_eq!(error.message(), "expected an index below 3 at place 2 of the list, found 3");
        assert!(Indices::new(Vec::new(), 0).unwrap().is_empty());
    }
}
