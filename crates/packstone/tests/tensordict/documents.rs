//! Documents: read in all encodings, kept in every word, spelled as the library spells them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use packstone::formats::tensordict::document::{self, style_of};
use packstone::formats::tensordict::options::TreeOptions;
use packstone::formats::tensordict::parts::node::Node;
use packstone::formats::tensordict::parts::tree::Tree;
use packstone::model::Severity;
use packstone::{Limits, MemoryRoot};
use packstone_container::json::{self, Value};
use packstone_testkit::good_cases;

use crate::kit::{codes, load, meta, put, store, verdict};

fn documents(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            documents(&path, out);
        } else if path.file_name().is_some_and(|name| name == "meta.json") {
            out.push(path);
        }
    }
}

#[test]
fn every_document_of_the_library_survives_reading_and_writing() {
    let mut kept = 0;
    // Edited by hand to be read, not to be written.
    let odd = ["meta_liberal_json", "meta_utf16", "meta_duplicate_keys"];
    for case in good_cases("tensordict")
        .iter()
        .filter(|case| case.data.is_dir() && !odd.contains(&case.name.as_str()))
    {
        let mut files = Vec::new();
        documents(&case.data, &mut files);
        for file in files {
            let bytes = std::fs::read(&file).unwrap();
            let place = packstone::Place::file(file.display());
            let object =
                document::read(&bytes, &place, &Limits::default(), &mut Vec::new()).unwrap();
            let value = Value::Object(object);
            let written = json::write(&value, &style_of(&bytes, &value));
            assert_eq!(written.as_bytes(), bytes, "{}", file.display());
            kept += 1;
        }
    }
    assert!(kept >= 290, "{kept}");
}

fn compare(node: &Node, case: &str, made: &mut usize, other: &mut BTreeSet<String>) {
    // Trees have leaves first, documents have keys as they were set.
    let mut sorted = node.clone();
    if let Node::TensorDict(found) = &mut sorted {
        let raw = found.document.clone().unwrap();
        found.entries.sort_by_key(|(key, _)| raw.keys().position(|k| *k == *key.as_str()));
    }
    if let (Some(raw), Some(own)) = (node.document(), document::of(&sorted)) {
        if document::text(node, raw) == document::text(node, &own) {
            *made += 1;
        } else {
            other.insert(case.to_owned());
        }
    }
    let hidden = match node {
        Node::TensorClass(class) => Some(class.tensordict.as_ref()),
        _ => None,
    };
    match hidden {
        Some(inner) => compare(inner, case, made, other),
        None => {
            node.children().into_iter().for_each(|(_, child)| compare(child, case, made, other))
        }
    }
}

#[test]
fn documents_made_from_nodes_are_those_of_the_library() {
    let (mut made, mut other) = (0, BTreeSet::new());
    for case in good_cases("tensordict").iter().filter(|case| !case.name.starts_with("v0_")) {
        let robust =
            case.expected.get("load").and_then(|l| l.get("robust_key")).and_then(Value::as_bool);
        let options = TreeOptions::default().with_robust_key(robust.unwrap_or(true));
        let tree = Tree::load(store(case).unwrap(), &options).unwrap();
        compare(&tree.root, &case.name, &mut made, &mut other);
    }
    let other: Vec<_> = other.into_iter().collect();
    assert_eq!(
        other,
        [
            // Edited.
            "class_fallbacks",
            "format_version_odd",
            // A key of the name of an own entry gives that its place, and is lost.
            "keys_reserved_lost",
            "keys_reserved_nested",
            "leaf_device_cuda",
            // The library adds entries at the end.
            "make_memmap_appended",
            "meta_liberal_json",
            // The parent says TensorDictParams, the node itself TensorDict.
            "params",
        ]
    );
    assert!(made >= 330, "{made}");
}

fn with_bytes(bytes: Vec<u8>) -> Arc<MemoryRoot> {
    let root = MemoryRoot::new();
    put(&root, "meta.json", bytes);
    put(&root, "é.memmap", [7]);
    Arc::new(root)
}

