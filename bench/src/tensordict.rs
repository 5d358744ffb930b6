//! TensorDict: opening saves, taking rows out of them, packing and unpacking archives.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use packstone::format::{Collection, ReadContext};
use packstone::formats::tensordict::options::{SaveOptions, TreeOptions};
use packstone::formats::tensordict::parts::files::Files;
use packstone::formats::tensordict::parts::unpack::unpack;
use packstone::formats::tensordict::parts::{pack, save, transfer};
use packstone::formats::tensordict::reader::{TensorDictDataset, open_store};
use packstone::ops::{Scan, gather};
use packstone::{Limits, LocalRoot, RelPath, Result, RootMut, site};
use packstone_container::digest::crc32;
use packstone_io::{AlignedBuf, Buf};

use crate::measure::{Done, Request, indices};

const BATCH: usize = 256;
/// Random gathers in one run.
const GATHERS: u64 = 64;
const MODES: &[usize] = &[0, 1, 2, 3];

/// Measures the base rates and all figures.
pub(crate) fn measure(request: &Request) -> Result<()> {
    base(request)?;
    request.figure("open", &[0], |_| open(request))?;
    request.figure("read", &[0], |_| read(request))?;
    request.figure("gather", &[0], |_| gathers(request))?;
    request.figure("batches", MODES, |threads| batches(request, threads))?;
    request.figure("views", &[0], |_| views(request))?;
    request.figure("write", &[0, 2], |threads| write(request, threads))?;
    request.figure("pack", &[0, 2], |threads| packing(request, threads))?;
    request.figure("unpack", &[0, 2], |threads| unpacking(request, threads))
}

/// `memcpy` of batches of 256 rows, `rowcopy` of the rows of random gathers, `crc32` of all leaves.
fn base(request: &Request) -> Result<()> {
    let tree = tree(&request.path)?;
    let leaves = tree.entries().iter().map(|leaf| leaf.open()).collect::<Result<Vec<Buf>>>()?;
    if request.wants("pack") || request.wants("unpack") {
        request.base("crc32", crate::base::total(&leaves), &leaves, || {
            |bytes: &Buf| {
                std::hint::black_box(crc32(bytes));
            }
        });
    }
    if !request.wants("batches") && !request.wants("gather") && !request.wants_load() {
        return Ok(());
    }
    let samples = data(&request.path)?.len();
    let rows = usize::try_from(samples).unwrap_or(usize::MAX);
    let widths: Vec<usize> = leaves.iter().map(|leaf| leaf.len() / rows).collect();
    let piece = |leaf: &Buf, width: usize, first: usize| {
        let start = first * width;
        leaf.slice(start..(start + BATCH * width).min(leaf.len())).unwrap_or_default()
    };
    let firsts = (0..rows).step_by(BATCH);
    let each =
        |first| leaves.iter().zip(&widths).map(move |(leaf, width)| piece(leaf, *width, first));
    request.memcpy(&firsts.flat_map(each).collect::<Vec<Buf>>());
    let row = |index| usize::try_from(index).unwrap_or(usize::MAX);
    let steps: Vec<Vec<usize>> = (0..GATHERS)
        .map(|n| indices(n, samples, BATCH as u64).into_iter().map(row).collect())
        .collect();
    let bytes = GATHERS * (BATCH * widths.iter().sum::<usize>()) as u64;
    request.base("rowcopy", bytes, &steps, || {
        let mut target = AlignedBuf::default();
        let (leaves, widths) = (&leaves, &widths);
        move |rows: &Vec<usize>| {
            target.clear();
            for (leaf, width) in leaves.iter().zip(widths) {
                for row in rows {
                    let start = row * width;
                    let row = leaf.get(start..start + width).unwrap_or_default();
                    let _ = target.extend_from_slice(row);
                }
            }
        }
    });
    Ok(())
}

fn tree(path: &Path) -> Result<TensorDictDataset> {
    TensorDictDataset::open(site::root(path)?, &TreeOptions::default())
}

/// The rows of a save that is opened anew, as the original's runs do it.
fn data(path: &Path) -> Result<Arc<dyn Collection>> {
    let dataset = packstone::open(path)?;
    let name = dataset.collections().into_iter().next().unwrap_or_default();
    dataset.collection(&name)
}

