//! Which samples of a field are asked for.

/// Which samples are asked for.
#[derive(Clone, Copy, Debug)]
pub enum Rows<'a> {
    /// Neighbours: the first, and how many.
    Run(u64, usize),
    /// Any, in this order, counted from the first number on.
    Listed(u64, &'a [usize]),
}

impl Rows<'_> {
    /// How many.
    pub fn len(&self) -> usize {
        match self {
            Self::Run(_, count) => *count,
            Self::Listed(_, rows) => rows.len(),
        }
    }

    /// True where there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        let (first, count, rows) = match self {
            Self::Run(first, count) => (*first, *count, None),
            Self::Listed(first, rows) => (*first, rows.len(), Some(rows)),
        };
        (0..count).map(move |at| {
            let row = rows.map_or(at, |rows| rows.get(at).copied().unwrap_or(usize::MAX));
            first.saturating_add(row as u64)
        })
    }
}
