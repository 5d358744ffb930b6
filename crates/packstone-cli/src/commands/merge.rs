//! `packstone merge`: joins what workers wrote on their own.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use packstone::error::Place;
use packstone::format::{MergeOptions, PartSource};
use packstone::json;
use packstone::{Error, Kind};

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
    /// Parts whose file was brought here from elsewhere.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    part_file: Vec<PathBuf>,
    /// How many parts there must be.
    #[arg(long, value_name = "COUNT")]
    expect: Option<usize>,
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Outcome {
    let (root, format) = args.address.whole()?.probe()?;
    let named = args.part.iter().map(|name| Ok(PartSource::Named(name.clone())));
    let parts = named.chain(args.part_file.iter().map(|path| read(path)));
    let parts = parts.collect::<Result<_, Error>>()?;
    let options = MergeOptions { parts, expect: args.expect, ..MergeOptions::default() };
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

fn read(path: &Path) -> Result<PartSource, Error> {
    let label = path.display().to_string();
    match std::fs::read(path) {
        Ok(bytes) => Ok(PartSource::Document { label, bytes }),
        Err(error) => {
            let (kind, code) = match error.kind() {
                std::io::ErrorKind::NotFound => (Kind::NotFound, "io/not_found"),
                std::io::ErrorKind::PermissionDenied => (Kind::Denied, "io/denied"),
                _ => (Kind::Io, "io/fault"),
            };
            Err(Error::new(kind, code, Place::file(label), error.to_string()))
        }
    }
}
