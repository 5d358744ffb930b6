//! The tasks of a whole check: a pair of shard objects, and a shard of annotations.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use packstone_container::Limits;
use packstone_container::array_record::{self, Reader, ReaderOptions};
use packstone_container::digest::sha256;
use packstone_container::riegeli::ChunkDecoder;
use packstone_io::{Buf, Kind, ReadAt};

use super::super::codes;
use super::super::options::Policy;
use super::super::reader::SdsDataset;
use super::carrier::{Annotation, check_source};
use super::catalog::SetShard;
use super::manifest::ShardEntry;
use super::notes::{Notes, within};
use super::payload;
use super::record::{Record, Row};
use super::reference::{ObjectPath, ObjectReference, Objects};
use super::shards::damaged;
use crate::error::{Error, Place, Result};
use crate::model::{Finding, Severity};

/// Records that are decoded at once.
const AT_ONCE: usize = 256;
/// Findings of one code that are told one by one.
const TOLD: usize = 100;

/// The ids of all records, for those that occur more than once.
#[derive(Default)]
pub struct Ids {
    state: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    /// Tasks that are not done yet.
    left: usize,
    /// The first bytes of the digest of an id, and the ordinals of records that have it.
    ids: Vec<([u8; 16], u64)>,
}

impl Ids {
    /// Announces how many tasks will tell ids.
    pub fn expect(&self, tasks: usize) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).left = tasks;
    }

    /// Takes the ids of one task. The last task gets what is to be told, so that it does not depend on their order.
    fn add(&self, ids: Vec<([u8; 16], u64)>) -> Vec<Finding> {
        let mut seen = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        seen.ids.extend(ids);
        seen.left = seen.left.saturating_sub(1);
        if seen.left > 0 {
            return Vec::new();
        }
        let mut ids = std::mem::take(&mut seen.ids);
        drop(seen);
        ids.sort_unstable();
        let pairs = ids.iter().zip(ids.iter().skip(1));
        let repeated = pairs.filter(|((a, _), (b, _))| a == b).map(|((_, first), (_, second))| {
            let message = format!(
                "expected an id of its own for record {second}, found that of record {first}"
            );
            Finding::new(
                Severity::Info,
                codes::DUPLICATE_ID,
                Place::default().record(*second),
                message,
            )
        });
        let mut tally = Tally::default();
        repeated.for_each(|finding| tally.add(finding));
        tally.finish()
    }
}

/// Findings, those of one code up to a number and then only counted.
#[derive(Default)]
struct Tally {
    findings: Vec<Finding>,
    counts: BTreeMap<&'static str, usize>,
}

impl Tally {
    fn add(&mut self, finding: Finding) {
        let count = self.counts.entry(finding.code).or_default();
        *count = count.saturating_add(1);
        if *count <= TOLD {
            self.findings.push(finding);
        }
    }

    fn error(&mut self, error: Error) {
        self.add(error.into());
    }

    fn notes(&mut self, notes: Notes) {
        notes.findings.into_iter().for_each(|finding| self.add(finding));
    }

    fn finish(mut self) -> Vec<Finding> {
        for (code, count) in &self.counts {
            let Some(more) = count.checked_sub(TOLD).filter(|more| *more > 0) else { continue };
            let last = self.findings.iter().rfind(|finding| finding.code == *code).cloned();
            self.findings.extend(last.map(|last| {
                let message = format!("and {more} more of this kind");
                Finding::new(last.severity, code, Place { record: None, ..last.place }, message)
            }));
        }
        self.findings
    }
}

/// A container that was checked as a whole.
struct Checked {
    reader: Reader,
    path: ObjectPath,
    /// True where some chunk is damaged, which was told.
    torn: bool,
    /// True where it has another number of records than a document says, which was told.
    miscounted: bool,
}

impl Checked {
    /// Opens an object and reads every byte of it; `None` where it is of no use.
    fn open(
        objects: &Objects,
        reference: &ObjectReference,
        limits: &Limits,
        quick: bool,
        tally: &mut Tally,
    ) -> Option<Self> {
        let file = match objects.open_whole(reference) {
            Ok(file) => file,
            Err(error) => {
                tally.error(error);
                return None;
            }
        };
        if quick {
            return None;
        }
        let path = &reference.path;
        let found = verify(&file, path, limits);
        let torn = found.iter().any(|finding| finding.severity == Severity::Error);
        let reader = Reader::open(file, &ReaderOptions::default(), *limits).ok();
        // Where its end cannot be read, that is the fault; what else looks odd then follows from it.
        let whole = reader.is_some();
        let told = |finding: &Finding| whole || finding.severity == Severity::Error;
        found.into_iter().filter(told).for_each(|finding| tally.add(finding));
        Some(Self { reader: reader?, path: path.clone(), torn, miscounted: false })
    }

