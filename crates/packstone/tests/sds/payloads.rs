//! Single payloads: those that the library refuses, those that it surprisingly takes, and bounds at their edges.

use packstone::formats::sds::options::{Policy, RecordPolicy};
use packstone::formats::sds::parts::carrier::Annotation;
use packstone::formats::sds::parts::notes::Notes;
use packstone::formats::sds::parts::payload::{decode, encode, encode_record};
use packstone::formats::sds::parts::pointer::WorkerPointer;
use packstone::formats::sds::parts::record::Row;
use packstone::json::Value;
use packstone::{Error, Place};
use packstone_io::Buf;

use super::kit::{self, golden_json, items, text, unhex};

fn read(kind: &str, payload: &[u8], notes: &mut Notes) -> Result<(), Error> {
    let policy = Policy::default();
    let buffer = Buf::from(payload.to_vec());
    match kind {
        "record" => decode(&buffer, &policy.records, notes).map(drop),
        "metadata" => Row::parse(payload, &policy, notes).map(drop),
        "annotation" => Annotation::decode(&buffer, &policy.records, notes).map(drop),
        _ => WorkerPointer::parse(payload, &policy.control, notes).map(drop),
    }
}

/// Which payloads are refused, by the code of the error. The library takes two of them: UTF-16, and a text in place of
/// coordinate values, which it splits into characters.
const REFUSED: &[(&str, &str)] = &[
    (
        "sds/payload_invalid",
        "empty seven-bytes header-size-beyond-end header-size-u64-max header-not-json header-array header-invalid-utf8 truncated-data trailing-data \
         header-duplicate-tensor header-nonstring-metadata header-nan descriptor-missing descriptor-i8 \
         descriptor-two-axes tensor-shape-size-mismatch tensor-unknown-dtype offsets-reversed \
         offsets-negative offsets-float offsets-one offsets-three offsets-bool offsets-string offsets-object \
         offsets-past-end offsets-overlap offsets-short annotation-not-a-record",
    ),
    ("sds/limit_exceeded", "metadata-too-deep"),
    (
        "sds/json_invalid",
        "descriptor-empty descriptor-not-json descriptor-nan descriptor-overflow-metadata descriptor-utf16 \
         descriptor-lone-surrogate-metadata coordinate-overflow metadata-empty-payload metadata-not-json \
         metadata-nan metadata-overflow",
    ),
    ("sds/dtype_unsupported", "tensor-bf16 tensor-f8"),
    (
        "sds/descriptor_invalid",
        "descriptor-array descriptor-missing-format descriptor-missing-version descriptor-missing-id \
         descriptor-missing-fields id-number id-null scene-number metadata-array metadata-string fields-array \
         field-not-object field-missing-tensor-key field-missing-tensor field-names-descriptor \
         tensor-unreferenced field-metadata-array axes-null axis-length-bool axis-length-float \
         axis-length-negative axis-length-missing axis-name-missing axis-name-number axis-role-number \
         axis-id-number axis-metadata-array coordinate-string coordinate-values-string coordinate-start-bool \
         coordinate-start-string coordinate-reference-number coordinate-unit-number",
    ),
    ("sds/duplicate_key", "descriptor-duplicate-key metadata-duplicate-key"),
    (
        "sds/format_unknown",
        "descriptor-wrong-format descriptor-version-0.2 descriptor-version-number",
    ),
    (
        "sds/record_invalid",
        "id-empty fields-empty field-empty-name rank-zero axes-missing axes-too-many axis-length-mismatch \
         axis-name-empty axis-name-repeated coordinate-values-short coordinate-values-and-step \
         coordinate-values-and-reference coordinate-linear-and-reference coordinate-start-only \
         coordinate-step-only coordinate-reference-unresolved shared-axis-coordinate-differs \
         shared-axis-length-differs",
    ),
    (
        "sds/row_invalid",
        "metadata-array-document metadata-missing-id metadata-missing-fields metadata-field-missing-dtype \
         metadata-field-missing-shape metadata-field-missing-axes metadata-dtype-unknown \
         metadata-shape-negative metadata-shape-bool metadata-shape-float metadata-shape-rank \
         metadata-axis-length",
    ),
    (
        "sds/annotation_invalid",
        "annotation-missing annotation-array annotation-index-missing annotation-index-bool \
         annotation-index-negative annotation-index-float annotation-status-missing annotation-status-unknown \
         annotation-status-null annotation-values-array annotation-provenance-null annotation-detail-empty \
         annotation-detail-number annotation-empty-fields-missing annotation-empty-fields-number",
    ),
    (
        "sds/pointer_invalid",
        "pointer-extra-key pointer-missing-name pointer-missing-publication_id \
         pointer-missing-source_snapshot_id pointer-missing-logical_shard_id pointer-missing-first_ordinal \
         pointer-missing-record_ids pointer-missing-uri pointer-missing-stored_bytes \
         pointer-missing-generation pointer-missing-statuses pointer-missing-terminal_statuses \
         pointer-name-empty pointer-ordinal-bool pointer-ordinal-negative pointer-records-empty \
         pointer-statuses-short pointer-status-unknown pointer-terminal-empty pointer-generation-bool",
    ),
];
/// Which payloads are taken with a remark, by its code.
const NOTED: &[(&str, &str)] = &[
    ("sds/byte_order_mark", "descriptor-bom"),
    ("sds/unknown_key", "descriptor-unknown-keys metadata-unknown-keys"),
    ("sds/metadata_loose", "metadata-empty-array metadata-false metadata-null"),
    ("sds/tensor_shared", "tensor-shared"),
    (
        "sds/row_loose",
        "metadata-id-number metadata-id-empty metadata-fields-empty metadata-dtype-object \
         metadata-dtype-big-endian metadata-dtype-word metadata-dtype-null metadata-scalar",
    ),
    ("sds/annotation_loose", "annotation-empty-fields-true annotation-extra-key"),
];

