//! What shuffled epochs take of memory: a dataset of 4 GiB is made by the format's own writer, then read in a process
//! of its own through a window of 256 MiB.
//!
//! `packstone-bench FORMAT --path FOLDER --stored HOW --what load-memory` makes the dataset in a folder beside `FOLDER`
//! that is gone afterwards. The line has two peaks: `anonymous` is memory that is the process's own, which is what the
//! window bounds; `resident` counts touched pages of mapped files too, which are the page cache's and cost nobody else's.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use packstone::format::{Collection, Dataset, Info, ReadContext, ShardRef};
use packstone::json::Object;
use packstone::loader::{Blocks, Fingerprint, Loader, LoaderOptions, Order, Share, Shuffled};
use packstone::model::{Batch, Column, DType, Field, Schema};
use packstone::ops::{ConvertOptions, convert};
use packstone::random::nth;
use packstone::{Error, Kind, Place, RelPath, Result, open, registry, site};
use packstone_io::{Buf, IoError};

use crate::measure::{Done, Request, print, status};

/// Bytes of a sample, and samples of a shard: 256 shards of 16 MiB.
const SAMPLE: usize = 16 << 10;
const SHARD: u64 = 1 << 10;
const SAMPLES: u64 = 256 << 10;
const BATCH: u64 = 256;
const WINDOW: u64 = 256 << 20;
const SEED: u64 = 7;
/// Says to this program that the dataset is there.
const INSIDE: &str = "PACKSTONE_BENCH_INSIDE";
/// A full shuffle, and one of 8 shards at a time.
const FIGURES: [&str; 2] = ["load-memory", "load-memory-blocks"];

/// Measures what is asked for of a format; true where that was something.
pub(crate) fn measure(format: &str, request: &Request) -> Result<bool> {
    let wanted: Vec<&str> = FIGURES.into_iter().filter(|what| request.wants(what)).collect();
    if wanted.is_empty() {
        return Ok(false);
    }
    if std::env::var_os(INSIDE).is_some() {
        wanted.into_iter().try_for_each(|what| epoch(request, what))?;
        return Ok(true);
    }
    let folder = request.scratch()?;
    let name = match (format, request.stored.as_str()) {
        ("arrayrecord", _) => "made.arrayrecord",
        ("tensordict", "stored" | "deflate") => "made.tdz",
        _ => "made",
    };
    let path = folder.path().join(name);
    make(format, &request.stored, &path)?;
    let own = std::env::current_exe().map_err(|e| IoError::os("find", "itself", e))?;
    for what in wanted {
        let mut child = Command::new(&own);
        child.env(INSIDE, "1").args([format, "--set", &request.set, "--what", what]);
        child.args(["--stored", &request.stored]).arg("--path").arg(&path);
        let ended = child.status().map_err(|e| IoError::os("run", "itself", e))?;
        if !ended.success() {
            let message = format!("expected figures of {what}, found {ended}");
            return Err(Error::new(Kind::Io, "bench/child", Place::default(), message));
        }
    }
    Ok(true)
}

/// Writes the dataset.
fn make(format: &str, stored: &str, path: &Path) -> Result<()> {
    let target = registry::format(format)?;
    let mut options = Object::new();
    if format == "sedpack" {
        options.insert("examples_per_shard", SHARD);
    }
    if format == "arrayrecord" {
        options.insert("group_size", if stored == "none" { 1 } else { 64 });
    }
    // Signal datasets and folders of tensors are stored as they are.
    if format != "sds" && (format, stored) != ("tensordict", "none") {
        let stored = if format == "sedpack" { stored.to_ascii_uppercase() } else { stored.into() };
        options.insert("compression", stored);
    }
    let field = match format {
        "arrayrecord" => Field::new("record", DType::Bytes, []),
        _ => Field::new("signal", DType::UInt8, [SAMPLE as u64]),
    };
    let schema = Arc::new(Schema::new(vec![field]));
    let info = Info { format: "made", native: Object::new(), carried: None };
    let options = ConvertOptions { options, ..ConvertOptions::default() };
    let source = Arc::new(Made { info, schema });
    convert(source, target, site::target(path, target)?, &options, None)?;
    Ok(())
}