    fn record(&self, index: u64, decoder: &mut ChunkDecoder) -> Result<Buf> {
        let record = self.reader.record(index, decoder);
        record.map_err(|error| damaged(error, &self.path, Some(index)))
    }

    /// Compares its count with what a document says.
    fn count(&mut self, expected: u64, tally: &mut Tally) {
        let found = self.reader.len();
        if expected != found {
            self.miscounted = true;
            let message =
                format!("expected {expected} records as its document says, found {found}");
            let place = Place::file(&self.path);
            tally.error(Error::new(Kind::Corrupt, codes::COUNT_MISMATCH, place, message));
        }
    }
}

/// Checks all hashes of a container.
fn verify(file: &Arc<dyn ReadAt>, path: &ObjectPath, limits: &Limits) -> Vec<Finding> {
    let mut findings = Vec::new();
    array_record::verify(file, *limits, &mut |found| {
        let mut place = Place::file(path);
        place.offset = found.offset();
        let message = format!("{found} ({})", found.code());
        let (severity, code) = match found.unreadable() {
            true => (Severity::Error, codes::SHARD_DAMAGED),
            false => (Severity::Warning, codes::SHARD_SLACK),
        };
        findings.push(Finding::new(severity, code, place, message));
    });
    findings
}

/// Records and their rows, in two objects.
pub struct PairCheck {
    /// The records.
    pub data: ObjectReference,
    /// The rows.
    pub metadata: ObjectReference,
    /// For each entry that names the objects: its first ordinal, its records, and which of the objects these are.
    entries: Vec<(u64, u64, Option<Vec<u64>>)>,
}

impl PairCheck {
    /// A check of these objects.
    pub fn new(data: ObjectReference, metadata: ObjectReference) -> Self {
        Self { data, metadata, entries: Vec::new() }
    }

    /// Takes an entry that names them.
    pub fn add(&mut self, entry: &ShardEntry) {
        let indices = entry.record_indices.clone();
        self.entries.push((entry.first_ordinal, entry.record_count, indices));
    }

    /// Records of the dataset in them.
    pub fn records(&self) -> u64 {
        self.entries.iter().fold(0u64, |sum, (_, count, _)| sum.saturating_add(*count))
    }

    /// Checks both.
    pub fn run(
        &self,
        objects: &Objects,
        policy: &Policy,
        limits: &Limits,
        quick: bool,
        ids: &Ids,
    ) -> Vec<Finding> {
        let mut tally = Tally::default();
        let mut data = Checked::open(objects, &self.data, limits, quick, &mut tally);
        let mut rows = Checked::open(objects, &self.metadata, limits, quick, &mut tally);
        for checked in [&mut data, &mut rows].into_iter().flatten() {
            for (_, count, indices) in &self.entries {
                if indices.is_none() {
                    checked.count(*count, &mut tally);
                }
            }
        }
        let mut seen = Vec::new();
        if !quick {
            let mut decoder = ChunkDecoder::new(*limits);
            let held = [&data, &rows].into_iter().flatten().map(|checked| checked.reader.len());
            for (index, ordinal) in self.wanted(held.max().unwrap_or(0)) {
                let pair = Pair { index, data: data.as_ref(), rows: rows.as_ref() };
                let id = pair.check(policy, &mut decoder, &mut tally);
                seen.extend(id.map(|id| (digest(&id), ordinal)));
            }
        }
        let mut findings = tally.finish();
        findings.extend(ids.add(seen));
        findings
    }

    /// The numbers of records in the objects that are asked for, each once, with the first ordinal that has it. The objects
    /// hold no more than `held`.
    fn wanted(&self, held: u64) -> BTreeMap<u64, u64> {
        let mut wanted = BTreeMap::new();
        for (first, count, indices) in &self.entries {
            let mut note = |index: u64, offset: u64| {
                wanted.entry(index).or_insert_with(|| first.saturating_add(offset));
            };
            match indices {
                None => (0..held.min(*count)).for_each(|at| note(at, at)),
                Some(indices) => indices.iter().zip(0..).for_each(|(index, at)| note(*index, at)),
            }
        }
        wanted
    }
}

fn digest(id: &str) -> [u8; 16] {
    sha256(id.as_bytes()).first_chunk().copied().unwrap_or_default()
}

/// One record and its row.
struct Pair<'a> {
    index: u64,
    data: Option<&'a Checked>,
    rows: Option<&'a Checked>,
}