/// Opening: every leaf is there to be used afterwards.
fn open(request: &Request) -> Result<Done> {
    let start = Instant::now();
    let data = data(&request.path)?;
    // Giving it up again is not measured.
    Ok(Done { samples: data.schema().fields.len() as u64, ..Done::default() }.since(start))
}

/// Opening, and copying every leaf out.
fn read(request: &Request) -> Result<Done> {
    let start = Instant::now();
    let tree = tree(&request.path)?;
    let leaves = tree.entries();
    let copies = leaves.iter().map(|leaf| Ok(leaf.open()?.to_vec())).collect::<Result<Vec<_>>>()?;
    let bytes = copies.iter().map(|copy| copy.len() as u64).sum();
    Ok(Done { samples: copies.len() as u64, bytes, seconds: None }.since(start))
}

/// Rows from all over the save, copied into dense arrays.
fn gathers(request: &Request) -> Result<Done> {
    let data = data(&request.path)?;
    let steps: Vec<Vec<u64>> = (0..GATHERS).map(|n| indices(n, data.len(), BATCH as u64)).collect();
    let mut context = ReadContext::default();
    let mut done = Done::default();
    let start = Instant::now();
    for rows in &steps {
        let batch = gather(data.as_ref(), rows, None, &mut context)?;
        done.samples += batch.rows() as u64;
        done.bytes += batch.value_bytes();
    }
    Ok(done.since(start))
}

/// All rows in order, copied into dense arrays.
fn batches(request: &Request, threads: usize) -> Result<Done> {
    let data = data(&request.path)?;
    let mut done = Done::default();
    let start = Instant::now();
    for batch in Scan::new(data).threads(threads).batches(BATCH)? {
        let batch = batch?;
        done.samples += batch.rows() as u64;
        done.bytes += batch.value_bytes();
    }
    Ok(done.since(start))
}

/// All rows in order, as windows on the save.
fn views(request: &Request) -> Result<Done> {
    let data = data(&request.path)?;
    let mut done = Done::default();
    let start = Instant::now();
    for shard in Scan::new(data).threads(0).shards() {
        let batch = shard?.batch;
        for first in (0..batch.rows()).step_by(BATCH) {
            let view = batch.slice(first..(first + BATCH).min(batch.rows()))?;
            done.samples += view.rows() as u64;
            done.bytes += view.value_bytes();
        }
    }
    Ok(done.since(start))
}

/// Saving again what lies mapped, as what it is.
fn write(request: &Request, threads: usize) -> Result<Done> {
    let temp = request.scratch()?;
    let tree = tree(&request.path)?;
    let start = Instant::now();
    let options = SaveOptions::default().with_threads(threads);
    let files = Files::of(&tree.tree().root, &options)?;
    let root = new_root(temp.path())?;
    let saved = match request.stored.as_str() {
        "tdz" => pack::write(&root, &name("new.tdz"), files, &options, None)?,
        _ => save::write(&root, &name("new"), files, &options, None)?,
    };
    Ok(Done { samples: 1, bytes: saved.bytes, seconds: None }.since(start))
}

/// Making an archive of a folder, uncompressed.
fn packing(request: &Request, threads: usize) -> Result<Done> {
    let temp = request.scratch()?;
    let start = Instant::now();
    let options = SaveOptions::default().with_threads(threads);
    let store = open_store(site::root(&request.path)?, &Limits::default())?.store();
    let (root, files) = (new_root(temp.path())?, transfer::all(&store)?);
    let saved = pack::write(&root, &name("new.tdz"), files, &options, None)?;
    Ok(Done { samples: 1, bytes: saved.bytes, seconds: None }.since(start))
}

/// Making a folder of an archive.
fn unpacking(request: &Request, threads: usize) -> Result<Done> {
    let temp = request.scratch()?;
    let start = Instant::now();
    let options = SaveOptions::default().with_threads(threads);
    let (source, root) = (site::root(&request.path)?, new_root(temp.path())?);
    let saved = unpack(source, &root, &name("new"), &Limits::default(), &options, None)?;
    Ok(Done { samples: 1, bytes: saved.bytes, seconds: None }.since(start))
}

fn new_root(folder: &Path) -> Result<Arc<dyn RootMut>> {
    Ok(Arc::new(LocalRoot::open(folder)?))
}

fn name(name: &str) -> RelPath {
    RelPath::new(name).unwrap_or_default()
}
