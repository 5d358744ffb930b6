//! What no cache can hold is refused at the first bad sample, with its number, and nothing of it is seen.

use std::sync::Arc;

use packstone::format::Format;
use packstone::formats::datasetrt::options::{SampleMetadata, WriterOptions};
use packstone::formats::datasetrt::{DatasetRt, codes};
use packstone::json::{Number, Object, Value};
use packstone::{MemoryRoot, Root, RootMut};
use packstone_container::json;

use crate::kit::{self, samples};

fn options() -> WriterOptions {
    WriterOptions::default().with_threads(0)
}

fn memory() -> (MemoryRoot, Arc<dyn RootMut>) {
    let root = MemoryRoot::new();
    (root.clone(), Arc::new(root))
}

fn token(x: f64) -> Value {
    Value::Number(Number::from_double_in(x, json::FloatStyle::Pydantic))
}

fn with(name: &str, value: Value) -> Value {
    Value::Object(Object::from_iter([(name, value)]))
}

/// Writes a good sample and then this one: the code, the sample and the column of the refusal.
fn second(metadata: Value, options: &WriterOptions) -> Option<(&'static str, u64, Option<String>)> {
    let (memory, root) = memory();
    let mut writer = kit::writer(&root, "x", options).unwrap();
    writer.write(&samples(&[(b"a".to_vec(), json!({ "i": 1, "f": 0.5 }))])).unwrap();
    let batch = samples(&[(b"b".to_vec(), json!({ "i": 2, "f": 1.5 })), (b"c".to_vec(), metadata)]);
    let error = writer.write(&batch).err();
    let refused = error.map(|e| (e.code(), e.place().record.unwrap(), e.place().field.clone()));
    // Nothing of the refused batch is taken, and the writer goes on.
    writer.write(&samples(&[(b"d".to_vec(), json!({ "f": -1.0, "i": 3 }))])).unwrap();
    let written = writer.finish().unwrap();
    assert_eq!(written.samples, if refused.is_some() { 2 } else { 4 });
    let read = kit::rows(&kit::open_in(Arc::new(memory), "x").unwrap());
    assert_eq!(read.last().unwrap().0, b"d");
    refused
}

#[test]
fn samples_with_other_metadata_than_the_first_are_refused() {
    let refused = |metadata: Value, field: &str| {
        let found = second(metadata.clone(), &options());
        assert_eq!(found, Some((codes::VALUE_INVALID, 2, Some(field.to_owned()))), "{metadata}");
    };
    // The original turns an integer beyond 64 bits into a float and takes no 1 for a float.
    refused(json!({ "i": 9223372036854775808u64, "f": 1.0 }), "i");
    refused(json!({ "i": 1, "f": 1 }), "f");
    refused(json!({ "i": 1.0, "f": 1.0 }), "i");
    refused(json!({ "i": true, "f": 1.0 }), "i");
    refused(json!({ "i": "1", "f": 1.0 }), "i");
    refused(json!({ "i": null, "f": 1.0 }), "i");
    refused(json!({ "i": [1], "f": 1.0 }), "i");
    refused(json!({ "i": { "x": 1 }, "f": 1.0 }), "i");
    refused(json!({ "i": 1 }), "f");
    refused(json!({ "i": 1, "f": 1.0, "g": 2 }), "g");
    refused(json!({}), "f");
    let mut wide = json!({ "i": 1 });
    wide.as_object_mut().unwrap().insert("f", "1e999".parse::<Number>().unwrap());
    refused(wide, "f");
}

#[test]
fn floats_that_are_not_finite_are_refused_unless_asked_for() {
    for x in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let mut metadata = json!({ "i": 1 });
        metadata.as_object_mut().unwrap().insert("f", token(x));
        let refused = second(metadata.clone(), &options());
        assert_eq!(refused, Some((codes::VALUE_INVALID, 2, Some("f".to_owned()))));
        let mut taken = options();
        taken.non_finite = true;
        assert_eq!(second(metadata, &taken), None);
    }
}

fn first(metadata: Value, options: &WriterOptions) -> Result<Value, (&'static str, String)> {
    let (memory, root) = memory();
    let mut writer = kit::writer(&root, "x", options).unwrap();
    let batch = samples(&[(b"p".to_vec(), metadata)]);
    writer.write(&batch).map_err(|e| (e.code(), e.message().to_owned()))?;
    writer.finish().unwrap();
    let manifest = memory.read(&packstone::RelPath::new("x/manifest.json").unwrap()).unwrap();
    let read = json::read(&manifest, &json::ReadOptions::default()).unwrap().value;
    let rows = kit::rows(&kit::open_in(Arc::new(memory), "x").unwrap());
    assert_eq!(rows.len(), 1);
    let mut out = Object::from_iter([("metadata", rows[0].1.clone())]);
    out.insert("schema", read.get("metadata_schema").unwrap().clone());
    Ok(Value::Object(out))
}

