//! Damage of every kind ends in an error or a finding, never in a panic, a hang, or memory without end.

use std::sync::Arc;

use packstone::format::{AuditOptions, Dataset, ReadContext};
use packstone::formats::tensordict::audit::audit;
use packstone::formats::tensordict::options::TreeOptions;
use packstone::formats::tensordict::parts::archive::ArchiveStore;
use packstone::formats::tensordict::parts::folder::FolderStore;
use packstone::formats::tensordict::parts::leaves::leaves;
use packstone::formats::tensordict::parts::line::line;
use packstone::formats::tensordict::parts::node::Node;
use packstone::formats::tensordict::parts::store::Store;
use packstone::formats::tensordict::parts::tree::Tree;
use packstone::formats::tensordict::reader::TensorDictDataset;
use packstone::model::Severity;
use packstone::{Limits, MemoryRoot, RelPath, Root};
use packstone_container::zip::{EntryOptions, Method, Writer};
use packstone_io::{Buf, Entry, EntryKind, IoError, ReadAt, SoleFile};
use packstone_testkit::{bad_cases, cut_points, flip_points, good_cases};

use crate::kit::{codes, load, meta, put, verdict};

fn limits() -> Limits {
    Limits::default().with_decoded_bytes(64 << 20)
}

/// Does everything that can be done with a root; what comes of it does not matter.
fn exercise(root: &Arc<dyn Root>) {
    let options = AuditOptions { limits: limits(), ..AuditOptions::default() };
    if let Ok(audit) = audit(Arc::clone(root), &options) {
        let mut context = ReadContext::default();
        for task in audit.tasks {
            (task.run)(&mut context);
        }
    }
    let tree_options = TreeOptions::default().with_limits(limits());
    let Ok(dataset) = TensorDictDataset::open(Arc::clone(root), &tree_options) else { return };
    for entry in dataset.entries() {
        let _ = entry.open();
        let _ = line(&entry, &Limits::default());
    }
    for name in dataset.collections() {
        let Ok(collection) = dataset.collection(&name) else { continue };
        for shard in collection.shards(0).take(3).flatten() {
            for field in 0..collection.schema().fields.len() {
                let _ = collection.read(&shard, Some(&[field]), &mut ReadContext::default());
            }
        }
    }
}

fn memory_of(folder: &std::path::Path) -> MemoryRoot {
    fn walk(base: &std::path::Path, at: &std::path::Path, root: &MemoryRoot) {
        for entry in std::fs::read_dir(at).unwrap() {
            let path = entry.unwrap().path();
            if path.is_symlink() {
                continue;
            }
            if path.is_dir() {
                walk(base, &path, root);
            } else {
                let name = path.strip_prefix(base).unwrap().to_string_lossy().into_owned();
                if RelPath::new(&name).is_ok_and(|p| p.as_str() == name) {
                    put(root, &name, std::fs::read(&path).unwrap());
                }
            }
        }
    }
    let root = MemoryRoot::new();
    walk(folder, folder, &root);
    root
}

/// Cuts and flips one file of a folder after the other.
fn sweep_folder(name: &str) {
    let cases = good_cases("tensordict").into_iter().chain(bad_cases("tensordict"));
    let case = cases.into_iter().find(|case| case.name == name).unwrap();
    let whole = memory_of(&case.data);
    for (path, bytes) in whole.files() {
        let bytes = bytes.to_vec();
        let mut bent = Vec::new();
        bent.extend(cut_points(bytes.len(), 6).into_iter().map(|at| bytes[..at].to_vec()));
        for at in flip_points(bytes.len(), 8) {
            for bit in [0x01, 0x80] {
                let mut copy = bytes.to_vec();
                copy[at] ^= bit;
                bent.push(copy);
            }
        }
        for copy in bent {
            put(&whole, path.as_str(), copy);
            exercise(&(Arc::new(whole.clone()) as Arc<dyn Root>));
        }
        put(&whole, path.as_str(), bytes.to_vec());
    }
}

#[test]
fn folders_of_everything() {
    sweep_folder("everything");
}

#[test]
fn folders_of_views() {
    for name in ["view_chain", "view_view", "sub_multi", "sub_mask"] {
        sweep_folder(name);
    }
}

#[test]
fn folders_of_pickles_and_classes() {
    for name in [
        "non_tensor_json_types",
        "tensorclass_meta_fields",
        "non_tensor_stack_pickle",
        "tensorclass_lazy",
    ] {
        sweep_folder(name);
    }
}

