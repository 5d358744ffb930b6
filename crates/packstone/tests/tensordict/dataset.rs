//! Trees as datasets: collections, rows, values of all kinds.

use std::sync::Arc;

use packstone::format::{Dataset, Format, ReadContext};
use packstone::formats::tensordict::options::TreeOptions;
use packstone::formats::tensordict::parts::leaves::Entry;
use packstone::formats::tensordict::parts::line::line;
use packstone::formats::tensordict::reader::TensorDictDataset;
use packstone::formats::tensordict::{TensorDict, codes};
use packstone::model::DType;
use packstone::ops::{Scan, VerifyOptions, gather, verify};
use packstone::{Error, Kind, Limits, MemoryRoot, RelPath, Root, RootMut};
use packstone_container::json::{Object, Value};
use packstone_testkit::{Case, Snapshot, good_cases};

use crate::kit::{meta, put, root};

fn case(name: &str) -> Case {
    good_cases("tensordict").into_iter().find(|case| case.name == name).unwrap()
}

/// The line of an entry; the sums of its bytes are held against the library's elsewhere.
fn shown(entry: &Entry<'_>) -> String {
    let mut line = line(entry, &Limits::default()).unwrap();
    line.remove("sha256");
    Value::Object(line).to_string()
}

fn open(root: Arc<dyn Root>) -> Result<TensorDictDataset, Error> {
    TensorDictDataset::open(root, &TreeOptions::default())
}

/// All samples of a collection as text: `name=value`.
fn rows(dataset: &dyn Dataset, name: &str) -> Result<Vec<Vec<String>>, Error> {
    let mut out = Vec::new();
    for shard in Scan::new(dataset.collection(name)?).threads(0).shards() {
        let batch = shard?.batch;
        let fields = &batch.schema().fields;
        out.extend(batch.samples().map(|sample| {
            let values = sample.values().zip(fields);
            values
                .map(|(value, field)| format!("{}={}", field.key, value.to_json()))
                .collect::<Vec<_>>()
        }));
    }
    Ok(out)
}

#[test]
fn a_batch_is_a_collection_of_its_rows() {
    let dataset = open(root(&case("everything"))).unwrap();
    assert_eq!(dataset.collections(), ["data"]);
    let data = dataset.collection("data").unwrap();
    assert_eq!((data.len(), data.shard_count()), (2, 1));
    let fields: Vec<_> = data
        .schema()
        .fields
        .iter()
        .map(|f| format!("{} {}{:?}{}", f.key, f.dtype, f.shape, if f.varying { "~" } else { "" }))
        .collect();
    assert_eq!(
        fields,
        [
            "img uint8[5, 3]",
            "nt float32[0, 0]~",
            "empty float32[0]",
            "nest.k/1 int64[]",
            "nest.txt str[]",
            "stack str[]",
            "lazy.v float32[0]~",
            "tc.x float32[2]",
            "tc.label str[]",
            "none json[]",
        ]
    );
    let rows = rows(&dataset, "data").unwrap();
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[0][5..7], ["stack=\"a\"", "lazy.v=[0.6328781843185425]"]);
    assert_eq!(
        rows[1][3..6],
        ["nest.k/1=-4646011454939119469", "nest.txt=\"inner\"", "stack=\"b\""]
    );
    assert_eq!(rows[1][1], "nt=[[1.1914803981781006,-1.6527717113494873,0.5348363518714905]]");
    assert_eq!(rows[1][9], "none=null");
}

#[test]
fn a_mapping_below_is_a_collection_on_request() {
    let dataset = open(root(&case("everything"))).unwrap();
    for (name, len) in [("nest", 2), ("tc", 2), ("lazy", 2), ("lazy.1", 1)] {
        assert_eq!(dataset.collection(name).unwrap().len(), len, "{name}");
    }
    assert_eq!(rows(&dataset, "lazy.1").unwrap(), [["v=[0.7764425277709961,0.4187605381011963]"]]);
    for name in ["img", "nest.k/1", "next", "lazy.2", "", "nest.", "lazy.x"] {
        let error = dataset.collection(name).err().unwrap();
        assert_eq!(error.code(), "tensordict/unknown_collection", "{name}");
        assert!(error.message().contains("data"));
    }
}

