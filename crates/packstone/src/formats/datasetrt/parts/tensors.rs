//! Samples of several fields in one payload: a SafeTensors buffer, readable without packstone.
//!
//! A field whose type SafeTensors knows is a tensor of that type. Anything else is bytes: elements of fixed size with one
//! dimension more, text, JSON, bytes and Python integers as their bytes; then the texts of the buffer name the type.

use std::ops::Range;

use packstone_container::Limits;
use packstone_container::safetensors::{
    Header, Layout, Order, SafeTensorsError, TensorSpec, TensorType,
};
use packstone_io::{Buf, Kind};

use super::super::codes;
use super::descriptor::StoredField;
use crate::error::{Error, Place, Result};
use crate::model::{Batch, Column, DType, Field};

/// The type that SafeTensors has for elements of this type, if it has one.
fn tensor_type(dtype: &DType) -> Option<TensorType> {
    use DType::*;
    Some(match dtype {
        Bool => TensorType::Bool,
        Int8 => TensorType::I8,
        Int16 => TensorType::I16,
        Int32 => TensorType::I32,
        Int64 => TensorType::I64,
        UInt8 => TensorType::U8,
        UInt16 => TensorType::U16,
        UInt32 => TensorType::U32,
        UInt64 => TensorType::U64,
        Float16 => TensorType::F16,
        BFloat16 => TensorType::BF16,
        Float32 => TensorType::F32,
        Float64 => TensorType::F64,
        Complex64 => TensorType::C64,
        Float8E4M3Fn => TensorType::F8E4M3,
        Float8E4M3Fnuz => TensorType::F8E4M3Fnuz,
        Float8E5M2 => TensorType::F8E5M2,
        Float8E5M2Fnuz => TensorType::F8E5M2Fnuz,
        Float8E8M0Fnu => TensorType::F8E8M0,
        _ => return None,
    })
}

/// How a field is a tensor.
#[derive(Clone, Debug)]
struct Form {
    dtype: TensorType,
    /// The bytes of an element, where they are a dimension.
    element: Option<u64>,
    /// Bytes of any length in one dimension.
    loose: bool,
    /// The shape of every value, where it is the same.
    shape: Option<Vec<u64>>,
}

impl Form {
    fn of(field: &Field) -> Self {
        let loose = field.is_variable() || field.dtype == DType::Int;
        if loose {
            return Self { dtype: TensorType::U8, element: None, loose, shape: None };
        }
        let native = tensor_type(&field.dtype);
        let element = field.element_bytes().filter(|bytes| native.is_none() && *bytes != 1);
        let shape = (!field.varying).then(|| {
            let mut shape = field.shape.clone();
            shape.extend(element);
            shape
        });
        Self { dtype: native.unwrap_or(TensorType::U8), element, loose, shape }
    }

    /// The shape of the tensor for a value of so many bytes.
    fn tensor_shape(&self, column: &Column, row: usize, len: usize) -> Vec<u64> {
        if self.loose {
            return vec![len as u64];
        }
        if let Some(shape) = &self.shape {
            return shape.clone();
        }
        let mut shape = column.shape(row).unwrap_or_default().to_vec();
        shape.extend(self.element);
        shape
    }

    /// The shape of the value of a tensor of this shape; `None` where no value of the field is like that.
    fn value_shape<'s>(&self, field: &Field, shape: &'s [u64]) -> Option<&'s [u64]> {
        if self.loose {
            return (shape.len() == 1).then_some(&[]);
        }
        if let Some(expected) = &self.shape {
            return (shape == expected).then_some(&[]);
        }
        let dims = match self.element {
            None => shape,
            Some(element) => shape.split_last().filter(|(last, _)| **last == element)?.1,
        };
        (dims.len() == field.shape.len()).then_some(dims)
    }
}

/// Makes payloads of rows.
#[derive(Debug)]
pub struct TensorWriter {
    /// Position of each field in the batch, its name as a tensor, and how it is one.
    fields: Vec<(usize, String, Form)>,
    texts: Option<Vec<(String, String)>>,
    /// The layout of the last row, which the next one mostly has too.
    last: Option<(Vec<Vec<u64>>, Layout)>,
}

impl TensorWriter {
    /// For the fields at these positions of a batch, under these names.
    pub fn new<'f>(fields: impl Iterator<Item = (usize, &'f str, &'f Field)>) -> Self {
        let (mut forms, mut texts) = (Vec::new(), Vec::new());
        for (position, name, field) in fields {
            if tensor_type(&field.dtype).is_none() {
                texts.push((name.to_owned(), field.dtype.name().into_owned()));
            }
            forms.push((position, name.to_owned(), Form::of(field)));
        }
        let texts = (!texts.is_empty()).then_some(texts);
        Self { fields: forms, texts, last: None }
    }

    /// Appends the payload of a row to `out`.
    ///
    /// # Errors
    /// `value_invalid` where a value does not fit its field.
    pub fn write(&mut self, batch: &Batch, row: usize, out: &mut Vec<u8>) -> Result<()> {
        let mut values: Vec<&[u8]> = Vec::with_capacity(self.fields.len());
        let mut shapes = Vec::with_capacity(self.fields.len());
        for (position, _, form) in &self.fields {
            let column = batch.columns().get(*position).ok_or_else(|| refused("no value"))?;
            let bytes = column.bytes(row).ok_or_else(|| refused("no value"))?;
            shapes.push(form.tensor_shape(column, row, bytes.len()));
            values.push(bytes);
        }
        let known = self.last.as_ref().is_some_and(|(known, _)| *known == shapes);
        if !known {
            let specs: Vec<TensorSpec<'_>> = self
                .fields
                .iter()
                .zip(&shapes)
                .map(|((_, name, form), shape)| TensorSpec { name, dtype: form.dtype, shape })
                .collect();
            let layout = Layout::new(&specs, self.texts.as_deref(), Order::Canonical)
                .map_err(|error| refused(&error.to_string()))?;
            self.last = Some((shapes, layout));
        }
        let Some((_, layout)) = &self.last else { return Ok(()) };
        let fits = values.iter().zip(&layout.lengths).all(|(v, len)| v.len() as u64 == *len);
        if !fits {
            return Err(refused("a value of another length than its shape has"));
        }
        out.extend_from_slice(&layout.head);
        let ordered = layout.order.iter().filter_map(|place| values.get(*place));
        ordered.for_each(|bytes| out.extend_from_slice(bytes));
        Ok(())
    }
}

