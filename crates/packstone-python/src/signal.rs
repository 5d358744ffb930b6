//! Operations on signal datasets: annotation sets, and views.

use std::path::PathBuf;

use packstone::formats::sds::parts::carrier::Status;
use packstone::json::Value;
use packstone::{Kind, site};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PySlice, PyString};

use crate::collection::Collection;
use crate::dataset::Dataset;
use crate::failure::{OrRaise, raise, usage};
use crate::operations::{Progressed, report, written_options};
use crate::{columns, watch};

/// What `annotate` publishes.
#[derive(FromPyObject)]
pub(crate) enum Source<'py> {
    /// The samples of a collection.
    Collection(Bound<'py, Collection>),
    /// The samples of a dataset with one collection.
    Dataset(Bound<'py, Dataset>),
    /// A dataset, or a file of JSON Lines.
    Path(PathBuf),
    /// Dicts.
    Lines(Bound<'py, PyAny>),
}

impl Source<'_> {
    fn open(self, py: Python<'_>, follow: &[PathBuf]) -> PyResult<site::Annotations> {
        match self {
            Self::Collection(collection) => {
                let label = collection.repr()?.to_string();
                let collection = collection.get().source(py)?;
                Ok(site::Annotations::Samples { collection, label })
            }
            Self::Dataset(dataset) => {
                let label = dataset.repr()?.to_string();
                let names = dataset.get().names();
                let [name] = &names[..] else {
                    let found = names.join(", ");
                    let message = format!("expected one collection, found {found}");
                    return Err(raise(py, &usage(Kind::Invalid, "cli/usage", message)));
                };
                let collection = dataset.get().dataset.collection(name).or_raise(py)?;
                Ok(site::Annotations::Samples { collection, label })
            }
            Self::Path(path) => {
                let opened = py.detach(|| {
                    let address = path.to_str().map(site::split_address);
                    let (path, collection) = address.unwrap_or((path, None));
                    let sources = site::followed(follow)?;
                    site::Annotations::open(&path, collection.as_deref(), &sources)
                });
                opened.or_raise(py)
            }
            Self::Lines(items) => {
                let mut text = String::new();
                for item in items.try_iter()? {
                    let line = columns::json(&annotation(&item?)?)?.ok_or_else(|| {
                        PyTypeError::new_err("expected annotations as dicts that JSON holds")
                    })?;
                    text.push_str(&line.to_string());
                    text.push('\n');
                }
                let (text, label) = (text.into_bytes().into(), "annotations".to_owned());
                Ok(site::Annotations::Lines { text, label })
            }
        }
    }
}

/// An annotation as the lines have it: arrays become objects with their type and their values.
fn annotation<'py>(item: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let Ok(item) = item.cast::<PyDict>() else {
        return Err(PyTypeError::new_err("expected a dict, a path, a dataset or a collection"));
    };
    let out = item.copy()?;
    if let Some(fields) = item.get_item("fields")?
        && let Ok(fields) = fields.cast::<PyDict>()
    {
        let spelled = PyDict::new(item.py());
        for (name, value) in fields {
            let value = match (value.hasattr("dtype")?, value.hasattr("tolist")?) {
                (true, true) => {
                    let array = PyDict::new(item.py());
                    array.set_item("dtype", value.getattr("dtype")?.getattr("name")?)?;
                    array.set_item("data", value.call_method0("tolist")?)?;
                    array.into_any()
                }
                _ => value,
            };
            spelled.set_item(name, value)?;
        }
        out.set_item("fields", spelled)?;
    }
    Ok(out.into_any())
}

