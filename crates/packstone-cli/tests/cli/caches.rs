//! DatasetRT caches: several as one dataset, selections, migration, what a killed writer left.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use packstone::format::Plan;
use packstone::model::{Batch, Column, DType, Field, Schema};
use packstone::site;
use packstone_container::json::{Object, Style, Value, write};
use packstone_io::Buf;
use packstone_testkit::{Snapshot, copy_folder, golden_folder, good_cases};

use crate::support::{Look, clean, expected_of, golden_of, program, run};

/// The caches of a golden case, in the order that it names them.
fn caches(case: &str) -> Vec<String> {
    let expected = expected_of("datasetrt", case);
    let folder = golden_folder("datasetrt").join(case);
    let caches = expected.at("caches").as_array().unwrap().iter();
    caches.map(|cache| folder.join(cache.text("path")).display().to_string()).collect()
}

/// A command on several paths, with what stands behind them.
fn with(command: &str, paths: &[String], rest: &[&str]) -> Vec<String> {
    let rest = rest.iter().map(|word| (*word).to_owned());
    [command.to_owned()].into_iter().chain(paths.iter().cloned()).chain(rest).collect()
}

/// Copies of the caches of a case.
fn copies(case: &str, to: &Path) -> Vec<String> {
    let copy = |path: &String| {
        let target = to.join(Path::new(path).file_name().unwrap());
        copy_folder(Path::new(path), &target);
        target.display().to_string()
    };
    caches(case).iter().map(copy).collect()
}

#[test]
fn dump_names_every_sample_of_every_golden_dataset() {
    let mut samples = 0;
    for case in good_cases("datasetrt") {
        let Some(expected) = case.expected.get("dataset").and_then(|d| d.get("samples")) else {
            continue;
        };
        let paths = caches(&case.name);
        let lines = clean(with("dump", &paths, &["--verify"])).lines();
        let expected = expected.as_array().unwrap();
        assert_eq!(lines.len(), expected.len(), "{}", case.name);
        for (index, (line, expected)) in lines.iter().zip(expected).enumerate() {
            assert_eq!(line.number("index"), index as u64);
            for member in ["cache_id", "sample_id"] {
                assert_eq!(line.number(member), expected.number(member), "{}", case.name);
            }
            let (found, payload) = (line.at("fields").at("data"), expected.at("payload"));
            assert_eq!(found.text("sha256"), payload.text("sha256"), "{}", case.name);
            assert_eq!(found.number("nbytes"), payload.number("len"));
            let columns = expected.at("metadata").as_object().unwrap();
            let metadata = line.at("metadata").as_object().unwrap();
            let names = |object: &packstone_container::json::Object| {
                let mut names: Vec<_> = object.keys().map(ToString::to_string).collect();
                names.sort();
                names
            };
            assert_eq!(names(metadata), names(columns), "{}", case.name);
            samples += 1;
        }
    }
    assert!(samples > 900, "{samples}");
}

