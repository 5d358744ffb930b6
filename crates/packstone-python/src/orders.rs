//! Keywords of a loader as an order of the library: of one collection, of several one after another, or of a mixture.
//!
//! ```text
//! samples as a user counts them    those of a selection, of one collection after another
//! samples as the library does      all that are stored, of one collection after another
//! ```
//!
//! Weights, keys and indices are given for the former. An order over a selection draws from the former too, and is led to
//! the latter by [`Selected`].

use std::sync::Arc;

use packstone::format::Collection;
use packstone::json::Object;
use packstone::loader::{
    Balanced, Blocks, Distinct, Drawn, Indices, Mixture, Order, Sequential, Shuffled, Source, Stop,
    Weighted, Weights, keys_of, native, weights_of,
};
use packstone::model::canonical;
use packstone::{Kind, Result};

use crate::failure::usage;

/// The kinds of order, by the names that the program and states have.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum OrderKind {
    Sequential,
    Shuffled,
    Blocks,
    Weighted,
    Distinct,
    Balanced,
    Indices,
    Native,
}

impl OrderKind {
    const ALL: [(&str, Self); 8] = [
        ("sequential", Self::Sequential),
        ("shuffled", Self::Shuffled),
        ("blocks", Self::Blocks),
        ("weighted", Self::Weighted),
        ("distinct", Self::Distinct),
        ("balanced", Self::Balanced),
        ("indices", Self::Indices),
        ("native", Self::Native),
    ];

    /// The kind of a name.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find_map(|(known, kind)| (known == name).then_some(kind))
    }

    /// All names, for messages.
    pub(crate) fn names() -> String {
        Self::ALL.map(|(name, _)| name).join(", ")
    }
}

/// Numbers of samples: the metadata that have them, or the numbers themselves.
#[derive(Clone)]
pub(crate) enum Numbers<T> {
    /// A name in the metadata of every sample.
    Named(String),
    /// One a sample.
    Listed(Vec<T>),
}

/// A collection, or some of its samples.
#[derive(Clone)]
pub(crate) struct Part {
    pub(crate) collection: Arc<dyn Collection>,
    pub(crate) rows: Option<Arc<[u64]>>,
}

impl Part {
    fn len(&self) -> u64 {
        self.rows.as_ref().map_or_else(|| self.collection.len(), |rows| rows.len() as u64)
    }

    /// Values of the samples out of values of all that are stored.
    fn of_stored<T: Copy>(&self, values: Vec<T>) -> Vec<T> {
        let Some(rows) = &self.rows else { return values };
        let value = |row: &u64| usize::try_from(*row).ok().and_then(|at| values.get(at)).copied();
        rows.iter().filter_map(value).collect()
    }

    /// How many of the samples each shard has.
    fn shards(&self) -> Result<Vec<u64>> {
        let mut left = self.rows.as_deref();
        let rows = self.collection.shards(0).map(|shard| {
            let shard = shard?;
            let Some(rows) = &mut left else { return Ok(shard.rows) };
            let end = shard.first.saturating_add(shard.rows);
            let (own, rest) = rows.split_at(rows.partition_point(|row| *row < end));
            *rows = rest;
            Ok(own.len() as u64)
        });
        rows.collect()
    }
}

/// In which order samples come.
#[derive(Clone)]
pub(crate) struct Wanted {
    pub(crate) kind: OrderKind,
    pub(crate) seed: u64,
    /// For indices: permuted in every epoch.
    pub(crate) shuffle: bool,
    pub(crate) weights: Option<Numbers<f64>>,
    pub(crate) draws: Option<u64>,
    pub(crate) key: Option<Numbers<u64>>,
    pub(crate) stop: Option<Stop>,
    /// For blocks: shards in use at a time.
    pub(crate) shards: u64,
    pub(crate) indices: Vec<u64>,
    pub(crate) ratios: Option<Vec<u64>>,
    /// Threads for metadata that must be read.
    pub(crate) threads: usize,
}

