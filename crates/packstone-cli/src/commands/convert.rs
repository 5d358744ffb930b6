//! `packstone convert`: the content of a dataset as another one, or as a worker's part of one.

mod part;

use std::path::{Path, PathBuf};
use std::time::Duration;

use packstone::error::Place;
use packstone::format::Format;
use packstone::json;
use packstone::json::{Object, ReadOptions, Value};
use packstone::model::Fidelity;
use packstone::ops::{ConvertOptions, ConvertReport, Level, plan};
use packstone::{Error, Kind, Result, registry, site};

use super::inspect::shard_bytes;
use crate::address::{Address, Opened};
use crate::cli::Threads;
use crate::failure::{Exit, Outcome};
use crate::output::{Out, Paint};
use crate::progress::Bar;
use crate::table::Table;
use crate::units;

/// Write the content of a dataset as a new one, in another format or another shape.
///
/// First says what the target cannot hold; at the end reads the result back and compares content digests.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The dataset, or one collection of it.
    #[arg(value_name = "SRC[#COLLECTION]")]
    source: Address,
    /// The new dataset; nothing may be there yet.
    #[arg(value_name = "DST")]
    target: PathBuf,
    /// The format to write, as `packstone formats` lists them.
    #[arg(long, value_name = "FORMAT")]
    to: String,
    /// The type of shard files.
    #[arg(long, value_name = "TYPE")]
    shard_type: Option<String>,
    /// The compression of shard files; `none` for none.
    #[arg(long, value_name = "NAME")]
    compression: Option<String>,
    /// The checksums of every file.
    #[arg(long, value_name = "NAME", num_args = 1..)]
    hash: Vec<String>,
    /// Examples in a full shard.
    #[arg(long, value_name = "COUNT")]
    examples_per_shard: Option<u64>,
    /// Write a part of this name into DST, which exists; `packstone merge` makes it visible.
    #[arg(
        long,
        value_name = "NAME",
        conflicts_with_all = ["shard_type", "compression", "hash", "examples_per_shard", "option", "strict"]
    )]
    part: Option<String>,
    /// Only these collections.
    #[arg(long, value_name = "NAME", num_args = 1..)]
    collection: Vec<String>,
    /// Refuse where the target cannot hold everything, or a copy keeps what the original library cannot read.
    #[arg(long)]
    strict: bool,
    /// Leave out the comparison of content digests at the end.
    #[arg(long)]
    no_proof: bool,
    /// Any other option of the format; the value is JSON, or else text.
    #[arg(long, value_name = "KEY=VALUE", num_args = 1..)]
    option: Vec<String>,
    #[command(flatten)]
    threads: Threads,
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Outcome {
    let format = registry::format(&args.to)?;
    let opened = args.source.open()?;
    if let Some(name) = &args.part {
        return part::run(args, &opened, format, name, out);
    }
    let options = ConvertOptions {
        collections: args.source.collection.iter().chain(&args.collection).cloned().collect(),
        options: args.options()?,
        strict: args.strict,
        threads: args.threads.count(),
        proof: !args.no_proof,
        ..ConvertOptions::default()
    };
    let (_, fidelity) = plan(&opened.dataset, format, &options)?;
    print_fidelity(&fidelity, out)?;
    out.flush()?;
    let report = write(&opened, format, &args.target, &options)?;
    if out.is_json() {
        out.summary("convert", report.to_json())?;
        return Ok(Exit::Clean);
    }
    print(args, &opened, &options, &report, out)?;
    Ok(Exit::Clean)
}

impl Args {
    /// The options of the target format.
    fn options(&self) -> Result<Object> {
        let mut options = Object::new();
        for pair in &self.option {
            let (name, text) = pair.split_once('=').ok_or_else(|| {
                let message = format!("expected --option KEY=VALUE, found {pair:?}");
                Error::new(Kind::Invalid, "cli/usage", Place::default(), message)
            })?;
            let value = json::read(text.as_bytes(), &ReadOptions::default());
            options.insert(name, value.map_or_else(|_| Value::from(text), |read| read.value));
        }
        if let Some(shard_type) = &self.shard_type {
            options.insert("shard_type", shard_type);
        }
        if let Some(compression) = &self.compression {
            options.insert("compression", compression);
        }
        if !self.hash.is_empty() {
            let names: Value = self.hash.iter().map(String::as_str).collect();
            options.insert("hashes", names);
        }
        if let Some(count) = self.examples_per_shard {
            options.insert("examples_per_shard", count);
        }
        Ok(options)
    }
}

