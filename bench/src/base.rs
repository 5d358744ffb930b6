//! What the machine does on the same bytes without any dataset format: plain loops into reused buffers, on all cores at
//! once.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use packstone::exec::default_threads;
use packstone_container::Limits;
use packstone_container::codec::{Codec, Decoder, Encoder, Encoding};
use packstone_container::digest::sha256;
use packstone_io::{AlignedBuf, Buf};

use crate::measure::{Done, Request, median};

impl Request {
    /// Runs `work` on all items, split over the cores by turns, each with state of its own, and prints the rate.
    pub(crate) fn base<T: Sync, W: FnMut(&T)>(
        &self,
        what: &str,
        bytes: u64,
        items: &[T],
        make: impl Fn() -> W + Sync,
    ) {
        let threads = default_threads();
        let mut seconds = Vec::new();
        for _ in 0..self.runs.max(3) {
            let next = AtomicUsize::new(0);
            let start = Instant::now();
            std::thread::scope(|scope| {
                for _ in 0..threads {
                    scope.spawn(|| {
                        let mut work = make();
                        while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                            work(item);
                        }
                    });
                }
            });
            seconds.push(start.elapsed().as_secs_f64());
        }
        let done = Done { samples: items.len() as u64, bytes, seconds: None };
        self.line(what, median(&seconds), &done, &format!("{threads} cores"), &seconds, true);
    }

    /// `memcpy`: each piece copied into a reused buffer.
    pub(crate) fn memcpy(&self, pieces: &[Buf]) {
        self.base("memcpy", total(pieces), pieces, || {
            let mut target = AlignedBuf::default();
            move |bytes: &Buf| {
                target.clear();
                let _ = std::hint::black_box(target.extend_from_slice(bytes));
            }
        });
    }

    /// `sha256` of each piece.
    pub(crate) fn sha256(&self, pieces: &[Buf]) {
        self.base("sha256", total(pieces), pieces, || {
            |bytes: &Buf| {
                std::hint::black_box(sha256(bytes));
            }
        });
    }

    /// `decode`: each piece by its codec, counted as what it becomes.
    pub(crate) fn decode(&self, codec: Codec, encoded: &[Buf], plain: &[Buf]) {
        self.base("decode", total(plain), encoded, || {
            let (mut decoder, mut out) = (Decoder::new(), AlignedBuf::default());
            move |bytes: &Buf| {
                let limits = Limits::default();
                let _ = std::hint::black_box(decoder.decode(codec, bytes, &mut out, &limits));
            }
        });
    }

    /// `decodecopy`: the same, then copied once: what is left to a loader that makes batches of what it decodes. The
    /// copies take turns in four buffers a core, as batches do.
    pub(crate) fn decode_copy(&self, codec: Codec, encoded: &[Buf], plain: &[Buf]) {
        self.base("decodecopy", total(plain), encoded, || {
            let (mut decoder, mut out) = (Decoder::new(), AlignedBuf::default());
            let (mut batches, mut turn) = ([(); 4].map(|()| AlignedBuf::default()), 0usize);
            move |bytes: &Buf| {
                let limits = Limits::default();
                let _ = decoder.decode(codec, bytes, &mut out, &limits);
                turn = (turn + 1) % batches.len();
                if let Some(batch) = batches.get_mut(turn) {
                    batch.clear();
                    let _ = std::hint::black_box(batch.extend_from_slice(&out));
                }
            }
        });
    }

    /// `encode`: each piece by its codec.
    pub(crate) fn encode(&self, codec: Codec, plain: &[Buf]) {
        self.base("encode", total(plain), plain, || {
            let (mut encoder, mut out) = (Encoder::new(), AlignedBuf::default());
            move |bytes: &Buf| {
                let _ = std::hint::black_box(encoder.encode(Encoding::new(codec), bytes, &mut out));
            }
        });
    }
}

/// Bytes of all pieces.
pub(crate) fn total(pieces: &[Buf]) -> u64 {
    pieces.iter().map(|piece| piece.len() as u64).sum()
}
