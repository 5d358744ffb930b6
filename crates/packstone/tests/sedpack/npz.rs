//! npz shards as NumPy and old releases write them: other orders, versions and dtypes, and damage.

use std::sync::Arc;

use packstone::formats::sedpack::codes;
use packstone::model::Severity;
use packstone::{Kind, Limits, MemoryRoot};
use packstone_container::zip::{EntryOptions, Method, Writer};

use crate::kit::{self, Made};

/// An array as `numpy.save` writes it in format 1.0, 2.0 or 3.0.
struct Npy<'a> {
    descr: &'a str,
    fortran: bool,
    shape: &'a str,
    version: u8,
    data: Vec<u8>,
}

impl<'a> Npy<'a> {
    fn new(descr: &'a str, shape: &'a str, data: Vec<u8>) -> Self {
        Self { descr, fortran: false, shape, version: 1, data }
    }

    fn bytes(&self) -> Vec<u8> {
        let order = if self.fortran { "True" } else { "False" };
        let mut text = format!(
            "{{'descr': '{}', 'fortran_order': {order}, 'shape': {}, }}",
            self.descr, self.shape
        );
        let prefix = if self.version == 1 { 10 } else { 12 };
        while (prefix + text.len() + 1) % 64 != 0 {
            text.push(' ');
        }
        text.push('\n');
        let mut out = b"\x93NUMPY".to_vec();
        out.extend([self.version, 0]);
        match self.version {
            1 => out.extend((text.len() as u16).to_le_bytes()),
            _ => out.extend((text.len() as u32).to_le_bytes()),
        }
        out.extend(text.bytes());
        out.extend(&self.data);
        out
    }
}

fn archive(members: &[(&str, Npy<'_>)], method: Method) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new());
    let options = EntryOptions::default().with_method(method);
    for (name, array) in members {
        writer.add(&format!("{name}.npy"), &[&array.bytes()], options).unwrap();
    }
    writer.finish().unwrap()
}

fn made(attributes: &str, bytes: Vec<u8>, examples: u64) -> Arc<MemoryRoot> {
    let shards = vec![(bytes, examples)];
    Arc::new(Made { shard_type: "npz", compression: "", attributes, shards }.root())
}

fn stored(members: &[(&str, Npy<'_>)]) -> Vec<u8> {
    archive(members, Method::Stored)
}

fn le(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|x| x.to_le_bytes()).collect()
}

const FLOATS: &str = r#"[{"name": "x", "dtype": "float32", "shape": [3]}]"#;

fn floats() -> kit::Rows {
    vec![vec![le(&[0.0, 1.0, 2.0])], vec![le(&[3.0, 4.0, 5.0])]]
}

#[test]
fn arrays_in_any_byte_order_layout_and_version_are_read() {
    let c_order = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0];
    let f_order = [0.0, 3.0, 1.0, 4.0, 2.0, 5.0];
    let be = |values: &[f32]| values.iter().flat_map(|x| x.to_be_bytes()).collect::<Vec<u8>>();
    for version in [1, 2, 3] {
        for (descr, fortran, data) in [
            ("<f4", false, le(&c_order)),
            (">f4", false, be(&c_order)),
            ("<f4", true, le(&f_order)),
            (">f4", true, be(&f_order)),
        ] {
            let array = Npy { descr, fortran, shape: "(2, 3)", version, data };
            let root = made(FLOATS, stored(&[("x", array)]), 2);
            let place = format!("{descr} fortran {fortran} version {version}");
            assert_eq!(kit::read(Arc::clone(&root) as _).unwrap(), floats(), "{place}");
            assert_eq!(kit::verdict(root), kit::clean(), "{place}");
        }
    }
    let text = r#"[{"name": "s", "dtype": "str", "shape": []}]"#;
    let big: Vec<u8> =
        "aé".chars().chain("b\0".chars()).flat_map(|c| u32::from(c).to_be_bytes()).collect();
    let root = made(text, stored(&[("s", Npy::new(">U2", "(2,)", big))]), 2);
    assert_eq!(
        kit::read(root).unwrap(),
        [["aé".as_bytes()], [b"b"]].map(|r| r.map(<[u8]>::to_vec))
    );
}

#[test]
fn a_mislabelled_archive_is_read_with_a_warning() {
    let array = || Npy::new("<f4", "(2, 3)", le(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]));
    for (compression, method) in [("", Method::Deflate), ("ZIP", Method::Stored)] {
        let shards = vec![(archive(&[("x", array())], method), 2)];
        let made = Made { shard_type: "npz", compression, attributes: FLOATS, shards };
        let root = Arc::new(made.root());
        assert_eq!(kit::read(Arc::clone(&root) as _).unwrap(), floats(), "{compression}");
        assert_eq!(kit::verdict(root), kit::warning(codes::AMBIGUOUS_STREAM), "{compression}");
    }
}

#[test]
fn bytes_stacked_by_old_releases_are_read_without_offsets() {
    let attributes = r#"[{"name": "fixed", "dtype": "bytes", "shape": [2]},
        {"name": "any", "dtype": "bytes", "shape": []}, {"name": "cells", "dtype": "bytes", "shape": []}]"#;
    let members = [
        ("fixed", Npy::new("|u1", "(3, 2)", b"abcdef".to_vec())),
        ("any", Npy::new("|u1", "(3, 4)", b"0123456789..".to_vec())),
        ("cells", Npy::new("|S3", "(3,)", b"x\0\0yz\0\0\0\0".to_vec())),
    ];
    let rows = kit::read(made(attributes, stored(&members), 3)).unwrap();
    let row = |values: [&[u8]; 3]| values.map(<[u8]>::to_vec).to_vec();
    let want =
        [row([b"ab", b"0123", b"x"]), row([b"cd", b"4567", b"yz"]), row([b"ef", b"89..", b""])];
    assert_eq!(rows, want);
}

