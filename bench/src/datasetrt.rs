//! DatasetRT: writing, reading in order and at random, opening, filtering by metadata.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use packstone::expr::Expr;
use packstone::format::Collection;
use packstone::formats::datasetrt::document::Algo;
use packstone::formats::datasetrt::options::{OpenOptions, WriterOptions};
use packstone::formats::datasetrt::parts::joint::Joint;
use packstone::formats::datasetrt::parts::runtime::{Pass, ReaderConfig, Runtime};
use packstone::formats::datasetrt::parts::sampler::{Order, Sampler};
use packstone::formats::datasetrt::parts::table::{ActiveTable, Caches};
use packstone::formats::datasetrt::reader::DatasetRtDataset;
use packstone::formats::datasetrt::writer::CacheWriter;
use packstone::model::Batch;
use packstone::ops::Scan;
use packstone::{Error, Limits, LocalRoot, Result, RootMut, site};
use packstone_container::codec::{Lz4BlockEncoder, decode_lz4_block};
use packstone_io::{AlignedBuf, Buf, Kind};

use crate::measure::{Done, Request};

const BATCH: usize = 256;
const SEED: u64 = 7;
const MODES: &[usize] = &[0, 1, 2, 3];
/// The condition of the filter figure, as the original's side has it.
const CONDITION: &str = "split == 'train' and score >= 0.5 and valid";

/// Measures the base rates and all figures.
pub(crate) fn measure(request: &Request) -> Result<()> {
    let memory = OnceLock::new();
    let samples = || in_memory(request, &memory);
    if request.wants("write") || request.wants("ordered-1") || request.wants_load() {
        base(request, samples()?);
    }
    request.figure("write", MODES, |threads| write(request, samples()?, threads))?;
    for threads in [1, 2] {
        for (order, shuffle) in [("ordered", false), ("shuffled", true)] {
            let figure = format!("{order}-{threads}");
            request.figure(&figure, &[threads], |threads| samples_of(request, threads, shuffle))?;
            let figure = format!("{order}-batches-{threads}");
            request.figure(&figure, &[threads], |threads| batches_of(request, threads, shuffle))?;
        }
    }
    request.figure("open", &[0], |_| {
        let start = Instant::now();
        let data = data(request)?;
        Ok(Done { samples: data.len(), ..Done::default() }.since(start))
    })?;
    request.memory("open-memory", || data(request))?;
    request.figure("table", &[0], |_| table(request))?;
    request.figure("filter", &[0], |_| filter(request))
}

/// `memcpy` of payloads, and `sha256`, or `encode` and `decode` of each as an LZ4 block.
fn base(request: &Request, batches: &[Batch]) {
    let columns = || batches.iter().filter_map(|batch| batch.columns().first());
    let payloads: Vec<Buf> =
        columns().flat_map(|column| (0..column.rows()).filter_map(|row| column.buf(row))).collect();
    request.memcpy(&payloads);
    request.sha256(&payloads);
    if request.stored != "lz4" {
        return;
    }
    let bytes = crate::base::total(&payloads);
    request.base("encode", bytes, &payloads, || {
        let (mut encoder, mut out) = (Lz4BlockEncoder::default(), AlignedBuf::default());
        move |payload: &Buf| {
            out.clear();
            let _ = std::hint::black_box(encoder.encode(payload, &mut out));
        }
    });
    let mut encoder = Lz4BlockEncoder::default();
    let encoded: Vec<(u64, Buf)> = payloads
        .iter()
        .map(|payload| {
            let mut out = AlignedBuf::default();
            let _ = encoder.encode(payload, &mut out);
            (payload.len() as u64, Buf::from(out))
        })
        .collect();
    request.base("decode", bytes, &encoded, || {
        let mut out = AlignedBuf::default();
        move |(len, block): &(u64, Buf)| {
            out.clear();
            let _ =
                std::hint::black_box(decode_lz4_block(block, *len, &mut out, &Limits::default()));
        }
    });
}

/// All samples in memory, batch after batch.
fn in_memory<'a>(request: &Request, memory: &'a OnceLock<Vec<Batch>>) -> Result<&'a [Batch]> {
    if memory.get().is_none() {
        let all = Scan::new(data(request)?).batches(BATCH)?.collect::<Result<Vec<_>>>()?;
        let _ = memory.set(all);
    }
    Ok(memory.get().map(Vec::as_slice).unwrap_or_default())
}

fn dataset(request: &Request) -> Result<DatasetRtDataset> {
    DatasetRtDataset::open(site::root(&request.path)?, &OpenOptions::default(), &Limits::default())
}

