//! Rules that no golden case shows, on trees made by hand.

use std::path::Path;
use std::sync::Arc;

use packstone::format::{Dataset, Format, ReadContext};
use packstone::formats::tensordict::TensorDict;
use packstone::formats::tensordict::options::TreeOptions;
use packstone::formats::tensordict::parts::archive::ArchiveStore;
use packstone::formats::tensordict::parts::flat::{Seen, flatten};
use packstone::formats::tensordict::parts::leaves::leaves;
use packstone::formats::tensordict::parts::node::{Node, StackValues};
use packstone::formats::tensordict::parts::tree::Tree;
use packstone::formats::tensordict::reader::TensorDictDataset;
use packstone::model::Severity;
use packstone::ops::Scan;
use packstone::{Limits, LocalRoot, MemoryRoot, RelPath, Root};
use packstone_container::digest::{Algorithm, digest_hex};
use packstone_container::json::Value;
use packstone_container::zip::{EntryOptions, Method, Writer};
use packstone_io::{Buf, CountingRoot, SoleFile};
use packstone_testkit::{Case, Snapshot, bad_cases, copy_folder, good_cases};

use crate::canonical::{difference, node};
use crate::kit::{codes, load, meta, put, root, verdict};

fn case(name: &str) -> Case {
    good_cases("tensordict").into_iter().find(|case| case.name == name).unwrap()
}

fn open(root: Arc<dyn Root>) -> TensorDictDataset {
    TensorDictDataset::open(root, &TreeOptions::default()).unwrap()
}

fn one_file(bytes: impl Into<Vec<u8>>, name: &str) -> Arc<dyn Root> {
    let memory = MemoryRoot::new();
    put(&memory, name, bytes);
    Arc::new(SoleFile::new(memory, RelPath::new(name).unwrap(), name))
}

fn error(code: &'static str) -> Vec<(Severity, &'static str)> {
    vec![(Severity::Error, code)]
}

#[test]
fn files_of_consolidate_are_refused_by_name() {
    let document = br#"{"cls": "TensorDict", "leaves": {"a": ["torch.float32", [2], 0, 8, 0]}}"#;
    let mut bytes = vec![0; 8];
    bytes.extend(document);
    bytes.extend((document.len() as u64).to_le_bytes());
    let root = one_file(bytes, "td.memmap");
    assert!(TensorDict.recognizes(root.as_ref()).unwrap());
    let refused = TensorDict.open(root, &Limits::default()).err().unwrap();
    assert_eq!((refused.code(), refused.kind().name()), ("tensordict/consolidated", "unsupported"));
    assert!(refused.message().contains("consolidate()"));
}

#[test]
fn archives_are_known_by_content_and_by_name() {
    let bytes = std::fs::read(case("tdz_stored").data.with_extension("tdz")).unwrap();
    assert!(TensorDict.recognizes(one_file(bytes.clone(), "any.name").as_ref()).unwrap());
    assert_eq!(open(one_file(bytes, "any.name")).collections(), ["data"]);
    assert!(TensorDict.recognizes(one_file(b"x", "x.tdz").as_ref()).unwrap());
    assert!(!TensorDict.recognizes(one_file(b"x", "x.TDZ").as_ref()).unwrap());
    assert!(TensorDict.recognizes(root(&case("basic")).as_ref()).unwrap());
    assert!(!TensorDict.recognizes(&MemoryRoot::new()).unwrap());
    let refused = TensorDict.open(Arc::new(MemoryRoot::new()), &Limits::default()).err().unwrap();
    assert_eq!(refused.code(), "tensordict/missing_meta");
    let inner =
        bad_cases("tensordict").into_iter().find(|c| c.name == "archive_no_root_meta").unwrap();
    let refused = TensorDict.open(root(&inner), &Limits::default()).err().unwrap();
    assert!(refused.message().contains("pack that folder"), "{refused}");
}

/// The files of a folder as an archive, as a plain zip program makes it.
fn zipped(folder: &Path, method: Method) -> Vec<u8> {
    fn walk(base: &Path, at: &Path, writer: &mut Writer<&mut Vec<u8>>, method: Method) {
        for entry in std::fs::read_dir(at).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(base, &path, writer, method);
            } else {
                let name = path.strip_prefix(base).unwrap().to_str().unwrap();
                let options = EntryOptions::default().with_method(method);
                writer.add(name, &[&std::fs::read(&path).unwrap()], options).unwrap();
            }
        }
    }
    let mut out = Vec::new();
    let mut writer = Writer::new(&mut out);
    walk(folder, folder, &mut writer, method);
    writer.finish().unwrap();
    out
}

