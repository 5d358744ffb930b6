//! Datasets made by hand: documents as text, shards byte by byte, without packstone's own writer.

use std::collections::BTreeSet;
use std::sync::Arc;

use packstone::format::{AuditOptions, Format, ReadContext};
use packstone::formats::sedpack::Sedpack;
use packstone::formats::sedpack::reader::SedpackDataset;
use packstone::model::{Finding, Severity};
use packstone::{Error, Limits, MemoryRoot, RelPath, Root, RootMut};
use packstone_container::digest::{Algorithm, digest_hex};
use packstone_io::BufferPool;

pub(crate) fn path(text: &str) -> RelPath {
    RelPath::new(text).unwrap()
}

/// Writes or replaces a file.
pub(crate) fn put(root: &MemoryRoot, at: &str, bytes: impl Into<Vec<u8>>) {
    root.replace(&[(path(at), bytes.into())]).unwrap();
}

pub(crate) fn sha256(bytes: &[u8]) -> String {
    digest_hex(Algorithm::Sha256, bytes)
}

/// A dataset of one split, with the shards in one list.
pub(crate) struct Made<'a> {
    pub(crate) shard_type: &'a str,
    pub(crate) compression: &'a str,
    /// `[{"name": …}, …]`
    pub(crate) attributes: &'a str,
    /// The bytes of each shard file and its examples.
    pub(crate) shards: Vec<(Vec<u8>, u64)>,
}

impl Made<'_> {
    pub(crate) fn root(&self) -> MemoryRoot {
        let root = MemoryRoot::new();
        let mut entries = Vec::new();
        for (number, (bytes, examples)) in self.shards.iter().enumerate() {
            let file = format!("train/{number}.{}", self.shard_type);
            entries.push(shard_entry(&file, &sha256(bytes), *examples));
            put(&root, &file, bytes.clone());
        }
        let examples = self.shards.iter().map(|(_, n)| n).sum();
        let list = list("train/shards_list.json", examples, &entries, &[]);
        let pointer =
            pointer("train/shards_list.json", &sha256(list.as_bytes()), examples, entries.len());
        put(&root, "train/shards_list.json", list);
        let document = document(self.shard_type, self.compression, self.attributes, &pointer);
        put(&root, "dataset_info.json", document);
        root
    }
}

/// A `dataset_info.json` whose split `train` has this pointer.
pub(crate) fn document(shard: &str, compression: &str, attributes: &str, train: &str) -> String {
    format!(
        r#"{{"metadata": {{"sedpack_version": "0.2.0"}}, "dataset_structure": {{
            "saved_data_description": {attributes}, "compression": "{compression}", "examples_per_shard": 256,
            "shard_file_type": "{shard}", "hash_checksum_algorithms": ["sha256"]}},
            "splits": {{"train": {train}}}}}"#
    )
}

pub(crate) fn shard_entry(file: &str, sum: &str, examples: u64) -> String {
    format!(
        r#"{{"file_infos": [{{"file_path": "{file}", "hash_checksums": ["{sum}"]}}], "number_of_examples": {examples}}}"#
    )
}

pub(crate) fn pointer(file: &str, sum: &str, examples: u64, shards: usize) -> String {
    format!(
        r#"{{"shard_list_info_file": {{"file_path": "{file}", "hash_checksums": ["{sum}"]}},
            "number_of_examples": {examples}, "number_of_shards": {shards}}}"#
    )
}

pub(crate) fn list(at: &str, examples: u64, shards: &[String], children: &[String]) -> String {
    format!(
        r#"{{"relative_path_self": "{at}", "number_of_examples": {examples}, "shard_files": [{}],
            "children_shard_lists": [{}]}}"#,
        shards.join(","),
        children.join(",")
    )
}

pub(crate) fn open(root: Arc<dyn Root>) -> Result<SedpackDataset, Error> {
    SedpackDataset::open(root, &Limits::default())
}

/// Everything that a check finds.
pub(crate) fn check(root: Arc<dyn Root>, options: &AuditOptions) -> Result<Vec<Finding>, Error> {
    let audit = Sedpack.audit(root, options)?;
    let mut found = audit.findings;
    let mut context = ReadContext::new(BufferPool::new(4), options.limits, false);
    audit.tasks.into_iter().for_each(|task| found.extend((task.run)(&mut context)));
    Ok(found)
}

