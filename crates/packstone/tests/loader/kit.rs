//! Orders, collections and rows to test with.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};

use packstone::format::{Access, Collection, Dataset, Info, ReadContext, ShardRef};
use packstone::json::Object;
use packstone::loader::{Delivery, Drawn, Fingerprint, Loader, LoaderOptions, Order, Share};
use packstone::model::{Batch, Column, DType, Field, Schema};
use packstone::ops::{ConvertOptions, Scan, convert, reopened};
use packstone::random::Random;
use packstone::registry::format;
use packstone::{Error, Kind, Limits, MemoryRoot, Place, RelPath, Result, RootMut};
use packstone_io::{Buf, SoleFile};

/// A row: where it came from, and all there is of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) index: Option<u64>,
    pub(crate) values: Vec<(Vec<u64>, Vec<u8>)>,
    pub(crate) metadata: Option<String>,
}

pub(crate) fn row(batch: &Batch, at: usize, index: Option<u64>) -> Row {
    let sample = batch.sample(at).unwrap();
    let values = sample.values().map(|v| (v.shape.to_vec(), v.bytes.to_vec())).collect();
    let metadata = sample.metadata().map(|m| format!("{m:?}"));
    Row { index, values, metadata }
}

pub(crate) fn rows(delivery: &Delivery) -> Vec<Row> {
    let Delivery { batch, positions, indices, mask, .. } = delivery;
    assert_eq!([positions.len(), indices.len(), mask.len()], [batch.rows(); 3]);
    (0..batch.rows()).map(|at| row(batch, at, indices[at])).collect()
}

/// All samples of a collection in order, or why not.
pub(crate) fn stored(collection: &Arc<dyn Collection>) -> Result<Vec<Row>> {
    let mut all = Vec::new();
    for batch in Scan::new(Arc::clone(collection)).threads(0).verify(true).batches(7)? {
        let batch = batch?;
        for at in 0..batch.rows() {
            all.push(row(&batch, at, Some(all.len() as u64)));
        }
    }
    Ok(all)
}

/// Indices as they are listed, the same in all epochs.
#[derive(Debug)]
pub(crate) struct Listed(pub(crate) Vec<u64>);

impl Order for Listed {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    fn epoch(&self, _: u64) -> Result<Arc<dyn Drawn>> {
        Ok(Arc::new(Draws(self.0.clone())))
    }
}

#[derive(Debug)]
struct Draws(Vec<u64>);

impl Drawn for Draws {
    fn at(&self, position: u64) -> Option<u64> {
        self.0.get(usize::try_from(position).ok()?).copied()
    }
}

pub(crate) fn listed(indices: impl IntoIterator<Item = u64>) -> Arc<dyn Order> {
    Arc::new(Listed(indices.into_iter().collect()))
}

/// Every index below `len` once, mixed.
pub(crate) fn mixed(len: u64, seed: u64) -> Vec<u64> {
    let mut all: Vec<u64> = (0..len).collect();
    Random::new(seed).shuffle(&mut all);
    all
}

pub(crate) fn loader(
    collection: &Arc<dyn Collection>,
    order: &Arc<dyn Order>,
    batch: u64,
    options: LoaderOptions,
) -> Loader {
    let share = Share::alone(batch).unwrap();
    shared(collection, order, share, options)
}

/// The part of a share.
pub(crate) fn shared(
    collection: &Arc<dyn Collection>,
    order: &Arc<dyn Order>,
    share: Share,
    options: LoaderOptions,
) -> Loader {
    let fingerprint = Fingerprint {
        format: "test".to_owned(),
        collection: collection.name().to_owned(),
        samples: collection.len(),
        digest: "0".to_owned(),
    };
    let collections = vec![Arc::clone(collection)];
    Loader::new(collections, fingerprint, Arc::clone(order), share, options).unwrap()
}

pub(crate) fn options(threads: usize) -> LoaderOptions {
    LoaderOptions::default().with_threads(threads)
}

/// What a shard does instead of being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trick {
    /// It is broken as a whole.
    Broken,
    /// The record at this row is.
    Record(usize),
    /// Reading it panics.
    Panics,
    /// Reading it waits until the gate opens.
    Waits,
}

