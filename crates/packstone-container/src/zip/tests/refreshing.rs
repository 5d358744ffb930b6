//! Checksums after payloads were changed in place.

use super::{golden, leaf, parse, tensordict};
use crate::Limits;
use crate::zip::{Archive, Method, Patch, Writer, ZipError};

/// Applies what all entries need; says how many places that were.
fn refresh(bytes: &mut [u8]) -> usize {
    let directory = parse(bytes);
    let patches: Vec<Patch> = (0..directory.records().len())
        .flat_map(|index| directory.refresh_crc(bytes, index).unwrap())
        .collect();
    for patch in &patches {
        let at = usize::try_from(patch.offset).unwrap();
        bytes[at..at + 4].copy_from_slice(&patch.bytes);
    }
    patches.len()
}

#[test]
fn the_bytes_of_tensordict() {
    let mut bytes = golden("tdz_rplus_stale_crc");
    assert_eq!(refresh(&mut bytes), 4);
    assert_eq!(bytes, golden("tdz_rplus_refreshed_crc"));
    assert_eq!(refresh(&mut bytes), 0);
    let mut like = golden("tdz_memmap_like");
    assert_eq!(refresh(&mut like), 2);
    Archive::parse(&like, &Limits::default()).unwrap();
}

#[test]
fn prefixes_and_descriptors() {
    for case in ["tdz_prefixed_and_commented", "tdz_data_descriptors", "tdz_zip64"] {
        let good = golden(case);
        let mut bytes = good.clone();
        let directory = parse(&bytes);
        let stored = |index: &usize| directory.records()[*index].method() == Method::Stored;
        let index = (0..directory.records().len()).filter(stored).find(|index| {
            directory.records()[*index].name().ends_with(".memmap")
                && !directory.records()[*index].is_empty()
        });
        let entry = directory.locate(&bytes, index.unwrap()).unwrap();
        let start = usize::try_from(entry.range().start).unwrap();
        bytes[start] ^= 0x55;
        let changed = bytes.clone();
        assert!(entry.check_crc(&bytes).is_err());
        assert_eq!(refresh(&mut bytes), 2, "{case}");
        let entry = parse(&bytes).locate(&bytes, index.unwrap()).unwrap();
        entry.check_crc(&bytes).unwrap();
        let differing = bytes.iter().zip(&changed).filter(|(a, b)| a != b).count();
        assert!((2..=8).contains(&differing), "{case}: {differing}");
        // And back: the first archive comes out again.
        bytes[start] ^= 0x55;
        assert_eq!(refresh(&mut bytes), 2);
        assert!(bytes == good, "{case}");
    }
}

/// One stored entry with flag bit 3 whose descriptor is `descriptor`.
fn streamed(descriptor: &[u8]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new());
    writer.add("a", &[b"payload"], tensordict()).unwrap();
    let mut bytes = writer.finish().unwrap();
    let central = bytes.windows(4).position(|w| w == b"PK\x01\x02").unwrap();
    bytes[6] |= 8;
    bytes[central + 8] |= 8;
    bytes.splice(central..central, descriptor.iter().copied());
    let end = bytes.len() - 22;
    let offset = u32::try_from(central + descriptor.len()).unwrap();
    bytes[end + 16..end + 20].copy_from_slice(&offset.to_le_bytes());
    bytes
}

#[test]
fn descriptors_of_all_kinds() {
    let crc = crate::digest::crc32(b"payload").to_le_bytes();
    let signature = b"PK\x07\x08";
    let short = [7, 0, 0, 0, 7, 0, 0, 0];
    let long = [7, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0];
    let stale = [0; 4];
    for sizes in [&short[..], &long] {
        for before in [&signature[..], &[]] {
            let mut bytes = streamed(&[before, &stale, sizes].concat());
            assert_eq!(refresh(&mut bytes), 1);
            assert_eq!(bytes, streamed(&[before, &crc, sizes].concat()));
        }
    }
    // A checksum that looks like the signature.
    let mut bytes = streamed(&[&signature[..], &short].concat());
    assert_eq!(refresh(&mut bytes), 1);
    assert_eq!(bytes, streamed(&[&crc[..], &short].concat()));
    for wrong in [&[][..], &[0; 12], &signature[..], &[0; 3]] {
        let bytes = streamed(wrong);
        let error = parse(&bytes).refresh_crc(&bytes, 0);
        assert!(matches!(error, Err(ZipError::Descriptor { .. })), "{wrong:?}");
    }
}

#[test]
fn compressed_entries_keep_theirs() {
    let mut writer = Writer::new(Vec::new());
    writer.add("a", &[b"payload"], leaf().with_method(Method::Deflate)).unwrap();
    let mut bytes = writer.finish().unwrap();
    bytes[14] ^= 1;
    assert_eq!(refresh(&mut bytes), 0);
}
