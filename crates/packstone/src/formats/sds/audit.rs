//! The whole check: every reference from the root on, then every shard, record, row and annotation.
//!
//! Documents are read as a reader would, and go on being read after the first that is refused. Each pair of shard objects
//! becomes a task: all hashes of both containers, padding included, then record by record: does it decode, is its row
//! there, do both say the same. Each shard of annotations is a task as well. One fault gives one finding: where a chunk is
//! damaged, its record is not judged any further.
//!
//! Known differences from the original: it has no check of a whole dataset, never compares records with rows, and reads
//! no hash outside of the chunks that it decodes.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use packstone_container::digest::{hex, sha256};
use packstone_io::{EntryKind, Kind, RelPath, Root, TEMPORARY};

use super::codes;
use super::document::root_place;
use super::layout::{CATALOG, CATALOG_LOCK, ROOT_DOCUMENT, fixed, set_folder, snapshot_path};
use super::options::{OpenOptions, Policy};
use super::parts::annotations::{Catalog, read_document, read_set};
use super::parts::catalog::{SetReference, SetRoot};
use super::parts::checks::{Ids, PairCheck, SetCheck};
use super::parts::index::load_page;
use super::parts::notes::Notes;
use super::parts::own;
use super::parts::pointer::WorkerPointer;
use super::parts::reference::{ObjectPath, ObjectReference, Objects};
use super::parts::snapshot::Snapshot;
use super::reader::{SdsDataset, read_root, read_snapshot};
use crate::error::{Error, Place, Result};
use crate::format::{Audit, AuditOptions, AuditTask, ReadContext};
use crate::model::{Finding, Severity};

/// Folders whose files are all the format's.
const FOLDERS: [&str; 4] = ["annotations", "manifests", "objects", "snapshots"];
/// Levels of folders that are searched for files nobody names; the format has six.
const LEVELS: usize = 16;

/// Walks the documents and prepares the tasks.
///
/// # Errors
/// Where `root.json` cannot be read or is refused: then there is no dataset to check.
pub fn audit(root: Arc<dyn Root>, options: &AuditOptions) -> Result<Audit> {
    let open = OpenOptions::within(&options.limits).with_sources(&options.sources);
    let mut notes = Notes::new(root_place());
    let objects = Objects::new(Arc::clone(&root), &open.sources);
    let document = read_root(&objects, &open.policy, &mut notes)?;
    let mut walk = Walk {
        objects,
        policy: open.policy.clone(),
        options,
        audit: Audit { documents: 1, ..Audit::default() },
        named: HashSet::from([fixed(ROOT_DOCUMENT), fixed(CATALOG), fixed(CATALOG_LOCK)]),
        publications: HashSet::new(),
        partial: false,
        ids: Arc::default(),
    };
    walk.expected()?;
    walk.name(&document.snapshot.path);
    let snapshot = read_snapshot(&walk.objects, &document.snapshot, &open.policy, &mut notes);
    walk.audit.findings.append(&mut notes.findings);
    match snapshot {
        Err(error) => walk.lost(error),
        Ok(snapshot) => {
            walk.audit.documents += 1;
            let odd = own::fault(&document.metadata, snapshot.record_count)
                .map(|error| Finding { severity: Severity::Warning, ..error.into() });
            walk.audit.findings.extend(odd);
            walk.snapshot(&document.snapshot.path, &snapshot);
            walk.pages(&snapshot);
            // For the ids of records; what is wrong with the dataset is told already.
            let dataset = SdsDataset::open_with(root, &open).map(Arc::new);
            walk.annotations(&snapshot, dataset.ok().as_ref());
        }
    }
    if !walk.partial {
        walk.unreferenced();
    }
    Ok(walk.audit)
}

struct Walk<'a> {
    objects: Objects,
    policy: Policy,
    options: &'a AuditOptions,
    audit: Audit,
    /// Every object of the dataset that a document names.
    named: HashSet<RelPath>,
    /// The folders of published annotation sets.
    publications: HashSet<String>,
    /// Some document could not be read, so what nobody names is not known.
    partial: bool,
    ids: Arc<Ids>,
}

