//! Reads samples of any caches in any order: shard by shard, along each shard, put back in the order asked for.
//!
//! ```text
//! picks 0 1 2 3 4 ─ sort by shard and offset ─► 3 0 │ 4 1 2 ─ open shard, find record, compare ─► places 0 1 2 3 4
//! places ─ views: as they lie, LZ4 decoded into one buffer
//!        └ columns: all into one buffer, in the order of the picks
//! ```

use std::sync::Arc;

use packstone_io::BufferPool;

use super::super::descriptor::FieldPlace;
use super::super::joint::Joint;
use super::super::maps::Stay;
use super::super::metadata::MetadataReader;
use super::drawn::{Content, Drawn, Pick};
use super::opened::{Group, Opened};
use super::payloads::{Good, Payloads};
use crate::error::{Error, Place, Result};
use crate::format::ReadContext;
use crate::model::{Batch, BatchBuilder, Schema};

/// What is read of each sample, and into what.
#[derive(Clone)]
pub(super) struct Fetch {
    pub(super) joint: Joint,
    /// Only the fields at these positions.
    pub(super) fields: Option<Arc<[usize]>>,
    /// The fields that are read.
    pub(super) schema: Arc<Schema>,
    /// Into columns; else views.
    pub(super) columns: bool,
    /// With the metadata of each sample.
    pub(super) metadata: bool,
    /// With the identity of each sample.
    pub(super) identities: bool,
}

/// The samples that were read, and what ended them early.
pub(super) struct Fetched {
    pub(super) drawn: Drawn,
    pub(super) failed: Option<Error>,
}

impl Fetch {
    /// Reads these samples, up to the first that cannot be read.
    pub(super) fn read(&self, mut picks: Vec<Pick>, context: &mut ReadContext) -> Fetched {
        let mut order: Vec<usize> = (0..picks.len()).collect();
        let key = |at: &usize| picks.get(*at).map(|p| (p.cache, p.record.shard, p.record.offset));
        order.sort_unstable_by_key(key);
        let mut good = Good { len: picks.len(), failed: None };
        let read = match self.is_payload() {
            true => self.payloads(&picks, &order, &mut good, context),
            false => self.fields(&picks, &order, &mut good, context),
        };
        let content =
            read.and_then(|content| self.with_words(content, &picks, &order, &mut good, context));
        let content = content.unwrap_or_else(|error| {
            // What concerns no single sample ends all of them.
            good.note(0, error);
            Content::Views { buffers: Vec::new(), places: Vec::new() }
        });
        picks.truncate(good.len);
        let (joint, schema, limits) =
            (self.joint.clone(), Arc::clone(&self.schema), context.limits);
        Fetched { drawn: Drawn { joint, schema, picks, content, limits }, failed: good.failed }
    }

    /// True where all that is read of a sample is its payload as it is.
    pub(super) fn is_payload(&self) -> bool {
        let stored = self.joint.caches().first().map(|cache| cache.descriptor.fields.as_slice());
        let whole = matches!(stored, Some([only]) if only.place == FieldPlace::Payload);
        whole && self.schema.fields.len() == 1
    }

