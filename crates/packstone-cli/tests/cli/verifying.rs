//! `verify`, `digest`, `diff`, `bench`.

use packstone::json::Value;
use packstone_testkit::{copy_folder, good_cases};

use crate::support::{Look, clean, expected, golden, run};

#[test]
fn whole_datasets_are_clean() {
    for case in ["fb_lz4", "npz_zip", "tfrec_gzip", "tiny_aes_like", "fb_empty"] {
        let clean_run = clean(["verify", &golden(case)]);
        assert_eq!(clean_run.stdout, "", "{case}");
        assert!(clean_run.stderr.starts_with("clean: "), "{case}: {}", clean_run.stderr);
        let line =
            clean(["verify", "--json", "--threads", "1", &golden(case)]).lines().pop().unwrap();
        assert_eq!((line.text("type"), line.text("command")), ("summary", "verify"));
        assert_eq!(line.number("schema_version"), 1);
        assert!(line.flag("clean"));
    }
}

#[test]
fn damage_is_a_finding_and_exit_code_1() {
    for (case, code) in [
        ("fb_flipped_byte", "sedpack/hash_mismatch"),
        ("fb_missing_shard", "sedpack/missing_file"),
        ("truncated_dataset_info", "sedpack/json_invalid"),
        ("version_too_new", "sedpack/version_too_new"),
        ("unknown_compression", "sedpack/unknown_compression"),
    ] {
        let path = golden(&format!("bad/{case}"));
        let found = run(["verify", &path]);
        assert_eq!(found.code, 1, "{case}: {}", found.stderr);
        let ends = |line: &str| line.starts_with("error: ") && line.ends_with(&format!("[{code}]"));
        assert!(found.stdout.lines().any(ends), "{case}: {}", found.stdout);
        let json = run(["verify", &path, "--json"]);
        assert_eq!(json.code, 1, "{case}");
        let lines = json.lines();
        assert_eq!(lines[0].text("type"), "finding", "{case}");
        assert!(
            lines.iter().any(|line| line.get("code").is_some_and(|c| c.as_str() == Some(code))),
            "{case}"
        );
        let last = lines.last().unwrap();
        assert_eq!((last.text("type"), last.flag("clean")), ("summary", false), "{case}");
    }
    assert_eq!(run(["verify", &golden("bad/missing_dataset_info")]).code, 2);
}

#[test]
fn quick_hashes_nothing_and_expect_compares_the_root() {
    let flipped = golden("bad/fb_flipped_byte");
    assert_eq!(run(["verify", "--quick", &flipped]).code, 0);
    let path = golden("fb_multi_hash");
    let expected = expected("fb_multi_hash");
    let hashes = expected.at("root_checksums").as_array().unwrap().iter();
    let hashes: Vec<&str> = hashes.map(|hash| hash.as_str().unwrap()).collect();
    let mut arguments = vec!["verify", &path, "--expect"];
    arguments.extend(&hashes);
    clean(&arguments);
    let wrong = hashes[0].replace(|c: char| c.is_ascii_hexdigit(), "0");
    arguments[3] = &wrong;
    let changed = run(&arguments);
    assert_eq!(changed.code, 1, "{}", changed.stderr);
    assert!(changed.stdout.contains("[sedpack/hash_mismatch]"), "{}", changed.stdout);
}

#[test]
fn recorded_digests_prove_content_later() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("digests.json").display().to_string();
    let path = golden("fb_multi_split");
    clean(["digest", &path, "--save", &file]);
    // A record is never written over.
    let again = run(["digest", &path, "--save", &file]);
    assert!(again.code == 2 && again.stderr.contains("[site/exists]"), "{}", again.stderr);
    clean(["verify", &path, "--against", &file]);
    // The same content in another container is the same content.
    let other = folder.path().join("other").display().to_string();
    clean(["convert", &path, &other, "--to", "sedpack", "--compression", "ZSTD"]);
    clean(["verify", &other, "--against", &file]);
    let changed = run(["verify", &golden("fb_lz4"), "--against", &file]);
    assert_eq!(changed.code, 1, "{}", changed.stderr);
    assert!(changed.stdout.contains("[ops/digest_differs]"), "{}", changed.stdout);
    std::fs::write(&file, b"{\"packstone_digest\":2}").unwrap();
    let refused = run(["verify", &path, "--against", &file]);
    assert!(
        refused.code == 2 && refused.stderr.contains("[ops/digest_record]"),
        "{}",
        refused.stderr
    );
}

