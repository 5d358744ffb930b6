//! Samples drawn by weight, with replacement: each position is a draw of its own.
//!
//! ```text
//! draw of position p   number = below(total) of the generator with the seed nth(key, p)       exact, in 64 bits
//! sample               the row whose sums enclose it, see `Weights`
//! ```

use std::sync::Arc;

use packstone_container::json::Object;

use super::{Drawn, Order, Weights, key};
use crate::error::Result;
use crate::random::{Random, nth};

const TAG: [u8; 8] = *b"weighted";

/// Draws by weight; a sample of weight zero never comes.
#[derive(Clone, Debug)]
pub struct Weighted {
    weights: Arc<Weights>,
    draws: u64,
    seed: u64,
}

impl Weighted {
    /// As many draws an epoch as there are samples.
    #[must_use]
    pub fn new(weights: Arc<Weights>, seed: u64) -> Self {
        Self { draws: weights.rows(), weights, seed }
    }

    /// Another number of draws an epoch.
    #[must_use]
    pub fn with_draws(mut self, draws: u64) -> Self {
        self.draws = draws;
        self
    }
}

impl Order for Weighted {
    fn len(&self) -> u64 {
        self.draws
    }

    fn epoch(&self, epoch: u64) -> Result<Arc<dyn Drawn>> {
        let (weights, draws) = (Arc::clone(&self.weights), self.draws);
        Ok(Arc::new(Epoch { weights, draws, key: key(TAG, self.seed, epoch) }))
    }

    fn name(&self) -> &str {
        "weighted"
    }

    fn params(&self) -> Object {
        self.weights.params(self.seed)
    }
}

#[derive(Debug)]
struct Epoch {
    weights: Arc<Weights>,
    draws: u64,
    key: u64,
}

impl Drawn for Epoch {
    fn at(&self, position: u64) -> Option<u64> {
        if position >= self.draws {
            return None;
        }
        let number = Random::new(nth(self.key, position)).below(self.weights.total());
        self.weights.row(number)
    }
}
