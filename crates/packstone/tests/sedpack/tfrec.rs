//! tfrec shards as other producers write them, record by record.

use std::sync::Arc;

use packstone::formats::sedpack::codes;
use packstone::{Kind, Limits, MemoryRoot};
use packstone_container::tfrecord::write_frame;
use packstone_container::wire::{put_bytes, put_varint, put_varint_field};

use crate::kit::{self, Made};

fn message(number: u32, content: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    put_bytes(number, content, &mut out);
    out
}

/// `Example { features { feature { key, value } } }`; `value` is the content of a `Feature`.
fn example(features: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let entries = features.iter().flat_map(|(key, value)| {
        message(1, &[message(1, key.as_bytes()), message(2, value)].concat())
    });
    message(1, &entries.collect::<Vec<u8>>())
}

fn shard(examples: &[Vec<u8>]) -> Vec<u8> {
    let mut out = Vec::new();
    examples.iter().for_each(|example| write_frame(example, &mut out));
    out
}

fn made(attributes: &str, bytes: Vec<u8>, examples: u64) -> Arc<MemoryRoot> {
    let shards = vec![(bytes, examples)];
    Arc::new(Made { shard_type: "tfrec", compression: "", attributes, shards }.root())
}

fn packed_ints(values: &[i64]) -> Vec<u8> {
    let mut list = Vec::new();
    values.iter().for_each(|n| put_varint(n.cast_unsigned(), &mut list));
    message(3, &message(1, &list))
}

fn unpacked_ints(values: &[i64]) -> Vec<u8> {
    let mut list = Vec::new();
    values.iter().for_each(|n| put_varint_field(1, n.cast_unsigned(), &mut list));
    message(3, &list)
}

fn bytes(value: &[u8]) -> Vec<u8> {
    message(1, &message(1, value))
}

const MIXED: &str = r#"[{"name": "i", "dtype": "int32", "shape": [3]}, {"name": "f", "dtype": "float32", "shape": [2]},
    {"name": "s", "dtype": "str", "shape": []}]"#;

#[test]
fn features_come_in_any_order_packed_or_not() {
    let mut floats = Vec::new();
    let mut unpacked = Vec::new();
    for x in [0.5f32, -1.0] {
        floats.extend(x.to_le_bytes());
        unpacked.push(1 << 3 | 5);
        unpacked.extend(x.to_le_bytes());
    }
    let packed = message(2, &message(1, &floats));
    let unpacked = message(2, &unpacked);
    let ints = [-1, 0, 70_000];
    let records = [
        example(&[("s", bytes(b"t")), ("f", packed.clone()), ("i", packed_ints(&ints))]),
        example(&[("i", unpacked_ints(&ints)), ("s", bytes(b"t")), ("f", unpacked)]),
        // A feature that no attribute asks for, and a map entry that comes twice: the last one counts.
        example(&[
            ("extra", bytes(b"?")),
            ("i", packed_ints(&[7])),
            ("i", packed_ints(&ints)),
            ("f", packed),
            ("s", bytes(b"t")),
        ]),
    ];
    let root = made(MIXED, shard(&records), 3);
    let ints: Vec<u8> = [-1i32, 0, 70_000].iter().flat_map(|n| n.to_le_bytes()).collect();
    let want = vec![ints, floats, b"t".to_vec()];
    assert_eq!(kit::read(Arc::clone(&root) as _).unwrap(), vec![want; 3]);
    assert_eq!(kit::verdict(root), kit::clean());
}

