//! An open cache: its manifest, its index as a map, and on demand the run boundaries, its table and shards.
//!
//! Opening checks all that needs no payload, in the order of the original: manifest, length of every shard, shape of the
//! index, presence of the table, number of the shard in every row. No descriptor stays open.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use packstone_container::Limits;
use packstone_container::arrow_table::{ArrowFile, Cell};
use packstone_container::digest::{Algorithm, digest_hex};
use packstone_io::{Buf, Kind, RelPath};

use super::super::codes;
use super::super::document::{Algo, Manifest, ShardEntry};
use super::super::layout::{INDEX, MANIFEST, METADATA};
use super::super::options::OpenOptions;
use super::super::schema::{ColumnSpec, arrow_error, check_table};
use super::descriptor::Descriptor;
use super::index::{Index, Row, stray};
use super::maps::{Maps, Stay};
use super::record::{self, Record, Spelling};
use super::runs::Runs;
use super::site::Site;
use crate::error::{Error, Place, Result};
use crate::model::Schema;

/// Stored bytes of a run of records.
const RUN_BYTES: u64 = 16 << 20;
/// What a run of compressed payloads becomes, about, if the manifest tells their sizes truly.
const LZ4_RUN_BYTES: u64 = 8 << 20;
/// Stored bytes of such a run, whatever the manifest tells.
const LZ4_STORED: std::ops::RangeInclusive<u64> = 64 << 10..=4 << 20;
/// How often files that stay mapped are looked at: one that was cut must give an error, not a fault.
const LOOK_AGAIN: Duration = Duration::from_millis(10);
/// Shorter files are copies in memory.
const MAPPED_FROM: u64 = 256 << 10;

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
    table: Mutex<Option<Arc<ArrowFile>>>,
    maps: Arc<Maps>,
    /// Tells its shards from those of other caches in `maps`.
    number: u64,
    /// What is known of each shard, and last of index and table.
    seen: Vec<Mutex<Seen>>,
}

