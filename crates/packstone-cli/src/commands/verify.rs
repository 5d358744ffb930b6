//! `packstone verify`: everything that is wrong with a dataset.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use packstone::exec::Progress;
use packstone::format::AuditOptions;
use packstone::model::{Finding, Severity};
use packstone::ops::{DigestOptions, DigestRecord, VerifyOptions, VerifyReport, verify};
use packstone::{Kind, Limits, Place, site};

use crate::address::{self, Address};
use crate::cli::Threads;
use crate::failure::{Exit, Outcome};
use crate::output::{Out, Paint, note};
use crate::progress::Bar;
use crate::units;

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
    let recorded = args.against.as_deref().map(recorded).transpose()?;
    let audit =
        AuditOptions { quick: args.quick, expect: args.expect.clone(), ..AuditOptions::default() };
    let options = VerifyOptions { audit, threads: args.threads.count() };
    let bar = Bar::shared("verify");
    let mut report: Option<VerifyReport> = None;
    let addresses = expanded(&args.addresses)?;
    for address in &addresses {
        let next = check(address, &options, &bar)?;
        report = Some(match report {
            Some(before) => before.joined(next),
            None => next,
        });
    }
    let mut report = report.unwrap_or_default();
    // Each may be whole and yet not go with the others.
    if args.addresses.len() > 1 && report.count(Severity::Error) == 0 {
        match address::open_all(&args.addresses) {
            // Datasets that are never read as one are a request that makes no sense, and no fault of theirs.
            Err(error) if error.code().starts_with("format/") => return Err(error.into()),
            other => report.findings.extend(other.err().map(Finding::from)),
        }
    }
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

/// The addresses, with the data of a selection in place of the selection.
fn expanded(addresses: &[Address]) -> packstone::Result<Vec<Address>> {
    let [only] = addresses else { return Ok(addresses.to_vec()) };
    let sources = site::sources(&only.whole()?.path, &Limits::default())?;
    let data = |path| Address { path, collection: None };
    Ok(sources.map_or_else(|| addresses.to_vec(), |paths| paths.into_iter().map(data).collect()))
}

/// The digests in a file.
fn recorded(file: &Path) -> packstone::Result<DigestRecord> {
    let root = site::root(file)?;
    let name = root.sole_file().cloned().unwrap_or_default();
    let bytes = root.read(&name)?;
    DigestRecord::read(&bytes, &Limits::default())
        .map_err(|error| error.with_place(Place::file(file.display())))
}

fn check(
    address: &Address,
    options: &VerifyOptions,
    bar: &Arc<dyn Progress>,
) -> packstone::Result<VerifyReport> {
    let (root, format) = address.whole()?.probe()?;
    match verify(format, root, options, Some(bar)) {
        // A dataset that cannot even be opened is what somebody who verifies wants to know.
        Err(error) if is_damage(&error, format.id()) => Ok(VerifyReport {
            format: format.id(),
            findings: vec![Finding::from(error)],
            documents: 1,
            ..VerifyReport::default()
        }),
        other => other,
    }
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
    // Formats of trees are checked leaf by leaf and not sample by sample.
    let covered = match report.samples {
        0 => units::counted(report.tasks, "part"),
        samples => {
            let (samples, shards) =
                (units::counted(samples, "sample"), units::counted(report.tasks, "shard"));
            format!("{samples} in {shards}")
        }
    };
    note(format!(
        "{}: {covered}, {} in {} ({})",
        verdict.join(", "),
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
