//! One column of a batch whose rows come in any order.

use std::ops::Range;

use packstone_io::{BufferPool, PooledBuf, touch};

use super::super::batch::mismatch;
use super::super::column::Column;
use super::super::dtype::DType;
use super::super::schema::Field;
use super::RowSlot;
use crate::error::Result;

/// Bytes that are had at most for rows that are still to come.
const MOST_GUESSED: usize = 64 << 20;

/// Short rows that lie apart are waited for together, so many at a time.
const AHEAD: usize = 32;

/// A column in the making.
#[derive(Debug)]
pub(super) struct Filling {
    data: PooledBuf,
    /// Bytes of a row, where all have the same.
    width: Option<usize>,
    /// Rows of another width are possible and no fault.
    wide: bool,
    /// Where rows lie that have no common width.
    spans: Vec<Range<usize>>,
    /// Bytes of the shortest row that can be.
    least: usize,
    /// The rank of shapes that vary, and these.
    shapes: Option<(usize, Vec<u64>)>,
}

/// Has the next rows come into the processor's cache, as far as they are short.
fn touch_rows(from: &Column, next: &[RowSlot]) {
    next.iter().take(AHEAD).filter_map(|(row, _)| from.bytes(*row)).for_each(touch);
}

impl Filling {
    /// For `rows` slots of a field.
    ///
    /// # Errors
    /// `io/out_of_memory`.
    pub(super) fn new(field: &Field, rows: usize, pool: &BufferPool) -> Result<Self> {
        let width = if field.varies() { None } else { field.value_bytes() };
        let width = width.and_then(|width| usize::try_from(width).ok());
        let need = width.unwrap_or(0).saturating_mul(rows);
        // How much rows of any length take is known when the first ones come.
        let mut data = pool.take(need.max(1))?;
        data.set_len(need)?;
        let spans = if width.is_some() { Vec::new() } else { vec![0..0; rows] };
        let rank = field.shape.len();
        let shapes = field.varying.then(|| (rank, vec![0; rank.saturating_mul(rows)]));
        let element = field.element_bytes().filter(|_| field.varying && rank == 0).unwrap_or(0);
        let least = usize::try_from(element).unwrap_or(0);
        Ok(Self { data, width, wide: field.dtype == DType::Int, spans, least, shapes })
    }

    /// Fills slots that no row comes to.
    ///
    /// # Errors
    /// `io/out_of_memory`.
    pub(super) fn blank(&mut self, slots: &[usize]) -> Result<()> {
        for slot in slots {
            if let Some(width) = self.width {
                let start = slot.saturating_mul(width);
                let span = start..start.saturating_add(width);
                self.data.get_mut(span).unwrap_or_default().fill(0);
                continue;
            }
            // A value of rank 0 is never nothing.
            let start = self.data.len();
            self.data.set_len(start.saturating_add(self.least))?;
            self.data.get_mut(start..).unwrap_or_default().fill(0);
            if let Some(span) = self.spans.get_mut(*slot) {
                *span = start..self.data.len();
            }
            if let Some((rank, dims)) = &mut self.shapes {
                let place = slot.saturating_mul(*rank);
                dims.get_mut(place..place.saturating_add(*rank)).unwrap_or_default().fill(0);
            }
        }
        Ok(())
    }

