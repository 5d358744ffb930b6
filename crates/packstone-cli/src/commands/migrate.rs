//! `packstone migrate`: newer manifests for caches that stay as they are.

use std::sync::Arc;

use packstone::formats::datasetrt::DatasetRt;
use packstone::formats::datasetrt::parts::migrate::{
    Entry, Status, Stopped, Target, WARNINGS, migrate, targets,
};
use packstone::json;
use packstone::json::{Object, Value};
use packstone::{Limits, site};

use crate::address::Address;
use crate::expected;
use crate::failure::{Exit, Outcome};
use crate::output::{Out, Paint, note};
use crate::progress::Bar;
use crate::table::Table;
use crate::units;

/// Give DatasetRT caches of version 2 manifests of version 3, with the ids that they have in this list.
///
/// Ids are positions in the list: name every cache of the dataset, in the order in which it is opened; a part of the list
/// gives other ids. Releases of DatasetRT before 0.4 read version 2 alone and cannot read a migrated cache. All manifests
/// are checked before the first is replaced; shards, index and metadata are not touched. Where it stops on the way, the
/// manifests that are done are listed, and the same command again does the rest.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The caches, all of them, in the order of the dataset.
    #[arg(value_name = "CACHE", required = true)]
    addresses: Vec<Address>,
    /// The version to migrate to.
    #[arg(long, value_name = "VERSION", value_parser = clap::value_parser!(u64).range(3..=3))]
    to: u64,
    /// Say which manifest would get which id, and change nothing.
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Outcome {
    let limits = Limits::default();
    let mut paths = Vec::with_capacity(args.addresses.len());
    for address in &args.addresses {
        let path = &address.whole()?.path;
        let root = site::root(path)?;
        let takes = ("migrate", "a DatasetRT cache");
        expected::format(takes, &DatasetRt, (path, root.as_ref()), "cli/migrate")?;
        paths.push(path.clone());
    }
    let targets = targets(&paths, &limits)?;
    if !out.is_json() {
        WARNINGS.iter().for_each(|warning| note(format!("note: {warning}")));
    }
    if args.dry_run {
        return plan(args, &targets, out);
    }
    let bar = Bar::shared("migrate");
    let done = migrate(&targets, args.to, &limits, Some(&Arc::clone(&bar)));
    drop(bar);
    match done {
        Ok(entries) => {
            report(args, &entries, out)?;
            Ok(Exit::Clean)
        }
        Err(Stopped { error, entries, .. }) => {
            // What is done before a fault is worth knowing.
            tell(entries.iter().map(|e| (e.path.as_str(), e.cache_id, e.status.name())), out)?;
            if !out.is_json() && !entries.is_empty() {
                out.flush()?;
                note(format!("{} of {} are done", entries.len(), targets.len()));
            }
            Err(error.into())
        }
    }
}

/// What would be done.
fn plan(args: &Args, targets: &[Target], out: &mut Out) -> Outcome {
    let status = |target: &Target| match target.loaded.version() {
        2 => "to_update",
        _ => Status::Unchanged.name(),
    };
    tell(targets.iter().map(|t| (t.real_path.as_str(), t.cache_id, status(t))), out)?;
    let updated = targets.iter().filter(|target| target.loaded.version() == 2).count();
    summary(args, updated, targets.len() - updated, out)?;
    Ok(Exit::Clean)
}

fn report(args: &Args, entries: &[Entry], out: &mut Out) -> Outcome<()> {
    tell(entries.iter().map(|e| (e.path.as_str(), e.cache_id, e.status.name())), out)?;
    let updated = entries.iter().filter(|entry| entry.status == Status::Updated).count();
    summary(args, updated, entries.len() - updated, out)
}

/// A line for each manifest: where it lies, its id, what became of it.
fn tell<'e>(lines: impl Iterator<Item = (&'e str, u64, &'e str)>, out: &mut Out) -> Outcome<()> {
    let mut table = Table::new(&["status", ">cache_id", "manifest"]);
    for (path, cache_id, status) in lines {
        if out.is_json() {
            let mut line = Object::new();
            line.insert("type", "manifest");
            line.insert("path", path);
            line.insert("cache_id", cache_id);
            line.insert("status", status);
            out.json(&Value::Object(line))?;
            continue;
        }
        table.row([status.to_owned(), cache_id.to_string(), out.data(path).into_owned()]);
    }
    table.print_with_gap(out)
}

fn summary(args: &Args, updated: usize, unchanged: usize, out: &mut Out) -> Outcome<()> {
    if out.is_json() {
        let warnings: Vec<Value> = WARNINGS.iter().map(|warning| Value::from(*warning)).collect();
        let report = json!({
            "to": args.to,
            "dry_run": args.dry_run,
            "updated": updated,
            "unchanged": unchanged,
            "warnings": warnings,
        });
        return out.summary("migrate", report);
    }
    let would = if args.dry_run { "would be " } else { "" };
    let told = out.paint(Paint::Green, format!("{would}updated"));
    let (updated, unchanged) = (units::count(updated as u64), units::count(unchanged as u64));
    out.line(format!("{told} {updated}, unchanged {unchanged}"))
}