fn offsets(numbers: &[i64]) -> Vec<u8> {
    numbers.iter().flat_map(|n| n.to_le_bytes()).collect()
}

#[test]
fn blobs_are_cut_by_offsets_named_after_the_longest_attribute() {
    let attributes = r#"[{"name": "ééé", "dtype": "uint8", "shape": []}, {"name": "b", "dtype": "bytes", "shape": []}]"#;
    let members = |key: &'static str, numbers: &[i64], shape: &'static str| {
        let b = numbers.len();
        assert!(shape.contains(&b.to_string()));
        stored(&[
            ("ééé", Npy::new("|u1", "(2,)", vec![1, 2])),
            (key, Npy::new("<i8", shape, offsets(numbers))),
            ("b", Npy::new("|u1", "(1, 5)", b"hello".to_vec())),
        ])
    };
    let good = made(attributes, members("len___b", &[0, 5, 5], "(3,)"), 2);
    let want = [[vec![1], b"hello".to_vec()], [vec![2], vec![]]];
    assert_eq!(kit::read(Arc::clone(&good) as _).unwrap(), want);
    assert_eq!(kit::verdict(good), kit::clean());
    for (numbers, shape) in [
        (&[1, 3, 5][..], "(3,)"),
        (&[0, 4, 3], "(3,)"),
        (&[0, 3, 4], "(3,)"),
        (&[0, 3, 6], "(3,)"),
        (&[0, -1, 5], "(3,)"),
        (&[0, i64::MAX, 5], "(3,)"),
        (&[], "(0,)"),
    ] {
        let error = kit::read(made(attributes, members("len___b", numbers, shape), 2)).unwrap_err();
        assert_eq!(error.code(), codes::NPZ_OFFSETS_INVALID, "{numbers:?}");
        assert_eq!(error.place().field.as_deref(), Some("b"));
    }
    // Counted in bytes instead of characters, the name is another one; then the blob is one row.
    let error =
        kit::read(made(attributes, members("len______b", &[0, 5, 5], "(3,)"), 2)).unwrap_err();
    assert_eq!(error.code(), codes::NPZ_COLUMN_MISMATCH);
}

#[test]
fn other_dtypes_are_cast_and_what_is_not_exact_is_said() {
    let doubles = |values: &[f64]| values.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
    let attributes = r#"[{"name": "x", "dtype": "float32", "shape": []}]"#;
    let array = |values: &[f64]| stored(&[("x", Npy::new("<f8", "(2,)", doubles(values)))]);
    let exact = made(attributes, array(&[0.5, -2.0]), 2);
    assert_eq!(kit::read(Arc::clone(&exact) as _).unwrap(), [[le(&[0.5])], [le(&[-2.0])]]);
    assert_eq!(kit::verdict(exact), kit::clean());
    let inexact = made(attributes, array(&[0.1, 0.5]), 2);
    assert_eq!(kit::read(Arc::clone(&inexact) as _).unwrap(), [[le(&[0.1])], [le(&[0.5])]]);
    assert_eq!(kit::verdict(inexact), kit::warning(codes::INEXACT_VALUE));
    let bytes = r#"[{"name": "x", "dtype": "uint8", "shape": []}]"#;
    let texts = stored(&[("x", Npy::new("<U1", "(2,)", vec![0; 8]))]);
    assert_eq!(kit::read(made(bytes, texts, 2)).unwrap_err().code(), codes::NPZ_INVALID);
}

