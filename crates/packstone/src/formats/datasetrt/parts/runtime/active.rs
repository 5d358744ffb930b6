//! A dataset with its table and the place where the next window begins.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use packstone_container::arrow_table::{Bitmap, Table};
use packstone_container::json::Value;
use packstone_io::Kind;

use super::super::super::codes;
use super::super::draws::Population;
use super::super::joint::Joint;
use super::super::loader::{self, Plan};
use super::super::sampler::{Order, Sampler, Window};
use super::super::table::{ActiveTable, Caches};
use super::super::whole;
use super::bundle::Bundle;
use super::drawn::Pick;
use super::pass::Pass;
use super::{ReaderConfig, Runtime, state};
use crate::error::{Error, Place, Result};
use crate::expr::Expr;
use crate::format::Collection;

/// Caches as one dataset that is sampled. Clones share all of it, so that windows are handed out once among them.
#[derive(Clone)]
pub struct ActiveDataset(Arc<Inner>);

struct Inner {
    joint: Joint,
    caches: Arc<Caches>,
    config: ReaderConfig,
    runtime: Runtime,
    state: Mutex<State>,
}

struct State {
    sampler: Sampler,
    /// Absent as long as nobody asked for it: then it is all samples in their order.
    table: Option<Arc<Active>>,
}

/// The table, and a short text that tells its samples from others.
struct Active {
    table: ActiveTable,
    digest: OnceLock<String>,
}

/// The rows of the table as they were when a window began.
pub(super) struct Snapshot {
    joint: Joint,
    /// A table that was replaced; otherwise rows are positions.
    table: Option<Arc<Active>>,
}

impl Snapshot {
    /// The sample of a row.
    pub(super) fn pick(&self, row: u64) -> Result<Pick> {
        let position = match &self.table {
            None => row,
            Some(active) => {
                let identity = active.table.identity(row).ok_or_else(|| self.no_row(row))?;
                self.joint.position(identity.cache_id, identity.sample_id)?
            }
        };
        let (place, cache, sample) = self.joint.find(position).ok_or_else(|| self.no_row(row))?;
        cache.look_at_index()?;
        Ok(Pick { row, cache: place, sample, record: cache.row(sample)? })
    }

    fn no_row(&self, row: u64) -> Error {
        let message = format!("expected a row of the table, found {row}");
        Error::new(Kind::NotFound, codes::UNKNOWN_SAMPLE, Place::default(), message)
    }
}

impl ActiveDataset {
    /// A dataset over open caches, at its beginning.
    ///
    /// # Errors
    /// `sampling_invalid`, `no_samples`.
    pub fn new(joint: Joint, config: ReaderConfig, runtime: Runtime) -> Result<Self> {
        config.check()?;
        let caches = whole::caches(&joint)?;
        let order = if config.shuffle { Order::Shuffled(config.seed) } else { Order::Table };
        let sampler = Sampler::new(Population::Equal(joint.len()), order)?;
        let state = Mutex::new(State { sampler, table: None });
        Ok(Self(Arc::new(Inner { joint, caches, config, runtime, state })))
    }

    /// The caches. Samples are found there by identity and position whatever the table.
    #[must_use]
    pub fn joint(&self) -> &Joint {
        &self.0.joint
    }

    /// How it is read.
    #[must_use]
    pub fn config(&self) -> &ReaderConfig {
        &self.0.config
    }

    /// What reads it.
    #[must_use]
    pub fn runtime(&self) -> &Runtime {
        &self.0.runtime
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Number of rows of the table.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.lock().sampler.population().rows()
    }

    /// Samples of a window.
    #[must_use]
    pub fn epoch_len(&self) -> u64 {
        self.lock().sampler.epoch_len()
    }

    /// Sets the samples of the windows to come. Where the next one begins does not change.
    ///
    /// # Errors
    /// `sampling_invalid` for 0.
    pub fn set_epoch_len(&self, samples: u64) -> Result<()> {
        self.lock().sampler.set_epoch_len(samples)
    }

    /// The table. It is made of `metadata.arrow` when it is first asked for; no shard is opened.
    ///
    /// # Errors
    /// Those of [`Cache::table`](super::super::cache::Cache::table); `table_invalid`.
    pub fn table(&self) -> Result<ActiveTable> {
        let mut state = self.lock();
        if let Some(active) = &state.table {
            return Ok(active.table.clone());
        }
        let table = whole::whole_table(&self.0.joint, Arc::clone(&self.0.caches))?;
        state.table = Some(Active::new(table.clone()));
        Ok(table)
    }

    fn put(&self, table: ActiveTable) -> Result<()> {
        let mut state = self.lock();
        state.sampler.replace(table.population())?;
        state.table = Some(Active::new(table));
        Ok(())
    }

    /// Puts another table in place, see [`ActiveTable::replaced_by`]: windows begin anew, and are as long as it.
    ///
    /// # Errors
    /// `table_invalid`, `unknown_identity`, `weight_invalid`, with the row; nothing changes then.
    pub fn replace(&self, table: Table) -> Result<()> {
        self.put(self.table()?.replaced_by(table)?)
    }

