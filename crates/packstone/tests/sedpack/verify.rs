//! What a check compares, in which order, and that it goes on.

use std::sync::Arc;

use packstone::format::AuditOptions;
use packstone::formats::sedpack::codes;
use packstone::formats::sedpack::reader::checksums;
use packstone::model::{Finding, Severity};
use packstone::{MemoryRoot, Root, RootMut};
use packstone_container::digest::Algorithm;

use crate::kit::{self, Made, document, flat, list, path, pointer, put, sha256, shard_entry};

const ATTRIBUTES: &str = r#"[{"name": "x", "dtype": "uint8", "shape": [2]}]"#;

fn shard(n: u8) -> Vec<u8> {
    flat(&[vec![Some(&[n, n])], vec![Some(&[n, 0])]])
}

fn made(count: u8) -> MemoryRoot {
    let shards = (0..count).map(|n| (shard(n), 2)).collect();
    Made { shard_type: "fb", compression: "", attributes: ATTRIBUTES, shards }.root()
}

fn found(root: &MemoryRoot, options: &AuditOptions) -> Vec<(Option<String>, &'static str)> {
    let findings = kit::check(Arc::new(root.clone()), options).unwrap();
    findings.into_iter().map(|f: Finding| (f.place.file, f.code)).collect()
}

fn at(file: &str) -> Option<String> {
    Some(file.to_owned())
}

#[test]
fn all_faults_are_reported_not_only_the_first() {
    let root = made(4);
    root.remove(&path("train/0.fb")).unwrap();
    let mut bytes = root.read(&path("train/2.fb")).unwrap().to_vec();
    *bytes.last_mut().unwrap() ^= 1;
    put(&root, "train/2.fb", bytes);
    put(&root, "train/extra.fb", "x");
    let mut all = found(&root, &AuditOptions::default());
    all.sort();
    assert_eq!(
        all,
        [
            (at("train/0.fb"), codes::MISSING_FILE),
            (at("train/2.fb"), codes::HASH_MISMATCH),
            (at("train/extra.fb"), codes::UNLISTED_FILE),
        ]
    );
    // Opening and counting do not care.
    use packstone::format::Dataset;
    let train = kit::open(Arc::new(root.clone())).unwrap().collection("train").unwrap();
    assert_eq!((train.len(), train.shard_count()), (8, 4));
    assert_eq!(kit::read(Arc::new(root)).unwrap_err().code(), codes::MISSING_FILE);
}

#[test]
fn the_root_is_read_anew_and_held_against_noted_checksums() {
    let root = made(1);
    let dataset = kit::open(Arc::new(root.clone())).unwrap();
    let noted = dataset.metadata_checksums().unwrap();
    assert_eq!(noted, [sha256(&root.read(&path("dataset_info.json")).unwrap())]);
    let expect = AuditOptions { expect: noted.clone(), ..AuditOptions::default() };
    assert_eq!(found(&root, &expect), []);
    let upper = AuditOptions { expect: vec![noted[0].to_uppercase()], ..AuditOptions::default() };
    assert_eq!(found(&root, &upper), []);
    // A harmless change: seen only by those who noted the checksum, also by the dataset that was open before.
    let text = root.read(&path("dataset_info.json")).unwrap();
    put(&root, "dataset_info.json", [&text[..], b"\n"].concat());
    assert_eq!(found(&root, &AuditOptions::default()), []);
    assert_eq!(found(&root, &expect), [(at("dataset_info.json"), codes::HASH_MISMATCH)]);
    let quick = AuditOptions { quick: true, ..expect };
    assert_eq!(found(&root, &quick), [(at("dataset_info.json"), codes::HASH_MISMATCH)]);
    assert_ne!(dataset.metadata_checksums().unwrap(), noted);
    put(&root, "dataset_info.json", "{");
    let error = kit::check(Arc::new(root), &AuditOptions::default()).unwrap_err();
    assert_eq!(error.code(), codes::JSON_INVALID);
}

