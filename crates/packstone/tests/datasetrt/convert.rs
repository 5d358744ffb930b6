//! To DatasetRT, from it and within: what is read back has the content digest of what was given.

use std::path::PathBuf;
use std::sync::Arc;

use packstone::format::{Dataset, Format};
use packstone::formats::datasetrt::DatasetRt;
use packstone::formats::datasetrt::reader::DatasetRtDataset;
use packstone::formats::sedpack::Sedpack;
use packstone::json::Value;
use packstone::model::{Batch, Column, DType, Field, Key, Schema, Severity};
use packstone::ops::{
    ConvertOptions, ConvertReport, Level, VerifyOptions, convert, reopened, verify,
};
use packstone::{Error, Limits, MemoryRoot, RelPath, Root, RootMut};
use packstone_container::json;
use packstone_container::json::{Object, ReadOptions};
use packstone_container::safetensors::SafeTensors;
use packstone_io::Buf;
use packstone_testkit::{Case, good_cases};

use crate::kit;
use crate::made::Made;

fn run(
    source: &Arc<dyn Dataset>,
    to: &dyn Format,
    options: Value,
) -> Result<(MemoryRoot, ConvertReport), Error> {
    let root = MemoryRoot::new();
    let options = ConvertOptions {
        options: options.as_object().unwrap().clone(),
        proof: true,
        threads: 2,
        ..ConvertOptions::default()
    };
    let target: Arc<dyn RootMut> = Arc::new(root.clone());
    let report = convert(Arc::clone(source), to, target, &options, None)?;
    Ok((root, report))
}

fn open(format: &dyn Format, root: &MemoryRoot) -> Arc<dyn Dataset> {
    let root: Arc<dyn Root> = Arc::new(root.clone());
    reopened(format.open(root, &Limits::default()).unwrap()).unwrap()
}

/// No errors, and no warnings but of what only the original could not read.
fn assert_clean(root: &MemoryRoot, place: &str) {
    let root: Arc<dyn Root> = Arc::new(root.clone());
    let report = verify(&DatasetRt, root, &VerifyOptions::default(), None).unwrap();
    let serious = report.findings.iter().filter(|f| f.severity > Severity::Info);
    let codes: Vec<_> = serious.map(|f| f.code).collect();
    let known = ["datasetrt/non_finite", "datasetrt/reserved_name"];
    assert!(codes.iter().all(|code| known.contains(code)), "{place}: {codes:?}");
}

fn opened(case: &Case) -> Arc<dyn Dataset> {
    let roots = kit::roots(case, &kit::paths(case));
    DatasetRt.open_many(roots, &Limits::default()).unwrap()
}

#[test]
fn every_sedpack_case_comes_back_from_a_cache() {
    let (mut kept, mut refused) = (0, Vec::new());
    for case in good_cases("sedpack") {
        let source = packstone::open(&case.data).unwrap();
        for options in [json!({}), json!({ "compression": "lz4", "max_shard_bytes": 1000 })] {
            let place = format!("{} {options}", case.name);
            let (root, report) = match run(&source, &DatasetRt, options) {
                Ok(done) => done,
                Err(error) => {
                    refused.push(format!("{} {}", case.name, error.code()));
                    continue;
                }
            };
            assert!(report.digests.iter().all(|proof| proof.level == Some(Level::Full)), "{place}");
            assert_clean(&root, &place);
            kept += 1;
            // Its integers beyond 64 bits are written by no shard type of Sedpack.
            if case.name == "npz_uncast" {
                continue;
            }
            // And on to where it came from.
            let (_, back) = run(&open(&DatasetRt, &root), &Sedpack, json!({ "shard_type": "fb" }))
                .unwrap_or_else(|e| panic!("{place}: {e}"));
            assert!(back.digests.iter().all(|proof| proof.level == Some(Level::Full)), "{place}");
        }
    }
    // A dataset without any sample is none here.
    assert_eq!(refused, ["fb_empty datasetrt/no_samples"; 2]);
    assert_eq!(kept, good_cases("sedpack").len() * 2 - 2);
}

