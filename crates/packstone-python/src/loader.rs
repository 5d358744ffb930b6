//! `packstone.Loader`: batches for a training loop, in an order that can be left and gone on with anywhere.
//!
//! Order, shares, states and delivery are the library's; here they meet keywords, dicts and transforms.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use packstone::json::{ReadOptions, read};
use packstone::loader::{
    Fingerprint, Indices, Loader as Engine, LoaderOptions, Order, Remainder, Sequential, Share,
    Shuffled, State, Weighted, Weights,
};
use packstone::model::Batch;
use packstone::{Kind, Limits, Result, site};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use crate::collection::Collection;
use crate::dataset::schema;
use crate::failure::{OrRaise, usage};
use crate::values::{self, Shape};

/// Batches of one rank, epoch after epoch.
///
/// A loop takes what is left of the epoch; the next loop takes the next epoch.
#[pyclass(frozen, module = "packstone")]
pub(crate) struct Loader {
    engine: Mutex<Engine>,
    shape: Shape,
    transforms: Vec<Py<PyAny>>,
}

/// In which order samples come.
struct Wanted {
    shuffle: bool,
    seed: u64,
    weights: Option<Vec<f64>>,
}

impl Wanted {
    /// The order of `samples` samples, or of those at `rows` of them.
    fn order(self, samples: u64, rows: Option<Arc<[u64]>>) -> Result<Arc<dyn Order>> {
        match (self.weights, rows) {
            (Some(weights), None) => {
                if weights.len() as u64 != samples {
                    let message = format!("expected {samples} weights, found {}", weights.len());
                    return Err(usage(Kind::Invalid, "loader/weight_invalid", message));
                }
                Ok(Arc::new(Weighted::new(Arc::new(Weights::new(weights)?), self.seed)))
            }
            (Some(_), Some(_)) => {
                let message = "expected weights with a whole collection, found selected samples";
                Err(usage(Kind::Unsupported, "loader/weight_invalid", message))
            }
            (None, Some(rows)) => {
                let list = Indices::new(rows, samples)?;
                Ok(Arc::new(if self.shuffle { list.shuffled(self.seed)? } else { list }))
            }
            (None, None) if self.shuffle => Ok(Arc::new(Shuffled::new(samples, self.seed)?)),
            (None, None) => Ok(Arc::new(Sequential::new(samples))),
        }
    }
}

impl Loader {
    /// Works with the engine while the interpreter is released, so that its lock and the interpreter's never wait for
    /// each other.
    fn with<T: Send>(&self, py: Python<'_>, work: impl FnOnce(&mut Engine) -> T + Send) -> T {
        py.detach(|| work(&mut self.engine.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

/// The next batch, without the rows that only fill it up.
fn next(engine: &mut Engine) -> Result<Option<Batch>> {
    let Some(delivery) = engine.next().transpose()? else { return Ok(None) };
    let rows = delivery.positions.iter().take_while(|position| position.is_some()).count();
    match rows == delivery.batch.rows() {
        true => Ok(Some(delivery.batch)),
        false => delivery.batch.slice(0..rows).map(Some),
    }
}

#[pymethods]
impl Loader {
    #[new]
    #[pyo3(signature = (
        collection, batch_size, *, shuffle=false, seed=0, weights=None, rank=0, world_size=1, drop_last=false,
        fields=None, threads=None, window=None, verify=true, transforms=Vec::new()
    ))]
    #[expect(clippy::too_many_arguments, reason = "keywords")]
    fn new(
        collection: &Bound<'_, Collection>,
        batch_size: u64,
        shuffle: bool,
        seed: u64,
        weights: Option<&Bound<'_, PyAny>>,
        rank: u32,
        world_size: u32,
        drop_last: bool,
        fields: Option<Vec<String>>,
        threads: Option<usize>,
        window: Option<u64>,
        verify: bool,
        transforms: Vec<Py<PyAny>>,
    ) -> PyResult<Self> {
        let py = collection.py();
        let weights = match weights {
            None => None,
            Some(weights) => {
                let array = py.import("numpy")?.call_method1("asarray", (weights, "float64"))?;
                Some(array.call_method0("tolist")?.extract()?)
            }
        };
        let wanted = Wanted { shuffle, seed, weights };
        let source = collection.get();
        let (dataset, paths) = source.opened(py);
        let reader = Arc::clone(source.reader());
        let engine = py.detach(move || {
            let stored = Arc::clone(&reader.collection);
            let order = wanted.order(stored.len(), reader.rows.clone())?;
            let remainder = if drop_last { Remainder::Drop } else { Remainder::Pad };
            let share = Share::new(rank, world_size, batch_size)?.with_remainder(remainder);
            let mut options = LoaderOptions::default().with_verify(verify);
            options.threads = threads.unwrap_or(options.threads);
            options.window = window.unwrap_or(options.window);
            options.fields = fields;
            let fingerprint = Fingerprint::of(dataset.as_ref(), stored.as_ref())?;
            let name = stored.name().to_owned();
            let engine = Engine::new(vec![stored], fingerprint, order, share, options)?;
            Ok::<_, packstone::Error>(engine.reopening(move || reopen(&paths, &name)))
        });
        let engine = engine.or_raise(py)?;
        let shape = Shape::new(py, engine.schema())?;
        Ok(Self { engine: Mutex::new(engine), shape, transforms })
    }

    /// Batches of a whole epoch.
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        let steps = self.with(py, |engine| engine.share().steps(engine.order().len(), 0));
        Ok(usize::try_from(steps)?)
    }

