//! Paths in documents, links on the disk, files that nobody lists, folders that nobody may write to.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::sync::Arc;

use packstone::formats::sedpack::codes;
use packstone::model::Severity;
use packstone::{Kind, LocalRoot, MemoryRoot, Root};
use packstone_io::CountingRoot;
use packstone_testkit::{Snapshot, copy_folder, golden_folder};

use crate::kit::{self, Made, document, flat, list, path, pointer, put, sha256, shard_entry};

const ATTRIBUTES: &str = r#"[{"name": "x", "dtype": "uint8", "shape": [2]}]"#;

fn made(count: u8) -> MemoryRoot {
    let shards = (0..count).map(|n| (flat(&[vec![Some(&[n, n])]]), 1)).collect();
    Made { shard_type: "fb", compression: "", attributes: ATTRIBUTES, shards }.root()
}

/// Replaces the list of `train`, with the checksum that goes with it.
fn relist(root: &MemoryRoot, at: &str, text: String, examples: u64, shards: usize) {
    let sum = sha256(text.as_bytes());
    put(root, at, text);
    let train = pointer(at, &sum, examples, shards);
    put(root, "dataset_info.json", document("fb", "", ATTRIBUTES, &train));
}

const ESCAPES: [&str; 10] = [
    "/etc/shards_list.json",
    "../shards_list.json",
    "train/../shards_list.json",
    "train/..",
    "C:/shards_list.json",
    "c:shards_list.json",
    "train\\\\shards_list.json",
    "\\\\\\\\host\\\\shards_list.json",
    "train/\\u0000/shards_list.json",
    "//shards_list.json",
];

#[test]
fn paths_that_lead_elsewhere_are_refused_before_a_file_is_touched() {
    for escape in ESCAPES {
        let root = made(1);
        put(
            &root,
            "dataset_info.json",
            document("fb", "", ATTRIBUTES, &pointer(escape, "00", 1, 1)),
        );
        let counting = Arc::new(CountingRoot::new(root));
        let error = kit::open(Arc::clone(&counting) as _).err().unwrap();
        assert_eq!((error.code(), error.kind()), (codes::PATH_ESCAPE, Kind::Denied), "{escape}");
        assert_eq!(counting.take(), [path("dataset_info.json")], "{escape}");

        let at = "train/shards_list.json";
        let child = pointer(escape, "00", 1, 1);
        let entry = shard_entry(escape, "00", 1);
        for text in [
            list(at, 1, &[], std::slice::from_ref(&child)),
            list(at, 1, std::slice::from_ref(&entry), &[]),
            list(escape, 0, &[], &[]),
        ] {
            let root = made(1);
            relist(&root, at, text.clone(), 1, 1);
            let counting = Arc::new(CountingRoot::new(root));
            let error = kit::read(Arc::clone(&counting) as _).unwrap_err();
            assert_eq!(error.code(), codes::PATH_ESCAPE, "{text}");
            assert_eq!(counting.take(), [path("dataset_info.json"), path(at)], "{text}");
            assert_eq!(kit::verdict(counting), kit::error(codes::PATH_ESCAPE), "{text}");
        }
    }
}

#[test]
fn dots_and_doubled_slashes_are_normalised() {
    let root = made(2);
    let sum = sha256(&root.read(&path("train/1.fb")).unwrap());
    let text =
        list("./train//shards_list.json", 1, &[shard_entry("./train/.//1.fb", &sum, 1)], &[]);
    let sum = sha256(text.as_bytes());
    put(&root, "train/shards_list.json", text);
    let train = pointer("train/./shards_list.json", &sum, 1, 1);
    put(&root, "dataset_info.json", document("fb", "", ATTRIBUTES, &train));
    assert_eq!(kit::read(Arc::new(root)).unwrap(), [[vec![1, 1]]]);
}

#[test]
fn a_pointer_ends_in_shards_list_json() {
    for at in ["train/list.json", "train", "train/shards_list.json/x", "train/Shards_list.json"] {
        let root = made(1);
        put(&root, "dataset_info.json", document("fb", "", ATTRIBUTES, &pointer(at, "00", 1, 1)));
        let error = kit::open(Arc::new(root)).err().unwrap();
        assert_eq!(error.code(), codes::SCHEMA_INVALID, "{at}");
    }
}

