//! Footers that other writers might write, footers that none should, and round trips.

use std::sync::Arc;

use packstone_io::{Buf, BufferPool, ReadAt};
use proptest::prelude::*;

use super::messages::{Metadata, Postscript, put_entry};
use super::*;
use crate::Limits;
use crate::riegeli::{ChunkEncoder, ChunkWriter, Compression, EncodedChunk};
use crate::wire::{put_bytes, put_varint_field};

const HELLO: [&[u8]; 4] = [b"hello", b"", b"Array", b"Record"];

/// A file of two chunks with two records each and a footer of these records; offsets and footer are given to `footer`.
fn file(footer: impl FnOnce([u64; 2], u64) -> Vec<Vec<u8>>) -> Vec<u8> {
    let mut encoder = ChunkEncoder::new(Compression::None);
    let mut writer = ChunkWriter::new(Vec::new()).unwrap();
    let mut chunk = EncodedChunk::default();
    let mut place = |records: &[&[u8]]| {
        encoder.encode(records, &mut chunk).unwrap();
        writer.place(&chunk).unwrap()
    };
    let offsets = [place(&HELLO[..2]), place(&HELLO[2..])];
    let at = writer.position();
    let rows = footer(offsets, at);
    let rows: Vec<&[u8]> = rows.iter().map(|row| &row[..]).collect();
    encoder.encode(&rows, &mut chunk).unwrap();
    assert_eq!(writer.place(&chunk).unwrap(), at);
    finish(writer, at)
}

/// Padding and postscript behind a footer at byte `at`.
fn finish(mut writer: ChunkWriter<Vec<u8>>, at: u64) -> Vec<u8> {
    writer.pad_to_block().unwrap();
    let postscript = Postscript::encode(at);
    let mut chunk = EncodedChunk::default();
    ChunkEncoder::new(Compression::None).encode(&[&*postscript; 3], &mut chunk).unwrap();
    writer.place(&chunk).unwrap();
    writer.pad_to_block().unwrap();
    writer.into_inner()
}

fn metadata(chunks: u64, records: u64, options: Option<&str>) -> Vec<u8> {
    let writer_options = options.map(str::to_owned);
    Metadata { version: 1, chunks, records, writer_options, note: None }.encode()
}

fn entry(offset: u64, decoded_size: u64, records: u64) -> Vec<u8> {
    let mut out = Vec::new();
    put_entry(&Entry { offset, decoded_size, records }, &mut out);
    out
}

fn open(bytes: Vec<u8>) -> Result<Reader, ArrayRecordError> {
    Reader::over(Buf::from(bytes), &ReaderOptions::default(), Limits::default())
}

fn read(bytes: Vec<u8>) -> Result<Vec<Buf>, ArrayRecordError> {
    let reader = open(bytes)?;
    reader.records(0..reader.len(), &mut reader.decoder())?.collect()
}

#[test]
fn unknown_fields_and_missing_options_are_fine() {
    let bytes = file(|[first, second], _| {
        let mut front = metadata(2, 4, None);
        put_bytes(9, b"something new", &mut front);
        let mut late = entry(second, 11, 2);
        put_varint_field(77, 5, &mut late);
        vec![front, entry(first, 5, 2), late]
    });
    assert_eq!(open(bytes.clone()).unwrap().writer_options(), None);
    assert_eq!(read(bytes).unwrap(), HELLO.map(Buf::copy_from));
}

#[test]
fn notes_are_kept_and_change_nothing_else() {
    let write = |note: Option<&[u8]>| {
        let mut writer = Writer::new(Vec::new(), &WriterOptions::default()).unwrap();
        HELLO.iter().for_each(|record| writer.write(record).unwrap());
        if let Some(note) = note {
            writer.set_note(note.to_vec());
        }
        writer.finish().unwrap().out
    };
    let noted = write(Some(b"{}"));
    let reader = open(noted.clone()).unwrap();
    assert_eq!(reader.note(), Some(&b"{}"[..]));
    assert_eq!(read(noted.clone()).unwrap(), HELLO.map(Buf::copy_from));
    let plain = write(None);
    assert_eq!(open(plain.clone()).unwrap().note(), None);
    let at = usize::try_from(reader.footer_offset()).unwrap();
    assert_eq!(plain[..at], noted[..at]);
}

