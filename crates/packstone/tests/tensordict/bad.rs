//! Every damaged tree gives the error or finding that is due, and no other.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use packstone::format::{AuditOptions, ReadContext};
use packstone::formats::tensordict::audit::audit_as;
use packstone::formats::tensordict::options::TreeOptions;
use packstone::model::{Finding, Severity};
use packstone::{Error, Root};
use packstone_container::json::Value;
use packstone_testkit::{Case, Snapshot, bad_cases, good_cases};

use crate::kit::root;

fn check(root: Arc<dyn Root>, options: &AuditOptions, robust: bool) -> Result<Vec<Finding>, Error> {
    let audit = audit_as(root, options, &TreeOptions::default().with_robust_key(robust))?;
    let mut findings = audit.findings;
    let mut context = ReadContext::default();
    for task in audit.tasks {
        findings.extend((task.run)(&mut context));
    }
    Ok(findings)
}

fn verdict(case: &Case, options: &AuditOptions, robust: bool) -> Vec<Finding> {
    check(root(case), options, robust).unwrap_or_else(|error| vec![error.into()])
}

fn text<'a>(value: &'a Value, path: &[&str]) -> &'a str {
    path.iter().fold(value, |value, name| value.get(name).unwrap()).as_str().unwrap()
}

fn folder(case: &Case) -> &Path {
    case.data.parent().unwrap()
}

/// True of many cases, and no fault: what no entry names, and payloads where a plain zip program puts them.
const BESIDE: [&str; 2] = ["tensordict/orphan", "tensordict/unaligned_leaf"];

#[test]
fn every_bad_case_gives_its_finding_and_no_other() {
    let cases = bad_cases("tensordict");
    assert_eq!(cases.len(), 76);
    let mut wrong = Vec::new();
    for case in &cases {
        let before = Snapshot::of(folder(case));
        // Only who reads raw names meets these.
        let robust = !matches!(case.name.as_str(), "traversal_raw_key" | "archive_traversal_key");
        let findings = verdict(case, &AuditOptions::default(), robust);
        let action = text(&case.expected, &["careful_reader", "action"]);
        let category = text(&case.expected, &["careful_reader", "category"]);
        let code = match category {
            "undetectable" => None,
            "recover" => Some("tensordict/unflagged_name".to_owned()),
            category => Some(format!("tensordict/{category}")),
        };
        let severity = match (action, &code) {
            (_, None) => None,
            ("error", _) => Some(Severity::Error),
            ("warn", _) => Some(Severity::Warning),
            _ => Some(Severity::Info),
        };
        let telling = |f: &&Finding| f.severity > Severity::Info || !BESIDE.contains(&f.code);
        let found: BTreeSet<_> =
            findings.iter().filter(telling).map(|f| f.code.to_owned()).collect();
        let worst = findings.iter().filter(telling).map(|f| f.severity).max();
        if (&found, worst) != (&code.into_iter().collect(), severity) {
            let shown: Vec<_> = findings.iter().map(ToString::to_string).collect();
            wrong.push(format!("{}: expected {action} {category}, found {shown:#?}", case.name));
        }
        assert_eq!(Snapshot::of(folder(case)), before, "{} was touched", case.name);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What a good case may be told beyond information, and why.
fn noted(name: &str) -> &'static [&'static str] {
    match name {
        // The library saves these and no release loads them.
        "dtypes_write_only" => &["tensordict/write_only_dtype"],
        "format_version_odd" => &["tensordict/odd_version"],
        // Edited so that a leaf has not the batch size, which the library does not check.
        "meta_duplicate_keys" | "shape_exceeds_batch" => &["tensordict/batch_mismatch"],
        // Arrays, dates, tensors: only Python makes them.
        "non_tensor_pickle" | "tdz_pickle" => &["tensordict/needs_pickle"],
        // Written in place, which leaves checksums behind.
        "tdz_memmap_like" | "tdz_rplus_stale_crc" => &["tensordict/crc_mismatch"],
        _ => &[],
    }
}

#[test]
fn every_good_case_verifies_clean() {
    let quick = AuditOptions { quick: true, ..AuditOptions::default() };
    let mut wrong = Vec::new();
    for case in good_cases("tensordict") {
        let before = Snapshot::of(folder(&case));
        for options in [&AuditOptions::default(), &quick] {
            let robust = case
                .expected
                .get("load")
                .and_then(|l| l.get("robust_key"))
                .and_then(Value::as_bool);
            let findings = verdict(&case, options, robust.unwrap_or(true));
            let serious: BTreeSet<_> =
                findings.iter().filter(|f| f.severity > Severity::Info).map(|f| f.code).collect();
            // Checksums are for the whole check.
            let due = noted(&case.name).iter().copied();
            let due: BTreeSet<_> =
                due.filter(|code| !options.quick || !code.ends_with("crc_mismatch")).collect();
            if serious != due {
                let shown: Vec<_> = findings.iter().map(ToString::to_string).collect();
                wrong.push(format!("{}: expected {due:?}, found {shown:#?}", case.name));
            }
        }
        assert_eq!(Snapshot::of(folder(&case)), before, "{} was touched", case.name);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