/// What is known of files that stay open.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    /// Their checksums were compared.
    compared: bool,
    /// When they were last found to be as long as they should be.
    whole: Option<Instant>,
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
        static CACHES: AtomicU64 = AtomicU64::new(0);
        Ok(Self {
            cache_id: manifest.cache_id(position),
            options: options.clone(),
            schema: Arc::new(descriptor.schema()),
            descriptor,
            index,
            runs: OnceLock::new(),
            spelling: Spelling::new(&contents.columns, false),
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

    /// Compares the recorded checksums of index, table and one shard with those of their bytes, once.
    ///
    /// # Errors
    /// `checksum_mismatch`.
    pub fn compare_checksums(&self, number: u64, shard: &[u8]) -> Result<()> {
        let contents = self.manifest.contents();
        let once = |at: usize, compare: &dyn Fn() -> Result<()>| {
            let Some(seen) = self.seen.get(at) else { return Ok(()) };
            let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
            if !seen.compared {
                compare()?;
                seen.compared = true;
            }
            Ok(())
        };
        once(contents.shards.len(), &|| {
            let table = self.table()?;
            check_sum(&contents.metadata_sha256, table.bytes(), self.site.place(METADATA))?;
            check_sum(&contents.index_sha256, self.index.bytes(), self.site.place(INDEX))
        })?;
        let Some(entry) = self.shard_entry(number) else { return Ok(()) };
        once(usize::try_from(number).unwrap_or(usize::MAX), &|| {
            check_sum(&entry.sha256, shard, self.site.shard_place(&entry.name))
        })
    }

    /// Checks that index and table, which are kept as maps, were not cut meanwhile; looks now and then. Files that were
    /// removed or replaced stay what they were.
    ///
    /// # Errors
    /// `file_changed`.
    pub fn look_at_index(&self) -> Result<()> {
        self.now_and_then(self.manifest.contents().shards.len(), || {
            let index = self.index.bytes().len() as u64;
            self.whole(&self.site.path(INDEX)?, index, || self.site.place(INDEX))?;
            let table = self.table.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let table = table.map_or(0, |table| table.bytes().len() as u64);
            self.whole(&self.site.path(METADATA)?, table, || self.site.place(METADATA))
        })
    }

    /// The same for a shard.
    ///
    /// # Errors
    /// `file_changed`.
    pub fn look_at_shard(&self, number: u64) -> Result<()> {
        let Some(entry) = self.shard_entry(number) else { return Ok(()) };
        self.now_and_then(usize::try_from(number).unwrap_or(usize::MAX), || {
            let path = self.site.shard(&entry.name)?;
            self.whole(&path, entry.bytes, || self.site.shard_place(&entry.name))
        })
    }

    fn now_and_then(&self, at: usize, look: impl FnOnce() -> Result<()>) -> Result<()> {
        let Some(seen) = self.seen.get(at) else { return Ok(()) };
        let whole = || seen.lock().unwrap_or_else(PoisonError::into_inner);
        if whole().whole.is_some_and(|then| then.elapsed() < LOOK_AGAIN) {
            return Ok(());
        }
        look()?;
        whole().whole = Some(Instant::now());
        Ok(())
    }

    fn whole(&self, path: &RelPath, len: u64, place: impl Fn() -> Place) -> Result<()> {
        if len < MAPPED_FROM {
            return Ok(());
        }
        match self.site.root.len(path) {
            Ok(found) if found < len => {
                let message = format!("expected {len} bytes as when it was opened, found {found}");
                Err(Error::new(Kind::Corrupt, codes::FILE_CHANGED, place(), message))
            }
            _ => Ok(()),
        }
    }
}

/// Reads the manifest of a cache.
///
/// # Errors
/// `manifest_missing`; those of [`Manifest::parse`].
pub fn read_manifest(site: &Site, limits: &Limits) -> Result<Manifest> {
    let place = site.place(MANIFEST);
    let bytes = site.root.read(&site.path(MANIFEST)?).map_err(|error| {
        if error.kind() != Kind::NotFound {
            return super::site::file_error(error, &place);
        }
        let message =
            format!("expected a complete cache, found {} without {MANIFEST}", site.label());
        Error::new(Kind::NotFound, codes::MANIFEST_MISSING, place.clone(), message)
    })?;
    Manifest::parse(&bytes, &place, limits)
}

/// Reads the table of a cache and checks it against its manifest.
///
/// # Errors
/// As for [`Cache::table`].
pub fn read_table(site: &Site, manifest: &Manifest) -> Result<ArrowFile> {
    let (place, contents) = (site.place(METADATA), manifest.contents());
    let bytes = site.read(&site.path(METADATA)?, &place)?;
    let table = ArrowFile::read(bytes).map_err(|error| arrow_error(&error, place.clone()))?;
    check_table(&table, &contents.columns, contents.samples, &place)?;
    Ok(table)
}

/// Checks that a shard is there and as long as its entry says.
///
/// # Errors
/// `file_missing`, `shard_length`, `path_escape`; I/O faults.
pub fn check_shard_length(site: &Site, shard: &ShardEntry) -> Result<()> {
    let place = site.shard_place(&shard.name);
    check_length(shard, site.len(&site.shard(&shard.name)?, &place)?, &place)
}

fn check_length(shard: &ShardEntry, found: u64, place: &Place) -> Result<()> {
    if found == shard.bytes {
        return Ok(());
    }
    let message = format!("expected {} bytes, as the manifest says, found {found}", shard.bytes);
    Err(Error::new(Kind::Corrupt, codes::SHARD_LENGTH, place.clone(), message))
}

/// Compares a recorded SHA-256 with that of the bytes.
///
/// # Errors
/// `checksum_mismatch`.
pub fn check_sum(expected: &str, bytes: &[u8], place: Place) -> Result<()> {
    let found = digest_hex(Algorithm::Sha256, bytes);
    if expected.eq_ignore_ascii_case(&found) {
        return Ok(());
    }
    let message = format!("expected SHA-256 {expected}, found {found}");
    Err(Error::new(Kind::Corrupt, codes::CHECKSUM_MISMATCH, place, message))
}

/// One pass over the index: shards that no row may name, and where runs begin.
fn runs(index: &Index, shards: &[ShardEntry], place: &Place) -> Result<Runs> {
    let bytes = |shard: u64| {
        let entry = shards.get(usize::try_from(shard).ok()?)?;
        if entry.algo != Algo::Lz4 {
            return Some(RUN_BYTES);
        }
        let stored = share(LZ4_RUN_BYTES, entry.bytes, entry.raw_bytes);
        Some(stored.clamp(*LZ4_STORED.start(), *LZ4_STORED.end()))
    };
    Runs::of(index.iter(), bytes)
        .map_err(|(sample, found)| out_of_range(shards.len(), found, &place.clone().record(sample)))
}

/// `bytes` times `part` of `whole`.
fn share(bytes: u64, part: u64, whole: u64) -> u64 {
    let share = u128::from(bytes) * u128::from(part) / u128::from(whole.max(1));
    u64::try_from(share).unwrap_or(u64::MAX)
}

fn out_of_range(known: usize, found: u64, place: &Place) -> Error {
    let message = format!("expected one of {known} shards, found number {found}");
    Error::new(Kind::Corrupt, codes::INDEX_SHARD_OUT_OF_RANGE, place.clone(), message)
}