impl Wanted {
    /// The order of the samples of `parts`.
    pub(crate) fn build(&self, parts: &[Part]) -> Result<Arc<dyn Order>> {
        let Some(ratios) = &self.ratios else { return self.joined(parts) };
        if ratios.len() != parts.len() {
            let message = format!("expected {} ratios, found {}", parts.len(), ratios.len());
            return Err(usage(Kind::Invalid, "loader/mixture_invalid", message));
        }
        let (mut sources, mut first) = (Vec::new(), 0usize);
        for (number, (part, ratio)) in (0u64..).zip(parts.iter().zip(ratios)) {
            let end = first.saturating_add(usize::try_from(part.len()).unwrap_or(usize::MAX));
            let mut own = self.clone().cut(first..end);
            // Under one seed sources of one length would come in one order, pair by pair.
            own.seed = self.seed.wrapping_add(number);
            let order = own.joined(std::slice::from_ref(part))?;
            sources.push(Source { order, samples: part.collection.len(), ratio: *ratio });
            first = end;
        }
        Ok(Arc::new(Mixture::new(sources, self.stop.unwrap_or_default(), self.seed)?))
    }

    /// The same with those of the listed values only that are at `range`.
    fn cut(mut self, range: std::ops::Range<usize>) -> Self {
        fn some<T: Clone>(values: &mut Option<Numbers<T>>, range: &std::ops::Range<usize>) {
            if let Some(Numbers::Listed(list)) = values {
                // A list that is too short is refused by its length.
                *list = list.get(range.clone()).map(<[T]>::to_vec).unwrap_or_default();
            }
        }
        some(&mut self.weights, &range);
        some(&mut self.key, &range);
        self
    }

    /// The order of the samples of `parts`, one part after another.
    fn joined(&self, parts: &[Part]) -> Result<Arc<dyn Order>> {
        let rows = selected(parts);
        let stored = parts.iter().fold(0u64, |sum, part| sum.saturating_add(part.collection.len()));
        let samples = rows.as_ref().map_or(stored, |rows| rows.len() as u64);
        let order: Arc<dyn Order> = match self.kind {
            OrderKind::Sequential | OrderKind::Shuffled if rows.is_some() => {
                let list = Indices::new(rows.unwrap_or_default(), stored)?;
                let shuffled = self.kind == OrderKind::Shuffled;
                return Ok(Arc::new(if shuffled { list.shuffled(self.seed)? } else { list }));
            }
            OrderKind::Indices => {
                let stored_at = |index: &u64| match &rows {
                    None => Some(*index),
                    Some(rows) => usize::try_from(*index).ok().and_then(|at| rows.get(at)).copied(),
                };
                let list: Vec<u64> = self.indices.iter().filter_map(stored_at).collect();
                let list = Indices::new(list, stored)?;
                return Ok(Arc::new(if self.shuffle { list.shuffled(self.seed)? } else { list }));
            }
            OrderKind::Native => return self.native(parts),
            OrderKind::Sequential => Arc::new(Sequential::new(samples)),
            OrderKind::Shuffled => Arc::new(Shuffled::new(samples, self.seed)?),
            OrderKind::Blocks => {
                let shards = parts.iter().map(Part::shards).collect::<Result<Vec<_>>>()?;
                Arc::new(Blocks::new(shards.into_iter().flatten(), self.shards, self.seed)?)
            }
            OrderKind::Weighted => {
                let order = Weighted::new(self.weights(parts, samples)?, self.seed);
                Arc::new(match self.draws {
                    Some(draws) => order.with_draws(draws),
                    None => order,
                })
            }
            OrderKind::Distinct => {
                let order = Distinct::new(self.weights(parts, samples)?, self.seed);
                Arc::new(match self.draws {
                    Some(draws) => order.with_draws(draws)?,
                    None => order,
                })
            }
            OrderKind::Balanced => {
                let read = |part: &Part, name: &str| keys_of(&part.collection, name, self.threads);
                let keys = numbers(self.key.as_ref(), parts, read)?;
                counted("keys", samples, keys.len())?;
                Arc::new(Balanced::new(&keys, self.stop.unwrap_or(Stop::All), self.seed)?)
            }
        };
        Ok(match rows {
            None => order,
            Some(rows) => Arc::new(Selected::new(order, rows)),
        })
    }

