use packstone_io::AlignedBuf;
use proptest::prelude::*;

use super::super::testdata::{SAVEZ, hex};
use super::super::{Archive, EntryOptions, Method, Writer, ZipError};
use crate::Limits;

fn parse(bytes: &[u8]) -> Result<Archive, ZipError> {
    Archive::parse(bytes, &Limits::default())
}

/// Parses and reads every entry; what the mutation tests run.
fn read_all(bytes: &[u8]) -> Result<Vec<(String, Vec<u8>)>, ZipError> {
    let limits = Limits::default().with_decoded_bytes(1 << 20);
    let archive = Archive::parse(bytes, &limits)?;
    let mut out = AlignedBuf::default();
    let read = |e: &crate::zip::Entry| {
        e.read(bytes, &mut out, &limits)?;
        Ok((e.name().to_owned(), out.to_vec()))
    };
    archive.entries().iter().map(read).collect()
}

fn written(entries: &[(&str, &[u8])], method: Method) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new());
    for (name, data) in entries {
        writer.add(name, &[data], EntryOptions::default().with_method(method)).unwrap();
    }
    writer.finish().unwrap()
}

/// Where the n-th central record starts.
fn central(bytes: &[u8], n: usize) -> usize {
    let mut starts = (0..bytes.len()).filter(|&i| bytes[i..].starts_with(b"PK\x01\x02"));
    starts.nth(n).unwrap()
}

#[test]
fn reads_what_numpy_writes() {
    let bytes = hex(SAVEZ);
    let archive = parse(&bytes).unwrap();
    let names: Vec<_> = archive.entries().iter().map(|e| e.name()).collect();
    assert_eq!(names, ["x.npy", "é.npy"]);
    let x = archive.find("x.npy").unwrap();
    assert_eq!((x.method(), x.len(), x.compressed_len()), (Method::Stored, 140, 140));
    assert_eq!(x.range(), 55..195);
    assert!(!x.utf8_name() && archive.find("é.npy").unwrap().utf8_name());
    assert_eq!(&x.raw(&bytes).unwrap()[128..], [1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0]);
    x.check_crc(&bytes).unwrap();
    let all = read_all(&bytes).unwrap();
    assert_eq!(all[1].1[128..], 1.5f32.to_le_bytes());
    assert!(archive.find("y.npy").is_none());
}

#[test]
fn an_archive_without_entries() {
    let bytes = written(&[], Method::Stored);
    assert_eq!(bytes.len(), 22);
    assert!(parse(&bytes).unwrap().entries().is_empty());
}

#[test]
fn prefix_and_trailing_bytes_shift_offsets() {
    let plain = written(&[("a", b"payload")], Method::Stored);
    let bytes = [b"prefix", &plain[..], b"end"].concat();
    let archive = parse(&bytes).unwrap();
    assert_eq!((archive.prefix_len(), archive.trailing_len()), (6, 3));
    assert_eq!(archive.find("a").unwrap().raw(&bytes).unwrap(), b"payload");
}

#[test]
fn unflagged_names_are_found_in_both_spellings() {
    let mut bytes = written(&[("é", b"1"), ("b", b"2")], Method::Stored);
    let record = central(&bytes, 0);
    bytes[7] = 0;
    bytes[record + 9] = 0;
    let archive = parse(&bytes).unwrap();
    let entry = &archive.entries()[0];
    assert_eq!((entry.name(), entry.raw_name()), ("├⌐", "é".as_bytes()));
    assert_eq!(archive.find("é").unwrap().header_offset(), 0);
    assert_eq!(archive.find("├⌐").unwrap().header_offset(), 0);
}

#[test]
fn names_flagged_as_utf8_must_be() {
    let mut bytes = written(&[("é", b"1")], Method::Stored);
    let record = central(&bytes, 0);
    bytes[record + 46] = 0xff;
    assert!(matches!(parse(&bytes), Err(ZipError::Name { .. })));
}

#[test]
fn a_stream_writer_leaves_sizes_to_the_descriptor() {
    // flags bit 3; CRC-32 and both sizes zero in the local header, a descriptor behind the payload.
    let mut bytes = written(&[("a", b"payload"), ("b", b"x")], Method::Deflate);
    bytes[6] = 8;
    bytes[14..18].fill(0);
    let record = central(&bytes, 0);
    bytes[record + 8] = 8;
    assert_eq!(read_all(&bytes).unwrap()[0].1, b"payload");
}

