//! Rows that are copied one after another, and how much that is.

use std::ops::Range;

use packstone_io::AlignedBuf;

use super::{Column, Layout};
use crate::error::Result;
use crate::model::batch::mismatch;

impl Column {
    /// The rows as one array: the shape that the first `real` of them have, and their bytes one after another, copied only
    /// where they lie apart. The others, which only fill a batch up, become zeros of that shape. Without rows that have
    /// shapes of their own, the shape is empty.
    ///
    /// # Errors
    /// `model/column_mismatch` where shapes differ; `io/out_of_memory`.
    pub fn stacked(&self, real: usize) -> Result<(Vec<u64>, Self)> {
        let real = real.min(self.rows);
        let shape_of = |row| self.shape(row).unwrap_or_default();
        let shape = shape_of(0);
        if let Some(other) = (1..real).find(|row| shape_of(*row) != shape) {
            let found = shape_of(other);
            return Err(mismatch(format!(
                "expected rows of one shape, found {shape:?} and {found:?}"
            )));
        }
        let width = self.bytes(0).map_or(0, <[u8]>::len);
        let whole = real == self.rows;
        let data = match &self.layout {
            Layout::Dense { .. } | Layout::Ragged { .. } if whole => self.data.clone(),
            _ => {
                let all = width.saturating_mul(self.rows);
                let mut data = AlignedBuf::with_capacity(all)?;
                for row in 0..real {
                    self.append_to(row, &mut data)?;
                }
                // Memory that is new is zero.
                if !whole {
                    data.set_len(all)?;
                }
                data.into()
            }
        };
        let stacked = Self::dense(data, width, self.rows);
        let stacked = stacked.ok_or_else(|| mismatch("expected rows of one length".to_owned()))?;
        Ok((shape.to_vec(), stacked))
    }

    /// Bytes of `rows` in sum.
    pub(crate) fn total(&self, rows: Range<usize>) -> usize {
        match &self.layout {
            Layout::Dense { width } | Layout::Scattered { width, .. } => {
                rows.len().saturating_mul(*width)
            }
            _ => rows.filter_map(|row| self.span(row)).map(|span| span.len()).sum(),
        }
    }

    /// Copies `rows` one after another to `out`; false where they do not fit exactly.
    ///
    /// # Errors
    /// Those of the file that the rows lie in.
    pub(crate) fn copy_to(&self, rows: Range<usize>, out: &mut [u8]) -> Result<bool> {
        if let Layout::Dense { width } = &self.layout {
            let span = (rows.start.saturating_mul(*width))..(rows.end.saturating_mul(*width));
            return Ok(self.data.copy_to(span, out)?);
        }
        let mut rest = out;
        for row in rows {
            let Some(span) = self.span(row).filter(|_| row < self.rows) else { return Ok(false) };
            let Some((to, after)) = rest.split_at_mut_checked(span.len()) else { return Ok(false) };
            if !self.data.copy_to(span, to)? {
                return Ok(false);
            }
            rest = after;
        }
        Ok(rest.is_empty())
    }

    /// Fills `out` with `rows` one after another.
    ///
    /// # Errors
    /// As for [`Column::copy_to`]; `model/column_mismatch` where they do not fit exactly.
    pub(crate) fn fill(&self, rows: Range<usize>, out: &mut [u8]) -> Result<()> {
        match self.copy_to(rows, out)? {
            true => Ok(()),
            false => Err(mismatch("rows outside of their column".to_owned())),
        }
    }

    /// Appends the bytes of one row to `out`; false where there is no such row.
    ///
    /// # Errors
    /// As for [`Column::copy_to`]; `io/out_of_memory`.
    pub(crate) fn append_to(&self, row: usize, out: &mut AlignedBuf) -> Result<bool> {
        match self.span(row).filter(|_| row < self.rows) {
            Some(span) => Ok(out.extend_from_buf(&self.data, span)?),
            None => Ok(false),
        }
    }
}
