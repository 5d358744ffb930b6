//! What was encoded decodes to the same, and levels and lengths are kept to.

use packstone_io::Kind;
use proptest::prelude::*;

use super::*;

/// Noise, runs and repetition in turn.
fn data() -> impl Strategy<Value = Vec<u8>> {
    let noise = proptest::collection::vec(any::<u8>(), 1..3000);
    let run = (any::<u8>(), 1usize..90_000).prop_map(|(byte, len)| vec![byte; len]);
    let repeated = (proptest::collection::vec(any::<u8>(), 1..200), 1usize..600)
        .prop_map(|(piece, times)| piece.repeat(times));
    proptest::collection::vec(prop_oneof![noise, run, repeated], 1..4).prop_map(|p| p.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn encoded_decodes_to_the_same(data in data()) {
        let mut encoder = Encoder::new();
        let mut decoder = Decoder::new();
        let (mut stream, mut out) = (AlignedBuf::default(), AlignedBuf::default());
        for codec in ALL {
            encoder.encode(Encoding::new(codec), &data, &mut stream).unwrap();
            let found = decoder.decode(codec, &stream, &mut out, &Limits::default()).unwrap();
            prop_assert!(out[..] == data[..], "{}", codec);
            prop_assert_eq!((found.members, found.trailing.bytes), (1, 0));
        }
    }

    #[test]
    fn any_bytes_are_handled(codec in proptest::sample::select(&ALL[..]), noise in data()) {
        let limits = Limits::default().with_decoded_bytes(1 << 20);
        let _ = decode_within(codec, &noise, &limits);
        let sample = SAMPLES.iter().find(|sample| sample.codec == codec);
        if let Some(sample) = sample {
            let bytes = sample.bytes();
            let _ = decode_within(codec, &[&bytes[..bytes.len() / 2], &noise].concat(), &limits);
        }
    }
}

#[test]
fn every_level_works_and_others_are_errors() {
    let data = b"a few words, a few words, a few words".repeat(50);
    for codec in ALL {
        let (mut encoder, mut out) = (Encoder::new(), AlignedBuf::default());
        let mut works = |level| {
            let encoding = Encoding::new(codec).with_level(level);
            match encoder.encode(encoding, &data, &mut out) {
                Ok(()) => assert_eq!(decode(codec, &out).unwrap().0, data, "{codec} {level}"),
                Err(error) => assert_eq!((error.kind(), out.len()), (Kind::Invalid, 0)),
            }
            !out.is_empty()
        };
        let good: Vec<i32> = (-2..30).filter(|&level| works(level)).collect();
        let (min, max) = match codec {
            Codec::None | Codec::Lz4Frame | Codec::Snappy => (0, 0),
            Codec::Gzip | Codec::Zlib | Codec::Deflate => (1, 12),
            Codec::Bzip2 => (1, 9),
            Codec::Xz => (0, 9),
            // From -131072 on.
            Codec::Zstd => (-2, 22),
            Codec::Brotli => (0, 11),
        };
        assert_eq!(good, (min..=max).collect::<Vec<_>>(), "{codec}");
    }
}

#[test]
fn windows_are_taken_where_a_codec_has_them() {
    let data = b"a few words, a few words, a few words".repeat(500);
    for codec in ALL {
        let windows = match codec {
            Codec::Zstd => 10..32,
            Codec::Brotli => 10..31,
            _ => 0..0,
        };
        for log in 0..40 {
            let encoding = Encoding::new(codec).with_window_log(log).with_unsized_frame();
            let (mut out, mut back) = (AlignedBuf::default(), AlignedBuf::default());
            let result = Encoder::new().encode(encoding, &data, &mut out);
            if windows.contains(&log) {
                result.unwrap();
                let limits = Limits::default().with_decoded_bytes(data.len() as u64);
                Decoder::new().decode_one(codec, &out, &mut back, &limits).unwrap();
                assert!(back[..] == data[..], "{codec} {log}");
            } else {
                assert!(matches!(result, Err(CodecError::Window { .. })), "{codec} {log}");
            }
        }
    }
}

/// One encoder, once with a window and once without: nothing of the first frame stays.
#[test]
fn settings_of_one_frame_do_not_reach_the_next() {
    let data = b"a few words, a few words, a few words".repeat(500);
    let plain = Encoding::new(Codec::Zstd);
    let expected = encode(plain, &data);
    let (mut encoder, mut out) = (Encoder::new(), AlignedBuf::default());
    for other in [plain.with_window_log(12).with_level(-5), plain.with_unsized_frame()] {
        encoder.encode(other, &data, &mut out).unwrap();
        assert_eq!(decode(Codec::Zstd, &out).unwrap().0, data);
        assert_ne!(out[..], expected[..]);
        encoder.encode(plain, &data, &mut out).unwrap();
        assert_eq!(out[..], expected[..]);
    }
}

#[test]
fn empty_data_is_a_stream_like_any_other() {
    for codec in ALL.into_iter().filter(|&codec| codec != Codec::None) {
        let stream = encode(Encoding::new(codec), b"");
        assert_eq!(decode(codec, &stream).unwrap().0, b"", "{codec}");
    }
}

#[test]
fn raw_deflate_holds_exactly_what_was_promised() {
    let data = b"0123456789".repeat(1000);
    let (mut stream, mut out) = (AlignedBuf::default(), AlignedBuf::default());
    Encoder::new().deflate_raw(&data, 6, &mut stream).unwrap();
    let limits = Limits::default();
    let mut decoder = Decoder::new();
    let mut inflate = |src: &[u8], len: u64, limits: &Limits| {
        let result = decoder.inflate_raw(src, len, &mut out, limits);
        assert!(result.is_ok() || out.is_empty());
        assert!(out.capacity() <= 256 << 10, "{} bytes taken for 10 000", out.capacity());
        result.map(|()| out.to_vec())
    };
    assert_eq!(inflate(&stream, 10_000, &limits).unwrap(), data);
    assert_eq!(inflate(&[3, 0], 0, &limits).unwrap(), b"");
    for len in [0, 9_999, 10_001, 1 << 30] {
        let error = inflate(&stream, len, &limits).unwrap_err();
        assert!(matches!(error, CodecError::Mismatch { found: 10_000, .. }), "{len}: {error}");
    }
    for cut in 1..stream.len() {
        let error = inflate(&stream[..cut], 10_000, &limits).unwrap_err();
        assert!(matches!(error, CodecError::Truncated { .. }), "{cut}: {error}");
    }
    let small = Limits::default().with_decoded_bytes(9_999);
    assert_eq!(inflate(&stream, 10_000, &small).unwrap_err().kind(), Kind::Limit);
    assert_eq!(inflate(&stream, 9_999, &small).unwrap_err().kind(), Kind::Limit);
    assert!(matches!(inflate(b"", 0, &limits), Err(CodecError::Empty { .. })));
}

/// More than one growth step, and into memory that was used before.
#[test]
fn large_streams_decode_into_reused_memory() {
    let mut state = 1u32;
    let data: Vec<u8> = (0..3_000_000)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state.to_be_bytes()[0] & 0x0f
        })
        .collect();
    let mut decoder = Decoder::new();
    let mut out = AlignedBuf::default();
    for codec in ALL {
        let stream = encode(Encoding::new(codec), &data);
        for _ in 0..2 {
            decoder.decode(codec, &stream, &mut out, &Limits::default()).unwrap();
            assert!(out[..] == data[..], "{codec}");
        }
        out = AlignedBuf::default();
    }
}
