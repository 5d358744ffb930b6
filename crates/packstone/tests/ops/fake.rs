//! A format that keeps batches in memory and fails where a test wants it to.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use packstone::exec::Progress;
use packstone::format::{
    Audit, AuditOptions, Collection, Dataset, Format, Info, MergeOptions, Plan, ReadContext,
    RepairOptions, RepairReport, ShardRef, Writer, Written,
};
use packstone::json::{Object, ReadOptions, Value, read};
use packstone::model::{Batch, BatchBuilder, Column, DType, Fidelity, Field, Holds, Schema};
use packstone::{Error, Kind, Limits, Place, RelPath, Result, Root, RootMut};
use packstone_io::{Buf, BufferPool};

pub(crate) fn path(text: &str) -> RelPath {
    RelPath::new(text).unwrap()
}

pub(crate) fn object(text: &str) -> Arc<Object> {
    let value = read(text.as_bytes(), &ReadOptions::default()).unwrap().value;
    Arc::new(value.as_object().unwrap().clone())
}

pub(crate) fn schema(fields: &[(&str, DType, &[u64])]) -> Arc<Schema> {
    let fields =
        fields.iter().map(|(name, dtype, shape)| Field::new(*name, dtype.clone(), shape.to_vec()));
    Arc::new(Schema::new(fields.collect()))
}

/// Rows of values, in the order of the schema.
pub(crate) fn batch(schema: &Arc<Schema>, rows: &[Vec<Vec<u8>>], metadata: &str) -> Batch {
    let columns = (0..schema.fields.len()).map(|field| {
        let mut end = 0;
        let ends = rows.iter().map(|row| {
            end += row[field].len();
            end
        });
        let ends = ends.collect();
        let data: Vec<u8> = rows.iter().flat_map(|row| row[field].clone()).collect();
        Column::ragged(Buf::from(data), ends).unwrap()
    });
    let batch = Batch::new(Arc::clone(schema), rows.len(), columns.collect()).unwrap();
    batch.with_metadata(object(metadata))
}

/// Samples of a number `n` (int64) and a text `t`, counted up from 0 over shards of these sizes.
pub(crate) fn counted(name: &str, sizes: &[usize]) -> FakeCollection {
    let schema = schema(&[("n", DType::Int64, &[]), ("t", DType::Str, &[])]);
    let mut next = 0i64;
    let shards = sizes.iter().map(|size| {
        let rows: Vec<_> = (next..)
            .take(*size)
            .map(|n| vec![n.to_le_bytes().to_vec(), format!("s{n}").into_bytes()])
            .collect();
        next += i64::try_from(*size).unwrap();
        batch(&schema, &rows, "{}")
    });
    FakeCollection::new(name, Arc::clone(&schema), shards.collect())
}

/// The numbers of [`counted`] samples.
pub(crate) fn numbers(batch: &Batch) -> Vec<i64> {
    let number = |bytes: &[u8]| i64::from_le_bytes(bytes.try_into().unwrap());
    batch.samples().map(|sample| number(sample.get("n").unwrap().bytes)).collect()
}

#[derive(Clone)]
pub(crate) struct FakeCollection {
    pub(crate) name: String,
    pub(crate) schema: Arc<Schema>,
    pub(crate) shards: Vec<Batch>,
    /// What the collection says it holds.
    pub(crate) len: u64,
    /// The shard that cannot be read.
    pub(crate) broken: Option<u64>,
}

impl FakeCollection {
    pub(crate) fn new(name: &str, schema: Arc<Schema>, shards: Vec<Batch>) -> Self {
        let len = shards.iter().map(|batch| batch.rows() as u64).sum();
        Self { name: name.to_owned(), schema, shards, len, broken: None }
    }

    /// The same samples in shards of `size`.
    pub(crate) fn resharded(&self, size: usize) -> Self {
        let mut all = Vec::new();
        let mut builder =
            BatchBuilder::new(Arc::clone(&self.schema), size, BufferPool::new(1)).unwrap();
        for batch in &self.shards {
            for row in 0..batch.rows() {
                builder.push(batch, row..row + 1).unwrap();
                if builder.rows() == size {
                    all.push(builder.finish().unwrap());
                }
            }
        }
        if builder.rows() > 0 {
            all.push(builder.finish().unwrap());
        }
        Self::new(&self.name, Arc::clone(&self.schema), all)
    }

    pub(crate) fn broken(mut self, shard: u64) -> Self {
        self.broken = Some(shard);
        self
    }

    pub(crate) fn arc(self) -> Arc<dyn Collection> {
        Arc::new(self)
    }
}

impl Collection for FakeCollection {
    fn name(&self) -> &str {
        &self.name
    }

    fn len(&self) -> u64 {
        self.len
    }

    fn shard_count(&self) -> u64 {
        self.shards.len() as u64
    }

    fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    fn shards(&self, from: u64) -> Box<dyn Iterator<Item = Result<ShardRef>> + Send> {
        let mut first = 0;
        let listed: Vec<_> = (0u64..)
            .zip(&self.shards)
            .map(|(number, batch)| {
                let rows = batch.rows() as u64;
                let shard = ShardRef {
                    number,
                    first,
                    rows,
                    path: path(&format!("{}/{number}", self.name)),
                    metadata: batch.metadata(0).cloned().unwrap_or_default(),
                    detail: Arc::new(()),
                };
                first += rows;
                shard
            })
            .collect();
        Box::new(listed.into_iter().filter(move |shard| shard.first + shard.rows > from).map(Ok))
    }

    fn read(
        &self,
        shard: &ShardRef,
        fields: Option<&[usize]>,
        _context: &mut ReadContext,
    ) -> Result<Batch> {
        if self.broken == Some(shard.number) {
            return Err(Error::new(
                Kind::Corrupt,
                "fake/broken",
                Place::file(&shard.path),
                "expected more, found less",
            ));
        }
        let batch = &self.shards[usize::try_from(shard.number).unwrap()];
        // Its own numbering, so that a view must hand its references back as they were.
        assert_eq!(shard.rows, batch.rows() as u64);
        let Some(fields) = fields else { return Ok(batch.clone()) };
        let columns = fields.iter().map(|at| batch.columns()[*at].clone()).collect();
        let some = Batch::new(Arc::new(self.schema.project(fields)), batch.rows(), columns)?;
        let runs = batch.metadata_runs().map(|(rows, object)| (rows.end, Arc::clone(object)));
        let runs: Vec<_> = runs.collect();
        if runs.is_empty() { Ok(some) } else { some.with_metadata_runs(runs) }
    }

    fn has_metadata(&self) -> Result<bool> {
        let mut runs = self.shards.iter().flat_map(Batch::metadata_runs);
        Ok(runs.any(|(_, object)| !object.is_empty()))
    }
}

struct FakeDataset {
    info: Info,
    schema: Arc<Schema>,
    collections: Vec<Arc<dyn Collection>>,
}

pub(crate) fn dataset(collections: Vec<FakeCollection>) -> Arc<dyn Dataset> {
    made_of(collections, "fake", None)
}

fn made_of(
    collections: Vec<FakeCollection>,
    format: &'static str,
    carried: Option<Object>,
) -> Arc<dyn Dataset> {
    let collections: Vec<_> = collections.into_iter().map(FakeCollection::arc).collect();
    let native = object(r#"{"made":"up"}"#).as_ref().clone();
    let info = Info { format, native, carried };
    let schema = collections.first().map(|c| Arc::clone(c.schema())).unwrap_or_default();
    Arc::new(FakeDataset { info, schema, collections })
}

impl Dataset for FakeDataset {
    fn info(&self) -> &Info {
        &self.info
    }

    fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    fn collections(&self) -> Vec<String> {
        self.collections.iter().map(|c| c.name().to_owned()).collect()
    }

    fn collection(&self, name: &str) -> Result<Arc<dyn Collection>> {
        self.collections.iter().find(|c| c.name() == name).cloned().ok_or_else(|| {
            Error::new(
                Kind::NotFound,
                "fake/unknown",
                Place::default(),
                format!("expected another name, found {name:?}"),
            )
        })
    }
}

/// What was written, by collection.
pub(crate) type Store = Arc<Mutex<Vec<(String, Vec<Batch>)>>>;

#[derive(Default)]
pub(crate) struct FakeFormat {
    pub(crate) losses: Fidelity,
    /// Batches that can be written before it fails.
    pub(crate) patience: Option<usize>,
    /// Forgets the last sample of all.
    pub(crate) forgets: bool,
    /// Another format than that of [`dataset`], which has a word for so much.
    pub(crate) foreign: Option<Holds>,
    pub(crate) audit: Mutex<Audit>,
    pub(crate) seen: Mutex<Option<(Plan, Object)>>,
    pub(crate) store: Store,
}

impl Format for FakeFormat {
    fn id(&self) -> &'static str {
        if self.foreign.is_some() { "foreign" } else { "fake" }
    }

    fn title(&self) -> &'static str {
        "Fake"
    }

    fn write_options(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    fn mark(&self) -> &'static str {
        "fake"
    }

    fn holds(&self, _plan: &Plan, _options: &Object) -> Result<Holds> {
        Ok(self.foreign.unwrap_or(Holds::ALL))
    }

    fn recognizes(&self, root: &dyn Root) -> Result<bool> {
        Ok(root.len(&path("fake")).is_ok())
    }

    fn open(&self, root: Arc<dyn Root>, _limits: &Limits) -> Result<Arc<dyn Dataset>> {
        root.read(&path("fake"))?;
        let store = self.store.lock().unwrap();
        let seen = self.seen.lock().unwrap();
        let plan = &seen.as_ref().unwrap().0;
        let schema = Arc::clone(&plan.schema);
        let collections = store
            .iter()
            .map(|(name, batches)| FakeCollection::new(name, Arc::clone(&schema), batches.clone()));
        Ok(made_of(collections.collect(), self.id(), plan.carried.clone()))
    }

    fn fidelity(&self, _plan: &Plan, _options: &Object) -> Result<Fidelity> {
        Ok(self.losses.clone())
    }

    fn create(
        &self,
        root: Arc<dyn RootMut>,
        plan: &Plan,
        options: &Object,
    ) -> Result<Box<dyn Writer>> {
        if self.recognizes(root.as_ref())? {
            return Err(Error::new(
                Kind::Exists,
                "fake/exists",
                Place::default(),
                "expected nothing, found a dataset",
            ));
        }
        *self.seen.lock().unwrap() = Some((plan.clone(), options.clone()));
        let batches = plan.collections.iter().map(|(name, _)| (name.clone(), Vec::new())).collect();
        let (store, patience, forgets) = (Arc::clone(&self.store), self.patience, self.forgets);
        Ok(Box::new(FakeWriter { root, batches, store, patience, forgets }))
    }

    fn part(&self, _root: Arc<dyn RootMut>, _name: &str) -> Result<Box<dyn Writer>> {
        unreachable!("no test writes parts")
    }

    fn audit(&self, _root: Arc<dyn Root>, _options: &AuditOptions) -> Result<Audit> {
        Ok(std::mem::take(&mut self.audit.lock().unwrap()))
    }

    fn merge(&self, _root: Arc<dyn RootMut>, _options: &MergeOptions) -> Result<Written> {
        unreachable!("no test merges")
    }

    fn repair(&self, _root: Arc<dyn RootMut>, _options: &RepairOptions) -> Result<RepairReport> {
        unreachable!("no test repairs")
    }
}

