//! What is seen at a path of keys, as a field of samples.
//!
//! | in the tree | in a sample |
//! | --- | --- |
//! | tensor `[N, …]` | a dense value `[…]`; of a leaf that is a piece of its map |
//! | tensor in a batch without dimensions | the whole tensor |
//! | tensors of a stack that differ in shape | a value of varying shape |
//! | nested tensor of N parts | a value of varying shape |
//! | one value for the batch | the same text or JSON in every sample |
//! | a value each row | its text if all are text, else JSON; rows of more dimensions are lists |
//! | a pickle | its bytes, never looked into |
//!
//! What has no such form stays a field that cannot be read, so that nothing is missed without a word.

use std::sync::{Arc, OnceLock};

use packstone_container::Limits;
use packstone_container::json::{Object, Value};
use packstone_container::pickle;
use packstone_io::{Buf, Kind};

use super::super::codes;
use super::flat::{KeyPath, Seen};
use super::nested::Parts;
use super::node::{Bytes, Fault, FieldFiles, FieldValue, NestedTensor, Source};
use super::pickles::{self, Looked};
use super::tensor::Tensor;
use super::values::Values;
use crate::error::{Error, Place, Result};
use crate::model::{Column, DType, Field, Key, canonical};

/// Where the values of a field come from.
pub struct FieldReader {
    origin: Origin,
    verified: OnceLock<Option<Fault>>,
}

enum Origin {
    /// Rows of a tensor, of so many bytes.
    Rows(Tensor, usize),
    /// One sample, the tensor.
    Whole(Tensor),
    Ragged(Vec<Tensor>),
    Nested(NestedTensor, OnceLock<Arc<Parts>>),
    Same(Buf),
    /// A file, the same for all.
    File(Arc<dyn Source>),
    /// All rows, made already.
    Made(Column),
    /// A value each row, of so many of the batch.
    Each {
        values: Values,
        inner: Option<Vec<u64>>,
        text: bool,
    },
    Faulty(Fault),
}

/// More empty lists than this inside of one value no document of a sample has.
const MANY_EMPTY: u64 = 1 << 20;

/// Which samples are asked for.
#[derive(Clone, Copy, Debug)]
pub enum Rows<'a> {
    /// Neighbours: the first, and how many.
    Run(u64, usize),
    /// Any, in this order, counted from the first number on.
    Listed(u64, &'a [usize]),
}

impl Rows<'_> {
    /// How many.
    pub fn len(&self) -> usize {
        match self {
            Self::Run(_, count) => *count,
            Self::Listed(_, rows) => rows.len(),
        }
    }

    /// True where there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        let (first, count, rows) = match self {
            Self::Run(first, count) => (*first, *count, None),
            Self::Listed(first, rows) => (*first, rows.len(), Some(rows)),
        };
        (0..count).map(move |at| {
            let row = rows.map_or(at, |rows| rows.get(at).copied().unwrap_or(usize::MAX));
            first.saturating_add(row as u64)
        })
    }
}

impl FieldReader {
    /// The field for what is seen at `path` of a node of this batch size, with its reader.
    pub fn new(path: KeyPath, seen: Seen, batch: &[u64], limits: &Limits) -> (Field, Self) {
        let key = if path.is_empty() { Key::new("data") } else { Key::from(path) };
        let (field, origin) = made(&key, seen, batch, limits).unwrap_or_else(|fault| {
            let mut field = Field::at(key, DType::Bytes, []);
            field.metadata.insert("unreadable", fault.error().message());
            (field, Origin::Faulty(fault))
        });
        (field, Self { origin, verified: OnceLock::new() })
    }

    /// Whether its own field can be what packstone's writer called it: at the same key, of elements of the same kind, and
    /// of the same shape where the writer gave one.
    pub fn fits(&self, own: &Field, declared: &Field) -> bool {
        let values = |field: &Field| matches!(field.dtype, DType::Str | DType::Json);
        let same = match (values(own), values(declared)) {
            // Text can be called JSON, and where there is no value at all, either can be called the other.
            (true, true) => {
                let rows = |values: &Values| values.batch_size().first().copied();
                let none =
                    matches!(&self.origin, Origin::Each { values, .. } if rows(values) == Some(0));
                own.dtype == declared.dtype || declared.dtype == DType::Json || none
            }
            (false, false) => {
                own.dtype == declared.dtype
                    && own.shape.len() == declared.shape.len()
                    && match (own.varying, declared.varying) {
                        (false, false) => own.shape == declared.shape,
                        (varying, declared) => declared || !varying,
                    }
            }
            _ => false,
        };
        own.key == declared.key && same
    }

