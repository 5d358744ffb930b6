//! Files in memory as roots.

use std::sync::Arc;

use packstone::format::{AuditOptions, Dataset, Format, ReadContext};
use packstone::formats::arrayrecord::ArrayRecord;
use packstone::model::{Batch, Finding};
use packstone::ops::{DigestOptions, digest_collection};
use packstone::{Error, Limits, MemoryRoot, RelPath, Root, RootMut};
use packstone_io::SoleFile;

/// A root that shows `x.arrayrecord` in memory, which is not there.
pub(crate) fn empty() -> Arc<dyn RootMut> {
    let file = RelPath::new("x.arrayrecord").unwrap();
    Arc::new(SoleFile::new(MemoryRoot::new(), file, "x.arrayrecord"))
}

/// A root that shows a file of these bytes.
pub(crate) fn root(bytes: &[u8]) -> Arc<dyn Root> {
    let root = empty();
    root.create(root.sole_file().unwrap(), bytes).unwrap();
    root
}

/// The bytes of the file that a root shows.
pub(crate) fn bytes(root: &dyn Root) -> Vec<u8> {
    root.read(root.sole_file().unwrap()).unwrap().to_vec()
}

pub(crate) fn open(bytes: &[u8]) -> Result<Arc<dyn Dataset>, Error> {
    ArrayRecord.open(root(bytes), &Limits::default())
}

/// What a check finds.
pub(crate) fn check(bytes: &[u8], quick: bool) -> Vec<Finding> {
    let options = AuditOptions { quick, ..AuditOptions::default() };
    let audit = ArrayRecord.audit(root(bytes), &options).unwrap();
    let mut findings = audit.findings;
    for task in audit.tasks {
        findings.extend((task.run)(&mut ReadContext::default()));
    }
    findings
}

/// The values of a column.
pub(crate) fn values(batch: &Batch, column: usize) -> Vec<Vec<u8>> {
    (0..batch.rows()).map(|row| batch.columns()[column].bytes(row).unwrap().to_vec()).collect()
}

/// All records of a collection, shard by shard.
pub(crate) fn records(dataset: &dyn Dataset, collection: &str) -> Result<Vec<Vec<u8>>, Error> {
    let collection = dataset.collection(collection)?;
    let mut context = ReadContext::default();
    let mut out = Vec::new();
    for shard in collection.shards(0) {
        let shard = shard?;
        assert_eq!(shard.first, out.len() as u64);
        let batch = collection.read(&shard, None, &mut context)?;
        assert_eq!(batch.rows() as u64, shard.rows);
        out.extend(values(&batch, 0));
    }
    assert_eq!(out.len() as u64, collection.len());
    Ok(out)
}

pub(crate) fn digest(dataset: &dyn Dataset, collection: &str) -> (u64, String, String) {
    let options = DigestOptions { threads: 0, ..DigestOptions::default() };
    let digest = digest_collection(dataset.collection(collection).unwrap(), &options, None);
    let digest = digest.unwrap();
    (digest.samples, digest.values, digest.full)
}
