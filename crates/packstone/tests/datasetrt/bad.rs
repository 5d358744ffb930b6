//! Every damaged cache gives the error or finding that is due, at the latest where it must, and no other.

use std::collections::BTreeSet;

use packstone::Error;
use packstone::format::{Collection, ReadContext};
use packstone::model::Severity;
use packstone_testkit::{Case, Snapshot, bad_cases, good_cases};

use crate::kit;

/// The code of each bad case.
const DUE: &[(&str, &str)] = &[
    ("arrow_column_extra", "arrow_columns_differ"),
    ("arrow_column_missing", "arrow_columns_differ"),
    ("arrow_columns_reordered", "arrow_columns_differ"),
    ("arrow_empty", "arrow_invalid"),
    ("arrow_lz4_buffers", "arrow_unsupported"),
    ("arrow_missing", "file_missing"),
    ("arrow_null", "arrow_null"),
    ("arrow_row_missing", "arrow_row_count"),
    ("arrow_stream", "arrow_invalid"),
    ("arrow_truncated", "arrow_invalid"),
    ("arrow_value_differs", "envelope_value_differs"),
    ("arrow_wrong_type", "arrow_columns_differ"),
    ("checksum_index", "checksum_mismatch"),
    ("checksum_metadata", "checksum_mismatch"),
    ("checksum_shard", "checksum_mismatch"),
    ("duplicate_cache_id", "duplicate_cache_id"),
    ("envelope_bad_utf8", "envelope_not_json"),
    ("envelope_int_for_float", "envelope_kind_differs"),
    ("envelope_key_extra", "envelope_keys_differ"),
    ("envelope_key_missing", "envelope_keys_differ"),
    ("envelope_length_max", "envelope_length"),
    ("envelope_length_past_end", "envelope_length"),
    ("envelope_length_zero", "envelope_not_json"),
    ("envelope_not_json", "envelope_not_json"),
    ("envelope_null", "envelope_null"),
    ("envelope_value_differs", "envelope_value_differs"),
    ("index_length_abort", "index_past_end"),
    ("index_length_max", "index_past_end"),
    ("index_length_past_end", "index_past_end"),
    ("index_length_seven", "index_row_too_short"),
    ("index_length_zero", "index_row_too_short"),
    ("index_missing", "file_missing"),
    ("index_offset_max", "index_past_end"),
    ("index_offset_past_end", "index_past_end"),
    ("index_partial_row", "index_partial_row"),
    ("index_row_missing", "index_row_count"),
    ("index_rows_swapped", "envelope_value_differs"),
    ("index_shard_max", "index_shard_out_of_range"),
    ("index_shard_out_of_range", "index_shard_out_of_range"),
    ("leftover_manifest_temp", "leftover_manifest_temp"),
    ("leftover_write_temp", "manifest_missing"),
    ("lz4_declared_huge", "lz4_length"),
    ("lz4_declared_too_big", "lz4_length"),
    ("lz4_declared_too_small", "lz4_length"),
    ("lz4_garbage", "lz4_damaged"),
    ("lz4_no_prefix", "lz4_damaged"),
    ("lz4_zero_offset", "lz4_damaged"),
    ("manifest_cache_id_negative", "manifest_invalid"),
    ("manifest_cache_id_too_wide", "manifest_invalid"),
    ("manifest_count_too_high", "index_row_count"),
    ("manifest_duplicate_key", "manifest_duplicate_key"),
    ("manifest_empty", "manifest_not_json"),
    ("manifest_kind_swapped", "arrow_columns_differ"),
    ("manifest_missing", "manifest_missing"),
    ("manifest_no_cache_id", "manifest_invalid"),
    ("manifest_no_version", "manifest_invalid"),
    ("manifest_sha_uppercase", "manifest_sha_uppercase"),
    ("manifest_trailing", "manifest_not_json"),
    ("manifest_truncated", "manifest_not_json"),
    ("manifest_unknown_algo", "manifest_unknown_algo"),
    ("manifest_unknown_kind", "manifest_unknown_kind"),
    ("manifest_version_1", "manifest_version"),
    ("manifest_version_4", "manifest_version"),
    ("manifest_version_float", "manifest_invalid"),
    ("manifest_version_text", "manifest_invalid"),
    ("path_absolute", "path_escape"),
    ("path_empty_name", "path_escape"),
    ("path_nested", ""),
    ("path_nul", "path_escape"),
    ("path_traversal", "path_escape"),
    ("position_clash", "duplicate_cache_id"),
    ("schema_differs", "schema_differs"),
    ("shard_entry_dropped", "index_shard_out_of_range"),
    ("shard_extended", "shard_length"),
    ("shard_missing", "file_missing"),
    ("shard_truncated", "shard_length"),
    ("shard_truncated_resealed", "index_past_end"),
];

fn due(case: &Case) -> &'static str {
    DUE.iter().find(|(name, _)| *name == case.name).unwrap_or_else(|| panic!("{}", case.name)).1
}

fn paths(case: &Case) -> Vec<String> {
    kit::texts(case.expected.get("paths").unwrap())
}

