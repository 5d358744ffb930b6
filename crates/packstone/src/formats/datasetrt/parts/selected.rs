//! The samples of a [`View`] as a dataset, and the making of views.
//!
//! ```text
//! view     a0 a4 a7─────a90  b2 b3  a1        samples in their order, which may repeat
//! shards   └──── 0 ────┘│ 1 │└ 2 ┘│ 3 │        as many neighbours as lie in one run of one cache's shard
//! ```

use std::ops::Range;
use std::sync::Arc;

use packstone_container::Limits;
use packstone_container::json::Object;
use packstone_io::{Kind, Root};

use super::super::codes;
use super::super::options::{OpenOptions, WriterOptions};
use super::super::reader::DatasetRtDataset;
use super::cache::Cache;
use super::joint::Joint;
use super::maps::Stay;
use super::peer::{self, unreadable};
use super::table::Identity;
use super::view::{CacheStamp, View};
use crate::error::{Error, Place, Result};
use crate::format::{Access, Collection, Dataset, Info, ReadContext, Selected, ShardRef};
use crate::model::{Batch, SampleTable, Schema, Unreadable, canonical};

/// Samples of a shard at most, and their stored bytes, about.
const SHARD_ROWS: u64 = 4096;
const SHARD_BYTES: u64 = 16 << 20;
/// Shards of a selection at most.
const SHARDS: usize = 1 << 24;

/// What caches of an open dataset are, with their places as `spell` spells them.
///
/// # Errors
/// Those of `spell`.
pub fn stamps(joint: &Joint, spell: &dyn Fn(&str) -> Result<String>) -> Result<Vec<CacheStamp>> {
    let stamp = |cache: &Arc<Cache>| {
        let contents = cache.manifest.contents();
        Ok(CacheStamp {
            path: spell(&cache.site.address())?,
            cache_id: cache.cache_id,
            samples: contents.samples,
            metadata_sha256: contents.metadata_sha256.to_ascii_lowercase(),
        })
    };
    joint.caches().iter().map(stamp).collect()
}

/// The document of a selection among the samples of `joint`.
///
/// # Errors
/// `unknown_sample`; those of `spell`.
pub fn save(
    joint: &Joint,
    selected: &Selected<'_>,
    spell: &dyn Fn(&str) -> Result<String>,
) -> Result<String> {
    let identity = |index: &u64| {
        let (cache, sample_id) = joint.locate(*index)?;
        Ok(Identity { cache_id: cache.cache_id, sample_id })
    };
    let samples = selected.samples.iter().map(identity).collect::<Result<Vec<_>>>()?;
    let condition = selected.condition.map(str::to_owned);
    Ok(View::new(stamps(joint, spell)?, condition, samples)?.text())
}

/// A selection as a dataset.
pub struct SelectedDataset {
    info: Info,
    whole: SelectedCollection,
}

impl SelectedDataset {
    /// Opens the caches that a view names, and shows its samples alone.
    ///
    /// # Errors
    /// Those of [`View::parse`] and of opening; `view_stale` where the caches are not what they were.
    pub fn open(
        document: &[u8],
        open: &mut dyn FnMut(&str) -> Result<Arc<dyn Root>>,
        options: &OpenOptions,
        limits: &Limits,
    ) -> Result<Self> {
        let view = View::parse(document, limits)?;
        let roots = view.caches().iter().map(|cache| open(&cache.path));
        let roots = roots.collect::<Result<Vec<_>>>()?;
        let dataset = match <[_; 1]>::try_from(roots) {
            Ok([only]) => {
                // The id of a cache of version 2 is its place where it was selected, maybe in a folder of caches.
                let position = view.caches().first().map_or(0, |cache| cache.cache_id);
                DatasetRtDataset::open_at(only, position, options, limits)?
            }
            Err(roots) => DatasetRtDataset::open_many(roots, options, limits)?,
        };
        let Some(joint) = dataset.joint() else {
            let message = "expected a cache where the selection says, found a folder of caches";
            return Err(Error::new(Kind::Conflict, codes::VIEW_STALE, Place::default(), message));
        };
        view.check(&stamps(joint, &|label| Ok(label.to_owned()))?)?;
        let mut native = Object::new();
        native.insert(
            "selection",
            packstone_container::json!({
                "expression": view.expression(),
                "samples": view.rows(),
            }),
        );
        for (name, value) in dataset.info().native.iter() {
            native.insert(name.clone(), value.clone());
        }
        let info = Info { native, ..dataset.info().clone() };
        Ok(Self { info, whole: SelectedCollection::new(joint.clone(), view)? })
    }
}

impl Dataset for SelectedDataset {
    fn info(&self) -> &Info {
        &self.info
    }

    fn schema(&self) -> &Arc<Schema> {
        self.whole.schema()
    }

    fn collections(&self) -> Vec<String> {
        vec![self.whole.name().to_owned()]
    }