impl Pair<'_> {
    /// Checks both; gives the id.
    fn check(
        &self,
        policy: &Policy,
        decoder: &mut ChunkDecoder,
        tally: &mut Tally,
    ) -> Option<String> {
        let record = self.one(self.data, decoder, tally, |bytes, notes| {
            payload::decode(bytes, &policy.records, notes)
        });
        let row =
            self.one(self.rows, decoder, tally, |bytes, notes| Row::parse(bytes, policy, notes));
        if let (Some(record), Some(row), Some(rows)) = (&record, &row, self.rows)
            && let Some((what, field)) = difference(record, row)
        {
            let message = format!("expected the {what} of the record in its row, found another");
            let mut place = Place::file(&rows.path).record(self.index);
            place.field = field;
            tally.error(Error::new(Kind::Corrupt, codes::ROW_MISMATCH, place, message));
        }
        record.map(|record| record.id).or(row.and_then(|row| row.id))
    }

    fn one<T>(
        &self,
        checked: Option<&Checked>,
        decoder: &mut ChunkDecoder,
        tally: &mut Tally,
        parse: impl FnOnce(&Buf, &mut Notes) -> Result<T>,
    ) -> Option<T> {
        let missing = |checked: &&Checked| checked.miscounted && self.index >= checked.reader.len();
        let checked = checked.filter(|checked| !missing(checked))?;
        let place = Place::file(&checked.path).record(self.index);
        let mut notes = Notes::new(place);
        let parsed =
            checked.record(self.index, decoder).and_then(|bytes| parse(&bytes, &mut notes));
        tally.notes(notes);
        match parsed {
            Ok(parsed) => Some(parsed),
            // The check of its container told that.
            Err(error) if error.code() == codes::SHARD_DAMAGED && checked.torn => None,
            Err(error) => {
                tally.error(within(error, &checked.path.to_string(), Some(self.index)));
                None
            }
        }
    }
}

/// What a row says differently from its record, and of which field.
fn difference(record: &Record, row: &Row) -> Option<(&'static str, Option<String>)> {
    let own = record.row();
    if row.id != own.id {
        return Some(("id", None));
    }
    if row.scene_id != own.scene_id {
        return Some(("scene", None));
    }
    if row.fields.len() != own.fields.len() {
        return Some(("fields", None));
    }
    for (name, expected) in &own.fields {
        let Some((_, found)) = row.fields.iter().find(|(other, _)| other == name) else {
            return Some(("fields", Some(name.clone())));
        };
        let what = if found.dtype != expected.dtype {
            "type"
        } else if found.shape != expected.shape {
            "shape"
        } else if found.axes != expected.axes {
            "axes"
        } else if found.metadata != expected.metadata {
            "metadata"
        } else {
            continue;
        };
        return Some((what, Some(name.clone())));
    }
    (row.metadata != own.metadata).then_some(("metadata", None))
}

/// A shard of annotations.
pub struct SetCheck {
    /// The shard.
    pub shard: SetShard,
    /// The dataset, for the ids of its records.
    pub dataset: Option<Arc<SdsDataset>>,
}

impl SetCheck {
    /// Checks it.
    pub fn run(
        &self,
        objects: &Objects,
        policy: &Policy,
        limits: &Limits,
        quick: bool,
    ) -> Vec<Finding> {
        let mut tally = Tally::default();
        let checked = Checked::open(objects, &self.shard.object, limits, quick, &mut tally);
        if let Some(mut checked) = checked {
            checked.count(self.shard.record_count, &mut tally);
            let mut decoder = ChunkDecoder::new(*limits);
            let count = self.shard.record_count.min(checked.reader.len());
            for first in (0..count).step_by(AT_ONCE) {
                let end = count.min(first.saturating_add(AT_ONCE as u64));
                let ordinal = |place: u64| self.shard.first_ordinal.saturating_add(place);
                let rows = self.dataset.as_ref().map(|d| d.rows(ordinal(first)..ordinal(end)));
                // Rows that cannot be read are told by the check of their own shard.
                let rows = rows.and_then(Result::ok);
                for place in first..end {
                    let at = usize::try_from(place.saturating_sub(first)).unwrap_or(usize::MAX);
                    let id = rows.as_ref().map(|rows| rows.get(at).and_then(|row| row.id.clone()));
                    one(&checked, place, ordinal(place), id, policy, &mut decoder, &mut tally);
                }
            }
        }
        tally.finish()
    }
}

/// Checks one annotation; `id` is that of its record, where the row can be read.
fn one(
    checked: &Checked,
    place: u64,
    ordinal: u64,
    id: Option<Option<String>>,
    policy: &Policy,
    decoder: &mut ChunkDecoder,
    tally: &mut Tally,
) {
    let mut notes = Notes::new(Place::file(&checked.path).record(place));
    let read = checked.record(place, decoder);
    let read = read.and_then(|bytes| Annotation::decode(&bytes, &policy.records, &mut notes));
    let read = read.and_then(|found| {
        let known = found.source_record_id.clone();
        let id = id.unwrap_or(Some(known));
        check_source(&found, ordinal, id.as_deref())
    });
    tally.notes(notes);
    match read {
        Err(error) if error.code() == codes::SHARD_DAMAGED && checked.torn => {}
        Err(error) => tally.error(within(error, &checked.path.to_string(), Some(place))),
        Ok(()) => {}
    }
}
