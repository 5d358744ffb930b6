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

mod columns;
mod lists;
mod made;
mod rows;

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use packstone_container::Limits;
use packstone_io::Buf;

use super::flat::{KeyPath, Seen};
use super::nested::Parts;
use super::node::{Bytes, Fault, NestedTensor, Source};
use super::tensor::Tensor;
use super::values::Values;
use crate::error::{Error, Result};
use crate::model::{Column, DType, Field, Key};
use columns::{dense, nested_rows, outside, ragged, same, same_width};
use lists::each;
use made::made;

pub use rows::Rows;

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

    /// Bytes of leaves that `rows` have of their own; what one leaf says for all rows is the first one's, and what stands
    /// in documents is not counted.
    pub fn stored_bytes(&self, rows: Range<u64>) -> u64 {
        let count = rows.end.saturating_sub(rows.start);
        match &self.origin {
            Origin::Rows(tensor, _) => tensor.block(1).saturating_mul(count),
            Origin::Ragged(tensors) => {
                let start = usize::try_from(rows.start).unwrap_or(usize::MAX);
                let own = tensors.iter().skip(start).zip(rows);
                own.fold(0, |sum, (tensor, _)| sum.saturating_add(tensor.block(0)))
            }
            Origin::Nested(nested, _) => {
                // Where rows begin is not looked up for that: each counts for as much as any other.
                let all = u128::from(nested.data.len().unwrap_or(0));
                let before = |row| all * u128::from(row) / u128::from(nested.extent.0.max(1));
                u64::try_from(before(rows.end).saturating_sub(before(rows.start)))
                    .unwrap_or(u64::MAX)
            }
            Origin::Made(_) | Origin::Each { .. } | Origin::Faulty(_) => 0,
            _ if rows.start == 0 => self.row_bytes(),
            _ => 0,
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