    fn collection(&self, name: &str) -> Result<Arc<dyn Collection>> {
        if name != self.whole.name() {
            let message = format!("expected {}, found {name:?}", self.whole.name());
            let code = codes::UNKNOWN_COLLECTION;
            return Err(Error::new(Kind::NotFound, code, Place::default(), message));
        }
        Ok(Arc::new(self.whole.clone()))
    }

    fn selection(
        &self,
        selected: &Selected<'_>,
        spell: &dyn Fn(&str) -> Result<String>,
    ) -> Result<String> {
        let (joint, view) = (&self.whole.0.joint, &self.whole.0.view);
        let position = |row: &u64| {
            let id = view.identity(*row).unwrap_or(Identity { cache_id: 0, sample_id: u64::MAX });
            joint.position(id.cache_id, id.sample_id)
        };
        let samples = selected.samples.iter().map(position).collect::<Result<Vec<_>>>()?;
        let both = view.expression().zip(selected.condition);
        let both = both.map(|(one, other)| format!("({one}) and ({other})"));
        let condition = both.as_deref().or(selected.condition).or(view.expression());
        save(joint, &Selected { samples: &samples, condition, ..*selected }, spell)
    }
}

/// The samples of a view. Cloning shares them.
#[derive(Clone)]
pub struct SelectedCollection(Arc<Inner>);

struct Inner {
    joint: Joint,
    view: View,
    /// The first row of each shard.
    starts: Vec<u64>,
}

/// Rows of the view that are read at once.
struct Rows(Range<u64>);

impl SelectedCollection {
    /// The samples of `view`, which is one of `joint`.
    ///
    /// # Errors
    /// `unknown_sample`; `view_invalid` for one that is too large.
    pub fn new(joint: Joint, view: View) -> Result<Self> {
        let mut cutter = Cutter::default();
        for (first, count) in view.runs() {
            let position = joint.position(first.cache_id, first.sample_id)?;
            let Some((place, cache, _)) = joint.find(position) else { continue };
            cutter.add(place, cache, first.sample_id, count)?;
            if cutter.starts.len() > SHARDS {
                let message = format!("expected a selection of at most {SHARDS} runs, found more");
                let code = codes::VIEW_INVALID;
                return Err(Error::new(Kind::Limit, code, Place::default(), message));
            }
        }
        Ok(Self(Arc::new(Inner { joint, view, starts: cutter.starts })))
    }

    fn shard(&self, number: usize) -> Option<Result<ShardRef>> {
        let Inner { joint, view, starts } = self.0.as_ref();
        let start = *starts.get(number)?;
        let end = number.checked_add(1).and_then(|next| starts.get(next)).copied();
        let end = end.unwrap_or_else(|| view.rows());
        let first = view.identity(start)?;
        let path = || {
            let position = joint.position(first.cache_id, first.sample_id)?;
            let (cache, sample) = joint.locate(position)?;
            let row = cache.row(sample)?;
            let name = cache.shard_entry(row.shard).map(|entry| entry.name.clone());
            cache.site.shard(&name.unwrap_or_default())
        };
        let shard = |path| ShardRef {
            number: number as u64,
            first: start,
            rows: end.saturating_sub(start),
            path,
            metadata: Arc::default(),
            detail: Arc::new(Rows(start..end)),
        };
        Some(path().map(shard))
    }

    fn read_samples(
        &self,
        shard: &ShardRef,
        rows: impl Iterator<Item = u64>,
        fields: Option<&[usize]>,
        context: &mut ReadContext,
    ) -> Result<Batch> {
        let foreign = || {
            let message = format!("expected a shard of {:?}, found another", self.name());
            let place = Place::file(&shard.path);
            Error::new(Kind::Invalid, codes::UNKNOWN_COLLECTION, place, message)
        };
        let first = self.0.view.identity(shard.first).ok_or_else(foreign)?;
        let position = self.0.joint.position(first.cache_id, first.sample_id)?;
        let (cache, _) = self.0.joint.locate(position)?;
        let sample = |row| {
            let identity = self.0.view.identity(row);
            identity.filter(|identity| identity.cache_id == cache.cache_id)
        };
        let samples = rows.map(|row| sample(row).map(|identity| identity.sample_id));
        let samples = samples.collect::<Option<Vec<u64>>>().ok_or_else(foreign)?;
        cache.read(&samples, fields, Stay::Kept, context)
    }

    fn rows_of(&self, shard: &ShardRef) -> Range<u64> {
        shard.detail.downcast_ref::<Rows>().map_or(0..0, |rows| rows.0.clone())
    }
}

/// Cuts samples into shards.
#[derive(Default)]
struct Cutter {
    starts: Vec<u64>,
    /// Rows so far.
    rows: u64,
    /// The run of a cache that the last shard is of, with the rows and bytes of that shard.
    open: Option<((usize, usize), u64, u64)>,
}

