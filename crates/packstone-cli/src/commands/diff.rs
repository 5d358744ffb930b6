//! `packstone diff`: where two datasets differ, whatever their formats.

use packstone::ops::{DiffOptions, Difference, Level, diff};

use crate::address::Address;
use crate::cli::Threads;
use crate::failure::{Exit, Outcome};
use crate::output::{Out, Paint, note};
use crate::progress::Bar;
use crate::units;

/// Compare the content of two datasets; exits with 1 where they differ.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What is expected.
    #[arg(value_name = "A[#COLLECTION]")]
    expected: Address,
    /// What is compared with it.
    #[arg(value_name = "B[#COLLECTION]")]
    found: Address,
    /// Compare the fields alone, not the metadata of samples.
    #[arg(long)]
    values_only: bool,
    /// Compare collections as bags of samples, without saying which samples differ.
    #[arg(long)]
    ignore_order: bool,
    /// Differences to describe; the rest is counted.
    #[arg(long, value_name = "COUNT", default_value_t = 20)]
    limit: usize,
    #[command(flatten)]
    threads: Threads,
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Outcome {
    let named = args.expected.collection.iter().chain(&args.found.collection);
    let options = DiffOptions {
        collections: named.cloned().collect(),
        pair: pair(args),
        level: if args.values_only { Level::Values } else { Level::Full },
        ignore_order: args.ignore_order,
        limit: args.limit,
        threads: args.threads.count(),
        ..DiffOptions::default()
    };
    let (expected, found) = (args.expected.open()?, args.found.open()?);
    let bar = Bar::shared("diff");
    let report = diff(expected.dataset.as_ref(), found.dataset.as_ref(), &options, Some(&bar))?;
    drop(bar);
    for difference in &report.differences {
        if out.is_json() { out.json(&difference.to_json())? } else { print(difference, out)? }
    }
    if out.is_json() {
        out.summary("diff", report.to_json())?;
    } else {
        if report.more > 0 {
            out.line(format!("and {}", units::counted(report.more, "more difference")))?;
        }
        out.flush()?;
        let verdict = if report.equal { "equal" } else { "different" };
        note(format!("{verdict}: {} compared", units::counted(report.samples, "sample")));
    }
    Ok(Exit::found(!report.equal))
}

/// Two collections of different names, where each side names one.
fn pair(args: &Args) -> Option<(String, String)> {
    let (one, other) = args.expected.collection.clone().zip(args.found.collection.clone())?;
    (one != other).then_some((one, other))
}

fn print(difference: &Difference, out: &mut Out) -> Outcome<()> {
    let mut place = out.paint(Paint::Cyan, out.data(&difference.collection));
    if let Some(index) = difference.index {
        place.push_str(&format!(" #{index}"));
    }
    if let Some(field) = &difference.field {
        place.push_str(&format!(" {}", out.data(field)));
    }
    out.line(format!("{place}: {}", out.data(&difference.what)))
}