    /// Keeps these rows of the table, in this order; rows may repeat.
    ///
    /// # Errors
    /// `table_invalid` for no rows or one past the end; nothing changes then.
    pub fn select(&self, rows: &[usize]) -> Result<()> {
        self.put(self.table()?.select(rows)?)
    }

    /// Keeps the rows whose bits are set.
    ///
    /// # Errors
    /// `table_invalid` where none is left; nothing changes then.
    pub fn keep(&self, rows: &Bitmap) -> Result<()> {
        self.put(self.table()?.filter(rows)?)
    }

    /// Keeps the rows for which a condition is true.
    ///
    /// # Errors
    /// Those of [`Expr::select`]; `table_invalid` where none is left; nothing changes then.
    pub fn filter(&self, condition: &Expr) -> Result<()> {
        let table = self.table()?;
        let rows = condition.select(&table.to_table()?)?;
        self.put(table.filter(&rows)?)
    }

    /// Gives the rows other weights.
    ///
    /// # Errors
    /// `weight_invalid` with the row, `table_invalid` where they are not as many as the rows; nothing changes then.
    pub fn reweight(&self, weights: Vec<f64>) -> Result<()> {
        self.put(self.table()?.reweighted(weights)?)
    }

    /// The next window, which is reserved when its first sample is asked for.
    pub fn pass(&self) -> Pass {
        Pass::new(self.clone(), None)
    }

    /// What one of many workers reads: a dataset of its own with the rows of its plan, drawn by its seed or in their
    /// order. `order` is what [`loader::shared_order`] gives for all plans.
    ///
    /// # Errors
    /// `sampling_invalid` for a plan without samples; `table_invalid`.
    pub fn worker(&self, plan: &Plan, shuffle: bool, order: Option<Arc<[u64]>>) -> Result<Self> {
        let table = self.table()?;
        let config = ReaderConfig { seed: plan.seed, shuffle, ..self.0.config.clone() };
        let worker = Self::new(self.0.joint.clone(), config, self.0.runtime.clone())?;
        let population = loader::Population::new(table.rows() as u64, plan, order);
        let rows = population.rows().map(usize::try_from).collect::<Result<Vec<_>, _>>();
        let rows = rows.map_err(|_| {
            let message = "expected rows that fit the memory, found more";
            Error::new(Kind::Limit, codes::TABLE_INVALID, Place::default(), message)
        })?;
        // A loader reads from a restored table, which counts as replaced.
        worker.put(table.select(&rows)?)?;
        worker.set_epoch_len(plan.samples)?;
        Ok(worker)
    }

    /// Begins a window, or goes on with one.
    pub(super) fn begin(&self, window: Option<Window>) -> (Snapshot, Window) {
        let mut state = self.lock();
        let window = window.unwrap_or_else(|| state.sampler.reserve());
        let table = state.table.clone().filter(|active| active.table.is_replaced());
        (Snapshot { joint: self.0.joint.clone(), table }, window)
    }

    /// Everything that the samples to come depend on, as a small JSON value. A pass that is under way has one of its own.
    ///
    /// # Errors
    /// None in fact.
    pub fn state(&self) -> Result<Value> {
        self.state_with(None)
    }

    pub(super) fn state_with(&self, window: Option<&Window>) -> Result<Value> {
        let state = self.lock();
        let table = state.table.as_ref().and_then(|active| active.digest());
        Ok(state::write(&self.0.joint, table, state.sampler.state(window)?))
    }

    /// Goes on where a state was taken: with the rest of the pass that was under way, if any. The caches and the table
    /// must be those of then.
    ///
    /// # Errors
    /// `state_version` for the state of another release, `state_invalid` for what is no state or belongs to another
    /// dataset; nothing changes then.
    pub fn resume(&self, saved: &Value) -> Result<Option<Pass>> {
        let mut state = self.lock();
        let table = state.table.as_ref().and_then(|active| active.digest());
        let sampler = state::read(saved, &self.0.joint, table)?;
        let population = state.sampler.population().clone();
        let order = state.sampler.order();
        let (sampler, window) = Sampler::restore(sampler, population).map_err(state::in_sampler)?;
        if sampler.order() != order {
            return Err(state::other("$.sampler.seed", "the seed of this dataset"));
        }
        state.sampler = sampler;
        drop(state);
        Ok(window.map(|window| Pass::new(self.clone(), Some(window))))
    }

    /// What the original's `from_config` makes the dataset of again, with caches at these paths.
    ///
    /// # Errors
    /// As for [`ActiveDataset::table`].
    pub fn bundle(&self, cache_paths: Vec<String>) -> Result<Bundle> {
        Ok(Bundle {
            cache_paths,
            config: self.0.config.clone(),
            threads: (self.0.runtime.threads.max(1)) as u64,
            epoch_len: self.epoch_len(),
            table: self.table()?.to_table()?,
        })
    }
}

impl Active {
    fn new(table: ActiveTable) -> Arc<Self> {
        Arc::new(Self { table, digest: OnceLock::new() })
    }

    /// Tells the samples of a replaced table from those of others.
    fn digest(&self) -> Option<&str> {
        let table = self.table.is_replaced().then_some(&self.table)?;
        Some(self.digest.get_or_init(|| state::digest(table)))
    }
}
