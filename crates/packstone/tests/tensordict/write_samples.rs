//! Samples written as trees: every kind of field, to folders and archives, and back.

use std::sync::Arc;

use packstone::format::{Dataset, Format, Plan, Writer};
use packstone::formats::sedpack::Sedpack;
use packstone::formats::tensordict::TensorDict;
use packstone::formats::tensordict::codes;
use packstone::model::{Batch, Column, DType, Field, Key, Schema};
use packstone::ops::{
    ConvertOptions, DigestOptions, Level, Scan, convert, digest_collection, reopened,
};
use packstone::{Error, Kind, Limits, MemoryRoot, Root, RootMut};
use packstone_container::json;
use packstone_container::json::Value;
use packstone_io::{Buf, FaultyRoot, SoleFile};
use packstone_testkit::good_cases;

use crate::write_kit::{Content, json as read, memory, path};

fn nested(parts: &[&str]) -> Key {
    Key::nested(parts.iter().map(|part| (*part).to_owned()).collect())
}

/// Every kind of field.
fn schema() -> Arc<Schema> {
    Arc::new(Schema::new(vec![
        Field::new("label", DType::Str, []),
        Field::new("x", DType::Float32, [2, 2]),
        Field::at(nested(&["deep", "er / %", "y"]), DType::Int16, []),
        Field::varying(nested(&["deep", "v"]), DType::UInt8, 2),
        Field::new("none", DType::Int64, [0, 3]),
        Field::new("meta", DType::Json, []),
        Field::varying(Key::new("point"), DType::Bool, 0),
        Field::new("half", DType::BFloat16, [3]),
    ]))
}

/// A value of each field, in row `n`.
fn row(n: usize) -> Vec<(Vec<u64>, Vec<u8>)> {
    let number = |len: usize| (0..len).map(|i| (n * 7 + i) as u8).collect::<Vec<u8>>();
    let rows = n % 3;
    let values =
        [json!([]), json!([[], []]), json!({"k": [1, 2.5, null]}), json!("text"), json!([1, 2])];
    vec![
        (vec![], format!("row {n} é\n").into_bytes()),
        (vec![], number(16)),
        (vec![], number(2)),
        (vec![rows as u64, 3], number(rows * 3)),
        (vec![], vec![]),
        (vec![], packstone::model::canonical::value(&values[n % 5]).into_bytes()),
        (vec![], vec![(n % 2) as u8]),
        (vec![], number(6)),
    ]
}

fn batch(rows: std::ops::Range<usize>) -> Batch {
    let schema = schema();
    let all: Vec<_> = rows.clone().map(row).collect();
    let columns = schema.fields.iter().enumerate().map(|(at, field)| {
        let mut ends = Vec::new();
        let mut data = Vec::new();
        for values in &all {
            data.extend_from_slice(&values[at].1);
            ends.push(data.len());
        }
        let shapes = all.iter().flat_map(|values| values[at].0.clone()).collect();
        let column = match field.value_bytes() {
            Some(width) => Column::dense(Buf::from(data), width as usize, all.len()).unwrap(),
            None => Column::ragged(Buf::from(data), ends).unwrap(),
        };
        if field.varying { column.with_shapes(field.shape.len(), shapes).unwrap() } else { column }
    });
    Batch::new(Arc::clone(&schema), all.len(), columns.collect()).unwrap()
}

fn plan(collections: &[(&str, Option<u64>)]) -> Plan {
    let collections = collections.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect();
    Plan { schema: schema(), collections, ..Plan::default() }
}

/// A target in memory: a folder, or a file.
fn target(archive: bool) -> (MemoryRoot, Arc<dyn RootMut>) {
    let files = MemoryRoot::new();
    let root: Arc<dyn RootMut> = match archive {
        true => Arc::new(SoleFile::new(files.clone(), path("x.tdz"), "x.tdz")),
        false => Arc::new(files.clone()),
    };
    (files, root)
}

