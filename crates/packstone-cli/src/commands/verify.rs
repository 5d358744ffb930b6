//! `packstone verify`: everything that is wrong with a dataset.

use std::path::PathBuf;

use packstone::format::AuditOptions;
use packstone::model::{Finding, Severity};
use packstone::ops::{DigestOptions, VerifyOptions, VerifyReport};
use packstone::site;

use crate::address::{self, Address};
use crate::cli::Threads;
use crate::failure::{Exit, Outcome};
use crate::output::{Out, Paint, note};
use crate::progress::Bar;
use crate::{hints, units};

/// Check a whole dataset: structure, counts, checksums and every value.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The dataset; several paths where the format reads them as one dataset.
    #[arg(value_name = "PATH", required = true)]
    addresses: Vec<Address>,
    /// Compare with these recorded checksums of the root document, in hex.
    #[arg(long, value_name = "HASH", num_args = 1..)]
    expect: Vec<String>,
    /// Compare the content with digests that `digest --save` recorded.
    #[arg(long, value_name = "FILE", conflicts_with = "quick")]
    against: Option<PathBuf>,
    /// Check structure, counts of lists and that no file is missing or empty: no hashing and no decoding.
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    threads: Threads,
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Outcome {
    let recorded = args.against.as_deref().map(site::digest_record).transpose()?;
    let audit = AuditOptions {
        quick: args.quick,
        expect: args.expect.clone(),
        sources: address::sources()?,
        ..AuditOptions::default()
    };
    let options = VerifyOptions { audit, threads: args.threads.count() };
    let bar = Bar::shared("verify");
    let paths = args.addresses.iter().map(|address| Ok(address.whole()?.path.clone()));
    let paths = paths.collect::<packstone::Result<Vec<_>>>()?;
    let mut report = site::verify(&paths, &options, Some(&bar))?;
    if let Some(recorded) = recorded {
        let how = DigestOptions { threads: options.threads, limits: options.audit.limits };
        report.findings.extend(match address::open_all(&args.addresses) {
            Ok(opened) => recorded.compare(opened.dataset.as_ref(), &how, Some(&bar))?,
            Err(error) => vec![Finding::from(error)],
        });
    }
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
    let parts = units::counted(report.tasks, "part");
    let covered = match report.samples {
        // Trees are checked leaf by leaf and not sample by sample.
        0 => parts,
        samples => format!("{} in {parts}", units::counted(samples, "sample")),
    };
    note(format!(
        "{}: {covered}, {} in {} ({})",
        verdict.join(", "),
        units::size(report.bytes),
        units::time(time),
        units::rate(report.bytes, time),
    ));
    let absolute = report.findings.iter().find(|found| found.code.ends_with("/path_absolute"));
    if let Some(hint) = absolute.and_then(|finding| hints::about(finding.code)) {
        note(format!("hint: {hint}"));
    }
    if report.findings.iter().any(|finding| finding.code.ends_with("/unlisted_file")) {
        note(
            "hint: `packstone repair PATH` lists what is whole among the files that no list names",
        );
    }
}
