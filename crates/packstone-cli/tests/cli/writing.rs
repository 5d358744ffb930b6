//! `convert`, `merge`, `repair`, `demo`.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use packstone_testkit::{Snapshot, copy_folder, golden_folder};

use crate::support::{Look, clean, golden, golden_of, program, run};

#[test]
fn convert_writes_equal_content_in_another_shape() {
    let folder = tempfile::tempdir().unwrap();
    for (case, shard_type, compression) in [
        ("tiny_aes_like", "npz", "ZIP"),
        ("fb_text_and_bytes", "tfrec", "GZIP"),
        ("npz_all_dtypes", "fb", "none"),
        ("tfrec_none", "fb", ""),
    ] {
        let (source, target) = (golden(case), folder.path().join(case));
        let target = target.to_str().unwrap();
        let run = clean([
            "convert",
            &source,
            target,
            "--to",
            "sedpack",
            "--shard-type",
            shard_type,
            "--compression",
            compression,
            "--hash",
            "md5",
            "sha256",
            "--examples-per-shard",
            "4",
        ]);
        assert!(run.stdout.contains("content is equal"), "{case}: {}", run.stdout);
        clean(["diff", &source, target]);
        clean(["verify", target]);
        let line = clean(["inspect", "--json", target]).line();
        let structure = line.at("native").at("dataset_structure");
        let none = if compression == "none" { "" } else { compression };
        assert_eq!(structure.text("shard_file_type"), shard_type);
        assert_eq!(structure.text("compression"), none);
        assert_eq!(structure.number("examples_per_shard"), 4);
        assert_eq!(structure.at("hash_checksum_algorithms").to_string(), r#"["md5","sha256"]"#);
        let digests = |path: &str| clean(["digest", path]).stdout;
        assert_eq!(digests(&source), digests(target), "{case}");
    }
}

#[test]
fn convert_tells_fidelity_first_and_a_summary_last() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("new");
    let target = target.to_str().unwrap();
    let source = format!("{}#test", golden("tiny_aes_like"));
    let options = ["--option", "shard_type=\"fb\"", "compression=ZSTD"];
    let lines =
        clean(["convert", &source, target, "--to", "sedpack", "--json"].iter().chain(&options))
            .lines();
    assert_eq!(lines.len(), 2);
    assert_eq!((lines[0].text("type"), lines[0].flag("lossless")), ("fidelity", true));
    assert_eq!((lines[1].text("type"), lines[1].text("command")), ("summary", "convert"));
    assert_eq!(lines[1].number("samples"), 8);
    assert_eq!(lines[1].at("proofs").as_array().unwrap()[0].text("equal"), "full");
    let info = clean(["inspect", "--json", target]).line();
    assert_eq!(info.at("collections").as_array().unwrap().len(), 1);
    assert_eq!(info.at("native").at("dataset_structure").text("compression"), "ZSTD");
}

#[test]
fn an_existing_target_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let source = golden("fb_lz4");
    let empty = folder.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, b"mine").unwrap();
    let dataset = folder.path().join("dataset");
    copy_folder(golden("fb_gzip").as_ref(), &dataset);
    let before = Snapshot::of(folder.path());
    for target in [&empty, &file, &dataset] {
        let refused = run(["convert", &source, target.to_str().unwrap(), "--to", "sedpack"]);
        assert_eq!(refused.code, 2, "{}", refused.stderr);
        assert!(refused.stderr.contains("[site/exists]\nhint: "), "{}", refused.stderr);
    }
    assert_eq!(Snapshot::of(folder.path()), before);
}

#[test]
fn a_conversion_that_fails_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("new");
    let target_text = target.to_str().unwrap();
    for (source, options, code) in [
        (golden("bad/fb_missing_shard"), &[][..], "sedpack/missing_file"),
        (golden("fb_lz4"), &["--compression", "ZIP"], "sedpack/unsupported_combination"),
        (golden("fb_lz4"), &["--option", "colour=1"], "sedpack/option_invalid"),
        (golden("fb_lz4"), &["--option", "colour"], "cli/usage"),
        (golden("fb_lz4"), &["--hash", "sha2"], "sedpack/option_invalid"),
        (golden("fb_lz4"), &["--collection", "nosuch"], "sedpack/unknown_split"),
    ] {
        let failed =
            run(["convert", &source, target_text, "--to", "sedpack"].iter().chain(options));
        assert_eq!(failed.code, 2, "{code}");
        assert!(failed.stderr.contains(&format!("[{code}]")), "{code}: {}", failed.stderr);
        assert!(!target.exists(), "{code}");
    }
    let format = run(["convert", &golden("fb_lz4"), target_text, "--to", "nosuch"]);
    assert!(format.stderr.contains("[format/unknown]"), "{}", format.stderr);
}

#[test]
fn workers_write_parts_that_merge_joins() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("shared");
    let target = target.to_str().unwrap();
    let source = format!("{}#train", golden("tiny_aes_like"));
    clean(["convert", &source, target, "--to", "sedpack"]);
    for part in ["a", "b"] {
        clean(["convert", &source, target, "--to", "sedpack", "--part", part]);
        let samples = clean(["inspect", "--json", target]).line().number("samples");
        assert_eq!(samples, 24, "nothing is seen before the merge");
    }
    let missing = run(["merge", target, "--expect", "3"]);
    assert_eq!(missing.code, 2);
    assert!(missing.stderr.contains("[sedpack/parts_invalid]"), "{}", missing.stderr);
    let line = clean(["merge", target, "--expect", "2", "--json"]).line();
    assert_eq!((line.text("command"), line.number("schema_version")), ("merge", 1));
    clean(["merge", target, "a", "b"]);
    clean(["verify", target]);
    assert_eq!(clean(["inspect", "--json", target]).line().number("samples"), 72);
}