impl Walk<'_> {
    fn found(&mut self, error: Error) {
        self.audit.findings.push(error.into());
    }

    /// A document that is refused, with all that it names.
    fn lost(&mut self, error: Error) {
        self.partial = true;
        self.found(error);
    }

    fn name(&mut self, path: &ObjectPath) {
        if let ObjectPath::Relative(path) = path {
            self.named.insert(path.clone());
        }
    }

    /// Compares the root document with checksums that somebody noted.
    fn expected(&mut self) -> Result<()> {
        if self.options.expect.is_empty() {
            return Ok(());
        }
        let found = hex(&sha256(&self.objects.root.read(&fixed(ROOT_DOCUMENT))?));
        for expected in &self.options.expect {
            if !found.eq_ignore_ascii_case(expected) {
                let message = format!("expected sha256 {expected}, found {found}");
                let (kind, code) = (Kind::Corrupt, codes::ROOT_MISMATCH);
                self.audit.findings.push(Error::new(kind, code, root_place(), message).into());
            }
        }
        Ok(())
    }

    fn snapshot(&mut self, path: &ObjectPath, snapshot: &Snapshot) {
        let expected = ObjectPath::new(&snapshot_path(&snapshot.snapshot_id));
        if expected.as_ref() != Ok(path) {
            let message = format!(
                "expected the snapshot {:?} under its own name, found it here",
                snapshot.snapshot_id
            );
            let place = Place::file(path).json("$.snapshot_id");
            let code = codes::FOREIGN_SNAPSHOT;
            self.audit.findings.push(Finding::new(Severity::Info, code, place, message));
        }
    }

    fn pages(&mut self, snapshot: &Snapshot) {
        let mut pairs: BTreeMap<usize, PairCheck> = BTreeMap::new();
        let mut known: HashMap<(ObjectReference, ObjectReference), usize> = HashMap::new();
        for reference in &snapshot.manifests {
            self.name(&reference.object.path);
            let mut notes = Notes::new(Place::file(&reference.object.path));
            let page = load_page(&self.objects, reference, &self.policy.control, &mut notes);
            self.audit.findings.append(&mut notes.findings);
            let page = match page {
                Ok(page) => page,
                Err(error) => {
                    self.lost(error);
                    continue;
                }
            };
            self.audit.documents += 1;
            for entry in page.shards {
                self.name(&entry.data.path);
                self.name(&entry.metadata.path);
                let next = known.len();
                let key = (entry.data.clone(), entry.metadata.clone());
                let number = *known.entry(key).or_insert(next);
                let pair = pairs.entry(number).or_insert_with(|| {
                    let (data, metadata) = (entry.data.clone(), entry.metadata.clone());
                    PairCheck::new(data, metadata)
                });
                pair.add(&entry);
            }
        }
        self.ids.expect(pairs.len());
        for (_, pair) in pairs {
            let bytes = pair.data.stored_bytes.saturating_add(pair.metadata.stored_bytes);
            let samples = pair.records();
            let (objects, policy) = (self.objects.clone(), self.policy.clone());
            let (quick, ids) = (self.options.quick, Arc::clone(&self.ids));
            let run = Box::new(move |context: &mut ReadContext| {
                pair.run(&objects, &policy, &context.limits, quick, &ids)
            });
            self.audit.tasks.push(AuditTask { bytes, samples, run });
        }
    }

    fn annotations(&mut self, snapshot: &Snapshot, dataset: Option<&Arc<SdsDataset>>) {
        let mut notes = Notes::new(Place::file(CATALOG));
        let catalog = Catalog::read(&self.objects, &self.policy, &mut notes);
        self.audit.findings.append(&mut notes.findings);
        let catalog = match catalog {
            Ok(catalog) => catalog,
            Err(error) => return self.lost(error),
        };
        let Some(path) = &catalog.path else { return };
        self.named.insert(path.clone());
        self.audit.documents += 2;
        for (name, reference) in &catalog.revision.sets {
            self.named.insert(reference.path.clone());
            let mut notes = Notes::new(Place::file(&reference.path));
            let root = read_set(&self.objects, name, reference, &self.policy, &mut notes);
            self.audit.findings.append(&mut notes.findings);
            match root {
                Ok(root) => {
                    self.audit.documents += 1;
                    self.set(name, reference, root, snapshot, dataset);
                }
                Err(error) => self.lost(error),
            }
        }
    }

    fn set(
        &mut self,
        name: &str,
        reference: &SetReference,
        root: SetRoot,
        snapshot: &Snapshot,
        dataset: Option<&Arc<SdsDataset>>,
    ) {
        self.publications.insert(set_folder(&root.name, &root.publication_id));
        for shard in &root.shards {
            self.name(&shard.object.path);
        }
        let place = Place::file(&reference.path);
        let (id, records) = (&snapshot.snapshot_id, snapshot.record_count);
        if let Err(error) = root.check(&place, name, id, records) {
            return self.found(error);
        }
        for shard in root.shards {
            let (bytes, samples) = (shard.object.stored_bytes, shard.record_count);
            let dataset = dataset.cloned();
            let (objects, policy) = (self.objects.clone(), self.policy.clone());
            let quick = self.options.quick;
            let check = SetCheck { shard, dataset };
            let run = Box::new(move |context: &mut ReadContext| {
                check.run(&objects, &policy, &context.limits, quick)
            });
            self.audit.tasks.push(AuditTask { bytes, samples, run });
        }
    }

    /// Files that no document names: losing attempts, publications that failed, old revisions. All of that is normal.
    fn unreferenced(&mut self) {
        let mut files = Vec::new();
        for folder in FOLDERS {
            let folder = RelPath::new(folder).unwrap_or_default();
            if let Err(error) = walk_files(self.objects.root.as_ref(), &folder, LEVELS, &mut files)
                && error.kind() != Kind::NotFound
            {
                return self.found(error);
            }
        }
        for path in files {
            if self.named.contains(&path) || self.is_pointer(&path) {
                continue;
            }
            let made = path.name().starts_with(TEMPORARY);
            let what = if made { "a file in the making" } else { "a file" };
            let message =
                format!("expected files that a document names, found {what} that none does");
            let (severity, code) = (Severity::Info, codes::UNREFERENCED);
            self.audit.findings.push(Finding::new(severity, code, Place::file(path), message));
        }
    }

    /// True for the pointers of workers whose set was published; those that cannot be read are told.
    fn is_pointer(&mut self, path: &RelPath) -> bool {
        let text = path.as_str();
        let pointer = text.split_once("/shards/").is_some_and(|(folder, name)| {
            self.publications.contains(folder) && name.ends_with(".json")
        });
        if pointer {
            self.audit.documents += 1;
            let mut notes = Notes::new(Place::file(path));
            let bytes = read_document(&self.objects, path, &self.policy);
            let read = bytes
                .and_then(|bytes| WorkerPointer::parse(&bytes, &self.policy.control, &mut notes));
            if let Err(error) = read {
                // Nobody reads it any more.
                let finding = Finding { severity: Severity::Warning, ..error.into() };
                self.audit.findings.push(finding);
            }
        }
        pointer
    }
}

/// All files below a folder.
fn walk_files(
    root: &dyn Root,
    folder: &RelPath,
    levels: usize,
    files: &mut Vec<RelPath>,
) -> Result<()> {
    let Some(below) = levels.checked_sub(1) else { return Ok(()) };
    for entry in root.list(folder)? {
        let Ok(path) = folder.join(&entry.name) else { continue };
        match entry.kind {
            EntryKind::Folder => walk_files(root, &path, below, files)?,
            EntryKind::File => files.push(path),
            // Links that are referenced are told where they are opened.
            EntryKind::Other => {}
        }
    }
    Ok(())
}
