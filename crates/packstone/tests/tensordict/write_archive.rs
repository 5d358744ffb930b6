//! Archives: packed, unpacked, refreshed; the library's bytes, and what is refused.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use packstone::formats::tensordict::codes;
use packstone::formats::tensordict::options::{SaveOptions, TreeOptions};
use packstone::formats::tensordict::parts::files::Files;
use packstone::formats::tensordict::parts::pack::{self, pack};
use packstone::formats::tensordict::parts::refresh::{Refreshed, refresh};
use packstone::formats::tensordict::parts::save::save;
use packstone::formats::tensordict::parts::unpack::unpack;
use packstone::model::DType;
use packstone::{Error, Kind, Limits, MemoryRoot, Root, RootMut, site};
use packstone_container::zip::Method;
use packstone_io::{FaultyRoot, SoleFile};
use packstone_testkit::{golden_folder, good_cases};

use crate::kit::verdict;
use crate::write_kit::{content, dict, leaf, local, memory, path, values};

fn golden(case: &str) -> PathBuf {
    golden_folder("tensordict").join(case).join("data.tdz")
}

fn source(path: &Path) -> Arc<dyn Root> {
    site::root(path).unwrap()
}

fn unpacked(archive: &Path, root: &Arc<dyn RootMut>, at: &str) -> Result<(), Error> {
    let (limits, options) = (Limits::default(), SaveOptions::default());
    unpack(source(archive), root, &path(at), &limits, &options, None).map(drop)
}

fn packed(
    from: &Path,
    root: &Arc<dyn RootMut>,
    at: &str,
    options: &SaveOptions,
) -> Result<(), Error> {
    let reading = TreeOptions::default();
    pack(source(from), root, &path(at), false, &reading, options, None).map(drop)
}

fn u16_at(bytes: &[u8], at: usize) -> usize {
    usize::from(u16::from_le_bytes([bytes[at], bytes[at + 1]]))
}

/// Where the dates of an archive without prefix and comment stand: in the central directory and in the local headers.
fn places(bytes: &[u8]) -> Vec<[usize; 2]> {
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let end = bytes.len() - 22;
    assert_eq!(word(end), 0x0605_4b50);
    let mut at = word(end + 16) as usize;
    let mut places = Vec::new();
    for _ in 0..u16_at(bytes, end + 10) {
        places.push([at + 12, word(at + 42) as usize + 10]);
        at += 46 + u16_at(bytes, at + 28) + u16_at(bytes, at + 30) + u16_at(bytes, at + 32);
    }
    places
}

fn dates(bytes: &[u8]) -> Vec<u32> {
    let date = |[at, _]: [usize; 2]| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    places(bytes).into_iter().map(date).collect()
}

fn wipe_dates(bytes: &mut [u8]) {
    for at in places(bytes).into_iter().flatten() {
        bytes[at..at + 4].fill(0);
    }
}

/// Archives of the library, with their compression.
const LIBRARY: [(&str, Method); 11] = [
    ("tdz_stored", Method::Stored),
    ("tdz_deflate", Method::Deflate),
    ("tdz_bzip2", Method::Bzip2),
    ("tdz_lzma", Method::Lzma),
    ("tdz_keys", Method::Stored),
    ("tdz_pack_memmap", Method::Stored),
    ("tdz_lazy_and_views", Method::Stored),
    ("tdz_json_types", Method::Stored),
    ("tdz_pickle", Method::Stored),
    ("tdz_all_dtypes", Method::Stored),
    ("tdz_rplus_refreshed_crc", Method::Stored),
];

#[test]
fn archives_of_the_library_are_rebuilt_byte_for_byte() {
    let (temp, root) = local();
    for (case, method) in LIBRARY {
        let archive = golden(case);
        unpacked(&archive, &root, case).unwrap();
        let mut want = std::fs::read(&archive).unwrap();
        let dates = dates(&want);
        let date = dates[0];
        let options = SaveOptions::default().with_method(method).with_modified(date);
        let name = format!("{case}.tdz");
        packed(&temp.path().join(case), &root, &name, &options).unwrap();
        let ours = std::fs::read(temp.path().join(&name)).unwrap();
        let mut found = ours.clone();
        // Where the library took longer than two seconds, its entries have several dates.
        if dates.iter().any(|other| *other != date) {
            [&mut found, &mut want].into_iter().for_each(|bytes| wipe_dates(bytes));
        }
        assert_eq!(found, want, "{case}");
        // Packing an archive gives the same as packing the folder that it was.
        let again = format!("{case}_again.tdz");
        packed(&archive, &root, &again, &options).unwrap();
        assert_eq!(std::fs::read(temp.path().join(&again)).unwrap(), ours, "{case}");
        // And without a date given, equal trees give equal archives.
        let [one, other] = ["one.tdz", "other.tdz"].map(|name| {
            packed(&archive, &root, name, &SaveOptions::default().with_replace(true)).unwrap();
            std::fs::read(temp.path().join(name)).unwrap()
        });
        assert_eq!(one, other);
        assert!(self::dates(&one).iter().all(|date| *date == 0x0021_0000));
    }
}

