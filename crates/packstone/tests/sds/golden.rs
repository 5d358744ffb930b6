//! Every golden dataset, and every readable variant of one, reads to exactly what its `expected.json` says.

use std::sync::Arc;

use packstone::LocalRoot;
use packstone::format::Dataset;
use packstone::formats::sds::parts::axes::Axis;
use packstone::formats::sds::parts::carrier::Annotation;
use packstone::formats::sds::parts::record::{RecordField, RowField, tensor_type};
use packstone::formats::sds::reader::SdsDataset;
use packstone::json::{Object, Value};
use packstone::model::about_fields;
use packstone::ops::Scan;
use packstone_container::digest::{hex, sha256};
use packstone_testkit::{Snapshot, good_cases};

use super::kit::{self, edited, golden_json, items, spelled, text};

fn axes(axes: &[Axis]) -> String {
    spelled(&Value::Array(axes.iter().map(Axis::to_value).collect()))
}

fn member(value: &Value, key: &str) -> String {
    spelled(value.get(key).unwrap_or_else(|| panic!("no {key}")))
}

fn field(name: &str, found: &RecordField, expected: &Value) {
    assert_eq!(found.dtype.numpy_str(), text(expected, "dtype"), "{name}");
    let tensor = tensor_type(&found.dtype).unwrap();
    assert_eq!(tensor.name(), text(expected, "safetensors_dtype"), "{name}");
    assert_eq!(spelled(&Value::from(found.shape.as_slice())), member(expected, "shape"), "{name}");
    assert_eq!(axes(&found.axes), member(expected, "axes"), "{name}");
    assert_eq!(spelled(&found.metadata.clone().into()), member(expected, "metadata"), "{name}");
    assert_eq!(Some(found.data.len() as u64), expected.get("nbytes").unwrap().as_u64(), "{name}");
    assert_eq!(hex(&sha256(&found.data)), text(expected, "sha256"), "{name}");
}

fn fields(place: &str, found: &[(String, RecordField)], expected: &Value) {
    let names: Value = found.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(spelled(&names), member(expected, "field_order"), "{place}");
    for (name, found) in found {
        field(
            &format!("{place} {name:?}"),
            found,
            expected.get("fields").unwrap().get(name).unwrap(),
        );
    }
}

fn row_field(name: &str, found: &RowField, expected: &Value) {
    assert_eq!(found.dtype, text(expected, "dtype"), "{name}");
    assert_eq!(spelled(&Value::from(found.shape.as_slice())), member(expected, "shape"), "{name}");
    assert_eq!(axes(&found.axes), member(expected, "axes"), "{name}");
    assert_eq!(spelled(&found.metadata.clone().into()), member(expected, "metadata"), "{name}");
}

fn optional(text: Option<&str>) -> String {
    spelled(&text.map_or(Value::Null, Value::from))
}

/// Records, rows and annotations against `{records, record_metadata, annotations}`.
fn content(name: &str, dataset: &SdsDataset, expected: &Value, sets: &Value) {
    let records = items(expected, "records");
    assert_eq!(dataset.len(), records.len() as u64, "{name}");
    let rows = dataset.rows(0..dataset.len()).unwrap();
    let expected_rows = items(expected, "record_metadata");
    for (ordinal, expected) in (0u64..).zip(records) {
        let place = format!("{name} record {ordinal}");
        let found = dataset.record(ordinal).unwrap_or_else(|e| panic!("{place}: {e}"));
        assert_eq!(found.id, text(expected, "id"), "{place}");
        assert_eq!(optional(found.scene_id.as_deref()), member(expected, "scene_id"), "{place}");
        assert_eq!(
            spelled(&found.metadata.clone().into()),
            member(expected, "metadata"),
            "{place}"
        );
        fields(&place, &found.fields, expected);
        let payload = expected.get("payload").unwrap();
        let spelled = packstone::formats::sds::parts::payload::encode(&found, &Default::default());
        let spelled = spelled.unwrap();
        assert_eq!(hex(&sha256(&spelled.record)), text(payload, "sha256"), "{place}");
        let row = &expected_rows[ordinal as usize];
        assert_eq!(spelled.row, text(row, "payload_utf8").as_bytes(), "{place}");
    }
    for ((ordinal, found), expected) in rows.iter().enumerate().zip(expected_rows) {
        let place = format!("{name} row {ordinal}");
        assert_eq!(found, &dataset.row(ordinal as u64).unwrap(), "{place}");
        assert_eq!(found.id.as_deref(), Some(text(expected, "id")), "{place}");
        assert_eq!(optional(found.scene_id.as_deref()), member(expected, "scene_id"), "{place}");
        assert_eq!(
            spelled(&found.metadata.clone().into()),
            member(expected, "metadata"),
            "{place}"
        );
        assert_eq!(found.text(), text(expected, "payload_utf8"), "{place}");
        let names: Value = found.fields.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(spelled(&names), member(expected, "field_order"), "{place}");
        for (name, found) in &found.fields {
            let expected = expected.get("fields").unwrap().get(name).unwrap();
            row_field(&format!("{place} {name:?}"), found, expected);
        }
    }
    annotations(name, dataset, sets);
}

