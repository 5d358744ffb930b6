//! Saving trees made by hand: what is refused, what is replaced, and what a fault leaves.

use std::os::unix::fs::symlink;
use std::sync::Arc;

use packstone::formats::tensordict::codes;
use packstone::formats::tensordict::options::{KeyNames, SaveOptions};
use packstone::formats::tensordict::parts::class::Class;
use packstone::formats::tensordict::parts::node::{
    Bytes, Fault, FieldValue, LazyStack, Leaf, Node, TensorClass, TensorDict,
};
use packstone::formats::tensordict::parts::save::{Saved, save};
use packstone::model::{DType, Severity};
use packstone::{Error, Kind, MemoryRoot, RelPath, RootMut};
use packstone_container::pickle::Class as Container;
use packstone_io::{Buf, FaultyRoot};

use crate::kit::load;
use crate::write_kit::{
    Content, below, content, dict, field, leaf, leaf_of, local, memory, nested, path, value, values,
};

fn try_save(node: &Node, options: &SaveOptions) -> Result<(Saved, Content), Error> {
    let files = MemoryRoot::new();
    let root: Arc<dyn RootMut> = Arc::new(files.clone());
    let saved = save(&root, &path("x"), node, options);
    if saved.is_err() {
        assert_eq!(files.files().len(), 0, "a refusal leaves nothing");
    }
    Ok((saved?, memory(&files, "x")))
}

fn refused(node: &Node) -> (&'static str, String) {
    let error = try_save(node, &SaveOptions::default()).unwrap_err();
    (error.code(), error.to_string())
}

fn u8s(shape: &[u64]) -> Node {
    leaf(DType::UInt8, shape)
}