/// What is known of the first source, with the order of its members.
fn origin(dataset: &dyn Dataset) -> Value {
    dataset.info().carried.as_ref().unwrap().get("source").unwrap().clone()
}

#[test]
fn what_a_source_says_about_itself_stays_word_for_word() {
    let mut as_text = 0;
    let cases = good_cases("sedpack").into_iter().chain(good_cases("tensordict"));
    let inside = |case: Case| {
        let below = std::fs::read_dir(&case.data).into_iter().flatten();
        let below: Vec<PathBuf> = below.map(|entry| entry.unwrap().path()).collect();
        std::iter::once(case.data).chain(below)
    };
    for path in cases.flat_map(inside) {
        let place = path.display().to_string();
        let Ok(source) = packstone::open(&path) else { continue };
        let Ok((root, _)) = run(&source, &DatasetRt, json!({})) else { continue };
        let stored: Arc<dyn Root> = Arc::new(root.clone());
        let stored = DatasetRt.open(stored, &Limits::default()).unwrap();
        let mut want = Object::new();
        want.insert("format", source.info().format);
        want.insert("native", source.info().native.clone());
        assert!(origin(stored.as_ref()) == Value::Object(want), "{place}");
        for (_, bytes) in root.files().iter().filter(|(path, _)| path.name() == "manifest.json") {
            let manifest = json::read(bytes, &ReadOptions::default()).unwrap().value;
            let carried = manifest.get("packstone").unwrap().get("carried").unwrap();
            as_text += usize::from(carried.as_str().is_some());
        }
    }
    assert!(as_text > 0, "no case has what the original would refuse");
}

#[test]
fn a_cache_alone_is_called_what_a_cache_can_be_called() {
    for case in good_cases("datasetrt") {
        for path in kit::paths(&case) {
            let root = kit::roots(&case, std::slice::from_ref(&path)).remove(0);
            let Ok(source) = DatasetRt.open(root, &Limits::default()) else { continue };
            let (_, report) = run(&source, &DatasetRt, json!({}))
                .unwrap_or_else(|e| panic!("{} {path:?}: {e}", case.name));
            assert!(report.digests.iter().all(|proof| proof.level == Some(Level::Full)));
        }
    }
    for (name, want) in [("made", "made"), ("", "cache"), ("a/b", "cache"), ("tmp", "cache")] {
        let temp = tempfile::tempdir().unwrap();
        let folder = temp.path().join("cache");
        Made::of(&[b"x"]).write(&folder);
        let path = folder.join("manifest.json");
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.replace("\"made\"", &format!("{name:?}"))).unwrap();
        let dataset = DatasetRt.open(kit::local(&folder), &Limits::default()).unwrap();
        assert_eq!(dataset.collections(), [want]);
    }
}

#[test]
fn every_cache_comes_back_from_sedpack_and_from_itself() {
    for case in good_cases("datasetrt") {
        let source = opened(&case);
        let (there, report) = run(&source, &Sedpack, json!({ "shard_type": "fb" }))
            .unwrap_or_else(|e| panic!("{}: {e}", case.name));
        assert!(report.digests.iter().all(|proof| proof.level == Some(Level::Full)));
        let options = json!({ "non_finite": true, "reserved_prefix": "" });
        let (back, report) = run(&open(&Sedpack, &there), &DatasetRt, options)
            .unwrap_or_else(|e| panic!("{}: {e}", case.name));
        assert!(report.digests.iter().all(|proof| proof.level == Some(Level::Full)));
        assert_clean(&back, &case.name);
        let (own, report) =
            run(&source, &DatasetRt, json!({})).unwrap_or_else(|e| panic!("{}: {e}", case.name));
        assert!(report.digests.iter().all(|proof| proof.level == Some(Level::Full)));
        assert_clean(&own, &case.name);
        // Within the format nothing is added, so the original sees what it always saw.
        let manifest = own.files().into_iter().find(|(p, _)| p.name() == "manifest.json").unwrap();
        let text = String::from_utf8(manifest.1.to_vec()).unwrap();
        assert!(!text.contains("packstone"), "{text}");
    }
}

