//! Threads that live as long as one operation and take its jobs in order.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, unbounded};

/// Does a job under its number, and says whether anybody waits for more.
type Doing<T> = dyn Fn((u64, T)) -> bool + Send;

/// Threads that do jobs in the order in which these are handed in. The thread that did a job reports what came of it.
///
/// Without threads, jobs wait until [`Crew::do_one`] does them.
pub struct Crew<T> {
    pub(super) jobs: Option<Sender<(u64, T)>>,
    todo: Receiver<(u64, T)>,
    threads: Vec<JoinHandle<()>>,
    inline: Option<Box<Doing<T>>>,
}

impl<T: Send + 'static> Crew<T> {
    /// Starts `threads` threads; `make` gives each its own worker function (with its buffers). `report` is told the
    /// number of a job and its result, and says whether anybody still waits for more.
    pub fn new<W, R>(
        threads: usize,
        make: impl Fn() -> W,
        report: impl Fn(u64, std::thread::Result<R>) -> bool + Clone + Send + 'static,
    ) -> Self
    where
        W: Fn(T) -> R + Send + 'static,
    {
        let (jobs, todo) = unbounded::<(u64, T)>();
        let doing = || {
            let (work, report) = (make(), report.clone());
            move |(number, job): (u64, T)| {
                report(number, catch_unwind(AssertUnwindSafe(|| work(job))))
            }
        };
        let mut handles = Vec::new();
        for _ in 0..threads {
            let (todo, work) = (todo.clone(), doing());
            let spawned = std::thread::Builder::new()
                .name("packstone".to_owned())
                .spawn(move || while todo.recv().is_ok_and(&work) {});
            // Fewer threads than asked for still do all the work; with none it is done inline.
            handles.extend(spawned);
        }
        let inline = handles.is_empty().then(|| Box::new(doing()) as Box<_>);
        Self { jobs: Some(jobs), todo, threads: handles, inline }
    }

    /// Where jobs are handed in; threads end when all of these are gone.
    pub fn jobs(&self) -> Option<Sender<(u64, T)>> {
        self.jobs.clone()
    }

    /// Does a job that waits, where there are no threads for it; true where there was one.
    pub fn do_one(&self) -> bool {
        let job = self.inline.as_ref().and_then(|work| Some((work, self.todo.try_recv().ok()?)));
        job.map(|(work, job)| work(job)).is_some()
    }

    /// Takes jobs away that nobody has begun, and lets the threads end.
    pub fn dismiss(&mut self) {
        self.jobs = None;
        while self.todo.try_recv().is_ok() {}
    }

    /// Waits until all threads have ended, at most until `deadline`; those that have not then are left alone.
    pub fn join(&mut self, deadline: Option<Instant>) {
        self.threads.drain(..).for_each(|thread| join(thread, deadline));
    }

    /// True where there are no threads.
    pub fn is_empty(&self) -> bool {
        self.threads.is_empty()
    }

    /// True once all threads have ended.
    pub fn is_over(&self) -> bool {
        self.threads.iter().all(JoinHandle::is_finished)
    }
}

/// Waits until a thread has ended, at most until `deadline`; then it is left alone.
pub(crate) fn join(thread: JoinHandle<()>, deadline: Option<Instant>) {
    while deadline.is_some_and(|deadline| Instant::now() < deadline) && !thread.is_finished() {
        std::thread::sleep(Duration::from_micros(200));
    }
    if deadline.is_none() || thread.is_finished() {
        let _ = thread.join();
    }
}
