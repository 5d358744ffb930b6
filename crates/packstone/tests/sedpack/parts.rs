//! Workers and their coordinator: what is returned, what is refused, who wins.

use std::sync::Arc;
use std::time::Duration;

use packstone::format::{Format, MergeOptions, PartSource, RepairOptions};
use packstone::formats::sedpack::document::DatasetInfo;
use packstone::formats::sedpack::options::{FillerOptions, Structure};
use packstone::formats::sedpack::parts::list::ListPointer;
use packstone::formats::sedpack::parts::merge::updates_json;
use packstone::formats::sedpack::parts::publish::{PATIENCE, Update, publish};
use packstone::formats::sedpack::writer::{Filler, create};
use packstone::formats::sedpack::{Sedpack, codes};
use packstone::json::{self, Object, Style};
use packstone::model::{Batch, Column, DType, Field, Schema};
use packstone::{Error, Kind, Limits, LocalRoot, MemoryRoot, RelPath, Root, RootMut};
use packstone_io::Buf;

use crate::kit::{self, list, path, pointer, put, sha256, shard_entry};

fn schema() -> Arc<Schema> {
    Arc::new(Schema::new(vec![Field::new("x", DType::UInt8, [])]))
}

fn dataset(root: &dyn RootMut) {
    let mut structure = Structure::default();
    structure.examples_per_shard = 2;
    create(root, schema(), &structure, &Object::new()).unwrap();
}

fn made() -> MemoryRoot {
    let root = MemoryRoot::new();
    dataset(&root);
    root
}

fn batch(values: &[u8]) -> Batch {
    let column = Column::dense(Buf::from(values.to_vec()), 1, values.len()).unwrap();
    Batch::new(schema(), values.len(), vec![column]).unwrap()
}

fn filler(root: Arc<dyn RootMut>, relative: &str, values: &[u8]) -> Filler {
    let mut filler = Filler::open(root, &path(relative), FillerOptions::default()).unwrap();
    filler.write("train", &batch(values)).unwrap();
    filler
}

fn merge(root: &MemoryRoot, label: &str, text: &str) -> Result<(), Error> {
    let part = PartSource::Document { label: label.to_owned(), bytes: text.into() };
    let options = MergeOptions { parts: vec![part], ..MergeOptions::default() };
    Sedpack.merge(Arc::new(root.clone()), &options).map(|_| ())
}

fn values(root: &MemoryRoot) -> Vec<u8> {
    kit::read(Arc::new(root.clone())).unwrap().into_iter().map(|row| row[0][0]).collect()
}

fn infos(updates: &[ListPointer]) -> String {
    json::write(&updates_json(updates), &Style::COMPACT)
}

