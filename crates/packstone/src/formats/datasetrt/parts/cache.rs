//! An open cache: its manifest, its index as a map, and on demand the run boundaries, its table and shards.
//!
//! Opening checks all that needs no payload, in the order of the original: manifest, length of every shard, shape of the
//! index, presence of the table, number of the shard in every row. No descriptor stays open.

mod bounds;
mod files;
mod watch;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use packstone_container::Limits;
use packstone_container::arrow_table::{ArrowFile, Cell};
use packstone_container::json::Key;
use packstone_io::{Buf, Kind};

use super::super::codes;
use super::super::document::{Algo, Manifest, ShardEntry};
use super::super::layout::{INDEX, MANIFEST, METADATA};
use super::super::options::OpenOptions;
use super::super::schema::{ColumnSpec, arrow_error};
use super::descriptor::Descriptor;
use super::index::{Index, Row, stray};
use super::maps::{Maps, Stay};
use super::record::{self, Record, Spelling};
use super::runs::Runs;
use super::site::Site;
use crate::error::{Error, Place, Result};
use crate::model::Schema;
use bounds::{out_of_range, runs, share};
use files::check_length;
use watch::Seen;

pub use files::{check_shard_length, check_sum, read_manifest, read_table};

/// An open cache.
pub struct Cache {
    /// Where it lies.
    pub site: Site,
    /// What it says.
    pub manifest: Manifest,
    /// What it is called among those that were opened together.
    pub cache_id: u64,
    /// How it is read.
    pub options: OpenOptions,
    /// What its samples are.
    pub descriptor: Descriptor,
    /// Their fields.
    pub schema: Arc<Schema>,
    index: Index,
    /// Known once somebody reads in order.
    runs: OnceLock<Runs>,
    pub(super) spelling: Spelling,
    /// The columns that are metadata, in order: their places, and their names.
    pub(super) metadata: (Vec<usize>, Arc<[Key]>),
    table: Mutex<Option<Arc<ArrowFile>>>,
    maps: Arc<Maps>,
    /// Tells its shards from those of other caches in `maps`.
    number: u64,
    /// What is known of each shard, and last of index and table.
    seen: Vec<Mutex<Seen>>,
}

impl Cache {
    /// Opens the cache at `site`, which is the one at `position` of those that are opened together.
    ///
    /// # Errors
    /// `manifest_missing` where the cache is incomplete; those of [`Manifest::parse`]; `file_missing`, `shard_length`,
    /// `index_partial_row`, `index_row_count`, `index_shard_out_of_range`, `path_escape`.
    pub fn open(
        site: Site,
        position: u64,
        maps: Arc<Maps>,
        options: &OpenOptions,
        limits: &Limits,
    ) -> Result<Self> {
        let manifest = read_manifest(&site, limits)?;
        let contents = manifest.contents();
        let descriptor =
            Descriptor::of(&contents.document, &contents.columns, &site.place(MANIFEST))?;
        for shard in &contents.shards {
            check_shard_length(&site, shard)?;
        }
        let place = site.place(INDEX);
        let file = site.open(&site.path(INDEX)?, &place)?;
        let index = Index::new(file.read_all()?, contents.samples, &place)?;
        site.len(&site.path(METADATA)?, &site.place(METADATA))?;
        let known = contents.shards.len();
        if let Some((sample, shard)) = stray(file.as_ref(), known as u64)? {
            return Err(out_of_range(known, shard, &place.record(sample)));
        }
        let columns = contents.columns.iter().enumerate();
        let columns = columns.filter(|(_, column)| descriptor.is_metadata(&column.name));
        let columns = columns.map(|(place, column)| (place, Key::from(&column.name)));
        let (places, names): (Vec<usize>, Vec<Key>) = columns.unzip();
        static CACHES: AtomicU64 = AtomicU64::new(0);
        Ok(Self {
            cache_id: manifest.cache_id(position),
            options: options.clone(),
            schema: Arc::new(descriptor.schema()),
            descriptor,
            index,
            runs: OnceLock::new(),
            spelling: Spelling::new(&contents.columns, false),
            metadata: (places, names.into()),
            table: Mutex::new(None),
            maps,
            number: CACHES.fetch_add(1, Ordering::Relaxed),
            seen: (0..=contents.shards.len()).map(|_| Mutex::default()).collect(),
            site,
            manifest,
        })
    }

    /// Number of samples.
    pub fn samples(&self) -> u64 {
        self.manifest.contents().samples
    }

    /// The metadata columns.
    pub fn columns(&self) -> &[ColumnSpec] {
        &self.manifest.contents().columns
    }