#[test]
fn zip64_values_of_the_central_record() {
    let plain = written(&[("a", b"payload")], Method::Stored);
    let at = central(&plain, 0);
    let block = |values: &[u64]| {
        let data: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        let mut bytes = plain.clone();
        bytes[at + 20..at + 28].fill(0xff);
        bytes[at + 42..at + 46].fill(0xff);
        bytes[at + 30] = u8::try_from(data.len()).unwrap() + 4;
        let extra = [&[1, 0, u8::try_from(data.len()).unwrap(), 0][..], &data].concat();
        bytes.splice(at + 47..at + 47, extra.iter().copied());
        let end = bytes.len() - 22;
        bytes[end + 12] += u8::try_from(extra.len()).unwrap();
        parse(&bytes)
    };
    assert_eq!(block(&[7, 7, 0]).unwrap().entries()[0].len(), 7);
    assert!(matches!(block(&[7, 7]), Err(ZipError::Zip64Extra { field: "offset", .. })));
    assert!(matches!(block(&[]), Err(ZipError::Zip64Extra { field: "size", .. })));
    assert!(matches!(block(&[7, 7, u64::MAX]), Err(ZipError::Truncated { .. })));
    assert!(matches!(block(&[u64::MAX, u64::MAX, 0]), Err(ZipError::Outside { .. })));
    assert!(matches!(block(&[8, 7, 0]), Err(ZipError::Length { .. })));
}

#[test]
fn each_lie_has_its_error() {
    let plain = written(&[("a", b"payload"), ("b", b"other")], Method::Stored);
    let first = central(&plain, 0);
    let second = central(&plain, 1);
    let end = plain.len() - 22;
    let with = |edits: &[(usize, u8)]| {
        let mut bytes = plain.clone();
        edits.iter().for_each(|&(at, value)| bytes[at] = value);
        parse(&bytes).unwrap_err()
    };
    assert!(matches!(with(&[(end + 8, 3), (end + 10, 3)]), ZipError::Count { found: 2, .. }));
    assert!(matches!(with(&[(end + 8, 1), (end + 10, 1)]), ZipError::Count { found: 2, .. }));
    let many = with(&[(end + 8, 0xff), (end + 9, 0x7f), (end + 10, 0xff), (end + 11, 0x7f)]);
    assert!(matches!(many, ZipError::Count { expected: 0x7fff, found: 2 }));
    assert!(matches!(with(&[(first, b'Q')]), ZipError::Signature { .. }));
    assert!(matches!(with(&[(0, b'Q')]), ZipError::Signature { .. }));
    assert!(matches!(with(&[(first + 8, 1)]), ZipError::Encrypted { .. }));
    assert!(matches!(with(&[(6, 1)]), ZipError::Encrypted { .. }));
    assert!(matches!(with(&[(first + 34, 1)]), ZipError::MultiDisk));
    assert!(matches!(with(&[(second + 46, b'a')]), ZipError::LocalName { .. }));
    assert!(matches!(with(&[(30, b'c')]), ZipError::LocalName { .. }));
    assert!(matches!(with(&[(8, 8)]), ZipError::LocalField { field: "method", .. }));
    let unknown = with(&[(first + 10, 93)]);
    assert!(matches!(unknown, ZipError::Unsupported { method: Method::Other(93), .. }));
    assert!(matches!(with(&[(14, 0)]), ZipError::LocalCrc { .. }));
    assert!(matches!(with(&[(35, 8)]), ZipError::LocalField { field: "size", .. }));
    assert!(matches!(with(&[(43, 8)]), ZipError::LocalField { field: "compressed size", .. }));
    assert!(matches!(with(&[(22, 7)]), ZipError::LocalField { .. }));
    assert!(matches!(with(&[(31, 9)]), ZipError::Zip64Extra { .. }));
    assert!(matches!(with(&[(first + 20, 8)]), ZipError::Length { .. }));
    assert!(matches!(with(&[(second + 45, 1)]), ZipError::Truncated { .. }));
    assert!(matches!(with(&[(second + 28, 200)]), ZipError::Truncated { .. }));
}

#[test]
fn entries_may_not_share_bytes_or_names() {
    let plain = written(&[("a", b"payload"), ("b", b"other")], Method::Stored);
    let second = central(&plain, 1);
    // The second record points at the first entry.
    let mut bytes = plain.clone();
    let first_record = plain[central(&plain, 0)..second].to_vec();
    bytes.splice(second..second + first_record.len(), first_record);
    assert!(matches!(parse(&bytes), Err(ZipError::Overlap { offset: 0, .. })));
    // Both entries have one name.
    let mut bytes = plain.clone();
    let local = bytes.windows(4).rposition(|w| w == b"PK\x03\x04").unwrap();
    bytes[local + 30] = b'a';
    bytes[second + 46] = b'a';
    assert!(matches!(parse(&bytes), Err(ZipError::Duplicate { name }) if name == "a"));
    // The first entry claims the second one's bytes.
    let mut bytes = plain;
    let at = central(&bytes, 0);
    for size in [35, 43, at + 20, at + 24] {
        bytes[size] = 40;
    }
    assert!(matches!(parse(&bytes), Err(ZipError::Overlap { .. })));
    for size in [35, 43, at + 20, at + 24] {
        bytes[size] = 250;
    }
    assert!(matches!(parse(&bytes), Err(ZipError::Outside { .. })));
}

/// Sets both sizes of the only entry `a` to `len` (decoded) and `compressed`.
fn resized(bytes: &[u8], len: u32, compressed: u32) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let at = central(&bytes, 0);
    bytes[35..39].copy_from_slice(&len.to_le_bytes());
    bytes[43..47].copy_from_slice(&compressed.to_le_bytes());
    bytes[at + 20..at + 24].copy_from_slice(&compressed.to_le_bytes());
    bytes[at + 24..at + 28].copy_from_slice(&len.to_le_bytes());
    bytes
}

