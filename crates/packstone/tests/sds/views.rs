//! Views and copies: the records of a dataset in another order, with their annotations.

use std::sync::Arc;

use packstone::format::Dataset;
use packstone::formats::sds::options::{OpenOptions, Policy};
use packstone::formats::sds::parts::axes::Axis;
use packstone::formats::sds::parts::publish::{PublishOptions, publish};
use packstone::formats::sds::parts::record::{Record, RecordField};
use packstone::formats::sds::parts::view::{ViewSource, materialize, publish_view};
use packstone::formats::sds::parts::write::{ShardOptions, write_shard};
use packstone::formats::sds::reader::SdsDataset;
use packstone::json::Object;
use packstone::model::DType;
use packstone::ops::{DigestOptions, Scan, digest_collection, gather};
use packstone::{Error, LocalRoot, MemoryRoot, RelPath, Root, RootMut};
use packstone_io::Buf;
use packstone_testkit::{copy_folder, golden_folder};

use super::bad::{check, summary};
use super::kit;

fn golden() -> std::path::PathBuf {
    golden_folder("signal-dataset").join("view/data")
}

fn local(path: &std::path::Path) -> Arc<dyn RootMut> {
    Arc::new(LocalRoot::create(path).unwrap())
}

fn open(root: &Arc<dyn RootMut>) -> SdsDataset {
    let root: Arc<dyn Root> = Arc::clone(root) as _;
    kit::open(root).unwrap()
}

fn digest(dataset: &SdsDataset, collection: &str) -> String {
    let options = DigestOptions { threads: 0, ..DigestOptions::default() };
    digest_collection(dataset.collection(collection).unwrap(), &options, None).unwrap().full
}

const ORDINALS: [u64; 5] = [4, 0, 0, 1, 3];

fn options() -> PublishOptions {
    let mut options = PublishOptions::new("view", "vw-1");
    options.shards_per_page = 2;
    options
}

fn inside(folder: &str) -> ViewSource {
    ViewSource::Inside(RelPath::new(folder).unwrap())
}

#[test]
fn a_view_of_what_lies_inside_is_that_of_the_library_but_for_the_folder_of_its_pages() {
    let folder = tempfile::tempdir().unwrap();
    copy_folder(&golden().join("source"), &folder.path().join("source"));
    let (root, source) = (local(folder.path()), local(&folder.path().join("source")));
    for _ in 0..2 {
        let made = publish_view(&root, &open(&source), &inside("source"), &ORDINALS, &options());
        let made = made.unwrap();
        for (number, page) in made.snapshot().manifests.iter().enumerate() {
            let found = std::fs::read(folder.path().join(page.object.path.to_string())).unwrap();
            let golden = golden().join(format!("manifests/vw/vw-1-{number:08}.json"));
            assert_eq!(found, std::fs::read(golden).unwrap());
        }
    }
    let read = |base: &std::path::Path, name: &str| std::fs::read(base.join(name)).unwrap();
    let pointer = read(folder.path(), "annotations/catalog.json");
    assert_eq!(pointer, read(&golden(), "annotations/catalog.json"));
    let library = kit::open(Arc::new(LocalRoot::open(golden()).unwrap())).unwrap();
    let made = open(&root);
    for collection in ["records", "annotations/quality"] {
        assert_eq!(digest(&made, collection), digest(&library, collection));
    }
    let set = made.annotations("quality").unwrap();
    let indices: Vec<_> = (0..5).map(|n| set.annotation(n).unwrap().source_index).collect();
    assert_eq!(indices, [0, 1, 2, 3, 4]);
    assert!(summary(&check(root as _, false)).is_empty());
}

/// A view inside of which its source lies: `records` records of so many bytes in shards of `each`.
fn wide(
    records: u64,
    bytes: usize,
    each: usize,
    ordinals: &[u64],
    per_page: u64,
) -> (MemoryRoot, SdsDataset) {
    let root = MemoryRoot::new();
    let made: Vec<Record> = (0..records)
        .map(|number| {
            let values: Buf = vec![number as u8; bytes].into();
            let (shape, axes) = (vec![bytes as u64], Axis::unnamed(&[bytes as u64]));
            let field = RecordField {
                dtype: DType::UInt8,
                shape,
                data: values,
                axes,
                metadata: Object::new(),
            };
            let fields = vec![("x".to_owned(), field)];
            Record { id: number.to_string(), fields, ..Record::default() }
        })
        .collect();
    let inner: Arc<dyn RootMut> = Arc::new(MemoryRoot::new());
    let shards: Vec<_> = made
        .chunks(each)
        .enumerate()
        .map(|(number, part)| {
            let part = part.iter().cloned().map(Ok);
            let work = format!("{number:04}");
            write_shard(inner.as_ref(), part, &work, 0, &ShardOptions::default()).unwrap()
        })
        .collect();
    let named = PublishOptions::new("source", "source");
    let source = publish(&inner, &shards, &named, &Policy::default()).unwrap();
    let paths = ["root.json", "snapshots/source/snapshot.json"].map(str::to_owned).into_iter();
    let pages = source.snapshot().manifests.iter().map(|page| page.object.path.to_string());
    let objects = shards.iter().flat_map(|shard| [&shard.data, &shard.metadata]);
    let objects = objects.map(|object| object.path.to_string());
    for path in paths.chain(pages).chain(objects) {
        let path = RelPath::new(&path).unwrap();
        let inside = RelPath::new("source").unwrap().below(&path);
        root.create(&inside, &source.store().objects.root.read(&path).unwrap()).unwrap();
    }
    let mut options = PublishOptions::new("view", "view");
    options.shards_per_page = per_page;
    let target: Arc<dyn RootMut> = Arc::new(root.clone());
    let view = publish_view(&target, &source, &inside("source"), ordinals, &options).unwrap();
    (root, view)
}

