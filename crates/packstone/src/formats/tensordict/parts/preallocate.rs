//! Trees with room for values that are yet to come: entries, and zeros that take no place in a folder.
//!
//! Whoever has the values then fills them in, from as many processes as there are, see [`LeafEdit`](super::edit::LeafEdit).

use std::sync::Arc;

use packstone_io::{Kind, RelPath, RootMut};

use super::super::codes;
use super::super::options::SaveOptions;
use super::files::Files;
use super::node::{Node, TensorDict};
use super::save::{self, Saved};
use super::{pack, skeleton};
use crate::error::{Error, Place, Result};
use crate::model::Schema;

/// Saves a tree whose tensors hold zeros, whatever its nodes have; values that are no tensors are saved as they are.
///
/// It is saved at `at` below `root`, or, where the root is one file, as that archive; an archive has its zeros in full.
///
/// # Errors
/// As for [`save::save`].
pub fn preallocate(
    root: &Arc<dyn RootMut>,
    at: &RelPath,
    node: &Node,
    options: &SaveOptions,
) -> Result<Saved> {
    let files = Files::zeroed(node, options)?;
    match root.sole_file().cloned() {
        Some(path) => pack::write(root, &path, files, options, None),
        None => save::write(root, at, files, options, None),
    }
}

/// The tree of so many samples of these fields, to be preallocated.
///
/// # Errors
/// `name_collision`; `value_not_storable` for text, JSON, bytes and arrays of varying shape, whose room nobody knows.
pub fn room(schema: &Schema, rows: u64) -> Result<TensorDict> {
    if let Some(field) = schema.fields.iter().find(|field| field.varies()) {
        let message = "expected fields of one size, found one whose values differ in size";
        let place = Place::default().field(field.key.to_string());
        return Err(Error::new(Kind::Unsupported, codes::VALUE_NOT_STORABLE, place, message));
    }
    skeleton::tree(schema, rows)
}
