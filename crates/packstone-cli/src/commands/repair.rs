//! `packstone repair`: mends what a killed writer left.

use std::sync::Arc;

use packstone::format::{RepairOptions, RepairReport};
use packstone::json;
use packstone::model::Severity;

use super::verify;
use crate::address::Address;
use crate::failure::{Exit, Outcome};
use crate::output::{Out, Paint};
use crate::progress::Bar;
use crate::units;

/// Salvage complete shards that a killed writer left, and remove its temporary files.
///
/// Exits with 1 where something was found that could not be used.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The dataset.
    #[arg(value_name = "PATH")]
    address: Address,
    /// Say what would be done and do nothing.
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Outcome {
    let (root, format) = args.address.whole()?.probe()?;
    let bar = Bar::shared("repair");
    let options = RepairOptions {
        dry_run: args.dry_run,
        progress: Some(Arc::clone(&bar)),
        ..RepairOptions::default()
    };
    let report = format.repair(Arc::clone(&root) as _, &options)?;
    drop(options);
    drop(bar);
    if out.is_json() {
        print_json(args, &report, out)?;
    } else {
        print(args, &report, out)?;
    }
    Ok(Exit::found(report.left.iter().any(|finding| finding.severity >= Severity::Warning)))
}

fn print(args: &Args, report: &RepairReport, out: &mut Out) -> Outcome<()> {
    let would = if args.dry_run { "would be " } else { "" };
    for file in &report.completed {
        let what = out.paint(Paint::Green, format!("{would}completed"));
        out.line(format!("{what} {} (a publication was cut off)", out.data(file)))?;
    }
    for (file, samples) in &report.salvaged {
        let what = out.paint(Paint::Green, format!("{would}salvaged"));
        out.line(format!("{what} {} ({})", out.data(file), units::counted(*samples, "sample")))?;
    }
    for file in &report.removed {
        out.line(format!("{would}removed {}", out.data(file)))?;
    }
    for finding in &report.left {
        verify::print(finding, out)?;
    }
    out.line(format!(
        "{would}salvaged {} with {}, {would}removed {}, left {}",
        units::counted(report.salvaged.len() as u64, "shard"),
        units::counted(samples(report), "sample"),
        units::counted(report.removed.len() as u64, "file"),
        units::count(report.left.len() as u64),
    ))
}

fn print_json(args: &Args, report: &RepairReport, out: &mut Out) -> Outcome<()> {
    for file in &report.completed {
        out.json(&json!({ "type": "completed", "file": file }))?;
    }
    for (file, samples) in &report.salvaged {
        out.json(&json!({ "type": "salvaged", "file": file, "samples": *samples }))?;
    }
    for file in &report.removed {
        out.json(&json!({ "type": "removed", "file": file }))?;
    }
    for finding in &report.left {
        out.json(&finding.to_json())?;
    }
    out.json(&json!({
        "type": "summary",
        "schema_version": 1,
        "command": "repair",
        "dry_run": args.dry_run,
        "completed": report.completed.len(),
        "salvaged": report.salvaged.len(),
        "samples": samples(report),
        "removed": report.removed.len(),
        "left": report.left.len(),
    }))
}

fn samples(report: &RepairReport) -> u64 {
    report.salvaged.iter().map(|(_, samples)| *samples).fold(0, u64::saturating_add)
}