fn parts(view: &SdsDataset) -> Vec<u64> {
    let records = view.collection("records").unwrap();
    records.shards(0).map(|shard| shard.unwrap().rows).collect()
}

#[test]
fn neighbours_of_one_object_are_read_at_once_within_bounds() {
    // Pages end a part, and so does another object.
    let ordinals: Vec<u64> = (0..10).chain([3, 3, 9, 0]).collect();
    let (_, view) = wide(10, 4, 5, &ordinals, 6);
    assert_eq!(parts(&view), [5, 1, 4, 2, 1, 1]);
    let ids = |view: &SdsDataset| -> Vec<String> {
        view.rows(0..view.len()).unwrap().into_iter().map(|row| row.id.unwrap()).collect()
    };
    let expected: Vec<String> = ordinals.iter().map(u64::to_string).collect();
    assert_eq!(ids(&view), expected);
    let values = |view: &SdsDataset, indices: &[u64]| -> Vec<u8> {
        let records = view.collection("records").unwrap();
        let batch = gather(records.as_ref(), indices, None, &mut Default::default()).unwrap();
        batch.samples().map(|sample| sample.get("x").unwrap().bytes[0]).collect()
    };
    let all: Vec<u64> = (0..14).collect();
    assert_eq!(values(&view, &all), ordinals.iter().map(|n| *n as u8).collect::<Vec<_>>());
    for from in 0..14 {
        assert_eq!(values(&view, &[from, 13, 0, from]), {
            let of = |at: u64| ordinals[at as usize] as u8;
            [of(from), of(13), of(0), of(from)]
        });
        let records = view.collection("records").unwrap();
        assert_eq!(records.shards(from).map(|shard| shard.unwrap().rows).sum::<u64>(), 14 - from);
    }
    // At most 1024 records and some 4 MiB.
    let many: Vec<u64> = (0..2100).map(|n| n % 50).collect();
    assert_eq!(parts(&wide(50, 1, 50, &many, 10_000).1), [1024, 1024, 52]);
    let (_, large) = wide(3, 9 << 17, 3, &[0, 1, 2, 0, 1, 2, 2], 100);
    assert_eq!(parts(&large), [3, 3, 1]);
}

#[test]
fn a_damaged_neighbour_is_named() {
    let (root, view) = wide(8, 600, 8, &[0, 1, 2, 3, 4, 5, 6, 7], 100);
    let object = view.store().index.locate(0).unwrap().entry().unwrap().data.path.to_string();
    let path = RelPath::new(&object).unwrap();
    let mut bytes = root.read(&path).unwrap().to_vec();
    // Each chunk has the frame of its sizes and that of its record.
    let frames: Vec<usize> =
        (0..65_536).filter(|at| bytes[*at..].starts_with(&[0x28, 0xb5, 0x2f, 0xfd])).collect();
    bytes[frames[2 * 5 + 1] + 20] ^= 1;
    root.replace(&[(path, bytes)]).unwrap();
    let view = kit::open(Arc::new(root)).unwrap();
    let records = view.collection("records").unwrap();
    let error = Scan::new(Arc::clone(&records)).threads(0).shards().find_map(Result::err).unwrap();
    assert_eq!((error.code(), error.place().record), ("sds/shard_damaged", Some(5)));
    let read = |at| gather(records.as_ref(), &[at], None, &mut Default::default());
    assert!([0, 4, 6, 7].into_iter().all(|at| read(at).is_ok()));
    assert_eq!(read(5).err().unwrap().code(), "sds/shard_damaged");
}

