//! Damaged archives, and payloads that announce what they are not.

use packstone_io::AlignedBuf;

use super::{golden, leaf, parse, tensordict};
use crate::Limits;
use crate::zip::{Directory, Method, Writer, ZipError};

/// Reads all there is; what the sweeps run.
fn read_all(bytes: &[u8]) -> Result<Vec<Vec<u8>>, ZipError> {
    let limits = Limits::default().with_decoded_bytes(1 << 20);
    let directory = Directory::parse(bytes, &limits)?;
    let mut out = AlignedBuf::default();
    let mut all = Vec::new();
    for index in 0..directory.records().len() {
        directory.refresh_crc(bytes, index)?;
        let _ = directory.compare_local(bytes, index);
        directory.locate(bytes, index)?.read(bytes, &mut out, &limits)?;
        all.push(out.to_vec());
    }
    Ok(all)
}

fn compressed(method: Method) -> Vec<u8> {
    let text = b"some text, some more text, and some more of the same. ".repeat(9);
    let mut writer = Writer::new(Vec::new());
    writer.add("a.memmap", &[&text], leaf().with_method(method)).unwrap();
    writer.add("é/b", &[b"text"], tensordict()).unwrap();
    writer.finish().unwrap()
}

const METHODS: [Method; 4] = [Method::Stored, Method::Deflate, Method::Bzip2, Method::Lzma];

#[test]
fn every_truncation_is_an_error() {
    for bytes in METHODS.map(compressed) {
        assert!(read_all(&bytes).is_ok());
        for len in 0..bytes.len() {
            assert!(read_all(&bytes[..len]).is_err(), "{len} bytes");
        }
    }
    for case in ["tdz_zip64", "tdz_data_descriptors"] {
        let bytes = golden(case);
        for len in (0..bytes.len()).step_by(7) {
            assert!(read_all(&bytes[..len]).is_err(), "{case}: {len} bytes");
        }
    }
}

#[test]
fn no_flipped_byte_changes_a_payload_unnoticed() {
    for bytes in METHODS.map(compressed) {
        let good = read_all(&bytes).unwrap();
        for at in 0..bytes.len() {
            for flip in [1, 0x10, 0x80, 0xff] {
                let mut changed = bytes.clone();
                changed[at] ^= flip;
                if let Ok(all) = read_all(&changed) {
                    assert!(all == good, "byte {at} ^ {flip:#x}");
                }
            }
        }
    }
}

/// The only entry of an archive, with its announced length replaced and its payload edited.
fn announced(method: Method, data: &[u8], len: u32, edit: impl Fn(&mut Vec<u8>)) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new());
    writer.add("a", &[data], tensordict().with_method(method)).unwrap();
    let bytes = writer.finish().unwrap();
    let directory = parse(&bytes);
    let entry = directory.locate(&bytes, 0).unwrap();
    let range = usize::try_from(entry.range().start).unwrap();
    let central = usize::try_from(directory.records()[0].at).unwrap();
    let mut payload = bytes[range..central].to_vec();
    edit(&mut payload);
    let mut edited = [&bytes[..range], &payload, &bytes[central..]].concat();
    let central = range + payload.len();
    let size = u32::try_from(payload.len()).unwrap().to_le_bytes();
    edited[central + 20..central + 24].copy_from_slice(&size);
    edited[central + 24..central + 28].copy_from_slice(&len.to_le_bytes());
    let end = edited.len() - 22;
    edited[end + 16..end + 20].copy_from_slice(&u32::try_from(central).unwrap().to_le_bytes());
    edited
}

#[test]
fn lengths_of_all_streams_are_exact() {
    let data = vec![b'z'; 600_000];
    for method in [Method::Deflate, Method::Bzip2, Method::Lzma] {
        let read = |len, edit: &dyn Fn(&mut Vec<u8>)| {
            let bytes = announced(method, &data, len, edit);
            let entry = parse(&bytes).locate(&bytes, 0).unwrap();
            let mut out = AlignedBuf::default();
            let result = entry.read(&bytes, &mut out, &Limits::default());
            assert_eq!(out.len(), if result.is_ok() { 600_000 } else { 0 });
            result
        };
        let keep = |_: &mut Vec<u8>| {};
        read(600_000, &keep).unwrap();
        let short = read(599_999, &keep).unwrap_err();
        assert!(matches!(short, ZipError::Length { what: "data", found: 600_000, .. }), "{short}");
        let bomb = read(10, &keep).unwrap_err();
        assert!(matches!(bomb, ZipError::Length { found: 11, .. }), "{method}: {bomb}");
        let long = read(600_001, &keep).unwrap_err();
        assert!(matches!(long, ZipError::Length { found: 600_000, .. }), "{method}: {long}");
        let trailing = read(600_000, &|payload| payload.push(0)).unwrap_err();
        assert!(matches!(trailing, ZipError::Length { .. }), "{method}: {trailing}");
        let cut = read(600_000, &|payload| payload.truncate(payload.len() - 1)).unwrap_err();
        assert!(matches!(cut, ZipError::Damaged { .. }), "{method}: {cut}");
        let none = read(600_000, &Vec::clear).unwrap_err();
        let refused = matches!(none, ZipError::Damaged { .. } | ZipError::Implausible { .. });
        assert!(refused, "{method}: {none}");
    }
}

#[test]
fn lzma_headers_are_checked_and_end_markers_optional() {
    let data = b"abc".repeat(100);
    let read = |edit: &dyn Fn(&mut Vec<u8>), flags: u8| {
        let mut bytes = announced(Method::Lzma, &data, 300, edit);
        let central = bytes.windows(4).rposition(|w| w == b"PK\x01\x02").unwrap();
        bytes[central + 8] = flags;
        let entry = parse(&bytes).locate(&bytes, 0).unwrap();
        let mut out = AlignedBuf::default();
        entry.read(&bytes, &mut out, &Limits::default()).map(|()| out.to_vec())
    };
    let damaged =
        |edit: &dyn Fn(&mut Vec<u8>)| matches!(read(edit, 2), Err(ZipError::Damaged { .. }));
    assert_eq!(read(&|_| {}, 2).unwrap(), data);
    // Any version will do, and a dictionary of 4 GiB costs nothing.
    assert_eq!(read(&|p| p[0..2].fill(0xff), 2).unwrap(), data);
    assert_eq!(read(&|p| p[5..9].fill(0xff), 2).unwrap(), data);
    assert_eq!(read(&|p| p[5..9].fill(0), 2).unwrap(), data);
    for len in 0..9 {
        assert!(damaged(&|p| p.truncate(len)), "{len}");
    }
    assert!(damaged(&|p| p[2] = 6));
    assert!(damaged(&|p| p[3] = 1));
    assert!(damaged(&|p| p[4] = 225));
    // A stream that is not flagged to have an end marker needs none; this one is cut inside of it.
    assert_eq!(read(&|_| {}, 0).unwrap(), data);
    let unmarked = |p: &mut Vec<u8>| p.truncate(p.len() - 3);
    assert_eq!(read(&unmarked, 0).unwrap(), data);
    assert!(damaged(&unmarked));
}
