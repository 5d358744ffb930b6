//! Threads for one operation: a bounded pipeline that keeps order, and progress.
//!
//! Threads are made when an operation starts and joined when it ends, so nothing is inherited broken after `fork` and
//! nothing runs between operations.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, unbounded};
use packstone_io::Kind;

use crate::error::{Error, Place, Result};

/// Told about the progress of a long operation; the library draws nothing itself.
pub trait Progress: Send + Sync + std::fmt::Debug {
    /// Announces how much there is to do, in bytes.
    fn total(&self, bytes: u64);
    /// Tells that `bytes` more are done.
    fn advance(&self, bytes: u64);
    /// True where the user asked to stop.
    fn cancelled(&self) -> bool {
        false
    }
}

/// Ends an operation that the user asked to stop.
///
/// # Errors
/// `ops/cancelled`.
pub fn keep_going(progress: Option<&Arc<dyn Progress>>) -> Result<()> {
    match progress {
        Some(progress) if progress.cancelled() => {
            let message = "stopped before the end, as asked";
            Err(Error::new(Kind::Cancelled, "ops/cancelled", Place::default(), message))
        }
        _ => Ok(()),
    }
}

/// How many threads this machine runs at once.
pub fn default_threads() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Runs `work` on each item, on up to `threads` threads at once, and waits for all of them.
///
/// # Errors
/// The first error in the order of the items.
pub fn for_each<T: Sync>(
    items: &[T],
    threads: usize,
    work: impl Fn(&T) -> Result<()> + Sync,
) -> Result<()> {
    map(items, threads, |part| part.iter().try_for_each(&work))?.into_iter().collect()
}

/// What `work` makes of each of up to `threads` equal parts of the items, all at once, in their order.
///
/// # Errors
/// `exec/thread_died` where `work` panicked: a fault of packstone.
pub fn map<T: Sync, R: Send>(
    items: &[T],
    threads: usize,
    work: impl Fn(&[T]) -> R + Sync,
) -> Result<Vec<R>> {
    let each = items.len().div_ceil(threads.max(1)).max(1);
    at_once(items.chunks(each), work)
}

/// What `work` makes of each part, all at once, each on a thread of its own, in their order.
///
/// # Errors
/// `exec/thread_died` where `work` panicked: a fault of packstone.
pub fn at_once<T: Send, R: Send>(
    parts: impl IntoIterator<Item = T>,
    work: impl Fn(T) -> R + Sync,
) -> Result<Vec<R>> {
    let mut parts = parts.into_iter();
    std::thread::scope(|scope| {
        let work = &work;
        let own = parts.next();
        let others: Vec<_> = parts.map(|part| scope.spawn(move || work(part))).collect();
        // One part is for the thread that waits for the others.
        let own = own.map(|part| catch_unwind(AssertUnwindSafe(|| work(part))));
        let others = others.into_iter().map(std::thread::ScopedJoinHandle::join);
        own.into_iter().chain(others).map(|made| made.map_err(|_| died())).collect()
    })
}

/// Does `work` for all parts, on up to `threads` threads of which this is one; each takes the next part when it is done
/// with one, so that none waits for a thread that starts late.
///
/// # Errors
/// The first error that a thread met; `exec/thread_died` where `work` panicked: a fault of packstone.
pub fn share<T: Send>(
    parts: Vec<T>,
    threads: usize,
    work: impl Fn(T) -> Result<()> + Sync,
) -> Result<()> {
    let helpers = threads.min(parts.len()).saturating_sub(1);
    let parts = Mutex::new(parts.into_iter());
    let next = || parts.lock().unwrap_or_else(PoisonError::into_inner).next();
    let all = || std::iter::from_fn(next).try_for_each(&work);
    let all = || catch_unwind(AssertUnwindSafe(all)).unwrap_or_else(|_| Err(died()));
    std::thread::scope(|scope| {
        // Where the system gives no threads, it is done without.
        let spawn = |_| std::thread::Builder::new().spawn_scoped(scope, all).ok();
        let helpers: Vec<_> = (0..helpers).map_while(spawn).collect();
        let own = all();
        let others =
            helpers.into_iter().map(|helper| helper.join().unwrap_or_else(|_| Err(died())));
        std::iter::once(own).chain(others).collect()
    })
}

/// How often, and after which pauses, what failed for a reason that passes is tried again.
#[derive(Clone, Debug)]
pub struct Retry {
    /// Tries in all, the first one counted.
    pub attempts: u32,
    /// The pause after the first failure; each further one is twice as long.
    pub first: Duration,
    /// The longest pause.
    pub most: Duration,
}

