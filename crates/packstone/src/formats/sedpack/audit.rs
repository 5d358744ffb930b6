//! The whole check: lists from the root down, then every shard.
//!
//! Each list is compared with the checksums of what points to it before it is parsed; counts are compared at every
//! level. Shards become independent tasks: checksums, then decoding as a reader would, then their true count. One fault
//! gives one finding: where a file is not what was hashed, its content is not judged any further, except that a
//! compressed stream that does not decode is reported as that.
//!
//! Known differences from the original's `check()`: it compares no counts, finds no duplicates and no unlisted files,
//! decodes nothing, and stops at the first difference.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use packstone_container::digest::Algorithm;
use packstone_io::{Buf, EntryKind, Kind, RelPath, Root};

use super::codes;
use super::document::DatasetInfo;
use super::layout::{ROOT_DOCUMENT, SPLITS};
use super::parts::list::{ListPointer, ShardEntry, ShardsList};
use super::parts::merge::is_part_file;
use super::parts::repair::{is_temporary, walk_files};
use super::parts::shard::ShardFormat;
use super::parts::tree::{count_error, file_error};
use super::reader::{check_file, checksums, read_info, root_document};
use crate::error::{Error, Place, Result};
use crate::format::{Audit, AuditOptions, AuditTask, ReadContext};
use crate::model::{Finding, Severity};

/// Walks the lists and prepares the tasks.
///
/// # Errors
/// Where `dataset_info.json` cannot be read or is refused: then there is no dataset to check.
pub fn audit(root: Arc<dyn Root>, options: &AuditOptions) -> Result<Audit> {
    let info = read_info(root.as_ref(), &options.limits)?;
    let mut walk = Walk {
        shards: Arc::new(Shards {
            format: ShardFormat::from(&info),
            algorithms: info.algorithms.clone(),
            root: Arc::clone(&root),
            quick: options.quick,
        }),
        root,
        options,
        audit: Audit { documents: 1, ..Audit::default() },
        files: BTreeMap::new(),
        listed: HashSet::new(),
        seen: HashSet::new(),
        partial: false,
    };
    walk.audit.findings.extend(info.notes.iter().cloned());
    walk.expected(&info)?;
    walk.list_files()?;
    for (split, pointer) in &info.splits {
        walk.split(split, pointer);
    }
    if !walk.partial {
        walk.unlisted();
    }
    Ok(walk.audit)
}

struct Walk<'a> {
    root: Arc<dyn Root>,
    options: &'a AuditOptions,
    shards: Arc<Shards>,
    audit: Audit,
    /// Every file below the splits with its size, and files in the making.
    files: BTreeMap<RelPath, u64>,
    /// Every file that a list names.
    listed: HashSet<RelPath>,
    /// Lists that were walked.
    seen: HashSet<RelPath>,
    /// Some list could not be read, so what is unlisted is not known.
    partial: bool,
}

