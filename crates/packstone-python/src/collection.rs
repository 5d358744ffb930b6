//! `packstone.Collection`: samples by index, in batches, one after another, selected.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use packstone::expr::Expr;
use packstone::format::{self, ReadContext};
use packstone::model::Batch;
use packstone::ops::{self, ChosenSamples, DigestOptions, Find, Scan};
use packstone::{Limits, Result, site};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};

use crate::dataset::{Dataset, schema};
use crate::failure::{OrRaise, usage};
use crate::iterate::{Batches, Samples};
use crate::key::{self, Key};
use crate::metadata::Metadata;
use crate::operations::Progressed;
use crate::values::{Ragged, Shape};
use crate::watch;

/// A sequence of samples: those of a stored collection, or those of it that were selected.
///
/// Values of a sample have the shapes of their fields, those of a batch a leading dimension of samples. Reading raises
/// `CorruptError` and `NotFoundError` for what is damaged or missing, `IndexError` for indices outside.
#[pyclass(frozen, module = "packstone", sequence)]
pub(crate) struct Collection {
    dataset: Py<Dataset>,
    /// How its samples were selected.
    condition: Option<String>,
    /// Locked for a moment only, in which the interpreter goes on with nothing else.
    kept: Mutex<Kept>,
}

/// The reader of a process.
struct Kept {
    reader: Arc<Reader>,
    /// What is said about the samples, once anybody asked.
    metadata: Option<Py<Metadata>>,
    process: u32,
}

/// What reads the samples; shared with iterators.
pub(crate) struct Reader {
    pub(crate) collection: Arc<dyn format::Collection>,
    /// Which of its samples these are; all where there is no list.
    pub(crate) rows: Option<Arc<[u64]>>,
    pub(crate) shape: Shape,
    mixes_fields: bool,
    /// Buffers and decompressors between calls, one for each thread that reads at once.
    contexts: Mutex<Vec<ReadContext>>,
}

impl Reader {
    /// Number of samples.
    pub(crate) fn len(&self) -> u64 {
        self.rows.as_ref().map_or_else(|| self.collection.len(), |rows| rows.len() as u64)
    }

    /// The samples as a collection of the library; those that are selected, where any are.
    fn source(&self) -> Arc<dyn format::Collection> {
        let collection = Arc::clone(&self.collection);
        match &self.rows {
            None => collection,
            Some(rows) => Arc::new(ChosenSamples::new(collection, Arc::clone(rows))),
        }
    }

    /// The index in the stored collection of a sample of this one.
    fn stored(&self, index: u64) -> u64 {
        let at = usize::try_from(index).unwrap_or(usize::MAX);
        self.rows.as_ref().map_or(index, |rows| rows.get(at).copied().unwrap_or(u64::MAX))
    }

    fn with<T>(&self, work: impl FnOnce(&mut ReadContext) -> Result<T>) -> Result<T> {
        let lock = || self.contexts.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = lock().pop();
        let mut context = kept.unwrap_or_default();
        let made = work(&mut context);
        context.notes.clear();
        lock().push(context);
        made
    }

    /// The samples at `indices`, gathered into one batch.
    pub(crate) fn gather(&self, indices: &[u64]) -> Result<Batch> {
        let stored: Vec<u64> = indices.iter().map(|index| self.stored(*index)).collect();
        self.with(|context| ops::gather(self.collection.as_ref(), &stored, None, context))
    }

    /// One sample: a batch, its row there, and whether the batch was made for it alone. Where samples may differ in their fields it need not have those of the
    /// collection.
    fn sample(&self, index: u64) -> Result<(Batch, usize, bool)> {
        match self.gather(&[index]) {
            Err(_) if self.mixes_fields => {}
            gathered => return gathered.map(|batch| (batch, 0, true)),
        }
        let stored = self.stored(index);
        let missing = || {
            let message = format!("expected sample {stored}, found that its shard ends before");
            usage(packstone::Kind::Corrupt, "ops/missing_sample", message)
        };
        let shard = self.collection.shards(stored).next().transpose()?.ok_or_else(missing)?;
        let runs = self.with(|context| self.collection.read_runs(&shard, None, context))?;
        let found = runs.into_iter().find_map(|(part, batch)| {
            let row = usize::try_from(stored.checked_sub(part.first)?).ok()?;
            (row < batch.rows()).then_some((batch, row, false))
        });
        found.ok_or_else(missing)
    }

