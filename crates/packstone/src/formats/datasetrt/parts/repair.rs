//! Salvage: what killed writers left in `tmp/`. Full shards become a cache; what is complete already is shown.

use std::sync::Arc;

use packstone_container::Limits;
use packstone_container::json::{Object, Value};
use packstone_io::{EntryKind, Kind, RelPath, Root, RootMut};

use super::super::codes;
use super::super::layout::{EXTENSION, MANIFEST, STAGING};
use super::descriptor::Descriptor;
use super::journal;
use super::resume::{Left, clear};
use super::site::Site;
use super::stage::{Cache, Stage};
use crate::error::{Place, Result};
use crate::format::{RepairOptions, RepairReport};
use crate::model::{Finding, Severity};

/// Mends the folder of caches in `root`.
///
/// # Errors
/// `io/conflict` where a writer is alive; I/O faults.
pub fn repair(root: &Arc<dyn RootMut>, options: &RepairOptions) -> Result<RepairReport> {
    let mut report = RepairReport::default();
    let tmp = RelPath::new(STAGING).unwrap_or_default();
    let entries = match root.list(&tmp) {
        Err(error) if error.kind() == Kind::NotFound => return Ok(report),
        other => other?,
    };
    let names: Vec<String> = entries
        .into_iter()
        .filter(|entry| entry.kind == EntryKind::Folder)
        .map(|entry| entry.name)
        .collect();
    // Nothing is done before it is known that nobody is at work.
    for name in &names {
        let folder = tmp.join(name).unwrap_or_default();
        journal::read(root.as_ref(), &folder, &options.limits)?;
    }
    for name in &names {
        match Stage::of(Arc::clone(root), name) {
            Ok(mut stage) => mend(&mut stage, options, &mut report)?,
            Err(error) => report.left.push(error.into()),
        }
    }
    if !options.dry_run && !names.is_empty() {
        // Gone only where nothing is left in it.
        let _ = root.remove_folder(&tmp);
    }
    Ok(report)
}

fn mend(stage: &mut Stage, options: &RepairOptions, report: &mut RepairReport) -> Result<()> {
    let root = Arc::clone(&stage.root);
    let root = root.as_ref();
    if let Some(samples) = complete(stage, &options.limits)? {
        report.completed.push(stage.name.clone());
        report.salvaged.push((stage.name.clone(), samples));
        if !options.dry_run {
            for journal in journal::journals(root, &stage.folder)? {
                root.remove(&journal)?;
            }
            stage.publish()?;
        }
        return Ok(());
    }
    let left = Left::find(stage, &options.limits)?;
    let Some(left) = left.filter(|left| !left.shards.is_empty()) else {
        let message =
            "expected full shards with a journal of them, found none: the samples are lost";
        let (code, place) = (codes::LEFTOVER_WRITE_TEMP, Place::file(&stage.folder));
        report.left.push(Finding::new(Severity::Info, code, place, message));
        return Ok(());
    };
    report.left.extend(left.lost.iter().cloned());
    report.salvaged.push((stage.name.clone(), left.samples()));
    report.removed.extend(clear(stage, &left.closed(), options.dry_run)?);
    if options.dry_run {
        return Ok(());
    }
    let document = Object::from_iter([(EXTENSION, left.head.descriptor.clone())]);
    let place = Place::file(&stage.folder);
    let descriptor = Descriptor::of(&document, &left.head.columns, &place)?;
    let version = left.head.options.get("format_version").and_then(Value::as_u64).unwrap_or(3);
    stage.source_name.clone_from(&left.head.name);
    stage.seal(Cache {
        columns: &left.head.columns,
        values: left.values.clone(),
        shards: &left.closed(),
        descriptor: &descriptor,
        version,
    })?;
    for journal in journal::journals(root, &stage.folder)? {
        root.remove(&journal)?;
    }
    stage.publish()
}

/// The number of samples of a cache that only lacks its name: all of it is there and opens.
fn complete(stage: &Stage, limits: &Limits) -> Result<Option<u64>> {
    match stage.root.len(&stage.path(MANIFEST)?) {
        Ok(_) => {}
        Err(error) if error.kind() == Kind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    }
    let root: Arc<dyn Root> = Arc::clone(&stage.root) as _;
    let site = Site::new(root, stage.folder.clone());
    let opened = super::cache::Cache::open(site, 0, Arc::default(), &Default::default(), limits);
    let whole = opened.and_then(|cache| {
        for number in 0..cache.manifest.contents().shards.len() as u64 {
            let (_, bytes) = cache.shard(number, super::maps::Stay::Passing)?;
            cache.compare_checksums(number, &bytes)?;
        }
        Ok(cache.samples())
    });
    Ok(whole.ok())
}