    /// Gives the values of a field that [fits](Self::fits).
    pub fn declare(&mut self, declared: &Field) {
        if let Origin::Each { text, .. } = &mut self.origin {
            *text = declared.dtype == DType::Str;
        }
    }

    /// Bytes of a row, where all have as many; else a guess.
    pub fn row_bytes(&self) -> u64 {
        match &self.origin {
            Origin::Rows(tensor, _) => tensor.block(1),
            Origin::Whole(tensor) => tensor.block(0),
            Origin::Ragged(tensors) => tensors.first().map_or(0, |t| t.block(0)),
            Origin::Nested(nested, _) => {
                nested.data.len().unwrap_or(0).checked_div(nested.extent.0).unwrap_or(0)
            }
            Origin::Same(bytes) => bytes.as_ref().len() as u64,
            Origin::File(file) => file.len(),
            Origin::Made(_) | Origin::Each { .. } => 64,
            Origin::Faulty(_) => 0,
        }
    }

    /// Bytes that are stored for each row; none for one value that stands for all rows.
    pub fn stored_row_bytes(&self) -> u64 {
        match &self.origin {
            Origin::Same(_) | Origin::File(_) | Origin::Whole(_) | Origin::Faulty(_) => 0,
            _ => self.row_bytes(),
        }
    }

    /// The values of some samples, as `field` says.
    ///
    /// # Errors
    /// Those of the leaves, with the field.
    pub fn read(
        &self,
        field: &Field,
        rows: Rows<'_>,
        limits: &Limits,
        verify: bool,
    ) -> Result<Column> {
        let placed = |error: Error| {
            let place = error.place().clone();
            if place.field.is_some() {
                error
            } else {
                error.with_place(place.field(field.key.to_string()))
            }
        };
        if verify
            && let Some(fault) = self.verified.get_or_init(|| self.verify().err().map(Fault::from))
        {
            return Err(placed(fault.error()));
        }
        let column = self.column(rows, limits).map_err(placed)?;
        if !field.varying || column.shape(0).is_some() || column.rows() == 0 {
            return Ok(column);
        }
        // Declared to vary, and stored as one shape.
        let Origin::Rows(tensor, _) = &self.origin else { return Ok(column) };
        let inner = tensor.shape.get(1..).unwrap_or_default();
        let dims = inner.repeat(column.rows());
        column.with_shapes(inner.len(), dims).ok_or_else(outside).map_err(placed)
    }

    /// Compares what the store has checksums of and reading does not look at.
    fn verify(&self) -> Result<()> {
        let check = |tensor: &Tensor| match tensor.leaf() {
            Some(Bytes::Stored { file, .. }) => file.verify(),
            _ => Ok(()),
        };
        match &self.origin {
            Origin::Rows(tensor, _) | Origin::Whole(tensor) => check(tensor),
            Origin::Ragged(tensors) => tensors.iter().try_for_each(check),
            Origin::Nested(nested, _) => {
                [&nested.sizes, &nested.data].into_iter().try_for_each(|bytes| match bytes {
                    Bytes::Stored { file, .. } => file.verify(),
                    _ => Ok(()),
                })
            }
            _ => Ok(()),
        }
    }

    fn column(&self, rows: Rows<'_>, limits: &Limits) -> Result<Column> {
        match &self.origin {
            Origin::Rows(tensor, width) => dense(tensor, *width, rows, limits),
            Origin::Whole(tensor) => {
                let bytes = tensor.read(limits)?;
                let width = bytes.as_ref().len();
                same_width(bytes, width, rows.len())
            }
            Origin::Ragged(tensors) => ragged(tensors, rows, limits),
            Origin::Nested(nested, parts) => {
                let parts = match parts.get() {
                    Some(parts) => Arc::clone(parts),
                    None => {
                        let read = Arc::new(nested.open()?);
                        Arc::clone(parts.get_or_init(|| read))
                    }
                };
                nested_rows(&parts, rows)
            }
            Origin::Same(bytes) => same(bytes.clone(), rows.len()),
            Origin::File(file) => same(file.open()?, rows.len()),
            Origin::Made(column) => {
                let rows: Option<Vec<usize>> =
                    rows.iter().map(|row| usize::try_from(row).ok()).collect();
                rows.and_then(|rows| column.select(&rows)).ok_or_else(outside)
            }
            Origin::Each { values, inner, text } => each(values, inner.as_deref(), *text, rows),
            Origin::Faulty(fault) => Err(fault.error()),
        }
    }
}