#[test]
fn several_caches_are_one_dataset_for_every_reading_command() {
    let paths = caches("mixed_v2_v3");
    let before = Snapshot::of(&golden_folder("datasetrt").join("mixed_v2_v3"));
    let line = clean(with("inspect", &paths, &["--json", "--sizes"])).line();
    assert_eq!((line.text("format"), line.number("samples")), ("datasetrt", 9));
    let native = line.at("native").at("caches").as_array().unwrap();
    let ids: Vec<u64> = native.iter().map(|cache| cache.number("cache_id")).collect();
    assert_eq!(ids, [0, 3_887_071_305_761_446_316, 2]);
    let shards: u64 = paths
        .iter()
        .map(|p| Path::new(p).join("shards/000000.bin"))
        .fold(0, |n, p| n + std::fs::metadata(p).unwrap().len());
    assert_eq!(line.at("collections").as_array().unwrap()[0].number("bytes"), shards);
    let shown = clean(with("inspect", &paths, &[])).stdout;
    assert!(shown.contains("3887071305761446316") && shown.contains("metadata_schema"), "{shown}");
    let head = clean(with("head", &paths, &["-n1", "--json"])).line();
    assert_eq!((head.text("collection"), head.number("cache_id")), ("all", 0));
    let summary = clean(with("verify", &paths, &["--json"])).lines().pop().unwrap();
    assert_eq!((summary.flag("clean"), summary.number("samples")), (true, 9));
    assert_eq!(clean(with("digest", &paths, &["--json"])).line().number("samples"), 9);
    // The folder shows each cache as a collection.
    let folder = golden_of("datasetrt", "mixed_v2_v3/data");
    assert_eq!(clean(["dump", &folder, "--collection", "three_caches_s1_c"]).lines().len(), 2);
    let swapped: Vec<String> = paths.iter().rev().cloned().collect();
    let first = &clean(with("dump", &swapped, &["--limit", "1"])).line();
    assert_eq!(first.number("cache_id"), 0, "ids of version 2 are positions");
    let twice = [paths[1].clone(), paths[1].clone()];
    let refused = run(with("dump", &twice, &[]));
    assert!(refused.code == 2 && refused.stderr.contains("[datasetrt/duplicate_cache_id]"));
    let mixed = [paths[0].clone(), golden_of("sedpack", "fb_lz4/data")];
    assert!(run(with("dump", &mixed, &[])).stderr.contains("[format/mixed]"));
    assert_eq!(Snapshot::of(&golden_folder("datasetrt").join("mixed_v2_v3")), before);
}

#[test]
fn damage_is_a_finding_with_its_place() {
    for (case, code) in [
        ("checksum_shard", "datasetrt/checksum_mismatch"),
        ("envelope_value_differs", "datasetrt/envelope_value_differs"),
        ("manifest_trailing", "datasetrt/manifest_not_json"),
    ] {
        let data = golden_folder("datasetrt").join("bad").join(case).join("data");
        let cache = std::fs::read_dir(data).unwrap().next().unwrap().unwrap().path();
        let run = run(["verify", "--json", cache.to_str().unwrap()]);
        assert_eq!(run.code, 1, "{case}: {}", run.stderr);
        let codes: Vec<String> =
            run.lines().iter().filter_map(|l| Some(l.get("code")?.as_str()?.to_owned())).collect();
        assert!(codes.contains(&code.to_owned()), "{case}: {codes:?}");
    }
}

