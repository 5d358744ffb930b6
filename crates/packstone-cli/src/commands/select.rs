//! `packstone select`: samples by a condition on their metadata.

use std::path::PathBuf;

use packstone::expr::Expr;
use packstone::format::{Dataset, Selected};
use packstone::json;
use packstone::json::{Object, Value};
use packstone::ops::{Find, Match};
use packstone::{Error, Kind, Place, Result, site};

use crate::address::{self, Address};
use crate::cli::Threads;
use crate::failure::{Exit, Outcome};
use crate::hints::NULL_NAME;
use crate::output::{Out, Paint, note};
use crate::{interrupt, show, units};

/// List the samples whose metadata meet a condition, and save which they are.
///
/// Conditions read like `label == 3 and snr > 0.5`, `not (split in ["test", "holdout"])`, `startswith(path, 'a/')`,
/// `score is null or isnan(score)`; names that are no plain words stand in backquotes. Values of samples are not read. A
/// saved selection opens wherever a dataset does: `packstone dump VIEW.json`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The dataset, or one collection of it; several paths where the format reads them as one dataset.
    #[arg(value_name = "PATH[#COLLECTION]", required = true)]
    addresses: Vec<Address>,
    /// The condition; all samples without one.
    #[arg(long = "where", value_name = "CONDITION")]
    condition: Option<String>,
    /// Only these collections.
    #[arg(long, value_name = "NAME", num_args = 1..)]
    collection: Vec<String>,
    /// Say how many there are, and list none.
    #[arg(long)]
    count: bool,
    /// Write which samples of which data they are to a new file. Nothing is written without this.
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    #[command(flatten)]
    threads: Threads,
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Outcome {
    let condition = args.condition.as_deref().map(Expr::parse).transpose()?;
    let opened = address::open_all(&args.addresses)?;
    let collections = opened.collections(&args.addresses, &args.collection)?;
    if args.save.is_some() && collections.len() != 1 {
        let names: Vec<_> = collections.iter().map(|c| c.name().to_owned()).collect();
        let message = format!("expected one collection to save, found {}", names.join(", "));
        return Err(Error::new(Kind::Invalid, "cli/usage", Place::default(), message).into());
    }
    if let Some(file) = &args.save {
        can_be_saved(opened.dataset.as_ref())?;
        site::new_file(file)?;
    }
    let (mut selected, mut samples) = (0u64, 0u64);
    for collection in collections {
        let name = collection.name().to_owned();
        samples = samples.saturating_add(collection.len());
        let find = Find::new(collection).condition(condition.clone()).threads(args.threads.count());
        let mut kept = Vec::new();
        for found in find.matches()? {
            interrupt::check()?;
            let found = found?;
            selected += 1;
            if args.save.is_some() {
                kept.push(found.index);
            }
            match args.count {
                true => {}
                false if out.is_json() => out.json(&line(&name, found))?,
                false => print(&name, &found, out)?,
            }
        }
        if let Some(file) = &args.save {
            let condition = args.condition.as_deref();
            let chosen = Selected { collection: &name, samples: &kept, condition };
            site::save_selection(opened.dataset.as_ref(), &chosen, file)?;
        }
    }
    let saved = args.save.as_deref().map(|file| file.display().to_string());
    if out.is_json() {
        let report = json!({
            "condition": args.condition.as_deref(),
            "selected": selected,
            "samples": samples,
            "saved": saved.as_deref(),
        });
        out.summary("select", report)?;
        return Ok(Exit::Clean);
    }
    let told = format!("{} of {}", units::count(selected), units::counted(samples, "sample"));
    if selected == 0 && args.condition.is_some() {
        note(NULL_NAME);
    }
    match args.count {
        true => out.line(told)?,
        false => {
            out.flush()?;
            note(told);
        }
    }
    if let Some(file) = saved {
        note(format!("saved as {file}"));
    }
    Ok(Exit::Clean)
}

/// Tells at once where a format has no saved selections.
fn can_be_saved(dataset: &dyn Dataset) -> Result<()> {
    let none = Selected { collection: "", samples: &[], condition: None };
    match dataset.selection(&none, &|label| Ok(label.to_owned())) {
        Err(error) if error.kind() == Kind::Unsupported => Err(error),
        _ => Ok(()),
    }
}

fn line(collection: &str, found: Match) -> Value {
    let mut line = Object::new();
    line.insert("type", "selected");
    line.insert("collection", collection);
    line.insert("index", found.index);
    for (name, value) in found.identity {
        line.insert(name, value);
    }
    line.insert("metadata", found.metadata.as_ref().clone());
    Value::Object(line)
}

fn print(collection: &str, found: &Match, out: &mut Out) -> Outcome<()> {
    let identity: Vec<String> =
        found.identity.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let metadata = match found.metadata.is_empty() {
        true => String::new(),
        false => show::shorten(&Value::Object(found.metadata.as_ref().clone()).to_string(), 200),
    };
    let place = out.paint(Paint::Bold, format!("#{}", found.index));
    let rest = format!("{} {metadata}", identity.join(" "));
    let text = format!("{} {place} {}", out.data(collection), out.data(rest.trim()));
    out.line(text.trim_end())
}