/// Publishes annotations of the records of a SignalDataset as the set `name`, one a record, all of them or none.
///
/// `annotations` are dicts such as `{"id": "rec-1", "status": "success", "values": {"label": 3}, "fields": {"mask":
/// array}}`, the path of a file with one a line, or a dataset or a collection whose samples they are. They are about the
/// records in their order, or with `by_id` name them by id; `missing` ("skipped" or "failed") is then what became of
/// records without one. A worker writes one shard that begins with record `first` (`worker="name"`), and with `publish` one
/// process joins what workers wrote. Progress is in records. Returns an `AnnotateReport`.
///
/// Raises `UnsupportedError` for another format, `InvalidError` for annotations that do not fit, `ConflictError`.
#[pyfunction]
#[pyo3(signature = (
    dataset, annotations=None, *, name, by_id=false, missing=None, metadata=None, publication_id=None,
    records_per_shard=10_000, worker=None, first=None, publish=false, retries=8, follow=Vec::new(), progress=None,
    threads=None
))]
#[expect(clippy::too_many_arguments, reason = "keywords")]
pub(crate) fn annotate<'py>(
    py: Python<'py>,
    dataset: PathBuf,
    annotations: Option<Source<'py>>,
    name: String,
    by_id: bool,
    missing: Option<&str>,
    metadata: Option<Bound<'py, PyAny>>,
    publication_id: Option<String>,
    records_per_shard: u64,
    worker: Option<String>,
    first: Option<u64>,
    publish: bool,
    retries: u32,
    follow: Vec<PathBuf>,
    progress: Progressed<'py>,
    threads: Option<usize>,
) -> PyResult<Bound<'py, PyAny>> {
    let missing = match missing {
        None => None,
        Some(text) => Some(
            [Status::Skipped, Status::Failed]
                .into_iter()
                .find(|status| status.name() == text)
                .ok_or_else(|| {
                    PyValueError::new_err(format!("expected skipped or failed, found {text:?}"))
                })?,
        ),
    };
    if records_per_shard == 0 {
        return Err(PyValueError::new_err("expected at least 1 record a shard, found 0"));
    }
    let together = PyTypeError::new_err;
    let work = match (annotations, worker, first, publish) {
        (None, None, None, true) if !by_id => site::Work::Join,
        (Some(_), _, _, true) => return Err(together("publish joins shards and takes no others")),
        (Some(source), Some(shard), Some(first), false) if !by_id && metadata.is_none() => {
            site::Work::Shard { annotations: source.open(py, &follow)?, shard, first }
        }
        (Some(source), None, None, false) if by_id || missing.is_none() => {
            site::Work::Publish { annotations: source.open(py, &follow)?, by_id, missing }
        }
        (None, _, _, false) => return Err(together("expected annotations, found none")),
        _ => {
            return Err(together(
                "worker and first go together, without by_id, metadata and publish; missing needs by_id",
            ));
        }
    };
    let mut request = site::Annotate::new(dataset, name, work);
    request.metadata = written_options(py, metadata)?;
    request.publication_id = publication_id;
    (request.records_per_shard, request.retries) = (records_per_shard, retries);
    request.threads = threads.unwrap_or(request.threads);
    let done = watch::run(py, progress.as_ref(), "records", move |progress| {
        let sources = site::followed(&follow)?;
        site::annotate(&site::Annotate { sources, ..request }, Some(progress))
    })?;
    report(py, "annotate", done.to_json(), "", Value::Null)
}

/// Publishes records of a SignalDataset, or of one of its collections (`path#collection`), as a dataset of their own that
/// names them where they are, or with `materialize` as a copy that needs no other.
///
/// `records` are positions in their order, a slice, or a condition on metadata; all where nothing is said. A view names its
/// source by a relative path where that lies in its folder, else by an absolute one, which readers follow with
/// `open(view, follow=[source])`. Progress is in records. Returns a `ViewReport`.
///
/// Raises `UnsupportedError` for another format, `NotFoundError` for positions outside, `ExistsError`.
#[pyfunction]
#[pyo3(signature = (
    source, target, records=None, *, materialize=false, dataset_id=None, snapshot_id="snapshot",
    metadata=None, records_per_shard=10_000, follow=Vec::new(), progress=None
))]
#[expect(clippy::too_many_arguments, reason = "keywords")]
pub(crate) fn view<'py>(
    py: Python<'py>,
    source: PathBuf,
    target: PathBuf,
    records: Option<Bound<'py, PyAny>>,
    materialize: bool,
    dataset_id: Option<String>,
    snapshot_id: &str,
    metadata: Option<Bound<'py, PyAny>>,
    records_per_shard: u64,
    follow: Vec<PathBuf>,
    progress: Progressed<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    if records_per_shard == 0 {
        return Err(PyValueError::new_err("expected at least 1 record a shard, found 0"));
    }
    let (path, collection) = match source.to_str().map(site::split_address) {
        Some(split) => split,
        None => (source, None),
    };
    let mut request = site::View::new(path, target);
    request.collection = collection;
    request.which = records.map_or(Ok(site::Which::All), |records| which(&records))?;
    request.metadata = written_options(py, metadata)?;
    request.materialize = materialize;
    (request.dataset_id, request.snapshot_id) = (dataset_id, snapshot_id.to_owned());
    request.records_per_shard = records_per_shard;
    let done = watch::run(py, progress.as_ref(), "records", move |progress| {
        let sources = site::followed(&follow)?;
        site::view(&site::View { sources, ..request }, Some(progress))
    })?;
    report(py, "view", done.to_json(), "", Value::Null)
}

fn which(records: &Bound<'_, PyAny>) -> PyResult<site::Which> {
    if let Ok(condition) = records.cast::<PyString>() {
        return Ok(site::Which::Where(condition.extract()?));
    }
    if let Ok(slice) = records.cast::<PySlice>() {
        let end = |name: &str| slice.getattr(name)?.extract::<Option<u64>>();
        let step: Option<i64> = slice.getattr("step")?.extract()?;
        if step.is_some_and(|step| step != 1) {
            return Err(PyValueError::new_err("expected a slice without a step, found one"));
        }
        return Ok(site::Which::Between(end("start")?, end("stop")?));
    }
    let list = match records.hasattr("tolist")? {
        true => records.call_method0("tolist")?,
        false => records.clone(),
    };
    Ok(site::Which::At(list.extract()?))
}
