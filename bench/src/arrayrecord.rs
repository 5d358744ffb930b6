//! ArrayRecord: writing, reading in order, one record at a time and in random batches, opening.

use std::fs::File;
use std::io::BufWriter;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Instant;

use packstone::exec::Pipeline;
use packstone::{Error, Kind, Limits, LocalRoot, RelPath, Result, Root};
use packstone_container::array_record::{
    ArrayRecordError, Encoder, Placer, Reader, ReaderOptions, WriteError, Writer, WriterOptions,
};
use packstone_container::codec::{Codec, Encoding};
use packstone_container::riegeli::{ChunkDecoder, EncodedChunk};
use packstone_io::{AlignedBuf, Buf, IoError};

use crate::base::total;
use crate::measure::{Done, Request, indices};

const BATCH: u64 = 256;
/// Records that are read one at a time.
const SINGLES: u64 = 1_024;
/// Bytes of records that are read in batches, about.
const BATCHED_BYTES: u64 = 64 << 20;
/// Bytes of records that a thread encodes, and of file that it decodes, at once.
const PIECE: u64 = 256 << 10;
const MODES: &[usize] = &[0, 1, 2, 3];

/// Measures the base rates and all figures.
pub(crate) fn measure(request: &Request) -> Result<()> {
    let memory = OnceLock::new();
    let records = || in_memory(request, &memory);
    base(request, records()?);
    request.figure("write", MODES, |threads| write(request, records()?, threads))?;
    request.figure("sequential", MODES, |threads| sequential(request, threads))?;
    request.figure("random", &[0], |_| singles(request))?;
    request.figure("random-seek", &[0], |_| singles(request))?;
    request.figure("batched", MODES, |threads| batched(request, threads))?;
    request.figure("open", &[0], |_| {
        open(request)?;
        let start = Instant::now();
        let reader = open(request)?;
        Ok(Done { samples: reader.len(), ..Done::default() }.since(start))
    })
}

/// `memcpy` of records, and `encode` and `decode` of each as Zstandard.
fn base(request: &Request, records: &[Buf]) {
    request.memcpy(records);
    if request.stored == "zstd" {
        let mut encoder = packstone_container::codec::Encoder::new();
        let encoded = records.iter().map(|record| {
            let mut out = AlignedBuf::default();
            let _ = encoder.encode(Encoding::new(Codec::Zstd), record, &mut out);
            Buf::from(out)
        });
        let encoded: Vec<Buf> = encoded.collect();
        request.encode(Codec::Zstd, records);
        request.decode(Codec::Zstd, &encoded, records);
    }
}

fn open(request: &Request) -> Result<Reader> {
    let folder = request.path.parent().unwrap_or(&request.path);
    let name = request.path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let file = LocalRoot::open(folder)?.open(&RelPath::new(name).unwrap_or_default())?;
    Reader::open(file, &ReaderOptions::default(), Limits::default()).map_err(read_error)
}

/// All records in memory, each on its own.
fn in_memory<'a>(request: &Request, memory: &'a OnceLock<Vec<Buf>>) -> Result<&'a [Buf]> {
    if memory.get().is_none() {
        let reader = open(request)?;
        let mut decoder = reader.decoder();
        let records = reader.records(0..reader.len(), &mut decoder).map_err(read_error)?;
        let records = records.map(|record| record.map(|record| Buf::copy_from(&record)));
        let _ = memory.set(records.collect::<Result<_, _>>().map_err(read_error)?);
    }
    Ok(memory.get().map(Vec::as_slice).unwrap_or_default())
}

/// Writing one file; the records are in memory before.
fn write(request: &Request, records: &[Buf], threads: usize) -> Result<Done> {
    let options = if request.stored == "none" { "uncompressed" } else { "zstd" };
    let options: WriterOptions = options.parse().unwrap_or_default();
    let folder = request.scratch()?;
    let done = Done { samples: records.len() as u64, bytes: total(records), seconds: None };
    let start = Instant::now();
    let out = File::create(folder.path().join("new")).map_err(|e| IoError::os("create", "", e))?;
    let out = BufWriter::with_capacity(1 << 20, out);
    let written = if threads == 0 {
        let mut writer = Writer::new(out, &options).map_err(write_error)?;
        records.iter().try_for_each(|record| writer.write(record)).map_err(write_error)?;
        writer.finish()
    } else {
        encoded_on_threads(out, records, &options, threads)?.finish()
    };
    written
        .map_err(write_error)?
        .out
        .into_inner()
        .map_err(|e| write_error(e.into_error().into()))?;
    Ok(done.since(start))
}