/// The codes of a full check with their severities; an error of opening counts as one.
pub(crate) fn verdict(root: Arc<dyn Root>) -> BTreeSet<(Severity, &'static str)> {
    let found = check(root, &AuditOptions::default()).unwrap_or_else(|error| vec![error.into()]);
    found.into_iter().map(|f| (f.severity, f.code)).collect()
}

pub(crate) fn clean() -> BTreeSet<(Severity, &'static str)> {
    BTreeSet::new()
}

pub(crate) fn warning(code: &'static str) -> BTreeSet<(Severity, &'static str)> {
    BTreeSet::from([(Severity::Warning, code)])
}

pub(crate) fn error(code: &'static str) -> BTreeSet<(Severity, &'static str)> {
    BTreeSet::from([(Severity::Error, code)])
}

/// Values of all splits: examples, attributes, bytes.
pub(crate) type Rows = Vec<Vec<Vec<u8>>>;

/// Reads all splits in order, and what was noticed on the way.
pub(crate) fn read_with(
    root: Arc<dyn Root>,
    verify: bool,
    limits: Limits,
) -> Result<(Rows, Vec<Finding>), Error> {
    use packstone::format::Dataset;
    let dataset = SedpackDataset::open(root, &limits)?;
    let mut context = ReadContext::new(BufferPool::new(4), limits, verify);
    let mut rows = Vec::new();
    for name in dataset.collections() {
        let collection = dataset.collection(&name)?;
        for shard in collection.shards(0) {
            let batch = collection.read(&shard?, None, &mut context)?;
            rows.extend(
                batch.samples().map(|s| s.values().map(|v| v.bytes.to_vec()).collect::<Vec<_>>()),
            );
        }
    }
    Ok((rows, context.notes))
}

pub(crate) fn read(root: Arc<dyn Root>) -> Result<Rows, Error> {
    read_with(root, false, Limits::default()).map(|(rows, _)| rows)
}

/// An fb shard as a builder might make it that writes from the front: tables first, values aligned to 4 bytes only.
/// `None` leaves the field of an attribute away.
pub(crate) fn flat(examples: &[Vec<Option<&[u8]>>]) -> Vec<u8> {
    // Root offset, the vtable of tables with their field, the vtable of tables without.
    let mut out = vec![20, 0, 0, 0];
    out.extend([6, 0, 8, 0, 4, 0, 0, 0]);
    out.extend([4, 0, 4, 0, 0, 0, 0, 0]);
    let shard = table(&mut out);
    let slots = vector(&mut out, shard, examples.len());
    for (slot, example) in slots.into_iter().zip(examples) {
        let at = table(&mut out);
        point(&mut out, slot, at);
        let slots = vector(&mut out, at, example.len());
        for (slot, value) in slots.into_iter().zip(example) {
            match value {
                Some(value) => {
                    let at = table(&mut out);
                    point(&mut out, slot, at);
                    let start = out.len();
                    point(&mut out, at + 4, start);
                    out.extend((value.len() as u32).to_le_bytes());
                    out.extend(*value);
                    out.resize(out.len().next_multiple_of(4), 0);
                }
                None => {
                    let at = out.len();
                    point(&mut out, slot, at);
                    out.extend((at as i32 - 12).to_le_bytes());
                }
            }
        }
    }
    out
}

fn table(out: &mut Vec<u8>) -> usize {
    let at = out.len();
    out.extend((at as i32 - 4).to_le_bytes());
    out.extend([0; 4]);
    at
}

/// The slots of a vector of offsets that `table` leads to.
fn vector(out: &mut Vec<u8>, table: usize, count: usize) -> Vec<usize> {
    let start = out.len();
    point(out, table + 4, start);
    out.extend((count as u32).to_le_bytes());
    let slots = (0..count).map(|n| start + 4 + 4 * n).collect();
    out.resize(start + 4 + 4 * count, 0);
    slots
}

fn point(out: &mut [u8], slot: usize, target: usize) {
    out[slot..slot + 4].copy_from_slice(&((target - slot) as u32).to_le_bytes());
}
