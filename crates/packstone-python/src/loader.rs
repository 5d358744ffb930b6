//! `packstone.Loader`: batches for a training loop, in an order that can be left and gone on with anywhere.
//!
//! Order, shares, states and delivery are the library's; here they meet keywords, dicts and transforms.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError, TryLockError};

use packstone::exec::default_threads;
use packstone::format;
use packstone::json::{ReadOptions, read};
use packstone::loader::{
    Delivery, Fingerprint, Loader as Engine, LoaderOptions, OnFault, Order, Share, State,
};
use packstone::model::Batch;
use packstone::{Limits, Result, site};
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use crate::collection::Collection;
use crate::course::Course;
use crate::dataset::schema;
use crate::failure::OrRaise;
use crate::keywords::{self, Extras};
use crate::orders::{Part, Wanted};
use crate::values::{self, Ragged, Shape};

/// Batches of one rank, epoch after epoch.
///
/// A loop takes what is left of the epoch; the next loop takes the next epoch.
#[pyclass(frozen, module = "packstone")]
pub(crate) struct Loader {
    course: Mutex<Course>,
    /// The process that worked with the course last.
    process: AtomicU32,
    source: Arc<Source>,
    shape: Shape,
    transforms: Vec<Py<PyAny>>,
    extras: Extras,
    /// Rows that only fill the last batch up are cut off.
    short: bool,
    ragged: Ragged,
    /// What it was made of, for a pickle.
    arguments: Py<PyTuple>,
    keywords: Py<PyDict>,
}

/// What engines are made of.
struct Source {
    collections: Vec<Arc<dyn format::Collection>>,
    /// Where they are: the paths of the dataset and the name of the collection.
    addresses: Vec<(Vec<PathBuf>, String)>,
    /// The process that opened them.
    process: u32,
    fingerprint: Fingerprint,
    order: Arc<dyn Order>,
    share: Share,
    options: LoaderOptions,
    /// Threads and window were asked for.
    threads: Option<usize>,
    window: Option<u64>,
}

impl Source {
    /// An engine at the start of the first epoch.
    fn engine(self: &Arc<Self>, share: Share, options: LoaderOptions) -> Result<Engine> {
        let collections = match self.process == std::process::id() {
            true => self.collections.clone(),
            // A lock that another thread held while this process was forked is never given back.
            false => reopen(&self.addresses)?,
        };
        let (fingerprint, order) = (self.fingerprint.clone(), Arc::clone(&self.order));
        let engine = Engine::new(collections, fingerprint, order, share, options)?;
        let again = Arc::clone(self);
        Ok(engine.reopening(move || reopen(&again.addresses)))
    }

    /// The options of one of several workers, which share what nobody asked for.
    fn options(&self, workers: u32) -> LoaderOptions {
        let (mut options, workers) = (self.options.clone(), workers.max(1));
        let each = default_threads().checked_div(usize::try_from(workers).unwrap_or(1));
        options.threads = self.threads.unwrap_or_else(|| each.unwrap_or(1).max(1));
        let window = options.window.checked_div(u64::from(workers)).unwrap_or(options.window);
        options.window = self.window.unwrap_or(window);
        options
    }
}

/// The collections once more, for a process that was forked.
fn reopen(addresses: &[(Vec<PathBuf>, String)]) -> Result<Vec<Arc<dyn format::Collection>>> {
    let open = |(paths, name): &(Vec<PathBuf>, String)| {
        site::open_all(paths, &Limits::default())?.dataset.collection(name)
    };
    addresses.iter().map(open).collect()
}

impl Loader {
    /// Works with the course while the interpreter is released, so that its lock and the interpreter's never wait for
    /// each other.
    ///
    /// # Errors
    /// `RuntimeError` where this process was forked while another thread worked with it: nobody ends that work here.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Course) -> T + Send,
    ) -> PyResult<T> {
        let process = std::process::id();
        if self.process.load(Relaxed) != process {
            if matches!(self.course.try_lock(), Err(TryLockError::WouldBlock)) {
                let message = "expected a loader that no thread was taking from, found one in use when this process was \
                               forked";
                return Err(PyRuntimeError::new_err(message));
            }
            self.process.store(process, Relaxed);
        }
        Ok(py.detach(|| work(&mut self.course.lock().unwrap_or_else(PoisonError::into_inner))))
    }

    /// A batch as a dict.
    fn dict<'py>(&self, py: Python<'py>, delivery: Delivery) -> PyResult<Bound<'py, PyDict>> {
        let Delivery { mut batch, positions, indices, mask, .. } = delivery;
        let real = positions.iter().take_while(|position| position.is_some()).count();
        let mut rows = batch.rows();
        if self.short {
            rows = real;
            if rows < batch.rows() {
                batch = py.detach(|| Batch::slice(&batch, 0..rows)).or_raise(py)?;
            }
        }
        let dict = self.shape.batch(py, &batch, true, self.ragged, real)?;
        if self.extras.mask {
            let bytes = mask.iter().take(rows).map(|real| u8::from(*real)).collect();
            dict.set_item("mask", values::plain(py, "?", rows, bytes)?)?;
        }
        let whole = |numbers: &[Option<u64>]| {
            let number = |found: &Option<u64>| found.map_or(-1, |n| i64::try_from(n).unwrap_or(-1));
            numbers.iter().take(rows).flat_map(|found| number(found).to_le_bytes()).collect()
        };
        if self.extras.positions {
            dict.set_item("positions", values::plain(py, "<i8", rows, whole(&positions))?)?;
        }
        if self.extras.indices {
            dict.set_item("indices", values::plain(py, "<i8", rows, whole(&indices))?)?;
        }
        Ok(dict)
    }
}

