//! What a forked process inherits and must not touch.
//!
//! Only the thread that forked lives on in the new process. Threads that read ahead are gone, and a lock that another
//! thread held is never given back. Locks that are taken only together with the interpreter's are free, for it is the
//! interpreter that forks.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// Something with threads of its own, or with locks that are taken without the interpreter's.
pub(crate) struct Owned<T> {
    value: Mutex<Option<T>>,
    process: u32,
}

impl<T> Owned<T> {
    /// Belongs to this process.
    pub(crate) fn new(value: T) -> Self {
        Self { value: Mutex::new(Some(value)), process: std::process::id() }
    }

    /// Refuses what was inherited.
    pub(crate) fn check(&self) -> PyResult<()> {
        if self.process == std::process::id() {
            return Ok(());
        }
        let message =
            "expected an iterator of this process, found one that was made before it was forked";
        Err(PyRuntimeError::new_err(message))
    }

    /// The thing itself; ask [`Owned::check`] first.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Option<T>> {
        self.value.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Drop for Owned<T> {
    /// Leaves alone what was inherited: its threads cannot be waited for.
    fn drop(&mut self) {
        if self.process != std::process::id() {
            let inherited = self.value.get_mut().unwrap_or_else(PoisonError::into_inner).take();
            Box::leak(Box::new(inherited));
        }
    }
}
