//! What is asked of a file that is read in ranges.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use packstone_container::Limits;
use packstone_container::array_record::{ArrayRecordError, Reader, ReaderOptions, WriterOptions};
use packstone_container::riegeli::Compression;
use packstone_io::{Buf, IoError, Kind, ReadAt};

use crate::kit::{Golden, all, open};
use crate::rewrite::written;

/// Remembers every request, and fails from one on.
struct Counting {
    bytes: Buf,
    requests: Mutex<Vec<Vec<Range<u64>>>>,
    fails_from: usize,
}

impl ReadAt for Counting {
    fn len(&self) -> u64 {
        ReadAt::len(&self.bytes)
    }

    fn read_ranges(&self, ranges: &[Range<u64>]) -> Result<Vec<Buf>, IoError> {
        let mut requests = self.requests.lock().unwrap();
        requests.push(ranges.to_vec());
        if requests.len() > self.fails_from {
            return Err(IoError::new(Kind::Io, "read", "memory", "the connection is gone"));
        }
        // Copies, as a file that is read would give.
        let cut = |range: &Range<u64>| {
            Buf::copy_from(&self.bytes[range.start as usize..range.end as usize])
        };
        Ok(ranges.iter().map(cut).collect())
    }
}

impl Counting {
    fn new(bytes: &[u8]) -> Arc<Self> {
        Self::failing(bytes, usize::MAX)
    }

    fn failing(bytes: &[u8], fails_from: usize) -> Arc<Self> {
        let (bytes, requests) = (Buf::copy_from(bytes), Mutex::default());
        Arc::new(Self { bytes, requests, fails_from })
    }

    fn open(self: &Arc<Self>, options: &str) -> Result<Reader, ArrayRecordError> {
        let options: ReaderOptions = options.parse().unwrap();
        let file: Arc<dyn ReadAt> = self.clone();
        Reader::open(file, &options, Limits::default())
    }

    /// The requests since the last call.
    fn requests(&self) -> Vec<Vec<Range<u64>>> {
        std::mem::take(&mut self.requests.lock().unwrap())
    }
}

fn sample(count: u32, len: usize, options: &WriterOptions) -> Vec<u8> {
    let record = |n: u32| Buf::from(n.to_le_bytes().repeat(len / 4));
    written(&(0..count).map(record).collect::<Vec<_>>(), options)
}

#[test]
fn files_read_in_ranges_are_read_the_same() {
    for golden in Golden::all() {
        let file = Counting::new(&golden.bytes);
        for options in
            ["", "footer_prefetch_bytes:0", "readahead_buffer_size:0", "readahead_buffer_size:100"]
        {
            let reader = file.open(options).unwrap();
            assert_eq!(all(&reader).unwrap(), golden.records(), "{}", golden.name);
            let reversed: Vec<u64> = (0..reader.len()).rev().collect();
            let mut gathered = reader.gather(&reversed, &mut reader.decoder()).unwrap();
            gathered.reverse();
            assert_eq!(gathered, golden.records(), "{}", golden.name);
        }
    }
}

#[test]
fn opening_takes_one_request_unless_the_footer_is_long() {
    let small = sample(10, 400, &WriterOptions::default());
    let file = Counting::new(&small);
    file.open("").unwrap();
    assert_eq!(file.requests(), [[0..131_072]]);
    file.open("footer_prefetch_bytes:0").unwrap();
    let footer = open(&small).unwrap().footer_offset();
    assert_eq!(file.requests(), [[65_536..131_072], [footer..65_536]]);
    // The footer of 20000 chunks takes three blocks.
    let options = WriterOptions::default().with_compression(Compression::None);
    let large = sample(20_000, 400, &options);
    let reader = open(&large).unwrap();
    assert!(reader.footer_offset() < large.len() as u64 - 4 * 65_536);
    let file = Counting::new(&large);
    let len = large.len() as u64;
    let ranged = file.open("").unwrap();
    assert_eq!(file.requests(), [[len - (1 << 20)..len]]);
    assert_eq!(ranged.len(), 20_000);
    let ranged = file.open("footer_prefetch_bytes:100k").unwrap();
    let footer = ranged.footer_offset();
    assert_eq!(file.requests(), [[len - 102_400..len], [footer..len - 65_536]]);
    assert!((0..20_000).all(|n| ranged.entry(n) == reader.entry(n)));
}

#[test]
fn nothing_behind_the_last_record_of_a_range_is_read() {
    let file = Counting::new(&sample(100, 400, &WriterOptions::default()));
    let reader = file.open("").unwrap();
    let begin = |chunk: u64| reader.entry(chunk).unwrap().offset;
    let mut decoder = reader.decoder();
    for (range, read) in [(7..8, begin(7)..begin(8)), (7..10, begin(7)..begin(10))] {
        file.requests();
        let count = range.end - range.start;
        let records: Result<Vec<Buf>, _> = reader.records(range, &mut decoder).unwrap().collect();
        assert_eq!(records.unwrap().len() as u64, count);
        assert_eq!(file.requests(), [[read]]);
    }
}