    /// True where its samples have metadata: columns of them, or a text that is not that of an empty object.
    ///
    /// # Errors
    /// Those of [`Cache::table`] and of its values.
    pub fn has_metadata(&self) -> Result<bool> {
        if self.columns().iter().any(|column| self.descriptor.is_metadata(&column.name)) {
            return Ok(true);
        }
        let name = self.descriptor.metadata_column.as_ref();
        let Some(at) = self.columns().iter().position(|column| Some(&column.name) == name) else {
            return Ok(false);
        };
        let table = self.table()?;
        for sample in 0..self.samples() {
            let cell = table
                .cell(at, sample)
                .map_err(|error| arrow_error(&error, self.site.place(METADATA).record(sample)))?;
            if !matches!(cell, Cell::Utf8("{}")) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The index.
    pub fn index(&self) -> &Index {
        &self.index
    }

    /// The runs in which samples are read in order; the whole index is gone through when they are first asked for.
    ///
    /// # Errors
    /// `index_shard_out_of_range`.
    pub fn runs(&self) -> Result<&Runs> {
        if let Some(runs) = self.runs.get() {
            return Ok(runs);
        }
        let shards = &self.manifest.contents().shards;
        let runs = runs(&self.index, shards, &self.site.place(INDEX))?;
        Ok(self.runs.get_or_init(|| runs))
    }

    /// What the manifest says about a shard.
    pub fn shard_entry(&self, number: u64) -> Option<&ShardEntry> {
        self.manifest.contents().shards.get(usize::try_from(number).ok()?)
    }

    /// What a record becomes, about, if the manifest tells the sizes of its shard truly.
    pub fn decoded_bytes(&self, row: Row) -> u64 {
        match self.shard_entry(row.shard) {
            Some(entry) if entry.algo == Algo::Lz4 => share(row.len, entry.raw_bytes, entry.bytes),
            _ => row.len,
        }
    }

    /// The table of metadata, checked against the manifest; read when it is first asked for. No shard is opened.
    ///
    /// # Errors
    /// `arrow_invalid`, `arrow_unsupported`, `arrow_columns_differ`, `arrow_row_count`, `arrow_null`, `file_missing`.
    pub fn table(&self) -> Result<Arc<ArrowFile>> {
        let mut kept = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(table) = kept.as_ref() {
            return Ok(Arc::clone(table));
        }
        let table = Arc::new(read_table(&self.site, &self.manifest)?);
        *kept = Some(Arc::clone(&table));
        Ok(table)
    }

    /// Where a sample's record lies.
    ///
    /// # Errors
    /// `unknown_sample`.
    pub fn row(&self, sample: u64) -> Result<Row> {
        self.index.row(sample).ok_or_else(|| {
            let message = format!("expected a sample below {}, found {sample}", self.samples());
            Error::new(Kind::NotFound, codes::UNKNOWN_SAMPLE, self.site.place(INDEX), message)
        })
    }

    /// A shard and its entry.
    ///
    /// # Errors
    /// `file_missing`, `shard_length`, `path_escape`; I/O faults.
    pub fn shard(&self, number: u64, stay: Stay) -> Result<(&ShardEntry, Buf)> {
        let entry = self.shard_entry(number).ok_or_else(|| {
            let message = format!("expected a shard of the manifest, found number {number}");
            let (code, place) = (codes::INDEX_SHARD_OUT_OF_RANGE, self.site.place(INDEX));
            Error::new(Kind::Corrupt, code, place, message)
        })?;
        let place = self.site.shard_place(&entry.name);
        let bytes = self.maps.get((self.number, number), stay, || {
            let bytes = self.site.read(&self.site.shard(&entry.name)?, &place)?;
            check_length(entry, bytes.len() as u64, &place)?;
            Ok(bytes)
        })?;
        Ok((entry, bytes))
    }

    /// A sample's place for messages: its shard, its number, and where its record begins.
    pub fn sample_place(&self, sample: u64, row: Row) -> Place {
        let place = match self.shard_entry(row.shard) {
            Some(entry) => self.site.shard_place(&entry.name),
            None => self.site.place(INDEX),
        };
        place.record(sample).at(row.offset)
    }

    /// A sample as its shard has it: the shard, how its payloads are stored, and where the parts of the record lie. The
    /// table is not looked at.
    ///
    /// # Errors
    /// Those of [`Cache::row`], [`Cache::shard`] and [`record::locate`].
    pub fn record(&self, sample: u64) -> Result<(Algo, Buf, Record)> {
        let row = self.row(sample)?;
        let (entry, shard) = self.shard(row.shard, Stay::Kept)?;
        let record = record::locate(&shard, row, &self.sample_place(sample, row))?;
        Ok((entry.algo, shard, record))
    }
}