/// Samples of every kind of field: nested, varying, empty, of types that SafeTensors does not know.
fn rich() -> (Arc<Schema>, Batch) {
    let key = |parts: &[&str]| Key::nested(parts.iter().map(|p| (*p).to_owned()).collect());
    let mut unit = Field::new("label", DType::Int32, []);
    unit.metadata.insert("unit", "m");
    let schema = Arc::new(Schema::new(vec![
        Field::new("image", DType::UInt8, [2, 2]),
        Field::at(key(&["a", "b"]), DType::Float32, [3]),
        Field::at(key(&["a.b"]), DType::Complex128, []),
        Field::varying(Key::new("points"), DType::Float16, 2),
        Field::varying(Key::new("dates"), DType::from_name("<M8[ns]").unwrap(), 1),
        Field::new("text", DType::Str, []),
        Field::new("blob", DType::Bytes, []),
        Field::new("wide", DType::Int, []),
        Field::new("name", DType::FixedText(2), []),
        Field::new("none", DType::Float64, [0]),
        unit,
        Field::new("ok", DType::Bool, []),
        Field::new("score", DType::Float32, []),
        Field::new("key", DType::Str, []),
    ]));
    let rows = 3;
    let dense = |width: usize, seed: u8| {
        let data: Vec<u8> =
            (0..width * rows).map(|n| seed.wrapping_mul(31).wrapping_add(n as u8)).collect();
        Column::dense(Buf::from(data), width, rows).unwrap()
    };
    let ragged = |values: [&[u8]; 3]| {
        let ends = values.iter().scan(0, |end, v| {
            *end += v.len();
            Some(*end)
        });
        Column::ragged(Buf::from(values.concat()), ends.collect()).unwrap()
    };
    let floats: Vec<u8> = [0.1f32, -0.0, 3e38].iter().flat_map(|x| x.to_le_bytes()).collect();
    let columns = vec![
        dense(4, 1),
        dense(12, 2),
        dense(16, 3),
        ragged([&[1, 2, 3, 4], &[], &[5, 6, 7, 8, 9, 10, 11, 12]])
            .with_shapes(2, vec![2, 1, 0, 3, 2, 2])
            .unwrap(),
        ragged([&[7; 8], &[8; 16], &[]]).with_shapes(1, vec![1, 2, 0]).unwrap(),
        ragged(["é".as_bytes(), b"", b"abc"]),
        ragged([&[0, 255], b"", b"\xff"]),
        ragged([&[1; 8], &[2; 16], &[3; 8]]),
        dense(8, 0),
        dense(0, 0),
        dense(4, 5),
        Column::dense(Buf::from(vec![1, 0, 1]), 1, rows).unwrap(),
        Column::dense(Buf::from(floats), 4, rows).unwrap(),
        ragged([b"x", "漢".as_bytes(), b""]),
    ];
    let batch = Batch::new(Arc::clone(&schema), rows, columns).unwrap();
    let metadata = [json!({ "n": [1, { "x": null }] }), json!({}), json!({ "n": "1.0" })];
    let runs = metadata.iter().enumerate();
    let runs = runs.map(|(at, m)| (at + 1, Arc::new(m.as_object().unwrap().clone()))).collect();
    (schema, batch.with_metadata_runs(runs).unwrap())
}

fn write_rich(options: Value) -> (MemoryRoot, Arc<Schema>, Batch) {
    let (schema, batch) = rich();
    let root = MemoryRoot::new();
    let plan = packstone::format::Plan {
        schema: Arc::clone(&schema),
        collections: vec![("x".to_owned(), Some(3))],
        carried: Some(json!({ "kept": 1 }).as_object().unwrap().clone()),
        ..Default::default()
    };
    let target: Arc<dyn RootMut> = Arc::new(root.clone());
    let options = options.as_object().unwrap().clone();
    let fidelity = DatasetRt.fidelity(&plan, &options).unwrap();
    assert!(fidelity.is_lossless());
    let mut writer = DatasetRt.create(target, &plan, &options).unwrap();
    writer.write("x", &batch.slice(0..1).unwrap()).unwrap();
    writer.write("x", &batch.slice(1..3).unwrap()).unwrap();
    writer.finish().unwrap();
    (root, schema, batch)
}

