//! Chunks with right hashes and wrong contents, and chunks at all places.

use packstone_io::{AlignedBuf, Buf, BufferPool, IoError, Kind};
use proptest::prelude::*;

use super::*;
use crate::Limits;
use crate::codec::{Codec, CodecError, Encoder, Encoding};
use crate::wire::put_varint;

/// A file whose only chunk behind the signature has this data.
fn sealed(kind: ChunkKind, data: &[u8], records: u64, decoded_size: u64) -> Buf {
    let mut chunk = EncodedChunk {
        header: ChunkHeader::of(kind, data, records, decoded_size),
        data: AlignedBuf::default(),
    };
    chunk.data.extend_from_slice(data).unwrap();
    let mut writer = ChunkWriter::new(Vec::new()).unwrap();
    assert_eq!(writer.place(&chunk).unwrap(), 64);
    Buf::from(writer.into_inner())
}

fn decode(file: &Buf, limits: Limits) -> Result<Vec<Vec<u8>>, ChunkError> {
    let mut decoder = ChunkDecoder::new(limits);
    let records = decoder.decode(Window::whole(file), 64, file.len() as u64)?;
    Ok(records.iter().map(<[u8]>::to_vec).collect())
}

fn simple(data: &[u8], records: u64, decoded: u64) -> Result<Vec<Vec<u8>>, ChunkError> {
    decode(&sealed(ChunkKind::Simple, data, records, decoded), Limits::default())
}

fn code(result: Result<Vec<Vec<u8>>, ChunkError>) -> &'static str {
    let error = result.unwrap_err();
    assert_eq!(error.chunk, 64);
    error.kind.code()
}

fn compressed(codec: Codec, bytes: &[u8]) -> Vec<u8> {
    let mut out = AlignedBuf::default();
    Encoder::new().encode(Encoding::new(codec), bytes, &mut out).unwrap();
    out.to_vec()
}

/// Data of a compressed chunk; the streams state these lengths.
fn streams(byte: u8, sizes: (u64, &[u8]), values: (u64, &[u8])) -> Vec<u8> {
    let mut first = Vec::new();
    put_varint(sizes.0, &mut first);
    first.extend_from_slice(sizes.1);
    let mut data = vec![byte];
    put_varint(first.len() as u64, &mut data);
    data.extend(first);
    put_varint(values.0, &mut data);
    data.extend_from_slice(values.1);
    data
}

#[test]
fn sizes_and_values_must_fit() {
    assert_eq!(simple(b"\0\x02\x02\x01abc", 2, 3).unwrap(), [b"ab".to_vec(), b"c".to_vec()]);
    for (data, records, decoded, expected) in [
        (&b""[..], 1, 5, "chunk_empty"),
        (b"\0", 1, 5, "record_sizes"),
        (b"\x01\x01\x05hello", 1, 5, "compression_type"),
        (b"\0\x07\x05hello", 1, 5, "record_sizes"),
        (b"\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x05hello", 1, 5, "record_sizes"),
        (b"\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02\x05hello", 1, 5, "record_sizes"),
        (b"\0\x01\x06hello", 1, 5, "record_sizes"),
        (b"\0\x01\x04hello", 1, 5, "record_sizes"),
        (b"\0\x02\x05\0hello", 1, 5, "record_sizes"),
        (b"\0\x01\x05hello", 2, 5, "record_sizes"),
        (b"\0\x02\x05\x80hello", 2, 5, "record_sizes"),
        (b"\0\0hello", 0, 5, "record_sizes"),
        (b"\0\x01\x05hellox", 1, 5, "record_values"),
        (b"\0\x01\x05hell", 1, 5, "record_values"),
        (b"\0\x0b\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01h", 2, u64::MAX - 5, "limit"),
    ] {
        assert_eq!(code(simple(data, records, decoded)), expected, "{data:?}");
    }
    assert_eq!(simple(b"\0\0", 0, 0).unwrap(), [] as [Vec<u8>; 0]);
}

#[test]
fn padded_varints_are_fine() {
    assert_eq!(simple(b"\0\x82\0\x85\0hello", 1, 5).unwrap(), [b"hello"]);
    let longest = b"\0\x0a\x85\x80\x80\x80\x80\x80\x80\x80\x80\0hello";
    assert_eq!(simple(longest, 1, 5).unwrap(), [b"hello"]);
}

