//! What a killed writer left in its stage: the full shards, whole and with the metadata of their samples.

use packstone_container::Limits;
use packstone_container::arrow_table::Column;
use packstone_io::RelPath;

use super::super::layout::SHARDS;
use super::cache::check_sum;
use super::journal::{self, Head, Noted};
use super::shards::Closed;
use super::stage::{Stage, remove_tree};
use crate::error::{Place, Result};
use crate::model::Finding;

/// What can be used again.
pub struct Left {
    /// What the writer did.
    pub head: Head,
    /// The shards, from the first up to the first that is not whole.
    pub shards: Vec<Noted>,
    /// The metadata of their samples.
    pub values: Vec<Column>,
    /// Why later shards cannot be used.
    pub lost: Vec<Finding>,
}

impl Left {
    /// Looks at a stage; `None` where no journal tells of it.
    ///
    /// # Errors
    /// `io/conflict` where its writer is alive; I/O faults.
    pub fn find(stage: &Stage, limits: &Limits) -> Result<Option<Self>> {
        let root = stage.root.as_ref();
        let Some(told) = journal::read(root, &stage.folder, limits)? else { return Ok(None) };
        let columns = &told.head.columns;
        let mut values: Vec<Column> =
            columns.iter().map(|column| Column::empty(column.kind.column())).collect();
        let (mut shards, mut lost) = (Vec::new(), Vec::new());
        for noted in told.shards {
            let path = stage.path(SHARDS)?.below(&noted.closed.entry.name);
            let place = Place::file(&path);
            let mut whole = || -> Result<()> {
                let bytes = root.read(&path).map_err(|e| super::site::file_error(e, &place))?;
                check_sum(&noted.closed.entry.sha256, &bytes, place.clone())?;
                journal::restore(&noted, &bytes, columns, &mut values, &place, limits)
            };
            match whole() {
                Ok(()) => shards.push(noted),
                Err(error) => {
                    lost.push(error.into());
                    break;
                }
            }
        }
        Ok(Some(Self { head: told.head, shards, values, lost }))
    }

    /// The shards with the lengths of their records.
    pub fn closed(&self) -> Vec<Closed> {
        self.shards.iter().map(|noted| noted.closed.clone()).collect()
    }

    /// Number of samples.
    pub fn samples(&self) -> u64 {
        self.shards.iter().map(|noted| noted.closed.lengths.len() as u64).sum()
    }
}

/// Removes everything in a stage but these shards and the journals; returns what was removed.
///
/// # Errors
/// I/O faults.
pub fn clear(stage: &Stage, keep: &[Closed], dry_run: bool) -> Result<Vec<String>> {
    let root = stage.root.as_ref();
    let shards = stage.path(SHARDS)?;
    let mut kept: Vec<RelPath> =
        keep.iter().map(|closed| shards.below(&closed.entry.name)).collect();
    kept.extend(journal::journals(root, &stage.folder)?);
    let mut removed = Vec::new();
    for folder in [stage.folder.clone(), shards.clone()] {
        let entries = match root.list(&folder) {
            Err(error) if error.kind() == packstone_io::Kind::NotFound => continue,
            other => other?,
        };
        for entry in entries {
            let Ok(path) = folder.join(&entry.name) else { continue };
            if kept.contains(&path) || path == shards {
                continue;
            }
            removed.push(path.to_string());
            if dry_run {
                continue;
            }
            match entry.kind {
                packstone_io::EntryKind::Folder => remove_tree(root, &path)?,
                _ => root.remove(&path)?,
            }
        }
    }
    Ok(removed)
}
