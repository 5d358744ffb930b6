//! Every damaged dataset gives the finding that is due, and no other.

use std::collections::BTreeSet;
use std::sync::Arc;

use packstone::format::{AuditOptions, ReadContext};
use packstone::formats::sds::audit::audit;
use packstone::json::Value;
use packstone::model::{Finding, Severity};
use packstone::{Error, LocalRoot, Root};
use packstone_testkit::{Snapshot, good_cases};

use super::kit::{edited, text};

/// All that a check finds; an error of opening counts as one finding.
pub(crate) fn check(root: Arc<dyn Root>, quick: bool) -> Vec<Finding> {
    let options = AuditOptions { quick, ..AuditOptions::default() };
    let audit = match audit(root, &options) {
        Ok(audit) => audit,
        Err(error) => return vec![error.into()],
    };
    let mut findings = audit.findings;
    let mut context = ReadContext::default();
    audit.tasks.into_iter().for_each(|task| findings.extend((task.run)(&mut context)));
    findings
}

pub(crate) fn summary(findings: &[Finding]) -> BTreeSet<(Severity, &'static str)> {
    findings.iter().map(|finding| (finding.severity, finding.code)).collect()
}

#[test]
fn every_good_case_is_clean_but_for_what_is_normal() {
    for case in good_cases("signal-dataset") {
        let before = Snapshot::of(&case.data);
        let found = check(Arc::new(LocalRoot::open(&case.data).unwrap()), false);
        let codes: Vec<_> = found.iter().map(|finding| finding.code).collect();
        match case.name.as_str() {
            // Two revisions before the newest, and two records of one id.
            "annotations" => assert_eq!(codes, ["sds/unreferenced"; 2]),
            "descriptors" => assert_eq!(codes, ["sds/duplicate_id"]),
            name => assert_eq!(codes, [""; 0], "{name}"),
        }
        assert!(found.iter().all(|finding| finding.severity == Severity::Info));
        let quick = check(Arc::new(LocalRoot::open(&case.data).unwrap()), true);
        assert!(quick.iter().all(|finding| finding.severity == Severity::Info));
        assert_eq!(Snapshot::of(&case.data), before, "{}: a trace was left", case.name);
    }
}

