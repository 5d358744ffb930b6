//! One collection, or several one after another: an index says which, and where in it.

use std::sync::Arc;

use packstone_io::Kind;

use super::codes;
use crate::error::{Error, Place, Result};
use crate::format::{Access, Collection};
use crate::model::Schema;

/// Where samples come from.
pub(super) struct Sources {
    all: Vec<Source>,
    /// The index behind the last sample of each.
    ends: Vec<u64>,
    /// The fields of batches.
    pub(super) schema: Arc<Schema>,
}

/// One collection.
pub(super) struct Source {
    pub(super) collection: Arc<dyn Collection>,
    /// Positions of the wanted fields; all where there are none.
    pub(super) fields: Option<Vec<usize>>,
}

impl Sources {
    /// `collections` as one, with the fields called `fields` only where given.
    ///
    /// # Errors
    /// `model/unknown_field`; `schemas_differ`; `index_out_of_range` where there are more samples than 64 bits hold.
    pub(super) fn new(
        collections: Vec<Arc<dyn Collection>>,
        fields: Option<&[String]>,
    ) -> Result<Self> {
        let (mut all, mut ends) = (Vec::with_capacity(collections.len()), Vec::new());
        let mut schema: Option<Arc<Schema>> = None;
        let mut end = 0u64;
        for collection in collections {
            let own = collection.schema();
            let fields = fields.map(|names| own.positions(names)).transpose()?;
            let own = match &fields {
                Some(fields) => Arc::new(own.project(fields)),
                None => Arc::clone(own),
            };
            match &schema {
                None => schema = Some(own),
                Some(first) if same(first, &own) => {}
                Some(_) => {
                    let message = format!(
                        "expected the fields of the first collection in all, found others in {:?}",
                        collection.name()
                    );
                    let (kind, code) = (Kind::Unsupported, codes::SCHEMAS_DIFFER);
                    return Err(Error::new(kind, code, Place::default(), message));
                }
            }
            end = end.checked_add(collection.len()).ok_or_else(|| outside(u64::MAX, u64::MAX))?;
            ends.push(end);
            all.push(Source { collection, fields });
        }
        Ok(Self { all, ends, schema: schema.unwrap_or_default() })
    }

    /// Samples in sum.
    pub(super) fn len(&self) -> u64 {
        self.ends.last().copied().unwrap_or(0)
    }

    /// Shards in sum.
    pub(super) fn shard_count(&self) -> u64 {
        let each = self.all.iter().map(|source| source.collection.shard_count());
        each.fold(0, u64::saturating_add)
    }

    /// One of the collections.
    pub(super) fn get(&self, source: usize) -> Option<&Source> {
        self.all.get(source)
    }

    /// Which collection has the sample at `index`, and where.
    ///
    /// # Errors
    /// `index_out_of_range`.
    pub(super) fn locate(&self, index: u64) -> Result<(usize, u64)> {
        let source = self.ends.partition_point(|end| *end <= index);
        let before = source.checked_sub(1).and_then(|at| self.ends.get(at)).copied().unwrap_or(0);
        match self.all.get(source) {
            Some(_) => Ok((source, index.saturating_sub(before))),
            None => Err(outside(self.len(), index)),
        }
    }

    /// True where every collection has rows at hand, see [`Collection::read_at`]. Shards of rows that are read apart are
    /// visited all the same until they were compared with their checksums, once all are `seen`.
    pub(super) fn at_hand(&self, seen: bool) -> bool {
        let mut context = crate::format::ReadContext::default();
        self.all.len() == 1
            && (seen || self.access() != Access::Apart)
            && self.all.iter().all(|source| {
                let none = source.collection.read_at(&[], source.fields.as_deref(), &mut context);
                none.is_ok_and(|batch| batch.is_some())
            })
    }

    /// The bytes of a sample, about, where all collections tell.
    pub(super) fn likely_bytes(&self) -> Option<u64> {
        let of = |source: &Source| {
            let likely = source.collection.likely_bytes()?;
            Some(u128::from(likely).saturating_mul(source.collection.len().into()))
        };
        let all = self.all.iter().map(of).try_fold(0u128, |sum, of| Some(sum.saturating_add(of?)));
        u64::try_from(all?.checked_div(self.len().into())?).ok()
    }

    /// What it costs to read some rows of a shard, in all collections.
    pub(super) fn access(&self) -> Access {
        let mut each = self.all.iter().map(|source| source.collection.access());
        let first = each.next().unwrap_or(Access::Whole);
        if each.all(|access| access == first) { first } else { Access::Whole }
    }
}

/// Fields go together whose values are stored alike; what is said about them may differ.
fn same(one: &Schema, other: &Schema) -> bool {
    one.fields.len() == other.fields.len()
        && one.fields.iter().zip(&other.fields).all(|(one, other)| {
            one.key == other.key
                && one.dtype == other.dtype
                && one.varying == other.varying
                && (one.shape == other.shape || one.varying && one.shape.len() == other.shape.len())
        })
}

pub(super) fn outside(len: u64, index: u64) -> Error {
    let message = format!("expected an index below {len}, found {index}");
    Error::new(Kind::Invalid, codes::INDEX_OUT_OF_RANGE, Place::default(), message)
}
