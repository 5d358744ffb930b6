//! The original's draws as an order: epoch `e` is the window that a sampler reserves after `e` others.

use std::sync::Arc;

use packstone_container::json::Object;

use super::draws::{Population, Weights};
use super::sampler::{self, Sampler, Window};
use crate::error::Result;
use crate::order::{Drawn, Order};

/// Draws of the original by a seed, each epoch as long as the table.
#[derive(Clone, Debug)]
pub struct NativeOrder {
    sampler: Sampler,
    seed: u64,
}

impl NativeOrder {
    /// Draws from `rows` rows: equally likely ones of a table that was never replaced, or ones with weights.
    ///
    /// # Errors
    /// `sampling_invalid` where there are no rows; `weight_invalid`; `table_invalid` where weights are not one a row.
    pub fn new(rows: u64, seed: u64, weights: Option<&[f64]>) -> Result<Self> {
        let population = match weights {
            None => Population::Equal(rows),
            Some(weights) => {
                let found = weights.len() as u64;
                if found != rows {
                    return Err(Weights::miscounted(rows, found));
                }
                Population::Weighted(Arc::new(Weights::new(weights.iter().copied())?))
            }
        };
        Ok(Self { sampler: Sampler::new(population, sampler::Order::Shuffled(seed))?, seed })
    }
}

impl Order for NativeOrder {
    fn len(&self) -> u64 {
        self.sampler.epoch_len()
    }

    fn epoch(&self, epoch: u64) -> Result<Arc<dyn Drawn>> {
        Ok(Arc::new(self.sampler.ahead(epoch)))
    }

    fn name(&self) -> &str {
        "datasetrt"
    }

    fn params(&self) -> Object {
        let mut params = Object::new();
        params.insert("seed", self.seed);
        match self.sampler.population() {
            Population::Equal(_) => params.insert("method", "equal"),
            Population::Weighted(weights) => {
                params.insert("method", "weighted");
                params.insert("digest", weights.digest())
            }
        };
        params
    }
}

impl Drawn for Window {
    fn at(&self, position: u64) -> Option<u64> {
        self.row(position)
    }
}
