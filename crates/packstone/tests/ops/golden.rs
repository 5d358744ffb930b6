//! Operations on datasets that the original library wrote; none of them touches a file.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::fake::{counted, dataset};
use packstone::format::{Dataset, Format};
use packstone::formats::sedpack::Sedpack;
use packstone::json::Value;
use packstone::ops::{
    BalanceKey, CollectionDigest, ConvertOptions, DiffOptions, DigestOptions, Level, Scan,
    SelectedCollection, Selection, VerifyOptions, balanced, convert, diff, digest_collection, plan,
    verify,
};
use packstone::{Limits, LocalRoot, MemoryRoot, Root, RootMut};
use packstone_testkit::{Case, Snapshot, bad_cases, good_cases};

fn open(case: &Case) -> Arc<dyn Dataset> {
    packstone::open(&case.data).unwrap_or_else(|e| panic!("{}: {e}", case.name))
}

pub(crate) fn case(name: &str) -> Case {
    good_cases("sedpack").into_iter().find(|case| case.name == name).unwrap()
}

fn digests(case: &Case) -> Vec<CollectionDigest> {
    let dataset = open(case);
    let one = |name: &String| {
        let collection = dataset.collection(name).unwrap();
        digest_collection(collection, &DigestOptions::default(), None)
            .unwrap_or_else(|e| panic!("{}: {e}", case.name))
    };
    dataset.collections().iter().map(one).collect()
}

/// `digests.txt` was computed by the Python program in `docs/digest.md` from each `expected.json` that has the bytes of
/// all its values: what the library returned, in the declared dtypes.
#[test]
fn digests_are_those_of_the_documented_program() {
    let listed: BTreeMap<(&str, &str), Vec<&str>> = include_str!("digests.txt")
        .lines()
        .map(|line| {
            let words: Vec<_> = line.split(' ').collect();
            ((words[0], words[1]), words[2..].to_vec())
        })
        .collect();
    let mut checked = 0;
    let mut cases = good_cases("sedpack");
    cases.retain(|case| listed.keys().any(|(name, _)| *name == case.name));
    for case in &cases {
        let before = Snapshot::of(&case.data);
        for found in digests(case) {
            let Some(want) = listed.get(&(case.name.as_str(), found.name.as_str())) else {
                continue;
            };
            let samples = found.samples.to_string();
            let got: Vec<&str> = vec![
                &samples,
                &found.values,
                &found.values_unordered,
                &found.full,
                &found.full_unordered,
            ];
            assert_eq!(&got, want, "{} {}", case.name, found.name);
            checked += 1;
        }
        assert_eq!(Snapshot::of(&case.data), before, "{}", case.name);
    }
    assert_eq!((checked, listed.len()), (80, 80));
}

/// What `expected.json` says about all values of a split: names, declared dtypes, shapes, hashes of the bytes.
fn described(split: &Value) -> String {
    let mut out = String::new();
    for example in split.get("examples").unwrap().as_array().unwrap() {
        let mut values: Vec<String> = Vec::new();
        for (name, value) in example.as_object().unwrap().iter() {
            let value = value.get("as_declared").unwrap_or(value);
            let part = |key: &str| value.get(key).unwrap().to_string();
            let dtype = part("dtype").replace("\"int\"", "\"int64\"");
            values.push(format!("{name} {dtype} {} {}", part("shape"), part("sha256")));
        }
        values.sort();
        out += &format!("{values:?}\n");
    }
    out
}

/// Digests are equal just where the values are: shard types, codecs and releases do not matter.
#[test]
fn equal_values_have_equal_digests_and_others_have_not() {
    let (mut by_value, mut by_digest) = (BTreeMap::new(), BTreeMap::new());
    let mut splits = 0;
    for case in good_cases("sedpack") {
        let found: BTreeMap<String, String> =
            digests(&case).into_iter().map(|d| (d.name, d.values)).collect();
        for (name, split) in case.expected.get("splits").unwrap().as_object().unwrap().iter() {
            let (values, digest) = (described(split), found[name.as_str().unwrap()].clone());
            let twin = by_value.entry(values.clone()).or_insert_with(|| digest.clone());
            assert_eq!(*twin, digest, "{} {name}: equal values", case.name);
            let twin = by_digest.entry(digest).or_insert_with(|| values.clone());
            assert_eq!(*twin, values, "{} {name}: equal digests", case.name);
            splits += 1;
        }
    }
    assert!(by_digest.len() + 25 < splits, "{} digests of {splits} splits", by_digest.len());
}

