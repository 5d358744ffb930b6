//! The whole check: documents, names, sizes, stacks and views while the tree is read, contents as independent tasks.
//!
//! | checked while the tree is read | as a task |
//! | --- | --- |
//! | documents, versions, classes, names of dimensions, devices | checksum and place of each archive entry |
//! | file for each key, its length against dtype and shape | files that can be opened; sizes of nested tensors against their elements |
//! | batch sizes, gaps in stacks, indices and operations of views | booleans that are neither 0 nor 1 |
//! | pickles and what stands for them; files that nothing names | |
//!
//! Reading a folder changes nothing in it, so a second check finds the same. One fault gives one finding: where an
//! entry of an archive is damaged, what it should hold is not judged any further.

use std::collections::HashSet;
use std::sync::Arc;

use packstone_container::pickle::Scan;
use packstone_io::Root;

use super::codes;
use super::layout::LEAF;
use super::options::TreeOptions;
use super::parts::archive::ArchiveStore;
use super::parts::node::{Bytes, FieldValue, Leaf, NestedTensor, Node, StackValues};
use super::parts::pickles::{Looked, Pickle, Role, pickles};
use super::parts::store::{ItemKind, Store};
use super::parts::tree::Tree;
use super::reader::{Opened, TensorDictDataset, open_store, shown_by};
use super::schema::{Support, support};
use crate::error::{Error, Place, Result};
use crate::format::{Audit, AuditOptions, AuditTask, ReadContext};
use crate::model::{DType, Finding, Severity};

/// Walks the tree and prepares the tasks.
///
/// # Errors
/// Where the root cannot be read: then there is nothing to check.
pub fn audit(root: Arc<dyn Root>, options: &AuditOptions) -> Result<Audit> {
    audit_as(root, options, &TreeOptions::default().with_limits(options.limits))
}

/// The same for a tree that is read in another way.
///
/// # Errors
/// As for [`audit`].
pub fn audit_as(root: Arc<dyn Root>, options: &AuditOptions, tree: &TreeOptions) -> Result<Audit> {
    let file = shown_by(root.as_ref());
    let opened = open_store(root, &tree.limits)?;
    let store: Arc<dyn Store> = opened.store();
    let mut read = Tree::load(Arc::clone(&store), tree)?;
    let mut walk = Walk {
        options,
        audit: Audit { documents: read.documents, ..Audit::default() },
        keys: Vec::new(),
        collided: HashSet::new(),
    };
    if let Opened::Archive(archive) = &opened {
        walk.audit.findings.extend(archive.notes().iter().cloned());
    }
    let collided = read.notes.iter().filter(|note| note.code == codes::NAME_COLLISION);
    walk.collided = collided.filter_map(|note| note.place.file.clone()).collect();
    walk.audit.findings.append(&mut read.notes);
    walk.node(&read.root, &[]);
    for pickle in pickles(&read.root) {
        walk.pickle(&pickle);
    }
    for orphan in &read.orphans {
        let what = match orphan.kind {
            ItemKind::File => "a file",
            ItemKind::Folder => "a folder",
            ItemKind::Link => "a link",
        };
        let message = format!("expected files that an entry names, found {what} that none does");
        walk.found(Severity::Info, codes::ORPHAN, Place::file(&orphan.path), message);
    }
    // A tree can be sound and still be none that anybody can go through row by row.
    if let Err(error) = TensorDictDataset::over(file, store, read, tree)
        && error.code() == codes::TOO_LARGE
    {
        walk.audit.findings.push(error.into());
    }
    if let Opened::Archive(archive) = &opened
        && !options.quick
    {
        walk.entries(archive);
    }
    Ok(walk.audit)
}

struct Walk<'a> {
    options: &'a AuditOptions,
    audit: Audit,
    keys: Vec<String>,
    /// Files that two keys share: what is in them is that of one key at most.
    collided: HashSet<String>,
}

