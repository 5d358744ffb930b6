//! The loader on any format: every sample once in order, shuffled, and drawn by weight; with first-touch checks; and what
//! comes before the first batch, and before one elsewhere.

use std::sync::Arc;
use std::time::{Duration, Instant};

use packstone::format::{Collection, Dataset};
use packstone::loader::{
    Fingerprint, Loader, LoaderOptions, Order, Sequential, Share, Shuffled, Weighted, Weights,
};
use packstone::random::nth;
use packstone::{Result, open};

use crate::measure::{Done, Request};

const BATCH: u64 = 256;
const SEED: u64 = 7;
/// Threads of the figures; their names end with them.
const THREADS: [usize; 2] = [1, 2];

/// Measures the figures of the loader that are asked for.
pub(crate) fn measure(request: &Request) -> Result<()> {
    for threads in THREADS {
        let figure = |what: &str, order: &dyn Fn(u64) -> Result<Arc<dyn Order>>, verify| {
            let name = format!("{what}-{threads}");
            request.figure(&name, &[threads], |threads| load(request, order, threads, verify))
        };
        figure("load-sequential", &sequential, false)?;
        figure("load-shuffled", &shuffled, false)?;
        figure("load-weighted", &weighted, false)?;
        figure("load-verified", &sequential, true)?;
    }
    request.figure("load-start", &[2], |threads| start(request, threads))?;
    request.figure("load-seek", &[2], |threads| seek(request, threads))
}

fn sequential(samples: u64) -> Result<Arc<dyn Order>> {
    Ok(Arc::new(Sequential::new(samples)))
}

fn shuffled(samples: u64) -> Result<Arc<dyn Order>> {
    Ok(Arc::new(Shuffled::new(samples, SEED)?))
}

/// As many draws as there are samples, by weights of 1 to 9.
fn weighted(samples: u64) -> Result<Arc<dyn Order>> {
    let weights = (0..samples).map(|sample| (1 + nth(SEED, sample) % 9) as f64);
    Ok(Arc::new(Weighted::new(Arc::new(Weights::new(weights.collect())?), SEED)))
}

/// The largest collection of a dataset that is opened anew.
fn data(request: &Request) -> Result<(Arc<dyn Dataset>, Arc<dyn Collection>)> {
    let dataset = open(&request.path)?;
    let collections = dataset.collections().into_iter().map(|name| dataset.collection(&name));
    let all = collections.collect::<Result<Vec<_>>>()?;
    let largest = all.into_iter().max_by_key(|collection| collection.len());
    let largest = match largest {
        Some(largest) => largest,
        None => dataset.collection("")?,
    };
    Ok((dataset, largest))
}

fn loader(
    request: &Request,
    order: &dyn Fn(u64) -> Result<Arc<dyn Order>>,
    threads: usize,
    verify: bool,
) -> Result<(Loader, Arc<dyn Collection>)> {
    let (dataset, collection) = data(request)?;
    let fingerprint = Fingerprint::of(dataset.as_ref(), collection.as_ref())?;
    let order = order(collection.len())?;
    let options = LoaderOptions::default().with_threads(threads).with_verify(verify);
    let all = vec![Arc::clone(&collection)];
    Ok((Loader::new(all, fingerprint, order, Share::alone(BATCH)?, options)?, collection))
}

/// One epoch; opening and closing are not measured.
fn load(
    request: &Request,
    order: &dyn Fn(u64) -> Result<Arc<dyn Order>>,
    threads: usize,
    verify: bool,
) -> Result<Done> {
    let (loader, _open) = loader(request, order, threads, verify)?;
    let mut done = Done::default();
    let start = Instant::now();
    for delivery in loader {
        let delivery = delivery?;
        done.samples += delivery.mask.iter().filter(|fresh| **fresh).count() as u64;
        done.bytes += delivery.batch.value_bytes();
    }
    Ok(done.since(start))
}

/// From nothing to the first batch from the middle of a shuffled epoch.
fn start(request: &Request, threads: usize) -> Result<Done> {
    let start = Instant::now();
    let (mut loader, _open) = loader(request, &shuffled, threads, false)?;
    loader.seek(0, loader.order().len() / 2);
    let first = loader.next().transpose()?;
    Ok(Done { samples: first.map_or(0, |first| first.batch.rows() as u64), ..Done::default() }
        .since(start))
}

/// Standing elsewhere in the epoch, out of the midst of reading; the mean of many times.
fn seek(request: &Request, threads: usize) -> Result<Done> {
    const SEEKS: u32 = 64;
    let (mut loader, _open) = loader(request, &shuffled, threads, false)?;
    let mut sum = Duration::ZERO;
    for number in 0..SEEKS {
        loader.next().transpose()?;
        let position = nth(SEED, u64::from(number)) % loader.order().len().max(1);
        let start = Instant::now();
        loader.seek(0, position);
        sum += start.elapsed();
    }
    let seconds = Some(sum.as_secs_f64() / f64::from(SEEKS));
    Ok(Done { samples: 1, bytes: 0, seconds })
}
