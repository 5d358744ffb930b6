//! `packstone plan`: which rank will read what.

use std::path::PathBuf;
use std::sync::Arc;

use clap::builder::PossibleValuesParser;
use packstone::format::Collection;
use packstone::json::Value;
use packstone::loader::{Plan, PlanOptions, Remainder, State, plan_joined};
use packstone::{Error, Kind, Place, Result};

use super::inspect::shard_bytes;
use super::state;
use crate::address::Address;
use crate::cli::Threads;
use crate::failure::{Exit, Outcome};
use crate::mix::{Loaded, MixArgs};
use crate::order::OrderArgs;
use crate::output::Out;
use crate::table::Table;
use crate::units;

/// More ranks than any machine has.
const MOST_RANKS: i64 = 1 << 16;

/// Show which rank will read what of a dataset, without reading a sample.
///
/// Ranks split positions of the order, never shards: together they read the same sequence however many they are, and
/// every rank makes the same number of steps. With `--json` the summary has the state that a loader begins with. Several
/// datasets are mixed by ratio: `packstone plan A#train B#train --mix 0.7,0.3`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The dataset, or one collection of it; several with `--mix`.
    #[arg(value_name = "PATH[#COLLECTION]", required = true)]
    addresses: Vec<Address>,
    /// Ranks.
    #[arg(long, value_name = "RANKS", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=MOST_RANKS))]
    world_size: u32,
    /// Ranks that form a group and read the same, as for tensor parallelism.
    #[arg(long, value_name = "RANKS", default_value_t = 1)]
    replicas: u32,
    /// Workers of each rank.
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    workers: u32,
    /// Samples of a batch on one rank.
    #[arg(long, value_name = "COUNT", default_value_t = 256)]
    batch: u64,
    /// What happens where the last step has too few samples: fill it up with rows of none, leave it out, or begin anew.
    #[arg(long, value_name = "POLICY", default_value = "pad",
        value_parser = PossibleValuesParser::new(Remainder::ALL.map(Remainder::name)))]
    remainder: String,
    /// The epoch.
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    epoch: u64,
    /// Go on with this state; it must be one of this dataset in this order.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["epoch", "remainder"])]
    state: Option<PathBuf>,
    #[command(flatten)]
    order: OrderArgs,
    #[command(flatten)]
    mix: MixArgs,
    #[command(flatten)]
    threads: Threads,
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Outcome {
    let loaded = args.mix.load(&args.addresses, &args.order, args.threads.count(), the_one)?;
    let (fingerprint, order) = (loaded.fingerprint.clone(), loaded.order.as_ref());
    let start = match &args.state {
        Some(file) => {
            let state = state::read(file)?;
            state.check(&fingerprint, order)?;
            state
        }
        None => {
            let remainder = Remainder::from_name(&args.remainder).unwrap_or_default();
            State::new(fingerprint, order, remainder).at(args.epoch, 0)
        }
    };
    let mut options = PlanOptions::default();
    options.world_size = args.world_size;
    options.replicas = args.replicas;
    options.workers = args.workers;
    options.batch = args.batch;
    options.remainder = start.remainder;
    options.epoch = start.epoch;
    options.from = start.position;
    let mut stored = 0u64;
    for (opened, collection) in &loaded.parts {
        let bytes = shard_bytes(opened.root.as_ref(), collection.as_ref())?;
        stored = stored.saturating_add(bytes);
    }
    options.stored = Some(stored);
    let plan = plan_joined(&loaded.collections(), order, &options)?;
    match out.is_json() {
        true => lines(args, &loaded, &plan, &start, out)?,
        false => print(args, &loaded, &plan, &start, out)?,
    }
    Ok(Exit::Clean)
}

/// The one collection there is.
fn the_one(collections: Vec<Arc<dyn Collection>>) -> Result<Arc<dyn Collection>> {
    let [collection] = <[_; 1]>::try_from(collections).map_err(|collections| {
        let names: Vec<_> = collections.iter().map(|c| c.name().to_owned()).collect();
        let message =
            format!("expected PATH#COLLECTION with one of {}, found none", names.join(", "));
        Error::new(Kind::Invalid, "cli/usage", Place::default(), message)
    })?;
    Ok(collection)
}

fn lines(args: &Args, loaded: &Loaded, plan: &Plan, start: &State, out: &mut Out) -> Outcome<()> {
    for rank in &plan.ranks {
        let mut line = packstone::json::Object::new();
        line.insert("type", "rank");
        for (name, value) in rank.to_json() {
            line.insert(name, value);
        }
        out.json(&Value::Object(line))?;
    }
    let mut summary = plan.to_json();
    summary.insert("world_size", u64::from(args.world_size));
    summary.insert("replicas", u64::from(args.replicas));
    summary.insert("workers", u64::from(args.workers));
    summary.insert("batch", args.batch);
    if let Some(sources) = loaded.sources() {
        summary.insert("sources", sources);
    }
    summary.insert("state", Value::Object(start.to_json()));
    out.summary("plan", Value::Object(summary))
}

fn print(args: &Args, loaded: &Loaded, plan: &Plan, start: &State, out: &mut Out) -> Outcome<()> {
    let name = out.data(&start.order.name).into_owned();
    let steps = units::counted(plan.steps, "step");
    let left = units::counted(plan.len - plan.from, "sample");
    let batch = units::count(args.batch);
    out.line(format!("{left} of epoch {}, {name}: {steps} of {batch} on each rank", start.epoch))?;
    for line in loaded.lines(out) {
        out.line(line)?;
    }
    if plan.dropped > 0 {
        out.line(format!(
            "{} at the end are read by none",
            units::counted(plan.dropped, "sample")
        ))?;
    }
    out.line("")?;
    let mut table = Table::new(&[
        ">rank",
        ">reader",
        ">samples",
        ">filled",
        ">bytes",
        ">stored",
        ">shards",
        "first samples",
    ]);
    let mut cut = false;
    for rank in &plan.ranks {
        let more = rank.examined < rank.samples;
        cut |= more;
        let first: Vec<String> = rank.first.iter().map(u64::to_string).collect();
        table.row([
            rank.rank.to_string(),
            rank.reader.to_string(),
            units::count(rank.samples),
            units::count(rank.filled),
            rank.bytes.map_or_else(|| "-".to_owned(), units::size),
            rank.stored.map_or_else(|| "-".to_owned(), |bytes| format!("~{}", units::size(bytes))),
            format!("{}{}", units::count(rank.shards), if more { "+" } else { "" }),
            first.join(" "),
        ]);
    }
    table.print(out)?;
    if cut {
        let seen = plan.ranks.iter().map(|rank| rank.examined).max().unwrap_or(0);
        out.line("")?;
        out.line(format!("+ among the first {} of the rank", units::counted(seen, "sample")))?;
    }
    Ok(())
}
