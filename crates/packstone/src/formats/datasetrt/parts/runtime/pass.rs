//! One window of samples, read ahead.
//!
//! ```text
//! window  0 1 2 3 4 5 6 7 8 9 …
//!         └─────┘ └─────┘ └─────┘   chunks: batches, or as many samples as a thread reads at once
//!         taken   waiting  being read
//! ```
//! Chunks are read on threads and taken in order. Where a sample cannot be read, those before it come first, then the
//! error, then nothing more.

use std::sync::{Arc, Mutex, PoisonError};

use packstone_container::json::Value;
use packstone_io::Kind;

use super::super::super::codes;
use super::super::sampler::Window;
use super::active::{ActiveDataset, Snapshot};
use super::drawn::{Drawn, OwnedSample, Pick};
use super::fetch::{Fetch, Fetched, pool};
use crate::error::{Error, Place, Result};
use crate::exec::Pipeline;
use crate::format::{Collection, ReadContext};

/// Stored bytes that a thread reads at once, at most, save for one sample.
const CHUNK_BYTES: u64 = 1 << 20;

/// One window of a dataset, not begun yet: how it is to be read.
#[must_use = "nothing is read before samples or batches are asked for"]
pub struct Pass {
    dataset: ActiveDataset,
    window: Option<Window>,
    threads: usize,
    fields: Option<Vec<usize>>,
    metadata: bool,
    identities: bool,
}

impl Pass {
    /// The rest of `window`, or the next window of the dataset.
    pub(super) fn new(dataset: ActiveDataset, window: Option<Window>) -> Self {
        let threads = dataset.runtime().threads;
        let (fields, metadata, identities) = (None, false, false);
        Self { dataset, window, threads, fields, metadata, identities }
    }

    /// On other threads than the dataset's; 0 reads where samples are taken.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Only these fields.
    ///
    /// # Errors
    /// `model/unknown_field`, naming the fields there are.
    pub fn fields(mut self, names: &[impl AsRef<str>]) -> Result<Self> {
        self.fields = Some(self.dataset.joint().schema().positions(names)?);
        Ok(self)
    }

    /// Batches have the metadata of each sample. They can be looked up without, too.
    pub fn metadata(mut self, metadata: bool) -> Self {
        self.metadata = metadata;
        self
    }

    /// Batches have the identity of each sample, see [`Batch::identity`](crate::model::Batch::identity).
    pub fn identities(mut self, identities: bool) -> Self {
        self.identities = identities;
        self
    }

    /// Batches of `size` samples; the last one may be short.
    ///
    /// # Errors
    /// `sampling_invalid` for 0.
    pub fn batches(self, size: usize) -> Result<Batches> {
        if size == 0 {
            let message = "expected batches of at least one sample, found 0";
            let code = codes::SAMPLING_INVALID;
            return Err(Error::new(Kind::Invalid, code, Place::default(), message));
        }
        Ok(Batches(self.reading(true, Cut { samples: size, bytes: u64::MAX })))
    }

    /// The samples one by one.
    pub fn samples(self) -> Samples {
        let most = self.dataset.config().prefetch_size;
        let samples = usize::try_from(most).unwrap_or(usize::MAX);
        let reading = self.reading(false, Cut { samples, bytes: CHUNK_BYTES });
        Samples { reading, chunk: None, at: 0 }
    }

    fn reading(self, columns: bool, cut: Cut) -> Reading {
        let joint = self.dataset.joint().clone();
        let schema = match &self.fields {
            Some(fields) => Arc::new(joint.schema().project(fields)),
            None => Arc::clone(joint.schema()),
        };
        let (metadata, identities) = (self.metadata, self.identities);
        let fields = self.fields.map(Into::into);
        let fetch = Fetch { joint, fields, schema, columns, metadata, identities };
        let (dataset, threads, window) = (self.dataset, self.threads, self.window);
        Reading { dataset, fetch, threads, cut, window, running: None, failed: None, over: false }
    }
}

/// Where a chunk ends.
#[derive(Clone, Copy)]
struct Cut {
    samples: usize,
    bytes: u64,
}

/// A window that is read, or will be.
struct Reading {
    dataset: ActiveDataset,
    fetch: Fetch,
    threads: usize,
    cut: Cut,
    /// What was handed out; `None` before the first, unless it goes on from somewhere.
    window: Option<Window>,
    running: Option<Running>,
    /// What comes after the samples before it.
    failed: Option<Error>,
    over: bool,
}

struct Running {
    /// What is being read already.
    ahead: Window,
    snapshot: Snapshot,
    /// Chunks before the end of `ahead`.
    chunks: Pipeline<Vec<Pick>, Fetched>,
    /// The sample that cuts the next chunk.
    next: Option<Pick>,
    /// What ended the plan.
    stop: Option<Error>,
}

