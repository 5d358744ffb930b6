//! Sedpack: what a user does with a dataset, through packstone's public interface.

use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use packstone::format::{Collection, Dataset, ReadContext};
use packstone::formats::sedpack::Sedpack;
use packstone::formats::sedpack::options::{FillerOptions, Structure};
use packstone::formats::sedpack::reader::SedpackDataset;
use packstone::formats::sedpack::writer::{Filler, create};
use packstone::model::{Batch, Field};
use packstone::ops::{Scan, VerifyOptions, gather, verify};
use packstone::{Error, Limits, LocalRoot, RelPath, Result, Root, RootMut};
use packstone_container::codec::{Codec, Decoder};
use packstone_io::{AlignedBuf, Buf, Kind};

use crate::measure::{Done, Request, indices};

const BATCH: usize = 256;
/// Samples that the random figure reads.
const RANDOM: u64 = 200;
const MODES: &[usize] = &[0, 1, 2, 3];

/// Measures the base rates and all figures.
pub(crate) fn measure(request: &Request) -> Result<()> {
    let set = Set::open(request)?;
    set.base()?;
    request.figure("write", MODES, |threads| set.write(threads))?;
    request.figure("examples", MODES, |threads| set.examples(threads))?;
    request.figure("batches", MODES, |threads| set.batches(threads))?;
    request.figure("verify", MODES, |threads| set.verify(threads))?;
    request.figure("random", &[0], |_| set.random())
}

/// One dataset of the benchmarks.
struct Set<'a> {
    request: &'a Request,
    dataset: Arc<SedpackDataset>,
    train: Arc<dyn Collection>,
    values: Done,
    memory: OnceLock<Vec<Batch>>,
}

impl<'a> Set<'a> {
    fn open(request: &'a Request) -> Result<Self> {
        let root = Arc::new(LocalRoot::open(&request.path)?);
        let dataset = Arc::new(SedpackDataset::open(root, &Limits::default())?);
        let fields = &dataset.document().schema.fields;
        let example: u64 = fields.iter().filter_map(Field::value_bytes).sum();
        let train = dataset.collection("train")?;
        let values = Done { samples: train.len(), bytes: train.len() * example, seconds: None };
        Ok(Self { request, dataset, train, values, memory: OnceLock::new() })
    }

    fn root(&self) -> Result<Arc<dyn Root>> {
        Ok(Arc::new(LocalRoot::open(&self.request.path)?))
    }

    /// `memcpy`, `sha256`, for uncompressed sets `mapcopy` (each file mapped, copied once and unmapped), and for
    /// compressed ones `decode`, `decodecopy` and `encode`.
    fn base(&self) -> Result<()> {
        let root = self.root()?;
        let paths =
            self.train.shards(0).map(|shard| Ok(shard?.path)).collect::<Result<Vec<_>>>()?;
        let files = paths.iter().map(|path| Ok(root.read(path)?)).collect::<Result<Vec<Buf>>>()?;
        let info = self.dataset.document();
        let codec = info.compression.codec(info.shard_type);
        let plain = decode_all(&files, codec)?;
        self.request.memcpy(&plain);
        self.request.sha256(&files);
        if codec != Codec::None {
            self.request.decode(codec, &files, &plain);
            self.request.decode_copy(codec, &files, &plain);
            self.request.encode(codec, &plain);
            return Ok(());
        }
        self.request.base("mapcopy", crate::base::total(&files), &paths, || {
            let (root, mut target) = (Arc::clone(&root), AlignedBuf::default());
            move |path: &RelPath| {
                target.clear();
                if let Ok(file) = root.read(path) {
                    let _ = target.extend_from_slice(&file);
                }
            }
        });
        Ok(())
    }

    /// All samples in memory, batch after batch.
    fn in_memory(&self) -> Result<&[Batch]> {
        if self.memory.get().is_none() {
            let all = Scan::new(Arc::clone(&self.train)).batches(BATCH)?;
            let _ = self.memory.set(all.collect::<Result<Vec<_>>>()?);
        }
        Ok(self.memory.get().map(Vec::as_slice).unwrap_or_default())
    }

    /// Creating, filling and publishing a dataset; the samples are in memory before.
    fn write(&self, threads: usize) -> Result<Done> {
        let batches = self.in_memory()?;
        let temp = self.request.scratch()?;
        let start = Instant::now();
        let root: Arc<dyn RootMut> = Arc::new(LocalRoot::open(temp.path())?);
        let info = self.dataset.document();
        let mut structure = Structure::default();
        structure.compression = info.compression;
        let about = packstone::json::Object::new();
        create(root.as_ref(), Arc::clone(&info.schema), &structure, &about)?;
        let options = FillerOptions::default().with_threads(threads);
        let mut filler = Filler::open(root, &RelPath::root(), options)?;
        for batch in batches {
            filler.write("train", batch)?;
        }
        filler.finish()?;
        Ok(self.values.since(start))
    }

    /// One example after the other.
    fn examples(&self, threads: usize) -> Result<Done> {
        let mut done = Done::default();
        for shard in Scan::new(Arc::clone(&self.train)).threads(threads).shards() {
            for sample in shard?.batch.samples() {
                done.bytes += sample.values().map(|v| v.bytes.len() as u64).sum::<u64>();
                done.samples += 1;
            }
        }
        Ok(done)
    }

    /// Batches of 256, copied into dense arrays.
    fn batches(&self, threads: usize) -> Result<Done> {
        let mut done = Done::default();
        for batch in Scan::new(Arc::clone(&self.train)).threads(threads).batches(BATCH)? {
            let batch = batch?;
            done.samples += batch.rows() as u64;
            done.bytes += batch.value_bytes();
        }
        Ok(done)
    }

    /// The whole check: checksums, decoding, counts.
    fn verify(&self, threads: usize) -> Result<Done> {
        let options = VerifyOptions { threads, ..VerifyOptions::default() };
        let report = verify(&Sedpack, self.root()?, &options, None)?;
        assert!(report.is_clean(), "the benchmark's data is damaged");
        Ok(Done { bytes: walk(&self.request.path), ..self.values })
    }

    /// Single samples by index, all over the dataset.
    fn random(&self) -> Result<Done> {
        let mut context = ReadContext::default();
        let mut bytes = 0;
        for index in indices(0, self.train.len(), RANDOM) {
            bytes += gather(self.train.as_ref(), &[index], None, &mut context)?.value_bytes();
        }
        Ok(Done { samples: RANDOM, bytes, seconds: None })
    }
}

fn decode_all(files: &[Buf], codec: Codec) -> Result<Vec<Buf>> {
    let mut decoder = Decoder::new();
    let decode = |file: &Buf| {
        let mut out = AlignedBuf::default();
        decoder.decode(codec, file, &mut out, &Limits::default()).map_err(|e| {
            Error::new(Kind::Corrupt, "bench/decode", Default::default(), e.to_string())
        })?;
        Ok(Buf::from(out))
    };
    files.iter().map(decode).collect()
}

/// Bytes of all files in a folder.
fn walk(folder: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    let size = |entry: std::fs::DirEntry| match entry.metadata() {
        Ok(meta) if meta.is_dir() => walk(&entry.path()),
        Ok(meta) => meta.len(),
        Err(_) => 0,
    };
    entries.flatten().map(size).sum()
}