#[test]
fn a_list_is_compared_before_it_is_parsed() {
    for text in ["{ no json", "{}", "", r#"{"relative_path_self": "../x"}"#] {
        let root = made(1);
        put(&root, "train/shards_list.json", text);
        let all = found(&root, &AuditOptions::default());
        assert_eq!(all, [(at("train/shards_list.json"), codes::HASH_MISMATCH)], "{text}");
    }
}

#[test]
fn counts_are_held_against_each_other_at_every_level() {
    let sum = sha256(&shard(0));
    let whole =
        |listed: u64, inner: u64, up: u64, shards: usize, split: u64, split_shards: usize| {
            let root = MemoryRoot::new();
            put(&root, "train/a/0.fb", shard(0));
            let leaf = "train/a/shards_list.json";
            let text = list(leaf, inner, &[shard_entry("train/a/0.fb", &sum, listed)], &[]);
            let child = pointer(leaf, &sha256(text.as_bytes()), up, shards);
            put(&root, leaf, text);
            let top = "train/shards_list.json";
            let text = list(top, up, &[], &[child]);
            let train = pointer(top, &sha256(text.as_bytes()), split, split_shards);
            put(&root, top, text);
            put(&root, "dataset_info.json", document("fb", "", ATTRIBUTES, &train));
            root
        };
    let good = whole(2, 2, 2, 1, 2, 1);
    assert_eq!(kit::verdict(Arc::new(good)), kit::clean());
    let (leaf, top) = ("train/a/shards_list.json", "train/shards_list.json");
    for (root, file) in [
        (whole(3, 3, 3, 1, 3, 1), "train/a/0.fb"),
        (whole(2, 3, 3, 1, 3, 1), leaf),
        (whole(2, 2, 3, 1, 3, 1), leaf),
        (whole(2, 2, 2, 2, 2, 2), leaf),
        (whole(2, 2, 2, 1, 3, 1), top),
        (whole(2, 2, 2, 1, 2, 9), top),
    ] {
        assert_eq!(
            kit::verdict(Arc::new(root.clone())),
            kit::error(codes::COUNT_MISMATCH),
            "{file}"
        );
        let files: Vec<_> = found(&root, &AuditOptions::default());
        assert_eq!(files, [(at(file), codes::COUNT_MISMATCH)]);
        assert_eq!(kit::read(Arc::new(root)).unwrap_err().code(), codes::COUNT_MISMATCH, "{file}");
    }
}

#[test]
fn each_file_is_listed_once_and_lists_end() {
    let sum = sha256(&shard(0));
    let at_list = "train/shards_list.json";
    let with = |text: String, examples, shards| {
        let root = MemoryRoot::new();
        put(&root, "train/0.fb", shard(0));
        let train = pointer(at_list, &sha256(text.as_bytes()), examples, shards);
        put(&root, at_list, text);
        put(&root, "dataset_info.json", document("fb", "", ATTRIBUTES, &train));
        root
    };
    let entry = || shard_entry("train/0.fb", &sum, 2);
    let twice = with(list(at_list, 2, &[entry(), entry()], &[]), 2, 1);
    assert_eq!(kit::verdict(Arc::new(twice.clone())), kit::error(codes::DUPLICATE_SHARD));
    assert_eq!(kit::read(Arc::new(twice)).unwrap_err().code(), codes::DUPLICATE_SHARD);
    let own = with(list(at_list, 2, &[entry()], &[pointer(at_list, "00", 2, 1)]), 2, 1);
    let codes_of: Vec<_> = kit::verdict(Arc::new(own.clone())).into_iter().map(|f| f.1).collect();
    assert_eq!(codes_of, [codes::METADATA_CYCLE]);
    assert_eq!(kit::read(Arc::new(own)).unwrap_err().code(), codes::METADATA_CYCLE);
    // A ring of three lists.
    let root = with(list(at_list, 2, &[], &[pointer("train/a/shards_list.json", "", 2, 1)]), 2, 1);
    for (here, next) in [("train/a", "train/b"), ("train/b", "train")] {
        let file = format!("{here}/shards_list.json");
        put(
            &root,
            &file,
            list(&file, 2, &[], &[pointer(&format!("{next}/shards_list.json"), "", 2, 1)]),
        );
    }
    let quick = AuditOptions { quick: true, ..AuditOptions::default() };
    root.remove(&path("train/0.fb")).unwrap();
    assert_eq!(found(&root, &quick), [(at(at_list), codes::METADATA_CYCLE)]);
    assert_eq!(kit::read(Arc::new(root)).unwrap_err().code(), codes::METADATA_CYCLE);
}

