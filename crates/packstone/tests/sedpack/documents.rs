//! Control documents in every spelling: strict JSON, coercions, unknown and duplicate keys, defaults.

use std::sync::Arc;

use packstone::format::Format;
use packstone::formats::sedpack::document::DatasetInfo;
use packstone::formats::sedpack::options::FillerOptions;
use packstone::formats::sedpack::parts::list::ShardsList;
use packstone::formats::sedpack::parts::publish::{PATIENCE, publish};
use packstone::formats::sedpack::schema::{Compression, ShardType};
use packstone::formats::sedpack::writer::Filler;
use packstone::formats::sedpack::{Sedpack, codes};
use packstone::json::Value;
use packstone::model::{Batch, Column, Severity};
use packstone::{Error, Kind, Limits, MemoryRoot, RelPath, Root, RootMut};
use packstone_container::digest::Algorithm;
use packstone_io::Buf;

use crate::kit::{self, Made, flat, path, put};

fn parse(text: &str) -> Result<DatasetInfo, Error> {
    DatasetInfo::parse(text.as_bytes(), &Limits::default())
}

fn parse_list(text: &str) -> Result<ShardsList, Error> {
    ShardsList::parse(text.as_bytes(), &path("train/shards_list.json"), &Limits::default())
}

fn notes(info: &DatasetInfo) -> Vec<(Severity, &'static str, Option<&str>)> {
    info.notes.iter().map(|n| (n.severity, n.code, n.place.json_path.as_deref())).collect()
}

const ATTRIBUTES: &str = r#"[{"name": "x", "dtype": "uint8", "shape": [2]}]"#;

fn small() -> MemoryRoot {
    let shards = vec![(flat(&[vec![Some(b"ab")], vec![Some(b"cd")]]), 2)];
    Made { shard_type: "fb", compression: "", attributes: ATTRIBUTES, shards }.root()
}