#[test]
fn a_tree_without_batch_is_one_sample() {
    let dataset = open(root(&case("scalars_and_zero_elements"))).unwrap();
    let data = dataset.collection("data").unwrap();
    assert_eq!(data.len(), 1);
    let found = rows(&dataset, "data").unwrap();
    assert!(found[0].contains(&"scalar_bool=true".to_owned()));
    assert!(
        found[0].contains(&"zero2=[]".to_owned())
            || found[0].contains(&"zero2=[[],[],[]]".to_owned())
    );
    let root = open(root(&case("non_tensor_root"))).unwrap();
    assert_eq!(rows(&root, "data").unwrap(), [["data={\"only\":[\"value\",1]}"]]);
}

#[test]
fn values_of_every_row() {
    let dataset = open(root(&case("non_tensor_stack_json"))).unwrap();
    let found = rows(&dataset, "data").unwrap();
    assert_eq!(
        found[1],
        [
            "flat=\"b\"",
            "two=[\"d\",null,1.5]",
            "dim1=[\"q\",\"s\"]",
            "list_values=[3,4]",
            "ragged_values=[3]",
            "dicts={\"k\":[]}",
            "file_name_value=\"pickle.pkl\"",
        ]
    );
    let dataset = open(root(&case("lazy_homogeneous"))).unwrap();
    // Stacked along the second dimension: each of two rows has a value of each of three members.
    assert!(rows(&dataset, "data").unwrap().iter().all(|row| row[1] == "t=[\"m0\",\"m1\",\"m2\"]"));
}

#[test]
fn pickles_are_bytes_or_plain_data() {
    let dataset = open(root(&case("non_tensor_pickle"))).unwrap();
    let data = dataset.collection("data").unwrap();
    let field = |name: &str| &data.schema().fields[data.schema().position(name).unwrap()];
    assert_eq!(field("bytes").dtype, DType::Bytes);
    assert!(field("bytes").metadata.is_empty());
    assert_eq!(field("date").metadata.get("encoding").and_then(Value::as_str), Some("pickle"));
    let found = &rows(&dataset, "data").unwrap()[0];
    assert!(found.contains(&"bytes=\"00ff6162\"".to_owned()));
    assert!(found.contains(&"np_float_is_json=2.5".to_owned()));
    let date = found.iter().find(|value| value.starts_with("date=\"8004")).unwrap();
    assert_eq!(date.len(), "date=\"\"".len() + 2 * 53);
    let error = open(root(&case("non_tensor_stack_pickle")))
        .map(|d| rows(&d, "data"))
        .unwrap()
        .unwrap_err();
    assert_eq!(
        (error.code(), error.place().field.as_deref()),
        ("tensordict/needs_pickle", Some("mixed"))
    );
}

#[test]
fn every_good_case_can_be_read_as_a_dataset() {
    let mut unreadable = Vec::new();
    for case in good_cases("tensordict") {
        let before = Snapshot::of(case.data.parent().unwrap());
        let dataset = TensorDict.open(root(&case), &Limits::default()).unwrap();
        for name in dataset.collections() {
            let collection = dataset.collection(&name).unwrap();
            let mut count = 0;
            for threads in [0, 2] {
                for shard in
                    Scan::new(Arc::clone(&collection)).threads(threads).verify(false).shards()
                {
                    match shard {
                        Ok(shard) => count += shard.batch.rows() as u64,
                        Err(error) => {
                            unreadable.push(format!("{} {}", case.name, error.code()));
                            count += collection.len();
                        }
                    }
                }
            }
            assert_eq!(count, 2 * collection.len(), "{}", case.name);
        }
        assert_eq!(Snapshot::of(case.data.parent().unwrap()), before, "{} was touched", case.name);
    }
    unreadable.dedup();
    assert_eq!(
        unreadable,
        [
            // A stack of stacks whose members differ in shape: a row is no array.
            "lazy_nested tensordict/no_common_form",
            "meta_duplicate_keys tensordict/batch_mismatch",
            // Bytes and sets, which have no form in common.
            "non_tensor_stack_pickle tensordict/needs_pickle",
            // Saved with the option that names files by their keys: to be read with that.
            "robust_key_false tensordict/missing_leaf",
            "shape_exceeds_batch tensordict/batch_mismatch",
        ]
    );
}