impl Walk<'_> {
    fn found(
        &mut self,
        severity: Severity,
        code: &'static str,
        place: Place,
        message: impl Into<String>,
    ) {
        self.audit.findings.push(Finding::new(severity, code, place, message));
    }

    fn place(&self) -> Place {
        if self.keys.is_empty() {
            Place::default()
        } else {
            Place::default().field(self.keys.join("."))
        }
    }

    fn task(
        &mut self,
        bytes: u64,
        run: impl FnOnce(&mut ReadContext) -> Vec<Finding> + Send + 'static,
    ) {
        if !self.options.quick {
            self.audit.tasks.push(AuditTask { bytes, samples: 0, run: Box::new(run) });
        }
    }

    fn node(&mut self, node: &Node, batch: &[u64]) {
        match node {
            Node::Broken(fault) => self.audit.findings.push(fault.finding()),
            Node::Leaf(leaf) => self.leaf(leaf, batch),
            Node::NestedTensor(nested) => self.nested(nested, batch),
            Node::NonTensor(found) => self.value(&found.value),
            Node::NonTensorStack(stack) => {
                if let StackValues::Faulty(fault) = &stack.values {
                    self.audit.findings.push(fault.finding());
                }
            }
            Node::TensorClass(found) => {
                found.fields.iter().for_each(|(_, value)| self.value(value))
            }
            _ => {}
        }
        // A tensorclass shows the keys of its tensordict, with the batch size of that.
        let inner = match node {
            Node::TensorDict(_) | Node::TensorClass(_) => node.batch_size().to_vec(),
            _ => Vec::new(),
        };
        for (key, child) in node.children() {
            self.keys.push(key.into_owned());
            self.node(child, &inner);
            self.keys.pop();
        }
    }

    fn value(&mut self, value: &FieldValue) {
        if let FieldValue::Faulty(fault) = value {
            self.audit.findings.push(fault.finding());
        }
    }

    /// The library holds no leaf against the batch size, and then fails when it is indexed.
    fn batch(&mut self, shape: &[u64], batch: &[u64]) {
        if !shape.starts_with(batch) {
            let message = format!(
                "expected a shape that starts with the batch size {batch:?}, found {shape:?}"
            );
            let place = self.place();
            self.found(Severity::Warning, codes::BATCH_MISMATCH, place, message);
        }
    }

    fn dtype(&mut self, dtype: &DType) {
        if support(dtype) != Support::Full {
            let message =
                format!("expected a dtype that the original library loads, found torch.{dtype}");
            let place = self.place();
            self.found(Severity::Warning, codes::WRITE_ONLY_DTYPE, place, message);
        }
    }

    fn leaf(&mut self, leaf: &Leaf, batch: &[u64]) {
        self.batch(&leaf.shape, batch);
        self.dtype(&leaf.dtype);
        match &leaf.data {
            Bytes::Faulty(fault) => self.audit.findings.push(fault.finding()),
            Bytes::Given(_) => {}
            Bytes::Stored { file, len } => {
                if !file.is_aligned() {
                    let message = "expected a payload at a multiple of its element, found one elsewhere; it is copied";
                    let place = self.place();
                    let place = Place { file: Some(file.path()), ..place };
                    self.found(Severity::Info, codes::UNALIGNED_LEAF, place, message);
                }
                let place = Place { file: Some(file.path()), ..self.place() };
                let (data, is_bool) = (leaf.data.clone(), leaf.dtype == DType::Bool);
                // What is wrong with an entry of an archive is told by the task of that entry.
                match file.is_exact() {
                    true if !is_bool => {}
                    true => self.task(*len, move |_| booleans(&data, place).unwrap_or_default()),
                    false => {
                        let file = Arc::clone(file);
                        self.task(if is_bool { *len } else { 0 }, move |_| {
                            let found = file.verify().and_then(|()| {
                                if is_bool { booleans(&data, place) } else { Ok(Vec::new()) }
                            });
                            found.unwrap_or_else(|error| vec![error.into()])
                        });
                    }
                }
            }
        }
    }

    fn nested(&mut self, nested: &NestedTensor, batch: &[u64]) {
        self.batch(&[nested.extent.0], batch.get(..1).unwrap_or_default());
        self.dtype(&nested.dtype);
        match &nested.sizes {
            Bytes::Faulty(fault) => return self.audit.findings.push(fault.finding()),
            Bytes::Stored { file, .. } if self.collided.contains(&file.path()) => return,
            _ => {}
        }
        let (nested, place) = (nested.clone(), self.place());
        self.task(nested.data.len().unwrap_or(0), move |_| parts(&nested, &place));
    }

    fn pickle(&mut self, pickle: &Pickle) {
        let place = Place::file(pickle.file.path());
        let place = if pickle.keys.is_empty() { place } else { place.field(pickle.keys.join(".")) };
        let looked = match pickle.look(&self.options.limits) {
            Ok(looked) => looked,
            Err(error) => return self.audit.findings.push(error.into()),
        };
        let doubt = match pickle.role {
            // The hash binds both files; what the types say must also be what the pickle says.
            Role::Replaced => {
                let plain = |scan: &Scan| scan.calls.is_none() && scan.builds.is_none();
                if !matches!(&looked, Looked::Data(scan) if plain(scan)) {
                    let message = "expected a pickle of container classes beside json_types.json, found another one";
                    self.found(Severity::Error, codes::MALFORMED_JSON_TYPES, place, message);
                }
                return;
            }
            // That json_types.json is no use was told already.
            Role::Hidden => return,
            Role::Both => {
                Some("expected a value in JSON or in a pickle, found both; the pickle wins")
            }
            Role::Mismatched => {
                Some("expected the pickle that json_types.json was written for, found another one")
            }
            Role::Value => None,
        };
        let (severity, message) = match (doubt, looked) {
            (Some(message), _) => (Severity::Error, message.to_owned()),
            (None, Looked::Plain(_)) => (
                Severity::Info,
                "expected a value in JSON, found a pickle of plain data".to_owned(),
            ),
            (None, Looked::Data(scan)) => {
                let names: Vec<_> =
                    scan.globals.iter().map(|g| format!("{}.{}", g.module, g.name)).collect();
                let names = names.join(", ");
                let message =
                    format!("expected a value in JSON, found a pickle that needs Python: {names}");
                (Severity::Warning, message)
            }
            (None, Looked::Foreign(_, what)) => (
                Severity::Error,
                format!("expected a pickle of data, found one that names {what}; never load it"),
            ),
            (None, Looked::Damaged(why)) => {
                (Severity::Error, format!("expected a pickle, found damage: {why}"))
            }
        };
        self.found(severity, codes::NEEDS_PICKLE, place, message);
    }

    /// One task for each entry of an archive that nothing was said about yet.
    fn entries(&mut self, archive: &ArchiveStore) {
        let serious = self.audit.findings.iter().filter(|f| f.severity == Severity::Error);
        let told: HashSet<String> = serious.filter_map(|f| f.place.file.clone()).collect();
        let check = Arc::new(archive.checker());
        for (number, record) in archive.records().iter().enumerate() {
            let name = record.unflagged_name().unwrap_or(record.name());
            if told.contains(name) {
                continue;
            }
            let check = Arc::clone(&check);
            let leaf = record.compressed_len() == record.len() && name.ends_with(LEAF);
            self.task(record.len(), move |_| match check(number) {
                Ok(()) => Vec::new(),
                Err(error) => vec![entry_finding(error, leaf)],
            });
        }
    }
}

