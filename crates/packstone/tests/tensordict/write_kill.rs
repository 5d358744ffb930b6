//! Writers that work at once, stream, are killed, or find the disk full.
//!
//! The processes are this test program itself, started again with a folder in its environment.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use packstone::format::{Format, Plan, RepairOptions};
use packstone::formats::tensordict::TensorDict;
use packstone::formats::tensordict::options::SaveOptions;
use packstone::formats::tensordict::parts::append::append;
use packstone::formats::tensordict::parts::edit::LeafEdit;
use packstone::formats::tensordict::parts::node::Node;
use packstone::formats::tensordict::parts::preallocate::{preallocate, room};
use packstone::formats::tensordict::parts::save::save;
use packstone::model::{Batch, Column, DType, Field, Key, Schema, Severity};
use packstone::{Error, Kind, Limits, LocalRoot, RelPath, Root, RootMut, site};
use packstone_io::Buf;

use crate::kit::{load, verdict};
use crate::write_kit::{content, dict, files_of, grown, leaf_of, local, path};

/// What a started process is to do, and where.
const JOB: &str = "PACKSTONE_TEST_TENSORDICT_JOB";

const FOLDER: &str = "PACKSTONE_TEST_TENSORDICT_FOLDER";

/// Rows of a preallocated leaf, and bytes of each.
const ROWS: u64 = 64;

const WIDTH: u64 = 4096;

const PROCESSES: u64 = 4;

#[test]
fn works_as_it_is_told() {
    let Ok(job) = std::env::var(JOB) else { return };
    let folder = PathBuf::from(std::env::var_os(FOLDER).unwrap());
    match job.split_once(' ').unwrap() {
        ("fill", number) => fill(&folder, number.parse().unwrap()),
        ("append", _) => loop {
            let root: Arc<dyn RootMut> = Arc::new(LocalRoot::open(&folder).unwrap());
            append(&root, &[], &grown(5), &Limits::default()).unwrap();
        },
        ("save", _) => {
            for n in 0.. {
                let root: Arc<dyn RootMut> = Arc::new(LocalRoot::open(&folder).unwrap());
                let options = SaveOptions::default().with_replace(true);
                save(&root, &path("x"), &numbered(n), &options).unwrap();
            }
        }
        ("stream", name) => stream(&folder, name),
        ("write", _) => {
            let root = site::target(&folder.join("out"), &TensorDict).unwrap();
            let schema = Arc::new(Schema::new(vec![Field::new("x", DType::UInt8, [1000])]));
            let plan = Plan {
                schema: Arc::clone(&schema),
                collections: vec![("train".to_owned(), None)],
                ..Plan::default()
            };
            let mut writer = TensorDict.create(root, &plan, &Default::default()).unwrap();
            loop {
                let column = Column::dense(Buf::from(vec![7; 1_000_000]), 1000, 1000).unwrap();
                let batch = Batch::new(Arc::clone(&schema), 1000, vec![column]).unwrap();
                if let Err(error) = writer.write("train", &batch) {
                    drop(writer);
                    eprintln!("failed: {error}");
                    std::process::exit(77);
                }
            }
        }
        other => panic!("{other:?}"),
    }
}

/// Memory of this process that no file stands behind, in bytes.
fn memory_in_use() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("RssAnon:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
}

/// Writes far more than it may keep, and ends with 78 where it keeps more.
fn stream(folder: &Path, name: &str) {
    let root = site::target(&folder.join(name), &TensorDict).unwrap();
    let fields = vec![
        Field::new("x", DType::UInt8, [1 << 16]),
        Field::varying(Key::new("v"), DType::UInt8, 1),
        Field::new("t", DType::Str, []),
    ];
    let schema = Arc::new(Schema::new(fields));
    let collections = vec![("train".to_owned(), None)];
    let plan = Plan { schema: Arc::clone(&schema), collections, ..Plan::default() };
    let mut writer = TensorDict.create(root, &plan, &Default::default()).unwrap();
    let start = memory_in_use();
    for turn in 0..200 {
        let dense = Column::dense(Buf::from(vec![turn; 16 << 16]), 1 << 16, 16).unwrap();
        let ragged =
            Column::ragged(Buf::from(vec![turn; 16 << 14]), (1..=16).map(|n| n << 14).collect());
        let ragged = ragged.unwrap().with_shapes(1, vec![1 << 14; 16]).unwrap();
        let text =
            Column::ragged(Buf::from(vec![b'x'; 16 << 12]), (1..=16).map(|n| n << 12).collect());
        let batch =
            Batch::new(Arc::clone(&schema), 16, vec![dense, ragged, text.unwrap()]).unwrap();
        writer.write("train", &batch).unwrap();
        if memory_in_use() > start + (24 << 20) {
            std::process::exit(78);
        }
    }
    writer.finish().unwrap();
}

