//! `annotate`: from JSON Lines and from datasets, at once and by workers.

use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;

use packstone_testkit::Snapshot;

use crate::support::{Look, Run, clean, golden, golden_of, program, run};
use crate::viewing::signals;

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

const LINES: &str = r#"{"id": "p-0", "index": 0, "values": {"label": 3}, "provenance": {"by": "x"}}

{"fields": {"mask": {"dtype": "uint8", "data": [[1, 2], [3, 4]]}}, "status": "success"}
{"id": "q-0", "status": "skipped", "detail_status": "blurred"}
{"status": "failed", "values": null}
{}
"#;

/// Annotates with lines from standard input.
fn piped(dataset: &Path, lines: &str, options: &[&str]) -> Run {
    let mut command = program();
    command.args(["annotate", text(dataset), "-"]).args(options);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    Run {
        code: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

#[test]
fn lines_become_a_set() {
    let (_folder, source) = signals("multi-shard");
    let done = piped(&source, LINES, &["--name", "labels", "--metadata", r#"{"v": 1}"#]);
    assert_eq!(done.code, 0, "{}", done.stderr);
    let said =
        "published the annotation set \"labels\", 5 records: 3 success, 1 skipped, 1 failed\n";
    assert_eq!(done.stdout, said);
    clean(["verify", text(&source)]);
    let set = format!("{}#annotations/labels", text(&source));
    let lines = clean(["dump", "--values", &set]).lines();
    assert_eq!(lines.len(), 5);
    let about = lines[0].at("metadata").at("annotation");
    assert_eq!((lines[0].text("id"), about.at("values").number("label")), ("p-0", 3));
    assert!(lines[1].to_string().contains("[[1,2],[3,4]]"), "{}", lines[1]);
    assert_eq!(lines[2].at("metadata").at("annotation").text("detail_status"), "blurred");
    // Again it is the same; with other content the name is taken.
    let catalog = || std::fs::read(source.join("annotations/catalog.json")).unwrap();
    let before = catalog();
    assert_eq!(piped(&source, LINES, &["--name", "labels", "--metadata", r#"{"v": 1}"#]).code, 0);
    let other = piped(&source, LINES, &["--name", "labels"]);
    assert!(other.stderr.contains("[sds/collision]"), "{}", other.stderr);
    assert_eq!(catalog(), before);
    clean(["verify", text(&source)]);
}

#[test]
fn bad_lines_are_named_and_leave_nothing() {
    let (_folder, source) = signals("multi-shard");
    let before = Snapshot::of(&source);
    let five = |line: &str| format!("{{}}\n{line}\n{{}}\n{{}}\n{{}}\n");
    for (lines, expected) in [
        (five("{"), "line 2: "),
        (five("[]"), "line 2: "),
        (five(r#"{"id": "nobody"}"#), "line 2: expected the id \"p-1\" of record 1"),
        (five(r#"{"index": 7}"#), "line 2: expected an annotation of record 1"),
        (five(r#"{"status": "done"}"#), "line 2: $.status: expected success, skipped or failed"),
        (five(r#"{"colour": 1}"#), "line 2: $: expected no keys but"),
        (
            five(r#"{"fields": {"x": {"dtype": "uint8", "data": [256]}}}"#),
            "line 2: $.fields.x.data[0]: expected a value of uint8",
        ),
        (five(r#"{"fields": {"x": [[1], [2, 3]]}}"#), "line 2: $.fields.x[1]: expected 1 items"),
        (five(r#"{"id": 1, "id": 2}"#), "[sds/duplicate_key]"),
        (five(r#"{"fields": {"": [1]}}"#), "record 1, field \"\": expected names that differ"),
        (five(r#"{"detail_status": ""}"#), "record 1: expected a detail that is not empty"),
        ("{}\n{}\n".to_owned(), "[sds/coverage]"),
        ("{}\n".repeat(6), "line 6: expected annotations of 5 records, found more"),
    ] {
        let refused = piped(&source, &lines, &["--name", "labels"]);
        assert_eq!(refused.code, 2, "{lines}");
        assert!(refused.stderr.contains(expected), "{lines}: {}", refused.stderr);
        assert_eq!(Snapshot::of(&source), before, "{lines}");
    }
    let named = piped(&source, LINES, &["--name", "no/name"]);
    assert!(named.stderr.contains("[sds/id_invalid]"), "{}", named.stderr);
    let other = run(["annotate", &golden("fb_lz4"), text(&source), "--name", "x"]);
    assert!(other.stderr.contains("expected a SignalDataset"), "{}", other.stderr);
    let twice = piped(&source, LINES, &["--name", "x", "--metadata", r#"{"a": 1, "a": 2}"#]);
    assert!(twice.stderr.contains("[cli/usage]"), "{}", twice.stderr);
    assert_eq!(Snapshot::of(&source), before);
}

#[test]
fn what_was_written_in_other_words_can_be_annotated() {
    let folder = tempfile::tempdir().unwrap();
    let signals = folder.path().join("signals");
    let records = golden_of("arrayrecord", "three_none.arrayrecord");
    clean(["convert", &records, text(&signals), "--to", "sds"]);
    let before = clean(["dump", text(&signals)]).stdout;
    let done = piped(&signals, "{}\n{}\n{\"fields\": {\"x\": [1]}}\n", &["--name", "labels"]);
    assert_eq!(done.code, 0, "{}", done.stderr);
    let after = clean(["dump", text(&signals)]).stdout;
    assert!(after.starts_with(&before), "{after}");
    assert_eq!(after.lines().count(), 6);
    let set = format!("{}#annotations/labels", text(&signals));
    assert_eq!(clean(["dump", &set]).lines()[2].at("fields").at("x").text("dtype"), "int64");
    for verb in ["digest", "verify", "head", "inspect", "select"] {
        clean([verb, text(&signals)]);
    }
    clean(["plan", &format!("{}#records", text(&signals))]);
    let back = folder.path().join("back.arrayrecord");
    let all = format!("{}#records", text(&signals));
    clean(["convert", &all, text(&back), "--to", "arrayrecord"]);
    clean(["diff", &records, text(&back)]);
}

#[test]
fn lines_in_any_order_name_their_records() {
    let (folder, source) = signals("multi-shard");
    let file = folder.path().join("labels.jsonl");
    let write = |lines: &[&str]| std::fs::write(&file, lines.join("\n")).unwrap();
    let annotate = |name: &str, more: &[&str]| {
        run(["annotate", text(&source), text(&file), "--name", name, "--by-id"].iter().chain(more))
    };
    write(&[r#"{"id": "q-2", "values": {"n": 9}}"#, r#"{"id": "p-1"}"#]);
    let refused = annotate("a", &[]);
    assert!(refused.stderr.contains("found none for \"p-0\""), "{}", refused.stderr);
    let done = annotate("a", &["--missing", "skipped"]);
    assert!(done.stdout.contains("2 success, 3 skipped"), "{} {}", done.stdout, done.stderr);
    let lines = clean(["dump", &format!("{}#annotations/a", text(&source))]).lines();
    assert_eq!(lines[4].at("metadata").at("annotation").at("values").number("n"), 9);
    for (lines, expected) in [
        (&["{}"][..], "line 1: expected the id of a record, found none"),
        (
            &[r#"{"id": "p-1"}"#, r#"{"id": "p-1"}"#],
            "line 2: expected \"p-1\" once, found it in line 1, too",
        ),
        (
            &[r#"{"id": "nobody"}"#],
            "line 1: expected the id of a record, found \"nobody\", which none has",
        ),
        (&[r#"{"id": "p-1", "index": 0}"#], "line 1: expected an annotation of record 1"),
    ] {
        write(lines);
        let refused = annotate("b", &["--missing", "failed"]);
        assert_eq!(refused.code, 2);
        assert!(refused.stderr.contains(expected), "{}", refused.stderr);
    }
    clean(["verify", text(&source)]);
}

#[test]
fn samples_of_other_datasets_become_annotations() {
    let (_folder, source) = signals("multi-shard");
    let labels = golden("fb_lz4");
    let count = clean(["dump", &format!("{labels}#train")]).lines().len();
    assert_eq!(count, 5, "the test wants as many samples as records");
    let done = run(["annotate", text(&source), &format!("{labels}#train"), "--name", "boxes"]);
    // Bytes of any length are none that a set can have.
    assert!(done.stderr.contains("field \"blob\""), "{} {}", done.stdout, done.stderr);
    let lines = "{}\n".repeat(5);
    assert_eq!(piped(&source, &lines, &["--name", "plain"]).code, 0);
    let set = format!("{}#annotations/plain", text(&source));
    clean(["annotate", text(&source), &set, "--name", "copy"]);
    clean(["annotate", text(&source), &set, "--name", "named", "--by-id"]);
    let whole = run(["annotate", text(&source), text(&source), "--name", "x"]);
    assert!(whole.stderr.contains("expected one collection"), "{}", whole.stderr);
    clean(["verify", text(&source)]);
}

#[test]
fn workers_write_shards_and_one_joins_them() {
    let (_folder, source) = signals("multi-shard");
    let shard = |id: &str, first: &str, lines: &str| {
        piped(&source, lines, &["--name", "w", "--worker", id, "--first", first, "--json"])
    };
    let join = || run(["annotate", text(&source), "--name", "w", "--publish", "--json"]);
    let first = shard("a", "0", "{}\n{\"status\":\"failed\"}\n").line();
    assert_eq!((first.text("done"), first.number("records")), ("wrote", 2));
    assert!(join().stdout.contains("sds/coverage"), "{}", join().stdout);
    assert!(!source.join("annotations/catalog.json").exists());
    // Who comes second with the same shard gets the first one back.
    let second = shard("a", "0", "{}\n{}\n").line();
    assert_eq!(second.at("statuses").number("failed"), 1);
    assert_eq!(shard("b", "2", "{}\n{}\n{\"id\":\"q-2\"}\n").code, 0);
    assert!(shard("c", "4", "{}\n{}\n").stdout.contains("sds/coverage"));
    let joined = join().line();
    assert_eq!((joined.number("shards"), joined.number("records")), (2, 5));
    assert_eq!(joined.at("statuses").number("success"), 4);
    assert_eq!(join().code, 0, "joining again changes nothing");
    clean(["verify", text(&source)]);
    let alone = run(["annotate", text(&source), "x", "--name", "w", "--worker", "a"]);
    assert_eq!(alone.code, 2);
}