#[test]
fn one_dataset_in_three_shard_types_has_no_difference() {
    let [fb, npz, tfrec] =
        ["legacy_0_1_4_fb", "legacy_0_1_4_npz", "legacy_0_1_4_tfrec"].map(|name| open(&case(name)));
    for other in [&npz, &tfrec] {
        let report = diff(fb.as_ref(), other.as_ref(), &DiffOptions::default(), None).unwrap();
        assert!(report.equal && report.differences.is_empty(), "{:?}", report.differences);
        assert_eq!(report.samples, 5);
    }
    let appended = open(&case("legacy_0_1_4_fb_appended"));
    let report = diff(fb.as_ref(), appended.as_ref(), &DiffOptions::default(), None).unwrap();
    let said: Vec<_> =
        report.differences.iter().map(|d| format!("{}: {}", d.collection, d.what)).collect();
    assert_eq!(
        said,
        ["holdout: expected no such collection, found one", "train: expected 3 samples, found 5"]
    );
    assert_eq!((report.equal, report.more, report.samples), (false, 0, 5));
}

/// Positions of what is yielded among the shards of these collections, one after another.
fn positions(
    case: &Case,
    collections: &[&str],
    order: impl Fn(Vec<packstone::format::ShardRef>) -> Vec<String>,
) -> Vec<usize> {
    let dataset = open(case);
    let mut shards = Vec::new();
    for name in collections {
        shards.extend(
            dataset.collection(name).unwrap().shards(0).collect::<Result<Vec<_>, _>>().unwrap(),
        );
    }
    let paths: Vec<String> = shards.iter().map(|shard| shard.path.to_string()).collect();
    order(shards).iter().map(|path| paths.iter().position(|p| p == path).unwrap()).collect()
}

/// The right sides are what `BalancedShardInfoIterator` of sedpack 0.2.0 yields for the same data without shuffling.
#[test]
fn balanced_order_is_that_of_the_library() {
    let sequence =
        |name: &str, collections: &[&str], keys: &[BalanceKey], repeat: bool, count: usize| {
            positions(&case(name), collections, |shards| {
                balanced(shards, keys, repeat)
                    .unwrap()
                    .take(count)
                    .map(|s| s.unwrap().path.to_string())
                    .collect()
            })
        };
    let key = || BalanceKey::metadata("key");
    let rows = || BalanceKey::new(|shard| Value::from(shard.rows));
    let threefold = || {
        key().weight(|shard| {
            if shard.metadata.get("key").unwrap().to_string() == "[1,2]" { 3.0 } else { 1.0 }
        })
    };
    let one = |keys: &[BalanceKey], repeat, count| {
        sequence("fb_custom_metadata", &["train"], keys, repeat, count)
    };
    assert_eq!(one(&[key()], false, 20), [0, 2, 4, 1, 3, 5]);
    assert_eq!(one(&[rows()], false, 20), [0, 1, 3, 4, 2, 5]);
    assert_eq!(one(&[rows(), key()], false, 20), [0, 1, 3, 4, 2, 5]);
    assert_eq!(one(&[key(), rows()], false, 20), [0, 2, 4, 1, 3, 5]);
    assert_eq!(one(&[threefold()], false, 20), [0, 2, 4, 1, 5, 3]);
    assert_eq!(one(&[key()], true, 16), [0, 2, 4, 4, 4, 1, 3, 4, 5, 2, 4, 0, 4, 4, 3, 4]);
    assert_eq!(
        one(&[threefold()], true, 20),
        [0, 2, 4, 1, 4, 5, 0, 4, 1, 5, 3, 4, 0, 2, 4, 1, 5, 0, 4, 1]
    );
    assert_eq!(one(&[], false, 20), [0, 1, 2, 3, 4, 5]);
    assert_eq!(one(&[], true, 8), [0, 1, 2, 3, 4, 5, 0, 1]);

    let split =
        || BalanceKey::new(|shard| Value::from(shard.path.as_str().split('/').next().unwrap()));
    let odd = || {
        BalanceKey::new(|shard| {
            let key = shard.metadata.get("key").unwrap().as_array().unwrap();
            Value::from(key[0].as_u64().unwrap() % 2)
        })
    };
    let all = |keys: &[BalanceKey], repeat, count| {
        sequence("tiny_aes_like", &["train", "test", "holdout"], keys, repeat, count)
    };
    assert_eq!(all(&[split()], false, 20), [0, 3, 4, 1, 2]);
    assert_eq!(all(&[odd(), split()], false, 20), [0, 2, 1, 3, 4]);
    assert_eq!(all(&[split(), odd()], false, 20), [0, 3, 4, 2, 1]);
    assert_eq!(all(&[odd()], true, 12), [0, 2, 1, 3, 0, 4, 1, 2, 0, 3, 1, 4]);
    assert_eq!(all(&[split(), odd()], true, 14), [0, 3, 4, 2, 3, 4, 1, 3, 4, 2, 3, 4, 0, 3]);
}

