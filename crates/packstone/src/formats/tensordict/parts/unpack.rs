//! An archive as a folder.
//!
//! All entries are written, also those that no document names, so that nothing is lost. Every checksum is compared. Names
//! that lead elsewhere, names that occur twice and names that are files and folders at once are refused before anything
//! is written, and so are leaves whose stated size is not that of their elements, before they are decoded. The folder
//! appears when it is whole; nothing is ever written through a link.

use std::sync::Arc;

use packstone_container::Limits;
use packstone_io::{Kind, RelPath, Root, RootMut};

use super::super::codes;
use super::super::options::{SaveOptions, TreeOptions};
use super::super::reader::{Opened, open_store};
use super::archive::ArchiveStore;
use super::files::{Body, Files};
use super::node::{Bytes, Node};
use super::save::{self, Saved};
use super::transfer;
use super::tree::Tree;
use crate::error::{Error, Place, Result};
use crate::exec::Progress;
use crate::model::Severity;

/// Writes the entries of the archive in `source` as a folder at `at` below `root`.
///
/// # Errors
/// `not_an_archive`, `corrupt_zip`, `crc_mismatch`, `path_escape`, `duplicate_entry`, `name_collision`,
/// `size_mismatch`, and what else [`ArchiveStore`] finds; those of [`save::write`]. Then nothing has changed.
pub fn unpack(
    source: Arc<dyn Root>,
    root: &Arc<dyn RootMut>,
    at: &RelPath,
    limits: &Limits,
    options: &SaveOptions,
    progress: Option<&Arc<dyn Progress>>,
) -> Result<Saved> {
    let label = source.label();
    let Opened::Archive(store) = open_store(source, limits)? else {
        let message = "expected an archive, found a folder";
        let place = Place::file(label);
        return Err(Error::new(Kind::Invalid, codes::NOT_AN_ARCHIVE, place, message));
    };
    let files = entries(store, limits)?;
    save::write(root, at, files, options, progress)
}

/// All entries of an archive as files to be written, each checked when it is read.
///
/// # Errors
/// As for [`unpack`].
pub fn entries(store: Arc<ArchiveStore>, limits: &Limits) -> Result<Files> {
    // An entry that cannot be had under its own name would be missing from the folder.
    if let Some(note) = store.notes().iter().find(|note| note.severity == Severity::Error) {
        let (place, message) = (note.place.clone(), note.message.clone());
        return Err(Error::new(Kind::Invalid, note.code, place, message));
    }
    let shared: Arc<dyn super::store::Store> = Arc::clone(&store) as _;
    let tree = Tree::load(Arc::clone(&shared), &TreeOptions::default().with_limits(*limits))?;
    if let Some(error) = wrong_size(&tree.root) {
        return Err(error);
    }
    let mut files = transfer::all(&shared)?;
    for file in &mut files.files {
        if let Body::Copy(source) = &file.body {
            file.body = Body::Checked(Arc::clone(source));
        }
    }
    Ok(files)
}

/// The first leaf whose entry has another size than its elements.
fn wrong_size(node: &Node) -> Option<Error> {
    let wrong = |bytes: &Bytes| match bytes {
        Bytes::Faulty(fault) if fault.code() == codes::SIZE_MISMATCH => Some(fault.error()),
        _ => None,
    };
    match node {
        Node::Leaf(leaf) => wrong(&leaf.data),
        Node::NestedTensor(nested) => wrong(&nested.sizes),
        other => other.children().into_iter().find_map(|(_, child)| wrong_size(child)),
    }
}
