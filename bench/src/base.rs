//! What the machine does on the same bytes without any dataset format: plain loops into reused buffers, on all cores at
//! once.

use std::sync::Arc;
use std::time::Instant;

use packstone::Result;
use packstone::exec::default_threads;
use packstone_container::Limits;
use packstone_container::codec::{Codec, Decoder, Encoder, Encoding};
use packstone_container::digest::sha256;
use packstone_io::{AlignedBuf, Buf, Kind, RelPath};

use crate::figures::Set;
use crate::measure::{Done, line, median};

/// Prints `memcpy`, `sha256`, for uncompressed sets `mapcopy` (each file mapped, copied once and unmapped), and for
/// compressed ones `decode` and `encode`.
pub(crate) fn measure(set: &Set, runs: usize) -> Result<()> {
    let (files, codec) = shards(set)?;
    let plain = decode_all(&files, codec)?;
    let total = |all: &[Buf]| all.iter().map(|b| b.len() as u64).sum::<u64>();
    rate(set, "memcpy", runs, total(&plain), &plain, || {
        let mut target = AlignedBuf::default();
        move |bytes: &Buf| {
            target.clear();
            let _ = target.extend_from_slice(bytes);
        }
    });
    rate(set, "sha256", runs, total(&files), &files, || {
        |bytes: &Buf| {
            std::hint::black_box(sha256(bytes));
        }
    });
    if codec == Codec::None {
        map_copy(set, runs)?;
    } else {
        rate(set, "decode", runs, total(&plain), &files, || {
            let (mut decoder, mut out) = (Decoder::new(), AlignedBuf::default());
            move |bytes: &Buf| {
                let _ = std::hint::black_box(decoder.decode(
                    codec,
                    bytes,
                    &mut out,
                    &Limits::default(),
                ));
            }
        });
        rate(set, "encode", runs, total(&plain), &plain, || {
            let (mut encoder, mut out) = (Encoder::new(), AlignedBuf::default());
            move |bytes: &Buf| {
                let _ = std::hint::black_box(encoder.encode(Encoding::new(codec), bytes, &mut out));
            }
        });
    }
    Ok(())
}

fn map_copy(set: &Set, runs: usize) -> Result<()> {
    let root = set.root()?;
    let paths = set.train()?.shards(0).map(|shard| Ok(shard?.path)).collect::<Result<Vec<_>>>()?;
    let bytes = paths.iter().filter_map(|path| root.len(path).ok()).sum();
    rate(set, "mapcopy", runs, bytes, &paths, || {
        let (root, mut target) = (Arc::clone(&root), AlignedBuf::default());
        move |path: &RelPath| {
            target.clear();
            if let Ok(file) = root.read(path) {
                let _ = target.extend_from_slice(&file);
            }
        }
    });
    Ok(())
}

fn shards(set: &Set) -> Result<(Vec<Buf>, Codec)> {
    let root = set.root()?;
    let paths = set.train()?.shards(0);
    let files = paths.map(|shard| Ok(root.read(&shard?.path)?)).collect::<Result<Vec<_>>>()?;
    let info = set.dataset.document();
    Ok((files, info.compression.codec(info.shard_type)))
}

fn decode_all(files: &[Buf], codec: Codec) -> Result<Vec<Buf>> {
    let mut decoder = Decoder::new();
    let decode = |file: &Buf| {
        let mut out = AlignedBuf::default();
        decoder.decode(codec, file, &mut out, &Limits::default()).map_err(|e| {
            packstone::Error::new(Kind::Corrupt, "bench/decode", Default::default(), e.to_string())
        })?;
        Ok(Buf::from(out))
    };
    files.iter().map(decode).collect()
}

/// Runs `work` on all items, split over the cores by turns, each with state of its own.
fn rate<T: Sync, W: FnMut(&T)>(
    set: &Set,
    what: &str,
    runs: usize,
    bytes: u64,
    items: &[T],
    make: impl Fn() -> W + Sync,
) {
    let threads = default_threads();
    let mut seconds = Vec::new();
    for _ in 0..runs.max(3) {
        let next = std::sync::atomic::AtomicUsize::new(0);
        let start = Instant::now();
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    let mut work = make();
                    loop {
                        let at = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                        match items.get(at) {
                            Some(item) => work(item),
                            None => return,
                        }
                    }
                });
            }
        });
        seconds.push(start.elapsed().as_secs_f64());
    }
    let done = Done { samples: items.len() as u64, bytes, seconds: None };
    line(set, what, median(&mut seconds.clone()), &done, &format!("{threads} cores"), &seconds);
}