impl Walk<'_> {
    fn found(&mut self, error: Error) {
        self.audit.findings.push(error.into());
    }

    /// Compares the root document with checksums that somebody noted.
    fn expected(&mut self, info: &DatasetInfo) -> Result<()> {
        if self.options.expect.is_empty() {
            return Ok(());
        }
        let found = checksums(&info.algorithms, &self.root.read(&root_document()?)?);
        for expected in &self.options.expect {
            if !found.iter().any(|f| f.eq_ignore_ascii_case(expected)) {
                let message = format!("expected checksum {expected}, found {}", found.join(", "));
                let place = Place::file(ROOT_DOCUMENT);
                self.found(Error::new(Kind::Corrupt, codes::HASH_MISMATCH, place, message));
            }
        }
        Ok(())
    }

    fn split(&mut self, split: &str, pointer: &ListPointer) {
        let mut open = vec![pointer.clone()];
        while let Some(pointer) = open.pop() {
            let path = &pointer.file.path;
            self.listed.insert(path.clone());
            if !self.seen.insert(path.clone()) {
                let message = format!("expected each list of {split} once, found it again");
                self.found(Error::new(
                    Kind::Corrupt,
                    codes::METADATA_CYCLE,
                    Place::file(path),
                    message,
                ));
                continue;
            }
            let list = self.list(&pointer);
            self.partial |= list.is_none();
            if let Some(list) = list {
                list.shards.iter().for_each(|shard| self.shard(shard));
                // Taken from the end, so that children are walked in order.
                open.extend(list.children.into_iter().rev());
            }
        }
    }

    fn list(&mut self, pointer: &ListPointer) -> Option<ShardsList> {
        let path = &pointer.file.path;
        let bytes = match self.root.read(path) {
            Ok(bytes) => bytes,
            Err(error) => {
                self.found(file_error(error, path));
                return None;
            }
        };
        self.audit.documents += 1;
        let mut trusted = true;
        if !self.options.quick
            && let Err(error) = check_file(&pointer.file, &self.shards.algorithms, &bytes)
        {
            trusted = error.code() != codes::HASH_MISMATCH;
            self.found(error);
        }
        let list = match ShardsList::parse(&bytes, path, &self.options.limits) {
            Ok(list) => list,
            Err(error) => {
                if trusted {
                    self.found(error);
                }
                return None;
            }
        };
        self.audit.findings.extend(list.notes.iter().cloned());
        if trusted {
            self.counts(&list, pointer);
        }
        Some(list)
    }

    fn counts(&mut self, list: &ShardsList, pointer: &ListPointer) {
        let place = Place::file(&pointer.file.path);
        let pairs = [
            ("examples as its shards and children add up", list.counted(), list.examples),
            ("examples as the list holds, by the pointer to it", list.examples, pointer.examples),
            (
                "shards as the list holds, by the pointer to it",
                list.counted_shards(),
                pointer.shards,
            ),
        ];
        for (what, expected, found) in pairs {
            if expected != found {
                self.found(count_error(place.clone(), what, expected, found));
            }
        }
    }

    fn shard(&mut self, shard: &Arc<ShardEntry>) {
        for file in &shard.files {
            if !self.listed.insert(file.path.clone()) {
                let message = "expected each shard once, found it again";
                let place = Place::file(&file.path);
                self.found(Error::new(Kind::Corrupt, codes::DUPLICATE_SHARD, place, message));
                return;
            }
        }
        let (shards, entry) = (Arc::clone(&self.shards), Arc::clone(shard));
        let path = entry.files.first().map(|f| f.path.clone()).unwrap_or_default();
        let bytes = self.files.get(&path).copied().unwrap_or(0);
        let run = Box::new(move |context: &mut ReadContext| shards.check(&entry, context));
        self.audit.tasks.push(AuditTask { bytes, samples: shard.examples, run });
    }

    fn list_files(&mut self) -> Result<()> {
        for split in SPLITS {
            match walk_files(self.root.as_ref(), &RelPath::new(split).unwrap_or_default()) {
                Ok(files) => self.files.extend(files),
                Err(error) if error.kind() == Kind::NotFound => {}
                // The walk of the lists says what is wrong with the folder.
                Err(_) => self.partial = true,
            }
        }
        let top = self.root.list(&RelPath::root())?;
        let made = top.iter().filter(|e| e.kind != EntryKind::Folder && is_temporary(&e.name));
        self.files.extend(made.filter_map(|e| Some((RelPath::new(&e.name).ok()?, e.len))));
        Ok(())
    }

    /// Files that no list names, and files in the making.
    fn unlisted(&mut self) {
        let unknown = |path: &&RelPath| !self.listed.contains(*path) && !is_part_file(path.name());
        for path in self.files.keys().filter(unknown) {
            let what = if is_temporary(path.name()) { "a file in the making" } else { "a file" };
            let message = format!("expected files that a list names, found {what} that none does");
            let place = Place::file(path);
            self.audit.findings.push(Finding::new(
                Severity::Info,
                codes::UNLISTED_FILE,
                place,
                message,
            ));
        }
    }
}

/// What the tasks share.
struct Shards {
    format: ShardFormat,
    algorithms: Vec<Algorithm>,
    root: Arc<dyn Root>,
    quick: bool,
}

impl Shards {
    fn check(&self, entry: &ShardEntry, context: &mut ReadContext) -> Vec<Finding> {
        let mut findings = Vec::new();
        for position in 0..entry.files.len() {
            let checked = if self.quick {
                self.quick(entry, position, context)
            } else {
                self.file(entry, position, context, &mut findings)
            };
            findings.extend(checked.err().map(Finding::from));
        }
        findings.append(&mut context.notes);
        findings
    }

    /// A file that is there and not empty may be a shard; what an empty one is, its decoder says.
    fn quick(&self, entry: &ShardEntry, position: usize, context: &mut ReadContext) -> Result<()> {
        let Some(file) = entry.files.get(position) else { return Ok(()) };
        match self.root.len(&file.path).map_err(|e| file_error(e, &file.path))? {
            0 if position == 0 => self.content(entry, &file.path, Buf::default(), context),
            _ => Ok(()),
        }
    }

    fn content(
        &self,
        entry: &ShardEntry,
        path: &RelPath,
        bytes: Buf,
        context: &mut ReadContext,
    ) -> Result<()> {
        let rows = self.format.decode(path, bytes, None, context)?.rows() as u64;
        if rows != entry.examples {
            return Err(count_error(Place::file(path), "examples", entry.examples, rows));
        }
        Ok(())
    }

    fn file(
        &self,
        entry: &ShardEntry,
        position: usize,
        context: &mut ReadContext,
        findings: &mut Vec<Finding>,
    ) -> Result<()> {
        let Some(file) = entry.files.get(position) else { return Ok(()) };
        let path = &file.path;
        let bytes = self.root.read(path).map_err(|e| file_error(e, path))?;
        if let Err(error) = check_file(file, &self.algorithms, &bytes) {
            if error.code() == codes::HASH_MISMATCH {
                // A stream that does not even decode says more than its checksum.
                if position == 0 {
                    self.format.decompress(path, bytes, context)?;
                }
                return Err(error);
            }
            findings.push(error.into());
        }
        if position > 0 {
            return Ok(());
        }
        self.content(entry, path, bytes, context)
    }
}
