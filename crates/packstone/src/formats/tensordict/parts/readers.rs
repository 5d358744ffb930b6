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

/// Fields, and the reader of each.
pub type Readers = (Vec<Field>, Vec<FieldReader>);

/// The fields of everything below a node, in tree order; those of a large mapping are made at once.
///
/// # Errors
/// `exec/thread_died`.
pub fn readers(node: &Node, limits: &Limits) -> Result<Readers> {
    let batch = node.batch_size();
    let made = |seen: Vec<(KeyPath, Seen)>| -> Readers {
        seen.into_iter().map(|(path, seen)| FieldReader::new(path, seen, batch, limits)).unzip()
    };
    let Node::TensorDict(mapping) = node else { return Ok(made(flatten(node))) };
    let threads = if is_large(&mapping.entries) { default_threads() } else { 1 };
    let parts = map(&mapping.entries, threads, |part| made(flatten_entries(part)))?;
    let join = |(mut fields, mut readers): Readers, (mut more, mut of_them): Readers| {
        fields.append(&mut more);
        readers.append(&mut of_them);
        (fields, readers)
    };
    Ok(parts.into_iter().reduce(join).unwrap_or_default())
}

fn is_large(entries: &[(String, Node)]) -> bool {
    let inside = |node: &Node| match node {
        Node::TensorDict(mapping) => mapping.entries.len(),
        _ => 0,
    };
    entries.iter().map(|(_, node)| inside(node)).sum::<usize>() >= MANY
}
