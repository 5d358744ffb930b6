//! Samples and batches as Python values: dicts of arrays that look at the batch's memory.

use std::collections::HashSet;
use std::sync::Arc;

use packstone::json::{Object, Style, Value, write};
use packstone::loader::Padded;
use packstone::model::{Batch, Column, DType, Field, Schema};
use packstone::{Kind, Place};
use packstone_io::Buf;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple};

use crate::buffer::Buffer;
use crate::dtypes;
use crate::failure::{OrRaise, usage};

static NDARRAY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
static LOADS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// What becomes of values whose shape varies, in a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Ragged {
    /// A list of arrays.
    #[default]
    List,
    /// One array; their shapes must be the same.
    Stack,
    /// One array as large as the largest of them, and a mask that says where a value is.
    Pad,
}

/// Bytes that an array takes at most that is filled up.
const MOST_PADDED: u64 = 4 << 30;
/// What the name of a mask ends with.
pub(crate) const MASK: &str = "_mask";

/// What a field becomes in a dict.
struct Entry<'py> {
    value: Bound<'py, PyAny>,
    mask: Option<Bound<'py, PyAny>>,
}

impl<'py> From<Bound<'py, PyAny>> for Entry<'py> {
    fn from(value: Bound<'py, PyAny>) -> Self {
        Self { value, mask: None }
    }
}

/// How the fields of a schema become the entries of a dict; made once for each schema.
pub(crate) struct Shape {
    /// The schema that it is for.
    pub(crate) schema: Arc<Schema>,
    slots: Vec<Slot>,
}

struct Slot {
    /// The names of the dicts on the way, and of the entry.
    path: Vec<Py<PyString>>,
    dtype: Option<Py<PyAny>>,
    /// Bytes of an element.
    size: usize,
}

impl Shape {
    /// The entries for `schema`.
    pub(crate) fn new(py: Python<'_>, schema: &Arc<Schema>) -> PyResult<Self> {
        let leaves: HashSet<&[String]> = schema.fields.iter().map(|f| f.key.parts()).collect();
        let names = schema.names();
        let slots = schema.fields.iter().zip(names).map(|(field, name)| {
            let parts = field.key.parts();
            // No dict can stand where a value stands, and none of them without a name.
            let crossed =
                (1..parts.len()).any(|n| parts.get(..n).is_some_and(|p| leaves.contains(p)));
            let whole = [name];
            let parts = if crossed || parts.is_empty() { &whole[..] } else { parts };
            let path = parts.iter().map(|part| PyString::intern(py, part).unbind()).collect();
            let dtype = dtypes::numpy(py, field)?.map(Bound::unbind);
            let size = field.element_bytes().and_then(|n| usize::try_from(n).ok()).unwrap_or(1);
            Ok(Slot { path, dtype, size })
        });
        Ok(Self { schema: Arc::clone(schema), slots: slots.collect::<PyResult<_>>()? })
    }