/// What a full check finds, by the names of cases.
const FOUND: &[(Severity, &str, &str)] = &[
    (Severity::Error, "sds/annotation_mismatch", "set-rows-swapped"),
    (
        Severity::Error,
        "sds/catalog_invalid",
        "catalog-array catalog-extra-key catalog-pointer-generation-bool catalog-revision-extra-key \
         catalog-revision-path-traversal catalog-revision-path-upper catalog-revision-string \
         revision-bad-name revision-extra-key revision-reference-extra-key revision-reference-foreign-path \
         revision-reference-no-bytes revision-sets-array",
    ),
    (
        Severity::Error,
        "sds/count_mismatch",
        "indices-short manifest-record-count manifest-shard-bytes manifest-shard-count set-not-dense \
         set-record-count set-rows-swapped shard-misaligned-metadata shard-swapped snapshot-record-count \
         snapshot-shard-count snapshot-stored-bytes",
    ),
    (
        Severity::Error,
        "sds/document_invalid",
        "indices-bool indices-float indices-negative indices-string json-array manifest-count-bool \
         manifest-missing-metadata manifest-shards-missing min-reader-number root-dataset-id-bool \
         root-dataset-id-empty root-metadata-array root-missing-dataset-id root-missing-format \
         root-missing-layout root-missing-record-codec root-missing-shard-format root-missing-snapshot \
         snapshot-bytes-bool snapshot-bytes-float snapshot-bytes-missing snapshot-bytes-negative \
         snapshot-bytes-string snapshot-generation-bool snapshot-generation-negative snapshot-id-empty \
         snapshot-manifest-missing-key snapshot-manifests-object snapshot-missing-manifests \
         snapshot-missing-record-count snapshot-missing-shard-count snapshot-missing-snapshot-id \
         snapshot-missing-stored-bytes snapshot-path-number snapshot-record-count-bool \
         snapshot-record-count-float snapshot-reference-string",
    ),
    (
        Severity::Error,
        "sds/duplicate_key",
        "catalog-duplicate-key json-duplicate-key-manifest json-duplicate-key-metadata \
         json-duplicate-key-nested json-duplicate-key-root json-duplicate-key-snapshot",
    ),
    (
        Severity::Error,
        "sds/format_unknown",
        "manifest-wrong-format root-codec-extra-key root-codec-unknown root-shard-format-unknown \
         root-wrong-format snapshot-wrong-format",
    ),
    (Severity::Error, "sds/index_out_of_range", "indices-out-of-range"),
    (
        Severity::Error,
        "sds/json_invalid",
        "json-control-character json-empty json-infinity-unknown-key json-invalid-utf8 json-nan \
         json-overflow-metadata json-trailing json-truncated shard-data-metadata-swapped \
         json-overflow-unknown-key json-utf16",
    ),
    (
        Severity::Error,
        "sds/layout_unsupported",
        "manifest-layout root-layout-0.2 root-layout-number snapshot-layout-9",
    ),
    (Severity::Error, "sds/limit_exceeded", "json-too-deep"),
    (
        Severity::Error,
        "sds/missing_object",
        "catalog-revision-missing manifest-missing-object revision-reference-missing root-directory \
         root-missing set-object-missing shard-metadata-missing shard-missing snapshot-path-directory \
         snapshot-path-missing-object snapshot-path-unknown-scheme view-source-missing-shard",
    ),
    (
        Severity::Error,
        "sds/path_absolute",
        "manifest-path-absolute-missing snapshot-path-absolute snapshot-path-scheme",
    ),
    (
        Severity::Error,
        "sds/path_invalid",
        "manifest-path-traversal snapshot-path-backslash snapshot-path-empty snapshot-path-fragment \
         snapshot-path-inner-traversal snapshot-path-nul snapshot-path-query snapshot-path-traversal",
    ),
    (Severity::Error, "sds/path_link", "root-symlink shard-directory-symlink shard-symlink"),
    (Severity::Error, "sds/prototype", "root-legacy-prototype"),
    (
        Severity::Error,
        "sds/range_mismatch",
        "manifest-shard-gap manifest-shifted set-shard-gap snapshot-gap snapshot-reordered",
    ),
    (
        Severity::Error,
        "sds/reader_too_old",
        "min-reader-four-parts min-reader-huge min-reader-newer min-reader-newer-patch \
         min-reader-newer-prerelease",
    ),
    (Severity::Error, "sds/revision_hash_mismatch", "catalog-revision-hash-mismatch"),
    (Severity::Error, "sds/row_mismatch", "shard-misaligned-metadata shard-swapped"),
    (
        Severity::Error,
        "sds/set_invalid",
        "set-bad-publication-id set-extra-key set-missing-metadata set-shard-bool set-shard-zero \
         set-shards-object",
    ),
    (Severity::Error, "sds/set_mismatch", "set-wrong-name set-wrong-snapshot"),
    (
        Severity::Error,
        "sds/shard_damaged",
        "shard-footer-hash-mismatch shard-hash-mismatch shard-header-hash-mismatch shard-zeroed",
    ),
    (
        Severity::Error,
        "sds/size_mismatch",
        "manifest-bytes-wrong revision-reference-bytes set-object-bytes shard-truncated snapshot-bytes-wrong",
    ),
    (Severity::Error, "sds/version_invalid", "min-reader-empty min-reader-prefixed"),
    (Severity::Warning, "sds/byte_order_mark", "json-bom"),
    (
        Severity::Warning,
        "sds/generation_ignored",
        "catalog-pointer-generation generation-annotations generation-everywhere generation-manifest-only \
         generation-shard-only generation-snapshot-only generation-annotations-unpinned-read \
         generation-everywhere-unpinned-read",
    ),
    (
        Severity::Warning,
        "sds/metadata_loose",
        "root-metadata-empty-array root-metadata-null root-missing-metadata",
    ),
    (Severity::Warning, "sds/shard_slack", "shard-padding-flip"),
    (Severity::Info, "sds/duplicate_id", "shard-swapped"),
    (Severity::Info, "sds/foreign_snapshot", "snapshot-foreign-id"),
    (Severity::Info, "sds/unknown_key", "root-unknown-keys set-shard-extra-key"),
    (
        Severity::Info,
        "sds/unreferenced",
        "catalog-pointer-generation generation-annotations manifest-path-absolute-missing set-not-dense \
         set-object-bytes set-object-missing set-rows-swapped set-wrong-name set-wrong-snapshot shard-symlink \
         catalog-absent catalog-no-generation catalog-pretty generation-annotations-unpinned-read \
         revision-no-sets revision-one-set revision-reference-no-generation set-shard-extra-key",
    ),
    (Severity::Error, "sds/payload_invalid", "shard-data-metadata-swapped"),
];