fn outside() -> Error {
    let message = "expected rows inside the tensor, found one outside";
    Error::new(Kind::Corrupt, codes::BATCH_MISMATCH, Place::default(), message)
}

/// Rows that are all one value.
fn same(bytes: Buf, count: usize) -> Result<Column> {
    let spans = vec![0..bytes.as_ref().len(); count];
    Column::scattered_ragged(bytes, spans).ok_or_else(outside)
}

fn same_width(bytes: Buf, width: usize, count: usize) -> Result<Column> {
    if count == 1 {
        return Column::dense(bytes, width, 1).ok_or_else(outside);
    }
    Column::scattered(bytes, vec![0; count], width).ok_or_else(outside)
}

fn dense(tensor: &Tensor, width: usize, rows: Rows<'_>, limits: &Limits) -> Result<Column> {
    let Some(leaf) = tensor.mapped() else {
        let positions: Vec<u64> = rows.iter().collect();
        let bytes = tensor.blocks(1, &positions, limits)?;
        return Column::dense(bytes, width, rows.len()).ok_or_else(outside);
    };
    let bytes = leaf.open()?;
    let start = |row: u64| usize::try_from(row).ok().and_then(|row| row.checked_mul(width));
    match rows {
        Rows::Run(first, count) => {
            let range = start(first)
                .and_then(|from| Some(from..from.checked_add(count.checked_mul(width)?)?));
            let piece = range.and_then(|range| bytes.slice(range)).ok_or_else(outside)?;
            Column::dense(piece, width, count).ok_or_else(outside)
        }
        Rows::Listed(..) => {
            let starts = rows.iter().map(start).collect::<Option<Vec<_>>>().ok_or_else(outside)?;
            Column::scattered(bytes, starts, width).ok_or_else(outside)
        }
    }
}

fn ragged(tensors: &[Tensor], rows: Rows<'_>, limits: &Limits) -> Result<Column> {
    let (mut data, mut ends, mut dims) = (Vec::new(), Vec::new(), Vec::new());
    let rank = tensors.first().map_or(0, |t| t.shape.len());
    for row in rows.iter() {
        let tensor =
            usize::try_from(row).ok().and_then(|row| tensors.get(row)).ok_or_else(outside)?;
        data.extend_from_slice(&tensor.read(limits)?);
        ends.push(data.len());
        dims.extend_from_slice(&tensor.shape);
    }
    let column =
        Column::ragged(Buf::from(data), ends).and_then(|column| column.with_shapes(rank, dims));
    column.ok_or_else(outside)
}

fn nested_rows(parts: &Parts, rows: Rows<'_>) -> Result<Column> {
    let (mut spans, mut dims) = (Vec::with_capacity(rows.len()), Vec::new());
    for row in rows.iter() {
        let row = usize::try_from(row).map_err(|_| outside())?;
        let end = parts.ends.get(row).copied().ok_or_else(outside)?;
        let start =
            row.checked_sub(1).and_then(|before| parts.ends.get(before)).copied().unwrap_or(0);
        spans.push(start..end);
        dims.extend_from_slice(parts.shape(row).ok_or_else(outside)?);
    }
    let column = Column::scattered_ragged(parts.data.clone(), spans);
    column.and_then(|column| column.with_shapes(parts.rank, dims)).ok_or_else(outside)
}

/// The value of one element as JSON.
fn json(value: FieldValue) -> Result<Value> {
    match value {
        FieldValue::Json(value) => Ok(value),
        FieldValue::Container(class) => {
            let mut out = Object::new();
            out.insert("class", class.name());
            Ok(Value::Object(out))
        }
        FieldValue::Faulty(fault) => Err(fault.error()),
        FieldValue::Pickled => {
            let message = "expected a value that JSON holds, found a pickle, which is not executed";
            Err(Error::new(Kind::Unsupported, codes::NEEDS_PICKLE, Place::default(), message))
        }
    }
}

