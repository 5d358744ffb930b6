//! Who of many consumers reads what: the plans of the original's PyTorch loader, without PyTorch.
//!
//! ```text
//! samples of an epoch ─▶ rank budget ─▶ one Plan a worker: population, samples, seed
//! replicate   every worker draws from the whole table by its own seed
//! split       consecutive spans of the table, or of its shuffled rows; the last spans wrap around
//! ```
//!
//! A loader always reads from a restored table, so its shuffled workers draw by weight.

use std::num::NonZeroU64;
use std::sync::Arc;

use packstone_io::Kind;

use super::super::codes;
use super::permutation::permutation;
use crate::error::{Error, Place, Result};
use crate::random::mix;

/// Domain of the seeds of readers.
const DOMAIN: u64 = 0x4453_5452_5345_4544;

/// The seed of one worker of one rank. No two workers of a loader share one.
#[must_use]
pub fn worker_seed(base: u64, rank: u32, worker: u32) -> u64 {
    mix((u64::from(rank) << 32 | u64::from(worker)) ^ mix(base ^ DOMAIN))
}

/// Consecutive rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// The first row.
    pub offset: u64,
    /// How many.
    pub len: u64,
}

/// The rows of one of `parts` parts of nearly one length, the longer ones first; none for a part that is not there.
#[must_use]
pub fn partition_rows(count: u64, parts: u64, part: u64) -> Span {
    if part >= parts {
        return Span { offset: count, len: 0 };
    }
    let (size, extra) = (count / parts, count % parts);
    Span { offset: part * size + part.min(extra), len: size + u64::from(part < extra) }
}

/// The samples of each worker: whole batches, and the rest at the end of the last that has any.
///
/// `populations` is how many workers have rows to read at all.
#[must_use]
pub fn worker_budgets(
    samples: u64,
    workers: u64,
    populations: u64,
    batch_size: NonZeroU64,
) -> Vec<u64> {
    let (batches, rest) = (samples / batch_size, samples % batch_size);
    let active = workers.min(populations).min(batches.max(1));
    let active = if samples == 0 { 0 } else { active };
    (0..workers)
        .map(|worker| {
            let budget = partition_rows(batches, active, worker).len * batch_size.get();
            budget + if worker + 1 == active { rest } else { 0 }
        })
        .collect()
}

/// How a table is shared among workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Partition {
    /// Each draws from all rows.
    Replicate,
    /// Each has rows of its own.
    Split,
}

/// What a loader is asked for. Counts are of one epoch over all ranks.
#[derive(Clone, Debug)]
pub struct LoaderOptions {
    /// The seed of shuffled reading; `None` reads in the order of the table.
    pub seed: Option<u64>,
    /// Samples of an epoch; `None` for as many as the dataset's epoch has.
    pub samples: Option<u64>,
    /// How the table is shared; `None` replicates it where it is shuffled and splits it where it is not.
    pub partition: Option<Partition>,
    /// Samples of a batch.
    pub batch_size: NonZeroU64,
    /// Processes that read; 0 for the one that asks.
    pub workers: u32,
    /// Leaves out what does not fill a batch on every rank.
    pub drop_last: bool,
    /// This rank.
    pub rank: u32,
    /// Number of ranks.
    pub ranks: u32,
}

impl Default for LoaderOptions {
    fn default() -> Self {
        Self {
            seed: None,
            samples: None,
            partition: None,
            batch_size: NonZeroU64::MIN,
            workers: 0,
            drop_last: false,
            rank: 0,
            ranks: 1,
        }
    }
}

/// What one worker reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Its number in its rank.
    pub worker: u32,
    /// The part of the table, or of its shuffled rows, that it reads from. It may reach past the end and then goes on
    /// at the beginning.
    pub population: Span,
    /// Samples of one pass.
    pub samples: u64,
    /// Its seed; 0 where the order of the table is kept.
    pub seed: u64,
    /// The seed by which all rows are shuffled before they are split; `None` keeps their order.
    pub permutation: Option<u64>,
}

