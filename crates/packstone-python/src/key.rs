//! What stands between brackets: an index, a slice, a list of indices, an array of them, a mask.

use pyo3::exceptions::{PyIndexError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PySlice, PyString};

/// Which samples are meant.
pub(crate) enum Key {
    /// One.
    One(u64),
    /// Several, in this order.
    Many(Vec<u64>),
}

/// Reads `key` for a sequence of `len` samples. Negative indices count from the end.
///
/// # Errors
/// `IndexError` for an index outside, and for a mask of another length; `TypeError` for anything else.
pub(crate) fn read(key: &Bound<'_, PyAny>, len: u64) -> PyResult<Key> {
    if let Ok(slice) = key.cast::<PySlice>() {
        let len = isize::try_from(len)?;
        let found = slice.indices(len)?;
        let indices = (0..found.slicelength).map(|n| {
            let at = isize::try_from(n)?.saturating_mul(found.step).saturating_add(found.start);
            Ok(u64::try_from(at)?)
        });
        return Ok(Key::Many(indices.collect::<PyResult<_>>()?));
    }
    if key.is_instance_of::<PyString>() {
        return Err(PyTypeError::new_err("expected an index, a slice or indices, found text"));
    }
    if let Ok(index) = key.extract::<i64>() {
        return inside(index, len).map(Key::One);
    }
    let array = key.py().import("numpy")?.call_method1("asarray", (key,))?;
    let kind: String = array.getattr("dtype")?.getattr("kind")?.extract()?;
    let shape: Vec<u64> = array.getattr("shape")?.extract()?;
    match (kind.as_str(), shape.as_slice()) {
        // NumPy calls an empty list an array of floats.
        (_, [0]) => Ok(Key::Many(Vec::new())),
        ("b", [count]) if *count == len => {
            let found: (Bound<'_, PyAny>,) = array.call_method0("nonzero")?.extract()?;
            Ok(Key::Many(found.0.call_method0("tolist")?.extract()?))
        }
        ("b", [count]) => {
            let message = format!("expected a mask of {len} values, found {count}");
            Err(PyIndexError::new_err(message))
        }
        ("i" | "u", [_]) => {
            let indices: Vec<i64> = array.call_method0("tolist")?.extract()?;
            let indices = indices.into_iter().map(|index| inside(index, len));
            Ok(Key::Many(indices.collect::<PyResult<_>>()?))
        }
        _ => {
            let message = "expected an index, a slice, or a list or array of integers or booleans";
            Err(PyTypeError::new_err(message))
        }
    }
}

fn inside(index: i64, len: u64) -> PyResult<u64> {
    let found = match u64::try_from(index) {
        Ok(index) => Some(index),
        Err(_) => len.checked_sub(index.unsigned_abs()),
    };
    found.filter(|found| *found < len).ok_or_else(|| {
        PyIndexError::new_err(format!("expected an index below {len}, found {index}"))
    })
}
