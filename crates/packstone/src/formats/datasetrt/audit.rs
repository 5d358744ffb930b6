//! The whole check: the structure of a cache, then every shard, and what is worth knowing besides.
//!
//! The structure is all that opening looks at, but without stopping at the first fault. Checksums of index and table
//! follow, then each shard becomes a task: checksum, bounds, envelope, JSON, kinds, LZ4, the copy against the table. One
//! fault gives one finding: what is not what was hashed is not judged any further. Where the original could not read a
//! cache that is whole, that is a note on compatibility and no damage.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use packstone_container::arrow_table::{ArrowFile, Cell};
use packstone_container::digest::{Algorithm, digest_hex};
use packstone_io::{EntryKind, Kind, RelPath, Root};

use super::codes;
use super::document::Manifest;
use super::layout::{INDEX, MANIFEST, MANIFEST_TEMPORARY, METADATA, RESERVED, STAGING};
use super::parts::cache::{check_shard_length, check_sum, read_manifest, read_table};
use super::parts::check::{Found, Whole};
use super::parts::identity::cache_id;
use super::parts::index::Index;
use super::parts::record::Spelling;
use super::parts::site::Site;
use super::reader::{caches_in, is_cache, position_taken};
use super::schema::{ValueKind, arrow_error, describe};
use crate::error::{Error, Place, Result};
use crate::format::{Audit, AuditOptions, AuditTask, ReadContext};
use crate::model::{Finding, Severity};

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

/// Prepares the check of caches that are opened together, in this order.
///
/// # Errors
/// As for [`audit`].
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

/// The check of one cache.
struct Walk<'a> {
    site: Site,
    options: &'a AuditOptions,
    audit: &'a mut Audit,
}

