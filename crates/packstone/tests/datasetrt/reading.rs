//! What readers look at and what they do not, and how damage shows where it lies.

use std::path::Path;
use std::sync::Arc;

use packstone::format::{AuditOptions, Collection, Format, ReadContext};
use packstone::formats::datasetrt::options::OpenOptions;
use packstone::formats::datasetrt::reader::DatasetRtDataset;
use packstone::formats::datasetrt::{DatasetRt, codes};
use packstone::model::{Batch, Severity};
use packstone::ops::Scan;
use packstone::{Error, Limits, LocalRoot, MemoryRoot, Root, RootMut};
use packstone_container::arrow_table::Cell;
use packstone_container::json;
use packstone_io::CountingRoot;
use packstone_testkit::{Snapshot, bad_cases, copy_folder, good_cases};

use crate::kit::{self, path};
use crate::made::{Made, record};

fn one(root: MemoryRoot) -> Result<Vec<(Vec<u8>, String)>, Error> {
    let joint = kit::open_roots(vec![Arc::new(root)])?;
    let mut context = ReadContext::default();
    let mut out = Vec::new();
    for shard in joint.shards(0) {
        let batch = joint.read(&shard?, None, &mut context)?;
        out.extend(batch.samples().map(|sample| {
            let metadata = sample.metadata().unwrap().as_ref().clone();
            let metadata = json::Value::Object(metadata).to_string();
            (sample.value(0).unwrap().bytes.to_vec(), metadata)
        }));
    }
    Ok(out)
}

fn payloads(made: &Made) -> Vec<Vec<u8>> {
    one(made.root()).unwrap().into_iter().map(|(payload, _)| payload).collect()
}

/// The codes of a check, but for ids that no name gives and lengths that nobody counted.
fn findings(made: &Made) -> Vec<&'static str> {
    let found = kit::verdict(vec![Arc::new(made.root())]).into_iter().map(|f| f.1);
    let made_by_hand = [codes::ID_NOT_FROM_NAME, codes::RAW_LENGTH_DIFFERS];
    found.filter(|code| !made_by_hand.contains(code)).collect()
}

#[test]
fn a_manifest_that_is_refused_is_the_only_file_that_was_opened() {
    for case in bad_cases("datasetrt") {
        if !case.name.starts_with("manifest_") {
            continue;
        }
        let root = Arc::new(CountingRoot::new(LocalRoot::open(case.data.join("cache")).unwrap()));
        let opened = kit::open_roots(vec![Arc::clone(&root) as Arc<dyn Root>]);
        let seen = root.take();
        if opened.is_err_and(|e| e.code().starts_with("datasetrt/manifest")) {
            assert_eq!(seen, [path("manifest.json")], "{}", case.name);
        }
    }
}

#[test]
fn reading_and_checking_touch_no_file() {
    let temp = tempfile::tempdir().unwrap();
    for case in good_cases("datasetrt") {
        let folder = temp.path().join(&case.name);
        copy_folder(&case.data, &folder);
        let _ = std::process::Command::new("chmod").args(["-R", "a-w"]).arg(&folder).status();
        let before = Snapshot::of(&folder);
        let roots = || {
            let names = kit::paths(&case).into_iter();
            names.map(|p| kit::local(&folder.join(p.strip_prefix("data/").unwrap()))).collect()
        };
        let joint = kit::open_roots(roots()).unwrap();
        kit::batches(&joint);
        kit::verdict(roots());
        assert!(Snapshot::of(&folder) == before, "{}", case.name);
        let _ = std::process::Command::new("chmod").args(["-R", "u+w"]).arg(&folder).status();
    }
}

#[test]
fn metadata_are_read_without_any_shard() {
    let temp = tempfile::tempdir().unwrap();
    let made = Made::of(&[b"a", b"b"]);
    made.write(temp.path());
    let joint = kit::open_roots(vec![kit::local(temp.path())]).unwrap();
    std::fs::remove_dir_all(temp.path().join("shards")).unwrap();
    let table = joint.caches()[0].table().unwrap();
    assert_eq!((table.rows(), table.cell(0, 1)), (2, Ok(Cell::Int64(1))));
    let error = joint.get_at(0, &mut ReadContext::default()).unwrap_err();
    assert_eq!(error.code(), codes::FILE_MISSING);
}