/// Encodes pieces of records on threads and places their chunks in order.
fn encoded_on_threads(
    out: BufWriter<File>,
    records: &[Buf],
    options: &WriterOptions,
    threads: usize,
) -> Result<Placer<BufWriter<File>>> {
    let mut placer = Placer::new(out, options).map_err(write_error)?;
    let mut pipeline = Pipeline::new(threads, threads * 2 + 1, || {
        let encoder = Mutex::new(Encoder::new(options));
        move |records: Vec<Buf>| {
            let mut encoder = encoder.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            let encoder = encoder.as_mut().map_err(|_| WriteError::Transpose)?;
            let chunk = |record: &Buf| {
                let mut chunk = EncodedChunk::default();
                encoder.encode(&[record], &mut chunk).map(|()| chunk)
            };
            records.iter().map(chunk).collect::<Result<Vec<_>, _>>()
        }
    });
    let each = (total(records) / records.len().max(1) as u64).max(1);
    let per_piece = usize::try_from(PIECE / each).unwrap_or(usize::MAX).max(1);
    let mut pieces = records.chunks(per_piece);
    loop {
        while pipeline.has_room() {
            let Some(piece) = pieces.next() else { break };
            pipeline.submit(piece.to_vec());
        }
        match pipeline.next_result() {
            Some(chunks) => {
                let chunks = chunks?.map_err(write_error)?;
                chunks.iter().try_for_each(|chunk| placer.place(chunk)).map_err(write_error)?;
            }
            None => return Ok(placer),
        }
    }
}

/// All records in order.
fn sequential(request: &Request, threads: usize) -> Result<Done> {
    let reader = Arc::new(open(request)?);
    let mut done = Done::default();
    let start = Instant::now();
    if threads == 0 {
        let mut decoder = reader.decoder();
        for record in reader.records(0..reader.len(), &mut decoder).map_err(read_error)? {
            add(&mut done, &record.map_err(read_error)?);
        }
        return Ok(done.since(start));
    }
    let runs: Vec<_> = reader.runs(0, PIECE).collect();
    let work = |reader: &Reader, run: std::ops::Range<u64>, decoder: &mut ChunkDecoder| {
        let (first, last) =
            (reader.records_of(run.start).start, reader.records_of(run.end - 1).end);
        reader.records(first..last, decoder)?.collect::<Result<Vec<_>, _>>()
    };
    drawn(&reader, threads, runs.into_iter(), work, &mut done)?;
    Ok(done.since(start))
}

/// Hands jobs to threads, each with a decoder of its own, and takes their records in order.
fn drawn<J: Send + 'static>(
    reader: &Arc<Reader>,
    threads: usize,
    mut jobs: impl Iterator<Item = J>,
    work: impl Fn(&Reader, J, &mut ChunkDecoder) -> Result<Vec<Buf>, ArrayRecordError>
    + Copy
    + Send
    + Sync
    + 'static,
    done: &mut Done,
) -> Result<()> {
    let mut pipeline = Pipeline::new(threads, threads * 2 + 1, || {
        let (reader, decoder) = (Arc::clone(reader), Mutex::new(reader.decoder()));
        move |job: J| {
            let mut decoder = decoder.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            work(&reader, job, &mut decoder)
        }
    });
    loop {
        while pipeline.has_room() {
            let Some(job) = jobs.next() else { break };
            pipeline.submit(job);
        }
        match pipeline.next_result() {
            Some(records) => {
                records?.map_err(read_error)?.iter().for_each(|record| add(done, record))
            }
            None => return Ok(()),
        }
    }
}

/// Single records at random.
fn singles(request: &Request) -> Result<Done> {
    let reader = open(request)?;
    let mut decoder = reader.decoder();
    let wanted = indices(0, reader.len(), SINGLES);
    let mut done = Done::default();
    let start = Instant::now();
    for index in wanted {
        add(&mut done, &reader.record(index, &mut decoder).map_err(read_error)?);
    }
    Ok(done.since(start))
}

/// Random records in batches.
fn batched(request: &Request, threads: usize) -> Result<Done> {
    let reader = Arc::new(open(request)?);
    let each = (reader.file_len() / reader.len()).max(1);
    let steps = (BATCHED_BYTES / each / BATCH).max(1);
    let batches: Vec<_> = (0..steps).map(|step| indices(step, reader.len(), BATCH)).collect();
    let mut done = Done::default();
    let start = Instant::now();
    let work = |reader: &Reader, batch: Vec<u64>, decoder: &mut ChunkDecoder| {
        reader.gather(&batch, decoder)
    };
    drawn(&reader, threads, batches.into_iter(), work, &mut done)?;
    Ok(done.since(start))
}

fn add(done: &mut Done, record: &[u8]) {
    done.samples += 1;
    done.bytes += record.len() as u64;
}

fn read_error(error: ArrayRecordError) -> Error {
    Error::new(Kind::Corrupt, "bench/failed", Default::default(), error.to_string())
}

fn write_error(error: WriteError) -> Error {
    Error::new(Kind::Io, "bench/failed", Default::default(), error.to_string())
}