#[test]
fn a_view_of_what_lies_elsewhere_is_read_with_consent_and_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let there = folder.path().join("there");
    copy_folder(&golden().join("source"), &there);
    let source = local(&there);
    let root = local(&folder.path().join("here"));
    let prefix = there.to_str().unwrap().to_owned();
    let at = ViewSource::At(format!("{prefix}/"));
    let made = publish_view(&root, &open(&source), &at, &ORDINALS, &options()).unwrap();
    assert_eq!(made.record(0).unwrap().id, "b1");
    // Without consent the documents are read and nothing else.
    let plain = open(&root);
    let error = plain.record(0).unwrap_err();
    assert_eq!(error.code(), "sds/path_absolute");
    assert_eq!(plain.row(0).unwrap_err().code(), "sds/path_absolute");
    let source: Arc<dyn Root> = source as _;
    let readable = || -> Arc<dyn Root> { Arc::clone(&root) as _ };
    let consent = OpenOptions::default().with_source(prefix.clone(), Arc::clone(&source));
    let consenting = SdsDataset::open_with(readable(), &consent).unwrap();
    assert_eq!(digest(&consenting, "records"), digest(&made, "records"));
    let elsewhere = OpenOptions::default().with_source(format!("{prefix}x"), source);
    let refused = SdsDataset::open_with(readable(), &elsewhere).unwrap().record(0);
    assert_eq!(refused.unwrap_err().code(), "sds/path_absolute");
    // The size is compared there as well.
    let object = std::fs::read_dir(there.join("objects/data/e7")).unwrap().next().unwrap().unwrap();
    std::fs::write(object.path(), [0; 70_000]).unwrap();
    let cut = SdsDataset::open_with(readable(), &consent).unwrap().record(0);
    assert_eq!(cut.unwrap_err().code(), "sds/size_mismatch");
}

#[test]
fn absolute_references_into_the_dataset_itself_need_no_consent() {
    let folder = tempfile::tempdir().unwrap();
    copy_folder(&golden().join("source"), &folder.path().join("source"));
    let (root, source) = (local(folder.path()), local(&folder.path().join("source")));
    let at = ViewSource::At(folder.path().join("source").to_str().unwrap().to_owned());
    publish_view(&root, &open(&source), &at, &[2], &options()).unwrap();
    assert_eq!(open(&root).record(0).unwrap().id, "a2");
}

#[test]
fn references_that_would_lead_elsewhere_are_not_published() {
    let folder = tempfile::tempdir().unwrap();
    copy_folder(&golden().join("source"), &folder.path().join("source"));
    copy_folder(&golden().join("source"), &folder.path().join("twin"));
    std::fs::write(folder.path().join("twin/root.json"), "{}").unwrap();
    let (root, source) = (local(folder.path()), local(&folder.path().join("source")));
    let before = packstone_testkit::Snapshot::of(folder.path());
    for at in [
        inside("elsewhere"),
        inside("twin"),
        inside(""),
        ViewSource::At("source".to_owned()),
        ViewSource::At("/elsewhere".to_owned()),
    ] {
        let refused: Result<_, Error> =
            publish_view(&root, &open(&source), &at, &ORDINALS, &options());
        assert_eq!(refused.err().unwrap().code(), "sds/view_invalid", "{at:?}");
    }
    let outside = publish_view(&root, &open(&source), &inside("source"), &[5], &options());
    assert_eq!(outside.err().unwrap().code(), "sds/index_out_of_range");
    assert_eq!(packstone_testkit::Snapshot::of(folder.path()), before);
}

#[test]
fn a_copy_has_the_content_of_its_view_and_needs_no_source() {
    let folder = tempfile::tempdir().unwrap();
    copy_folder(&golden().join("source"), &folder.path().join("source"));
    let (root, source) = (local(folder.path()), local(&folder.path().join("source")));
    let view =
        publish_view(&root, &open(&source), &inside("source"), &ORDINALS, &options()).unwrap();
    let copied = local(&folder.path().join("copy"));
    let made = materialize(&copied, &open(&source), &ORDINALS, &options(), 2).unwrap();
    let of_view = local(&folder.path().join("copy of the view"));
    let again = materialize(&of_view, &view, &[0, 1, 2, 3, 4], &options(), 2).unwrap();
    std::fs::remove_dir_all(folder.path().join("source")).unwrap();
    assert_eq!(made.snapshot().shard_count, 3);
    for collection in ["records", "annotations/quality"] {
        assert_eq!(digest(&made, collection), digest(&again, collection));
        let library = kit::open(Arc::new(LocalRoot::open(golden()).unwrap())).unwrap();
        assert_eq!(digest(&made, collection), digest(&library, collection));
    }
    // A record that was asked for twice is there twice.
    let found = summary(&check(copied as _, false));
    assert_eq!(found, [(packstone::model::Severity::Info, "sds/duplicate_id")].into());
}
