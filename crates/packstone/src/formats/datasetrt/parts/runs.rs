//! Runs of records: what is read at once.
//!
//! Shards hold 64 MiB and more, too much for one read and too little for many threads. So samples are read in runs of
//! neighbours in one shard, of a few thousand records or some MiB. Kept is the first sample of each run, no row of the
//! index.

use std::ops::Range;

use super::index::Row;

/// Records of a run at most.
const MAX_RECORDS: u64 = 4096;

/// Where runs begin.
#[derive(Clone, Debug, Default)]
pub struct Runs {
    starts: Vec<u64>,
    samples: u64,
}

impl Runs {
    /// Cuts rows, as they come, into runs of about as many stored bytes as `bytes` says for their shard.
    ///
    /// # Errors
    /// The first sample with a shard that `bytes` knows nothing of, and that shard.
    pub fn of(
        rows: impl Iterator<Item = Row>,
        bytes: impl Fn(u64) -> Option<u64>,
    ) -> Result<Self, (u64, u64)> {
        let mut runs = Self::default();
        // There are millions of rows: a shard is asked about where it begins.
        let (mut shard, mut most, mut first, mut sum) = (None, 0, 0, 0u64);
        for row in rows {
            let here = runs.samples;
            let next_shard = shard != Some(row.shard);
            if next_shard || sum >= most || here - first >= MAX_RECORDS {
                if next_shard {
                    most = bytes(row.shard).ok_or((here, row.shard))?;
                    shard = Some(row.shard);
                }
                (first, sum) = (here, 0);
                runs.starts.push(here);
            }
            sum = sum.saturating_add(row.len);
            runs.samples += 1;
        }
        Ok(runs)
    }

    /// Number of runs.
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// True without any run.
    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// The samples of a run.
    pub fn run(&self, number: usize) -> Option<Range<u64>> {
        let start = *self.starts.get(number)?;
        let end = number.checked_add(1).and_then(|next| self.starts.get(next));
        Some(start..end.copied().unwrap_or(self.samples))
    }

    /// The run that holds a sample; past the last one, the number of runs.
    pub fn holding(&self, sample: u64) -> usize {
        match self.starts.partition_point(|start| *start <= sample) {
            after if sample < self.samples => after.saturating_sub(1),
            _ => self.starts.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(list: &[(u64, u64)]) -> Vec<Row> {
        list.iter().map(|(shard, len)| Row { shard: *shard, offset: 0, len: *len }).collect()
    }

    #[test]
    fn runs_end_with_their_shard_or_when_they_are_full() {
        let rows = rows(&[(0, 5), (0, 5), (0, 1), (1, 20), (1, 1), (0, u64::MAX), (0, 9)]);
        let runs = Runs::of(rows.into_iter(), |_| Some(10)).unwrap();
        let all: Vec<_> = (0..runs.len()).map(|n| runs.run(n).unwrap()).collect();
        assert_eq!(all, [0..2, 2..3, 3..4, 4..5, 5..6, 6..7]);
        assert_eq!([0, 1, 2, 6, 7].map(|sample| runs.holding(sample)), [0, 0, 1, 5, 6]);
        assert_eq!(runs.run(6), None);
    }

    #[test]
    fn many_small_records_make_runs_of_thousands() {
        let rows = rows(&vec![(3, 1); 10_000]);
        let runs = Runs::of(rows.iter().copied(), |_| Some(1 << 20)).unwrap();
        assert_eq!(runs.len(), 3);
        assert_eq!(runs.run(2), Some(8192..10_000));
        assert_eq!(Runs::default().holding(0), 0);
        let known = |shard| (shard < 3).then_some(1);
        assert_eq!(Runs::of(rows.into_iter().skip(7), known).unwrap_err(), (0, 3));
    }
}
