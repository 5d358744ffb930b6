//! Errors of the library as Python exceptions, a class for each kind.

use packstone::{Error, Kind};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyTuple;

/// `packstone._errors.make`.
static MAKE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// The exception for `error`: an instance of the subclass of `packstone.Error` for its kind.
pub(crate) fn raise(py: Python<'_>, error: &Error) -> PyErr {
    match exception(py, error) {
        Ok(exception) => PyErr::from_value(exception),
        Err(fault) => fault,
    }
}

fn exception<'py>(py: Python<'py>, error: &Error) -> PyResult<Bound<'py, PyAny>> {
    let make = MAKE.get_or_try_init(py, || {
        py.import("packstone._errors")?.getattr("make").map(Bound::unbind)
    })?;
    let place = error.place();
    let place = PyTuple::new(
        py,
        [
            place.file.as_deref().into_pyobject(py)?.into_any(),
            place.offset.into_pyobject(py)?.into_any(),
            place.record.into_pyobject(py)?.into_any(),
            place.field.as_deref().into_pyobject(py)?.into_any(),
            place.json_path.as_deref().into_pyobject(py)?.into_any(),
        ],
    )?;
    make.bind(py).call1((error.kind().name(), error.code(), place, error.message()))
}

/// An error that the caller of the package made.
pub(crate) fn usage(kind: Kind, code: &'static str, message: impl Into<String>) -> Error {
    Error::new(kind, code, packstone::Place::default(), message)
}

/// What a result of the library is in Python.
pub(crate) trait OrRaise<T> {
    /// The value, or the exception.
    fn or_raise(self, py: Python<'_>) -> PyResult<T>;
}

impl<T, E: Into<Error>> OrRaise<T> for Result<T, E> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|error| raise(py, &error.into()))
    }
}
