//! What compressed leaves of archives cost: alone in its process, since the memory of the whole process is looked at.
#![allow(clippy::unwrap_used, clippy::cast_possible_truncation)]

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use packstone::format::{AuditOptions, Dataset, ReadContext};
use packstone::formats::tensordict::TensorDict;
use packstone::formats::tensordict::options::{SaveOptions, TreeOptions};
use packstone::formats::tensordict::parts::store::Store;
use packstone::formats::tensordict::parts::{pack, transfer, unpack};
use packstone::formats::tensordict::reader::{TensorDictDataset, open_store};
use packstone::ops::{VerifyOptions, verify};
use packstone::{Kind, Limits, LocalRoot, RelPath, Root, RootMut, site};
use packstone_container::zip::{Compressor, EntryOptions, Method, Writer};

const MIB: u64 = 1 << 20;
const LEAF: u64 = 64 * MIB;

/// An archive of a leaf of zeros, and one of booleans, each `LEAF` bytes that are compressed.
fn make(path: &Path) {
    let mut writer = Writer::new(File::create(path).unwrap());
    let leaf =
        |dtype: &str| format!(r#"{{"device":"cpu","shape":[{LEAF}],"dtype":"torch.{dtype}"}}"#);
    let document = format!(
        r#"{{"x":{},"y":{},"shape":[{LEAF}],"device":"cpu","_type":"<class 'tensordict._td.TensorDict'>"}}"#,
        leaf("uint8"),
        leaf("bool"),
    );
    writer.add("meta.json", &[document.as_bytes()], EntryOptions::default()).unwrap();
    for name in ["x.memmap", "y.memmap"] {
        let mut zeros = Compressor::new(Method::Deflate).unwrap();
        (0..LEAF / MIB).for_each(|_| zeros.push(&[0; MIB as usize]).unwrap());
        writer.write(name, &zeros.finish().unwrap(), EntryOptions::default()).unwrap();
    }
    writer.finish().unwrap();
}

#[test]
fn compressed_leaves_pass_through_a_window_and_are_decoded_once_to_be_read() {
    let folder = tempfile::TempDir::new().unwrap();
    let path = folder.path().join("zeros.tdz");
    make(&path);
    assert!(std::fs::metadata(&path).unwrap().len() < MIB);
    let root = || site::root(&path).unwrap();
    let target: Arc<dyn RootMut> = Arc::new(LocalRoot::open(folder.path()).unwrap());
    let at = |name: &str| RelPath::new(name).unwrap();

    let before = peak();
    // Less than one leaf may become.
    let limits = Limits::default().with_decoded_bytes(4 * MIB);
    let audit = AuditOptions { limits, ..AuditOptions::default() };
    let how = VerifyOptions { audit, ..VerifyOptions::default() };
    let report = verify(&TensorDict, root(), &how, None).unwrap();
    assert!(report.findings.is_empty(), "{:?}", report.findings);
    let options = SaveOptions::default();
    unpack::unpack(root(), &target, &at("folder"), &limits, &options, None).unwrap();
    let reading = TreeOptions::default().with_limits(limits);
    pack::pack(root(), &target, &at("stored.tdz"), false, &reading, &options, None).unwrap();
    let deflated = SaveOptions::default().with_method(Method::Deflate);
    pack::pack(root(), &target, &at("again.tdz"), false, &reading, &deflated, None).unwrap();
    let open =
        |limits| TensorDictDataset::open(root(), &TreeOptions::default().with_limits(limits));
    let dataset = open(limits).unwrap();
    let store = store_of(root(), &limits);
    let copy = site::target(&folder.path().join("copy"), &TensorDict).unwrap();
    transfer::copy(&store, dataset.tree(), &copy, &options, None).unwrap();
    for line in dataset.leaves().unwrap() {
        let line = line.unwrap();
        assert_eq!(line.get("nbytes").unwrap().as_u64(), Some(LEAF), "{line:?}");
    }
    let cost = peak() - before;
    assert!(cost < 24 * MIB, "{cost} bytes");
    for name in ["folder/x.memmap", "copy/y.memmap", "stored.tdz"] {
        assert!(std::fs::metadata(folder.path().join(name)).unwrap().len() >= LEAF, "{name}");
    }
    let again = std::fs::metadata(folder.path().join("again.tdz")).unwrap().len();
    assert!(again < MIB);

    // What is to be read as samples must fit the limit, and says which leaf does not.
    let collection = dataset.collection("data").unwrap();
    let shard = collection.shards(0).next().unwrap().unwrap();
    let mut context = ReadContext::default();
    let error = collection.read(&shard, Some(&[0]), &mut context).unwrap_err();
    assert_eq!((error.kind(), error.code()), (Kind::Limit, "tensordict/too_large"));
    assert_eq!(error.place().file.as_deref(), Some("x.memmap"));

    // It is decoded once, into a file: no memory of this process holds it.
    let before = anonymous();
    let dataset = open(Limits::default()).unwrap();
    let collection = dataset.collection("data").unwrap();
    let mut starts = Vec::new();
    for shard in collection.shards(0).take(4).chain(collection.shards(0).take(1)) {
        let batch = collection.read(&shard.unwrap(), Some(&[0]), &mut context).unwrap();
        starts.push(batch.columns()[0].bytes(0).unwrap().as_ptr() as usize);
    }
    assert_eq!(starts[0], starts[starts.len() - 1]);
    let cost = anonymous().saturating_sub(before);
    assert!(cost < 24 * MIB, "{cost} bytes");
    drop(dataset);

    // Without files it is in memory, once.
    let before = anonymous();
    let dataset = open(Limits::default().with_spilled_bytes(0)).unwrap();
    let collection = dataset.collection("data").unwrap();
    let shards: Vec<_> = collection.shards(0).take(3).map(Result::unwrap).collect();
    for shard in &shards {
        collection.read(shard, Some(&[0]), &mut context).unwrap();
    }
    let cost = anonymous().saturating_sub(before);
    assert!((LEAF..LEAF + 24 * MIB).contains(&cost), "{cost} bytes");
}

fn store_of(root: Arc<dyn Root>, limits: &Limits) -> Arc<dyn Store> {
    open_store(root, limits).unwrap().store()
}

/// The most bytes of memory that were in use so far.
fn peak() -> u64 {
    status("VmHWM:")
}

/// The bytes of memory that are this process's own now.
fn anonymous() -> u64 {
    status("RssAnon:")
}

fn status(what: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find(|line| line.starts_with(what)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}