#[test]
fn a_chain_of_lists_deeper_than_any_writer_makes_is_refused_without_harm() {
    let root = MemoryRoot::new();
    let depth = 1000;
    let name = |n: usize| format!("train/{n}/shards_list.json");
    for n in 0..depth {
        put(&root, &name(n), list(&name(n), 0, &[], &[pointer(&name(n + 1), "", 0, 0)]));
    }
    put(&root, &name(depth), list(&name(depth), 0, &[], &[]));
    put(&root, "dataset_info.json", document("fb", "", ATTRIBUTES, &pointer(&name(0), "", 0, 0)));
    let error = kit::read(Arc::new(root.clone())).unwrap_err();
    assert_eq!(error.code(), codes::METADATA_CYCLE);
    let quick = AuditOptions { quick: true, ..AuditOptions::default() };
    assert_eq!(found(&root, &quick), []);
}

#[test]
fn quick_looks_at_structure_sizes_and_counts_only() {
    let root = made(3);
    let quick = AuditOptions { quick: true, ..AuditOptions::default() };
    let mut bytes = root.read(&path("train/1.fb")).unwrap().to_vec();
    *bytes.last_mut().unwrap() ^= 1;
    put(&root, "train/1.fb", bytes);
    assert_eq!(found(&root, &quick), []);
    assert_eq!(found(&root, &AuditOptions::default()), [(at("train/1.fb"), codes::HASH_MISMATCH)]);
    put(&root, "train/1.fb", "");
    root.remove(&path("train/2.fb")).unwrap();
    let mut all = found(&root, &quick);
    all.sort();
    assert_eq!(
        all,
        [(at("train/1.fb"), codes::FLATBUFFER_INVALID), (at("train/2.fb"), codes::MISSING_FILE)]
    );
    // The code is that of the type of shards.
    for (shard_type, compression, code) in [
        ("npz", "", codes::NPZ_INVALID),
        ("tfrec", "", codes::COUNT_MISMATCH),
        ("fb", "GZIP", codes::DECOMPRESS_ERROR),
        ("tfrec", "ZLIB", codes::DECOMPRESS_ERROR),
    ] {
        let shards = vec![(Vec::new(), 1)];
        let root = Made { shard_type, compression, attributes: ATTRIBUTES, shards }.root();
        let name = at(&format!("train/0.{shard_type}"));
        for options in [&quick, &AuditOptions::default()] {
            assert_eq!(found(&root, options), [(name.clone(), code)], "{shard_type} {compression}");
        }
    }
}

