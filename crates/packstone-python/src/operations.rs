//! The operations of the program, with reports as objects of `packstone._reports`.

use std::path::PathBuf;
use std::sync::Arc;

use packstone::format;
use packstone::json::{Object, ReadOptions, Value};
use packstone::ops::{self, ConvertOptions, DiffOptions, DigestOptions, Level, VerifyOptions};
use packstone::{Error, Kind, Result, registry, site};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::dataset::{Dataset, Paths};
use crate::failure::{OrRaise, usage};
use crate::{values, watch};

/// A function that is called with the bytes that are done and all there are.
pub(crate) type Progressed<'py> = Option<Bound<'py, PyAny>>;

/// Opens what is at a path, whatever its format; several paths where the format reads them as one dataset.
#[pyfunction]
pub(crate) fn open(py: Python<'_>, path: Paths) -> PyResult<Dataset> {
    Dataset::open(py, path)
}

/// Checks a whole dataset: structure, counts, checksums and every value.
#[pyfunction]
#[pyo3(signature = (path, *, quick=false, expect=Vec::new(), progress=None, threads=None))]
pub(crate) fn verify<'py>(
    py: Python<'py>,
    path: Paths,
    quick: bool,
    expect: Vec<String>,
    progress: Progressed<'py>,
    threads: Option<usize>,
) -> PyResult<Bound<'py, PyAny>> {
    let (paths, only) = path.split();
    whole(only.as_deref()).or_raise(py)?;
    let mut options = VerifyOptions::default();
    (options.audit.quick, options.audit.expect) = (quick, expect);
    options.threads = threads.unwrap_or(options.threads);
    verified(py, paths, options, progress)
}

/// A check of what is at `paths`, as a report.
pub(crate) fn verified<'py>(
    py: Python<'py>,
    paths: Vec<PathBuf>,
    options: VerifyOptions,
    progress: Progressed<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let found = watch::run(py, progress.as_ref(), move |progress| {
        site::verify(&paths, &options, Some(progress))
    })?;
    let findings: Value = found.findings.iter().map(|f| f.to_json()).collect::<Vec<_>>().into();
    report(py, "verify", found.to_json(), "findings", findings)
}

/// The content digests of each collection, which no format, shard size or compression changes.
#[pyfunction]
#[pyo3(signature = (path, *, progress=None, threads=None))]
pub(crate) fn digest<'py>(
    py: Python<'py>,
    path: Paths,
    progress: Progressed<'py>,
    threads: Option<usize>,
) -> PyResult<Bound<'py, PyAny>> {
    let dataset = Dataset::open(py, path)?;
    digests(py, Arc::clone(&dataset.dataset), dataset.names(), progress, threads)
}

/// The digests of some collections, by name.
pub(crate) fn digests<'py>(
    py: Python<'py>,
    dataset: Arc<dyn format::Dataset>,
    names: Vec<String>,
    progress: Progressed<'py>,
    threads: Option<usize>,
) -> PyResult<Bound<'py, PyAny>> {
    let mut options = DigestOptions::default();
    options.threads = threads.unwrap_or(options.threads);
    let digests = watch::run(py, progress.as_ref(), move |progress| {
        let one = |name: &String| {
            let collection = dataset.collection(name)?;
            ops::digest_collection(collection, &options, Some(progress))
        };
        names.iter().map(one).collect::<Result<Vec<_>>>()
    })?;
    let out = PyDict::new(py);
    for digest in digests {
        let made = report(py, "digest", digest.to_json(), "", Value::Null)?;
        out.set_item(digest.name, made)?;
    }
    Ok(out.into_any())
}