/// Converts to a path where nothing is yet.
pub(crate) fn write(
    opened: &Opened,
    format: &dyn Format,
    target: &Path,
    options: &ConvertOptions,
) -> Result<ConvertReport> {
    let bar = Bar::shared("convert");
    let dataset = std::sync::Arc::clone(&opened.dataset);
    site::convert(dataset, format, target, options, Some(&bar))
}

fn print_fidelity(fidelity: &Fidelity, out: &mut Out) -> Outcome<()> {
    if out.is_json() {
        return out.json(&json!({
            "type": "fidelity",
            "schema_version": 1,
            "lossless": fidelity.is_lossless(),
            "losses": fidelity.to_json(),
            "unreadable": fidelity.unreadable_json(),
        }));
    }
    for loss in &fidelity.losses {
        let head = match loss.carried {
            true => out.paint(Paint::Dim, "carried"),
            false => out.paint(Paint::Yellow, "lost"),
        };
        let field = match loss.field.is_empty() {
            true => String::new(),
            false => format!(" {}:", out.data(&loss.field)),
        };
        out.line(format!("{head}{field} {}", out.data(&loss.what)))?;
    }
    if fidelity.losses.is_empty() {
        let head = out.paint(Paint::Green, "lossless");
        out.line(format!(
            "{head}: by its schema nothing is lost; values are checked as they are written"
        ))?;
    }
    for kept in &fidelity.unreadable {
        let head = out.paint(Paint::Yellow, "kept");
        out.line(format!("{head} {}", out.data(&kept.text())))?;
    }
    if !fidelity.unreadable.is_empty() {
        out.line("nothing of it is lost, but the original library cannot read the copy as it is")?;
    }
    out.line("")
}

fn print(
    args: &Args,
    opened: &Opened,
    options: &ConvertOptions,
    report: &ConvertReport,
    out: &mut Out,
) -> Outcome<()> {
    let names: Vec<String> = match options.collections.is_empty() {
        true => opened.dataset.collections(),
        false => options.collections.clone(),
    };
    let (mut shards, mut bytes) = (0u64, 0u64);
    for name in &names {
        let collection = opened.dataset.collection(name)?;
        shards = shards.saturating_add(collection.shard_count());
        bytes = bytes.saturating_add(shard_bytes(opened.root.as_ref(), collection.as_ref())?);
    }
    let mut table = Table::new(&["", ">samples", ">shards", ">size", "path"]);
    let row = |what: &str, samples, shards, bytes, path: &Path, out: &Out| {
        let path = out.data(&path.to_string_lossy()).into_owned();
        [what.to_owned(), units::count(samples), units::count(shards), units::size(bytes), path]
    };
    table.row(row("from", report.samples, shards, bytes, &args.source.path, out));
    let written = &report.written;
    table.row(row("to", written.samples, written.shards, written.bytes, &args.target, out));
    table.print_with_gap(out)?;
    let time = Duration::try_from_secs_f64(report.seconds).unwrap_or_default();
    let proof = match report.digests.first().map(|proof| proof.level) {
        None => "content not compared".to_owned(),
        Some(None) => "content not comparable, as said above".to_owned(),
        Some(Some(Level::Values)) => out.paint(Paint::Green, "values are equal"),
        Some(Some(Level::Full)) => out.paint(Paint::Green, "content is equal"),
    };
    out.line(format!(
        "{} ({}, {}); {proof}",
        units::time(time),
        units::frequency(report.samples, time),
        units::rate(bytes.max(report.written.bytes), time),
    ))
}
