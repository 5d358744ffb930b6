//! What the tests of writing share.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use packstone::formats::tensordict::options::SaveOptions;
use packstone::formats::tensordict::parts::class::Class;
use packstone::formats::tensordict::parts::node::{
    Bytes, Leaf, NestedTensor, Node, NonTensor, NonTensorStack, StackValues, TensorDict,
};
use packstone::formats::tensordict::parts::node::{FieldFiles, FieldValue};
use packstone::formats::tensordict::parts::save::save;
use packstone::formats::tensordict::parts::stack;
use packstone::model::DType;
use packstone::{LocalRoot, MemoryRoot, RelPath, RootMut};
use packstone_container::json::{ReadOptions, Value, read};
use packstone_io::Buf;

pub(crate) fn path(text: &str) -> RelPath {
    RelPath::new(text).unwrap()
}

pub(crate) fn json(text: &str) -> Value {
    read(text.as_bytes(), &ReadOptions::default().with_nan(true).with_any_encoding(true))
        .unwrap()
        .value
}

/// All files below a folder with their bytes.
pub(crate) type Content = BTreeMap<String, Vec<u8>>;

pub(crate) fn content(folder: &Path) -> Content {
    let mut out = Content::new();
    fill(folder, "", &mut out);
    out
}

fn fill(folder: &Path, prefix: &str, out: &mut Content) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{prefix}{}", entry.file_name().to_str().unwrap());
        if entry.file_type().unwrap().is_dir() {
            fill(&entry.path(), &format!("{name}/"), out);
        } else {
            out.insert(name, std::fs::read(entry.path()).unwrap());
        }
    }
}

/// All files of a root in memory below a folder.
pub(crate) fn memory(root: &MemoryRoot, below: &str) -> Content {
    let prefix = if below.is_empty() { String::new() } else { format!("{below}/") };
    let files = root.files().into_iter().filter_map(|(path, bytes)| {
        Some((path.as_str().strip_prefix(&prefix)?.to_owned(), bytes.to_vec()))
    });
    files.collect()
}

/// A root of these files.
pub(crate) fn below(content: &Content) -> Arc<MemoryRoot> {
    let root = MemoryRoot::new();
    for (name, bytes) in content {
        root.create(&path(name), bytes).unwrap();
    }
    Arc::new(root)
}

/// A root in a temporary folder, which lives as long as the first value.
pub(crate) fn local() -> (tempfile::TempDir, Arc<dyn RootMut>) {
    let temp = tempfile::tempdir().unwrap();
    let root = Arc::new(LocalRoot::open(temp.path()).unwrap());
    (temp, root)
}

/// A leaf of bytes that count up.
pub(crate) fn leaf(dtype: DType, shape: &[u64]) -> Node {
    let len = shape.iter().product::<u64>() * dtype.size().unwrap();
    let bytes: Vec<u8> = (0..len).map(|n| (n % 251) as u8).collect();
    leaf_of(dtype, shape, bytes)
}

pub(crate) fn leaf_of(dtype: DType, shape: &[u64], bytes: Vec<u8>) -> Node {
    Node::Leaf(Leaf { dtype, shape: shape.to_vec(), data: Bytes::Given(Buf::from(bytes)) })
}

/// A nested tensor of bytes.
pub(crate) fn nested(sizes: &[&[i64]]) -> Node {
    let total: i64 = sizes.iter().map(|part| part.iter().product::<i64>()).sum();
    let words = sizes.iter().flat_map(|part| part.iter().flat_map(|n| n.to_le_bytes()));
    Node::NestedTensor(NestedTensor {
        dtype: DType::UInt8,
        extent: (sizes.len() as u64, sizes[0].len() as u64),
        sizes: Bytes::Given(Buf::from(words.collect::<Vec<u8>>())),
        data: Bytes::Given(Buf::from((0..total).map(|n| n as u8).collect::<Vec<u8>>())),
    })
}

pub(crate) fn dict(batch: &[u64], entries: Vec<(&str, Node)>) -> Node {
    let entries = entries.into_iter().map(|(key, node)| (key.to_owned(), node)).collect();
    Node::TensorDict(TensorDict::new(batch.to_vec(), entries))
}

pub(crate) fn value(text: &str) -> Node {
    field(FieldValue::Json(json(text)))
}

pub(crate) fn field(value: FieldValue) -> Node {
    Node::NonTensor(NonTensor {
        class: Class::exported("NonTensorData"),
        batch_size: Vec::new(),
        value,
        files: FieldFiles::default(),
        replaced: false,
        mismatch: false,
        document: None,
    })
}

pub(crate) fn values(text: &str) -> Node {
    let values = json(text).as_array().unwrap().to_vec();
    Node::NonTensorStack(NonTensorStack {
        class: Class::exported("NonTensorStack"),
        batch_size: stack::batch_size(&values),
        stack_dim: 0,
        device: None,
        values: StackValues::Json(values),
        document: None,
    })
}

/// A tree of `n` rows that can grow; all of its rows are alike.
pub(crate) fn grown(n: usize) -> Node {
    let rows = |each: &[u8]| each.repeat(n);
    let n64 = n as u64;
    let words = format!("[{}]", vec!["\"w\""; n].join(", "));
    let parts = vec![&[2i64][..]; n];
    let mut ragged = nested(&parts);
    if let Node::NestedTensor(nested) = &mut ragged {
        nested.data = Bytes::Given(Buf::from(rows(&[5, 6])));
    }
    dict(
        &[n64],
        vec![
            ("a", leaf_of(DType::UInt8, &[n64, 3], rows(&[1, 2, 3]))),
            ("sub", dict(&[n64], vec![("b", leaf_of(DType::Int16, &[n64], rows(&[4, 0])))])),
            ("nt", ragged),
            ("words", values(&words)),
            ("same", value("{\"k\": 1.0}")),
            ("empty", leaf(DType::Int8, &[n64, 0])),
        ],
    )
}

/// The files that a tree makes.
pub(crate) fn files_of(node: &Node) -> Content {
    let files = MemoryRoot::new();
    let root: Arc<dyn RootMut> = Arc::new(files.clone());
    save(&root, &RelPath::root(), node, &SaveOptions::default()).unwrap();
    memory(&files, "")
}