#[test]
fn missing_and_wrong_features_are_named() {
    let attributes = r#"[{"name": "i", "dtype": "int32", "shape": [2]}]"#;
    for (value, code) in [
        (None, codes::FEATURE_MISSING),
        (Some(Vec::new()), codes::FEATURE_MISSING),
        (Some(packed_ints(&[1])), codes::ATTRIBUTE_SIZE_MISMATCH),
        (Some(packed_ints(&[1, 2, 3])), codes::ATTRIBUTE_SIZE_MISMATCH),
        (Some(packed_ints(&[])), codes::ATTRIBUTE_SIZE_MISMATCH),
        (Some(bytes(b"12345678")), codes::TFRECORD_INVALID),
        (Some(packed_ints(&[1, 1 << 31])), codes::VALUE_INVALID),
        (Some(packed_ints(&[1, i64::MIN])), codes::VALUE_INVALID),
    ] {
        let features: Vec<_> = value.clone().into_iter().map(|v| ("i", v)).collect();
        let good = example(&[("i", packed_ints(&[1, 2]))]);
        let root = made(attributes, shard(&[good, example(&features)]), 2);
        let error = kit::read(Arc::clone(&root) as _).unwrap_err();
        assert_eq!((error.code(), error.kind()), (code, Kind::Corrupt), "{value:?}: {error}");
        let place = error.place();
        assert_eq!((place.record, place.field.as_deref()), (Some(1), Some("i")), "{error}");
        assert_eq!(kit::verdict(root), kit::error(code), "{error}");
    }
    let root = made(attributes, shard(&[vec![0xff; 9]]), 1);
    assert_eq!(kit::read(root).unwrap_err().code(), codes::TFRECORD_INVALID);
}