impl Cutter {
    fn add(&mut self, place: usize, cache: &Cache, mut sample: u64, mut left: u64) -> Result<()> {
        let runs = cache.runs()?;
        while left > 0 && self.starts.len() <= SHARDS {
            let number = runs.holding(sample);
            let end = runs.run(number).map_or(u64::MAX, |run| run.end);
            let part = left.min(end.saturating_sub(sample)).max(1);
            let last = sample.saturating_add(part - 1);
            let ends = cache.index().row(sample).zip(cache.index().row(last));
            let bytes = ends.and_then(|(first, last)| last.end()?.checked_sub(first.offset));
            let bytes = bytes.unwrap_or(SHARD_BYTES);
            match &mut self.open {
                Some((run, rows, sum))
                    if *run == (place, number)
                        && rows.saturating_add(part) <= SHARD_ROWS
                        && sum.saturating_add(bytes) <= SHARD_BYTES =>
                {
                    (*rows, *sum) = (*rows + part, *sum + bytes);
                }
                open => {
                    *open = Some(((place, number), part, bytes));
                    self.starts.push(self.rows);
                }
            }
            self.rows = self.rows.saturating_add(part);
            (sample, left) = (sample.saturating_add(part), left - part);
        }
        Ok(())
    }
}

impl Collection for SelectedCollection {
    fn name(&self) -> &str {
        self.0.joint.name()
    }

    fn len(&self) -> u64 {
        self.0.view.rows()
    }

    fn has_metadata(&self) -> Result<bool> {
        self.0.joint.has_metadata()
    }

    fn shard_count(&self) -> u64 {
        self.0.starts.len() as u64
    }

    fn schema(&self) -> &Arc<Schema> {
        self.0.joint.schema()
    }

    fn table(&self) -> Result<Option<SampleTable>> {
        let Some(whole) = self.0.joint.table()? else { return Ok(None) };
        let rows = self.0.view.identities().map(|identity| {
            let position = self.0.joint.position(identity.cache_id, identity.sample_id)?;
            Ok(usize::try_from(position).unwrap_or(usize::MAX))
        });
        let rows = rows.collect::<Result<Vec<_>>>()?;
        let table = whole.table.select(&rows).map_err(|error| {
            Error::new(Kind::Invalid, codes::TABLE_INVALID, Place::default(), error.to_string())
        })?;
        Ok(Some(SampleTable { table, ..whole }))
    }

    /// What the caches record, and which of their samples these are.
    fn recorded(&self) -> Option<String> {
        let runs = self.0.view.runs();
        let runs = runs.flat_map(|(first, count)| [first.cache_id, first.sample_id, count]);
        let below = self.0.joint.recorded().unwrap_or_default();
        Some(format!("{} {below}", canonical::numbers(runs)))
    }

    fn document(&self) -> Option<&Object> {
        self.0.joint.document()
    }

    fn unreadable(&self, options: &Object) -> Result<Vec<Unreadable>> {
        let Inner { joint, view, .. } = self.0.as_ref();
        let mut next = 0u64;
        let runs = view.runs().map(|(identity, count)| {
            let (cache, sample) =
                joint.locate(joint.position(identity.cache_id, identity.sample_id)?)?;
            let first = next;
            next = next.saturating_add(count);
            Ok(peer::Run { cache, samples: sample..sample.saturating_add(count), first })
        });
        unreadable(self.name(), runs, &WriterOptions::of_copies().with(options)?)
    }

    fn stored_bytes(&self, shard: &ShardRef) -> Option<u64> {
        let position = |id: Identity| self.0.joint.position(id.cache_id, id.sample_id).ok();
        let record = |row| {
            let (cache, sample) =
                self.0.joint.locate(position(self.0.view.identity(row)?)?).ok()?;
            cache.index().row(sample)
        };
        let rows = self.rows_of(shard).filter_map(record);
        Some(rows.fold(0, |sum, row| sum.saturating_add(row.len)))
    }

    fn shards(&self, from: u64) -> Box<dyn Iterator<Item = Result<ShardRef>> + Send> {
        let first = match from < self.len() {
            true => self.0.starts.partition_point(|start| *start <= from).saturating_sub(1),
            false => self.0.starts.len(),
        };
        let (all, end) = (self.clone(), self.0.starts.len());
        Box::new((first..end).filter_map(move |number| all.shard(number)))
    }

    fn read(
        &self,
        shard: &ShardRef,
        fields: Option<&[usize]>,
        context: &mut ReadContext,
    ) -> Result<Batch> {
        self.read_samples(shard, self.rows_of(shard), fields, context)
    }

    fn read_rows(
        &self,
        shard: &ShardRef,
        rows: &[usize],
        fields: Option<&[usize]>,
        context: &mut ReadContext,
    ) -> Result<Batch> {
        let all = self.rows_of(shard);
        let row = |row: &usize| all.start.saturating_add(*row as u64);
        self.read_samples(shard, rows.iter().map(row), fields, context)
    }

    fn access(&self) -> Access {
        Access::Apart
    }
}