#[test]
fn what_is_no_array_of_examples_is_refused_by_name() {
    let one = |descr, shape, data: Vec<u8>| stored(&[("x", Npy::new(descr, shape, data))]);
    let numbers = r#"[{"name": "x", "dtype": "uint8", "shape": [2]}]"#;
    let text = r#"[{"name": "x", "dtype": "str", "shape": []}]"#;
    let surrogate = 0xd800u32.to_le_bytes().to_vec();
    for (attributes, bytes, code) in [
        (numbers, one("|O", "(1,)", b"\x80\x04N.".to_vec()), codes::NPZ_OBJECT_ARRAY),
        (text, one("|O", "(1,)", b"\x80\x04N.".to_vec()), codes::NPZ_OBJECT_ARRAY),
        (numbers, stored(&[("y", Npy::new("|u1", "(1, 2)", vec![1, 2]))]), codes::NPZ_MISSING_KEY),
        (numbers, one("|u1", "()", vec![1]), codes::NPZ_INVALID),
        (numbers, one("|u1", "(1, 3)", vec![1, 2, 3]), codes::ATTRIBUTE_SIZE_MISMATCH),
        (numbers, one("|u1", "(1, 2)", vec![1]), codes::NPZ_INVALID),
        (numbers, one("|u1", "(1000000000000, 2)", vec![1, 2]), codes::NPZ_INVALID),
        (
            numbers,
            one("|u1", "(18446744073709551615, 18446744073709551615)", vec![]),
            codes::NPZ_INVALID,
        ),
        (numbers, one("|u1", "(2, 2)", vec![1, 2, 3, 4]), codes::COUNT_MISMATCH),
        (text, one("<U1", "(1,)", surrogate), codes::INVALID_UTF8),
        (text, one("|u1", "(1,)", vec![65]), codes::NPZ_INVALID),
        (text, one("<U1", "(1, 1)", vec![0; 4]), codes::ATTRIBUTE_SIZE_MISMATCH),
        (numbers, b"PK\x05\x06".to_vec(), codes::NPZ_INVALID),
        (numbers, Vec::new(), codes::NPZ_INVALID),
    ] {
        let root = made(attributes, bytes, 1);
        let error = kit::read(Arc::clone(&root) as _).unwrap_err();
        assert_eq!((error.code(), error.kind()), (code, Kind::Corrupt), "{error}");
        assert_eq!(kit::verdict(root), kit::error(code), "{error}");
    }
}

#[test]
fn a_wrong_crc_of_a_member_is_found_without_any_other_checksum() {
    for method in [Method::Stored, Method::Deflate] {
        let data = le(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
        let mut bytes = archive(&[("x", Npy::new("<f4", "(2, 3)", data))], method);
        let crc = bytes[14..18].to_vec();
        let mut found = 0;
        for at in 0..bytes.len() - 4 {
            if bytes[at..at + 4] == crc[..] {
                bytes[at] ^= 1;
                found += 1;
            }
        }
        assert_eq!(found, 2, "local header and directory");
        assert_eq!(kit::read(made(FLOATS, bytes, 2)).unwrap_err().code(), codes::NPZ_INVALID);
    }
}

#[test]
fn a_deflated_bomb_ends_at_the_limit() {
    let attributes = r#"[{"name": "x", "dtype": "uint8", "shape": [4194304]}]"#;
    let zeros = || Npy::new("|u1", "(1, 4194304)", vec![0; 4 << 20]);
    let shards = vec![(archive(&[("x", zeros())], Method::Deflate), 1)];
    let made = Made { shard_type: "npz", compression: "ZIP", attributes, shards };
    let limits = Limits::default().with_decoded_bytes(64 << 10);
    let error = kit::read_with(Arc::new(made.root()), false, limits).unwrap_err();
    assert_eq!((error.code(), error.kind()), (codes::NPZ_INVALID, Kind::Limit));
}

#[test]
fn padding_of_text_is_taken_away_and_inner_nul_kept() {
    let text = r#"[{"name": "s", "dtype": "str", "shape": []}]"#;
    let cells: Vec<u8> =
        "a\0b\0\0\0𝄞\0\0".chars().flat_map(|c| u32::from(c).to_le_bytes()).collect();
    let root = made(text, stored(&[("s", Npy::new("<U3", "(3,)", cells))]), 3);
    let rows = kit::read(Arc::clone(&root) as _).unwrap();
    assert_eq!(rows, ["a\0b", "", "𝄞"].map(|s| vec![s.as_bytes().to_vec()]));
    let worst = kit::verdict(root).into_iter().map(|(severity, _)| severity).max();
    assert!(worst < Some(Severity::Error));
}
