//! Where a loader of the package stands: on its own, or as one of several workers that take the steps of it in turn.
//!
//! ```text
//! steps of a rank            0   1   2   3   4   5   6          positions of step s: from + s·W·batch …
//! worker 1 of 3                  ●           ●                  = rank  1·W + r  of  3·W ranks, as long as there are steps
//! ```
//!
//! Worker w of n is rank `w·W + r` in a world of n times as many ranks: its step k has the positions of the step
//! `k·n + w`. What the last step of the rank is, the rank's own share says.

use packstone::Result;
use packstone::loader::{Delivery, Loader as Engine, Remainder, Share, State};

/// A loader, and which of its steps it makes.
pub(crate) struct Course {
    pub(crate) engine: Engine,
    worker: Option<Worker>,
}

struct Worker {
    number: u32,
    workers: u32,
    /// The share of the rank.
    share: Share,
    /// Where all workers together began, and how many steps this one has made since.
    from: State,
    done: u64,
}

impl Course {
    /// All steps.
    pub(crate) fn whole(engine: Engine) -> Self {
        Self { engine, worker: None }
    }

    /// The share that an engine needs to make the steps of worker `number` of `workers`.
    ///
    /// # Errors
    /// `loader/share_invalid`.
    pub(crate) fn share(share: &Share, number: u32, workers: u32) -> Result<Share> {
        let rank = number.saturating_mul(share.readers()).saturating_add(share.reader());
        let ranks = workers.saturating_mul(share.readers());
        // Which steps are whole is known without it.
        let remainder = match share.remainder() {
            Remainder::Drop => Remainder::Pad,
            other => other,
        };
        Ok(Share::new(rank, ranks, share.batch())?.with_remainder(remainder))
    }

    /// The steps of worker `number` of `workers` from `from` on, of which `done` were made. The engine has the share of
    /// [`Course::share`].
    pub(crate) fn worker(
        mut engine: Engine,
        share: Share,
        (number, workers): (u32, u32),
        from: State,
        done: u64,
    ) -> Self {
        engine.seek(from.epoch, from.position);
        engine.skip_steps(done);
        let worker = Worker { number, workers, share, from, done };
        Self { engine, worker: Some(worker) }
    }

    /// Steps that are left of the epoch.
    pub(crate) fn steps_left(&self) -> u64 {
        let Some(worker) = &self.worker else { return self.engine.steps_left() };
        let all = worker.share.steps(self.engine.order().len(), worker.from.position);
        let own =
            all.saturating_sub(u64::from(worker.number)).div_ceil(worker.workers.max(1).into());
        own.saturating_sub(worker.done)
    }

    /// The next step.
    pub(crate) fn next(&mut self) -> Result<Option<Delivery>> {
        if self.worker.is_some() && self.steps_left() == 0 {
            return Ok(None);
        }
        let delivery = self.engine.next().transpose()?;
        if let Some(worker) = &mut self.worker {
            worker.done = worker.done.saturating_add(1);
        }
        Ok(delivery)
    }

    /// Goes past steps without reading them.
    pub(crate) fn skip(&mut self, steps: u64) {
        let steps = steps.min(self.steps_left());
        self.engine.skip_steps(steps);
        if let Some(worker) = &mut self.worker {
            worker.done = worker.done.saturating_add(steps);
        }
    }

    /// Stands so many steps earlier, at most at the start of the epoch.
    pub(crate) fn rewind(&mut self, steps: u64) {
        let back = steps.saturating_mul(self.engine.share().step_len());
        let position = self.engine.next_position().saturating_sub(back);
        self.engine.seek(self.engine.epoch(), position);
    }

    /// Stands again where it stood before its last step.
    pub(crate) fn undo(&mut self, epoch: u64, position: u64) {
        self.engine.seek(epoch, position);
        if let Some(worker) = &mut self.worker {
            worker.done = worker.done.saturating_sub(1);
        }
    }

    /// Where it stands; of a worker, where all of them began, and how many steps it has made since.
    pub(crate) fn state(&self) -> (State, u64) {
        match &self.worker {
            None => (self.engine.state(), 0),
            Some(worker) => (worker.from.clone(), worker.done),
        }
    }

    /// True for one of several workers.
    pub(crate) fn is_worker(&self) -> bool {
        self.worker.is_some()
    }

    /// Ends what is read ahead, and stays where it is.
    pub(crate) fn rest(&mut self) {
        self.engine.skip_steps(0);
    }
}
