//! Cut everywhere, flipped everywhere: nothing panics, nothing wrong is read, and verifying finds it.

use packstone_container::Limits;
use packstone_container::array_record::{Reader, ReaderOptions};
use packstone_io::Buf;
use packstone_testkit::cut_points;

use crate::kit::{Golden, all, findings, open, salvage};

#[test]
fn no_cut_file_opens() {
    for golden in Golden::all() {
        let whole = Buf::copy_from(&golden.bytes);
        for len in 0..whole.len() {
            let cut = whole.slice(..len).unwrap();
            let opened = Reader::over(cut, &ReaderOptions::default(), Limits::default());
            assert!(opened.is_err(), "{} cut to {len}", golden.name);
        }
        for len in cut_points(whole.len(), 60).into_iter().chain(0..100) {
            assert!(!findings(&whole[..len]).is_empty(), "{} cut to {len}", golden.name);
            salvage(&whole[..len]);
        }
    }
}

/// Bytes where much can go wrong, and some of all others.
fn places(bytes: &[u8]) -> impl Iterator<Item = usize> {
    let len = bytes.len();
    let blocks =
        (0..len).step_by(65_536).flat_map(move |at| at.saturating_sub(50)..(at + 160).min(len));
    let mut places: Vec<usize> =
        (0..700.min(len)).chain(blocks).chain((0..len).step_by(4001)).collect();
    places.sort_unstable();
    places.dedup();
    places.into_iter()
}

#[test]
fn every_flip_is_found_and_no_wrong_record_is_read() {
    for name in [
        "three_zstd",
        "edges_none",
        "zero_zstd_g1000",
        "pad_true_zstd",
        "tr_proto_none",
        "three_snappy",
    ] {
        let golden = Golden::named(name);
        let records = golden.records();
        let mut bytes = golden.bytes.clone();
        for at in places(&golden.bytes) {
            bytes[at] ^= 1 << (at % 8);
            let found = findings(&bytes);
            assert!(!found.is_empty(), "{name}: byte {at} is flipped and nobody notices");
            let lost = match open(&bytes) {
                Err(_) => true,
                Ok(reader) => {
                    let mut decoder = reader.decoder();
                    let mut lost = false;
                    for number in 0..reader.chunk_count() {
                        let range = reader.records_of(number);
                        let records = &records[range.start as usize..range.end as usize];
                        match reader.chunk(number, &mut decoder) {
                            Ok(chunk) => {
                                let right = records.iter().map(|record| &record[..]);
                                assert!(chunk.records.iter().eq(right), "{name}: byte {at}");
                            }
                            Err(_) => lost = true,
                        }
                    }
                    lost
                }
            };
            let unreadable = found.iter().any(|finding| finding.unreadable());
            assert_eq!(unreadable, lost, "{name}: byte {at}");
            bytes[at] ^= 1 << (at % 8);
        }
    }
}

/// The end of one file behind the start of another: the index fits nothing.
#[test]
fn ends_of_other_files_are_no_index() {
    let goldens: Vec<_> = Golden::all().into_iter().filter(|g| g.bytes.len() == 131_072).collect();
    for start in &goldens {
        for end in &goldens {
            let mixed = [&start.bytes[..65_536], &end.bytes[65_536..]].concat();
            let same = start.bytes[65_536..] == end.bytes[65_536..];
            let opened = open(&mixed).and_then(|reader| all(&reader));
            match opened {
                Ok(records) => assert!(same && records == start.records()),
                Err(error) => assert!(!same, "{} {}: {error}", start.name, end.name),
            }
        }
    }
}