/// The right sides are what `CachedShardInfoIterator` of sedpack 0.2.0 yields, without and with a filter for shards of
/// one example.
#[test]
fn selection_is_that_of_the_library() {
    let select = |selection: Selection| {
        positions(&case("fb_custom_metadata"), &["train"], |shards| {
            let chosen = selection.select(shards.into_iter().map(Ok)).unwrap();
            chosen.iter().map(|shard| shard.path.to_string()).collect()
        })
    };
    let expectations: [(u64, i64, &[usize], &[usize]); 11] = [
        (0, 0, &[0, 1, 2, 3, 4, 5], &[1, 3, 4, 5]),
        (1, 0, &[0, 2, 4], &[1, 3, 4]),
        (2, 0, &[0, 1, 2, 3, 4], &[1, 3, 4, 5]),
        (0, 2, &[0, 1], &[1, 3]),
        (0, -2, &[0, 1, 2, 3], &[1, 3]),
        (0, -9, &[], &[]),
        (0, i64::MIN, &[], &[]),
        (0, 99, &[0, 1, 2, 3, 4, 5], &[1, 3, 4, 5]),
        (0, i64::MAX, &[0, 1, 2, 3, 4, 5], &[1, 3, 4, 5]),
        (1, 2, &[0, 2], &[1, 3]),
        (1, -1, &[0, 2], &[1, 3]),
    ];
    for (limit, first, all, small) in expectations {
        let selection = Selection::new().per_metadata(limit).first(first);
        assert_eq!(select(selection.clone()), all, "limit {limit}, first {first}");
        assert_eq!(
            select(selection.filter(|shard| shard.rows == 1)),
            small,
            "limit {limit}, first {first}, small"
        );
    }
}

#[test]
fn a_selection_is_read_as_a_collection() {
    let case = case("fb_custom_metadata");
    let before = Snapshot::of(&case.data);
    let train = open(&case).collection("train").unwrap();
    let chosen = Selection::new().per_metadata(1).select(train.shards(0)).unwrap();
    let direct: u64 = Scan::new(Arc::clone(&train))
        .over_shards(chosen.clone().into_iter().map(Ok))
        .map(|s| s.unwrap().batch.rows() as u64)
        .sum();
    let view = SelectedCollection::new(train, chosen).unwrap();
    assert_eq!(
        digest_collection(Arc::new(view), &DigestOptions::default(), None).unwrap().samples,
        direct
    );
    assert_eq!(direct, 3 + 3 + 1);
    assert_eq!(Snapshot::of(&case.data), before);
}