    fn groups<'a>(
        &'a self,
        picks: &'a [Pick],
        order: &'a [usize],
    ) -> impl Iterator<Item = Group<'a>> {
        let shard = |at: &usize| picks.get(*at).map(|pick| (pick.cache, pick.record.shard));
        order.chunk_by(move |one, other| shard(one) == shard(other)).filter_map(move |at| {
            let (cache, shard) = shard(at.first()?)?;
            Some(Group { cache: self.joint.caches().get(cache)?, shard, at })
        })
    }

    fn payloads(
        &self,
        picks: &[Pick],
        order: &[usize],
        good: &mut Good,
        context: &mut ReadContext,
    ) -> Result<Content> {
        let mut found = Payloads::new(picks.len());
        for group in self.groups(picks, order) {
            let opened = match Opened::of(&group) {
                Ok(opened) => opened,
                Err(error) => {
                    good.note(group.at.iter().copied().min().unwrap_or(0), error);
                    continue;
                }
            };
            for at in group.at {
                let pick = picks.get(*at).filter(|_| *at < good.len);
                let Some(Pick { sample, record, .. }) = pick else { continue };
                match opened.payload(*sample, *record, context) {
                    Ok(span) => found.put(*at, span),
                    Err(error) => good.note(*at, error),
                }
            }
            found.add(opened);
        }
        found.places.truncate(good.len);
        let place = |at: usize| {
            let pick = picks.get(at);
            let cache = pick.and_then(|pick| self.joint.caches().get(pick.cache));
            cache.zip(pick).map_or_else(Place::default, |(c, p)| c.sample_place(p.sample, p.record))
        };
        match self.columns {
            true => found.columns(&self.schema, good, place, context).map(Content::Columns),
            false => found.views(good, place, context),
        }
    }

    /// Fields that stand in tensors and columns, as batches of each shard.
    fn fields(
        &self,
        picks: &[Pick],
        order: &[usize],
        good: &mut Good,
        context: &mut ReadContext,
    ) -> Result<Content> {
        // For each pick the batch that has it, and its row there.
        let mut batches: Vec<Batch> = Vec::new();
        let mut places = vec![(usize::MAX, 0); picks.len()];
        for group in self.groups(picks, order) {
            let mut read = |at: &[usize], context: &mut ReadContext| {
                let samples = at.iter().filter_map(|at| picks.get(*at)).map(|pick| pick.sample);
                let samples: Vec<u64> = samples.collect();
                let batch =
                    group.cache.read(&samples, self.fields.as_deref(), Stay::Kept, context)?;
                for (row, at) in at.iter().enumerate() {
                    if let Some(place) = places.get_mut(*at) {
                        *place = (batches.len(), row);
                    }
                }
                batches.push(batch);
                Ok(())
            };
            if read(group.at, context).is_err() {
                // One of them is at fault: which, one by one will tell.
                for at in group.at {
                    if let Err(error) = read(&[*at], context) {
                        good.note(*at, error);
                    }
                }
            }
        }
        places.truncate(good.len);
        let mut builder =
            BatchBuilder::new(Arc::clone(&self.schema), good.len, context.pool.clone())?;
        for (batch, row) in places {
            if let Some(batch) = batches.get(batch) {
                builder.push(batch, row..row.saturating_add(1))?;
            }
        }
        builder.finish().map(Content::Columns)
    }

    /// The same with metadata and identities, where they are asked for.
    fn with_words(
        &self,
        content: Content,
        picks: &[Pick],
        order: &[usize],
        good: &mut Good,
        context: &mut ReadContext,
    ) -> Result<Content> {
        let Content::Columns(mut batch) = content else { return Ok(content) };
        let caches = self.joint.caches();
        if self.metadata && self.is_payload() {
            let mut runs = vec![Arc::default(); picks.len()];
            for group in self.groups(picks, order) {
                let mut reader = MetadataReader::new(group.cache, &context.limits);
                let table = group.cache.table()?;
                let mut last = None;
                for at in group.at {
                    let pick = picks.get(*at).filter(|_| *at < good.len);
                    let Some((pick, run)) = pick.zip(runs.get_mut(*at)) else { continue };
                    // Equal samples are neighbours here.
                    let object = match &last {
                        Some((sample, object)) if *sample == pick.sample => Ok(Arc::clone(object)),
                        _ => reader.read(&table, pick.sample),
                    };
                    match object {
                        Ok(object) => {
                            last = Some((pick.sample, Arc::clone(&object)));
                            *run = object;
                        }
                        Err(error) => good.note(*at, error),
                    }
                }
            }
            batch = batch.slice(0..good.len)?;
            let runs = runs.into_iter().take(good.len).enumerate();
            batch =
                batch.with_metadata_runs(runs.map(|(at, object)| (at + 1, object)).collect())?;
        }
        if self.identities {
            let named = picks
                .iter()
                .take(good.len)
                .filter_map(|pick| Some(caches.get(pick.cache)?.identity(pick.sample)));
            batch = batch.with_identities(named.collect())?;
        }
        Ok(Content::Columns(batch))
    }
}

/// A store of buffers for so many threads.
pub(super) fn pool(threads: usize) -> BufferPool {
    BufferPool::new(threads.saturating_mul(2).saturating_add(4))
}