#[test]
fn a_worker_touches_nothing_that_others_share_and_returns_its_lists_as_json() {
    let root = made();
    filler(Arc::new(root.clone()), "", &[1, 2, 3]).finish().unwrap();
    let shared = ["dataset_info.json", "train/shards_list.json"].map(path);
    let before = shared.clone().map(|file| root.read(&file).unwrap());
    let (written, updates) =
        filler(Arc::new(root.clone()), "job/w", &[4, 5, 6, 7, 8]).finish().unwrap();
    assert_eq!((written.samples, written.shards), (5, 3));
    assert_eq!(shared.map(|file| root.read(&file).unwrap()), before);
    assert_eq!(values(&root), [1, 2, 3]);
    let files: Vec<_> = updates.iter().map(|u| u.file.path.as_str()).collect();
    assert_eq!(files, ["train/job/w/shards_list.json"]);
    assert_eq!((updates[0].examples, updates[0].shards), (5, 3));
    let text = infos(&updates);
    assert!(
        text.starts_with(r#"[{"shard_list_info_file":{"file_path":"train/job/w/shards_list.json""#)
    );
    merge(&root, "infos", &text).unwrap();
    assert_eq!(values(&root), [1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(kit::verdict(Arc::new(root)), kit::clean());
}

#[test]
fn lists_have_a_list_in_every_folder_and_children_in_immediate_ones() {
    let root = made();
    filler(Arc::new(root.clone()), "job/w", &[1, 2, 3]).finish_part("job/w").unwrap();
    Sedpack.merge(Arc::new(root.clone()), &MergeOptions::default()).unwrap();
    let mut lists = 0;
    for (file, bytes) in root.files() {
        let folder = file.parent().unwrap();
        if file.name() == "shards_list.json" {
            let text = String::from_utf8(bytes.to_vec()).unwrap();
            assert!(text.contains(&format!(r#""relative_path_self": "{file}""#)), "{text}");
            let value = json::read(text.as_bytes(), &Default::default()).unwrap().value;
            let children = value.get("children_shard_lists").and_then(|c| c.as_array());
            for child in children.unwrap_or_default() {
                let at = child.get("shard_list_info_file").unwrap().get("file_path").unwrap();
                let child = path(at.as_str().unwrap()).parent().unwrap();
                assert_eq!(child.parent(), Some(folder.clone()));
            }
            lists += 1;
        } else if file.name().ends_with(".fb") {
            let mut here = folder;
            while !here.is_root() {
                assert!(root.read(&here.join("shards_list.json").unwrap()).is_ok(), "{here}");
                here = here.parent().unwrap();
            }
        }
    }
    // train, job, w and three generated levels.
    assert_eq!(lists, 6);
}

#[test]
fn splits_stand_in_the_order_of_their_first_merge() {
    use packstone::format::Dataset;
    let root = made();
    for split in ["test", "train", "holdout", "test"] {
        let options = FillerOptions::default();
        let mut filler = Filler::open(Arc::new(root.clone()), &RelPath::root(), options).unwrap();
        filler.write(split, &batch(&[1])).unwrap();
        filler.finish().unwrap();
    }
    let dataset = kit::open(Arc::new(root)).unwrap();
    assert_eq!(dataset.collections(), ["test", "train", "holdout"]);
    for (name, pointer) in &dataset.document().splits {
        assert_eq!(pointer.file.path, path(&format!("{name}/shards_list.json")));
    }
}

#[test]
fn parts_that_lie_are_refused_and_change_nothing() {
    let root = made();
    filler(Arc::new(root.clone()), "", &[1]).finish().unwrap();
    let (_, good) = filler(Arc::new(root.clone()), "w", &[2, 3]).finish().unwrap();
    let good = infos(&good);
    let w = "train/w/shards_list.json";
    let with = |file: &str| format!("[{}]", pointer(file, "00", 2, 1));
    let part = |version: &str, structure: &str| {
        format!(
            r#"{{"packstone_part": {version}, "name": "w", "structure": {structure}, "updates": {good}}}"#
        )
    };
    let deep = format!("train/{}shards_list.json", "a/".repeat(50_000));
    let before = root.files();
    for (text, code) in [
        ("{ no json".to_owned(), codes::JSON_INVALID),
        ("7".to_owned(), codes::SCHEMA_INVALID),
        ("{}".to_owned(), codes::SCHEMA_INVALID),
        ("[7]".to_owned(), codes::SCHEMA_INVALID),
        (part("2", "{}"), codes::PARTS_INVALID),
        (part("1", r#"{"compression": "LZ4"}"#), codes::PARTS_INVALID),
        (with("../x/shards_list.json"), codes::PATH_ESCAPE),
        (with("/x/shards_list.json"), codes::PATH_ESCAPE),
        (with("validation/w/shards_list.json"), codes::UNKNOWN_SPLIT),
        (with("shards_list.json"), codes::UNKNOWN_SPLIT),
        (with("train/none/shards_list.json"), codes::MISSING_FILE),
        (with("train/w/x.json"), codes::SCHEMA_INVALID),
        (format!("[{0},{0}]", pointer(w, "00", 2, 1)), codes::PARTS_INVALID),
        (with(&deep), codes::PARTS_INVALID),
    ] {
        let shown = text.get(..60).unwrap_or(&text);
        let error = merge(&root, "part", &text).unwrap_err();
        assert_eq!(error.code(), code, "{shown}: {error:.200}");
        assert_eq!(root.files(), before, "{shown}");
    }
    merge(&root, "part", &good).unwrap();
    assert_eq!(values(&root), [1, 2, 3]);
}

#[test]
fn a_part_is_merged_as_it_was_finished_or_not_at_all() {
    let broken = |damage: &dyn Fn(&MemoryRoot, &RelPath)| {
        let root = made();
        let (_, updates) = filler(Arc::new(root.clone()), "w", &[2, 3, 4]).finish().unwrap();
        let is_shard = |file: &RelPath| file.name().ends_with(".fb");
        let shard = root.files().into_iter().map(|(p, _)| p).find(is_shard).unwrap();
        damage(&root, &shard);
        let before = root.files();
        let error = merge(&root, "part", &infos(&updates)).unwrap_err();
        assert_eq!(root.files(), before, "{error}");
        error.code()
    };
    let gone = broken(&|root, shard| root.remove(shard).unwrap());
    assert_eq!(gone, codes::MISSING_FILE);
    let changed = broken(&|root, shard| {
        let list = shard.parent().unwrap().join("shards_list.json").unwrap();
        let text = root.read(&list).unwrap();
        put(root, list.as_str(), [&text[..], b"\n"].concat());
    });
    assert_eq!(changed, codes::HASH_MISMATCH);
}

#[test]
fn a_part_of_endless_lists_is_refused_without_harm() {
    let root = made();
    let depth = 30_000;
    let name = |n: usize| format!("train/w/{n}/shards_list.json");
    let mut sum = String::new();
    for n in (0..=depth).rev() {
        let below = if n == depth { Vec::new() } else { vec![pointer(&name(n + 1), &sum, 0, 0)] };
        let text = list(&name(n), 0, &[], &below);
        sum = sha256(text.as_bytes());
        put(&root, &name(n), text);
    }
    let own = "train/w/shards_list.json";
    put(&root, own, list(own, 0, &[], &[pointer(&name(0), &sum, 0, 0)]));
    let error = merge(&root, "part", &format!("[{}]", pointer(own, "", 0, 0))).unwrap_err();
    assert_eq!(error.code(), codes::METADATA_CYCLE);
}

#[test]
fn worker_paths_that_no_reader_would_follow_are_refused() {
    let root: Arc<dyn RootMut> = Arc::new(made());
    let deep = vec!["a"; 100].join("/");
    for name in ["../a", "a/../b", "/a", "", ".", "a\\b", "C:/a", "a\0", deep.as_str()] {
        let error = Sedpack.part(Arc::clone(&root), name).err();
        let code = error.map(|e| e.code()).unwrap_or_else(|| panic!("{name:?} was taken"));
        assert!([codes::PATH_ESCAPE, codes::PARTS_INVALID].contains(&code), "{name:?}: {code}");
    }
    let relative = path(&deep);
    assert!(Filler::open(root, &relative, FillerOptions::default()).is_err());
}

#[test]
fn two_living_workers_of_one_path_do_not_both_become_its_part() {
    let root = made();
    let first = filler(Arc::new(root.clone()), "w", &[1]);
    let second = filler(Arc::new(root.clone()), "w", &[2]);
    first.finish_part("w").unwrap();
    let error = second.finish_part("w").unwrap_err();
    assert_eq!((error.code(), error.kind()), (codes::PARTS_INVALID, Kind::Exists));
    Sedpack.merge(Arc::new(root.clone()), &MergeOptions::default()).unwrap();
    assert_eq!(values(&root), [1]);
}

#[test]
fn a_root_that_changes_under_a_writer_is_a_conflict_and_no_loss() {
    let root = made();
    filler(Arc::new(root.clone()), "", &[1]).finish().unwrap();
    let mutable: Arc<dyn RootMut> = Arc::new(root.clone());
    // A writer of another program, which knows no lock, replaces the root at the worst moment.
    let foreign = |_: &mut DatasetInfo| {
        let text = root.read(&path("dataset_info.json")).unwrap();
        put(&root, "dataset_info.json", [&text[..], b"\n"].concat());
        Ok(())
    };
    let error = publish(&mutable, Vec::new(), PATIENCE, &Limits::default(), foreign).unwrap_err();
    assert_eq!((error.code(), error.kind()), (codes::ROOT_CHANGED, Kind::Conflict));
    assert!(root.read(&path("dataset_info.json")).unwrap().ends_with(b"\n"));
    // Other attributes than those that the filler has written for.
    let late = filler(Arc::new(root.clone()), "", &[2]);
    let text = root.read(&path("dataset_info.json")).unwrap();
    let text = String::from_utf8(text.to_vec()).unwrap();
    put(&root, "dataset_info.json", text.replace(r#""dtype": "uint8""#, r#""dtype": "int8""#));
    let error = late.finish().unwrap_err();
    assert_eq!((error.code(), error.kind()), (codes::ROOT_CHANGED, Kind::Conflict));
    assert_eq!(values(&root), [1]);
}

#[test]
fn a_lock_that_somebody_holds_ends_in_a_conflict_and_a_dead_ones_in_nothing() {
    let temp = tempfile::tempdir().unwrap();
    let root: Arc<dyn RootMut> = Arc::new(LocalRoot::open(temp.path()).unwrap());
    dataset(root.as_ref());
    let other = LocalRoot::open(temp.path()).unwrap();
    let held = other.lock(Duration::from_secs(1)).unwrap();
    let mut patience = FillerOptions::default();
    patience.patience = Duration::from_millis(50);
    let write = |options: &FillerOptions| {
        let mut filler =
            Filler::open(Arc::clone(&root), &RelPath::root(), options.clone()).unwrap();
        filler.write("train", &batch(&[1])).unwrap();
        filler.finish()
    };
    assert_eq!(write(&patience).unwrap_err().kind(), Kind::Conflict);
    drop(held);
    write(&patience).unwrap();
    // What the refused one had stored is not lost.
    let report = Sedpack.repair(Arc::clone(&root), &RepairOptions::default()).unwrap();
    assert_eq!(report.salvaged.len(), 1);
    assert_eq!(kit::read(Arc::clone(&root) as _).unwrap().len(), 2);
    assert_eq!(kit::verdict(root), kit::clean());
}

#[test]
fn repair_removes_files_in_the_making_everywhere() {
    let root = made();
    filler(Arc::new(root.clone()), "", &[1]).finish().unwrap();
    let leftovers = [
        ".packstone-0123456789abcdef.tmp",
        "train/.packstone-0123456789abcdef.tmp",
        "update_1700000000_00ff_of_dataset_info.json",
        "train/update_1700000000_00ff_of_shards_list.json",
    ];
    leftovers.iter().for_each(|name| put(&root, name, "half"));
    put(&root, "update_notes.txt", "mine");
    let dry = RepairOptions { dry_run: true, ..RepairOptions::default() };
    let before = root.files();
    let mut planned = Sedpack.repair(Arc::new(root.clone()), &dry).unwrap().removed;
    assert_eq!(root.files(), before);
    let mut report = Sedpack.repair(Arc::new(root.clone()), &RepairOptions::default()).unwrap();
    report.removed.sort();
    planned.sort();
    let mut due = leftovers;
    due.sort_unstable();
    assert_eq!(
        (report.removed, planned),
        (due.map(String::from).to_vec(), due.map(String::from).to_vec())
    );
    assert!(root.read(&path("update_notes.txt")).is_ok());
    assert_eq!(kit::check(Arc::new(root), &Default::default()).unwrap(), []);
}

#[test]
fn salvage_of_a_hostile_leftover_is_no_more_than_a_finding() {
    let root = made();
    filler(Arc::new(root.clone()), "", &[1]).finish().unwrap();
    let deep = format!("train/{}x.fb", "a/".repeat(3000));
    put(&root, "train/garbage.fb", "garbage");
    put(
        &root,
        "train/.packstone-00.journal",
        "{\"shard\": {\"file_infos\": [{\"file_path\": \"../x\"}]}}\n",
    );
    put(&root, ".packstone-00.journal", "{\"shard\": 7}\n{\"cut");
    put(
        &root,
        "train/z/shards_list.json",
        list("train/z/shards_list.json", 1, &[shard_entry("../x", "", 1)], &[]),
    );
    let shard =
        root.files().into_iter().find(|(p, _)| p.name().ends_with(".fb") && p.name().len() > 30);
    put(&root, &deep, shard.unwrap().1.to_vec());
    let report = Sedpack.repair(Arc::new(root.clone()), &RepairOptions::default()).unwrap();
    assert_eq!(report.left.len(), 2, "{:.300?}", report.left);
    assert_eq!(values(&root), [1]);
    let updates = vec![Update::List(path("train/garbage/shards_list.json"))];
    let mutable: Arc<dyn RootMut> = Arc::new(root);
    let error = publish(&mutable, updates, PATIENCE, &Limits::default(), |_| Ok(())).unwrap_err();
    assert_eq!(error.code(), codes::MISSING_FILE);
}
