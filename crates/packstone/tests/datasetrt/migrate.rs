//! Manifests of version 2 become version 3: the library's bytes, nothing lost, and no state in between.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use packstone::exec::Progress;
use packstone::format::{Collection, ReadContext};
use packstone::formats::datasetrt::codes;
use packstone::formats::datasetrt::document::Manifest;
use packstone::formats::datasetrt::parts::migrate::{
    Entry, Status, Target, WARNINGS, migrate, migrate_paths, targets,
};
use packstone::json::Value;
use packstone::{Limits, LocalRoot, RelPath, RootMut};
use packstone_io::FaultyRoot;
use packstone_testkit::{Case, copy_folder, good_cases};

use crate::kit;

fn case() -> Case {
    good_cases("datasetrt").into_iter().find(|case| case.name == "migrated_v2_to_v3").unwrap()
}

const NAMES: [&str; 3] = ["three_caches_s1_a", "three_caches_s1_b", "three_caches_s1_c"];

/// The caches before the migration, in a folder of their own, with their paths in order.
fn before() -> (tempfile::TempDir, Vec<PathBuf>) {
    let temp = tempfile::tempdir().unwrap();
    let case = case();
    copy_folder(&case.data, temp.path());
    let old = case.data.parent().unwrap().join("before");
    for name in NAMES {
        let manifest = Path::new(name).join("manifest.json");
        std::fs::copy(old.join(&manifest), temp.path().join(&manifest)).unwrap();
    }
    let paths = NAMES.map(|name| temp.path().join(name)).to_vec();
    (temp, paths)
}

fn run(paths: &[PathBuf]) -> Vec<Entry> {
    migrate_paths(paths, 3, &Limits::default(), None).unwrap()
}

fn manifest(folder: &Path) -> String {
    std::fs::read_to_string(folder.join("manifest.json")).unwrap()
}

/// What the library makes of the manifest, with the members that it loses.
fn due(name: &str) -> String {
    let text = manifest(&case().data.join(name));
    if name != NAMES[0] {
        return text;
    }
    let column = "\"name\": \"flag\",\n      \"kind\": \"bool\"";
    let text = text.replacen(column, &format!("{column},\n      \"x_field\": \"dropped\""), 1);
    let end = text.rfind("\n    }\n  ],\n  \"alpha\"").unwrap();
    format!("{},\n      \"x_shard\": \"dropped\"{}", &text[..end], &text[end..])
}

fn assert_report(entries: &[Entry], report: &str, folder: &Path) {
    let case = case();
    let want = case.expected.get(report).unwrap().get("entries").unwrap().as_array().unwrap();
    assert_eq!(entries.len(), want.len());
    for (entry, want) in entries.iter().zip(want) {
        let text = |name: &str| want.get(name).unwrap().as_str().unwrap();
        let path = text("path").strip_prefix("data/").unwrap();
        assert_eq!(entry.path, folder.canonicalize().unwrap().join(path).to_str().unwrap());
        assert_eq!(want.get("cache_id").unwrap().as_u64(), Some(entry.cache_id));
        assert_eq!(entry.status.name(), text("status"));
    }
}

#[test]
fn manifests_become_those_of_the_library_with_every_member_kept() {
    let (temp, paths) = before();
    let files: Vec<BTreeMap<_, _>> = paths.iter().map(|path| kit::files(path)).collect();
    assert_report(&run(&paths), "first_report", temp.path());
    for (name, before) in NAMES.iter().zip(files) {
        assert_eq!(manifest(&temp.path().join(name)), due(name), "{name}");
        let mut after = kit::files(&temp.path().join(name));
        assert_eq!(after.len(), before.len(), "no lock and no temporary file stays");
        after.insert("manifest.json".to_owned(), before["manifest.json"].clone());
        assert!(after == before, "{name}: a file of samples changed");
    }
    // Again: nothing to do, and the ids stay in another order.
    assert_report(&run(&paths), "second_report", temp.path());
    assert!(NAMES.iter().all(|name| manifest(&temp.path().join(name)) == due(name)));
    let reversed = paths.iter().rev().map(|path| kit::local(path)).collect();
    let joint = kit::open_roots(reversed).unwrap();
    let mut context = ReadContext { identities: true, ..ReadContext::default() };
    let ids: Vec<String> = (0..joint.len())
        .map(|at| {
            let found = joint.get_at(at, &mut context).unwrap();
            let id = |name: &str| found.identity(0).unwrap().get(name).unwrap().to_string();
            format!("[{},{}]", id("cache_id"), id("sample_id"))
        })
        .collect();
    let case = case();
    let want = case.expected.get("reverse_order_identities").unwrap().as_array().unwrap();
    assert_eq!(ids, want.iter().map(Value::to_string).collect::<Vec<_>>());
}

