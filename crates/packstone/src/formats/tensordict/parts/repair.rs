//! Mending what killed writers left in a saved tree.
//!
//! | they left | it is |
//! | --- | --- |
//! | an intent of an appender | completed: its rows are all on the disk |
//! | hidden files and folders | removed |
//! | rows behind the last one that documents count | left alone: readers ignore them, the next appender overwrites them |

use std::sync::Arc;
use std::time::Duration;

use packstone_io::{EntryKind, LOCK_FILE, RelPath, RootMut, TEMPORARY};

use super::append::APPENDING;
use super::stage::remove_tree;
use crate::error::Result;
use crate::format::{RepairOptions, RepairReport};

/// How long to wait for a writer that is at work.
const PATIENCE: Duration = Duration::from_secs(5);

/// Mends the tree in `root`; an archive has nothing to mend.
///
/// # Errors
/// `Conflict` where a writer is at work; `malformed_meta` for an intent that packstone did not write; `Io`.
pub fn repair(root: &Arc<dyn RootMut>, options: &RepairOptions) -> Result<RepairReport> {
    let mut report = RepairReport::default();
    if root.sole_file().is_some() {
        return Ok(report);
    }
    let _lock = root.lock(PATIENCE)?;
    let completed = match options.dry_run {
        true => {
            let files = APPENDING.unfinished(root.as_ref(), &options.limits)?.unwrap_or_default();
            files.into_iter().map(|(path, _)| path).collect()
        }
        false => APPENDING.complete(root.as_ref(), &options.limits)?,
    };
    report.completed = completed.iter().map(RelPath::to_string).collect();
    leftovers(root.as_ref(), &RelPath::root(), options, options.limits.depth, &mut report)?;
    Ok(report)
}

fn leftovers(
    root: &dyn RootMut,
    folder: &RelPath,
    options: &RepairOptions,
    depth: usize,
    report: &mut RepairReport,
) -> Result<()> {
    for entry in root.list(folder)? {
        let Ok(path) = RelPath::new(&format!("./{folder}/{}", entry.name)) else { continue };
        let hidden = entry.name.starts_with(TEMPORARY) && entry.name.ends_with(".tmp");
        match entry.kind {
            EntryKind::Folder if hidden => {
                if !options.dry_run {
                    remove_tree(root, &path)?;
                }
                report.removed.push(path.to_string());
            }
            EntryKind::Folder if depth > 0 => {
                leftovers(root, &path, options, depth - 1, report)?;
            }
            EntryKind::File if hidden && entry.name != LOCK_FILE => {
                if !options.dry_run {
                    root.remove(&path)?;
                }
                report.removed.push(path.to_string());
            }
            _ => {}
        }
    }
    Ok(())
}
