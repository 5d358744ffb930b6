//! Work on the reading threads.

use std::ops::Range;
use std::sync::Arc;

use packstone::format::{Collection, ReadContext, ShardRef};
use packstone::model::{Batch, Schema};
use packstone::ops::Scan;
use packstone::{Error, Kind, Place, Result};

use crate::fake::{counted, numbers};

#[test]
fn work_runs_on_decoded_shards_and_comes_in_order() {
    for threads in [0, 1, 4] {
        let scan = Scan::new(counted("a", &[3, 3, 3, 3]).arc()).threads(threads).range(2..8);
        let here = std::thread::current().id();
        let sums = scan.map_shards(move |shard| {
            let rows = &numbers(&shard.batch)[shard.rows.clone()];
            Ok((shard.shard.number, rows.iter().sum::<i64>(), std::thread::current().id() == here))
        });
        let sums: Vec<_> = sums.map(Result::unwrap).collect();
        let inline = threads == 0;
        assert_eq!(sums, [(0, 2, inline), (1, 3 + 4 + 5, inline), (2, 6 + 7, inline)]);
    }
}

#[test]
fn errors_and_panics_of_the_work_are_results() {
    let scan = Scan::new(counted("a", &[1; 4]).arc()).threads(2);
    let results = scan.map_shards(|shard| match shard.shard.number {
        1 => Err(Error::new(
            Kind::Invalid,
            "test/refused",
            Place::default(),
            "expected another shard",
        )),
        2 => panic!("on purpose"),
        n => Ok(n),
    });
    let codes: Vec<_> = results.map(|r| r.map_err(|e| e.code())).collect();
    assert_eq!(codes, [Ok(0), Err("test/refused"), Err("exec/thread_died"), Ok(3)]);
}

/// A collection whose rows can be had in any runs, but not all of them.
struct Windows {
    inner: Arc<dyn Collection>,
    found: u64,
}

impl Collection for Windows {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn len(&self) -> u64 {
        self.inner.len()
    }

    fn shard_count(&self) -> u64 {
        self.inner.shard_count()
    }

    fn schema(&self) -> &Arc<Schema> {
        self.inner.schema()
    }

    fn shards(&self, from: u64) -> Box<dyn Iterator<Item = Result<ShardRef>> + Send> {
        self.inner.shards(from)
    }

    fn window(&self, rows: Range<u64>) -> Option<ShardRef> {
        let shard = self.inner.shards(rows.start).next()?.ok()?;
        (rows.start < self.found).then_some(shard)
    }

    fn read(
        &self,
        shard: &ShardRef,
        _: Option<&[usize]>,
        context: &mut ReadContext,
    ) -> Result<Batch> {
        self.inner.read(shard, None, context)
    }
}

#[test]
fn samples_that_no_window_finds_are_told_of() {
    for threads in [0, 2] {
        let collection = |found| {
            let inner = counted("a", &[4, 4, 4]).arc();
            Arc::new(Windows { inner, found })
        };
        let batches = |found| Scan::new(collection(found)).threads(threads).batches(4).unwrap();
        let rows = |batch: Result<Batch>| batch.map(|batch| batch.rows()).map_err(|e| e.code());
        assert_eq!(batches(12).map(rows).collect::<Vec<_>>(), [Ok(4); 3]);
        assert_eq!(
            batches(8).map(rows).collect::<Vec<_>>(),
            [Ok(4), Ok(4), Err("ops/missing_sample")]
        );
    }
}
