//! `packstone.create_parts`: one dataset that several processes write.

use std::path::PathBuf;
use std::sync::Arc;

use packstone::{format, registry, site};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use crate::failure::OrRaise;
use crate::operations::written_options;
use crate::values::Shape;
use crate::writer::{self, Start, Writer};

/// The parts of a dataset that several processes write on their own, and one of them joins. It pickles as what it was made
/// with, so workers get it as an argument.
#[pyclass(frozen, module = "packstone")]
pub(crate) struct Parts {
    parts: Box<dyn format::Parts>,
    shape: Arc<Shape>,
    path: PathBuf,
    /// The rest of the arguments.
    arguments: (Py<PyAny>, Py<PyList>, Py<PyAny>, Option<Py<PyAny>>),
}

/// Starts a dataset that several processes write in parts, or takes up one that was started with the same arguments, which
/// are those of `create`. Nothing of a part is visible before `commit`.
///
/// Raises `UnsupportedError`, with the reason, for formats whose datasets one process writes: DatasetRT, TensorDict and
/// ArrayRecord; `InvalidError` where a dataset with other fields is there.
#[pyfunction]
#[pyo3(signature = (path, *, format, schema, collections=None, options=None))]
pub(crate) fn create_parts<'py>(
    py: Python<'py>,
    path: PathBuf,
    format: Bound<'py, PyAny>,
    schema: Vec<Bound<'py, PyAny>>,
    collections: Option<Vec<String>>,
    options: Option<Bound<'py, PyAny>>,
) -> PyResult<Parts> {
    resume(py, std::path::absolute(path)?, format, schema, collections, options)
}

/// The same for what was pickled.
#[pyfunction]
#[pyo3(name = "_parts")]
pub(crate) fn resume<'py>(
    py: Python<'py>,
    path: PathBuf,
    format: Bound<'py, PyAny>,
    schema: Vec<Bound<'py, PyAny>>,
    collections: Option<Vec<String>>,
    options: Option<Bound<'py, PyAny>>,
) -> PyResult<Parts> {
    let found = registry::format(&format.extract::<String>()?).or_raise(py)?;
    let collections = collections.unwrap_or_else(|| vec!["train".to_owned()]);
    let named = PyList::new(py, &collections)?.into_any().unbind();
    let kept = options.as_ref().map(|options| options.clone().unbind());
    let options = written_options(py, options)?;
    let start = Start { path, format: found, collections, options };
    let shape = Arc::new(writer::shape(py, &schema)?);
    let fields = Arc::clone(&shape.schema);
    let parts = py.detach(|| {
        let plan = start.plan(&fields)?;
        let there = start.path.exists();
        let root = match there {
            true => site::root(&start.path)?,
            false => site::target(&start.path, found)?,
        };
        let made = found.parts(root, &plan, &start.options);
        if made.is_err() && !there {
            // Only an empty folder can be removed this way.
            let _ = std::fs::remove_dir(&start.path);
        }
        made
    });
    let parts = parts.or_raise(py)?;
    let arguments = (format.unbind(), PyList::new(py, schema)?.unbind(), named, kept);
    Ok(Parts { parts, shape, path: start.path, arguments })
}

#[pymethods]
impl Parts {
    /// Starts the part of this name, and gives its `Writer`. A part whose writer died is started again under the same name.
    ///
    /// Raises `ExistsError` where the part is finished already.
    fn open(&self, py: Python<'_>, name: &str) -> PyResult<Writer> {
        let writer = py.detach(|| self.parts.open(name)).or_raise(py)?;
        Ok(Writer::of_part(writer, Arc::clone(&self.shape)))
    }

    /// The names of the parts that are finished and not joined yet.
    #[getter]
    fn finished<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, py.detach(|| self.parts.finished()).or_raise(py)?)
    }

    /// Joins and publishes the parts of these names, all that are finished where nothing is said, in that order where the
    /// format keeps one. Safe to repeat, as after a crash. Returns a `Written`.
    ///
    /// Raises `InvalidError` where one of them is not finished; then nothing is published.
    #[pyo3(signature = (names=Vec::new()))]
    fn commit<'py>(&self, py: Python<'py>, names: Vec<String>) -> PyResult<Bound<'py, PyAny>> {
        let done = py.detach(|| self.parts.commit(&names)).or_raise(py)?;
        writer::written(py, &done)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let resume = py.import("packstone._native")?.getattr("_parts")?;
        let (format, schema, collections, options) = &self.arguments;
        let arguments = (
            self.path.as_os_str(),
            format,
            schema,
            collections,
            options.as_ref().map_or_else(|| py.None(), |options| options.clone_ref(py)),
        );
        PyTuple::new(py, [resume, arguments.into_pyobject(py)?.into_any()])
    }

    fn __repr__(&self) -> String {
        format!("<packstone.Parts {}>", self.path.display())
    }
}
