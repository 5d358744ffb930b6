//! `packstone refresh`: checksums of a tensordict archive whose leaves were changed in place.

use std::path::PathBuf;

use packstone::formats::tensordict::parts::refresh::refresh;
use packstone::json;
use packstone::{Limits, site};

use crate::expected;
use crate::failure::{Exit, Outcome};
use crate::output::Out;
use crate::progress::Bar;
use crate::units;

/// Bring the checksums of a .tdz archive up to date after its leaves were changed in place.
///
/// Damage cannot be told from changes: verify before the leaves are changed, refresh after.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The archive.
    #[arg(value_name = "PATH")]
    archive: PathBuf,
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Outcome {
    let root = site::root(&args.archive)?;
    expected::tensordict("refresh", "a tensordict archive", &args.archive, root.as_ref())?;
    let bar = Bar::shared("refresh");
    let found = refresh(&root, &Limits::default(), Some(&bar))?;
    drop(bar);
    if out.is_json() {
        out.json(&json!({
            "type": "summary",
            "schema_version": 1,
            "command": "refresh",
            "stored": found.stored,
            "changed": found.changed,
            "compressed": found.compressed,
        }))?;
        return Ok(Exit::Clean);
    }
    out.line(format!(
        "refreshed {}; looked at {} stored, kept those of {} compressed",
        units::counted(found.changed, "checksum"),
        units::count(found.stored),
        units::count(found.compressed),
    ))?;
    Ok(Exit::Clean)
}
