//! Columns of some rows: of tensors, ragged and nested ones, and of values that are the same for all.

use packstone_container::Limits;
use packstone_io::{Buf, Kind};

use super::super::super::codes;
use super::super::nested::Parts;
use super::super::tensor::Tensor;
use super::rows::Rows;
use crate::error::{Error, Place, Result};
use crate::model::Column;

pub(super) fn outside() -> Error {
    let message = "expected rows inside the tensor, found one outside";
    Error::new(Kind::Corrupt, codes::BATCH_MISMATCH, Place::default(), message)
}

/// Rows that are all one value.
pub(super) fn same(bytes: Buf, count: usize) -> Result<Column> {
    let spans = vec![0..bytes.as_ref().len(); count];
    Column::scattered_ragged(bytes, spans).ok_or_else(outside)
}

pub(super) fn same_width(bytes: Buf, width: usize, count: usize) -> Result<Column> {
    if count == 1 {
        return Column::dense(bytes, width, 1).ok_or_else(outside);
    }
    Column::scattered(bytes, vec![0; count], width).ok_or_else(outside)
}

pub(super) fn dense(
    tensor: &Tensor,
    width: usize,
    rows: Rows<'_>,
    limits: &Limits,
) -> Result<Column> {
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

pub(super) fn ragged(tensors: &[Tensor], rows: Rows<'_>, limits: &Limits) -> Result<Column> {
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

pub(super) fn nested_rows(parts: &Parts, rows: Rows<'_>) -> Result<Column> {
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