/// What counts is the index, whatever the options say.
#[test]
fn the_size_of_groups_is_not_taken_from_the_options() {
    let bytes = file(|[first, second], _| {
        let options = Some("group_size:7,transpose:true");
        vec![metadata(2, 4, options), entry(first, 5, 2), entry(second, 11, 2)]
    });
    let reader = open(bytes.clone()).unwrap();
    assert_eq!((reader.group_size(), reader.locate(3).unwrap()), (2, (1, 1)));
    assert_eq!(read(bytes).unwrap(), HELLO.map(Buf::copy_from));
}

/// Makes the records of a footer of the offsets of two chunks and its own.
type Rows<'f> = &'f dyn Fn([u64; 2], u64) -> Vec<Vec<u8>>;

#[test]
fn no_index_is_believed_that_cannot_be_true() {
    let code = |footer: Rows<'_>| {
        let error = open(file(footer)).err().expect("it opens");
        assert!(error.offset().is_some() && !error.to_string().is_empty());
        error.code()
    };
    let entries = |first: Vec<u8>, second: Vec<u8>| vec![metadata(2, 4, None), first, second];
    let cases: &[(Rows<'_>, &str)] = &[
        // Counts that do not add up.
        (&|[a, b], _| vec![metadata(2, 5, None), entry(a, 0, 2), entry(b, 0, 2)], "index_records"),
        (&|[a, b], _| vec![metadata(3, 4, None), entry(a, 0, 2), entry(b, 0, 2)], "index_count"),
        (&|[a, _], _| vec![metadata(u64::MAX, 4, None), entry(a, 0, 2)], "index_count"),
        (&|_, _| vec![metadata(0, 4, None)], "index_records"),
        (&|[a, b], _| entries(entry(a, 0, 3), entry(b, 0, 1)), "chunk_or_fine"),
        (&|[a, b], _| entries(entry(a, 0, 1), entry(b, 0, 3)), "index_group"),
        (&|[a, b], _| entries(entry(a, 0, 0), entry(b, 0, 4)), "index_group"),
        (&|[a, b], _| entries(entry(a, 0, 4), entry(b, 0, 0)), "index_group"),
        (&|[a, b], _| entries(entry(a, 0, u64::MAX), entry(b, 0, 2)), "index_offset"),
        (&|[a, b], _| entries(entry(a, 0, 2), entry(b, 0, u64::MAX)), "index_group"),
        (
            &|[a, b], _| vec![metadata(2, 800, None), entry(a, 0, 400), entry(b, 0, 400)],
            "index_offset",
        ),
        (&|[a, _], _| vec![metadata(1, 1 << 40, None), entry(a, 0, 1 << 40)], "index_offset"),
        // Offsets where no chunk can be.
        (&|[_, b], _| entries(entry(0, 0, 2), entry(b, 0, 2)), "index_offset"),
        (&|[_, b], _| entries(entry(63, 0, 2), entry(b, 0, 2)), "index_offset"),
        (&|[a, _], _| entries(entry(a, 0, 2), entry(a, 0, 2)), "index_offset"),
        (&|[a, b], _| entries(entry(b, 0, 2), entry(a, 0, 2)), "index_offset"),
        (&|[a, _], f| entries(entry(a, 0, 2), entry(f, 0, 2)), "index_offset"),
        (&|[a, _], _| entries(entry(a, 0, 2), entry(65_540, 0, 2)), "index_offset"),
        (&|[a, _], _| entries(entry(a, 0, 2), entry(u64::MAX, 0, 2)), "index_offset"),
        // Entries that are none.
        (&|[a, _], _| entries(entry(a, 0, 2), b"\x10\x05\x18\x02".to_vec()), "index_offset"),
        (&|[a, _], _| entries(entry(a, 0, 2), b"\x08".to_vec()), "index_entry"),
        (&|_, _| entries(b"".to_vec(), b"".to_vec()), "index_offset"),
        (&|_, _| vec![b"\x0a\x02\x08\x02".to_vec()], "version"),
        (&|_, _| vec![b"\x0a\x00".to_vec()], "version"),
        (&|_, _| vec![b"\x12\x00".to_vec()], "metadata_invalid"),
        (&|_, _| vec![], "metadata_invalid"),
    ];
    for (footer, expected) in cases {
        if *expected == "chunk_or_fine" {
            // True as far as the index goes; the chunks tell.
            let error = read(file(footer)).unwrap_err();
            assert_eq!(error.code(), "chunk_records");
        } else {
            assert_eq!(code(footer), *expected);
        }
    }
}

