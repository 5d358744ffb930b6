//! Iterators over samples and batches.
//!
//! Shards are decoded ahead on threads that live as long as the iterator. The interpreter lock is released while the
//! next one is waited for, so other Python threads go on; several may also take from one iterator.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use packstone::model::Batch;
use packstone::ops::{self, Shards};
use packstone::{Kind, Result};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::collection::{Reader, scan};
use crate::failure::{OrRaise, usage};
use crate::fork::Owned;
use crate::values::{Ragged, Shape};

/// Selected samples that are gathered at once.
const TOGETHER: usize = 64;

/// Samples one after another.
#[pyclass(frozen, module = "packstone._native")]
pub(crate) struct Samples {
    reader: Arc<Reader>,
    state: Owned<State>,
    /// For samples with fields of their own.
    other: Mutex<Option<Shape>>,
}

struct State {
    source: Source,
    current: Option<(Arc<Batch>, Range<usize>)>,
}

enum Source {
    Shards(Box<Shards>),
    Indices(Range<u64>),
}

impl Samples {
    /// All samples of a reader.
    pub(crate) fn new(reader: Arc<Reader>) -> Self {
        let source = match &reader.rows {
            Some(_) => Source::Indices(0..reader.len()),
            None => Source::Shards(Box::new(scan(&reader, None).runs(true).shards())),
        };
        let state = Owned::new(State { source, current: None });
        Self { reader, state, other: Mutex::default() }
    }

    fn advance(&self) -> Result<Option<(Arc<Batch>, usize)>> {
        let mut state = self.state.lock();
        let Some(state) = state.as_mut() else { return Ok(None) };
        loop {
            if let Some((batch, rows)) = &mut state.current
                && let Some(row) = rows.next()
            {
                return Ok(Some((Arc::clone(batch), row)));
            }
            // Let go of the last shard before waiting for the next.
            state.current = None;
            let (batch, rows) = match &mut state.source {
                Source::Shards(shards) => match shards.next().transpose()? {
                    Some(decoded) => (decoded.batch, decoded.rows),
                    None => return Ok(None),
                },
                Source::Indices(left) => {
                    let some: Vec<u64> = left.by_ref().take(TOGETHER).collect();
                    if some.is_empty() {
                        return Ok(None);
                    }
                    let batch = self.reader.gather(&some)?;
                    let rows = 0..batch.rows();
                    (batch, rows)
                }
            };
            state.current = Some((Arc::new(batch), rows));
        }
    }
}

#[pymethods]
impl Samples {
    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        self.state.check()?;
        // The state is locked only while the interpreter is not, so that the two locks never wait for each other.
        let Some((batch, row)) = py.detach(|| self.advance()).or_raise(py)? else {
            return Ok(None);
        };
        let mut other = match self.other.try_lock() {
            Ok(mut kept) => kept.take(),
            Err(_) => None,
        };
        let made = self.reader.shape_of(py, &batch, &mut other)?.sample(py, &batch, row, false)?;
        if let Ok(mut kept) = self.other.try_lock() {
            *kept = other;
        }
        Ok(Some(made))
    }
}

/// Batches one after another.
#[pyclass(frozen, module = "packstone._native")]
pub(crate) struct Batches {
    reader: Arc<Reader>,
    state: Owned<Cut>,
}

enum Cut {
    Scan(Box<ops::Batches>),
    Indices { left: Range<u64>, size: usize },
}

impl Batches {
    /// Batches of `size` samples of a reader.
    ///
    /// # Errors
    /// `ops/batch_size` for 0.
    pub(crate) fn new(reader: Arc<Reader>, size: usize, threads: Option<usize>) -> Result<Self> {
        let source = match &reader.rows {
            Some(_) if size == 0 => {
                let message = "expected a batch size of at least 1, found 0";
                return Err(usage(Kind::Invalid, "ops/batch_size", message));
            }
            Some(_) => Cut::Indices { left: 0..reader.len(), size },
            None => Cut::Scan(Box::new(scan(&reader, threads).batches(size)?)),
        };
        Ok(Self { reader, state: Owned::new(source) })
    }

    fn advance(&self) -> Result<Option<Batch>> {
        match &mut *self.state.lock() {
            None => Ok(None),
            Some(Cut::Scan(batches)) => batches.next().transpose(),
            Some(Cut::Indices { left, size }) => {
                let some: Vec<u64> = left.by_ref().take(*size).collect();
                if some.is_empty() { Ok(None) } else { self.reader.gather(&some).map(Some) }
            }
        }
    }
}

#[pymethods]
impl Batches {
    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        self.state.check()?;
        match py.detach(|| self.advance()).or_raise(py)? {
            None => Ok(None),
            // Those of a scan may look at files.
            Some(batch) => {
                let shape = &self.reader.shape;
                shape.batch(py, &batch, false, Ragged::List, batch.rows()).map(Some)
            }
        }
    }
}
