//! The whole check: the structure of a cache, then every shard, and what is worth knowing besides.
//!
//! The structure is all that opening looks at, but without stopping at the first fault. Checksums of index and table
//! follow, then each shard becomes a task: checksum, bounds, envelope, JSON, kinds, LZ4, the copy against the table. One
//! fault gives one finding: what is not what was hashed is not judged any further. Where the original could not read a
//! cache that is whole, that is a note on compatibility and no damage.

mod many;
mod names;
mod samples;
mod values;
mod walk;

use std::collections::BTreeMap;
use std::sync::Arc;

use packstone_io::{EntryKind, Kind, RelPath, Root};

use super::codes;
use super::document::Manifest;
use super::layout::STAGING;
use super::parts::cache::read_manifest;
use super::parts::site::Site;
use super::reader::{caches_in, is_cache, position_taken};
use crate::error::{Place, Result};
use crate::format::{Audit, AuditOptions};
use crate::model::{Finding, Severity};
use walk::Walk;

pub use many::audit_many;

/// Prepares the check of what lies in `root`: a cache, or a folder of caches.
///
/// # Errors
/// Where the manifest of a single cache cannot be read or is refused: then there is nothing to check.
pub fn audit(root: &Arc<dyn Root>, options: &AuditOptions) -> Result<Audit> {
    let mut audit = Audit::default();
    let names = match is_cache(root.as_ref(), &RelPath::root())? {
        true => Vec::new(),
        false => caches_in(root.as_ref())?,
    };
    if names.is_empty() {
        let site = Site::new(Arc::clone(root), RelPath::root());
        let manifest = read_manifest(&site, &options.limits)?;
        Walk { site, options, audit: &mut audit }.cache(manifest, 0)?;
        return Ok(audit);
    }
    let mut manifests = Vec::with_capacity(names.len());
    for (position, name) in (0u64..).zip(&names) {
        let site = Site::new(Arc::clone(root), RelPath::new(name).unwrap_or_default());
        match read_manifest(&site, &options.limits) {
            Ok(manifest) => manifests.push((position, name, site, manifest)),
            Err(error) => audit.findings.push(error.into()),
        }
    }
    let stored = manifests.iter().filter_map(|(_, name, _, manifest)| match manifest {
        Manifest::V2(_) => None,
        Manifest::V3(manifest) => Some((manifest.cache_id, (*name).clone())),
    });
    let stored: BTreeMap<u64, String> = stored.collect();
    for (position, _, site, manifest) in manifests {
        if let Manifest::V2(_) = manifest {
            let taken = position_taken(&site, position, &stored);
            audit.findings.extend(taken.map(Finding::from));
        }
        Walk { site, options, audit: &mut audit }.cache(manifest, position)?;
    }
    audit.findings.extend(incomplete(root.as_ref(), &names)?);
    Ok(audit)
}

/// Folders beside the caches that hold parts of one and no manifest.
fn incomplete(root: &dyn Root, complete: &[String]) -> Result<Vec<Finding>> {
    let mut out = Vec::new();
    let mut look = |folder: &RelPath| -> Result<()> {
        for entry in root.list(folder)? {
            let Ok(path) = folder.join(&entry.name) else { continue };
            let known = folder.is_root() && complete.contains(&entry.name);
            if entry.kind == EntryKind::Folder && !known && is_cache(root, &path)? {
                let message = "expected complete caches, found one in the making";
                let (code, place) = (codes::LEFTOVER_WRITE_TEMP, Place::file(&path));
                out.push(Finding::new(Severity::Info, code, place, message));
            }
        }
        Ok(())
    };
    look(&RelPath::root())?;
    match look(&RelPath::new(STAGING).unwrap_or_default()) {
        Err(error) if error.kind() == Kind::NotFound => {}
        other => other?,
    }
    Ok(out)
}
