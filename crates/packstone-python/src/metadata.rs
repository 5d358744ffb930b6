//! `packstone.Metadata`: what is said about the samples of a collection, as columns of Arrow.

use std::sync::{Arc, Mutex, PoisonError};

use packstone::exec::default_threads;
use packstone::format;
use packstone::{Kind, ops};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};

use crate::arrow::{self, Exported};
use crate::failure::usage;
use crate::watch;

/// The metadata of the samples of a collection, one row a sample in its order, as columns of Arrow: whatever takes an
/// object with `__arrow_c_stream__` takes it, as `polars.DataFrame`, `pyarrow.table`, `pandas.DataFrame.from_arrow` and
/// DuckDB do. It is read when it is first used, and kept; values of samples are not read.
#[pyclass(frozen, module = "packstone")]
pub(crate) struct Metadata {
    source: Arc<dyn format::Collection>,
    kept: Mutex<Option<Arc<Exported>>>,
}

impl Metadata {
    /// That of all samples of `source`.
    pub(crate) fn new(source: Arc<dyn format::Collection>) -> Self {
        Self { source, kept: Mutex::default() }
    }

    fn table(&self, py: Python<'_>) -> PyResult<Arc<Exported>> {
        let kept = || self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(table) = py.detach(|| kept().clone()) {
            return Ok(table);
        }
        let source = Arc::clone(&self.source);
        let table = watch::run(py, None, "samples", move |progress| {
            let found = ops::metadata_table(&source, default_threads(), Some(progress))?;
            Exported::new(&found.table, &found.json, found.rows).ok_or_else(|| {
                let message = "expected columns whose sizes fit 63 bits, found larger ones";
                usage(Kind::Limit, "ops/metadata_size", message)
            })
        })?;
        // Where two threads read it at once, one of the two is kept.
        Ok(py.detach(|| Arc::clone(kept().get_or_insert(Arc::new(table)))))
    }
}

#[pymethods]
impl Metadata {
    /// The names of the columns: those that conditions of `select` know.
    #[getter]
    fn columns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.table(py)?.names())
    }

    fn __len__(&self) -> PyResult<usize> {
        Ok(usize::try_from(self.source.len())?)
    }

    /// The types of the columns as a capsule with Arrow's `ArrowSchema`.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        arrow::schema(py, self.table(py)?.as_ref())
    }

    /// The rows as a capsule with Arrow's `ArrowArrayStream`, a new one for each call. Types are those of the columns,
    /// whatever the requested schema, as the interface allows.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        arrow::stream(py, &self.table(py)?)
    }

    fn __repr__(&self) -> String {
        format!("<packstone.Metadata {}: {} samples>", self.source.name(), self.source.len())
    }
}
