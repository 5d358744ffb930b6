//! Reconstruction bundles: what the original's `dump_config` writes and its `from_config` reads.
//!
//! ```text
//! DIR/
//! ├── metadata.arrow   the active table: cache_id, sample_id, stored columns, weight, columns of the user
//! └── dataset.json     where the caches are, how they are read, the length of an epoch; it makes the bundle complete
//! ```
//!
//! A table that a user put in place may have large texts and 32-bit numbers; they are read, and written as text and numbers
//! of 64 bits. A dataset that is made of a bundle has a table that was replaced, so it draws by weights, and begins at the start;
//! where reading stood is in [`ActiveDataset::state`].

use std::sync::Arc;

use packstone_container::Limits;
use packstone_container::arrow_table::{ArrowFile, Table, write_file};
use packstone_container::json::{self, At, ReadOptions, ShapeError, Style, Value};
use packstone_io::{Kind, RelPath, Root, RootMut};

use super::super::super::codes;
use super::super::super::layout::METADATA;
use super::super::super::options::OpenOptions;
use super::super::super::schema::arrow_error;
use super::super::filling;
use super::super::shape::shape_error;
use super::{ActiveDataset, ReaderConfig, Runtime};
use crate::error::{Error, Place, Result};

/// The document of a bundle.
const CONFIG: &str = "dataset.json";
/// What the original leaves where it did not come to an end.
const PARTIAL: [&str; 2] = ["dataset.json.partial", "metadata.arrow.partial"];
const VERSION: u64 = 2;
/// Rows of a record batch.
const BATCH_ROWS: usize = 65_536;
const MEMBERS: [&str; 7] = [
    "version",
    "cache_paths",
    "reader_config",
    "num_workers",
    "epoch_len",
    "row_count",
    "metadata_file",
];
const READER_MEMBERS: [&str; 4] = ["seed", "prefetch_size", "shuffle", "validate_cache"];

/// A dataset as it is told to another process.
#[derive(Clone, Debug)]
pub struct Bundle {
    /// Where its caches are, in order, as absolute paths.
    pub cache_paths: Vec<String>,
    /// How they are read.
    pub config: ReaderConfig,
    /// Threads that read.
    pub threads: u64,
    /// Samples of a window.
    pub epoch_len: u64,
    /// Its table.
    pub table: Table,
}

impl Bundle {
    /// Writes a bundle into a folder where none is.
    ///
    /// # Errors
    /// `bundle_exists`; I/O faults, and then nothing of it stays.
    pub fn write(&self, root: &dyn RootMut) -> Result<()> {
        let (config, metadata) = (path(CONFIG), path(METADATA));
        let entries = root.list(&RelPath::root())?;
        let names = [CONFIG, METADATA].into_iter().chain(PARTIAL);
        let mut taken = names.filter(|name| entries.iter().any(|entry| entry.name == *name));
        if let Some(name) = taken.next() {
            let message = "expected a folder without a bundle, found one";
            return Err(Error::new(Kind::Exists, codes::BUNDLE_EXISTS, Place::file(name), message));
        }
        filling::file(root, &metadata, |_| {}, |out| write_file(&self.table, BATCH_ROWS, out))?;
        let text = json::write(&self.document(), &Style::PYDANTIC);
        if let Err(error) = root.replace(&[(config, text.into_bytes())]) {
            // A table alone is no bundle.
            let _ = root.remove(&metadata);
            return Err(error.into());
        }
        Ok(())
    }

    fn document(&self) -> Value {
        let paths: Vec<Value> = self.cache_paths.iter().map(|p| Value::from(p.as_str())).collect();
        packstone_container::json!({
            "version": VERSION,
            "cache_paths": paths,
            "reader_config": {
                "seed": self.config.seed,
                "prefetch_size": self.config.prefetch_size,
                "shuffle": self.config.shuffle,
                "validate_cache": self.config.validate_cache,
            },
            "num_workers": self.threads,
            "epoch_len": self.epoch_len,
            "row_count": self.table.rows(),
            "metadata_file": METADATA,
        })
    }

