//! Several members, and what follows the last one.

use super::*;

const ONE: &[u8] = b"the first member; ";
const TWO: &[u8] = b"and the second";

fn joined(codec: Codec, between: &[u8]) -> Vec<u8> {
    [&encode(Encoding::new(codec), ONE), between, &encode(Encoding::new(codec), TWO)].concat()
}

#[test]
fn members_are_joined_and_counted() {
    for codec in [Codec::Gzip, Codec::Bzip2, Codec::Xz, Codec::Lz4Frame, Codec::Zstd] {
        let (data, stream) = decode(codec, &joined(codec, b"")).unwrap();
        assert_eq!(data, [ONE, TWO].concat(), "{codec}");
        assert_eq!((stream.members, stream.trailing.bytes), (2, 0), "{codec}");
        let declared = matches!(codec, Codec::Lz4Frame | Codec::Zstd).then_some(32);
        assert_eq!(stream.declared_size, declared, "{codec}");
    }
}

#[test]
fn a_total_is_stated_only_where_all_frames_state_their_part() {
    for codec in [Codec::Lz4Frame, Codec::Zstd] {
        let sized = encode(Encoding::new(codec), ONE);
        let without = Sample::named(&format!("{codec} without size")).bytes();
        for stream in [[&sized[..], &without].concat(), [&without[..], &sized].concat()] {
            assert_eq!(decode(codec, &stream).unwrap().1.declared_size, None, "{codec}");
        }
    }
}

#[test]
fn a_second_zlib_stream_is_trailing() {
    for codec in [Codec::Zlib, Codec::Deflate] {
        let (data, stream) = decode(codec, &joined(codec, b"")).unwrap();
        let second = encode(Encoding::new(codec), TWO).len() as u64;
        assert_eq!((&data[..], stream.members, stream.trailing.bytes), (ONE, 1, second), "{codec}");
        assert!(!stream.trailing.zeros);
    }
}

#[test]
fn zeros_between_members_are_skipped_where_the_format_allows_them() {
    for codec in [Codec::Gzip, Codec::Xz] {
        let (data, stream) = decode(codec, &joined(codec, &[0; 8])).unwrap();
        assert_eq!((data, stream.members), ([ONE, TWO].concat(), 2), "{codec}");
    }
    for codec in [Codec::Bzip2, Codec::Lz4Frame, Codec::Zstd] {
        let (data, stream) = decode(codec, &joined(codec, &[0; 8])).unwrap();
        assert_eq!((&data[..], stream.members), (ONE, 1), "{codec}");
        assert!(stream.trailing.bytes > 8 && !stream.trailing.zeros, "{codec}");
    }
}

#[test]
fn trailing_bytes_are_reported() {
    for codec in ALL.into_iter().filter(|codec| !matches!(codec, Codec::None | Codec::Snappy)) {
        for junk in [&b"junk"[..], &[0; 5], &[0, 0, 9]] {
            let stream = [&encode(Encoding::new(codec), ONE), junk].concat();
            let (data, stream) = decode(codec, &stream).unwrap();
            assert_eq!((&data[..], stream.members), (ONE, 1), "{codec} {junk:?}");
            assert_eq!(stream.trailing.bytes, junk.len() as u64, "{codec} {junk:?}");
            assert_eq!(stream.trailing.zeros, junk == [0; 5], "{codec} {junk:?}");
        }
    }
}

/// Nothing but the length marks the end of a Snappy block.
#[test]
fn snappy_takes_trailing_bytes_for_damage() {
    let whole = encode(Encoding::new(Codec::Snappy), ONE);
    for junk in [&b"junk"[..], &[0; 5]] {
        let error = decode(Codec::Snappy, &[&whole, junk].concat()).unwrap_err();
        assert!(matches!(error, CodecError::Corrupt { at: 0, .. }), "{error}");
    }
}

/// The one-go decoder of gzip must not be deceived about where the member ends.
#[test]
fn a_repeated_gzip_trailer_hides_nothing() {
    let whole = encode(Encoding::new(Codec::Gzip), ONE);
    let trailer = &whole[whole.len() - 8..];
    let length = &whole[whole.len() - 4..];
    for tail in
        [&[b"junk", trailer].concat(), &[&b"junk"[..], length].concat(), length, &length[3..]]
    {
        let (data, stream) = decode(Codec::Gzip, &[&whole, tail].concat()).unwrap();
        assert_eq!((&data[..], stream.trailing.bytes), (ONE, tail.len() as u64), "{tail:?}");
    }
    let twice = [&whole[..], &whole].concat();
    assert_eq!(decode(Codec::Gzip, &twice).unwrap().1.members, 2);
}

