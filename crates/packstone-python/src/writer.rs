//! `packstone.create`: new datasets, sample by sample or batch by batch.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use packstone::format::{self, Plan, Written};
use packstone::json::{Object, Value};
use packstone::model::{Batch, DType, Field, Key, Schema};
use packstone::{Kind, Result, ops, registry, site};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::columns::{self, column};
use crate::failure::{OrRaise, usage};
use crate::operations::written_options;
use crate::values::Shape;
use crate::{dataset, operations};

/// Writes a new dataset, or a part of one. Nothing is visible before `finish`, which a `with` block calls at its end, unless
/// it is left by an exception: then what was written is taken back.
#[pyclass(frozen, module = "packstone")]
pub(crate) struct Writer(Mutex<State>);

enum State {
    /// The fields follow from the first sample.
    Waiting(Box<Start>),
    Open {
        writer: Box<dyn format::Writer>,
        shape: Arc<Shape>,
        /// The folder of a new dataset.
        path: Option<PathBuf>,
    },
    Over(Option<Arc<Shape>>),
}

/// What a new dataset is made with.
pub(crate) struct Start {
    pub(crate) path: PathBuf,
    pub(crate) format: &'static dyn format::Format,
    pub(crate) collections: Vec<String>,
    pub(crate) options: Object,
}

impl Start {
    /// The plan for these fields.
    ///
    /// # Errors
    /// `ops/would_lose` where the format has no words for them.
    pub(crate) fn plan(&self, schema: &Arc<Schema>) -> Result<Plan> {
        let collections = self.collections.iter().map(|name| (name.clone(), None)).collect();
        let plan = Plan { schema: Arc::clone(schema), collections, ..Plan::default() };
        let fidelity = self.format.fidelity(&plan, &self.options)?;
        match fidelity.is_lossless() {
            true => Ok(plan),
            false => Err(ops::would_lose(self.format.id(), &fidelity)),
        }
    }

    fn create(&self, schema: &Arc<Schema>) -> Result<Box<dyn format::Writer>> {
        let plan = self.plan(schema)?;
        let root = site::target_of(&self.path, self.format, &self.options)?;
        let made = self.format.create(root, &plan, &self.options);
        if made.is_err() {
            // Only an empty folder can be removed this way.
            let _ = std::fs::remove_dir(&self.path);
        }
        made
    }

    fn open(self, py: Python<'_>, schema: &[Bound<'_, PyAny>]) -> PyResult<State> {
        let shape = Arc::new(shape(py, schema)?);
        let schema = Arc::clone(&shape.schema);
        let writer = py.detach(|| self.create(&schema)).or_raise(py)?;
        Ok(State::Open { writer, shape, path: Some(self.path) })
    }
}

/// The entries for fields of `packstone.Field`.
pub(crate) fn shape(py: Python<'_>, schema: &[Bound<'_, PyAny>]) -> PyResult<Shape> {
    let fields = schema.iter().map(field).collect::<PyResult<Vec<_>>>()?;
    Shape::new(py, &Arc::new(Schema::new(fields)))
}

