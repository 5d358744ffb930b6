//! Salvage: finished shards that no list names, after a writer was killed.
//!
//! A shard counts as finished when it decodes as a whole and, where a journal or an unreachable list recorded its
//! checksums, has these. Shards of living writers and of parts that wait for their merge are left alone.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use packstone_container::json::At;
use packstone_io::{EntryKind, Kind, LOCK_FILE, RelPath, Root, RootMut, TEMPORARY};

use super::super::codes;
use super::super::document::DatasetInfo;
use super::super::layout::{LIBRARY_TEMPORARY, SHARDS_LIST, SPLITS};
use super::super::reader::{check_file, checksums, read_info};
use super::fields::{self, Notes};
use super::intent::PUBLICATION;
use super::list::{FileInfo, ListPointer, ShardEntry, ShardsList};
use super::merge;
use super::publish::{PATIENCE, Update, check_depth, publish};
use super::shard::ShardFormat;
use crate::error::{Error, Place, Result};
use crate::exec::{default_threads, for_each};
use crate::format::{ReadContext, RepairOptions, RepairReport};
use crate::model::{Finding, Severity};

/// End of the name of a writer's journal.
const JOURNAL: &str = ".journal";

/// Everything that lies below a folder, files only, sorted, with sizes in bytes.
///
/// # Errors
/// I/O faults.
pub fn walk_files(root: &dyn Root, folder: &RelPath) -> Result<Vec<(RelPath, u64)>> {
    let (mut files, mut open) = (Vec::new(), vec![folder.clone()]);
    while let Some(folder) = open.pop() {
        for entry in root.list(&folder).map_err(|e| super::tree::file_error(e, &folder))? {
            let Ok(path) = folder.join(&entry.name) else { continue };
            match entry.kind {
                EntryKind::Folder => open.push(path),
                _ => files.push((path, entry.len)),
            }
        }
    }
    files.sort();
    Ok(files)
}

/// True for files in the making, of packstone and of the original.
pub fn is_temporary(name: &str) -> bool {
    let own = name.starts_with(TEMPORARY) && (name.ends_with(".tmp") || name.ends_with(JOURNAL));
    own || (name.starts_with(LIBRARY_TEMPORARY) && name.contains("_of_"))
}

/// What the lists that the root leads to name: shards and lists.
///
/// # Errors
/// The first list that cannot be read.
fn listed(
    root: &dyn Root,
    info: &DatasetInfo,
    options: &RepairOptions,
) -> Result<BTreeSet<RelPath>> {
    let mut found = BTreeSet::new();
    let mut open: Vec<ListPointer> = info.splits.iter().map(|(_, p)| p.clone()).collect();
    while let Some(pointer) = open.pop() {
        let path = pointer.file.path;
        if !found.insert(path.clone()) {
            continue;
        }
        let bytes = root.read(&path).map_err(|e| super::tree::file_error(e, &path))?;
        let list = ShardsList::parse(&bytes, &path, &options.limits)?;
        found.extend(list.shards.iter().flat_map(|s| &s.files).map(|f| f.path.clone()));
        open.extend(list.children);
    }
    Ok(found)
}

/// Mends the dataset in `root`.
///
/// # Errors
/// Where the root document cannot be read, a list that it leads to is damaged, or a writer is alive.
pub fn repair(root: &Arc<dyn RootMut>, options: &RepairOptions) -> Result<RepairReport> {
    let mut report = RepairReport::default();
    let info = settle_root(root, options, &mut report)?;
    let listed = listed(root.as_ref(), &info, options)?;
    let known = records(root.as_ref(), options)?;
    let pending = merge::pending_folders(root.as_ref(), &info, &options.limits)?;
    let format = ShardFormat::from(&info);
    let mut context = ReadContext { limits: options.limits, ..ReadContext::default() };
    let mut salvage: Vec<(usize, ShardEntry)> = Vec::new();
    let top = root.list(&RelPath::root())?.into_iter();
    let mut leftovers: Vec<RelPath> = top
        .filter(|e| e.kind == EntryKind::File && is_temporary(&e.name) && e.name != LOCK_FILE)
        .filter_map(|e| RelPath::new(&e.name).ok())
        .collect();
    for split in SPLITS {
        let folder = RelPath::new(split).unwrap_or_default();
        let files = match walk_files(root.as_ref(), &folder) {
            Ok(files) => files,
            Err(error) if error.kind() == Kind::NotFound => continue,
            Err(error) => return Err(error),
        };
        for (path, size) in files.into_iter().filter(|(path, _)| !listed.contains(path)) {
            if let Some(progress) = &options.progress {
                progress.advance(size);
            }
            if is_temporary(path.name()) {
                leftovers.push(path);
                continue;
            }
            let extension = path.name().rsplit_once('.').map(|(_, e)| e);
            if extension != Some(format.shard_type.name()) {
                continue;
            }
            if pending.iter().any(|folder| path.starts_with(folder)) {
                let message =
                    "expected a listed shard, found one of a part that waits for its merge";
                report.left.push(Finding::new(
                    Severity::Info,
                    codes::UNLISTED_FILE,
                    Place::file(&path),
                    message,
                ));
                continue;
            }
            let record = known.get(&path);
            let turn = record.map_or(usize::MAX, |(turn, _)| *turn);
            let record = record.map(|(_, entry)| entry);
            match salvaged(root.as_ref(), &path, &info, &format, record, &mut context) {
                Ok(entry) => {
                    report.salvaged.push((path.to_string(), entry.examples));
                    salvage.push((turn, entry));
                }
                Err(error) => report.left.push(error.into()),
            }
        }
    }
    if !options.dry_run {
        // Who came while shards were decoded knows better what is his.
        no_writer(root.as_ref())?;
        // Stable, so what no journal knows keeps the order of its paths.
        salvage.sort_by_key(|(turn, _)| *turn);
        let salvage: Vec<ShardEntry> = salvage.into_iter().map(|(_, entry)| entry).collect();
        let paths: Vec<RelPath> =
            salvage.iter().flat_map(|e| &e.files).map(|f| f.path.clone()).collect();
        for_each(&paths, default_threads(), |path| Ok(root.persist(path)?))?;
        if !salvage.is_empty() {
            let shards = salvage.into_iter().map(Update::Shard).collect();
            publish(root, shards, PATIENCE, &options.limits, |_| Ok(()))?;
        }
        // Under the lock, so that no file is taken from somebody who is about to publish it.
        let _lock = root.lock(PATIENCE)?;
        for path in &leftovers {
            match root.remove(path) {
                // Published meanwhile.
                Err(error) if error.kind() == Kind::NotFound => {}
                other => other?,
            }
        }
    }
    report.removed = leftovers.iter().map(RelPath::to_string).collect();
    Ok(report)
}

