//! `packstone.Dataset`: an open dataset, whatever its format.

use std::path::PathBuf;
use std::sync::Arc;

use packstone::format;
use packstone::model::Schema;
use packstone::ops::VerifyOptions;
use packstone::{Limits, site};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use crate::collection::Collection;
use crate::failure::OrRaise;
use crate::operations::{self, Progressed};
use crate::{dtypes, values};

/// An open dataset: its collections by name, `dataset["train"]`. It pickles as the absolute paths that it was opened from.
///
/// Raises `NotFoundError`, which is a `LookupError`, for names that it does not have.
#[pyclass(frozen, module = "packstone", mapping)]
#[derive(Clone)]
pub(crate) struct Dataset {
    pub(crate) paths: Vec<PathBuf>,
    /// The same from the root on: they are right in any folder, and in any process.
    pub(crate) absolute: Vec<PathBuf>,
    /// The collection that its address names.
    only: Option<String>,
    /// Folders that references out of it may lead to.
    pub(crate) follow: Vec<PathBuf>,
    pub(crate) format: &'static dyn format::Format,
    pub(crate) dataset: Arc<dyn format::Dataset>,
}

/// A path, or several, or what is open already.
#[derive(FromPyObject)]
pub(crate) enum Paths {
    /// An open dataset.
    Open(Py<Dataset>),
    /// One, as text or `os.PathLike`.
    One(PathBuf),
    /// Several that are read as one dataset.
    Many(Vec<PathBuf>),
}

impl Paths {
    /// The folders that references out of an open dataset may lead to.
    pub(crate) fn follow(&self) -> Vec<PathBuf> {
        match self {
            Self::Open(dataset) => dataset.get().follow.clone(),
            Self::One(_) | Self::Many(_) => Vec::new(),
        }
    }

    /// The paths, and the collection that the first one names as `path#collection`.
    pub(crate) fn split(self) -> (Vec<PathBuf>, Option<String>) {
        let mut paths = match self {
            Self::Open(dataset) => {
                let dataset = dataset.get();
                return (dataset.paths.clone(), dataset.only.clone());
            }
            Self::One(path) => vec![path],
            Self::Many(paths) => paths,
        };
        let mut only = None;
        if let Some(first) = paths.first_mut()
            && let Some((path, name)) = first.to_str().map(site::split_address)
        {
            (*first, only) = (path, name);
        }
        (paths, only)
    }
}

impl Dataset {
    /// Opens it; the interpreter lock is released meanwhile.
    pub(crate) fn open(py: Python<'_>, paths: Paths) -> PyResult<Self> {
        Self::open_following(py, paths, Vec::new())
    }

    /// The same, following references that lead out of it to what lies below these folders.
    pub(crate) fn open_following(
        py: Python<'_>,
        paths: Paths,
        follow: Vec<PathBuf>,
    ) -> PyResult<Self> {
        if let Paths::Open(dataset) = paths {
            return Ok(dataset.get().clone());
        }
        let (paths, only) = paths.split();
        let follow = follow.iter().map(std::path::absolute).collect::<Result<Vec<_>, _>>()?;
        let absolute = paths.iter().map(std::path::absolute).collect::<Result<_, _>>()?;
        let opened = py.detach(|| {
            let sources = site::followed(&follow)?;
            let opened = site::open_following(&paths, &Limits::default(), &sources)?;
            if let Some(name) = &only {
                opened.dataset.collection(name)?;
            }
            Ok::<_, packstone::Error>(opened)
        });
        let site::Opened { format, dataset, .. } = opened.or_raise(py)?;
        Ok(Self { paths, absolute, only, follow, format, dataset })
    }

    /// The names of its collections.
    pub(crate) fn names(&self) -> Vec<String> {
        match &self.only {
            Some(name) => vec![name.clone()],
            None => self.dataset.collections(),
        }
    }

    /// The collection that its address names.
    pub(crate) fn only(&self) -> Option<&str> {
        self.only.as_deref()
    }

    /// The arguments that open it again.
    fn address(&self) -> Vec<PathBuf> {
        let mut paths = self.absolute.clone();
        if let (Some(first), Some(name)) = (paths.first_mut(), &self.only) {
            first.as_mut_os_string().push(format!("#{name}"));
        }
        paths
    }
}