/// Every good case in every shape that can hold it: the proof holds, the result is clean and equal, the source untouched.
#[test]
fn conversion_keeps_the_content_of_every_case() {
    let shapes: [&[(&str, Value)]; 4] = [
        &[],
        &[
            ("shard_type", "fb".into()),
            ("compression", "ZSTD".into()),
            ("examples_per_shard", 3.into()),
        ],
        &[
            ("shard_type", "npz".into()),
            ("compression", "ZIP".into()),
            ("examples_per_shard", 2.into()),
        ],
        &[
            ("shard_type", "tfrec".into()),
            ("compression", "GZIP".into()),
            ("examples_per_shard", 1000.into()),
        ],
    ];
    let (mut converted, mut refused) = ([0; 4], Vec::new());
    for case in good_cases("sedpack") {
        let (before, source) = (Snapshot::of(&case.data), open(&case));
        for (shape, count) in shapes.iter().zip(&mut converted) {
            let options = ConvertOptions {
                options: shape.iter().cloned().collect(),
                proof: true,
                threads: 2,
                ..Default::default()
            };
            let place = format!("{} as {shape:?}", case.name);
            if let Err(refused) = plan(&source, &Sedpack, &options) {
                assert_eq!(refused.code(), "sedpack/not_writable", "{place}: {refused}");
                continue;
            }
            let root = Arc::new(MemoryRoot::new());
            let target = Arc::clone(&root) as Arc<dyn RootMut>;
            let report = match convert(Arc::clone(&source), &Sedpack, target, &options, None) {
                Ok(report) => report,
                Err(error) => {
                    assert!(root.files().is_empty(), "{place}: {error}");
                    refused.push(format!("{} {}", case.name, error.code()));
                    continue;
                }
            };
            assert!(report.fidelity.losses.is_empty(), "{place}");
            assert!(report.digests.iter().all(|proof| proof.level == Some(Level::Full)), "{place}");
            let checked = verify(
                &Sedpack,
                Arc::clone(&root) as Arc<dyn Root>,
                &VerifyOptions::default(),
                None,
            )
            .unwrap();
            assert_eq!(
                (checked.findings.as_slice(), checked.samples),
                (&[][..], report.samples),
                "{place}"
            );
            let result = Sedpack.open(root, &Limits::default()).unwrap();
            let same =
                diff(source.as_ref(), result.as_ref(), &DiffOptions::default(), None).unwrap();
            assert!(same.equal, "{place}: {:?}", same.differences);
            *count += 1;
        }
        assert_eq!(Snapshot::of(&case.data), before, "{}", case.name);
    }
    // An npz shard loses a NUL at the end of a text, and no shard type is written with integers beyond 64 bits.
    let wide = "npz_uncast sedpack/value_invalid";
    let (fb, tfrec) =
        ("fb_text_and_bytes sedpack/value_invalid", "tfrec_text_and_bytes sedpack/value_invalid");
    assert_eq!(refused, [fb, wide, wide, wide, wide, tfrec]);
    let cases = good_cases("sedpack").len();
    assert!(converted[0] == cases - 1 && converted[1] == cases - 1, "{converted:?} of {cases}");
    assert!(converted[2] > 45 && converted[3] > 30, "{converted:?} of {cases}");
}

#[test]
fn good_cases_verify_clean_with_any_number_of_threads() {
    for case in good_cases("sedpack") {
        let before = Snapshot::of(&case.data);
        let root: Arc<dyn Root> = Arc::new(LocalRoot::open(&case.data).unwrap());
        let samples: u64 = digests(&case).iter().map(|digest| digest.samples).sum();
        for threads in [0, 1, 4] {
            let options = VerifyOptions { threads, ..VerifyOptions::default() };
            let report = verify(&Sedpack, Arc::clone(&root), &options, None).unwrap();
            assert!(report.is_clean(), "{}: {:?}", case.name, report.findings);
            assert_eq!(report.samples, samples, "{}", case.name);
        }
        assert_eq!(Snapshot::of(&case.data), before, "{}", case.name);
    }
}

#[test]
fn a_fault_in_the_source_publishes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut refused = 0;
    for case in bad_cases("sedpack") {
        let root: Arc<dyn Root> = Arc::new(LocalRoot::open(&case.data).unwrap());
        let Ok(source) = Sedpack.open(root, &Limits::default()) else { continue };
        let path = folder.path().join(&case.name);
        let target: Arc<dyn RootMut> = Arc::new(LocalRoot::create(&path).unwrap());
        let options = ConvertOptions { threads: 2, ..Default::default() };
        if convert(source, &Sedpack, target, &options, None).is_err() {
            assert!(
                Snapshot::of(&path) == Snapshot::of(&folder.path().join("nothing")),
                "{}",
                case.name
            );
            refused += 1;
        }
    }
    assert!(refused > 15, "{refused}");
}

#[test]
fn empty_collections_are_converted_and_proven() {
    let source =
        dataset(vec![counted("train", &[3, 2]), counted("test", &[]), counted("holdout", &[0, 0])]);
    let root = Arc::new(MemoryRoot::new());
    let options = ConvertOptions { proof: true, threads: 1, ..Default::default() };
    let report =
        convert(source, &Sedpack, Arc::clone(&root) as Arc<dyn RootMut>, &options, None).unwrap();
    assert_eq!((report.samples, report.written.samples), (5, 5));
    assert_eq!(report.digests[0].source.name, "train");
    assert!(verify(&Sedpack, root, &VerifyOptions::default(), None).unwrap().is_clean());
}
