//! `packstone demo`: the main job, on real datasets and on a larger one made on the spot.
//!
//! Each is inspected, verified, read, converted, verified again and compared by content digest. Everything is written
//! into one folder, which is named first.

mod job;
mod made;

use std::path::{Path, PathBuf};

use packstone::error::Place;
use packstone::json;
use packstone::{Error, Kind, Result};

use self::job::{Job, Row};
use crate::cli::Threads;
use crate::failure::{Exit, Outcome};
use crate::output::{Out, Paint};
use crate::table::Table;
use crate::units;

/// Run the main job on the shipped datasets: inspect, verify, convert, compare.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Where to write; nothing may be there yet. By default a fresh folder among the system's temporary files.
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,
    /// Where the datasets are; by default `tests/golden/sedpack` of the repository.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    #[command(flatten)]
    threads: Threads,
}

/// The shipped datasets, what they are, and as what they are written.
const SHIPPED: [Job; 4] = [
    Job { name: "tiny_aes_like", from: "fb LZ4", shard_type: "npz", compression: "ZIP" },
    Job { name: "fb_large_lz4", from: "fb LZ4", shard_type: "fb", compression: "ZSTD" },
    Job { name: "npz_all_dtypes", from: "npz", shard_type: "fb", compression: "GZIP" },
    Job { name: "tfrec_text_and_bytes", from: "tfrec", shard_type: "fb", compression: "LZ4" },
];

/// The one that is made, large enough for rates to mean something.
const MADE: Job = Job { name: "made here", from: "fb", shard_type: "fb", compression: "LZ4" };

pub(crate) fn run(args: &Args, out: &mut Out) -> Outcome {
    let data = find_data(args.data.as_deref())?;
    let folder = fresh_folder(args.to.as_deref())?;
    if !out.is_json() {
        let shown = folder.to_string_lossy();
        out.line(format!("writing into {}\n", out.paint(Paint::Cyan, out.data(&shown))))?;
        out.flush()?;
    }
    let threads = args.threads.count();
    let mut rows = Vec::new();
    for job in SHIPPED {
        rows.push(step(&job, &job.source(&data), &folder.join(job.name), threads, out)?);
    }
    let made = folder.join("made");
    made::dataset(&made)?;
    rows.push(step(&MADE, &made, &folder.join("made_lz4"), threads, out)?);
    let clean = rows.iter().all(Row::is_good);
    if out.is_json() {
        out.json(&json!({
            "type": "summary",
            "schema_version": 1,
            "command": "demo",
            "folder": folder.to_string_lossy().into_owned(),
            "clean": clean,
            "datasets": rows.len(),
        }))?;
    } else {
        print(&rows, out)?;
    }
    Ok(Exit::found(!clean))
}

fn step(job: &Job, source: &Path, target: &Path, threads: usize, out: &mut Out) -> Outcome<Row> {
    let row = job.run(source, target, threads)?;
    if out.is_json() {
        out.json(&row.to_json())?;
    } else {
        let verdict = match row.is_good() {
            true => out.paint(Paint::Green, "ok"),
            false => out.paint(Paint::Red, "not ok"),
        };
        out.line(format!("{verdict} {}: {}", row.job.name, row.story()))?;
    }
    out.flush()?;
    Ok(row)
}

fn print(rows: &[Row], out: &mut Out) -> Outcome<()> {
    out.line("")?;
    let mut table = Table::new(&[
        "dataset", ">samples", "from", ">size", "to", ">size", "", ">verify", ">read", ">convert",
        "content",
    ]);
    for row in rows {
        let content: String = row.digest.chars().take(12).collect();
        table.row([
            row.job.name.to_owned(),
            units::count(row.samples),
            row.job.from.to_owned(),
            units::size(row.from_bytes),
            row.job.target(),
            units::size(row.to_bytes),
            bar(row.to_bytes, row.from_bytes, out.is_terminal()),
            units::rate(row.from_bytes, row.verify),
            units::rate(row.value_bytes, row.read),
            units::rate(row.value_bytes, row.convert),
            format!("{} {content}", if row.equal { "=" } else { "DIFFERS" }),
        ]);
    }
    table.print(out)
}

/// A share as a small bar at a terminal, and in per cent.
fn bar(part: u64, whole: u64, drawn: bool) -> String {
    let percent = part.saturating_mul(100).checked_div(whole).unwrap_or(0);
    if !drawn {
        return format!("{percent} %");
    }
    let cells = usize::try_from(percent.min(100).div_ceil(13)).unwrap_or(8);
    format!("{}{} {percent} %", "█".repeat(cells), "░".repeat(8usize.saturating_sub(cells)))
}

/// The folder with the shipped datasets: the one given, or below the working folder, its parents or the package.
fn find_data(given: Option<&Path>) -> Result<PathBuf> {
    const SHIPPED_IN: &str = "tests/golden/sedpack";
    let has_all = |folder: &PathBuf| SHIPPED.iter().all(|job| job.source(folder).is_dir());
    let package = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let starts = std::env::current_dir().ok().into_iter().chain(package);
    let mut folders: Vec<PathBuf> = match given {
        Some(given) => vec![given.to_owned()],
        None => starts
            .flat_map(|start| {
                start.ancestors().map(|folder| folder.join(SHIPPED_IN)).collect::<Vec<_>>()
            })
            .collect(),
    };
    folders.retain(has_all);
    folders.into_iter().next().ok_or_else(|| {
        let names: Vec<_> = SHIPPED.iter().map(|job| job.name).collect();
        let folder = given.map_or_else(|| SHIPPED_IN.into(), Path::to_string_lossy);
        let message = format!("expected the shipped datasets {}, found no such", names.join(", "));
        Error::new(Kind::NotFound, "cli/no_demo_data", Place::file(folder), message)
    })
}

/// Makes the folder that everything is written into.
fn fresh_folder(given: Option<&Path>) -> Result<PathBuf> {
    let fault = |path: &Path, error: std::io::Error| {
        let found = error.kind() == std::io::ErrorKind::AlreadyExists;
        let (kind, code) =
            if found { (Kind::Exists, "site/exists") } else { (Kind::Io, "io/fault") };
        Error::new(kind, code, Place::file(path.display()), error.to_string())
    };
    if let Some(path) = given {
        std::fs::create_dir(path).map_err(|error| fault(path, error))?;
        return Ok(path.to_owned());
    }
    let mut number = std::process::id();
    loop {
        let path = std::env::temp_dir().join(format!("packstone-demo-{number}"));
        match std::fs::create_dir(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                number = number.wrapping_add(1);
            }
            Err(error) => return Err(fault(&path, error)),
        }
    }
}