/// Counts up: `n` (int64), `t` (text, some empty), `v` (u16 of varying length); shards of `size`, made anew at each read.
pub(crate) struct Made {
    schema: Arc<Schema>,
    pub(crate) len: u64,
    pub(crate) size: u64,
    pub(crate) apart: bool,
    pub(crate) tricks: Vec<(u64, Trick)>,
    pub(crate) reads: AtomicU64,
    /// How often its lists were read.
    pub(crate) listed: AtomicU64,
    pub(crate) verified: Mutex<Vec<u64>>,
    pub(crate) gate: (Mutex<bool>, Condvar),
    /// Bytes of `n` in each row.
    pub(crate) width: usize,
}

impl Made {
    pub(crate) fn new(len: u64, size: u64) -> Self {
        Self::wide(len, size, 8)
    }

    pub(crate) fn wide(len: u64, size: u64, width: usize) -> Self {
        let schema = Schema::new(vec![
            Field::new("n", DType::Int64, [width as u64 / 8]),
            Field::new("t", DType::Str, []),
            Field::varying(packstone::model::Key::new("v"), DType::UInt16, 1),
        ]);
        Self {
            schema: Arc::new(schema),
            len,
            size,
            apart: false,
            tricks: Vec::new(),
            reads: AtomicU64::new(0),
            listed: AtomicU64::new(0),
            verified: Mutex::default(),
            gate: (Mutex::new(false), Condvar::new()),
            width,
        }
    }

    pub(crate) fn trick(mut self, shard: u64, trick: Trick) -> Self {
        self.tricks.push((shard, trick));
        self
    }

    pub(crate) fn apart(mut self) -> Self {
        self.apart = true;
        self
    }

    pub(crate) fn open(&self) {
        *self.gate.0.lock().unwrap() = true;
        self.gate.1.notify_all();
    }
}

pub(crate) fn as_collection(made: &Arc<Made>) -> Arc<dyn Collection> {
    Arc::clone(made) as Arc<dyn Collection>
}

impl Collection for Made {
    fn name(&self) -> &str {
        "made"
    }

    fn len(&self) -> u64 {
        self.len
    }

    fn shard_count(&self) -> u64 {
        self.len.div_ceil(self.size)
    }

    fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    fn shards(&self, from: u64) -> Box<dyn Iterator<Item = Result<ShardRef>> + Send> {
        self.listed.fetch_add(1, Ordering::Relaxed);
        let (len, size) = (self.len, self.size);
        Box::new((from / size..self.shard_count()).map(move |number| {
            let first = number * size;
            Ok(ShardRef {
                number,
                first,
                rows: size.min(len - first),
                path: RelPath::new(&format!("made/{number}")).unwrap(),
                metadata: Arc::default(),
                detail: Arc::new(()),
            })
        }))
    }

    fn read(
        &self,
        shard: &ShardRef,
        fields: Option<&[usize]>,
        context: &mut ReadContext,
    ) -> Result<Batch> {
        let rows: Vec<usize> = (0..usize::try_from(shard.rows).unwrap()).collect();
        self.read_rows(shard, &rows, fields, context)
    }

