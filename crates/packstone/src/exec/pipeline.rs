//! Jobs on threads whose results come in the order of submission, with a bound on how many there are at a time.

use std::collections::BTreeMap;

use crossbeam_channel::{Receiver, unbounded};

use super::crew::Crew;
use super::died;
use crate::error::Result;

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
    fn a_panic_becomes_an_error_and_dropping_joins() {
        let mut pipeline = Pipeline::new(2, 4, || |n: u32| assert!(n != 1, "on purpose"));
        (0..3).for_each(|n| pipeline.submit(n));
        let codes: Vec<_> =
            (0..3).map(|_| pipeline.next_result().unwrap().map_err(|e| e.code())).collect();
        assert_eq!(codes, [Ok(()), Err("exec/thread_died"), Ok(())]);
        drop(pipeline);
    }
}