fn rows(dataset: &dyn Dataset, name: &str) -> Vec<Vec<(Vec<u64>, Vec<u8>)>> {
    let mut out = Vec::new();
    for shard in Scan::new(dataset.collection(name).unwrap()).threads(0).shards() {
        let batch = shard.unwrap().batch;
        out.extend(batch.samples().map(|sample| {
            let fields = batch.schema().fields.iter();
            let value = |(value, field): (packstone::model::ValueRef<'_>, &Field)| {
                (if field.varying { value.shape.to_vec() } else { vec![] }, value.bytes.to_vec())
            };
            sample.values().zip(fields).map(value).collect::<Vec<_>>()
        }));
    }
    out
}

fn create(root: &Arc<dyn RootMut>, plan: &Plan, options: &Value) -> Result<Box<dyn Writer>, Error> {
    let options = options.as_object().cloned().unwrap_or_default();
    TensorDict.create(Arc::clone(root), plan, &options)
}

#[test]
fn every_kind_of_field_is_read_back() {
    for (archive, compression) in
        [(false, ""), (true, "stored"), (true, "deflate"), (true, "bzip2"), (true, "lzma")]
    {
        let (_, root) = target(archive);
        let plan = plan(&[("train", Some(7)), ("test", None), ("empty", Some(0)), ("shape", None)]);
        let mut writer = create(&root, &plan, &json!({ "compression": compression })).unwrap();
        writer.write("train", &batch(0..3)).unwrap();
        writer.write("test", &batch(3..4)).unwrap();
        writer.write("train", &batch(4..4)).unwrap();
        writer.write("train", &batch(4..8)).unwrap();
        writer.write("shape", &batch(1..2)).unwrap();
        assert_eq!(
            root.list(&path("")).unwrap().iter().filter(|e| e.name == "meta.json").count(),
            0
        );
        let written = writer.finish().unwrap();
        assert_eq!(written.samples, 9);
        let dataset = TensorDict.open(Arc::clone(&root) as _, &Limits::default()).unwrap();
        assert_eq!(dataset.collections(), ["train", "test", "empty", "shape"]);
        for (name, want) in [
            ("train", [0, 1, 2, 4, 5, 6, 7].map(row).to_vec()),
            ("test", vec![row(3)]),
            ("empty", vec![]),
            ("shape", vec![row(1)]),
        ] {
            let collection = dataset.collection(name).unwrap();
            assert_eq!(
                (collection.len(), collection.schema()),
                (want.len() as u64, &schema()),
                "{name}"
            );
            assert_eq!(rows(dataset.as_ref(), name), want, "{name}");
        }
        // A mapping inside of one is no collection, but can be asked for.
        assert_eq!(dataset.collection("train.deep").unwrap().len(), 7);
        let found =
            packstone::formats::tensordict::audit::audit(root as _, &Default::default()).unwrap();
        let serious: Vec<_> = found
            .findings
            .iter()
            .filter(|f| f.severity > packstone::model::Severity::Info)
            .collect();
        assert!(serious.is_empty(), "{serious:?}");
    }
}

