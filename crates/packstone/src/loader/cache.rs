//! Shards that will be asked for again, decoded or mapped, bounded by bytes.
//!
//! The order is known ahead: the shard that is needed farthest in the future goes first, before it those of which no need
//! is known, the oldest first. One shard is kept whatever its size.

use std::collections::HashMap;
use std::sync::Arc;

use super::directory::ShardId;
use crate::model::Batch;

/// The shards.
pub(super) struct Cache {
    most: u64,
    count: usize,
    bytes: u64,
    turn: u64,
    kept: HashMap<ShardId, Kept>,
}

struct Kept {
    batch: Arc<Batch>,
    bytes: u64,
    turn: u64,
    /// Rows that are still to come before all were delivered once.
    left: u64,
}

impl Cache {
    /// A cache of `most` bytes and `count` shards.
    pub(super) fn new(most: u64, count: usize) -> Self {
        Self { most, count, bytes: 0, turn: 0, kept: HashMap::new() }
    }

    /// A shard, where it is here, of which `rows` are taken now. It stays while others of its rows are still to come.
    pub(super) fn take(&mut self, id: ShardId, rows: u64) -> Option<Arc<Batch>> {
        self.turn += 1;
        let kept = self.kept.get_mut(&id)?;
        (kept.turn, kept.left) = (self.turn, kept.left.saturating_sub(rows));
        let batch = Arc::clone(&kept.batch);
        if kept.left == 0 {
            self.remove(id);
        }
        Some(batch)
    }

    /// True where a shard is here.
    pub(super) fn holds(&self, id: ShardId) -> bool {
        self.kept.contains_key(&id)
    }

    /// Keeps a shard of which `left` rows are still to come, and lets others go; `next` says which batch needs one next.
    pub(super) fn keep(
        &mut self,
        id: ShardId,
        batch: Arc<Batch>,
        left: u64,
        next: impl Fn(&ShardId) -> Option<u64>,
    ) {
        if left == 0 {
            return;
        }
        self.turn += 1;
        self.remove(id);
        let bytes = batch.value_bytes();
        self.bytes = self.bytes.saturating_add(bytes);
        self.kept.insert(id, Kept { batch, bytes, turn: self.turn, left });
        while (self.bytes > self.most || self.kept.len() > self.count) && self.kept.len() > 1 {
            let farthest = self.kept.iter().max_by_key(|(id, kept)| {
                let need = next(id).unwrap_or(u64::MAX);
                (need, std::cmp::Reverse(kept.turn))
            });
            let Some(id) = farthest.map(|(id, _)| *id) else { return };
            self.remove(id);
        }
    }

    fn remove(&mut self, id: ShardId) {
        if let Some(kept) = self.kept.remove(&id) {
            self.bytes = self.bytes.saturating_sub(kept.bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use packstone_io::Buf;

    use super::*;
    use crate::model::{Column, DType, Field, Schema};

    fn shard(bytes: usize) -> Arc<Batch> {
        let schema = Schema::new(vec![Field::new("x", DType::UInt8, [])]);
        let column = Column::dense(Buf::from(vec![0; bytes]), 1, bytes).unwrap();
        Arc::new(Batch::new(Arc::new(schema), bytes, vec![column]).unwrap())
    }

    #[test]
    fn what_is_needed_last_goes_first() {
        let mut cache = Cache::new(25, 9);
        let needs = |id: &ShardId| [Some(7), Some(9), Some(8), None].get(id.0).copied().flatten();
        for source in 0..3 {
            cache.keep((source, 0), shard(10), 5, needs);
        }
        let here = |cache: &Cache| {
            let mut here: Vec<usize> = cache.kept.keys().map(|id| id.0).collect();
            here.sort_unstable();
            here
        };
        assert_eq!((here(&cache), cache.bytes), (vec![0, 2], 20));
        // Nobody needs it, as far as is known.
        cache.keep((3, 0), shard(10), 5, needs);
        assert_eq!(here(&cache), [0, 2]);
        assert!(cache.take((0, 0), 4).is_some() && cache.take((0, 0), 1).is_some());
        assert!(cache.take((0, 0), 1).is_none(), "all of its rows were taken");
        cache.keep((5, 0), shard(5), 0, needs);
        assert_eq!((here(&cache), cache.bytes), (vec![2], 10));
        // Larger than the cache, and yet of use.
        cache.keep((0, 0), shard(100), 5, |id| (id.0 == 0).then_some(1));
        assert_eq!(here(&cache), [0]);
    }
}
