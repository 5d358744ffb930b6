//! The threads of a loader: one plans, the others read. Made at the first batch, joined when nobody wants more.
//!
//! ```text
//! taker ──taken──▶ planner ──jobs──▶ readers
//!   ▲                 │ ▲               │
//!   └─────ready───────┘ └──────done─────┘
//! ```
//!
//! In a process that was forked since, nothing of this exists but its memory: locks may stay taken for ever. There the
//! engine is left as it is, never asked and never dropped.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, unbounded};
use packstone_io::{BufferPool, Kind};

use super::codes;
use super::job::{Job, Outcome};
use super::planner::{Course, Planner, Ready};
use super::worker::{Shared, Worker};
use crate::error::{Error, Place, Result};
use crate::exec::{Crew, died, join};

/// How long threads may take to end.
const PATIENCE: Duration = Duration::from_secs(1);
/// Buffers that are kept for the next batches and shards.
const KEPT_BUFFERS: usize = 1 << 12;

/// What the planner is told.
enum Event {
    Taken,
    Done(u64, std::thread::Result<Outcome>),
    Stop,
}

/// The threads.
pub(super) struct Engine(Option<Box<Running>>);

struct Running {
    shared: Arc<Shared>,
    process: u32,
    mode: Mode,
}

enum Mode {
    /// Everything happens where batches are taken.
    Inline(Box<Planner>, Worker),
    Threads {
        readers: Crew<Job>,
        planner: Option<JoinHandle<()>>,
        events: Sender<Event>,
        ready: Receiver<Ready>,
    },
}

impl Engine {
    /// Starts the threads.
    pub(super) fn start(course: &Course, shared: Arc<Shared>) -> Self {
        // Batches and decoded shards differ in size: with one pool the small would sit in the memory of the large.
        let (pool, batches) = (BufferPool::new(KEPT_BUFFERS), BufferPool::new(KEPT_BUFFERS));
        let plan = || Planner::new(course.clone(), Arc::clone(&shared), batches.clone());
        let threads = match course.threads {
            0 => None,
            threads => Self::threads(plan(), &shared, &pool, threads),
        };
        // Where the system gives no threads, it is done without.
        let mode = threads.unwrap_or_else(|| {
            let worker = Worker::new(Arc::clone(&shared), pool.clone());
            Mode::Inline(Box::new(plan()), worker)
        });
        Self(Some(Box::new(Running { shared, process: std::process::id(), mode })))
    }

    fn threads(
        planner: Planner,
        shared: &Arc<Shared>,
        pool: &BufferPool,
        threads: usize,
    ) -> Option<Mode> {
        let (events, told) = unbounded();
        let (out, ready) = unbounded();
        let work = || {
            let worker = Worker::new(Arc::clone(shared), pool.clone());
            move |job: Job| worker.run(&job)
        };
        let done = events.clone();
        let report = move |number, outcome| done.send(Event::Done(number, outcome)).is_ok();
        let readers = Crew::new(threads, work, report);
        if readers.is_empty() {
            return None;
        }
        let jobs = readers.jobs()?;
        // A planner that dies lets go of its end of `ready`, which the taker then sees.
        let planner = std::thread::Builder::new()
            .name("packstone plan".to_owned())
            .spawn(move || steer(planner, &jobs, &told, &out));
        Some(Mode::Threads { readers, planner: Some(planner.ok()?), events, ready })
    }

    /// True in the process that started it.
    pub(super) fn is_own(&self) -> bool {
        self.0.as_ref().is_some_and(|running| running.process == std::process::id())
    }

    /// The next batch, the fault in its place, or the end.
    ///
    /// # Errors
    /// `stalled` where one read takes longer than `stall`; `exec/thread_died`.
    pub(super) fn next(&mut self, stall: Duration) -> Result<Ready> {
        let Some(running) = &mut self.0 else { return Err(died()) };
        match &mut running.mode {
            Mode::Inline(planner, worker) => inline(planner, worker),
            Mode::Threads { events, ready, .. } => {
                let ready = wait(&running.shared, ready, stall)?;
                if let Ready::Batch(..) = ready {
                    let _ = events.send(Event::Taken);
                }
                Ok(ready)
            }
        }
    }

