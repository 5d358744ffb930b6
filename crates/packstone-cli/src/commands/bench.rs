//! `packstone bench`: how fast a dataset is read, beside what the machine can do at all.
//!
//! All rates of one table are measured in one run, each the median of its rounds, so that they can be compared.

mod base;
mod reads;

use std::sync::Arc;

use packstone::exec::default_threads;
use packstone::format::Collection;
use packstone::json;
use packstone::loader::{Loader, LoaderOptions, Share};
use packstone::{Error, Kind, Place, Result};

use crate::address::Address;
use crate::cli::Threads;
use crate::failure::{Exit, Outcome};
use crate::mix::MixArgs;
use crate::order::OrderArgs;
use crate::output::Out;
use crate::table::Table;
use crate::units;

/// Measure how fast a dataset is read, beside the rates of memory, hashes and codecs in the same run.
///
/// Several datasets are read as a mixture with `--mix`; codecs are then measured on the values of the first.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The dataset, or one collection of it; without it, the largest one is read. Several with `--mix`.
    #[arg(value_name = "PATH[#COLLECTION]", required = true)]
    addresses: Vec<Address>,
    /// Samples of a batch.
    #[arg(long, value_name = "COUNT", default_value_t = 256, value_parser = at_least_one)]
    batch: usize,
    /// Rounds of each measurement, of which the median counts.
    #[arg(long, value_name = "COUNT", default_value_t = 3, value_parser = at_least_one)]
    rounds: usize,
    /// Ranks that share the order; the first of them is measured.
    #[arg(long, value_name = "RANKS", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1 << 16))]
    ranks: u32,
    #[command(flatten)]
    order: OrderArgs,
    #[command(flatten)]
    mix: MixArgs,
    #[command(flatten)]
    threads: Threads,
}

fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err(format!("expected a whole number of at least 1, found {text}")),
        Ok(number) => Ok(number),
    }
}

/// One measurement.
struct Rate {
    what: String,
    threads: usize,
    samples: u64,
    bytes: u64,
    time: std::time::Duration,
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Outcome {
    let most = args.threads.count();
    let mut threads: Vec<usize> = std::iter::successors(Some(1), |n| Some(n * 2))
        .take_while(|n| *n < most)
        .chain([most])
        .collect();
    threads.dedup();
    let loaded = args.mix.load(&args.addresses, &args.order, most, largest)?;
    let collections = loaded.collections();
    let mut rates = Vec::new();
    for threads in threads.iter().copied() {
        let share = Share::new(0, args.ranks, args.batch as u64)?;
        let mut loader = Loader::new(
            collections.clone(),
            loaded.fingerprint.clone(),
            Arc::clone(&loaded.order),
            share,
            LoaderOptions::default().with_threads(threads),
        )?;
        rates.extend(reads::batches(&mut loader, args.rounds)?);
        if let [collection] = &collections[..] {
            rates.push(reads::samples(collection, threads, args.rounds)?);
        }
    }
    if let [collection] = &collections[..] {
        rates.push(reads::random(collection, args.rounds)?);
    }
    // What reading took; the buffers of the base rates come after it.
    let peak = peak_memory();
    let mut codec = None;
    if let Some(first) = collections.first() {
        rates.extend(base::rates(first, &threads, args.rounds)?);
        let alike = collections.iter().all(|other| other.codec() == first.codec());
        codec = first.codec().filter(|_| alike).map(base::decoding);
    }
    report(&rates, codec.as_deref(), peak, out)
}

/// The largest collection.
fn largest(collections: Vec<Arc<dyn Collection>>) -> Result<Arc<dyn Collection>> {
    collections.into_iter().max_by_key(|collection| collection.len()).ok_or_else(|| {
        let message = "expected a dataset with collections, found none: nothing to measure";
        Error::new(Kind::NotFound, "cli/usage", Place::default(), message)
    })
}

impl Rate {
    /// Bytes a second.
    fn speed(&self) -> f64 {
        self.bytes as f64 / self.time.as_secs_f64().max(1e-9)
    }
}

fn report(rates: &[Rate], codec: Option<&str>, peak: Option<u64>, out: &mut Out) -> Outcome {
    let part = |rate: &Rate, of: Option<&Rate>| {
        of.map(Rate::speed).filter(|speed| *speed > 0.0).map(|speed| rate.speed() / speed)
    };
    let copying = rates.iter().find(|rate| rate.what == base::COPYING);
    let share = |rate: &Rate| part(rate, copying);
    // Of what was read: how fast the dataset's own codec is on as many threads.
    let of_codec = |rate: &Rate| {
        let own =
            |other: &&Rate| Some(other.what.as_str()) == codec && other.threads == rate.threads;
        part(rate, rates.iter().find(own).filter(|_| rate.samples > 0))
    };
    if out.is_json() {
        for rate in rates {
            out.json(&json!({
                "type": "rate",
                "what": &rate.what,
                "threads": rate.threads,
                "samples": rate.samples,
                "bytes": rate.bytes,
                "seconds": rate.time.as_secs_f64(),
                "of_copying": share(rate),
                "of_codec": of_codec(rate),
            }))?;
        }
        out.json(&json!({
            "type": "summary",
            "schema_version": 1,
            "command": "bench",
            "machine_threads": default_threads(),
            "peak_memory": peak,
        }))?;
        return Ok(Exit::Clean);
    }
    let mut head = vec!["", ">threads", ">samples", ">rate", ">of copying"];
    let coded = rates.iter().any(|rate| of_codec(rate).is_some());
    head.extend(coded.then_some(">of codec"));
    let mut table = Table::new(&head);
    let figure = |share: Option<f64>| share.map(|share| format!("{share:.2}")).unwrap_or_default();
    for rate in rates {
        let samples = match rate.samples {
            0 => String::new(),
            samples => units::frequency(samples, rate.time),
        };
        let mut row = vec![
            rate.what.clone(),
            rate.threads.to_string(),
            samples,
            units::rate(rate.bytes, rate.time),
            figure(share(rate)),
        ];
        row.extend(coded.then(|| figure(of_codec(rate))));
        table.row(row);
    }
    table.print_with_gap(out)?;
    if let Some(peak) = peak {
        out.line(format!("peak memory of reading {}, maps included", units::size(peak)))?;
    }
    Ok(Exit::Clean)
}

/// The most memory that this process ever had in use, in bytes, where the system tells.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1024)
}
