//! `packstone unpack`: a tensordict archive as a folder.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use packstone::formats::tensordict::options::SaveOptions;
use packstone::formats::tensordict::parts::unpack;
use packstone::{Limits, RootMut, site};

use super::pack;
use crate::cli::Threads;
use crate::expected;
use crate::failure::Outcome;
use crate::output::Out;
use crate::progress::Bar;

/// Unpack a .tdz archive into a folder, every checksum compared.
///
/// Nothing is written through a link or outside of the new folder, which appears when it is whole.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The archive.
    #[arg(value_name = "SRC")]
    source: PathBuf,
    /// The new folder; nothing may be there yet.
    #[arg(value_name = "DST")]
    target: PathBuf,
    #[command(flatten)]
    threads: Threads,
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Outcome {
    let start = Instant::now();
    let options = SaveOptions::default().with_threads(args.threads.count());
    let source = site::root(&args.source)?;
    expected::tensordict("unpack", "a tensordict archive", &args.source, source.as_ref())?;
    let (folder, name) = site::new_file(&args.target)?;
    let folder: Arc<dyn RootMut> = Arc::new(folder);
    let bar = Bar::shared("unpack");
    let limits = Limits::default();
    let saved = unpack::unpack(source, &folder, &name, &limits, &options, Some(&bar))?;
    drop(bar);
    pack::report("unpack", "unpacked", &saved, &args.target, start, out)
}