    /// Reads a bundle, strictly: no other members, numbers that are integers, as many rows as it says.
    ///
    /// # Errors
    /// `bundle_invalid`, `bundle_version`; `arrow_invalid`, `arrow_unsupported`; I/O faults.
    pub fn read(root: &dyn Root, limits: &Limits) -> Result<Self> {
        let place = Place::file(CONFIG);
        let bytes = root.read(&path(CONFIG))?;
        let options = ReadOptions::default().with_limits(*limits).with_refused_duplicates(true);
        let document = json::read(&bytes, &options).map_err(|error| {
            let place = place.clone().at(error.offset as u64);
            Error::new(Kind::Corrupt, codes::BUNDLE_INVALID, place, error.to_string())
        })?;
        let at = At::root(&document.value);
        let version = at.optional("version").map_err(shape)?;
        if let Some(version) = version.map(At::u64).transpose().map_err(shape)?
            && version != VERSION
        {
            let message = format!("expected a bundle of version {VERSION}, found {version}");
            let place = place.json("$.version");
            return Err(Error::new(Kind::Unsupported, codes::BUNDLE_VERSION, place, message));
        }
        let (mut bundle, rows) = Self::parse(at).map_err(shape)?;
        let place = Place::file(METADATA);
        let table =
            ArrowFile::read_wider(root.read(&path(METADATA))?).and_then(|file| file.table());
        bundle.table = table.map_err(|error| arrow_error(&error, place.clone()))?;
        if bundle.table.rows() as u64 != rows {
            let message = format!("expected {rows} rows, found {}", bundle.table.rows());
            return Err(Error::new(Kind::Corrupt, codes::BUNDLE_INVALID, place, message));
        }
        Ok(bundle)
    }

    fn parse(at: At<'_>) -> Result<(Self, u64), ShapeError> {
        known(at, &MEMBERS)?;
        let paths = at.field("cache_paths")?;
        let cache_paths = paths.items()?.map(|path| path.str().map(str::to_owned));
        let cache_paths = cache_paths.collect::<Result<Vec<_>, _>>()?;
        if cache_paths.is_empty() {
            return Err(paths.unexpected("the path of a cache"));
        }
        let reader = at.field("reader_config")?;
        known(reader, &READER_MEMBERS)?;
        let mut config = ReaderConfig::new(reader.field("seed")?.u64()?);
        if let Some(size) = reader.optional("prefetch_size")? {
            config.prefetch_size = positive(size)?;
        }
        for (name, flag) in
            [("shuffle", &mut config.shuffle), ("validate_cache", &mut config.validate_cache)]
        {
            if let Some(at) = reader.optional(name)? {
                *flag = at.bool()?;
            }
        }
        if let Some(file) = at.optional("metadata_file")?
            && file.str()? != METADATA
        {
            return Err(file.unexpected(format!("{METADATA:?}")));
        }
        let threads = positive(at.field("num_workers")?)?;
        let epoch_len = positive(at.field("epoch_len")?)?;
        let rows = positive(at.field("row_count")?)?;
        Ok((Self { cache_paths, config, threads, epoch_len, table: Table::default() }, rows))
    }

    /// The dataset of a bundle, over its caches in its order.
    ///
    /// # Errors
    /// Those of [`Runtime::open`] and [`ActiveDataset::replace`].
    pub fn restore(self, roots: Vec<Arc<dyn Root>>, open: &OpenOptions) -> Result<ActiveDataset> {
        let threads = usize::try_from(self.threads).unwrap_or(usize::MAX);
        let runtime = Runtime { open: open.clone(), ..Runtime::new(threads) };
        let dataset = runtime.open(roots, &self.config)?;
        dataset.replace(self.table)?;
        dataset.set_epoch_len(self.epoch_len)?;
        Ok(dataset)
    }
}

fn path(name: &str) -> RelPath {
    RelPath::new(name).unwrap_or_default()
}

fn known(at: At<'_>, members: &[&str]) -> Result<(), ShapeError> {
    match at.entries()?.find(|(name, _)| !members.contains(name)) {
        Some((_, more)) => Err(more.unexpected(format!("no member but {}", members.join(", ")))),
        None => Ok(()),
    }
}

fn positive(at: At<'_>) -> Result<u64, ShapeError> {
    match at.u64()? {
        0 => Err(at.unexpected("an integer of at least 1")),
        number => Ok(number),
    }
}

fn shape(error: ShapeError) -> Error {
    let wrong = shape_error(error, codes::BUNDLE_INVALID);
    let path = wrong.place().json_path.clone().unwrap_or_default();
    wrong.with_place(Place::file(CONFIG).json(path))
}