#[test]
fn lengths_of_deflate_streams_are_exact() {
    let data = vec![b'z'; 5000];
    let plain = written(&[("a", &data)], Method::Deflate);
    let compressed = parse(&plain).unwrap().entries()[0].compressed_len();
    let compressed = u32::try_from(compressed).unwrap();
    let read = |len, compressed| read_all(&resized(&plain, len, compressed)).unwrap_err();
    assert!(matches!(read(4999, compressed), ZipError::Length { found: 5000, .. }));
    assert!(matches!(read(10, compressed), ZipError::Length { found: 11, .. }));
    assert!(matches!(read(5001, compressed), ZipError::Length { found: 5000, .. }));
    assert!(matches!(read(0, compressed), ZipError::Length { found: 1, .. }));
    assert!(matches!(read(5000, compressed - 1), ZipError::Damaged { .. }));
    assert!(matches!(read(1 << 19, compressed), ZipError::Implausible { .. }));
    assert!(matches!(read(1 << 30, compressed), ZipError::Limit { .. }));
    let mut longer = resized(&plain, 5000, compressed + 1);
    longer.insert(central(&longer, 0), 0);
    let end = longer.len() - 22;
    longer[end + 16] += 1;
    let error = read_all(&longer).unwrap_err();
    assert!(matches!(error, ZipError::Length { what: "deflate stream", .. }));
}

#[test]
fn damaged_payloads_are_noticed_and_leave_nothing() {
    let plain = written(&[("a", b"some text, some more text, some")], Method::Stored);
    let mut bytes = plain.clone();
    bytes[60] ^= 1;
    let entry = parse(&bytes).unwrap().entries()[0].clone();
    assert!(matches!(entry.check_crc(&bytes), Err(ZipError::Crc { .. })));
    let mut out = AlignedBuf::default();
    out.extend_from_slice(b"before").unwrap();
    assert!(entry.read(&bytes, &mut out, &Limits::default()).is_err());
    assert!(out.is_empty());
    assert!(entry.read(&bytes[..50], &mut out, &Limits::default()).is_err());
}

#[test]
fn unknown_methods_can_be_viewed_but_not_read() {
    let mut bytes = written(&[("a", b"payload")], Method::Stored);
    let at = central(&bytes, 0);
    (bytes[8], bytes[at + 10]) = (93, 93);
    let archive = parse(&bytes).unwrap();
    let entry = &archive.entries()[0];
    assert_eq!(entry.method(), Method::Other(93));
    assert_eq!(entry.raw(&bytes).unwrap(), b"payload");
    assert!(matches!(read_all(&bytes), Err(ZipError::Unsupported { .. })));
    assert!(matches!(entry.check_crc(&bytes), Err(ZipError::Unsupported { .. })));
}

#[test]
fn the_limit_on_entries_holds() {
    let bytes = written(&[("a", b"1"), ("b", b"2")], Method::Stored);
    let limits = Limits { entries: 1, ..Limits::default() };
    assert!(matches!(Archive::parse(&bytes, &limits), Err(ZipError::Limit { .. })));
}

#[test]
fn every_truncation_is_an_error() {
    let deflated = written(&[("a", &[b'q'; 900]), ("dir/b", b"text")], Method::Deflate);
    for bytes in [hex(SAVEZ), deflated] {
        for len in 0..bytes.len() {
            assert!(read_all(&bytes[..len]).is_err(), "{len} bytes");
        }
    }
}

#[test]
fn no_flipped_bit_changes_a_payload_unnoticed() {
    let deflated = written(&[("a", &[b'q'; 900]), ("dir/b", b"text")], Method::Deflate);
    for bytes in [hex(SAVEZ), deflated] {
        let good = read_all(&bytes).unwrap();
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut changed = bytes.clone();
                changed[at] ^= 1 << bit;
                if let Ok(all) = read_all(&changed) {
                    let same = all.iter().zip(&good).all(|(a, b)| a.1 == b.1);
                    assert!(same && all.len() == good.len(), "byte {at} bit {bit}");
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn round_trip(
        entries in prop::collection::btree_map(".{0,12}", prop::collection::vec(0u8..4, 0..300), 0..6),
        deflate: bool,
    ) {
        let method = if deflate { Method::Deflate } else { Method::Stored };
        let list: Vec<(&str, &[u8])> = entries.iter().map(|(n, d)| (&n[..], &d[..])).collect();
        let bytes = written(&list, method);
        let all = read_all(&bytes).unwrap();
        prop_assert!(all.iter().map(|(n, d)| (&n[..], &d[..])).eq(list.iter().copied()));
        let archive = parse(&bytes).unwrap();
        for (name, _) in &list {
            prop_assert_eq!(archive.find(name).unwrap().name(), *name);
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = read_all(&bytes);
        let _ = read_all(&[&bytes[..], &hex(SAVEZ)[383..]].concat());
    }
}