    /// Lets the threads end, without waiting for them.
    pub(super) fn stop(&mut self) {
        let Some(running) = &mut self.0 else { return };
        running.shared.stop.store(true, Ordering::Relaxed);
        if let Mode::Threads { readers, events, .. } = &mut running.mode {
            let _ = events.send(Event::Stop);
            readers.dismiss();
        }
    }

    /// True once all threads have ended.
    pub(super) fn is_over(&self) -> bool {
        match self.0.as_ref().map(|running| &running.mode) {
            Some(Mode::Threads { readers, planner, .. }) => {
                readers.is_over() && planner.as_ref().is_none_or(JoinHandle::is_finished)
            }
            _ => true,
        }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        if !self.is_own() {
            if let Some(running) = self.0.take() {
                Box::leak(running);
            }
            return;
        }
        self.stop();
        if let Some(Running { mode: Mode::Threads { readers, planner, .. }, .. }) =
            self.0.as_deref_mut()
        {
            // One that hangs in a read cannot be ended; it ends when the read does.
            let deadline = Instant::now() + PATIENCE;
            if let Some(planner) = planner.take() {
                join(planner, Some(deadline));
            }
            readers.join(Some(deadline));
        }
    }
}

/// Plans until nobody wants more.
fn steer(
    mut planner: Planner,
    jobs: &Sender<(u64, Job)>,
    told: &Receiver<Event>,
    out: &Sender<Ready>,
) {
    loop {
        let more = planner.advance();
        for job in planner.jobs.drain(..) {
            if jobs.send(job).is_err() {
                return;
            }
        }
        for ready in planner.ready.drain(..) {
            if out.send(ready).is_err() {
                return;
            }
        }
        // All that is known by now, before it is planned again.
        let first = match more {
            true => None,
            false => match told.recv() {
                Ok(first) => Some(first),
                Err(_) => return,
            },
        };
        for event in first.into_iter().chain(told.try_iter()) {
            match event {
                Event::Taken => planner.taken(),
                Event::Done(number, outcome) => planner.done(number, outcome),
                Event::Stop => return,
            }
        }
    }
}

fn inline(planner: &mut Planner, worker: &Worker) -> Result<Ready> {
    loop {
        planner.advance();
        if let Some(ready) = planner.ready.pop_front() {
            if let Ready::Batch(..) = ready {
                planner.taken();
            }
            return Ok(ready);
        }
        let (number, job) = planner.jobs.pop_front().ok_or_else(died)?;
        planner.done(number, catch_unwind(AssertUnwindSafe(|| worker.run(&job))));
    }
}

/// Waits for what is ready, as long as no single read takes longer than `stall`.
fn wait(shared: &Shared, ready: &Receiver<Ready>, stall: Duration) -> Result<Ready> {
    let (mut left, mut idle) = (stall, false);
    loop {
        match ready.recv_timeout(left) {
            Ok(ready) => return Ok(ready),
            Err(RecvTimeoutError::Disconnected) => return Err(died()),
            Err(RecvTimeoutError::Timeout) => {}
        }
        match shared.longest() {
            Some((what, time)) if time >= stall => return Err(stalled(&what, time)),
            Some((_, time)) => (left, idle) = (stall.saturating_sub(time), false),
            // Nobody reads, and nothing comes: seen twice, that is no coincidence.
            None if idle => return Err(stalled("nothing", stall.saturating_mul(2))),
            None => (left, idle) = (stall, true),
        }
    }
}

fn stalled(what: &str, time: Duration) -> Error {
    let message = format!(
        "expected a batch, found that {what} is being read for {:.1} s and does not come",
        time.as_secs_f64()
    );
    Error::new(Kind::Io, codes::STALLED, Place::file(what), message)
}