/// The samples of a cache that is opened anew, as the original's runs do it.
fn data(request: &Request) -> Result<Arc<dyn Collection>> {
    let dataset = packstone::open(&request.path)?;
    let name = dataset.collections().into_iter().next().unwrap_or_default();
    dataset.collection(&name)
}

/// Writing one cache; the samples are in memory before.
fn write(request: &Request, batches: &[Batch], threads: usize) -> Result<Done> {
    let temp = request.scratch()?;
    let mut done = Done::default();
    let start = Instant::now();
    let root: Arc<dyn RootMut> = Arc::new(LocalRoot::open(temp.path())?);
    let mut options = WriterOptions::default();
    options.threads = threads;
    options.algo = if request.stored == "lz4" { Algo::Lz4 } else { Algo::None };
    let schema = batches.first().map(|batch| Arc::clone(batch.schema())).unwrap_or_default();
    let mut writer = CacheWriter::create(root, "cache", &schema, None, &options)?;
    for batch in batches {
        writer.write(batch)?;
        done.samples += batch.rows() as u64;
        done.bytes += batch.value_bytes();
    }
    writer.finish()?;
    Ok(done.since(start))
}

/// All samples, or as many drawn at random, one after another, as the original hands them out.
fn samples_of(request: &Request, threads: usize, shuffle: bool) -> Result<Done> {
    let pass = pass(request, threads, shuffle)?;
    let mut done = Done::default();
    let start = Instant::now();
    for sample in pass.samples() {
        let sample = sample?;
        assert!(!sample.view().metadata()?.is_empty(), "a sample without metadata");
        done.samples += 1;
        done.bytes += sample.view().value(0).map_or(0, |payload| payload.bytes.len() as u64);
    }
    Ok(done.since(start))
}

/// The same, copied out in batches with their metadata.
fn batches_of(request: &Request, threads: usize, shuffle: bool) -> Result<Done> {
    let pass = pass(request, threads, shuffle)?;
    let mut done = Done::default();
    let start = Instant::now();
    for drawn in pass.metadata(true).batches(BATCH)? {
        let batch = drawn?.into_batch().ok_or_else(|| failed("batches"))?;
        let metadata = (0..batch.rows()).filter(|row| batch.metadata(*row).is_some()).count();
        assert_eq!(metadata, batch.rows(), "samples without metadata");
        done.samples += batch.rows() as u64;
        done.bytes += batch.value_bytes();
    }
    Ok(done.since(start))
}

/// An epoch of a cache that is opened anew, as the original's runs do it.
fn pass(request: &Request, threads: usize, shuffle: bool) -> Result<Pass> {
    let config = ReaderConfig::new(SEED).with_shuffle(shuffle);
    Ok(Runtime::new(threads).open(vec![site::root(&request.path)?], &config)?.pass())
}

/// The metadata of all samples as a table.
fn table(request: &Request) -> Result<Done> {
    let dataset = dataset(request)?;
    let start = Instant::now();
    let rows = active(&dataset)?.to_table()?.rows();
    Ok(Done { samples: rows as u64, ..Done::default() }.since(start))
}

/// Drawing on only from the samples that a condition over their metadata holds for.
fn filter(request: &Request) -> Result<Done> {
    let active = active(&dataset(request)?)?;
    let mut sampler = Sampler::new(active.population(), Order::Shuffled(SEED))?;
    let table = active.to_table()?;
    let start = Instant::now();
    let kept = active.filter(&Expr::parse(CONDITION)?.select(&table)?)?;
    sampler.replace(kept.population())?;
    let done = Done { samples: active.rows() as u64, ..Done::default() }.since(start);
    assert!(kept.rows() > 0 && kept.rows() < active.rows(), "nothing was filtered");
    Ok(done)
}

/// The table that samples are drawn from.
fn active(dataset: &DatasetRtDataset) -> Result<ActiveTable> {
    let caches = dataset.joint().map(Joint::caches).unwrap_or_default();
    let listed = caches.iter().map(|cache| (cache.cache_id, cache.samples())).collect();
    let parts = caches.iter().map(|cache| {
        cache.table()?.table().map_err(|error| failed(&format!("a table, found {error}")))
    });
    let parts = parts.collect::<Result<Vec<_>>>()?;
    let caches = Caches::new(listed).ok_or_else(|| failed("caches that go together"))?;
    ActiveTable::new(Arc::new(caches), &parts)
}

fn failed(what: &str) -> Error {
    Error::new(Kind::Invalid, "bench/failed", Default::default(), format!("expected {what}"))
}
