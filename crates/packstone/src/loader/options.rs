//! How a loader delivers.

use std::time::Duration;

use packstone_container::Limits;

use crate::exec::default_threads;

/// What happens where a sample cannot be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnFault {
    /// Its batch is an error, after all batches before it. The loader then stands before that batch: asked again it tries
    /// again, and [`Loader::skip_steps`](super::Loader::skip_steps) goes past it.
    #[default]
    Raise,
    /// It is left out, counted and noted; its batch is shorter.
    Skip,
}

/// How a loader delivers. None of it changes which sample comes when.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LoaderOptions {
    /// Threads that read and decode; with 0, batches are made where they are taken.
    pub threads: usize,
    /// Bytes that batches made ahead and decoded shards together take, in about: one shard a thread comes on top.
    pub window: u64,
    /// The fields of batches by name; all where not given.
    pub fields: Option<Vec<String>>,
    /// Compare recorded checksums when a shard is touched for the first time.
    pub verify: bool,
    /// What happens where a sample cannot be read.
    pub faults: OnFault,
    /// How long one read may take before [`stalled`](super::codes::STALLED) says what it waits for. Needs a thread.
    pub stall: Duration,
    /// How much a dataset may ask for.
    pub limits: Limits,
}

impl Default for LoaderOptions {
    /// As many threads as the machine runs at once, 256 MiB ahead, verified, two minutes.
    fn default() -> Self {
        Self {
            threads: default_threads(),
            window: 256 << 20,
            fields: None,
            verify: true,
            faults: OnFault::Raise,
            stall: Duration::from_secs(120),
            limits: Limits::default(),
        }
    }
}

impl LoaderOptions {
    /// The same with so many threads.
    #[must_use]
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// The same with so many bytes ahead.
    #[must_use]
    pub fn with_window(mut self, bytes: u64) -> Self {
        self.window = bytes;
        self
    }

    /// The same with these fields only.
    #[must_use]
    pub fn with_fields(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.fields = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// The same with or without checksums compared on first touch.
    #[must_use]
    pub fn with_verify(mut self, verify: bool) -> Self {
        self.verify = verify;
        self
    }

    /// The same with another policy for samples that cannot be read.
    #[must_use]
    pub fn with_faults(mut self, faults: OnFault) -> Self {
        self.faults = faults;
        self
    }

    /// The same with another limit for one read.
    #[must_use]
    pub fn with_stall(mut self, limit: Duration) -> Self {
        self.stall = limit;
        self
    }

    /// The same with other limits.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }
}