#[test]
fn the_length_of_a_stream_is_not_believed() {
    for (byte, codec) in [(b'z', Codec::Zstd), (b'b', Codec::Brotli), (b's', Codec::Snappy)] {
        let (sizes, values) = (compressed(codec, b"\x05"), compressed(codec, b"hello"));
        for stated in [0, 1, 5, 1 << 50, u64::MAX] {
            let data = streams(byte, (stated, &sizes), (stated, &values));
            assert_eq!(simple(&data, 1, 5).unwrap(), [b"hello"], "{codec}");
        }
        for values in [&values[..values.len() - 1], &[&values[..], b"\0"].concat(), b""] {
            let data = streams(byte, (1, &sizes), (5, values));
            assert_eq!(code(simple(&data, 1, 5)), "compressed_stream", "{codec}");
        }
        let sizes = [&sizes[..], b"\0"].concat();
        assert_eq!(
            code(simple(&streams(byte, (1, &sizes), (5, &values)), 1, 5)),
            "compressed_stream"
        );
    }
}

#[test]
fn zstandard_streams_are_one_frame() {
    let (sizes, values) = (compressed(Codec::Zstd, b"\x05"), compressed(Codec::Zstd, b"hello"));
    let (first, second) = (compressed(Codec::Zstd, b"he"), compressed(Codec::Zstd, b"llo"));
    let skippable = b"\x50\x2a\x4d\x18\0\0\0\0";
    for values in [
        [&first[..], &second].concat(),
        [&skippable[..], &values].concat(),
        [&values[..], skippable].concat(),
    ] {
        assert_eq!(
            code(simple(&streams(b'z', (1, &sizes), (5, &values)), 1, 5)),
            "compressed_stream"
        );
    }
}

/// Streams that decode to far more than the header states stop there.
#[test]
fn bombs_take_no_memory() {
    let zeros = vec![0; 64 << 20];
    for (byte, codec) in [(b'z', Codec::Zstd), (b'b', Codec::Brotli), (b's', Codec::Snappy)] {
        let bomb = compressed(codec, &zeros);
        let size = compressed(codec, b"\x05");
        let pool = BufferPool::new(4);
        let mut decoder = ChunkDecoder::with_pool(Limits::default(), pool.clone());
        let mut attempt = |data: &[u8], records| {
            let file = sealed(ChunkKind::Simple, data, records, 5);
            let error = decoder.decode(Window::whole(&file), 64, file.len() as u64).unwrap_err();
            (error.kind.code(), decoder.scratch.capacity())
        };
        let (found, _) = attempt(&streams(byte, (1, &size), (5, &bomb)), 1);
        assert_eq!(found, "record_values", "{codec}");
        // Besides the bomb itself, its block headers taken out.
        let most = 2 * bomb.len() + (256 << 10);
        assert!(pool.take(0).unwrap().capacity() <= most, "{codec}");
        let (found, capacity) = attempt(&streams(byte, (1, &bomb), (5, &size)), 1);
        assert_eq!(found, "record_sizes", "{codec}");
        assert!(capacity <= 256 << 10, "{codec}: {capacity}");
    }
}

#[test]
fn limits_are_kept() {
    let file = sealed(ChunkKind::Simple, b"\0\x02\x02\x03hello", 2, 5);
    assert!(decode(&file, Limits::default().with_decoded_bytes(9)).is_ok());
    let error = decode(&file, Limits::default().with_decoded_bytes(4)).unwrap_err();
    assert_eq!((error.kind.code(), error.kind.kind()), ("limit", Kind::Limit));
    let limits = Limits { entries: 1, ..Limits::default() };
    assert_eq!(code(decode(&file, limits)), "limit");
    // A decoded size of no file, in front of nothing.
    let file = sealed(ChunkKind::Simple, b"\0\x01\x05", 1, u64::MAX);
    assert_eq!(code(decode(&file, Limits::default())), "limit");
}

#[test]
fn kinds_without_records_have_none() {
    for kind in
        [ChunkKind::Padding, ChunkKind::Metadata, ChunkKind::Signature, ChunkKind::Other(b'?')]
    {
        let file = sealed(kind, b"\0\x01\x05hello", 0, 0);
        assert_eq!(decode(&file, Limits::default()).unwrap(), [] as [Vec<u8>; 0]);
        let file = sealed(kind, b"\0\x01\x05hello", 1, 5);
        assert_eq!(code(decode(&file, Limits::default())), "chunk_type");
    }
}

