//! Exit codes, messages and hints.

use crate::support::{Look, golden, run};

#[test]
fn what_is_not_there_is_a_failure_with_a_place() {
    for command in ["inspect", "head", "dump", "verify", "merge", "repair", "digest", "bench"] {
        let run = run([command, "no/such/folder"]);
        assert_eq!(run.code, 2, "{command}");
        assert_eq!(run.stdout, "", "{command}");
        assert!(run.stderr.starts_with("error: no/such/folder: "), "{command}: {}", run.stderr);
        assert!(run.stderr.contains("[io/not_found]"), "{command}: {}", run.stderr);
    }
}

#[test]
fn a_folder_that_is_no_dataset_is_a_failure_with_a_hint() {
    let folder = tempfile::tempdir().unwrap();
    for command in ["inspect", "verify", "repair"] {
        let run = run([command, folder.path().to_str().unwrap()]);
        assert_eq!(run.code, 2, "{command}");
        assert!(run.stderr.contains("[format/unrecognized]\nhint: "), "{command}: {}", run.stderr);
    }
}

#[test]
fn an_unknown_collection_names_those_there_are() {
    let path = golden("fb_multi_split");
    for command in ["inspect", "head", "dump", "digest"] {
        let run = run([command, &format!("{path}#nosuch")]);
        assert_eq!(run.code, 2, "{command}");
        for name in ["train", "test", "\"nosuch\"", "[sedpack/unknown_split]"] {
            assert!(run.stderr.contains(name), "{command}: {}", run.stderr);
        }
    }
    // A whole dataset is checked, not a part of it.
    assert!(run(["verify", &format!("{path}#train")]).stderr.contains("[cli/usage]"));
}

#[test]
fn with_json_a_failure_is_an_object_on_standard_output() {
    for arguments in [
        &["inspect", "no/such", "--json"][..],
        &["--json", "dump", "no/such"],
        &["--json", "verify", "no/such"],
    ] {
        let run = run(arguments);
        assert_eq!((run.code, run.stderr.as_str()), (2, ""));
        let line = run.line();
        assert_eq!((line.text("type"), line.text("code")), ("error", "io/not_found"));
        assert_eq!((line.text("kind"), line.text("file")), ("not_found", "no/such"));
        assert_eq!(line.number("schema_version"), 1);
        assert!(!line.text("message").is_empty());
    }
    let usage = run(["inspect", "--nosuch", "--json"]);
    assert_eq!((usage.code, usage.line().text("code").to_owned()), (2, "cli/usage".to_owned()));
}

#[test]
fn samples_before_a_fault_are_printed() {
    let path = golden("bad/fb_missing_shard");
    let broken = run(["dump", &path, "--json", "--threads", "2"]);
    assert_eq!(broken.code, 2);
    let lines = broken.lines();
    let (last, before) = lines.split_last().unwrap();
    assert_eq!(last.text("code"), "sedpack/missing_file");
    assert!(before.iter().all(|line| line.text("type") == "sample"));
    let text = run(["dump", &path]);
    assert!(text.stderr.contains("[sedpack/missing_file]\nhint: "), "{}", text.stderr);
}

#[test]
fn arguments_that_make_no_sense_are_failures() {
    for arguments in [
        &[][..],
        &["nosuch"],
        &["dump"],
        &["dump", "x", "--limit", "-1"],
        &["dump", "x", "--threads", "100000"],
        &["bench", "x", "--batch", "0"],
        &["convert", "x", "y"],
    ] {
        let run = run(arguments);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{arguments:?}");
        assert!(run.stderr.contains("Usage") || run.stderr.contains("error:"), "{arguments:?}");
    }
}
