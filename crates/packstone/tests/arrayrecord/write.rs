//! New files: the original's bytes, whole or not at all, and what other fields become.

use std::sync::Arc;

use packstone::format::{Format, Plan, Writer};
use packstone::formats::arrayrecord::ArrayRecord;
use packstone::json::Object;
use packstone::model::{Batch, Column, DType, Field, Key, Schema};
use packstone::{Error, Kind, LocalRoot, MemoryRoot, RelPath, Root, RootMut};
use packstone_io::{Buf, FaultyRoot, SoleFile};
use packstone_testkit::Snapshot;

use super::files::Golden;
use super::kit::{bytes, check, empty, open, records};

fn plain() -> Arc<Schema> {
    Arc::new(Schema::new(vec![Field::new("record", DType::Bytes, [])]))
}

fn batch(records: &[Buf]) -> Batch {
    let all = records.iter().flat_map(|record| record.iter().copied()).collect::<Vec<u8>>();
    let mut end = 0;
    let ends = records.iter().map(|record| {
        end += record.len();
        end
    });
    let column = Column::ragged(Buf::from(all), ends.collect()).unwrap();
    Batch::new(plain(), records.len(), vec![column]).unwrap()
}

fn create(root: &Arc<dyn RootMut>, plan: &Plan, options: &str) -> Result<Box<dyn Writer>, Error> {
    let options = Object::from_iter([("writer_options", options)]);
    ArrayRecord.create(Arc::clone(root), plan, &options)
}

fn plan(schema: Arc<Schema>) -> Plan {
    let collections = vec![("records".to_owned(), None)];
    Plan { schema, collections, ..Plan::default() }
}

#[test]
fn files_are_those_of_the_original() {
    let mut same = 0;
    for golden in Golden::all() {
        let options = golden.text("options");
        if options.contains("transpose") {
            continue;
        }
        let root = empty();
        let mut writer = create(&root, &plan(plain()), options).unwrap();
        let expected = golden.records();
        // In batches that have nothing to do with groups.
        for part in expected.chunks(5) {
            writer.write("records", &batch(part)).unwrap();
        }
        let written = writer.finish().unwrap();
        assert_eq!((written.samples, written.shards), (expected.len() as u64, 1));
        let file = bytes(root.as_ref());
        assert_eq!(written.bytes, file.len() as u64);
        assert_eq!(check(&file, false), [], "{}", golden.name);
        let found = records(open(&file).unwrap().as_ref(), "records").unwrap();
        assert!(found.iter().map(Vec::as_slice).eq(expected.iter().map(|r| &r[..])));
        let uncompressed = options.contains("uncompressed");
        assert!(!uncompressed || file == golden.bytes, "{}", golden.name);
        same += usize::from(file == golden.bytes);
    }
    assert!(same >= 8, "only {same} files are the original's");
}

#[test]
fn nothing_is_there_before_the_end_and_nothing_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let target = || packstone::site::target(&folder.path().join("x.arrayrecord"), &ArrayRecord);
    let records = [Buf::copy_from(b"one")];
    let before = Snapshot::of(folder.path());
    let mut dropped = create(&target().unwrap(), &plan(plain()), "").unwrap();
    dropped.write("records", &batch(&records)).unwrap();
    drop(dropped);
    assert_eq!(Snapshot::of(folder.path()), before);
    let root = target().unwrap();
    let mut writer = create(&root, &plan(plain()), "").unwrap();
    writer.write("records", &batch(&records)).unwrap();
    // Somebody else was faster.
    std::fs::write(folder.path().join("x.arrayrecord"), b"mine").unwrap();
    assert_eq!(writer.finish().unwrap_err().kind(), Kind::Exists);
    assert_eq!(std::fs::read(folder.path().join("x.arrayrecord")).unwrap(), b"mine");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    let local = LocalRoot::open(folder.path()).unwrap();
    let refused = create(&(Arc::new(local) as Arc<dyn RootMut>), &plan(plain()), "").err().unwrap();
    assert_eq!(refused.code(), "arrayrecord/not_a_file");
}

#[test]
fn a_full_disk_leaves_no_file_or_a_whole_one() {
    let records = [Buf::from(vec![7u8; 300_000]), Buf::copy_from(b"one")];
    for good in 0.. {
        let folder = MemoryRoot::new();
        let file = RelPath::new("x.arrayrecord").unwrap();
        let root = FaultyRoot::new(SoleFile::new(folder.clone(), file.clone(), "x"), good);
        let root: Arc<FaultyRoot<_>> = Arc::new(root);
        let write = || {
            let root: Arc<dyn RootMut> = root.clone();
            let mut writer = create(&root, &plan(plain()), "uncompressed")?;
            writer.write("records", &batch(&records))?;
            // What failed stays failed.
            writer.finish()
        };
        let done = write();
        let there = folder.read(&file);
        if let Ok(bytes) = &there {
            assert_eq!(check(bytes, false), [], "after {good} operations");
        }
        if done.is_ok() {
            assert!(there.is_ok() && good > 3, "{good} operations are enough");
            break;
        }
        assert!(root.failed() && good < 100, "after {good} operations: {done:?}");
    }
}