#[test]
fn skippable_frames_are_skipped_but_are_no_data() {
    let skippable = b"\x5a\x2a\x4d\x18\x03\0\0\0abc";
    for codec in [Codec::Lz4Frame, Codec::Zstd] {
        let frame = encode(Encoding::new(codec), ONE);
        let stream = [&skippable[..], &frame, skippable, skippable, &frame, skippable].concat();
        let (data, stream) = decode(codec, &stream).unwrap();
        assert_eq!((data, stream.members), ([ONE, ONE].concat(), 2), "{codec}");
        assert_eq!(stream.trailing.bytes, 0, "{codec}");
        assert!(matches!(decode(codec, skippable), Err(CodecError::Empty { .. })), "{codec}");
        let cut = decode(codec, &[&frame[..], &skippable[..10]].concat());
        assert!(matches!(cut, Err(CodecError::Truncated { .. })), "{codec}");
    }
}

/// Cut anywhere but between the members, two members are an error.
#[test]
fn a_cut_second_member_is_an_error() {
    for codec in [Codec::Gzip, Codec::Bzip2, Codec::Xz, Codec::Lz4Frame, Codec::Zstd] {
        let first = encode(Encoding::new(codec), ONE).len();
        let stream = joined(codec, b"");
        for len in 1..stream.len() {
            match decode(codec, &stream[..len]) {
                Ok((data, _)) => assert_eq!((len, &data[..]), (first, ONE), "{codec}"),
                Err(CodecError::Truncated { at, .. }) => {
                    assert_eq!(at, if len < first { 0 } else { first }, "{codec} {len}");
                }
                Err(error) => panic!("{codec} cut to {len}: {error}"),
            }
        }
    }
}

#[test]
fn a_damaged_second_member_is_an_error_at_its_place() {
    for codec in [Codec::Gzip, Codec::Bzip2, Codec::Xz] {
        let mut stream = joined(codec, b"");
        let first = encode(Encoding::new(codec), ONE).len();
        let middle = (first + stream.len()) / 2;
        stream[middle] ^= 0x10;
        let error = decode(codec, &stream).unwrap_err();
        assert!(error.to_string().contains(&format!("byte {first}")), "{error}");
    }
}

fn decode_one(codec: Codec, src: &[u8], most: usize) -> Result<Vec<u8>, CodecError> {
    let mut out = AlignedBuf::default();
    let limits = Limits::default().with_decoded_bytes(most as u64);
    let result = Decoder::new().decode_one(codec, src, &mut out, &limits);
    assert!(result.is_ok() || out.is_empty(), "{codec}: part of a result after an error");
    result.map(|()| out.to_vec())
}

#[test]
fn one_member_alone_is_just_that() {
    let skippable = b"\x5a\x2a\x4d\x18\x03\0\0\0abc";
    for codec in [Codec::Zstd, Codec::Brotli, Codec::Snappy] {
        let one = encode(Encoding::new(codec), ONE);
        assert_eq!(decode_one(codec, &one, ONE.len()).unwrap(), ONE, "{codec}");
        let error = decode_one(codec, &one, ONE.len() - 1).unwrap_err();
        assert!(matches!(error, CodecError::Limit { .. }), "{codec}: {error}");
        assert!(decode_one(codec, &joined(codec, b""), 1000).is_err(), "{codec}");
        for len in 0..one.len() {
            assert!(decode_one(codec, &one[..len], 1000).is_err(), "{codec} cut to {len}");
        }
        for junk in [&skippable[..], b"\0"] {
            let error = decode_one(codec, &[&one, junk].concat(), 1000).unwrap_err();
            let bytes = junk.len() as u64;
            let surplus = matches!(error, CodecError::Surplus { bytes: b, .. } if b == bytes);
            assert!(surplus || codec == Codec::Snappy, "{codec}: {error}");
        }
    }
    let led = [&skippable[..], &encode(Encoding::new(Codec::Zstd), ONE)].concat();
    assert!(matches!(decode_one(Codec::Zstd, &led, 1000), Err(CodecError::Header { .. })));
    let gzip = encode(Encoding::new(Codec::Gzip), ONE);
    assert!(matches!(decode_one(Codec::Gzip, &gzip, 1000), Err(CodecError::Unsupported { .. })));
}

/// With a limit, a frame needs neither a content size nor a window that streaming would allow.
#[test]
fn a_frame_alone_decodes_with_any_window() {
    let data = b"0123456789abcdef".repeat(1000);
    let encoding = Encoding::new(Codec::Zstd).with_window_log(31).with_unsized_frame();
    let frame = encode(encoding, &data);
    assert!(matches!(decode(Codec::Zstd, &frame), Err(CodecError::Unsupported { .. })));
    assert_eq!(decode_one(Codec::Zstd, &frame, data.len()).unwrap(), data);
    let error = decode_one(Codec::Zstd, &frame, data.len() - 1).unwrap_err();
    assert!(matches!(error, CodecError::Limit { .. }), "{error}");
}