#[test]
fn documents_are_those_of_the_library() {
    let (files, root) = target(false);
    let fields = vec![
        Field::new("a", DType::Int16, [2]),
        Field::at(nested(&["n", "t"]), DType::Str, []),
        Field::varying(nested(&["n", "v"]), DType::UInt8, 1),
    ];
    let schema = Arc::new(Schema::new(fields));
    let mut plan = plan(&[("train", None)]);
    plan.schema = Arc::clone(&schema);
    plan.carried = read("{\"k\": 1}").as_object().cloned();
    let columns = vec![
        Column::dense(Buf::from(vec![1, 0, 2, 0, 3, 0, 4, 0]), 4, 2).unwrap(),
        Column::ragged(Buf::from("ä\"b".as_bytes().to_vec()), vec![3, 4]).unwrap(),
        Column::ragged(Buf::from(vec![7, 8, 9]), vec![1, 3])
            .unwrap()
            .with_shapes(1, vec![1, 2])
            .unwrap(),
    ];
    let mut writer = create(&root, &plan, &json!({})).unwrap();
    writer.write("train", &Batch::new(schema, 2, columns).unwrap()).unwrap();
    writer.finish().unwrap();
    let files = memory(&files, "");
    let text = |file: &str| String::from_utf8(files[file].clone()).unwrap();
    let own = |shape: &str| {
        format!(
            "\"shape\": [{shape}], \"device\": \"cpu\", \"_type\": \"<class 'tensordict._td.TensorDict'>\", \
             \"_format_version\": 1, \"_class\": \"tensordict:TensorDict\""
        )
    };
    assert_eq!(
        text("train/meta.json"),
        format!(
            "{{\"a\": {{\"device\": \"cpu\", \"shape\": [2, 2], \"dtype\": \"torch.int16\", \"is_nested\": false}}, \
             \"n\": {{\"type\": \"TensorDict\"}}, {}}}",
            own("2")
        )
    );
    assert_eq!(
        text("train/n/meta.json"),
        format!(
            "{{\"t\": {{\"type\": \"NonTensorStack\"}}, \
             \"v\": {{\"device\": \"cpu\", \"shape\": [2, 1], \"dtype\": \"torch.uint8\", \"is_nested\": true}}, {}}}",
            own("2")
        )
    );
    assert_eq!(
        text("train/n/t/meta.json"),
        "{\"_type\":\"<class 'tensordict.tensorclass.NonTensorStack'>\",\"_format_version\":1,\
         \"_class\":\"tensordict:NonTensorStack\",\"stack_dim\":0,\"device\":null,\"data\":[\"\\u00e4\\\"\",\"b\"]}"
    );
    assert!(text("meta.json").starts_with(&format!(
        "{{\"train\": {{\"type\": \"TensorDict\"}}, {}, \"_packstone\": \"",
        own("")
    )));
    assert_eq!(files["train/n/v.shape.memmap"], [1u64.to_le_bytes(), 2u64.to_le_bytes()].concat());
    assert_eq!(files["train/n/v.memmap"], [7, 8, 9]);
    assert_eq!(files.len(), 7);
    let root: Arc<dyn Root> = root;
    let dataset = TensorDict.open(root, &Limits::default()).unwrap();
    assert_eq!(dataset.info().carried, read("{\"k\": 1}").as_object().cloned());
}

#[test]
fn many_small_batches_give_the_bytes_of_one() {
    let write = |cuts: &[usize], archive: bool| {
        let (files, root) = target(archive);
        let mut writer = create(&root, &plan(&[("train", None)]), &json!({})).unwrap();
        let mut first = 0;
        for end in cuts {
            writer.write("train", &batch(first..*end)).unwrap();
            first = *end;
        }
        writer.finish().unwrap();
        memory(&files, "")
    };
    let each: Vec<usize> = (1..=400).collect();
    for archive in [false, true] {
        assert_eq!(write(&[400], archive), write(&each, archive));
    }
}

#[test]
fn a_writer_that_is_dropped_takes_everything_back() {
    for archive in [false, true] {
        let (files, root) = target(archive);
        let mut writer = create(&root, &plan(&[("train", None)]), &json!({})).unwrap();
        writer.write("train", &batch(0..5)).unwrap();
        drop(writer);
        assert_eq!(files.files().len(), 0);
        // And leaves the place free.
        create(&root, &plan(&[("train", None)]), &json!({})).unwrap().finish().unwrap();
        let again = create(&root, &plan(&[("train", None)]), &json!({}));
        assert_eq!(again.err().unwrap().kind(), Kind::Exists);
    }
}

#[test]
fn two_writers_never_work_in_one_folder() {
    let (_, root) = target(false);
    let writer = create(&root, &plan(&[("train", None)]), &json!({})).unwrap();
    let other = create(&root, &plan(&[("train", None)]), &json!({})).err().unwrap();
    assert_eq!(other.kind(), Kind::Conflict);
    writer.finish().unwrap();
}