#[test]
fn the_names_of_the_original_table_are_refused_left_or_renamed() {
    let metadata = json!({ "cache_id": 7, "weight": 0.5 });
    let (code, message) = first(metadata.clone(), &options()).unwrap_err();
    assert_eq!(code, codes::VALUE_INVALID);
    assert!(message.contains("reserved_prefix"), "{message}");
    let mut left = options();
    left.reserved_prefix = Some(String::new());
    assert_eq!(first(metadata.clone(), &left).unwrap().get("metadata"), Some(&metadata));
    left.reserved_prefix = Some("own_".to_owned());
    let renamed = first(metadata, &left).unwrap();
    assert_eq!(
        renamed.get("metadata").unwrap().to_string(),
        r#"{"own_cache_id":7,"own_weight":0.5}"#
    );
}

#[test]
fn samples_without_metadata_and_nested_metadata_go_into_a_column_of_text() {
    let mut columns = options();
    columns.metadata = Some(SampleMetadata::Columns);
    for metadata in [json!({}), json!({ "a": [1, 2] }), json!({ "a": null })] {
        assert_eq!(first(metadata.clone(), &columns).unwrap_err().0, codes::VALUE_INVALID);
        // Unless told, the writer sees that no columns can hold it.
        let found = first(metadata.clone(), &options()).unwrap();
        assert_eq!(found.get("metadata"), Some(&metadata));
        assert_eq!(
            found.get("schema").unwrap().to_string(),
            r#"[{"name":"packstone_metadata","kind":"string"}]"#
        );
    }
    let mut text = options();
    text.metadata = Some(SampleMetadata::Json);
    let odd = with("n", "1.50e+1".parse::<Number>().unwrap().into());
    assert_eq!(first(odd.clone(), &text).unwrap().get("metadata"), Some(&odd), "to the letter");
    assert_eq!(
        first(with("x", token(f64::NAN)), &text).unwrap().get("metadata"),
        Some(&with("x", token(f64::NAN)))
    );
}

#[test]
fn a_cache_without_samples_is_refused() {
    let (memory, root) = memory();
    let error = kit::writer(&root, "x", &options()).unwrap().finish().unwrap_err();
    assert_eq!(error.code(), codes::NO_SAMPLES);
    assert!(memory.files().is_empty());
    let mut writer = kit::writer(&root, "x", &options()).unwrap();
    writer.write(&samples(&[])).unwrap();
    assert_eq!(writer.finish().unwrap_err().code(), codes::NO_SAMPLES);
    assert!(memory.files().is_empty());
}

#[test]
fn names_that_are_no_plain_folder_are_refused_before_a_file_is_written() {
    let (memory, root) = memory();
    for name in ["", ".", "..", "a/b", "/a", "a\0", "tmp", "Tmp", &"x".repeat(256)] {
        let error = kit::writer(&root, name, &options()).err().unwrap();
        assert_eq!(error.code(), codes::NAME_INVALID, "{name:?}");
    }
    assert!(memory.files().is_empty());
}

#[test]
fn an_existing_cache_is_refused_and_not_touched() {
    let (memory, root) = memory();
    let write = || {
        let mut writer = kit::writer(&root, "x", &options())?;
        writer.write(&samples(&[(b"p".to_vec(), json!({ "i": 1 }))]))?;
        writer.finish()
    };
    write().unwrap();
    let before = memory.files();
    assert_eq!(write().unwrap_err().code(), codes::CACHE_EXISTS);
    assert_eq!(memory.files(), before);
    // One that came while this one was made.
    let mut late = kit::writer(&root, "y", &options()).unwrap();
    late.write(&samples(&[(b"p".to_vec(), json!({ "i": 1 }))])).unwrap();
    root.create(&packstone::RelPath::new("y/other").unwrap(), b"").unwrap();
    assert_eq!(late.finish().unwrap_err().code(), codes::CACHE_EXISTS);
    assert_eq!(memory.files().len(), before.len() + 1);
}

#[test]
fn what_another_writer_left_is_not_taken_unasked() {
    let (memory, root) = memory();
    let stray = packstone::RelPath::new("tmp/x/shards/000000.bin").unwrap();
    root.create(&stray, b"left").unwrap();
    let error = kit::writer(&root, "x", &options()).err().unwrap();
    assert_eq!(error.code(), codes::STAGE_EXISTS);
    assert_eq!(memory.files().len(), 1);
    // Another cache can be made meanwhile, and leaves that one alone.
    let mut writer = kit::writer(&root, "z", &options()).unwrap();
    writer.write(&samples(&[(b"p".to_vec(), json!({ "i": 1 }))])).unwrap();
    drop(writer);
    assert_eq!(memory.files().len(), 1);
}

#[test]
fn options_that_no_writer_can_follow_are_refused_by_the_format_too() {
    let (_memory, root) = memory();
    let plan = packstone::format::Plan::default();
    let create = |options: Value| {
        let options = options.as_object().unwrap().clone();
        DatasetRt.create(Arc::clone(&root), &plan, &options).err().unwrap().code()
    };
    assert_eq!(create(json!({ "max_shard_bytes": 0 })), codes::OPTION_INVALID);
    assert_eq!(create(json!({ "metadata": ["nothing"] })), codes::OPTION_INVALID);
    let part = DatasetRt.part(Arc::clone(&root), "a").err().unwrap();
    assert_eq!(part.kind(), packstone::Kind::Unsupported);
}
