//! Damaged and exchanged shards of golden datasets: an error in its place that names file and sample, everything before
//! it whole, and nothing of them delivered.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use packstone::format::{Collection, ShardRef};
use packstone::loader::OnFault;
use packstone::{Error, Kind, LocalRoot, RootMut};
use packstone_testkit::copy_folder;
use tempfile::TempDir;

use crate::golden::cases;
use crate::kit::{Row, as_signals_of, listed, loader, mixed, options, rows, stored};

/// A copy of a golden dataset that may be damaged.
struct Copy {
    path: PathBuf,
    _folder: TempDir,
}

impl Copy {
    fn of(data: &Path) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(data.file_name().unwrap());
        if data.is_dir() {
            copy_folder(data, &path);
        } else {
            std::fs::copy(data, &path).unwrap();
        }
        Self { path, _folder: folder }
    }

    fn golden(format: &str, name: &str) -> Self {
        Self::of(&cases(format).into_iter().find(|(case, _)| case == name).unwrap().1)
    }

    fn open(&self, collection: &str) -> Result<Arc<dyn Collection>, Error> {
        packstone::open(&self.path)?.collection(collection)
    }

    /// The file of a shard.
    fn file(&self, shard: &ShardRef) -> PathBuf {
        if self.path.is_dir() { self.path.join(shard.path.as_str()) } else { self.path.clone() }
    }

    /// Collections with their rows, as far as they can be read as a whole.
    fn readable(&self) -> Vec<(String, Vec<Row>)> {
        let Ok(dataset) = packstone::open(&self.path) else { return Vec::new() };
        let rows = |name: String| {
            let rows = stored(&dataset.collection(&name).ok()?).ok()?;
            Some((name, rows))
        };
        dataset.collections().into_iter().filter_map(rows).collect()
    }
}

fn shards(collection: &Arc<dyn Collection>) -> Vec<ShardRef> {
    collection.shards(0).map(Result::unwrap).collect()
}

fn range(shard: &ShardRef) -> Range<u64> {
    shard.first..shard.first + shard.rows
}

/// What must be found.
struct Fault<'f> {
    code: &'f str,
    /// The samples that cannot be had, and the files of each that are damaged.
    samples: BTreeMap<u64, Vec<String>>,
}

impl<'f> Fault<'f> {
    fn of<'s>(code: &'f str, shards: impl IntoIterator<Item = &'s ShardRef>) -> Self {
        let all = shards.into_iter();
        let each = |shard: &ShardRef| {
            let path = shard.path.to_string();
            range(shard).map(move |index| (index, vec![path.clone()])).collect::<Vec<_>>()
        };
        Self { code, samples: all.flat_map(each).collect() }
    }
}

/// Loads a damaged collection in several orders: nothing of the faulty samples comes, and all others as they were.
fn must_be_found(name: &str, damaged: &Copy, collection: &str, good: &[Row], fault: &Fault<'_>) {
    let len = good.len() as u64;
    let orders = [(0..len).collect(), mixed(len, 1), [mixed(len, 2), mixed(len, 3)].concat()];
    let row = |index: &u64| &good[usize::try_from(*index).unwrap()];
    for (at, order) in orders.iter().enumerate() {
        for threads in [0, 1, 2, 4] {
            // What is verified is remembered by some readers, so each run opens anew.
            let opened = damaged.open(collection).unwrap();
            let batch = 1 + (len + at as u64) % 4;
            let size = usize::try_from(batch).unwrap();
            let first = order.iter().position(|index| fault.samples.contains_key(index)).unwrap();
            let mut raising = loader(&opened, &listed(order.clone()), batch, options(threads));
            for before in order.chunks(size).take(first / size) {
                let delivery = raising.next().unwrap().unwrap();
                assert!(rows(&delivery).iter().eq(before.iter().map(row)), "{name}");
            }
            for _ in 0..2 {
                let error = raising.next().unwrap().unwrap_err();
                assert_eq!((error.code(), error.kind()), (fault.code, Kind::Corrupt), "{name}");
                let file = error.place().file.as_deref().unwrap();
                let named = |index: &u64| error.message().contains(&format!("sample {index} of"));
                let within = &order[first..order.len().min((first / size + 1) * size)];
                let faulty: Vec<_> =
                    within.iter().filter(|i| fault.samples.contains_key(i)).collect();
                assert!(
                    faulty
                        .first()
                        .is_some_and(|i| named(i) && fault.samples[i].iter().any(|of| of == file))
                );
                assert_eq!(raising.next_position(), (first / size * size) as u64, "{name}");
            }

            let opened = damaged.open(collection).unwrap();
            let skip = options(threads).with_faults(OnFault::Skip);
            let mut skipping = loader(&opened, &listed(order.clone()), batch, skip);
            for wanted in order.chunks(size) {
                let delivery = skipping.next().unwrap().unwrap();
                let there: Vec<Row> =
                    rows(&delivery).into_iter().filter(|row| row.index.is_some()).collect();
                let good = wanted.iter().filter(|index| !fault.samples.contains_key(index));
                assert!(there.iter().eq(good.map(row)), "{name}, order {at}, {threads} threads");
            }
            assert!(skipping.next().is_none());
            let left = order.iter().filter(|index| fault.samples.contains_key(index)).count();
            assert_eq!((skipping.skipped(), skipping.take_notes().len()), (left as u64, left));
        }
    }
}

