//! What the tests share: opening golden caches, expectations as values, and caches made by hand.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use packstone::format::{AuditOptions, Collection, ReadContext};
use packstone::formats::datasetrt::audit::audit_many;
use packstone::formats::datasetrt::options::{OpenOptions, WriterOptions};
use packstone::formats::datasetrt::parts::cache::Cache;
use packstone::formats::datasetrt::parts::joint::{Joint, payload_schema};
use packstone::formats::datasetrt::parts::site::Site;
use packstone::formats::datasetrt::reader::DatasetRtDataset;
use packstone::formats::datasetrt::writer::CacheWriter;
use packstone::json::{Object, Value};
use packstone::model::{Batch, Column, Finding, Severity};
use packstone::{Error, Limits, LocalRoot, MemoryRoot, RelPath, Root, RootMut};
use packstone_io::{Buf, Draft, Edit, Entry, IoError, Journal, ReadAt, Scratch};
use packstone_testkit::Case;

pub(crate) fn local(folder: &Path) -> Arc<dyn Root> {
    Arc::new(LocalRoot::open(folder).unwrap())
}

/// The paths that a case names, in order, as roots.
pub(crate) fn roots(case: &Case, paths: &[String]) -> Vec<Arc<dyn Root>> {
    let folder = case.data.parent().unwrap();
    paths.iter().map(|path| local(&folder.join(path))).collect()
}

pub(crate) fn texts(value: &Value) -> Vec<String> {
    value.as_array().unwrap().iter().map(|v| v.as_str().unwrap().to_owned()).collect()
}

/// The paths of a good case.
pub(crate) fn paths(case: &Case) -> Vec<String> {
    let caches = case.expected.get("caches").unwrap().as_array().unwrap();
    caches.iter().map(|c| c.get("path").unwrap().as_str().unwrap().to_owned()).collect()
}

pub(crate) fn open_roots(roots: Vec<Arc<dyn Root>>) -> Result<Joint, Error> {
    let opened = DatasetRtDataset::open_many(roots, &OpenOptions::default(), &Limits::default())?;
    Ok(opened.joint().unwrap().clone())
}

pub(crate) fn open(case: &Case) -> Joint {
    open_roots(roots(case, &paths(case))).unwrap_or_else(|e| panic!("{}: {e}", case.name))
}

/// A value as `expected.json` has it, where floats are the bits of their doubles.
pub(crate) fn canonical(value: &Value) -> Value {
    match value {
        Value::Number(number) if !number.is_integer() => {
            let bits = number.to_f64().to_bits();
            // One NaN is as good as another.
            let bits = if number.to_f64().is_nan() { f64::NAN.to_bits() } else { bits };
            Value::Object(Object::from_iter([("f64", Value::from(format!("{bits:016x}")))]))
        }
        other => other.clone(),
    }
}

pub(crate) fn canonical_object(object: &Object) -> Object {
    object.iter().map(|(key, value)| (key.clone(), canonical(value))).collect()
}

/// Everything that a check of these caches finds.
pub(crate) fn check(roots: Vec<Arc<dyn Root>>, options: &AuditOptions) -> Vec<Finding> {
    let audit = match audit_many(roots, options) {
        Ok(audit) => audit,
        Err(error) => return vec![error.into()],
    };
    let mut found = audit.findings;
    let mut context = ReadContext::default();
    audit.tasks.into_iter().for_each(|task| found.extend((task.run)(&mut context)));
    found
}

/// The codes of a full check with their severities.
pub(crate) fn verdict(roots: Vec<Arc<dyn Root>>) -> BTreeSet<(Severity, &'static str)> {
    let found = check(roots, &AuditOptions::default());
    found.into_iter().map(|f| (f.severity, f.code)).collect()
}

