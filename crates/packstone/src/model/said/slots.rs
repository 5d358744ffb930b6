//! What is said about rows that come to their places in any order.

use super::{Said, Source};
use crate::model::slots::RowSlot;

/// What is said about slots, once somebody said something about one.
#[derive(Debug, Default)]
pub(in crate::model) struct SaidSlots {
    sources: Vec<Source>,
    /// Who speaks about each slot, counted from one, zero for nobody; and the row of it where that is a table.
    slots: Vec<(usize, usize)>,
}

impl SaidSlots {
    /// Takes what is said about rows to their slots, of which there are `count`.
    pub(in crate::model) fn put(&mut self, said: &Said, rows: &[RowSlot], count: usize) {
        if said.is_empty() {
            return;
        }
        self.slots.resize(count, (0, 0));
        // Rows often come in order, from one run: it is looked for when it is left.
        let (mut span, mut run) = (0..0, None);
        for (row, slot) in rows {
            if !span.contains(row) {
                let found = said.spans(said.run_of(*row)).next();
                (span, run) = found.map_or((0..0, None), |(span, run)| (span, Some(run)));
                self.take(run.and_then(|run| said.sources.get(run.source)));
            }
            if let Some((run, to)) = run.zip(self.slots.get_mut(*slot)) {
                *to = (self.sources.len(), row.wrapping_add(run.shift));
            }
        }
    }

    /// Makes a source the last one.
    fn take(&mut self, source: Option<&Source>) {
        if let Some(source) = source.filter(|s| !self.sources.last().is_some_and(|l| l.is(s))) {
            self.sources.push(source.clone());
        }
    }

    /// What is said about all slots, or about those kept.
    pub(in crate::model) fn finish(&self, kept: Option<&[usize]>) -> Said {
        let mut said = Said::default();
        let mut add = |slot: &(usize, usize)| match slot
            .0
            .checked_sub(1)
            .and_then(|source| self.sources.get(source))
        {
            Some(source) => said.push(source, slot.1, 1),
            None => said.pass(1),
        };
        match kept {
            None => self.slots.iter().for_each(add),
            Some(kept) => kept.iter().filter_map(|slot| self.slots.get(*slot)).for_each(&mut add),
        }
        said
    }
}
