//! Every damaged dataset gives the error or finding that is due, and no other.

use std::collections::BTreeSet;
use std::sync::Arc;

use packstone::format::{AuditOptions, Format, ReadContext};
use packstone::formats::sedpack::Sedpack;
use packstone::model::{Finding, Severity};
use packstone::ops::Scan;
use packstone::{Error, Limits, LocalRoot, Root};
use packstone_testkit::{Case, Snapshot, bad_cases, good_cases};

fn root(case: &Case) -> Arc<dyn Root> {
    Arc::new(LocalRoot::open(&case.data).unwrap())
}

fn check(case: &Case, options: &AuditOptions) -> Result<Vec<Finding>, Error> {
    let audit = Sedpack.audit(root(case), options)?;
    let mut findings = audit.findings;
    let mut context = ReadContext::default();
    for task in audit.tasks {
        findings.extend((task.run)(&mut context));
    }
    Ok(findings)
}

fn expected_kind(case: &Case) -> String {
    case.expected.get("error_kind").unwrap().as_str().unwrap().to_owned()
}

/// What `verify` makes of a case: the codes, and the worst severity.
fn verdict(case: &Case) -> (BTreeSet<String>, Option<Severity>) {
    let options = AuditOptions {
        // Only somebody who noted the checksums can see this one.
        expect: if case.name == "dataset_info_changed" {
            vec!["00".to_owned()]
        } else {
            Vec::new()
        },
        ..AuditOptions::default()
    };
    let findings = check(case, &options).unwrap_or_else(|error| vec![error.into()]);
    let codes = findings.iter().map(|f| f.code.to_owned()).collect();
    (codes, findings.iter().map(|f| f.severity).max())
}

#[test]
fn every_bad_case_gives_its_finding_and_no_other() {
    let cases = bad_cases("sedpack");
    assert!(cases.len() >= 74, "found {}", cases.len());
    let mut wrong = Vec::new();
    for case in &cases {
        let before = Snapshot::of(&case.data);
        let (codes, worst) = verdict(case);
        let kind = expected_kind(case);
        let (due, severity) = match (case.name.as_str(), kind.as_str()) {
            (_, "undetectable") => (BTreeSet::new(), None),
            ("extra_file", _) => {
                (BTreeSet::from([format!("sedpack/{kind}")]), Some(Severity::Info))
            }
            // packstone reads these; the original's own readers differ over them.
            (
                "fb_gzip_two_members"
                | "fb_zstd_without_content_size"
                | "self_path_mismatch"
                | "tfrec_float64",
                _,
            ) => (BTreeSet::from([format!("sedpack/{kind}")]), Some(Severity::Warning)),
            _ => (BTreeSet::from([format!("sedpack/{kind}")]), Some(Severity::Error)),
        };
        if (&codes, worst) != (&due, severity) {
            wrong.push(format!(
                "{}: expected {due:?} {severity:?}, found {codes:?} {worst:?}",
                case.name
            ));
        }
        assert_eq!(Snapshot::of(&case.data), before, "{} was touched", case.name);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_good_case_verifies_clean() {
    let quick = AuditOptions { quick: true, ..AuditOptions::default() };
    for case in good_cases("sedpack") {
        let before = Snapshot::of(&case.data);
        for options in [&AuditOptions::default(), &quick] {
            let findings = check(&case, options).unwrap();
            let serious: Vec<_> = findings.iter().filter(|f| f.severity > Severity::Info).collect();
            assert!(serious.is_empty(), "{}: {serious:?}", case.name);
        }
        assert_eq!(Snapshot::of(&case.data), before, "{} was touched", case.name);
    }
}

/// Reads all splits to the end or to the first error.
fn read_all(case: &Case, verify: bool) -> Result<u64, Error> {
    let dataset = Sedpack.open(root(case), &Limits::default())?;
    let mut rows = 0;
    for name in dataset.collections() {
        for shard in Scan::new(dataset.collection(&name)?).threads(2).verify(verify).shards() {
            rows += shard?.batch.rows() as u64;
        }
    }
    Ok(rows)
}

#[test]
fn reading_a_bad_case_gives_its_error_where_reading_can_see_it() {
    let mut wrong = Vec::new();
    for case in bad_cases("sedpack") {
        let kind = expected_kind(&case);
        let code = format!("sedpack/{kind}");
        let unchecked = read_all(&case, false);
        let checked = read_all(&case, true);
        // Without checksums a flipped byte is data; counts, cycles and lists are seen by every walk.
        let silent = matches!(
            case.name.as_str(),
            "extra_file"
                | "self_path_mismatch"
                | "fb_gzip_two_members"
                | "fb_zstd_without_content_size"
                | "tfrec_float64"
                | "dataset_info_changed"
                | "fb_same_size_other_dtype"
                | "split_shards_list_changed"
                | "leaf_shards_list_changed"
        );
        if silent {
            if let Err(error) = checked {
                wrong.push(format!("{}: {error}", case.name));
            }
            continue;
        }
        // With checksums on, damage that they cover is named as that.
        let due = [code.as_str(), "sedpack/hash_mismatch", "sedpack/hash_count_mismatch"];
        match checked {
            Err(error) if due.contains(&error.code()) => {}
            other => wrong.push(format!("{} checked: {other:?}", case.name)),
        }
        let covered = [
            "fb_flipped_byte",
            "fb_lz4_flipped_byte",
            "hash_count_none_declared",
            "hash_count_too_few",
            "fb_none_truncated",
        ];
        match unchecked {
            Err(error) if error.code() == code => {}
            _ if covered.contains(&case.name.as_str()) => {}
            other => wrong.push(format!("{} unchecked: {other:?}", case.name)),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
