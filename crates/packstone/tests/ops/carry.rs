//! What a target has no word for comes back from it.

use std::sync::Arc;

use packstone::format::{Collection, Dataset, Format, ReadContext};
use packstone::json::Value;
use packstone::model::{Batch, Column, DType, Field, Holds, Key, Schema};
use packstone::ops::{
    ConvertOptions, DiffOptions, Level, carried_source, convert, diff, gather, reopened,
};
use packstone::{Kind, Limits, MemoryRoot};
use packstone_io::Buf;

use crate::fake::{FakeCollection, FakeFormat, dataset, object};

const ROWS: usize = 4;

/// Rows of any length.
fn ragged(rows: [&[u8]; ROWS]) -> Column {
    let ends = rows.iter().scan(0, |end, row| {
        *end += row.len();
        Some(*end)
    });
    Column::ragged(Buf::from(rows.concat()), ends.collect()).unwrap()
}

fn dense(width: usize) -> Column {
    let bytes: Vec<u8> = (0..ROWS * width).map(|n| u8::try_from(n % 251).unwrap()).collect();
    Column::dense(Buf::from(bytes), width, ROWS).unwrap()
}

/// One field of each kind that some format has no word for.
fn odd() -> FakeCollection {
    let deep = |name: &str| Key::nested(vec!["deep".to_owned(), name.to_owned()]);
    let fields = vec![
        (Field::new("shape", DType::Int16, [3]), dense(6)),
        (Field::at(deep("x"), DType::BFloat16, [2, 2]), dense(8)),
        (Field::new("deep.x", DType::Float64, []), dense(8)),
        (Field::new("text", DType::Str, []), ragged([b"a", b"", "\u{e9}".as_bytes(), b"z"])),
        (Field::new("blob", DType::Bytes, []), ragged([b"", b"\0\0", b"1", b""])),
        (Field::new("fixed", DType::Bytes, [5]), dense(5)),
        (Field::at(deep("json"), DType::Json, []), ragged([b"1", b"{}", b"[null]", b"\"\""])),
        (Field::new("count", DType::Int, []), dense(8)),
        (Field::new("none", DType::Float32, [0, 7]), dense(0)),
        (Field::new("word", DType::FixedText(2), []), dense(8)),
        (
            Field::varying(Key::new("signal"), DType::Complex64, 2),
            ragged([&[1; 16], &[], &[2; 8], &[]])
                .with_shapes(2, vec![2, 1, 0, 9, 1, 1, 3, 0])
                .unwrap(),
        ),
        (
            Field::varying(Key::new("bits"), DType::Float8E5M2, 1),
            ragged([&[1; 3], &[], &[2], &[5; 2]]).with_shapes(1, vec![3, 0, 1, 2]).unwrap(),
        ),
    ];
    let (fields, columns): (Vec<_>, Vec<_>) = fields.into_iter().unzip();
    let schema = Arc::new(Schema::new(fields));
    let runs = vec![(1, object("{}")), (3, object(r#"{"site":"é"}"#)), (4, object(r#"{"n":1.0}"#))];
    let batch = Batch::new(Arc::clone(&schema), ROWS, columns).unwrap();
    FakeCollection::new("odd", schema, vec![batch.with_metadata_runs(runs).unwrap()])
}

fn source() -> Arc<dyn Dataset> {
    let odd = odd();
    let empty = FakeCollection::new("empty", Arc::clone(&odd.schema), Vec::new());
    dataset(vec![odd, empty])
}

/// As flat as a table of numbers, bytes and short names.
const POOR: Holds = Holds {
    nested: false,
    varying: false,
    text: false,
    bytes: true,
    json: false,
    metadata: false,
    empty_arrays: false,
    empty_collections: false,
    dtype: |dtype| matches!(dtype, DType::UInt8 | DType::Int16 | DType::Int64),
    reserved: &["shape", "sample_metadata"],
    collections: Some(&["train", "test"]),
    collection_name: |_| true,
};

/// Arrays of any shape and nothing else.
const ARRAYS: Holds = Holds {
    varying: true,
    text: false,
    bytes: false,
    json: false,
    metadata: false,
    dtype: |dtype| !matches!(dtype, DType::Int | DType::FixedText(_) | DType::Float8E5M2),
    ..Holds::ALL
};

fn options() -> ConvertOptions {
    ConvertOptions { proof: true, strict: true, threads: 2, ..ConvertOptions::default() }
}

#[test]
fn everything_comes_back_from_poorer_formats() {
    for holds in [POOR, ARRAYS, Holds { text: true, ..POOR }, Holds::ALL] {
        let format = FakeFormat { foreign: Some(holds), ..FakeFormat::default() };
        let root = Arc::new(MemoryRoot::new());
        let report = convert(source(), &format, Arc::clone(&root) as _, &options(), None).unwrap();
        assert!(report.digests.iter().all(|proof| proof.level == Some(Level::Full)), "{holds:?}");
        assert_eq!(report.digests.len(), 2);
        let stored = format.open(root, &Limits::default()).unwrap();
        for field in &stored.schema().fields {
            assert!(holds.nested || field.key.parts().len() == 1, "{field:?}");
            assert!(field.is_variable() || (holds.dtype)(&field.dtype), "{field:?}");
            assert!(!holds.reserved.contains(&field.key.to_string().as_str()), "{field:?}");
            assert!(holds.varying || !field.varying, "{field:?}");
            assert!(holds.text || field.dtype != DType::Str, "{field:?}");
        }
        let (first, native) = carried_source(stored.info()).unwrap();
        assert_eq!(
            (first.as_str(), native.get("made").and_then(Value::as_str)),
            ("fake", Some("up"))
        );
        let back = reopened(stored).unwrap();
        assert_eq!(back.collections(), ["odd", "empty"]);
        assert_eq!(back.schema(), source().schema());
        let same = diff(source().as_ref(), back.as_ref(), &DiffOptions::default(), None).unwrap();
        assert!(same.equal, "{holds:?}: {same:?}");
        assert!(back.collection("odd").unwrap().has_metadata().unwrap());
        projected(back.collection("odd").unwrap().as_ref());
    }
}

/// Some fields of some rows, in another order.
fn projected(collection: &dyn Collection) {
    let schema = collection.schema();
    let fields = ["signal", "none", "deep.json"].map(|name| schema.position(name).unwrap());
    let rows = gather(collection, &[2, 0], Some(&fields), &mut ReadContext::default()).unwrap();
    let sample = rows.sample(0).unwrap();
    assert_eq!(sample.get("signal").unwrap().shape, [1, 1]);
    assert_eq!(sample.get("none").unwrap().bytes, b"");
    assert_eq!(sample.get("deep.json").unwrap().bytes, b"[null]");
    assert_eq!(sample.metadata().unwrap().get("site").and_then(Value::as_str), Some("é"));
    assert!(rows.metadata(1).is_none());
}

#[test]
fn collections_get_names_that_the_target_can_spell() {
    let short = |name: &str| !name.contains(['/', '\\']) && name.len() < 12;
    let format = FakeFormat {
        foreign: Some(Holds { collection_name: short, ..Holds::ALL }),
        ..FakeFormat::default()
    };
    let mut names = vec!["a/b", "a_b", "far too long a name", "fine"];
    let collections = names.iter().map(|name| FakeCollection { name: (*name).to_owned(), ..odd() });
    let root = Arc::new(MemoryRoot::new());
    let source = dataset(collections.collect());
    convert(source, &format, Arc::clone(&root) as _, &options(), None).unwrap();
    let stored = format.open(root, &Limits::default()).unwrap();
    assert_eq!(stored.collections(), ["a_b_", "a_b", "collection", "fine"]);
    let mut back = reopened(stored).unwrap().collections();
    names.sort_unstable();
    back.sort_unstable();
    assert_eq!(back, names);
}

#[test]
fn integers_beyond_64_bits_are_refused_by_name() {
    let schema = Arc::new(Schema::new(vec![Field::new("n", DType::Int, [])]));
    let column = ragged([&[1; 8], &[2; 8], &[3; 16], &[4; 8]]);
    let batch = Batch::new(Arc::clone(&schema), ROWS, vec![column]).unwrap();
    let source = dataset(vec![FakeCollection::new("train", schema, vec![batch])]);
    let format = FakeFormat { foreign: Some(POOR), ..FakeFormat::default() };
    let root = Arc::new(MemoryRoot::new());
    let error = convert(source, &format, Arc::clone(&root) as _, &options(), None).unwrap_err();
    assert_eq!((error.code(), error.kind()), ("ops/wide_integer", Kind::Unsupported));
    assert!(root.files().is_empty());
}

#[test]
fn damaged_descriptions_are_refused() {
    let format = FakeFormat { foreign: Some(POOR), ..FakeFormat::default() };
    let root = Arc::new(MemoryRoot::new());
    convert(source(), &format, Arc::clone(&root) as _, &options(), None).unwrap();
    let good = format.seen.lock().unwrap().as_ref().unwrap().0.carried.clone().unwrap();
    let text = Value::Object(good).to_string();
    let mut refused = 0;
    for (from, to) in [
        ("\"version\":1", "\"version\":2"),
        ("\"framed\"", "\"same\""),
        ("\"absent\"", "\"framed\""),
        ("complex64", "complex128"),
        ("\"rank\":2", "\"rank\":3"),
        ("\"rank\":2", "\"rank\":99"),
        ("\"int16\"", "\"int61\""),
        ("[\"sample_metadata_\"]", "[\"text\"]"),
        ("\"renamed\":", "\"named\":"),
    ] {
        assert!(text.contains(from), "{from}: {text}");
        let damaged = object(&text.replace(from, to)).as_ref().clone();
        format.seen.lock().unwrap().as_mut().unwrap().0.carried = Some(damaged);
        let stored = format.open(Arc::clone(&root) as _, &Limits::default()).unwrap();
        let read = || {
            let opened = reopened(stored)?.collection("odd")?;
            gather(opened.as_ref(), &[0, 1, 2, 3], None, &mut ReadContext::default())
        };
        let error = read().unwrap_err();
        let known = ["ops/carried_description", "model/column_mismatch"];
        assert!(known.contains(&error.code()), "{from}: {error}");
        refused += 1;
    }
    assert_eq!(refused, 9);
}