#[test]
fn records_are_listed_raw_where_the_table_cannot_be_read() {
    let case = bad_cases("datasetrt").into_iter().find(|c| c.name == "arrow_empty").unwrap();
    let joint = kit::open_roots(vec![kit::local(&case.data.join("cache"))]).unwrap();
    let cache = &joint.caches()[0];
    assert_eq!(cache.table().unwrap_err().code(), codes::ARROW_INVALID);
    for sample in 0..cache.samples() {
        let (_, shard, record) = cache.record(sample).unwrap();
        let text = std::str::from_utf8(&shard[record.metadata]).unwrap();
        assert!(text.starts_with("{\"flag\":") && text.ends_with('}'), "{text}");
        assert!(!record.payload.is_empty());
    }
}

#[test]
fn rows_may_lie_in_any_order_with_gaps_and_share_records() {
    let mut made = Made::of(&[b"aa", b"bb", b"cc"]);
    // Junk between the second and the third, sample 0 last, and a fourth sample that is the first again.
    let third = record("{\"i\":2}", b"cc");
    let shard = &mut made.shards[0].0;
    shard.truncate(shard.len() - third.len());
    shard.extend(b"junk!");
    let offset = shard.len() as u64;
    shard.extend(&third);
    made.index[2] = [0, offset, third.len() as u64];
    made.index.reverse();
    made.index.push(made.index[2]);
    made.values = vec![2, 1, 0, 0];
    assert_eq!(payloads(&made), [b"cc", b"bb", b"aa", b"aa"]);
    assert_eq!(findings(&made), [codes::RECORDS_OVERLAP, codes::UNUSED_BYTES]);
}

#[test]
fn shards_of_both_kinds_unused_ones_and_one_listed_twice_are_read() {
    let mut made = Made::of(&[b"plain"]);
    made.shards.push((Vec::new(), true));
    made.push(1, "{\"i\":1}", b"\x03\0\0\0\x30xyz", 1);
    made.shards.push((b"nobody".to_vec(), false));
    assert_eq!(payloads(&made), [&b"plain"[..], b"xyz"]);
    assert_eq!(findings(&made), [codes::UNUSED_BYTES, codes::UNUSED_SHARD]);
    let mut twice = Made::of(&[b"a", b"b"]);
    twice.shards.push(twice.shards[0].clone());
    twice.names = vec!["x.bin".to_owned(), "x.bin".to_owned()];
    twice.index[1][0] = 1;
    assert_eq!(payloads(&twice), [b"a", b"b"]);
    assert!(findings(&twice).contains(&codes::SHARD_LISTED_TWICE));
}

#[test]
fn a_copy_in_another_spelling_is_equal() {
    let mut made = Made::of(&[]);
    made.push(0, " { \"\\u0069\" : 7 } ", b"x", 7);
    made.push(0, "{\"i\":3,\"i\":8}", b"y", 8);
    assert_eq!(one(made.root()).unwrap()[1], (b"y".to_vec(), "{\"i\":8}".to_owned()));
    assert_eq!(findings(&made), [""; 0]);
}

#[test]
fn a_damaged_record_is_named_and_hides_no_other() {
    let mut made = Made::of(&[b"aa", b"bb", b"cc"]);
    // The envelope of the second record says that it is longer than it is.
    let second = made.index[1][1] as usize;
    made.shards[0].0[second] = 0xff;
    let joint = kit::open_roots(vec![Arc::new(made.root())]).unwrap();
    let mut context = ReadContext::default();
    assert!(joint.get_at(0, &mut context).is_ok() && joint.get_at(2, &mut context).is_ok());
    let error = joint.get_at(1, &mut context).unwrap_err();
    assert_eq!(error.code(), codes::ENVELOPE_LENGTH);
    let place = error.place();
    assert!(place.file.as_ref().unwrap().ends_with("shards/000000.bin"));
    assert_eq!((place.record, place.offset), (Some(1), Some(second as u64)));
    // Those before it come first, of the same run too; who does not ask for it is not told.
    let joint = Arc::new(joint);
    for threads in [0, 4] {
        let scan = |range| Scan::new(Arc::clone(&joint) as _).threads(threads).range(range);
        let mut all = scan(0..3).shards();
        let first = all.next().unwrap().unwrap();
        assert_eq!((first.batch.rows(), first.batch.columns()[0].bytes(0)), (1, Some(&b"aa"[..])));
        assert_eq!(all.next().unwrap().unwrap_err().place().record, Some(1));
        assert!(all.next().is_none());
        for (range, want) in [(0..1, b"aa"), (2..3, b"cc")] {
            let mut some = scan(range.clone()).batches(2).unwrap();
            assert_eq!(some.next().unwrap().unwrap().columns()[0].bytes(0), Some(&want[..]));
            assert!(some.next().is_none(), "{range:?}");
        }
        let mut batches = scan(0..3).batches(2).unwrap();
        assert_eq!(batches.next().unwrap().unwrap().rows(), 1);
        assert_eq!(batches.next().unwrap().unwrap_err().code(), codes::ENVELOPE_LENGTH);
    }
    // Samples of another run come before the error, whatever the threads.
    let mut two = Made::of(&[b"aa"]);
    two.shards.push((Vec::new(), false));
    two.push(1, "{\"i\":9}", b"bb", 1);
    for threads in [0, 4] {
        let joint = kit::open_roots(vec![Arc::new(two.root())]).unwrap();
        let mut scan = Scan::new(Arc::new(joint)).threads(threads).shards();
        assert_eq!(scan.next().unwrap().unwrap().batch.rows(), 1);
        let error = scan.next().unwrap().unwrap_err();
        assert_eq!(error.code(), codes::ENVELOPE_VALUE_DIFFERS);
        assert_eq!(error.place().field.as_deref(), Some("i"));
    }
}

