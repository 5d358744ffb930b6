//! Python values as columns of a batch: each is checked against its field, and copied once.

use packstone::json::{ReadOptions, Value, read};
use packstone::model::{Column, DType, Field, canonical};
use packstone_io::Buf;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyString};

/// The values of `field` as a column: one value, or one a row where there are `many`.
///
/// # Errors
/// `TypeError` and `ValueError` for what the field cannot hold as it is, naming it.
pub(crate) fn column(
    field: &Field,
    dtype: Option<&Bound<'_, PyAny>>,
    values: &Bound<'_, PyAny>,
    many: bool,
) -> PyResult<Column> {
    let mismatch = || {
        PyValueError::new_err(format!("field {:?}: expected rows that fit", field.key.to_string()))
    };
    if let (Some(dtype), false) = (dtype, field.varying) {
        let array = cast(field, dtype, values)?;
        let mut shape: Vec<u64> = array.getattr("shape")?.extract()?;
        let rows = match many && !shape.is_empty() {
            true => usize::try_from(shape.remove(0))?,
            false => 1,
        };
        if shape != field.shape {
            return Err(PyValueError::new_err(format!(
                "field {:?}: expected values of shape {:?}, found {shape:?}",
                field.key.to_string(),
                field.shape
            )));
        }
        let data = bytes_of(&array)?;
        let width = data.len().checked_div(rows).unwrap_or(0);
        return Column::dense(data.into(), width, rows).ok_or_else(mismatch);
    }
    let rows: Vec<Bound<'_, PyAny>> = match many {
        true => values.try_iter()?.collect::<PyResult<_>>()?,
        false => vec![values.clone()],
    };
    let (mut data, mut ends, mut dims) = (Vec::new(), Vec::with_capacity(rows.len()), Vec::new());
    for row in &rows {
        match dtype {
            Some(dtype) => {
                let array = cast(field, dtype, row)?;
                let shape: Vec<u64> = array.getattr("shape")?.extract()?;
                if shape.len() != field.shape.len() {
                    return Err(PyValueError::new_err(format!(
                        "field {:?}: expected {} dimensions, found {}",
                        field.key.to_string(),
                        field.shape.len(),
                        shape.len()
                    )));
                }
                dims.extend(shape);
                data.extend(bytes_of(&array)?);
            }
            None => data.extend(variable(field, row)?),
        }
        ends.push(data.len());
    }
    let column = Column::ragged(Buf::from(data), ends).ok_or_else(mismatch)?;
    match dtype {
        Some(_) => column.with_shapes(field.shape.len(), dims).ok_or_else(mismatch),
        None => Ok(column),
    }
}

fn bytes_of(array: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    Ok(array.call_method0("tobytes")?.cast_into::<PyBytes>()?.as_bytes().to_vec())
}

/// An array of the field's type. Casts only what stays what it is: safe casts, integers that fit, and lists of Python
/// floats.
fn cast<'py>(
    field: &Field,
    dtype: &Bound<'py, PyAny>,
    values: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let numpy = dtype.py().import("numpy")?;
    let array = numpy.call_method1("asarray", (values,))?;
    let own = array.getattr("dtype")?;
    if own.eq(dtype)? {
        return Ok(array);
    }
    let can = |rule| numpy.call_method1("can_cast", (&own, dtype, rule))?.extract::<bool>();
    let kind = |dtype: &Bound<'py, PyAny>| dtype.getattr("kind")?.extract::<String>();
    let made = |array: &Bound<'py, PyAny>| array.call_method1("astype", (dtype,));
    let is_array = values.is_instance(&numpy.getattr("ndarray")?)?;
    if can("safe")? || (!is_array && can("same_kind")? && kind(&own)? == "f") {
        return made(&array);
    }
    let whole = |kind: &str| kind == "i" || kind == "u";
    if array.getattr("size")?.extract::<u64>()? == 0 && !is_array {
        return made(&array);
    }
    if whole(&kind(&own)?) && whole(&kind(dtype)?) {
        let cast = made(&array)?;
        if numpy.call_method1("array_equal", (&cast, &array))?.extract()? {
            return Ok(cast);
        }
    }
    Err(PyTypeError::new_err(format!(
        "field {:?}: expected values of {dtype}, found {own} that would change",
        field.key.to_string()
    )))
}

/// The bytes of text, JSON, or bytes of any length.
fn variable(field: &Field, value: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    let wrong = |expected: &str| {
        let found = value.get_type();
        PyTypeError::new_err(format!(
            "field {:?}: expected {expected}, found {found}",
            field.key.to_string()
        ))
    };
    match field.dtype {
        DType::Str => {
            let text = value.cast::<PyString>().map_err(|_| wrong("text"))?;
            let bytes = text.call_method1("encode", ("utf-8", "surrogatepass"))?;
            Ok(bytes.cast_into::<PyBytes>()?.as_bytes().to_vec())
        }
        DType::Json => {
            let value = json(value)?.ok_or_else(|| wrong("what JSON holds"))?;
            Ok(canonical::value(&value).into_bytes())
        }
        _ => match (value.cast::<PyBytes>(), value.cast::<PyByteArray>()) {
            (Ok(bytes), _) => Ok(bytes.as_bytes().to_vec()),
            (_, Ok(bytes)) => Ok(bytes.to_vec()),
            _ => Err(wrong("bytes")),
        },
    }
}

/// A JSON value; `None` where it has no spelling.
pub(crate) fn json(value: &Bound<'_, PyAny>) -> PyResult<Option<Value>> {
    let text: String = value.py().import("json")?.call_method1("dumps", (value,))?.extract()?;
    let options = ReadOptions::default().with_nan(true);
    Ok(read(text.as_bytes(), &options).ok().map(|document| document.value))
}