#[test]
fn records_take_one_request_for_what_they_need() {
    let options = WriterOptions::default().with_group_size(5);
    let file = Counting::new(&sample(103, 400, &options));
    let reader = file.open("readahead_buffer_size:1K").unwrap();
    let mut decoder = reader.decoder();
    file.requests();
    let place = |chunk: u64| {
        let next = reader.entry(chunk + 1).map_or(reader.footer_offset(), |entry| entry.offset);
        reader.entry(chunk).unwrap().offset..next
    };
    reader.record(7, &mut decoder).unwrap();
    assert_eq!(file.requests(), [[place(1)]]);
    reader.gather(&[102, 3, 0, 50, 3], &mut decoder).unwrap();
    assert_eq!(file.requests(), [[place(0), place(10), place(20)]]);
    reader.gather(&[], &mut decoder).unwrap();
    assert_eq!(file.requests(), [] as [Vec<Range<u64>>; 0]);
    // Read-ahead takes as many whole chunks as fit, at least one.
    let count = reader.records(0..103, &mut decoder).unwrap().count();
    let requests = file.requests().concat();
    assert_eq!((count, requests.len()), (103, reader.runs(0, 1024).count()));
    assert!(requests.len() < 21 && requests.iter().all(|range| range.end - range.start <= 1024));
    assert_eq!(
        requests.iter().map(|range| range.end - range.start).sum::<u64>(),
        place(20).end - 64
    );
}

/// Of a place that may be large, only what the chunk takes is read.
#[test]
fn large_chunks_are_asked_for_their_headers_first() {
    let options: WriterOptions = "uncompressed,pad_to_block_boundary:true".parse().unwrap();
    let bytes = sample(3, 1_500_000, &options);
    let file = Counting::new(&bytes);
    let reader = file.open("").unwrap();
    let mut decoder = reader.decoder();
    file.requests();
    let record = reader.record(1, &mut decoder).unwrap();
    assert_eq!(record.len(), 1_500_000);
    let begin = reader.entry(1).unwrap().offset;
    let (blocks, front) = (1_500_000 / 65_512 + 1, 40 + 1 + 1 + 3);
    let end = begin + 1_500_000 + front + 24 * blocks;
    assert_eq!(file.requests(), [[begin..begin + 64], [begin..end]]);
    assert_eq!(reader.gather(&[2, 0], &mut decoder).unwrap().len(), 2);
    assert_eq!(all(&reader).unwrap(), all(&open(&bytes).unwrap()).unwrap());
    // A limit below the chunk stops it at its header.
    let limits = Limits::default().with_decoded_bytes(1_000_000);
    let reader = Reader::open(file.clone(), &ReaderOptions::default(), limits).unwrap();
    file.requests();
    let error = reader.record(1, &mut reader.decoder()).unwrap_err();
    assert_eq!((error.code(), error.kind()), ("limit", Kind::Limit));
    assert_eq!(file.requests().concat(), [begin..begin + 64]);
}

/// A limit that every chunk keeps is no obstacle to reading all of them: less is asked for at once.
#[test]
fn small_limits_make_small_requests() {
    let file = Counting::new(&sample(100, 400, &WriterOptions::default()));
    let limits = Limits::default().with_decoded_bytes(3000);
    let reader = Reader::open(file.clone(), &ReaderOptions::default(), limits).unwrap();
    let records = all(&reader).unwrap();
    file.requests();
    let backwards: Vec<u64> = (0..100).rev().collect();
    let mut gathered = reader.gather(&backwards, &mut reader.decoder()).unwrap();
    gathered.reverse();
    assert_eq!(gathered, records);
    let requests = file.requests();
    assert!(requests.len() > 1 && requests.len() < 10);
    let bytes = |ranges: &Vec<Range<u64>>| ranges.iter().map(|range| range.end - range.start).sum();
    assert!(requests.iter().all(|ranges| {
        let sum: u64 = bytes(ranges);
        sum <= 3000
    }));
    // Runs asked for by name must fit.
    let error = reader.load(0..100).err().unwrap();
    assert_eq!((error.code(), error.kind()), ("limit", Kind::Limit));
}

#[test]
fn a_file_that_cannot_be_read_says_so() {
    let bytes = sample(10, 400, &WriterOptions::default());
    let error = Counting::failing(&bytes, 0).open("").err().unwrap();
    assert_eq!((error.code(), error.kind()), ("io", Kind::Io));
    let error = Counting::failing(&bytes, 1).open("footer_prefetch_bytes:0").err().unwrap();
    assert_eq!((error.code(), error.kind()), ("footer_damaged", Kind::Io));
    let reader = Counting::failing(&bytes, 1).open("").unwrap();
    let mut decoder = reader.decoder();
    assert_eq!(reader.record(3, &mut decoder).unwrap_err().kind(), Kind::Io);
    assert_eq!(reader.gather(&[3], &mut decoder).unwrap_err().kind(), Kind::Io);
    let read: Vec<_> = reader.records(0..10, &mut decoder).unwrap().collect();
    assert_eq!(read.len(), 10);
    assert!(read.iter().all(|item| item.as_ref().is_err_and(|error| error.kind() == Kind::Io)));
}