impl Default for Retry {
    /// Five tries; a second, and a minute at most.
    fn default() -> Self {
        Self { attempts: 5, first: Duration::from_secs(1), most: Duration::from_secs(60) }
    }
}

impl Retry {
    /// Does `work` until it succeeds, fails for a reason that stays, or was tried often enough. `work` can be repeated.
    ///
    /// Pauses are cut by chance to between a half and all of their length, so that those who fail together do not come
    /// back together.
    ///
    /// # Errors
    /// The last one of `work`.
    pub fn run<T>(&self, mut work: impl FnMut() -> Result<T>) -> Result<T> {
        let mut pause = self.first;
        for _ in 1..self.attempts {
            match work() {
                Err(error) if passes(&error) => {}
                other => return other,
            }
            let mut random = [0u8; 8];
            // Without chance, all of it.
            let cut = getrandom::fill(&mut random).map_or(0, |()| u64::from_le_bytes(random) % 512);
            let length = pause.min(self.most);
            std::thread::sleep(length.mul_f64((1024 - cut) as f64 / 1024.0));
            pause = pause.saturating_mul(2);
        }
        work()
    }
}

/// True for faults of a device or a network that may be gone the next time: not for full disks, missing permissions,
/// names that are taken, and whatever is no fault of the operating system.
fn passes(error: &Error) -> bool {
    use std::io::ErrorKind as E;
    /// A device that failed once.
    const EIO: i32 = 5;
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<std::io::Error>() {
            let known = [
                E::TimedOut,
                E::WouldBlock,
                E::ResourceBusy,
                E::StaleNetworkFileHandle,
                E::ConnectionReset,
                E::ConnectionAborted,
                E::NotConnected,
                E::NetworkDown,
                E::NetworkUnreachable,
                E::HostUnreachable,
            ];
            return known.contains(&error.kind()) || error.raw_os_error() == Some(EIO);
        }
        cause = error.source();
    }
    false
}

/// Does a job under its number, and says whether anybody waits for more.
type Doing<T> = dyn Fn((u64, T)) -> bool + Send;

/// Threads that do jobs in the order in which these are handed in. The thread that did a job reports what came of it.
///
/// Without threads, jobs wait until [`Crew::do_one`] does them.
pub struct Crew<T> {
    jobs: Option<Sender<(u64, T)>>,
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

/// Runs jobs on threads and returns their results in the order of submission.
///
/// At most `window` jobs are in flight or waiting to be taken, so memory is bounded by the window. With no threads jobs
/// run where their results are taken.
pub struct Pipeline<T: Send + 'static, R> {
    crew: Crew<T>,
    results: Receiver<(u64, std::thread::Result<R>)>,
    early: BTreeMap<u64, std::thread::Result<R>>,
    submitted: u64,
    taken: u64,
    window: u64,
}

impl<T: Send + 'static, R: Send + 'static> Pipeline<T, R> {
    /// Starts `threads` threads; `make` gives each its own worker function (with its buffers).
    pub fn new<W>(threads: usize, window: usize, make: impl Fn() -> W) -> Self
    where
        W: Fn(T) -> R + Send + 'static,
    {
        let (done, results) = unbounded();
        let report = move |number, result| done.send((number, result)).is_ok();
        let window = u64::try_from(window.max(1)).unwrap_or(u64::MAX);
        let crew = Crew::new(threads, make, report);
        Self { crew, results, early: BTreeMap::new(), submitted: 0, taken: 0, window }
    }

    /// True where another job fits into the window.
    pub fn has_room(&self) -> bool {
        self.submitted - self.taken < self.window
    }

    /// True where no job is in flight and no result waits.
    pub fn is_empty(&self) -> bool {
        self.submitted == self.taken
    }

    /// Hands in a job. The caller keeps to [`Pipeline::has_room`].
    pub fn submit(&mut self, job: T) {
        if let Some(jobs) = &self.crew.jobs {
            // The receiving ends live as long as `self`.
            let _ = jobs.send((self.submitted, job));
            self.submitted += 1;
        }
    }

    /// The next result in order, waiting for it; `None` where no job is in flight.
    ///
    /// # Errors
    /// `exec/thread_died` where the job panicked: a fault of packstone.
    pub fn next_result(&mut self) -> Option<Result<R>> {
        if self.is_empty() {
            return None;
        }
        loop {
            if let Some(result) = self.early.remove(&self.taken) {
                self.taken += 1;
                return Some(result.map_err(|_| died()));
            }
            self.crew.do_one();
            match self.results.recv() {
                Ok((number, result)) => self.early.insert(number, result),
                Err(_) => return Some(Err(died())),
            };
        }
    }
}