#[test]
fn every_folder_reads_the_same_from_an_archive() {
    let mut read = 0;
    // Files longer than their leaves are of folders only; the key `nt` of all empty parts is lost in the library.
    let folders_only =
        ["leaf_file_longer_than_leaf", "meta_duplicate_keys", "nested_tensors_all_empty"];
    for case in good_cases("tensordict").iter().filter(|case| case.data.is_dir()) {
        if folders_only.contains(&case.name.as_str()) {
            continue;
        }
        let robust =
            case.expected.get("load").and_then(|l| l.get("robust_key")).and_then(Value::as_bool);
        let options = TreeOptions::default().with_robust_key(robust.unwrap_or(true));
        for method in [Method::Stored, Method::Deflate] {
            let bytes = Buf::from(zipped(&case.data, method));
            let store = ArchiveStore::open(bytes, "x.tdz", &Limits::default()).unwrap();
            let tree = Tree::load(Arc::new(store), &options).unwrap();
            let found =
                difference(case.expected.get("tree").unwrap(), &node(&tree.root), &case.name);
            assert_eq!(found, None);
            read += 1;
        }
    }
    assert!(read >= 150, "{read}");
}

#[test]
fn an_archive_is_one_map_and_stored_leaves_are_views_of_it() {
    let folder = case("tdz_stored").data.parent().unwrap().to_owned();
    let file = RelPath::new("data.tdz").unwrap();
    let counting = Arc::new(CountingRoot::new(SoleFile::new(
        LocalRoot::open(folder).unwrap(),
        file,
        "data.tdz",
    )));
    let dataset = open(Arc::clone(&counting) as Arc<dyn Root>);
    let mut addresses = Vec::new();
    for leaf in dataset.entries().iter().filter(|leaf| leaf.word() == "tensor") {
        let bytes = leaf.open().unwrap();
        if !bytes.is_empty() {
            assert_eq!(bytes.as_ptr() as usize % 8, 0);
            addresses.push(bytes.as_ptr() as usize);
        }
    }
    assert_eq!(counting.take().iter().map(ToString::to_string).collect::<Vec<_>>(), ["data.tdz"]);
    addresses.sort_unstable();
    let file_len =
        std::fs::metadata(case("tdz_stored").data.with_extension("tdz")).unwrap().len() as usize;
    assert!(addresses.last().unwrap() - addresses[0] < file_len);
    // Payloads that stand anywhere are copied to where they can be used, once.
    let odd = open(root(&case("tdz_python_zipfile_stored")));
    for leaf in odd.entries().iter().filter(|leaf| leaf.word() == "tensor") {
        let size = leaf.dtype().unwrap().size().unwrap() as usize;
        let (one, other) = (leaf.open().unwrap(), leaf.open().unwrap());
        assert!(one.is_empty() || (one.as_ptr() as usize).is_multiple_of(size));
        assert_eq!(one.as_ptr(), other.as_ptr());
    }
}

#[test]
fn checksums_of_stored_leaves_are_compared_on_request() {
    let dataset = open(root(&case("tdz_rplus_stale_crc")));
    let data = dataset.collection("data").unwrap();
    assert!(Scan::new(Arc::clone(&data)).shards().all(|shard| shard.is_ok()));
    let refused = Scan::new(data).verify(true).shards().find_map(Result::err).unwrap();
    assert_eq!(refused.code(), "tensordict/crc_mismatch");
    // Those of compressed leaves always are.
    let bad = bad_cases("tensordict")
        .into_iter()
        .find(|case| case.name == "archive_deflate_crc")
        .unwrap();
    let data = open(root(&bad)).collection("data").unwrap();
    let refused = Scan::new(data).shards().find_map(Result::err).unwrap();
    assert_eq!(refused.code(), "tensordict/crc_mismatch");
}

#[test]
fn any_number_of_threads_inflates_the_same() {
    for name in ["tdz_deflate", "tdz_bzip2", "tdz_lzma"] {
        let read = |threads: usize| {
            let data = open(root(&case(name))).collection("data").unwrap();
            let shards = Scan::new(data).threads(threads).shards();
            let values = shards.flat_map(|shard| {
                let batch = shard.unwrap().batch;
                batch
                    .samples()
                    .flat_map(|s| s.values().map(|v| v.bytes.to_vec()).collect::<Vec<_>>())
                    .collect::<Vec<_>>()
            });
            values.collect::<Vec<_>>()
        };
        let one = read(1);
        assert!(!one.is_empty());
        assert_eq!(one, read(4), "{name}");
    }
}

