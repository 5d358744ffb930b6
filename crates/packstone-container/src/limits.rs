//! How much an untrusted container may ask for.

/// Upper bounds that readers check before they allocate or recurse.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes that one compressed stream may decode to.
    pub decoded_bytes: u64,
    /// Nesting depth of JSON and of other recursive structures.
    pub depth: usize,
    /// Bytes of one control document.
    pub document_bytes: u64,
    /// Entries of one archive or rows of one shard.
    pub entries: u64,
    /// Bytes of decoded data that one open dataset may keep in temporary files; with 0 it keeps them in memory.
    pub spilled_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            decoded_bytes: 4 << 30,
            depth: 128,
            document_bytes: 1 << 30,
            entries: 1 << 32,
            spilled_bytes: 64 << 30,
        }
    }
}

impl Limits {
    /// The same limits with another bound on decoded bytes.
    #[must_use]
    pub fn with_decoded_bytes(mut self, bytes: u64) -> Self {
        self.decoded_bytes = bytes;
        self
    }

    /// The same limits with another bound on bytes in temporary files.
    #[must_use]
    pub fn with_spilled_bytes(mut self, bytes: u64) -> Self {
        self.spilled_bytes = bytes;
        self
    }
}
