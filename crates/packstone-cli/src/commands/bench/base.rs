//! What the machine can do at all, on this dataset's own bytes.

use std::hint::black_box;
use std::sync::Arc;

use packstone::Limits;
use packstone::exec::for_each;
use packstone::format::Collection;
use packstone::ops::Scan;
use packstone_container::codec::{Codec, Decoder, Encoder, Encoding};
use packstone_container::digest::sha256;
use packstone_io::AlignedBuf;

use super::Rate;
use super::reads::median;
use crate::failure::Outcome;

/// Bytes of values that codecs are measured on.
const SAMPLE: usize = 16 << 20;
/// What the rate of the memory is called.
pub(super) const COPYING: &str = "memory copy";
/// Bytes that the memory is measured on.
const COPIED: usize = 128 << 20;

/// The codecs that are measured in any case.
const USUAL: [Codec; 3] = [Codec::Lz4Frame, Codec::Zstd, Codec::Gzip];

/// What the rate of a codec is called.
pub(super) fn decoding(codec: Codec) -> String {
    format!("{codec} decoding")
}

/// The rates of copying, hashing and decoding on one thread, and of decoding by the codec of the dataset on as many as it
/// was read with.
pub(super) fn rates(
    collection: &Arc<dyn Collection>,
    threads: &[usize],
    rounds: usize,
) -> Outcome<Vec<Rate>> {
    let plain = values(collection)?;
    // Little data is gone through several times, for clocks are coarse.
    let passes = SAMPLE.div_ceil(plain.len());
    let rate = |what: &str, work: &mut dyn FnMut() -> Outcome<()>| -> Outcome<Rate> {
        let bytes = (plain.len() * passes) as u64;
        let all = || (0..passes).try_for_each(|_| work()).map(|()| (0, bytes));
        let (samples, bytes, time) = median(rounds, all)?;
        Ok(Rate { what: what.to_owned(), threads: 1, samples, bytes, time })
    };
    let mut rates = vec![copying(rounds)?];
    rates.push(rate("sha256", &mut || {
        black_box(sha256(&plain));
        Ok(())
    })?);
    let own = collection.codec().filter(|codec| *codec != Codec::None);
    let other = own.filter(|codec| !USUAL.contains(codec));
    for codec in USUAL.into_iter().chain(other) {
        let mut packed = AlignedBuf::default();
        Encoder::new().encode(Encoding::new(codec), &plain, &mut packed).map_err(fault)?;
        for threads in threads.iter().copied().filter(|n| *n == 1 || own == Some(codec)) {
            let bytes = (plain.len() * passes * threads) as u64;
            let (samples, bytes, time) = median(rounds, || {
                for_each(&vec![(); threads], threads, |()| decode(codec, &packed, passes))?;
                Ok((0, bytes))
            })?;
            rates.push(Rate { what: decoding(codec), threads, samples, bytes, time });
        }
    }
    Ok(rates)
}

/// Decodes a stream several times.
fn decode(codec: Codec, packed: &[u8], passes: usize) -> packstone::Result<()> {
    let (mut decoder, mut out) = (Decoder::new(), AlignedBuf::default());
    for _ in 0..passes {
        decoder.decode(codec, packed, &mut out, &Limits::default()).map_err(fault)?;
        black_box(&out);
    }
    Ok(())
}

/// Copies more than the caches hold.
fn copying(rounds: usize) -> Outcome<Rate> {
    let from = vec![1u8; COPIED];
    let mut to = vec![0u8; COPIED];
    let (samples, bytes, time) = median(rounds, || {
        to.copy_from_slice(black_box(&from));
        black_box(&to);
        Ok((0, COPIED as u64))
    })?;
    Ok(Rate { what: COPYING.to_owned(), threads: 1, samples, bytes, time })
}

fn fault(error: packstone_container::codec::CodecError) -> packstone::Error {
    let place = packstone::error::Place::default();
    packstone::Error::new(packstone::Kind::Limit, "cli/bench", place, error.to_string())
}

/// The bytes of the first values, column by column.
fn values(collection: &Arc<dyn Collection>) -> Outcome<Vec<u8>> {
    let mut plain = Vec::new();
    for shard in Scan::new(Arc::clone(collection)).threads(0).shards() {
        let batch = shard?.batch;
        for column in batch.columns() {
            for row in (0..batch.rows()).filter_map(|row| column.bytes(row)) {
                let room = SAMPLE.saturating_sub(plain.len());
                plain.extend_from_slice(row.get(..room.min(row.len())).unwrap_or_default());
            }
        }
        if plain.len() >= SAMPLE {
            break;
        }
    }
    // A stream of nothing is no stream.
    if plain.is_empty() {
        plain.push(0);
    }
    Ok(plain)
}
