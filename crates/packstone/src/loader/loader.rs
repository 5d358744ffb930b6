//! The loader: a sequence of batches that can be left and gone on with anywhere.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use packstone_io::Kind;

use super::delivery::Delivery;
use super::engine::Engine;
use super::options::LoaderOptions;
use super::planner::{Course, Ready};
use super::sources::Sources;
use super::steps::Steps;
use super::worker::Shared;
use super::{Fingerprint, Order, Share, State, codes};
use crate::error::{Error, Place, Result};
use crate::format::Collection;
use crate::model::{Finding, Schema};

/// Opens the collections once more, for a process that was forked.
type Reopen = dyn Fn() -> Result<Vec<Arc<dyn Collection>>> + Send + Sync;

/// Batches of one rank in an order, epoch after epoch; an iterator over what is left of an epoch.
///
/// Threads are made at the first batch and joined when the loader is dropped. In a process that was forked, a loader goes
/// on from where it stood with threads of its own, see [`Loader::reopening`].
pub struct Loader {
    sources: Arc<Sources>,
    fingerprint: Fingerprint,
    order: Arc<dyn Order>,
    share: Share,
    options: LoaderOptions,
    reopen: Option<Arc<Reopen>>,
    epoch: u64,
    /// The position of the epoch that steps are counted from, and how many were made since.
    from: u64,
    step: u64,
    engine: Option<Engine>,
    /// Engines that were told to end.
    retired: Vec<Engine>,
    process: u32,
    notes: Arc<Mutex<Vec<Finding>>>,
    touched: Arc<Mutex<HashSet<(usize, u64)>>>,
    skipped: u64,
}

impl Loader {
    /// Loads `collections`, of which the indices of `order` are counted one after another, from the start of epoch 0.
    /// The fingerprint is theirs, see [`Fingerprint::of`] and [`Fingerprint::joined`]; states are told apart by it.
    ///
    /// # Errors
    /// `model/unknown_field`; `schemas_differ` where the collections do not have the same fields.
    pub fn new(
        collections: Vec<Arc<dyn Collection>>,
        fingerprint: Fingerprint,
        order: Arc<dyn Order>,
        share: Share,
        options: LoaderOptions,
    ) -> Result<Self> {
        let sources = Arc::new(Sources::new(collections, options.fields.as_deref())?);
        Ok(Self {
            sources,
            fingerprint,
            order,
            share,
            options,
            reopen: None,
            epoch: 0,
            from: 0,
            step: 0,
            engine: None,
            retired: Vec::new(),
            process: std::process::id(),
            notes: Arc::default(),
            touched: Arc::default(),
            skipped: 0,
        })
    }

    /// The same with a way to open the collections once more. A process that is forked in the middle of a read inherits
    /// locks that nobody gives back; it then reads from collections of its own.
    #[must_use]
    pub fn reopening(
        mut self,
        reopen: impl Fn() -> Result<Vec<Arc<dyn Collection>>> + Send + Sync + 'static,
    ) -> Self {
        self.reopen = Some(Arc::new(reopen));
        self
    }