#[test]
fn conditions_select_and_what_is_saved_opens_anywhere() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let paths = copies("mixed_v2_v3", &data);
    let before = Snapshot::of(folder.path());
    let all = clean(with("select", &paths, &["--json"])).lines();
    assert_eq!(all.len(), 10);
    let condition = "not flag or cache_id == 2";
    let lines = clean(with("select", &paths, &["--json", "--where", condition])).lines();
    let (summary, found) = lines.split_last().unwrap();
    assert_eq!((summary.number("selected"), summary.number("samples")), (6, 9));
    assert!(summary.at("saved").is_null());
    let dumped = clean(with("dump", &paths, &[])).lines();
    let expected: Vec<&Value> = dumped
        .iter()
        .filter(|line| !line.at("metadata").flag("flag") || line.number("cache_id") == 2)
        .collect();
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(&expected) {
        assert_eq!(found.text("type"), "selected");
        for member in ["index", "cache_id", "sample_id"] {
            assert_eq!(found.number(member), expected.number(member));
        }
        assert_eq!(found.at("metadata"), expected.at("metadata"));
    }
    let counted = clean(with("select", &paths, &["--count", "--where", condition]));
    assert_eq!(counted.stdout, "6 of 9 samples\n");
    assert_eq!(Snapshot::of(folder.path()), before, "nothing is written unless asked for");

    let view = folder.path().join("views/some.json");
    std::fs::create_dir(view.parent().unwrap()).unwrap();
    let view = view.to_str().unwrap();
    clean(with("select", &paths, &["--where", condition, "--save", view]));
    let opened = clean(["dump", view]).lines();
    assert_eq!(opened.len(), 6);
    for (index, (line, expected)) in opened.iter().zip(&expected).enumerate() {
        assert_eq!(line.number("index"), index as u64);
        for member in ["cache_id", "sample_id", "fields", "metadata", "shard", "collection"] {
            assert_eq!(line.at(member), expected.at(member));
        }
    }
    let info = clean(["inspect", "--json", view]).line();
    let selection = info.at("native").at("selection");
    assert_eq!((selection.text("expression"), selection.number("samples")), (condition, 6));
    assert_eq!(clean(["head", "--json", "-n2", &format!("{view}#all")]).lines().len(), 2);
    clean(["verify", view]);
    clean(["bench", "--rounds", "1", view]);

    // Converted, it is the same.
    for format in ["datasetrt", "sedpack"] {
        let target = folder.path().join(format);
        let target = target.to_str().unwrap();
        clean(["convert", view, target, "--to", format]);
        clean(["diff", view, target]);
    }
    // A selection of a selection is one of the whole.
    let again = folder.path().join("again.json");
    let again = again.to_str().unwrap();
    clean(["select", view, "--where", "rank > 0", "--save", again]);
    let text = std::fs::read_to_string(again).unwrap();
    assert!(text.contains(&format!("\"expression\":\"({condition}) and (rank > 0)\"")), "{text}");
    assert!(text.contains("\"path\":\"data/three_caches_s1_a\""), "{text}");
    let lines = clean(["dump", again]).lines();
    assert!(lines.iter().all(|line| line.at("metadata").at("rank").as_i64().unwrap() > 0));
    assert!(!lines.is_empty());
    // Both are moved together.
    let moved = folder.path().with_extension("moved");
    std::fs::rename(folder.path(), &moved).unwrap();
    let there = moved.join("again.json");
    assert_eq!(clean(["dump", there.to_str().unwrap()]).lines(), lines);
    std::fs::rename(&moved, folder.path()).unwrap();

    for (arguments, code) in [
        (vec!["dump", view, &paths[0]], "[format/mixed]"),
        (vec!["select", &paths[0], "--where", "nosuch == 1"], "[expr/unknown_column]"),
        (vec!["select", &paths[0], "--where", "flag =="], "[expr/syntax]"),
        (vec!["select", &paths[0], "--save", view], "[site/exists]"),
        (vec!["dump", &format!("{view}#nosuch")], "[datasetrt/unknown_collection]"),
    ] {
        let refused = run(&arguments);
        assert!(refused.code == 2 && refused.stderr.contains(code), "{}", refused.stderr);
    }
    let data = data.to_str().unwrap();
    let many = run(["select", data, "--save", "x.json"]);
    assert!(many.code == 2 && many.stderr.contains("expected one collection"), "{}", many.stderr);
    // A dataset that changed is not the one that the selection was made of.
    let manifest = Path::new(&paths[2]).join("manifest.json");
    let text = std::fs::read_to_string(&manifest).unwrap();
    std::fs::write(&manifest, text.replace("\"metadata_sha256\": \"7", "\"metadata_sha256\": \"8"))
        .unwrap();
    assert!(run(["dump", view]).stderr.contains("[datasetrt/view_stale]"));
    std::fs::remove_file(manifest).unwrap();
    assert_eq!(run(["dump", view]).code, 2);
}

