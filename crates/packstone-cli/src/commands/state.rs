//! `packstone state`: where a loader stands, and the state of another place.

use std::io::Read;
use std::path::{Path, PathBuf};

use clap::Subcommand;
use packstone::json::Value;
use packstone::loader::State;
use packstone::{Result, json};

use crate::failure::{Exit, Outcome};
use crate::order::fault;
use crate::output::Out;
use crate::units;

/// More of a file is never read.
const LONGEST: u64 = 64 << 10;

/// Show the state of a loader, or print the state of a place before or after it.
///
/// Nothing is written: `packstone state skip FILE 1000 > NEW`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Show what is loaded, in which order, and what comes next.
    Show {
        /// A state as a loader gives it.
        file: PathBuf,
    },
    /// Print the state so many samples later, over all ranks, in this epoch or one after it.
    Skip {
        /// A state as a loader gives it.
        file: PathBuf,
        /// Samples.
        count: u64,
    },
    /// Print the state so many samples earlier, over all ranks.
    Rewind {
        /// A state as a loader gives it.
        file: PathBuf,
        /// Samples.
        count: u64,
    },
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Outcome {
    let (state, show) = match &args.what {
        What::Show { file } => (read(file)?, true),
        What::Skip { file, count } => (read(file)?.skip(*count)?, false),
        What::Rewind { file, count } => (read(file)?.rewind(*count)?, false),
    };
    if out.is_json() {
        out.json(&json!({
            "type": "state",
            "schema_version": 1,
            "state": Value::Object(state.to_json()),
        }))?;
    } else if show {
        print(&state, out)?;
    } else {
        let text = state.to_string();
        let text = out.data(&text).into_owned();
        out.line(text)?;
    }
    Ok(Exit::Clean)
}

/// The state in a file.
pub(crate) fn read(path: &Path) -> Result<State> {
    let file = std::fs::File::open(path).map_err(|error| fault(path, &error))?;
    let mut text = Vec::new();
    file.take(LONGEST).read_to_end(&mut text).map_err(|error| fault(path, &error))?;
    State::parse(&text).map_err(|error| {
        let mut place = error.place().clone();
        place.file = Some(path.display().to_string());
        error.with_place(place)
    })
}

fn print(state: &State, out: &mut Out) -> Outcome<()> {
    let (dataset, order) = (&state.dataset, &state.order);
    let name = out.data(&dataset.collection).into_owned();
    let format = out.data(&dataset.format).into_owned();
    let digest = out.data(&dataset.digest).into_owned();
    let samples = units::counted(dataset.samples, "sample");
    out.line(format!("dataset    {format}, {name}: {samples}, digest {digest}"))?;
    let name = out.data(&order.name).into_owned();
    out.line(format!("order      {name}, version {}", order.version))?;
    let params = order.params_text();
    let params = out.data(&params).into_owned();
    out.line(format!("params     {params}"))?;
    out.line(format!("epoch      {}", units::count(state.epoch)))?;
    let (position, len) = (units::count(state.position), units::count(order.len));
    out.line(format!("position   {position} of {len}"))?;
    out.line(format!("remainder  {}", state.remainder.name()))
}