#[test]
fn copies_are_compared_unless_told_otherwise() {
    for name in ["envelope_value_differs", "arrow_value_differs", "envelope_int_for_float"] {
        let case = bad_cases("datasetrt").into_iter().find(|c| c.name == name).unwrap();
        let read = |compare| {
            let options = OpenOptions::default().with_compare(compare);
            let root = kit::local(&case.data.join("cache"));
            let dataset = DatasetRtDataset::open(root, &options, &Limits::default()).unwrap();
            let joint = dataset.joint().unwrap().clone();
            let mut context = ReadContext::default();
            let read = |shard: Result<_, Error>| joint.read(&shard?, None, &mut context);
            joint.shards(0).map(read).collect::<Result<Vec<_>, _>>()
        };
        assert!(read(true).is_err(), "{name}");
        // Values are those of the table then.
        assert_eq!(read(false).unwrap().iter().map(|b| b.rows()).sum::<usize>(), 6, "{name}");
    }
}

/// Metadata become objects when somebody looks at them; what is wrong with them is told when they are read.
#[test]
fn a_text_that_is_none_is_told_at_its_row_after_what_is_wrong_before_it() {
    let case = good_cases("datasetrt").into_iter().find(|c| c.name == "v3_basic_none").unwrap();
    let temp = tempfile::tempdir().unwrap();
    copy_folder(&case.data.join("basic_none_s1"), temp.path());
    let change = |name: &str, from: &[u8], to: &[u8]| {
        let mut bytes = std::fs::read(temp.path().join(name)).unwrap();
        let at = bytes.windows(from.len()).position(|found| found == from).unwrap();
        bytes[at..at + to.len()].copy_from_slice(to);
        std::fs::write(temp.path().join(name), bytes).unwrap();
    };
    let joint = |compare| {
        let options = OpenOptions::default().with_compare(compare);
        let root = kit::local(temp.path());
        let dataset = DatasetRtDataset::open(root, &options, &Limits::default()).unwrap();
        dataset.joint().unwrap().clone()
    };
    let read = |compare, rows: &[u64]| {
        let batch = joint(compare).read_at(rows, None, &mut ReadContext::default())?;
        Ok::<_, Error>(batch.unwrap())
    };
    let whole = read(true, &[0, 1, 2, 3, 4, 5]).unwrap();
    // Who looks needs no file any more.
    let metadata = std::fs::read(temp.path().join("metadata.arrow")).unwrap();
    std::fs::File::options()
        .write(true)
        .open(temp.path().join("metadata.arrow"))
        .unwrap()
        .set_len(0)
        .unwrap();
    let label = |batch: &Batch, row| batch.metadata(row).unwrap().get("label").unwrap().to_string();
    assert_eq!(label(&whole, 1), "\"Füchse1\"");
    std::fs::write(temp.path().join("metadata.arrow"), metadata).unwrap();
    change("metadata.arrow", "Füchse1".as_bytes(), b"F\xff");
    for compare in [true, false] {
        let error = read(compare, &[0, 1, 2]).unwrap_err();
        assert_eq!((error.code(), error.place().record), (codes::ARROW_INVALID, Some(1)));
        let others = read(compare, &[2, 0]).unwrap();
        for (row, same) in [2, 0].into_iter().enumerate() {
            assert_eq!(others.metadata(row), whole.metadata(same));
        }
    }
    let shards = std::fs::read_dir(temp.path().join("shards")).unwrap();
    let first = shards.map(|entry| entry.unwrap().file_name()).min().unwrap();
    change(&format!("shards/{}", first.to_str().unwrap()), b"cat0", b"cat1");
    let error = read(true, &[0, 1, 2]).unwrap_err();
    assert_eq!((error.code(), error.place().record), (codes::ENVELOPE_VALUE_DIFFERS, Some(0)));
    let error = read(true, &[1, 0]).unwrap_err();
    assert_eq!((error.code(), error.place().record), (codes::ARROW_INVALID, Some(1)));
    assert_eq!(label(&read(false, &[0]).unwrap(), 0), "\"cat0\"");
}