fn refused(what: &str) -> Error {
    let message = format!("expected values that fit their fields, found {what}");
    Error::new(Kind::Invalid, codes::VALUE_INVALID, Place::default(), message)
}

/// Finds fields in payloads.
pub struct TensorReader<'f> {
    fields: Vec<(&'f Field, &'f str, Form)>,
    spans: Vec<Vec<Range<usize>>>,
    dims: Vec<Vec<u64>>,
    last: Option<Known>,
}

/// A payload that was looked at.
struct Known {
    head: Vec<u8>,
    /// Bytes of the payload.
    len: usize,
    /// Where the tensors of the fields lie in it.
    tensors: Vec<Tensor>,
}

/// A tensor in its payload, and the shape of its value where that varies.
type Tensor = (Range<usize>, Vec<u64>);

impl<'f> TensorReader<'f> {
    /// For these fields, which are tensors of these names.
    pub fn new(fields: impl Iterator<Item = (&'f StoredField, &'f str)>) -> Self {
        let fields: Vec<_> = fields.map(|(s, name)| (&s.field, name, Form::of(&s.field))).collect();
        let (spans, dims) = (vec![Vec::new(); fields.len()], vec![Vec::new(); fields.len()]);
        Self { fields, spans, dims, last: None }
    }

    /// Notes where the fields of the payload at `span` of `bytes` lie.
    ///
    /// # Errors
    /// `payload_invalid`.
    pub fn add(
        &mut self,
        bytes: &[u8],
        span: Range<usize>,
        place: impl Fn() -> Place,
        limits: &Limits,
    ) -> Result<()> {
        let payload = bytes.get(span.clone()).unwrap_or_default();
        let same = |known: &Known| known.len == payload.len() && payload.starts_with(&known.head);
        if !self.last.as_ref().is_some_and(same) {
            let found = self.find(payload, limits).map_err(|message| {
                Error::new(Kind::Corrupt, codes::PAYLOAD_INVALID, place(), message)
            })?;
            self.last = Some(found);
        }
        let Some(known) = &self.last else { return Ok(()) };
        let columns = self.spans.iter_mut().zip(&mut self.dims);
        for ((spans, dims), (range, shape)) in columns.zip(&known.tensors) {
            spans.push(span.start + range.start..span.start + range.end);
            dims.extend_from_slice(shape);
        }
        Ok(())
    }

    fn find(&self, payload: &[u8], limits: &Limits) -> Result<Known, String> {
        let broken = |error: SafeTensorsError| error.to_string();
        let header = Header::parse(payload, payload.len() as u64, limits).map_err(broken)?;
        let start = usize::try_from(header.data_offset()).unwrap_or(usize::MAX);
        let mut tensors = Vec::with_capacity(self.fields.len());
        for (field, name, form) in &self.fields {
            let tensor = header.tensor(name).ok_or_else(|| format!("expected tensor {name:?}"))?;
            let shape = form.value_shape(field, &tensor.shape);
            let shape = shape.filter(|_| tensor.dtype == form.dtype).ok_or_else(|| {
                format!(
                    "expected tensor {name:?} to hold {}, found {} of shape {:?}",
                    field.dtype, tensor.dtype, tensor.shape
                )
            })?;
            let at =
                |offset: u64| usize::try_from(offset).unwrap_or(usize::MAX).saturating_add(start);
            tensors.push((at(tensor.start)..at(tensor.end), shape.to_vec()));
        }
        let head = payload.get(..start).unwrap_or_default().to_vec();
        Ok(Known { head, len: payload.len(), tensors })
    }

    /// The values of each field, in their order.
    pub fn finish(self, bytes: &Buf) -> Vec<Option<Column>> {
        let columns = self.fields.into_iter().zip(self.spans.into_iter().zip(self.dims));
        let columns = columns.map(|((field, _, _), (spans, dims))| {
            let width = field.value_bytes().filter(|_| field.dtype != DType::Int);
            let width = width.and_then(|width| usize::try_from(width).ok());
            match width {
                Some(width) if spans.iter().all(|span| span.len() == width) && width > 0 => {
                    let starts = spans.into_iter().map(|span| span.start).collect();
                    Column::scattered(bytes.clone(), starts, width)
                }
                _ => {
                    let column = Column::scattered_ragged(bytes.clone(), spans);
                    match field.varying {
                        true => column.and_then(|c| c.with_shapes(field.shape.len(), dims)),
                        false => column,
                    }
                }
            }
        });
        columns.collect()
    }
}
