//! Reads samples of any caches in any order: shard by shard, along each shard, put back in the order asked for.
//!
//! ```text
//! picks 0 1 2 3 4 ─ sort by shard and offset ─► 3 0 │ 4 1 2 ─ open shard, find record, compare ─► places 0 1 2 3 4
//! places ─ views: as they lie, LZ4 decoded into one buffer
//!        └ columns: all into one buffer, in the order of the picks
//! ```

use std::ops::Range;
use std::sync::Arc;

use packstone_container::Limits;
use packstone_container::arrow_table::ArrowFile;
use packstone_io::{AlignedBuf, Buf, BufferPool};

use super::super::super::document::Algo;
use super::super::super::layout::LZ4_PREFIX;
use super::super::cache::Cache;
use super::super::descriptor::FieldPlace;
use super::super::index::Row;
use super::super::joint::Joint;
use super::super::maps::Stay;
use super::super::payloads::decode_payload;
use super::super::read::MetadataReader;
use super::super::record;
use super::drawn::{Content, Drawn, Pick};
use crate::error::{Error, Place, Result};
use crate::format::ReadContext;
use crate::model::{Batch, BatchBuilder, Column, Schema};

/// Bytes of a page of memory.
const PAGE: usize = 4096;
/// No LZ4 block gains more than 255 bytes with one.
const MAX_RATIO: usize = 255;

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

/// The first sample that cannot be read: those before it are good.
struct Good {
    len: usize,
    failed: Option<Error>,
}

impl Good {
    fn note(&mut self, at: usize, error: Error) {
        if at < self.len {
            (self.len, self.failed) = (at, Some(error));
        }
    }
}

/// Samples of one shard, by their places among the picks.
struct Group<'a> {
    cache: &'a Cache,
    shard: u64,
    at: &'a [usize],
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

/// A shard that samples are read from.
struct Opened<'a> {
    cache: &'a Cache,
    table: Arc<ArrowFile>,
    bytes: Buf,
    algo: Algo,
}

impl<'a> Opened<'a> {
    fn of(group: &Group<'a>) -> Result<Self> {
        let cache = group.cache;
        cache.look_at_index()?;
        cache.look_at_shard(group.shard)?;
        let table = cache.table()?;
        let (entry, bytes) = cache.shard(group.shard, Stay::Kept)?;
        Ok(Self { cache, table, bytes, algo: entry.algo })
    }

    /// Where the payload of a record lies, whose copy of the metadata says what the table says.
    fn payload(&self, sample: u64, row: Row, context: &ReadContext) -> Result<Range<usize>> {
        let place = || self.cache.sample_place(sample, row);
        let record = match record::find(&self.bytes, row) {
            Some(record) => record,
            None => record::locate(&self.bytes, row, &place())?,
        };
        if self.cache.options.compare {
            let copy = self.bytes.get(record.metadata).unwrap_or_default();
            self.cache.compare_copy(copy, &self.table, sample, place, &context.limits)?;
        }
        Ok(record.payload)
    }
}

/// Payloads that were found in shards.
struct Payloads {
    shards: Vec<(Buf, Algo)>,
    /// Shard and place in it, one a sample.
    places: Vec<(usize, Range<usize>)>,
}

impl Payloads {
    fn new(samples: usize) -> Self {
        Self { shards: Vec::new(), places: vec![(0, 0..0); samples] }
    }

    /// Notes where a sample lies in the shard that is added next.
    fn put(&mut self, at: usize, span: Range<usize>) {
        if let Some(place) = self.places.get_mut(at) {
            *place = (self.shards.len(), span);
        }
    }

    fn add(&mut self, opened: Opened<'_>) {
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
        let each =
            (0..self.places.len()).filter_map(|at| self.stored(at)).map(
                |(stored, algo)| match algo {
                    Algo::None if all => stored.len(),
                    Algo::None => 0,
                    Algo::Lz4 => {
                        let stated = stored
                            .first_chunk::<LZ4_PREFIX>()
                            .map_or(0, |n| u32::from_le_bytes(*n));
                        let most = stored.len().saturating_mul(MAX_RATIO);
                        usize::try_from(stated).unwrap_or(usize::MAX).min(most)
                    }
                },
            );
        each.fold(0, usize::saturating_add)
    }

    /// One column, its rows one after another in a buffer of their own.
    fn columns(
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
    fn views(
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

/// A store of buffers for so many threads.
pub(super) fn pool(threads: usize) -> BufferPool {
    BufferPool::new(threads.saturating_mul(2).saturating_add(4))
}