#[pymethods]
impl Dataset {
    /// The names of its collections, in the order of the format.
    #[getter]
    fn collections<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.names())
    }

    /// The format's short name, such as "sedpack".
    #[getter]
    fn format(&self) -> &'static str {
        self.format.id()
    }

    /// What the dataset says about itself, as its own documents have it.
    #[getter]
    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        values::object(py, &self.dataset.info().native)
    }

    /// The fields that samples have where a collection does not say otherwise: a tuple of `packstone.Field`.
    #[getter]
    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        schema(py, self.dataset.schema())
    }

    fn __getitem__(slf: Bound<'_, Self>, name: &str) -> PyResult<Collection> {
        let py = slf.py();
        let this = slf.get();
        if this.only.as_ref().is_some_and(|only| only != name) {
            let error = crate::failure::usage(
                packstone::Kind::NotFound,
                "site/collection",
                format!("expected a collection of {}, found {name:?}", this.names().join(", ")),
            );
            return Err(crate::failure::raise(py, &error));
        }
        let collection = py.detach(|| this.dataset.collection(name)).or_raise(py)?;
        Collection::new(&slf, collection, None)
    }

    fn __len__(&self) -> usize {
        self.names().len()
    }

    fn __contains__(&self, name: &str) -> bool {
        self.names().iter().any(|known| known == name)
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(PyList::new(py, self.names())?.try_iter()?.into_any())
    }

    /// The content digests by collection, see `packstone.digest`.
    #[pyo3(signature = (*, progress=None, threads=None))]
    fn digest<'py>(
        &self,
        py: Python<'py>,
        progress: Progressed<'py>,
        threads: Option<usize>,
    ) -> PyResult<Bound<'py, PyAny>> {
        operations::digests(py, self, None, progress, threads)
    }

    /// Checks all of it, see `packstone.verify`.
    #[pyo3(signature = (*, quick=false, expect=Vec::new(), against=None, progress=None, threads=None))]
    fn verify<'py>(
        &self,
        py: Python<'py>,
        quick: bool,
        expect: Vec<String>,
        against: Option<PathBuf>,
        progress: Progressed<'py>,
        threads: Option<usize>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let mut options = VerifyOptions::default();
        (options.audit.quick, options.audit.expect) = (quick, expect);
        options.threads = threads.unwrap_or(options.threads);
        let what = operations::Verified {
            paths: self.paths.clone(),
            follow: self.follow.clone(),
            against,
        };
        operations::verified(py, what, options, progress)
    }

    /// Datasets pickle as the absolute paths that they were opened from.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let reopen = py.import("packstone._native")?.getattr("_reopen")?;
        let paths = PyList::new(py, self.address().iter().map(|path| path.as_os_str()))?;
        let follow = PyList::new(py, self.follow.iter().map(|path| path.as_os_str()))?;
        PyTuple::new(py, [reopen, PyTuple::new(py, [paths, follow])?.into_any()])
    }

    fn __repr__(&self) -> String {
        let names = self.names().join(", ");
        let path = self.paths.first().map(|path| path.display().to_string()).unwrap_or_default();
        format!("<packstone.Dataset {} {path}: {names}>", self.format.id())
    }
}

/// Fields as a tuple of `packstone.Field`.
pub(crate) fn schema<'py>(py: Python<'py>, schema: &Schema) -> PyResult<Bound<'py, PyTuple>> {
    let class = py.import("packstone._schema")?.getattr("Field")?;
    let fields = schema.fields.iter().zip(schema.names()).map(|(field, name)| {
        let dims = field.shape.iter().map(|dim| (!field.varying).then_some(*dim));
        let shape = PyTuple::new(py, dims.collect::<Vec<_>>())?;
        let key = PyTuple::new(py, field.key.parts())?;
        let dtype = dtypes::numpy(py, field)?;
        let metadata = values::object(py, &field.metadata)?;
        class.call1((name, key, field.dtype.name().as_ref(), dtype, shape, metadata))
    });
    PyTuple::new(py, fields.collect::<PyResult<Vec<_>>>()?)
}