#[test]
fn memory_is_bounded_by_the_fields_and_not_by_the_samples() {
    let temp = tempfile::tempdir().unwrap();
    for name in ["x", "x.tdz"] {
        let ended = start(&format!("stream {name}"), temp.path()).wait().unwrap();
        assert!(ended.success(), "{name}: {ended}");
        let dataset = packstone::open(temp.path().join(name)).unwrap();
        let train = dataset.collection("train").unwrap();
        assert_eq!(train.len(), 3200);
        let last =
            packstone::ops::gather(train.as_ref(), &[3199], None, &mut Default::default()).unwrap();
        let sample = last.sample(0).unwrap();
        assert!(sample.get("x").unwrap().bytes.iter().all(|byte| *byte == 199), "{name}");
        assert_eq!(sample.get("v").unwrap().shape, [1 << 14]);
        assert_eq!(sample.get("t").unwrap().bytes.len(), 1 << 12);
    }
}

fn start(job: &str, folder: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "write_kill::works_as_it_is_told", "--nocapture"])
        .env(JOB, job)
        .env(FOLDER, folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn row(n: u64) -> Vec<u8> {
    (0..WIDTH).map(|i| (n * 31 + i) as u8).collect()
}

/// Fills every fourth row of what was preallocated: rows of different processes are neighbours.
fn fill(folder: &Path, number: u64) {
    for (file, key) in [("x", "folder"), ("x.tdz", "archive")] {
        let root = site::root(&folder.join(file)).unwrap();
        let edit = LeafEdit::open(&root, &["n", key], &Limits::default()).unwrap();
        for n in (number..ROWS).step_by(PROCESSES as usize) {
            edit.write_rows(n, &row(n)).unwrap();
        }
        edit.finish().unwrap();
    }
}

#[test]
fn processes_fill_what_was_preallocated_at_once() {
    let temp = tempfile::tempdir().unwrap();
    for (file, key) in [("x", "folder"), ("x.tdz", "archive")] {
        let fields = vec![
            Field::at(Key::nested(vec!["n".to_owned(), key.to_owned()]), DType::UInt8, [WIDTH]),
            Field::new("count", DType::Int64, []),
        ];
        let tree = Node::TensorDict(room(&Schema::new(fields), ROWS).unwrap());
        let root = match file {
            "x" => Arc::new(LocalRoot::open(temp.path()).unwrap()) as Arc<dyn RootMut>,
            _ => site::target(&temp.path().join(file), &TensorDict).unwrap(),
        };
        preallocate(&root, &path(file), &tree, &SaveOptions::default()).unwrap();
        // Nothing but zeros, and of exactly its size.
        let place = temp.path().join(file);
        let found = verdict(site::root(&place).unwrap());
        assert!(found.iter().all(|f| f.severity == Severity::Info), "{found:?}");
    }
    let children: Vec<Child> =
        (0..PROCESSES).map(|n| start(&format!("fill {n}"), temp.path())).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let want: Vec<u8> = (0..ROWS).flat_map(row).collect();
    for (file, key) in [("x", "folder"), ("x.tdz", "archive")] {
        let root: Arc<dyn Root> = site::root(&temp.path().join(file)).unwrap();
        // Every checksum is right once all have finished.
        assert!(verdict(Arc::clone(&root)).is_empty());
        let opened = packstone::formats::tensordict::reader::TensorDictDataset::open(
            root,
            &Default::default(),
        );
        let dataset = opened.unwrap();
        let Node::TensorDict(tree) = &dataset.tree().root else { unreachable!() };
        let Some(Node::TensorDict(inner)) = tree.get("n") else { unreachable!() };
        let Some(Node::Leaf(leaf)) = inner.get(key) else { unreachable!() };
        assert_eq!(&leaf.data.open().unwrap()[..], want, "{file}");
    }
}

/// A tree whose every file says the same number.
fn numbered(n: u64) -> Node {
    let mine = |rows: u64| leaf_of(DType::UInt64, &[rows], n.to_le_bytes().repeat(rows as usize));
    // Now longer, now shorter.
    let rows = 1 + n % 3;
    dict(&[rows], vec![("a", mine(rows)), ("sub", dict(&[rows], vec![("b", mine(rows))]))])
}

fn moments() -> impl Iterator<Item = Duration> {
    (0..12u64).map(|n| Duration::from_millis(40 + n * n * 37 % 160))
}

#[test]
fn a_save_that_is_killed_leaves_one_whole_tree() {
    let begin = Instant::now();
    let (temp, root) = local();
    save(&root, &path("x"), &numbered(0), &SaveOptions::default()).unwrap();
    for moment in moments() {
        let mut child = start("save -", temp.path());
        std::thread::sleep(moment);
        child.kill().unwrap();
        child.wait().unwrap();
        let files = content(&temp.path().join("x"));
        let found = u64::from_le_bytes(files["a.memmap"][..8].try_into().unwrap());
        assert_eq!(files, files_of(&numbered(found)), "after {moment:?}");
        // Whatever else is there is hidden.
        let others = std::fs::read_dir(temp.path()).unwrap().map(|e| e.unwrap().file_name());
        let others = others.filter(|name| name != "x").collect::<Vec<_>>();
        assert!(
            others.iter().all(|name| name.to_str().unwrap().starts_with(".packstone-")),
            "{others:?}"
        );
    }
    assert!(begin.elapsed() < Duration::from_secs(60));
}

#[test]
fn an_append_that_is_killed_leaves_whole_rows() {
    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path().join("x");
    let root = site::target(&folder, &TensorDict).unwrap();
    save(&root, &RelPath::root(), &grown(1), &SaveOptions::default()).unwrap();
    let mut before = 1;
    let mut advanced = 0;
    for moment in moments() {
        let mut child = start("append -", &folder);
        std::thread::sleep(moment);
        child.kill().unwrap();
        child.wait().unwrap();
        // A kill between two renames leaves documents that differ; everything else reads at once.
        TensorDict.repair(Arc::clone(&root), &RepairOptions::default()).unwrap();
        let found = verdict(Arc::clone(&root) as _);
        assert!(found.iter().all(|f| f.severity == Severity::Info), "after {moment:?}: {found:?}");
        let tree = load(Arc::clone(&root) as _).unwrap();
        let rows = tree.root.batch_size()[0] as usize;
        assert!(
            rows >= before && (rows - before).is_multiple_of(5),
            "after {moment:?}: {before} {rows}"
        );
        advanced += usize::from(rows > before);
        before = rows;
    }
    assert!(advanced > 4, "{advanced}");
    // What is behind the last row goes with the next append.
    append(&root, &[], &grown(1), &Limits::default()).unwrap();
    assert_eq!(content(&folder), files_of(&grown(before + 1)));
}

#[test]
fn a_writer_that_is_killed_or_finds_the_disk_full_leaves_no_dataset() {
    let temp = tempfile::tempdir().unwrap();
    let mut child = start("write -", temp.path());
    let file = temp.path().join("out/train/x.memmap");
    while std::fs::metadata(&file).map_or(true, |meta| meta.len() < 5_000_000) {
        assert!(child.try_wait().unwrap().is_none(), "the writer ended by itself");
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let root = LocalRoot::open(temp.path().join("out")).unwrap();
    assert!(!TensorDict.recognizes(&root).unwrap());
    // A file that may not grow any further fails as on a full disk.
    let temp = tempfile::tempdir().unwrap();
    let program = std::env::current_exe().unwrap();
    let script = "ulimit -f 4096; trap '' XFSZ; exec \"$0\" --exact write_kill::works_as_it_is_told --nocapture";
    let ended = Command::new("sh")
        .args(["-c", script])
        .arg(program)
        .env(JOB, "write -")
        .env(FOLDER, temp.path())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(77), "{told}");
    assert!(told.contains("failed: train/x.memmap") && told.contains("[io/fault]"), "{told}");
    assert_eq!(std::fs::read_dir(temp.path().join("out")).unwrap().count(), 0, "all is taken back");
}

#[test]
fn leftovers_of_killed_writers_are_removed() {
    let (temp, root) = local();
    save(&root, &path("x"), &grown(1), &SaveOptions::default()).unwrap();
    let x = temp.path().join("x");
    let want = content(&x);
    std::fs::create_dir_all(x.join("sub/.packstone-0123456789abcdef.tmp/deep")).unwrap();
    std::fs::write(x.join(".packstone-0123456789abcdef.tmp"), b"half").unwrap();
    std::fs::write(x.join("sub/.packstone-0123456789abcdef.tmp/deep/f"), b"half").unwrap();
    let root = site::root(&x).unwrap();
    let report = TensorDict.repair(Arc::clone(&root), &RepairOptions::default()).unwrap();
    assert_eq!(report.removed.len(), 2);
    assert_eq!(content(&x), want);
    // Not while somebody is at work.
    let _held = root.lock(Duration::from_secs(10)).unwrap();
    let error: Error = TensorDict.repair(root.clone(), &RepairOptions::default()).unwrap_err();
    assert_eq!(error.kind(), Kind::Conflict);
}
