//! Copies within the format: what the original could not read in them is said, and a folder of caches keeps what its
//! caches are called.

use std::path::Path;
use std::sync::Arc;

use packstone::format::{AuditOptions, Dataset, Format, ReadContext, Selected};
use packstone::formats::datasetrt::DatasetRt;
use packstone::formats::datasetrt::parts::identity::cache_id;
use packstone::json::{Object, Value};
use packstone::ops::{ConvertOptions, ConvertReport, Level, convert};
use packstone::{Error, Kind, Limits, LocalRoot, MemoryRoot, Root, RootMut};
use packstone_container::json;
use packstone_container::json::ReadOptions;
use packstone_testkit::{Case, copy_folder, good_cases};
use tempfile::TempDir;

fn case(name: &str) -> Case {
    good_cases("datasetrt").into_iter().find(|case| case.name == name).unwrap()
}

/// The only cache of a case.
fn cache(name: &str) -> std::path::PathBuf {
    let mut entries = std::fs::read_dir(case(name).data).unwrap();
    entries.next().unwrap().unwrap().path()
}

fn run(source: &Path, options: Value, strict: bool) -> (MemoryRoot, Result<ConvertReport, Error>) {
    let root = MemoryRoot::new();
    let options = ConvertOptions {
        options: options.as_object().unwrap().clone(),
        strict,
        proof: true,
        threads: 1,
        ..ConvertOptions::default()
    };
    let target: Arc<dyn RootMut> = Arc::new(root.clone());
    let report = convert(packstone::open(source).unwrap(), &DatasetRt, target, &options, None);
    (root, report)
}

/// What is kept and unreadable: column, first sample, a word of the reason.
fn kept(source: &Path, options: Value) -> Vec<(String, Option<u64>, String)> {
    let (_, report) = run(source, options, false);
    let report = report.unwrap();
    // Nothing is lost, and that is proved.
    assert!(report.fidelity.is_lossless());
    assert!(report.digests.iter().all(|proof| proof.level == Some(Level::Full)));
    let kept = report.fidelity.unreadable.into_iter();
    kept.map(|u| (u.field, u.sample, u.what)).collect()
}

#[test]
fn what_the_original_cannot_read_in_a_copy_is_named_and_refused_when_strict() {
    for (name, options, word) in [
        ("v3_reserved_columns", json!({}), "no table"),
        ("v3_nonfinite", json!({}), "not finite"),
        ("v3_lossy_floats", json!({ "peer_exact_floats": false }), "validate_cache"),
    ] {
        let found = kept(&cache(name), options.clone());
        assert!(!found.is_empty(), "{name}");
        assert!(found.iter().all(|(_, _, what)| what.contains(word)), "{name}: {found:?}");
        let (root, refused) = run(&cache(name), options, true);
        let error = refused.unwrap_err();
        assert_eq!((error.code(), error.kind()), ("ops/unreadable", Kind::Unsupported));
        assert!(found.iter().all(|(field, _, _)| error.to_string().contains(field)), "{error}");
        assert!(root.files().is_empty(), "{name}");
    }
    for name in ["v3_basic_none", "v3_unicode", "v3_type_edges", "v2_basic_lz4"] {
        assert_eq!(kept(&cache(name), json!({})), [], "{name}");
        run(&cache(name), json!({}), true).1.unwrap();
    }
}

#[test]
fn columns_and_first_samples_are_those_of_the_copy() {
    let columns: Vec<_> =
        kept(&cache("v3_reserved_columns"), json!({})).into_iter().map(|k| (k.0, k.1)).collect();
    let names = ["cache_id", "sample_id", "weight"];
    assert_eq!(columns, names.map(|name| (name.to_owned(), None)));
    // The first sample with a float that is not finite, found the slow way.
    let path = cache("v3_nonfinite");
    let source = packstone::open(&path).unwrap();
    let collection = source.collection(&source.collections()[0]).unwrap();
    let mut wanted: Vec<(String, Option<u64>)> = Vec::new();
    for shard in collection.shards(0) {
        let shard = shard.unwrap();
        let batch = collection.read(&shard, None, &mut ReadContext::default()).unwrap();
        for row in 0..batch.rows() {
            for (key, value) in batch.metadata(row).unwrap().iter() {
                let special = value.as_number().is_some_and(|n| !n.to_f64().is_finite());
                if special && !wanted.iter().any(|(name, _)| name == key.as_str().unwrap()) {
                    let sample = shard.first + row as u64;
                    wanted.push((key.as_str().unwrap().to_owned(), Some(sample)));
                }
            }
        }
    }
    wanted.sort();
    let found: Vec<_> = kept(&path, json!({})).into_iter().map(|k| (k.0, k.1)).collect();
    assert_eq!(found, wanted);
    // A selection has numbers of its own, and may leave all of them out.
    let first = wanted[0].1.unwrap();
    let chosen = |samples: &[u64]| {
        let name = source.collections()[0].clone();
        let selected = Selected { collection: &name, samples, condition: None };
        let text = source.selection(&selected, &|label| Ok(label.to_owned())).unwrap();
        let mut open = |at: &str| -> Result<Arc<dyn Root>, Error> {
            Ok(Arc::new(LocalRoot::open(at).unwrap()))
        };
        DatasetRt.open_selection(text.as_bytes(), &mut open, &Limits::default()).unwrap()
    };
    let of = |dataset: Arc<dyn Dataset>| {
        let collection = dataset.collection(&dataset.collections()[0]).unwrap();
        let found = collection.unreadable(&Object::new()).unwrap();
        found.into_iter().map(|u| u.sample).collect::<Vec<_>>()
    };
    assert_eq!(of(chosen(&[first, first])).first(), Some(&Some(0)));
    let finite: Vec<u64> =
        (0..collection.len()).filter(|sample| of(chosen(&[*sample])).is_empty()).collect();
    assert_eq!(of(chosen(&finite)), []);
}