struct FakeWriter {
    root: Arc<dyn RootMut>,
    batches: Vec<(String, Vec<Batch>)>,
    store: Store,
    patience: Option<usize>,
    forgets: bool,
}

impl Writer for FakeWriter {
    fn write(&mut self, collection: &str, batch: &Batch) -> Result<()> {
        match &mut self.patience {
            Some(0) => {
                return Err(Error::new(Kind::Io, "fake/full", Place::default(), "no space left"));
            }
            Some(left) => *left -= 1,
            None => {}
        }
        let (_, batches) = self.batches.iter_mut().find(|(name, _)| name == collection).unwrap();
        batches.push(batch.clone());
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<Written> {
        if self.forgets {
            self.batches.last_mut().unwrap().1.pop();
        }
        let all = self.batches.iter().flat_map(|(_, batches)| batches);
        let written = Written {
            samples: all.clone().map(|batch| batch.rows() as u64).sum(),
            shards: all.clone().count() as u64,
            bytes: all.map(Batch::value_bytes).sum(),
        };
        self.root.create(&path("fake"), b"")?;
        *self.store.lock().unwrap() = self.batches;
        Ok(written)
    }
}

/// Remembers what it is told; asks to stop after `patience` steps.
#[derive(Debug)]
pub(crate) struct Witness {
    pub(crate) total: AtomicU64,
    pub(crate) done: AtomicU64,
    patience: AtomicU64,
    stopped: AtomicBool,
}

impl Witness {
    pub(crate) fn new(patience: u64) -> Arc<Self> {
        Arc::new(Self {
            total: AtomicU64::new(0),
            done: AtomicU64::new(0),
            patience: AtomicU64::new(patience),
            stopped: AtomicBool::new(false),
        })
    }

    pub(crate) fn seen(&self) -> (u64, u64) {
        (self.total.load(Ordering::SeqCst), self.done.load(Ordering::SeqCst))
    }
}

impl Progress for Witness {
    fn total(&self, bytes: u64) {
        self.total.fetch_add(bytes, Ordering::SeqCst);
    }

    fn advance(&self, bytes: u64) {
        self.done.fetch_add(bytes, Ordering::SeqCst);
        if self.patience.fetch_sub(1, Ordering::SeqCst) <= 1 {
            self.stopped.store(true, Ordering::SeqCst);
        }
    }

    fn cancelled(&self) -> bool {
        self.stopped.load(Ordering::SeqCst)
    }
}

/// A progress for an operation, and the same to look at.
pub(crate) fn witness(patience: u64) -> (Arc<dyn Progress>, Arc<Witness>) {
    let witness = Witness::new(patience);
    (Arc::clone(&witness) as Arc<dyn Progress>, witness)
}

/// A value under a name of a JSON object.
pub(crate) fn member(value: &Value, name: &str) -> Value {
    value.get(name).unwrap_or_else(|| panic!("no {name} in {value}")).clone()
}