#[test]
fn integers_are_held_to_their_declared_range() {
    for (dtype, least, most) in [
        ("int8", i64::from(i8::MIN), i64::from(i8::MAX)),
        ("uint8", 0, 255),
        ("int16", i64::from(i16::MIN), i64::from(i16::MAX)),
        ("uint16", 0, 65_535),
        ("int32", i64::from(i32::MIN), i64::from(i32::MAX)),
        ("uint32", 0, i64::from(u32::MAX)),
        ("bool", 0, 1),
    ] {
        let attributes = format!(r#"[{{"name": "i", "dtype": "{dtype}", "shape": []}}]"#);
        let read =
            |n| kit::read(made(&attributes, shard(&[example(&[("i", packed_ints(&[n]))])]), 1));
        for n in [least, most] {
            let size = read(n).unwrap()[0][0].len();
            assert_eq!(read(n).unwrap(), [[n.to_le_bytes()[..size].to_vec()]], "{dtype} {n}");
        }
        for n in [least - 1, most + 1] {
            assert_eq!(read(n).unwrap_err().code(), codes::VALUE_INVALID, "{dtype} {n}");
        }
    }
}

#[test]
fn bytes_behind_the_last_record_are_a_finding_and_cut_records_errors() {
    let attributes = r#"[{"name": "i", "dtype": "int64", "shape": []}]"#;
    let whole =
        shard(&[example(&[("i", packed_ints(&[5]))]), example(&[("i", packed_ints(&[6]))])]);
    let want: Vec<_> = [5i64, 6].map(|n| vec![n.to_le_bytes().to_vec()]).into();
    for stray in 1..12 {
        let root = made(attributes, [&whole[..], &vec![7; stray]].concat(), 2);
        assert_eq!(kit::read(Arc::clone(&root) as _).unwrap(), want, "{stray}");
        assert_eq!(kit::verdict(root), kit::warning(codes::TRAILING_BYTES), "{stray}");
    }
    let half = whole.len() / 2;
    for len in half + 12..whole.len() {
        let error = kit::read(made(attributes, whole[..len].to_vec(), 2)).unwrap_err();
        assert_eq!(error.code(), codes::TFRECORD_TRUNCATED, "{len}");
        assert_eq!(error.place().record, Some(1));
    }
    // Cut between records, or inside the next header: fewer records than listed.
    for len in half..half + 12 {
        let error = kit::read(made(attributes, whole[..len].to_vec(), 2)).unwrap_err();
        assert_eq!(error.code(), codes::COUNT_MISMATCH, "{len}");
    }
    let (length_crc, data_crc) = (half + 8, whole.len() - 1);
    for at in [half, length_crc, half + 12, data_crc] {
        let mut flipped = whole.clone();
        flipped[at] ^= 1;
        let error = kit::read(made(attributes, flipped, 2)).unwrap_err();
        assert_eq!(error.code(), codes::TFRECORD_CRC, "byte {at}");
    }
}

/// A `TensorProto` of half floats with its values in `half_val`.
fn half_val(dims: &[u64], values: &[u64]) -> Vec<u8> {
    let mut out = Vec::new();
    put_varint_field(1, 19, &mut out);
    let axes = dims.iter().flat_map(|n| {
        let mut size = Vec::new();
        put_varint_field(1, *n, &mut size);
        message(2, &size)
    });
    put_bytes(2, &axes.collect::<Vec<u8>>(), &mut out);
    let mut list = Vec::new();
    values.iter().for_each(|n| put_varint(*n, &mut list));
    put_bytes(13, &list, &mut out);
    out
}

#[test]
fn halves_in_half_val_are_read() {
    let attributes = r#"[{"name": "h", "dtype": "float16", "shape": [3]}]"#;
    let read = |values: &[u64]| {
        let record = example(&[("h", bytes(&half_val(&[3], values)))]);
        kit::read(made(attributes, shard(&[record]), 1))
    };
    assert_eq!(read(&[0x3c00, 0, 0xbc00]).unwrap(), [[vec![0, 0x3c, 0, 0, 0, 0xbc]]]);
    // A run of equal values at the end is written once.
    assert_eq!(read(&[0, 0x3c00]).unwrap(), [[vec![0, 0, 0, 0x3c, 0, 0x3c]]]);
    assert_eq!(read(&[0, 0, 0, 0]).unwrap_err().code(), codes::ATTRIBUTE_SIZE_MISMATCH);
    assert_eq!(read(&[1 << 16, 0, 0]).unwrap_err().code(), codes::TFRECORD_INVALID);
    let other = example(&[("h", bytes(&half_val(&[4], &[0])))]);
    let error = kit::read(made(attributes, shard(&[other]), 1)).unwrap_err();
    assert_eq!(error.code(), codes::ATTRIBUTE_SIZE_MISMATCH);
}

#[test]
fn a_short_run_that_stands_for_many_values_ends_at_the_limit() {
    let dims = [1 << 16, 1 << 10];
    let attributes = r#"[{"name": "h", "dtype": "float16", "shape": [65536, 1024]}]"#;
    let record = example(&[("h", bytes(&half_val(&dims, &[0x3c00])))]);
    let root = made(attributes, shard(&vec![record; 20]), 20);
    let limits = Limits::default().with_decoded_bytes(1 << 20);
    let start = std::time::Instant::now();
    let error = kit::read_with(root, false, limits).unwrap_err();
    assert_eq!((error.code(), error.kind()), (codes::TFRECORD_INVALID, Kind::Limit));
    assert!(start.elapsed().as_secs() < 30);
}

#[test]
fn float64_was_stored_as_float32_and_is_read_with_a_warning() {
    let attributes = r#"[{"name": "d", "dtype": "float64", "shape": []}]"#;
    let record = example(&[("d", message(2, &message(1, &0.1f32.to_le_bytes())))]);
    let root = made(attributes, shard(&[record]), 1);
    let want = f64::from(0.1f32).to_le_bytes().to_vec();
    assert_eq!(kit::read(Arc::clone(&root) as _).unwrap(), [[want]]);
    assert_eq!(kit::verdict(root), kit::warning(codes::UNSUPPORTED_COMBINATION));
}

#[test]
fn text_must_be_utf8_and_each_list_holds_one_value() {
    let attributes = r#"[{"name": "s", "dtype": "str", "shape": []}]"#;
    let read = |value: Vec<u8>| kit::read(made(attributes, shard(&[example(&[("s", value)])]), 1));
    assert_eq!(read(bytes("é\0".as_bytes())).unwrap(), [["é\0".as_bytes().to_vec()]]);
    assert_eq!(read(bytes(b"\xff")).unwrap_err().code(), codes::INVALID_UTF8);
    let two = message(1, &[message(1, b"a"), message(1, b"b")].concat());
    assert_eq!(read(two).unwrap_err().code(), codes::ATTRIBUTE_SIZE_MISMATCH);
    assert_eq!(read(message(1, b"")).unwrap_err().code(), codes::ATTRIBUTE_SIZE_MISMATCH);
}
