//! `--order` and what belongs to it: the order that samples come in, for every command that reads in one.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::ValueEnum;
use packstone::format::Collection;
use packstone::loader::{
    Balanced, Blocks, Distinct, Indices, Order, Sequential, Shuffled, Stop, Weighted, Weights,
    keys_of, native, weights_of,
};
use packstone::{Error, Kind, Place, Result};

/// The kinds of order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum OrderKind {
    /// As stored.
    Sequential,
    /// Every sample once, in random order.
    Shuffled,
    /// Every sample once; shards in random order, rows in random order within a window of them.
    Blocks,
    /// Drawn by weight, with replacement.
    Weighted,
    /// Drawn by weight, without replacement.
    Distinct,
    /// Each value of a key equally often.
    Balanced,
    /// As a file lists them; in random order with a seed.
    Indices,
    /// As the format's own library draws.
    Native,
}

/// When an epoch of several things ends, the values of a key or the datasets of a mixture.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum StopKind {
    /// Before one of them would repeat a sample.
    First,
    /// When every sample came.
    All,
}

impl StopKind {
    pub(crate) fn stop(self) -> Stop {
        match self {
            Self::First => Stop::First,
            Self::All => Stop::All,
        }
    }
}

/// The order that samples come in.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct OrderArgs {
    /// The order that samples come in.
    #[arg(long, value_enum, default_value_t = OrderKind::Sequential)]
    order: OrderKind,
    /// The seed of what is random; 0 without it.
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    /// For `blocks`: shards in use at a time.
    #[arg(long, value_name = "SHARDS", default_value_t = 16)]
    window: u64,
    /// For `weighted`, `distinct` and `native`: the weights, a number in the metadata of every sample.
    #[arg(
        long,
        value_name = "NAME",
        required_if_eq_any([("order", "weighted"), ("order", "distinct")])
    )]
    weights: Option<String>,
    /// For `weighted` and `distinct`: draws of an epoch, by default as many as can be drawn from.
    #[arg(long, value_name = "COUNT")]
    draws: Option<u64>,
    /// For `balanced`: the key, in the metadata of every sample.
    #[arg(long, value_name = "NAME", required_if_eq("order", "balanced"))]
    key: Option<String>,
    /// For `balanced`: when an epoch ends.
    #[arg(long, value_enum, default_value_t = StopKind::All)]
    stop: StopKind,
    /// For `indices`: a file of indices, divided by white space.
    #[arg(long, value_name = "FILE", required_if_eq("order", "indices"))]
    indices: Option<PathBuf>,
}

impl OrderArgs {
    /// The seed of what is random.
    pub(crate) fn seed(&self) -> u64 {
        self.seed.unwrap_or(0)
    }

    /// The order for the samples of a collection. Metadata that must be read are read on `threads` threads.
    pub(crate) fn build(
        &self,
        collection: &Arc<dyn Collection>,
        threads: usize,
    ) -> Result<Arc<dyn Order>> {
        let (samples, seed) = (collection.len(), self.seed());
        let numbers = || {
            let name = self.weights.as_deref();
            name.map(|name| weights_of(collection, name, threads)).transpose()
        };
        let weights = || Weights::new(numbers()?.unwrap_or_default()).map(Arc::new);
        Ok(match self.order {
            OrderKind::Sequential => Arc::new(Sequential::new(samples)),
            OrderKind::Shuffled => Arc::new(Shuffled::new(samples, seed)?),
            OrderKind::Blocks => Arc::new(Blocks::of(collection.as_ref(), self.window, seed)?),
            OrderKind::Weighted => {
                let order = Weighted::new(weights()?, seed);
                Arc::new(match self.draws {
                    Some(draws) => order.with_draws(draws),
                    None => order,
                })
            }
            OrderKind::Distinct => {
                let order = Distinct::new(weights()?, seed);
                Arc::new(match self.draws {
                    Some(draws) => order.with_draws(draws)?,
                    None => order,
                })
            }
            OrderKind::Balanced => {
                let keys = keys_of(collection, self.key.as_deref().unwrap_or_default(), threads)?;
                Arc::new(Balanced::new(&keys, self.stop.stop(), seed)?)
            }
            OrderKind::Indices => {
                let path = self.indices.as_deref().unwrap_or(Path::new(""));
                let order = Indices::new(listed(path)?, samples)?;
                Arc::new(match self.seed {
                    Some(seed) => order.shuffled(seed)?,
                    None => order,
                })
            }
            OrderKind::Native => native(collection.as_ref(), seed, numbers()?.as_deref())?,
        })
    }
}

/// The numbers of a file.
fn listed(path: &Path) -> Result<Vec<u64>> {
    let text = std::fs::read_to_string(path).map_err(|error| fault(path, &error))?;
    let number = |word: &str| {
        word.parse().map_err(|_| {
            let place = Place::file(path.display());
            let message = format!("expected indices divided by white space, found {word:?}");
            Error::new(Kind::Invalid, "cli/usage", place, message)
        })
    };
    text.split_whitespace().map(number).collect()
}

/// A file that the user names and that cannot be read.
pub(crate) fn fault(path: &Path, error: &std::io::Error) -> Error {
    let (kind, code) = match error.kind() {
        std::io::ErrorKind::NotFound => (Kind::NotFound, "io/not_found"),
        std::io::ErrorKind::PermissionDenied => (Kind::Denied, "io/denied"),
        _ => (Kind::Io, "io/fault"),
    };
    Error::new(kind, code, Place::file(path.display()), error.to_string())
}