#[pymethods]
impl Loader {
    #[new]
    #[pyo3(signature = (
        collections, batch_size, *, order=None, shuffle=false, seed=0, weights=None, draws=None, key=None, stop=None,
        shards=16, indices=None, ratios=None, rank=0, world_size=1, replicas=1, remainder=None, drop_last=false,
        on_error="raise", ragged="list", fields=None, threads=None, window=None, verify=true, extras=Vec::new(),
        transforms=Vec::new()
    ))]
    #[expect(clippy::too_many_arguments, reason = "keywords")]
    fn new(
        py: Python<'_>,
        collections: &Bound<'_, PyAny>,
        batch_size: u64,
        order: Option<&str>,
        shuffle: bool,
        seed: u64,
        weights: Option<&Bound<'_, PyAny>>,
        draws: Option<u64>,
        key: Option<&Bound<'_, PyAny>>,
        stop: Option<&str>,
        shards: u64,
        indices: Option<&Bound<'_, PyAny>>,
        ratios: Option<&Bound<'_, PyAny>>,
        rank: u32,
        world_size: u32,
        replicas: u32,
        remainder: Option<&str>,
        drop_last: bool,
        on_error: &str,
        ragged: &str,
        fields: Option<Vec<String>>,
        threads: Option<usize>,
        window: Option<u64>,
        verify: bool,
        extras: Vec<String>,
        transforms: Vec<Py<PyAny>>,
    ) -> PyResult<Self> {
        let kept = PyDict::new(py);
        macro_rules! keep {
            ($($name:ident),+) => { $(kept.set_item(stringify!($name), &$name)?;)+ };
        }
        keep!(
            order, shuffle, seed, weights, draws, key, stop, shards, indices, ratios, rank,
            world_size
        );
        keep!(
            replicas, remainder, drop_last, on_error, ragged, fields, threads, window, verify,
            extras, transforms
        );
        let collections: Vec<Bound<'_, Collection>> = match collections.cast::<Collection>() {
            Ok(one) => vec![one.clone()],
            Err(_) => collections.extract().map_err(|_| {
                PyTypeError::new_err("expected a collection, or a sequence of collections")
            })?,
        };
        let kind =
            keywords::kind(order, shuffle, weights.is_some(), key.is_some(), indices.is_some())?;
        keywords::drawn(kind, draws.is_some())?;
        let (remainder, short) = keywords::remainder(remainder, drop_last)?;
        let readers =
            collections.iter().map(|one| one.get().reader(py)).collect::<PyResult<Vec<_>>>()?;
        let samples = readers.iter().map(|reader| reader.len()).fold(0, u64::saturating_add);
        if ratios.is_some() && (indices.is_some() || draws.is_some()) {
            return Err(PyValueError::new_err(
                "expected ratios without indices or draws, found both",
            ));
        }
        let wanted = Wanted {
            kind,
            seed,
            shuffle,
            weights: keywords::weights(weights)?,
            draws,
            key: keywords::keys(key)?,
            stop: keywords::stop(stop)?,
            shards,
            indices: keywords::indices(indices, samples)?,
            ratios: keywords::ratios(ratios)?,
            threads: threads.unwrap_or_else(default_threads).max(1),
        };
        let mut options =
            LoaderOptions::default().with_verify(verify).with_faults(match on_error {
                "raise" => OnFault::Raise,
                "skip" => OnFault::Skip,
                other => {
                    let message = format!("expected on_error to be raise or skip, found {other:?}");
                    return Err(PyValueError::new_err(message));
                }
            });
        options.threads = threads.unwrap_or(options.threads);
        options.window = window.unwrap_or(options.window);
        options.fields = fields;
        let opened: Vec<_> = collections.iter().map(|one| one.get().opened(py)).collect();
        let parts: Vec<Part> = readers
            .iter()
            .map(|reader| Part {
                collection: Arc::clone(&reader.collection),
                rows: reader.rows.clone(),
            })
            .collect();
        let made = py.detach(move || {
            let stored: Vec<_> = parts.iter().map(|part| Arc::clone(&part.collection)).collect();
            let prints = opened.iter().zip(&stored).map(|((dataset, _), collection)| {
                Fingerprint::of(dataset.as_ref(), collection.as_ref())
            });
            let fingerprint = match prints.collect::<Result<Vec<_>>>()?.as_slice() {
                [one] => one.clone(),
                several => Fingerprint::joined(several),
            };
            let share = Share::new(rank, world_size, batch_size)?
                .with_replicas(replicas)?
                .with_remainder(remainder);
            let addresses = opened.into_iter().zip(&stored);
            let addresses = addresses
                .map(|((_, paths), collection)| (paths, collection.name().to_owned()))
                .collect();
            let source = Arc::new(Source {
                order: wanted.build(&parts)?,
                collections: stored,
                addresses,
                process: std::process::id(),
                fingerprint,
                share,
                options,
                threads,
                window,
            });
            let engine = source.engine(share, source.options.clone())?;
            Ok::<_, packstone::Error>((source, engine))
        });
        let (source, engine) = made.or_raise(py)?;
        let shape = Shape::new(py, engine.schema())?;
        let mut extras = extras;
        if remainder == packstone::loader::Remainder::Pad && !short {
            extras.push("mask".to_owned());
        }
        let extras = Extras::new(&extras, &shape)?;
        let ragged = keywords::ragged(ragged, &shape)?;
        let list = PyList::new(py, collections)?.into_any();
        let arguments =
            PyTuple::new(py, [list, batch_size.into_pyobject(py)?.into_any()])?.unbind();
        let course = Mutex::new(Course::whole(engine));
        let keywords = kept.unbind();
        let process = AtomicU32::new(std::process::id());
        Ok(Self {
            course,
            process,
            source,
            shape,
            transforms,
            extras,
            short,
            ragged,
            arguments,
            keywords,
        })
    }

    /// Batches of a whole epoch.
    fn __len__(&self) -> PyResult<usize> {
        Ok(usize::try_from(self.source.share.steps(self.source.order.len(), 0))?)
    }

    /// Batches that are left of the epoch.
    #[getter]
    fn steps_left(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |course| course.steps_left())
    }

    /// The epoch that it stands in.
    #[getter]
    fn epoch(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |course| course.engine.epoch())
    }

    /// Samples of an epoch over all ranks.
    #[getter]
    fn samples(&self) -> u64 {
        self.source.order.len()
    }

    /// The order's name, as states have it.
    #[getter]
    fn order(&self) -> &str {
        self.source.order.name()
    }

    /// Samples that could not be read and were left out.
    #[getter]
    fn skipped(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |course| course.engine.skipped())
    }

    /// What was noticed since the last time and raised nothing, such as each sample that was left out.
    fn take_notes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let notes = self.with(py, |course| course.engine.take_notes())?;
        let make = py.import("packstone._reports")?.getattr("finding")?;
        let notes = notes.iter().map(|note| make.call1((values::json(py, &note.to_json())?,)));
        PyTuple::new(py, notes.collect::<PyResult<Vec<_>>>()?)
    }

    /// The fields of batches: a tuple of `packstone.Field`.
    #[getter]
    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        schema(py, &self.shape.schema)
    }

    /// Goes to the next epoch where this one is at its end.
    fn __iter__(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        slf.get().with(slf.py(), |course| {
            if !course.is_worker() && course.steps_left() == 0 {
                course.engine.next_epoch();
            }
        })?;
        Ok(slf)
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let ((epoch, position), delivery) = self.with(py, |course| {
            ((course.engine.epoch(), course.engine.next_position()), course.next())
        })?;
        let Some(delivery) = delivery.or_raise(py)? else { return Ok(None) };
        let mut made = match self.dict(py, delivery) {
            Ok(made) => made.into_any(),
            Err(error) => {
                self.with(py, |course| course.undo(epoch, position))?;
                return Err(error);
            }
        };
        for transform in &self.transforms {
            made = transform.bind(py).call1((made,))?;
        }
        Ok(Some(made))
    }

    /// Goes past the next batches of the epoch without reading them, at most to its end.
    fn skip(&self, py: Python<'_>, batches: u64) -> PyResult<()> {
        self.with(py, |course| course.skip(batches))
    }

    /// Goes back by so many batches, at most to the start of the epoch; to the start where no number is given.
    #[pyo3(signature = (batches=None))]
    fn rewind(&self, py: Python<'_>, batches: Option<u64>) -> PyResult<()> {
        self.with(py, |course| {
            (!course.is_worker()).then(|| course.rewind(batches.unwrap_or(u64::MAX)))
        })?
        .ok_or_else(of_worker)
    }

    /// Goes to the start of an epoch.
    fn set_epoch(&self, py: Python<'_>, epoch: u64) -> PyResult<()> {
        self.with(py, |course| (!course.is_worker()).then(|| course.engine.set_epoch(epoch)))?
            .ok_or_else(of_worker)
    }

    /// Where it stands, as a dict below 1 kB that JSON holds: the same on every rank, valid between any two batches.
    fn state_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let (state, _) = self.with(py, |course| course.state())?;
        values::object(py, &state.to_json())
    }

    /// Goes on where the loader stood that the state was taken of, on any number of ranks.
    fn load_state_dict(&self, py: Python<'_>, state: &Bound<'_, PyAny>) -> PyResult<()> {
        let text: String = py.import("json")?.call_method1("dumps", (state,))?.extract()?;
        let restored = self.with(py, |course| {
            let document = read(text.as_bytes(), &ReadOptions::default());
            // What is no object the state refuses in its own words.
            let value = document.map(|document| document.value).unwrap_or_default();
            match course.is_worker() {
                true => None,
                false => {
                    Some(State::from_json(&value).and_then(|state| course.engine.restore(&state)))
                }
            }
        });
        restored?.ok_or_else(of_worker)?.or_raise(py)
    }

    /// Ends what is read ahead. Iterating again goes on from the same place.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, Course::rest)
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) -> PyResult<()> {
        self.close(py)
    }

    /// The functions that each batch goes through.
    #[getter]
    fn transforms<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, &self.transforms)
    }

    /// A loader of the steps that worker `number` of `workers` makes from here on, of which it has made `done`.
    fn _worker(&self, py: Python<'_>, number: u32, workers: u32, done: u64) -> PyResult<Self> {
        if number >= workers {
            let message = format!("expected a worker below {workers}, found {number}");
            return Err(PyValueError::new_err(message));
        }
        let (state, _) = self.with(py, |course| course.state())?;
        let source = Arc::clone(&self.source);
        let course = py.detach(|| {
            let options = source.options(workers);
            if workers == 1 {
                let mut engine = source.engine(source.share, options)?;
                engine.seek(state.epoch, state.position);
                engine.skip_steps(done);
                return Ok(Course::whole(engine));
            }
            let share = Course::share(&source.share, number, workers)?;
            let engine = source.engine(share, options)?;
            Ok::<_, packstone::Error>(Course::worker(
                engine,
                source.share,
                (number, workers),
                state,
                done,
            ))
        });
        Ok(Self {
            course: Mutex::new(course.or_raise(py)?),
            process: AtomicU32::new(std::process::id()),
            source: Arc::clone(&self.source),
            shape: Shape::new(py, &self.shape.schema)?,
            transforms: self.transforms.iter().map(|transform| transform.clone_ref(py)).collect(),
            extras: self.extras,
            short: self.short,
            ragged: self.ragged,
            arguments: self.arguments.clone_ref(py),
            keywords: self.keywords.clone_ref(py),
        })
    }

    /// Batches that a worker has made since it began.
    #[getter]
    fn _done(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |course| course.state().1)
    }

    /// Loaders pickle as what they were made of, and where they stand.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        if self.with(py, |course| course.is_worker())? {
            return Err(of_worker());
        }
        let resume = py.import("packstone._native")?.getattr("_resume")?;
        let state = self.state_dict(py)?;
        let arguments =
            (self.arguments.bind(py), self.keywords.bind(py), state).into_pyobject(py)?;
        PyTuple::new(py, [resume, arguments.into_any()])
    }

    fn __repr__(&self) -> String {
        let Source { order, share, .. } = &*self.source;
        format!(
            "<packstone.Loader {}: {} samples in batches of {}>",
            order.name(),
            order.len(),
            share.batch()
        )
    }
}

fn of_worker() -> PyErr {
    PyTypeError::new_err("expected a loader, found the part of one that a worker has")
}

/// The loader that was pickled, at its place.
#[pyfunction]
#[pyo3(name = "_resume")]
pub(crate) fn resume<'py>(
    arguments: &Bound<'py, PyTuple>,
    keywords: &Bound<'py, PyDict>,
    state: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyAny>> {
    let loader = arguments.py().get_type::<Loader>().call(arguments, Some(keywords))?;
    loader.call_method1("load_state_dict", (state,))?;
    Ok(loader)
}
