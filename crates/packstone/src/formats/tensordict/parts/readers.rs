//! The fields of the rows of a node, with what reads them.

use packstone_container::Limits;

use super::field::FieldReader;
use super::flat::{KeyPath, Seen, flatten, flatten_entries};
use super::node::Node;
use crate::error::Result;
use crate::exec::{default_threads, map};
use crate::model::Field;

/// So many nodes in the collections of a mapping are worth a second thread.
const MANY: usize = 1024;

/// The fields of everything below a node, in tree order; those of a large mapping are made at once.
///
/// # Errors
/// `exec/thread_died`.
pub fn readers(
    node: &Node,
    limits: &Limits,
) -> Result<impl Iterator<Item = (Field, FieldReader)> + use<>> {
    let batch = node.batch_size();
    let made = |seen: Vec<(KeyPath, Seen)>| -> Vec<_> {
        seen.into_iter().map(|(path, seen)| FieldReader::new(path, seen, batch, limits)).collect()
    };
    let parts = match node {
        Node::TensorDict(mapping) => {
            let threads = if is_large(&mapping.entries) { default_threads() } else { 1 };
            map(&mapping.entries, threads, |part| made(flatten_entries(part)))?
        }
        other => vec![made(flatten(other))],
    };
    Ok(parts.into_iter().flatten())
}

fn is_large(entries: &[(String, Node)]) -> bool {
    let inside = |node: &Node| match node {
        Node::TensorDict(mapping) => mapping.entries.len(),
        _ => 0,
    };
    entries.iter().map(|(_, node)| inside(node)).sum::<usize>() >= MANY
}
