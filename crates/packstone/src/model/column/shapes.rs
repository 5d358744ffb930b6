//! Shapes that rows have of their own.

use super::Column;

/// The shapes of rows, one after another.
#[derive(Clone, Debug)]
pub(super) struct Shapes {
    pub(super) rank: usize,
    pub(super) dims: Vec<u64>,
}

impl Column {
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
    pub(super) fn shaped_like(
        self,
        from: &Self,
        rows: impl Iterator<Item = usize>,
    ) -> Option<Self> {
        let Some(Shapes { rank, .. }) = from.shapes else { return Some(self) };
        let mut dims = Vec::new();
        for row in rows {
            dims.extend_from_slice(from.shape(row)?);
        }
        self.with_shapes(rank, dims)
    }
}
