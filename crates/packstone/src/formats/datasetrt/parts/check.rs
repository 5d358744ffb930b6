//! The check of one shard: its checksum, then every record of it as a reader would read it, then what no record covers.
//!
//! A shard that is not what was hashed is reported as that, and its content is not judged any further.

use std::sync::Arc;

use packstone_container::arrow_table::{ArrowFile, Cell};
use packstone_container::json::{Number, Value};
use packstone_io::Buf;

use super::super::codes;
use super::super::document::{Algo, Manifest, ShardEntry};
use super::super::schema::ValueKind;
use super::cache::check_sum;
use super::float;
use super::index::{Index, Row};
use super::payloads::decode_payload;
use super::record::{self, Spelling};
use super::site::Site;
use crate::error::{Error, Place, Result};
use crate::format::ReadContext;
use crate::model::{Finding, Severity};

/// Findings of one kind that a shard gets at most; the last one then says how many more there are.
const MOST: usize = 50;

/// A cache as far as it could be read.
pub struct Whole {
    /// Where it lies.
    pub site: Site,
    /// What it says.
    pub manifest: Manifest,
    /// Its index.
    pub index: Index,
    /// Its table, where that is sound.
    pub table: Option<Arc<ArrowFile>>,
    /// How records are spelled.
    pub spelling: Spelling,
    /// Whether the manifest names the right columns, so that copies can be judged by it.
    pub judged: bool,
    /// Whether every row of the index names a shard, so that what no row names is unused.
    pub known: bool,
}

/// What the records of a shard have in sum.
#[derive(Default)]
struct Sums {
    raw_bytes: u64,
    /// Floats that the original reads as others, and the first sample with one.
    lossy: u64,
    first_lossy: Option<u64>,
    /// Records that could not be read.
    broken: u64,
}

impl Whole {
    /// Checks the shard of this number, whose records are these samples.
    pub fn check_shard(
        &self,
        number: u64,
        samples: &[std::ops::Range<u64>],
        context: &mut ReadContext,
    ) -> Vec<Finding> {
        let Some(entry) =
            usize::try_from(number).ok().and_then(|at| self.manifest.contents().shards.get(at))
        else {
            return Vec::new();
        };
        let place = self.site.shard_place(&entry.name);
        let read = || -> Result<Buf> {
            let bytes = self.site.read(&self.site.shard(&entry.name)?, &place)?;
            check_sum(&entry.sha256, &bytes, place.clone())?;
            Ok(bytes)
        };
        let bytes = match read() {
            Ok(bytes) => bytes,
            Err(error) => return vec![Finding::from(error)],
        };
        let mut found = Found::default();
        let mut sums = Sums::default();
        let mut extents = Vec::new();
        for sample in samples.iter().cloned().flatten() {
            let Some(row) = self.index.row(sample) else { continue };
            match self.check_record(&bytes, entry, sample, row, &mut sums, context) {
                Ok(()) => extents.push((row.offset, row.end().unwrap_or(u64::MAX))),
                Err(error) => {
                    sums.broken += 1;
                    found.error(error);
                }
            }
        }
        let mut findings = found.finish();
        if sums.broken == 0 && self.known {
            findings.extend(remarks(entry, &place, &sums, extents, bytes.len() as u64));
        }
        findings
    }

    fn check_record(
        &self,
        shard: &[u8],
        entry: &ShardEntry,
        sample: u64,
        row: Row,
        sums: &mut Sums,
        context: &mut ReadContext,
    ) -> Result<()> {
        let place = || self.site.shard_place(&entry.name).record(sample).at(row.offset);
        let record = record::locate(shard, row, &place())?;
        let copy = shard.get(record.metadata).unwrap_or_default();
        if self.judged {
            self.check_copy(copy, sample, place, sums, context)?;
        }
        let stored = shard.get(record.payload).unwrap_or_default();
        let raw = match entry.algo {
            Algo::None => stored.len(),
            Algo::Lz4 => {
                let mut out = context.pool.take(0)?;
                decode_payload(stored, &mut out, &context.limits)
                    .map_err(|error| error.at(place()))?;
                out.len()
            }
        };
        sums.raw_bytes = sums.raw_bytes.saturating_add(raw as u64);
        Ok(())
    }

