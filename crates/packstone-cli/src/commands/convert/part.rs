//! `packstone convert --part`: the content of a dataset as one worker's part of a dataset that exists.

use std::sync::Arc;
use std::time::{Duration, Instant};

use packstone::error::Place;
use packstone::exec::Progress;
use packstone::format::{Format, Written};
use packstone::json;
use packstone::ops::Scan;
use packstone::{Error, Kind, Result};

use super::Args;
use crate::address::{Address, Opened};
use crate::failure::{Exit, Outcome};
use crate::interrupt;
use crate::output::Out;
use crate::progress::Bar;
use crate::units;

pub(super) fn run(
    args: &Args,
    opened: &Opened,
    format: &dyn Format,
    name: &str,
    out: &mut Out,
) -> Outcome {
    let start = Instant::now();
    let written = write(args, opened, format, name)?;
    let time = start.elapsed();
    if out.is_json() {
        out.json(&json!({
            "type": "summary",
            "schema_version": 1,
            "command": "convert",
            "part": name,
            "written": {
                "samples": written.samples,
                "shards": written.shards,
                "bytes": written.bytes,
            },
            "seconds": time.as_secs_f64(),
        }))?;
    } else {
        out.line(story(name, &written, time, out))?;
    }
    Ok(Exit::Clean)
}

fn story(name: &str, written: &Written, time: Duration, out: &Out) -> String {
    format!(
        "part {}: {} in {}, {}, {} ({})",
        out.data(name),
        units::counted(written.samples, "sample"),
        units::counted(written.shards, "shard"),
        units::size(written.bytes),
        units::time(time),
        units::rate(written.bytes, time),
    )
}

fn write(args: &Args, opened: &Opened, format: &dyn Format, name: &str) -> Result<Written> {
    let target = Address { path: args.target.clone(), collection: None };
    let (root, found) = target.probe()?;
    if found.id() != format.id() {
        let message = format!("expected a {} dataset, found {}", format.id(), found.id());
        let place = Place::file(args.target.display());
        return Err(Error::new(Kind::Invalid, "cli/usage", place, message));
    }
    let mut writer = format.part(root, name)?;
    let bar = Bar::new("convert");
    for collection in opened.collections(std::slice::from_ref(&args.source), &args.collection)? {
        let scan = Scan::new(Arc::clone(&collection)).threads(args.threads.count());
        for shard in scan.shards() {
            interrupt::check()?;
            let batch = shard?.batch;
            writer.write(collection.name(), &batch)?;
            bar.advance(batch.value_bytes());
        }
    }
    writer.finish()
}