/// The cases whose caches the library wrote as they are, with the limit that it was given.
pub(crate) fn untouched() -> Vec<(Case, u64)> {
    let limit = |name: &str| match name.split_once('_').map(|(_, case)| case) {
        Some("shards_lz4") => 600,
        Some("shards_none") => 512,
        Some("shard_exact_fit") => 3 * (8 + 5 + 31),
        Some("one_per_shard") => 1,
        Some("many_rows") => 4096,
        _ => 64 << 20,
    };
    let edited =
        ["v3_manifest_variants", "v3_arrow_variants", "v3_zero_samples", "migrated_v2_to_v3"];
    let cases = packstone_testkit::good_cases("datasetrt").into_iter();
    let cases = cases.filter(|case| !edited.contains(&case.name.as_str()));
    cases.map(|case| (limit(&case.name), case)).map(|(limit, case)| (case, limit)).collect()
}

/// The options under which a cache was written.
pub(crate) fn options_of(cache: &Cache, limit: u64) -> WriterOptions {
    let mut options = WriterOptions::default().with_threads(0);
    let first = &cache.manifest.contents().shards[0];
    options.algo = first.algo;
    options.ratio = first.ratio.to_f64();
    options.max_shard_bytes = limit;
    options.version = cache.manifest.version();
    (options.peer_exact_floats, options.non_finite) = (false, true);
    options.reserved_prefix = Some(String::new());
    options
}

/// All samples of a cache, in batches.
pub(crate) fn batches(joint: &Joint) -> Vec<Batch> {
    let mut context = ReadContext::default();
    joint.shards(0).map(|shard| joint.read(&shard.unwrap(), None, &mut context).unwrap()).collect()
}

/// The files of a folder by their path in it.
pub(crate) fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let (mut found, mut open) = (BTreeMap::new(), vec![folder.to_owned()]);
    while let Some(here) = open.pop() {
        for entry in std::fs::read_dir(here).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
                found.insert(name, std::fs::read(&path).unwrap());
            }
        }
    }
    found
}

/// The files of a folder in memory by their path in it.
pub(crate) fn memory_files(root: &MemoryRoot, folder: &str) -> BTreeMap<String, Vec<u8>> {
    let folder = RelPath::new(folder).unwrap();
    let files = root.files().into_iter().filter(|(path, _)| path.starts_with(&folder));
    let depth = folder.components().count();
    let name = |path: &RelPath| path.components().skip(depth).collect::<Vec<_>>().join("/");
    files.map(|(path, bytes)| (name(&path), bytes.to_vec())).collect()
}

/// Samples with these payloads and metadata.
pub(crate) fn samples(rows: &[(Vec<u8>, Value)]) -> Batch {
    let mut ends = Vec::new();
    let mut data = Vec::new();
    for (payload, _) in rows {
        data.extend_from_slice(payload);
        ends.push(data.len());
    }
    let column = Column::ragged(Buf::from(data), ends).unwrap();
    let runs = rows.iter().enumerate();
    let runs = runs.map(|(at, (_, m))| (at + 1, Arc::new(m.as_object().unwrap().clone())));
    Batch::new(payload_schema(), rows.len(), vec![column])
        .unwrap()
        .with_metadata_runs(runs.collect())
        .unwrap()
}

/// Starts a cache of payloads.
pub(crate) fn writer(
    root: &Arc<dyn RootMut>,
    name: &str,
    options: &WriterOptions,
) -> Result<CacheWriter, Error> {
    CacheWriter::create(Arc::clone(root), name, &payload_schema(), None, options)
}

/// Payload and metadata of every sample.
pub(crate) fn rows(joint: &Joint) -> Vec<(Vec<u8>, Value)> {
    let mut out = Vec::new();
    for batch in batches(joint) {
        out.extend(batch.samples().map(|sample| {
            let metadata = sample.metadata().map(|m| m.as_ref().clone()).unwrap_or_default();
            (sample.get("data").unwrap().bytes.to_vec(), Value::Object(metadata))
        }));
    }
    out
}

/// The one cache in a folder of a root.
pub(crate) fn open_in(root: Arc<dyn Root>, name: &str) -> Result<Joint, Error> {
    let site = Site::new(root, RelPath::new(name).unwrap());
    let options = OpenOptions::default();
    let cache = Cache::open(site, 0, Arc::default(), &options, &Limits::default())?;
    Joint::new(name.to_owned(), vec![Arc::new(cache)])
}

/// A root that notes what it is asked to change.
pub(crate) struct LogRoot<R> {
    inner: R,
    told: Arc<Mutex<Vec<String>>>,
}