#[test]
fn block_headers_belong_to_their_chunk() {
    // 150000 bytes cross two blocks.
    let mut encoder = ChunkEncoder::new(Compression::None);
    let mut chunk = EncodedChunk::default();
    encoder.encode(&[&[7; 150_000]], &mut chunk).unwrap();
    let mut writer = ChunkWriter::new(Vec::new()).unwrap();
    writer.place(&chunk).unwrap();
    let file = writer.into_inner();
    let end = file.len() as u64;
    let check = |file: Vec<u8>| decode(&Buf::from(file), Limits::default());
    assert_eq!(check(file.clone()).unwrap(), [vec![7; 150_000]]);
    for block in [BLOCK, 2 * BLOCK] {
        for (header, expected) in [
            (block::header(block, 64, end), None),
            (block::header(block, 65, end), Some("block_header_link")),
            (block::header(block, 64, end + 1), Some("block_header_link")),
            ([0; 24], Some("block_header_hash")),
        ] {
            let mut file = file.clone();
            file[usize::try_from(block).unwrap()..][..24].copy_from_slice(&header);
            match expected {
                Some(expected) => assert_eq!(code(check(file)), expected),
                None => assert!(check(file).is_ok()),
            }
        }
    }
}

#[test]
fn chunks_stay_in_their_place() {
    let file = sealed(ChunkKind::Simple, b"\0\x01\x05hello", 1, 5);
    let mut decoder = ChunkDecoder::new(Limits::default());
    let end = file.len() as u64;
    let mut at = |begin, limit| {
        decoder.decode(Window::whole(&file), begin, limit).map_err(|error| error.kind.code())
    };
    assert_eq!(at(64, end).unwrap().len(), 1);
    for limit in [0, 64, 100, end - 1] {
        assert_eq!(at(64, limit).unwrap_err(), "chunk_outside", "{limit}");
    }
    assert_eq!(at(10, end).unwrap_err(), "chunk_begin");
    for begin in [100, end - 1, end, end + 1000, u64::MAX - 3] {
        assert!(["chunk_outside", "chunk_header_hash"].contains(&at(begin, u64::MAX).unwrap_err()));
    }
    // Every cut, whatever end is promised.
    for len in 0..file.len() {
        let cut = file.slice(..len).unwrap();
        let error = decoder.decode(Window::whole(&cut), 64, end).unwrap_err();
        assert_eq!(error.kind.code(), "chunk_outside", "{len}");
    }
    // A header with a data size of no file.
    let header =
        ChunkHeader { data_size: u64::MAX - 39, ..ChunkHeader::of(ChunkKind::Simple, b"", 1, 0) };
    let mut file = sealed(ChunkKind::Simple, b"", 0, 0).to_vec();
    file[64..].copy_from_slice(&header.encode());
    assert_eq!(code(decode(&Buf::from(file), Limits::default())), "chunk_outside");
}

/// 70000 empty records make a chunk that is mostly zeros, with a block header among them.
#[test]
fn chunks_are_at_least_as_long_as_they_have_records() {
    for compression in [Compression::None, Compression::default()] {
        let mut chunk = EncodedChunk::default();
        ChunkEncoder::new(compression).encode(&vec![&b""[..]; 70_000], &mut chunk).unwrap();
        let mut writer = ChunkWriter::new(Vec::new()).unwrap();
        writer.place(&chunk).unwrap();
        let at = writer.position();
        writer.place(&chunk).unwrap();
        let file = Buf::from(writer.into_inner());
        let placed = Placed::find(Window::whole(&file), 64, file.len() as u64).unwrap();
        assert_eq!(placed.end, at);
        if compression != Compression::None {
            assert_eq!(at, 64 + 70_000);
            assert!(placed.extent().end < 300);
        }
        placed.check_tail(Window::whole(&file)).unwrap();
        assert_eq!(decode(&file, Limits::default()).unwrap().len(), 70_000);
        let mut damaged = file.to_vec();
        damaged[69_999] = 1;
        let damaged = Buf::from(damaged);
        let tail = placed.check_tail(Window::whole(&damaged));
        assert_eq!(tail.is_err(), compression != Compression::None);
    }
}