/// What packstone must do, and by when it must have noticed.
fn required(case: &Case) -> (String, Option<String>) {
    let required = case.expected.get("packstone").unwrap();
    let stage = required.get("detect_at_latest").unwrap().as_str().map(str::to_owned);
    (required.get("required").unwrap().as_str().unwrap().to_owned(), stage)
}

/// Opens, reads the tables, reads all samples: the first error with the stage that it came in.
fn use_it(case: &Case) -> Result<(), (&'static str, Error)> {
    let joint = kit::open_roots(kit::roots(case, &paths(case))).map_err(|e| ("open", e))?;
    for cache in joint.caches() {
        cache.table().map_err(|e| ("table", e))?;
    }
    let mut context = ReadContext::default();
    for shard in joint.shards(0) {
        joint.read(&shard.unwrap(), None, &mut context).map_err(|e| ("read", e))?;
    }
    Ok(())
}

#[test]
fn every_bad_case_gives_its_finding_and_no_other() {
    let cases = bad_cases("datasetrt");
    assert_eq!(cases.len(), DUE.len());
    let mut wrong = Vec::new();
    for case in &cases {
        let before = Snapshot::of(&case.data);
        let mut found = kit::verdict(kit::roots(case, &paths(case)));
        // The folder beside the cache is no part of it, and its caches were never migrated by name.
        found.remove(&(Severity::Info, "datasetrt/id_not_from_name"));
        let code = format!("datasetrt/{}", due(case));
        let severity = match (case.name.as_str(), required(case).0.as_str()) {
            ("manifest_sha_uppercase", _) => Severity::Warning,
            (_, "accept") => Severity::Info,
            _ => Severity::Error,
        };
        let found: BTreeSet<_> = found.iter().map(|(s, c)| (*s, (*c).to_owned())).collect();
        let mut want = BTreeSet::from([(severity, code)]);
        match case.name.as_str() {
            "path_nested" => want.clear(),
            // No row names the second shard of the cache that lost the entry, nor the file.
            "shard_entry_dropped" => {
                want.insert((Severity::Info, "datasetrt/unlisted_file".to_owned()));
            }
            _ => {}
        }
        if found != want {
            wrong.push(format!("{}: expected {want:?}, found {found:?}", case.name));
        }
        assert_eq!(Snapshot::of(&case.data), before, "{} was touched", case.name);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn using_a_bad_case_fails_by_the_stage_that_is_due() {
    const STAGES: [&str; 4] = ["open", "table", "read", "verify"];
    let mut wrong = Vec::new();
    for case in bad_cases("datasetrt") {
        let (required, latest) = required(&case);
        let outcome = use_it(&case);
        let at = |stage: &str| STAGES.iter().position(|s| *s == stage).unwrap();
        let code = format!("datasetrt/{}", due(&case));
        // Without checksums damage shows as what it does to the record that is read.
        let read_code = match case.name.as_str() {
            "checksum_index" => "datasetrt/envelope_length",
            _ => &code,
        };
        let ok = match (required.as_str(), &outcome, latest.as_deref()) {
            ("reject", Err((stage, error)), Some(latest)) => {
                at(stage) <= at(latest) && error.code() == read_code
            }
            // Only checksums show these.
            ("reject", Ok(()), Some("verify")) => code == "datasetrt/checksum_mismatch",
            ("accept", Ok(()), _) => true,
            ("either", Err((_, error)), _) => error.code() == code,
            ("either", Ok(()), _) => true,
            _ => false,
        };
        if !ok {
            wrong.push(format!("{}: {required} by {latest:?}, found {outcome:?}", case.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_good_case_verifies_clean() {
    for case in good_cases("datasetrt") {
        let before = Snapshot::of(&case.data);
        let found = kit::verdict(kit::roots(&case, &kit::paths(&case)));
        let serious: Vec<_> = found.iter().filter(|f| f.0 > Severity::Info).map(|f| f.1).collect();
        // Whole, but not for the original.
        let want: &[&str] = match case.name.as_str() {
            "v3_nonfinite" => &["datasetrt/non_finite"],
            "v3_reserved_columns" => &["datasetrt/reserved_name"],
            // The first manifest has the member that version 2 has no use for.
            _ => &[],
        };
        assert_eq!(serious, want, "{}: {found:?}", case.name);
        let infos: Vec<_> = found.iter().filter(|f| f.0 == Severity::Info).map(|f| f.1).collect();
        let want: &[&str] = match case.name.as_str() {
            "v3_lossy_floats" => &["datasetrt/lossy_float"],
            "v3_manifest_variants" => {
                &["datasetrt/id_not_from_name", "datasetrt/raw_length_differs"]
            }
            "v3_arrow_variants" | "migrated_v2_to_v3" => &["datasetrt/id_not_from_name"],
            "v3_zero_samples" => &["datasetrt/id_not_from_name", "datasetrt/no_samples"],
            _ => &[],
        };
        assert_eq!(infos, want, "{}: {found:?}", case.name);
        assert_eq!(Snapshot::of(&case.data), before, "{} was touched", case.name);
    }
}