/// A record can hold a whole chunk, and an index can name it: readers follow, and verifying says so.
#[test]
fn a_chunk_inside_of_a_record_is_not_where_it_should_be() {
    let mut encoder = ChunkEncoder::new(Compression::None);
    let mut inner = EncodedChunk::default();
    encoder.encode(&[b"inside"], &mut inner).unwrap();
    let mut alone = ChunkWriter::resume(Vec::new(), 1000);
    alone.place(&inner).unwrap();
    let record = alone.into_inner();
    let mut file = |rows: &[&[u8]]| {
        let mut writer = ChunkWriter::new(Vec::new()).unwrap();
        let mut chunk = EncodedChunk::default();
        encoder.encode(&[&record], &mut chunk).unwrap();
        assert_eq!(writer.place(&chunk).unwrap(), 64);
        let at = writer.position();
        encoder.encode(rows, &mut chunk).unwrap();
        writer.place(&chunk).unwrap();
        finish(writer, at)
    };
    let codes = |bytes: &[u8]| {
        let file: Arc<dyn ReadAt> = Arc::new(Buf::copy_from(bytes));
        let mut found = Vec::new();
        verify(&file, Limits::default(), &mut |finding| found.push(finding));
        found.iter().map(|f| (f.code(), f.offset(), f.unreadable())).collect::<Vec<_>>()
    };
    let inside = entry(64 + 40 + 3, 6, 1);
    let bytes = file(&[&metadata(1, 1, None), &inside]);
    let found = codes(&bytes);
    assert_eq!(
        found,
        [("chunk_unindexed", Some(64), false), ("chunk_misplaced", Some(107), false)]
    );
    assert_eq!(read(bytes).unwrap(), [Buf::copy_from(b"inside")]);
    // With the outer one named as well, that is longer than its place.
    let bytes = file(&[&metadata(2, 2, None), &entry(64, record.len() as u64, 1), &inside]);
    let found = codes(&bytes);
    assert_eq!(found, [("chunk_outside", Some(64), true), ("chunk_misplaced", Some(107), false)]);
    let reader = open(bytes).unwrap();
    let mut decoder = reader.decoder();
    assert_eq!(reader.record(0, &mut decoder).unwrap_err().code(), "chunk_outside");
    assert_eq!(reader.record(1, &mut decoder).unwrap(), Buf::copy_from(b"inside"));
}