/// Reads the root, after completing a publication that was cut off between two renames. Lists that are not what the root
/// was hashed over for any other reason stay as they are and are told.
fn settle_root(
    root: &Arc<dyn RootMut>,
    options: &RepairOptions,
    report: &mut RepairReport,
) -> Result<DatasetInfo> {
    no_writer(root.as_ref())?;
    let left = if options.dry_run {
        let files = PUBLICATION.unfinished(root.as_ref(), &options.limits)?.unwrap_or_default();
        files.into_iter().map(|(path, _)| path).collect()
    } else {
        let _lock = root.lock(PATIENCE)?;
        PUBLICATION.complete(root.as_ref(), &options.limits)?
    };
    report.completed = left.iter().map(RelPath::to_string).collect();
    let info = read_info(root.as_ref(), &options.limits)?;
    for (_, pointer) in &info.splits {
        let Ok(bytes) = root.read(&pointer.file.path) else { continue };
        if let Err(error) = check_file(&pointer.file, &info.algorithms, &bytes) {
            report.left.push(error.into());
        }
    }
    Ok(info)
}

/// Checks that no writer is at work.
fn no_writer(root: &dyn RootMut) -> Result<()> {
    for journal in journals(root)? {
        if root.journal_is_held(&journal)? {
            let message = "expected no writer at work, found one";
            return Err(Error::new(Kind::Conflict, "io/conflict", Place::file(&journal), message));
        }
    }
    Ok(())
}

fn journals(root: &dyn Root) -> Result<Vec<RelPath>> {
    let entries = root.list(&RelPath::root())?;
    let names =
        entries.iter().filter(|e| e.name.starts_with(TEMPORARY) && e.name.ends_with(JOURNAL));
    Ok(names.filter_map(|e| RelPath::new(&e.name).ok()).collect())
}

/// What is known of a shard without looking at it, and its turn among all of them.
type Records = BTreeMap<RelPath, (usize, ShardEntry)>;

/// What journals and unreachable lists say about shards, in the order of writing as far as a journal knows it.
fn records(root: &dyn Root, options: &RepairOptions) -> Result<Records> {
    let mut known = Records::new();
    let mut turn = 0;
    let mut note = |entry: ShardEntry| {
        if let Some(file) = entry.files.first() {
            known.insert(file.path.clone(), (turn, entry));
            turn += 1;
        }
    };
    for split in SPLITS {
        let Ok(files) = walk_files(root, &RelPath::new(split).unwrap_or_default()) else {
            continue;
        };
        for (path, _) in files.iter().filter(|(p, _)| p.name() == SHARDS_LIST) {
            let Ok(bytes) = root.read(path) else { continue };
            // A list that does not parse says nothing.
            if let Ok(list) = ShardsList::parse(&bytes, path, &options.limits) {
                list.shards.iter().for_each(|entry| note(entry.as_ref().clone()));
            }
        }
    }
    for path in journals(root)? {
        let bytes = root.read(&path)?;
        for line in bytes.split(|b| *b == b'\n').filter(|line| !line.is_empty()) {
            let mut notes = Notes::new(Place::file(&path));
            // The last line may be cut.
            let Ok(value) = fields::read(line, &options.limits, &mut notes) else { continue };
            let entry = At::root(&value)
                .field("shard")
                .ok()
                .and_then(|at| ShardEntry::parse(at, &mut notes).ok());
            entry.into_iter().for_each(&mut note);
        }
    }
    Ok(known)
}

fn salvaged(
    root: &dyn Root,
    path: &RelPath,
    info: &DatasetInfo,
    format: &ShardFormat,
    record: Option<&ShardEntry>,
    context: &mut ReadContext,
) -> Result<ShardEntry> {
    check_depth(&path.parent().unwrap_or_default())?;
    let bytes = root.read(path).map_err(|e| super::tree::file_error(e, path))?;
    if let Some(file) = record.and_then(|r| r.files.first())
        && file.checksums.len() == info.algorithms.len()
    {
        check_file(file, &info.algorithms, &bytes)?;
    }
    let sums = checksums(&info.algorithms, &bytes);
    let rows = format.decode(path, bytes, None, context)?.rows() as u64;
    let metadata = record.map(|r| Arc::clone(&r.metadata)).unwrap_or_default();
    Ok(ShardEntry {
        files: vec![FileInfo { path: path.clone(), checksums: sums }],
        examples: rows,
        metadata,
    })
}
