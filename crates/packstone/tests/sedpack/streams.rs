//! Compressed shard files as others write them: several members, junk behind, other containers, bombs.

use std::sync::Arc;

use packstone::format::AuditOptions;
use packstone::formats::sedpack::codes;
use packstone::formats::sedpack::schema::{Compression, ShardType};
use packstone::model::Severity;
use packstone::{Kind, Limits, MemoryRoot};
use packstone_container::codec::{Codec, Encoder, Encoding};
use packstone_container::digest::{Algorithm, digest_hex};
use packstone_io::AlignedBuf;

use crate::kit::{self, Made, flat};

const ATTRIBUTES: &str = r#"[{"name": "x", "dtype": "uint8", "shape": [2]}]"#;

/// Two examples, `ab` and `cd`: 104 bytes.
fn plain() -> Vec<u8> {
    flat(&[vec![Some(b"ab")], vec![Some(b"cd")]])
}

fn rows() -> kit::Rows {
    vec![vec![b"ab".to_vec()], vec![b"cd".to_vec()]]
}

fn made(compression: &str, bytes: Vec<u8>) -> MemoryRoot {
    let shards = vec![(bytes, 2)];
    Made { shard_type: "fb", compression, attributes: ATTRIBUTES, shards }.root()
}

fn encode(codec: Codec, bytes: &[u8]) -> Vec<u8> {
    let mut out = AlignedBuf::default();
    Encoder::new().encode(Encoding::new(codec), bytes, &mut out).unwrap();
    out.to_vec()
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap())
        .collect()
}

const CODECS: [(&str, Codec); 6] = [
    ("GZIP", Codec::Gzip),
    ("ZLIB", Codec::Gzip),
    ("BZ2", Codec::Bzip2),
    ("LZMA", Codec::Xz),
    ("LZ4", Codec::Lz4Frame),
    ("ZSTD", Codec::Zstd),
];

#[test]
fn members_are_joined_and_reported() {
    let plain = plain();
    let (head, tail) = plain.split_at(40);
    for (name, codec) in CODECS {
        let bytes = [encode(codec, head), encode(codec, tail)].concat();
        let root = Arc::new(made(name, bytes));
        assert_eq!(kit::read(Arc::clone(&root) as _).unwrap(), rows(), "{name}");
        assert_eq!(kit::verdict(root), kit::warning(codes::AMBIGUOUS_STREAM), "{name}");
    }
}

#[test]
fn members_made_by_pythons_own_modules_are_joined() {
    let xz = "fd377a585a000004e6d6b4460200210116000000742fe5a3e00027001b5d000a00333f2bfa82cef9f4907acec34a70b7ae571b206dbc\
        930841d00000c5467c99983fdb0700013728e5bd34851fb6f37d010000000004595afd377a585a000004e6d6b4460200210116000000742f\
        e5a3e0003f001c5d0012003000908601d8c5a2be61620a24039b98a861d7204be3c549a000002a142e360db51d5f000138404048c5411fb6\
        f37d010000000004595a";
    let bz2 = "425a6839314159265359a77c6c230000137000754044000400200031064c40cd409ea5871ed93935a50e0da82f8bb9229c284853be3611\
        80425a683931415926535956754ccb00001c5f00740004000400040004003c002000310340d0129a866a326c3954e8918c8315a200b59f17\
        724538509056754ccb";
    for (name, hex) in [("LZMA", xz), ("BZ2", bz2)] {
        let root = Arc::new(made(name, unhex(&hex.replace([' ', '\n'], ""))));
        assert_eq!(kit::read(Arc::clone(&root) as _).unwrap(), rows(), "{name}");
        assert_eq!(kit::verdict(root), kit::warning(codes::AMBIGUOUS_STREAM), "{name}");
    }
}

#[test]
fn bytes_behind_the_stream_are_a_finding_and_zeros_behind_gzip_are_not() {
    for (name, codec) in CODECS {
        let whole = encode(codec, &plain());
        let root = Arc::new(made(name, [&whole[..], b"junk"].concat()));
        assert_eq!(kit::read(Arc::clone(&root) as _).unwrap(), rows(), "{name}");
        assert_eq!(kit::verdict(root), kit::warning(codes::TRAILING_BYTES), "{name}");
        let zeros = Arc::new(made(name, [&whole[..], &[0; 512]].concat()));
        let found = kit::verdict(Arc::clone(&zeros) as _);
        if codec == Codec::Gzip {
            assert_eq!(found, kit::clean(), "{name}");
        } else {
            assert!(found.iter().all(|f| *f == (Severity::Warning, codes::TRAILING_BYTES)));
        }
        assert_eq!(kit::read(zeros).unwrap(), rows(), "{name}");
    }
}

#[test]
fn a_cut_or_mislabelled_stream_is_named_even_where_its_checksum_matches() {
    for (name, codec) in CODECS {
        let whole = encode(codec, &plain());
        let cuts = (0..whole.len()).step_by(3).map(|len| whole[..len].to_vec());
        for bytes in cuts.chain([plain(), b"not compressed at all".to_vec()]) {
            let len = bytes.len();
            let root = Arc::new(made(name, bytes));
            let error = kit::read(Arc::clone(&root) as _).unwrap_err();
            assert_eq!(
                (error.code(), error.kind()),
                (codes::DECOMPRESS_ERROR, Kind::Corrupt),
                "{name} {len}"
            );
            assert_eq!(error.place().file.as_deref(), Some("train/0.fb"));
            assert_eq!(kit::verdict(root), kit::error(codes::DECOMPRESS_ERROR), "{name} {len}");
        }
    }
}