    fn read_rows(
        &self,
        shard: &ShardRef,
        rows: &[usize],
        fields: Option<&[usize]>,
        context: &mut ReadContext,
    ) -> Result<Batch> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        if context.verify {
            self.verified.lock().unwrap().push(shard.number);
        }
        let wrong = |place| Error::new(Kind::Corrupt, "made/broken", place, "expected more");
        for (_, trick) in self.tricks.iter().filter(|(number, _)| *number == shard.number) {
            match trick {
                Trick::Broken => return Err(wrong(Place::default())),
                Trick::Record(row) if rows.contains(row) => {
                    return Err(wrong(Place::default().record(*row as u64)));
                }
                Trick::Record(_) => {}
                Trick::Panics => panic!("on purpose"),
                Trick::Waits => {
                    let mut open = self.gate.0.lock().unwrap();
                    while !*open {
                        open = self.gate.1.wait(open).unwrap();
                    }
                }
            }
        }
        let numbers: Vec<u64> = rows.iter().map(|row| shard.first + *row as u64).collect();
        let wide = |n: &u64| n.to_le_bytes().repeat(self.width / 8);
        let n: Vec<u8> = numbers.iter().flat_map(wide).collect();
        let text = |n: &u64| if n.is_multiple_of(3) { String::new() } else { format!("s{n}") };
        let texts: Vec<String> = numbers.iter().map(text).collect();
        let ends = |lens: Vec<usize>| {
            let mut end = 0;
            lens.into_iter()
                .map(|len| {
                    end += len;
                    end
                })
                .collect::<Vec<usize>>()
        };
        let lens = ends(texts.iter().map(String::len).collect());
        let long = |n: &u64| usize::try_from(n % 4).unwrap();
        let v: Vec<u8> = numbers
            .iter()
            .flat_map(|n| vec![u8::try_from(n % 251).unwrap(); 2 * long(n)])
            .collect();
        let v_ends = ends(numbers.iter().map(|n| 2 * long(n)).collect());
        let v = Column::ragged(Buf::from(v), v_ends).unwrap();
        let all = [
            Column::dense(Buf::from(n), self.width, rows.len()).unwrap(),
            Column::ragged(Buf::from(texts.concat().into_bytes()), lens).unwrap(),
            v.with_shapes(1, numbers.iter().map(|n| n % 4).collect()).unwrap(),
        ];
        let Some(fields) = fields else {
            return Batch::new(Arc::clone(&self.schema), rows.len(), all.to_vec());
        };
        let columns = fields.iter().map(|at| all[*at].clone()).collect();
        Batch::new(Arc::new(self.schema.project(fields)), rows.len(), columns)
    }

    fn access(&self) -> Access {
        if self.apart { Access::Apart } else { Access::Whole }
    }
}

/// The numbers of the samples of a batch.
pub(crate) fn numbers(delivery: &Delivery) -> Vec<u64> {
    let number = |bytes: &[u8]| u64::from_le_bytes(bytes[..8].try_into().unwrap());
    delivery.batch.samples().map(|sample| number(sample.get("n").unwrap().bytes)).collect()
}

/// A dataset whose only collection is this one.
pub(crate) struct Sole(Info, Arc<dyn Collection>);

impl Sole {
    pub(crate) fn new(info: Info, collection: Arc<dyn Collection>) -> Self {
        Self(info, collection)
    }
}

impl Dataset for Sole {
    fn info(&self) -> &Info {
        &self.0
    }

    fn schema(&self) -> &Arc<Schema> {
        self.1.schema()
    }

    fn collections(&self) -> Vec<String> {
        vec![self.1.name().to_owned()]
    }

    fn collection(&self, _: &str) -> Result<Arc<dyn Collection>> {
        Ok(Arc::clone(&self.1))
    }
}

/// What is made, written as a dataset of `id` in memory, and opened.
pub(crate) fn written(
    made: &Arc<dyn Collection>,
    id: &str,
    options: &packstone::json::Value,
) -> Arc<dyn Dataset> {
    let info = Info { format: "made", native: Object::new(), carried: None };
    let source = Arc::new(Sole::new(info, Arc::clone(made)));
    let options = options.as_object().unwrap().clone();
    let options = ConvertOptions { options, threads: 0, ..ConvertOptions::default() };
    let target = format(id).unwrap();
    let root: Arc<dyn RootMut> = match id {
        "arrayrecord" => {
            let file = RelPath::new("x.arrayrecord").unwrap();
            Arc::new(SoleFile::new(MemoryRoot::new(), file, "x.arrayrecord"))
        }
        _ => Arc::new(MemoryRoot::new()),
    };
    convert(source, target, Arc::clone(&root), &options, None).unwrap();
    reopened(target.open(root, &Limits::default()).unwrap()).unwrap()
}

/// A golden dataset of another format as a SignalDataset of small shards: the golden ones are smaller than a batch.
pub(crate) fn as_signals(source: &std::path::Path, target: &Arc<dyn RootMut>) {
    as_signals_of(source, target, 7);
}

/// The same with so many records in a shard.
pub(crate) fn as_signals_of(source: &std::path::Path, target: &Arc<dyn RootMut>, records: u64) {
    let options = packstone::json!({"records_per_shard": records});
    let options = ConvertOptions {
        options: options.as_object().unwrap().clone(),
        threads: 0,
        ..ConvertOptions::default()
    };
    let source = packstone::open(source).unwrap();
    convert(source, format("sds").unwrap(), Arc::clone(target), &options, None).unwrap();
}