fn one_file(bytes: Vec<u8>) -> Arc<dyn Root> {
    let memory = MemoryRoot::new();
    put(&memory, "x.tdz", bytes);
    Arc::new(SoleFile::new(memory, RelPath::new("x.tdz").unwrap(), "x.tdz"))
}

/// Cuts an archive and flips bits everywhere in its structures.
fn sweep_archive(name: &str) {
    let case = good_cases("tensordict").into_iter().find(|case| case.name == name).unwrap();
    let bytes = std::fs::read(case.data.with_extension("tdz")).unwrap();
    for at in cut_points(bytes.len(), 60) {
        exercise(&one_file(bytes[..at].to_vec()));
    }
    let directory = bytes.len().saturating_sub(600)..bytes.len();
    let points = flip_points(bytes.len(), 120).into_iter().chain(directory.step_by(3));
    for (number, at) in points.enumerate() {
        let mut copy = bytes.clone();
        copy[at] ^= [0x01, 0x10, 0x80, 0xff][number % 4];
        exercise(&one_file(copy));
    }
}

#[test]
fn stored_archives() {
    sweep_archive("tdz_stored");
}

#[test]
fn compressed_archives() {
    for name in ["tdz_deflate", "tdz_bzip2", "tdz_lzma"] {
        sweep_archive(name);
    }
}

#[test]
fn bad_cases_through_every_door() {
    for case in bad_cases("tensordict") {
        exercise(&crate::kit::root(&case));
        let Ok(store) = crate::kit::store(&case) else { continue };
        if let Ok(tree) = Tree::load(store, &TreeOptions::default().with_robust_key(false)) {
            leaves(&tree.root).iter().for_each(|entry| drop(entry.open()));
        }
    }
}

