//! `packstone merge`: joins what workers wrote on their own.

use std::sync::Arc;

use packstone::format::{MergeOptions, PartSource};
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
    /// Only these parts, by name or as files; without any, all that lie in the dataset.
    #[arg(value_name = "PART")]
    parts: Vec<String>,
    /// How many parts there must be.
    #[arg(long, value_name = "COUNT")]
    expect: Option<usize>,
}

/// A part file from anywhere, or else the name of a part in the dataset.
fn source(part: &str) -> Result<PartSource, packstone::Error> {
    match std::fs::read(part) {
        Ok(bytes) => Ok(PartSource::Document { label: part.to_owned(), bytes }),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Ok(PartSource::Named(part.to_owned()))
        }
        Err(error) => Err(packstone_io::IoError::os("read", part, error).into()),
    }
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Outcome {
    let (root, format) = args.address.whole()?.probe()?;
    let parts = args.parts.iter().map(|part| source(part)).collect::<Result<_, _>>()?;
    let options = MergeOptions { parts, expect: args.expect, ..MergeOptions::default() };
    let written = format.merge(Arc::clone(&root) as _, &options)?;
    if out.is_json() {
        out.json(&json!({
            "type": "summary",
            "schema_version": 1,
            "command": "merge",
            "samples": written.samples,
            "shards": written.shards,
        }))?;
    } else {
        out.line(format!(
            "merged {} in {}",
            units::counted(written.samples, "new sample"),
            units::counted(written.shards, "shard")
        ))?;
    }
    Ok(Exit::Clean)
}
