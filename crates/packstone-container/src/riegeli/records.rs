//! The records of one decoded chunk.

use std::ops::Range;

use packstone_io::Buf;

/// The records of one chunk: slices of one shared buffer.
#[derive(Clone, Debug, Default)]
pub struct Records {
    values: Buf,
    /// Where each record ends in `values`; never decreasing, never beyond it.
    ends: Vec<usize>,
}

impl Records {
    pub(super) fn new(values: Buf, ends: Vec<usize>) -> Self {
        Self { values, ends }
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// All of them, joined.
    pub fn joined(&self) -> &Buf {
        &self.values
    }

    /// Where record `n` lies in [`joined`](Self::joined).
    pub fn span(&self, n: usize) -> Option<Range<usize>> {
        let end = *self.ends.get(n)?;
        let start = match n.checked_sub(1) {
            Some(before) => *self.ends.get(before)?,
            None => 0,
        };
        Some(start..end)
    }

    /// Record `n`.
    pub fn get(&self, n: usize) -> Option<&[u8]> {
        self.values.get(self.span(n)?)
    }

    /// Record `n`, kept alive on its own.
    pub fn buf(&self, n: usize) -> Option<Buf> {
        self.values.slice(self.span(n)?)
    }

    /// The records in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> + Clone {
        (0..self.len()).map(|n| self.get(n).unwrap_or_default())
    }
}