fn annotations(name: &str, dataset: &SdsDataset, sets: &Value) {
    let sets = sets.as_object().unwrap();
    let names: Vec<_> = sets.keys().map(|key| key.as_str().unwrap()).collect();
    let mut found = dataset.catalog().unwrap().names().to_vec();
    found.sort();
    assert_eq!(found, names, "{name}");
    for (set, expected) in sets.iter() {
        let set = set.as_str().unwrap();
        let found = dataset.annotations(set).unwrap();
        let place = format!("{name} {set}");
        assert_eq!(found.root.publication_id, text(expected, "publication_id"), "{place}");
        assert_eq!(found.root.source_snapshot_id, text(expected, "source_snapshot_id"), "{place}");
        assert_eq!(Some(found.len()), expected.get("record_count").unwrap().as_u64(), "{place}");
        assert_eq!(spelled(&found.root.metadata.clone().into()), member(expected, "metadata"));
        for (ordinal, expected) in (0u64..).zip(items(expected, "records")) {
            let place = format!("{place} {ordinal}");
            let found: Annotation = found.annotation(ordinal).unwrap();
            assert_eq!(found.source_record_id, text(expected, "source_record_id"), "{place}");
            assert_eq!(Some(found.source_index), expected.get("source_index").unwrap().as_u64());
            assert_eq!(found.status.name(), text(expected, "status"), "{place}");
            let detail = optional(found.detail_status.as_deref());
            assert_eq!(detail, member(expected, "detail_status"), "{place}");
            assert_eq!(
                spelled(&found.values.clone().into()),
                member(expected, "values"),
                "{place}"
            );
            let provenance = spelled(&found.provenance.clone().into());
            assert_eq!(provenance, member(expected, "provenance"), "{place}");
            fields(&place, &found.fields, expected);
        }
    }
}

/// The control graph against `dataset`.
fn graph(name: &str, dataset: &SdsDataset, expected: &Value) {
    let (document, snapshot) = (dataset.document(), dataset.snapshot());
    assert_eq!(document.dataset_id, text(expected, "dataset_id"), "{name}");
    assert_eq!(snapshot.snapshot_id, text(expected, "snapshot_id"), "{name}");
    assert_eq!(spelled(&document.metadata.clone().into()), member(expected, "metadata"), "{name}");
    let count = |value: &Value, key: &str| value.get(key).unwrap().as_u64().unwrap();
    assert_eq!(snapshot.record_count, count(expected, "record_count"), "{name}");
    assert_eq!(snapshot.shard_count, count(expected, "shard_count"), "{name}");
    assert_eq!(snapshot.stored_bytes, count(expected, "stored_bytes"), "{name}");
    let pages = items(expected, "manifests");
    assert_eq!(snapshot.manifests.len(), pages.len(), "{name}");
    for (position, expected) in pages.iter().enumerate() {
        let page = dataset.store().index.page(position).unwrap();
        assert_eq!(page.first_ordinal, count(expected, "first_ordinal"), "{name}");
        assert_eq!(page.record_count, count(expected, "record_count"), "{name}");
        for (found, expected) in page.shards.iter().zip(items(expected, "shards")) {
            assert_eq!(found.first_ordinal, count(expected, "first_ordinal"), "{name}");
            assert_eq!(found.record_count, count(expected, "record_count"), "{name}");
            for (found, kind) in [(&found.data, "data"), (&found.metadata, "metadata")] {
                let expected = expected.get(kind).unwrap();
                assert_eq!(found.path.to_string(), text(expected, "path"), "{name}");
                assert_eq!(found.stored_bytes, count(expected, "stored_bytes"), "{name}");
            }
            let indices = found.record_indices.as_deref().map_or(Value::Null, Value::from);
            assert_eq!(spelled(&indices), member(expected, "record_indices"), "{name}");
        }
    }
}

