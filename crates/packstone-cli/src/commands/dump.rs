//! `packstone dump`: every sample as one line of JSON.

use std::sync::Arc;

use packstone::error::Place;
use packstone::json::{Style, Value, write};
use packstone::ops::Scan;
use packstone::{Error, Kind};

use crate::address::{self, Address, Opened};
use crate::cli::Threads;
use crate::failure::{Exit, Outcome};
use crate::interrupt;
use crate::output::{Out, note};
use crate::sample::{self, Lines};
use crate::units;

/// Print every sample as a line of JSON, with a SHA-256 of each value.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The dataset, or one collection of it; several paths where the format reads them as one dataset.
    #[arg(value_name = "PATH[#COLLECTION]", required = true)]
    pub(crate) addresses: Vec<Address>,
    /// Only these collections.
    #[arg(long, value_name = "NAME", num_args = 1..)]
    pub(crate) collection: Vec<String>,
    /// Index of the first sample of each collection.
    #[arg(long, value_name = "INDEX", default_value_t = 0)]
    pub(crate) start: u64,
    /// At most this many samples of each collection.
    #[arg(long, value_name = "COUNT")]
    pub(crate) limit: Option<u64>,
    /// Only these fields.
    #[arg(long, value_name = "NAME", num_args = 1..)]
    pub(crate) field: Vec<String>,
    /// Print the values as well.
    #[arg(long)]
    pub(crate) values: bool,
    /// Print the stored leaves and values instead of samples, each with its key; for formats of trees.
    #[arg(long, conflicts_with_all = ["collection", "start", "limit", "field", "values"])]
    leaves: bool,
    /// Compare the recorded checksums of each shard before it is used.
    #[arg(long)]
    pub(crate) verify: bool,
    #[command(flatten)]
    pub(crate) threads: Threads,
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Outcome {
    let opened = address::open_all(&args.addresses)?;
    if args.leaves {
        return leaves(&opened, out);
    }
    for collection in opened.collections(&args.addresses, &args.collection)? {
        let end = args.limit.map_or(u64::MAX, |count| args.start.saturating_add(count));
        let scan = Scan::new(Arc::clone(&collection))
            .identities(true)
            .runs(true)
            .threads(args.threads.count())
            .range(args.start..end)
            .verify(args.verify);
        let (scan, schema) = sample::project(scan, collection.schema(), &args.field)?;
        let mut lines = Lines::new(collection.name(), &schema, args.values);
        sample::read(scan, true, |shard| lines.write(shard, out))?;
    }
    Ok(Exit::Clean)
}

fn leaves(opened: &Opened, out: &mut Out) -> Outcome {
    let leaves = opened.dataset.leaves().ok_or_else(|| {
        let id = opened.format.id();
        let message = format!("expected a format of trees, found {id}, which has samples only");
        Error::new(Kind::Unsupported, "cli/usage", Place::default(), message)
    })?;
    let mut unreadable = 0u64;
    for leaf in leaves {
        interrupt::check()?;
        let leaf = leaf?;
        unreadable += u64::from(leaf.get("error").is_some());
        out.json_lines(&format!("{}\n", write(&Value::Object(leaf), &Style::LINES)))?;
    }
    if unreadable > 0 {
        out.flush()?;
        note(format!("{} leaves or values could not be read", units::count(unreadable)));
    }
    Ok(Exit::found(unreadable > 0))
}