#[test]
fn zlib_means_gzip_in_fb_and_a_real_zlib_stream_there_is_a_warning() {
    assert_eq!(Compression::Zlib.codec(ShardType::Fb), Codec::Gzip);
    assert_eq!(Compression::Zlib.codec(ShardType::Tfrec), Codec::Zlib);
    // zlib.compress of the shard.
    let bytes = unhex(
        "789c136160606063e0606001d22c6092814100cc66606002620e20568162901823943641529398c4c0e082261f82249f9cc2c0000067820309",
    );
    let root = Arc::new(made("ZLIB", bytes));
    assert_eq!(kit::read(Arc::clone(&root) as _).unwrap(), rows());
    assert_eq!(kit::verdict(root), kit::warning(codes::AMBIGUOUS_STREAM));
}

#[test]
fn the_older_lzma_container_is_read() {
    // lzma.compress(shard, format=lzma.FORMAT_ALONE)
    let bytes = unhex(
        "5d00008000ffffffffffffffff000a00333f2bfa82cef9f4907acec34a70b7ae571b206dbc1e8cb17cfa0f319a0386b86e61d85434878df4ec2f82e19bffff1cf40000",
    );
    assert_eq!(kit::read(Arc::new(made("LZMA", bytes))).unwrap(), rows());
}

fn xxh(algorithm: Algorithm, bytes: &[u8]) -> u64 {
    u64::from_str_radix(&digest_hex(algorithm, bytes), 16).unwrap()
}

/// A frame of one stored block with its checksum, and its content size where asked for.
fn zstd(data: &[u8], sized: bool) -> Vec<u8> {
    let mut out = vec![0x28, 0xb5, 0x2f, 0xfd];
    match sized {
        true => out.extend([0x24, data.len() as u8]),
        // A window of 1 KiB instead.
        false => out.extend([0x04, 0x00]),
    }
    out.extend(&((data.len() as u32) << 3 | 1).to_le_bytes()[..3]);
    out.extend(data);
    out.extend((xxh(Algorithm::Xxh64, data) as u32).to_le_bytes());
    out
}

/// A frame of one stored block with block checksum and content checksum.
fn lz4(data: &[u8]) -> Vec<u8> {
    let descriptor = [0b0111_0100, 0x40];
    let mut out = vec![0x04, 0x22, 0x4d, 0x18];
    out.extend(descriptor);
    out.push((xxh(Algorithm::Xxh32, &descriptor) >> 8) as u8);
    out.extend((data.len() as u32 | 1 << 31).to_le_bytes());
    out.extend(data);
    out.extend((xxh(Algorithm::Xxh32, data) as u32).to_le_bytes());
    out.extend([0; 4]);
    out.extend((xxh(Algorithm::Xxh32, data) as u32).to_le_bytes());
    out
}

#[test]
fn checksums_inside_frames_are_verified_and_a_size_may_be_absent() {
    let data = plain();
    for (name, frame) in [("ZSTD", zstd(&data, true)), ("LZ4", lz4(&data))] {
        let root = Arc::new(made(name, frame.clone()));
        assert_eq!(kit::read(Arc::clone(&root) as _).unwrap(), rows(), "{name}");
        assert_eq!(kit::verdict(root), kit::clean(), "{name}");
        // One bit of a value: only the frame's own checksum can tell.
        let mut flipped = frame.clone();
        let at = flipped.windows(2).position(|w| w == b"cd").unwrap();
        flipped[at] ^= 1;
        let error = kit::read(Arc::new(made(name, flipped))).unwrap_err();
        assert_eq!(error.code(), codes::DECOMPRESS_ERROR, "{name}");
    }
    let root = Arc::new(made("ZSTD", zstd(&data, false)));
    assert_eq!(kit::read(Arc::clone(&root) as _).unwrap(), rows());
    assert_eq!(kit::verdict(root), kit::warning(codes::DECOMPRESS_ERROR));
}

#[test]
fn a_bomb_ends_at_the_limit() {
    let zeros = vec![0; 4 << 20];
    let limits = Limits::default().with_decoded_bytes(64 << 10);
    let options = AuditOptions { limits, ..AuditOptions::default() };
    let fb = CODECS.map(|(name, codec)| ("fb", name, encode(codec, &zeros)));
    let tfrec = [("GZIP", Codec::Gzip), ("ZLIB", Codec::Zlib)];
    let tfrec = tfrec.map(|(name, codec)| ("tfrec", name, encode(codec, &zeros)));
    for (shard_type, compression, bytes) in fb.into_iter().chain(tfrec) {
        assert!(bytes.len() < 64 << 10, "{compression}");
        let shards = vec![(bytes, 2)];
        let root =
            Arc::new(Made { shard_type, compression, attributes: ATTRIBUTES, shards }.root());
        let error = kit::read_with(Arc::clone(&root) as _, false, limits).unwrap_err();
        assert_eq!(
            (error.code(), error.kind()),
            (codes::DECOMPRESS_ERROR, Kind::Limit),
            "{compression}"
        );
        let found = kit::check(root, &options).unwrap();
        assert_eq!(found[0].code, codes::DECOMPRESS_ERROR, "{compression}");
    }
}
