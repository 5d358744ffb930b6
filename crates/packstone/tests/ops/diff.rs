//! Differences between datasets.

use std::sync::Arc;

use packstone::model::{Batch, DType};
use packstone::ops::{DiffOptions, DiffReport, Level, diff};

use crate::fake::{FakeCollection, batch, counted, dataset, member, object, schema, witness};

fn compare(a: Vec<FakeCollection>, b: Vec<FakeCollection>, options: &DiffOptions) -> DiffReport {
    let (a, b) = (dataset(a), dataset(b));
    let reports: Vec<_> = [0, 1, 4]
        .into_iter()
        .map(|threads| {
            diff(a.as_ref(), b.as_ref(), &DiffOptions { threads, ..options.clone() }, None).unwrap()
        })
        .collect();
    assert!(reports.windows(2).all(|pair| pair[0] == pair[1]), "threads change nothing");
    reports[0].clone()
}

fn said(report: &DiffReport) -> Vec<String> {
    let line = |d: &packstone::ops::Difference| {
        let index = d.index.map_or(String::new(), |n| format!("[{n}]"));
        let field = d.field.as_ref().map_or(String::new(), |f| format!(".{f}"));
        format!("{}{index}{field}: {}", d.collection, d.what)
    };
    report.differences.iter().map(line).collect()
}

/// `counted` with other values at some samples, in shards of one.
fn changed(sizes: &[usize], at: &[i64]) -> FakeCollection {
    let plain = counted("a", sizes).resharded(1);
    let change = |(n, shard): (i64, &Batch)| {
        if !at.contains(&n) {
            return shard.clone();
        }
        batch(&plain.schema, &[vec![(n + 1000).to_le_bytes().to_vec(), b"other".to_vec()]], "{}")
    };
    FakeCollection::new(
        "a",
        Arc::clone(&plain.schema),
        (0..).zip(&plain.shards).map(change).collect(),
    )
}

#[test]
fn equal_content_in_other_shards_is_equal() {
    for (a, b) in [(vec![5, 5], 3), (vec![1, 0, 9], 10), (vec![10], 1), (vec![], 4)] {
        let (a, b) = (counted("a", &a), counted("a", &a).resharded(b));
        let len = a.len;
        for ignore_order in [false, true] {
            let options = DiffOptions { ignore_order, ..DiffOptions::default() };
            let report = compare(vec![a.clone()], vec![b.clone()], &options);
            assert_eq!(report, DiffReport { equal: true, samples: len, ..DiffReport::default() });
        }
    }
}

#[test]
fn each_difference_has_its_place() {
    let report =
        compare(vec![counted("a", &[4, 4])], vec![changed(&[8], &[2, 5])], &DiffOptions::default());
    assert_eq!(
        said(&report),
        [
            "a[2].n: expected 2, found 1002",
            "a[2].t: expected \"s2\", found \"other\"",
            "a[5].n: expected 5, found 1005",
            "a[5].t: expected \"s5\", found \"other\"",
        ]
    );
    assert_eq!((report.equal, report.more, report.samples), (false, 0, 8));
    let json = report.differences[1].to_json();
    assert_eq!(
        json.to_string(),
        r#"{"type":"difference","collection":"a","index":2,"field":"t","what":"expected \"s2\", found \"other\""}"#
    );
}

#[test]
fn the_first_ones_are_shown_and_the_rest_is_counted() {
    let all: Vec<i64> = (0..100).collect();
    let report =
        compare(vec![counted("a", &[100])], vec![changed(&[100], &all)], &DiffOptions::default());
    assert_eq!((report.differences.len(), report.more, report.equal), (20, 180, false));
    let json = report.to_json();
    assert_eq!(member(&json, "differences").as_u64(), Some(200));
    let silent = DiffOptions { limit: 0, ..DiffOptions::default() };
    let report = compare(vec![counted("a", &[100])], vec![changed(&[100], &[7])], &silent);
    assert_eq!((report.differences.len(), report.more, report.equal), (0, 2, false));
}

#[test]
fn collections_fields_and_lengths_are_compared_first() {
    let here = schema(&[
        ("x", DType::Float32, &[2]),
        ("gone", DType::UInt8, &[]),
        ("id", DType::Int, &[]),
    ]);
    let there = schema(&[
        ("id", DType::Int64, &[]),
        ("x", DType::Float32, &[1, 2]),
        ("new", DType::Bool, &[]),
    ]);
    let n = 1i64.to_le_bytes().to_vec();
    let a = batch(
        &here,
        &[vec![vec![0; 8], vec![1], n.clone()], vec![vec![0; 8], vec![1], n.clone()]],
        "{}",
    );
    let b = batch(&there, &[vec![n, vec![0; 8], vec![1]]], "{}");
    let report = compare(
        vec![FakeCollection::new("c", here, vec![a]), counted("only", &[1])],
        vec![FakeCollection::new("c", there, vec![b]), counted("other", &[1])],
        &DiffOptions::default(),
    );
    assert_eq!(
        said(&report),
        [
            "only: expected the collection, found none",
            "other: expected no such collection, found one",
            "c.x: expected float32 of shape [2], found float32 of shape [1, 2]",
            "c.gone: expected uint8 of shape [], found no such field",
            "c.new: expected no such field, found bool of shape []",
            "c: expected 2 samples, found 1",
        ]
    );
    // `int` and `int64` are one type, and the sample that both have is equal in it.
    assert_eq!(report.samples, 1);
}

