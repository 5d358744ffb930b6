//! `packstone verify`: everything that is wrong with a dataset.

use packstone::Kind;
use packstone::format::AuditOptions;
use packstone::model::{Finding, Severity};
use packstone::ops::{VerifyOptions, VerifyReport, verify};

use crate::address::Address;
use crate::cli::Threads;
use crate::failure::{Exit, Outcome};
use crate::output::{Out, Paint, note};
use crate::progress::Bar;
use crate::units;

/// Check a whole dataset: structure, counts, checksums and every value.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The dataset.
    #[arg(value_name = "PATH")]
    address: Address,
    /// Compare with these recorded checksums of the root document, in hex.
    #[arg(long, value_name = "HASH", num_args = 1..)]
    expect: Vec<String>,
    /// Check structure, counts of lists and that no file is missing or empty: no hashing and no decoding.
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    threads: Threads,
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Outcome {
    let (root, format) = args.address.whole()?.probe()?;
    let audit =
        AuditOptions { quick: args.quick, expect: args.expect.clone(), ..AuditOptions::default() };
    let options = VerifyOptions { audit, threads: args.threads.count() };
    let bar = Bar::shared("verify");
    let report = match verify(format, root, &options, Some(&bar)) {
        Ok(report) => report,
        // A dataset that cannot even be opened is what somebody who verifies wants to know.
        Err(error) if is_damage(&error, format.id()) => VerifyReport {
            format: format.id(),
            findings: vec![Finding::from(error)],
            documents: 1,
            ..VerifyReport::default()
        },
        Err(error) => return Err(error.into()),
    };
    drop(bar);
    for finding in &report.findings {
        if out.is_json() { out.json(&finding.to_json())? } else { print(finding, out)? }
    }
    if out.is_json() {
        out.summary("verify", report.to_json())?;
    } else {
        out.flush()?;
        tell(&report);
    }
    Ok(Exit::found(!report.is_clean()))
}

/// True for an error that is about the dataset and not about the request or the machine.
fn is_damage(error: &packstone::Error, format: &str) -> bool {
    let own = error.code().strip_prefix(format).is_some_and(|rest| rest.starts_with('/'));
    own && error.place().file.is_some() && !matches!(error.kind(), Kind::Io | Kind::Cancelled)
}

/// Writes a finding as one line.
pub(crate) fn print(finding: &Finding, out: &mut Out) -> Outcome<()> {
    let paint = match finding.severity {
        Severity::Error => Paint::Red,
        Severity::Warning => Paint::Yellow,
        Severity::Info => Paint::Dim,
    };
    let text = finding.to_string();
    let name = finding.severity.name();
    let rest = text.strip_prefix(name).unwrap_or(&text);
    out.line(format!("{}{}", out.paint(paint, name), out.data(rest)))
}

fn tell(report: &VerifyReport) {
    let time = std::time::Duration::try_from_secs_f64(report.seconds).unwrap_or_default();
    let mut verdict = if report.is_clean() { vec!["clean".to_owned()] } else { Vec::new() };
    for (severity, name) in
        [(Severity::Error, "error"), (Severity::Warning, "warning"), (Severity::Info, "remark")]
    {
        match report.count(severity) as u64 {
            0 => {}
            count => verdict.push(units::counted(count, name)),
        }
    }
    note(format!(
        "{}: {} in {}, {} in {} ({})",
        verdict.join(", "),
        units::counted(report.samples, "sample"),
        units::counted(report.tasks, "shard"),
        units::size(report.bytes),
        units::time(time),
        units::rate(report.bytes, time),
    ));
    if report.findings.iter().any(|finding| finding.code.ends_with("/unlisted_file")) {
        note(
            "hint: `packstone repair PATH` lists what is whole among the files that no list names",
        );
    }
}