#[test]
fn what_no_record_can_be_is_refused_before_anything_is_written() {
    let schema = |fields| Arc::new(Schema::new(fields));
    let nested = Key::nested(vec!["a".to_owned(), "b".to_owned()]);
    for fields in [
        vec![],
        vec![Field::at(nested, DType::Bytes, [])],
        vec![Field::varying(Key::new("x"), DType::Float32, 1)],
        vec![Field::new("n", DType::Int, [])],
        vec![Field::new("x", DType::Int8, []), Field::new("x", DType::Int8, [])],
    ] {
        let memory = empty();
        let refused = create(&memory, &plan(schema(fields)), "").err().unwrap();
        assert_eq!(refused.code(), "arrayrecord/not_writable");
    }
    let refused = create(&empty(), &plan(plain()), "transpose:true").err().unwrap();
    assert_eq!(refused.code(), "arrayrecord/option_invalid");
}

#[test]
fn collections_follow_one_another() {
    let root = empty();
    let names = ["train", "test", "none"];
    let collections = names.iter().map(|name| ((*name).to_owned(), None)).collect();
    let plan = Plan { schema: plain(), collections, ..Plan::default() };
    let mut writer = create(&root, &plan, "group_size:4").unwrap();
    let [one, two, three] = [&b"1"[..], b"22", b"333"].map(Buf::copy_from);
    writer.write("train", &batch(&[one.clone(), two.clone()])).unwrap();
    writer.write("test", &batch(std::slice::from_ref(&three))).unwrap();
    let refused = writer.write("train", &batch(std::slice::from_ref(&one))).unwrap_err();
    assert_eq!(refused.code(), "arrayrecord/collection_order");
    writer.finish().unwrap();
    let file = bytes(root.as_ref());
    let dataset = open(&file).unwrap();
    assert_eq!(dataset.collections(), names);
    assert_eq!(records(dataset.as_ref(), "train").unwrap(), [one.to_vec(), two.to_vec()]);
    assert_eq!(records(dataset.as_ref(), "test").unwrap(), [three.to_vec()]);
    assert_eq!(records(dataset.as_ref(), "none").unwrap(), Vec::<Vec<u8>>::new());
    let unknown = dataset.collection("records").err().unwrap();
    assert_eq!(unknown.code(), "arrayrecord/unknown_collection");
    assert_eq!(check(&file, false), []);
}

/// A file of these records with this note.
fn noted(records: &[&[u8]], note: &str) -> Vec<u8> {
    use packstone_container::array_record::{Writer, WriterOptions};
    let mut writer = Writer::new(Vec::new(), &WriterOptions::default()).unwrap();
    records.iter().for_each(|record| writer.write(record).unwrap());
    writer.set_note(note.as_bytes().to_vec());
    writer.finish().unwrap().out
}

#[test]
fn notes_that_do_not_fit_are_told_and_do_not_count() {
    let note = |count: u64, field: &str| {
        format!(
            r#"{{"version":1,"fields":[{{"name":"x","dtype":"uint16","shape":{field}}}],"collections":[["t",{count}]]}}"#
        )
    };
    let good = noted(&[b"ab", b"cd"], &note(2, "[]"));
    assert_eq!(open(&good).unwrap().collections(), ["t"]);
    assert_eq!(open(&good).unwrap().schema().fields[0].dtype, DType::UInt16);
    assert_eq!(check(&good, false), []);
    let huge = format!("[{},{}]", u64::MAX, u64::MAX);
    for bad in [note(3, "[]"), note(2, &huge), "{".to_owned(), "{}".to_owned(), "\u{7f}".to_owned()]
    {
        let file = noted(&[b"ab", b"cd"], &bad);
        let dataset = open(&file).unwrap();
        assert_eq!(records(dataset.as_ref(), "records").unwrap(), [b"ab", b"cd"], "{bad}");
        let found: Vec<_> =
            check(&file, false).iter().map(|f| (f.severity.name(), f.code)).collect();
        assert_eq!(found, [("warning", "arrayrecord/note_invalid")], "{bad}");
    }
    // Records that are not what a sound note says.
    let file = noted(&[b"ab", b"c"], &note(2, "[]"));
    let refused = records(open(&file).unwrap().as_ref(), "t").unwrap_err();
    assert_eq!((refused.code(), refused.place().record), ("arrayrecord/record_frame", Some(1)));
    let found: Vec<_> = check(&file, false).iter().map(|f| (f.severity.name(), f.code)).collect();
    assert_eq!(found, [("error", "arrayrecord/record_frame")]);
}

#[test]
fn files_that_are_not_alike_are_not_one_dataset() {
    let note = r#"{"version":1,"fields":[{"name":"x","dtype":"uint16","shape":[]}],"collections":[["t",1]]}"#;
    let files = [noted(&[b"ab"], note), Golden::named("one_none").bytes];
    let open = |files: &[&Vec<u8>]| {
        let roots = files.iter().map(|file| super::kit::root(file)).collect();
        ArrayRecord.open_many(roots, &packstone::Limits::default())
    };
    let same = open(&[&files[0], &files[0]]).unwrap();
    assert_eq!(records(same.as_ref(), "t").unwrap(), [b"ab", b"ab"]);
    for pair in [[&files[0], &files[1]], [&files[1], &files[0]]] {
        assert_eq!(open(&pair).err().unwrap().code(), "arrayrecord/mixed_files");
    }
}
