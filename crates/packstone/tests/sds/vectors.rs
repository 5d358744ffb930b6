//! Records and annotations with the bytes that the library gives them.

use packstone::Place;
use packstone::formats::sds::options::{Policy, RecordPolicy};
use packstone::formats::sds::parts::carrier::Annotation;
use packstone::formats::sds::parts::notes::Notes;
use packstone::formats::sds::parts::payload::{decode, encode};
use packstone::formats::sds::parts::record::Row;
use packstone::json::Value;
use packstone_io::Buf;

use super::kit::{self, golden_json, items, text, unhex};

fn vectors() -> Vec<Value> {
    let vectors = golden_json("vectors.json");
    let vectors = items(&vectors, "vectors").to_vec();
    assert!(vectors.len() >= 27, "{}", vectors.len());
    vectors
}

#[test]
fn records_and_rows_have_the_bytes_of_the_library() {
    let mut count = 0;
    for vector in vectors() {
        let Some(described) = vector.get("record") else { continue };
        let (name, mut record) = (text(&vector, "name"), kit::record(described));
        // The order in which a caller has the fields does not matter.
        for _ in 0..2 {
            let encoded = encode(&record, &Policy::default()).unwrap();
            assert_eq!(encoded.record, unhex(text(&vector, "encoded_hex")), "{name}");
            assert_eq!(encoded.row, unhex(text(&vector, "metadata_hex")), "{name}");
            record.fields.reverse();
        }
        count += 1;
    }
    assert!(count >= 24, "{count}");
}

#[test]
fn what_is_read_is_what_was_written() {
    let silent = || Notes::new(Place::default());
    for vector in vectors() {
        let Some(described) = vector.get("record") else { continue };
        let (name, wanted) = (text(&vector, "name"), kit::record(described));
        let mut notes = silent();
        let payload = Buf::from(unhex(text(&vector, "encoded_hex")));
        let read = decode(&payload, &RecordPolicy::default(), &mut notes).unwrap();
        assert_eq!(notes.findings, [], "{name}");
        assert_eq!(read.fields.len(), wanted.fields.len(), "{name}");
        for (field, found) in &read.fields {
            let wanted = wanted.field(field).unwrap();
            assert_eq!((&found.dtype, &found.shape), (&wanted.dtype, &wanted.shape), "{name}");
            assert_eq!(found.data, wanted.data, "{name} {field}");
            assert_eq!(found.axes, wanted.axes, "{name} {field}");
        }
        let again = encode(&read, &Policy::default()).unwrap();
        assert_eq!(again.record[..], payload[..], "{name}");
        let mut notes = silent();
        let text = unhex(text(&vector, "metadata_hex"));
        let row = Row::parse(&text, &Policy::default(), &mut notes).unwrap();
        assert_eq!(notes.findings, [], "{name}");
        assert_eq!(row, read.row(), "{name}");
        assert_eq!(row.text().as_bytes(), text, "{name}");
    }
}

#[test]
fn annotations_have_the_bytes_of_the_library() {
    let mut count = 0;
    for vector in vectors() {
        let Some(described) = vector.get("annotation") else { continue };
        let (name, annotation) = (text(&vector, "name"), kit::annotation(described));
        let policy = RecordPolicy::default();
        let payload = annotation.encode(&policy).unwrap();
        assert_eq!(payload, unhex(text(&vector, "encoded_hex")), "{name}");
        let mut notes = Notes::new(Place::default());
        let read = Annotation::decode(&Buf::from(payload.clone()), &policy, &mut notes).unwrap();
        assert_eq!(notes.findings, [], "{name}");
        assert_eq!(read.metadata(), annotation.metadata(), "{name}");
        assert_eq!(read.fields.len(), annotation.fields.len(), "{name}");
        assert_eq!(read.encode(&policy).unwrap(), payload, "{name}");
        count += 1;
    }
    assert_eq!(count, 3);
}

/// The record and the row that the format's own document pins.
#[test]
fn the_pinned_record_is_reproduced() {
    let vector = vectors().into_iter().find(|v| text(v, "name") == "v01-compatibility").unwrap();
    let encoded = encode(&kit::record(vector.get("record").unwrap()), &Policy::default()).unwrap();
    assert_eq!(encoded.record.len(), 425);
    let header = "{\"tensor_000000\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,12]},\
                  \"__sds_descriptor__\":{\"dtype\":\"U8\",\"shape\":[261],\"data_offsets\":[12,273]}}   ";
    assert_eq!(encoded.record[..8], 0x90u64.to_le_bytes());
    assert_eq!(&encoded.record[8..152], header.as_bytes());
    let floats: Vec<u8> = [1f32, 2.0, 3.0].iter().flat_map(|x| x.to_le_bytes()).collect();
    assert_eq!(encoded.record[152..164], floats);
    let descriptor = "{\"fields\":{\"signal\":{\"axes\":[{\"coordinate\":null,\"id\":null,\"length\":3,\
        \"metadata\":{},\"name\":\"time\",\"role\":null}],\"metadata\":{},\"tensor\":\"tensor_000000\"}},\
        \"format\":\"signal-dataset.record\",\"id\":\"golden\",\"metadata\":{\"kind\":\"fixture\"},\
        \"scene_id\":null,\"version\":\"0.1\"}";
    assert_eq!(&encoded.record[164..], descriptor.as_bytes());
}
