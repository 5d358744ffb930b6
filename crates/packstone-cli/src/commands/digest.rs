//! `packstone digest`: what a collection holds, in one hash, whatever holds it.

use std::path::PathBuf;

use packstone::ops::{DigestOptions, DigestRecord, digest_collection};
use packstone::{Limits, site};

use crate::address::{self, Address};
use crate::cli::Threads;
use crate::failure::{Exit, Outcome};
use crate::output::{Out, Paint};
use crate::progress::Bar;
use crate::table::Table;
use crate::units;

/// Print digests of the content, which no format, shard size or compression changes.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The dataset, or one collection of it; several paths where the format reads them as one dataset.
    #[arg(value_name = "PATH[#COLLECTION]", required = true)]
    addresses: Vec<Address>,
    /// Write the digests to a new file, for `verify --against`.
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    #[command(flatten)]
    threads: Threads,
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Outcome {
    let opened = address::open_all(&args.addresses)?;
    let options = DigestOptions { threads: args.threads.count(), limits: Limits::default() };
    let mut digests = Vec::new();
    for collection in opened.collections(&args.addresses, &[])? {
        let bar = Bar::shared("digest");
        let digest = digest_collection(collection, &options, Some(&bar))?;
        drop(bar);
        digests.push(digest.clone());
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
    if let Some(file) = &args.save {
        let record = DigestRecord { format: opened.format.id().to_owned(), collections: digests };
        site::save_digests(&record, file)?;
    }
    Ok(Exit::Clean)
}