/// One file of a root in memory.
fn sole(files: &MemoryRoot, at: &str) -> Arc<dyn Root> {
    Arc::new(SoleFile::new(files.clone(), path(at), at))
}

#[test]
fn what_is_packed_and_unpacked_is_the_same_tree() {
    let mut methods =
        [Method::Stored, Method::Deflate, Method::Bzip2, Method::Lzma].into_iter().cycle();
    let mut done = 0;
    for case in good_cases("tensordict").into_iter().filter(|case| case.data.is_dir()) {
        let files = MemoryRoot::new();
        let root: Arc<dyn RootMut> = Arc::new(files.clone());
        let robust = case.expected.get("load").and_then(|load| load.get("robust_key")).unwrap();
        let reading = TreeOptions::default().with_robust_key(robust.as_bool().unwrap());
        let options = SaveOptions::default().with_method(methods.next().unwrap()).with_threads(2);
        let through = |stray: bool, at: &str| {
            let archive = format!("{at}.tdz");
            pack(source(&case.data), &root, &path(&archive), stray, &reading, &options, None)?;
            let limits = Limits::default();
            unpack(sole(&files, &archive), &root, &path(at), &limits, &options, None)?;
            Ok::<_, Error>(memory(&files, at))
        };
        let (found, all, want) =
            (through(false, "x").unwrap(), through(true, "all").unwrap(), content(&case.data));
        // Nothing is made up, and what is missing or shorter no document names.
        for (file, bytes) in &found {
            assert!(want[file].starts_with(bytes), "{}: {file}", case.name);
        }
        assert_eq!(
            all.keys().collect::<Vec<_>>(),
            want.keys().collect::<Vec<_>>(),
            "{}",
            case.name
        );
        done += 1;
    }
    assert!(done > 80);
}

#[test]
fn files_that_no_document_names_are_left_out_unless_they_are_wanted() {
    let (temp, root) = local();
    save(
        &root,
        &path("x"),
        &dict(&[], vec![("a", leaf(DType::Int8, &[3]))]),
        &SaveOptions::default(),
    )
    .unwrap();
    let x = temp.path().join("x");
    let stray = |at: &str| {
        let (reading, options) = (TreeOptions::default(), SaveOptions::default());
        pack(source(&x), &root, &path(at), true, &reading, &options, None)
    };
    std::fs::create_dir(x.join("old")).unwrap();
    std::fs::write(x.join("old/b.memmap"), b"old").unwrap();
    std::fs::write(x.join("notes.txt"), b"mine").unwrap();
    std::fs::write(x.join(".packstone-0123456789abcdef.tmp"), b"half").unwrap();
    packed(&x, &root, "x.tdz", &SaveOptions::default()).unwrap();
    unpacked(&temp.path().join("x.tdz"), &root, "y").unwrap();
    assert_eq!(
        content(&temp.path().join("y")).keys().collect::<Vec<_>>(),
        ["a.memmap", "meta.json"]
    );
    stray("z.tdz").unwrap();
    unpacked(&temp.path().join("z.tdz"), &root, "z").unwrap();
    assert_eq!(
        content(&temp.path().join("z")).keys().collect::<Vec<_>>(),
        ["a.memmap", "meta.json", "notes.txt", "old/b.memmap"]
    );
    // A link is no file to pack, whether it is named or not.
    symlink("/etc/passwd", x.join("link")).unwrap();
    packed(&x, &root, "w.tdz", &SaveOptions::default()).unwrap();
    let error = stray("v.tdz").unwrap_err();
    assert_eq!(error.code(), codes::SYMLINK);
    assert!(!temp.path().join("v.tdz").exists());
}