#[test]
fn documents_in_every_encoding_that_python_reads() {
    let text = meta(&[1], r#""é": {"dtype": "torch.uint8", "shape": [1]}"#);
    let utf16 = |big: bool| {
        text.encode_utf16().flat_map(move |u| if big { u.to_be_bytes() } else { u.to_le_bytes() })
    };
    let utf32 = |big: bool| {
        text.chars()
            .map(u32::from)
            .flat_map(move |c| if big { c.to_be_bytes() } else { c.to_le_bytes() })
    };
    let marked = |mark: &[u8], rest: Vec<u8>| [mark, &rest].concat();
    for bytes in [
        text.clone().into_bytes(),
        marked(b"\xef\xbb\xbf", text.clone().into_bytes()),
        utf16(false).collect(),
        utf16(true).collect(),
        marked(b"\xff\xfe", utf16(false).collect()),
        marked(b"\xfe\xff", utf16(true).collect()),
        utf32(false).collect(),
        utf32(true).collect(),
        marked(b"\xff\xfe\0\0", utf32(false).collect()),
        marked(b"\0\0\xfe\xff", utf32(true).collect()),
        format!("\n\t {text} \r\n").into_bytes(),
    ] {
        let tree = load(with_bytes(bytes.clone())).unwrap();
        let Node::TensorDict(root) = &tree.root else { panic!("{tree:?}") };
        assert!(matches!(root.get("é"), Some(Node::Leaf(_))), "{bytes:?}");
    }
}

#[test]
fn what_python_does_not_read_is_refused_with_its_byte() {
    let text = meta(&[1], r#""é": {"dtype": "torch.uint8", "shape": [1]}"#);
    for bytes in [
        text.replace('é', "\u{0}").into_bytes(),
        [text.as_bytes(), b"\0"].concat(),
        text.clone().into_bytes().into_iter().map(|b| if b == 0xc3 { 0xff } else { b }).collect(),
        text.encode_utf16().flat_map(u16::to_le_bytes).skip(1).collect(),
    ] {
        let error = load(with_bytes(bytes)).unwrap_err();
        assert_eq!(error.code(), "tensordict/malformed_json");
        assert!(error.place().offset.is_some());
    }
}

#[test]
fn versions_are_integers_and_true_counts_as_one() {
    let with = |version: &str| {
        let root = MemoryRoot::new();
        put(
            &root,
            "meta.json",
            meta(&[], "")
                .replace("\"_format_version\": 1", &format!("\"_format_version\": {version}")),
        );
        verdict(Arc::new(root))
    };
    for version in ["1", "0", "true", "false", "-3"] {
        assert!(with(version).is_empty(), "{version}");
    }
    for version in ["2", "99", "18446744073709551616"] {
        let found = with(version);
        assert_eq!(codes(&found), [(Severity::Error, "tensordict/unsupported_version")]);
        assert!(
            found[0].message.contains('1') && found[0].message.contains(version),
            "{}",
            found[0]
        );
    }
    for version in ["\"2\"", "2.0", "[2]", "null"] {
        assert_eq!(
            codes(&with(version)),
            [(Severity::Warning, "tensordict/odd_version")],
            "{version}"
        );
    }
}

#[test]
fn names_that_are_no_list_are_ignored_with_a_word() {
    let with = |names: &str| {
        let root = MemoryRoot::new();
        put(&root, "meta.json", meta(&[2], &format!("\"_names\": {names}")));
        (load(Arc::new(root.clone())), verdict(Arc::new(root)))
    };
    let (tree, found) = with("\"time\"");
    assert_eq!(codes(&found), [(Severity::Warning, "tensordict/bad_names")]);
    let Node::TensorDict(root) = tree.unwrap().root else { panic!() };
    assert_eq!(root.names, None);
    for names in ["[\"a\", \"b\"]", "[]", "[5]"] {
        let (tree, _) = with(names);
        assert_eq!(tree.unwrap_err().code(), "tensordict/bad_names", "{names}");
    }
}

#[test]
fn classes_are_looked_up_and_never_imported() {
    let with = |text: &str| {
        let root = MemoryRoot::new();
        put(&root, "meta.json", text);
        verdict(Arc::new(root))
    };
    let neither = r#"{"shape": [], "_class": "os:system"}"#;
    assert_eq!(codes(&with(neither)), [(Severity::Error, "tensordict/missing_type")]);
    let unknown = r#"{"shape": [], "_type": "<class 'os.system'>"}"#;
    assert_eq!(codes(&with(unknown)), [(Severity::Warning, "tensordict/unknown_class")]);
    let nonsense = r#"{"shape": [], "_type": "import os"}"#;
    assert_eq!(codes(&with(nonsense)), [(Severity::Error, "tensordict/malformed_meta")]);
}
