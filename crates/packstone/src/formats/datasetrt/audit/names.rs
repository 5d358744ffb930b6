//! What the check of a cache says of names: ids, columns, shards, files that nobody names.

use std::collections::BTreeSet;

use packstone_io::{EntryKind, RelPath};

use super::super::codes;
use super::super::document::Manifest;
use super::super::layout::{INDEX, MANIFEST, MANIFEST_TEMPORARY, METADATA, RESERVED};
use super::super::parts::identity::cache_id;
use super::walk::Walk;
use crate::error::Place;
use crate::model::{Finding, Severity};

impl Walk<'_> {
    pub(super) fn names(&mut self, manifest: &Manifest, position: u64) {
        let contents = manifest.contents();
        let place = self.site.place(MANIFEST);
        if let Manifest::V3(manifest) = manifest {
            let derived = cache_id(&contents.source_name);
            if manifest.cache_id != derived {
                let (name, found) = (&contents.source_name, manifest.cache_id);
                let message = format!(
                    "expected id {derived} as the name {name:?} gives a new cache, found {found}: \
                     a migrated cache keeps its position, here {position}"
                );
                self.info(codes::ID_NOT_FROM_NAME, place.clone().json("$.cache_id"), message);
            }
        }
        for (number, column) in contents.columns.iter().enumerate() {
            if RESERVED.contains(&column.name.as_str()) {
                let message = format!(
                    "expected a column name that the original's table leaves free, found {:?}",
                    column.name
                );
                let place = place.clone().json(format!("$.metadata_schema[{number}].name"));
                let finding = Finding::new(Severity::Warning, codes::RESERVED_NAME, place, message);
                self.audit.findings.push(finding);
            }
        }
        let mut names = BTreeSet::new();
        for shard in &contents.shards {
            if !names.insert(&shard.name) {
                let message = "expected each shard once, found it again";
                self.info(codes::SHARD_LISTED_TWICE, self.site.shard_place(&shard.name), message);
            }
        }
    }

    /// Files that the cache does not name.
    pub(super) fn stray(&mut self, manifest: &Manifest) {
        let mut known: BTreeSet<RelPath> =
            [MANIFEST, METADATA, INDEX].iter().filter_map(|n| self.site.path(n).ok()).collect();
        let shards = manifest.contents().shards.iter();
        known.extend(shards.filter_map(|shard| self.site.shard(&shard.name).ok()));
        let mut open = vec![self.site.folder.clone()];
        while let Some(folder) = open.pop() {
            let entries = match self.site.root.list(&folder) {
                Ok(entries) => entries,
                Err(error) => {
                    self.found(error.into());
                    continue;
                }
            };
            for entry in entries {
                let Ok(path) = folder.join(&entry.name) else { continue };
                if entry.kind == EntryKind::Folder {
                    open.push(path);
                } else if !known.contains(&path) {
                    let temporary = entry.name.starts_with(MANIFEST_TEMPORARY)
                        || entry.name.starts_with(packstone_io::TEMPORARY);
                    let (code, what) = match temporary {
                        true => (codes::LEFTOVER_MANIFEST_TEMP, "a file in the making"),
                        false => (codes::UNLISTED_FILE, "another file"),
                    };
                    let message = format!("expected the files of the cache, found {what}");
                    self.info(code, Place::file(&path), message);
                }
            }
        }
    }
}