#[test]
fn a_batch_that_does_not_fit_writes_nothing() {
    let (files, root) = target(false);
    let mut writer = create(&root, &plan(&[("train", None)]), &json!({})).unwrap();
    writer.write("train", &batch(0..2)).unwrap();
    let with = |at: usize, column: Column| {
        let good = batch(0..2);
        let mut columns = good.columns().to_vec();
        columns[at] = column;
        Batch::new(Arc::clone(good.schema()), 2, columns).unwrap()
    };
    let text = |bytes: &[u8]| Column::ragged(Buf::copy_from(bytes), vec![1, bytes.len()]).unwrap();
    let mut other = schema().as_ref().clone();
    other.fields[1] = Field::new("x", DType::Float64, [2]);
    let other = Batch::new(Arc::new(other), 2, batch(0..2).columns().to_vec()).unwrap();
    let labelled =
        batch(0..2).with_metadata(Arc::new(read("{\"a\": 1}").as_object().cloned().unwrap()));
    for (batch, named) in [
        (with(0, text(b"a\xff")), "row 1"),
        (with(5, text(b"1{")), "JSON in row 1"),
        (with(1, text(&[0; 17])), "16 bytes in row 0"),
        (other, "float64"),
        (labelled, "metadata"),
    ] {
        let error = writer.write("train", &batch).unwrap_err();
        assert_eq!(error.code(), codes::VALUE_NOT_STORABLE);
        assert!(error.to_string().contains(named), "{error}");
    }
    assert_eq!(writer.write("other", &batch(0..1)).unwrap_err().code(), codes::UNKNOWN_COLLECTION);
    writer.write("train", &batch(2..3)).unwrap();
    writer.finish().unwrap();
    let dataset = TensorDict.open(Arc::new(files), &Limits::default()).unwrap();
    assert_eq!(rows(dataset.as_ref(), "train"), [0, 1, 2].map(row));
}

#[test]
fn plans_that_no_tree_can_hold_are_refused() {
    let refused = |fields: Vec<Field>, options: Value| {
        let plan = Plan { schema: Arc::new(Schema::new(fields)), ..Plan::default() };
        let (files, root) = target(false);
        let error = create(&root, &plan, &options).err().unwrap();
        let options = options.as_object().cloned().unwrap();
        assert_eq!(TensorDict.fidelity(&plan, &options).unwrap_err().code(), error.code());
        assert_eq!(files.files().len(), 0);
        error.code()
    };
    let int = |key: &[&str]| Field::at(nested(key), DType::Int8, []);
    for (fields, options, code) in [
        (vec![int(&["a"]), int(&["a", "b"])], json!({}), codes::NAME_COLLISION),
        (
            vec![Field::varying(Key::new("a"), DType::Int8, 1), int(&["a.shape"])],
            json!({}),
            codes::NAME_COLLISION,
        ),
        (vec![int(&["a"]), int(&["a.memmap", "b"])], json!({}), codes::NAME_COLLISION),
        (vec![int(&["shape"])], json!({}), codes::RESERVED_KEY),
        (vec![int(&["a", "_class"])], json!({}), codes::RESERVED_KEY),
        (vec![int(&[&"k".repeat(300)])], json!({}), codes::NAME_TOO_LONG),
        (vec![Field::new("b", DType::Bytes, [])], json!({}), codes::VALUE_NOT_STORABLE),
        (vec![Field::new("f", DType::Float8E5M2, [])], json!({}), codes::UNSUPPORTED_DTYPE),
        (
            vec![Field::new("d", DType::DateTime(None), [])],
            json!({ "allow_unloadable_dtypes": true }),
            codes::UNSUPPORTED_DTYPE,
        ),
        (vec![int(&["a/b"])], json!({ "robust_key": false }), codes::PATH_ESCAPE),
        (vec![int(&["a"])], json!({ "colour": 1 }), codes::OPTION_INVALID),
    ] {
        let names: Vec<_> = fields.iter().map(|field| field.key.to_string()).collect();
        assert_eq!(refused(fields, options), code, "{names:?}");
    }
}

