//! SignalDataset: writing and publishing, iterating, single records, metadata, opening.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use packstone::exec::Pipeline;
use packstone::format::{Plan, Writer};
use packstone::formats::sds::parts::own::RECORDS;
use packstone::formats::sds::reader::SdsDataset;
use packstone::formats::sds::writer::{SdsWriter, WriteOptions};
use packstone::json::Object;
use packstone::model::Batch;
use packstone::ops::Scan;
use packstone::{Limits, LocalRoot, Result, site};
use packstone_container::codec::{Codec, Encoder, Encoding};
use packstone_io::{AlignedBuf, Buf};

use crate::measure::{Done, Request, indices};

/// Records that are read one at a time.
const SINGLES: u64 = 1_024;
/// Rows that a thread reads at once.
const ROWS: u16 = 1_024;
/// Records in a shard, as the original's side has it.
const PER_SHARD: u64 = 8_192;
const MODES: &[usize] = &[0, 1, 2, 3];

/// Measures the base rates and all figures.
pub(crate) fn measure(request: &Request) -> Result<()> {
    let memory = OnceLock::new();
    let samples = || in_memory(request, &memory);
    if request.wants("write") || request.wants("iterate") || request.wants_load() {
        base(request, samples()?);
    }
    request.figure("write", MODES, |threads| write(request, samples()?, threads))?;
    request.figure("iterate", MODES, |threads| iterate(request, threads))?;
    request.figure("record", &[0], |_| singles(request))?;
    request.figure("metadata", MODES, |threads| metadata(request, threads))?;
    request.figure("open", &[0], |_| {
        dataset(request)?;
        let start = Instant::now();
        let dataset = dataset(request)?;
        Ok(Done { samples: dataset.len(), ..Done::default() }.since(start))
    })
}

/// `memcpy` of the larger field's values, and `encode` and `decode` of each as Zstandard.
fn base(request: &Request, batches: &[Batch]) {
    let largest = |batch: &Batch| {
        let columns = batch.columns().iter();
        let column = columns.max_by_key(|column| column.buf(0).map_or(0, |first| first.len()));
        column.map_or_else(Vec::new, |column| {
            (0..column.rows()).filter_map(|row| column.buf(row)).collect::<Vec<Buf>>()
        })
    };
    let values: Vec<Buf> = batches.iter().flat_map(largest).collect();
    let mut encoder = Encoder::new();
    let encoded = values.iter().map(|value| {
        let mut out = AlignedBuf::default();
        let _ = encoder.encode(Encoding::new(Codec::Zstd), value, &mut out);
        Buf::from(out)
    });
    let encoded: Vec<Buf> = encoded.collect();
    request.memcpy(&values);
    request.encode(Codec::Zstd, &values);
    request.decode(Codec::Zstd, &encoded, &values);
}

fn dataset(request: &Request) -> Result<SdsDataset> {
    SdsDataset::open(site::root(&request.path)?, &Limits::default())
}

/// All records in memory, batch after batch.
fn in_memory<'a>(request: &Request, memory: &'a OnceLock<Vec<Batch>>) -> Result<&'a [Batch]> {
    if memory.get().is_none() {
        let records = packstone::open(&request.path)?.collection(RECORDS)?;
        let parts = Scan::new(records).identities(true).shards();
        let batches = parts.map(|part| Ok(part?.batch));
        let _ = memory.set(batches.collect::<Result<Vec<_>>>()?);
    }
    Ok(memory.get().map(Vec::as_slice).unwrap_or_default())
}

/// Writing and publishing one dataset; the records are in memory before.
fn write(request: &Request, batches: &[Batch], threads: usize) -> Result<Done> {
    let folder = request.scratch()?;
    let mut done = Done::default();
    let start = Instant::now();
    let root = Arc::new(LocalRoot::open(folder.path())?);
    let schema = batches.first().map(|batch| Arc::clone(batch.schema())).unwrap_or_default();
    let plan = Plan { schema, collections: vec![(RECORDS.to_owned(), None)], ..Plan::default() };
    let mut options = WriteOptions::new(&plan, &Object::new())?;
    (options.threads, options.records_per_shard) = (threads, PER_SHARD);
    let mut writer = Box::new(SdsWriter::with_options(root, &plan, options)?);
    for batch in batches {
        writer.write(RECORDS, batch)?;
        add(&mut done, batch);
    }
    writer.finish()?;
    Ok(done.since(start))
}

/// All records in order, with ids and metadata.
fn iterate(request: &Request, threads: usize) -> Result<Done> {
    let records = packstone::open(&request.path)?.collection(RECORDS)?;
    let mut done = Done::default();
    let start = Instant::now();
    for part in Scan::new(records).threads(threads).identities(true).shards() {
        add(&mut done, &part?.batch);
    }
    Ok(done.since(start))
}

fn add(done: &mut Done, batch: &Batch) {
    let named = (0..batch.rows()).filter(|row| batch.identity(*row).is_some()).count();
    assert_eq!(named, batch.rows(), "records without an id");
    done.samples += batch.rows() as u64;
    done.bytes += batch.value_bytes();
}

/// Single records at random.
fn singles(request: &Request) -> Result<Done> {
    let dataset = dataset(request)?;
    let mut done = Done::default();
    let start = Instant::now();
    for index in indices(0, dataset.len(), SINGLES) {
        let record = dataset.record(index)?;
        done.samples += 1;
        done.bytes += record.fields.iter().map(|(_, field)| field.data.len() as u64).sum::<u64>();
    }
    Ok(done.since(start))
}

/// The metadata of all records in order.
fn metadata(request: &Request, threads: usize) -> Result<Done> {
    let dataset = dataset(request)?;
    let len = dataset.len();
    let start = Instant::now();
    let mut pipeline = Pipeline::new(threads, threads * 2 + 1, || {
        let dataset = dataset.clone();
        move |first: u64| dataset.rows(first..len.min(first + u64::from(ROWS)))
    });
    let mut firsts = (0..len).step_by(usize::from(ROWS));
    let (mut samples, mut valid) = (0, 0);
    loop {
        while pipeline.has_room() {
            let Some(first) = firsts.next() else { break };
            pipeline.submit(first);
        }
        let Some(rows) = pipeline.next_result() else { break };
        for row in rows?? {
            samples += 1;
            valid += u64::from(
                row.metadata.get("valid").is_some_and(|valid| valid.as_bool() == Some(true)),
            );
        }
    }
    let done = Done { samples, ..Done::default() }.since(start);
    assert!(samples == len && 0 < valid && valid < len, "rows that were not read");
    Ok(done)
}