#[test]
fn damaged_trees_are_not_packed() {
    let (temp, root) = local();
    for (case, code) in [
        ("truncated_leaf", codes::TRUNCATED_LEAF),
        ("missing_leaf", codes::MISSING_LEAF),
        ("missing_nested_dir", codes::MISSING_COLLECTION),
        ("nested_negative_size", codes::BAD_SHAPE),
        ("stack_pickle_missing", codes::MISSING_VALUE),
        ("symlink_leaf", codes::SYMLINK),
        ("symlink_cycle", codes::CYCLE),
        ("missing_meta", "format/unrecognized"),
    ] {
        let data = golden_folder("tensordict").join("bad").join(case).join("data");
        match packed(&data, &root, "x.tdz", &SaveOptions::default()) {
            Ok(()) => panic!("{case} was packed"),
            Err(error) => {
                assert!([code, codes::MISSING_META].contains(&error.code()), "{case}: {error}")
            }
        }
        assert_eq!(std::fs::read_dir(temp.path()).unwrap().count(), 0, "{case}");
    }
}

#[test]
fn hostile_archives_are_not_unpacked() {
    let (temp, root) = local();
    for (case, allowed) in [
        ("archive_bomb", &[codes::SIZE_MISMATCH][..]),
        ("archive_leaf_too_long", &[codes::SIZE_MISMATCH]),
        ("archive_leaf_too_short", &[codes::SIZE_MISMATCH]),
        ("archive_traversal_names", &[codes::PATH_ESCAPE]),
        ("archive_duplicate_entries", &[codes::DUPLICATE_ENTRY]),
        ("archive_meta_flipped", &[codes::CRC_MISMATCH]),
        ("archive_stored_payload_flipped", &[codes::CRC_MISMATCH]),
        ("archive_deflate_crc", &[codes::CRC_MISMATCH]),
        ("archive_deflate_garbage", &[codes::CORRUPT_ZIP, codes::CRC_MISMATCH]),
        ("archive_encrypted_flag", &[codes::ENCRYPTED_ENTRY]),
        ("archive_unknown_method", &[codes::UNSUPPORTED_COMPRESSION]),
        ("archive_overlap", &[codes::CORRUPT_ZIP]),
        ("archive_hole", &[codes::CORRUPT_ZIP]),
        ("archive_local_name_differs", &[codes::CORRUPT_ZIP]),
        ("archive_truncated", &[codes::NOT_AN_ARCHIVE]),
        ("archive_no_root_meta", &[codes::NOT_AN_ARCHIVE]),
        ("not_a_zip", &[codes::NOT_AN_ARCHIVE]),
    ] {
        let archive = golden_folder("tensordict").join("bad").join(case).join("data.tdz");
        let error = unpacked(&archive, &root, "x").unwrap_err();
        assert!(allowed.contains(&error.code()), "{case}: {error}");
        assert_eq!(std::fs::read_dir(temp.path()).unwrap().count(), 0, "{case}: nothing is left");
    }
    let stale = golden("tdz_rplus_stale_crc");
    assert_eq!(unpacked(&stale, &root, "x").unwrap_err().code(), codes::CRC_MISMATCH);
    // Names in UTF-8 without the flag are what they say.
    let unflagged = golden_folder("tensordict").join("bad/archive_utf8_names_unflagged/data.tdz");
    unpacked(&unflagged, &root, "x").unwrap();
    let names: Vec<String> = content(&temp.path().join("x")).into_keys().collect();
    assert!(names.iter().any(|name| !name.is_ascii()), "{names:?}");
    assert!(names.iter().all(|name| !name.contains('├')), "{names:?}");
}

#[test]
fn unpacking_never_goes_through_a_link_or_over_a_file() {
    let (temp, root) = local();
    let outside = tempfile::tempdir().unwrap();
    symlink(outside.path(), temp.path().join("link")).unwrap();
    std::fs::write(temp.path().join("file"), b"mine").unwrap();
    let archive = golden("tdz_stored");
    for at in ["link", "file"] {
        let error = unpacked(&archive, &root, at).unwrap_err();
        assert!([Kind::Denied, Kind::Exists].contains(&error.kind()), "{at}: {error}");
    }
    // A folder above that is a link leads out, too.
    let error = unpacked(&archive, &root, "link/x").unwrap_err();
    assert_eq!(error.kind(), Kind::Denied);
    unpacked(&archive, &root, "x").unwrap();
    assert_eq!(unpacked(&archive, &root, "x").unwrap_err().kind(), Kind::Exists);
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0);
}

fn refreshed(archive: &Path) -> Result<Refreshed, Error> {
    refresh(&site::root(archive).unwrap(), &Limits::default(), None)
}

