//! Every golden dataset reads to exactly what its `expected.json` says.

use std::sync::Arc;

use packstone::format::Dataset;
use packstone::formats::sedpack::document::DatasetInfo;
use packstone::formats::sedpack::parts::list::ShardsList;
use packstone::formats::sedpack::reader::SedpackDataset;
use packstone::json::Value;
use packstone::model::{DType, ValueRef};
use packstone::ops::Scan;
use packstone::{Limits, LocalRoot, RelPath};
use packstone_container::digest;
use packstone_testkit::{Case, good_cases};

fn open(case: &Case) -> SedpackDataset {
    let root = Arc::new(LocalRoot::open(&case.data).unwrap());
    SedpackDataset::open(root, &Limits::default()).unwrap_or_else(|e| panic!("{}: {e}", case.name))
}

/// What packstone reads equals what the library returned, or the same in the declared dtype.
fn assert_value(found: ValueRef<'_>, expected: &Value, place: &str) {
    let declared = expected.get("as_declared").unwrap_or(expected);
    let text = |name: &str| declared.get(name).unwrap().as_str().unwrap();
    assert_eq!(
        hash(found.bytes),
        text("sha256"),
        "{place}: bytes {:?}",
        found.to_json().to_string()
    );
    assert_eq!(found.dtype.name(), text("dtype"), "{place}");
    assert_eq!(Some(found.bytes.len() as u64), declared.get("nbytes").unwrap().as_u64(), "{place}");
    let shape: Vec<u64> = declared
        .get("shape")
        .unwrap()
        .as_array()
        .unwrap()
        .iter()
        .map(|n| n.as_u64().unwrap())
        .collect();
    match found.dtype {
        // The library's bytes object is described by its length.
        DType::Bytes => assert_eq!(shape, [found.bytes.len() as u64], "{place}"),
        _ => assert_eq!(found.shape, shape, "{place}"),
    }
}

fn hash(bytes: &[u8]) -> String {
    digest::digest_hex(digest::Algorithm::Sha256, bytes)
}

fn read_case(case: &Case, threads: usize) {
    let dataset = open(case);
    let splits = case.expected.get("splits").unwrap().as_object().unwrap();
    assert_eq!(dataset.collections().len(), splits.len(), "{}", case.name);
    for (name, expected) in splits.iter() {
        let name = name.as_str().unwrap();
        let collection = dataset.collection(name).unwrap();
        let count = |key: &str| expected.get(key).unwrap().as_u64().unwrap();
        assert_eq!(collection.len(), count("number_of_examples"), "{}", case.name);
        assert_eq!(collection.shard_count(), count("number_of_shards"), "{}", case.name);
        let examples = expected.get("examples").unwrap().as_array().unwrap();
        let mut index = 0;
        for decoded in Scan::new(Arc::clone(&collection)).threads(threads).verify(true).shards() {
            let decoded = decoded.unwrap_or_else(|e| panic!("{}: {e}", case.name));
            assert_eq!(decoded.shard.first, index as u64);
            let shards = expected.get("shards").unwrap().as_array().unwrap();
            let shard = &shards[usize::try_from(decoded.shard.number).unwrap()];
            let files = shard.get("file_infos").unwrap().as_array().unwrap();
            assert_eq!(
                files[0].get("file_path").unwrap().as_str(),
                Some(decoded.shard.path.as_str())
            );
            let metadata = Value::Object(decoded.shard.metadata.as_ref().clone());
            assert_eq!(&metadata, shard.get("custom_metadata").unwrap());
            for sample in decoded.batch.samples() {
                let names = decoded.batch.schema().fields.iter().map(|f| f.key.to_string());
                for (at, name) in names.enumerate() {
                    let place = format!("{} example {index} attribute {name:?}", case.name);
                    assert_value(
                        sample.value(at).unwrap(),
                        examples[index].get(&name).unwrap(),
                        &place,
                    );
                }
                index += 1;
            }
        }
        assert_eq!(index, examples.len(), "{}", case.name);
    }
}

#[test]
fn every_good_case_reads_to_its_expectation() {
    let cases = good_cases("sedpack");
    assert!(cases.len() >= 59, "found {} cases", cases.len());
    for case in &cases {
        read_case(case, 0);
        read_case(case, 4);
    }
}

#[test]
fn root_checksums_are_those_of_the_library() {
    for case in good_cases("sedpack") {
        let found: Vec<Value> =
            open(&case).metadata_checksums().unwrap().into_iter().map(Value::from).collect();
        assert_eq!(
            case.expected.get("root_checksums"),
            Some(&Value::Array(found)),
            "{}",
            case.name
        );
    }
}

#[test]
fn documents_parsed_and_written_back_are_byte_equal() {
    let mut lists = 0;
    for case in good_cases("sedpack") {
        let bytes = std::fs::read(case.data.join("dataset_info.json")).unwrap();
        let info = DatasetInfo::parse(&bytes, &Limits::default()).unwrap();
        assert_eq!(info.text().as_bytes(), bytes, "{}", case.name);
        assert_eq!(info.notes, [], "{}", case.name);
        let mut folders = vec![case.data.clone()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.file_name().unwrap() == "shards_list.json" {
                    let bytes = std::fs::read(&path).unwrap();
                    let relative = path.strip_prefix(&case.data).unwrap().to_str().unwrap();
                    let relative = RelPath::new(relative).unwrap();
                    let mut list =
                        ShardsList::parse(&bytes, &relative, &Limits::default()).unwrap();
                    assert_eq!(list.text().as_bytes(), bytes, "{}: {relative}", case.name);
                    lists += 1;
                }
            }
        }
    }
    assert!(lists > 300, "found {lists} lists");
}
