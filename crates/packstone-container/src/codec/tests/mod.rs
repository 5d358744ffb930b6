mod hostile;
mod joining;
mod roundtrip;
mod samples;

use packstone_io::AlignedBuf;

use super::{Codec, CodecError, Decoder, Encoder, Encoding, Stream};
use crate::Limits;
use crate::digest::{Algorithm, digest_hex};
use samples::{SAMPLES, Sample};

const ALL: [Codec; 10] = [
    Codec::None,
    Codec::Gzip,
    Codec::Zlib,
    Codec::Deflate,
    Codec::Bzip2,
    Codec::Xz,
    Codec::Lz4Frame,
    Codec::Zstd,
    Codec::Brotli,
    Codec::Snappy,
];

fn decode(codec: Codec, src: &[u8]) -> Result<(Vec<u8>, Stream), CodecError> {
    decode_within(codec, src, &Limits::default()).0
}

/// Also returns how much memory the result took.
fn decode_within(
    codec: Codec,
    src: &[u8],
    limits: &Limits,
) -> (Result<(Vec<u8>, Stream), CodecError>, usize) {
    let mut out = AlignedBuf::default();
    out.extend_from_slice(b"left over").unwrap();
    let result = Decoder::new().decode(codec, src, &mut out, limits);
    assert!(result.is_ok() || out.is_empty(), "{codec}: part of a result after an error");
    (result.map(|stream| (out.to_vec(), stream)), out.capacity())
}

fn encode(encoding: Encoding, src: &[u8]) -> Vec<u8> {
    let mut out = AlignedBuf::default();
    Encoder::new().encode(encoding, src, &mut out).unwrap();
    out.to_vec()
}

#[test]
fn streams_of_the_originals_decode() {
    for sample in SAMPLES {
        let (data, stream) = decode(sample.codec, &sample.bytes()).expect(sample.name);
        assert_eq!(data.len(), sample.len, "{}", sample.name);
        assert_eq!(digest_hex(Algorithm::Sha1, &data), sample.sha1, "{}", sample.name);
        assert_eq!((stream.members, stream.trailing.bytes), (1, 0), "{}", sample.name);
        let declared = sample.declared.then_some(sample.len as u64);
        assert_eq!(stream.declared_size, declared, "{}", sample.name);
        assert_eq!(stream.lzma_alone, sample.name == "lzma alone", "{}", sample.name);
    }
}

#[test]
fn one_decoder_serves_all_codecs_in_turn() {
    let mut decoder = Decoder::new();
    let mut out = AlignedBuf::default();
    for sample in SAMPLES.iter().chain(SAMPLES.iter().rev()) {
        decoder.decode(sample.codec, &sample.bytes(), &mut out, &Limits::default()).unwrap();
        assert_eq!(digest_hex(Algorithm::Sha1, &out), sample.sha1, "{}", sample.name);
        // A failure in between leaves nothing behind.
        let cut = &sample.bytes()[..sample.bytes().len() - 1];
        assert!(decoder.decode(sample.codec, cut, &mut out, &Limits::default()).is_err());
    }
}

/// Where the library is the same as the original's, so are the bytes; elsewhere the headers are.
#[test]
fn shards_encode_as_the_originals_do() {
    for name in ["shard bz2", "shard lzma", "shard zstd"] {
        let sample = Sample::named(name);
        let data = decode(sample.codec, &sample.bytes()).unwrap().0;
        assert_eq!(encode(Encoding::new(sample.codec), &data), sample.bytes(), "{name}");
    }
    let gzip = Sample::named("shard gzip");
    let ours = encode(Encoding::new(Codec::Gzip), &decode(Codec::Gzip, &gzip.bytes()).unwrap().0);
    assert_eq!(ours[..4], gzip.bytes()[..4]);
    assert_eq!(ours[4..8], [0; 4], "no time");
    assert_eq!(ours[8..10], gzip.bytes()[8..10]);
    assert_eq!(ours[ours.len() - 8..], gzip.bytes()[gzip.bytes().len() - 8..]);
    let lz4 = Sample::named("shard lz4");
    let ours = encode(Encoding::new(Codec::Lz4Frame), &decode(lz4.codec, &lz4.bytes()).unwrap().0);
    assert_eq!(ours[..15], lz4.bytes()[..15]);
}

#[test]
fn headers_are_those_of_the_originals() {
    let header = |encoding: Encoding, n: usize| encode(encoding, &[7; 70_000])[..n].to_vec();
    let tensorflow = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3];
    assert_eq!(header(Encoding::tensorflow_gzip(), 10), tensorflow);
    let python = |level| header(Encoding::new(Codec::Gzip).with_level(level), 10)[8..].to_vec();
    assert_eq!([9, 6, 1].map(python), [[2, 255], [0, 255], [4, 255]]);
    assert_eq!(header(Encoding::new(Codec::Zlib), 2), [0x78, 0x9c]);
    assert_eq!(header(Encoding::new(Codec::Bzip2), 4), *b"BZh9");
    assert_eq!(header(Encoding::new(Codec::Xz), 8), *b"\xfd7zXZ\0\0\x04");
    // Several blocks are linked; the C library writes the same header for 70000 bytes.
    let linked = [0x04, 0x22, 0x4d, 0x18, 0x48, 0x40, 0x70, 0x11, 1, 0, 0, 0, 0, 0];
    assert_eq!(header(Encoding::new(Codec::Lz4Frame), 14), linked);
    assert_eq!(encode(Encoding::new(Codec::Lz4Frame), b"")[4..6], [0x60, 0x40]);
}

#[test]
fn zlib_is_told_from_gzip() {
    for sample in SAMPLES {
        let zlib = super::looks_like_zlib(&sample.bytes());
        assert_eq!(zlib, sample.codec == Codec::Zlib, "{}", sample.name);
    }
    // A preset dictionary, and less than a header.
    assert!(!super::looks_like_zlib(&[0x78, 0xbb]));
    assert!(!super::looks_like_zlib(&[0x78]));
}

#[test]
fn contexts_can_move_between_threads() {
    fn send<T: Send>(_: T) {}
    send((Decoder::new(), Encoder::new()));
}