#[test]
fn a_list_elsewhere_says_so_with_a_warning() {
    let root = made(1);
    let sum = sha256(&root.read(&path("train/0.fb")).unwrap());
    let text = list("test/shards_list.json", 1, &[shard_entry("train/0.fb", &sum, 1)], &[]);
    relist(&root, "train/shards_list.json", text, 1, 1);
    assert_eq!(kit::read(Arc::new(root.clone())).unwrap(), [[vec![0, 0]]]);
    assert_eq!(kit::verdict(Arc::new(root)), kit::warning(codes::SCHEMA_INVALID));
}

#[test]
fn shards_far_from_their_list_in_any_alphabet_are_read() {
    let root = MemoryRoot::new();
    let names = ["Ω/ß.fb", "train/a b/ c .fb", "holdout.fb", "train/x.y.z"];
    let mut entries = Vec::new();
    for (n, name) in names.iter().enumerate() {
        let bytes = flat(&[vec![Some(&[n as u8, 9])]]);
        entries.push(shard_entry(name, &sha256(&bytes), 1));
        put(&root, name, bytes);
    }
    let at = "деревья/лист/shards_list.json";
    let text = list(at, 4, &entries, &[]);
    relist(&root, at, text, 4, 4);
    let rows = kit::read(Arc::new(root.clone())).unwrap();
    assert_eq!(rows, (0..4).map(|n| vec![vec![n, 9]]).collect::<Vec<_>>());
    assert_eq!(kit::verdict(Arc::new(root)), kit::clean());
}

#[test]
fn a_shard_of_two_files_is_hashed_whole_and_read_from_the_first() {
    let root = made(2);
    let sum = |file: &str| sha256(&root.read(&path(file)).unwrap());
    let two = |first: &str, second: &str| {
        format!(
            r#"{{"file_infos": [{{"file_path": "train/0.fb", "hash_checksums": ["{first}"]}},
                {{"file_path": "train/1.fb", "hash_checksums": ["{second}"]}}], "number_of_examples": 1}}"#
        )
    };
    let at = "train/shards_list.json";
    relist(&root, at, list(at, 1, &[two(&sum("train/0.fb"), &sum("train/1.fb"))], &[]), 1, 1);
    assert_eq!(kit::read(Arc::new(root.clone())).unwrap(), [[vec![0, 0]]]);
    assert_eq!(kit::verdict(Arc::new(root.clone())), kit::warning(codes::SURPLUS_FILE));
    relist(&root, at, list(at, 1, &[two(&sum("train/0.fb"), "00")], &[]), 1, 1);
    let found = kit::verdict(Arc::new(root.clone()));
    assert!(found.contains(&(Severity::Error, codes::HASH_MISMATCH)), "{found:?}");
    relist(
        &root,
        at,
        list(at, 1, &[r#"{"file_infos": [], "number_of_examples": 1}"#.to_owned()], &[]),
        1,
        1,
    );
    assert_eq!(kit::read(Arc::new(root)).unwrap_err().code(), codes::SCHEMA_INVALID);
}

fn copy(name: &str) -> tempfile::TempDir {
    let temp = tempfile::tempdir().unwrap();
    copy_folder(&golden_folder("sedpack").join(name).join("data"), &temp.path().join("data"));
    temp
}

fn local(folder: &Path) -> Arc<LocalRoot> {
    Arc::new(LocalRoot::open(folder).unwrap())
}

fn first_shard(folder: &Path) -> std::path::PathBuf {
    let mut open = vec![folder.join("train")];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|e| e == "fb") {
                return path;
            }
        }
    }
    panic!("no shard in {}", folder.display());
}