    /// The fields of batches.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.sources.schema
    }

    /// The order.
    pub fn order(&self) -> &Arc<dyn Order> {
        &self.order
    }

    /// Which part of each step it delivers.
    pub fn share(&self) -> &Share {
        &self.share
    }

    /// Threads that read for it.
    pub fn threads(&self) -> usize {
        self.options.threads
    }

    /// The epoch that it stands in.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The position of the epoch, over all ranks, that comes next.
    pub fn next_position(&self) -> u64 {
        match self.step.checked_sub(1) {
            Some(last) => self.share.after(last, self.order.len(), self.from),
            None => self.from,
        }
    }

    /// Steps that are left of the epoch.
    pub fn steps_left(&self) -> u64 {
        self.steps().count().saturating_sub(self.step)
    }

    /// Samples that were left out so far, see [`OnFault::Skip`](super::OnFault::Skip).
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// What was noticed since the last time and is no error.
    pub fn take_notes(&mut self) -> Vec<Finding> {
        self.renew();
        std::mem::take(&mut self.notes.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Stands at a position of an epoch. Nothing is read before the next batch is asked for.
    pub fn seek(&mut self, epoch: u64, position: u64) {
        (self.epoch, self.from, self.step) = (epoch, position.min(self.order.len()), 0);
        self.retire();
    }

    /// Stands at the start of an epoch.
    pub fn set_epoch(&mut self, epoch: u64) {
        self.seek(epoch, 0);
    }

    /// Stands at the start of the next epoch.
    pub fn next_epoch(&mut self) {
        self.set_epoch(self.epoch.saturating_add(1));
    }

    /// Where it stands: what every rank remembers, whatever its share. Valid between any two batches.
    pub fn state(&self) -> State {
        let start =
            State::new(self.fingerprint.clone(), self.order.as_ref(), self.share.remainder());
        start.at(self.epoch, self.next_position())
    }

    /// Stands where the loader stood that `state` was taken of. Nothing is read before the next batch is asked for.
    ///
    /// # Errors
    /// Those of [`State::check`]; `state_remainder` where the end of an epoch would be another one.
    pub fn restore(&mut self, state: &State) -> Result<()> {
        state.check(&self.fingerprint, self.order.as_ref())?;
        let own = self.share.remainder();
        if state.remainder != own {
            let message = format!(
                "expected a state with the remainder {:?}, found one with {:?}",
                own.name(),
                state.remainder.name()
            );
            let place = Place::default().json("$.remainder");
            return Err(Error::new(Kind::Conflict, codes::STATE_REMAINDER, place, message));
        }
        self.seek(state.epoch, state.position);
        Ok(())
    }

    /// Goes past the next `steps` steps of the epoch, without reading them.
    pub fn skip_steps(&mut self, steps: u64) {
        self.step = self.step.saturating_add(steps).min(self.steps().count());
        self.retire();
    }

    fn steps(&self) -> Steps {
        Steps { share: self.share, len: self.order.len(), from: self.from }
    }

    /// Tells the engine to end; it is waited for when the loader is dropped.
    fn retire(&mut self) {
        if let Some(mut engine) = self.engine.take().filter(Engine::is_own) {
            engine.stop();
            self.retired.push(engine);
        }
        self.retired.retain(|engine| !engine.is_own() || !engine.is_over());
    }

    /// Leaves behind what belongs to the process that this one was forked from.
    fn renew(&mut self) -> bool {
        if self.process == std::process::id() {
            return false;
        }
        self.process = std::process::id();
        self.engine = None;
        self.retired.clear();
        (self.notes, self.touched) = (Arc::default(), Arc::default());
        true
    }

    fn deliver(&mut self) -> Result<Option<Delivery>> {
        if self.renew()
            && let Some(reopen) = &self.reopen
        {
            let fields = self.options.fields.as_deref();
            self.sources = Arc::new(Sources::new(reopen()?, fields)?);
        }
        if self.steps_left() == 0 {
            self.retire();
            return Ok(None);
        }
        let engine = match &mut self.engine {
            Some(engine) => engine,
            None => {
                let engine = self.start();
                self.engine.insert(engine)
            }
        };
        match engine.next(self.options.stall) {
            Ok(Ready::Batch(delivery, skipped)) => {
                self.step += 1;
                self.skipped = self.skipped.saturating_add(skipped);
                Ok(Some(*delivery))
            }
            Ok(Ready::End) => Ok(None),
            Ok(Ready::Failed(error)) | Err(error) => {
                self.retire();
                Err(error)
            }
        }
    }

    fn start(&self) -> Engine {
        let LoaderOptions { threads, window, verify, faults, limits, .. } = self.options;
        let shared = Shared::new(
            Arc::clone(&self.sources),
            verify,
            limits,
            Arc::clone(&self.notes),
            Arc::clone(&self.touched),
        );
        let course = Course {
            order: Arc::clone(&self.order),
            steps: self.steps(),
            epoch: self.epoch,
            step: self.step,
            window,
            threads,
            faults,
        };
        Engine::start(&course, Arc::new(shared))
    }
}

impl Iterator for Loader {
    type Item = Result<Delivery>;

    /// The next batch of the epoch; none at its end, until [`Loader::set_epoch`] goes to the next one.
    fn next(&mut self) -> Option<Self::Item> {
        self.deliver().transpose()
    }
}