    /// One row as a dict, nested as the keys are. `own` says that the batch was copied together for the caller alone.
    pub(crate) fn sample<'py>(
        &self,
        py: Python<'py>,
        batch: &Batch,
        row: usize,
        own: bool,
    ) -> PyResult<Bound<'py, PyDict>> {
        self.dict(py, batch, |field, slot, column| {
            Ok(value(py, field, slot, column, row, own)?.into())
        })
    }

    /// All rows as a dict of arrays with a leading dimension, and of lists where rows do not make one array.
    /// Rows from `real` on only fill the batch up.
    pub(crate) fn batch<'py>(
        &self,
        py: Python<'py>,
        batch: &Batch,
        own: bool,
        ragged: Ragged,
        real: usize,
    ) -> PyResult<Bound<'py, PyDict>> {
        self.dict(py, batch, |field, slot, column| {
            if let (Some(dtype), true) = (&slot.dtype, field.varying) {
                match ragged {
                    Ragged::List => {}
                    Ragged::Stack => return stacked(py, field, slot, dtype, column, (own, real)),
                    Ragged::Pad => return padded(py, field, slot, dtype, column),
                }
            }
            let dense = column.as_dense().filter(|_| !field.varies());
            if let (Some(dtype), Some(bytes)) = (&slot.dtype, dense) {
                let shape =
                    std::iter::once(column.rows() as u64).chain(field.shape.iter().copied());
                let buffer = Buffer::aligned(bytes.clone(), slot.size, own).or_raise(py)?;
                return Ok(array(py, dtype, shape, buffer)?.into());
            }
            let rows = (0..column.rows()).map(|row| value(py, field, slot, column, row, own));
            Ok(PyList::new(py, rows.collect::<PyResult<Vec<_>>>()?)?.into_any().into())
        })
    }

    /// The columns that `make` makes of the values in a dict that is nested as the keys are.
    ///
    /// # Errors
    /// `KeyError` for a field that is missing, and for an entry that is no field.
    pub(crate) fn columns<'py>(
        &self,
        py: Python<'py>,
        values: &Bound<'py, PyDict>,
        make: impl Fn(&Field, Option<&Bound<'py, PyAny>>, &Bound<'py, PyAny>) -> PyResult<Column>,
    ) -> PyResult<Vec<Column>> {
        let paths: Vec<&[Py<PyString>]> = self.slots.iter().map(|slot| &slot.path[..]).collect();
        refuse_others(values, &paths)?;
        let fields = self.schema.fields.iter().zip(&self.slots);
        let columns = fields.map(|(field, slot)| {
            let mut value = values.clone().into_any();
            for name in &slot.path {
                let inner = value.cast::<PyDict>().ok().map(|dict| dict.get_item(name));
                value = inner.transpose()?.flatten().ok_or_else(|| {
                    PyKeyError::new_err(format!(
                        "expected field {:?}, found none",
                        field.key.to_string()
                    ))
                })?;
            }
            make(field, slot.dtype.as_ref().map(|dtype| dtype.bind(py)), &value)
        });
        columns.collect()
    }

    fn dict<'py>(
        &self,
        py: Python<'py>,
        batch: &Batch,
        make: impl Fn(&Field, &Slot, &Column) -> PyResult<Entry<'py>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        let fields = self.schema.fields.iter().zip(batch.columns());
        for (slot, (field, column)) in self.slots.iter().zip(fields) {
            let Entry { value, mask } = make(field, slot, column)?;
            let Some((last, way)) = slot.path.split_last() else { continue };
            let mut into = dict.clone();
            for name in way {
                into = match into.get_item(name)? {
                    Some(inner) => inner.cast_into::<PyDict>()?,
                    None => {
                        let inner = PyDict::new(py);
                        into.set_item(name, &inner)?;
                        inner
                    }
                };
            }
            into.set_item(last, value)?;
            if let Some(mask) = mask {
                into.set_item(format!("{}{MASK}", last.bind(py)), mask)?;
            }
        }
        Ok(dict)
    }
}

/// Rows of one shape as one array.
fn stacked<'py>(
    py: Python<'py>,
    field: &Field,
    slot: &Slot,
    dtype: &Py<PyAny>,
    column: &Column,
    (own, real): (bool, usize),
) -> PyResult<Entry<'py>> {
    let named =
        |error: packstone::Error| error.with_place(Place::default().field(field.key.to_string()));
    let (shape, rows) = py.detach(|| column.stacked(real)).map_err(named).or_raise(py)?;
    // Without any row there is no shape either.
    let none = || vec![0; field.shape.len()];
    let shape = if column.rows() == 0 { none() } else { shape };
    let bytes = rows.as_dense().cloned().unwrap_or_default();
    let all = std::iter::once(column.rows() as u64).chain(shape);
    Ok(array(py, dtype, all, Buffer::aligned(bytes, slot.size, own).or_raise(py)?)?.into())
}

/// Rows of any shape as one array that is filled up, and where values are in it.
fn padded<'py>(
    py: Python<'py>,
    field: &Field,
    slot: &Slot,
    dtype: &Py<PyAny>,
    column: &Column,
) -> PyResult<Entry<'py>> {
    let Padded { shape, values, mask } =
        py.detach(|| Padded::new(field, column, MOST_PADDED)).or_raise(py)?;
    let buffer = Buffer::aligned(values, slot.size, true).or_raise(py)?;
    let value = array(py, dtype, shape.iter().copied(), buffer)?;
    let flags = PyString::new(py, "?").into_any().unbind();
    let mask = array(py, &flags, shape.into_iter(), Buffer::aligned(mask, 1, true).or_raise(py)?)?;
    Ok(Entry { value, mask: Some(mask) })
}

