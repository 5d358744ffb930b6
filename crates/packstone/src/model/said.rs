//! What is said about the rows of a batch, as runs of rows: about all of a run the same, or about each what a row of a
//! table says.
//!
//! ```text
//! rows of the batch   0 1 2 3 │ 4 5 │ 6 7 8
//! sources             object  │ rows 7 8 of a table │ rows 0 1 2 of another
//! ```
//!
//! Rows of tables that come in order are one run, however many there are. Rows are moved from batch to batch without a
//! look at what they say.

mod slots;

use std::ops::Range;
use std::sync::Arc;

use packstone_container::json::Object;

use super::row_table::RowTable;

pub(super) use slots::SaidSlots;

/// What is said about rows; nothing about any where there are no runs.
#[derive(Clone, Debug, Default)]
pub(super) struct Said {
    sources: Vec<Source>,
    runs: Vec<Run>,
}

/// Who says something.
#[derive(Clone, Debug)]
enum Source {
    /// One object, about all its rows.
    Object(Arc<Object>),
    /// A table, about each row another thing.
    Table(Arc<RowTable>),
}

impl Source {
    fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Object(one), Self::Object(other)) => Arc::ptr_eq(one, other),
            (Self::Table(one), Self::Table(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }
}

/// Neighbouring rows about which one source speaks.
#[derive(Clone, Copy, Debug)]
struct Run {
    /// The row after the last one.
    end: usize,
    /// The place of the source.
    source: usize,
    /// What is added to a row, around the end of all numbers, to give its row in the table.
    shift: usize,
}

impl Said {
    /// The same about rows up to the end of each run.
    pub(super) fn objects(runs: Vec<(usize, Arc<Object>)>) -> Self {
        let ends = runs.iter().enumerate();
        let ends = ends.map(|(source, (end, _))| Run { end: *end, source, shift: 0 }).collect();
        let sources = runs.into_iter().map(|(_, object)| Source::Object(object)).collect();
        Self { sources, runs: ends }
    }

    /// What each row of a table says.
    pub(super) fn table(table: RowTable) -> Self {
        let (mut said, rows) = (Self::default(), table.rows());
        said.push(&Source::Table(Arc::new(table)), 0, rows);
        said
    }

    /// True where nobody speaks.
    pub(super) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Rows that are spoken about.
    pub(super) fn rows(&self) -> usize {
        self.runs.last().map_or(0, |run| run.end)
    }

    /// What is said about a row, possibly an empty object.
    pub(super) fn get(&self, row: usize) -> Option<&Arc<Object>> {
        let run = self.runs.get(self.run_of(row))?;
        self.object(*run, row)
    }

    /// The runs, rows of tables one by one.
    pub(super) fn runs(&self) -> impl Iterator<Item = (Range<usize>, &Arc<Object>)> {
        self.spans(0).flat_map(move |(rows, run)| {
            let table = matches!(self.sources.get(run.source), Some(Source::Table(_)));
            let step = if table { 1 } else { rows.len().max(1) };
            // A run of no rows is one, too.
            let starts = (rows.start..rows.end.max(rows.start + 1)).step_by(step);
            let each = starts.map(move |start| start..rows.end.min(start.saturating_add(step)));
            each.filter_map(move |rows| Some((rows.clone(), self.object(run, rows.start)?)))
        })
    }

    /// Appends what `other` says about `rows`, which are its own; nothing is said about those that it does not have.
    pub(super) fn extend(&mut self, other: &Self, rows: Range<usize>) {
        let mut at = rows.start;
        for (span, run) in other.spans(other.run_of(rows.start)) {
            if at >= rows.end {
                return;
            }
            let end = span.end.min(rows.end);
            if let Some(source) = other.sources.get(run.source).filter(|_| end > at) {
                self.push(source, at.wrapping_add(run.shift), end - at);
                at = end;
            }
        }
        self.pass(rows.end.saturating_sub(at));
    }

    /// Appends rows about which nothing is said.
    pub(super) fn pass(&mut self, count: usize) {
        let nothing = match self.sources.last() {
            Some(Source::Object(object)) if object.is_empty() => Arc::clone(object),
            _ => Arc::default(),
        };
        self.push(&Source::Object(nothing), 0, count);
    }

    /// What is said about these rows, in this order.
    pub(super) fn select(&self, rows: &[usize]) -> Self {
        let mut out = Self::default();
        if !self.is_empty() {
            rows.iter().for_each(|row| out.extend(self, *row..row.saturating_add(1)));
        }
        out
    }

    /// Appends rows: of a table those from `first` on.
    fn push(&mut self, source: &Source, first: usize, count: usize) {
        if count == 0 {
            return;
        }
        let start = self.rows();
        let shift = match source {
            Source::Object(_) => 0,
            Source::Table(_) => first.wrapping_sub(start),
        };
        if !self.sources.last().is_some_and(|last| last.is(source)) {
            self.sources.push(source.clone());
        }
        let (end, source) = (start.saturating_add(count), self.sources.len() - 1);
        match self.runs.last_mut().filter(|last| (last.source, last.shift) == (source, shift)) {
            Some(last) => last.end = end,
            None => self.runs.push(Run { end, source, shift }),
        }
    }

    /// The place of the run that holds a row.
    fn run_of(&self, row: usize) -> usize {
        self.runs.partition_point(|run| run.end <= row)
    }

    /// The rows of each run from a place on.
    fn spans(&self, from: usize) -> impl Iterator<Item = (Range<usize>, Run)> {
        let before = from.checked_sub(1).and_then(|before| self.runs.get(before));
        let runs = self.runs.get(from..).unwrap_or_default().iter();
        runs.scan(before.map_or(0, |run| run.end), |start, run| {
            let rows = std::mem::replace(start, run.end)..run.end;
            Some((rows, *run))
        })
    }

    fn object(&self, run: Run, row: usize) -> Option<&Arc<Object>> {
        match self.sources.get(run.source)? {
            Source::Object(object) => Some(object),
            Source::Table(table) => table.object(row.wrapping_add(run.shift)),
        }
    }
}

#[cfg(test)]
mod tests;
