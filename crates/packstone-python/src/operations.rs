//! The operations of the program, with reports as objects of `packstone._reports`.

use std::path::PathBuf;
use std::sync::Arc;

use packstone::json::{Object, ReadOptions, Value};
use packstone::model::Finding;
use packstone::ops::{
    self, ConvertOptions, DiffOptions, DigestOptions, DigestRecord, Level, VerifyOptions,
};
use packstone::{Error, Kind, Result, registry, site};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::dataset::{Dataset, Paths};
use crate::failure::{OrRaise, usage};
use crate::{values, watch};

/// A function that is called with what is done, all there is, and the unit of both; or a bar as tqdm has them.
pub(crate) type Progressed<'py> = Option<Bound<'py, PyAny>>;

/// Opens what is at a path, whatever its format; several paths where the format reads them as one dataset.
///
/// `path#collection` names one collection. References that lead out of the dataset, as views have them, are followed to
/// what lies below the folders in `follow`, and nowhere else. Returns a `Dataset`.
///
/// Raises `NotFoundError`, `InvalidError` for what is no dataset, `UnsupportedError` for a newer version, `CorruptError`.
#[pyfunction]
#[pyo3(signature = (path, *, follow=Vec::new()))]
pub(crate) fn open(py: Python<'_>, path: Paths, follow: Vec<PathBuf>) -> PyResult<Dataset> {
    Dataset::open_following(py, path, follow)
}

/// The same for what was pickled.
#[pyfunction]
#[pyo3(name = "_reopen")]
pub(crate) fn reopen(py: Python<'_>, paths: Paths, follow: Vec<PathBuf>) -> PyResult<Dataset> {
    Dataset::open_following(py, paths, follow)
}

/// Checks a whole dataset: structure, counts, checksums and every value.
///
/// `quick` leaves out hashing and decoding. `expect` are recorded checksums of the root document in hex, `against` a file of
/// digests that `packstone digest --save` or `digest(save=…)` wrote. Progress is in bytes. Returns a `VerifyReport`: damage is a
/// finding and no exception. Raises `NotFoundError`, `InvalidError` for what is no dataset.
#[pyfunction]
#[pyo3(signature = (
    path, *, quick=false, expect=Vec::new(), against=None, follow=Vec::new(), progress=None, threads=None
))]
#[expect(clippy::too_many_arguments, reason = "keywords")]
pub(crate) fn verify<'py>(
    py: Python<'py>,
    path: Paths,
    quick: bool,
    expect: Vec<String>,
    against: Option<PathBuf>,
    mut follow: Vec<PathBuf>,
    progress: Progressed<'py>,
    threads: Option<usize>,
) -> PyResult<Bound<'py, PyAny>> {
    follow.extend(path.follow());
    let (paths, only) = path.split();
    whole(only.as_deref()).or_raise(py)?;
    let mut options = VerifyOptions::default();
    (options.audit.quick, options.audit.expect) = (quick, expect);
    options.threads = threads.unwrap_or(options.threads);
    verified(py, Verified { paths, follow, against }, options, progress)
}

/// What is checked.
pub(crate) struct Verified {
    /// Where it lies.
    pub(crate) paths: Vec<PathBuf>,
    /// Folders that references out of it may lead to.
    pub(crate) follow: Vec<PathBuf>,
    /// A file of digests that its content must have.
    pub(crate) against: Option<PathBuf>,
}

/// A check of what is at `paths`, as a report.
pub(crate) fn verified<'py>(
    py: Python<'py>,
    what: Verified,
    mut options: VerifyOptions,
    progress: Progressed<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let found = watch::run(py, progress.as_ref(), "B", move |progress| {
        let recorded = what.against.as_deref().map(site::digest_record).transpose()?;
        options.audit.sources = site::followed(&what.follow)?;
        let mut report = site::verify(&what.paths, &options, Some(progress))?;
        if let Some(recorded) = recorded {
            let (threads, limits) = (options.threads, options.audit.limits);
            let how = DigestOptions { threads, limits };
            let sources = &options.audit.sources;
            report.findings.extend(match site::open_following(&what.paths, &limits, sources) {
                Ok(opened) => recorded.compare(opened.dataset.as_ref(), &how, Some(progress))?,
                Err(error) => vec![Finding::from(error)],
            });
        }
        Ok(report)
    })?;
    let findings: Value = found.findings.iter().map(|f| f.to_json()).collect::<Vec<_>>().into();
    report(py, "verify", found.to_json(), "findings", findings)
}

/// The content digests of each collection, which no format, shard size or compression changes.
///
/// `save` is a new file that they are written to, for `verify(against=…)`. Progress is in bytes. Returns a dict of `Digest`
/// by the names of collections. Raises `CorruptError` for values that cannot be read, `ExistsError` for a file that is there.
#[pyfunction]
#[pyo3(signature = (path, *, save=None, progress=None, threads=None))]
pub(crate) fn digest<'py>(
    py: Python<'py>,
    path: Paths,
    save: Option<PathBuf>,
    progress: Progressed<'py>,
    threads: Option<usize>,
) -> PyResult<Bound<'py, PyAny>> {
    let dataset = Dataset::open(py, path)?;
    digests(py, &dataset, save, progress, threads)
}

/// The digests of some collections, by name.
pub(crate) fn digests<'py>(
    py: Python<'py>,
    opened: &Dataset,
    save: Option<PathBuf>,
    progress: Progressed<'py>,
    threads: Option<usize>,
) -> PyResult<Bound<'py, PyAny>> {
    let (dataset, names) = (Arc::clone(&opened.dataset), opened.names());
    let format = opened.format.id().to_owned();
    let mut options = DigestOptions::default();
    options.threads = threads.unwrap_or(options.threads);
    let digests = watch::run(py, progress.as_ref(), "B", move |progress| {
        let one = |name: &String| {
            let collection = dataset.collection(name)?;
            ops::digest_collection(collection, &options, Some(progress))
        };
        let collections = names.iter().map(one).collect::<Result<Vec<_>>>()?;
        if let Some(file) = save {
            let record = DigestRecord { format, collections: collections.clone() };
            site::save_digests(&record, &file)?;
        }
        Ok(collections)
    })?;
    let out = PyDict::new(py);
    for digest in digests {
        let made = report(py, "digest", digest.to_json(), "", Value::Null)?;
        out.set_item(digest.name, made)?;
    }
    Ok(out.into_any())
}

/// Where two datasets differ in their content, whatever their formats.
///
/// `collections` are compared, all where nothing is said; `values_only` leaves metadata aside; with `ignore_order` samples
/// may come in any order. The first `limit` differences are told. Progress is in bytes. Returns a `DiffReport`.
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
    let compared = watch::run(py, progress.as_ref(), "B", move |progress| {
        ops::diff(expected.as_ref(), found.as_ref(), &options, Some(progress))
    })?;
    let differences = compared.differences.iter().map(|d| d.to_json()).collect::<Vec<_>>();
    report(py, "diff", compared.to_json(), "differences_shown", differences.into())
}

/// Writes the content of a dataset as a new one of the format `to`, and reads it back to compare the content digests.
///
/// `options` are those of the format, see `formats()`. `strict` refuses where the target cannot hold everything; `proof=False`
/// leaves out the comparison. Progress is in bytes. Returns a `ConvertReport`. Raises `ExistsError` where something is at the
/// target, `UnsupportedError` for what the format has no words for, `CorruptError`.
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
    let done = watch::run(py, progress.as_ref(), "B", move |progress| {
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
