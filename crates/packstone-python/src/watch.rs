//! Long operations: on a thread of their own, while the caller's thread tells of progress and listens for Ctrl-C.
//!
//! ```text
//! caller's thread   progress ─ wait 50 ms ─ signals? ─ progress(done, total, unit) ─ wait …     (lock released in waits)
//! operation         step ─ step ─ asked to stop? ─ step …                          (never needs the lock)
//! ```

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use crossbeam_channel::{RecvTimeoutError, bounded};
use packstone::exec::Progress;
use packstone::{Kind, Result};
use pyo3::exceptions::PyTypeError;
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
    /// Each part of the work is announced when it is known.
    fn total(&self, bytes: u64) {
        self.total.fetch_add(bytes, Relaxed);
    }

    fn advance(&self, bytes: u64) {
        self.done.fetch_add(bytes, Relaxed);
    }

    fn cancelled(&self) -> bool {
        self.stop.load(Relaxed)
    }
}

/// Who hears of the progress.
enum Listener<'a, 'py> {
    /// A function of what is done, all there is, and the unit.
    Function(&'a Bound<'py, PyAny>),
    /// A bar that has a `total` and an `update`, as tqdm's have.
    Bar(&'a Bound<'py, PyAny>),
}

impl<'a, 'py> Listener<'a, 'py> {
    fn new(callback: &'a Bound<'py, PyAny>, unit: &str) -> PyResult<Self> {
        if callback.is_callable() {
            return Ok(Self::Function(callback));
        }
        if !callback.hasattr("update")? {
            let message = "expected a function or a bar with update for progress, found neither";
            return Err(PyTypeError::new_err(message));
        }
        // tqdm's default says that nobody chose a unit.
        if callback.getattr("unit").is_ok_and(|unit| unit.eq("it").unwrap_or(false)) {
            callback.setattr("unit", unit)?;
            callback.setattr("unit_scale", unit == "B")?;
        }
        Ok(Self::Bar(callback))
    }

    fn tell(&self, before: u64, now: u64, total: u64, unit: &str) -> PyResult<()> {
        match self {
            Self::Function(function) => function.call1((now, total, unit)).map(drop),
            Self::Bar(bar) => {
                bar.setattr("total", (total > 0).then_some(total))?;
                bar.call_method1("update", (now.saturating_sub(before),)).map(drop)
            }
        }
    }
}

/// Does `work`, tells `callback` of what is done and all there is, counted in `unit` ("B" for bytes), and ends at Ctrl-C or
/// at an exception of the callback: then the operation stops before its next step, publishes nothing, and the exception is
/// raised. The first call comes before anything is done, the last one when all is.
pub(crate) fn run<T: Send + 'static>(
    py: Python<'_>,
    callback: Option<&Bound<'_, PyAny>>,
    unit: &str,
    work: impl FnOnce(&Arc<dyn Progress>) -> Result<T> + Send + 'static,
) -> PyResult<T> {
    let listener = callback.map(|callback| Listener::new(callback, unit)).transpose()?;
    let watch = Arc::new(Watch::default());
    let (done, waiting) = bounded(1);
    let progress: Arc<dyn Progress> = Arc::clone(&watch) as _;
    let mut told = None;
    let mut tell = |last: bool| -> PyResult<()> {
        let now = (watch.done.load(Relaxed), watch.total.load(Relaxed));
        if let Some(listener) = &listener
            && (last || told != Some(now))
        {
            let before = told.map_or(0, |(done, _)| done);
            told = Some(now);
            listener.tell(before, now.0, now.1, unit)?;
        }
        Ok(())
    };
    tell(false)?;
    let thread = std::thread::Builder::new().name("packstone".to_owned()).spawn(move || {
        // Nobody waits any more only where the interpreter itself went away.
        let _ = done.send(work(&progress));
    })?;
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