#[test]
fn an_open_dataset_does_not_change_with_its_manifests() {
    let (_temp, paths) = before();
    let joint = kit::open_roots(paths.iter().map(|path| kit::local(path)).collect()).unwrap();
    let read = || kit::batches(&joint).iter().map(packstone::model::Batch::rows).sum::<usize>();
    let count = read();
    run(&paths);
    assert_eq!(read(), count);
    assert_eq!(joint.position(2, 1).unwrap(), 8);
    assert!(matches!(joint.caches()[0].manifest, Manifest::V2(_)));
}

#[test]
fn a_mixed_list_keeps_the_ids_of_version_3_and_a_subset_gets_other_positions() {
    let (temp, paths) = before();
    // The second one is migrated alone, so it got position 0.
    run(&paths[1..2]);
    let ids: Vec<u64> =
        targets(&paths[1..], &Limits::default()).unwrap().iter().map(|t| t.cache_id).collect();
    assert_eq!(ids, [0, 1], "what a dry run tells of a part of the list");
    // In the whole list 0 is taken twice now, by the first position and by the stored id.
    let error = migrate_paths(&paths, 3, &Limits::default(), None).unwrap_err();
    assert_eq!((error.error.code(), error.entries.len()), (codes::DUPLICATE_CACHE_ID, 0));
    let order = [paths[1].clone(), paths[0].clone()];
    let report: Vec<_> = run(&order).into_iter().map(|e| (e.cache_id, e.status)).collect();
    assert_eq!(report, [(0, Status::Unchanged), (1, Status::Updated)]);
    assert!(manifest(&temp.path().join(NAMES[2])).contains("\"format_version\": 2"));
}

#[test]
fn whoever_migrates_is_told_of_old_releases_and_of_parts_of_a_list() {
    let page = include_str!("../../../../docs/formats/datasetrt.md");
    let [list, releases] = WARNINGS;
    assert!(list.contains("a part of the list gives other ids") && page.contains("other ids"));
    assert!(releases.contains("before 0.4") && page.contains("Releases before 0.4 do not read"));
}

#[test]
fn only_version_3_can_be_asked_for() {
    let (_temp, paths) = before();
    for version in [0, 2, 4] {
        let error = migrate_paths(&paths, version, &Limits::default(), None).unwrap_err();
        assert_eq!((error.error.code(), error.path), (codes::OPTION_INVALID, None));
    }
}

#[test]
fn one_bad_target_means_no_change_at_all() {
    type Damage = fn(&Path);
    let put = |folder: &Path, edit: &dyn Fn(String) -> String| {
        std::fs::write(folder.join("manifest.json"), edit(manifest(folder))).unwrap();
    };
    let damages: [(Damage, &str); 6] = [
        (|last| std::fs::write(last.join("manifest.json"), "{").unwrap(), codes::MANIFEST_NOT_JSON),
        (|last| std::fs::remove_file(last.join("manifest.json")).unwrap(), codes::FILE_MISSING),
        (
            |last| {
                let text = manifest(last).replace("three_caches_s1_c", "another");
                std::fs::write(last.join("manifest.json"), text).unwrap();
            },
            codes::MANIFEST_CHANGED,
        ),
        (
            |last| {
                let text = manifest(last).replacen('{', "{\"new\": 1,", 1);
                std::fs::write(last.join("manifest.json"), text).unwrap();
            },
            codes::MANIFEST_CHANGED,
        ),
        (
            |last| {
                let text = manifest(last).replacen(
                    "\"format_version\": 2",
                    "\"format_version\": 3, \"cache_id\": 9",
                    1,
                );
                std::fs::write(last.join("manifest.json"), text).unwrap();
            },
            codes::MANIFEST_CHANGED,
        ),
        (
            |last| {
                let text =
                    manifest(last).replacen("\"format_version\": 2", "\"format_version\": 4", 1);
                std::fs::write(last.join("manifest.json"), text).unwrap();
            },
            codes::MANIFEST_VERSION,
        ),
    ];
    for (damage, code) in damages {
        let (temp, paths) = before();
        let loaded = targets(&paths, &Limits::default()).unwrap();
        let old = [manifest(&paths[0]), manifest(&paths[1])];
        damage(&temp.path().join(NAMES[2]));
        let stopped = migrate(&loaded, 3, &Limits::default(), None).unwrap_err();
        assert_eq!((stopped.error.code(), stopped.entries.len()), (code, 0));
        assert!(stopped.path.unwrap().ends_with("three_caches_s1_c/manifest.json"));
        assert_eq!([manifest(&paths[0]), manifest(&paths[1])], old);
    }
    // Layout may differ, and members that nobody knows inside of the entries.
    let (_temp, paths) = before();
    let loaded = targets(&paths, &Limits::default()).unwrap();
    put(&paths[1], &|text| text.replace('\n', "").replacen("\"kind\"", "\"y\": 1, \"kind\"", 1));
    assert_eq!(migrate(&loaded, 3, &Limits::default(), None).unwrap().len(), 3);
    assert!(manifest(&paths[1]).contains("\"y\": 1"));
    // Back to version 2 behind the back of an open dataset.
    let loaded = targets(&paths, &Limits::default()).unwrap();
    put(&paths[0], &|text| text.replacen("\"format_version\": 3", "\"format_version\": 2", 1));
    let stopped = migrate(&loaded, 3, &Limits::default(), None).unwrap_err();
    assert_eq!(stopped.error.code(), codes::MANIFEST_CHANGED);
}

