//! Bundles that the library wrote, and our own.

use std::path::Path;
use std::sync::Arc;

use packstone::formats::datasetrt::codes;
use packstone::formats::datasetrt::options::OpenOptions;
use packstone::formats::datasetrt::parts::runtime::{ActiveDataset, Bundle, ReaderConfig, Runtime};
use packstone::json;
use packstone::json::{ReadOptions, Style, Value};
use packstone::{Limits, MemoryRoot, RelPath, Root, RootMut};
use packstone_testkit::golden_folder;

use crate::kit;

const CONFIG: &str = "dataset.json";
const TABLE: &str = "metadata.arrow";

fn path(name: &str) -> RelPath {
    RelPath::new(name).unwrap()
}

fn golden(name: &str) -> Arc<dyn Root> {
    kit::local(&golden_folder("datasetrt").join("bundles").join(name))
}

fn read(root: &dyn Root) -> Result<Bundle, packstone::Error> {
    Bundle::read(root, &Limits::default())
}

/// The caches of a case that a bundle names by their folders.
fn roots(case: &str, bundle: &Bundle) -> Vec<Arc<dyn Root>> {
    let data = golden_folder("datasetrt").join(case).join("data");
    let folder = |path: &String| data.join(Path::new(path).file_name().unwrap());
    bundle.cache_paths.iter().map(|path| kit::local(&folder(path))).collect()
}

fn window(dataset: &ActiveDataset) -> Vec<(u64, u64)> {
    let samples = dataset.pass().samples().map(Result::unwrap);
    samples.map(|s| s.view().identity()).map(|id| (id.cache_id, id.sample_id)).collect()
}

#[test]
fn a_bundle_of_the_library_draws_what_the_library_draws() {
    let bundle = read(golden("replaced").as_ref()).unwrap();
    assert_eq!(bundle.config, ReaderConfig::new(7).with_prefetch_size(5));
    assert_eq!((bundle.threads, bundle.epoch_len, bundle.table.rows()), (2, 7, 5));
    let roots = roots("mixed_v2_v3", &bundle);
    let dataset = bundle.restore(roots, &OpenOptions::default()).unwrap();
    let b = 3_887_071_305_761_446_316;
    let (x, y, z) = ((b, 0), (0, 1), (0, 0));
    assert_eq!(window(&dataset), [x, x, y, y, y, y, y]);
    assert_eq!(window(&dataset), [x, x, z, z, x, z, z]);
    assert_eq!(window(&dataset), [y, x, x, x, y, y, x]);
    let table = dataset.table().unwrap().to_table().unwrap();
    let names: Vec<&str> = table.columns().map(|(name, _)| name).skip(7).collect();
    assert_eq!(names, ["note", "fold", "ok", "u", "f", "i32", "u32", "f32"]);
}

#[test]
fn an_untouched_table_is_written_as_the_library_writes_it() {
    let theirs = golden("plain");
    let bundle = read(theirs.as_ref()).unwrap();
    let config = ReaderConfig::new(u64::MAX);
    let dataset = Runtime::new(2).open(roots("v3_basic_none", &bundle), &config).unwrap();
    let root = MemoryRoot::new();
    dataset.bundle(bundle.cache_paths).unwrap().write(&root).unwrap();
    assert_eq!(root.files().len(), 2);
    for file in [CONFIG, TABLE] {
        let (ours, theirs) = (root.read(&path(file)).unwrap(), theirs.read(&path(file)).unwrap());
        assert!(ours == theirs, "{file}");
    }
}

#[test]
fn a_table_that_was_replaced_comes_back_whole() {
    let bundle = read(golden("replaced").as_ref()).unwrap();
    let all = roots("mixed_v2_v3", &bundle);
    let paths = bundle.cache_paths.clone();
    let dataset = bundle.clone().restore(all.clone(), &OpenOptions::default()).unwrap();
    window(&dataset);
    let root = MemoryRoot::new();
    dataset.bundle(paths).unwrap().write(&root).unwrap();
    let again = read(&root).unwrap();
    assert_eq!((&again.cache_paths, &again.config), (&bundle.cache_paths, &bundle.config));
    let shown = |bundle: &Bundle| format!("{:?}", bundle.table);
    assert_eq!(shown(&again), shown(&bundle));
    let restored = again.restore(all, &OpenOptions::default()).unwrap();
    assert_eq!(restored.epoch_len(), 7);
    // A bundle has no cursor; a state does, and fits the restored dataset.
    let state = dataset.state().unwrap();
    assert!(restored.resume(&state).unwrap().is_none());
    assert_eq!(window(&restored), window(&dataset));
}

