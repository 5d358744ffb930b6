//! Every sample once an epoch, in another order each epoch: no table, no buffer, any position at once.

use std::sync::Arc;

use packstone_container::json::Object;

use super::{Drawn, Order, Permutation, key};
use crate::error::Result;

const TAG: [u8; 8] = *b"shuffled";

/// A full shuffle by a [`Permutation`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shuffled {
    permutation: Permutation,
    seed: u64,
}

impl Shuffled {
    /// The samples below `samples`, shuffled by `seed`.
    ///
    /// # Errors
    /// `loader/order_too_long`.
    pub fn new(samples: u64, seed: u64) -> Result<Self> {
        Ok(Self { permutation: Permutation::new(samples, 0)?, seed })
    }

    /// The permutation of an epoch, which also says at which position a sample comes.
    #[must_use]
    pub fn permutation(&self, epoch: u64) -> Permutation {
        self.permutation.with_key(key(TAG, self.seed, epoch))
    }
}

impl Order for Shuffled {
    fn len(&self) -> u64 {
        self.permutation.len()
    }

    fn epoch(&self, epoch: u64) -> Result<Arc<dyn Drawn>> {
        Ok(Arc::new(self.permutation(epoch)))
    }

    fn name(&self) -> &str {
        "shuffled"
    }

    fn params(&self) -> Object {
        Object::from_iter([("seed", self.seed)])
    }
}