#[test]
fn select_works_where_shards_have_the_metadata() {
    let path = golden_of("sedpack", "fb_custom_metadata/data");
    let dumped = clean(["dump", &path]).lines();
    let keys: Vec<String> = dumped.iter().map(|line| line.at("metadata").to_string()).collect();
    let lines = clean(["select", &path, "--json"]).lines();
    let found = lines.iter().filter(|line| line.text("type") == "selected");
    let found: Vec<String> = found.map(|line| line.at("metadata").to_string()).collect();
    assert_eq!(found, keys);
    let none = clean(["select", &path, "--where", "nosuch == 1", "--count"]).stdout;
    assert_eq!(none, format!("0 of {} samples\n", dumped.len()));
    let saved = run(["select", &path, "--save", "no.json", "--collection", "train"]);
    assert!(saved.stderr.contains("[format/no_selections]"), "{}", saved.stderr);
    assert!(!Path::new("no.json").exists());
    // Without any metadata, conditions see nothing but absent members.
    let plain = golden_of("sedpack", "fb_lz4/data");
    let samples = clean(["dump", &plain]).lines().len();
    let all = clean(["select", &plain, "--where", "x is null", "--count"]).stdout;
    assert_eq!(all, format!("{samples} of {samples} samples\n"));
}

#[test]
fn metadata_that_another_format_carries_are_found_as_they_were() {
    let folder = tempfile::tempdir().unwrap();
    let source = golden_of("sedpack", "fb_custom_metadata/data");
    let of = |path: &str, condition: &str| {
        let lines = clean(["select", path, "--json", "--where", condition]).lines();
        let found = lines.iter().filter(|line| line.text("type") == "selected");
        let sorted = |value: &Value| write(value, &Style { sort_keys: true, ..Style::COMPACT });
        let told = |line: &Value| {
            (line.text("collection").to_owned(), line.number("index"), sorted(line.at("metadata")))
        };
        found.map(told).collect::<Vec<_>>()
    };
    let all = of(&source, "true");
    assert!(all.iter().any(|(_, _, metadata)| metadata.len() > 2));
    // In a column of a table, and beside the values of each sample.
    for format in ["datasetrt", "tensordict"] {
        let target = folder.path().join(format);
        let target = target.to_str().unwrap();
        clean(["convert", &source, target, "--to", format]);
        assert_eq!(of(target, "true"), all, "{format}");
        assert_eq!(of(target, "nosuch is null"), all, "{format}");
        assert!(of(target, "nosuch == 1").is_empty());
    }
}

#[test]
fn migration_tells_what_it_does_and_what_it_did() {
    let folder = tempfile::tempdir().unwrap();
    let paths = copies("mixed_v2_v3", folder.path());
    let before = Snapshot::of(folder.path());
    let statuses = |lines: &[Value]| -> Vec<(u64, String)> {
        let manifests = lines.iter().filter(|line| line.text("type") == "manifest");
        manifests.map(|l| (l.number("cache_id"), l.text("status").to_owned())).collect()
    };
    let dry = clean(with("migrate", &paths, &["--to", "3", "--dry-run", "--json"])).lines();
    let b = 3_887_071_305_761_446_316;
    let plan = [(0, "to_update"), (b, "unchanged"), (2, "to_update")];
    assert_eq!(statuses(&dry), plan.map(|(id, status)| (id, status.to_owned())));
    let summary = dry.last().unwrap();
    assert!(summary.flag("dry_run") && summary.at("warnings").to_string().contains("before 0.4"));
    assert_eq!(Snapshot::of(folder.path()), before);
    let told = clean(with("migrate", &paths, &["--to", "3", "--dry-run"]));
    assert!(told.stderr.contains("a part of the list gives other ids"), "{}", told.stderr);
    assert!(told.stdout.contains("would be updated 2, unchanged 1"), "{}", told.stdout);

    let dumped = clean(with("dump", &paths, &[])).lines();
    // The last manifest is damaged: nothing is changed.
    let last = Path::new(&paths[2]).join("manifest.json");
    let text = std::fs::read_to_string(&last).unwrap();
    std::fs::write(&last, text.replace("\"sample_count\": 2", "\"sample_count\": 3")).unwrap();
    let changed = Snapshot::of(folder.path());
    let refused = run(with("migrate", &paths, &["--to", "3", "--json"]));
    assert_eq!((refused.code, refused.line().text("type")), (2, "error"));
    assert_eq!(Snapshot::of(folder.path()), changed);
    std::fs::write(&last, text).unwrap();

    let lines = clean(with("migrate", &paths, &["--to", "3", "--json"])).lines();
    let done = [(0, "updated"), (b, "unchanged"), (2, "updated")];
    assert_eq!(statuses(&lines), done.map(|(id, status)| (id, status.to_owned())));
    assert!(Path::new(lines[0].text("path")).is_absolute());
    assert_eq!((lines[3].number("updated"), lines[3].number("unchanged")), (2, 1));
    // Ids are stored now: another order gives the same samples.
    assert_eq!(clean(with("dump", &paths, &[])).lines(), dumped);
    let turned: Vec<String> = paths.iter().rev().cloned().collect();
    let first = clean(with("dump", &turned, &["--limit", "1"])).line();
    assert_eq!(first.number("cache_id"), 2);
    clean(with("verify", &paths, &[]));
    let again = clean(with("migrate", &paths, &["--to", "3", "--json"])).lines();
    assert!(statuses(&again).iter().all(|(_, status)| status == "unchanged"));
    assert_eq!(run(with("migrate", &paths, &["--to", "2"])).code, 2);
    let other = run(["migrate", &golden_of("sedpack", "fb_lz4/data"), "--to", "3"]);
    assert!(other.stderr.contains("[cli/migrate]"), "{}", other.stderr);
}