#[test]
fn renamed_columns_are_a_loss_and_readable() {
    let (_, report) = run(&cache("v3_reserved_columns"), json!({ "reserved_prefix": "x_" }), false);
    let fidelity = report.unwrap().fidelity;
    assert!(fidelity.unreadable.is_empty() && !fidelity.is_lossless());
    assert!(fidelity.losses[0].what.contains("\"x_cache_id\""), "{fidelity:?}");
}

/// A folder of caches, copied under names of its own.
fn base(caches: &[(&str, &str, &str)]) -> TempDir {
    let folder = TempDir::new().unwrap();
    for (case_name, cache, name) in caches {
        copy_folder(&case(case_name).data.join(cache), &folder.path().join(name));
    }
    folder
}

fn ids(path: &Path) -> Vec<(String, Result<u64, &'static str>)> {
    let dataset = packstone::open(path).unwrap();
    let id = |name: &String| {
        let collection = dataset.collection(name).map_err(|error| error.code())?;
        let shard = collection.shards(0).next().unwrap().unwrap();
        let mut context = ReadContext { identities: true, ..ReadContext::default() };
        let batch = collection.read(&shard, None, &mut context).unwrap();
        Ok(batch.identity(0).unwrap().get("cache_id").unwrap().as_u64().unwrap())
    };
    let names = dataset.collections();
    names.into_iter().map(|name| (name.clone(), id(&name))).collect()
}

const V2: (&str, &str) = ("v2_basic_none", "basic_none_s1");

#[test]
fn a_folder_stands_for_the_list_of_its_caches_by_name() {
    let folder =
        base(&[(V2.0, V2.1, "c"), ("v3_basic_none", "basic_none_s1", "b"), (V2.0, V2.1, "a")]);
    let name = manifest(&std::fs::read(folder.path().join("b/manifest.json")).unwrap());
    let stored = name.get("cache_id").unwrap().as_u64().unwrap();
    let want = [("a", Ok(0)), ("b", Ok(stored)), ("c", Ok(2))];
    assert_eq!(ids(folder.path()), want.map(|(name, id)| (name.to_owned(), id)));
    // A selection in it opens again, with these ids.
    let dataset = packstone::open(folder.path()).unwrap();
    let selected = Selected { collection: "c", samples: &[0], condition: None };
    let text = dataset.selection(&selected, &|label| Ok(label.to_owned())).unwrap();
    let mut open =
        |at: &str| -> Result<Arc<dyn Root>, Error> { Ok(Arc::new(LocalRoot::open(at).unwrap())) };
    DatasetRt.open_selection(text.as_bytes(), &mut open, &Limits::default()).unwrap();
}

#[test]
fn a_place_that_another_cache_stores_as_its_id_is_refused() {
    let folder = base(&[("v3_basic_none", "basic_none_s1", "a"), (V2.0, V2.1, "b")]);
    let path = folder.path().join("a/manifest.json");
    let text = std::fs::read_to_string(&path).unwrap();
    let stored = cache_id(manifest(text.as_bytes()).get("source_name").unwrap().as_str().unwrap());
    std::fs::write(&path, text.replace(&stored.to_string(), "1")).unwrap();
    let want = [("a", Ok(1)), ("b", Err("datasetrt/duplicate_cache_id"))];
    assert_eq!(ids(folder.path()), want.map(|(name, id)| (name.to_owned(), id)));
    let root: Arc<dyn Root> = Arc::new(LocalRoot::open(folder.path()).unwrap());
    let audit = DatasetRt.audit(root, &AuditOptions::default()).unwrap();
    assert!(audit.findings.iter().any(|f| f.code == "datasetrt/duplicate_cache_id"));
}

fn manifest(bytes: &[u8]) -> Value {
    json::read(bytes, &ReadOptions::default()).unwrap().value
}

#[test]
fn a_copied_folder_keeps_source_names_and_compression() {
    let folder = base(&[(V2.0, V2.1, "other"), ("v3_shards_lz4", "shards_lz4_s1", "second")]);
    let (root, report) = run(folder.path(), json!({}), false);
    report.unwrap_or_else(|e| panic!("{e}"));
    for (name, source) in [("other", "basic_none_s1"), ("second", "shards_lz4_s1")] {
        let files = root.files();
        let path = format!("{name}/manifest.json");
        let bytes = files.iter().find(|(p, _)| p.as_str() == path).unwrap();
        let manifest = manifest(bytes.1.as_ref());
        assert_eq!(manifest.get("source_name").unwrap().as_str(), Some(source));
        assert_eq!(manifest.get("cache_id").unwrap().as_u64(), Some(cache_id(source)));
    }
    // One cache alone in a folder of another name, too.
    let (root, report) = run(&folder.path().join("second"), json!({}), false);
    report.unwrap();
    let algo = root.files().iter().any(|(path, bytes)| {
        let text = String::from_utf8_lossy(bytes.as_ref()).into_owned();
        path.as_str() == "shards_lz4_s1/manifest.json" && text.contains("\"algo\": \"lz4\"")
    });
    assert!(algo);
}
