//! Every format as source and as target of every other: golden data goes there and comes back.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test says what is wrong by failing"
)]

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use packstone::format::Dataset;
use packstone::formats::sds::parts::own::RECORDS;
use packstone::formats::sds::parts::publish::PublishOptions;
use packstone::formats::sds::parts::record::Record;
use packstone::formats::sds::parts::view::materialize;
use packstone::formats::sds::reader::SdsDataset;
use packstone::model::Severity;
use packstone::ops::{
    ConvertOptions, DigestOptions, Level, VerifyOptions, convert, digest_collection, reopened,
    verify,
};
use packstone::registry::format;
use packstone::{Error, Limits, LocalRoot, MemoryRoot, Root, RootMut};
use packstone_io::Buf;
use packstone_testkit::{Case, good_cases};

/// The formats by the folders of their golden data.
const FORMATS: [(&str, &str); 4] = [
    ("sedpack", "sedpack"),
    ("tensordict", "tensordict"),
    ("datasetrt", "datasetrt"),
    ("signal-dataset", "sds"),
];

/// The datasets of a golden case: itself, or what lies in its folder.
fn datasets(case: &Case) -> Vec<(String, Arc<dyn Dataset>)> {
    if let Ok(dataset) = packstone::open(&case.data) {
        return vec![(case.name.clone(), dataset)];
    }
    let inside = std::fs::read_dir(&case.data).into_iter().flatten();
    let mut inside: Vec<PathBuf> = inside.map(|entry| entry.unwrap().path()).collect();
    inside.sort();
    let named = |path: PathBuf| {
        let name = format!("{}/{}", case.name, path.file_name().unwrap().to_str().unwrap());
        Some((name, packstone::open(&path).ok()?))
    };
    inside.into_iter().filter_map(named).collect()
}

/// What is converted of a dataset: annotation sets have fields of their own.
fn chosen(dataset: &dyn Dataset) -> Vec<String> {
    let names = dataset.collections().into_iter();
    names.filter(|name| !name.starts_with("annotations/")).collect()
}

/// Writes `source` as a dataset of another format, verifies that and opens it; the lowest level at which all of it is equal.
fn there(
    source: &Arc<dyn Dataset>,
    target: &str,
    collections: Vec<String>,
) -> Result<(MemoryRoot, Arc<dyn Dataset>, Level), Error> {
    let target = format(target).unwrap();
    let root = MemoryRoot::new();
    let options =
        ConvertOptions { collections, proof: true, threads: 0, ..ConvertOptions::default() };
    let to: Arc<dyn RootMut> = Arc::new(root.clone());
    let report = convert(Arc::clone(source), target, to, &options, None)?;
    let levels = report.digests.iter().map(|proof| proof.level.unwrap_or(Level::Values));
    let level = levels.min_by_key(|level| *level == Level::Full).unwrap_or(Level::Full);
    let readable: Arc<dyn Root> = Arc::new(root.clone());
    let checked = verify(target, Arc::clone(&readable), &VerifyOptions::default(), None)?;
    let wrong = checked.findings.iter().filter(|finding| finding.severity == Severity::Error);
    assert_eq!(wrong.count(), 0, "{:?}", checked.findings);
    Ok((root, reopened(target.open(readable, &Limits::default())?)?, level))
}

/// The digests of all values and of everything, by collection.
type Digests = BTreeMap<String, (u64, String, String)>;

/// True where a dataset has what was expected, and nothing else.
fn holds(dataset: &dyn Dataset, expected: &Digests) -> bool {
    let mut found = digests(dataset);
    // A source without any collection becomes one without any sample.
    found.retain(|name, (samples, ..)| *samples > 0 || expected.contains_key(name));
    found == *expected
}

fn digests(dataset: &dyn Dataset) -> Digests {
    let options = DigestOptions { threads: 0, ..DigestOptions::default() };
    let digest = |name: String| {
        let found = digest_collection(dataset.collection(&name).unwrap(), &options, None).unwrap();
        (name, (found.samples, found.values, found.full))
    };
    chosen(dataset).into_iter().map(digest).collect()
}

/// What golden data has no common form for: the format, the case, the targets, and the reason.
///
/// A dataset without fields or samples is none elsewhere; records, trees and stacks whose parts differ are no samples;
/// pickles are not executed; numbers beyond 64 bits and names of collections have to fit the target.
#[rustfmt::skip]
const REFUSED: &[(&str, &str, &[&str], &str)] = &[
    ("sedpack", "fb_empty", &["datasetrt"], "datasetrt/no_samples"),
    ("sedpack", "fb_no_attributes", &["sds"], "sds/not_writable"),
    ("sedpack", "npz_uncast", &["tensordict", "sds"], "ops/wide_integer"),
    ("sedpack", "npz_uncast", &["datasetrt"], "sedpack/value_invalid"),
    ("tensordict", "batch_zero", &["datasetrt"], "datasetrt/no_samples"),
    ("tensordict", "empty_nested", &["sds"], "sds/not_writable"),
    ("tensordict", "empty_root", &["sds"], "sds/not_writable"),
    ("tensordict", "lazy_nested", &["sedpack", "datasetrt", "sds"], "tensordict/no_common_form"),
    ("tensordict", "meta_duplicate_keys", &["sedpack", "datasetrt", "sds"], "tensordict/batch_mismatch"),
    ("tensordict", "non_tensor_stack_pickle", &["sedpack", "datasetrt", "sds"], "tensordict/needs_pickle"),
    ("tensordict", "robust_key_false", &["sedpack", "datasetrt", "sds"], "tensordict/missing_leaf"),
    ("tensordict", "shape_exceeds_batch", &["sedpack", "datasetrt", "sds"], "tensordict/batch_mismatch"),
    ("datasetrt", "v2_unicode", &["sedpack"], "sedpack/unknown_split"),
    ("datasetrt", "v3_arrow_variants", &["sedpack"], "sedpack/unknown_split"),
    ("datasetrt", "v3_manifest_variants", &["sedpack"], "sedpack/unknown_split"),
    ("datasetrt", "v3_nonfinite", &["sds"], "sds/json_invalid"),
    ("datasetrt", "v3_unicode", &["sedpack"], "sedpack/unknown_split"),
    ("datasetrt", "v3_zero_samples", &["sedpack", "tensordict", "sds"], "datasetrt/no_samples"),
    ("sds", "descriptors", &["sedpack", "tensordict", "datasetrt"], "sds/mixed_fields"),
    ("sds", "dtypes", &["sedpack", "tensordict", "datasetrt"], "sds/mixed_fields"),
    ("sds", "empty", &["datasetrt"], "datasetrt/no_samples"),
    ("sds", "multi-shard", &["sedpack", "tensordict", "datasetrt"], "sds/mixed_fields"),
];

