//! What the tests of this format share.

use std::sync::Arc;

use packstone::formats::tensordict::options::TreeOptions;
use packstone::formats::tensordict::parts::folder::FolderStore;
use packstone::formats::tensordict::parts::store::Store;
use packstone::formats::tensordict::parts::tree::Tree;
use packstone::{Error, LocalRoot, MemoryRoot, RelPath, Root, RootMut};
use packstone_container::json::{ReadOptions, Value, read};
use packstone_testkit::Case;

/// The files of a case.
pub(crate) fn store(case: &Case) -> Arc<dyn Store> {
    Arc::new(FolderStore::new(Arc::new(LocalRoot::open(&case.data).unwrap())))
}

pub(crate) fn load(root: Arc<dyn Root>) -> Result<Tree, Error> {
    Tree::load(Arc::new(FolderStore::new(root)), &TreeOptions::default())
}

/// Writes or replaces a file.
pub(crate) fn put(root: &MemoryRoot, at: &str, bytes: impl Into<Vec<u8>>) {
    root.replace(&[(RelPath::new(at).unwrap(), bytes.into())]).unwrap();
}

pub(crate) fn json(text: &str) -> Value {
    read(text.as_bytes(), &ReadOptions::default().with_nan(true)).unwrap().value
}