/// The value of a row: of one element, or lists of those of the inner dimensions.
fn row_value(values: &Values, row: u64, inner: Option<&[u64]>) -> Result<Value> {
    let at = |position| values.at(position).ok_or_else(outside).and_then(json);
    match inner {
        None => at(row),
        Some(sizes) => {
            let count = sizes.iter().fold(1u64, |n, dim| n.saturating_mul(*dim));
            let first = row.saturating_mul(count);
            // Lists of nothing cost nothing on the disk: many of them are one.
            let empty = sizes.iter().take_while(|dim| **dim > 0);
            if count == 0 && empty.fold(1u64, |n, dim| n.saturating_mul(*dim)) > MANY_EMPTY {
                return Ok(Value::Array(Vec::new()));
            }
            let flat = (first..first.saturating_add(count)).map(at).collect::<Result<Vec<_>>>()?;
            Ok(lists(sizes, flat))
        }
    }
}

fn lists(sizes: &[u64], flat: Vec<Value>) -> Value {
    let Some((len, inner)) = sizes.split_first() else {
        return flat.into_iter().next().unwrap_or_default();
    };
    let each = usize::try_from(*len).ok().and_then(|len| flat.len().checked_div(len)).unwrap_or(0);
    if each == 0 {
        // Lists of nothing, of which there are as many as the document has.
        return (0..*len).map(|_| lists(inner, Vec::new())).collect();
    }
    flat.chunks(each).map(|part| lists(inner, part.to_vec())).collect()
}

fn each(values: &Values, inner: Option<&[u64]>, text: bool, rows: Rows<'_>) -> Result<Column> {
    let (mut data, mut ends) = (String::new(), Vec::with_capacity(rows.len()));
    for row in rows.iter() {
        match row_value(values, row, inner)? {
            Value::String(found) if text => data.push_str(&found),
            other => data.push_str(&canonical::value(&other)),
        }
        ends.push(data.len());
    }
    Column::ragged(Buf::from(data.into_bytes()), ends).ok_or_else(outside)
}

fn made(key: &Key, seen: Seen, batch: &[u64], limits: &Limits) -> Result<(Field, Origin), Fault> {
    let fault = |code, message: String| {
        Fault::new(Kind::Unsupported, code, Place::default().field(key.to_string()), message)
    };
    let key = key.clone();
    Ok(match (seen, batch.first()) {
        (Seen::Tensor(tensor), None) => {
            (Field::at(key, tensor.dtype.clone(), tensor.shape.clone()), Origin::Whole(tensor))
        }
        (Seen::Tensor(tensor), Some(rows)) if tensor.shape.first() == Some(rows) => {
            let width = usize::try_from(tensor.block(1));
            let width = width
                .map_err(|_| fault(codes::TOO_LARGE, "expected rows that fit memory".to_owned()))?;
            let shape = tensor.shape.get(1..).unwrap_or_default().to_vec();
            (Field::at(key, tensor.dtype.clone(), shape), Origin::Rows(tensor, width))
        }
        (Seen::Tensor(tensor), Some(_)) => {
            let message =
                format!("expected a shape that starts with {batch:?}, found {:?}", tensor.shape);
            return Err(fault(codes::BATCH_MISMATCH, message));
        }
        (Seen::Ragged(tensors), Some(rows)) if tensors.len() as u64 == *rows => {
            let first = tensors.first().map(|t| (t.dtype.clone(), t.shape.len()));
            let (dtype, rank) = first.unwrap_or((DType::UInt8, 0));
            (Field::varying(key, dtype, rank), Origin::Ragged(tensors))
        }
        (Seen::Nested(nested), Some(rows)) if nested.extent.0 == *rows => {
            let rank = usize::try_from(nested.extent.1).ok().filter(|rank| *rank <= 64);
            let message =
                || "expected at most 64 dimensions of a nested tensor, found more".to_owned();
            let rank = rank.ok_or_else(|| fault(codes::BAD_SHAPE, message()))?;
            (
                Field::varying(key, nested.dtype.clone(), rank),
                Origin::Nested(nested, OnceLock::new()),
            )
        }
        (Seen::Nested(nested), _) => {
            let message = format!(
                "expected a nested tensor of one part a sample, found {} parts in a batch of {batch:?}",
                nested.extent.0
            );
            return Err(fault(codes::NO_COMMON_FORM, message));
        }
        (Seen::Values(values), rows) => match values.same() {
            Some((value, files)) => same_value(key, value.clone(), files, limits)?,
            None => each_value(key, values, rows.copied(), batch)?,
        },
        (Seen::Pickle(file), rows) => pickled_rows(key, file.as_ref(), rows.copied(), limits)?,
        (Seen::Ragged(_), _) => {
            let message = "expected tensors of one shape, found several in a batch of another size";
            return Err(fault(codes::NO_COMMON_FORM, message.to_owned()));
        }
        (Seen::Broken(fault), _) => return Err(fault),
    })
}