#[test]
fn fields_of_every_kind_come_back_from_tensors_and_columns() {
    for options in [
        json!({}),
        json!({ "compression": "lz4" }),
        json!({ "metadata": ["label", "ok", "score", "key"] }),
        json!({ "metadata": ["label", "key"], "max_shard_bytes": 1, "compression": "lz4" }),
    ] {
        let (root, schema, batch) = write_rich(options.clone());
        let plain: Arc<dyn Root> = Arc::new(root.clone());
        let dataset =
            DatasetRtDataset::open(plain, &Default::default(), &Limits::default()).unwrap();
        assert_eq!(dataset.schema(), &schema, "{options}");
        assert_eq!(dataset.info().carried.as_ref().unwrap().get("kept"), Some(&Value::from(1)));
        let collection = dataset.collection("x").unwrap();
        assert!(collection.has_metadata().unwrap());
        assert_eq!(collection.schema(), &schema);
        let indices = [2, 0, 1, 2];
        let mut context = Default::default();
        let found =
            packstone::ops::gather(collection.as_ref(), &indices, None, &mut context).unwrap();
        for (row, index) in indices.iter().enumerate() {
            let (found, want) =
                (found.sample(row).unwrap(), batch.sample(*index as usize).unwrap());
            for (position, field) in schema.fields.iter().enumerate() {
                assert_eq!(found.value(position), want.value(position), "{options} {}", field.key);
            }
            assert_eq!(found.metadata(), want.metadata(), "{options}");
        }
        // Some fields alone, in another order.
        let some = packstone::ops::gather(collection.as_ref(), &[1], Some(&[10, 3]), &mut context);
        let some = some.unwrap();
        assert_eq!(some.sample(0).unwrap().value(0), batch.sample(1).unwrap().value(10));
        assert_eq!(some.sample(0).unwrap().value(1), batch.sample(1).unwrap().value(3));
        assert_clean(&root, &options.to_string());
    }
}

#[test]
fn payloads_are_safetensors_for_everybody() {
    let (root, ..) = write_rich(json!({}));
    let joint = kit::open_in(Arc::new(root), "x").unwrap();
    let (_, shard, record) = joint.caches()[0].record(0).unwrap();
    let payload = shard.slice(record.payload).unwrap();
    let tensors = SafeTensors::parse(payload, &Limits::default()).unwrap();
    let (info, bytes) = tensors.get("a.b").unwrap();
    assert_eq!((info.dtype.name(), info.shape.as_slice(), bytes.len()), ("F32", &[3][..], 12));
    let (info, bytes) = tensors.get("a.b_").unwrap();
    assert_eq!((info.dtype.name(), info.shape.as_slice(), bytes.len()), ("U8", &[16][..], 16));
    let (info, _) = tensors.get("points").unwrap();
    assert_eq!((info.dtype.name(), info.shape.as_slice()), ("F16", &[2, 1][..]));
    assert_eq!(&tensors.get("text").unwrap().1[..], "é".as_bytes());
    let texts = tensors.header().metadata().unwrap();
    let of = |name: &str| texts.iter().find(|(n, _)| n == name).map(|(_, text)| text.as_str());
    assert_eq!((of("text"), of("dates"), of("image")), (Some("str"), Some("<M8[ns]"), None));
}