/// Whatever is left of a block, padding ends at one.
#[test]
fn padding_ends_at_a_block() {
    for left in (0..200).chain(65_300..65_512) {
        let begin = 2 * BLOCK - left;
        if !can_begin(begin) {
            continue;
        }
        let mut writer = ChunkWriter::resume(Vec::new(), begin);
        writer.pad_to_block().unwrap();
        let end = writer.position();
        assert_eq!(end, if left == 0 || left >= 40 { 2 * BLOCK } else { 3 * BLOCK }, "{left}");
        let bytes = Buf::from(writer.into_inner());
        assert_eq!(bytes.len() as u64, end - begin);
        if left > 0 {
            let window = Window { bytes: &bytes, start: begin };
            let placed = Placed::find(window, begin, end).unwrap();
            assert_eq!((placed.end, placed.header.kind), (end, ChunkKind::Padding), "{left}");
            let data = placed.data(window, &BufferPool::new(0)).unwrap();
            assert!(data.bytes().iter().all(|byte| *byte == 0));
        }
    }
}

fn compressions() -> impl Strategy<Value = Compression> {
    prop_oneof![
        Just(Compression::None),
        Just(Compression::Snappy),
        (0i32..=11, proptest::option::of(10u32..=30))
            .prop_map(|(level, window_log)| Compression::Brotli { level, window_log }),
        (-7i32..=19, proptest::option::of(10u32..=22))
            .prop_map(|(level, window_log)| Compression::Zstd { level, window_log }),
    ]
}

fn groups() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let record = prop_oneof![
        8 => proptest::collection::vec(any::<u8>(), 0..60),
        2 => (any::<u8>(), 0usize..9000).prop_map(|(byte, len)| vec![byte; len]),
        1 => (any::<u8>(), 60_000usize..140_000).prop_map(|(byte, len)| vec![byte; len]),
    ];
    proptest::collection::vec(record, 0..12)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn chunks_come_back_from_any_place(
        compression in compressions(),
        groups in proptest::collection::vec(groups(), 1..4),
        begin in (0u64..3 * BLOCK).prop_filter("legal", |at| can_begin(*at)),
    ) {
        let mut encoder = ChunkEncoder::new(compression);
        let mut writer = ChunkWriter::resume(Vec::new(), begin);
        let mut chunk = EncodedChunk::default();
        let mut begins = Vec::new();
        for group in &groups {
            let records: Vec<&[u8]> = group.iter().map(|record| &record[..]).collect();
            encoder.encode(&records, &mut chunk).unwrap();
            begins.push(writer.place(&chunk).unwrap());
        }
        let end = writer.position();
        let bytes = Buf::from(writer.into_inner());
        prop_assert_eq!(bytes.len() as u64, end - begin);
        let window = Window { bytes: &bytes, start: begin };
        let mut decoder = ChunkDecoder::new(Limits::default());
        let ends = begins.iter().copied().skip(1).chain([end]);
        for ((begin, end), group) in begins.iter().zip(ends).zip(&groups) {
            prop_assert!(can_begin(*begin));
            let placed = Placed::find(window, *begin, end).unwrap();
            prop_assert_eq!(placed.end, end);
            placed.check_tail(window).unwrap();
            let records = decoder.decode(window, *begin, end).unwrap();
            prop_assert_eq!(records.len(), group.len());
            prop_assert!(records.iter().eq(group.iter().map(|record| &record[..])));
        }
    }

    /// Data of any content under right hashes.
    #[test]
    fn sealed_noise_is_handled(
        kind in prop_oneof![Just(ChunkKind::Simple), Just(ChunkKind::Transposed)],
        byte in prop_oneof![Just(0u8), Just(b'z'), Just(b'b'), Just(b's')],
        noise in proptest::collection::vec(any::<u8>(), 0..80),
        records in 0u64..6,
        decoded in 0u64..200,
    ) {
        let file = sealed(kind, &[&[byte][..], &noise].concat(), records, decoded);
        if let Ok(found) = decode(&file, Limits::default()) {
            prop_assert_eq!(found.len() as u64, records);
            prop_assert_eq!(found.concat().len() as u64, decoded);
        }
    }
}

#[test]
fn memory_that_cannot_be_had_is_no_damage() {
    for (kind, expected) in [(Kind::Io, "io"), (Kind::Limit, "limit")] {
        let error = IoError::new(kind, "allocate", "memory", "none is left");
        let source = Box::new(CodecError::Memory(error));
        assert_eq!(ChunkErrorKind::Stream { stream: "records", source }.code(), expected);
    }
}