impl Walk<'_> {
    fn info(&mut self, code: &'static str, place: Place, message: impl Into<String>) {
        self.audit.findings.push(Finding::new(Severity::Info, code, place, message));
    }

    fn found(&mut self, error: Error) {
        self.audit.findings.push(error.into());
    }

    fn cache(mut self, manifest: Manifest, position: u64) -> Result<()> {
        self.audit.documents += 1;
        self.audit.findings.extend(manifest.contents().notes.iter().cloned());
        self.expected()?;
        self.names(&manifest, position);
        let lengths = self.shard_lengths(&manifest);
        self.stray(&manifest);
        let index = self.index(&manifest);
        let table = self.table(&manifest, index.as_ref().err());
        let judged = !matches!(&table, Err(codes::ARROW_COLUMNS_DIFFER));
        let (Ok(index), table) = (index, table.ok()) else { return Ok(()) };
        let (samples, known) = self.samples_of_shards(&manifest, &index);
        if manifest.contents().samples == 0 {
            let message = "expected samples, found a cache that opens only beside another one";
            self.info(codes::NO_SAMPLES, self.site.place(MANIFEST), message);
        }
        let spelling = Spelling::new(&manifest.contents().columns, false);
        let (site, entries) = (self.site.clone(), manifest.contents().shards.clone());
        let whole = Arc::new(Whole { site, manifest, index, table, spelling, judged, known });
        if self.options.quick {
            return Ok(());
        }
        for (number, entry) in entries.iter().enumerate() {
            // What is not as long as it should be is not what was hashed.
            if lengths.contains(&number) {
                continue;
            }
            let samples = samples.get(&(number as u64)).cloned().unwrap_or_default();
            let whole = Arc::clone(&whole);
            let count = samples.iter().map(|range| range.end - range.start).sum();
            let run = Box::new(move |context: &mut ReadContext| {
                whole.check_shard(number as u64, &samples, context)
            });
            self.audit.tasks.push(AuditTask { bytes: entry.bytes, samples: count, run });
        }
        if let Some(table) = whole.table.clone() {
            let bytes = table.bytes().len() as u64;
            let run = Box::new(move |_: &mut ReadContext| check_values(&whole, &table));
            self.audit.tasks.push(AuditTask { bytes, samples: 0, run });
        }
        Ok(())
    }

    /// Compares the manifest with checksums that somebody noted.
    fn expected(&mut self) -> Result<()> {
        if self.options.expect.is_empty() {
            return Ok(());
        }
        let bytes = self.site.read(&self.site.path(MANIFEST)?, &self.site.place(MANIFEST))?;
        let found = digest_hex(Algorithm::Sha256, &bytes);
        for expected in &self.options.expect {
            if !expected.eq_ignore_ascii_case(&found) {
                let message = format!("expected checksum {expected}, found {found}");
                let (code, place) = (codes::CHECKSUM_MISMATCH, self.site.place(MANIFEST));
                self.found(Error::new(Kind::Corrupt, code, place, message));
            }
        }
        Ok(())
    }

    fn names(&mut self, manifest: &Manifest, position: u64) {
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

    /// The numbers of shards that are missing or of another length.
    fn shard_lengths(&mut self, manifest: &Manifest) -> BTreeSet<usize> {
        let mut wrong = BTreeSet::new();
        for (number, shard) in manifest.contents().shards.iter().enumerate() {
            if let Err(error) = check_shard_length(&self.site, shard) {
                wrong.insert(number);
                self.found(error);
            }
        }
        wrong
    }

    /// The table, where it is what was hashed and fits the manifest; else what is wrong with it.
    fn table(
        &mut self,
        manifest: &Manifest,
        index: Option<&&'static str>,
    ) -> Result<Arc<ArrowFile>, &'static str> {
        let contents = manifest.contents();
        let place = self.site.place(METADATA);
        if !self.options.quick {
            let compared = self.site.path(METADATA).and_then(|path| {
                let bytes = self.site.read(&path, &place)?;
                check_sum(&contents.metadata_sha256, &bytes, place)
            });
            if let Err(error) = compared {
                let code = error.code();
                self.found(error);
                return Err(code);
            }
        }
        read_table(&self.site, manifest).map(Arc::new).map_err(|error| {
            let code = error.code();
            // Where both tell another number than the manifest, that was said.
            if (index, code) != (Some(&codes::INDEX_ROW_COUNT), codes::ARROW_ROW_COUNT) {
                self.found(error);
            }
            code
        })
    }

    /// The index, where it is what was hashed and has its shape; else what is wrong with it.
    fn index(&mut self, manifest: &Manifest) -> Result<Index, &'static str> {
        let contents = manifest.contents();
        let place = self.site.place(INDEX);
        let read = || {
            let bytes = self.site.read(&self.site.path(INDEX)?, &place)?;
            let index = Index::new(bytes, contents.samples, &place)?;
            if !self.options.quick {
                check_sum(&contents.index_sha256, index.bytes(), place.clone())?;
            }
            Ok(index)
        };
        let index: Result<Index> = read();
        index.map_err(|error| {
            let code = error.code();
            self.found(error);
            code
        })
    }

    /// Which samples each shard has, as runs of neighbours, and whether all of them are known.
    fn samples_of_shards(
        &mut self,
        manifest: &Manifest,
        index: &Index,
    ) -> (BTreeMap<u64, Vec<Range<u64>>>, bool) {
        let known = manifest.contents().shards.len() as u64;
        let mut runs: BTreeMap<u64, Vec<Range<u64>>> = BTreeMap::new();
        let mut found = Found::default();
        for (sample, row) in (0u64..).zip(index.iter()) {
            if row.shard >= known {
                let message = format!("expected one of {known} shards, found number {}", row.shard);
                let place = self.site.place(INDEX).record(sample);
                let code = codes::INDEX_SHARD_OUT_OF_RANGE;
                found.error(Error::new(Kind::Corrupt, code, place, message));
                continue;
            }
            let of_shard = runs.entry(row.shard).or_default();
            match of_shard.last_mut() {
                Some(last) if last.end == sample => last.end = sample + 1,
                _ => of_shard.push(sample..sample + 1),
            }
        }
        let found = found.finish();
        let all = found.is_empty();
        self.audit.findings.extend(found);
        for (number, shard) in manifest.contents().shards.iter().enumerate() {
            if all && !runs.contains_key(&(number as u64)) {
                let message = "expected records in every shard, found one that no row names";
                self.info(codes::UNUSED_SHARD, self.site.shard_place(&shard.name), message);
            }
        }
        (runs, all)
    }

    /// Files that the cache does not name.
    fn stray(&mut self, manifest: &Manifest) {
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

/// Looks at every value of a table: texts that are none, and floats that the original cannot read back.
fn check_values(whole: &Whole, table: &ArrowFile) -> Vec<Finding> {
    let (place, mut found) = (whole.site.place(METADATA), Found::default());
    let mut notes = Vec::new();
    for (number, column) in whole.manifest.contents().columns.iter().enumerate() {
        if !matches!(column.kind, ValueKind::Float | ValueKind::String) {
            continue;
        }
        let (mut count, mut first) = (0u64, 0);
        for row in 0..table.rows() {
            match table.cell(number, row) {
                Ok(Cell::Float64(x)) if !x.is_finite() => {
                    first = if count == 0 { row } else { first };
                    count += 1;
                }
                Ok(_) => {}
                Err(error) => found.error(arrow_error(&error, place.clone().record(row))),
            }
        }
        if count > 0 {
            let message = format!(
                "expected finite floats, found {count} others: the original cannot read these samples"
            );
            let place = place.clone().record(first).field(&column.name);
            notes.push(Finding::new(Severity::Warning, codes::NON_FINITE, place, message));
        }
    }
    notes.extend(found.finish());
    notes
}