#[test]
fn links_that_leave_the_dataset_are_refused() {
    let temp = copy("fb_none");
    let data = temp.path().join("data");
    let shard = first_shard(&data);
    let outside = temp.path().join("outside.fb");
    std::fs::rename(&shard, &outside).unwrap();
    for target in [outside.clone(), Path::new("../../../../../outside.fb").to_owned()] {
        symlink(&target, &shard).unwrap();
        let error = kit::read(local(&data)).unwrap_err();
        assert_eq!((error.code(), error.kind()), (codes::PATH_ESCAPE, Kind::Denied), "{error}");
        assert_eq!(kit::verdict(local(&data)), kit::error(codes::PATH_ESCAPE));
        std::fs::remove_file(&shard).unwrap();
    }
    // A link that stays inside is as good as the file.
    std::fs::copy(&outside, data.join("real.fb")).unwrap();
    symlink("../../../../real.fb", &shard).unwrap();
    assert_eq!(kit::verdict(local(&data)), kit::clean());
    std::fs::remove_file(&shard).unwrap();
    // A link to itself, and a whole split elsewhere.
    symlink(shard.file_name().unwrap(), &shard).unwrap();
    assert_eq!(kit::read(local(&data)).unwrap_err().kind(), Kind::Denied);
    std::fs::rename(data.join("train"), temp.path().join("train")).unwrap();
    symlink("../train", data.join("train")).unwrap();
    assert_eq!(kit::read(local(&data)).unwrap_err().code(), codes::PATH_ESCAPE);
    assert_eq!(kit::verdict(local(&data)), kit::error(codes::PATH_ESCAPE));
}

#[test]
fn pipes_and_folders_in_place_of_files_are_errors_and_no_hang() {
    let temp = copy("fb_none");
    let data = temp.path().join("data");
    let shard = first_shard(&data);
    std::fs::remove_file(&shard).unwrap();
    std::fs::create_dir(&shard).unwrap();
    assert_eq!(kit::read(local(&data)).unwrap_err().code(), "io/not_a_file");
    std::fs::remove_dir(&shard).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&shard).status();
    if made.is_ok_and(|status| status.success()) {
        assert_eq!(kit::read(local(&data)).unwrap_err().code(), "io/not_a_file");
        assert_eq!(kit::verdict(local(&data)), kit::error("io/not_a_file"));
    }
}

#[test]
fn leftovers_and_unlisted_files_are_information_and_ignored_by_readers() {
    let temp = copy("fb_multi_split");
    let data = temp.path().join("data");
    let rows = kit::read(local(&data)).unwrap();
    let leftovers = [
        "update_1700000000_0123456789abcdef0123456789abcdef_of_dataset_info.json",
        "train/update_1700000000_0123456789abcdef0123456789abcdef_of_shards_list.json",
        "train/.packstone-0123456789abcdef.tmp",
        ".packstone-0123456789abcdef.tmp",
        "train/unlisted.fb",
        "holdout/notes.txt",
    ];
    for name in leftovers {
        std::fs::create_dir_all(data.join(name).parent().unwrap()).unwrap();
        std::fs::write(data.join(name), b"{ not json").unwrap();
    }
    assert_eq!(kit::read(local(&data)).unwrap(), rows);
    let found = kit::check(local(&data), &Default::default()).unwrap();
    let mut files: Vec<_> = found.iter().filter_map(|f| f.place.file.as_deref()).collect();
    files.sort_unstable();
    let mut due = leftovers;
    due.sort_unstable();
    assert_eq!(files, due);
    assert!(found.iter().all(|f| (f.severity, f.code) == (Severity::Info, codes::UNLISTED_FILE)));
}

#[test]
fn a_dataset_that_nobody_may_write_to_is_read_and_checked_without_a_trace() {
    let temp = copy("fb_tree_fillers");
    let data = temp.path().join("data");
    let mut folders = vec![data.clone()];
    let mut at = 0;
    while at < folders.len() {
        for entry in std::fs::read_dir(folders[at].clone()).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path)
            }
        }
        at += 1;
    }
    let mode = |bits| {
        for folder in &folders {
            std::fs::set_permissions(folder, std::fs::Permissions::from_mode(bits)).unwrap();
        }
    };
    mode(0o555);
    let before = Snapshot::of(temp.path());
    let read = kit::read(local(&data));
    let found = kit::verdict(local(&data));
    let after = Snapshot::of(temp.path());
    mode(0o755);
    assert!(!read.unwrap().is_empty());
    assert_eq!((found, after), (kit::clean(), before));
}