/// Tensordicts inside one another.
fn deep(levels: usize) -> MemoryRoot {
    let root = MemoryRoot::new();
    let mut path = String::new();
    for level in 0..levels {
        let entry = if level + 1 < levels { r#""d": {"type": "TensorDict"}"# } else { "" };
        put(&root, &format!("{path}meta.json"), meta(&[], entry));
        path.push_str("d/");
    }
    root
}

#[test]
fn nesting_is_bounded() {
    assert!(load(Arc::new(deep(128))).is_ok());
    assert!(verdict(Arc::new(deep(128))).is_empty());
    let found = verdict(Arc::new(deep(200)));
    assert_eq!(codes(&found), [(Severity::Error, "tensordict/too_deep")]);
    let error =
        TensorDictDataset::open(Arc::new(deep(200)), &TreeOptions::default()).err().unwrap();
    assert_eq!(error.code(), "tensordict/too_deep");
}

/// A folder that holds itself, so to speak: there is always one more.
struct Endless(Buf);

impl Root for Endless {
    fn label(&self) -> String {
        "endless".to_owned()
    }

    fn open(&self, path: &RelPath) -> Result<Arc<dyn ReadAt>, IoError> {
        assert!(path.components().count() < 10_000, "nobody goes that deep");
        Ok(Arc::new(self.0.clone()))
    }

    fn list(&self, _folder: &RelPath) -> Result<Vec<Entry>, IoError> {
        let (file, folder) = (EntryKind::File, EntryKind::Folder);
        Ok(vec![
            Entry { name: "d".to_owned(), kind: folder, len: 0 },
            Entry { name: "meta.json".to_owned(), kind: file, len: self.0.as_ref().len() as u64 },
        ])
    }
}

#[test]
fn folders_without_end_are_left_early() {
    let text = meta(&[], r#""d": {"type": "TensorDict"}"#);
    let found = verdict(Arc::new(Endless(Buf::from(text.into_bytes()))));
    assert_eq!(codes(&found), [(Severity::Error, "tensordict/too_deep")]);
}

fn archive(entries: &[(&str, &[u8], Method)]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut writer = Writer::new(&mut out);
    for (name, bytes, method) in entries {
        writer.add(name, &[*bytes], EntryOptions::default().with_method(*method)).unwrap();
    }
    writer.finish().unwrap();
    out
}

#[test]
fn deep_and_doubled_names_of_archives() {
    let root = meta(&[], r#""a": {"dtype": "torch.int8", "shape": [1]}"#);
    let long = format!("{}meta.json", "d/".repeat(30_000));
    let entries = [
        ("meta.json", root.as_bytes(), Method::Stored),
        ("a.memmap", &[1], Method::Stored),
        (&long, b"{}", Method::Stored),
    ];
    let found = verdict(one_file(archive(&entries)));
    assert_eq!(codes(&found), [(Severity::Error, "tensordict/too_deep")]);
    // A name that is a file and a folder at once.
    let entries = [
        ("meta.json", root.as_bytes(), Method::Stored),
        ("a.memmap", &[1], Method::Stored),
        ("a.memmap/x", &[1], Method::Stored),
    ];
    let found = verdict(one_file(archive(&entries)));
    assert!(codes(&found).contains(&(Severity::Error, "tensordict/name_collision")), "{found:?}");
}

#[test]
fn bombs_are_refused_before_they_go_off() {
    let zeros = vec![0; 32 << 20];
    let small = meta(&[], r#""a": {"dtype": "torch.int8", "shape": [16]}"#);
    let entries =
        [("meta.json", small.as_bytes(), Method::Stored), ("a.memmap", &zeros, Method::Deflate)];
    let store = ArchiveStore::open(Buf::from(archive(&entries)), "x.tdz", &limits()).unwrap();
    let tree = Tree::load(Arc::new(store), &TreeOptions::default()).unwrap();
    let entry = &leaves(&tree.root)[0];
    assert_eq!(entry.open().unwrap_err().code(), "tensordict/size_mismatch");
    // One whose sizes agree is decoded as far as the limit.
    let large = meta(&[], r#""a": {"dtype": "torch.int8", "shape": [33554432]}"#);
    let entries =
        [("meta.json", large.as_bytes(), Method::Stored), ("a.memmap", &zeros, Method::Deflate)];
    let tight = Limits::default().with_decoded_bytes(1 << 20);
    let store = ArchiveStore::open(Buf::from(archive(&entries)), "x.tdz", &tight).unwrap();
    let tree = Tree::load(Arc::new(store), &TreeOptions::default().with_limits(tight)).unwrap();
    assert_eq!(leaves(&tree.root)[0].open().unwrap_err().code(), "tensordict/too_large");
    // A document is bounded as well.
    let entries = [("meta.json", &zeros[..], Method::Deflate)];
    let mut limits = Limits::default();
    limits.document_bytes = 1 << 20;
    let store = ArchiveStore::open(Buf::from(archive(&entries)), "x.tdz", &limits).unwrap();
    let error =
        Tree::load(Arc::new(store), &TreeOptions::default().with_limits(limits)).unwrap_err();
    assert_eq!(error.code(), "tensordict/malformed_json");
}

#[test]
fn shapes_alone_take_no_memory() {
    let root = MemoryRoot::new();
    let entries = r#""a": {"dtype": "torch.int8", "shape": [9223372036854775807]},
        "b": {"dtype": "torch.int64", "shape": [1152921504606846975, 1], "is_nested": true},
        "v": {"type": "x"}, "s": {"type": "x"}"#;
    put(&root, "meta.json", meta(&[], entries));
    put(&root, "a.memmap", [1]);
    put(&root, "b.memmap", [1]);
    put(&root, "b.shape.memmap", [0; 8]);
    put(
        &root,
        "v/meta.json",
        r#"{"_type": "<class 'tensordict._td._SubTensorDict'>", "index": ["slice", {}]}"#,
    );
    put(
        &root,
        "v/_source/meta.json",
        meta(&[1 << 62], r#""x": {"dtype": "torch.int8", "shape": [4611686018427387904]}"#),
    );
    put(&root, "v/_source/x.memmap", [1]);
    put(
        &root,
        "s/meta.json",
        r#"{"_type": "<class 'tensordict._td._SubTensorDict'>", "index": ["range", {"start": 0, "stop": 60000000, "step": 1}]}"#,
    );
    put(&root, "s/_source/meta.json", meta(&[1], ""));
    exercise(&(Arc::new(root.clone()) as Arc<dyn Root>));
    let store: Arc<dyn Store> = Arc::new(FolderStore::new(Arc::new(root)));
    let tree = Tree::load(store, &TreeOptions::default()).unwrap();
    let Node::TensorDict(tree) = &tree.root else { panic!("{tree:?}") };
    assert!(tree.entries.iter().any(|(key, node)| key == "s" && matches!(node, Node::Broken(_))));
}