fn flip(file: &Path, at: usize) {
    let mut bytes = std::fs::read(file).unwrap();
    bytes[at] ^= 0x55;
    std::fs::write(file, bytes).unwrap();
}

/// Formats that record a checksum of each shard, with what they call it.
const HASHED: [(&str, &str); 2] =
    [("sedpack", "sedpack/hash_mismatch"), ("datasetrt", "datasetrt/checksum_mismatch")];

#[test]
fn a_flipped_byte_harms_its_shard_and_no_other() {
    for (format, code) in HASHED {
        let mut seen = 0;
        for (name, data) in cases(format) {
            // It records no checksums.
            if name == "fb_no_hash" {
                continue;
            }
            let copy = Copy::of(&data);
            for (collection, good) in copy.readable() {
                let shards = shards(&copy.open(&collection).unwrap());
                let shard = &shards[shards.len() / 2];
                if shards.len() < 2 || shard.rows == 0 || good.len() > 200 {
                    continue;
                }
                let file = copy.file(shard);
                let bytes = std::fs::read(&file).unwrap();
                flip(&file, bytes.len() / 2);
                must_be_found(&name, &copy, &collection, &good, &Fault::of(code, [shard]));
                std::fs::write(&file, bytes).unwrap();
                seen += 1;
            }
        }
        assert!(seen >= 5, "{format}: {seen}");
    }
}

/// Rows at hand are gathered from many shards at once: one that cannot be had takes no others with it.
#[test]
fn a_shard_that_is_gone_harms_its_samples_alone() {
    let mut seen = 0;
    for (name, data) in cases("datasetrt") {
        let copy = Copy::of(&data);
        for (collection, good) in copy.readable() {
            let all = shards(&copy.open(&collection).unwrap());
            let gone = all[all.len() / 2].path.clone();
            if all.iter().all(|shard| shard.path == gone) || good.len() > 500 {
                continue;
            }
            let lost: BTreeSet<u64> =
                all.iter().filter(|shard| shard.path == gone).flat_map(range).collect();
            let order = [mixed(good.len() as u64, 1), (0..good.len() as u64).collect()].concat();
            for threads in [0, 2] {
                let opened = copy.open(&collection).unwrap();
                let file = copy.path.join(gone.to_string());
                let bytes = std::fs::read(&file).unwrap();
                std::fs::remove_file(&file).unwrap();
                let options = options(threads).with_faults(OnFault::Skip).with_verify(false);
                let mut loading = loader(&opened, &listed(order.clone()), 7, options);
                let found: Vec<Row> = loading.by_ref().flat_map(|d| rows(&d.unwrap())).collect();
                let found = found.into_iter().filter(|row| row.index.is_some());
                let kept = order.iter().filter(|index| !lost.contains(index));
                let row = |index: &u64| good[usize::try_from(*index).unwrap()].clone();
                assert!(found.eq(kept.map(row)), "{name}, {threads} threads");
                assert_eq!(loading.skipped(), 2 * lost.len() as u64, "{name}");
                std::fs::write(&file, bytes).unwrap();
            }
            seen += 1;
        }
    }
    assert!(seen >= 3, "{seen}");
}

