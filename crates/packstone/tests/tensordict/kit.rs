//! What the tests of this format share.

use std::collections::BTreeSet;
use std::sync::Arc;

use packstone::format::{AuditOptions, ReadContext};
use packstone::formats::tensordict::audit::audit;
use packstone::formats::tensordict::options::TreeOptions;
use packstone::formats::tensordict::parts::archive::ArchiveStore;
use packstone::formats::tensordict::parts::folder::FolderStore;
use packstone::formats::tensordict::parts::store::Store;
use packstone::formats::tensordict::parts::tree::Tree;
use packstone::model::{Finding, Severity};
use packstone::{Error, Limits, LocalRoot, MemoryRoot, RelPath, Root, RootMut};
use packstone_io::{Buf, SoleFile};
use packstone_testkit::Case;

/// The files of a case: a folder, or an archive beside which there is none.
pub(crate) fn store(case: &Case) -> Result<Arc<dyn Store>, Error> {
    if case.data.is_dir() {
        return Ok(Arc::new(FolderStore::new(Arc::new(LocalRoot::open(&case.data).unwrap()))));
    }
    let file = case.data.with_extension("tdz");
    let bytes = Buf::from(std::fs::read(file).unwrap());
    Ok(Arc::new(ArchiveStore::open(bytes, "data.tdz", &Limits::default())?))
}

/// A case as a root: a folder, or its one file.
pub(crate) fn root(case: &Case) -> Arc<dyn Root> {
    if case.data.is_dir() {
        return Arc::new(LocalRoot::open(&case.data).unwrap());
    }
    let inner = LocalRoot::open(case.data.parent().unwrap()).unwrap();
    Arc::new(SoleFile::new(inner, RelPath::new("data.tdz").unwrap(), "data.tdz"))
}

pub(crate) fn load(root: Arc<dyn Root>) -> Result<Tree, Error> {
    Tree::load(Arc::new(FolderStore::new(root)), &TreeOptions::default())
}

/// Writes or replaces a file.
pub(crate) fn put(root: &MemoryRoot, at: &str, bytes: impl Into<Vec<u8>>) {
    root.replace(&[(RelPath::new(at).unwrap(), bytes.into())]).unwrap();
}

/// The document of a plain tensordict, with `entries` before its own.
pub(crate) fn meta(batch: &[u64], entries: &str) -> String {
    let comma = if entries.is_empty() { "" } else { ", " };
    format!(
        r#"{{{entries}{comma}"shape": {batch:?}, "device": "cpu", "_type": "<class 'tensordict._td.TensorDict'>", "_format_version": 1, "_class": "tensordict:TensorDict"}}"#
    )
}

/// Everything that a check finds; an error of opening counts as one.
pub(crate) fn verdict(root: Arc<dyn Root>) -> Vec<Finding> {
    let checked = audit(root, &AuditOptions::default()).map(|audit| {
        let mut found = audit.findings;
        let mut context = ReadContext::default();
        audit.tasks.into_iter().for_each(|task| found.extend((task.run)(&mut context)));
        found
    });
    checked.unwrap_or_else(|error| vec![error.into()])
}

/// The codes of findings with their severities, each once.
pub(crate) fn codes(found: &[Finding]) -> Vec<(Severity, &'static str)> {
    let all: BTreeSet<_> = found.iter().map(|f| (f.severity, f.code)).collect();
    all.into_iter().collect()
}
