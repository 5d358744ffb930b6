//! The files that a tree makes, worked out and checked before any of them is written.
//!
//! ```text
//! node ─► folders, parents first
//!     └─► files: leaves, what lies below, then the document of the node; so the root's document comes last
//! ```
//!
//! Refused here: keys that readers would lose, two keys whose files have one name, names that no file system takes, types
//! that the original library cannot load, values that are damaged or not what their node says.

use std::sync::Arc;

use packstone_container::json::{self, Value};
use packstone_io::{Buf, Kind, RelPath};

use super::super::options::{KeyNames, SaveOptions};
use super::super::{codes, document};
use super::node::{Bytes, NestedTensor, Node, NonTensorStack, Source, StackValues};
use super::planner::Planner;
use super::{names, rewrite};
use crate::error::{Error, Place, Result};
use crate::model::Finding;

/// Zeros come in pieces of this size.
const ZEROS: usize = 4 << 20;

/// What a file will hold.
#[derive(Clone, Debug)]
pub enum Body {
    /// Bytes at hand.
    Given(Buf),
    /// The bytes of a leaf.
    Leaf(Bytes),
    /// The elements of a nested tensor.
    Elements(Box<NestedTensor>),
    /// A file as it is.
    Copy(Arc<dyn Source>),
    /// A file as it is, its checksum compared also where reading does not look.
    Checked(Arc<dyn Source>),
    /// Bytes at hand in pieces.
    Pieces(Vec<Buf>),
    /// Zeros.
    Zeros,
}

/// A file to be written.
#[derive(Clone, Debug)]
pub struct OutFile {
    /// Its path in the tree.
    pub path: RelPath,
    /// How many bytes it will have.
    pub len: u64,
    /// What it will hold.
    pub body: Body,
}

impl OutFile {
    /// The file that it is, with its CRC-32, where that is better streamed than opened.
    pub fn streamed(&self) -> Option<(&Arc<dyn Source>, u32)> {
        match &self.body {
            Body::Copy(file) | Body::Checked(file) => Some((file, file.packed()?)),
            _ => None,
        }
    }

    /// All of its bytes in pieces; of zeros, the same piece again and again.
    ///
    /// # Errors
    /// Those of reading the bytes; `truncated_leaf` where their number has changed since the file was planned.
    pub fn open(&self) -> Result<Vec<Buf>> {
        let pieces = match &self.body {
            Body::Given(bytes) => vec![bytes.clone()],
            Body::Leaf(bytes) => vec![bytes.open()?],
            Body::Elements(nested) => vec![nested.open()?.data],
            Body::Copy(file) => vec![file.open()?],
            Body::Checked(file) => {
                file.verify()?;
                vec![file.open()?]
            }
            Body::Pieces(pieces) => pieces.clone(),
            Body::Zeros => zeros(self.len),
        };
        let found = pieces.iter().fold(0, |n: u64, piece| n.saturating_add(piece.len() as u64));
        if found != self.len {
            let message = format!("expected {} bytes as before, found {found}", self.len);
            let place = Place::file(&self.path);
            return Err(Error::new(Kind::Conflict, codes::TRUNCATED_LEAF, place, message));
        }
        Ok(pieces)
    }
}

/// So many zeros in pieces that share their memory.
fn zeros(len: u64) -> Vec<Buf> {
    let piece = Buf::from(vec![0; usize::try_from(len).unwrap_or(usize::MAX).min(ZEROS)]);
    let mut pieces = Vec::new();
    let mut left = len;
    while left > 0 {
        let len = usize::try_from(left).unwrap_or(usize::MAX).min(ZEROS);
        pieces.extend(piece.slice(..len));
        left -= len as u64;
    }
    pieces
}

/// The name of a key's file or folder, without suffix.
///
/// # Errors
/// What is wrong with a key that cannot be a name as it is.
pub fn name_of(key: &str, collection: bool, names: KeyNames) -> Result<String, String> {
    match names {
        KeyNames::Encoded => Ok(names::encode(key).into_owned()),
        KeyNames::Raw if names::is_safe(key, collection) => Ok(key.to_owned()),
        KeyNames::Raw => Err(format!("expected a key that is one path component, found {key:?}")),
    }
}

/// Everything that a tree makes.
#[derive(Clone, Debug, Default)]
pub struct Files {
    /// The folders, parents first; the root is not among them.
    pub folders: Vec<RelPath>,
    /// The files; the last one is the document of the root.
    pub files: Vec<OutFile>,
    /// What readers may see otherwise than it is meant.
    pub notes: Vec<Finding>,
}

impl Files {
    /// Works out the files of a tree.
    ///
    /// # Errors
    /// `reserved_key`, `name_collision`, `name_too_long`, `path_escape` (raw names), `unsupported_dtype`, `bad_shape`,
    /// `bad_names`, `batch_mismatch`, `value_not_storable`, `too_deep`; the fault of a node that could not be read.
    pub fn of(node: &Node, options: &SaveOptions) -> Result<Self> {
        Planner::new(options, false).plan(node)
    }

    /// Works out the files of a tree whose tensors hold zeros, whatever their nodes have.
    ///
    /// # Errors
    /// As for [`Files::of`].
    pub fn zeroed(node: &Node, options: &SaveOptions) -> Result<Self> {
        Planner::new(options, true).plan(node)
    }

    /// Bytes of all files.
    pub fn bytes(&self) -> u64 {
        self.files.iter().fold(0, |sum, file| sum.saturating_add(file.len))
    }
}

/// The document of a stack of values along the first dimension, without the values, cut where they come.
///
/// For values that are written one after another and do not fit memory.
pub fn stack_frame(node: &NonTensorStack) -> (String, &'static str) {
    let empty = NonTensorStack { values: StackValues::Json(Vec::new()), ..node.clone() };
    let node = Node::NonTensorStack(empty);
    let text = document::text(&node, &rewrite::of(&node).unwrap_or_default());
    let head = text.strip_suffix("]}").map(str::to_owned).unwrap_or(text);
    (head, "]}")
}

/// Spells a value inside of such a document.
pub fn stack_value(value: Value) -> String {
    json::write(&rewrite::python_value(value), &document::TIGHT)
}
