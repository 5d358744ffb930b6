//! One field of many rows: where each row's bytes lie in a shared buffer, and which shape they have where shapes vary.

use std::ops::Range;

use packstone_io::{AlignedBuf, Buf};

use super::batch::mismatch;
use crate::error::Result;

/// The values of one field, row by row. Cloning shares the bytes.
#[derive(Clone, Debug)]
pub struct Column {
    data: Buf,
    layout: Layout,
    rows: usize,
    shapes: Option<Shapes>,
}

/// The shapes of rows, one after another.
#[derive(Clone, Debug)]
struct Shapes {
    rank: usize,
    dims: Vec<u64>,
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

    /// Rows of any length at `spans`; `None` where one lies outside of `data`.
    pub fn scattered_ragged(data: Buf, spans: Vec<Range<usize>>) -> Option<Self> {
        let inside = spans.iter().all(|s| s.start <= s.end && s.end <= data.len());
        let rows = spans.len();
        let layout = Layout::ScatteredRagged { spans };
        inside.then_some(Self { data, layout, rows, shapes: None })
    }

    /// The same rows with shapes of their own: `rank` dimensions each, row after row in `dims`; `None` where there are
    /// more or fewer.
    pub fn with_shapes(mut self, rank: usize, dims: Vec<u64>) -> Option<Self> {
        (self.rows.checked_mul(rank)? == dims.len()).then_some(())?;
        self.shapes = Some(Shapes { rank, dims });
        Some(self)
    }

    /// The same rows without shapes of their own.
    #[must_use]
    pub fn without_shapes(mut self) -> Self {
        self.shapes = None;
        self
    }

    /// Rows that begin with their `rank` dims as `u64`, little-endian, as rows with shapes of their own, without a copy of
    /// their elements; `None` where one is too short.
    pub fn unframed(&self, rank: usize) -> Option<Self> {
        let head = rank.checked_mul(size_of::<u64>())?;
        let (mut spans, mut dims) = (Vec::with_capacity(self.rows), Vec::new());
        for row in 0..self.rows {
            let span = self.span(row)?;
            let (frame, _) = self.data.get(span.clone())?.split_at_checked(head)?;
            dims.extend(frame.as_chunks().0.iter().map(|dim| u64::from_le_bytes(*dim)));
            spans.push(span.start.checked_add(head)?..span.end);
        }
        Self::scattered_ragged(self.data.clone(), spans)?.with_shapes(rank, dims)
    }

    /// The shape of one row, where rows have shapes of their own.
    pub fn shape(&self, row: usize) -> Option<&[u64]> {
        let Shapes { rank, dims } = self.shapes.as_ref().filter(|_| row < self.rows)?;
        let start = row.checked_mul(*rank)?;
        dims.get(start..start.checked_add(*rank)?)
    }