/// A stored leaf whose checksum differs may just have been written in place, which leaves the checksum behind.
fn entry_finding(error: Error, leaf: bool) -> Finding {
    let stale = leaf && error.code() == codes::CRC_MISMATCH;
    let mut finding = Finding::from(error);
    if stale {
        finding.severity = Severity::Warning;
    }
    finding
}

fn booleans(data: &Bytes, place: Place) -> Result<Vec<Finding>> {
    let (mut before, mut first) = (0u64, None);
    data.stream(&mut |piece| {
        if first.is_none()
            && let Some((at, found)) = piece.iter().enumerate().find(|(_, byte)| **byte > 1)
        {
            first = Some((before.saturating_add(at as u64), *found));
        }
        before = before.saturating_add(piece.len() as u64);
        Ok(())
    })?;
    let Some((at, found)) = first else { return Ok(Vec::new()) };
    let message = format!("expected booleans of 0 or 1, found {found}");
    Ok(vec![Finding::new(Severity::Warning, codes::BAD_BOOL, place.at(at), message)])
}

fn parts(nested: &NestedTensor, place: &Place) -> Vec<Finding> {
    const OWN: [&str; 5] = [
        codes::BAD_SHAPE,
        codes::SIZE_MISMATCH,
        codes::TRUNCATED_LEAF,
        codes::MISSING_LEAF,
        codes::MISSING_SIZES,
    ];
    let exact = matches!(&nested.sizes, Bytes::Stored { file, .. } if file.is_exact());
    // What can be wrong with an entry of an archive besides is told by the task of that entry.
    let looked = match &nested.data {
        Bytes::Stored { file, .. } if file.is_exact() => nested.shapes().map(drop),
        _ => nested.open().map(drop),
    };
    match looked {
        Ok(()) => Vec::new(),
        Err(error) if exact && !OWN.contains(&error.code()) => Vec::new(),
        Err(error) => {
            let found = error.place().clone();
            let field = found.field.clone().or_else(|| place.field.clone());
            vec![error.with_place(Place { field, ..found }).into()]
        }
    }
}
