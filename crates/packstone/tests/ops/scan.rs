//! Work on the reading threads.

use packstone::ops::Scan;
use packstone::{Error, Kind, Place};

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