    fn check_copy(
        &self,
        copy: &[u8],
        sample: u64,
        place: impl Fn() -> Place,
        sums: &mut Sums,
        context: &ReadContext,
    ) -> Result<()> {
        let columns = &self.manifest.contents().columns;
        let cells: Option<Vec<Cell<'_>>> = self.table.as_ref().and_then(|table| {
            (0..columns.len()).map(|column| table.cell(column, sample).ok()).collect()
        });
        if let Some(cells) = &cells {
            let mut expected = String::new();
            self.spelling.spell(cells.iter().copied(), &mut expected);
            if expected.as_bytes() == copy {
                let lossy = cells.iter().filter(|cell| match cell {
                    Cell::Float64(x) => x.is_finite() && misread(&float::shortest(*x), *x),
                    _ => false,
                });
                sums.lossy(lossy.count(), sample);
                return Ok(());
            }
        }
        let place = place();
        let object = record::parse(copy, columns, &place, &context.limits)?;
        if let Some(cells) = cells {
            record::compare(&object, columns, cells.into_iter(), &place)?;
        }
        let floats = columns.iter().filter(|column| column.kind == ValueKind::Float);
        let lossy = floats.filter(|column| {
            let number = object.get(&column.name).and_then(Value::as_number);
            number.is_some_and(|number| misread(number.text(), Number::to_f64(number)))
        });
        sums.lossy(lossy.count(), sample);
        Ok(())
    }
}

/// Whether the original reads another double.
fn misread(text: &str, x: f64) -> bool {
    float::peer_reads(text) != Some(x)
}

impl Sums {
    fn lossy(&mut self, count: usize, sample: u64) {
        if count > 0 {
            self.lossy += count as u64;
            self.first_lossy.get_or_insert(sample);
        }
    }
}

/// Errors as findings; of many of one kind the first are kept and the others counted.
#[derive(Default)]
pub struct Found {
    kept: Vec<Finding>,
    counts: std::collections::BTreeMap<&'static str, usize>,
}

impl Found {
    /// Takes an error.
    pub fn error(&mut self, error: Error) {
        let count = self.counts.entry(error.code()).or_default();
        *count += 1;
        if *count <= MOST {
            self.kept.push(error.into());
        }
    }

    /// The findings.
    pub fn finish(mut self) -> Vec<Finding> {
        for (code, count) in self.counts {
            if count > MOST
                && let Some(last) = self.kept.iter_mut().rfind(|finding| finding.code == code)
            {
                last.message += &format!("; found {} more like it", count - MOST);
            }
        }
        self.kept
    }
}

/// What is worth knowing of a shard whose records are all sound.
fn remarks(
    entry: &ShardEntry,
    place: &Place,
    sums: &Sums,
    mut extents: Vec<(u64, u64)>,
    len: u64,
) -> Vec<Finding> {
    let mut out = Vec::new();
    let mut note = |code, place: Place, message: String| {
        out.push(Finding::new(Severity::Info, code, place, message));
    };
    if sums.raw_bytes != entry.raw_bytes {
        let message = format!(
            "expected uncompressed_byte_len {} as its payloads add up, found {}",
            sums.raw_bytes, entry.raw_bytes
        );
        note(codes::RAW_LENGTH_DIFFERS, place.clone(), message);
    }
    extents.sort_unstable();
    let (mut covered, mut unused, mut first_unused, mut overlap) = (0u64, 0u64, None, None);
    for (start, end) in extents {
        if start > covered {
            unused += start - covered;
            first_unused.get_or_insert(covered);
        } else if start < covered {
            overlap.get_or_insert(start);
        }
        covered = covered.max(end);
    }
    if covered < len {
        unused += len - covered;
        first_unused.get_or_insert(covered);
    }
    if let Some(start) = overlap {
        let message = "expected records that lie apart, found two that share bytes";
        note(codes::RECORDS_OVERLAP, place.clone().at(start), message.to_owned());
    }
    if let Some(start) = first_unused {
        let message = format!("expected records in all bytes, found {unused} bytes without");
        note(codes::UNUSED_BYTES, place.clone().at(start), message);
    }
    if let Some(first) = sums.first_lossy {
        let message = format!(
            "expected floats that the original reads exactly, found {} that it reads as another \
             double and then refuses under validate_cache",
            sums.lossy
        );
        note(codes::LOSSY_FLOAT, place.clone().record(first), message);
    }
    out
}