#[test]
fn a_fault_at_any_operation_leaves_no_dataset() {
    for archive in [false, true] {
        for good in 0.. {
            let files = MemoryRoot::new();
            let faulty = FaultyRoot::new(files.clone(), good);
            let root: Arc<dyn RootMut> = match archive {
                true => Arc::new(SoleFile::new(faulty, path("x.tdz"), "x.tdz")),
                false => Arc::new(faulty),
            };
            let write = || {
                let mut writer =
                    create(&root, &plan(&[("train", None), ("test", None)]), &json!({}))?;
                writer.write("train", &batch(0..3))?;
                writer.write("test", &batch(3..4))?;
                writer.finish()
            };
            let done = write().is_ok();
            let now: Content = memory(&files, "");
            if done {
                assert!(good > 10, "{good}");
                break;
            }
            assert!(!now.contains_key("meta.json"), "after {good}");
            // An archive that has its name and whose name did not reach the disk is whole.
            if now.contains_key("x.tdz") {
                let root = Arc::new(SoleFile::new(files, path("x.tdz"), "x.tdz"));
                let dataset = TensorDict.open(root, &Limits::default()).unwrap();
                assert_eq!(rows(dataset.as_ref(), "train"), [0, 1, 2].map(row), "after {good}");
            }
        }
    }
}

#[test]
fn sedpack_becomes_tensordict_and_comes_back() {
    let mut converted = 0;
    for case in good_cases("sedpack") {
        let folder = Arc::new(packstone::LocalRoot::open(&case.data).unwrap());
        let Ok(source) = Sedpack.open(folder, &Limits::default()) else { continue };
        for archive in [false, true] {
            let options = ConvertOptions { proof: true, threads: 0, ..ConvertOptions::default() };
            let (_, root) = target(archive);
            let there =
                convert(Arc::clone(&source), &TensorDict, Arc::clone(&root), &options, None);
            let report = match there {
                Ok(report) => report,
                // Python integers beyond 64 bits have no place in a tensor.
                Err(error) if error.code() == "ops/wide_integer" => continue,
                Err(error) => panic!("{}: {error}", case.name),
            };
            assert!(report.fidelity.is_lossless(), "{}: {:?}", case.name, report.fidelity);
            assert!(
                report.digests.iter().all(|proof| proof.level == Some(Level::Full)),
                "{}",
                case.name
            );
            let stored = TensorDict.open(Arc::clone(&root) as _, &Limits::default()).unwrap();
            let given = reopened(stored).unwrap();
            let back_root: Arc<dyn RootMut> = Arc::new(MemoryRoot::new());
            convert(Arc::clone(&given), &Sedpack, Arc::clone(&back_root), &options, None).unwrap();
            let back = reopened(Sedpack.open(back_root as _, &Limits::default()).unwrap()).unwrap();
            for name in source.collections() {
                let digest = |dataset: &Arc<dyn Dataset>| {
                    let collection = dataset.collection(&name).unwrap();
                    digest_collection(collection, &DigestOptions::default(), None).unwrap().full
                };
                let want = digest(&source);
                assert_eq!(digest(&given), want, "{}", case.name);
                if !source.collection(&name).unwrap().is_empty() {
                    assert_eq!(digest(&back), want, "{}", case.name);
                }
            }
            converted += 1;
        }
    }
    assert!(converted > 60, "{converted}");
}

