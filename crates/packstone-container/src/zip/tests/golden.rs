//! Reading what was written by tensordict, `zipfile` and Info-ZIP.

use packstone_io::{AlignedBuf, Buf};

use super::{archives, expected, golden, parse};
use crate::Limits;
use crate::digest::{hex, sha256};
use crate::zip::{Archive, Directory, Method, ZipError};

#[test]
fn every_entry_is_as_zipfile_reads_it() {
    let mut count = 0;
    let mut methods = Vec::new();
    for case in archives() {
        let bytes = golden(&case);
        let directory = parse(&bytes);
        let expected = expected(&case);
        let table = expected.get("archive").unwrap().as_array().unwrap();
        assert_eq!(directory.records().len(), table.len(), "{case}");
        for (index, row) in table.iter().enumerate() {
            let entry = directory.locate(&bytes, index).unwrap();
            let number = |key: &str| row.get(key).unwrap().as_u64().unwrap();
            let text = |key: &str| row.get(key).unwrap().as_str().unwrap();
            let place = format!("{case} {}", text("name"));
            assert_eq!(entry.name(), text("name"), "{place}");
            assert_eq!(u64::from(entry.flags()), number("flags"), "{place}");
            assert_eq!(u64::from(entry.method().code()), number("method"), "{place}");
            assert_eq!(entry.len(), number("size"), "{place}");
            assert_eq!(entry.compressed_len(), number("compressed_size"), "{place}");
            assert_eq!(entry.header_offset(), number("header_offset"), "{place}");
            assert_eq!(entry.range().start, number("payload_offset"), "{place}");
            assert_eq!(format!("{:08x}", entry.crc32()), text("crc32"), "{place}");
            let mut out = AlignedBuf::default();
            let read = entry.read(&bytes, &mut out, &Limits::default());
            let whole = row.get("crc_ok").is_none_or(|ok| ok.as_bool().unwrap());
            match read {
                Ok(()) => assert!(whole, "{place}"),
                Err(ZipError::Crc { .. }) => {
                    assert!(!whole, "{place}");
                    out.extend_from_slice(entry.raw(&bytes).unwrap()).unwrap();
                }
                Err(error) => panic!("{place}: {error}"),
            }
            if let Some(sha) = row.get("payload_sha256") {
                assert_eq!(hex(&sha256(&out)), sha.as_str().unwrap(), "{place}");
            }
            methods.push(entry.method());
            count += 1;
        }
    }
    assert!(count > 300);
    for method in [Method::Stored, Method::Deflate, Method::Bzip2, Method::Lzma] {
        assert!(methods.contains(&method), "{method}");
    }
}

#[test]
fn most_also_pass_where_everything_must_agree() {
    for case in archives() {
        let bytes = golden(&case);
        let archive = Archive::parse(&bytes, &Limits::default()).unwrap_or_else(|error| {
            panic!("{case}: {error}");
        });
        let root = archive.find("meta.json").unwrap();
        let value = crate::json::read(root.raw(&bytes).unwrap(), &Default::default());
        // Info-ZIP and `zipfile` deflate documents, too.
        assert_eq!(value.is_ok(), root.method() == Method::Stored, "{case}");
    }
}

#[test]
fn payloads_are_views_of_the_map() {
    let bytes = Buf::from(golden("tdz_stored"));
    let directory = parse(&bytes);
    let index = directory.find("img.memmap").unwrap().unwrap();
    let view = directory.locate(&bytes, index).unwrap().view(&bytes).unwrap();
    assert_eq!(view.len(), 30);
    assert_eq!(view.as_ptr(), bytes[768..].as_ptr());
}

#[test]
fn bytes_around_the_archive() {
    let bytes = golden("tdz_prefixed_and_commented");
    let directory = parse(&bytes);
    assert!(directory.prefix_len() > 0 && directory.trailing_len() == 0);
    assert!(!directory.comment_range().is_empty());
    assert_eq!(directory.comment_range().end, bytes.len());
    let first = directory.records().iter().map(|record| record.header_offset()).min();
    assert_eq!(first, Some(directory.prefix_len()));
}

#[test]
fn every_archive_is_read_behind_other_bytes() {
    for case in ["tdz_stored", "tdz_zip64", "tdz_data_descriptors", "tdz_zip_cli_deflate"] {
        let plain = golden(case);
        let bytes = [&b"#!/bin/sh\nPK\x05\x06"[..], &plain, b"and after"].concat();
        let (before, after) = (parse(&plain), parse(&bytes));
        assert_eq!((after.prefix_len(), after.trailing_len()), (14, 9), "{case}");
        for index in 0..before.records().len() {
            let [a, b] = [
                before.locate(&plain, index).unwrap().raw(&plain).unwrap(),
                after.locate(&bytes, index).unwrap().raw(&bytes).unwrap(),
            ];
            assert!(a == b, "{case} {index}");
            after.compare_local(&bytes, index).unwrap();
        }
    }
}

#[test]
fn names_under_a_prefix() {
    let bytes = golden("tdz_stored");
    let directory = parse(&bytes);
    let under = |prefix: &str| -> Vec<&str> {
        directory.under(prefix).map(|at| directory.records()[at].name()).collect()
    };
    assert_eq!(under("lazy/0/"), ["lazy/0/meta.json", "lazy/0/v.memmap"]);
    assert_eq!(under("").len(), 18);
    assert!(under("lazy/2").is_empty() && under("lazyy").is_empty());
    assert!(directory.find("lazy/").unwrap().is_none());
    assert_eq!(directory.duplicates().count(), 0);
}

