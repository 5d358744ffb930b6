//! Attributes, dtypes, compressions, hashes: what is accepted, what is refused at open, and by which words.

use std::collections::BTreeSet;
use std::sync::Arc;

use packstone::format::{Dataset, Format};
use packstone::formats::sedpack::document::DatasetInfo;
use packstone::formats::sedpack::schema::{Compression, ShardType};
use packstone::formats::sedpack::{Sedpack, codes};
use packstone::model::Severity;
use packstone::{Error, Kind, Limits};

use crate::kit::{self, Made, flat};

fn attribute(dtype: &str, shape: &str) -> Result<DatasetInfo, Error> {
    let text = format!(
        r#"{{"dataset_structure": {{"saved_data_description": [{{"name": "x", "dtype": "{dtype}", "shape": {shape}}}]}}}}"#
    );
    DatasetInfo::parse(text.as_bytes(), &Limits::default())
}

fn structure(members: &str) -> Result<DatasetInfo, Error> {
    let text = format!(r#"{{"dataset_structure": {{{members}}}}}"#);
    DatasetInfo::parse(text.as_bytes(), &Limits::default())
}

#[test]
fn dtypes_that_nobody_can_read_are_refused_at_open() {
    for dtype in
        ["object", "O", "str_", "bytes_", "unicode", "float8", "bfloat16", "", "i3", "U0", "f4,i2"]
    {
        let error = attribute(dtype, "[]").unwrap_err();
        assert_eq!((error.code(), error.kind()), (codes::UNKNOWN_DTYPE, Kind::Invalid), "{dtype}");
        assert_eq!(error.place().field.as_deref(), Some("x"));
    }
    assert_eq!(attribute("int", "[2]").unwrap_err().code(), codes::UNKNOWN_DTYPE);
    assert!(attribute("int", "[]").is_ok());
    // A value that no memory could hold is no schema.
    let huge = "[4294967296, 4294967296, 4294967296]";
    assert_eq!(attribute("float32", huge).unwrap_err().code(), codes::SCHEMA_INVALID);
}

#[test]
fn aliases_and_byte_orders_read_as_the_type_they_name() {
    for (dtype, bytes) in [
        ("f4", 4),
        ("<f4", 4),
        (">f4", 4),
        ("half", 2),
        ("double", 8),
        ("?", 1),
        ("b", 1),
        ("int_", 8),
        ("bool_", 1),
        ("float", 8),
        ("V4", 4),
        ("|V4", 4),
        ("S3", 3),
        ("U2", 8),
        ("datetime64[ms]", 8),
        ("<m8[D]", 8),
        ("longdouble", 16),
    ] {
        let info = attribute(dtype, "[]").unwrap();
        assert_eq!(info.schema.fields[0].value_bytes(), Some(bytes), "{dtype}");
        let value: Vec<u8> = (0..bytes as u8).collect();
        let attributes = format!(r#"[{{"name": "x", "dtype": "{dtype}", "shape": []}}]"#);
        let shards = vec![(flat(&[vec![Some(&value)]]), 1)];
        let made = Made { shard_type: "fb", compression: "", attributes: &attributes, shards };
        assert_eq!(kit::read(Arc::new(made.root())).unwrap(), [[value]], "{dtype}");
    }
}

#[test]
fn text_with_a_shape_is_read_from_fb_as_one_text_and_not_written() {
    let attributes = r#"[{"name": "x", "dtype": "str", "shape": [3]}]"#;
    let shards = vec![(flat(&[vec![Some("['a' 'b' 'c']".as_bytes())]]), 1)];
    let root = Made { shard_type: "fb", compression: "", attributes, shards }.root();
    assert_eq!(kit::read(Arc::new(root.clone())).unwrap(), [[b"['a' 'b' 'c']".to_vec()]]);
    assert_eq!(Sedpack.part(Arc::new(root), "w").err().unwrap().code(), codes::NOT_WRITABLE);
}

#[test]
fn fixed_bytes_of_two_dimensions_are_their_product() {
    let attributes = r#"[{"name": "x", "dtype": "bytes", "shape": [2, 3]}]"#;
    let shard = |value: &[u8]| vec![(flat(&[vec![Some(value)]]), 1)];
    let made = |shards| Made { shard_type: "fb", compression: "", attributes, shards }.root();
    assert_eq!(kit::read(Arc::new(made(shard(b"abcdef")))).unwrap(), [[b"abcdef".to_vec()]]);
    let error = kit::read(Arc::new(made(shard(b"abcde")))).unwrap_err();
    assert_eq!(error.code(), codes::ATTRIBUTE_SIZE_MISMATCH);
}

#[test]
fn duplicate_names_are_reported_at_open_and_read_by_position() {
    let attributes = r#"[{"name": "x", "dtype": "uint8", "shape": []}, {"name": "x", "dtype": "uint8", "shape": []}]"#;
    let shards = vec![(flat(&[vec![Some(b"a"), Some(b"b")]]), 1)];
    let root = Made { shard_type: "fb", compression: "", attributes, shards }.root();
    let dataset = kit::open(Arc::new(root.clone())).unwrap();
    let notes: Vec<_> = dataset.document().notes.iter().map(|n| (n.severity, n.code)).collect();
    assert_eq!(notes, [(Severity::Warning, codes::DUPLICATE_ATTRIBUTE)]);
    assert_eq!(kit::read(Arc::new(root.clone())).unwrap(), [[b"a".to_vec(), b"b".to_vec()]]);
    assert_eq!(kit::verdict(Arc::new(root.clone())), kit::warning(codes::DUPLICATE_ATTRIBUTE));
    assert_eq!(Sedpack.part(Arc::new(root), "w").err().unwrap().code(), codes::NOT_WRITABLE);
}

#[test]
fn names_of_attributes_are_never_paths() {
    let attributes = r#"[{"name": "../../etc/passwd", "dtype": "uint8", "shape": []},
        {"name": "", "dtype": "uint8", "shape": []}, {"name": "a b/\u0000", "dtype": "uint8", "shape": []}]"#;
    let shards = vec![(flat(&[vec![Some(b"a"), Some(b"b"), Some(b"c")]]), 1)];
    let root = Made { shard_type: "fb", compression: "", attributes, shards }.root();
    let dataset = kit::open(Arc::new(root.clone())).unwrap();
    let train = dataset.collection("train").unwrap();
    let names: Vec<_> = train.schema().fields.iter().map(|f| f.key.to_string()).collect();
    assert_eq!(names, ["../../etc/passwd", "", "a b/\0"]);
    assert_eq!(kit::verdict(Arc::new(root)), kit::clean());
}

#[test]
fn compressions_types_and_hashes_are_exact_names() {
    for (members, code, listed) in [
        (r#""compression": "lz4""#, codes::UNKNOWN_COMPRESSION, r#""LZ4""#),
        (r#""compression": "GZ""#, codes::UNKNOWN_COMPRESSION, r#""ZSTD""#),
        (r#""compression": " ""#, codes::UNKNOWN_COMPRESSION, r#""""#),
        (r#""shard_file_type": "FB""#, codes::UNKNOWN_SHARD_TYPE, "tfrec"),
        (r#""hash_checksum_algorithms": ["SHA256"]"#, codes::UNKNOWN_HASH, "xxh128"),
        (r#""hash_checksum_algorithms": ["sha256", "crc32"]"#, codes::UNKNOWN_HASH, "sha3_512"),
    ] {
        let error = structure(members).unwrap_err();
        assert_eq!((error.code(), error.kind()), (code, Kind::Invalid), "{members}");
        assert!(error.message().contains(listed), "{error}");
    }
    let info = structure(r#""hash_checksum_algorithms": ["xxh64", "md5", "xxh64"]"#).unwrap();
    let names: Vec<_> = info.algorithms.iter().map(|a| a.name()).collect();
    assert_eq!(names, ["xxh64", "md5", "xxh64"]);
    assert!(structure(r#""hash_checksum_algorithms": []"#).unwrap().algorithms.is_empty());
}

#[test]
fn combinations_that_cannot_exist_are_refused_at_open() {
    let mut accepted = BTreeSet::new();
    for shard_type in ShardType::ALL {
        for compression in Compression::ALL {
            let (kind, name) = (shard_type.name(), compression.name());
            match structure(&format!(r#""shard_file_type": "{kind}", "compression": "{name}""#)) {
                Ok(_) => drop(accepted.insert((kind, name))),
                Err(error) => {
                    assert_eq!(error.code(), codes::UNSUPPORTED_COMBINATION, "{kind} {name}");
                    assert_eq!(error.kind(), Kind::Unsupported);
                }
            }
        }
    }
    let mut due: BTreeSet<_> =
        ["", "BZ2", "GZIP", "LZMA", "LZ4", "ZLIB", "ZSTD"].map(|c| ("fb", c)).into();
    due.extend(["", "ZIP"].map(|c| ("npz", c)));
    due.extend(["", "GZIP", "ZLIB"].map(|c| ("tfrec", c)));
    assert_eq!(accepted, due);
    // The default compression is not one of npz.
    let error = structure(r#""shard_file_type": "npz""#).unwrap_err();
    assert_eq!(error.code(), codes::UNSUPPORTED_COMBINATION);
}

#[test]
fn a_list_of_no_checksums_repeated_ones_and_all_of_them_verify() {
    use packstone_testkit::{copy_folder, golden_folder};
    for name in ["fb_no_hash", "fb_multi_hash"] {
        let temp = tempfile::tempdir().unwrap();
        copy_folder(&golden_folder("sedpack").join(name).join("data"), temp.path());
        let root = Arc::new(packstone::LocalRoot::open(temp.path()).unwrap());
        assert_eq!(kit::verdict(root), kit::clean(), "{name}");
    }
}