    /// Gives the rows at `rows` of `from` to a column made of them.
    fn shaped_like(self, from: &Self, rows: impl Iterator<Item = usize>) -> Option<Self> {
        let Some(Shapes { rank, .. }) = from.shapes else { return Some(self) };
        let mut dims = Vec::new();
        for row in rows {
            dims.extend_from_slice(from.shape(row)?);
        }
        self.with_shapes(rank, dims)
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

    /// True where rows lie one after another in memory of their own, as in a batch that was copied together.
    pub(crate) fn is_own(&self) -> bool {
        matches!(self.layout, Layout::Dense { .. } | Layout::Ragged { .. }) && self.data.is_own()
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

    /// The rows of `rows` as a column of their own, without a copy of their bytes; `None` where there are fewer.
    pub fn slice(&self, rows: Range<usize>) -> Option<Self> {
        self.cut(rows.clone())?.shaped_like(self, rows)
    }

    fn cut(&self, rows: Range<usize>) -> Option<Self> {
        if rows.start > rows.end || rows.end > self.rows {
            return None;
        }
        let count = rows.len();
        match &self.layout {
            Layout::Dense { width } => {
                let span = rows.start.checked_mul(*width)?..rows.end.checked_mul(*width)?;
                Self::dense(self.data.slice(span)?, *width, count)
            }
            Layout::Scattered { starts, width } => {
                let layout =
                    Layout::Scattered { starts: starts.get(rows)?.to_vec(), width: *width };
                Some(Self { data: self.data.clone(), layout, rows: count, shapes: None })
            }
            _ => {
                let spans = rows.map(|row| self.span(row)).collect::<Option<Vec<_>>>()?;
                Self::scattered_ragged(self.data.clone(), spans)
            }
        }
    }

    /// The given rows in the given order, without a copy of their bytes; `None` where one is past the end.
    pub fn select(&self, rows: &[usize]) -> Option<Self> {
        if rows.iter().any(|row| *row >= self.rows) {
            return None;
        }
        let spans = rows.iter().map(|row| self.span(*row)).collect::<Option<Vec<_>>>()?;
        let data = self.data.clone();
        let selected = match &self.layout {
            Layout::Dense { width } | Layout::Scattered { width, .. } if !spans.is_empty() => {
                Self::scattered(data, spans.into_iter().map(|span| span.start).collect(), *width)
            }
            _ => Self::scattered_ragged(data, spans),
        };
        selected?.shaped_like(self, rows.iter().copied())
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    fn all(column: &Column) -> Vec<Vec<u8>> {
        (0..column.rows()).map(|r| column.bytes(r).unwrap().to_vec()).collect()
    }

    #[test]
    fn rows_of_one_shape_stack() {
        let data = Buf::from(b"abcdef".to_vec());
        let ragged = Column::ragged(data.clone(), vec![2, 4, 6]).unwrap();
        let apart = Column::scattered_ragged(data, vec![4..6, 0..2, 2..4]).unwrap();
        for (column, want) in [(ragged, b"abcdef"), (apart, b"efabcd")] {
            let (shape, rows) =
                column.clone().with_shapes(2, vec![1, 2, 1, 2, 1, 2]).unwrap().stacked(3).unwrap();
            assert_eq!((&shape[..], &rows.as_dense().unwrap()[..]), (&[1, 2][..], &want[..]));
            assert_eq!((rows.rows(), rows.width()), (3, Some(2)));
            let mixed = column.with_shapes(2, vec![1, 2, 2, 1, 1, 2]).unwrap();
            assert!(mixed.stacked(3).unwrap_err().to_string().contains("[1, 2] and [2, 1]"));
            // What only fills a batch up has no shape to speak of.
            let (shape, rows) = mixed.stacked(1).unwrap();
            assert_eq!((&shape[..], rows.rows()), (&[1, 2][..], 3));
            assert_eq!(rows.as_dense().unwrap()[2..], [0; 4]);
        }
        let none = Column::ragged(Buf::default(), vec![]).unwrap().with_shapes(1, vec![]).unwrap();
        assert_eq!(none.stacked(0).unwrap().1.rows(), 0);
    }

    #[test]
    fn four_layouts_hold_the_same_rows() {
        let want = [b"ab".to_vec(), b"cd".to_vec(), b"ef".to_vec()];
        let data = Buf::from(b"abcdef".to_vec());
        let apart = Buf::from(b"ef..ab..cd".to_vec());
        for column in [
            Column::dense(data.clone(), 2, 3),
            Column::ragged(data, vec![2, 4, 6]),
            Column::scattered(apart.clone(), vec![4, 8, 0], 2),
            Column::scattered_ragged(apart, vec![4..6, 8..10, 0..2]),
        ] {
            let column = column.unwrap();
            assert_eq!(all(&column), want);
            assert!(column.bytes(3).is_none() && column.buf(3).is_none());
            let mut out = [0; 4];
            assert!(column.copy_to(1..3, &mut out).unwrap());
            assert_eq!((&out, column.total(1..3)), (b"cdef", 4));
            assert!(!column.copy_to(1..4, &mut out).unwrap());
            assert_eq!(
                all(&column.select(&[2, 0, 2]).unwrap()),
                [2, 0, 2].map(|r| want[r].clone())
            );
            assert_eq!(all(&column.slice(1..3).unwrap()), want[1..]);
            assert!(column.select(&[3]).is_none() && column.slice(2..4).is_none());
        }
    }

    #[test]
    fn shapes_go_with_their_rows() {
        let data = Buf::from(b"abcdef".to_vec());
        let column = Column::ragged(data, vec![2, 2, 6]).unwrap();
        assert!(column.shape(0).is_none());
        assert!(column.clone().with_shapes(2, vec![1, 2]).is_none());
        let column = column.with_shapes(2, vec![1, 2, 0, 7, 2, 2]).unwrap();
        assert_eq!(column.select(&[2, 0]).unwrap().shape(0), Some(&[2, 2][..]));
        let tail = column.slice(1..3).unwrap();
        assert_eq!((tail.shape(0), tail.shape(2)), (Some(&[0, 7][..]), None));
    }

    #[test]
    fn spans_outside_the_data_are_refused() {
        let data = Buf::from(vec![0; 6]);
        assert!(Column::dense(data.clone(), 4, 2).is_none());
        assert!(Column::scattered(data.clone(), vec![5], 2).is_none());
        assert!(Column::ragged(data.clone(), vec![4, 3, 6]).is_none());
        assert!(Column::ragged(data.clone(), vec![4]).is_none());
        assert!(Column::scattered_ragged(data, vec![5..7]).is_none());
    }
}