#[test]
fn several_datasets_need_a_format_that_reads_them_as_one() {
    let paths = [golden("fb_lz4"), golden("fb_none")];
    let refused = run(["dump", &paths[0], &paths[1]]);
    assert!(
        refused.code == 2 && refused.stderr.contains("[format/one_root]"),
        "{}",
        refused.stderr
    );
    let found = run(["verify", &paths[0], &paths[1]]);
    assert!(found.code == 2 && found.stderr.contains("[format/one_root]"), "{}", found.stderr);
}

#[test]
fn digests_tell_content_apart_and_nothing_else() {
    let path = golden("tiny_aes_like");
    let lines = clean(["digest", "--json", &path]).lines();
    assert_eq!(lines.len(), 3);
    for line in &lines {
        assert_eq!((line.text("type"), line.number("schema_version")), ("digest", 1));
        for name in ["values", "values_unordered", "full", "full_unordered"] {
            assert_eq!(line.text(name).len(), 64);
        }
        let name = line.text("collection");
        let own = clean(["digest", "--json", "--threads", "0", &format!("{path}#{name}")]).line();
        assert_eq!(&own, line);
        assert!(clean(["digest", &path]).stdout.contains(line.text("full")));
    }
    assert_ne!(lines[0].text("values"), lines[1].text("values"));
}

#[test]
fn diff_exits_with_1_where_content_differs() {
    for case in good_cases("sedpack").iter().take(5) {
        let path = case.data.to_str().unwrap();
        let run = clean(["diff", path, path]);
        assert!(run.stdout.is_empty() && run.stderr.starts_with("equal: "), "{}", run.stderr);
    }
    let (a, b) = (golden("fb_lz4"), golden("fb_gzip"));
    let differ = run(["diff", &a, &b, "--limit", "2"]);
    assert_eq!(differ.code, 1);
    assert!(differ.stdout.starts_with("train #0 x: expected "), "{}", differ.stdout);
    assert!(differ.stdout.contains("more differences"), "{}", differ.stdout);
    let lines = run(["diff", &a, &b, "--limit", "2", "--json"]).lines();
    assert_eq!(lines.len(), 3);
    assert_eq!((lines[0].text("type"), lines[0].number("index")), ("difference", 0));
    assert_eq!((lines[2].text("command"), lines[2].flag("equal")), ("diff", false));
    let sides = run(["diff", &format!("{a}#train"), &format!("{b}#test")]);
    assert_eq!(sides.code, 2);
    assert!(sides.stderr.contains("found \"test\" (in the second dataset)"), "{}", sides.stderr);
}

#[test]
fn reading_touches_nothing() {
    let folder = tempfile::tempdir().unwrap();
    copy_folder(golden("fb_tree_small_branching").as_ref(), folder.path());
    let before = packstone_testkit::Snapshot::of(folder.path());
    let path = folder.path().to_str().unwrap();
    for arguments in [
        &["inspect", "--sizes"][..],
        &["head"],
        &["dump"],
        &["verify"],
        &["digest"],
        &["bench"],
        &["repair", "--dry-run"],
    ] {
        clean(arguments.iter().chain([&path]));
    }
    assert_eq!(packstone_testkit::Snapshot::of(folder.path()), before);
}

#[test]
fn bench_measures_reads_beside_the_machine() {
    let path = golden("fb_large_lz4");
    let lines = clean(["bench", "--json", "--rounds", "1", "--threads", "2", &path]).lines();
    let names: Vec<&str> = lines
        .iter()
        .filter(|line| line.text("type") == "rate")
        .map(|line| line.text("what"))
        .collect();
    for name in [
        "first epoch, checksums compared",
        "batches of 256",
        "sample by sample",
        "random samples",
        "memory copy",
        "sha256",
        "lz4 decoding",
    ] {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
    assert_eq!(lines.last().unwrap().text("command"), "bench");
    let codec = |line: &&Value| line.get("what").and_then(Value::as_str) == Some("lz4 decoding");
    let threads = lines.iter().filter(codec).map(|line| line.number("threads"));
    assert_eq!(threads.collect::<Vec<_>>(), [1, 2]);
    let part = |line: &&Value| line.get("of_codec").is_some_and(|part| part.as_number().is_some());
    let read = lines.iter().filter(part).map(|line| line.text("what"));
    assert!(read.clone().any(|what| what == "batches of 256"), "{:?}", read.collect::<Vec<_>>());
    let text = clean(["bench", "--rounds", "1", &path]).stdout;
    assert!(text.contains("/s") && text.contains("of codec"), "{text}");
    let plain = clean(["bench", "--rounds", "1", &golden("fb_all_dtypes")]).stdout;
    assert!(!plain.contains("of codec") && plain.contains("peak memory"), "{plain}");
}
