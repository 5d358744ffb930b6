//! `packstone.create`: new datasets, sample by sample or batch by batch.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use packstone::format::{self, Plan, Written};
use packstone::json::{Object, Value};
use packstone::model::{Batch, DType, Field, Key, Schema};
use packstone::{Kind, ops, registry, site};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::columns::{self, column};
use crate::failure::{OrRaise, usage};
use crate::operations::written_options;
use crate::values::Shape;
use crate::{dataset, operations};

/// Writes a new dataset. Nothing is visible before `finish`, which a `with` block calls at its end, unless it is left by
/// an exception: then what was written is taken back.
#[pyclass(frozen, module = "packstone")]
pub(crate) struct Writer {
    writer: Mutex<Option<Box<dyn format::Writer>>>,
    shape: Shape,
    path: PathBuf,
}

/// Starts a new dataset at a path where nothing is yet: its format, its fields, the collections that will be written, and
/// options of the format.
#[pyfunction]
#[pyo3(signature = (path, *, format, schema, collections=vec!["train".to_owned()], options=None))]
pub(crate) fn create(
    py: Python<'_>,
    path: PathBuf,
    format: &str,
    schema: Vec<Bound<'_, PyAny>>,
    collections: Vec<String>,
    options: Option<Bound<'_, PyAny>>,
) -> PyResult<Writer> {
    let format = registry::format(format).or_raise(py)?;
    let options = written_options(py, options)?;
    let fields = schema.iter().map(field).collect::<PyResult<Vec<_>>>()?;
    let schema = Arc::new(Schema::new(fields));
    let shape = Shape::new(py, &schema)?;
    let collections = collections.into_iter().map(|name| (name, None)).collect();
    let plan = Plan { schema, collections, ..Plan::default() };
    let target = path.clone();
    let writer = py.detach(move || {
        let fidelity = format.fidelity(&plan, &options)?;
        if !fidelity.is_lossless() {
            return Err(ops::would_lose(format.id(), &fidelity));
        }
        let made = format.create(site::target(&target, format)?, &plan, &options);
        if made.is_err() {
            // Only an empty folder can be removed this way.
            let _ = std::fs::remove_dir(&target);
        }
        made
    });
    Ok(Writer { writer: Mutex::new(Some(writer.or_raise(py)?)), shape, path })
}

/// The field that a `packstone.Field` is.
fn field(field: &Bound<'_, PyAny>) -> PyResult<Field> {
    let name: String = field.getattr("type")?.extract()?;
    let dtype = DType::from_name(&name).ok_or_else(|| {
        PyValueError::new_err(format!("expected a type of packstone, found {name:?}"))
    })?;
    let key: Vec<String> = field.getattr("key")?.extract()?;
    let shape: Vec<Option<u64>> = field.getattr("shape")?.extract()?;
    let fixed: Option<Vec<u64>> = shape.iter().copied().collect();
    let varying = fixed.is_none();
    if varying && shape.iter().any(Option::is_some) {
        let message = "expected a shape of numbers alone or of None alone, found both";
        return Err(PyValueError::new_err(message));
    }
    let shape = fixed.unwrap_or_else(|| vec![0; shape.len()]);
    let metadata = object(&field.getattr("metadata")?)?;
    Ok(Field { key: Key::nested(key), dtype, shape, varying, metadata })
}

fn object(value: &Bound<'_, PyAny>) -> PyResult<Object> {
    match columns::json(value)? {
        Some(Value::Object(object)) => Ok(object),
        _ => Err(PyTypeError::new_err("expected a dict that JSON holds")),
    }
}

impl Writer {
    fn append(
        &self,
        py: Python<'_>,
        collection: &str,
        values: &Bound<'_, PyDict>,
        metadata: Option<&Bound<'_, PyAny>>,
        many: bool,
    ) -> PyResult<()> {
        let made = self
            .shape
            .columns(py, values, |field, dtype, value| column(field, dtype, value, many))?;
        let rows = made.first().map_or(0, packstone::model::Column::rows);
        let mut batch = Batch::new(Arc::clone(&self.shape.schema), rows, made).or_raise(py)?;
        if let Some(metadata) = metadata {
            batch = batch.with_metadata(Arc::new(object(metadata)?));
        }
        let written = py.detach(|| {
            let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
            writer.as_mut().ok_or_else(finished)?.write(collection, &batch)
        });
        written.or_raise(py)
    }

    fn take(&self) -> Option<Box<dyn format::Writer>> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

fn finished() -> packstone::Error {
    usage(
        Kind::Invalid,
        "ops/finished",
        "expected an open writer, found one that was finished or closed",
    )
}

#[pymethods]
impl Writer {
    /// The fields: a tuple of `packstone.Field`.
    #[getter]
    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        dataset::schema(py, &self.shape.schema)
    }

    /// Appends one sample, with what is said about it.
    #[pyo3(signature = (collection, sample, *, metadata=None))]
    fn write(
        &self,
        py: Python<'_>,
        collection: &str,
        sample: &Bound<'_, PyDict>,
        metadata: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        self.append(py, collection, sample, metadata, false)
    }

    /// Appends many samples: arrays with a leading dimension, lists of text, bytes, JSON or arrays of any shape. The
    /// metadata are those of each of them.
    #[pyo3(signature = (collection, batch, *, metadata=None))]
    fn write_batch(
        &self,
        py: Python<'_>,
        collection: &str,
        batch: &Bound<'_, PyDict>,
        metadata: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        self.append(py, collection, batch, metadata, true)
    }

    /// Publishes everything and says what that was.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let done = py.detach(|| self.take().ok_or_else(finished)?.finish());
        let Written { samples, shards, bytes } = done.or_raise(py)?;
        let mut out = Object::new();
        out.insert("samples", samples);
        out.insert("shards", shards);
        out.insert("bytes", bytes);
        operations::report(py, "written", out.into(), "", Value::Null)
    }

    /// Takes everything back, unless it was finished.
    fn abort(&self, py: Python<'_>) {
        py.detach(|| {
            if let Some(writer) = self.take() {
                drop(writer);
                // Only an empty folder can be removed this way.
                let _ = std::fs::remove_dir(&self.path);
            }
        });
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (*exception))]
    fn __exit__(&self, py: Python<'_>, exception: &Bound<'_, PyTuple>) -> PyResult<()> {
        let clean = exception.get_item(0).is_ok_and(|kind| kind.is_none());
        let open =
            py.detach(|| self.writer.lock().unwrap_or_else(PoisonError::into_inner).is_some());
        match clean {
            true if open => self.finish(py).map(drop),
            true => Ok(()),
            false => {
                self.abort(py);
                Ok(())
            }
        }
    }
}