#[test]
fn a_single_bytes_field_stays_the_payload_under_its_own_name() {
    let schema = Arc::new(Schema::new(vec![
        Field::new("jpeg", DType::Bytes, []),
        Field::new("label", DType::UInt16, []),
    ]));
    let jpeg = Column::ragged(Buf::from(b"aabbb".to_vec()), vec![2, 5]).unwrap();
    let label = Column::dense(Buf::from(vec![7, 0, 255, 255]), 2, 2).unwrap();
    let batch = Batch::new(Arc::clone(&schema), 2, vec![jpeg, label]).unwrap();
    let root = MemoryRoot::new();
    let plan = packstone::format::Plan { schema: Arc::clone(&schema), ..Default::default() };
    let options = json!({ "metadata": ["label"] }).as_object().unwrap().clone();
    let target: Arc<dyn RootMut> = Arc::new(root.clone());
    let mut writer = DatasetRt.create(target, &plan, &options).unwrap();
    writer.write("train", &batch).unwrap();
    writer.finish().unwrap();
    let joint = kit::open_in(Arc::new(root.clone()), "train").unwrap();
    let (_, shard, record) = joint.caches()[0].record(1).unwrap();
    assert_eq!(&shard[record.payload], b"bbb");
    let copy = std::str::from_utf8(&shard[record.metadata]).unwrap();
    assert_eq!(copy, r#"{"label":65535,"packstone_metadata":"{}"}"#);
    let read = &kit::batches(&joint)[0];
    assert_eq!(read.schema(), &schema);
    let values: Vec<_> = read.sample(1).unwrap().values().map(|v| v.bytes.to_vec()).collect();
    assert_eq!(values, [b"bbb".to_vec(), vec![255, 255]]);
    assert!(read.metadata(0).is_none());
    // A damaged description is refused at open, not guessed at.
    let path = RelPath::new("train/manifest.json").unwrap();
    let text = String::from_utf8(root.read(&path).unwrap().to_vec()).unwrap();
    let text = text.replace("\"column\": \"label\"", "\"column\": \"lost\"");
    root.replace(&[(path, text.into_bytes())]).unwrap();
    let error = kit::open_in(Arc::new(root), "train").err().unwrap();
    assert_eq!(error.code(), "datasetrt/manifest_invalid");
}

#[test]
fn values_that_no_column_holds_are_refused() {
    let schema = Arc::new(Schema::new(vec![
        Field::new("x", DType::Bytes, []),
        Field::new("n", DType::UInt64, []),
    ]));
    let data: Vec<u8> = [1, u64::MAX].iter().flat_map(|n| n.to_le_bytes()).collect();
    let columns = vec![
        Column::ragged(Buf::default(), vec![0, 0]).unwrap(),
        Column::dense(Buf::from(data), 8, 2).unwrap(),
    ];
    let batch = Batch::new(Arc::clone(&schema), 2, columns).unwrap();
    let plan = packstone::format::Plan { schema, ..Default::default() };
    let options = json!({ "metadata": ["n"] }).as_object().unwrap().clone();
    let root: Arc<dyn RootMut> = Arc::new(MemoryRoot::new());
    let mut writer = DatasetRt.create(Arc::clone(&root), &plan, &options).unwrap();
    let error = writer.write("a", &batch).unwrap_err();
    assert_eq!((error.code(), error.place().record), ("datasetrt/value_invalid", Some(1)));
    let shaped = Schema::new(vec![Field::new("n", DType::Int8, [2])]);
    let plan = packstone::format::Plan { schema: Arc::new(shaped), ..Default::default() };
    let error = DatasetRt.create(root, &plan, &options).err().unwrap();
    assert_eq!(error.code(), "datasetrt/option_invalid");
}

#[test]
fn collections_become_caches_that_are_all_seen_or_none() {
    let source = packstone::open(good_cases("sedpack")[0].data.clone()).unwrap();
    let (root, report) = run(&source, &DatasetRt, json!({})).unwrap();
    let dataset = open(&DatasetRt, &root);
    assert_eq!(dataset.collections().len(), source.collections().len());
    assert_eq!(report.written.samples, report.samples);
    assert!(root.files().iter().all(|(path, _)| !path.as_str().starts_with("tmp")));
}
