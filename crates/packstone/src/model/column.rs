//! One field of many rows: where each row's bytes lie in a shared buffer, and which shape they have where shapes vary.

mod copy;
mod cut;
mod shapes;

use std::ops::Range;

use packstone_io::Buf;

use self::shapes::Shapes;

/// The values of one field, row by row. Cloning shares the bytes.
#[derive(Clone, Debug)]
pub struct Column {
    data: Buf,
    layout: Layout,
    rows: usize,
    shapes: Option<Shapes>,
}

#[derive(Clone, Debug)]
enum Layout {
    /// Row after row, `width` bytes each.
    Dense { width: usize },
    /// Rows of `width` bytes that lie apart, as in a FlatBuffer.
    Scattered { starts: Vec<usize>, width: usize },
    /// Row after row of any length; `ends[i]` is where row `i` ends.
    Ragged { ends: Vec<usize> },
    /// Rows of any length that lie apart.
    ScatteredRagged { spans: Vec<Range<usize>> },
}

impl Column {
    /// Rows of `width` bytes, one after another; `None` where `data` has another length.
    pub fn dense(data: Buf, width: usize, rows: usize) -> Option<Self> {
        (width.checked_mul(rows)? == data.len()).then_some(Self {
            data,
            layout: Layout::Dense { width },
            rows,
            shapes: None,
        })
    }

    /// Rows of `width` bytes at `starts`; `None` where one lies outside of `data`.
    pub fn scattered(data: Buf, starts: Vec<usize>, width: usize) -> Option<Self> {
        let last = data.len().checked_sub(width)?;
        let rows = starts.len();
        starts.iter().all(|s| *s <= last).then_some(Self {
            data,
            layout: Layout::Scattered { starts, width },
            rows,
            shapes: None,
        })
    }

    /// Rows of any length, one after another, each ending at its `ends`; `None` where these do not cover `data` in order.
    pub fn ragged(data: Buf, ends: Vec<usize>) -> Option<Self> {
        let ordered = ends.is_sorted() && ends.last().copied().unwrap_or(0) == data.len();
        let rows = ends.len();
        ordered.then_some(Self { data, layout: Layout::Ragged { ends }, rows, shapes: None })
    }

    /// Rows of any length at `spans`, which may be one after another after all; `None` where one lies outside of `data`.
    pub fn scattered_ragged(data: Buf, spans: Vec<Range<usize>>) -> Option<Self> {
        let starts = std::iter::once(0).chain(spans.iter().map(|span| span.end));
        let ordered = spans.iter().zip(starts).all(|(span, before)| span.start == before);
        if ordered && spans.last().map_or(0, |span| span.end) == data.len() {
            return Self::ragged(data, spans.into_iter().map(|span| span.end).collect());
        }
        let inside = spans.iter().all(|s| s.start <= s.end && s.end <= data.len());
        let rows = spans.len();
        let layout = Layout::ScatteredRagged { spans };
        inside.then_some(Self { data, layout, rows, shapes: None })
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Where the bytes of `row` are in the shared buffer.
    fn span(&self, row: usize) -> Option<Range<usize>> {
        Some(match &self.layout {
            Layout::Dense { width } => {
                let start = row.checked_mul(*width)?;
                start..start.checked_add(*width)?
            }
            Layout::Scattered { starts, width } => {
                let start = *starts.get(row)?;
                start..start.checked_add(*width)?
            }
            Layout::Ragged { ends } => {
                let start =
                    row.checked_sub(1).map_or(Some(0), |before| ends.get(before).copied())?;
                start..*ends.get(row)?
            }
            Layout::ScatteredRagged { spans } => spans.get(row)?.clone(),
        })
    }

    /// The bytes of one row; `None` past the end.
    pub fn bytes(&self, row: usize) -> Option<&[u8]> {
        (row < self.rows).then(|| self.span(row).and_then(|span| self.data.get(span)))?
    }

    /// The bytes of one row as a buffer of their own, without a copy.
    pub fn buf(&self, row: usize) -> Option<Buf> {
        (row < self.rows).then(|| self.span(row).and_then(|span| self.data.slice(span)))?
    }

    /// All bytes where rows of one width lie one after another: `[rows, …]` in C order.
    pub fn as_dense(&self) -> Option<&Buf> {
        matches!(self.layout, Layout::Dense { .. }).then_some(&self.data)
    }

    /// True where rows fill memory of their own, one after another or, those of any length, in another order: as in a batch
    /// that was copied together.
    pub(crate) fn is_own(&self) -> bool {
        let full = match &self.layout {
            Layout::Dense { .. } | Layout::Ragged { .. } => true,
            Layout::Scattered { .. } => false,
            Layout::ScatteredRagged { .. } => self.total(0..self.rows) == self.data.len(),
        };
        full && self.data.is_own()
    }

    /// Bytes of each row, where the layout gives all the same.
    pub fn width(&self) -> Option<usize> {
        match &self.layout {
            Layout::Dense { width } | Layout::Scattered { width, .. } => Some(*width),
            _ => None,
        }
    }

    /// Where each row ends in the bytes of all, where rows of any length lie one after another: values and offsets.
    pub fn ends(&self) -> Option<&[usize]> {
        match &self.layout {
            Layout::Ragged { ends } => Some(ends),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