/// All samples of a collection, as JSON: identity, fields, what is said about them, metadata.
fn samples(dataset: &SdsDataset, collection: &str, threads: usize) -> Vec<Value> {
    let collection = dataset.collection(collection).unwrap();
    let mut out = Vec::new();
    let scan = Scan::new(Arc::clone(&collection)).runs(true).identities(true).threads(threads);
    for decoded in scan.shards() {
        let decoded = decoded.unwrap();
        assert_eq!(decoded.shard.first, out.len() as u64);
        assert_eq!(decoded.batch.rows() as u64, decoded.shard.rows);
        for sample in decoded.batch.samples() {
            let metadata = sample.metadata().map(|m| m.as_ref().clone()).unwrap_or_default();
            let (metadata, about) = about_fields(&metadata).unwrap_or((metadata, Object::new()));
            let names = decoded.batch.schema().fields.iter().map(|f| f.key.to_string());
            let fields = names.zip(sample.values()).map(|(name, value)| {
                let mut out = Object::new();
                let about = about.get(&name);
                out.insert("dtype", value.dtype.numpy_str().as_ref());
                out.insert("shape", Value::from(value.shape));
                out.insert("sha256", hex(&sha256(value.bytes)));
                let said = |key| about.and_then(|about| about.get(key)).cloned();
                out.insert("axes", said("axes").unwrap_or(Value::Array(Vec::new())));
                out.insert("metadata", said("metadata").unwrap_or(Value::Object(Object::new())));
                (name, Value::Object(out))
            });
            let mut line = sample.identity().unwrap().clone();
            line.insert("fields", fields.collect::<Object>());
            line.insert("metadata", metadata);
            out.push(Value::Object(line));
        }
    }
    assert_eq!(out.len() as u64, collection.len());
    out
}

/// The members of `value` that samples have.
fn pick(value: &Value) -> Value {
    let fields = value.get("fields").unwrap().as_object().unwrap().iter().map(|(name, field)| {
        let keys = ["dtype", "shape", "sha256", "axes", "metadata"];
        let picked: Object =
            keys.iter().map(|key| (*key, field.get(key).unwrap().clone())).collect();
        (name.clone(), picked)
    });
    let mut out = Object::new();
    for key in ["id", "scene_id", "metadata"] {
        out.insert(key, value.get(key).unwrap().clone());
    }
    out.insert("fields", fields.collect::<Object>());
    Value::Object(out)
}

#[test]
fn every_good_case_reads_to_its_expectation() {
    let cases = good_cases("signal-dataset");
    assert_eq!(cases.len(), 6);
    for case in &cases {
        let before = Snapshot::of(&case.data);
        let dataset = kit::open(Arc::new(LocalRoot::open(&case.data).unwrap())).unwrap();
        let expected = &case.expected;
        graph(&case.name, &dataset, expected.get("dataset").unwrap());
        let sets = expected.get("annotations").unwrap().get("sets").unwrap();
        content(&case.name, &dataset, expected, sets);
        for threads in [0, 2] {
            let found = samples(&dataset, "records", threads);
            for (found, expected) in found.iter().zip(items(expected, "records")) {
                assert_eq!(spelled(found), spelled(&pick(expected)), "{}", case.name);
            }
        }
        for (name, set) in sets.as_object().unwrap().iter() {
            let found = samples(&dataset, &format!("annotations/{}", name.as_str().unwrap()), 0);
            for (found, expected) in found.iter().zip(items(set, "records")) {
                assert_eq!(found.get("id"), expected.get("source_record_id"));
                let about = found.get("metadata").unwrap().get("annotation").unwrap();
                for key in ["source_index", "status", "values", "provenance", "detail_status"] {
                    assert_eq!(member(about, key), member(expected, key), "{}", case.name);
                }
            }
        }
        assert_eq!(Snapshot::of(&case.data), before, "{}: reading left a trace", case.name);
    }
}

#[test]
fn every_variant_reads_like_its_base_or_as_listed() {
    let stricter = ["json-overflow-unknown-key", "json-utf16"];
    let variants = edited("variants");
    assert_eq!(variants.len(), 30);
    for case in variants {
        let before = Snapshot::of(&case.path());
        let opened = kit::open(case.root());
        if stricter.contains(&case.name.as_str()) {
            assert_eq!(opened.err().unwrap().code(), "sds/json_invalid", "{}", case.name);
            continue;
        }
        let dataset = opened.unwrap_or_else(|e| panic!("{}: {e}", case.name));
        graph(&case.name, &dataset, case.document.get("dataset").unwrap());
        let base = golden_json(&format!("{}/expected.json", case.base()));
        let expected = match case.document.get("records") {
            Some(_) => &case.document,
            None => &base,
        };
        let sets = match expected.get("annotations").unwrap().get("sets") {
            Some(sets) => sets.clone(),
            None => expected.get("annotations").unwrap().clone(),
        };
        content(&case.name, &dataset, expected, &sets);
        assert_eq!(Snapshot::of(&case.path()), before, "{}: reading left a trace", case.name);
    }
}