#[test]
fn plain_opening_hashes_nothing_and_verifying_does() {
    let case = bad_cases("datasetrt").into_iter().find(|c| c.name == "checksum_shard").unwrap();
    let joint = kit::open_roots(vec![kit::local(&case.data.join("cache"))]).unwrap();
    assert_eq!(kit::rows(&joint).len(), 6);
    for verify in [false, true] {
        let scan = Scan::new(Arc::new(joint.clone())).threads(2).verify(verify);
        let result = scan.shards().collect::<Result<Vec<_>, _>>();
        match (verify, result) {
            (false, result) => assert!(result.is_ok()),
            (true, result) => assert_eq!(result.unwrap_err().code(), codes::CHECKSUM_MISMATCH),
        }
    }
    let quick = AuditOptions { quick: true, ..AuditOptions::default() };
    let found = kit::check(vec![kit::local(&case.data.join("cache"))], &quick);
    assert!(found.iter().all(|f| f.severity == Severity::Info), "{found:?}");
    let noted = AuditOptions { expect: vec!["00".repeat(32)], ..AuditOptions::default() };
    let good = good_cases("datasetrt").into_iter().find(|c| c.name == "v3_basic_none").unwrap();
    let found = kit::check(kit::roots(&good, &kit::paths(&good)), &noted);
    assert_eq!(found.iter().map(|f| f.code).collect::<Vec<_>>(), [codes::CHECKSUM_MISMATCH]);
}

#[test]
fn links_that_lead_out_of_the_cache_are_refused() {
    for file in ["shards/000000.bin", "metadata.arrow", "index.bin", "manifest.json"] {
        let temp = tempfile::tempdir().unwrap();
        let cache = temp.path().join("cache");
        Made::of(&[b"x"]).write(&cache);
        std::fs::rename(cache.join(file), temp.path().join("outside")).unwrap();
        std::os::unix::fs::symlink(temp.path().join("outside"), cache.join(file)).unwrap();
        let error = kit::open_roots(vec![kit::local(&cache)]).err().unwrap();
        assert_eq!(error.code(), codes::PATH_ESCAPE, "{file}");
        // A link inside of the cache is fine.
        std::fs::remove_file(cache.join(file)).unwrap();
        std::fs::rename(temp.path().join("outside"), cache.join("inside")).unwrap();
        let up = if file.contains('/') { "../inside" } else { "inside" };
        std::os::unix::fs::symlink(up, cache.join(file)).unwrap();
        let joint = kit::open_roots(vec![kit::local(&cache)]).unwrap();
        assert_eq!(kit::rows(&joint).len(), 1, "{file}");
    }
}

/// A cache whose files are long enough to be mapped.
fn large() -> Made {
    let mut made = Made::of(&[]);
    made.shards[0].0.extend(record("{\"i\":5}", &[7; 1 << 20]));
    let len = made.shards[0].0.len() as u64;
    made.index = vec![[0, 0, len]; 40_000];
    made.values = vec![5; 40_000];
    made
}

fn get(joint: &packstone::formats::datasetrt::parts::joint::Joint) -> Result<Vec<u8>, Error> {
    let batch = joint.get_at(39_999, &mut ReadContext::default())?;
    Ok(batch.sample(0).unwrap().value(0).unwrap().bytes.to_vec())
}