    /// The entries for a batch: those of the collection, or made for fields of its own.
    pub(crate) fn shape_of<'s>(
        &'s self,
        py: Python<'_>,
        batch: &Batch,
        other: &'s mut Option<Shape>,
    ) -> PyResult<&'s Shape> {
        let same = |shape: &Shape| {
            Arc::ptr_eq(&shape.schema, batch.schema()) || shape.schema == *batch.schema()
        };
        if same(&self.shape) {
            return Ok(&self.shape);
        }
        if !other.as_ref().is_some_and(same) {
            *other = None;
        }
        match other {
            Some(shape) => Ok(shape),
            none => Ok(none.insert(Shape::new(py, batch.schema())?)),
        }
    }
}

impl Collection {
    /// All samples of `collection`, or those at `rows`.
    pub(crate) fn new(
        dataset: &Bound<'_, Dataset>,
        collection: Arc<dyn format::Collection>,
        rows: Option<Arc<[u64]>>,
    ) -> PyResult<Self> {
        let shape = Shape::new(dataset.py(), collection.schema())?;
        let mixes_fields = dataset.get().format.mixes_fields();
        let reader = Reader { collection, rows, shape, mixes_fields, contexts: Mutex::default() };
        let kept = Kept { reader: Arc::new(reader), metadata: None, process: std::process::id() };
        let (dataset, condition) = (dataset.clone().unbind(), None);
        Ok(Self { dataset, condition, kept: Mutex::new(kept) })
    }
}

impl Collection {
    /// What reads the samples: in a process that was forked, a new one, for what was inherited may be locked for ever.
    pub(crate) fn reader(&self, py: Python<'_>) -> PyResult<Arc<Reader>> {
        let process = std::process::id();
        let inherited = {
            let kept = self.kept();
            match kept.process == process {
                true => return Ok(Arc::clone(&kept.reader)),
                false => Arc::clone(&kept.reader),
            }
        };
        let Dataset { absolute, follow, .. } = self.dataset.bind(py).get();
        let name = inherited.collection.name();
        let opened = py.detach(|| {
            let sources = site::followed(follow)?;
            let opened = site::open_following(absolute, &Limits::default(), &sources)?;
            opened.dataset.collection(name)
        });
        let reader = Arc::new(Reader {
            collection: opened.or_raise(py)?,
            rows: inherited.rows.clone(),
            shape: Shape::new(py, &inherited.shape.schema)?,
            mixes_fields: inherited.mixes_fields,
            contexts: Mutex::default(),
        });
        let mut kept = self.kept();
        if kept.process != process {
            let before = std::mem::replace(&mut *kept, Kept { reader, metadata: None, process });
            // It is let go by nobody: what it holds may be locked.
            Box::leak(Box::new((inherited, before)));
        }
        Ok(Arc::clone(&kept.reader))
    }

    /// What was opened first; enough for what is known without reading.
    fn known(&self) -> Arc<Reader> {
        Arc::clone(&self.kept().reader)
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The samples as a collection of the library, see [`Reader::source`].
    pub(crate) fn source(&self, py: Python<'_>) -> PyResult<Arc<dyn format::Collection>> {
        Ok(self.reader(py)?.source())
    }

    /// The dataset, and the absolute paths that it was opened from.
    pub(crate) fn opened(&self, py: Python<'_>) -> (Arc<dyn format::Dataset>, Vec<PathBuf>) {
        let dataset = self.dataset.bind(py).get();
        (Arc::clone(&dataset.dataset), dataset.absolute.clone())
    }
}

#[pymethods]
impl Collection {
    /// Its name in the dataset.
    #[getter]
    fn name(&self) -> String {
        self.known().collection.name().to_owned()
    }