#[test]
fn refreshing_gives_the_bytes_that_the_library_gives() {
    let (temp, root) = local();
    let file = temp.path().join("a.tdz");
    let put = |case: &str| std::fs::copy(golden(case), &file).unwrap();
    put("tdz_rplus_stale_crc");
    let want = Refreshed { stored: 5, changed: 2, compressed: 0 };
    assert_eq!(refreshed(&file).unwrap(), want);
    assert_eq!(
        std::fs::read(&file).unwrap(),
        std::fs::read(golden("tdz_rplus_refreshed_crc")).unwrap()
    );
    assert_eq!(refreshed(&file).unwrap().changed, 0);
    // Prefixed archives, descriptors and compressed entries: only what was stored and changed is touched.
    for case in ["tdz_prefixed_and_commented", "tdz_data_descriptors", "tdz_deflate", "tdz_zip64"] {
        put(case);
        let before = std::fs::read(&file).unwrap();
        let found = refreshed(&file).unwrap();
        assert_eq!((found.changed, std::fs::read(&file).unwrap()), (0, before), "{case}");
        assert!(found.compressed > 0 || case != "tdz_deflate");
    }
    // What was preallocated and filled has the checksums of zeros until then.
    put("tdz_memmap_like");
    assert!(unpacked(&file, &root, "x").is_err());
    assert!(refreshed(&file).unwrap().changed > 0);
    unpacked(&file, &root, "x").unwrap();
    for case in ["archive_truncated", "archive_overlap", "not_a_zip"] {
        let bad = golden_folder("tensordict").join("bad").join(case).join("data.tdz");
        let before = std::fs::read(&bad).unwrap();
        std::fs::write(&file, &before).unwrap();
        assert!(refreshed(&file).is_err(), "{case}");
        assert_eq!(std::fs::read(&file).unwrap(), before, "{case}");
    }
}

#[test]
fn an_archive_replaces_another_as_a_whole_and_keeps_its_permissions() {
    let (temp, root) = local();
    let [small, large] = [3, 300].map(|n| dict(&[], vec![("a", leaf(DType::Int8, &[n]))]));
    let options = SaveOptions::default();
    let write = |node, options: &SaveOptions| {
        let files = Files::of(node, options)?;
        pack::write(&root, &path("a.tdz"), files, options, None)
    };
    write(&large, &options).unwrap();
    let file = temp.path().join("a.tdz");
    let before = std::fs::read(&file).unwrap();
    assert_eq!(write(&small, &options).unwrap_err().kind(), Kind::Exists);
    assert_eq!(std::fs::read(&file).unwrap(), before);
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
    let saved = write(&small, &options.clone().with_replace(true)).unwrap();
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(saved.bytes, std::fs::metadata(&file).unwrap().len());
    assert_eq!(std::fs::read_dir(temp.path()).unwrap().count(), 1);
}

#[test]
fn a_fault_at_any_operation_leaves_the_old_archive_or_none() {
    let node = dict(&[2], vec![("a", leaf(DType::Int8, &[2, 90_000])), ("w", values("[1, 2]"))]);
    for method in [Method::Stored, Method::Deflate] {
        let options = SaveOptions::default().with_replace(true).with_method(method);
        for old in [None, Some(b"old".to_vec())] {
            for good in 0.. {
                let files = MemoryRoot::new();
                if let Some(old) = &old {
                    files.create(&path("a.tdz"), old).unwrap();
                }
                let faulty: Arc<dyn RootMut> = Arc::new(FaultyRoot::new(files.clone(), good));
                let planned = Files::of(&node, &options).unwrap();
                if pack::write(&faulty, &path("a.tdz"), planned, &options, None).is_ok() {
                    assert!(good > 2);
                    break;
                }
                let now = memory(&files, "");
                assert!(now.len() <= 1);
                // An archive that has its name and whose name did not reach the disk is whole.
                if now.get("a.tdz") != old.as_ref() {
                    assert!(verdict(sole(&files, "a.tdz")).is_empty(), "after {good}");
                }
            }
        }
    }
}

#[test]
fn a_fault_while_unpacking_leaves_nothing_to_see() {
    let archive = golden("tdz_stored");
    for good in 0.. {
        let files = MemoryRoot::new();
        let faulty: Arc<dyn RootMut> = Arc::new(FaultyRoot::new(files.clone(), good));
        if unpacked(&archive, &faulty, "x").is_ok() {
            assert!(good > 20, "{good}");
            break;
        }
        assert!(memory(&files, "x").is_empty(), "after {good}");
    }
}
