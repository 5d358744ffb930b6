//! A dataset that has shards and no samples to read.

use std::sync::Arc;

use packstone::format::{Collection, Dataset, Info, ReadContext, ShardRef};
use packstone::json::{Object, Value};
use packstone::model::{Batch, DType, Field, Schema};
use packstone::{Error, Kind, Place, RelPath, Result};

#[derive(Clone)]
pub(crate) struct Fake {
    pub(crate) name: String,
    pub(crate) folder: String,
    pub(crate) shards: Vec<u64>,
    pub(crate) schema: Arc<Schema>,
    pub(crate) recorded: Option<String>,
    /// What is said about every sample of each shard, where that is said.
    pub(crate) metadata: Vec<Value>,
}

/// Shards of these sizes with 12 bytes a sample.
pub(crate) fn sized(shards: &[u64]) -> Fake {
    let field = Field::new("x", DType::Float32, vec![3]);
    Fake {
        name: "train".to_owned(),
        folder: "shards".to_owned(),
        shards: shards.to_vec(),
        schema: Arc::new(Schema::new(vec![field])),
        recorded: None,
        metadata: Vec::new(),
    }
}

impl Collection for Fake {
    fn name(&self) -> &str {
        &self.name
    }

    fn len(&self) -> u64 {
        self.shards.iter().sum()
    }

    fn shard_count(&self) -> u64 {
        self.shards.len() as u64
    }

    fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    fn recorded(&self) -> Option<String> {
        self.recorded.clone()
    }

    fn shards(&self, from: u64) -> Box<dyn Iterator<Item = Result<ShardRef>> + Send> {
        let mut first = 0;
        let listed: Vec<_> = (0u64..)
            .zip(&self.shards)
            .map(|(number, rows)| {
                let path = RelPath::new(&format!("{}/{number}", self.folder)).unwrap();
                let metadata = self.metadata.get(number as usize);
                let metadata = metadata.and_then(Value::as_object).cloned().unwrap_or_default();
                let (metadata, detail) = (Arc::new(metadata), Arc::new(()));
                let shard = ShardRef { number, first, rows: *rows, path, metadata, detail };
                first += rows;
                shard
            })
            .collect();
        Box::new(listed.into_iter().filter(move |shard| shard.first + shard.rows > from).map(Ok))
    }

    fn read(&self, _: &ShardRef, _: Option<&[usize]>, _: &mut ReadContext) -> Result<Batch> {
        Err(Error::new(Kind::Io, "io/fault", Place::default(), "nothing is to be read here"))
    }
}

/// What says of which format a collection is.
pub(crate) struct FakeDataset(Info, Arc<Schema>);

pub(crate) fn dataset(format: &'static str) -> FakeDataset {
    FakeDataset(Info { format, native: Object::new(), carried: None }, Arc::default())
}

impl Dataset for FakeDataset {
    fn info(&self) -> &Info {
        &self.0
    }

    fn schema(&self) -> &Arc<Schema> {
        &self.1
    }

    fn collections(&self) -> Vec<String> {
        Vec::new()
    }

    fn collection(&self, name: &str) -> Result<Arc<dyn Collection>> {
        Err(Error::new(Kind::NotFound, "io/not_found", Place::default(), name))
    }
}