#[test]
fn what_is_carried_stays_carried_in_copies() {
    // Metadata of samples and bytes of any length are stored in other words.
    let folder = packstone_testkit::golden_folder("sedpack").join("fb_text_and_bytes/data");
    let source = packstone::open(folder).unwrap();
    let proved = ConvertOptions { proof: true, threads: 0, ..ConvertOptions::default() };
    let (_, there) = target(false);
    convert(Arc::clone(&source), &TensorDict, Arc::clone(&there), &proved, None).unwrap();
    let given = reopened(TensorDict.open(there as _, &Limits::default()).unwrap()).unwrap();
    let name = source.collections().remove(0);
    let one = ConvertOptions { collections: vec![name.clone()], ..proved.clone() };
    // As a whole, and a collection alone.
    for options in [&proved, &one] {
        for archive in [false, true] {
            let (_, copy) = target(archive);
            let report =
                convert(Arc::clone(&given), &TensorDict, Arc::clone(&copy), options, None).unwrap();
            assert!(report.digests.iter().all(|proof| proof.level == Some(Level::Full)));
            let copy = reopened(TensorDict.open(copy as _, &Limits::default()).unwrap()).unwrap();
            let digest = |dataset: &Arc<dyn Dataset>| {
                let collection = dataset.collection(&name).unwrap();
                digest_collection(collection, &DigestOptions::default(), None).unwrap().full
            };
            assert_eq!(digest(&copy), digest(&source));
        }
    }
}

/// The keys, batch sizes and shapes of a tree, but for packstone's own entry.
fn shown(node: &packstone::formats::tensordict::parts::node::Node) -> Vec<String> {
    use packstone::formats::tensordict::parts::node::Node;
    let mut out = vec![format!("{} {:?}", node.word(), node.batch_size())];
    if let Node::Leaf(leaf) = node {
        out.push(format!("{} {:?}", leaf.dtype, leaf.shape));
    }
    let mut children: Vec<_> = node.children();
    children.sort_by(|(a, _), (b, _)| a.cmp(b));
    for (key, child) in children {
        out.extend(shown(child).into_iter().map(|line| format!("{key}/{line}")));
    }
    out
}

#[test]
fn a_root_is_a_root_again_after_another_format() {
    use packstone::formats::datasetrt::DatasetRt;
    use packstone::formats::sds::Sds;
    use packstone::formats::tensordict::options::TreeOptions;
    use packstone::formats::tensordict::reader::TensorDictDataset;
    let options = ConvertOptions { proof: true, threads: 0, ..ConvertOptions::default() };
    let open_tree =
        |root: Arc<dyn Root>| TensorDictDataset::open(root, &TreeOptions::default()).unwrap();
    let through: [&dyn Format; 3] = [&Sedpack, &DatasetRt, &Sds];
    for name in ["basic", "device_none", "nested_tensors", "non_tensor_stack_json"] {
        let data = packstone_testkit::golden_folder("tensordict").join(name).join("data");
        let source = packstone::open(&data).unwrap();
        let local: Arc<dyn Root> = Arc::new(packstone::LocalRoot::open(&data).unwrap());
        let tree = open_tree(local);
        let want = shown(&tree.tree().root);
        for format in through {
            for archive in [false, true] {
                let place = format!("{name} {} {archive}", format.id());
                let there: Arc<dyn RootMut> = Arc::new(MemoryRoot::new());
                convert(Arc::clone(&source), format, Arc::clone(&there), &options, None)
                    .unwrap_or_else(|e| panic!("{place}: {e}"));
                let middle = format.open(there as _, &Limits::default()).unwrap();
                let middle = reopened(middle).unwrap();
                let (_, back) = target(archive);
                let report =
                    convert(middle, &TensorDict, Arc::clone(&back), &options, None).unwrap();
                assert!(report.digests.iter().all(|p| p.level == Some(Level::Full)), "{place}");
                let back = open_tree(back as _);
                assert_eq!(shown(&back.tree().root), want, "{place}");
                let own = |dataset: &TensorDictDataset, name: &str| {
                    dataset.info().native.get(name).cloned()
                };
                for member in ["shape", "device", "_names", "_class"] {
                    assert_eq!(own(&back, member), own(&tree, member), "{place} {member}");
                }
            }
        }
    }
}