#[test]
fn a_file_that_is_cut_while_it_is_open_is_an_error() {
    for file in ["shards/000000.bin", "index.bin", "metadata.arrow"] {
        let temp = tempfile::tempdir().unwrap();
        large().write(temp.path());
        let joint = kit::open_roots(vec![kit::local(temp.path())]).unwrap();
        assert_eq!(get(&joint).unwrap(), [7; 1 << 20]);
        let open = std::fs::OpenOptions::new().write(true).open(temp.path().join(file)).unwrap();
        open.set_len(1000).unwrap();
        // Files are looked at now and then.
        std::thread::sleep(std::time::Duration::from_millis(30));
        let error = get(&joint).unwrap_err();
        assert_eq!(error.code(), codes::FILE_CHANGED, "{file}");
        assert!(error.place().file.as_ref().unwrap().ends_with(file));
    }
}

#[test]
fn files_that_are_removed_stay_what_they_were_for_those_who_have_them() {
    let temp = tempfile::tempdir().unwrap();
    large().write(temp.path());
    let joint = kit::open_roots(vec![kit::local(temp.path())]).unwrap();
    assert_eq!(get(&joint).unwrap(), [7; 1 << 20]);
    for file in ["shards/000000.bin", "index.bin", "metadata.arrow", "manifest.json"] {
        std::fs::remove_file(temp.path().join(file)).unwrap();
    }
    std::thread::sleep(std::time::Duration::from_millis(30));
    assert_eq!(get(&joint).unwrap(), [7; 1 << 20]);
}

#[test]
fn a_cache_that_is_written_anew_at_the_same_path_gives_its_new_payloads() {
    let temp = tempfile::tempdir().unwrap();
    let cache = temp.path().join("cache");
    Made::of(&[b"old"]).write(&cache);
    let held = |folder: &Path| kit::open_roots(vec![kit::local(folder)]).unwrap();
    let lean = |folder: &Path| {
        let root: Arc<dyn Root> = Arc::new(LocalRoot::open_lean(folder).unwrap());
        kit::open_roots(vec![root]).unwrap()
    };
    for open in [held, lean] {
        std::fs::remove_dir_all(&cache).unwrap();
        Made::of(&[b"old"]).write(&cache);
        let old = open(&cache);
        std::fs::remove_dir_all(&cache).unwrap();
        Made::of(&[b"new"]).write(&cache);
        let new = open(&cache);
        assert_eq!(kit::rows(&new)[0].0, b"new");
        // Whoever opened the old one never gets what belongs to the new one.
        let read = old.get_at(0, &mut ReadContext::default());
        assert!(read.is_err_and(|e| e.code() != codes::ENVELOPE_VALUE_DIFFERS));
    }
}

#[test]
fn a_list_may_hold_one_cache_of_version_2_twice_and_no_id_twice() {
    let case = good_cases("datasetrt").into_iter().find(|c| c.name == "v2_basic_none").unwrap();
    let twice = [kit::paths(&case), kit::paths(&case)].concat();
    let joint = kit::open_roots(kit::roots(&case, &twice)).unwrap();
    assert_eq!(joint.caches().iter().map(|c| c.cache_id).collect::<Vec<_>>(), [0, 1]);
    assert_eq!(joint.len(), 12);
    let case = good_cases("datasetrt").into_iter().find(|c| c.name == "v3_basic_none").unwrap();
    let twice = [kit::paths(&case), kit::paths(&case)].concat();
    let error = kit::open_roots(kit::roots(&case, &twice)).err().unwrap();
    assert_eq!(error.code(), codes::DUPLICATE_CACHE_ID);
}

#[test]
fn an_empty_cache_alone_is_refused_and_so_is_an_empty_list() {
    let case = good_cases("datasetrt").into_iter().find(|c| c.name == "v3_zero_samples").unwrap();
    let error = kit::open_roots(kit::roots(&case, &["data/empty".to_owned()])).err().unwrap();
    assert_eq!(error.code(), codes::NO_SAMPLES);
    assert_eq!(kit::open_roots(Vec::new()).err().unwrap().code(), codes::NO_SAMPLES);
}

