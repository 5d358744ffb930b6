//! What the library wrote, read and written again: the same bytes, with the documents that were read and without.

use std::collections::BTreeSet;
use std::sync::Arc;

use packstone::format::Format;
use packstone::formats::tensordict::options::{SaveOptions, TreeOptions};
use packstone::formats::tensordict::parts::archive::ArchiveStore;
use packstone::formats::tensordict::parts::files::OutFile;
use packstone::formats::tensordict::parts::names::shown;
use packstone::formats::tensordict::parts::node::{FieldValue, Node, StackValues};
use packstone::formats::tensordict::parts::save::save;
use packstone::formats::tensordict::parts::store::Store;
use packstone::formats::tensordict::parts::transfer;
use packstone::formats::tensordict::parts::tree::Tree;
use packstone::formats::tensordict::{TensorDict, codes};
use packstone::model::DType;
use packstone::ops::{ConvertOptions, convert};
use packstone::{Limits, MemoryRoot, RootMut};
use packstone_container::json::{ReadOptions, read};
use packstone_io::{Buf, SoleFile};
use packstone_testkit::{Case, good_cases};

use crate::canonical;
use crate::kit::{load, root, store};
use crate::write_kit::{Content, below, content, dict, leaf_of, memory, path};

fn folders() -> Vec<Case> {
    good_cases("tensordict").into_iter().filter(|case| case.data.is_dir()).collect()
}

/// The tree of a case, read with the option that it was written with.
fn tree_of(case: &Case) -> Tree {
    let robust = case.expected.get("load").and_then(|l| l.get("robust_key")).unwrap();
    let options = TreeOptions::default().with_robust_key(robust.as_bool().unwrap());
    Tree::load(store(case).unwrap(), &options).unwrap()
}

fn joined(pieces: &[Buf]) -> Vec<u8> {
    pieces.iter().flat_map(|piece| piece.iter().copied()).collect()
}

fn saved(node: &Node) -> Content {
    let files = MemoryRoot::new();
    let root: Arc<dyn RootMut> = Arc::new(files.clone());
    let options = SaveOptions::default().with_lossy_keys(true);
    save(&root, &path("x"), node, &options).unwrap();
    let found = memory(&files, "x");
    assert_eq!(memory(&files, "").len(), found.len(), "nothing else is left");
    found
}

/// Cases whose documents are not in the spelling that packstone writes; what they say must be the same.
const RESPELLED: [&str; 9] = [
    "v0_stripped",
    "json_backend_orjson",
    "meta_duplicate_keys",
    "meta_liberal_json",
    "meta_utf16",
    "v0_written_by_0_14_0",
    "v0_tensorclass_by_0_14_0",
    "v0_written_by_0_7_2",
    "v0_tensorclass_by_0_7_2",
];
/// Cases with keys under names that newer releases encode.
const RENAMED: [&str; 2] = ["robust_key_false", "legacy_names_collision"];

#[test]
fn what_was_read_is_written_again_byte_for_byte() {
    let mut same = 0;
    for case in folders() {
        let tree = tree_of(&case);
        let (found, mut want) = (saved(&tree.root), content(&case.data));
        let again = load(below(&found)).unwrap();
        assert_eq!(canonical::node(&again.root), canonical::node(&tree.root), "{}", case.name);
        assert!(again.orphans.is_empty(), "{}: {:?}", case.name, again.orphans);
        let name = case.name.as_str();
        // What no entry names is not part of the tree.
        want.retain(|file, _| {
            !tree.orphans.iter().any(|orphan| {
                *file == orphan.path || file.starts_with(&format!("{}/", orphan.path))
            })
        });
        // Nor what is longer than its elements.
        for tail in tree.notes.iter().filter(|note| note.code == codes::LEAF_TAIL) {
            let file = tail.place.file.as_ref().unwrap();
            want.get_mut(file).unwrap().truncate(found[file].len());
        }
        if name == "nested_tensors_all_empty" {
            // The library leaves the file away and then loses the key.
            want.insert("nt.memmap".to_owned(), Vec::new());
        }
        if RENAMED.contains(&name) {
            assert_eq!(found["meta.json"], want["meta.json"], "{name}");
            assert_eq!(found.len(), want.len(), "{name}");
            continue;
        }
        let names = |content: &Content| content.keys().cloned().collect::<BTreeSet<_>>();
        assert_eq!(names(&found), names(&want), "{name}");
        for (file, bytes) in &want {
            let got = &found[file];
            if RESPELLED.contains(&name) && file.ends_with("meta.json") {
                let options = ReadOptions::default().with_nan(true).with_any_encoding(true);
                let [got, want] = [got, bytes].map(|text| read(text, &options).unwrap().value);
                assert_eq!(got, want, "{name}/{file}");
                continue;
            }
            let show = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            assert_eq!(show(got), show(bytes), "{name}/{file}");
            assert_eq!(got, bytes, "{name}/{file}");
        }
        same += 1;
    }
    assert!(same > 70, "{same}");
}