/// Cases that go there and back, at least.
const PAIRS: &[(&str, &[usize])] = &[
    ("sedpack", &[58, 57, 57]),
    ("tensordict", &[100, 99, 98]),
    ("datasetrt", &[19, 23, 22]),
    ("sds", &[3, 3, 2]),
];

#[test]
fn golden_data_goes_to_every_other_format_and_comes_back() {
    let mut refused: Vec<(String, String, String, &str)> = Vec::new();
    for ((folder, from), (_, least)) in FORMATS.into_iter().zip(PAIRS) {
        let mut kept: BTreeMap<&str, usize> = BTreeMap::new();
        for (name, source) in good_cases(folder).iter().flat_map(datasets) {
            for (_, to) in FORMATS.into_iter().filter(|(_, to)| *to != from) {
                let place = format!("{name} from {from} to {to}");
                let mut trip = || {
                    let (_, stored, level) = there(&source, to, chosen(source.as_ref()))?;
                    let expected = digests(source.as_ref());
                    assert!(level == Level::Full && holds(stored.as_ref(), &expected), "{place}");
                    let (_, back, level) = there(&stored, from, Vec::new())?;
                    assert!(
                        level == Level::Full && holds(back.as_ref(), &expected),
                        "{place} and back"
                    );
                    *kept.entry(to).or_default() += 1;
                    Ok::<_, Error>(())
                };
                if let Err(error) = trip() {
                    assert!(!error.message().is_empty(), "{place}");
                    refused.push((from.to_owned(), name.clone(), to.to_owned(), error.code()));
                }
            }
        }
        let others = FORMATS.into_iter().filter(|(_, to)| *to != from);
        let counts: Vec<usize> = others.map(|(_, to)| kept.get(to).copied().unwrap_or(0)).collect();
        assert!(
            counts.iter().zip(*least).all(|(count, least)| count >= least),
            "{from}: {counts:?}"
        );
    }
    let mut expected: Vec<_> = REFUSED
        .iter()
        .flat_map(|(from, name, targets, code)| {
            targets.iter().map(|to| (from.to_string(), name.to_string(), to.to_string(), *code))
        })
        .collect();
    refused.sort();
    expected.sort();
    assert_eq!(refused, expected);
}

/// A record on its own always has a common form, with every axis, coordinate and word that it has.
#[test]
fn axes_and_coordinates_of_every_golden_record_come_back() {
    let mut coordinates = 0;
    for case in good_cases("signal-dataset") {
        let golden: Arc<dyn Root> = Arc::new(LocalRoot::open(&case.data).unwrap());
        let golden = SdsDataset::open(golden, &Limits::default()).unwrap();
        for ordinal in 0..golden.len() {
            let alone: Arc<dyn RootMut> = Arc::new(MemoryRoot::new());
            let named = PublishOptions::new("alone", "alone");
            let alone = materialize(&alone, &golden, &[ordinal], &named, 1).unwrap();
            let record = alone.record(0).unwrap();
            let axes = record.fields.iter().flat_map(|(_, field)| &field.axes);
            coordinates += axes.filter(|axis| axis.coordinate.is_some()).count();
            let source: Arc<dyn Dataset> = Arc::new(alone);
            for to in ["sedpack", "tensordict", "datasetrt"] {
                let place = format!("record {ordinal} of {} and {to}", case.name);
                let records = vec![RECORDS.to_owned()];
                let trip = there(&source, to, records)
                    .and_then(|(_, stored, _)| there(&stored, "sds", Vec::new()));
                let (root, ..) = trip.unwrap_or_else(|error| panic!("{place}: {error}"));
                let back = SdsDataset::open(Arc::new(root), &Limits::default()).unwrap();
                let found = back.record(0).unwrap();
                let (one, other) = (found.row(), record.row());
                assert_eq!((one.fields, one.metadata), (other.fields, other.metadata), "{place}");
                let bytes = |record: &Record| -> Vec<Buf> {
                    record.fields.iter().map(|(_, field)| field.data.clone()).collect()
                };
                assert_eq!(bytes(&found), bytes(&record), "{place}");
            }
        }
    }
    assert!(coordinates >= 20, "{coordinates}");
}