#[test]
fn a_folder_is_a_dataset_exactly_when_it_has_its_root_document() {
    let root = MemoryRoot::new();
    put(&root, "train/shards_list.json", r#"{"relative_path_self": "train/shards_list.json"}"#);
    assert!(!Sedpack.recognizes(&root).unwrap());
    let error = kit::open(Arc::new(root.clone())).err().unwrap();
    assert_eq!((error.code(), error.kind()), (codes::MISSING_FILE, Kind::NotFound));
    assert!(error.message().contains("not a sedpack dataset"), "{error}");
    put(&root, "dataset_info.json", "{}");
    assert!(Sedpack.recognizes(&root).unwrap());
    assert!(kit::open(Arc::new(root)).is_ok());
}

#[test]
fn only_strict_json_is_read() {
    for (bytes, offset) in [
        (&b"\xef\xbb\xbf{}"[..], 0),
        (b"{} // no", 3),
        (b"/* no */ {}", 0),
        (br#"{"metadata": {},}"#, 16),
        (br#"{"splits": {"a": [1,]}}"#, 20),
        (b"{} {}", 3),
        (b"{}\0", 2),
        (b"{\"metadata\": {\"description\": \"\xff\"}}", 30),
        (b"{'metadata': {}}", 1),
        (b"", 0),
        (b"{", 1),
        (b"[", 1),
    ] {
        let text = String::from_utf8_lossy(bytes);
        let error = DatasetInfo::parse(bytes, &Limits::default()).unwrap_err();
        assert_eq!((error.code(), error.kind()), (codes::JSON_INVALID, Kind::Corrupt), "{text}");
        assert_eq!(error.place().file.as_deref(), Some("dataset_info.json"));
        assert_eq!(error.place().offset, Some(offset), "{text}: {error}");
        let at = path("train/a/shards_list.json");
        let error = ShardsList::parse(bytes, &at, &Limits::default()).unwrap_err();
        assert_eq!(error.code(), codes::JSON_INVALID, "{text}");
        assert_eq!(error.place().file.as_deref(), Some("train/a/shards_list.json"));
    }
    let deep = "[".repeat(100_000);
    assert_eq!(parse(&deep).unwrap_err().code(), codes::JSON_INVALID);
}

#[test]
fn another_layout_of_the_same_document_is_the_same_dataset() {
    let root = small();
    let whole = kit::read(Arc::new(root.clone())).unwrap();
    let document = root.read(&path("dataset_info.json")).unwrap();
    let text = String::from_utf8(document.to_vec()).unwrap();
    let value = packstone::json::read(text.as_bytes(), &Default::default()).unwrap().value;
    let minified = packstone::json::write(&value, &packstone::json::Style::COMPACT);
    assert!(!minified.contains(['\n', ' ']));
    let members = value.as_object().unwrap();
    let mut reversed = packstone::json::Object::new();
    for (key, value) in members.iter().rev() {
        reversed.insert(key.clone(), value.clone());
    }
    let reversed =
        packstone::json::write(&Value::Object(reversed), &packstone::json::Style::COMPACT);
    assert_ne!(minified, reversed);
    for other in
        [minified, reversed, format!("\r\n\t {text} \n"), text.replace("train", "tr\\u0061in")]
    {
        put(&root, "dataset_info.json", other.as_str());
        assert_eq!(kit::read(Arc::new(root.clone())).unwrap(), whole, "{other}");
        assert_eq!(kit::verdict(Arc::new(root.clone())), kit::clean(), "{other}");
    }
}

#[test]
fn duplicate_keys_take_the_last_value_and_are_reported() {
    let text = r#"{"dataset_structure": {"compression": "LZ4", "compression": "ZSTD"}}"#;
    let info = parse(text).unwrap();
    assert_eq!(info.compression, Compression::Zstd);
    let at = "$.dataset_structure.compression";
    assert_eq!(notes(&info), [(Severity::Warning, codes::DUPLICATE_KEY, Some(at))]);
    let list = parse_list(
        r#"{"relative_path_self": "x", "relative_path_self": "train/shards_list.json"}"#,
    );
    let found: Vec<_> = list.unwrap().notes.iter().map(|n| (n.severity, n.code)).collect();
    assert_eq!(found, [(Severity::Warning, codes::DUPLICATE_KEY)]);
}

#[test]
fn absent_fields_take_the_defaults_of_the_newest_release() {
    for text in ["{}", r#"{"metadata": {}, "dataset_structure": {}, "splits": {}}"#] {
        let info = parse(text).unwrap();
        assert_eq!((info.compression, info.shard_type), (Compression::Gzip, ShardType::Fb));
        assert_eq!((info.examples_per_shard, info.algorithms), (256, vec![Algorithm::Sha256]));
        assert_eq!((info.schema.fields.len(), info.splits.len(), info.notes.len()), (0, 0, 0));
    }
    // Single fields taken away, the others being something else.
    let whole = r#"{"dataset_structure": {"compression": "LZ4", "examples_per_shard": 7,
        "shard_file_type": "fb", "hash_checksum_algorithms": ["md5"]}}"#;
    let info = parse(&whole.replace(r#""compression": "LZ4","#, "")).unwrap();
    assert_eq!((info.compression, info.examples_per_shard), (Compression::Gzip, 7));
    let info = parse(&whole.replace(r#""examples_per_shard": 7,"#, "")).unwrap();
    assert_eq!((info.compression, info.examples_per_shard), (Compression::Lz4, 256));
    let info = parse(&whole.replace(r#", "hash_checksum_algorithms": ["md5"]"#, ""));
    assert_eq!(info.unwrap().algorithms, [Algorithm::Sha256]);
    let pointer =
        r#"{"splits": {"test": {"shard_list_info_file": {"file_path": "test/shards_list.json"}}}}"#;
    let info = parse(pointer).unwrap();
    let pointer = info.split("test").unwrap();
    assert_eq!((pointer.examples, pointer.shards, pointer.file.checksums.len()), (0, 0, 0));
    let list = parse_list(
        r#"{"relative_path_self": "train/shards_list.json", "shard_files": [{"file_infos": [{"file_path": "a"}]}]}"#,
    )
    .unwrap();
    assert_eq!((list.examples, list.children.len()), (0, 0));
    assert_eq!((list.shards[0].examples, list.shards[0].metadata.len()), (0, 0));
    assert!(list.shards[0].files[0].checksums.is_empty());
}

#[test]
fn absent_required_fields_are_named() {
    let attribute = |text: &str| {
        parse(&format!(r#"{{"dataset_structure": {{"saved_data_description": [{text}]}}}}"#)).err()
    };
    let split = |text: &str| parse(&format!(r#"{{"splits": {{"train": {text}}}}}"#)).err();
    let list = |text: &str| parse_list(text).err();
    let first = "$.dataset_structure.saved_data_description[0]";
    for (error, at) in [
        (attribute(r#"{"dtype": "int8", "shape": []}"#), format!("{first}.name")),
        (attribute(r#"{"name": "x", "shape": []}"#), format!("{first}.dtype")),
        (attribute(r#"{"name": "x", "dtype": "int8"}"#), format!("{first}.shape")),
        (split("{}"), "$.splits.train.shard_list_info_file".to_owned()),
        (
            split(r#"{"shard_list_info_file": {}}"#),
            "$.splits.train.shard_list_info_file.file_path".to_owned(),
        ),
        (list("{}"), "$.relative_path_self".to_owned()),
        (
            list(r#"{"relative_path_self": "train/shards_list.json", "shard_files": [{}]}"#),
            "$.shard_files[0].file_infos".to_owned(),
        ),
        (
            list(
                r#"{"relative_path_self": "train/shards_list.json", "shard_files": [{"file_infos": [{}]}]}"#,
            ),
            "$.shard_files[0].file_infos[0].file_path".to_owned(),
        ),
        (
            list(
                r#"{"relative_path_self": "train/shards_list.json", "children_shard_lists": [{}]}"#,
            ),
            "$.children_shard_lists[0].shard_list_info_file".to_owned(),
        ),
    ] {
        let error = error.unwrap();
        assert_eq!((error.code(), error.kind()), (codes::SCHEMA_INVALID, Kind::Invalid), "{error}");
        assert_eq!(error.place().json_path, Some(at));
    }
}

#[test]
fn loose_integers_are_read_with_a_warning_and_others_refused() {
    let with =
        |n: &str| parse(&format!(r#"{{"dataset_structure": {{"examples_per_shard": {n}}}}}"#));
    for (text, value) in [(r#""7""#, 7), ("7.0", 7), ("true", 1), ("7e0", 7)] {
        let info = with(text).unwrap();
        assert_eq!(info.examples_per_shard, value, "{text}");
        let at = "$.dataset_structure.examples_per_shard";
        assert_eq!(notes(&info), [(Severity::Warning, codes::LOOSE_VALUE, Some(at))], "{text}");
    }
    for text in ["7.5", "null", "\"seven\"", "\"\"", "[7]", "NaN"] {
        assert_eq!(with(text).unwrap_err().code(), codes::SCHEMA_INVALID, "{text}");
    }
    for value in [0, -5, 1 << 40] {
        let info = with(&value.to_string()).unwrap();
        assert_eq!((info.examples_per_shard, info.notes.len()), (value, 0));
    }
    let shape = |n: &str| {
        let text = format!(
            r#"{{"dataset_structure": {{"saved_data_description": [{{"name": "x", "dtype": "int8", "shape": [{n}]}}]}}}}"#
        );
        parse(&text)
    };
    assert_eq!(shape("\"2\"").unwrap().schema.fields[0].shape, [2]);
    for text in ["0", "-1", "2.5", "null"] {
        assert_eq!(shape(text).unwrap_err().code(), codes::SCHEMA_INVALID, "{text}");
    }
    assert_eq!(
        parse_list(r#"{"relative_path_self": "train/shards_list.json", "number_of_examples": -1}"#)
            .unwrap_err()
            .code(),
        codes::SCHEMA_INVALID
    );
    let list = parse_list(
        r#"{"relative_path_self": "train/shards_list.json", "number_of_examples": "0"}"#,
    );
    assert_eq!(list.unwrap().notes[0].code, codes::LOOSE_VALUE);
}

#[test]
fn bare_nan_in_custom_metadata_is_read_with_a_warning_and_kept() {
    let text = r#"{"metadata": {"custom_metadata": {"a": NaN, "b": [-Infinity, 1]}}}"#;
    let info = parse(text).unwrap();
    let at = |p| (Severity::Warning, codes::LOOSE_VALUE, Some(p));
    assert_eq!(
        notes(&info),
        [at("$.metadata.custom_metadata.a"), at("$.metadata.custom_metadata.b[0]")]
    );
    let again = info.text();
    assert!(again.contains("NaN") && again.contains("-Infinity"), "{again}");
    assert_eq!(parse(&again).unwrap().document, info.document);
}

#[test]
fn free_texts_are_kept_and_a_loose_data_version_is_a_warning() {
    let text = r#"{"metadata": {"description": "a\nb \u00e9", "dataset_license": "MIT, or so", "download_from": "",
        "dataset_version": "version two"}}"#;
    let info = parse(text).unwrap();
    let at = "$.metadata.dataset_version";
    assert_eq!(notes(&info), [(Severity::Warning, codes::LOOSE_VALUE, Some(at))]);
    let metadata = info.document.get("metadata").unwrap();
    assert_eq!(metadata.get("description").unwrap().as_str(), Some("a\nb é"));
    assert_eq!(metadata.get("dataset_license").unwrap().as_str(), Some("MIT, or so"));
    for name in ["description", "dataset_license", "download_from", "dataset_version"] {
        let error = parse(&format!(r#"{{"metadata": {{"{name}": 7}}}}"#)).unwrap_err();
        assert_eq!(error.code(), codes::SCHEMA_INVALID, "{name}");
    }
}

#[test]
fn the_version_rule_is_semver_order() {
    let with = |v: &str| parse(&format!(r#"{{"metadata": {{"sedpack_version": "{v}"}}}}"#));
    for good in ["0.2.0", "0.2.0-rc1", "0.2.0+build.7", "0.0.1", "0.1.4", "0.1.99-dev"] {
        assert!(with(good).is_ok(), "{good}");
    }
    for bad in ["0.2", "v0.2.0", "0.02.0", "", "0.2.0.0", " 0.2.0"] {
        assert_eq!(with(bad).unwrap_err().code(), codes::VERSION_INVALID, "{bad}");
    }
    for newer in ["0.2.1", "0.2.1-dev", "0.3.0", "1.0.0-alpha", "99.0.0"] {
        let error = with(newer).unwrap_err();
        assert_eq!((error.code(), error.kind()), (codes::VERSION_TOO_NEW, Kind::Unsupported));
        assert!(error.message().contains("0.2.0") && error.message().contains(newer), "{error}");
    }
}

#[test]
fn unknown_fields_survive_reading_appending_and_rewriting() {
    let root = small();
    let replace = |file: &str, from: &str, to: &str| {
        let text = String::from_utf8(root.read(&path(file)).unwrap().to_vec()).unwrap();
        assert!(text.contains(from), "{text}");
        put(&root, file, text.replacen(from, to, 1));
    };
    let list = "train/shards_list.json";
    replace(list, r#"{"file_infos""#, r#"{"k_shard": [1, 2.50], "file_infos""#);
    replace(list, r#"{"file_path""#, r#"{"k_file": null, "file_path""#);
    replace(list, r#"{"relative"#, r#"{"k_list": {"b": 1, "a": 2}, "relative"#);
    let sum = kit::sha256(&root.read(&path(list)).unwrap());
    let attributes = r#"[{"name": "x", "dtype": "uint8", "shape": [2], "k_attribute": "é"}]"#;
    let pointer = kit::pointer(list, &sum, 2, 1).replacen('{', r#"{"k_pointer": 1e3, "#, 1);
    let document = kit::document("fb", "", attributes, &pointer)
        .replacen(r#""metadata": {"#, r#""k_root": true, "metadata": {"k_metadata": 1.0, "#, 1)
        .replacen(r#""compression""#, r#""k_structure": [], "compression""#, 1);
    put(&root, "dataset_info.json", document);
    let unknown = kit::check(Arc::new(root.clone()), &Default::default()).unwrap();
    assert_eq!(unknown.len(), 8, "{unknown:?}");
    assert!(unknown.iter().all(|f| (f.severity, f.code) == (Severity::Info, codes::UNKNOWN_KEY)));

    let mutable: Arc<dyn RootMut> = Arc::new(root.clone());
    let schema = Arc::clone(&kit::open(Arc::new(root.clone())).unwrap().document().schema);
    let column = Column::dense(Buf::from(b"ef".to_vec()), 2, 1).unwrap();
    let batch = Batch::new(schema, 1, vec![column]).unwrap();
    let mut filler =
        Filler::open(Arc::clone(&mutable), &RelPath::root(), FillerOptions::default()).unwrap();
    filler.write("train", &batch).unwrap();
    filler.finish().unwrap();
    // Edited metadata, without shards.
    let edit = |info: &mut DatasetInfo| {
        let metadata = info.document.get_mut("metadata").and_then(Value::as_object_mut).unwrap();
        metadata.insert("description", "edited");
        Ok(())
    };
    publish(&mutable, Vec::new(), PATIENCE, &Limits::default(), edit).unwrap();

    let text = |file: &str| String::from_utf8(root.read(&path(file)).unwrap().to_vec()).unwrap();
    let document = text("dataset_info.json");
    for kept in [
        r#""k_root": true"#,
        r#""k_metadata": 1.0"#,
        r#""k_structure": []"#,
        r#""k_attribute": "é""#,
        r#""k_pointer": 1e3"#,
        r#""description": "edited""#,
    ] {
        assert!(document.contains(kept), "{kept} is not in {document}");
    }
    let list = text(list);
    let shard = list.find("k_shard").unwrap();
    assert!(list[shard..].contains("2.50") && list.contains(r#""k_file": null"#), "{list}");
    assert!(list.find("\"b\": 1").unwrap() < list.find("\"a\": 2").unwrap());
    let rows = kit::read(Arc::new(root.clone())).unwrap();
    let want: Vec<_> = [b"ab", b"cd", b"ef"].map(|v| vec![v.to_vec()]).into();
    assert_eq!(rows, want);
    let serious = kit::verdict(Arc::new(root)).into_iter().filter(|(s, _)| *s > Severity::Info);
    assert_eq!(serious.count(), 0);
}

#[test]
fn custom_metadata_is_an_object_at_each_level() {
    for text in [
        r#"{"metadata": {"custom_metadata": [1]}}"#,
        r#"{"dataset_structure": {"saved_data_description":
            [{"name": "x", "dtype": "int8", "shape": [], "custom_metadata": "no"}]}}"#,
    ] {
        assert_eq!(parse(text).unwrap_err().code(), codes::SCHEMA_INVALID, "{text}");
    }
    let list = r#"{"relative_path_self": "train/shards_list.json",
        "shard_files": [{"file_infos": [{"file_path": "a"}], "custom_metadata": 1}]}"#;
    assert_eq!(parse_list(list).unwrap_err().code(), codes::SCHEMA_INVALID);
    let text = r#"{"metadata": {"custom_metadata":
        {"z": 123456789012345678901234567890, "a": {"é": [null, 1.50]}}}}"#;
    let info = parse(text).unwrap();
    let custom = info.document.get("metadata").unwrap().get("custom_metadata").unwrap();
    assert_eq!(custom.to_string(), r#"{"z":123456789012345678901234567890,"a":{"é":[null,1.50]}}"#);
}

#[test]
fn a_document_of_many_attributes_is_read_in_time() {
    let count = 200_000;
    let attributes: Vec<_> =
        (0..count).map(|n| format!(r#"{{"name": "n{n}", "dtype": "i1", "shape": []}}"#)).collect();
    let text = format!(
        r#"{{"dataset_structure": {{"saved_data_description": [{}]}}}}"#,
        attributes.join(",")
    );
    let start = std::time::Instant::now();
    assert_eq!(parse(&text).unwrap().schema.fields.len(), count);
    assert!(start.elapsed().as_secs() < 10, "{:?}", start.elapsed());
}
