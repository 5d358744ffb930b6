//! Operations that change a dataset where it lies: joining parts, repair, checksums of archives. And which formats there are.

use std::path::PathBuf;
use std::sync::Arc;

use packstone::format::{MergeOptions, PartSource, RepairOptions};
use packstone::formats::tensordict::TensorDict;
use packstone::formats::tensordict::parts::refresh::refresh as refreshed;
use packstone::json::{Object, Value};
use packstone::registry::{self, FORMATS};
use packstone::{Kind, Limits, json, site};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::failure::usage;
use crate::operations::{Progressed, report};
use crate::{values, watch};

/// Joins the parts that workers wrote into the dataset; safe to repeat.
///
/// `parts` are the names of parts, all that lie in the dataset where nothing is said; `expect` is how many there must be.
/// Returns a `MergeReport`. Raises `InvalidError` where parts are missing or overlap, `ConflictError`, and
/// `UnsupportedError` for formats that have none.
#[pyfunction]
#[pyo3(signature = (path, parts=Vec::new(), *, expect=None, progress=None))]
pub(crate) fn merge<'py>(
    py: Python<'py>,
    path: PathBuf,
    parts: Vec<String>,
    expect: Option<usize>,
    progress: Progressed<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let parts = parts.into_iter().map(PartSource::Named).collect();
    let done = watch::run(py, progress.as_ref(), "parts", move |_| {
        let root = site::root(&path)?;
        let format = registry::probe(root.as_ref())?;
        format.merge(root as _, &MergeOptions { parts, expect, ..MergeOptions::default() })
    })?;
    let summary = json!({ "samples": done.samples, "shards": done.shards });
    report(py, "merge", summary, "", Value::Null)
}

/// Salvages complete shards that a killed writer left, and removes its temporary files; with `dry_run` says only what
/// would be done. Progress is in bytes. Returns a `RepairReport`. Raises `UnsupportedError` for formats that have nothing
/// to mend.
#[pyfunction]
#[pyo3(signature = (path, *, dry_run=false, progress=None))]
pub(crate) fn repair<'py>(
    py: Python<'py>,
    path: PathBuf,
    dry_run: bool,
    progress: Progressed<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let found = watch::run(py, progress.as_ref(), "B", move |progress| {
        let root = site::root(&path)?;
        let format = registry::probe(root.as_ref())?;
        let progress = Some(Arc::clone(progress));
        format.repair(root as _, &RepairOptions { dry_run, progress, ..RepairOptions::default() })
    })?;
    let mut summary = Object::new();
    summary.insert("dry_run", dry_run);
    summary.insert("completed", found.completed.iter().map(String::as_str).collect::<Value>());
    let salvaged = found
        .salvaged
        .iter()
        .map(|(file, samples)| json!({ "file": file.as_str(), "samples": *samples }));
    summary.insert("salvaged", salvaged.collect::<Vec<_>>());
    summary.insert("removed", found.removed.iter().map(String::as_str).collect::<Value>());
    let left = found.left.iter().map(|finding| finding.to_json()).collect::<Vec<_>>();
    report(py, "repair", summary.into(), "left", left.into())
}

/// Brings the checksums of a .tdz archive up to date after its leaves were changed in place. Progress is in bytes. Returns
/// a `RefreshReport`. Raises `UnsupportedError` for another format.
#[pyfunction]
#[pyo3(signature = (path, *, progress=None))]
pub(crate) fn refresh<'py>(
    py: Python<'py>,
    path: PathBuf,
    progress: Progressed<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let found = watch::run(py, progress.as_ref(), "B", move |progress| {
        let root = site::root(&path)?;
        let format = registry::probe(root.as_ref())?;
        if format.id() != packstone::format::Format::id(&TensorDict) {
            let message = format!("expected a tensordict archive, found {}", format.id());
            return Err(usage(Kind::Unsupported, "site/wrong_format", message));
        }
        refreshed(&root, &Limits::default(), Some(progress))
    })?;
    let summary = json!({
        "stored": found.stored,
        "changed": found.changed,
        "compressed": found.compressed,
    });
    report(py, "refresh", summary, "", Value::Null)
}

/// What packstone reads and writes: a tuple of `FormatInfo`, each with the options that `create` and `convert` take.
#[pyfunction]
pub(crate) fn formats(py: Python<'_>) -> PyResult<Bound<'_, PyTuple>> {
    let class = py.import("packstone._reports")?.getattr("FormatInfo")?;
    let made = FORMATS.iter().map(|format| {
        let options = format.write_options().iter();
        let options: Object = options.map(|(name, meaning)| (*name, *meaning)).collect();
        class.call1((format.id(), format.title(), format.mark(), values::object(py, &options)?))
    });
    PyTuple::new(py, made.collect::<PyResult<Vec<_>>>()?)
}