/// The error for a thread that ended in the middle of its work.
pub(crate) fn died() -> Error {
    Error::new(
        Kind::Io,
        "exec/thread_died",
        Place::default(),
        "a worker thread ended before its work was done; this is a fault of packstone",
    )
}

impl<T: Send + 'static, R> Drop for Pipeline<T, R> {
    fn drop(&mut self) {
        // What runs already is waited for.
        self.crew.dismiss();
        self.crew.join(None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(threads: usize) -> Vec<u64> {
        let mut pipeline = Pipeline::new(threads, 4, || {
            |n: u64| {
                std::thread::sleep(std::time::Duration::from_micros(n * 7 % 5 * 100));
                n * n
            }
        });
        let mut jobs = 0..50u64;
        let mut out = Vec::new();
        loop {
            while pipeline.has_room() {
                match jobs.next() {
                    Some(job) => pipeline.submit(job),
                    None => break,
                }
            }
            match pipeline.next_result() {
                Some(result) => out.push(result.unwrap()),
                None => return out,
            }
        }
    }

    #[test]
    fn results_come_in_order_whatever_the_threads() {
        let want: Vec<u64> = (0..50).map(|n| n * n).collect();
        for threads in [0, 1, 2, 4] {
            assert_eq!(run(threads), want, "{threads} threads");
        }
    }

    #[test]
    fn shared_parts_are_done_once_each_and_faults_are_told() {
        for threads in [0, 1, 4] {
            let done = Mutex::new(Vec::new());
            let note = |n: u64| {
                done.lock().unwrap().push(n);
                Ok(())
            };
            share((0..100).collect(), threads, note).unwrap();
            let mut done = done.into_inner().unwrap();
            done.sort_unstable();
            assert_eq!(done, (0..100).collect::<Vec<_>>(), "{threads} threads");
            let code = |work: fn(u64) -> Result<()>| {
                share((0..9).collect(), threads, work).unwrap_err().code()
            };
            assert_eq!(code(|n| if n == 5 { Err(died()) } else { Ok(()) }), "exec/thread_died");
            assert_eq!(
                code(|n| if n == 8 { panic!("on purpose") } else { Ok(()) }),
                "exec/thread_died"
            );
        }
    }

    #[test]
    fn what_passes_is_tried_again_and_what_stays_is_not() {
        use packstone_io::IoError;
        let retry = Retry { attempts: 4, first: Duration::ZERO, most: Duration::ZERO };
        let tries = |fault: &dyn Fn() -> Error, good: usize| {
            let mut count = 0;
            let result = retry.run(|| {
                count += 1;
                if count > good { Ok(()) } else { Err(fault()) }
            });
            (count, result.is_ok())
        };
        let os = |number| {
            move || IoError::os("create", "x", std::io::Error::from_raw_os_error(number)).into()
        };
        // EIO, EAGAIN, EBUSY, ETIMEDOUT, ESTALE
        for passing in [5, 11, 16, 110, 116] {
            assert_eq!(tries(&os(passing), 3), (4, true), "{passing}");
            assert_eq!(tries(&os(passing), 9), (4, false), "{passing}");
        }
        // EPERM, EACCES, EEXIST, EINVAL, EMFILE, ENOSPC, EROFS, EDQUOT
        for staying in [1, 13, 17, 22, 24, 28, 30, 122] {
            assert_eq!(tries(&os(staying), 3), (1, false), "{staying}");
        }
        let own = || IoError::new(Kind::Io, "create", "x", "no space left on device").into();
        assert_eq!(tries(&own, 3), (1, false));
        let none = Retry { attempts: 0, ..retry.clone() };
        assert!(none.run(|| Ok(())).is_ok());
    }

    #[test]
    fn a_panic_becomes_an_error_and_dropping_joins() {
        let mut pipeline = Pipeline::new(2, 4, || |n: u32| assert!(n != 1, "on purpose"));
        (0..3).for_each(|n| pipeline.submit(n));
        let codes: Vec<_> =
            (0..3).map(|_| pipeline.next_result().unwrap().map_err(|e| e.code())).collect();
        assert_eq!(codes, [Ok(()), Err("exec/thread_died"), Ok(())]);
        drop(pipeline);
    }
}