fn codes_of(table: &[(&'static str, &str)], name: &str) -> Vec<&'static str> {
    let has = |names: &str| names.split_whitespace().any(|other| other == name);
    table.iter().filter(|(_, names)| has(names)).map(|(code, _)| *code).collect()
}

#[test]
fn every_payload_gives_its_verdict() {
    let cases = golden_json("bad/payloads.json");
    let stricter = ["descriptor-utf16", "coordinate-values-string"];
    for case in items(&cases, "cases") {
        let (name, kind) = (text(case, "name"), text(case, "kind"));
        let payload = unhex(text(case, "payload_hex"));
        let mut notes = Notes::new(Place::default());
        let found = read(kind, &payload, &mut notes);
        let accepted = text(case, "expect") == "ok" && !stricter.contains(&name);
        assert_eq!(found.is_ok(), accepted, "{name}: {found:?}");
        let found: Vec<_> = found.err().iter().map(Error::code).collect();
        assert_eq!(found, codes_of(REFUSED, name), "{name}");
        let mut noted: Vec<_> = notes.findings.iter().map(|f| f.code).collect();
        noted.dedup();
        assert_eq!(noted, codes_of(NOTED, name), "{name}");
    }
    let table = REFUSED.iter().chain(NOTED).flat_map(|(_, names)| names.split_whitespace());
    for name in table {
        let known = items(&cases, "cases").iter().any(|case| text(case, "name") == name);
        assert!(known, "no payload {name}");
    }
}

fn policy(case: &Value) -> RecordPolicy {
    let mut policy = RecordPolicy::default();
    for (key, value) in case.get("policy").unwrap().as_object().unwrap().iter() {
        let (bytes, count) = (value.as_u64().unwrap(), value.as_u64().unwrap() as usize);
        match key.as_str().unwrap() {
            "max_encoded_record_bytes" => policy.encoded_bytes = bytes,
            "max_descriptor_bytes" => policy.descriptor_bytes = bytes,
            "max_fields" => policy.fields = count,
            "max_axes_per_field" => policy.axes_per_field = count,
            "max_coordinate_values" => policy.coordinate_values = count,
            "max_tensor_bytes" => policy.tensor_bytes = bytes,
            "max_total_tensor_bytes" => policy.total_tensor_bytes = bytes,
            "max_metadata_bytes" => policy.metadata_bytes = bytes,
            "max_json_depth" => policy.json_depth = count,
            "max_json_nodes" => policy.json_nodes = count,
            other => panic!("{other}"),
        }
    }
    policy
}

#[test]
fn bounds_have_the_edges_of_the_library() {
    let groups = golden_json("bad/limits.json");
    let mut count = 0;
    for group in items(&groups, "groups") {
        let record = kit::record(group.get("record").unwrap());
        let payload = Buf::from(unhex(text(group, "payload_hex")));
        let row = text(group, "metadata_utf8");
        for case in items(group, "cases") {
            let records = policy(case);
            let all = Policy { records: records.clone(), ..Policy::default() };
            let mut notes = Notes::new(Place::default());
            let direction = text(case, "direction");
            let found = match direction {
                "encode" => encode_record(&record, &records).map(drop),
                "decode" => decode(&payload, &records, &mut notes).map(drop),
                "metadata-decode" => Row::parse(row.as_bytes(), &all, &mut notes).map(drop),
                "metadata-encode" => encode(&record, &all).map(drop),
                other => panic!("{other}"),
            };
            let bounds = case.get("policy").unwrap().as_object().unwrap();
            let structure = ["max_json_depth", "max_json_nodes"];
            let structure = structure.iter().any(|key| bounds.contains_key(key));
            let place = format!("{direction} {}", case.get("policy").unwrap());
            match (text(case, "expect"), found) {
                ("ok", Ok(())) => {}
                ("error", Err(error)) => assert_eq!(error.code(), "sds/limit_exceeded", "{place}"),
                // The library writes what it cannot read back, and rows beside records that it refuses; packstone does not.
                ("ok", Err(error)) if direction == "encode" && structure => {
                    assert_eq!(error.code(), "sds/limit_exceeded", "{place}");
                }
                ("ok", Err(error)) if direction == "metadata-encode" => {
                    assert_eq!(error.code(), "sds/limit_exceeded", "{place}");
                }
                (expected, found) => panic!("{place}: expected {expected}, found {found:?}"),
            }
            count += 1;
        }
    }
    assert_eq!(count, 48);
}