fn value<'py>(
    py: Python<'py>,
    field: &Field,
    slot: &Slot,
    column: &Column,
    row: usize,
    own: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let missing = || {
        let message = format!("expected a value of {} in row {row}, found none", field.key);
        usage(Kind::Corrupt, "model/column_mismatch", message)
    };
    let bytes = column.buf(row).ok_or_else(missing).or_raise(py)?;
    match (&slot.dtype, &field.dtype) {
        (None, DType::Str) => text(py, &bytes),
        (None, DType::Json) => loads(py, text(py, &bytes)?),
        (None, _) => Ok(PyBytes::new(py, &bytes).into_any()),
        (Some(_), DType::Int) if field.shape.is_empty() && bytes.len() != slot.size => {
            // Wider than any array holds.
            let wide = <[u8; 16]>::try_from(&bytes[..]).map_err(|_| missing()).or_raise(py)?;
            Ok(i128::from_le_bytes(wide).into_pyobject(py)?.into_any())
        }
        (Some(dtype), _) => {
            let shape = column.shape(row).unwrap_or(&field.shape).iter().copied();
            array(py, dtype, shape, Buffer::aligned(bytes, slot.size, own).or_raise(py)?)
        }
    }
}

/// Refuses entries of a dict that no path leads to.
fn refuse_others(dict: &Bound<'_, PyDict>, paths: &[&[Py<PyString>]]) -> PyResult<()> {
    for (name, value) in dict {
        let mut below = Vec::new();
        for (first, rest) in paths.iter().filter_map(|path| path.split_first()) {
            if name.eq(first)? {
                below.push(rest);
            }
        }
        if below.is_empty() {
            return Err(PyKeyError::new_err(format!("expected a field, found {name}")));
        }
        if let (true, Ok(inner)) =
            (below.iter().all(|rest| !rest.is_empty()), value.cast::<PyDict>())
        {
            refuse_others(inner, &below)?;
        }
    }
    Ok(())
}

/// An array of `rows` numbers of a type in NumPy's spelling.
pub(crate) fn plain<'py>(
    py: Python<'py>,
    dtype: &str,
    rows: usize,
    bytes: Vec<u8>,
) -> PyResult<Bound<'py, PyAny>> {
    let dtype = PyString::new(py, dtype).into_any().unbind();
    let buffer = Buffer::aligned(Buf::from(bytes), 8, false).or_raise(py)?;
    array(py, &dtype, std::iter::once(rows as u64), buffer)
}

/// An array that looks at `buffer`.
fn array<'py>(
    py: Python<'py>,
    dtype: &Py<PyAny>,
    shape: impl Iterator<Item = u64>,
    buffer: Buffer,
) -> PyResult<Bound<'py, PyAny>> {
    let ndarray = NDARRAY
        .get_or_try_init(py, || py.import("numpy")?.getattr("ndarray").map(Bound::unbind))?;
    let shape = PyTuple::new(py, shape.collect::<Vec<_>>())?;
    ndarray.bind(py).call1((shape, dtype, buffer))
}

/// Text, with the halves of surrogate pairs that some formats let through.
fn text<'py>(py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(PyString::new(py, text).into_any()),
        Err(_) => {
            let bytes = PyBytes::new(py, bytes);
            PyString::from_encoded_object(&bytes, Some(c"utf-8"), Some(c"surrogatepass"))
                .map(Bound::into_any)
        }
    }
}

fn loads<'py>(py: Python<'py>, text: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let loads =
        LOADS.get_or_try_init(py, || py.import("json")?.getattr("loads").map(Bound::unbind))?;
    loads.bind(py).call1((text,))
}

/// A JSON value as Python has it.
pub(crate) fn json<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    loads(py, PyString::new(py, &write(value, &Style::PYTHON)).into_any())
}

/// A JSON object as a dict.
pub(crate) fn object<'py>(py: Python<'py>, object: &Object) -> PyResult<Bound<'py, PyAny>> {
    json(py, &Value::Object(object.clone()))
}
