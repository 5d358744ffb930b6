//! What each rank will read in an epoch: computed from the order alone, no sample is read.

use std::sync::Arc;

use packstone_container::json::{Object, Value};

use super::order::Order;
use super::share::{Remainder, Share};
use super::sources::Sources;
use crate::error::Result;
use crate::format::Collection;

/// Who reads, and how much is looked at.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PlanOptions {
    /// Ranks.
    pub world_size: u32,
    /// Ranks that read the same.
    pub replicas: u32,
    /// Workers of each rank.
    pub workers: u32,
    /// Samples of a batch.
    pub batch: u64,
    /// What happens where the last step has too few positions.
    pub remainder: Remainder,
    /// The epoch.
    pub epoch: u64,
    /// The position that it begins at.
    pub from: u64,
    /// How many of the first samples of each rank are listed.
    pub first: u64,
    /// How many positions are looked at in all to count shards.
    pub examine: u64,
    /// Bytes that the samples of the collection take where they are stored, if known.
    pub stored: Option<u64>,
}

impl Default for PlanOptions {
    fn default() -> Self {
        Self {
            world_size: 1,
            replicas: 1,
            workers: 1,
            batch: 256,
            remainder: Remainder::Pad,
            epoch: 0,
            from: 0,
            first: 8,
            examine: 1 << 20,
            stored: None,
        }
    }
}

/// What one rank will read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RankPlan {
    /// The rank.
    pub rank: u32,
    /// Which of the readers it is; ranks with the same one read the same.
    pub reader: u32,
    /// Batches.
    pub steps: u64,
    /// Batches of each of its workers.
    pub worker_steps: Vec<u64>,
    /// Samples that no other reader has in this epoch.
    pub samples: u64,
    /// Rows that are filled up: without a sample, or with one from the beginning of the epoch.
    pub filled: u64,
    /// Bytes of values, where each sample has the same number.
    pub bytes: Option<u64>,
    /// Stored bytes of as many samples of average size, where [`PlanOptions::stored`] is known: an estimate.
    pub stored: Option<u64>,
    /// Positions that were looked at to count shards: all of them, or the first.
    pub examined: u64,
    /// Shards that these come from.
    pub shards: u64,
    /// The first samples.
    pub first: Vec<u64>,
}

impl RankPlan {
    /// As an object.
    #[must_use]
    pub fn to_json(&self) -> Object {
        let list =
            |numbers: &[u64]| Value::Array(numbers.iter().map(|n| Value::from(*n)).collect());
        let mut out = Object::new();
        out.insert("rank", u64::from(self.rank));
        out.insert("reader", u64::from(self.reader));
        out.insert("steps", self.steps);
        out.insert("worker_steps", list(&self.worker_steps));
        out.insert("samples", self.samples);
        out.insert("filled", self.filled);
        out.insert("bytes", self.bytes);
        out.insert("stored", self.stored);
        out.insert("examined", self.examined);
        out.insert("shards", self.shards);
        out.insert("first", list(&self.first));
        out
    }
}

/// What all ranks will read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Positions of the epoch.
    pub len: u64,
    /// The position that it begins at.
    pub from: u64,
    /// Steps, the same on every rank.
    pub steps: u64,
    /// Positions that nobody reads, as the last step is dropped.
    pub dropped: u64,
    /// Shards of the collection.
    pub shards: u64,
    /// The ranks.
    pub ranks: Vec<RankPlan>,
}

impl Plan {
    /// As an object, without the ranks.
    #[must_use]
    pub fn to_json(&self) -> Object {
        let mut out = Object::new();
        out.insert("len", self.len);
        out.insert("from", self.from);
        out.insert("steps", self.steps);
        out.insert("dropped", self.dropped);
        out.insert("shards", self.shards);
        out
    }
}

/// What each rank will read of a collection in one epoch of an order. Walks the lists of shards.
///
/// # Errors
/// `loader/share_invalid`; those of [`Collection::shards`] and of [`Order::epoch`].
pub fn plan(collection: &dyn Collection, order: &dyn Order, options: &PlanOptions) -> Result<Plan> {
    planned(&[collection], order, options)
}

