//! Rows of a leaf, changed in place.
//!
//! | the leaf is | it is changed |
//! | --- | --- |
//! | a file of exactly its size | there |
//! | a stored entry of an archive at a multiple of its element | there; its checksum follows when the edit is finished |
//! | compressed, not aligned, of another size, a nested tensor, without elements | not |
//!
//! Processes may work on one leaf at once, on rows of their own. Documents never change, so no reader sees a tree that is
//! half there; whoever reads meanwhile sees old and new rows.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use packstone_container::Limits;
use packstone_container::zip::{Directory, Method};
use packstone_io::{Buf, Edit, Kind, RelPath, Root, RootMut};

use super::super::codes;
use super::super::options::TreeOptions;
use super::super::reader::open_store;
use super::archive::zip_error;
use super::node::{Bytes, Leaf, Node};
use super::tree::Tree;
use crate::error::{Error, Place, Result};
use crate::model::DType;

/// How long to wait for another writer that brings a checksum up to date.
const PATIENCE: Duration = Duration::from_secs(60);

/// A leaf that is being changed.
pub struct LeafEdit {
    root: Arc<dyn RootMut>,
    edit: Box<dyn Edit>,
    /// The file, or the archive.
    file: RelPath,
    /// The entry, where it is one of an archive.
    entry: Option<usize>,
    bytes: Range<u64>,
    dtype: DType,
    shape: Vec<u64>,
    row: u64,
    limits: Limits,
}

fn refuse<T>(place: &Place, message: impl Into<String>) -> Result<T> {
    Err(Error::new(Kind::Unsupported, codes::NOT_EDITABLE, place.clone(), message))
}

/// The node at a path of keys: keys of mappings, numbers of members, `_source` of what is looked at.
pub fn at_keys<'a>(node: &'a Node, keys: &[&str]) -> Option<&'a Node> {
    let Some((first, rest)) = keys.split_first() else { return Some(node) };
    let children = node.children();
    let (_, child) = children.into_iter().find(|(key, _)| key == first)?;
    at_keys(child, rest)
}

impl LeafEdit {
    /// Opens the leaf at a path of keys of the tree in `root`, a folder or an archive.
    ///
    /// # Errors
    /// `unknown_collection` where there is no such leaf; `not_editable`; those of reading the tree.
    pub fn open(root: &Arc<dyn RootMut>, keys: &[&str], limits: &Limits) -> Result<Self> {
        let reading = TreeOptions::default().with_limits(*limits);
        let below: Arc<dyn Root> = Arc::clone(root) as _;
        let tree = Tree::load(open_store(below, limits)?.store(), &reading)?;
        let place = Place::default().field(keys.join("."));
        match at_keys(&tree.root, keys) {
            Some(Node::Leaf(leaf)) => Self::of(root, leaf, &place, limits),
            Some(Node::NestedTensor(_)) => {
                refuse(&place, "expected a leaf of one shape, found a nested tensor")
            }
            found => {
                let found = found.map_or("nothing", Node::word);
                let message = format!("expected the keys of a leaf, found {found}");
                Err(Error::new(Kind::NotFound, codes::UNKNOWN_COLLECTION, place, message))
            }
        }
    }

    fn of(root: &Arc<dyn RootMut>, leaf: &Leaf, place: &Place, limits: &Limits) -> Result<Self> {
        let (source, len) = match &leaf.data {
            Bytes::Stored { file, len } => (file, *len),
            Bytes::Faulty(fault) => return Err(fault.error()),
            Bytes::Given(_) => return refuse(place, "expected a leaf with elements, found none"),
        };
        let size = leaf.dtype.size().unwrap_or(1);
        let inner = leaf.shape.get(1..).unwrap_or_default();
        let row = inner.iter().fold(size, |n, dim| n.saturating_mul(*dim));
        let (file, entry, bytes) = match root.sole_file() {
            None => {
                if source.len() != len {
                    let message = format!("expected a file of {len} bytes, found {}", source.len());
                    return refuse(place, message);
                }
                let path = RelPath::new(&format!("./{}", source.path()));
                let path = path.map_err(|why| {
                    Error::new(Kind::Denied, codes::PATH_ESCAPE, place.clone(), why.to_string())
                })?;
                (path, None, 0..len)
            }
            Some(archive) => {
                let bytes = root.read(archive)?;
                let (number, range) = entry(&bytes, &source.path(), size, place, limits)?;
                (archive.clone(), Some(number), range)
            }
        };
        let edit = root.edit(&file)?;
        let (dtype, shape) = (leaf.dtype.clone(), leaf.shape.clone());
        let (root, limits) = (Arc::clone(root), *limits);
        Ok(Self { root, edit, file, entry, bytes, dtype, shape, row, limits })
    }

