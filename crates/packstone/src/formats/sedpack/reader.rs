//! Opening a dataset and reading its splits.

use std::sync::Arc;

use packstone_container::Limits;
use packstone_container::codec::Codec;
use packstone_container::digest::{Algorithm, MultiHasher};
use packstone_container::json::Value;
use packstone_io::{Kind, RelPath, Root};

use super::codes;
use super::document::DatasetInfo;
use super::layout::{CARRIED, ROOT_DOCUMENT};
use super::parts::list::{FileInfo, ListPointer, ShardEntry};
use super::parts::shard::ShardFormat;
use super::parts::tree::{Tree, count_error, file_error};
use super::schema::ShardType;
use crate::error::{Error, Place, Result};
use crate::format::{Access, Collection, Dataset, Info, ReadContext, ShardRef};
use crate::model::{Batch, Schema};

/// An open Sedpack dataset.
pub struct SedpackDataset {
    info: Info,
    document: Arc<DatasetInfo>,
    root: Arc<dyn Root>,
    tree: Arc<Tree>,
}

impl SedpackDataset {
    /// Opens the dataset in `root`; reads `dataset_info.json` and nothing else.
    ///
    /// # Errors
    /// `missing_file` where there is none; those of [`DatasetInfo::parse`].
    pub fn open(root: Arc<dyn Root>, limits: &Limits) -> Result<Self> {
        let document = read_info(root.as_ref(), limits)?;
        let native = document.document.clone();
        let custom = native.get("metadata").and_then(Value::as_object);
        let custom = custom.and_then(|m| m.get("custom_metadata")).and_then(Value::as_object);
        let carried = custom.and_then(|m| m.get(CARRIED)).and_then(Value::as_object).cloned();
        let info = Info { format: "sedpack", native, carried };
        let tree = Arc::new(Tree::new(Arc::clone(&root), *limits));
        Ok(Self { info, document: Arc::new(document), root, tree })
    }

    /// What `dataset_info.json` says.
    pub fn document(&self) -> &DatasetInfo {
        &self.document
    }

    /// The checksums of `dataset_info.json` as it is on the disk, one for each algorithm: `current_metadata_checksums`
    /// of the original.
    ///
    /// # Errors
    /// I/O faults.
    pub fn metadata_checksums(&self) -> Result<Vec<String>> {
        let bytes = self.root.read(&root_document()?)?;
        Ok(checksums(&self.document.algorithms, &bytes))
    }
}

/// The path of the root document.
pub fn root_document() -> Result<RelPath> {
    RelPath::new(ROOT_DOCUMENT).map_err(|why| {
        Error::new(Kind::Invalid, codes::PATH_ESCAPE, Place::file(ROOT_DOCUMENT), why.to_string())
    })
}

/// Reads `dataset_info.json`.
///
/// # Errors
/// `missing_file` where there is none; those of [`DatasetInfo::parse`].
pub fn read_info(root: &dyn Root, limits: &Limits) -> Result<DatasetInfo> {
    let bytes = root.read(&root_document()?).map_err(|error| {
        if error.kind() != Kind::NotFound {
            return Error::from(error);
        }
        let message = format!("not a sedpack dataset: expected {ROOT_DOCUMENT}, found none");
        Error::new(Kind::NotFound, codes::MISSING_FILE, Place::file(ROOT_DOCUMENT), message)
    })?;
    DatasetInfo::parse(&bytes, limits)
}

/// The checksums of `bytes`, one for each algorithm.
pub fn checksums(algorithms: &[Algorithm], bytes: &[u8]) -> Vec<String> {
    let mut hasher = MultiHasher::new(algorithms);
    hasher.update(bytes);
    hasher.finish()
}

/// Compares the recorded checksums of a file with those of its bytes.
///
/// # Errors
/// `hash_count_mismatch`, `hash_mismatch`.
pub fn check_file(file: &FileInfo, algorithms: &[Algorithm], bytes: &[u8]) -> Result<()> {
    let place = Place::file(&file.path);
    if file.checksums.len() != algorithms.len() {
        let message = format!(
            "expected {} checksums as the dataset has algorithms, found {}",
            algorithms.len(),
            file.checksums.len()
        );
        return Err(Error::new(Kind::Corrupt, codes::HASH_COUNT_MISMATCH, place, message));
    }
    let found = checksums(algorithms, bytes);
    let pairs = algorithms.iter().zip(&file.checksums).zip(&found);
    for ((algorithm, expected), found) in pairs {
        if expected != found {
            let message = format!("expected {} {expected}, found {found}", algorithm.name());
            return Err(Error::new(Kind::Corrupt, codes::HASH_MISMATCH, place, message));
        }
    }
    Ok(())
}