#[test]
fn exchanged_shards_of_one_size_are_found_and_never_delivered() {
    for (format, code) in HASHED {
        let mut seen = 0;
        for (name, data) in cases(format) {
            let copy = Copy::of(&data);
            for (collection, good) in copy.readable() {
                let shards = shards(&copy.open(&collection).unwrap());
                let bytes: Vec<_> =
                    shards.iter().map(|s| std::fs::read(copy.file(s)).unwrap()).collect();
                let pairs = (0..bytes.len()).flat_map(|a| (0..a).map(move |b| (a, b)));
                let mut alike = pairs.filter(|(a, b)| {
                    let (one, other) = (&bytes[*a], &bytes[*b]);
                    one.len() == other.len() && one != other && shards[*a].rows == shards[*b].rows
                });
                let Some((a, b)) = alike.next().filter(|_| good.len() <= 1500) else { continue };
                std::fs::write(copy.file(&shards[a]), &bytes[b]).unwrap();
                std::fs::write(copy.file(&shards[b]), &bytes[a]).unwrap();
                let fault = Fault::of(code, [&shards[a], &shards[b]]);
                must_be_found(&name, &copy, &collection, &good, &fault);
                seen += 1;
                break;
            }
        }
        assert!(seen >= 3, "{format}: {seen}");
    }
}

#[test]
fn a_damaged_chunk_of_records_harms_its_records() {
    for (name, at, code, samples) in [
        ("tiny_none_g1", 200, "arrayrecord/chunk_header_hash", 3..4),
        ("zstd_neg5_g7", 200, "arrayrecord/chunk_data_hash", 0..7),
        ("tr_proto_zstd_g10", 200, "arrayrecord/chunk_data_hash", 0..10),
        ("edges_none", 98_304, "arrayrecord/chunk_data_hash", 2..3),
        ("edges_none", 131_072, "arrayrecord/block_header_hash", 3..4),
        ("large_zstd", 131_072, "arrayrecord/block_header_hash", 0..1),
    ] {
        let copy = Copy::golden("arrayrecord", name);
        let (collection, good) = copy.readable().swap_remove(0);
        flip(&copy.path, at);
        let file = format!("{name}.arrayrecord");
        let samples = samples.map(|index| (index, vec![file.clone()])).collect();
        must_be_found(name, &copy, &collection, &good, &Fault { code, samples });
    }
}

/// A signal dataset records no checksum of a shard, but one of every chunk in it, which is a record.
#[test]
fn a_damaged_record_of_a_signal_dataset_is_found_alone() {
    let folder = tempfile::tempdir().unwrap();
    let root: Arc<dyn RootMut> = Arc::new(LocalRoot::open(folder.path()).unwrap());
    let golden = Copy::golden("sedpack", "fb_zstd");
    as_signals_of(&golden.path, &root, 2);
    let copy = Copy { path: folder.path().to_owned(), _folder: folder };
    let (collection, good) = copy.readable().swap_remove(0);
    let shards = shards(&copy.open(&collection).unwrap());
    flip(&copy.file(&shards[1]), 200);
    let samples = BTreeMap::from([(shards[1].first, vec![shards[1].path.to_string()])]);
    let fault = Fault { code: "sds/shard_damaged", samples };
    must_be_found("sds", &copy, &collection, &good, &fault);
}

/// What a signal dataset does record of a shard is its size.
#[test]
fn a_shard_of_a_signal_dataset_that_grew_is_found_by_its_size() {
    let folder = tempfile::tempdir().unwrap();
    let root: Arc<dyn RootMut> = Arc::new(LocalRoot::open(folder.path()).unwrap());
    let golden = Copy::golden("sedpack", "fb_zstd");
    as_signals_of(&golden.path, &root, 2);
    let copy = Copy { path: folder.path().to_owned(), _folder: folder };
    let (collection, good) = copy.readable().swap_remove(0);
    let shards = shards(&copy.open(&collection).unwrap());
    let mut bytes = std::fs::read(copy.file(&shards[1])).unwrap();
    bytes.push(0);
    std::fs::write(copy.file(&shards[1]), bytes).unwrap();
    must_be_found("sds", &copy, &collection, &good, &Fault::of("sds/size_mismatch", [&shards[1]]));
}