    /// The type of its elements.
    pub fn dtype(&self) -> &DType {
        &self.dtype
    }

    /// Its shape; rows are along the first dimension, a scalar is one row.
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// Bytes of a row.
    pub fn row_bytes(&self) -> u64 {
        self.row
    }

    /// Overwrites rows from `first` on, as many as `bytes` holds.
    ///
    /// # Errors
    /// `bad_shape` where `bytes` are no whole rows or end behind the last one; `Io`.
    pub fn write_rows(&self, first: u64, bytes: &[u8]) -> Result<()> {
        let len = bytes.len() as u64;
        let whole = len.checked_rem(self.row) == Some(0);
        let start = first.checked_mul(self.row).and_then(|n| n.checked_add(self.bytes.start));
        let end = start.and_then(|start| start.checked_add(len));
        match start.filter(|_| whole && end.is_some_and(|end| end <= self.bytes.end)) {
            Some(start) => Ok(self.edit.write_at(start, bytes)?),
            None => {
                let message = format!(
                    "expected whole rows of {} bytes inside of {:?}, found {len} bytes from row {first} on",
                    self.row, self.shape
                );
                let place = Place::file(&self.file);
                Err(Error::new(Kind::Invalid, codes::BAD_SHAPE, place, message))
            }
        }
    }

    /// Puts the rows on the disk; in an archive, brings the checksum of the entry up to date. Where several processes
    /// work on one leaf, the last one to finish leaves the right checksum.
    ///
    /// # Errors
    /// `Io`; `Conflict` where another writer keeps the archive; then the checksum is stale, and
    /// [`refresh`](super::refresh::refresh) mends it.
    pub fn finish(self) -> Result<()> {
        self.edit.sync()?;
        let Some(entry) = self.entry else { return Ok(()) };
        let _lock = self.root.lock(PATIENCE)?;
        let bytes = self.root.read(&self.file)?;
        let fault = |error| zip_error(error, self.file.as_str());
        let directory = Directory::parse(&bytes, &self.limits).map_err(fault)?;
        for patch in directory.refresh_crc(&bytes, entry).map_err(fault)? {
            self.edit.write_at(patch.offset, &patch.bytes)?;
        }
        Ok(self.edit.sync()?)
    }
}

/// The number of an entry and where its bytes stand, where these can be changed.
fn entry(
    bytes: &Buf,
    name: &str,
    size: u64,
    place: &Place,
    limits: &Limits,
) -> Result<(usize, Range<u64>)> {
    let fault = |error| zip_error(error, name);
    let directory = Directory::parse(bytes, limits).map_err(fault)?;
    let number = directory.find(name).map_err(fault)?;
    let Some(number) = number else {
        return refuse(place, format!("expected an entry {name:?}, found none"));
    };
    let entry = directory.locate(bytes, number).map_err(fault)?;
    if entry.method() != Method::Stored {
        let message = format!("expected an entry that is stored, found {}", entry.method());
        return refuse(place, message);
    }
    let range = entry.range();
    if range.start.checked_rem(size) != Some(0) {
        let message = format!(
            "expected an entry that starts at a multiple of {size} bytes, found one at byte {}",
            range.start
        );
        return refuse(place, message);
    }
    Ok((number, range))
}