#[test]
fn repair_tells_what_it_did() {
    let folder = tempfile::tempdir().unwrap();
    copy_folder(golden("fb_lz4").as_ref(), folder.path());
    let path = folder.path().to_str().unwrap();
    let line = clean(["repair", path, "--json"]).line();
    assert_eq!((line.text("type"), line.text("command")), ("summary", "repair"));
    assert_eq!((line.number("salvaged"), line.number("left")), (0, 0));
    assert!(clean(["repair", path, "--dry-run"]).stdout.contains("would be"));
}

#[test]
fn the_demo_runs_and_writes_only_into_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("demo");
    let data = golden_folder("sedpack");
    let before = Snapshot::of(&data.join("tiny_aes_like"));
    let arguments =
        ["demo", "--to", target.to_str().unwrap(), "--data", data.to_str().unwrap(), "--json"];
    let lines = clean(arguments).lines();
    let (last, rows) = lines.split_last().unwrap();
    assert_eq!(rows.len(), 5);
    for row in rows {
        assert!(row.flag("equal") && row.number("findings") == 0, "{row}");
    }
    assert_eq!(rows[4].number("value_bytes"), 4096 * (8192 * 2 + 4));
    assert!(last.flag("clean"));
    assert_eq!(last.text("folder"), target.to_str().unwrap());
    assert_eq!(Snapshot::of(&data.join("tiny_aes_like")), before);
    let again = run(arguments);
    assert_eq!((again.code, again.line().text("kind").to_owned()), (2, "exists".to_owned()));
    interrupted(&target.join("made"), &folder.path().join("new"));
    let nowhere = folder.path().join("nowhere");
    let absent = run(["demo", "--data", nowhere.to_str().unwrap(), "--json"]);
    assert_eq!(
        (absent.code, absent.line().text("code").to_owned()),
        (2, "cli/no_demo_data".to_owned())
    );
}

/// Ctrl-C in the middle of a conversion that takes long: nothing is left of it.
fn interrupted(source: &Path, target: &Path) {
    let mut child = program()
        .args(["convert", source.to_str().unwrap(), target.to_str().unwrap()])
        .args(["--to", "sedpack", "--compression", "LZMA"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while !target.join("train").exists() {
        assert!(child.try_wait().unwrap().is_none(), "ended before it wrote anything");
        std::thread::sleep(Duration::from_millis(5));
    }
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{stderr}");
    assert!(stderr.starts_with("error: "), "{stderr}");
    assert!(!target.exists());
}

#[test]
fn names_of_options_are_known_in_any_case() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let source = golden("fb_lz4");
    let sedpack = path("a");
    let options = ["--shard-type", "FB", "--compression", "zstd", "--hash", "SHA256", "Xxh64"];
    clean(["convert", &source, &sedpack, "--to", "sedpack"].iter().chain(&options));
    let info = clean(["inspect", "--json", &sedpack]).line();
    let structure = info.at("native").at("dataset_structure");
    assert_eq!(structure.text("compression"), "ZSTD");
    for (name, compression) in [("b", "None"), ("c", "LZ4"), ("d", "none")] {
        let options = ["--to", "datasetrt", "--compression", compression];
        clean(["convert", &source, &path(name)].iter().chain(&options));
    }
}

#[test]
fn the_plan_promises_no_more_than_it_knows() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("new");
    let target = target.to_str().unwrap();
    let source = golden("fb_lz4");
    let told = clean(["convert", &source, target, "--to", "sedpack"]);
    let line = "lossless: by its schema nothing is lost; values are checked as they are written";
    assert!(told.stdout.contains(line), "{}", told.stdout);
}

#[test]
fn what_the_original_cannot_read_in_a_copy_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let cache = golden_of("datasetrt", "v3_nonfinite/data/nonfinite_s1");
    let to = ["--to", "datasetrt"];
    let told = clean(["convert", &cache, &path("a")].iter().chain(&to));
    let kept = told.stdout.lines().find(|line| line.starts_with("kept ")).unwrap();
    assert!(kept.contains("not finite") && kept.contains("from sample "), "{kept}");
    assert!(told.stdout.contains("the original library cannot read the copy"), "{}", told.stdout);
    let lines = clean(["convert", &cache, &path("b"), "--json"].iter().chain(&to)).lines();
    assert!(lines[0].flag("lossless"));
    for line in &lines {
        let kept = &line.at("unreadable").as_array().unwrap()[0];
        assert_eq!(kept.text("collection"), "nonfinite_s1");
        assert!(kept.number("sample") < 100 && !kept.text("field").is_empty());
    }
    let refused = run(["convert", &cache, &path("c"), "--strict"].iter().chain(&to));
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("[ops/unreadable]\nhint: "), "{}", refused.stderr);
    assert!(!folder.path().join("c").exists());
}