    /// The fields of its samples: a tuple of `packstone.Field`.
    #[getter]
    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        schema(py, self.known().collection.schema())
    }

    /// The dataset that it is a part of.
    #[getter]
    fn dataset(&self, py: Python<'_>) -> Py<Dataset> {
        self.dataset.clone_ref(py)
    }

    fn __len__(&self) -> PyResult<usize> {
        Ok(usize::try_from(self.known().len())?)
    }

    /// A sample for an index; a batch for a slice, a list or array of indices, or a mask.
    fn __getitem__<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let reader = &self.reader(py)?;
        match key::read(key, reader.len())? {
            Key::One(index) => {
                let (batch, row, own) = py.detach(|| reader.sample(index)).or_raise(py)?;
                let mut other = None;
                reader.shape_of(py, &batch, &mut other)?.sample(py, &batch, row, own)
            }
            Key::Many(indices) => {
                let batch = py.detach(|| reader.gather(&indices)).or_raise(py)?;
                reader.shape.batch(py, &batch, true, Ragged::List, batch.rows())
            }
        }
    }

    /// Samples one after another, decoded ahead on threads.
    fn __iter__(&self, py: Python<'_>) -> PyResult<Samples> {
        Ok(Samples::new(self.reader(py)?))
    }

    /// Batches of `size` samples in order, dicts of arrays `[size, …]`; the last one may be short. They are decoded ahead on
    /// `threads`, as many as the machine runs where nothing is said.
    ///
    /// Raises `InvalidError` for a size of 0.
    #[pyo3(signature = (size, *, threads=None))]
    fn batches(&self, py: Python<'_>, size: usize, threads: Option<usize>) -> PyResult<Batches> {
        Batches::new(self.reader(py)?, size, threads).or_raise(py)
    }

    /// The samples whose metadata meet a condition, such as "label == 3 and snr > 0.5", as a collection in the same order.
    ///
    /// Raises `InvalidError` for a condition that is none, names what is not there, or compares unlike things.
    fn select(&self, py: Python<'_>, condition: &str) -> PyResult<Self> {
        let text = match &self.condition {
            Some(before) => format!("({before}) and ({condition})"),
            None => condition.to_owned(),
        };
        let condition = Expr::parse(condition).or_raise(py)?;
        let reader = self.reader(py)?;
        let collection = Arc::clone(&reader.collection);
        let matches = watch::run(py, None, "samples", move |progress| {
            let find = Find::new(collection).condition(Some(condition));
            let mut rows = Vec::new();
            for found in find.matches()? {
                packstone::exec::keep_going(Some(progress))?;
                rows.push(found?.index);
            }
            Ok(rows)
        })?;
        let rows: Arc<[u64]> = match &reader.rows {
            None => matches.into(),
            // Matches come in order; a selection keeps its own.
            Some(rows) => {
                let kept = rows.iter().filter(|row| matches.binary_search(row).is_ok());
                kept.copied().collect()
            }
        };
        let collection = Arc::clone(&reader.collection);
        let made = Self::new(self.dataset.bind(py), collection, Some(rows))?;
        Ok(Self { condition: Some(text), ..made })
    }

    /// Writes which samples of which data these are to a new file, whole or not at all; `packstone.open` opens it wherever a
    /// dataset is meant.
    ///
    /// Raises `ExistsError`, and `UnsupportedError` for formats that keep no selections: all but DatasetRT.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let dataset = Arc::clone(&self.dataset.bind(py).get().dataset);
        let reader = self.reader(py)?;
        let saved = py.detach(|| {
            let samples: Arc<[u64]> = match &reader.rows {
                Some(rows) => Arc::clone(rows),
                None => (0..reader.len()).collect(),
            };
            let (collection, condition) = (reader.collection.name(), self.condition.as_deref());
            let chosen = format::Selected { collection, samples: &samples, condition };
            site::save_selection(dataset.as_ref(), &chosen, &path)
        });
        saved.or_raise(py)
    }

    /// What is said about the samples, as columns of Arrow, see `packstone.Metadata`. Nothing is read before it is used.
    #[getter]
    fn metadata(&self, py: Python<'_>) -> PyResult<Py<Metadata>> {
        let source = self.source(py)?;
        if let Some(metadata) = &self.kept().metadata {
            return Ok(metadata.clone_ref(py));
        }
        let metadata = Py::new(py, Metadata::new(source))?;
        self.kept().metadata = Some(metadata.clone_ref(py));
        Ok(metadata)
    }

    /// Which samples of the stored collection these are, an array of `int64`; `None` for all of them.
    #[getter]
    fn indices(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        let reader = self.known();
        let Some(rows) = &reader.rows else { return Ok(None) };
        let list = pyo3::types::PyList::new(py, rows.iter())?;
        let array = py.import("numpy")?.call_method1("array", (list, "int64"))?;
        Ok(Some(array.unbind()))
    }

    /// A content digest in lower-case hex, of a selection too: that of a dataset with these samples alone. The level is "full"
    /// (fields and metadata), "values" (fields alone), or one of them with "_unordered" behind it, for samples in any order.
    /// Progress is in bytes.
    ///
    /// Raises `ValueError` for another level, `CorruptError` for values that cannot be read.
    #[pyo3(signature = (level="full", *, progress=None, threads=None))]
    fn digest<'py>(
        &self,
        py: Python<'py>,
        level: &str,
        progress: Progressed<'py>,
        threads: Option<usize>,
    ) -> PyResult<String> {
        if !["full", "values", "full_unordered", "values_unordered"].contains(&level) {
            return Err(PyValueError::new_err(format!(
                "expected full, values, full_unordered or values_unordered, found {level:?}"
            )));
        }
        let mut options = DigestOptions::default();
        options.threads = threads.unwrap_or(options.threads);
        let collection = self.source(py)?;
        let digest = watch::run(py, progress.as_ref(), "B", move |progress| {
            ops::digest_collection(collection, &options, Some(progress))
        })?;
        Ok(match level {
            "values" => digest.values,
            "values_unordered" => digest.values_unordered,
            "full_unordered" => digest.full_unordered,
            _ => digest.full,
        })
    }

    /// Collections pickle as their dataset, their name and their selection.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let restore = py.import("packstone._native")?.getattr("_restore")?;
        let bytes = |rows: &Arc<[u64]>| {
            let bytes: Vec<u8> = rows.iter().flat_map(|row| row.to_le_bytes()).collect();
            PyBytes::new(py, &bytes)
        };
        let rows = self.known().rows.as_ref().map(bytes);
        let arguments = (self.dataset.clone_ref(py), self.name(), rows).into_pyobject(py)?;
        PyTuple::new(py, [restore, arguments.into_any()])
    }

    fn __repr__(&self) -> String {
        let reader = self.known();
        let selected = if reader.rows.is_some() { "selected " } else { "" };
        format!("<packstone.Collection {}: {} {selected}samples>", self.name(), reader.len())
    }
}

/// The collection `name` of `dataset`, or the samples of it at `rows`, which are numbers of 8 bytes.
#[pyfunction]
#[pyo3(name = "_restore")]
pub(crate) fn restore(
    dataset: &Bound<'_, Dataset>,
    name: &str,
    rows: Option<&[u8]>,
) -> PyResult<Collection> {
    let collection = dataset.get().dataset.collection(name).or_raise(dataset.py())?;
    let number = |bytes: &[u8]| bytes.try_into().map_or(u64::MAX, u64::from_le_bytes);
    Collection::new(dataset, collection, rows.map(|rows| rows.chunks(8).map(number).collect()))
}

/// A scan of all samples.
pub(crate) fn scan(reader: &Reader, threads: Option<usize>) -> Scan {
    let scan = Scan::new(Arc::clone(&reader.collection));
    match threads {
        Some(threads) => scan.threads(threads),
        None => scan,
    }
}
