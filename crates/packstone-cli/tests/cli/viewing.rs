//! `view`, and consent to absolute references.

use std::path::{Path, PathBuf};

use packstone_testkit::{Snapshot, copy_folder};
use tempfile::TempDir;

use crate::support::{Look, clean, golden, golden_of, run};

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A copy of a golden signal dataset as `source` in a folder of its own.
pub(crate) fn signals(case: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("source");
    copy_folder(Path::new(&golden_of("signal-dataset", &format!("{case}/data"))), &source);
    (folder, source)
}

/// The ids of the records of a dataset.
fn ids(call: &[&str]) -> Vec<String> {
    let lines = clean(["dump"].iter().chain(call)).lines();
    lines.iter().map(|line| line.text("id").to_owned()).collect()
}

#[test]
fn a_view_shows_records_of_its_source_in_the_order_asked_for() {
    let (folder, source) = signals("multi-shard");
    let before = Snapshot::of(&source);
    let view = folder.path().join("view");
    let call = ["view", text(&source), text(&view), "--index", "3,1,-1,1", "--json"];
    let made = clean(call).line();
    assert_eq!((made.number("records"), made.number("of")), (4, 5));
    assert_eq!(made.text("references"), "absolute");
    // Without consent nothing is read, and the option is named.
    let refused = run(["dump", text(&view)]);
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("[sds/path_absolute]"), "{}", refused.stderr);
    assert!(refused.stderr.contains("hint: `--follow DIR`"), "{}", refused.stderr);
    let elsewhere = run(["dump", text(&view), "--follow", text(&view)]);
    assert!(elsewhere.stderr.contains("[sds/path_absolute]"), "{}", elsewhere.stderr);
    for below in [&source, folder.path(), Path::new("/")] {
        assert_eq!(ids(&[text(&view), "--follow", text(below)]), ["q-1", "p-1", "q-2", "p-1"]);
    }
    clean(["verify", text(&view), "--follow", text(&source)]);
    let refused = run(["verify", text(&view)]);
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.contains("hint: `--follow DIR`"), "{}", refused.stderr);
    clean(["head", text(&view), "--follow", text(&source)]);
    clean(["inspect", "--sizes", text(&view), "--follow", text(&source)]);
    assert_eq!(Snapshot::of(&source), before);
    // A relative path to what is followed will do.
    let output = crate::support::program()
        .current_dir(folder.path())
        .args(["digest", "view", "--follow", "source"])
        .output()
        .unwrap();
    assert!(output.status.success());
}

#[test]
fn ranges_conditions_and_copies() {
    let (folder, source) = signals("multi-shard");
    let make = |name: &str, options: &[&str]| {
        let target = folder.path().join(name);
        clean(["view", text(&source), text(&target)].iter().chain(options));
        ids(&[text(&target), "--follow", text(&source)])
    };
    assert_eq!(make("a", &["--range", "1:3"]), ["p-1", "q-0"]);
    assert_eq!(make("b", &["--range", "3:"]), ["q-1", "q-2"]);
    assert_eq!(make("c", &[]).len(), 5);
    assert_eq!(make("d", &["--where", "base >= 20"]).len(), ids(&[text(&source)]).len() - 2);
    assert_eq!(make("e", &["--range", "2:2"]), Vec::<String>::new());
    let copy = folder.path().join("copy");
    let done = clean([
        "view",
        text(&source),
        text(&copy),
        "--index",
        "0,2",
        "--materialize",
        "--dataset-id",
        "mine",
    ]);
    assert_eq!(done.stdout.lines().count(), 1, "{}", done.stdout);
    assert_eq!(ids(&[text(&copy)]), ["p-0", "q-0"]);
    clean(["verify", text(&copy)]);
    let shown = clean(["inspect", text(&copy), "--json"]).line();
    assert_eq!(shown.at("native").text("dataset_id"), "mine");
    for (options, code) in [
        (&["--index", "5"][..], "ops/index_out_of_range"),
        (&["--index=-6"], "ops/index_out_of_range"),
        (&["--range", "4:9"], "ops/index_out_of_range"),
        (&["--range", "3:2"], "ops/index_out_of_range"),
        (&["--where", "((("], "expr/"),
        (&["--snapshot-id", "../x"], "sds/id_invalid"),
        (&["--metadata", "7"], "cli/usage"),
    ] {
        let target = folder.path().join("never");
        let refused = run(["view", text(&source), text(&target)].iter().chain(options));
        assert_eq!(refused.code, 2);
        assert!(refused.stderr.contains(code), "{options:?}: {}", refused.stderr);
        assert!(!target.exists(), "{options:?}");
    }
    let taken = run(["view", text(&source), text(&copy)]);
    assert!(taken.stderr.contains("[site/exists]"), "{}", taken.stderr);
    let other = run(["view", &golden("fb_lz4"), text(&folder.path().join("never"))]);
    assert!(other.stderr.contains("expected a SignalDataset"), "{}", other.stderr);
}

#[test]
fn a_view_around_its_source_moves_with_it() {
    let (folder, source) = signals("annotations");
    let made = clean(["view", text(&source), text(folder.path()), "--index", "0", "--json"]).line();
    assert_eq!(made.text("references"), "relative");
    let moved = tempfile::tempdir().unwrap();
    copy_folder(folder.path(), &moved.path().join("there"));
    let there = moved.path().join("there");
    clean(["verify", text(&there)]);
    let lines = clean(["dump", text(&there)]).lines();
    assert!(lines.len() > 1, "annotation sets go along");
}

#[test]
fn what_was_noted_about_fields_goes_along() {
    let folder = tempfile::tempdir().unwrap();
    let [signals, view] = ["signals", "view"].map(|name| folder.path().join(name));
    clean(["convert", &golden("fb_text_and_bytes"), text(&signals), "--to", "sds"]);
    let source = format!("{}#train", text(&signals));
    clean(["view", &source, text(&view)]);
    let digest = |call: &[&str]| clean(["digest"].iter().chain(call)).stdout;
    let expected = digest(&[&source]);
    assert_eq!(digest(&[text(&view), "--follow", text(&signals)]), expected);
}

#[test]
fn a_view_of_nothing_says_why_that_may_be() {
    let (folder, source) = signals("multi-shard");
    let view = folder.path().join("view");
    let made = clean(["view", text(&source), text(&view), "--where", "nosuch > 3"]);
    assert!(made.stdout.starts_with("published 0 of 5 records"), "{}", made.stdout);
    assert!(made.stderr.contains("a name that no sample has is null"), "{}", made.stderr);
}
