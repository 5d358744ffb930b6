//! Cut, flipped and lying streams.

use packstone_io::Kind;

use super::samples::unhex;
use super::*;

const MIB: usize = 1 << 20;

#[test]
fn nothing_is_an_error_for_every_codec() {
    for codec in ALL {
        assert!(matches!(decode(codec, b""), Err(CodecError::Empty { .. })), "{codec}");
    }
}

#[test]
fn every_cut_is_an_error() {
    for sample in SAMPLES {
        let bytes = sample.bytes();
        for len in 1..bytes.len() {
            match decode(sample.codec, &bytes[..len]) {
                Err(CodecError::Truncated { at: 0, len: found, .. }) => assert_eq!(found, len),
                Err(error) => panic!("{} cut to {len}: {error}", sample.name),
                Ok(_) => panic!("{} cut to {len} decodes", sample.name),
            }
        }
    }
}

#[test]
fn no_flipped_bit_goes_unnoticed_under_a_checksum() {
    for sample in SAMPLES {
        let mut bytes = sample.bytes();
        for at in 0..bytes.len() {
            for bit in 0..8 {
                bytes[at] ^= 1 << bit;
                if let Ok((data, _)) = decode(sample.codec, &bytes) {
                    // Some header bits mean nothing; others give the same data in another way.
                    let same = digest_hex(Algorithm::Sha1, &data) == sample.sha1;
                    assert!(same || !sample.sealed, "{} byte {at} bit {bit}", sample.name);
                }
                bytes[at] ^= 1 << bit;
            }
        }
    }
}

#[test]
fn foreign_bytes_are_named() {
    for codec in [Codec::Gzip, Codec::Zlib, Codec::Bzip2, Codec::Xz, Codec::Lz4Frame, Codec::Zstd] {
        let error = decode(codec, b"\x93NUMPY\x01\0 some array").unwrap_err();
        assert_eq!(error.kind(), Kind::Corrupt);
        let found = "header at byte 0, found 93 4e 55 4d 50 59";
        assert!(error.to_string().ends_with(found), "{error}");
    }
    let lzip = decode(Codec::Xz, b"LZIP\x01\x0c and more than a header").unwrap_err();
    assert!(matches!(lzip, CodecError::Header { .. }), "{lzip}");
}

#[test]
fn bombs_stop_at_the_limit() {
    let zeros = vec![0; 16 * MIB];
    let limits = Limits::default().with_decoded_bytes(MIB as u64);
    for codec in ALL {
        let bomb = encode(Encoding::new(codec), &zeros);
        let (result, memory) = decode_within(codec, &bomb, &limits);
        let error = result.unwrap_err();
        assert!(matches!(error, CodecError::Limit { limit: 0x10_0000, .. }), "{codec}: {error}");
        assert_eq!(error.kind(), Kind::Limit);
        assert!(memory <= 4 * MIB, "{codec}: {memory} bytes taken");
    }
}

/// The limit holds for streams that state no size, and for all members together.
#[test]
fn samples_stop_one_byte_below_their_length() {
    let within = |codec, stream: &[u8], limit: usize| {
        let limits = Limits::default().with_decoded_bytes(limit as u64);
        let (result, memory) = decode_within(codec, stream, &limits);
        assert!(memory <= 2 * limit + (512 << 10), "{codec}: {memory} bytes taken");
        result
    };
    for &Sample { name, codec, len, .. } in SAMPLES {
        let stream = Sample::named(name).bytes();
        let error = within(codec, &stream, len - 1).unwrap_err();
        assert!(matches!(error, CodecError::Limit { .. }), "{name}: {error}");
        let single = [Codec::Zlib, Codec::Deflate, Codec::Brotli, Codec::Snappy];
        if !single.contains(&codec) && name != "lzma alone" {
            let many = stream.repeat(12);
            assert_eq!(within(codec, &many, 12 * len).unwrap().1.members, 12, "{name}");
            let error = within(codec, &many, 12 * len - 1).unwrap_err();
            assert!(matches!(error, CodecError::Limit { .. }), "{name}: {error}");
        }
    }
}

#[test]
fn the_limit_itself_is_allowed() {
    for codec in ALL {
        for len in [1, 1000, 65_536, 200_001] {
            let stream = encode(Encoding::new(codec), &vec![5; len]);
            let within = |limit: usize| {
                let limits = Limits::default().with_decoded_bytes(limit as u64);
                decode_within(codec, &stream, &limits).0
            };
            assert_eq!(within(len).unwrap().0.len(), len, "{codec} {len}");
            let error = within(len - 1).unwrap_err();
            assert!(matches!(error, CodecError::Limit { .. }), "{codec} {len}: {error}");
        }
    }
}

