//! Payloads that were found in shards, as a column or as views, up to the first that cannot be read.

use std::ops::Range;
use std::sync::Arc;

use packstone_container::Limits;
use packstone_io::{AlignedBuf, Buf};

use super::super::super::document::Algo;
use super::super::payloads::{decode_payload, stated_length};
use super::drawn::Content;
use super::opened::Opened;
use crate::error::{Error, Place, Result};
use crate::format::ReadContext;
use crate::model::{Batch, Column, Schema};

/// Bytes of a page of memory.
const PAGE: usize = 4096;

/// The first sample that cannot be read: those before it are good.
pub(super) struct Good {
    pub(super) len: usize,
    pub(super) failed: Option<Error>,
}

impl Good {
    pub(super) fn note(&mut self, at: usize, error: Error) {
        if at < self.len {
            (self.len, self.failed) = (at, Some(error));
        }
    }
}

/// Payloads that were found in shards.
pub(super) struct Payloads {
    shards: Vec<(Buf, Algo)>,
    /// Shard and place in it, one a sample.
    pub(super) places: Vec<(usize, Range<usize>)>,
}

impl Payloads {
    pub(super) fn new(samples: usize) -> Self {
        Self { shards: Vec::new(), places: vec![(0, 0..0); samples] }
    }

    /// Notes where a sample lies in the shard that is added next.
    pub(super) fn put(&mut self, at: usize, span: Range<usize>) {
        if let Some(place) = self.places.get_mut(at) {
            *place = (self.shards.len(), span);
        }
    }

    pub(super) fn add(&mut self, opened: Opened<'_>) {
        self.shards.push((opened.bytes, opened.algo));
    }

    fn stored(&self, at: usize) -> Option<(&[u8], Algo)> {
        let (shard, span) = self.places.get(at)?;
        let (bytes, algo) = self.shards.get(*shard)?;
        Some((bytes.get(span.clone())?, *algo))
    }

    /// Appends the content of one payload to `out`.
    fn append(
        &self,
        at: usize,
        out: &mut AlignedBuf,
        place: impl FnOnce() -> Place,
        limits: &Limits,
    ) -> Result<()> {
        let Some((shard, span)) = self.places.get(at) else { return Ok(()) };
        let Some((bytes, algo)) = self.shards.get(*shard) else { return Ok(()) };
        match algo {
            Algo::None => out.extend_from_buf(bytes, span.clone()).map(drop).map_err(Error::from),
            Algo::Lz4 => decode_payload(bytes.get(span.clone()).unwrap_or_default(), out, limits)
                .map_err(|error| error.at(place())),
        }
    }

    /// What all of them take, of those that are copied or decoded; a length that a block cannot have is not believed.
    fn room(&self, all: bool) -> usize {
        let stored = (0..self.places.len()).filter_map(|at| self.stored(at));
        let each = stored.map(|(stored, algo)| match algo {
            Algo::None if all => stored.len() as u64,
            Algo::None => 0,
            Algo::Lz4 => stated_length(stored).unwrap_or(0),
        });
        usize::try_from(each.fold(0, u64::saturating_add)).unwrap_or(usize::MAX)
    }

    /// One column, its rows one after another in a buffer of their own.
    pub(super) fn columns(
        mut self,
        schema: &Arc<Schema>,
        good: &mut Good,
        place: impl Fn(usize) -> Place,
        context: &mut ReadContext,
    ) -> Result<Batch> {
        let mut out = context.pool.take(self.room(true))?;
        let mut ends = Vec::with_capacity(self.places.len());
        self.places.truncate(good.len);
        for at in 0..self.places.len() {
            if let Err(error) = self.append(at, &mut out, || place(at), &context.limits) {
                good.note(at, error);
                break;
            }
            ends.push(out.len());
        }
        let column = Column::ragged(out.freeze(), ends);
        Batch::new(Arc::clone(schema), good.len, column.into_iter().collect())
    }

    /// Where they lie, those that were compressed in a buffer of their own.
    pub(super) fn views(
        mut self,
        good: &mut Good,
        place: impl Fn(usize) -> Place,
        context: &mut ReadContext,
    ) -> Result<Content> {
        let decoded = self.shards.len();
        let mut out = None;
        for at in 0..self.places.len().min(good.len) {
            let Some((stored, algo)) = self.stored(at) else { break };
            if algo == Algo::None {
                // The thread that reads waits for the disk, not the one that takes.
                let pages = stored.chunks(PAGE).filter_map(<[u8]>::first);
                std::hint::black_box(pages.fold(0, |all, byte| all ^ byte));
                continue;
            }
            let out = match &mut out {
                Some(out) => out,
                none => none.insert(context.pool.take(self.room(false))?),
            };
            let start = out.len();
            if let Err(error) = self.append(at, out, || place(at), &context.limits) {
                good.note(at, error);
                break;
            }
            let span = start..out.len();
            if let Some(place) = self.places.get_mut(at) {
                *place = (decoded, span);
            }
        }
        self.places.truncate(good.len);
        let mut buffers: Vec<Buf> = self.shards.into_iter().map(|(bytes, _)| bytes).collect();
        buffers.extend(out.map(|out| out.freeze()));
        Ok(Content::Views { buffers, places: self.places })
    }
}