impl Running {
    /// Hands chunks to the threads as long as there is room.
    fn refill(&mut self, cut: Cut) {
        while self.chunks.has_room() && self.stop.is_none() {
            let (mut picks, mut bytes) = (Vec::new(), 0u64);
            while picks.len() < cut.samples {
                let pick = match self.next.take() {
                    Some(pick) => pick,
                    None => match self.ahead.next().map(|row| self.snapshot.pick(row)) {
                        Some(Ok(pick)) => pick,
                        Some(Err(error)) => {
                            self.stop = Some(error);
                            break;
                        }
                        None => break,
                    },
                };
                bytes = bytes.saturating_add(pick.record.len);
                if bytes > cut.bytes && !picks.is_empty() {
                    self.next = Some(pick);
                    break;
                }
                picks.push(pick);
            }
            if picks.is_empty() {
                return;
            }
            self.chunks.submit(picks);
        }
    }
}

impl Reading {
    fn start(&mut self) -> Running {
        let (snapshot, window) = self.dataset.begin(self.window.take());
        let ahead = window.clone();
        self.window = Some(window);
        let (threads, pool) = (self.threads, pool(self.threads));
        let (fetch, limits) = (self.fetch.clone(), self.dataset.runtime().limits);
        let make = move || {
            let context = Mutex::new(ReadContext::new(pool.clone(), limits, false));
            let fetch = fetch.clone();
            move |picks: Vec<Pick>| {
                let mut context = context.lock().unwrap_or_else(PoisonError::into_inner);
                fetch.read(picks, &mut context)
            }
        };
        let chunks = Pipeline::new(threads, threads.saturating_add(2), make);
        Running { ahead, snapshot, chunks, next: None, stop: None }
    }

    fn next_chunk(&mut self) -> Option<Result<Drawn>> {
        if self.over {
            return None;
        }
        let next = self.chunk();
        // An error is the last thing that is told.
        self.over = !matches!(next, Some(Ok(_)));
        if self.over {
            self.running = None;
        }
        next
    }

    fn chunk(&mut self) -> Option<Result<Drawn>> {
        if let Some(error) = self.failed.take() {
            return Some(Err(error));
        }
        if self.running.is_none() {
            self.running = Some(self.start());
        }
        let running = self.running.as_mut()?;
        running.refill(self.cut);
        let Fetched { drawn, failed } = match running.chunks.next_result() {
            Some(Ok(fetched)) => fetched,
            Some(Err(error)) => return Some(Err(error)),
            None => return running.stop.take().map(Err),
        };
        match failed {
            Some(error) if drawn.is_empty() => return Some(Err(error)),
            failed => self.failed = failed,
        }
        if let Some(window) = &mut self.window {
            let read = Window::position(window);
            window.seek(read.saturating_add(drawn.len() as u64));
        }
        Some(Ok(drawn))
    }

    /// What was handed out, but for `back` samples.
    fn window(&self, back: u64) -> Option<Window> {
        self.window.clone().map(|mut window| {
            let read = Window::position(&window);
            window.seek(read.saturating_sub(back));
            window
        })
    }
}

/// Batches of one window, in order.
pub struct Batches(Reading);

impl Batches {
    /// Samples that were handed out.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.0.window.as_ref().map_or(0, Window::position)
    }

    /// From where reading goes on behind the last batch, see [`ActiveDataset::resume`].
    ///
    /// # Errors
    /// `state_invalid` where the table was replaced since.
    pub fn state(&self) -> Result<Value> {
        self.0.dataset.state_with(self.0.window(0).as_ref())
    }
}

impl Iterator for Batches {
    type Item = Result<Drawn>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next_chunk()
    }
}

/// Samples of one window, in order.
pub struct Samples {
    reading: Reading,
    chunk: Option<Arc<Drawn>>,
    at: usize,
}

impl Samples {
    /// Samples of the chunk that were not handed out.
    fn left(&self) -> u64 {
        self.chunk.as_ref().map_or(0, |chunk| chunk.len().saturating_sub(self.at) as u64)
    }

    /// Samples that were handed out.
    #[must_use]
    pub fn position(&self) -> u64 {
        let read = self.reading.window.as_ref().map_or(0, Window::position);
        read.saturating_sub(self.left())
    }

    /// From where reading goes on behind the last sample, see [`ActiveDataset::resume`].
    ///
    /// # Errors
    /// `state_invalid` where the table was replaced since.
    pub fn state(&self) -> Result<Value> {
        self.reading.dataset.state_with(self.reading.window(self.left()).as_ref())
    }
}

impl Iterator for Samples {
    type Item = Result<OwnedSample>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(chunk) = &self.chunk
                && let Some(sample) = OwnedSample::new(chunk, self.at)
            {
                self.at += 1;
                return Some(Ok(sample));
            }
            match self.reading.next_chunk()? {
                Ok(drawn) => (self.chunk, self.at) = (Some(Arc::new(drawn)), 0),
                Err(error) => return Some(Err(error)),
            }
        }
    }
}