    fn weights(&self, parts: &[Part], samples: u64) -> Result<Arc<Weights>> {
        let read = |part: &Part, name: &str| weights_of(&part.collection, name, self.threads);
        let weights = numbers(self.weights.as_ref(), parts, read)?;
        counted("weights", samples, weights.len())?;
        Ok(Arc::new(Weights::new(weights)?))
    }

    fn native(&self, parts: &[Part]) -> Result<Arc<dyn Order>> {
        let [Part { collection, rows: None }] = parts else {
            let message = "expected one whole collection to draw from as its own library does";
            return Err(usage(Kind::Unsupported, "loader/no_native_order", message));
        };
        let weights = match &self.weights {
            None => None,
            Some(Numbers::Listed(list)) => Some(list.clone()),
            Some(Numbers::Named(name)) => Some(weights_of(collection, name, self.threads)?),
        };
        native(collection.as_ref(), self.seed, weights.as_deref())
    }
}

/// The samples of `parts` among all that are stored; none where all of them are.
fn selected(parts: &[Part]) -> Option<Arc<[u64]>> {
    parts.iter().any(|part| part.rows.is_some()).then(|| {
        let (mut all, mut first) = (Vec::new(), 0u64);
        for part in parts {
            match &part.rows {
                Some(rows) => all.extend(rows.iter().map(|row| row.saturating_add(first))),
                None => all.extend(first..first.saturating_add(part.collection.len())),
            }
            first = first.saturating_add(part.collection.len());
        }
        all.into()
    })
}

/// The listed numbers, or those that `read` finds by name in each part.
fn numbers<T: Copy>(
    given: Option<&Numbers<T>>,
    parts: &[Part],
    read: impl Fn(&Part, &str) -> Result<Vec<T>>,
) -> Result<Vec<T>> {
    match given {
        Some(Numbers::Listed(list)) => Ok(list.clone()),
        Some(Numbers::Named(name)) => {
            let each = parts.iter().map(|part| Ok(part.of_stored(read(part, name)?)));
            Ok(each.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
        }
        None => Ok(Vec::new()),
    }
}

fn counted(what: &str, expected: u64, found: usize) -> Result<()> {
    if expected == found as u64 {
        return Ok(());
    }
    let message = format!("expected {expected} {what}, found {found}");
    Err(usage(Kind::Invalid, "loader/weight_invalid", message))
}

/// An order of selected samples, as an order of all that are stored.
#[derive(Debug)]
struct Selected {
    order: Arc<dyn Order>,
    rows: Arc<[u64]>,
    digest: String,
}

impl Selected {
    fn new(order: Arc<dyn Order>, rows: Arc<[u64]>) -> Self {
        let digest = canonical::numbers(rows.iter().copied());
        Self { order, rows, digest }
    }
}

impl Order for Selected {
    fn len(&self) -> u64 {
        self.order.len()
    }

    fn epoch(&self, epoch: u64) -> Result<Arc<dyn Drawn>> {
        Ok(Arc::new(Epoch { drawn: self.order.epoch(epoch)?, rows: Arc::clone(&self.rows) }))
    }

    fn name(&self) -> &str {
        self.order.name()
    }

    fn version(&self) -> u64 {
        self.order.version()
    }

    fn params(&self) -> Object {
        let mut params = self.order.params();
        params.insert("selected", self.rows.len() as u64);
        params.insert("selection", self.digest.as_str());
        params
    }
}

#[derive(Debug)]
struct Epoch {
    drawn: Arc<dyn Drawn>,
    rows: Arc<[u64]>,
}

impl Drawn for Epoch {
    fn at(&self, position: u64) -> Option<u64> {
        let place = usize::try_from(self.drawn.at(position)?).ok()?;
        self.rows.get(place).copied()
    }
}