#[test]
fn a_tree_of_everything_is_read_back() {
    let tensorclass = Node::TensorClass(TensorClass {
        class: Class::new("__main__", "Point"),
        fields: Vec::new(),
        files: Default::default(),
        replaced: false,
        mismatch: false,
        tensordict: Box::new(dict(&[2], vec![("x", u8s(&[2])), ("note", value("\"n\""))])),
        document: None,
    });
    let member = |n| dict(&[], vec![("v", u8s(&[n]))]);
    let lazy = Node::LazyStack(LazyStack {
        class: Class::exported("LazyStackedTensorDict"),
        batch_size: vec![2],
        stack_dim: 0,
        stack_dim_name: Some("time".to_owned()),
        members: vec![member(1), member(2)],
        document: None,
    });
    let node = dict(
        &[2],
        vec![
            ("plain", leaf(DType::Float32, &[2, 3])),
            ("é /", u8s(&[2])),
            ("empty", u8s(&[2, 0])),
            ("nt", nested(&[&[2, 1], &[0, 3]])),
            ("all empty", nested(&[&[0], &[0]])),
            ("config", value("{\"lr\": 1e-3, \"steps\": [1, 2.50, null]}")),
            ("class", field(FieldValue::Container(Container::OrderedDict))),
            ("words", values("[\"a\", \"ü\"]")),
            ("point", tensorclass),
            ("lazy", lazy),
            ("sub", dict(&[2, 2], vec![("y", u8s(&[2, 2]))])),
        ],
    );
    let (saved, files) = try_save(&node, &SaveOptions::default()).unwrap();
    assert_eq!((saved.files, saved.notes.len()), (files.len() as u64, 0));
    assert_eq!(saved.bytes, files.values().map(|bytes| bytes.len() as u64).sum::<u64>());
    let text = |file: &str| String::from_utf8(files[file].clone()).unwrap();
    assert_eq!(
        text("config/meta.json"),
        "{\"_type\": \"<class 'tensordict.tensorclass.NonTensorData'>\", \"data\": {\"lr\": 0.001, \"steps\": [1, 2.5, null]}, \
         \"_metadata\": null, \"_is_non_tensor\": true}"
    );
    assert!(text("words/meta.json").ends_with(r#""data":["a","\u00fc"]}"#));
    assert_eq!(text("point/meta.json"), "{\"_type\": \"<class '__main__.Point'>\"}");
    let names: Vec<_> = files.keys().filter(|name| !name.ends_with("meta.json")).collect();
    assert_eq!(
        names,
        [
            "all%20empty.memmap",
            "all%20empty.shape.memmap",
            "class/json_types.json",
            "class/other.pickle",
            "lazy/0/v.memmap",
            "lazy/1/v.memmap",
            "nt.memmap",
            "nt.shape.memmap",
            "plain.memmap",
            "point/_tensordict/x.memmap",
            "sub/y.memmap",
            "é%20%2F.memmap",
        ]
    );
    let back = load(below(&files)).unwrap();
    assert!(
        back.orphans.is_empty() && back.notes.is_empty(),
        "{:?} {:?}",
        back.orphans,
        back.notes
    );
    // Written once more, from what was read.
    let (_, again) = try_save(&back.root, &SaveOptions::default()).unwrap();
    assert_eq!(again, files);
}

#[test]
fn keys_that_readers_lose_are_refused_by_name() {
    for key in ["shape", "device", "_type", "_format_version", "_class", "_names"] {
        for node in [u8s(&[]), dict(&[], vec![]), value("1")] {
            let tree = dict(&[], vec![("ok", u8s(&[])), (key, node)]);
            let (code, message) = refused(&tree);
            assert_eq!(code, codes::RESERVED_KEY);
            assert!(message.contains(&format!("{key:?}")), "{message}");
            assert!(try_save(&tree, &SaveOptions::default().with_lossy_keys(true)).is_ok());
        }
    }
}

#[test]
fn two_keys_never_share_a_file() {
    let x = || u8s(&[1]);
    let sub = || dict(&[], vec![]);
    for entries in [
        vec![("nt", nested(&[&[1]])), ("nt.shape", x())],
        vec![("nt.shape", x()), ("nt", nested(&[&[1]]))],
        vec![("a", x()), ("a.memmap", sub())],
        vec![("a.memmap", sub()), ("a", x())],
        vec![("nt", nested(&[&[1]])), ("nt.shape.memmap", sub())],
        vec![("meta.json", sub())],
        vec![("a", x()), ("a", x())],
        vec![("a", sub()), ("a", sub())],
    ] {
        let keys: Vec<_> = entries.iter().map(|(key, _)| (*key).to_owned()).collect();
        assert_eq!(refused(&dict(&[], entries)).0, codes::NAME_COLLISION, "{keys:?}");
    }
    // These are apart, unlike what their names suggest.
    let apart = vec![("meta.json", x()), ("a", x()), ("%61", x()), ("a%2Eb", x()), ("a.b", x())];
    try_save(&dict(&[], apart), &SaveOptions::default()).unwrap();
    // Without encoding the key itself is the name.
    let raw = SaveOptions::default().with_key_names(KeyNames::Raw);
    let (_, files) = try_save(&dict(&[], vec![("a b", x()), ("c:", sub())]), &raw)
        .map_or_else(|error| (Some(error.code()), Content::new()), |(_, files)| (None, files));
    assert!(files.is_empty(), "a drive is no safe key");
    let (_, files) = try_save(&dict(&[], vec![("a b%", x()), ("é?", sub())]), &raw).unwrap();
    assert!(files.contains_key("a b%.memmap") && files.contains_key("é?/meta.json"));
    // A reader would take the file of "%" for that of "".
    for keys in [["", "%"], ["%", ""], ["a b", "a%20b"]] {
        let tree = dict(&[], keys.map(|key| (key, x())).to_vec());
        assert_eq!(try_save(&tree, &raw).unwrap_err().code(), codes::NAME_COLLISION, "{keys:?}");
        try_save(&tree, &SaveOptions::default()).unwrap();
    }
    for key in ["a/b", "..", "", "."] {
        let error = try_save(&dict(&[], vec![(key, sub())]), &raw).unwrap_err();
        assert_eq!(error.code(), codes::PATH_ESCAPE, "{key}");
    }
}

#[test]
fn names_that_look_alike_are_told() {
    let tree = dict(&[], vec![("Key", u8s(&[1])), ("kEY", u8s(&[1]))]);
    let (saved, _) = try_save(&tree, &SaveOptions::default()).unwrap();
    let [note] = &saved.notes[..] else { panic!("{:?}", saved.notes) };
    assert_eq!((note.code, note.severity), (codes::NAME_COLLISION, Severity::Warning));
}

#[test]
fn names_that_no_file_system_takes_are_refused() {
    let fits = "k".repeat(255 - ".memmap".len());
    try_save(&dict(&[], vec![(&fits, u8s(&[1]))]), &SaveOptions::default()).unwrap();
    for (key, node) in [
        ("k".repeat(249), u8s(&[1])),
        ("/".repeat(83), u8s(&[1])),
        ("k".repeat(243), nested(&[&[1]])),
        ("k".repeat(256), dict(&[], vec![])),
    ] {
        assert_eq!(
            refused(&dict(&[], vec![(&key, node)])).0,
            codes::NAME_TOO_LONG,
            "{}",
            key.len()
        );
    }
}

#[test]
fn what_is_not_what_its_node_says_is_refused() {
    let stored = |bytes: usize, shape: &[u64]| leaf_of(DType::Int16, shape, vec![0; bytes]);
    let mut named = TensorDict::new(vec![2, 2], Vec::new());
    named.names = Some(vec![Some("a".to_owned()), Some("a".to_owned())]);
    let mut short = TensorDict::new(vec![2], Vec::new());
    short.names = Some(vec![]);
    let fault = Fault::new(Kind::NotFound, codes::MISSING_LEAF, Default::default(), "gone");
    let gone =
        Node::Leaf(Leaf { dtype: DType::Int8, shape: vec![1], data: Bytes::Faulty(fault.clone()) });
    let lazy = |batch: &[u64], dim, members| {
        Node::LazyStack(LazyStack {
            class: Class::exported("LazyStackedTensorDict"),
            batch_size: batch.to_vec(),
            stack_dim: dim,
            stack_dim_name: None,
            members,
            document: None,
        })
    };
    let one = |node| dict(&[2], vec![("k", node)]);
    for (node, code) in [
        (one(stored(3, &[2])), codes::BAD_SHAPE),
        (one(stored(6, &[2])), codes::BAD_SHAPE),
        (one(stored(0, &[2, u64::MAX])), codes::BAD_SHAPE),
        (one(stored(6, &[3])), codes::BATCH_MISMATCH),
        (one(dict(&[3], vec![])), codes::BATCH_MISMATCH),
        (one(dict(&[], vec![])), codes::BATCH_MISMATCH),
        (one(values("[1]")), codes::BATCH_MISMATCH),
        (Node::TensorDict(named), codes::BAD_NAMES),
        (Node::TensorDict(short), codes::BAD_NAMES),
        (dict(&[1], vec![("k", gone)]), codes::MISSING_LEAF),
        (one(Node::Broken(fault)), codes::MISSING_LEAF),
        (one(field(FieldValue::Pickled)), codes::VALUE_NOT_STORABLE),
        (lazy(&[2], 1, vec![dict(&[], vec![])]), codes::MALFORMED_META),
        (lazy(&[2], 0, vec![dict(&[], vec![])]), codes::BATCH_MISMATCH),
        (lazy(&[2, 1], 0, vec![dict(&[1], vec![]), dict(&[2], vec![])]), codes::BATCH_MISMATCH),
        (u8s(&[1]), codes::MALFORMED_META),
        (lazy(&[1], 0, vec![u8s(&[])]), codes::MALFORMED_META),
    ] {
        assert_eq!(refused(&node).0, code, "{node:?}");
    }
    let mut deep = dict(&[], vec![]);
    for _ in 0..200 {
        deep = dict(&[], vec![("d", deep)]);
    }
    assert_eq!(refused(&deep).0, codes::TOO_DEEP);
}

#[test]
fn nested_tensors_are_checked_before_they_are_written() {
    let Node::NestedTensor(good) = nested(&[&[2, 1], &[1, 1]]) else { unreachable!() };
    let with = |change: fn(&mut packstone::formats::tensordict::parts::node::NestedTensor)| {
        let mut nested = good.clone();
        change(&mut nested);
        refused(&dict(&[2], vec![("nt", Node::NestedTensor(nested))])).0
    };
    assert_eq!(with(|n| n.extent = (0, 2)), codes::BAD_SHAPE);
    assert_eq!(with(|n| n.extent = (4, 0)), codes::BAD_SHAPE);
    assert_eq!(with(|n| n.extent = (3, 2)), codes::TRUNCATED_LEAF);
    assert_eq!(with(|n| n.data = Bytes::Given(Buf::from(vec![0; 2]))), codes::TRUNCATED_LEAF);
    assert_eq!(
        with(|n| n.sizes = Bytes::Given(Buf::from((-1i64).to_le_bytes().repeat(4)))),
        codes::BAD_SHAPE
    );
}

#[test]
fn types_that_nobody_loads_are_refused_unless_they_are_wanted() {
    let tree = |dtype| dict(&[], vec![("w", leaf(dtype, &[4]))]);
    for dtype in [DType::Float8E4M3Fn, DType::Float4E2M1FnX2, DType::Bits16, DType::BComplex32] {
        assert_eq!(refused(&tree(dtype.clone())).0, codes::UNSUPPORTED_DTYPE);
        let options = SaveOptions::default().with_unloadable_dtypes(true);
        let (_, files) = try_save(&tree(dtype.clone()), &options).unwrap();
        let text = String::from_utf8(files["meta.json"].clone()).unwrap();
        assert!(text.contains(&format!("torch.{dtype}")), "{text}");
    }
    for dtype in [DType::FixedBytes(2), DType::Float128, DType::DateTime(None)] {
        let options = SaveOptions::default().with_unloadable_dtypes(true);
        let error = try_save(&tree(dtype), &options).unwrap_err();
        assert_eq!(error.code(), codes::UNSUPPORTED_DTYPE);
    }
}

#[test]
fn values_that_readers_take_for_dimensions_are_told() {
    let mut stack = values("[[1, 2], [3, 4]]");
    if let Node::NonTensorStack(node) = &mut stack {
        node.batch_size = vec![2];
    }
    let (saved, _) = try_save(&dict(&[2], vec![("k", stack)]), &SaveOptions::default()).unwrap();
    let codes: Vec<_> = saved.notes.iter().map(|note| note.code).collect();
    assert_eq!(codes, [codes::AMBIGUOUS_VALUES]);
    let ragged = dict(&[2], vec![("k", values("[[1, 2], [3]]"))]);
    assert!(try_save(&ragged, &SaveOptions::default()).unwrap().0.notes.is_empty());
}

#[test]
fn nothing_of_an_older_save_stays() {
    let (temp, root) = local();
    let member = |n: u64| dict(&[], vec![("v", u8s(&[n]))]);
    let lazy = |members: Vec<Node>| {
        Node::LazyStack(LazyStack {
            class: Class::exported("LazyStackedTensorDict"),
            batch_size: vec![members.len() as u64],
            stack_dim: 0,
            stack_dim_name: None,
            members,
            document: None,
        })
    };
    let old = dict(
        &[],
        vec![
            ("leaf", u8s(&[9])),
            ("dropped", u8s(&[1])),
            ("lazy", lazy(vec![member(1), member(2), member(3)])),
            ("field", field(FieldValue::Container(Container::Dict))),
            ("zero", u8s(&[4])),
        ],
    );
    let new = dict(
        &[],
        vec![
            ("leaf", u8s(&[3])),
            ("lazy", lazy(vec![member(1), member(2)])),
            ("field", value("1")),
            ("zero", u8s(&[0])),
        ],
    );
    let options = SaveOptions::default();
    save(&root, &path("x"), &old, &options).unwrap();
    let before = content(&temp.path().join("x"));
    let error = save(&root, &path("x"), &new, &options).unwrap_err();
    assert_eq!((error.kind(), content(&temp.path().join("x"))), (Kind::Exists, before));
    save(&root, &path("x"), &new, &options.clone().with_replace(true)).unwrap();
    let (fresh_temp, fresh) = local();
    save(&fresh, &path("x"), &new, &options).unwrap();
    assert_eq!(content(&temp.path().join("x")), content(&fresh_temp.path().join("x")));
    assert_eq!(std::fs::read_dir(temp.path()).unwrap().count(), 1, "the old one is gone");
}

#[test]
fn only_saves_and_nothing_are_replaced() {
    let (temp, root) = local();
    let at = |name: &str| temp.path().join(name);
    let options = SaveOptions::default().with_replace(true);
    let tree = dict(&[], vec![("a", u8s(&[1]))]);
    std::fs::create_dir(at("empty")).unwrap();
    std::fs::create_dir(at("other")).unwrap();
    std::fs::write(at("other/notes.txt"), b"mine").unwrap();
    std::fs::write(at("file"), b"mine").unwrap();
    symlink("other", at("link")).unwrap();
    symlink("nowhere", at("dangling")).unwrap();
    save(&root, &path("empty"), &tree, &options).unwrap();
    for (name, kind) in [
        ("other", Kind::Exists),
        ("file", Kind::Exists),
        ("link", Kind::Denied),
        ("dangling", Kind::Denied),
    ] {
        assert_eq!(save(&root, &path(name), &tree, &options).unwrap_err().kind(), kind, "{name}");
    }
    assert_eq!(std::fs::read(at("other/notes.txt")).unwrap(), b"mine");
    assert_eq!(std::fs::read_dir(temp.path()).unwrap().count(), 5);
    // A link inside of an older save is removed and not followed.
    symlink("../other", at("empty/b")).unwrap();
    save(&root, &path("empty"), &tree, &options).unwrap();
    assert_eq!(std::fs::read(at("other/notes.txt")).unwrap(), b"mine");
    assert!(!at("empty/b").exists());
    // In place only where nothing is yet.
    let error = save(&root, &RelPath::root(), &tree, &options).unwrap_err();
    assert_eq!(error.kind(), Kind::Exists);
}

/// A tree with every kind of file.
fn sample(size: u64) -> Node {
    dict(
        &[2],
        vec![
            ("a", u8s(&[2, size])),
            ("nt", nested(&[&[2, 1], &[1, 1]])),
            ("words", values("[\"a\", \"b\"]")),
            ("class", field(FieldValue::Container(Container::List))),
            ("sub", dict(&[2], vec![("b", u8s(&[2, 1]))])),
        ],
    )
}

#[test]
fn a_fault_at_any_operation_leaves_the_old_save_or_nothing() {
    let options = SaveOptions::default();
    let old = sample(3);
    let mut published = 0;
    for (at, replace) in [("", false), ("x", false), ("x", true)] {
        for good in 0.. {
            let files = MemoryRoot::new();
            if replace {
                let root: Arc<dyn RootMut> = Arc::new(files.clone());
                save(&root, &path(at), &old, &options).unwrap();
            }
            let before = memory(&files, "");
            let faulty = Arc::new(FaultyRoot::new(files.clone(), good));
            let root: Arc<dyn RootMut> = faulty.clone();
            let result = save(&root, &path(at), &sample(5), &options.clone().with_replace(replace));
            let place = format!("{at:?} replace {replace} after {good}");
            if result.is_ok() {
                published += 1;
                assert!(load(below(&memory(&files, at))).is_ok(), "{place}");
                if !faulty.failed() {
                    break;
                }
                continue;
            }
            // What could not be cleaned up is hidden, or no tree.
            let now = memory(&files, "");
            let seen = |content: &Content| {
                let visible = content.iter().filter(|(name, _)| !name.starts_with(".packstone-"));
                visible.map(|(name, bytes)| (name.clone(), bytes.clone())).collect::<Content>()
            };
            if at.is_empty() {
                assert!(!now.contains_key("meta.json"), "{place}");
            } else {
                assert_eq!(seen(&now), seen(&before), "{place}");
            }
        }
    }
    assert!(published >= 3);
}