/// Starts a new dataset at a path where nothing is yet: its format, its fields, the collections that will be written, and
/// options of the format. Without a schema the fields are those of the first sample or batch that is written: arrays have
/// their types and shapes, `int`, `float`, `bool` and `complex` are 64-bit and 128-bit scalars, `str` and `bytes` have any
/// length, nested dicts are nested keys. Returns a `Writer`.
///
/// Raises `ExistsError`, `UnsupportedError` for what the format has no words for, `InvalidError` for options.
#[pyfunction]
#[pyo3(signature = (path, *, format, schema=None, collections=vec!["train".to_owned()], options=None))]
pub(crate) fn create(
    py: Python<'_>,
    path: PathBuf,
    format: &str,
    schema: Option<Vec<Bound<'_, PyAny>>>,
    collections: Vec<String>,
    options: Option<Bound<'_, PyAny>>,
) -> PyResult<Writer> {
    let format = registry::format(format).or_raise(py)?;
    let options = written_options(py, options)?;
    let start = Start { path, format, collections, options };
    let state = match schema {
        Some(schema) => start.open(py, &schema)?,
        None => {
            if !format.resumes(&start.options) {
                py.detach(|| site::new_file(&start.path).map(drop)).or_raise(py)?;
            }
            State::Waiting(Box::new(start))
        }
    };
    Ok(Writer(Mutex::new(state)))
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
    /// A writer of a part.
    pub(crate) fn of_part(writer: Box<dyn format::Writer>, shape: Arc<Shape>) -> Self {
        Self(Mutex::new(State::Open { writer, shape, path: None }))
    }

    /// The state, waited for without the interpreter's lock.
    fn with<T: Send>(&self, py: Python<'_>, work: impl FnOnce(&mut State) -> T + Send) -> T {
        py.detach(|| work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    /// The fields, which follow from `values` where nobody gave them.
    fn shape(
        &self,
        py: Python<'_>,
        values: &Bound<'_, PyDict>,
        many: bool,
    ) -> PyResult<Arc<Shape>> {
        let known = |state: &mut State| match state {
            State::Open { shape, .. } => Some(Ok(Arc::clone(shape))),
            State::Over(_) => Some(Err(finished())),
            State::Waiting(_) => None,
        };
        if let Some(known) = self.with(py, known) {
            return known.or_raise(py);
        }
        let infer = py.import("packstone._schema")?.getattr("infer")?;
        let fields: Vec<Bound<'_, PyAny>> = infer.call1((values, many))?.extract()?;
        // Of two threads that write the first sample at once, one makes the dataset.
        let start = self.with(py, |state| match state {
            State::Waiting(_) => match std::mem::replace(state, State::Over(None)) {
                State::Waiting(start) => Some(start),
                _ => None,
            },
            _ => None,
        });
        if let Some(start) = start {
            let opened = start.open(py, &fields)?;
            self.with(py, |state| *state = opened);
        }
        self.with(py, known).unwrap_or_else(|| Err(finished())).or_raise(py)
    }

    fn append(
        &self,
        py: Python<'_>,
        collection: &str,
        values: &Bound<'_, PyDict>,
        metadata: Option<&Bound<'_, PyAny>>,
        many: bool,
    ) -> PyResult<()> {
        let shape = self.shape(py, values, many)?;
        let made =
            shape.columns(py, values, |field, dtype, value| column(field, dtype, value, many))?;
        let rows = made.first().map_or(0, packstone::model::Column::rows);
        let mut batch = Batch::new(Arc::clone(&shape.schema), rows, made).or_raise(py)?;
        batch = match metadata {
            None => batch,
            Some(each) if many && !each.is_instance_of::<PyDict>() => {
                let each = each.try_iter()?.map(|one| Ok(Arc::new(object(&one?)?)));
                let each = each.collect::<PyResult<Vec<_>>>()?;
                if each.len() != rows {
                    let found = each.len();
                    return Err(PyValueError::new_err(format!(
                        "expected metadata of {rows} samples, found those of {found}"
                    )));
                }
                batch.with_metadata_runs((1..).zip(each).collect()).or_raise(py)?
            }
            Some(metadata) => batch.with_metadata(Arc::new(object(metadata)?)),
        };
        let written = self.with(py, |state| match state {
            State::Open { writer, .. } => writer.write(collection, &batch),
            _ => Err(finished()),
        });
        written.or_raise(py)
    }

    /// Takes the open writer away, and gives the folder of a new dataset with it.
    fn take(state: &mut State) -> Option<(Box<dyn format::Writer>, Option<PathBuf>)> {
        match std::mem::replace(state, State::Over(None)) {
            State::Open { writer, shape, path } => {
                *state = State::Over(Some(shape));
                Some((writer, path))
            }
            other => {
                *state = other;
                None
            }
        }
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
    /// The fields: a tuple of `packstone.Field`; empty before the first sample where they follow from it.
    #[getter]
    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let shape = self.with(py, |state| match state {
            State::Open { shape, .. } => Some(Arc::clone(shape)),
            State::Over(shape) => shape.clone(),
            State::Waiting(_) => None,
        });
        match shape {
            Some(shape) => dataset::schema(py, &shape.schema),
            None => Ok(PyTuple::empty(py)),
        }
    }

    /// Appends one sample, a dict nested as the keys are, with what is said about it.
    ///
    /// Raises `KeyError` for fields that are missing or unknown, `TypeError` and `ValueError` for values that would change.
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
    /// metadata are a dict for all of them, or a sequence with one a sample.
    ///
    /// Raises as `write` does; then nothing of the batch is taken.
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

    /// Publishes everything, or of a part that it is finished, and says what that was: a `Written`.
    ///
    /// Raises `InvalidError` where it was finished before, and where nothing was written that fields follow from.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let done = self.with(py, |state| match state {
            State::Waiting(_) => {
                let message = "expected a schema or a sample that it follows from, found neither";
                Err(usage(Kind::Invalid, "ops/no_schema", message))
            }
            state => Self::take(state).ok_or_else(finished)?.0.finish(),
        });
        written(py, &done.or_raise(py)?)
    }

    /// Takes everything back, unless it was finished.
    fn abort(&self, py: Python<'_>) {
        self.with(py, |state| {
            if let Some((writer, path)) = Self::take(state) {
                drop(writer);
                if let Some(path) = path {
                    // Only an empty folder can be removed this way.
                    let _ = std::fs::remove_dir(path);
                }
            }
            if let State::Waiting(_) = state {
                *state = State::Over(None);
            }
        });
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (*exception))]
    fn __exit__(&self, py: Python<'_>, exception: &Bound<'_, PyTuple>) -> PyResult<()> {
        let clean = exception.get_item(0).is_ok_and(|kind| kind.is_none());
        let open = self.with(py, |state| !matches!(state, State::Over(_)));
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

/// What was written, as `packstone.Written`.
pub(crate) fn written<'py>(py: Python<'py>, done: &Written) -> PyResult<Bound<'py, PyAny>> {
    let Written { samples, shards, bytes } = *done;
    let mut out = Object::new();
    out.insert("samples", samples);
    out.insert("shards", shards);
    out.insert("bytes", bytes);
    operations::report(py, "written", out.into(), "", Value::Null)
}
