//! `packstone pack`: a tensordict as one file.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use packstone::RootMut;
use packstone::formats::tensordict::options::{SaveOptions, TreeOptions, method};
use packstone::formats::tensordict::parts::save::Saved;
use packstone::formats::tensordict::parts::{dates, pack};
use packstone::json::Object;
use packstone::site;

use super::verify;
use crate::cli::Threads;
use crate::expected;
use crate::failure::{Exit, Outcome};
use crate::output::Out;
use crate::progress::Bar;
use crate::units;

/// Pack a saved tensordict into a .tdz archive, as tensordict's pack_memmap does.
///
/// An archive packs too, with another compression for instance. Equal trees give equal archives.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The saved tensordict, a folder or an archive.
    #[arg(value_name = "SRC")]
    source: PathBuf,
    /// The new archive; nothing may be there yet.
    #[arg(value_name = "DST")]
    target: PathBuf,
    /// How leaves are compressed: stored, deflate, bzip2 or lzma.
    #[arg(long, value_name = "NAME", default_value = "stored")]
    compression: String,
    /// The date of all entries, as 2024-05-17 or "2024-05-17 08:30:00".
    #[arg(long, value_name = "DATE", default_value = "1980-01-01")]
    date: String,
    /// Also pack files that no document names.
    #[arg(long)]
    include_stray: bool,
    /// Keys are file names as they are, as in saves with `robust_key=False`.
    #[arg(long)]
    raw_keys: bool,
    #[command(flatten)]
    threads: Threads,
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Outcome {
    let start = Instant::now();
    let options = SaveOptions::default()
        .with_method(method(&args.compression)?)
        .with_modified(dates::parse(&args.date)?)
        .with_threads(args.threads.count());
    let reading = TreeOptions::default().with_robust_key(!args.raw_keys);
    let source = site::root(&args.source)?;
    expected::tensordict("pack", "a tensordict folder or archive", &args.source, source.as_ref())?;
    let (folder, name) = site::new_file(&args.target)?;
    let folder: Arc<dyn RootMut> = Arc::new(folder);
    let bar = Bar::shared("pack");
    let stray = args.include_stray;
    let saved = pack::pack(source, &folder, &name, stray, &reading, &options, Some(&bar))?;
    drop(bar);
    report("pack", "packed", &saved, &args.target, start, out)
}

/// Says what was written and what readers may see otherwise than it is meant.
pub(crate) fn report(
    command: &str,
    done: &str,
    saved: &Saved,
    target: &Path,
    start: Instant,
    out: &mut Out,
) -> Outcome {
    let seconds = start.elapsed();
    if out.is_json() {
        for note in &saved.notes {
            out.json(&note.to_json())?;
        }
        let mut summary = Object::new();
        summary.insert("files", saved.files);
        summary.insert("bytes", saved.bytes);
        summary.insert("seconds", seconds.as_secs_f64());
        out.summary(command, summary.into())?;
        return Ok(Exit::Clean);
    }
    for note in &saved.notes {
        verify::print(note, out)?;
    }
    out.line(format!(
        "{done} {}, {}, in {} ({})",
        units::counted(saved.files, "file"),
        units::size(saved.bytes),
        out.data(&target.to_string_lossy()),
        units::time(seconds),
    ))?;
    Ok(Exit::Clean)
}
