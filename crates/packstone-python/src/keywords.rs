//! Keywords of `packstone.Loader` in the words of the library.

use packstone::loader::{Remainder, Stop};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::key::{self, Key};
use crate::orders::{Numbers, OrderKind};
use crate::values::{MASK, Ragged, Shape};

/// The order that is meant: by its name, or by what only one order needs.
///
/// # Errors
/// `ValueError` for keywords that do not go together.
pub(crate) fn kind(
    order: Option<&str>,
    shuffle: bool,
    weights: bool,
    key: bool,
    indices: bool,
) -> PyResult<OrderKind> {
    let Some(name) = order else {
        return match (indices, weights, key) {
            (false, false, false) if shuffle => Ok(OrderKind::Shuffled),
            (false, false, false) => Ok(OrderKind::Sequential),
            (true, false, false) => Ok(OrderKind::Indices),
            (false, true, false) if !shuffle => Ok(OrderKind::Weighted),
            (false, false, true) if !shuffle => Ok(OrderKind::Balanced),
            _ => Err(PyValueError::new_err(
                "expected one of shuffle, weights, key and indices, or an order, found several",
            )),
        };
    };
    let kind = OrderKind::from_name(name).ok_or_else(|| {
        PyValueError::new_err(format!(
            "expected an order of {}, found {name:?}",
            OrderKind::names()
        ))
    })?;
    let needs = |needed: bool, given: bool, what: &str| match (needed, given) {
        (true, false) => Err(PyValueError::new_err(format!(
            "expected {what} for the order {name:?}, found none"
        ))),
        (false, true) => Err(PyValueError::new_err(format!(
            "expected no {what} for the order {name:?}, found some"
        ))),
        _ => Ok(()),
    };
    let weighted = matches!(kind, OrderKind::Weighted | OrderKind::Distinct);
    needs(weighted || weights && kind == OrderKind::Native, weights, "weights")?;
    needs(kind == OrderKind::Balanced, key, "key")?;
    needs(kind == OrderKind::Indices, indices, "indices")?;
    if shuffle && !matches!(kind, OrderKind::Shuffled | OrderKind::Indices) {
        return Err(PyValueError::new_err(format!(
            "expected shuffle without an order, found the order {name:?}"
        )));
    }
    Ok(kind)
}

/// Refuses a number of draws where nothing is drawn.
pub(crate) fn drawn(kind: OrderKind, draws: bool) -> PyResult<()> {
    let drawn = matches!(kind, OrderKind::Weighted | OrderKind::Distinct | OrderKind::Native);
    match draws && !drawn {
        true => Err(PyValueError::new_err(
            "expected draws for an order that draws samples (weighted, distinct, native), found another",
        )),
        false => Ok(()),
    }
}

/// A name in the metadata, or a number a sample.
pub(crate) fn weights(value: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Numbers<f64>>> {
    let Some(value) = value else { return Ok(None) };
    if let Ok(name) = value.cast::<PyString>() {
        return Ok(Some(Numbers::Named(name.extract()?)));
    }
    let array = value.py().import("numpy")?.call_method1("asarray", (value, "float64"))?;
    Ok(Some(Numbers::Listed(array.call_method0("tolist")?.extract()?)))
}

/// A name in the metadata, or a value a sample, which become numbers by where each first occurs.
pub(crate) fn keys(value: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Numbers<u64>>> {
    let Some(value) = value else { return Ok(None) };
    if let Ok(name) = value.cast::<PyString>() {
        return Ok(Some(Numbers::Named(name.extract()?)));
    }
    let numbers = value.py().import("packstone._loading")?.call_method1("keys", (value,))?;
    Ok(Some(Numbers::Listed(numbers.extract()?)))
}

/// Whole numbers in the proportion of the ratios that are given.
pub(crate) fn ratios(value: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Vec<u64>>> {
    let Some(value) = value else { return Ok(None) };
    let whole = value.py().import("packstone._loading")?.call_method1("ratios", (value,))?;
    whole.extract().map(Some)
}

/// Indices below `samples`.
pub(crate) fn indices(value: Option<&Bound<'_, PyAny>>, samples: u64) -> PyResult<Vec<u64>> {
    match value.map(|value| key::read(value, samples)).transpose()? {
        None => Ok(Vec::new()),
        Some(Key::Many(list)) => Ok(list),
        Some(Key::One(_)) => Err(PyTypeError::new_err("expected indices, found one index")),
    }
}

/// When several things have come often enough.
pub(crate) fn stop(name: Option<&str>) -> PyResult<Option<Stop>> {
    match name {
        None => Ok(None),
        Some("first") => Ok(Some(Stop::First)),
        Some("all") => Ok(Some(Stop::All)),
        Some(other) => {
            Err(PyValueError::new_err(format!("expected stop to be first or all, found {other:?}")))
        }
    }
}

/// The policy for the last step, and whether rows without a sample are cut off.
pub(crate) fn remainder(name: Option<&str>, drop_last: bool) -> PyResult<(Remainder, bool)> {
    let known = match name {
        None if drop_last => Some((Remainder::Drop, false)),
        None | Some("short") => Some((Remainder::Pad, true)),
        Some(name) => Remainder::from_name(name).map(|remainder| (remainder, false)),
    };
    match known {
        Some((remainder, _)) if drop_last && remainder != Remainder::Drop => {
            Err(PyValueError::new_err("expected a remainder or drop_last, found both"))
        }
        Some(known) => Ok(known),
        None => Err(PyValueError::new_err(format!(
            "expected a remainder of short, pad, drop, repeat, found {:?}",
            name.unwrap_or_default()
        ))),
    }
}

/// What becomes of values whose shape varies.
///
/// # Errors
/// `ValueError` for another name, and for a field that is called like the mask of another.
pub(crate) fn ragged(name: &str, shape: &Shape) -> PyResult<Ragged> {
    let found = match name {
        "list" => Ragged::List,
        "stack" => Ragged::Stack,
        "pad" => Ragged::Pad,
        other => {
            let message = format!("expected ragged to be list, stack or pad, found {other:?}");
            return Err(PyValueError::new_err(message));
        }
    };
    let fields = &shape.schema.fields;
    let masks = fields.iter().filter(|field| field.varying).map(|f| format!("{}{MASK}", f.key));
    let taken = |mask: &String| fields.iter().any(|field| field.key.to_string() == *mask);
    match masks.into_iter().find(taken).filter(|_| found == Ragged::Pad) {
        Some(mask) => Err(PyValueError::new_err(format!(
            "expected no field that is called like the mask {mask:?}, found one"
        ))),
        None => Ok(found),
    }
}

/// Entries that batches have besides the fields.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Extras {
    pub(crate) mask: bool,
    pub(crate) positions: bool,
    pub(crate) indices: bool,
}

impl Extras {
    /// Those of these names, which no field of `shape` may have.
    pub(crate) fn new(names: &[String], shape: &Shape) -> PyResult<Self> {
        let mut extras = Self::default();
        for name in names {
            match name.as_str() {
                "mask" => extras.mask = true,
                "positions" => extras.positions = true,
                "indices" => extras.indices = true,
                _ => {
                    return Err(PyValueError::new_err(format!(
                        "expected extras of mask, positions, indices, found {name:?}"
                    )));
                }
            }
            if shape.schema.fields.iter().any(|field| field.key.parts().first() == Some(name)) {
                return Err(PyValueError::new_err(format!(
                    "expected no field that is called like the extra {name:?}, found one"
                )));
            }
        }
        Ok(extras)
    }
}
