//! The model lane, on a format that lives in memory.

use std::sync::Arc;

use packstone::format::Format;
use packstone::json::Value;
use packstone::model::Fidelity;
use packstone::ops::{ConvertOptions, ConvertReport, DiffOptions, Level, convert, diff, plan};
use packstone::{Kind, Limits, MemoryRoot, Result};

use crate::fake::{FakeCollection, FakeFormat, counted, dataset, member, object, witness};

fn two() -> Vec<FakeCollection> {
    let mut train = counted("train", &[4, 0, 3]);
    train.shards[2] = train.shards[2].clone().with_metadata(object(r#"{"k":1}"#));
    vec![train, counted("test", &[2])]
}

fn options() -> ConvertOptions {
    ConvertOptions { proof: true, threads: 2, ..ConvertOptions::default() }
}

fn run(format: &FakeFormat, root: &MemoryRoot, options: &ConvertOptions) -> Result<ConvertReport> {
    convert(dataset(two()), format, Arc::new(root.clone()), options, None)
}

#[test]
fn everything_arrives_and_is_proven() {
    for threads in [0, 1, 4] {
        let (format, root) = (FakeFormat::default(), MemoryRoot::new());
        let report = run(&format, &root, &ConvertOptions { threads, ..options() }).unwrap();
        assert_eq!((report.samples, report.written.samples, report.written.shards), (9, 9, 4));
        let proven: Vec<_> =
            report.digests.iter().map(|p| (p.source.name.as_str(), p.level)).collect();
        assert_eq!(proven, [("train", Some(Level::Full)), ("test", Some(Level::Full))]);
        assert!(report.digests.iter().all(|proof| proof.source == proof.result));
        let result = format.open(Arc::new(root), &Limits::default()).unwrap();
        assert!(
            diff(dataset(two()).as_ref(), result.as_ref(), &DiffOptions::default(), None)
                .unwrap()
                .equal
        );
        let json = report.to_json();
        assert_eq!(member(&json, "samples").as_u64(), Some(9));
        assert_eq!(
            member(&member(&json, "proofs").as_array().unwrap()[0], "equal").as_str(),
            Some("full")
        );
    }
}

#[test]
fn the_format_gets_plan_and_options() {
    let (format, root) = (FakeFormat::default(), MemoryRoot::new());
    let mut asked = options();
    asked.options.insert("level", Value::from(3));
    asked.collections = ["test", "train", "test"].map(str::to_owned).to_vec();
    let report = run(&format, &root, &asked).unwrap();
    let (plan, given) = format.seen.lock().unwrap().clone().unwrap();
    assert_eq!(plan.collections, [("test".to_owned(), Some(2)), ("train".to_owned(), Some(7))]);
    let (from, native) = plan.source.unwrap();
    assert_eq!((from.as_str(), native.get("made").and_then(Value::as_str)), ("fake", Some("up")));
    assert_eq!(plan.schema.fields.len(), 2);
    assert_eq!(given, asked.options);
    assert_eq!(report.samples, 9);
    asked.collections = vec!["train".to_owned()];
    assert_eq!(run(&FakeFormat::default(), &MemoryRoot::new(), &asked).unwrap().samples, 7);
    asked.collections = vec!["none".to_owned()];
    assert_eq!(
        run(&FakeFormat::default(), &MemoryRoot::new(), &asked).unwrap_err().code(),
        "fake/unknown"
    );
}

fn lossy(field: &str, carried: bool) -> FakeFormat {
    let mut losses = Fidelity::default();
    losses.add(field, "expected to stay, found no place for it", carried);
    FakeFormat { losses, ..FakeFormat::default() }
}

#[test]
fn losses_are_told_and_refused_when_strict() {
    let strict = ConvertOptions { strict: true, ..options() };
    let root = MemoryRoot::new();
    let refused = run(&lossy("t", false), &root, &strict).unwrap_err();
    assert_eq!((refused.code(), refused.kind()), ("ops/would_lose", Kind::Unsupported));
    assert!(refused.message().contains("t: expected to stay"), "{refused}");
    assert!(root.files().is_empty());
    // What is carried along elsewhere is not lost.
    assert!(run(&lossy("t", true), &MemoryRoot::new(), &strict).is_ok());
    for (format, level) in [
        (lossy("t", false), None),
        (lossy("t", true), Some(Level::Full)),
        (lossy("", false), Some(Level::Values)),
    ] {
        let report = run(&format, &MemoryRoot::new(), &options()).unwrap();
        assert_eq!(report.fidelity.losses.len(), 1);
        assert!(report.digests.iter().all(|proof| proof.level == level));
    }
    let (_, told) = plan(&dataset(two()), &lossy("t", false), &strict).unwrap();
    assert!(!told.is_lossless());
}

#[test]
fn collections_must_share_their_fields() {
    let mut other = counted("test", &[2]);
    other.schema = Arc::new(other.schema.project(&[0]));
    let source = dataset(vec![counted("train", &[2]), other]);
    let refused = plan(&source, &FakeFormat::default(), &options()).unwrap_err();
    assert_eq!(refused.code(), "ops/schemas_differ");
    let one = ConvertOptions { collections: vec!["test".to_owned()], ..options() };
    assert!(plan(&source, &FakeFormat::default(), &one).is_ok());
}

#[test]
fn faults_publish_nothing() {
    let root = MemoryRoot::new();
    for patience in 0..4 {
        let format = FakeFormat { patience: Some(patience), ..FakeFormat::default() };
        assert_eq!(run(&format, &root, &options()).unwrap_err().code(), "fake/full");
    }
    let broken = dataset(vec![counted("train", &[2, 2]).broken(1)]);
    let fault = convert(broken, &FakeFormat::default(), Arc::new(root.clone()), &options(), None)
        .unwrap_err();
    assert_eq!(fault.code(), "fake/broken");
    let mut short = counted("train", &[2, 2]);
    short.len = 5;
    let fault = convert(
        dataset(vec![short]),
        &FakeFormat::default(),
        Arc::new(root.clone()),
        &options(),
        None,
    );
    assert_eq!(fault.unwrap_err().code(), "ops/missing_sample");
    let many = dataset(vec![counted("train", &[1; 60])]);
    let (progress, seen) = witness(5);
    let fault =
        convert(many, &FakeFormat::default(), Arc::new(root.clone()), &options(), Some(&progress));
    assert_eq!(fault.unwrap_err().code(), "ops/cancelled");
    assert!(seen.seen().1 > 0);
    assert!(root.files().is_empty(), "nothing was published");
}

#[test]
fn a_target_in_use_is_refused() {
    let root = MemoryRoot::new();
    run(&FakeFormat::default(), &root, &options()).unwrap();
    let refused = run(&FakeFormat::default(), &root, &options()).unwrap_err();
    assert_eq!(refused.kind(), Kind::Exists);
}

#[test]
fn a_result_that_differs_fails_its_proof() {
    let forgetful = || FakeFormat { forgets: true, ..FakeFormat::default() };
    let wrong = run(&forgetful(), &MemoryRoot::new(), &options()).unwrap_err();
    assert_eq!((wrong.code(), wrong.kind()), ("ops/digest_mismatch", Kind::Corrupt));
    let unproven = ConvertOptions { proof: false, ..options() };
    assert!(run(&forgetful(), &MemoryRoot::new(), &unproven).unwrap().digests.is_empty());
}

#[test]
fn progress_counts_reading_and_proof() {
    for (proof, bytes) in [(false, 100), (true, 200)] {
        let source = dataset(vec![counted("train", &[3, 2]), counted("test", &[5])]);
        let (progress, seen) = witness(u64::MAX);
        let options = ConvertOptions { proof, ..options() };
        convert(
            source,
            &FakeFormat::default(),
            Arc::new(MemoryRoot::new()),
            &options,
            Some(&progress),
        )
        .unwrap();
        assert_eq!(seen.seen(), (bytes, bytes));
    }
}
