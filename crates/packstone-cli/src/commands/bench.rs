//! `packstone bench`: how fast a dataset is read, beside what the machine can do at all.
//!
//! All rates of one table are measured in one run, each the median of its rounds, so that they can be compared.

mod base;
mod reads;

use packstone::exec::default_threads;
use packstone::json;

use crate::address::Address;
use crate::cli::Threads;
use crate::failure::{Exit, Outcome};
use crate::output::{Out, note};
use crate::table::Table;
use crate::units;

/// Measure how fast a dataset is read, beside the rates of memory, hashes and codecs in the same run.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The dataset, or one collection of it; without it, the largest one is read.
    #[arg(value_name = "PATH[#COLLECTION]")]
    address: Address,
    /// Samples of a batch.
    #[arg(long, value_name = "COUNT", default_value_t = 256, value_parser = at_least_one)]
    batch: usize,
    /// Rounds of each measurement, of which the median counts.
    #[arg(long, value_name = "COUNT", default_value_t = 3, value_parser = at_least_one)]
    rounds: usize,
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
    let opened = args.address.open()?;
    let collections = opened.collections(std::slice::from_ref(&args.address), &[])?;
    let Some(collection) = collections.into_iter().max_by_key(|c| c.len()) else {
        note("nothing to measure: the dataset has no collections");
        return Ok(Exit::Clean);
    };
    let most = args.threads.count();
    let mut threads: Vec<usize> = std::iter::successors(Some(1), |n| Some(n * 2))
        .take_while(|n| *n < most)
        .chain([most])
        .collect();
    threads.dedup();
    let mut rates = Vec::new();
    for threads in threads {
        rates.push(reads::batches(&collection, args.batch, threads, args.rounds)?);
        rates.push(reads::samples(&collection, threads, args.rounds)?);
    }
    rates.push(reads::random(&collection, args.rounds)?);
    // What reading took; the buffers of the base rates come after it.
    let peak = peak_memory();
    rates.extend(base::rates(&collection, args.rounds)?);
    report(&rates, peak, out)
}

fn report(rates: &[Rate], peak: Option<u64>, out: &mut Out) -> Outcome {
    if out.is_json() {
        for rate in rates {
            out.json(&json!({
                "type": "rate",
                "what": &rate.what,
                "threads": rate.threads,
                "samples": rate.samples,
                "bytes": rate.bytes,
                "seconds": rate.time.as_secs_f64(),
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
    let mut table = Table::new(&["", ">threads", ">samples", ">rate"]);
    for rate in rates {
        let samples = match rate.samples {
            0 => String::new(),
            samples => units::frequency(samples, rate.time),
        };
        table.row([
            rate.what.clone(),
            rate.threads.to_string(),
            samples,
            units::rate(rate.bytes, rate.time),
        ]);
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
