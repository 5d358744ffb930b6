//! Trees that change: rows overwritten, rows and entries appended; what is refused, and what a fault leaves.

use std::sync::Arc;

use packstone::format::{Format, RepairOptions};
use packstone::formats::tensordict::options::SaveOptions;
use packstone::formats::tensordict::parts::add::add;
use packstone::formats::tensordict::parts::append::{APPENDING, append};
use packstone::formats::tensordict::parts::edit::LeafEdit;
use packstone::formats::tensordict::parts::node::{Bytes, Node};
use packstone::formats::tensordict::parts::preallocate::{preallocate, room};
use packstone::formats::tensordict::parts::save::save;
use packstone::formats::tensordict::{TensorDict, codes};
use packstone::model::{DType, Field, Key, Schema, Severity};
use packstone::{Limits, LocalRoot, MemoryRoot, RelPath, RootMut, site};
use packstone_io::{Buf, FaultyRoot, SoleFile};
use packstone_testkit::golden_folder;

use crate::kit::{load, verdict};
use crate::write_kit::{
    below, content, dict, files_of, grown, leaf, leaf_of, local, memory, nested, path, value,
    values,
};

#[test]
fn preallocated_trees_take_no_place_and_have_no_room_for_what_varies() {
    let (temp, root) = local();
    let schema = Schema::new(vec![Field::new("x", DType::Float32, [1 << 20])]);
    let tree = Node::TensorDict(room(&schema, 1 << 14).unwrap());
    let saved = preallocate(&root, &path("x"), &tree, &SaveOptions::default()).unwrap();
    let meta = std::fs::metadata(temp.path().join("x/x.memmap")).unwrap();
    assert_eq!((meta.len(), saved.files), (1 << 36, 2));
    assert!(std::os::unix::fs::MetadataExt::blocks(&meta) < 100);
    for field in [
        Field::new("t", DType::Str, []),
        Field::varying(Key::new("v"), DType::Int8, 1),
        Field::new("j", DType::Json, []),
    ] {
        let error = room(&Schema::new(vec![field]), 3).unwrap_err();
        assert_eq!(error.code(), codes::VALUE_NOT_STORABLE);
    }
    // Values that are no tensors are saved as they are.
    let mixed = dict(
        &[2],
        vec![
            ("a", leaf(DType::Int8, &[2])),
            ("w", values("[\"x\", \"y\"]")),
            ("nt", nested(&[&[2], &[1]])),
        ],
    );
    preallocate(&root, &path("m"), &mixed, &SaveOptions::default()).unwrap();
    let files = content(&temp.path().join("m"));
    assert_eq!((&files["a.memmap"][..], &files["nt.memmap"][..]), (&[0, 0][..], &[0, 0, 0][..]));
    assert_eq!(files["nt.shape.memmap"], [2u64.to_le_bytes(), 1u64.to_le_bytes()].concat());
    assert!(String::from_utf8(files["w/meta.json"].clone()).unwrap().contains(r#"["x","y"]"#));
}

#[test]
fn rows_change_in_place_and_nothing_else_does() {
    let (temp, root) = local();
    let tree = dict(
        &[3],
        vec![
            ("a", leaf(DType::Int16, &[3, 2])),
            ("s", leaf(DType::Int8, &[3])),
            ("empty", leaf(DType::Int8, &[3, 0])),
            ("nt", nested(&[&[1], &[1], &[1]])),
            ("w", values("[1, 2, 3]")),
        ],
    );
    save(&root, &path("x"), &tree, &SaveOptions::default()).unwrap();
    let folder = site::root(&temp.path().join("x")).unwrap();
    let before = content(&temp.path().join("x"));
    let limits = Limits::default();
    let edit = LeafEdit::open(&folder, &["a"], &limits).unwrap();
    assert_eq!((edit.shape(), edit.dtype(), edit.row_bytes()), (&[3, 2][..], &DType::Int16, 4));
    edit.write_rows(1, &[9; 8]).unwrap();
    for (first, len) in [(0, 3), (0, 5), (3, 4), (2, 8), (u64::MAX, 4), (1, 12)] {
        let error = edit.write_rows(first, &vec![8; len]).unwrap_err();
        assert_eq!(error.code(), codes::BAD_SHAPE, "{len} bytes from row {first} on");
    }
    edit.write_rows(3, &[]).unwrap();
    edit.finish().unwrap();
    let mut want = before.clone();
    want.get_mut("a.memmap").unwrap()[4..].fill(9);
    assert_eq!(content(&temp.path().join("x")), want);
    for (keys, code) in [
        (&["nt"][..], codes::NOT_EDITABLE),
        (&["empty"], codes::NOT_EDITABLE),
        (&["w"], codes::UNKNOWN_COLLECTION),
        (&["no"], codes::UNKNOWN_COLLECTION),
        (&[], codes::UNKNOWN_COLLECTION),
        (&["a", "b"], codes::UNKNOWN_COLLECTION),
    ] {
        let error = LeafEdit::open(&folder, keys, &limits).err().unwrap();
        assert_eq!(error.code(), code, "{keys:?}");
    }
    // A file of another size is no longer what its document says.
    std::fs::write(temp.path().join("x/s.memmap"), [1; 4]).unwrap();
    assert_eq!(LeafEdit::open(&folder, &["s"], &limits).err().unwrap().code(), codes::NOT_EDITABLE);
    std::fs::write(temp.path().join("x/s.memmap"), [1; 2]).unwrap();
    assert_eq!(
        LeafEdit::open(&folder, &["s"], &limits).err().unwrap().code(),
        codes::TRUNCATED_LEAF
    );
}

#[test]
fn rows_of_archives_change_with_their_checksum_or_not_at_all() {
    let temp = tempfile::tempdir().unwrap();
    let put = |case: &str| {
        let to = temp.path().join(format!("{case}.tdz"));
        std::fs::copy(golden_folder("tensordict").join(case).join("data.tdz"), &to).unwrap();
        (site::root(&to).unwrap(), to)
    };
    let open =
        |root: &Arc<dyn RootMut>, keys: &[&str]| LeafEdit::open(root, keys, &Limits::default());
    let (root, file) = put("tdz_stored");
    let before = std::fs::read(&file).unwrap();
    let edit = open(&root, &["img"]).unwrap();
    let row = edit.row_bytes() as usize;
    edit.write_rows(1, &vec![7; row]).unwrap();
    edit.finish().unwrap();
    let after = std::fs::read(&file).unwrap();
    assert_eq!(before.len(), after.len());
    let changed: Vec<usize> = (0..after.len()).filter(|at| before[*at] != after[*at]).collect();
    // The row, and two checksums.
    assert!(changed.len() <= row + 8, "{changed:?}");
    assert!(verdict(root).iter().all(|f| f.severity == Severity::Info));
    for (case, keys) in [
        ("tdz_deflate", &["img"][..]),
        ("tdz_bzip2", &["img"]),
        ("tdz_stored", &["nt"]),
        ("tdz_python_zipfile_stored", &["nest", "k/1"]),
    ] {
        let (root, file) = put(case);
        let before = std::fs::read(&file).unwrap();
        let error = open(&root, keys).err().unwrap();
        assert_eq!(error.code(), codes::NOT_EDITABLE, "{case}: {error}");
        assert_eq!(std::fs::read(&file).unwrap(), before, "{case}");
    }
}

#[test]
fn appended_trees_have_the_bytes_of_trees_saved_at_once() {
    let files = below(&files_of(&grown(3)));
    let root: Arc<dyn RootMut> = files.clone();
    for (more, total) in [(2, 5), (0, 5), (1, 6)] {
        let rows = append(&root, &[], &grown_or_none(more), &Limits::default()).unwrap();
        assert_eq!(rows, total);
        assert_eq!(memory(&files, ""), files_of(&grown(total as usize)));
    }
    // Into a node below one without batch dimensions, behind what is left of an older save.
    let outer = dict(&[], vec![("c/d", grown(2)), ("other", grown(1))]);
    let mut content = files_of(&outer);
    content.get_mut("c%2Fd/a.memmap").unwrap().extend([9; 100]);
    let files = below(&content);
    let root: Arc<dyn RootMut> = files.clone();
    assert_eq!(append(&root, &["c/d"], &grown(2), &Limits::default()).unwrap(), 4);
    let want = dict(&[], vec![("c/d", grown(4)), ("other", grown(1))]);
    assert_eq!(memory(&files, ""), files_of(&want));
    // And where there was no row.
    let none = |n| {
        dict(
            &[n],
            vec![
                ("a", leaf(DType::Int8, &[n, 2])),
                ("w", values(if n == 0 { "[]" } else { "[7]" })),
            ],
        )
    };
    let files = below(&files_of(&none(0)));
    let root: Arc<dyn RootMut> = files.clone();
    assert_eq!(append(&root, &[], &none(1), &Limits::default()).unwrap(), 1);
    assert_eq!(memory(&files, ""), files_of(&none(1)));
}

/// As [`grown`]; a nested tensor of no parts cannot be, so there is none then and nothing to append.
fn grown_or_none(n: usize) -> Node {
    if n > 0 {
        return grown(n);
    }
    let Node::TensorDict(mut dict) = grown(1) else { unreachable!() };
    dict.batch_size = vec![0];
    for (_, node) in &mut dict.entries {
        *node = match std::mem::replace(node, values("[]")) {
            Node::Leaf(leaf) => {
                crate::write_kit::leaf(leaf.dtype, &[&[0], &leaf.shape[1..]].concat())
            }
            Node::TensorDict(_) => crate::write_kit::dict(
                &[0],
                vec![("b", crate::write_kit::leaf(DType::Int16, &[0]))],
            ),
            Node::NestedTensor(mut nested) => {
                nested.extent.0 = 0;
                (nested.sizes, nested.data) =
                    (Bytes::Given(Buf::default()), Bytes::Given(Buf::default()));
                Node::NestedTensor(nested)
            }
            Node::NonTensorStack(_) => values("[]"),
            other => other,
        };
    }
    Node::TensorDict(dict)
}

#[test]
fn what_does_not_go_together_is_refused_before_anything_is_written() {
    let with = |key: &str, node: Option<Node>| {
        let Node::TensorDict(mut tree) = grown(2) else { unreachable!() };
        tree.entries.retain(|(name, _)| name != key);
        tree.entries.extend(node.map(|node| (key.to_owned(), node)));
        Node::TensorDict(tree)
    };
    let refused = |old: &Node, more: &Node| {
        let files = below(&files_of(old));
        let before = memory(&files, "");
        let root: Arc<dyn RootMut> = files.clone();
        let error = append(&root, &[], more, &Limits::default()).unwrap_err();
        assert_eq!(error.code(), codes::NOT_APPENDABLE, "{error}");
        assert_eq!(memory(&files, ""), before);
        error.to_string()
    };
    for (more, named) in [
        (with("a", None), "keys"),
        (with("new", Some(leaf(DType::Int8, &[2]))), "keys"),
        (with("a", Some(leaf(DType::Int8, &[2, 3]))), "uint8"),
        (with("a", Some(leaf(DType::UInt8, &[2, 4]))), "one shape"),
        (with("a", Some(leaf(DType::UInt8, &[3, 3]))), "one shape"),
        (with("a", Some(values("[1, 2]"))), "tensor"),
        (with("words", Some(values("[1]"))), "values"),
        (with("same", Some(value("{\"k\": 2}"))), "one value"),
        (with("nt", Some(nested(&[&[1, 1], &[1, 1]]))), "parts"),
        (with("sub", Some(dict(&[2], vec![]))), "keys"),
        (dict(&[], vec![]), "first dimension"),
        (value("1"), "first dimension"),
    ] {
        let message = refused(&grown(3), &more);
        assert!(message.contains(named), "{message}");
    }
    let case = |name: &str| {
        let data = golden_folder("tensordict").join(name).join("data");
        load(Arc::new(LocalRoot::open(data).unwrap())).unwrap().root
    };
    for name in [
        "lazy_homogeneous",
        "view_permute",
        "sub_slice",
        "non_tensor_stack_pickle",
        "tensorclass_pickle",
    ] {
        refused(&case(name), &case(name));
    }
    let archive: Arc<dyn RootMut> =
        Arc::new(SoleFile::new(MemoryRoot::new(), path("x.tdz"), "x.tdz"));
    let error = append(&archive, &[], &grown(1), &Limits::default()).unwrap_err();
    assert_eq!(error.code(), codes::NOT_APPENDABLE);
}

#[test]
fn golden_trees_grow_by_themselves() {
    let mut grown = 0;
    for name in [
        "basic",
        "dtypes",
        "names",
        "everything",
        "tensorclass_names",
        "v0_written_by_0_15_2",
        "nested_tensors",
        "non_tensor_batched",
        "keys_encoded",
    ] {
        let data = golden_folder("tensordict").join(name).join("data");
        let tree = load(Arc::new(LocalRoot::open(&data).unwrap())).unwrap();
        let files = below(&content(&data));
        let root: Arc<dyn RootMut> = files.clone();
        match append(&root, &[], &tree.root, &Limits::default()) {
            Ok(rows) => {
                assert_eq!(rows, 2 * tree.root.batch_size()[0], "{name}");
                let serious: Vec<_> =
                    verdict(files).into_iter().filter(|f| f.severity == Severity::Error).collect();
                assert!(serious.is_empty(), "{name}: {serious:?}");
                grown += 1;
            }
            Err(error) => assert_eq!(error.code(), codes::NOT_APPENDABLE, "{name}: {error}"),
        }
    }
    assert!(grown >= 4, "{grown}");
}

#[test]
fn a_fault_at_any_operation_of_an_append_leaves_the_old_rows_or_the_new_ones() {
    let mut kept = 0;
    for good in 0.. {
        let files = below(&files_of(&grown(3)));
        let faulty: Arc<dyn RootMut> = Arc::new(FaultyRoot::new(files.as_ref().clone(), good));
        let done = append(&faulty, &[], &grown(2), &Limits::default());
        let root: Arc<dyn RootMut> = files.clone();
        let tree = load(files.clone()).unwrap();
        let rows = tree.root.batch_size()[0];
        if done.is_ok() {
            assert_eq!(rows, 5);
            break;
        }
        assert!(rows == 3 || rows == 5, "after {good}");
        kept += u64::from(rows == 3);
        let serious = verdict(files.clone()).into_iter().find(|f| f.severity > Severity::Info);
        assert!(serious.is_none(), "after {good}: {serious:?}");
        // The next one finds its way.
        let left = 5 - usize::try_from(rows).unwrap();
        if left > 0 {
            append(&root, &[], &grown(left), &Limits::default()).unwrap();
        }
        assert_eq!(memory(&files, ""), files_of(&grown(5)), "after {good}");
    }
    assert!(kept > 5, "{kept}");
}

#[test]
fn an_append_that_was_cut_between_two_documents_is_completed() {
    let old = files_of(&grown(3));
    let new = files_of(&grown(5));
    let torn = || {
        let mut content = new.clone();
        // Leaves have grown, and one of the documents is new.
        for document in ["meta.json", "words/meta.json"] {
            content.insert(document.to_owned(), old[document].clone());
        }
        let files = below(&content);
        let documents: Vec<(RelPath, Vec<u8>)> = ["sub/meta.json", "words/meta.json", "meta.json"]
            .iter()
            .map(|name| (path(name), new[*name].clone()))
            .collect();
        // As an appender writes it, which then died.
        let stalled = FaultyRoot::new(files.as_ref().clone(), 1);
        APPENDING.replace(&stalled, &old["meta.json"], &documents).unwrap_err();
        assert!(memory(&files, "").contains_key(APPENDING.file));
        files
    };
    let files = torn();
    assert!(verdict(files.clone()).iter().any(|f| f.severity == Severity::Error));
    let repair = |files: &Arc<MemoryRoot>, dry_run| {
        let options = RepairOptions { dry_run, ..RepairOptions::default() };
        TensorDict.repair(Arc::clone(files) as _, &options)
    };
    let before = memory(&files, "");
    assert_eq!(repair(&files, true).unwrap().completed.len(), 3);
    assert_eq!(memory(&files, ""), before);
    assert_eq!(repair(&files, false).unwrap().completed.len(), 3);
    assert_eq!(memory(&files, ""), new);
    assert_eq!(repair(&files, false).unwrap().completed.len(), 0);
    // The next appender does it, too.
    let files = torn();
    append(&(files.clone() as Arc<dyn RootMut>), &[], &grown(1), &Limits::default()).unwrap();
    assert_eq!(memory(&files, ""), files_of(&grown(6)));
    // An intent that speaks of data is none of packstone's.
    let files = below(&old);
    let evil = "{\"before\": \"x\", \"files\": [{\"path\": \"a.memmap\", \"text\": \"\"}]}";
    files.create(&path(APPENDING.file), evil.as_bytes()).unwrap();
    assert_eq!(repair(&files, false).unwrap_err().code(), codes::MALFORMED_META);
}

#[test]
fn entries_are_added_as_the_library_adds_them() {
    let data = golden_folder("tensordict").join("make_memmap_appended/data");
    let want = content(&data);
    let leaf_at = |file: &str, dtype, shape: &[u64]| leaf_of(dtype, shape, want[file].clone());
    let first = dict(&[2], vec![("a", leaf_at("a.memmap", DType::Float32, &[2]))]);
    let files = below(&files_of(&first));
    let root: Arc<dyn RootMut> = files.clone();
    let (limits, options) = (Limits::default(), SaveOptions::default());
    // Left over from an older save.
    files.create(&path("b.memmap"), &[9; 1000]).unwrap();
    files.create(&path("n/meta.json"), b"{}").unwrap();
    files.create(&path("n/old.memmap"), b"old").unwrap();
    let b = leaf_at("b.memmap", DType::Int16, &[2, 3]);
    let c = leaf_at("n/c.memmap", DType::Float32, &[2]);
    add(&root, &[], "b", &b, &limits, &options).unwrap();
    add(&root, &[], "n", &dict(&[2], vec![]), &limits, &options).unwrap();
    add(&root, &["n"], "c", &c, &limits, &options).unwrap();
    assert_eq!(memory(&files, ""), want);
    // Deeper, with every kind of file.
    add(&root, &["n"], "é/", &nested(&[&[1], &[2]]), &limits, &options).unwrap();
    add(&root, &["n"], "deep", &dict(&[2], vec![("d", dict(&[2], vec![]))]), &limits, &options)
        .unwrap();
    let tree = load(files.clone()).unwrap();
    assert!(tree.orphans.is_empty() && verdict(files.clone()).is_empty());
    let before = memory(&files, "");
    let x = || leaf(DType::Int8, &[2]);
    for (keys, key, node, code) in [
        (&[][..], "a", x(), "io/exists"),
        (&["no"], "x", x(), codes::UNKNOWN_COLLECTION),
        (&["a"], "x", x(), codes::UNKNOWN_COLLECTION),
        (&[], "shape", x(), codes::RESERVED_KEY),
        (&[], "b.memmap", dict(&[2], vec![]), codes::NAME_COLLISION),
        (&["n"], "é/.shape", x(), codes::NAME_COLLISION),
        (&[], "x", leaf(DType::Int8, &[3]), codes::BATCH_MISMATCH),
    ] {
        let error = add(&root, keys, key, &node, &limits, &options).unwrap_err();
        assert_eq!((error.code(), memory(&files, "")), (code, before.clone()), "{key}");
    }
    // A fault at any operation changes nothing that a document names.
    for good in 0.. {
        let files = below(&before);
        let faulty: Arc<dyn RootMut> = Arc::new(FaultyRoot::new(files.as_ref().clone(), good));
        let done = add(&faulty, &["n"], "late", &dict(&[2], vec![("z", x())]), &limits, &options);
        let now = load(files.clone()).unwrap();
        assert!(
            verdict(files.clone()).iter().all(|f| f.severity == Severity::Info),
            "after {good}"
        );
        if done.is_ok() {
            break;
        }
        assert_eq!(now.documents, tree.documents, "after {good}");
    }
}