#[test]
fn only_the_asked_collections_are_compared() {
    let options =
        |name: &str| DiffOptions { collections: vec![name.to_owned()], ..DiffOptions::default() };
    let a = || vec![counted("a", &[3]), counted("b", &[3])];
    let b = || vec![counted("a", &[3]), counted("b", &[2])];
    assert!(compare(a(), b(), &options("a")).equal);
    assert!(!compare(a(), b(), &options("b")).equal);
    let only = compare(a(), vec![counted("a", &[3])], &options("b"));
    assert_eq!(said(&only), ["b: expected the collection, found none"]);
    let (a, b) = (dataset(a()), dataset(b()));
    assert_eq!(
        diff(a.as_ref(), b.as_ref(), &options("z"), None).unwrap_err().code(),
        "fake/unknown"
    );
}

#[test]
fn metadata_count_at_the_full_level_only() {
    let a = counted("a", &[2, 2]);
    let mut b = a.clone();
    b.shards[1] = b.shards[1].clone().with_metadata(object(r#"{"k":1}"#));
    let mut c = a.clone();
    c.shards[1] = c.shards[1].clone().with_metadata(object(r#"{"k":1.0}"#));
    let full = compare(vec![a.clone()], vec![b.clone()], &DiffOptions::default());
    assert_eq!(
        said(&full),
        [
            "a[2]: expected metadata none, found {\"k\":1}",
            "a[3]: expected metadata none, found {\"k\":1}"
        ]
    );
    let full = compare(vec![b.clone()], vec![c], &DiffOptions::default());
    assert_eq!(said(&full)[0], "a[2]: expected metadata {\"k\":1}, found {\"k\":1.0}");
    for ignore_order in [false, true] {
        let values = DiffOptions { level: Level::Values, ignore_order, ..DiffOptions::default() };
        assert!(compare(vec![a.clone()], vec![b.clone()], &values).equal);
        let full = DiffOptions { ignore_order, ..DiffOptions::default() };
        assert!(!compare(vec![a.clone()], vec![b.clone()], &full).equal);
    }
}

#[test]
fn another_order_is_a_difference_unless_ignored() {
    let a = counted("a", &[3, 3]);
    let mut b = a.clone();
    b.shards.swap(0, 1);
    assert!(!compare(vec![a.clone()], vec![b.clone()], &DiffOptions::default()).equal);
    let bags = DiffOptions { ignore_order: true, ..DiffOptions::default() };
    assert!(compare(vec![a.clone()], vec![b], &bags).equal);
    let report = compare(vec![a], vec![changed(&[6], &[4])], &bags);
    assert_eq!(report.differences.len(), 1);
    assert!(report.differences[0].what.starts_with("expected samples of unordered digest "));
}

#[test]
fn faults_name_their_side() {
    let run = |a: FakeCollection, b: FakeCollection| {
        diff(dataset(vec![a]).as_ref(), dataset(vec![b]).as_ref(), &DiffOptions::default(), None)
            .unwrap_err()
    };
    let good = || counted("a", &[3, 3, 3]);
    for (error, side) in
        [(run(good().broken(1), good()), "first"), (run(good(), good().broken(1)), "second")]
    {
        assert_eq!((error.code(), error.place().file.as_deref()), ("fake/broken", Some("a/1")));
        assert!(error.message().ends_with(&format!("(in the {side} dataset)")), "{error}");
    }
    let mut short = good();
    short.shards.pop();
    for (error, side) in [(run(short.clone(), good()), "first"), (run(good(), short), "second")] {
        assert_eq!(error.code(), "ops/missing_sample");
        assert!(error.message().ends_with(&format!("(in the {side} dataset)")), "{error}");
    }
}

#[test]
fn it_stops_when_asked() {
    let (a, b) = (dataset(vec![counted("a", &[1; 90])]), dataset(vec![counted("a", &[1; 90])]));
    let (progress, _) = witness(3);
    let stopped =
        diff(a.as_ref(), b.as_ref(), &DiffOptions::default(), Some(&progress)).unwrap_err();
    assert_eq!(stopped.code(), "ops/cancelled");
}

#[test]
fn progress_counts_what_is_compared() {
    for (ignore_order, bytes) in [(false, 70), (true, 170)] {
        let (a, b) = (dataset(vec![counted("a", &[3, 4])]), dataset(vec![counted("a", &[10])]));
        let (progress, seen) = witness(u64::MAX);
        let options = DiffOptions { ignore_order, ..DiffOptions::default() };
        diff(a.as_ref(), b.as_ref(), &options, Some(&progress)).unwrap();
        assert_eq!(seen.seen(), (bytes, bytes));
    }
}