impl Dataset for SedpackDataset {
    fn info(&self) -> &Info {
        &self.info
    }

    fn schema(&self) -> &Arc<Schema> {
        &self.document.schema
    }

    fn collections(&self) -> Vec<String> {
        self.document.splits.iter().map(|(name, _)| name.clone()).collect()
    }

    fn collection(&self, name: &str) -> Result<Arc<dyn Collection>> {
        let pointer = self.document.split(name).ok_or_else(|| {
            let known = self.collections();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            let message = format!("expected one of the splits {known}, found {name:?}");
            Error::new(Kind::NotFound, codes::UNKNOWN_SPLIT, Place::file(ROOT_DOCUMENT), message)
        })?;
        Ok(Arc::new(Split {
            name: name.to_owned(),
            pointer: pointer.clone(),
            format: ShardFormat::from(self.document.as_ref()),
            algorithms: self.document.algorithms.clone(),
            root: Arc::clone(&self.root),
            tree: Arc::clone(&self.tree),
        }))
    }
}

/// One split.
struct Split {
    name: String,
    pointer: ListPointer,
    format: ShardFormat,
    algorithms: Vec<Algorithm>,
    root: Arc<dyn Root>,
    tree: Arc<Tree>,
}

impl Collection for Split {
    fn name(&self) -> &str {
        &self.name
    }

    fn len(&self) -> u64 {
        self.pointer.examples
    }

    fn shard_count(&self) -> u64 {
        self.pointer.shards
    }

    fn schema(&self) -> &Arc<Schema> {
        &self.format.schema
    }

    fn codec(&self) -> Option<Codec> {
        Some(self.format.compression.codec(self.format.shard_type))
    }

    fn shards(&self, from: u64) -> Box<dyn Iterator<Item = Result<ShardRef>> + Send> {
        Box::new(Arc::clone(&self.tree).walk(self.pointer.clone(), from))
    }

    fn read(
        &self,
        shard: &ShardRef,
        fields: Option<&[usize]>,
        context: &mut ReadContext,
    ) -> Result<Batch> {
        self.decode(shard, None, fields, context)
    }

    fn read_rows(
        &self,
        shard: &ShardRef,
        rows: &[usize],
        fields: Option<&[usize]>,
        context: &mut ReadContext,
    ) -> Result<Batch> {
        self.decode(shard, Some(rows), fields, context)
    }

    fn access(&self) -> Access {
        let ShardFormat { shard_type, compression, .. } = &self.format;
        match compression.codec(*shard_type) {
            Codec::None if *shard_type == ShardType::Fb => Access::Mapped,
            _ => Access::Whole,
        }
    }
}

impl Split {
    fn decode(
        &self,
        shard: &ShardRef,
        rows: Option<&[usize]>,
        fields: Option<&[usize]>,
        context: &mut ReadContext,
    ) -> Result<Batch> {
        let file = self.root.read(&shard.path).map_err(|e| file_error(e, &shard.path))?;
        let file = match self.format.compression.codec(self.format.shard_type) {
            // Only then it is gone through twice.
            codec if codec == Codec::None || !context.verify => file,
            _ => context.in_memory(&file).map_err(|e| e.with_place(Place::file(&shard.path)))?,
        };
        if context.verify
            && let Some(entry) = shard.detail.downcast_ref::<ShardEntry>()
            && let Some(info) = entry.files.first()
        {
            check_file(info, &self.algorithms, &file)?;
        }
        let (batch, stored) = self.format.decode_rows(&shard.path, file, rows, fields, context)?;
        if stored as u64 != shard.rows {
            return Err(count_error(
                Place::file(&shard.path),
                "examples",
                shard.rows,
                stored as u64,
            ));
        }
        Ok(batch.with_metadata(Arc::clone(&shard.metadata)))
    }
}
