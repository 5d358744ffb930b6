//! What is done with each dataset of the demonstration.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use packstone::format::AuditOptions;
use packstone::json;
use packstone::json::{Object, Value};
use packstone::ops::{
    ConvertOptions, DigestOptions, Scan, VerifyOptions, digest_collection, verify,
};
use packstone::{Limits, Result, registry};

use super::super::convert;
use super::super::inspect::shard_bytes;
use crate::address::{Address, Opened};
use crate::interrupt;
use crate::progress::Bar;
use crate::units;

/// A dataset and as what it is written again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job {
    pub(super) name: &'static str,
    pub(super) from: &'static str,
    pub(super) shard_type: &'static str,
    pub(super) compression: &'static str,
}

/// What came of it.
pub(super) struct Row {
    pub(super) job: Job,
    pub(super) fields: usize,
    pub(super) collections: usize,
    pub(super) samples: u64,
    pub(super) from_bytes: u64,
    pub(super) to_bytes: u64,
    pub(super) value_bytes: u64,
    pub(super) verify: Duration,
    pub(super) read: Duration,
    pub(super) convert: Duration,
    pub(super) findings: usize,
    pub(super) digest: String,
    pub(super) equal: bool,
}

impl Job {
    /// The target in words.
    pub(super) fn target(&self) -> String {
        format!("{} {}", self.shard_type, self.compression)
    }

    /// Where a shipped dataset lies below `data`.
    pub(super) fn source(&self, data: &Path) -> PathBuf {
        data.join(self.name).join("data")
    }

    /// Inspects, verifies, reads, converts, verifies the result and compares the content.
    pub(super) fn run(&self, source: &Path, target: &Path, threads: usize) -> Result<Row> {
        let from = Address { path: source.to_owned(), collection: None };
        let opened = from.open()?;
        let mut row = self.inspect(&opened)?;
        let start = Instant::now();
        row.findings = check(&from, threads)?;
        row.verify = start.elapsed();
        let start = Instant::now();
        row.value_bytes = read(&opened, threads)?;
        row.read = start.elapsed();
        let options = [("shard_type", self.shard_type), ("compression", self.compression)];
        let options = ConvertOptions {
            options: options.into_iter().collect::<Object>(),
            threads,
            ..ConvertOptions::default()
        };
        let start = Instant::now();
        let report = convert::write(&opened, registry::format("sedpack")?, target, &options)?;
        row.convert = start.elapsed();
        row.to_bytes = report.written.bytes;
        let to = Address { path: target.to_owned(), collection: None };
        row.findings += check(&to, threads)?;
        let (a, b) = (digest(&opened, threads)?, digest(&to.open()?, threads)?);
        row.equal = a == b;
        row.digest = a.into_iter().next().unwrap_or_default();
        Ok(row)
    }

    fn inspect(&self, opened: &Opened) -> Result<Row> {
        let mut row = Row {
            job: *self,
            fields: 0,
            collections: 0,
            samples: 0,
            from_bytes: 0,
            to_bytes: 0,
            value_bytes: 0,
            verify: Duration::ZERO,
            read: Duration::ZERO,
            convert: Duration::ZERO,
            findings: 0,
            digest: String::new(),
            equal: false,
        };
        for name in opened.dataset.collections() {
            let collection = opened.dataset.collection(&name)?;
            row.collections += 1;
            row.fields = collection.schema().fields.len();
            row.samples += collection.len();
            row.from_bytes += shard_bytes(opened.root.as_ref(), collection.as_ref())?;
        }
        Ok(row)
    }
}

/// The number of findings.
fn check(address: &Address, threads: usize) -> Result<usize> {
    let (root, format) = address.probe()?;
    let options = VerifyOptions { audit: AuditOptions::default(), threads };
    let report = verify(format, root, &options, Some(&Bar::shared("verify")))?;
    Ok(report.findings.len())
}

/// Reads everything in batches; the bytes of all values.
fn read(opened: &Opened, threads: usize) -> Result<u64> {
    let mut bytes = 0;
    for name in opened.dataset.collections() {
        let collection = opened.dataset.collection(&name)?;
        for batch in Scan::new(collection).threads(threads).batches(256)? {
            interrupt::check()?;
            bytes += batch?.value_bytes();
        }
    }
    Ok(bytes)
}

/// The content digest of each collection.
fn digest(opened: &Opened, threads: usize) -> Result<Vec<String>> {
    let options = DigestOptions { threads, limits: Limits::default() };
    let mut digests = Vec::new();
    for name in opened.dataset.collections() {
        let collection = opened.dataset.collection(&name)?;
        let bar = Bar::shared("digest");
        digests.push(digest_collection(Arc::clone(&collection), &options, Some(&bar))?.full);
    }
    Ok(digests)
}

impl Row {
    /// True where nothing was found and the content is the same.
    pub(super) fn is_good(&self) -> bool {
        self.findings == 0 && self.equal
    }

    /// What was done, in words.
    pub(super) fn story(&self) -> String {
        format!(
            "{} of {} in {}, verified, written as {}, {}, {}",
            units::counted(self.samples, "sample"),
            units::counted(self.fields as u64, "field"),
            units::counted(self.collections as u64, "collection"),
            self.job.target(),
            match self.findings {
                0 => "verified again".to_owned(),
                found => units::counted(found as u64, "finding"),
            },
            if self.equal { "content equal" } else { "content DIFFERS" },
        )
    }

    /// For JSON output.
    pub(super) fn to_json(&self) -> Value {
        json!({
            "type": "demo",
            "schema_version": 1,
            "dataset": self.job.name,
            "from": self.job.from,
            "to": self.job.target(),
            "samples": self.samples,
            "from_bytes": self.from_bytes,
            "to_bytes": self.to_bytes,
            "value_bytes": self.value_bytes,
            "verify_seconds": self.verify.as_secs_f64(),
            "read_seconds": self.read.as_secs_f64(),
            "convert_seconds": self.convert.as_secs_f64(),
            "findings": self.findings,
            "digest": &self.digest,
            "equal": self.equal,
        })
    }
}