#[test]
fn what_a_killed_writer_left_is_salvaged() {
    let folder = tempfile::tempdir().unwrap();
    let source = golden_of("datasetrt", "v3_shards_none/data/shards_none_s1");
    let target = folder.path().join("caches");
    let target = target.to_str().unwrap();
    clean(["convert", &source, target, "--to", "datasetrt"]);
    let stage = Path::new(target).join("tmp/left");
    std::fs::create_dir_all(stage.join("shards")).unwrap();
    std::fs::write(stage.join("shards/000000.bin"), b"half a record").unwrap();
    let run = run(["repair", "--json", target]);
    let summary = run.lines().pop().unwrap();
    assert_eq!(summary.text("command"), "repair");
    assert!(run.code <= 1, "{}", run.stderr);
    clean(["diff", &source, target]);
}

/// A descriptor a cache would be too much for the system.
#[test]
fn a_thousand_caches_are_read_with_64_descriptors() {
    let folder = tempfile::tempdir().unwrap();
    let source = PathBuf::from(golden_of("datasetrt", "v3_single_sample/data/single_sample_s1"));
    let manifest = std::fs::read_to_string(source.join("manifest.json")).unwrap();
    let id = manifest.split("\"cache_id\": ").nth(1).unwrap().split(',').next().unwrap().to_owned();
    let paths: Vec<String> = (0..1000)
        .map(|number| {
            let target = folder.path().join(number.to_string());
            copy_folder(&source, &target);
            let text = manifest.replace(&id, &number.to_string());
            std::fs::write(target.join("manifest.json"), text).unwrap();
            target.display().to_string()
        })
        .collect();
    let view = folder.path().join("view.json").display().to_string();
    let limited = |arguments: Vec<String>| {
        let output = Command::new("sh")
            .args(["-c", "ulimit -n 64 && exec \"$0\" \"$@\""])
            .arg(program().get_program())
            .args(arguments)
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{text}");
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(limited(with("dump", &paths, &[])).lines().count(), 1000);
    let rest = ["--where", "cache_id >= 500", "--save", &view, "--count"];
    assert_eq!(limited(with("select", &paths, &rest)), "500 of 1,000 samples\n");
    assert_eq!(limited(vec!["dump".to_owned(), view]).lines().count(), 500);
    assert_eq!(limited(with("migrate", &paths, &["--to", "3", "--json"])).lines().count(), 1001);
}

/// A dataset of `collections` with the same samples each: 30 of 1000 bytes and one of 300,000.
fn made(path: &Path, format: &str, collections: &[&str]) {
    let format = packstone::registry::format(format).unwrap();
    let field = Field::new("data", DType::Bytes, []);
    let schema = Arc::new(Schema::new(vec![field]));
    let lens = std::iter::repeat_n(1000, 30).chain([300_000]);
    let (mut data, mut ends) = (Vec::new(), Vec::new());
    for (row, len) in lens.enumerate() {
        data.extend(std::iter::repeat_n(u8::try_from(row).unwrap(), len));
        ends.push(data.len());
    }
    let column = Column::ragged(Buf::from(data), ends).unwrap();
    let batch = Batch::new(Arc::clone(&schema), column.rows(), vec![column]).unwrap();
    let batch = batch.with_metadata(Arc::new(Object::from_iter([("label", Value::from(3))])));
    let names = collections.iter().map(|name| ((*name).to_owned(), None)).collect();
    let plan = Plan { schema, collections: names, ..Plan::default() };
    let root = site::target(path, format).unwrap();
    let mut writer = format.create(root, &plan, &Object::new()).unwrap();
    collections.iter().for_each(|name| writer.write(name, &batch).unwrap());
    writer.finish().unwrap();
}

#[test]
fn a_conversion_that_was_killed_goes_on_and_ends_with_the_same_bytes() {
    let temp = tempfile::tempdir().unwrap();
    let path = |name: &str| temp.path().join(name).display().to_string();
    made(&temp.path().join("source"), "sedpack", &["train"]);
    let (source, whole, target) = (path("source"), path("whole"), path("target"));
    let options = ["--to", "datasetrt", "--option", "max_shard_bytes=5000"];
    clean([&["convert", &source, &whole], &options[..]].concat());
    // The system kills who makes a file longer than that; the last sample needs one.
    let mut killed = Command::new("sh");
    killed.args(["-c", "ulimit -f 200; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_packstone")]);
    killed.args(["convert", &source, &target]).args(options);
    let killed = killed.output().unwrap();
    assert_eq!(killed.status.code(), None, "{}", String::from_utf8_lossy(&killed.stderr));
    assert!(temp.path().join("target/tmp").exists(), "nothing was left");
    assert_eq!(run(["inspect", &target]).code, 2);
    let again = run([&["convert", &source, &target], &options[..]].concat());
    assert_eq!(again.code, 2);
    assert!(again.stderr.contains("[site/exists]"), "{}", again.stderr);
    clean([&["convert", &source, &target], &options[..], &["--option", "resume=true"]].concat());
    for file in ["manifest.json", "index.bin", "metadata.arrow", "shards/000007.bin"] {
        let bytes = |folder: &str| std::fs::read(temp.path().join(folder).join("train").join(file));
        assert!(bytes("whole").unwrap() == bytes("target").unwrap(), "{file}");
    }
    clean(["verify", &target]);
}

