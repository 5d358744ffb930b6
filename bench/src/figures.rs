//! The figures: what a user does with a dataset, through packstone's public interface.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use packstone::format::{Collection, Dataset, ReadContext};
use packstone::formats::sedpack::Sedpack;
use packstone::formats::sedpack::options::{FillerOptions, Structure};
use packstone::formats::sedpack::reader::SedpackDataset;
use packstone::formats::sedpack::writer::{Filler, create};
use packstone::model::Batch;
use packstone::ops::{Scan, VerifyOptions, gather, verify};
use packstone::{Limits, LocalRoot, RelPath, Result, Root, RootMut};

use crate::measure::{Done, Figure};

const BATCH: usize = 256;
/// Samples that the random figure reads.
const RANDOM: u64 = 200;

/// All figures by name.
pub(crate) const ALL: &[(&str, Figure)] = &[
    ("write", write),
    ("examples", examples),
    ("batches", batches),
    ("verify", check),
    ("random", random),
];

/// One dataset of the benchmarks.
pub(crate) struct Set {
    /// Its name.
    pub(crate) name: String,
    folder: PathBuf,
    /// The open dataset.
    pub(crate) dataset: Arc<SedpackDataset>,
    samples: u64,
    example_bytes: u64,
    memory: std::sync::OnceLock<Vec<Batch>>,
}

impl Set {
    /// Opens the set that `make_data.py` wrote.
    pub(crate) fn open(data: &Path, name: &str, compression: &str) -> Result<Self> {
        let folder = data.join(format!("{name}-{}", compression.to_lowercase()));
        let root = Arc::new(LocalRoot::open(&folder)?);
        let dataset = Arc::new(SedpackDataset::open(root, &Limits::default())?);
        let fields = &dataset.document().schema.fields;
        let example_bytes = fields.iter().filter_map(packstone::model::Field::value_bytes).sum();
        let samples = dataset.collection("train")?.len();
        let memory = std::sync::OnceLock::new();
        Ok(Self { name: name.to_owned(), folder, dataset, samples, example_bytes, memory })
    }

    /// The compression as Sedpack names it.
    pub(crate) fn compression(&self) -> &'static str {
        self.dataset.document().compression.name()
    }

    /// The root of the dataset.
    pub(crate) fn root(&self) -> Result<Arc<dyn Root>> {
        Ok(Arc::new(LocalRoot::open(&self.folder)?))
    }

    /// The only split.
    pub(crate) fn train(&self) -> Result<Arc<dyn Collection>> {
        self.dataset.collection("train")
    }

    fn values(&self) -> Done {
        Done { samples: self.samples, bytes: self.samples * self.example_bytes, seconds: None }
    }

    /// All samples in memory, batch after batch.
    fn in_memory(&self) -> Result<&[Batch]> {
        if self.memory.get().is_none() {
            let all = Scan::new(self.train()?).batches(BATCH)?.collect::<Result<Vec<_>>>()?;
            let _ = self.memory.set(all);
        }
        Ok(self.memory.get().map(Vec::as_slice).unwrap_or_default())
    }
}

/// Creating, filling and publishing a dataset; the samples are in memory before.
fn write(set: &Set, threads: usize) -> Result<Done> {
    let batches = set.in_memory()?;
    let parent = set.folder.parent().unwrap_or(&set.folder);
    let temp = tempfile::tempdir_in(parent)
        .map_err(|e| packstone_io::IoError::os("create", "a folder", e))?;
    let start = Instant::now();
    let root: Arc<dyn RootMut> = Arc::new(LocalRoot::open(temp.path())?);
    let info = set.dataset.document();
    let mut structure = Structure::default();
    structure.compression = info.compression;
    create(root.as_ref(), Arc::clone(&info.schema), &structure, &packstone::json::Object::new())?;
    let options = FillerOptions::default().with_threads(threads);
    let mut filler = Filler::open(root, &RelPath::root(), options)?;
    for batch in batches {
        filler.write("train", batch)?;
    }
    filler.finish()?;
    Ok(Done { seconds: Some(start.elapsed().as_secs_f64()), ..set.values() })
}

/// One example after the other.
fn examples(set: &Set, threads: usize) -> Result<Done> {
    let (mut count, mut bytes) = (0u64, 0u64);
    for shard in Scan::new(set.train()?).threads(threads).shards() {
        for sample in shard?.batch.samples() {
            bytes += sample.values().map(|v| v.bytes.len() as u64).sum::<u64>();
            count += 1;
        }
    }
    Ok(Done { samples: count, bytes, seconds: None })
}

/// Batches of 256, copied into dense arrays.
fn batches(set: &Set, threads: usize) -> Result<Done> {
    let (mut count, mut bytes) = (0u64, 0u64);
    for batch in Scan::new(set.train()?).threads(threads).batches(BATCH)? {
        let batch = batch?;
        count += batch.rows() as u64;
        bytes += batch.value_bytes();
    }
    Ok(Done { samples: count, bytes, seconds: None })
}

/// The whole check: checksums, decoding, counts.
fn check(set: &Set, threads: usize) -> Result<Done> {
    let options = VerifyOptions { threads, ..VerifyOptions::default() };
    let report = verify(&Sedpack, set.root()?, &options, None)?;
    assert!(report.is_clean(), "the benchmark's data is damaged");
    let files = walk(&set.folder);
    Ok(Done { samples: set.samples, bytes: files, seconds: None })
}

fn walk(folder: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    let size = |entry: std::fs::DirEntry| match entry.metadata() {
        Ok(meta) if meta.is_dir() => walk(&entry.path()),
        Ok(meta) => meta.len(),
        Err(_) => 0,
    };
    entries.flatten().map(size).sum()
}

/// Single samples by index, all over the dataset.
fn random(set: &Set, _threads: usize) -> Result<Done> {
    let train = set.train()?;
    let mut context = ReadContext::default();
    let mut bytes = 0;
    for n in 0..RANDOM {
        // A full walk in steps that share no divisor with most lengths.
        let index = n.wrapping_mul(0x9e37_79b9_7f4a_7c15) % set.samples;
        bytes += gather(train.as_ref(), &[index], None, &mut context)?.value_bytes();
    }
    Ok(Done { samples: RANDOM, bytes, seconds: None })
}