#[test]
fn a_folder_of_caches_has_a_collection_for_each() {
    for case in good_cases("datasetrt") {
        let root = kit::local(&case.data);
        assert!(DatasetRt.recognizes(root.as_ref()).unwrap(), "{}", case.name);
        let dataset = DatasetRt.open(root, &Limits::default()).unwrap();
        let mut names: Vec<String> =
            kit::paths(&case).iter().map(|p| p.strip_prefix("data/").unwrap().to_owned()).collect();
        names.sort();
        assert_eq!(dataset.collections(), names, "{}", case.name);
        for name in names {
            match dataset.collection(&name) {
                Ok(collection) => assert_eq!(collection.name(), name),
                Err(error) => assert_eq!(
                    (case.name.as_str(), error.code()),
                    ("v3_zero_samples", codes::NO_SAMPLES)
                ),
            }
        }
        assert_eq!(dataset.collection("nothing").err().unwrap().code(), codes::UNKNOWN_COLLECTION);
    }
    // Each is opened when it is asked for; a broken one breaks no other.
    let temp = tempfile::tempdir().unwrap();
    Made::of(&[b"a"]).write(&temp.path().join("good"));
    Made::of(&[b"b"]).write(&temp.path().join("worse"));
    std::fs::write(temp.path().join("worse/manifest.json"), "{").unwrap();
    let dataset = packstone::open(temp.path()).unwrap();
    assert_eq!(dataset.collection("good").unwrap().len(), 1);
    assert_eq!(dataset.collection("worse").err().unwrap().code(), codes::MANIFEST_NOT_JSON);
    let found = DatasetRt.audit(kit::local(temp.path()), &AuditOptions::default()).unwrap();
    assert!(found.findings.iter().any(|f| f.code == codes::MANIFEST_NOT_JSON));
    // One cache alone is called by its source.
    let single = packstone::open(temp.path().join("good")).unwrap();
    assert_eq!(single.collections(), ["made"]);
    assert!(single.info().native.get("cache_id").is_some());
}

#[test]
fn a_selection_of_rows_reads_these_and_fields_that_are_not_asked_for_are_left() {
    let mut made = Made::of(&[b"aa", b"bb", b"cc"]);
    made.shards[0].1 = true;
    let joint = kit::open_roots(vec![Arc::new(made.root())]).unwrap();
    let shard = joint.shards(0).next().unwrap().unwrap();
    let mut context = ReadContext::default();
    // The payloads are no LZ4, but nobody asked for them.
    let none = joint.read(&shard, Some(&[]), &mut context).unwrap();
    assert_eq!((none.rows(), none.columns().len()), (3, 0));
    assert_eq!(none.metadata(2).unwrap().get("i").unwrap().as_i64(), Some(2));
    let error = joint.read(&shard, None, &mut context).unwrap_err();
    assert_eq!(error.code(), codes::LZ4_DAMAGED);
    assert!(joint.read_rows(&shard, &[3], Some(&[]), &mut context).is_err());
    let some = joint.read_rows(&shard, &[2, 0], Some(&[]), &mut context).unwrap();
    assert_eq!(some.metadata(1).unwrap().get("i").unwrap().as_i64(), Some(0));
}

#[test]
fn shards_begin_at_the_one_that_holds_a_sample() {
    let case = good_cases("datasetrt").into_iter().find(|c| c.name == "v3_many_rows").unwrap();
    let joint = kit::open(&case);
    let all: Vec<_> = joint.shards(0).map(Result::unwrap).collect();
    assert_eq!(all.len() as u64, joint.shard_count());
    for from in [0, 1, 300, joint.len() - 1] {
        let first = joint.shards(from).next().unwrap().unwrap();
        assert!(first.first <= from && from < first.first + first.rows);
        assert_eq!(joint.shards(from).count(), all.len() - first.number as usize);
    }
    assert_eq!(joint.shards(joint.len()).count(), 0);
}

#[test]
fn stray_files_are_listed_and_do_no_harm() {
    let root = Made::of(&[b"x"]).root();
    for name in ["notes.txt", "shards/000009.bin", ".packstone-00ff.tmp"] {
        root.create(&path(name), b"?").unwrap();
    }
    assert_eq!(one(root.clone()).unwrap().len(), 1);
    let found: Vec<_> = kit::verdict(vec![Arc::new(root)]).into_iter().collect();
    assert!(found.contains(&(Severity::Info, codes::UNLISTED_FILE)));
    assert!(found.contains(&(Severity::Info, codes::LEFTOVER_MANIFEST_TEMP)));
    assert!(found.iter().all(|f| f.0 == Severity::Info), "{found:?}");
}
