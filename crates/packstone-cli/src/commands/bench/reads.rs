//! Reading a collection in three ways.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use packstone::format::{Collection, ReadContext};
use packstone::loader::Loader;
use packstone::model::Batch;
use packstone::ops::{Scan, gather};

use super::Rate;
use crate::failure::Outcome;
use crate::interrupt;

/// What the first epoch of a loader is called.
const FIRST: &str = "first epoch, checksums compared";

/// Random reads of a round.
const READS: u64 = 200;

/// Runs `work` in rounds; the median time with what one round did.
pub(super) fn median(
    rounds: usize,
    mut work: impl FnMut() -> Outcome<(u64, u64)>,
) -> Outcome<(u64, u64, Duration)> {
    let mut times = Vec::with_capacity(rounds);
    let mut done = (0, 0);
    for _ in 0..rounds {
        interrupt::check()?;
        let start = Instant::now();
        done = work()?;
        times.push(start.elapsed());
    }
    times.sort_unstable();
    let time = times.get(times.len() / 2).copied().unwrap_or_default();
    Ok((done.0, done.1, time))
}

/// An epoch of a loader: the first one, in which recorded checksums are compared, and the median of others.
pub(super) fn batches(loader: &mut Loader, rounds: usize) -> Outcome<[Rate; 2]> {
    let what = match loader.order().name() {
        "sequential" => format!("batches of {}", loader.share().batch()),
        order => format!("batches of {}, {order}", loader.share().batch()),
    };
    let threads = loader.threads();
    let mut rate = |what: &str, rounds| -> Outcome<Rate> {
        let (samples, bytes, time) = median(rounds, || epoch(loader))?;
        Ok(Rate { what: what.to_owned(), threads, samples, bytes, time })
    };
    Ok([rate(FIRST, 1)?, rate(&what, rounds)?])
}

/// The same epoch each time.
fn epoch(loader: &mut Loader) -> Outcome<(u64, u64)> {
    loader.set_epoch(0);
    add_up(loader.by_ref().map(|delivery| {
        let delivery = delivery?;
        let fresh = delivery.mask.iter().filter(|fresh| **fresh).count();
        Ok((fresh as u64, black_box(tell(&delivery.batch)).1))
    }))
}

/// Sample by sample, every byte of every value added up where it was decoded.
pub(super) fn samples(
    collection: &Arc<dyn Collection>,
    threads: usize,
    rounds: usize,
) -> Outcome<Rate> {
    let (samples, bytes, time) = median(rounds, || {
        let scan = Scan::new(Arc::clone(collection)).threads(threads);
        add_up(scan.shards().map(|shard| {
            let batch = shard?.batch;
            for value in batch.samples().flat_map(|sample| sample.values()) {
                black_box(value.bytes.iter().fold(0u64, |sum, byte| sum + u64::from(*byte)));
            }
            Ok(tell(&batch))
        }))
    })?;
    Ok(Rate { what: "sample by sample".to_owned(), threads, samples, bytes, time })
}

/// Single samples anywhere, each as a read of its own.
pub(super) fn random(collection: &Arc<dyn Collection>, rounds: usize) -> Outcome<Rate> {
    let len = collection.len();
    let mut context = ReadContext::default();
    // A fixed sequence of a full-period generator: every run reads the same samples.
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let (samples, bytes, time) = median(rounds, || {
        let indices = (0..READS.min(len)).map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % len.max(1)
        });
        add_up(indices.map(|index| {
            gather(collection.as_ref(), &[index], None, &mut context).map(|b| black_box(tell(&b)))
        }))
    })?;
    Ok(Rate { what: "random samples".to_owned(), threads: 1, samples, bytes, time })
}

fn tell(batch: &Batch) -> (u64, u64) {
    (batch.rows() as u64, batch.value_bytes())
}

fn add_up(parts: impl Iterator<Item = packstone::Result<(u64, u64)>>) -> Outcome<(u64, u64)> {
    let mut sum = (0u64, 0u64);
    for part in parts {
        interrupt::check()?;
        let (samples, bytes) = part?;
        sum = (sum.0 + samples, sum.1 + bytes);
    }
    Ok(sum)
}