#[test]
fn checksums_are_compared_by_number_order_and_value() {
    let with = |algorithms: &str, sums: &str| {
        let root = made(1);
        let entry = shard_entry("train/0.fb", "X", 2).replace(r#"["X"]"#, sums);
        let text = list("train/shards_list.json", 2, &[entry], &[]);
        let names: Vec<Algorithm> = match algorithms {
            "[]" => Vec::new(),
            _ => vec![Algorithm::Md5, Algorithm::Xxh64, Algorithm::Md5],
        };
        let own: Vec<_> =
            checksums(&names, text.as_bytes()).iter().map(|s| format!("\"{s}\"")).collect();
        put(&root, "train/shards_list.json", text);
        let train = pointer("train/shards_list.json", "X", 2, 1)
            .replace(r#"["X"]"#, &format!("[{}]", own.join(",")));
        let document = document("fb", "", ATTRIBUTES, &train).replace(r#"["sha256"]"#, algorithms);
        put(&root, "dataset_info.json", document);
        kit::verdict(Arc::new(root))
    };
    let three = r#"["md5", "xxh64", "md5"]"#;
    let sums = checksums(&[Algorithm::Md5, Algorithm::Xxh64], &shard(0));
    let (md5, xxh) = (&sums[0], &sums[1]);
    assert_eq!(with(three, &format!(r#"["{md5}", "{xxh}", "{md5}"]"#)), kit::clean());
    assert_eq!(
        with(three, &format!(r#"["{xxh}", "{md5}", "{md5}"]"#)),
        kit::error(codes::HASH_MISMATCH)
    );
    assert_eq!(
        with(three, &format!(r#"["{md5}", "{xxh}", "00"]"#)),
        kit::error(codes::HASH_MISMATCH)
    );
    assert_eq!(
        with(three, &format!(r#"["{md5}", "{xxh}"]"#)),
        kit::error(codes::HASH_COUNT_MISMATCH)
    );
    assert_eq!(with(three, "[]"), kit::error(codes::HASH_COUNT_MISMATCH));
    assert_eq!(with("[]", "[]"), kit::clean());
    assert_eq!(with("[]", &format!(r#"["{md5}"]"#)), kit::error(codes::HASH_COUNT_MISMATCH));
}

#[test]
fn checksums_of_abc_are_the_published_ones() {
    let names = ["md5", "sha1", "sha256", "xxh32", "xxh64", "xxh128"];
    let algorithms = names.map(|name| Algorithm::from_name(name).unwrap());
    assert_eq!(
        checksums(&algorithms, b"abc"),
        [
            "900150983cd24fb0d6963f7d28e17f72",
            "a9993e364706816aba3e25717850c26c9cd0d89d",
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
            "32d153ff",
            "44bc2cf5ad770999",
            "06b05ab6733a618578af5f94892f3950",
        ]
    );
}

#[test]
fn reading_with_checksums_yields_nothing_of_a_changed_shard() {
    let root = made(1);
    let mut bytes = root.read(&path("train/0.fb")).unwrap().to_vec();
    let value = bytes.len() - 4;
    bytes[value] = 99;
    put(&root, "train/0.fb", bytes);
    let plain = kit::read(Arc::new(root.clone())).unwrap();
    assert_eq!(plain[1][0][0], 99, "without checksums a changed value is data");
    let limits = packstone::Limits::default();
    let error = kit::read_with(Arc::new(root), true, limits).unwrap_err();
    assert_eq!(error.code(), codes::HASH_MISMATCH);
}

#[test]
fn a_full_check_decodes_what_checksums_accept() {
    let text = r#"[{"name": "s", "dtype": "str", "shape": []}]"#;
    for (attributes, bytes, code) in [
        (text, flat(&[vec![Some(b"\xff")]]), codes::INVALID_UTF8),
        (ATTRIBUTES, flat(&[vec![Some(b"abc")]]), codes::ATTRIBUTE_SIZE_MISMATCH),
        (ATTRIBUTES, flat(&[vec![Some(b"ab"), Some(b"cd")]]), codes::ATTRIBUTE_COUNT_MISMATCH),
        (ATTRIBUTES, b"garbage!".to_vec(), codes::FLATBUFFER_INVALID),
        (ATTRIBUTES, shard(0), codes::COUNT_MISMATCH),
    ] {
        let shards = vec![(bytes, 1)];
        let root = Made { shard_type: "fb", compression: "", attributes, shards }.root();
        assert_eq!(kit::verdict(Arc::new(root)), kit::error(code));
    }
    // The same bytes under another dtype of their size cannot be told apart.
    let signed = r#"[{"name": "x", "dtype": "int16", "shape": []}]"#;
    let shards = vec![(shard(0), 2)];
    let root = Made { shard_type: "fb", compression: "", attributes: signed, shards }.root();
    assert_eq!(kit::verdict(Arc::new(root)), kit::clean());
    assert!(Severity::Info < Severity::Warning && Severity::Warning < Severity::Error);
}