/// A tensordict of `n` rows: `x` counts as int32 pairs, `t` is a text each.
fn counted(n: u32) -> MemoryRoot {
    let root = MemoryRoot::new();
    let texts: Vec<String> = (0..n).map(|i| format!("\"t{i}\"")).collect();
    put(&root, "x.memmap", (0..2 * n).flat_map(u32::to_le_bytes).collect::<Vec<u8>>());
    put(
        &root,
        "t/meta.json",
        format!(
            "{{\"_type\":\"<class 'tensordict.tensorclass.NonTensorStack'>\",\"stack_dim\":0,\"device\":null,\"data\":[{}]}}",
            texts.join(",")
        ),
    );
    put(&root, "meta.json", meta(&[n.into()], r#""x": {"dtype": "torch.int32", "shape": [N, 2]}, "t": {"type": "x"}"#.replace('N', &n.to_string()).as_str()));
    root
}

#[test]
fn rows_by_index_in_any_order() {
    let dataset = open(Arc::new(counted(1000))).unwrap();
    let data = dataset.collection("data").unwrap();
    let indices: Vec<u64> = vec![999, 0, 5, 5, 998, 1];
    let batch = gather(data.as_ref(), &indices, None, &mut ReadContext::default()).unwrap();
    for (sample, index) in batch.samples().zip(&indices) {
        assert_eq!(sample.get("t").unwrap().bytes, format!("t{index}").as_bytes());
        let want = [2 * *index as u32, 2 * *index as u32 + 1].map(u32::to_le_bytes).concat();
        assert_eq!(sample.get("x").unwrap().bytes, want);
    }
    assert!(gather(data.as_ref(), &[1000], None, &mut ReadContext::default()).is_err());
}

#[test]
fn shards_are_ranges_of_rows_and_share_the_map() {
    let n = 3 << 20;
    let memory = MemoryRoot::new();
    put(&memory, "x.memmap", vec![7; 12 * n]);
    put(
        &memory,
        "meta.json",
        meta(&[n as u64], &format!(r#""x": {{"dtype": "torch.int32", "shape": [{n}, 3]}}"#)),
    );
    let dataset = open(Arc::new(memory)).unwrap();
    let data = dataset.collection("data").unwrap();
    assert!(data.shard_count() >= 3, "{}", data.shard_count());
    let mut next = 0;
    let mut addresses = Vec::new();
    for shard in data.shards(0) {
        let shard = shard.unwrap();
        assert_eq!(shard.first, next);
        next += shard.rows;
        let batch = data.read(&shard, None, &mut ReadContext::default()).unwrap();
        let bytes = batch.columns()[0].as_dense().unwrap().clone();
        addresses.push((bytes.as_ptr() as usize, bytes.len()));
    }
    assert_eq!(next, n as u64);
    // One buffer, cut in pieces: nothing was copied.
    assert!(addresses.windows(2).all(|pair| pair[0].0 + pair[0].1 == pair[1].0));
    let from = data.shards(2 << 20).next().unwrap().unwrap();
    assert!(from.first <= 2 << 20 && from.first + from.rows > 2 << 20);
}

#[test]
fn collections_that_the_writer_named() {
    let memory = MemoryRoot::new();
    let leaf = |n: u64| meta(&[n], &format!(r#""x": {{"dtype": "torch.uint8", "shape": [{n}]}}"#));
    for (name, bytes) in [("train", &[1u8, 2, 3][..]), ("test", &[9])] {
        put(&memory, &format!("{name}/meta.json"), leaf(bytes.len() as u64));
        put(&memory, &format!("{name}/x.memmap"), bytes);
    }
    let own = r#""train": {"type": "TensorDict"}, "test": {"type": "TensorDict"},
        "_packstone": "{\"version\":1,\"collections\":[\"train\",\"test\"],\"carried\":{\"version\":1}}""#;
    put(&memory, "meta.json", meta(&[], own));
    let dataset = open(Arc::new(memory.clone())).unwrap();
    assert_eq!(dataset.collections(), ["train", "test"]);
    assert!(dataset.info().carried.is_some());
    assert_eq!(rows(&dataset, "train").unwrap(), [["x=1"], ["x=2"], ["x=3"]]);
    assert_eq!(rows(&dataset, "test").unwrap(), [["x=9"]]);
    assert!(dataset.collection("data").is_err());
    // What is no text of packstone is left alone.
    put(&memory, "meta.json", meta(&[], r#""train": {"type": "TensorDict"}, "_packstone": 5"#));
    assert_eq!(open(Arc::new(memory)).unwrap().collections(), ["data"]);
}

#[test]
fn a_number_alone_keeps_nobody_busy() {
    let memory = MemoryRoot::new();
    put(&memory, "meta.json", meta(&[1 << 60], ""));
    assert_eq!(open(Arc::new(memory.clone())).err().unwrap().code(), "tensordict/too_large");
    put(
        &memory,
        "meta.json",
        meta(&[1 << 60, 1 << 60], r#""e": {"dtype": "torch.int8", "shape": [0]}"#),
    );
    assert_eq!(open(Arc::new(memory.clone())).err().unwrap().code(), "tensordict/too_large");
    // One value that stands for all rows is nothing behind any of them.
    put(&memory, "meta.json", meta(&[1 << 31], r#""hi": {"type": "NonTensorData"}"#));
    let value = r#"{"_type": "<class 'tensordict.tensorclass.NonTensorData'>", "data": "hi"}"#;
    put(&memory, "hi/meta.json", value);
    let root: Arc<dyn Root> = Arc::new(memory);
    assert_eq!(open(Arc::clone(&root)).err().unwrap().code(), "tensordict/too_large");
    let report = verify(&TensorDict, root, &VerifyOptions::default(), None).unwrap();
    let codes: Vec<_> = report.findings.iter().map(|finding| finding.code).collect();
    assert_eq!(codes, ["tensordict/too_large"]);
}

#[test]
fn leaves_are_listed_as_they_are_stored() {
    let dataset = open(root(&case("everything"))).unwrap();
    let listed: Vec<_> = dataset.entries().iter().map(shown).collect();
    assert_eq!(
        listed,
        [
            r#"{"type":"leaf","key":["img"],"node":"tensordict","dtype":"uint8","shape":[2,5,3],"nbytes":30}"#,
            r#"{"type":"leaf","key":["nt"],"node":"tensordict","dtype":"float32","shape":[2,2],"sizes":[[2,2],[1,3]],"nbytes":28}"#,
            r#"{"type":"leaf","key":["empty"],"node":"tensordict","dtype":"float32","shape":[2,0],"nbytes":0}"#,
            r#"{"type":"leaf","key":["nest","k/1"],"node":"tensordict","dtype":"int64","shape":[2],"nbytes":16}"#,
            r#"{"type":"value","key":["nest","txt"],"node":"non_tensor","value":"inner"}"#,
            r#"{"type":"value","key":["stack"],"node":"non_tensor_stack","shape":[2],"value":["a","b"]}"#,
            r#"{"type":"leaf","key":["lazy","0","v"],"node":"tensordict","dtype":"float32","shape":[1],"nbytes":4}"#,
            r#"{"type":"leaf","key":["lazy","1","v"],"node":"tensordict","dtype":"float32","shape":[2],"nbytes":8}"#,
            r#"{"type":"leaf","key":["tc","x"],"node":"tensorclass","dtype":"float32","shape":[2,2],"nbytes":16}"#,
            r#"{"type":"value","key":["tc","label"],"node":"non_tensor","value":"z"}"#,
            r#"{"type":"value","key":["none"],"node":"non_tensor","value":null}"#,
        ]
    );
    let bytes: usize =
        dataset.entries().iter().filter_map(|leaf| leaf.open().ok()).map(|b| b.len()).sum();
    assert_eq!(bytes, 30 + 28 + 16 + 4 + 8 + 16);
    let pickled = open(root(&case("non_tensor_pickle"))).unwrap();
    let leaves = pickled.entries();
    let date = leaves.iter().find(|leaf| leaf.key == ["date"]).unwrap();
    assert_eq!(
        (date.word(), date.nbytes(), date.file().as_deref()),
        ("non_tensor", Some(53), Some("date/other.pickle"))
    );
    assert_eq!(date.open().unwrap().len(), 53);
}

#[test]
fn opening_asks_no_leaf_how_long_it_is_and_whoever_needs_it_is_told() {
    let memory = MemoryRoot::new();
    let entries = r#""good": {"dtype": "torch.uint8", "shape": [2]}, "long": {"dtype": "torch.uint8", "shape": [2]},
        "short": {"dtype": "torch.uint8", "shape": [2]}"#;
    put(&memory, "meta.json", meta(&[2], entries));
    put(&memory, "good.memmap", [1, 2]);
    put(&memory, "long.memmap", [3, 4, 5]);
    put(&memory, "short.memmap", [6]);
    let held = open(Arc::new(memory.clone())).unwrap();
    let opened = TensorDict.open(Arc::new(memory.clone()), &Limits::default()).unwrap();
    for dataset in [&held as &dyn Dataset, opened.as_ref()] {
        let data = dataset.collection("data").unwrap();
        let shard = data.shards(0).next().unwrap().unwrap();
        for verify in [false, true] {
            let mut context = ReadContext { verify, ..ReadContext::default() };
            let both = data.read(&shard, Some(&[0, 1]), &mut context).unwrap();
            let values =
                both.samples().map(|s| s.values().map(|v| v.to_json()).collect::<Vec<_>>());
            let values: Vec<Value> = values.flatten().collect();
            assert_eq!(Value::from(values).to_string(), "[1,3,2,4]");
            let error = data.read(&shard, Some(&[2]), &mut context).unwrap_err();
            assert_eq!((error.kind(), error.code()), (Kind::Corrupt, codes::TRUNCATED_LEAF));
            assert_eq!(error.message(), "expected 2 bytes, found 1");
            let place = error.place();
            assert_eq!(place.file.as_deref(), Some("short.memmap"));
            assert_eq!(place.field.as_deref(), Some("short"));
        }
        let outline = dataset.outline().unwrap().unwrap();
        let told = |name: usize| outline.parts[name].facts.get("error").is_some();
        assert_eq!([told(0), told(1), told(2)], [false, false, true]);
        let copy = MemoryRoot::new();
        let target: Arc<dyn RootMut> = Arc::new(copy.clone());
        let rewritten = dataset.rewriter().unwrap().rewrite(&target, &Object::new(), None);
        assert_eq!(rewritten.unwrap_err().code(), codes::TRUNCATED_LEAF);
        assert_eq!(copy.list(&RelPath::root()).unwrap(), []);
    }
}

#[test]
fn a_tree_is_outlined() {
    let dataset = open(root(&case("everything"))).unwrap();
    let outline = dataset.outline().unwrap().unwrap();
    let mut lines = Vec::new();
    let walked: Result<(), ()> = outline.walk(&mut |lead, node| {
        lines.push(format!(
            "{lead}{} {} {}",
            node.name,
            node.kind,
            Value::Object(node.facts.clone())
        ));
        Ok(())
    });
    walked.unwrap();
    assert_eq!(
        lines,
        [
            r#" TensorDict {"batch_size":[2],"names":["b"]}"#,
            r#"├── img uint8 {"shape":[2,5,3]}"#,
            r#"├── nt nested float32 {"parts":2,"dimensions":2}"#,
            r#"├── empty float32 {"shape":[2,0]}"#,
            r#"├── nest TensorDict {"batch_size":[2],"names":["b"]}"#,
            r#"│   ├── k/1 int64 {"shape":[2]}"#,
            r#"│   └── txt NonTensorData {"batch_size":[2],"value":"inner"}"#,
            r#"├── stack NonTensorStack {"batch_size":[2],"values":["a","b"]}"#,
            r#"├── lazy LazyStackedTensorDict {"batch_size":[2],"stack_dim":0,"stack_dim_name":"b"}"#,
            r#"│   ├── 0 TensorDict {"batch_size":[]}"#,
            r#"│   │   └── v float32 {"shape":[1]}"#,
            r#"│   └── 1 TensorDict {"batch_size":[]}"#,
            r#"│       └── v float32 {"shape":[2]}"#,
            r#"├── tc Point {"batch_size":[2]}"#,
            r#"│   ├── x float32 {"shape":[2,2]}"#,
            r#"│   └── label NonTensorData {"batch_size":[2],"value":"z"}"#,
            r#"└── none NonTensorData {"batch_size":[2],"value":null}"#,
        ]
    );
}