#[test]
fn a_collection_missing_from_an_archive_is_named() {
    let text = meta(&[], r#""n": {"type": "TensorDict"}"#);
    let mut out = Vec::new();
    let mut writer = Writer::new(&mut out);
    writer.add("meta.json", &[text.as_bytes()], EntryOptions::default()).unwrap();
    writer.finish().unwrap();
    let found = verdict(one_file(out, "x.tdz"));
    assert_eq!(codes(&found), error("tensordict/missing_collection"));
    assert_eq!(found[0].place.field.as_deref(), Some("n"));
}

#[test]
fn booleans_are_zero_or_one() {
    let memory = MemoryRoot::new();
    put(&memory, "meta.json", meta(&[3], r#""f": {"dtype": "torch.bool", "shape": [3]}"#));
    put(&memory, "f.memmap", [1, 0, 2]);
    let found = verdict(Arc::new(memory.clone()));
    assert_eq!(codes(&found), [(Severity::Warning, "tensordict/bad_bool")]);
    assert_eq!(found[0].place.offset, Some(2));
    put(&memory, "f.memmap", [1, 0, 1]);
    assert!(verdict(Arc::new(memory)).is_empty());
}

#[test]
fn a_tensorclass_without_its_tensordict_is_malformed() {
    let memory = MemoryRoot::new();
    put(&memory, "meta.json", r#"{"_type": "<class 'm.Point'>", "label": "x"}"#);
    assert_eq!(codes(&verdict(Arc::new(memory))), error("tensordict/malformed_meta"));
}

const STACK: &str =
    r#"{"_type": "<class 'tensordict.tensorclass.NonTensorStack'>", "stack_dim": 0}"#;

#[test]
fn values_in_numbered_folders_as_older_releases_stored_them() {
    let memory = MemoryRoot::new();
    put(&memory, "meta.json", meta(&[2], r#""s": {"type": "NonTensorStack"}"#));
    put(&memory, "s/meta.json", STACK);
    for (at, value) in ["\"a\"", "[1]"].iter().enumerate() {
        put(
            &memory,
            &format!("s/{at}/meta.json"),
            format!(
                r#"{{"_type": "<class 'tensordict.tensorclass.NonTensorData'>", "data": {value}, "_metadata": null}}"#
            ),
        );
    }
    assert!(verdict(Arc::new(memory.clone())).is_empty());
    let tree = load(Arc::new(memory.clone())).unwrap();
    let Node::TensorDict(found) = &tree.root else { panic!("{tree:?}") };
    let Some(Node::NonTensorStack(stack)) = found.get("s") else { panic!("{found:?}") };
    assert!(matches!(&stack.values, StackValues::Members(members) if members.len() == 2));
    assert_eq!(stack.batch_size, [2]);
    let data = open(Arc::new(memory)).collection("data").unwrap();
    let batch = data
        .read(&data.shards(0).next().unwrap().unwrap(), None, &mut ReadContext::default())
        .unwrap();
    let texts: Vec<_> =
        batch.samples().map(|s| s.get("s").unwrap().to_json().to_string()).collect();
    assert_eq!(texts, ["\"a\"", "[1]"]);
}

#[test]
fn an_empty_stack_does_not_fit_a_larger_batch() {
    let memory = MemoryRoot::new();
    put(&memory, "meta.json", meta(&[2], r#""s": {"type": "NonTensorStack"}"#));
    put(&memory, "s/meta.json", STACK.replace("0}", "0, \"data\": []}"));
    assert_eq!(codes(&verdict(Arc::new(memory.clone()))), error("tensordict/batch_mismatch"));
    put(&memory, "meta.json", meta(&[0], r#""s": {"type": "NonTensorStack"}"#));
    assert!(verdict(Arc::new(memory)).is_empty());
}

#[test]
fn members_of_a_stack_have_one_batch_size() {
    let memory = MemoryRoot::new();
    put(
        &memory,
        "meta.json",
        r#"{"_type": "<class 'tensordict._lazy.LazyStackedTensorDict'>", "stack_dim": 0}"#,
    );
    put(&memory, "0/meta.json", meta(&[2], ""));
    put(&memory, "1/meta.json", meta(&[3], ""));
    assert_eq!(codes(&verdict(Arc::new(memory.clone()))), error("tensordict/batch_mismatch"));
    put(&memory, "1/meta.json", meta(&[2], ""));
    assert!(verdict(Arc::new(memory.clone())).is_empty());
    // A dimension that the stack cannot have.
    put(
        &memory,
        "meta.json",
        r#"{"_type": "<class 'tensordict._lazy.LazyStackedTensorDict'>", "stack_dim": 2}"#,
    );
    assert_eq!(codes(&verdict(Arc::new(memory))), error("tensordict/malformed_meta"));
}

#[test]
fn a_view_over_a_permuted_source_is_read_by_copying() {
    let memory = MemoryRoot::new();
    let view = |class: &str, op: &str, arguments: &str| {
        format!(
            r#"{{"_type": "<class 'tensordict._lazy.{class}'>", "custom_op": "{op}", "custom_op_kwargs": {arguments}}}"#
        )
    };
    put(&memory, "meta.json", view("_ViewedTensorDict", "view", r#"{"size": [6]}"#));
    put(
        &memory,
        "_source/meta.json",
        view("_PermutedTensorDict", "permute", r#"{"dims": [1, 0]}"#),
    );
    put(
        &memory,
        "_source/_source/meta.json",
        meta(&[2, 3], r#""a": {"dtype": "torch.uint8", "shape": [2, 3, 2]}"#),
    );
    put(&memory, "_source/_source/a.memmap", (0..12).collect::<Vec<u8>>());
    let tree = load(Arc::new(memory.clone())).unwrap();
    let seen = flatten(&tree.root);
    let Seen::Tensor(tensor) = &seen[0].1 else { panic!("{seen:?}") };
    assert_eq!(tensor.shape, [6, 2]);
    assert_eq!(
        tensor.read(&Limits::default()).unwrap().to_vec(),
        [0, 1, 6, 7, 2, 3, 8, 9, 4, 5, 10, 11]
    );
    let data = open(Arc::new(memory)).collection("data").unwrap();
    let shard = data.shards(0).next().unwrap().unwrap();
    let batch = data.read_rows(&shard, &[5, 1], None, &mut ReadContext::default()).unwrap();
    assert_eq!(batch.columns()[0].bytes(0), Some(&[10, 11][..]));
    assert_eq!(batch.columns()[0].bytes(1), Some(&[6, 7][..]));
}

#[test]
fn two_keys_of_one_file_are_told() {
    let tree =
        Tree::load(crate::kit::store(&case("robust_key_false")).unwrap(), &TreeOptions::default())
            .unwrap();
    let told: Vec<_> =
        tree.notes.iter().map(|note| (note.code, note.place.field.clone().unwrap())).collect();
    assert_eq!(told, [("tensordict/name_collision", "%".to_owned())]);
    let missing: Vec<_> = leaves(&tree.root)
        .iter()
        .filter(|leaf| leaf.open().is_err())
        .map(|leaf| leaf.key.concat())
        .collect();
    assert_eq!(missing, ["x:y"]);
}

#[test]
fn keys_that_are_no_text_have_no_file() {
    let memory = MemoryRoot::new();
    put(
        &memory,
        "meta.json",
        meta(&[], r#""\ud800": {"dtype": "torch.bool", "shape": [1]}, "\udfff": {"type": "x"}"#),
    );
    let found = verdict(Arc::new(memory));
    assert_eq!(
        codes(&found),
        [
            (Severity::Error, "tensordict/missing_collection"),
            (Severity::Error, "tensordict/missing_leaf")
        ]
    );
}

#[test]
fn links_are_refused_wherever_they_lead() {
    let temp = tempfile::tempdir().unwrap();
    copy_folder(&case("basic").data, temp.path());
    let link = |target: &str, at: &str| {
        let at = temp.path().join(at);
        if at.is_dir() && !at.is_symlink() {
            std::fs::remove_dir_all(&at).unwrap();
        } else {
            let _ = std::fs::remove_file(&at);
        }
        std::os::unix::fs::symlink(target, at).unwrap();
    };
    let check = || codes(&verdict(Arc::new(LocalRoot::open(temp.path()).unwrap())));
    link("next/obs.memmap", "obs.memmap");
    assert_eq!(check(), error("tensordict/symlink"));
    copy_folder(&case("basic").data, temp.path());
    std::fs::remove_file(temp.path().join("obs.memmap")).unwrap();
    copy_folder(&case("basic").data, temp.path());
    assert!(check().is_empty());
    link("../meta.json", "next/meta.json");
    assert_eq!(check(), error("tensordict/symlink"));
    link("..", "next");
    assert_eq!(check(), error("tensordict/symlink"));
    link(".", "next");
    assert_eq!(check(), error("tensordict/cycle"));
    // From two levels down, back to the top.
    std::fs::remove_file(temp.path().join("next")).unwrap();
    copy_folder(&case("basic").data, temp.path());
    std::fs::write(
        temp.path().join("next/meta.json"),
        meta(&[3], r#""up": {"type": "TensorDict"}"#),
    )
    .unwrap();
    link("..", "next/up");
    assert!(check().contains(&(Severity::Error, "tensordict/cycle")), "{:?}", check());
}

#[test]
fn types_that_hide_another_pickle_are_found_out() {
    let memory = MemoryRoot::new();
    let pickle = b"\x80\x04}\x8c\x04data\x8c\x02os\x8c\x06system\x93s.";
    put(
        &memory,
        "meta.json",
        r#"{"_type": "<class 'tensordict.tensorclass.NonTensorData'>", "_metadata": null}"#,
    );
    put(&memory, "other.pickle", pickle);
    let sum = digest_hex(Algorithm::Sha256, pickle);
    put(
        &memory,
        "json_types.json",
        format!(r#"{{"types": {{"data": "dict"}}, "pickle_sha256": "{sum}"}}"#),
    );
    assert_eq!(codes(&verdict(Arc::new(memory.clone()))), error("tensordict/malformed_json_types"));
    put(
        &memory,
        "json_types.json",
        format!(r#"{{"types": {{"data": "dict"}}, "pickle_sha256": "{}"}}"#, sum.to_uppercase()),
    );
    assert_eq!(codes(&verdict(Arc::new(memory))), error("tensordict/needs_pickle"));
}

#[test]
fn a_second_check_of_a_read_only_copy_finds_the_same() {
    use std::os::unix::fs::PermissionsExt;
    for name in ["truncated_leaf", "nested_missing_sizes", "empty_leaf_file", "missing_leaf"] {
        let case = bad_cases("tensordict").into_iter().find(|case| case.name == name).unwrap();
        let temp = tempfile::tempdir().unwrap();
        copy_folder(&case.data, temp.path());
        let root = || Arc::new(LocalRoot::open(temp.path()).unwrap());
        let writable = verdict(root());
        for entry in std::fs::read_dir(temp.path()).unwrap() {
            let path = entry.unwrap().path();
            let mode = if path.is_dir() { 0o555 } else { 0o444 };
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        }
        let before = Snapshot::of(temp.path());
        assert_eq!((verdict(root()), verdict(root())), (writable.clone(), writable), "{name}");
        assert_eq!(Snapshot::of(temp.path()), before);
        for entry in std::fs::read_dir(temp.path()).unwrap() {
            std::fs::set_permissions(entry.unwrap().path(), std::fs::Permissions::from_mode(0o755))
                .unwrap();
        }
    }
}

#[test]
fn one_broken_part_hides_no_other() {
    let memory = MemoryRoot::new();
    let entries = r#""ok": {"dtype": "torch.uint8", "shape": [2]}, "gone": {"dtype": "torch.uint8", "shape": [2]},
        "odd": {"dtype": "torch.long", "shape": [2]}, "n": {"type": "TensorDict"}, "m": {"type": "TensorDict"}"#;
    put(&memory, "meta.json", meta(&[2], entries));
    put(&memory, "ok.memmap", [1, 2]);
    put(&memory, "m/meta.json", meta(&[2], r#""x": {"dtype": "torch.uint8", "shape": [2]}"#));
    put(&memory, "m/x.memmap", [3, 4]);
    let tree = load(Arc::new(memory.clone())).unwrap();
    let shown: Vec<_> = leaves(&tree.root)
        .iter()
        .map(|leaf| {
            format!(
                "{} {}",
                leaf.key.join("."),
                leaf.open().map_or_else(|e| e.code().to_owned(), |b| format!("{:?}", &b[..]))
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            "ok [1, 2]",
            "gone tensordict/missing_leaf",
            "odd tensordict/unknown_dtype",
            "n tensordict/missing_collection",
            "m.x [3, 4]",
        ]
    );
    // A dataset needs to know its fields; a leaf without file is one that cannot be read.
    let refused = TensorDict.open(Arc::new(memory.clone()), &Limits::default()).err().unwrap();
    assert_eq!(refused.code(), "tensordict/unknown_dtype");
    put(
        &memory,
        "meta.json",
        meta(&[2], entries.split(r#""odd""#).next().unwrap().trim_end_matches([',', '\n', ' '])),
    );
    let data = open(Arc::new(memory)).collection("data").unwrap();
    let shard = data.shards(0).next().unwrap().unwrap();
    assert!(data.read(&shard, Some(&[0]), &mut ReadContext::default()).is_ok());
    let refused = data.read(&shard, None, &mut ReadContext::default()).unwrap_err();
    assert_eq!(
        (refused.code(), refused.place().field.as_deref()),
        ("tensordict/missing_leaf", Some("gone"))
    );
}