fn same_value(
    key: Key,
    value: FieldValue,
    files: &FieldFiles,
    limits: &Limits,
) -> Result<(Field, Origin), Fault> {
    if let (FieldValue::Pickled, Some(pickle)) = (&value, &files.pickle) {
        if let Some(pickle::Value::Bytes(bytes)) =
            pickles::plain_field(pickle.as_ref(), "data", limits)
        {
            return Ok((Field::at(key, DType::Bytes, []), Origin::Same(Buf::copy_from(&bytes))));
        }
        let mut field = Field::at(key, DType::Bytes, []);
        field.metadata.insert("encoding", "pickle");
        return Ok((field, Origin::File(Arc::clone(pickle))));
    }
    let (dtype, bytes) = match json(value)? {
        Value::String(text) => (DType::Str, text.into_bytes()),
        other => (DType::Json, canonical::value(&other).into_bytes()),
    };
    Ok((Field::at(key, dtype, []), Origin::Same(Buf::from(bytes))))
}

/// The rows of a pickled stack, where it is plain data: all bytes, or all something that JSON holds.
fn pickled_rows(
    key: Key,
    file: &dyn Source,
    rows: Option<u64>,
    limits: &Limits,
) -> Result<(Field, Origin), Fault> {
    let needed = || {
        let message =
            "expected values that JSON holds, found a pickle of all rows, which is not executed";
        pickles::needed(file, message)
    };
    let looked = pickles::look(&file.open()?, limits);
    let Looked::Plain(pickle::Value::List(items)) = looked else { return Err(needed()) };
    let whole = [pickle::Value::List(Arc::clone(&items))];
    let values = if rows.is_some() { items.as_ref() } else { whole.as_slice() };
    if values.len() as u64 != rows.unwrap_or(1) {
        return Err(needed());
    }
    let bytes: Option<Vec<&[u8]>> = values
        .iter()
        .map(|value| match value {
            pickle::Value::Bytes(bytes) => Some(bytes.as_ref()),
            _ => None,
        })
        .collect();
    let (dtype, rows): (DType, Vec<Vec<u8>>) = match bytes {
        Some(bytes) => (DType::Bytes, bytes.into_iter().map(<[u8]>::to_vec).collect()),
        None => {
            let json = values
                .iter()
                .map(pickles::to_json)
                .collect::<Option<Vec<_>>>()
                .ok_or_else(needed)?;
            (DType::Json, json.iter().map(|value| canonical::value(value).into_bytes()).collect())
        }
    };
    let ends = rows.iter().scan(0usize, |end, row| {
        *end = end.saturating_add(row.len());
        Some(*end)
    });
    let ends = ends.collect();
    let column = Column::ragged(Buf::from(rows.concat()), ends).ok_or_else(needed)?;
    Ok((Field::at(key, dtype, []), Origin::Made(column)))
}

fn each_value(
    key: Key,
    values: Values,
    rows: Option<u64>,
    batch: &[u64],
) -> Result<(Field, Origin), Fault> {
    let sizes = values.batch_size();
    let inner = match rows {
        Some(_) if sizes.len() <= 1 => None,
        Some(_) => Some(sizes.get(1..).unwrap_or_default().to_vec()),
        // In a batch without dimensions the one sample has all values.
        None => Some(sizes.clone()),
    };
    if rows.is_some() && sizes.first() != batch.first() {
        let message = format!("expected a value for each of {batch:?}, found {sizes:?}");
        let place = Place::default().field(key.to_string());
        return Err(Fault::new(Kind::Invalid, codes::BATCH_MISMATCH, place, message));
    }
    let is_text = |row| matches!(values.at(row), Some(FieldValue::Json(Value::String(_))));
    let text = inner.is_none() && (0..rows.unwrap_or(1)).all(is_text);
    let dtype = if text { DType::Str } else { DType::Json };
    Ok((Field::at(key, dtype, []), Origin::Each { values, inner, text }))
}
