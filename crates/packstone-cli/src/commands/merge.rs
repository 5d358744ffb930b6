//! `packstone merge`: joins what workers wrote on their own.

use std::sync::Arc;

use packstone::format::MergeOptions;
use packstone::json;

use crate::address::Address;
use crate::failure::{Exit, Outcome};
use crate::output::Out;
use crate::units;

/// Join the parts that workers wrote into the dataset; safe to repeat.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The dataset.
    #[arg(value_name = "PATH")]
    address: Address,
    /// Only these parts; without it, all that are there.
    #[arg(long, value_name = "NAME", num_args = 1..)]
    part: Vec<String>,
    /// How many parts there must be.
    #[arg(long, value_name = "COUNT")]
    expect: Option<usize>,
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Outcome {
    let (root, format) = args.address.whole()?.probe()?;
    let options =
        MergeOptions { parts: args.part.clone(), expect: args.expect, ..MergeOptions::default() };
    let written = format.merge(Arc::clone(&root) as _, &options)?;
    if out.is_json() {
        out.json(&json!({
            "type": "summary",
            "schema_version": 1,
            "command": "merge",
            "samples": written.samples,
            "shards": written.shards,
            "bytes": written.bytes,
        }))?;
    } else {
        out.line(format!(
            "merged {} in {}, {}",
            units::counted(written.samples, "sample"),
            units::counted(written.shards, "shard"),
            units::size(written.bytes)
        ))?;
    }
    Ok(Exit::Clean)
}
