//! Operations on one format alone: archives of tensordicts, manifests of DatasetRT caches.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use packstone::formats::datasetrt::parts::migrate::{WARNINGS, migrate_paths, targets};
use packstone::formats::tensordict::options::{SaveOptions, TreeOptions, method};
use packstone::formats::tensordict::parts::save::Saved;
use packstone::formats::tensordict::parts::{dates, pack as packing, unpack as unpacking};
use packstone::json::{Object, Value};
use packstone::{Limits, RootMut, site};
use pyo3::prelude::*;

use crate::failure::OrRaise;
use crate::operations::{Progressed, report};
use crate::{failure, watch};

/// Packs a saved tensordict, a folder or an archive, into a new .tdz archive. Equal trees give equal archives.
///
/// `compression` is "stored", "deflate", "bzip2" or "lzma", `date` that of all entries; `include_stray` packs files that no
/// document names, `raw_keys` takes file names as keys. Progress is in bytes. Returns a `SaveReport`. Raises `ExistsError`,
/// `InvalidError`, `CorruptError`.
#[pyfunction]
#[pyo3(signature = (
    source, target, *, compression="stored", date="1980-01-01", include_stray=false, raw_keys=false, progress=None,
    threads=None
))]
#[expect(clippy::too_many_arguments, reason = "keywords")]
pub(crate) fn pack<'py>(
    py: Python<'py>,
    source: PathBuf,
    target: PathBuf,
    compression: &str,
    date: &str,
    include_stray: bool,
    raw_keys: bool,
    progress: Progressed<'py>,
    threads: Option<usize>,
) -> PyResult<Bound<'py, PyAny>> {
    let method = method(compression).or_raise(py)?;
    let date = dates::parse(date).or_raise(py)?;
    let options = saving(threads).with_method(method).with_modified(date);
    let reading = TreeOptions::default().with_robust_key(!raw_keys);
    let start = Instant::now();
    let done = watch::run(py, progress.as_ref(), "B", move |progress| {
        let source = site::root(&source)?;
        let (folder, name) = site::new_file(&target)?;
        let folder: Arc<dyn RootMut> = Arc::new(folder);
        packing::pack(source, &folder, &name, include_stray, &reading, &options, Some(progress))
    })?;
    saved(py, &done, start)
}

/// Unpacks a .tdz archive into a new folder, every checksum compared. Progress is in bytes. Returns a `SaveReport`. Raises
/// `ExistsError`, `CorruptError`.
#[pyfunction]
#[pyo3(signature = (source, target, *, progress=None, threads=None))]
pub(crate) fn unpack<'py>(
    py: Python<'py>,
    source: PathBuf,
    target: PathBuf,
    progress: Progressed<'py>,
    threads: Option<usize>,
) -> PyResult<Bound<'py, PyAny>> {
    let options = saving(threads);
    let start = Instant::now();
    let done = watch::run(py, progress.as_ref(), "B", move |progress| {
        let source = site::root(&source)?;
        let (folder, name) = site::new_file(&target)?;
        let folder: Arc<dyn RootMut> = Arc::new(folder);
        let limits = Limits::default();
        unpacking::unpack(source, &folder, &name, &limits, &options, Some(progress))
    })?;
    saved(py, &done, start)
}

pub(crate) fn saving(threads: Option<usize>) -> SaveOptions {
    let options = SaveOptions::default();
    match threads {
        Some(threads) => options.with_threads(threads),
        None => options.with_threads(packstone::exec::default_threads()),
    }
}

pub(crate) fn saved<'py>(
    py: Python<'py>,
    saved: &Saved,
    start: Instant,
) -> PyResult<Bound<'py, PyAny>> {
    let mut out = Object::new();
    out.insert("files", saved.files);
    out.insert("bytes", saved.bytes);
    out.insert("seconds", start.elapsed().as_secs_f64());
    let notes = saved.notes.iter().map(|note| note.to_json()).collect::<Vec<_>>();
    report(py, "saved", out.into(), "notes", notes.into())
}

/// Gives DatasetRT caches of version 2 manifests of version 3, with the ids that they have in this list: name every cache
/// of the dataset, in the order in which it is opened. With `dry_run` nothing is changed. Where it stops on the way, the
/// exception has what is done in `entries`, and the same call does the rest. Returns a `MigrateReport`. Raises `InvalidError`
/// for another version than 3 and where caches do not go together, `ConflictError` where a manifest changes meanwhile.
#[pyfunction]
#[pyo3(signature = (paths, *, to=3, dry_run=false, progress=None))]
pub(crate) fn migrate<'py>(
    py: Python<'py>,
    paths: Vec<PathBuf>,
    to: u64,
    dry_run: bool,
    progress: Progressed<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let line = |path: &str, cache_id: u64, status: &str| {
        let mut line = Object::new();
        line.insert("path", path);
        line.insert("cache_id", cache_id);
        line.insert("status", status);
        Value::Object(line)
    };
    let told = |lines: Vec<Value>| {
        let mut out = Object::new();
        out.insert("to", to);
        out.insert("dry_run", Value::Bool(dry_run));
        out.insert("warnings", WARNINGS.iter().copied().collect::<Value>());
        report(py, "migrate", out.into(), "manifests", lines.into())
    };
    if dry_run {
        let found = py.detach(|| targets(&paths, &Limits::default())).or_raise(py)?;
        let lines = found.iter().map(|target| {
            let status = if target.loaded.version() == 2 { "to_update" } else { "unchanged" };
            line(&target.real_path, target.cache_id, status)
        });
        return told(lines.collect());
    }
    let done = watch::run(py, progress.as_ref(), "manifests", move |progress| {
        Ok(migrate_paths(&paths, to, &Limits::default(), Some(progress)))
    })?;
    let lines = |entries: Vec<packstone::formats::datasetrt::parts::migrate::Entry>| {
        entries.iter().map(|e| line(&e.path, e.cache_id, e.status.name())).collect::<Vec<_>>()
    };
    match done {
        Ok(entries) => told(lines(entries)),
        Err(stopped) => {
            let raised = failure::raise(py, &stopped.error);
            raised.value(py).setattr("entries", told(lines(stopped.entries))?)?;
            Err(raised)
        }
    }
}