impl<R> LogRoot<R> {
    pub(crate) fn new(inner: R) -> Self {
        Self { inner, told: Arc::default() }
    }

    pub(crate) fn told(&self) -> Arc<Mutex<Vec<String>>> {
        Arc::clone(&self.told)
    }

    fn note(&self, what: &str, path: &RelPath) {
        self.told.lock().unwrap().push(format!("{what} {path}"));
    }
}

struct LogDraft {
    inner: Box<dyn Draft>,
    told: Arc<Mutex<Vec<String>>>,
    path: RelPath,
}

impl Draft for LogDraft {
    fn write(&mut self, bytes: &[u8]) -> Result<(), IoError> {
        self.inner.write(bytes)
    }

    fn publish(self: Box<Self>) -> Result<(), IoError> {
        self.told.lock().unwrap().push(format!("publish {}", self.path));
        self.inner.publish()
    }

    fn publish_new(self: Box<Self>) -> Result<(), IoError> {
        self.told.lock().unwrap().push(format!("publish {}", self.path));
        self.inner.publish_new()
    }
}

impl<R: RootMut> Root for LogRoot<R> {
    fn label(&self) -> String {
        self.inner.label()
    }

    fn open(&self, path: &RelPath) -> Result<Arc<dyn ReadAt>, IoError> {
        self.inner.open(path)
    }

    fn list(&self, folder: &RelPath) -> Result<Vec<Entry>, IoError> {
        self.inner.list(folder)
    }
}

impl<R: RootMut> RootMut for LogRoot<R> {
    fn create(&self, path: &RelPath, content: &[u8]) -> Result<(), IoError> {
        self.note("create", path);
        self.inner.create(path, content)
    }

    fn replace(&self, files: &[(RelPath, Vec<u8>)]) -> Result<(), IoError> {
        files.iter().for_each(|(path, _)| self.note("replace", path));
        self.inner.replace(files)
    }

    fn draft(&self, path: &RelPath) -> Result<Box<dyn Draft>, IoError> {
        let inner = self.inner.draft(path)?;
        Ok(Box::new(LogDraft { inner, told: self.told(), path: path.clone() }))
    }

    fn scratch(&self) -> Result<Box<dyn Scratch>, IoError> {
        self.inner.scratch()
    }

    fn persist_all(&self) -> Result<(), IoError> {
        self.note("sync", &RelPath::root());
        self.inner.persist_all()
    }

    fn edit(&self, path: &RelPath) -> Result<Box<dyn Edit>, IoError> {
        self.note("edit", path);
        self.inner.edit(path)
    }

    fn rename(&self, from: &RelPath, to: &RelPath) -> Result<(), IoError> {
        self.note("rename", &RelPath::new(&format!("{from} to {to}")).unwrap());
        self.inner.rename(from, to)
    }

    fn exchange(&self, one: &RelPath, other: &RelPath) -> Result<(), IoError> {
        self.note("exchange", one);
        self.inner.exchange(one, other)
    }

    fn journal(&self, path: &RelPath) -> Result<Box<dyn Journal>, IoError> {
        self.note("journal", path);
        self.inner.journal(path)
    }

    fn journal_is_held(&self, path: &RelPath) -> Result<bool, IoError> {
        self.inner.journal_is_held(path)
    }

    fn create_folder(&self, path: &RelPath) -> Result<(), IoError> {
        self.note("folder", path);
        self.inner.create_folder(path)
    }

    fn persist(&self, path: &RelPath) -> Result<(), IoError> {
        self.note("sync", path);
        self.inner.persist(path)
    }

    fn remove(&self, path: &RelPath) -> Result<(), IoError> {
        self.note("remove", path);
        self.inner.remove(path)
    }

    fn remove_folder(&self, path: &RelPath) -> Result<(), IoError> {
        self.note("remove", path);
        self.inner.remove_folder(path)
    }

    fn lock(&self, patience: Duration) -> Result<Box<dyn Send>, IoError> {
        self.inner.lock(patience)
    }
}

pub(crate) fn path(text: &str) -> RelPath {
    RelPath::new(text).unwrap()
}