/// Where two datasets differ in their content, whatever their formats.
#[pyfunction]
#[pyo3(signature = (
    expected, found, *, collections=Vec::new(), values_only=false, ignore_order=false, limit=20, progress=None,
    threads=None
))]
#[expect(clippy::too_many_arguments, reason = "keywords")]
pub(crate) fn diff<'py>(
    py: Python<'py>,
    expected: Paths,
    found: Paths,
    mut collections: Vec<String>,
    values_only: bool,
    ignore_order: bool,
    limit: usize,
    progress: Progressed<'py>,
    threads: Option<usize>,
) -> PyResult<Bound<'py, PyAny>> {
    let (expected, found) = (Dataset::open(py, expected)?, Dataset::open(py, found)?);
    collections.extend(expected.only().into_iter().chain(found.only()).map(str::to_owned));
    let level = if values_only { Level::Values } else { Level::Full };
    let mut options =
        DiffOptions { collections, level, ignore_order, limit, ..DiffOptions::default() };
    options.threads = threads.unwrap_or(options.threads);
    let (expected, found) = (expected.dataset, found.dataset);
    let compared = watch::run(py, progress.as_ref(), move |progress| {
        ops::diff(expected.as_ref(), found.as_ref(), &options, Some(progress))
    })?;
    let differences = compared.differences.iter().map(|d| d.to_json()).collect::<Vec<_>>();
    report(py, "diff", compared.to_json(), "differences_shown", differences.into())
}

/// Writes the content of a dataset as a new one, and reads it back to compare the content digests.
#[pyfunction]
#[pyo3(signature = (
    source, target, *, to, options=None, collections=Vec::new(), strict=false, proof=true, progress=None, threads=None
))]
#[expect(clippy::too_many_arguments, reason = "keywords")]
pub(crate) fn convert<'py>(
    py: Python<'py>,
    source: Paths,
    target: PathBuf,
    to: &str,
    options: Option<Bound<'py, PyAny>>,
    mut collections: Vec<String>,
    strict: bool,
    proof: bool,
    progress: Progressed<'py>,
    threads: Option<usize>,
) -> PyResult<Bound<'py, PyAny>> {
    let format = registry::format(to).or_raise(py)?;
    let source = Dataset::open(py, source)?;
    collections.extend(source.only().map(str::to_owned));
    let options = written_options(py, options)?;
    let mut options =
        ConvertOptions { collections, options, strict, proof, ..ConvertOptions::default() };
    options.threads = threads.unwrap_or(options.threads);
    let dataset = source.dataset;
    let done = watch::run(py, progress.as_ref(), move |progress| {
        site::convert(dataset, format, &target, &options, Some(progress))
    })?;
    report(py, "convert", done.to_json(), "", Value::Null)
}

/// Options of a format, from a dict that JSON can hold.
pub(crate) fn written_options(
    py: Python<'_>,
    options: Option<Bound<'_, PyAny>>,
) -> PyResult<Object> {
    let Some(options) = options else { return Ok(Object::new()) };
    let text: String = py.import("json")?.call_method1("dumps", (options,))?.extract()?;
    let read = packstone::json::read(text.as_bytes(), &ReadOptions::default());
    match read.map(|document| document.value) {
        Ok(Value::Object(options)) => Ok(options),
        _ => Err(pyo3::exceptions::PyTypeError::new_err("expected options as a dict")),
    }
}

/// Refuses a collection where a whole dataset is meant.
fn whole(only: Option<&str>) -> Result<(), Error> {
    let Some(name) = only else { return Ok(()) };
    let message = format!("expected the path of a dataset, found collection {name:?}");
    Err(usage(Kind::Invalid, "cli/usage", message))
}

/// The report of an operation, made by a function of `packstone._reports` from what its JSON output has.
pub(crate) fn report<'py>(
    py: Python<'py>,
    operation: &str,
    summary: Value,
    name: &str,
    lines: Value,
) -> PyResult<Bound<'py, PyAny>> {
    let mut summary = match summary {
        Value::Object(summary) => summary,
        _ => Object::new(),
    };
    if !name.is_empty() {
        summary.insert(name, lines);
    }
    let make = py.import("packstone._reports")?.getattr(operation)?;
    make.call1((values::object(py, &summary)?,))
}