/// Headers that state more than the stream can hold get neither memory nor success.
#[test]
fn stated_sizes_are_not_believed() {
    let check = |codec, stream: &[u8], wanted: &str| {
        let (result, memory) = decode_within(codec, stream, &Limits::default());
        let error = result.unwrap_err();
        assert!(error.to_string().contains(wanted), "{codec}: {error}");
        assert!(memory <= 16 * MIB, "{codec}: {memory} bytes taken");
    };
    // One empty last block, content size 1 GiB, then 2⁶³.
    check(Codec::Zstd, &unhex("28b52ffda000000040 010000"), "cannot hold the 1073741824");
    check(Codec::Zstd, &unhex("28b52ffde00000000000000080 010000"), "more than the limit");
    // A run of 16 bytes that should be 32.
    check(Codec::Zstd, &unhex("28b52ffd2020 83000041"), "damaged zstd member");
    let lz4 = |size: u64| {
        let mut descriptor = vec![0x68, 0x40];
        descriptor.extend_from_slice(&size.to_le_bytes());
        let check = twox_hash::XxHash32::oneshot(0, &descriptor).to_le_bytes()[1];
        [&[0x04, 0x22, 0x4d, 0x18][..], &descriptor, &[check], b"\x02\0\0\x80ab", &[0; 4]].concat()
    };
    assert_eq!(decode(Codec::Lz4Frame, &lz4(2)).unwrap().0, b"ab");
    check(Codec::Lz4Frame, &lz4(1), "expected content size 0x1, found 0x2");
    check(Codec::Lz4Frame, &lz4(1 << 30), "expected content size 0x40000000, found 0x2");
    check(Codec::Lz4Frame, &lz4(u64::MAX), "more than the limit");
    let mut gzip = encode(Encoding::new(Codec::Gzip), b"some data");
    let end = gzip.len();
    gzip[end - 4..].copy_from_slice(&[0xff; 4]);
    check(Codec::Gzip, &gzip, "expected length 0xffffffff, found 0x9");
    // A dictionary of 4 GiB, for eleven bytes.
    let mut alone = Sample::named("lzma alone").bytes();
    alone[1..5].copy_from_slice(&[0xff; 4]);
    let limits = Limits::default().with_decoded_bytes(1000);
    let refused = decode_within(Codec::Xz, &alone, &limits).0.unwrap_err();
    assert_eq!(refused.kind(), Kind::Limit);
}

#[test]
fn lz4_blocks_keep_to_their_rules() {
    let frame = |flg: u8, bd: u8, tail: &[u8]| {
        let check = twox_hash::XxHash32::oneshot(0, &[flg, bd]).to_le_bytes()[1];
        decode(Codec::Lz4Frame, &[&[0x04, 0x22, 0x4d, 0x18, flg, bd, check], tail].concat())
    };
    let reason = |result: Result<_, CodecError>| {
        result.map(|_: (Vec<u8>, Stream)| ()).unwrap_err().to_string()
    };
    assert_eq!(frame(0x60, 0x40, &[0; 4]).unwrap().0, b"");
    for (flg, bd) in
        [(0x20, 0x40), (0xa0, 0x40), (0x62, 0x40), (0x60, 0x30), (0x60, 0xc0), (0x60, 0x41)]
    {
        assert!(reason(frame(flg, bd, &[0; 4])).contains("unknown descriptor"), "{flg:x} {bd:x}");
    }
    let larger = [&0x8001_0001u32.to_le_bytes()[..], &[0; 70_000]].concat();
    assert!(reason(frame(0x60, 0x40, &larger)).contains("found 65537"));
    // 16 literals, then a match of 65536 bytes: more than the largest block.
    let mut block = [&[0xff, 1][..], &[7; 16], &[1, 0]].concat();
    block.extend_from_slice(&[0xff; 256]);
    block.extend_from_slice(&[237, 0x10, 7]);
    let size = u32::try_from(block.len()).unwrap().to_le_bytes();
    let found = reason(frame(0x60, 0x40, &[&size[..], &block, &[0; 4]].concat()));
    assert!(found.contains("the block at byte 11"), "{found}");
    // An offset before the start of an independent frame, and a match in an independent second block.
    let early = [&[6, 0, 0, 0][..], &[0x10, 7, 2, 0, 0x10, 7], &[0; 4]].concat();
    assert!(reason(frame(0x60, 0x40, &early)).contains("the block at byte 11"));
    let back =
        [&[4, 0, 0, 0x80, 1, 2, 3, 4][..], &[5, 0, 0, 0, 0, 4, 0, 0x10, 9], &[0; 4]].concat();
    assert_eq!(frame(0x40, 0x40, &back).unwrap().0, [1, 2, 3, 4, 1, 2, 3, 4, 9]);
    assert!(reason(frame(0x60, 0x40, &back)).contains("the block at byte 19"));
    // A linked block reaches back within its own frame only.
    let first = encode(Encoding::new(Codec::Lz4Frame), b"data");
    let check = twox_hash::XxHash32::oneshot(0, &[0x40, 0x40]).to_le_bytes()[1];
    let second = |offset: u8| {
        let header = [0x04, 0x22, 0x4d, 0x18, 0x40, 0x40, check];
        let blocks = [1, 0, 0, 0x80, b'x', 5, 0, 0, 0, 0, offset, 0, 0x10, b'y', 0, 0, 0, 0];
        decode(Codec::Lz4Frame, &[&first[..], &header, &blocks].concat())
    };
    assert_eq!(second(1).unwrap().0, b"dataxxxxxy");
    assert!(matches!(second(2), Err(CodecError::Corrupt { .. })));
}

#[test]
fn dictionaries_are_said_to_be_unsupported() {
    let flg = [0x61, 0x40, 1, 0, 0, 0];
    let check = twox_hash::XxHash32::oneshot(0, &flg).to_le_bytes()[1];
    let lz4 = [&[0x04, 0x22, 0x4d, 0x18][..], &flg, &[check], &[0; 4]].concat();
    let zstd = unhex("28b52ffd21 07 01 010000 00");
    for (codec, stream) in [(Codec::Lz4Frame, lz4), (Codec::Zstd, zstd)] {
        let error = decode(codec, &stream).unwrap_err();
        assert_eq!(error.kind(), Kind::Unsupported, "{error}");
    }
}
