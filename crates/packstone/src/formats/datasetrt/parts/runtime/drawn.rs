//! Samples that were read, in the order in which a pass hands them out.

use std::ops::Range;
use std::sync::Arc;

use packstone_container::Limits;
use packstone_container::json::Object;
use packstone_io::Buf;

use super::super::index::Row;
use super::super::joint::Joint;
use super::super::metadata::MetadataReader;
use super::super::table::Identity;
use crate::error::Result;
use crate::model::{Batch, Schema, ValueRef};

/// A sample that a pass asks for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pick {
    /// Its row of the table.
    pub(super) row: u64,
    /// The place of its cache.
    pub(super) cache: usize,
    /// Its number in the cache.
    pub(super) sample: u64,
    /// Where its record lies.
    pub(super) record: Row,
}

/// What was read of samples.
pub(super) enum Content {
    /// Payloads where they lie, as parts of buffers that many share.
    Views { buffers: Vec<Buf>, places: Vec<(usize, Range<usize>)> },
    /// Fields as columns.
    Columns(Batch),
}

/// Some samples of a pass, in its order.
pub struct Drawn {
    pub(super) joint: Joint,
    pub(super) schema: Arc<Schema>,
    pub(super) picks: Vec<Pick>,
    pub(super) content: Content,
    pub(super) limits: Limits,
}

impl Drawn {
    /// Number of samples.
    #[must_use]
    pub fn len(&self) -> usize {
        self.picks.len()
    }

    /// True without any sample.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.picks.is_empty()
    }

    /// The fields that were read.
    #[must_use]
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// The samples as a batch, where batches were asked for.
    #[must_use]
    pub fn batch(&self) -> Option<&Batch> {
        match &self.content {
            Content::Columns(batch) => Some(batch),
            Content::Views { .. } => None,
        }
    }

    /// The samples as a batch, where batches were asked for.
    #[must_use]
    pub fn into_batch(self) -> Option<Batch> {
        match self.content {
            Content::Columns(batch) => Some(batch),
            Content::Views { .. } => None,
        }
    }

    /// One sample; `None` past the end.
    #[must_use]
    pub fn sample(&self, at: usize) -> Option<DrawnSample<'_>> {
        let pick = self.picks.get(at)?;
        Some(DrawnSample { drawn: self, pick, at })
    }

    /// The samples in order.
    pub fn samples(&self) -> impl ExactSizeIterator<Item = DrawnSample<'_>> {
        let picks = self.picks.iter().enumerate();
        picks.map(|(at, pick)| DrawnSample { drawn: self, pick, at })
    }
}

/// One of some samples.
#[derive(Clone, Copy)]
pub struct DrawnSample<'d> {
    drawn: &'d Drawn,
    pick: &'d Pick,
    at: usize,
}

impl<'d> DrawnSample<'d> {
    /// Which sample of which cache it is.
    #[must_use]
    pub fn identity(&self) -> Identity {
        let cache = self.drawn.joint.caches().get(self.pick.cache);
        let cache_id = cache.map_or(0, |cache| cache.cache_id);
        Identity { cache_id, sample_id: self.pick.sample }
    }

    /// Its row of the table.
    #[must_use]
    pub fn row(&self) -> u64 {
        self.pick.row
    }

    /// The value of the field at `position` among those that were read.
    #[must_use]
    pub fn value(&self, position: usize) -> Option<ValueRef<'d>> {
        match &self.drawn.content {
            Content::Columns(batch) => batch.sample(self.at)?.value(position),
            Content::Views { buffers, places } => {
                let field = self.drawn.schema.fields.get(position)?;
                let (buffer, span) = places.get(self.at)?;
                let bytes = buffers.get(*buffer)?.get(span.clone())?;
                Some(ValueRef { dtype: &field.dtype, shape: &field.shape, bytes })
            }
        }
    }

    /// The value of a field by name: `data` is the payload of caches that the original wrote.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<ValueRef<'d>> {
        self.value(self.drawn.schema.position(name)?)
    }

    /// The bytes of the field at `position` as a buffer of their own, without a copy.
    #[must_use]
    pub fn buf(&self, position: usize) -> Option<Buf> {
        match &self.drawn.content {
            Content::Columns(batch) => batch.columns().get(position)?.buf(self.at),
            Content::Views { buffers, places } => {
                let (buffer, span) = places.get(self.at).filter(|_| position == 0)?;
                buffers.get(*buffer)?.slice(span.clone())
            }
        }
    }

    /// What its cache says about it; a table that was replaced does not change that.
    ///
    /// # Errors
    /// Those of [`Cache::table`](super::super::cache::Cache::table); `arrow_invalid`, `payload_invalid`.
    pub fn metadata(&self) -> Result<Arc<Object>> {
        let Some(cache) = self.drawn.joint.caches().get(self.pick.cache) else {
            return Ok(Arc::default());
        };
        let mut reader = MetadataReader::new(cache, &self.drawn.limits);
        reader.read(cache.table()?.as_ref(), self.pick.sample)
    }
}

/// One of some samples, on its own; it keeps what was read with it.
#[derive(Clone)]
pub struct OwnedSample {
    drawn: Arc<Drawn>,
    pick: Pick,
    at: usize,
}

impl OwnedSample {
    /// The sample at a place; `None` past the end.
    #[must_use]
    pub fn new(drawn: &Arc<Drawn>, at: usize) -> Option<Self> {
        let pick = *drawn.picks.get(at)?;
        Some(Self { drawn: Arc::clone(drawn), pick, at })
    }

    /// The sample to look at.
    #[must_use]
    pub fn view(&self) -> DrawnSample<'_> {
        DrawnSample { drawn: &self.drawn, pick: &self.pick, at: self.at }
    }
}