#[test]
fn a_bundle_is_never_written_over() {
    let bundle = read(golden("plain").as_ref()).unwrap();
    for taken in [CONFIG, TABLE, "dataset.json.partial", "metadata.arrow.partial"] {
        let root = MemoryRoot::new();
        root.create(&path(taken), b"old").unwrap();
        assert_eq!(bundle.write(&root).unwrap_err().code(), codes::BUNDLE_EXISTS, "{taken}");
        assert_eq!(root.files().len(), 1);
        assert_eq!(&root.read(&path(taken)).unwrap()[..], b"old");
    }
}

#[test]
fn what_is_no_bundle_is_refused_by_name() {
    let theirs = golden("plain");
    let text = theirs.read(&path(CONFIG)).unwrap();
    let document = json::read(&text, &ReadOptions::default()).unwrap().value;
    let with = |text: &[u8]| {
        let root = MemoryRoot::new();
        root.create(&path(TABLE), &theirs.read(&path(TABLE)).unwrap()).unwrap();
        root.create(&path(CONFIG), text).unwrap();
        let refused = read(&root).map(|_| ()).map_err(|error| {
            assert!(error.place().file.is_some(), "{error}");
            (error.code(), error.place().json_path.clone().unwrap_or_default())
        });
        refused.err().unwrap_or(("", String::new()))
    };
    assert_eq!(with(&text).0, "");
    let changed = |reader: bool, name: &str, value: Option<Value>| {
        let mut document = document.clone();
        let mut object = document.as_object_mut().unwrap();
        if reader {
            object = object.get_mut("reader_config").unwrap().as_object_mut().unwrap();
        }
        match value {
            Some(value) => drop(object.insert(name, value)),
            None => drop(object.remove(name)),
        }
        with(json::write(&document, &Style::PYDANTIC).as_bytes())
    };
    // What has a default may be left out, as there.
    for (reader, name) in [
        (false, "version"),
        (false, "metadata_file"),
        (true, "prefetch_size"),
        (true, "shuffle"),
        (true, "validate_cache"),
    ] {
        assert_eq!(changed(reader, name, None).0, "", "{name}");
    }
    assert_eq!(changed(false, "version", Some(1.into())).0, codes::BUNDLE_VERSION);
    let float = || json::read(b"1.0", &ReadOptions::default()).unwrap().value;
    for (reader, name, value, at) in [
        (false, "more", Some(1.into()), "$.more"),
        (true, "more", Some(1.into()), "$.reader_config.more"),
        (false, "cache_paths", None, "$.cache_paths"),
        (false, "cache_paths", Some(Value::Array(vec![])), "$.cache_paths"),
        (false, "reader_config", None, "$.reader_config"),
        (true, "seed", None, "$.reader_config.seed"),
        (true, "seed", Some((-1).into()), "$.reader_config.seed"),
        (true, "seed", Some(float()), "$.reader_config.seed"),
        (true, "shuffle", Some(1.into()), "$.reader_config.shuffle"),
        (true, "prefetch_size", Some(0.into()), "$.reader_config.prefetch_size"),
        (false, "num_workers", Some(0.into()), "$.num_workers"),
        (false, "epoch_len", Some("6".into()), "$.epoch_len"),
        (false, "metadata_file", Some("../x".into()), "$.metadata_file"),
        (false, "row_count", Some(7.into()), ""),
    ] {
        let found = changed(reader, name, value);
        assert_eq!(found, (codes::BUNDLE_INVALID, at.to_owned()), "{name}");
    }
    assert_eq!(with(b"{").0, codes::BUNDLE_INVALID);
    let twice = text.to_vec().iter().map(|b| char::from(*b)).collect::<String>();
    let twice = twice.replacen("\"version\": 2,", "\"version\": 2, \"version\": 2,", 1);
    assert_eq!(with(twice.as_bytes()).0, codes::BUNDLE_INVALID);
    for cut in 0..text.len() {
        assert_ne!(with(&text[..cut]).0, "", "{cut}");
    }
}