/// The plans of all workers of one rank, for a table of `rows` rows and a dataset whose epoch has `epoch_len` samples.
///
/// # Errors
/// [`codes::SAMPLING_INVALID`] for no rows, no samples, more than 2⁵³ of them, or a rank that there is not.
pub fn plans(rows: u64, epoch_len: u64, options: &LoaderOptions) -> Result<Vec<Plan>> {
    const MOST: u64 = 1 << 53;
    let samples = options.samples.unwrap_or(epoch_len);
    if !(1..=MOST).contains(&samples) {
        return Err(invalid(format!("expected 1 to 2⁵³ samples of an epoch, found {samples}")));
    }
    if rows == 0 {
        return Err(invalid("expected a table of at least one row, found none".to_owned()));
    }
    if options.rank >= options.ranks {
        let (rank, ranks) = (options.rank, options.ranks);
        return Err(invalid(format!("expected a rank below {ranks}, found {rank}")));
    }
    let (rank, ranks) = (u64::from(options.rank), u64::from(options.ranks));
    let workers = options.workers.max(1);
    let count = match options.drop_last {
        true => {
            // Neither factor is zero; a product beyond 64 bits is more than all samples.
            let whole = ranks.saturating_mul(options.batch_size.get());
            samples.checked_div(whole).unwrap_or(0) * options.batch_size.get()
        }
        false => samples.div_ceil(ranks),
    };
    let default = if options.seed.is_some() { Partition::Replicate } else { Partition::Split };
    let partition = options.partition.unwrap_or(default);
    let (span, populations) = match partition {
        Partition::Replicate => (Span { offset: 0, len: rows }, u64::from(workers)),
        Partition::Split => {
            let shared = match samples == rows {
                // One pass over the table: padded or cut as the samples are.
                true => count.saturating_mul(ranks),
                false => rows.max(ranks),
            };
            let span = partition_rows(shared, ranks, rank);
            (span, span.len)
        }
    };
    let budgets = worker_budgets(count, u64::from(workers), populations, options.batch_size);
    let active = budgets.iter().filter(|budget| **budget > 0).count() as u64;
    let one_pass = count == span.len;
    let mut offset = span.offset;
    let plans = (0..workers).zip(budgets).map(|(worker, samples)| {
        let len = match partition {
            _ if samples == 0 => 0,
            Partition::Replicate => rows,
            Partition::Split if one_pass => samples,
            Partition::Split => partition_rows(span.len, active, u64::from(worker)).len,
        };
        let population = match partition {
            Partition::Replicate => Span { offset: 0, len },
            Partition::Split => Span { offset, len },
        };
        offset += len;
        let seed = options.seed.map_or(0, |base| worker_seed(base, options.rank, worker));
        let permutation = options.seed.filter(|_| partition == Partition::Split);
        Plan { worker, population, samples, seed, permutation }
    });
    Ok(plans.collect())
}

/// The rows of the table that a plan's own rows are.
#[derive(Clone, Debug)]
pub struct Population {
    rows: u64,
    span: Span,
    order: Option<Arc<[u64]>>,
}

/// The shuffled rows that all plans of a loader share; `None` where they keep the order of the table.
///
/// # Errors
/// As for [`permutation`].
pub fn shared_order(rows: u64, plans: &[Plan]) -> Result<Option<Arc<[u64]>>> {
    let seed = plans.iter().find_map(|plan| plan.permutation);
    seed.map(|seed| permutation(rows, seed).map(Into::into)).transpose()
}

impl Population {
    /// The rows of `plan` in a table of `rows` rows, whose order is that of [`shared_order`].
    #[must_use]
    pub fn new(rows: u64, plan: &Plan, order: Option<Arc<[u64]>>) -> Self {
        Self { rows, span: plan.population, order }
    }

    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.span.len
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The row of the table; `None` past the end.
    #[must_use]
    pub fn row(&self, row: u64) -> Option<u64> {
        let place = (row < self.span.len).then(|| self.span.offset.checked_add(row))??;
        let place = place.checked_rem(self.rows)?;
        match &self.order {
            Some(order) => order.get(usize::try_from(place).ok()?).copied(),
            None => Some(place),
        }
    }

    /// The rows of the table in order.
    pub fn rows(&self) -> impl Iterator<Item = u64> + '_ {
        (0..self.len()).filter_map(|row| self.row(row))
    }
}

/// A batch of one pass: some consecutive samples of one worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batch {
    /// The worker.
    pub worker: u32,
    /// The samples among those of the worker's pass.
    pub samples: Span,
}

/// The batches of one pass in the order in which a loader hands them out: from each worker in turn, leaving out those
/// that have no more.
pub fn batches(
    plans: &[Plan],
    batch_size: NonZeroU64,
    drop_last: bool,
) -> impl Iterator<Item = Batch> + '_ {
    let count = move |plan: &Plan| match drop_last {
        true => plan.samples / batch_size,
        false => plan.samples.div_ceil(batch_size.get()),
    };
    let rounds = plans.iter().map(count).max().unwrap_or(0);
    (0..rounds).flat_map(move |round| {
        plans.iter().filter(move |plan| round < count(plan)).map(move |plan| {
            let offset = round * batch_size.get();
            let len = batch_size.get().min(plan.samples - offset);
            Batch { worker: plan.worker, samples: Span { offset, len } }
        })
    })
}

fn invalid(message: String) -> Error {
    Error::new(Kind::Invalid, codes::SAMPLING_INVALID, Place::default(), message)
}
