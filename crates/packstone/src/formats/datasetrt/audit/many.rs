//! What must hold between caches that are opened together.

use std::collections::BTreeMap;
use std::sync::Arc;

use packstone_io::Root;

use super::super::codes;
use super::super::document::Manifest;
use super::super::layout::MANIFEST;
use super::super::parts::cache::read_manifest;
use super::super::parts::site::Site;
use super::super::schema::describe;
use super::walk::Walk;
use crate::error::{Place, Result};
use crate::format::{Audit, AuditOptions};
use crate::model::{Finding, Severity};

/// Prepares the check of caches that are opened together, in this order.
///
/// # Errors
/// As for [`audit`](super::audit).
pub fn audit_many(roots: Vec<Arc<dyn Root>>, options: &AuditOptions) -> Result<Audit> {
    let mut audit = Audit::default();
    let (mut manifests, mut unknown) = (Vec::new(), false);
    for (position, root) in roots.into_iter().enumerate() {
        let site = Site::among_many(root);
        match read_manifest(&site, &options.limits) {
            Ok(manifest) => {
                manifests.push((site.clone(), manifest.clone()));
                let position = position as u64;
                Walk { site, options, audit: &mut audit }.cache(manifest, position)?;
            }
            Err(error) => {
                unknown = true;
                audit.findings.push(error.into());
            }
        }
    }
    audit.findings.extend(together(&manifests));
    // What a manifest holds that could not be read is not known.
    audit.findings.extend(none(&manifests).filter(|_| !unknown));
    Ok(audit)
}

/// What must hold between the caches of a list.
fn together(manifests: &[(Site, Manifest)]) -> Vec<Finding> {
    let mut out = Vec::new();
    let mut ids = BTreeMap::new();
    let error = |code, place, message: String| Finding::new(Severity::Error, code, place, message);
    let first = manifests.first();
    for (position, (site, manifest)) in manifests.iter().enumerate() {
        let id = manifest.cache_id(position as u64);
        if let Some(other) = ids.insert(id, site.label()) {
            let message = format!("expected an id of its own, found {id} of {other} again");
            out.push(error(codes::DUPLICATE_CACHE_ID, site.place(MANIFEST), message));
        }
        let columns = &manifest.contents().columns;
        if let Some((_, first)) = first
            && first.contents().columns != *columns
        {
            let (expected, found) = (describe(&first.contents().columns), describe(columns));
            let message = format!("expected the metadata columns {expected}, found {found}");
            let place = site.place(MANIFEST).json("$.metadata_schema");
            out.push(error(codes::SCHEMA_DIFFERS, place, message));
        }
    }
    out
}

/// A dataset must have a sample.
fn none(manifests: &[(Site, Manifest)]) -> Option<Finding> {
    if manifests.iter().any(|(_, manifest)| manifest.contents().samples > 0) {
        return None;
    }
    let place = manifests.first().map_or_else(Place::default, |(site, _)| site.place(MANIFEST));
    let message = "expected at least one sample, found none";
    Some(Finding::new(Severity::Error, codes::NO_SAMPLES, place, message))
}