#[test]
fn utf8_names_without_the_flag() {
    let bytes = golden("bad/archive_utf8_names_unflagged");
    let directory = parse(&bytes);
    for (name, misread) in [("é.memmap", "├⌐.memmap"), ("n/日.memmap", "n/µùÑ.memmap")] {
        let index = directory.find(name).unwrap().unwrap();
        assert_eq!(directory.find(misread).unwrap(), Some(index));
        let record = &directory.records()[index];
        assert_eq!((record.name(), record.unflagged_name()), (misread, Some(name)));
        assert_eq!((record.raw_name(), record.utf8_name()), (name.as_bytes(), false));
        assert_eq!(directory.under(name).collect::<Vec<_>>(), [index]);
        assert_eq!(directory.under(misread).collect::<Vec<_>>(), [index]);
    }
    assert_eq!(directory.under("n/").count(), 2);
    let flagged = golden("tdz_keys");
    let directory = parse(&flagged);
    let index = directory.find("é.memmap").unwrap().unwrap();
    assert!(directory.records()[index].utf8_name());
    assert_eq!(directory.records()[index].unflagged_name(), None);
    assert_eq!(directory.under("é").collect::<Vec<_>>(), [index]);
    assert_eq!(directory.find("├⌐.memmap").unwrap(), None);
}

/// Everything that is wrong with an archive, found without any file of the dataset but the documents.
fn faults(bytes: &[u8]) -> Vec<ZipError> {
    let directory = match Directory::parse(bytes, &Limits::default()) {
        Ok(directory) => directory,
        Err(error) => return vec![error],
    };
    let twice = directory.duplicates().map(|at| {
        let name = directory.records()[at].name().to_owned();
        ZipError::Duplicate { name }
    });
    let limits = Limits::default().with_decoded_bytes(64 << 20);
    let broken = (0..directory.records().len()).filter_map(|index| {
        let mut out = AlignedBuf::default();
        let read = directory.locate(bytes, index).and_then(|e| e.read(bytes, &mut out, &limits));
        read.err()
    });
    twice.chain(broken).collect()
}

#[test]
fn each_damage_has_its_error() {
    let faults = |case: &str| faults(&golden(&format!("bad/{case}")));
    macro_rules! found {
        ($case:literal, $($error:pat),+) => {
            let found = faults($case);
            assert!(matches!(&found[..], [$($error),+]), "{}: {found:?}", $case);
        };
    }
    found!("not_a_zip", ZipError::NoEnd { .. });
    found!("archive_truncated", ZipError::NoEnd { .. });
    found!("archive_hole", ZipError::DirectoryOutside { .. });
    found!("archive_offset_past_end", ZipError::Truncated { what: "local header", .. });
    found!("archive_size_past_end", ZipError::Outside { .. });
    found!("archive_local_name_differs", ZipError::LocalName { .. });
    found!("archive_encrypted_flag", ZipError::Encrypted { .. });
    found!("archive_duplicate_entries", ZipError::Duplicate { .. }, ZipError::Duplicate { .. });
    found!("archive_deflate_crc", ZipError::Crc { .. });
    found!("archive_deflate_garbage", ZipError::Damaged { method: Method::Deflate, .. });
    found!("archive_meta_flipped", ZipError::Crc { .. });
    found!("archive_stored_payload_flipped", ZipError::Crc { .. });
    let unknown = Method::Other(93);
    let found = faults("archive_unknown_method");
    assert!(matches!(found[..], [ZipError::Unsupported { method, .. }] if method == unknown));
    let found = faults("archive_overlap");
    assert!(found.iter().any(|error| matches!(error, ZipError::Overlap { .. })), "{found:?}");
    for sound in ["archive_bomb", "archive_leaf_too_long", "archive_traversal_names"] {
        assert!(faults(sound).is_empty(), "{sound}");
    }
}

#[test]
fn a_bomb_is_refused_before_it_goes_off() {
    let bytes = golden("bad/archive_bomb");
    let directory = parse(&bytes);
    let bomb = directory.records().iter().position(|record| record.len() > 1 << 20).unwrap();
    let entry = directory.locate(&bytes, bomb).unwrap();
    let error = entry.expect_len(16).unwrap_err();
    let whole = "expected 16 bytes of data in entry";
    assert!(error.to_string().starts_with(whole), "{error}");
    let mut out = AlignedBuf::default();
    let tight = Limits::default().with_decoded_bytes(1 << 20);
    assert!(matches!(entry.read(&bytes, &mut out, &tight), Err(ZipError::Limit { .. })));
}

#[test]
fn one_unusable_entry_leaves_the_others_readable() {
    let bytes = golden("bad/archive_encrypted_flag");
    assert!(matches!(Archive::parse(&bytes, &Limits::default()), Err(ZipError::Encrypted { .. })));
    let directory = parse(&bytes);
    let usable = |index: &usize| directory.locate(&bytes, *index).is_ok();
    assert_eq!(
        (0..directory.records().len()).filter(usable).count() + 1,
        directory.records().len()
    );
}