/// Cases that say something which a new save does not say, and what that is.
const NOT_NEW: [(&str, &str); 15] = [
    ("sub_range", "a range where a new save has its positions"),
    ("class_fallbacks", "classes spelled wrongly"),
    ("device_none", "a device that is missing"),
    ("dtypes_write_only", "types that no release loads, which are refused"),
    ("format_version_odd", "versions that are no integers"),
    ("keys_reserved_lost", "keys of which nothing is left"),
    ("keys_reserved_nested", "a key of which nothing is left"),
    ("leaf_device_cuda", "another device"),
    ("make_memmap_appended", "entries behind the tensordict's own"),
    ("non_tensor_batched", "user metadata beside a value"),
    ("non_tensor_stack_json", "a stack along another dimension than the values show"),
    ("params", "the name of a class that is saved as another"),
    (
        "shape_exceeds_batch",
        "a leaf whose shape does not start with the batch size, which is refused",
    ),
    ("tensorclass_meta_fields", "fields in another place"),
    ("v0_written_by_0_15_2", "an older version"),
];

/// Takes the documents away, with entries in the order in which they stood in them.
fn forget(node: &mut Node) {
    match node {
        Node::TensorDict(node) => {
            let order: Vec<String> = node.document.take().unwrap().keys().map(shown).collect();
            node.entries.sort_by_key(|(key, _)| order.iter().position(|name| name == key));
            node.entries.iter_mut().for_each(|(_, node)| forget(node));
        }
        Node::NonTensor(node) => {
            node.document = None;
            // Constants, where it is a class; else the pickle that there is.
            if matches!(node.value, FieldValue::Container(_)) {
                node.files = Default::default();
            }
        }
        Node::NonTensorStack(node) => {
            node.document = None;
            if let StackValues::Members(members) = &mut node.values {
                members.iter_mut().for_each(forget);
            }
        }
        Node::LazyStack(node) => {
            node.document = None;
            node.members.iter_mut().for_each(forget);
        }
        Node::SubTensorDict(node) => {
            node.document = None;
            forget(&mut node.source);
        }
        Node::LazyView(node) => {
            node.document = None;
            forget(&mut node.source);
        }
        Node::TensorClass(node) => {
            node.document = None;
            forget(&mut node.tensordict);
        }
        _ => {}
    }
}

#[test]
fn a_new_save_has_the_bytes_of_the_library() {
    let mut same = 0;
    for case in folders() {
        let name = case.name.as_str();
        let skip = NOT_NEW.iter().any(|(case, _)| *case == name)
            || RESPELLED.contains(&name)
            || RENAMED.contains(&name)
            || ["nested_tensors_all_empty", "v0_tensorclass_by_0_15_2"].contains(&name);
        if skip {
            continue;
        }
        let mut tree = tree_of(&case);
        forget(&mut tree.root);
        let (found, want) = (saved(&tree.root), content(&case.data));
        for (file, bytes) in &found {
            let show = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let want = &want[file];
            let want = if file == "a.memmap" && name == "leaf_file_longer_than_leaf" {
                &want[..8]
            } else {
                want
            };
            assert_eq!(show(bytes), show(want), "{name}/{file}");
            assert_eq!(bytes, want, "{name}/{file}");
        }
        same += 1;
    }
    assert!(same > 50, "{same}");
}

#[test]
fn keys_that_readers_lose_are_written_as_the_library_writes_them() {
    let number = |n: u8| leaf_of(DType::Int64, &[1], vec![n, 0, 0, 0, 0, 0, 0, 0]);
    let entries = ["shape", "device", "_type", "kept"].into_iter().zip(1..);
    let node = dict(&[], entries.map(|(key, n)| (key, number(n))).collect());
    let golden = packstone_testkit::golden_folder("tensordict").join("keys_reserved_lost/data");
    assert_eq!(saved(&node), content(&golden));
}

#[test]
fn a_conversion_within_the_format_copies_every_file() {
    let (mut copied, mut proved) = (0, 0);
    for case in good_cases("tensordict") {
        let source = TensorDict.open(root(&case), &Limits::default()).unwrap();
        let options =
            ConvertOptions { proof: true, strict: true, threads: 0, ..ConvertOptions::default() };
        let tree = tree_of(&case);
        let named = |store: &Arc<dyn Store>, tree: &Tree| {
            let files = transfer::files(store, tree, false).unwrap().files;
            let file =
                |file: OutFile| (file.path.as_str().to_owned(), joined(&file.open().unwrap()));
            files.into_iter().map(file).collect::<Content>()
        };
        if case.name == "robust_key_false" {
            // One of its leaves is found only with keys as names; what is not found is not passed on.
            let target: Arc<dyn RootMut> = Arc::new(MemoryRoot::new());
            let error = convert(source, &TensorDict, target, &options, None).unwrap_err();
            assert_eq!(error.code(), codes::MISSING_LEAF);
            continue;
        }
        let want = named(&store(&case).unwrap(), &tree);
        let files = MemoryRoot::new();
        let target: Arc<dyn RootMut> = Arc::new(files.clone());
        let report = convert(Arc::clone(&source), &TensorDict, target, &options, None).unwrap();
        assert_eq!(memory(&files, ""), want, "{}", case.name);
        assert!(report.fidelity.losses.is_empty());
        proved += report.digests.len();
        let archive = MemoryRoot::new();
        let target: Arc<dyn RootMut> =
            Arc::new(SoleFile::new(archive.clone(), path("x.tdz"), "x.tdz"));
        convert(source, &TensorDict, target, &options, None).unwrap();
        let bytes = archive.files()[0].1.clone();
        let packed: Arc<dyn Store> =
            Arc::new(ArchiveStore::open(bytes, "x.tdz", &Limits::default()).unwrap());
        let back = Tree::load(Arc::clone(&packed), &TreeOptions::default()).unwrap();
        assert_eq!(named(&packed, &back), want, "{}", case.name);
        copied += 1;
    }
    assert!(copied > 100 && proved > 90, "{copied} {proved}");
}