#[test]
fn one_reader_serves_many_threads() {
    let options: WriterOptions = "group_size:3".parse().unwrap();
    let records: Vec<Vec<u8>> = (0..2000u32).map(|n| n.to_le_bytes().repeat(25)).collect();
    let mut writer = Writer::new(Vec::new(), &options).unwrap();
    records.iter().for_each(|record| writer.write(record).unwrap());
    let bytes = Buf::from(writer.finish().unwrap().out);
    let file: Arc<dyn ReadAt> = Arc::new(bytes.clone());
    let over = Reader::over(bytes, &ReaderOptions::default(), Limits::default()).unwrap();
    let ranged = Reader::open(file, &ReaderOptions::default(), Limits::default()).unwrap();
    let pool = BufferPool::new(8);
    for reader in [&over, &ranged] {
        std::thread::scope(|scope| {
            for thread in 0..32u64 {
                let (records, pool) = (&records, pool.clone());
                scope.spawn(move || {
                    let mut decoder =
                        crate::riegeli::ChunkDecoder::with_pool(Limits::default(), pool);
                    let mut number = thread * 61;
                    let held: Vec<(u64, Buf)> = (0..200)
                        .map(|_| {
                            number = (number * 31 + 7) % 2000;
                            (number, reader.record(number, &mut decoder).unwrap())
                        })
                        .collect();
                    // Held until now: no buffer was taken back while in use.
                    assert!(
                        held.iter()
                            .all(|(n, record)| record[..] == records[usize::try_from(*n).unwrap()])
                    );
                });
            }
        });
    }
}

/// Two of many records of a decoded chunk are copies; most of them are slices of it, as are those of a file at hand.
#[test]
fn a_few_records_do_not_keep_their_chunk() {
    for (options, few_are_slices) in
        [("group_size:100,zstd", false), ("group_size:100,uncompressed", true)]
    {
        let mut writer = Writer::new(Vec::new(), &options.parse().unwrap()).unwrap();
        let record = |n: u32| n.to_le_bytes().repeat(16);
        (0..100).for_each(|n| writer.write(&record(n)).unwrap());
        let reader = open(writer.finish().unwrap().out).unwrap();
        let all: Vec<u64> = (0..100).collect();
        for (asked, slices) in [(&[3, 4][..], few_are_slices), (&all[..], true)] {
            let found = reader.gather(asked, &mut reader.decoder()).unwrap();
            let right = asked
                .iter()
                .zip(&found)
                .all(|(n, found)| **found == record(u32::try_from(*n).unwrap()));
            let side_by_side =
                found.windows(2).all(|pair| pair[0].as_ptr_range().end == pair[1].as_ptr());
            assert!(right && side_by_side == slices, "{options}");
        }
    }
}

#[test]
fn runs_are_whole_chunks_of_about_the_size() {
    let options: WriterOptions = "uncompressed".parse().unwrap();
    let mut writer = Writer::new(Vec::new(), &options).unwrap();
    for n in 0..100usize {
        writer.write(&vec![7; n * 100]).unwrap();
    }
    let reader = open(writer.finish().unwrap().out).unwrap();
    for bytes in [0, 1, 5000, 50_000, u64::MAX] {
        let runs: Vec<_> = reader.runs(3, bytes).collect();
        assert_eq!((runs[0].start, runs[runs.len() - 1].end), (3, 100));
        assert!(runs.windows(2).all(|pair| pair[0].end == pair[1].start));
        for run in runs {
            let begin = reader.entry(run.start).unwrap().offset;
            let end = reader.entry(run.end).map_or(reader.footer_offset(), |entry| entry.offset);
            assert!(run.end - run.start == 1 || end - begin <= bytes);
        }
    }
    assert_eq!(reader.runs(100, 10).count(), 0);
    assert!(reader.load(100..101).is_err());
    let span = reader.load(3..5).unwrap();
    assert_eq!(span.decode(50, &mut reader.decoder()).unwrap().records.get(0).unwrap().len(), 5000);
}

fn options() -> impl Strategy<Value = WriterOptions> {
    let compression = prop_oneof![
        Just(Compression::None),
        Just(Compression::Snappy),
        Just(Compression::default()),
        Just(Compression::Brotli { level: 3, window_log: None }),
    ];
    (compression, 1u32..9, any::<bool>()).prop_map(|(compression, group_size, padded)| {
        WriterOptions {
            compression,
            group_size,
            pad_to_block_boundary: padded,
            ..Default::default()
        }
    })
}