/// Where the bytes of each entry of an archive lie, from its local headers.
fn entries(bytes: &[u8]) -> Vec<(String, Range<usize>)> {
    let number = |at: usize, len: usize| {
        bytes[at..at + len].iter().rev().fold(0, |n, byte| n << 8 | usize::from(*byte))
    };
    let is_header = |at: &usize| bytes[*at..].starts_with(b"PK\x03\x04");
    let heads = (0..bytes.len() - 30).filter(is_header);
    let entry = |at: usize| {
        let (name, extra) = (number(at + 26, 2), number(at + 28, 2));
        let start = at + 30 + name + extra;
        let mut size = number(at + 18, 4);
        // Where the number is larger than that, an extra field has it, behind the size of what is decoded.
        let mut field = at + 30 + name;
        while field < start && size == 0xffff_ffff {
            let (id, len) = (number(field, 2), number(field + 2, 2));
            size = if id == 1 { number(field + 12, 8) } else { size };
            field += 4 + len;
        }
        let name = String::from_utf8_lossy(&bytes[at + 30..at + 30 + name]).into_owned();
        (name, start..start + size)
    };
    heads.map(entry).collect()
}

#[test]
fn damaged_and_exchanged_leaves_of_an_archive_are_found() {
    let mut seen = BTreeSet::new();
    for name in ["tdz_stored", "tdz_deflate", "tdz_lzma", "tdz_bzip2"] {
        let copy = Copy::golden("tensordict", name);
        let (collection, good) = copy.readable().swap_remove(0);
        let bytes = std::fs::read(&copy.path).unwrap();
        let leaf = |(entry, range): &(String, Range<usize>)| {
            entry.ends_with(".memmap") && !range.is_empty()
        };
        let leaves: Vec<_> = entries(&bytes).into_iter().filter(leaf).collect();
        // Every sample has a part in every leaf.
        let whole = |leaves: &[&(String, Range<usize>)]| {
            let leaves: Vec<String> = leaves.iter().map(|(entry, _)| entry.clone()).collect();
            let samples = (0..good.len() as u64).map(|index| (index, leaves.clone()));
            Fault { code: "tensordict/crc_mismatch", samples: samples.collect() }
        };
        let codes = |copy: &Copy, collection: &str| -> BTreeSet<String> {
            let opened = copy.open(collection).unwrap();
            let errors = loader(&opened, &listed([0]), 1, options(0)).map(Result::unwrap_err);
            errors.take(1).map(|error| error.code().to_owned()).collect()
        };
        let (_, range) = &leaves[0];
        flip(&copy.path, range.start + range.len() / 2);
        seen.extend(codes(&copy, &collection));
        if name == "tdz_stored" {
            must_be_found(name, &copy, &collection, &good, &whole(&[&leaves[0]]));
            // Two leaves of one size, each in the other's place.
            let pairs = leaves.iter().flat_map(|a| leaves.iter().map(move |b| (a, b)));
            let of = |leaf: &(String, Range<usize>)| bytes[leaf.1.clone()].to_vec();
            let mut alike = pairs.filter(|(a, b)| a.1.len() == b.1.len() && of(a) != of(b));
            let (a, b) = alike.next().unwrap();
            let mut swapped = bytes.clone();
            swapped[a.1.clone()].copy_from_slice(&of(b));
            swapped[b.1.clone()].copy_from_slice(&of(a));
            std::fs::write(&copy.path, swapped).unwrap();
            must_be_found(name, &copy, &collection, &good, &whole(&[a, b]));
        }
    }
    assert!(seen.contains("tensordict/crc_mismatch"), "{seen:?}");
    assert!(seen.iter().all(|code| code.starts_with("tensordict/")), "{seen:?}");
}

/// A folder of tensors records no checksums: a leaf that is too short is refused before anything is read.
#[test]
fn a_leaf_that_is_too_short_is_refused_by_name() {
    let copy = Copy::golden("tensordict", "basic");
    let (collection, _) = copy.readable().swap_remove(0);
    let leaf = copy.path.join("obs.memmap");
    let bytes = std::fs::read(&leaf).unwrap();
    std::fs::write(&leaf, &bytes[..bytes.len() - 1]).unwrap();
    let error = match copy.open(&collection) {
        Err(error) => error,
        Ok(opened) => {
            let mut all = loader(&opened, &listed(0..opened.len()), 1, options(2));
            all.next().unwrap().unwrap_err()
        }
    };
    assert_eq!(error.kind(), Kind::Corrupt, "{error}");
    assert_eq!(error.place().file.as_deref(), Some("obs.memmap"), "{error}");
}