/// Two epochs, and the most that they took: once checksums were compared, some formats are read in another way.
fn epoch(request: &Request, what: &str) -> Result<()> {
    let dataset = open(&request.path)?;
    let name = dataset.collections().into_iter().next().unwrap_or_default();
    let collection = dataset.collection(&name)?;
    let fingerprint = Fingerprint::of(dataset.as_ref(), collection.as_ref())?;
    let order: Arc<dyn Order> = match what {
        "load-memory" => Arc::new(Shuffled::new(collection.len(), SEED)?),
        _ => Arc::new(Blocks::of(collection.as_ref(), 8, SEED)?),
    };
    let options = LoaderOptions::default().with_threads(2).with_window(WINDOW);
    let mut loader =
        Loader::new(vec![collection], fingerprint, order, Share::alone(BATCH)?, options)?;
    let (over, anonymous) = (AtomicBool::new(false), AtomicU64::new(0));
    let start = Instant::now();
    let done = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                anonymous.fetch_max(status("RssAnon:"), Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(2));
            }
        });
        let mut done = Done::default();
        let all = (0..2).try_for_each(|epoch| {
            loader.set_epoch(epoch);
            loader.by_ref().try_for_each(|delivery| -> Result<()> {
                let delivery = delivery?;
                done.samples += delivery.mask.iter().filter(|fresh| **fresh).count() as u64;
                done.bytes += delivery.batch.value_bytes();
                Ok(())
            })
        });
        over.store(true, Ordering::Relaxed);
        all.map(|()| done)
    })?;
    let mut line = request.head(what, &done, "", &[start.elapsed().as_secs_f64()]);
    line.insert("window", WINDOW);
    line.insert("anonymous", anonymous.into_inner());
    line.insert("resident", status("VmHWM:"));
    print(line);
    Ok(())
}

/// Samples of a pattern each, made when they are read.
struct Made {
    info: Info,
    schema: Arc<Schema>,
}

impl Dataset for Made {
    fn info(&self) -> &Info {
        &self.info
    }

    fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    fn collections(&self) -> Vec<String> {
        vec!["train".to_owned()]
    }

    fn collection(&self, _: &str) -> Result<Arc<dyn Collection>> {
        Ok(Arc::new(Patterns(Arc::clone(&self.schema))))
    }
}

struct Patterns(Arc<Schema>);

impl Collection for Patterns {
    fn name(&self) -> &str {
        "train"
    }

    fn len(&self) -> u64 {
        SAMPLES
    }

    fn shard_count(&self) -> u64 {
        SAMPLES / SHARD
    }

    fn schema(&self) -> &Arc<Schema> {
        &self.0
    }

    fn shards(&self, from: u64) -> Box<dyn Iterator<Item = Result<ShardRef>> + Send> {
        Box::new((from / SHARD..SAMPLES / SHARD).map(|number| {
            Ok(ShardRef {
                number,
                first: number * SHARD,
                rows: SHARD,
                path: RelPath::root(),
                metadata: Arc::default(),
                detail: Arc::new(()),
            })
        }))
    }

    fn read(&self, shard: &ShardRef, _: Option<&[usize]>, _: &mut ReadContext) -> Result<Batch> {
        let rows = shard.first..shard.first + shard.rows;
        let patterns: Vec<Vec<u8>> =
            rows.map(|row| nth(SEED, row).to_le_bytes().repeat(SAMPLE / 8)).collect();
        let data = patterns.concat();
        let count = usize::try_from(shard.rows).unwrap_or_default();
        let data = Buf::from(data);
        let column = match self.0.fields.first().is_some_and(Field::varies) {
            true => Column::ragged(data, (1..=count).map(|row| row * SAMPLE).collect()),
            false => Column::dense(data, SAMPLE, count),
        };
        let column = column.ok_or_else(|| {
            let message = "expected a column of whole samples, found another";
            Error::new(Kind::Invalid, "bench/made", Place::default(), message)
        })?;
        Batch::new(Arc::clone(&self.0), count, vec![column])
    }
}
