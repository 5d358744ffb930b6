//! Long operations: on a thread of their own, while the caller's thread tells of progress and listens for Ctrl-C.
//!
//! ```text
//! caller's thread   wait 50 ms ─ signals? ─ progress(done, total) ─ wait …        (interpreter lock released in waits)
//! operation         step ─ step ─ asked to stop? ─ step …                          (never needs the lock)
//! ```

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use crossbeam_channel::{RecvTimeoutError, bounded};
use packstone::exec::Progress;
use packstone::{Kind, Result};
use pyo3::prelude::*;

use crate::failure::{OrRaise, usage};

/// How often the caller's thread looks up.
const PACE: Duration = Duration::from_millis(50);

#[derive(Debug, Default)]
struct Watch {
    total: AtomicU64,
    done: AtomicU64,
    stop: AtomicBool,
}

impl Progress for Watch {
    fn total(&self, bytes: u64) {
        self.total.store(bytes, Relaxed);
    }

    fn advance(&self, bytes: u64) {
        self.done.fetch_add(bytes, Relaxed);
    }

    fn cancelled(&self) -> bool {
        self.stop.load(Relaxed)
    }
}

/// Does `work`, calls `callback` with the bytes that are done and all there are, and ends at Ctrl-C or at an exception of
/// the callback: then the operation stops before its next step, publishes nothing, and the exception is raised.
pub(crate) fn run<T: Send + 'static>(
    py: Python<'_>,
    callback: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Arc<dyn Progress>) -> Result<T> + Send + 'static,
) -> PyResult<T> {
    let watch = Arc::new(Watch::default());
    let (done, waiting) = bounded(1);
    let progress: Arc<dyn Progress> = Arc::clone(&watch) as _;
    let thread = std::thread::Builder::new().name("packstone".to_owned()).spawn(move || {
        // Nobody waits any more only where the interpreter itself went away.
        let _ = done.send(work(&progress));
    })?;
    let mut told = None;
    let mut tell = |last: bool| -> PyResult<()> {
        let now = (watch.done.load(Relaxed), watch.total.load(Relaxed));
        if let Some(callback) = callback
            && (last || told != Some(now))
        {
            told = Some(now);
            callback.call1(now)?;
        }
        Ok(())
    };
    let outcome = loop {
        match py.detach(|| waiting.recv_timeout(PACE)) {
            Ok(result) => break Some(result),
            Err(RecvTimeoutError::Disconnected) => break None,
            Err(RecvTimeoutError::Timeout) => {
                if let Err(raised) = py.check_signals().and_then(|()| tell(false)) {
                    watch.stop.store(true, Relaxed);
                    // What it has begun it ends or takes back; its own error says only that it was stopped.
                    py.detach(|| drop(thread.join()));
                    return Err(raised);
                }
            }
        }
    };
    py.detach(|| drop(thread.join()));
    let died = || usage(Kind::Io, "exec/thread_died", "the operation ended unexpectedly");
    let result = outcome.ok_or_else(died).and_then(|result| result).or_raise(py)?;
    tell(true)?;
    Ok(result)
}