fn records() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let record = prop_oneof![
        8 => proptest::collection::vec(any::<u8>(), 0..60),
        1 => (any::<u8>(), 0usize..5000).prop_map(|(byte, len)| vec![byte; len]),
        1 => (any::<u8>(), 60_000usize..70_000).prop_map(|(byte, len)| vec![byte; len]),
    ];
    proptest::collection::vec(record, 0..30)
}

#[test]
fn chunks_made_elsewhere_give_the_same_file() {
    let records: Vec<Vec<u8>> = (0..10u8).map(|n| vec![n; usize::from(n) * 9000]).collect();
    for text in ["group_size:1", "group_size:3,uncompressed,pad_to_block_boundary:true"] {
        let options: WriterOptions = text.parse().unwrap();
        let mut whole = Writer::new(Vec::new(), &options).unwrap();
        records.iter().for_each(|record| whole.write(record).unwrap());
        let (mut placed, mut encoder) =
            (Writer::new(Vec::new(), &options).unwrap(), Encoder::new(&options).unwrap());
        for group in records.chunks(usize::try_from(options.group_size).unwrap()) {
            let mut chunk = EncodedChunk::default();
            let group: Vec<&[u8]> = group.iter().map(Vec::as_slice).collect();
            encoder.encode(&group, &mut chunk).unwrap();
            placed.place(&chunk).unwrap();
        }
        assert_eq!(placed.records(), 10);
        assert_eq!(placed.finish().unwrap().out, whole.finish().unwrap().out, "{text}");
    }
    let options: WriterOptions = "group_size:3".parse().unwrap();
    let mut open = Writer::new(Vec::new(), &options).unwrap();
    open.write(b"one").unwrap();
    let mut chunk = EncodedChunk::default();
    Encoder::new(&options).unwrap().encode(&[b"a", b"b", b"c"], &mut chunk).unwrap();
    assert!(matches!(open.place(&chunk), Err(WriteError::Group { expected: 3, found: 1 })));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_is_read(options in options(), records in records(), asked: Vec<u16>) {
        let mut writer = Writer::new(Vec::new(), &options).unwrap();
        records.iter().for_each(|record| writer.write(record).unwrap());
        let bytes = writer.finish().unwrap().out;
        let reader = open(bytes.clone()).unwrap();
        prop_assert_eq!(reader.len(), records.len() as u64);
        prop_assert_eq!(reader.chunk_count(), reader.len().div_ceil(options.group_size.into()));
        let stored: WriterOptions = reader.writer_options().unwrap().parse().unwrap();
        prop_assert_eq!(stored.stored(), options.stored());
        let mut decoder = reader.decoder();
        let read = reader.records(0..reader.len(), &mut decoder).unwrap();
        prop_assert!(read.map(Result::unwrap).eq(records.iter().map(|r| Buf::copy_from(r))));
        if !records.is_empty() {
            let asked: Vec<u64> = asked.iter().map(|n| u64::from(*n) % reader.len()).collect();
            let found = reader.gather(&asked, &mut decoder).unwrap();
            prop_assert!(found.iter().map(|r| &r[..]).eq(asked.iter().map(|n| &records[usize::try_from(*n).unwrap()][..])));
        }
        let file: Arc<dyn ReadAt> = Arc::new(Buf::from(bytes));
        let mut findings = Vec::new();
        verify(&file, Limits::default(), &mut |finding| findings.push(finding));
        prop_assert!(findings.is_empty(), "{}", findings[0]);
        let salvaged = salvage(&file, Limits::default());
        prop_assert_eq!(salvaged.records(), reader.len());
        prop_assert_eq!(salvaged.end, reader.footer_offset());
    }
}