    /// Copies rows to their slots, of `all`.
    ///
    /// # Errors
    /// Those of [`BatchSlots::put`](super::BatchSlots::put).
    pub(super) fn put(
        &mut self,
        from: &Column,
        rows: &[RowSlot],
        all: usize,
        pool: &BufferPool,
    ) -> Result<()> {
        if let Some(width) = self.width {
            match self.put_fixed(from, rows, width)? {
                None => return Ok(()),
                Some(found) if !self.wide => {
                    let message = format!("expected rows of {width} bytes, found one of {found}");
                    return Err(mismatch(message));
                }
                // A Python integer beyond 64 bits: from here on the rows have lengths of their own.
                Some(_) => {
                    let place = |slot: usize| slot.saturating_mul(width);
                    self.spans = (0..all).map(|slot| place(slot)..place(slot + 1)).collect();
                    self.width = None;
                }
            }
        }
        let bytes = |row| from.bytes(row).unwrap_or_default();
        let more = rows.iter().map(|(row, _)| bytes(*row).len()).fold(0, usize::saturating_add);
        if self.data.is_empty() {
            // The other rows are taken to be as long, so that memory is had once.
            let all = more.checked_div(rows.len()).unwrap_or(0).saturating_mul(all);
            let all = all.min(MOST_GUESSED).checked_next_power_of_two().unwrap_or(0).max(more);
            if all > self.data.capacity() {
                self.data = pool.take(all)?;
            }
        }
        self.data.reserve(more)?;
        let apart = from.ends().is_none();
        for (at, (row, slot)) in rows.iter().enumerate() {
            if apart && at.is_multiple_of(AHEAD) {
                touch_rows(from, rows.get(at..).unwrap_or_default());
            }
            let start = self.data.len();
            from.append_to(*row, &mut self.data)?;
            let end = self.data.len();
            if let Some(span) = self.spans.get_mut(*slot) {
                *span = start..end;
            }
            let Some((rank, dims)) = &mut self.shapes else { continue };
            let place = slot.saturating_mul(*rank);
            let to = dims.get_mut(place..place.saturating_add(*rank)).unwrap_or_default();
            match from.shape(*row) {
                Some(shape) if shape.len() == to.len() => to.copy_from_slice(shape),
                _ => {
                    let message = format!("expected a shape of rank {rank} in row {row}");
                    return Err(mismatch(message));
                }
            }
        }
        Ok(())
    }

    /// Copies rows of one width; where one has another, that one.
    fn put_fixed(
        &mut self,
        from: &Column,
        rows: &[RowSlot],
        width: usize,
    ) -> Result<Option<usize>> {
        if let Some(found) = from.width().filter(|found| *found != width) {
            return Ok(Some(found));
        }
        let same = from.width().is_some();
        let (mut rest, mut touched) = (rows, rows.len());
        while let Some((row, slot)) = rest.first().copied() {
            // Neighbours that stay neighbours go in one copy, where lengths cannot differ.
            let follows = |(n, (r, s)): (usize, &RowSlot)| {
                row.checked_add(n) == Some(*r) && slot.checked_add(n) == Some(*s)
            };
            let run = if same {
                rest.iter().enumerate().take_while(|(n, next)| follows((*n, next))).count()
            } else {
                1
            };
            let run = run.max(1);
            if run == 1 && rest.len() <= touched {
                touch_rows(from, rest);
                touched = rest.len().saturating_sub(AHEAD);
            }
            let start = slot.saturating_mul(width);
            let end = start.saturating_add(run.saturating_mul(width));
            let to = self.data.get_mut(start..end).unwrap_or_default();
            if !from.copy_to(row..row.saturating_add(run), to)? {
                return Ok(Some(from.bytes(row).map_or(0, <[u8]>::len)));
            }
            rest = rest.get(run..).unwrap_or_default();
        }
        Ok(None)
    }

    /// The column, with all slots or those `kept`; `None` where a slot or a shape does not fit.
    pub(super) fn finish(mut self, rows: usize, kept: Option<&[usize]>) -> Option<Column> {
        let dims = self.shapes.map(|(rank, dims)| match kept {
            None => Some((rank, dims)),
            Some(kept) => {
                let mut some = Vec::with_capacity(kept.len().saturating_mul(rank));
                for slot in kept {
                    let start = slot.checked_mul(rank)?;
                    some.extend_from_slice(dims.get(start..start.checked_add(rank)?)?);
                }
                Some((rank, some))
            }
        });
        let column = match (self.width, kept) {
            (Some(width), None) => Column::dense(self.data.freeze(), width, rows),
            (Some(width), Some(kept)) => {
                for (to, from) in kept.iter().enumerate().filter(|(to, from)| to != *from) {
                    let start = from.checked_mul(width)?;
                    let end = start.checked_add(width).filter(|end| *end <= self.data.len())?;
                    self.data.copy_within(start..end, to.checked_mul(width)?);
                }
                self.data.truncate(rows.checked_mul(width)?);
                Column::dense(self.data.freeze(), width, rows)
            }
            (None, kept) => {
                let spans = match kept {
                    None => self.spans,
                    Some(kept) => {
                        let span = |slot: &usize| self.spans.get(*slot).cloned();
                        kept.iter().map(span).collect::<Option<_>>()?
                    }
                };
                Column::scattered_ragged(self.data.freeze(), spans)
            }
        };
        match dims {
            None => column,
            Some(dims) => dims.and_then(|(rank, dims)| column?.with_shapes(rank, dims)),
        }
    }
}
