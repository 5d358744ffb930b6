//! Records asked for in any order, sorted by the chunks that hold them.

/// Where a record that was asked for is, and where it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Wanted {
    /// The chunk that holds it.
    pub chunk: u64,
    /// Its number in the chunk.
    pub record: u64,
    /// Its place among the records asked for.
    pub slot: usize,
}

/// Which records of which chunk go where, in order of the chunks.
#[derive(Clone, Debug)]
pub struct Plan {
    wanted: Vec<Wanted>,
}

impl Plan {
    pub(super) fn new(mut wanted: Vec<Wanted>) -> Self {
        wanted.sort_unstable();
        Self { wanted }
    }

    /// How many records were asked for.
    pub fn len(&self) -> usize {
        self.wanted.len()
    }

    /// Whether none was.
    pub fn is_empty(&self) -> bool {
        self.wanted.is_empty()
    }

    /// What is wanted of one chunk each, never nothing; chunks increase.
    pub fn chunks(&self) -> impl Iterator<Item = &[Wanted]> + Clone {
        self.wanted.chunk_by(|a, b| a.chunk == b.chunk)
    }
}