/// The same for several collections that are loaded as one, of which indices are counted one after another.
///
/// # Errors
/// Those of [`plan`]; `loader/schemas_differ` where the collections do not have the same fields.
pub fn plan_joined(
    collections: &[Arc<dyn Collection>],
    order: &dyn Order,
    options: &PlanOptions,
) -> Result<Plan> {
    Sources::new(collections.to_vec(), None)?;
    let all: Vec<&dyn Collection> = collections.iter().map(AsRef::as_ref).collect();
    planned(&all, order, options)
}

fn planned(
    collections: &[&dyn Collection],
    order: &dyn Order,
    options: &PlanOptions,
) -> Result<Plan> {
    let share = |rank| -> Result<Share> {
        let share = Share::new(rank, options.world_size, options.batch)?;
        let share = share.with_replicas(options.replicas)?;
        Ok(share.with_workers(options.workers).with_remainder(options.remainder))
    };
    let (first, len, from) = (share(0)?, order.len(), options.from);
    let steps = first.steps(len, from);
    let drawn = order.epoch(options.epoch)?;
    let (mut starts, mut all) = (Vec::new(), 0u64);
    for collection in collections {
        for shard in collection.shards(0) {
            starts.push(all.saturating_add(shard?.first));
        }
        all = all.saturating_add(collection.len());
    }
    let value_bytes = |field: &crate::model::Field| field.value_bytes();
    let fields = collections.first().map(|first| first.schema().fields.as_slice());
    let mut fields = fields.unwrap_or_default().iter();
    let sample_bytes = fields.try_fold(0u64, |sum, field| sum.checked_add(value_bytes(field)?));
    let examine = options.examine.checked_div(u64::from(first.readers())).unwrap_or(0);
    let mut ranks: Vec<RankPlan> = Vec::new();
    for rank in 0..options.world_size {
        let share = share(rank)?;
        if let Some(before) = ranks.last().filter(|before| before.reader == share.reader()) {
            ranks.push(RankPlan { rank, ..before.clone() });
            continue;
        }
        let mut plan = RankPlan { rank, reader: share.reader(), steps, ..RankPlan::default() };
        let workers = u64::from(options.workers.max(1));
        plan.worker_steps = (0..workers)
            .map(|worker| (steps + workers - 1 - worker).checked_div(workers).unwrap_or(0))
            .collect();
        let rows = steps.saturating_mul(options.batch);
        let last = steps.checked_sub(1).and_then(|last| share.part(last, len, from));
        plan.filled = last.map_or(0, |last| last.rows() - last.fresh());
        plan.samples = rows - plan.filled;
        plan.bytes = sample_bytes.and_then(|bytes| bytes.checked_mul(plan.samples));
        plan.stored = options.stored.and_then(|stored| {
            let bytes = u128::from(stored) * u128::from(plan.samples);
            u64::try_from(bytes.checked_div(u128::from(all))?).ok()
        });
        let positions = (0..steps)
            .filter_map(|step| share.part(step, len, from))
            .flat_map(|part| (0..part.fresh()).filter_map(move |row| part.position(row)));
        let mut touched = vec![false; starts.len()];
        for position in positions.take(usize::try_from(examine).unwrap_or(usize::MAX)) {
            plan.examined += 1;
            let Some(index) = drawn.at(position) else { continue };
            if (plan.first.len() as u64) < options.first {
                plan.first.push(index);
            }
            let shard = starts.partition_point(|start| *start <= index).checked_sub(1);
            if let Some(touched) = shard.and_then(|shard| touched.get_mut(shard)) {
                plan.shards += u64::from(!std::mem::replace(touched, true));
            }
        }
        ranks.push(plan);
    }
    let dropped = match options.remainder {
        Remainder::Drop => len.saturating_sub(from) - steps.saturating_mul(first.step_len()),
        Remainder::Pad | Remainder::Repeat => 0,
    };
    Ok(Plan { len, from, steps, dropped, shards: starts.len() as u64, ranks })
}