#[test]
fn every_bad_case_and_variant_gives_its_findings_and_no_other() {
    let mut count = 0;
    for kind in ["bad", "variants"] {
        for case in edited(kind) {
            let before = Snapshot::of(&case.path());
            let found = summary(&check(case.root(), false));
            let due = FOUND.iter().filter(|(_, _, names)| names.split(' ').any(|n| n == case.name));
            // Cases on the dataset with annotations have its old revisions.
            let due: BTreeSet<_> = due.map(|(severity, code, _)| (*severity, *code)).collect();
            assert_eq!(found, due, "{kind} {}", case.name);
            let errors = found.iter().any(|(severity, _)| *severity == Severity::Error);
            match text(&case.document, "verdict") {
                "refuse" => assert!(errors, "{}", case.name),
                verdict if verdict.starts_with("accept") => assert!(!errors, "{}", case.name),
                "a verifier should report it" => assert!(errors, "{}", case.name),
                verdict => assert!(verdict.starts_with("may refuse"), "{}", case.name),
            }
            assert_eq!(Snapshot::of(&case.path()), before, "{}: a trace was left", case.name);
            count += 1;
        }
    }
    let mut named: Vec<_> = FOUND.iter().flat_map(|(_, _, names)| names.split(' ')).collect();
    named.sort_unstable();
    named.dedup();
    assert!(count > named.len() && named.len() >= 120, "{count} {}", named.len());
}

/// What reading gives by ordinal: the id, or nothing.
fn outcomes(len: u64, read: impl Fn(u64) -> Result<String, Error>) -> Vec<Option<String>> {
    (0..len).map(|ordinal| read(ordinal).ok()).collect()
}

fn due(len: u64, results: &Value) -> Vec<Option<String>> {
    let ok = results.get("ok").unwrap();
    let id = |ordinal: u64| Some(ok.get(&ordinal.to_string())?.as_str()?.to_owned());
    (0..len).map(id).collect()
}

#[test]
fn damage_harms_only_what_depends_on_it() {
    // Pinned objects are read, links are refused for documents and shards alike.
    let mut opened = 0;
    for case in edited("bad") {
        let verdict = text(&case.document, "verdict");
        let results = case.document.get("results").unwrap();
        let dataset = super::kit::open(case.root());
        let refused = results.get("open").unwrap().get("error").is_some();
        if refused && verdict == "refuse" && case.base() != "annotations" {
            let error = dataset.err().unwrap_or_else(|| panic!("{} opened", case.name));
            assert!(error.code().starts_with("sds/"), "{}: {error}", case.name);
            continue;
        }
        opened += 1;
        let dataset = dataset.unwrap_or_else(|error| panic!("{}: {error}", case.name));
        let len = dataset.len();
        let records = outcomes(len, |ordinal| Ok(dataset.record(ordinal)?.id));
        let rows = outcomes(len, |ordinal| Ok(dataset.row(ordinal)?.id.unwrap()));
        if refused {
            // The annotations of a set, or all of them, or what the library does not read from a disk.
            assert!(records.iter().chain(&rows).all(Option::is_some), "{}", case.name);
        } else if verdict.starts_with("accept") {
            assert!(records.iter().chain(&rows).all(Option::is_some), "{}", case.name);
        } else {
            assert_eq!(records, due(len, results.get("records").unwrap()), "{}", case.name);
            assert_eq!(rows, due(len, results.get("record_metadata").unwrap()), "{}", case.name);
        }
        let sets = results.get("annotations").and_then(Value::as_object).cloned();
        for (name, results) in sets.iter().flat_map(packstone::json::Object::iter) {
            let Ok(set) = dataset.annotations(name.as_str().unwrap()) else { continue };
            let found = outcomes(len, |at| Ok(set.annotation(at)?.source_record_id));
            assert_eq!(found, due(len, results), "{} {name}", case.name);
        }
    }
    assert!(opened > 50, "{opened}");
}
