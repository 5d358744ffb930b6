//! How trees are read.

use packstone_container::Limits;

/// How to read a tree.
#[derive(Clone, Debug)]
pub struct TreeOptions {
    /// Look for files under encoded names first; without, under the keys only, as releases up to 0.11 named them.
    pub robust_key: bool,
    /// How much a tree may ask for; folders nest as deep as documents may.
    pub limits: Limits,
}

impl Default for TreeOptions {
    fn default() -> Self {
        Self { robust_key: true, limits: Limits::default() }
    }
}

impl TreeOptions {
    /// The same options with other limits.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The same options with keys as names, or encoded ones.
    #[must_use]
    pub fn with_robust_key(mut self, robust: bool) -> Self {
        self.robust_key = robust;
        self
    }
}
