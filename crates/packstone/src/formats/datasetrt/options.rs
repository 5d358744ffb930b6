//! What readers and writers may be told, and what they take otherwise.

/// How caches are read.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct OpenOptions {
    /// Compare the copy of the metadata in each record that is read with `metadata.arrow`, as the specification has it.
    /// Otherwise the copy is not looked at; either way values come from `metadata.arrow`.
    pub compare: bool,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self { compare: true }
    }
}

impl OpenOptions {
    /// The same options, comparing copies or not.
    #[must_use]
    pub fn with_compare(mut self, compare: bool) -> Self {
        self.compare = compare;
        self
    }
}
