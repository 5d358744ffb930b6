//! `packstone digest`: what a collection holds, in one hash, whatever holds it.

use packstone::Limits;
use packstone::ops::{DigestOptions, digest_collection};

use crate::address::Address;
use crate::cli::Threads;
use crate::failure::{Exit, Outcome};
use crate::output::{Out, Paint};
use crate::progress::Bar;
use crate::table::Table;
use crate::units;

/// Print digests of the content, which no format, shard size or compression changes.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The dataset, or one collection of it.
    #[arg(value_name = "PATH[#COLLECTION]")]
    address: Address,
    #[command(flatten)]
    threads: Threads,
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Outcome {
    let opened = args.address.open()?;
    let options = DigestOptions { threads: args.threads.count(), limits: Limits::default() };
    for collection in opened.collections(&args.address, &[])? {
        let bar = Bar::shared("digest");
        let digest = digest_collection(collection, &options, Some(&bar))?;
        drop(bar);
        if out.is_json() {
            out.versioned("digest", digest.to_json())?;
            continue;
        }
        let name = out.paint(Paint::Cyan, out.data(&digest.name));
        out.line(format!("{name}  {}", units::counted(digest.samples, "sample")))?;
        let mut table = Table::headless().indented();
        table.row(["values", &digest.values]);
        table.row(["values, any order", &digest.values_unordered]);
        table.row(["full", &digest.full]);
        table.row(["full, any order", &digest.full_unordered]);
        table.print(out)?;
    }
    Ok(Exit::Clean)
}