    /// Batches that are left of the epoch.
    #[getter]
    fn steps_left(&self, py: Python<'_>) -> u64 {
        self.with(py, |engine| engine.steps_left())
    }

    /// The epoch that it stands in.
    #[getter]
    fn epoch(&self, py: Python<'_>) -> u64 {
        self.with(py, |engine| engine.epoch())
    }

    /// The fields of batches: a tuple of `packstone.Field`.
    #[getter]
    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        schema(py, &self.shape.schema)
    }

    /// Goes to the next epoch where this one is at its end.
    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf.get().with(slf.py(), |engine| {
            if engine.steps_left() == 0 {
                engine.next_epoch();
            }
        });
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(batch) = self.with(py, next).or_raise(py)? else { return Ok(None) };
        let mut made = self.shape.batch(py, &batch)?.into_any();
        for transform in &self.transforms {
            made = transform.bind(py).call1((made,))?;
        }
        Ok(Some(made))
    }

    /// Goes to the start of an epoch.
    fn set_epoch(&self, py: Python<'_>, epoch: u64) {
        self.with(py, |engine| engine.set_epoch(epoch));
    }

    /// Where it stands, as a dict below 1 kB that JSON holds: the same on every rank, valid between any two batches.
    fn state_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let state = self.with(py, |engine| engine.state());
        values::object(py, &state.to_json())
    }

    /// Goes on where the loader stood that the state was taken of, on any number of ranks.
    fn load_state_dict(&self, py: Python<'_>, state: &Bound<'_, PyAny>) -> PyResult<()> {
        let text: String = py.import("json")?.call_method1("dumps", (state,))?.extract()?;
        self.with(py, |engine| {
            let document = read(text.as_bytes(), &ReadOptions::default());
            // What is no object the state refuses in its own words.
            let value = document.map(|document| document.value).unwrap_or_default();
            engine.restore(&State::from_json(&value)?)
        })
        .or_raise(py)
    }

    /// Ends what is read ahead. Iterating again goes on from the same place.
    fn close(&self, py: Python<'_>) {
        self.with(py, |engine| {
            let (epoch, position) = (engine.epoch(), engine.next_position());
            engine.seek(epoch, position);
        });
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) {
        self.close(py);
    }

    /// The functions that each batch goes through.
    #[getter]
    fn transforms<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, &self.transforms)
    }
}

/// The collection once more, for a process that was forked.
fn reopen(paths: &[PathBuf], name: &str) -> Result<Vec<Arc<dyn packstone::format::Collection>>> {
    let opened = site::open_all(paths, &Limits::default())?;
    Ok(vec![opened.dataset.collection(name)?])
}
