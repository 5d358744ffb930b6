//! Some rows of a column as a column of their own, without a copy of their bytes.

use std::ops::Range;

use super::{Column, Layout};

impl Column {
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
}