#[test]
fn one_manifest_by_two_paths_is_refused() {
    let (temp, paths) = before();
    let twin = temp.path().join("twin");
    copy_folder(&paths[0], &twin);
    std::fs::remove_file(twin.join("manifest.json")).unwrap();
    std::os::unix::fs::symlink(paths[0].join("manifest.json"), twin.join("manifest.json")).unwrap();
    let loaded = targets(&paths[..1], &Limits::default()).unwrap();
    let again = Target::local(&twin, &loaded[0].loaded, 1).unwrap();
    let first = Target::local(&paths[0], &loaded[0].loaded, 0).unwrap();
    let stopped = migrate(&[first, again], 3, &Limits::default(), None).unwrap_err();
    assert_eq!(stopped.error.code(), codes::MIGRATION_DUPLICATE);
}

#[test]
fn a_link_stays_a_link_and_permissions_stay() {
    use std::os::unix::fs::PermissionsExt;
    let (temp, paths) = before();
    let real = temp.path().join("kept_elsewhere.json");
    std::fs::rename(paths[1].join("manifest.json"), &real).unwrap();
    std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o640)).unwrap();
    std::os::unix::fs::symlink("../kept_elsewhere.json", paths[1].join("manifest.json")).unwrap();
    // Readers follow no link out of a cache.
    let refused = kit::open_roots(vec![kit::local(&paths[1])]).err().unwrap();
    assert_eq!(refused.code(), codes::PATH_ESCAPE);
    let entries = run(&paths);
    assert_eq!(entries[1].path, real.canonicalize().unwrap().to_str().unwrap());
    assert!(paths[1].join("manifest.json").is_symlink());
    assert_eq!(std::fs::read_to_string(&real).unwrap(), due(NAMES[1]));
    assert_eq!(real.metadata().unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(std::fs::read_dir(temp.path()).unwrap().count(), 4);
}

/// The three targets in one root that fails after so many operations.
fn faulty(folder: &Path, good: u64) -> Vec<Target> {
    let paths = NAMES.map(|name| folder.join(name)).to_vec();
    let root: Arc<dyn RootMut> = Arc::new(FaultyRoot::new(LocalRoot::open(folder).unwrap(), good));
    let mut loaded = targets(&paths, &Limits::default()).unwrap();
    for (target, name) in loaded.iter_mut().zip(NAMES) {
        target.root = Arc::clone(&root);
        target.name = RelPath::new(&format!("{name}/manifest.json")).unwrap();
    }
    loaded
}

#[test]
fn a_fault_at_any_operation_leaves_whole_manifests_and_a_retry_does_the_rest() {
    let mut outcomes = BTreeMap::new();
    for good in 0.. {
        let (temp, paths) = before();
        let old: Vec<String> = paths.iter().map(|path| manifest(path)).collect();
        let result = migrate(&faulty(temp.path(), good), 3, &Limits::default(), None);
        let entries = match &result {
            Ok(entries) => entries,
            Err(stopped) => &stopped.entries,
        };
        for (at, (name, path)) in NAMES.iter().zip(&paths).enumerate() {
            let want = if at < entries.len() { due(name) } else { old[at].clone() };
            assert_eq!(manifest(path), want, "{good} operations, {name}");
        }
        for (name, path) in NAMES.iter().zip(&paths) {
            assert_eq!(std::fs::read_dir(path).unwrap().count(), 4, "{name}: a file was left");
        }
        let last = entries.last().map(|entry| entry.status);
        outcomes
            .entry(format!("{:?} {}", last, result.is_ok()))
            .and_modify(|n| *n += 1)
            .or_insert(1);
        let retried = run(&paths);
        assert_eq!(retried.len(), 3);
        for (at, entry) in retried.iter().enumerate() {
            let done = at < entries.len();
            assert_eq!(entry.status, if done { Status::Unchanged } else { Status::Updated });
        }
        assert!(NAMES.iter().zip(&paths).all(|(name, path)| manifest(path) == due(name)));
        if result.is_ok() {
            break;
        }
    }
    // Create, write, replace, sync for each of three; the last of them leaves durability in doubt.
    assert_eq!(outcomes["Some(DurabilityUnknown) false"], 3, "{outcomes:?}");
    assert_eq!(outcomes["None false"], 3, "{outcomes:?}");
    assert_eq!(outcomes["Some(Updated) true"], 1, "{outcomes:?}");
}