#[test]
fn two_collections_are_compared_whatever_they_are_called() {
    let temp = tempfile::tempdir().unwrap();
    let (one, other) = (temp.path().join("one"), temp.path().join("other"));
    made(&one, "datasetrt", &["a", "b"]);
    made(&other, "sedpack", &["test"]);
    let named = |path: &Path, name: &str| format!("{}#{name}", path.display());
    let run = clean(["diff", &named(&one, "a"), &named(&one, "b"), "--json"]);
    assert_eq!(run.line().number("samples"), 31);
    let run = clean(["diff", &named(&one, "b"), &named(&other, "test")]);
    assert!(run.stderr.contains("equal: 31 samples compared"), "{}", run.stderr);
    let run = self::run(["diff", &named(&one, "a"), &named(&other, "b")]);
    assert_eq!(run.code, 2, "there is no such collection");
}

#[test]
fn a_selection_is_not_listed_where_its_file_is_there_already() {
    let temp = tempfile::tempdir().unwrap();
    let file = temp.path().join("view.json");
    std::fs::write(&file, "mine").unwrap();
    let [cache] = &caches("v3_many_rows")[..] else { panic!("one cache") };
    let run = run(["select", cache.as_str(), "--save", file.to_str().unwrap()]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
    assert_eq!(std::fs::read(&file).unwrap(), b"mine");
}
