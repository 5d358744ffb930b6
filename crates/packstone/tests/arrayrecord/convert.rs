//! Conversions to and from all other formats: what comes back is what was given.

use std::sync::Arc;

use packstone::format::Dataset;
use packstone::ops::{ConvertOptions, convert, reopened};
use packstone::registry::{FORMATS, format};
use packstone::{Error, Limits, LocalRoot, MemoryRoot, Root, RootMut};
use packstone_io::{RelPath, SoleFile};
use packstone_testkit::good_cases;

use super::files::Golden;
use super::kit::{bytes, check, digest, empty, open};

fn to(
    source: &Arc<dyn Dataset>,
    id: &str,
    root: &Arc<dyn RootMut>,
) -> Result<Arc<dyn Dataset>, Error> {
    let target = format(id).unwrap();
    let options = ConvertOptions { threads: 0, proof: true, ..ConvertOptions::default() };
    let report = convert(Arc::clone(source), target, Arc::clone(root), &options, None)?;
    assert!(report.fidelity.is_lossless(), "{:?}", report.fidelity);
    assert!(report.digests.iter().all(|proof| proof.level.is_some()));
    let readable: Arc<dyn Root> = Arc::clone(root) as _;
    reopened(target.open(readable, &Limits::default())?)
}

fn folder() -> Arc<dyn RootMut> {
    Arc::new(MemoryRoot::new())
}

fn assert_same(found: &Arc<dyn Dataset>, expected: &Arc<dyn Dataset>, what: &str) {
    for collection in expected.collections() {
        let want = digest(expected.as_ref(), &collection);
        assert_eq!(digest(found.as_ref(), &collection), want, "{what}");
    }
}

#[test]
fn copies_within_the_format_have_the_options_of_the_source() {
    for name in ["three_none", "zero_zstd_g1000", "zstd_neg5_g7", "pad_true_zstd", "edges_none"] {
        let golden = Golden::named(name);
        let source = open(&golden.bytes).unwrap();
        let root = empty();
        let copy = to(&source, "arrayrecord", &root).unwrap();
        assert_same(&copy, &source, name);
        let options = |dataset: &Arc<dyn Dataset>| {
            let text = dataset.info().native.get("writer_options").unwrap();
            text.as_str().unwrap().to_owned()
        };
        assert_eq!(options(&copy), options(&source));
        if name.ends_with("none") {
            assert_eq!(bytes(root.as_ref()), golden.bytes);
        }
    }
}

#[test]
fn records_go_into_every_format_and_come_back() {
    for name in ["three_zstd", "tr_proto_none", "zstd_neg5_g7"] {
        let source = open(&Golden::named(name).bytes).unwrap();
        for other in FORMATS.iter().map(|format| format.id()).filter(|id| *id != "arrayrecord") {
            let there = to(&source, other, &folder()).unwrap();
            assert_same(&there, &source, other);
            let root = empty();
            let back = to(&there, "arrayrecord", &root).unwrap();
            assert_same(&back, &source, other);
            assert_eq!(check(&bytes(root.as_ref()), false), []);
        }
    }
}

#[test]
fn datasets_of_every_format_go_into_a_file_and_come_back() {
    let mut done = 0;
    for (id, folder_name) in [
        ("sedpack", "sedpack"),
        ("tensordict", "tensordict"),
        ("datasetrt", "datasetrt"),
        ("sds", "signal-dataset"),
    ] {
        for case in good_cases(folder_name).iter().step_by(3) {
            let root: Arc<dyn Root> = match case.data.is_dir() {
                true => Arc::new(LocalRoot::open(&case.data).unwrap()),
                false => continue,
            };
            let Ok(source) = format(id).unwrap().open(root, &Limits::default()) else { continue };
            let there = empty();
            let Ok(file) = to(&source, "arrayrecord", &there) else { continue };
            assert_same(&file, &source, &case.name);
            assert_eq!(check(&bytes(there.as_ref()), false), [], "{id} {}", case.name);
            assert_eq!(file.collections(), source.collections());
            let name = RelPath::new("x.tdz").unwrap();
            let back: Arc<dyn RootMut> = match id {
                "tensordict" => Arc::new(SoleFile::new(MemoryRoot::new(), name, "x.tdz")),
                _ => folder(),
            };
            if let Ok(back) = to(&file, id, &back) {
                assert_same(&back, &source, &case.name);
                done += 1;
            }
        }
    }
    assert!(done >= 15, "only {done} came back");
}