#[test]
fn targets_that_need_no_change_are_put_on_the_disk_too() {
    let (temp, paths) = before();
    run(&paths);
    let good = migrate(&faulty(temp.path(), 3), 3, &Limits::default(), None).unwrap();
    assert!(good.iter().all(|entry| entry.status == Status::Unchanged));
    // One operation for each: the sync of its folder.
    let stopped = migrate(&faulty(temp.path(), 2), 3, &Limits::default(), None).unwrap_err();
    assert_eq!(stopped.entries.len(), 2);
}

/// Says stop at the nth time that it is asked.
#[derive(Debug)]
struct Stop(AtomicUsize);

impl Progress for Stop {
    fn total(&self, _bytes: u64) {}
    fn advance(&self, _bytes: u64) {}
    fn cancelled(&self) -> bool {
        self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1)).is_err()
    }
}

#[test]
fn an_interrupt_removes_the_temporary_file_and_says_what_is_done() {
    for times in 0..7 {
        let (_temp, paths) = before();
        let progress: Arc<dyn Progress> = Arc::new(Stop(AtomicUsize::new(times)));
        let result = migrate_paths(&paths, 3, &Limits::default(), Some(&progress));
        for path in &paths {
            assert_eq!(std::fs::read_dir(path).unwrap().count(), 4);
        }
        match result {
            Err(stopped) => {
                assert_eq!(stopped.error.kind(), packstone::Kind::Cancelled);
                assert_eq!(stopped.entries.len(), times / 2);
            }
            Ok(_) => assert_eq!(times, 6),
        }
    }
}

#[test]
fn temporary_files_of_a_killed_run_do_not_count_and_stay() {
    let (temp, paths) = before();
    let theirs = paths[0].join(".dataset-rt-manifest-4242-0.tmp");
    let ours = paths[0].join(".packstone-0123456789abcdef.tmp");
    std::fs::write(&theirs, "{\"format_version\": 3, \"cache").unwrap();
    std::fs::write(&ours, "{").unwrap();
    run(&paths);
    assert!(theirs.is_file() && ours.is_file());
    assert_eq!(manifest(&temp.path().join(NAMES[0])), due(NAMES[0]));
}

const FOLDER: &str = "PACKSTONE_TEST_MIGRATE_FOLDER";

/// Migrates to and fro until it is killed; does nothing unless it was started for that.
#[test]
fn migrates_until_killed() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else { return };
    let paths = NAMES.map(|name| folder.join(name)).to_vec();
    let old: Vec<String> = paths.iter().map(|path| manifest(path)).collect();
    loop {
        run(&paths);
        for (path, old) in paths.iter().zip(&old) {
            let next = path.join("next");
            std::fs::write(&next, old).unwrap();
            std::fs::rename(&next, path.join("manifest.json")).unwrap();
        }
    }
}

#[test]
fn a_killed_migration_leaves_whole_manifests() {
    for turn in 0..12u64 {
        let (temp, paths) = before();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "migrate::migrates_until_killed", "--nocapture"])
            .env(FOLDER, temp.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // A while after its first replacement, however long a busy machine takes to start it.
        let start = Instant::now();
        while manifest(&paths[0]) != due(NAMES[0]) && start.elapsed() < Duration::from_secs(60) {
            std::thread::sleep(Duration::from_micros(200));
        }
        std::thread::sleep(Duration::from_millis(turn * turn * 7 % 30));
        child.kill().unwrap();
        child.wait().unwrap();
        // Each manifest is one of the two, whole; the list opens, or ids of both kinds meet in it.
        for (name, path) in NAMES.iter().zip(&paths) {
            let text = manifest(path);
            assert!(text == due(name) || text.contains("\"format_version\": 2"), "{text}");
            let place = packstone::error::Place::default();
            Manifest::parse(text.as_bytes(), &place, &Limits::default()).unwrap();
        }
        run(&paths);
        assert!(NAMES.iter().zip(&paths).all(|(name, path)| manifest(path) == due(name)));
    }
}
